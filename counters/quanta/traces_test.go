package quanta

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// corpus returns the recorded traces of the module.
func corpus(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"small/*.trace*", "real/*.trace.zst"} {
		fs, err := filepath.Glob(filepath.Join("..", "..", "testdata", pattern))
		if err != nil || len(fs) < 6 {
			t.Fatalf("%s: %d traces, %v", pattern, len(fs), err)
		}
		files = append(files, fs...)
	}
	return files
}

// truth has the sums that a recording must agree with, computed without quanta.
type truth struct {
	timeline.Base
	onProc, syscall, runnable timeline.Time
}

func (o *truth) Transition(t *timeline.Transition) {
	d := t.End - t.Start
	switch t.State {
	case timeline.Running:
		o.onProc += d
	case timeline.InC:
		o.onProc += d
	case timeline.Syscall:
		o.onProc += d
		o.syscall += d
	case timeline.Runnable:
		o.runnable += d
	}
}

// onProcs hides C code on threads of its own from a bottle graph: quanta belong to processors of
// the scheduler.
type onProcs struct{ *bottle.Observer }

func (o onProcs) Transition(t *timeline.Transition) {
	c := *t
	if c.To == timeline.InCDetached {
		c.To = timeline.InCUncounted
	}
	o.Observer.Transition(&c)
}

// TestQuantaSumToTheRunningTime: in all recorded traces, the quanta sum to the running time of the
// bottle graph, in total and by goroutine, and every counter sums to its total.
func TestQuantaSumToTheRunningTime(t *testing.T) {
	for _, file := range testenv.Some(corpus(t)) {
		name, _, _ := strings.Cut(filepath.Base(file), ".trace")
		t.Run(name, func(t *testing.T) {
			graph := bottle.NewObserver(bottle.Options{})
			single := bottle.NewObserver(bottle.Options{Group: bottle.ByGoroutine, MaxSingle: 1 << 30})
			o, want := NewObserver(Options{}), &truth{}
			by := NewObserver(Options{Group: bottle.ByGoroutine})
			info, err := timeline.ReadFile(context.Background(), file, timeline.Options{}, onProcs{graph}, onProcs{single}, o, by, want)
			if err != nil {
				t.Fatal(err)
			}
			r, err := o.Recording()
			if err != nil {
				t.Fatal(err)
			}
			checkTable(t, r)
			if r.Wall != info.Duration() || r.Len() == 0 {
				t.Errorf("%d quanta in %v; the trace covers %v", r.Len(), r.Wall, info.Duration())
			}
			g := graph.Graph()
			running := map[string]time.Duration{}
			var all time.Duration
			for _, b := range g.Boxes {
				running[b.Group] += b.Running
				all += b.Running
			}
			var sum time.Duration
			for _, d := range r.Duration {
				sum += time.Duration(d)
			}
			if sum != all || sum != time.Duration(want.onProc) {
				t.Errorf("the quanta sum to %v, running time is %v and %v", sum, all, time.Duration(want.onProc))
			}
			if c := r.Counter("syscall"); c.Total != int64(want.syscall) || c.Remainder != 0 {
				t.Errorf("syscall: total %d, remainder %d; the truth is %d", c.Total, c.Remainder, want.syscall)
			}
			if c := r.Counter("sched-delay"); c.Total != int64(want.runnable) {
				t.Errorf("sched-delay: total %d; the truth is %d", c.Total, want.runnable)
			}
			for i, assist := range r.Counter("gc-assist").Values {
				if assist < 0 || assist > r.Duration[i] {
					t.Fatalf("quantum %d assists for %d of %d ns", i, assist, r.Duration[i])
				}
			}
			compareGroups(t, r, running)
			rec, err := by.Recording()
			if err != nil {
				t.Fatal(err)
			}
			running = map[string]time.Duration{}
			for _, b := range single.Graph().Boxes {
				running[b.Group] += b.Running
			}
			compareGroups(t, rec, running)
		})
	}
}

// compareGroups: a quantum belongs to one group, but a graph moves a goroutine into another box
// during an assist.
func compareGroups(t *testing.T, r *Recording, running map[string]time.Duration) {
	t.Helper()
	of := make([]time.Duration, len(r.Groups))
	for i, g := range r.Group {
		of[g] += time.Duration(r.Duration[i])
	}
	var off, all time.Duration
	for i, g := range r.Groups {
		all += running[g.Name]
		d := of[i] - running[g.Name]
		off += max(d, -d)
	}
	// Quanta that partly assist or stop the world are the only difference, except for a few
	// late names.
	within := time.Duration(r.Counter("gc-assist").Total)
	for _, s := range r.Spans {
		if strings.HasPrefix(s.Name, worldRange) {
			within += time.Duration(s.End - s.Begin)
		}
	}
	if off > 2*within+all/100 {
		t.Errorf("groups differ by %v of %v from the graph's; assists and stopped worlds take %v", off, all, within)
	}
}

// checkTable checks what is true for every recording.
func checkTable(t testing.TB, r *Recording) {
	t.Helper()
	n := r.Len()
	for name, l := range map[string]int{"Goroutine": len(r.Goroutine), "Group": len(r.Group), "Thread": len(r.Thread), "Proc": len(r.Proc),
		"Duration": len(r.Duration), "Ending": len(r.Ending), "Wait": len(r.Wait), "Func": len(r.Func)} {
		if l != n {
			t.Fatalf("%s has %d rows of %d", name, l, n)
		}
	}
	if !slices.IsSorted(r.Begin) {
		t.Error("the rows are not in the order of Begin")
	}
	free := map[int64]int64{} // by goroutine: the end of its last quantum
	for i := range n {
		end := r.Begin[i] + r.Duration[i]
		if r.Duration[i] < 0 || r.Begin[i] < 0 || end > int64(r.Wall) || r.Begin[i] < free[r.Goroutine[i]] {
			t.Fatalf("row %d of goroutine %d: %d + %d ns of %d, after one that ends at %d", i, r.Goroutine[i], r.Begin[i], r.Duration[i], r.Wall, free[r.Goroutine[i]])
		}
		free[r.Goroutine[i]] = end
		if int(r.Group[i]) >= len(r.Groups) || int(r.Func[i]) >= len(r.Funcs) {
			t.Fatalf("row %d: group %d of %d, function %d of %d", i, r.Group[i], len(r.Groups), r.Func[i], len(r.Funcs))
		}
		if blocked := r.Ending[i] == Blocked || r.Ending[i] == SyscallBlocked || r.Ending[i] == InC; blocked != (r.Wait[i] != timeline.WaitNone) {
			t.Fatalf("row %d: ending %d with wait %v", i, r.Ending[i], r.Wait[i])
		}
	}
	checkCounters(t, r)
	if !slices.IsSortedFunc(r.Spans, func(a, b Span) int { return int(a.Begin - b.Begin) }) {
		t.Error("the spans are not in order")
	}
	for _, s := range r.Spans {
		if s.Begin < 0 || s.End < s.Begin || s.End > int64(r.Wall) {
			t.Errorf("span %+v", s)
		}
	}
}

// checkCounters checks that the known values and the remainder sum to the total.
func checkCounters(t testing.TB, r *Recording) {
	t.Helper()
	for _, c := range r.Counters {
		if len(c.Values) != r.Len() {
			t.Fatalf("%s has %d values of %d", c.Name, len(c.Values), r.Len())
		}
		var sum int64
		for i, v := range c.Values {
			if v != Unknown {
				sum += v
				if v < 0 {
					t.Fatalf("%s is %d in row %d", c.Name, v, i)
				}
			}
		}
		if !c.Level && sum+c.Remainder != c.Total {
			t.Errorf("%s: values %d + remainder %d are not the total %d", c.Name, sum, c.Remainder, c.Total)
		}
		if c.Level && (c.Total != 0 || c.Remainder != 0) {
			t.Errorf("%s is a level with a total", c.Name)
		}
	}
}

// TestQuantaDoNotOverlap: the quanta of a P, and those of a thread, do not overlap.
func TestQuantaDoNotOverlap(t *testing.T) {
	for _, file := range testenv.Some(corpus(t)) {
		r, err := ReadFile(context.Background(), file, Options{})
		if err != nil {
			t.Fatal(err)
		}
		proc, thread := map[int32]int64{}, map[int64]int64{}
		unknown := 0
		for i := range r.Len() {
			p, th := r.Proc[i], r.Thread[i]
			if p < 0 || th < 0 {
				unknown++
				continue
			}
			// Steps of a coroutine switch with equal times are moved apart by a
			// nanosecond each.
			const slack = 3
			if proc[p] > r.Begin[i]+slack || thread[th] > r.Begin[i]+slack {
				t.Errorf("%s: row %d begins on P %d, thread %d at %d, while another runs there until %d, %d", file, i, p, th, r.Begin[i], proc[p], thread[th])
				break
			}
			proc[p], thread[th] = r.Begin[i]+r.Duration[i], r.Begin[i]+r.Duration[i]
		}
		if unknown > 0 {
			t.Errorf("%s: P or thread of %d of %d quanta are not known", file, unknown, r.Len())
		}
	}
}

func TestTooManyQuanta(t *testing.T) {
	file := filepath.Join("..", "..", "testdata", "small", "mutex-go1.26.8.trace")
	if r, err := ReadFile(context.Background(), file, Options{MaxRows: 5}); err == nil || r != nil || !strings.Contains(err.Error(), "more than 5 quanta") {
		t.Errorf("%v, %v", r, err)
	}
}

// BenchmarkObserver measures the fold and the reading together, and the reading alone.
func BenchmarkObserver(b *testing.B) {
	file := filepath.Join("..", "..", "testdata", "real", "nethttp-parallel4.trace.zst")
	for name, with := range map[string]bool{"read": false, "read and fold": true} {
		b.Run(name, func(b *testing.B) {
			rows := 0
			for b.Loop() {
				var show []timeline.Observer
				o := NewObserver(Options{})
				if with {
					show = append(show, o)
				}
				if _, err := timeline.ReadFile(context.Background(), file, timeline.Options{Workers: 1}, show...); err != nil {
					b.Fatal(err)
				}
				rows = o.rec.Len()
			}
			b.ReportMetric(float64(rows), "quanta")
		})
	}
}
