package ledger

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// play shows an observer a random schedule on some processors, and integrates step by step, without
// slots and marks, the result that the ledger must have: for how long processors were empty, by the
// group that ran during that time.
func play(seed uint64, opt Options) (l *Ledger, empty map[string]time.Duration, ran map[string]time.Duration, queue time.Duration) {
	r := rand.New(rand.NewPCG(seed, 1))
	procs := 1 + r.IntN(6)
	o := NewObserver(opt)
	now := timeline.Time(1000)
	o.Begin(now, 26)
	type actor struct {
		g       *timeline.Goroutine
		proc    int32
		running bool
		ready   bool
	}
	free := make([]bool, procs)
	for i := range free {
		free[i] = true
	}
	var actors []*actor
	turn := func(a *actor, to timeline.State, wait timeline.Wait, waker *actor) {
		t := &timeline.Transition{To: to}
		t.G, t.State, t.Wait, t.Start, t.End = a.g, a.g.State(), a.g.Wait(), a.g.Since(), now
		if waker != nil {
			t.Waker = waker.g
		}
		if a.running {
			free[a.proc] = true
		}
		a.running, a.ready = to == timeline.Running, to == timeline.Runnable
		if to == timeline.Runnable {
			wait = a.g.Wait()
		}
		a.proc = -1
		if a.running {
			for i := range free { // any that is free
				if k := (i + int(now)) % procs; free[k] {
					a.proc, free[k] = int32(k), false
					break
				}
			}
		}
		cur := reflect.ValueOf(a.g).Elem().FieldByName("cur")
		*field[timeline.State](cur, "state"), *field[timeline.Wait](cur, "wait") = to, wait
		*field[timeline.Time](cur, "since"), *field[int32](cur, "proc") = now, a.proc
		o.Transition(t)
	}
	waits := []timeline.Wait{timeline.WaitChanReceive, timeline.WaitMutex, timeline.WaitSleep, timeline.WaitWaitGroup}
	for i := range 2 + r.IntN(10) {
		g := &timeline.Goroutine{ID: int64(i + 1), Index: i, Func: fmt.Sprintf("main.f%d", i%4)}
		if i%7 == 6 {
			g.Func, g.Kind = "runtime.bgsweep", timeline.GC
		}
		a := &actor{g: g, proc: -1}
		actors = append(actors, a)
		turn(a, timeline.Waiting, waits[r.IntN(len(waits))], nil)
	}
	known := r.IntN(3) == 0
	metric := func() {
		o.Metric(now, "/sched/gomaxprocs:threads", uint64(procs), false)
	}
	if known {
		metric()
	}
	empty, ran = map[string]time.Duration{}, map[string]time.Duration{}
	from, to := timeline.Time(0), timeline.Time(1<<60)
	if opt.From > 0 {
		from = timeline.Time(opt.From)
	}
	if opt.To > 0 {
		to = timeline.Time(opt.To)
	}
	clip := func(t timeline.Time) timeline.Time { return min(max(t-1000, from), to) }
	for range 20 + r.IntN(200) {
		before := now
		now += timeline.Time(20_000 + r.IntN(1_000_000)) // longer than what counts as the scheduler's
		dt := time.Duration(clip(now) - clip(before))
		running, ready, names := 0, 0, map[string]bool{}
		for _, a := range actors {
			if a.running {
				running++
				if a.g.Kind == timeline.Application {
					names[a.g.Func] = true
				}
				ran[a.g.Func] += dt
			}
			if a.ready {
				ready++
			}
		}
		who := Several
		switch len(names) {
		case 0:
			if who = None; running > 0 {
				who = "runtime.bgsweep"
			}
		case 1:
			for name := range names {
				who = name
			}
		}
		empty[who] += time.Duration(procs-running) * dt
		if running == procs && known { // otherwise there may be more
			queue += time.Duration(ready) * dt
		}
		for range 1 + r.IntN(3) {
			a := actors[r.IntN(len(actors))]
			switch {
			case a.running && r.IntN(4) == 0:
				turn(a, timeline.Runnable, timeline.WaitPreempted, nil)
			case a.running:
				turn(a, timeline.Waiting, waits[r.IntN(len(waits))], nil)
			case a.ready:
				if running := count(free); running > 0 {
					turn(a, timeline.Running, timeline.WaitNone, nil)
				}
			default:
				turn(a, timeline.Runnable, timeline.WaitNone, actors[r.IntN(len(actors))])
			}
		}
	}
	if !known {
		metric()
	}
	for _, a := range actors {
		turn(a, timeline.Unknown, timeline.WaitNone, nil)
	}
	o.End(now)
	return o.Ledger(), empty, ran, queue
}

func count(free []bool) (n int) {
	for _, f := range free {
		if f {
			n++
		}
	}
	return n
}

func field[T any](v reflect.Value, name string) *T {
	return (*T)(unsafe.Pointer(v.FieldByName(name).UnsafeAddr()))
}

// For random schedules, the ledger has the right capacity, running time, queue, and empty
// processors by running group, to the nanosecond.
func TestRandomSchedules(t *testing.T) {
	for seed := range uint64(testenv.Rounds(2000)) {
		opt := Options{}
		if seed%3 == 1 {
			opt.From, opt.To = 5*time.Millisecond, 40*time.Millisecond
		}
		l, empty, ran, queue := play(seed, opt)
		if err := l.CheckValid(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if l.Capacity != time.Duration(l.Procs)*l.Wall || len(l.Warnings) > 0 {
			t.Fatalf("seed %d: capacity %v of %d × %v, %v", seed, l.Capacity, l.Procs, l.Wall, l.Warnings)
		}
		for i := range l.Rows {
			switch r := &l.Rows[i]; {
			case r.Category == Code:
				ran[r.Group] -= r.Time
			case r.Category == GCWorker:
				ran["runtime.bgsweep"] -= r.Time
			default:
				empty[r.Beside] -= r.Time
			}
		}
		total := time.Duration(0)
		for who, d := range empty {
			total += d
			if opt.From > 0 && d.Abs() < 100*time.Microsecond {
				continue // if the ledger has only its end, the gap counts as the scheduler's
			}
			if d != 0 {
				t.Errorf("seed %d: processors were empty for %v more while %s ran", seed, d, who)
			}
		}
		if total != 0 {
			t.Errorf("seed %d: processors were empty for %v more", seed, total)
		}
		for name, d := range ran {
			if d != 0 {
				t.Errorf("seed %d: %s ran for %v more", seed, name, d)
			}
		}
		if l.Queue != queue {
			t.Errorf("seed %d: a queue of %v, want %v", seed, l.Queue, queue)
		}
		if t.Failed() {
			return
		}
	}
}

// BenchmarkProcs shows an observer schedules on an increasing number of processors, on which the
// cost of an event should depend little. In "few", two goroutines run at a time and the others
// alternate; in "half", half of the processors are occupied; in "full", all of them are, and as
// many goroutines again are ready.
func BenchmarkProcs(b *testing.B) {
	for _, load := range []string{"few", "half", "full"} {
		for _, procs := range []int{2, 8, 32, 128, 512, 1024} {
			b.Run(fmt.Sprintf("%s/%d", load, procs), func(b *testing.B) {
				running := map[string]int{"few": 2, "half": procs / 2, "full": procs}[load]
				o := NewObserver(Options{})
				o.Begin(0, 26)
				o.Metric(0, procsMetric, uint64(procs), false)
				now := timeline.Time(0)
				var t timeline.Transition
				type actor struct {
					g     *timeline.Goroutine
					state *timeline.State
				}
				turn := func(a actor, to timeline.State, wait timeline.Wait) {
					now += 1000
					t.G, t.State, t.Wait, t.End, t.To = a.g, *a.state, wait, now, to
					*a.state = to
					o.Transition(&t)
				}
				gs := make([]actor, 2*procs)
				for i := range gs {
					g := &timeline.Goroutine{ID: int64(i + 1), Index: i, Func: fmt.Sprintf("main.f%d", i%5)}
					gs[i] = actor{g, field[timeline.State](reflect.ValueOf(g).Elem().FieldByName("cur"), "state")}
					turn(gs[i], timeline.Waiting, timeline.WaitChanReceive)
				}
				for i := range running {
					turn(gs[i], timeline.Runnable, timeline.WaitChanReceive)
					turn(gs[i], timeline.Running, timeline.WaitNone)
				}
				oldest, next := 0, running%len(gs)
				b.ResetTimer()
				for range b.N {
					// One goroutine makes another one ready and blocks; then
					// that one runs.
					turn(gs[next], timeline.Runnable, timeline.WaitChanReceive)
					turn(gs[oldest], timeline.Waiting, timeline.WaitChanReceive)
					turn(gs[next], timeline.Running, timeline.WaitNone)
					oldest, next = (oldest+1)%len(gs), (next+1)%len(gs)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(3*b.N), "ns/event")
			})
		}
	}
}
