package timeline

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"testing"
)

// TestCutTraceAgreesWithTheWhole: a truncated trace agrees with the whole trace on the same time:
// the same goroutines run, or are in a system call with a P, from its beginning to its end. (A
// waiting goroutine may be missing: its status comes last in a generation.)
func TestCutTraceAgreesWithTheWhole(t *testing.T) {
	step := 41
	if race.Enabled {
		step = 397
	}
	traces := truncated(t)
	traces["mutexes"] = smallTrace(t, "mutex-go1.26.8.trace")
	traces["Go 1.23"] = smallTrace(t, "compute-go1.23.12.trace")
	traces["system calls"] = smallTrace(t, "sys-go1.26.8.trace.zst")
	traces["a compiler"] = smallTrace(t, "gocompile-c2.trace.zst")
	for name, data := range traces {
		t.Run(name, func(t *testing.T) {
			step := step
			if len(data) > 50_000 {
				step = len(data) / 13 * (1 + race.Slowdown/10)
			}
			whole := newStretches()
			mustRead(t, data, Options{}, whole)
			partial := 0
			cuts := []int{}
			if name == "system calls" {
				cuts = append(cuts, 375216, 413044, 467436) // calls whose P goes to a thread that is missing
			}
			for n := headerSize + 100; n < len(data); n += step {
				cuts = append(cuts, n)
			}
			for _, n := range cuts {
				part := newStretches()
				info, err := Read(context.Background(), bytes.NewReader(data[:n]), Options{}, part)
				if err == nil || info.Generations == 0 {
					continue
				}
				var e *Error
				if errors.As(err, &e) && e.Partial {
					partial++
				}
				if part.begin < whole.begin {
					t.Fatalf("cut after %d bytes: begins at %d, the whole at %d", n, part.begin, whole.begin)
				}
				part.within(t, n, whole)
				if t.Failed() {
					t.FailNow()
				}
			}
			t.Logf("%d of %d cuts showed a part of a generation", partial, len(cuts))
		})
	}
}

// stretches is an Observer that keeps the intervals of each goroutine.
type stretches struct {
	Base
	begin, end Time
	of         map[int64][]stretch
}

type stretch struct {
	state      State
	start, end Time
}

func newStretches() *stretches { return &stretches{of: map[int64][]stretch{}} }

func (ss *stretches) Begin(t Time, _ int) { ss.begin = t }
func (ss *stretches) End(t Time)          { ss.end = t }

func (ss *stretches) Transition(tr *Transition) {
	if tr.State.OnProc() && tr.End > tr.Start {
		ss.of[tr.G.ID] = append(ss.of[tr.G.ID], stretch{tr.State, tr.Start, tr.End})
	}
}

// within compares with the same time of the whole. The Reader moves simultaneous events apart by
// nanoseconds, and more of them if it sees more.
func (ss *stretches) within(t *testing.T, n int, whole *stretches) {
	t.Helper()
	near := func(a, b Time) bool { return a-b <= 8 && b-a <= 8 }
	clip := func(all []stretch) (in []stretch) {
		for _, s := range all {
			if s.start < ss.end-8 && s.end > ss.begin+8 {
				in = append(in, stretch{s.state, max(s.start, ss.begin), min(s.end, ss.end)})
			}
		}
		return in
	}
	for id, all := range whole.of {
		got, want := clip(ss.of[id]), clip(all)
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i].state != want[i].state || !near(got[i].start, want[i].start) || !near(got[i].end, want[i].end) {
				t.Errorf("cut after %d bytes, read from %d up to %d: goroutine %d, stretch %d of %d or %d: got %v, want %v",
					n, ss.begin, ss.end, id, i, len(got), len(want), got[min(i, len(got)):min(i+2, len(got))], want[min(i, len(want)):min(i+2, len(want))])
				break
			}
		}
	}
	for id := range ss.of {
		if whole.of[id] == nil {
			t.Errorf("cut after %d bytes: goroutine %d does not run in the whole", n, id)
		}
	}
}

// TestInvalidTablesDoNotDelayRepair: invalid tables do not slow down the repair of a truncated
// generation.
func TestInvalidTablesDoNotDelayRepair(t *testing.T) {
	huge := binary.AppendUvarint(nil, 1<<62)
	endless := bytes.Repeat([]byte{0xff}, 30)
	for name, rubbish := range map[string][]byte{
		"call chains without end":      append(append([]byte{2, 3, 1}, huge...), endless...),
		"call chains cut off":          append([]byte{2, 3, 1}, huge...),
		"a string without end":         append(append([]byte{4, 5, 1}, huge...), 'x'),
		"strings whose number is long": append([]byte{4, 5}, endless...),
		"events without end":           append([]byte{wHeapAlloc}, endless...),
		"an unknown event":             {200, 1, 2, 3},
		"nothing":                      {},
	} {
		for _, version := range []int{22, 26} {
			w := newWire(version)
			g := w.generation(1, 1000)
			g.thread(1).runs(1001, 0, 1).ev(1010, wProcsChange, 1, stk("main.main")).ev(1500, wGoBlock, "select", stk("main.main"))
			whole := w.bytes()
			for cut := headerSize; cut < len(whole); cut += 3 {
				data := bytes.Clone(whole[:cut])
				data = append(data, 1)
				for _, v := range []uint64{1, 5, 1400, uint64(len(rubbish))} {
					data = binary.AppendUvarint(data, v)
				}
				data = append(data, rubbish...)
				checkBroken(t, bytes.NewReader(data))
				checkBroken(t, bytes.NewReader(append(data, 1, 1)))
				if t.Failed() {
					t.Fatalf("%s, Go 1.%d, after %d bytes", name, version, cut)
				}
			}
		}
	}
}
