package ledger

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func traces(t *testing.T, f func(t *testing.T, file string)) {
	for _, pattern := range []string{"small/*.trace*", "real/*.trace.zst"} {
		files, err := filepath.Glob(filepath.Join("..", "testdata", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no traces (%v)", pattern, err)
		}
		for _, file := range testenv.Some(files) {
			name, _, _ := strings.Cut(filepath.Base(file), ".trace")
			t.Run(name, func(t *testing.T) { f(t, file) })
		}
	}
}

func read(t *testing.T, file string, observers ...timeline.Observer) {
	t.Helper()
	if _, err := timeline.ReadFile(context.Background(), file, timeline.Options{}, observers...); err != nil {
		t.Fatal(err)
	}
}

// The rows sum to the capacity, GOMAXPROCS × wall time, in the whole and in windows.
func TestRowsSumToCapacity(t *testing.T) {
	traces(t, func(t *testing.T, file string) {
		whole := NewObserver(Options{})
		graph := bottle.NewObserver(bottle.Options{})
		read(t, file, whole, graph)
		l, g := whole.Ledger(), graph.Graph()
		if err := l.CheckValid(); err != nil {
			t.Error(err)
		}
		if l.Capacity != g.Capacity || l.Wall != g.Wall || l.Procs != g.Procs {
			t.Errorf("capacity %v, wall %v, %d processors; the bottle graph has %v, %v, %d", l.Capacity, l.Wall, l.Procs, g.Capacity, g.Wall, g.Procs)
		}
		if len(l.Warnings) > 0 && g.GoVersion >= "go1.22" {
			t.Error(l.Warnings)
		}
		var capacity time.Duration
		cuts := []time.Duration{0, l.Wall / 3, l.Wall / 2, l.Wall}
		var windows []timeline.Observer
		for i := range cuts[1:] {
			windows = append(windows, NewObserver(Options{From: cuts[i], To: cuts[i+1]}))
		}
		read(t, file, windows...)
		sums := map[string]time.Duration{}
		for _, w := range windows {
			l := w.(*Observer).Ledger()
			if err := l.CheckValid(); err != nil {
				t.Error(err)
			}
			capacity += l.Capacity
			for _, c := range Categories() {
				sums[c] += l.Of(c)
			}
		}
		if capacity != l.Capacity {
			t.Errorf("windows have a capacity of %v, the whole has %v", capacity, l.Capacity)
		}
		// The end of a window is not the end of the trace: its gaps have the same cause as
		// in the whole, except for those that are short in one of them.
		for _, c := range Categories() {
			if d := (sums[c] - l.Of(c)).Abs(); d > l.Capacity/500 {
				t.Errorf("%s: %v in the windows, %v in the whole", c, sums[c], l.Of(c))
			}
		}
	})
}

// The running times equal those of the bottle graph, group by group, to the nanosecond.
func TestRunningAgreesWithBottleGraph(t *testing.T) {
	traces(t, func(t *testing.T, file string) {
		o := NewObserver(Options{})
		graph := bottle.NewObserver(bottle.Options{})
		read(t, file, o, graph)
		l, g := o.Ledger(), graph.Graph()
		want, got := map[string]time.Duration{}, map[string]time.Duration{}
		for i := range g.Boxes {
			b := &g.Boxes[i]
			switch {
			case b.Kind == bottle.Application:
				want[b.Group] += b.Running
			case strings.HasPrefix(b.Group, "stop-the-world (GC"):
				want["stopped by the collector"] += b.Running
			case b.Group == "GC assist":
				want["assists"] += b.Running
			case b.Kind == bottle.GC:
				want["collector"] += b.Running
			}
		}
		var stopped time.Duration
		for i := range l.Rows {
			switch r := &l.Rows[i]; r.Category {
			case Code, C, Syscall, GCSweep:
				got[r.Group] += r.Time
			case GCAssist:
				got["assists"] += r.Time
			case GCWorker:
				got["collector"] += r.Time
			case GCStop:
				stopped += r.Time
			}
		}
		if stopped < want["stopped by the collector"] { // other processors have nothing to run then
			t.Errorf("the world was stopped for %v; the goroutines that stopped it ran for %v", stopped, want["stopped by the collector"])
		}
		delete(want, "stopped by the collector")
		for name, d := range want {
			if got[name] != d {
				t.Errorf("%s ran for %v; the bottle graph has %v", name, got[name], d)
			}
		}
		for name, d := range got {
			if _, ok := want[name]; !ok && d > 0 {
				t.Errorf("%s ran for %v; the bottle graph does not have it", name, d)
			}
		}
	})
}

// Ready goroutines without a processor: the rows sum to the whole queue.
func TestQueueSums(t *testing.T) {
	traces(t, func(t *testing.T, file string) {
		o := NewObserver(Options{})
		read(t, file, o)
		l := o.Ledger()
		var sum, offered time.Duration
		for i := range l.Rows {
			sum += l.Rows[i].Queue
		}
		for _, d := range l.Offered {
			offered += d
		}
		if sum != l.Queue || offered != l.Wall || l.Queued > l.Wall {
			t.Errorf("rows have %v of a queue of %v; %v by number of goroutines, and %v with a queue, of %v", sum, l.Queue, offered, l.Queued, l.Wall)
		}
	})
}

// The tracer's goroutines and the runtime's may be ready, but are not what the program would run on
// more processors.
func TestQueueIsThatOfTheProgram(t *testing.T) {
	for kind, want := range map[timeline.Kind]time.Duration{timeline.Application: 100_000, timeline.GC: 100_000, timeline.Runtime: 0, timeline.Tracer: 0} {
		o := NewObserver(Options{})
		show := player(o, 1)
		show(1000, &timeline.Goroutine{ID: 1, Index: 0, Func: "main.run"}, timeline.Running, nil)
		show(1000, &timeline.Goroutine{ID: 2, Index: 1, Kind: kind, Func: "other"}, timeline.Runnable, nil)
		o.End(101_000)
		if l := o.Ledger(); l.Queue != want || l.Queued != want {
			t.Errorf("%s: a queue of %v for %v, want %v", kind, l.Queue, l.Queued, want)
		}
	}
}

// A short gap is the scheduler's if others are ready when it ends, or if the only processor runs a
// goroutine that was ready before. Otherwise it belongs to what made the goroutine ready.
func TestShortGaps(t *testing.T) {
	for _, tt := range []struct {
		name   string
		procs  uint64
		gap    timeline.Time
		before bool // the next goroutine was ready before the gap
		others int  // that are ready as well
		want   string
	}{
		{"a timer that the scheduler ran", 1, 2000, false, 1, Scheduler},
		{"a timer, and nothing else to run", 1, 2000, false, 0, Outside},
		{"a long wait for a timer", 1, 50_000, false, 1, Outside},
		{"a switch on one processor", 1, 2000, true, 0, Scheduler},
		{"late on one processor", 1, 50_000, true, 0, WakeUp},
		{"a wake-up on another processor", 2, 2000, true, 0, WakeUp},
		{"a switch on one of two", 2, 2000, true, 1, Scheduler},
	} {
		o := NewObserver(Options{})
		o.Begin(0, 26)
		o.Metric(0, procsMetric, tt.procs, false)
		now := timeline.Time(0)
		turn := func(g *timeline.Goroutine, to timeline.State, wait timeline.Wait) {
			cur := reflect.ValueOf(g).Elem().FieldByName("cur")
			tr := &timeline.Transition{To: to}
			tr.G, tr.State, tr.Wait, tr.End = g, g.State(), g.Wait(), now
			*field[timeline.State](cur, "state"), *field[timeline.Wait](cur, "wait") = to, wait
			o.Transition(tr)
		}
		gs := make([]*timeline.Goroutine, 2+tt.others)
		for i := range gs {
			gs[i] = &timeline.Goroutine{ID: int64(i + 1), Index: i, Func: "main.f"}
			turn(gs[i], timeline.Waiting, timeline.WaitSleep)
			if i != 1 {
				turn(gs[i], timeline.Runnable, timeline.WaitNone)
			}
		}
		turn(gs[0], timeline.Running, timeline.WaitNone)
		now += 1_000_000
		if tt.before {
			turn(gs[1], timeline.Runnable, timeline.WaitNone)
		}
		now += 1000
		turn(gs[0], timeline.Waiting, timeline.WaitSleep)
		now += tt.gap
		if !tt.before {
			turn(gs[1], timeline.Runnable, timeline.WaitNone)
		}
		turn(gs[1], timeline.Running, timeline.WaitNone)
		l := o.Finish(now)
		if err := l.CheckValid(); err != nil {
			t.Error(tt.name, err)
		}
		got := l.Sum(func(r *Row) bool { return r.Category == tt.want && r.Beside != "main.f" })
		if want := time.Duration(tt.procs) * time.Duration(tt.gap); got != want {
			t.Errorf("%s: %v in %s, want %v: %+v", tt.name, got, tt.want, want, l.Rows)
		}
	}
}

// A gap that is not divided by who ran beside it counts once.
func TestUndividedGapCountsOnce(t *testing.T) {
	o := NewObserver(Options{})
	a, b := o.groups.number("main.a"), o.groups.number("main.b")
	for _, divide := range []bool{false, true} {
		k := keyOf(catScheduler, a, nil)
		if divide {
			k = keyOf(catWakeUp, a, nil)
		}
		o.empties(k, &cause{}, spells{{a, 3}, {stopGC, 2}, {b, 4}}, divide)
		rows, want := []*row{o.rows.at(k)}, timeline.Time(7)
		if divide {
			rows, want = []*row{o.rows.at(k.whileRan(a))}, 3
		}
		if rows[0].count != 1 || rows[0].time != want {
			t.Errorf("divided %v: %d gaps, %d ns, want 1 of %d ns", divide, rows[0].count, rows[0].time, want)
		}
	}
}

// While one goroutine ran on one of two processors, another one waited for a lock for half of the
// time.
func TestLocked(t *testing.T) {
	for _, tt := range []struct {
		wait timeline.Wait
		want time.Duration
	}{{timeline.WaitRWMutexWriter, 50_000}, {timeline.WaitChanReceive, 0}} {
		o := NewObserver(Options{})
		show := player(o, 2)
		runs, waits := &timeline.Goroutine{ID: 1, Index: 0, Func: "main.run"}, &timeline.Goroutine{ID: 2, Index: 1, Func: "main.wait"}
		show(1000, runs, timeline.Running, nil)
		show(1000, waits, timeline.Running, nil)
		show(2000, waits, timeline.Waiting, func(tr *timeline.Transition) { tr.Wait = timeline.WaitChanReceive })
		show(52_000, waits, timeline.Running, nil)
		show(52_000, waits, timeline.Waiting, func(tr *timeline.Transition) { tr.Wait = tt.wait })
		show(102_000, waits, timeline.Running, nil)
		l := o.Finish(103_000)
		var locked, empty time.Duration
		for _, r := range l.Rows {
			locked += r.Locked
			if r.Empty() {
				empty += r.Time
			}
		}
		if err := l.CheckValid(); err != nil || locked != tt.want || empty != 100_000 {
			t.Errorf("%v: locked for %v of %v, want %v; %v", tt.wait, locked, empty, tt.want, err)
		}
	}
}
