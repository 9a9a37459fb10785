package timeline

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"hash/crc64"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/zstd"
)

// transcript is an Observer that records every call with all its data, call chains frame by frame.
// Two passes are the same if their transcripts are.
type transcript struct {
	calls  []uint64 // a checksum a call, each over the one before too
	text   []string // the calls in words, when keep is set
	keep   bool
	buf    []byte
	stacks map[*Stack]uint64
}

var crcTable = crc64.MakeTable(crc64.ECMA)

func (ts *transcript) num(vs ...int64) {
	for _, v := range vs {
		ts.buf = binary.AppendVarint(ts.buf, v)
	}
}

func (ts *transcript) str(ss ...string) {
	for _, s := range ss {
		ts.buf = append(append(ts.buf, s...), 0)
	}
}

func (ts *transcript) stack(s *Stack) {
	if s == nil {
		ts.num(0)
		return
	}
	if ts.stacks == nil {
		ts.stacks = map[*Stack]uint64{}
	}
	sum, ok := ts.stacks[s]
	if !ok {
		for _, f := range s.Frames {
			sum = crc64.Update(sum, crcTable, fmt.Appendf(nil, "%x %s %s:%d;", f.PC, f.Func, f.File, f.Line))
		}
		ts.stacks[s] = sum
	}
	ts.buf = binary.LittleEndian.AppendUint64(ts.buf, sum)
}

func (ts *transcript) g(g *Goroutine) {
	if g == nil {
		ts.num(-1)
		return
	}
	ts.num(g.ID, int64(g.Index), int64(g.Kind), g.Creator().ID, int64(g.State()), int64(g.Since()), int64(g.Wait()), int64(len(g.Regions())))
	ts.str(g.Func, g.Creator().Func, g.Label(), g.Creator().Task)
	ts.stack(g.Creator().Stack)
}

// done ends a call.
func (ts *transcript) done(what string, fields any) {
	ts.str(what)
	var before uint64
	if n := len(ts.calls); n > 0 {
		before = ts.calls[n-1]
	}
	ts.calls = append(ts.calls, crc64.Update(before, crcTable, ts.buf))
	ts.buf = ts.buf[:0]
	if ts.keep {
		ts.text = append(ts.text, fmt.Sprintf("%s %+v", what, fields))
	}
}

func (ts *transcript) Begin(t Time, version int) {
	ts.num(int64(t), int64(version))
	ts.done("Begin", t)
}
func (ts *transcript) Gap(from, to Time) {
	ts.num(int64(from), int64(to))
	ts.done("Gap", []Time{from, to})
}
func (ts *transcript) End(t Time) { ts.num(int64(t)); ts.done("End", t) }

func (ts *transcript) Transition(tr *Transition) {
	ts.g(tr.G)
	ts.num(int64(tr.State), int64(tr.To), int64(tr.Start), int64(tr.End), int64(tr.Wait), tr.Thread, int64(tr.Proc))
	ts.str(tr.Reason)
	ts.stack(tr.Stack)
	ts.g(tr.Waker)
	ts.stack(tr.WakerStack)
	ts.done("Transition", *tr)
}

func (ts *transcript) Named(g *Goroutine, t Time) { ts.g(g); ts.num(int64(t)); ts.done("Named", t) }
func (ts *transcript) Label(g *Goroutine, t Time) { ts.g(g); ts.num(int64(t)); ts.done("Label", t) }

func (ts *transcript) Range(r *Span) {
	ts.g(r.G)
	ts.num(int64(r.Time), int64(r.Start), int64(r.Proc))
	ts.str(r.Name, fmt.Sprint(r.Begin, r.OfG))
	ts.done("Range", *r)
}

func (ts *transcript) Region(r *Span) {
	ts.g(r.G)
	ts.str(fmt.Sprint(r.Time, r.Begin, r.Name, r.TaskID, r.Task, r.Start))
	ts.stack(r.Stack)
	ts.done("Region", *r)
}

func (ts *transcript) Task(k *Span) {
	ts.g(k.G)
	ts.str(fmt.Sprint(k.Time, k.TaskID, k.ParentID, k.Name, k.Begin, k.Start))
	ts.stack(k.Stack)
	ts.done("Task", *k)
}

func (ts *transcript) Log(l *Log) {
	ts.g(l.G)
	ts.str(fmt.Sprint(l.Time, l.TaskID, l.Category, l.Message))
	ts.stack(l.Stack)
	ts.done("Log", *l)
}

func (ts *transcript) Metric(t Time, name string, value uint64, stopped bool) {
	ts.str(fmt.Sprint(t, name, value, stopped))
	ts.done("Metric", name)
}

func (ts *transcript) Sample(t Time, g *Goroutine, stack *Stack) {
	ts.g(g)
	ts.num(int64(t))
	ts.stack(stack)
	ts.done("Sample", t)
}

func (ts *transcript) Clock(t Time, mono uint64, wall time.Time) {
	ts.num(int64(t), int64(mono), wall.UnixNano())
	ts.done("Clock", t)
}

// sameAs reports the first call in which two transcripts differ.
func (ts *transcript) sameAs(t *testing.T, how string, want *transcript) {
	t.Helper()
	if slices.Equal(ts.calls, want.calls) {
		return
	}
	for i := range min(len(ts.calls), len(want.calls)) {
		if ts.calls[i] != want.calls[i] {
			t.Errorf("%s: call %d of %d differs", how, i, len(want.calls))
			if ts.keep && want.keep {
				t.Errorf("  got  %s\n  want %s", ts.text[i], want.text[i])
			}
			return
		}
	}
	t.Errorf("%s: %d calls, want %d", how, len(ts.calls), len(want.calls))
}

func packed(t *testing.T, data []byte, how string) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	if how == "gzip" {
		w, _ = gzip.NewWriterLevel(&b, gzip.BestSpeed)
	} else {
		w, _ = zstd.NewWriter(&b, zstd.WithEncoderLevel(zstd.SpeedFastest))
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// streamOnly hides everything of a reader but Read.
type streamOnly struct{ io.Reader }

// TestObserversSeeTheSameCalls: the observers see the same calls for any number of decoding
// workers and any kind of input.
func TestObserversSeeTheSameCalls(t *testing.T) {
	for _, c := range corpus(t) {
		if race.Enabled && c.real && c.name != "pgzip.trace.zst" {
			continue // the others take long under the race detector
		}
		t.Run(c.name, func(t *testing.T) {
			large := len(c.data) > 50_000
			want := &transcript{keep: !large}
			wantInfo := *mustRead(t, c.data, Options{Workers: 1}, want)
			check := func(how string, r io.Reader, workers int) {
				got := &transcript{keep: !large}
				info, err := Read(context.Background(), r, Options{Workers: workers}, got)
				if err != nil {
					t.Errorf("%s: %v", how, err)
				}
				got.sameAs(t, how, want)
				a, b := *info, wantInfo
				a.Size, b.Size = 0, 0 // not known of streams
				if fmt.Sprint(a) != fmt.Sprint(b) {
					t.Errorf("%s: Info %+v, want %+v", how, a, b)
				}
			}
			file := filepath.Join(t.TempDir(), "x.trace")
			write(t, file, c.data)
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			check("a file", f, 0)
			check("a stream", streamOnly{bytes.NewReader(c.data)}, 4)
			if race.Enabled && large {
				return
			}
			check("8 workers", bytes.NewReader(c.data), 8)
			if large {
				return // the rest tests kinds of input, for which the others suffice
			}
			check("a stream of zstd", streamOnly{bytes.NewReader(packed(t, c.data, "zstd"))}, 2)
			for _, n := range []int{2, 4} {
				check(fmt.Sprintf("%d workers", n), bytes.NewReader(c.data), n)
			}
			check("a stream of single bytes", iotest.OneByteReader(bytes.NewReader(c.data)), 1)
			check("a stream of halves", iotest.HalfReader(bytes.NewReader(c.data)), 4)
			check("a stream whose end comes with its data", iotest.DataErrReader(bytes.NewReader(c.data)), 2)
			check("gzip", bytes.NewReader(packed(t, c.data, "gzip")), 2)
			check("zstd", bytes.NewReader(packed(t, c.data, "zstd")), 2)
		})
	}
}

// TestSameForAll: several observers of one pass see the same as each alone.
func TestSameForAll(t *testing.T) {
	data := smallTrace(t, "phases-go1.26.8.trace")
	alone, first, second := &transcript{}, &transcript{}, &transcript{}
	mustRead(t, data, Options{}, alone)
	mustRead(t, data, Options{}, first, Base{}, second)
	first.sameAs(t, "the first of three", alone)
	second.sameAs(t, "the last of three", alone)
}

// TestPiecesSumToTheWhole: the pieces of a trace sum to the whole. A goroutine's total time in a
// state is the sum over the generations read separately, plus the gaps between the end of one and
// the beginning of the next.
func TestPiecesSumToTheWhole(t *testing.T) {
	for _, c := range corpus(t) {
		if c.slow() {
			continue
		}
		parts := generations(t, c.data)
		if len(parts) < 2 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			whole := newTimes()
			mustRead(t, c.data, Options{}, whole)
			sum := map[int64]*[numStates]Time{}
			var before *times
			for _, data := range parts {
				part := newTimes()
				mustRead(t, data, Options{}, part)
				for id, of := range part.of {
					if sum[id] == nil {
						sum[id] = new([numStates]Time)
					}
					for s := range of {
						sum[id][s] += of[s]
					}
					if before != nil && before.last[id].Alive() {
						sum[id][before.last[id]] += part.start - before.end
					}
				}
				before = part
			}
			if len(sum) != len(whole.of) {
				t.Errorf("%d goroutines in the parts, %d in the whole", len(sum), len(whole.of))
			}
			for id, want := range whole.of {
				if sum[id] == nil || *sum[id] != *want {
					t.Errorf("goroutine %d: the parts add up to %v, the whole is %v", id, sum[id], want)
				}
			}
		})
	}
}

// times is an Observer that sums every goroutine's time by state.
type times struct {
	Base
	start, end Time
	of         map[int64]*[numStates]Time
	last       map[int64]State // at the end
}

func newTimes() *times {
	return &times{of: map[int64]*[numStates]Time{}, last: map[int64]State{}}
}

func (ts *times) Begin(t Time, _ int) { ts.start = t }
func (ts *times) End(t Time)          { ts.end = t }

func (ts *times) Transition(tr *Transition) {
	of := ts.of[tr.G.ID]
	if of == nil {
		of = new([numStates]Time)
		ts.of[tr.G.ID] = of
	}
	if tr.State.Alive() {
		of[asSyscall(tr.State)] += tr.End - tr.Start // a generation alone does not distinguish a continued system call from C
	}
	if tr.To == Unknown {
		ts.last[tr.G.ID] = asSyscall(tr.State)
	}
}
