package granularity

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/cycles"
)

// busy computes for about d.
func busy(d time.Duration) {
	for end := cycles.Ticks() + cycles.TimebaseOf().FromNS(int64(d)); cycles.Ticks() < end; {
	}
}

// The self times of a task and of all nested tasks sum to its total exactly.
func TestNestedSelvesSumToRoot(t *testing.T) {
	noLeak(t)
	rec := recorder(1000)
	ctx := WithRecorder(context.Background(), rec)
	p := &Pool{Name: "outer", Workers: 2, Recorder: rec}
	for range 20 {
		p.Submit(func() {
			busy(20 * time.Microsecond)
			Do(ctx, "middle", func(ctx context.Context) error {
				busy(10 * time.Microsecond)
				for range 3 {
					Do(ctx, "inner", func(context.Context) error { busy(5 * time.Microsecond); return nil })
				}
				time.Sleep(100 * time.Microsecond)
				return nil
			})
			busy(10 * time.Microsecond)
		})
	}
	p.Close()
	prof := rec.Profile()
	if len(prof.Log) != 100 || prof.LogDropped != 0 {
		t.Fatalf("%d tasks in the log, %d dropped; want 100, 0", len(prof.Log), prof.LogDropped)
	}
	byID := map[uint64]*TaskRecord{}
	selves := map[uint64]uint64{} // by root
	for i := range prof.Log {
		byID[prof.Log[i].ID] = &prof.Log[i]
	}
	depth := map[string]int{"middle": 1, "inner": 2}
	for i := range prof.Log {
		task := &prof.Log[i]
		root, up := task, 0
		for root.Outer != 0 {
			root, up = byID[root.Outer], up+1
		}
		if up != depth[task.Class] {
			t.Errorf("%s is nested %d deep; want %d", task.Class, up, depth[task.Class])
		}
		selves[root.ID] += task.Cycles
	}
	if len(selves) != 20 {
		t.Errorf("%d roots; want 20", len(selves))
	}
	for id, sum := range selves {
		if root := byID[id]; sum != root.TotalCycles {
			t.Errorf("the selves sum to %d; the root's total is %d", sum, root.TotalCycles)
		}
	}
	inner := classNamed(t, prof, "inner")
	if inner.Tasks != 60 || inner.Nested != 60 {
		t.Errorf("%d inner tasks, %d nested; want 60, 60", inner.Tasks, inner.Nested)
	}
	if sum := inner.WallNS.Min(); sum < 5000 {
		t.Errorf("an inner task of 5 µs took %d ns", sum)
	}
}

func TestAggregateNested(t *testing.T) {
	for tries := 50; !aggregates(t) && !t.Failed(); tries-- {
		if tries == 0 {
			t.Error("aggregated or not, the outer task has the same cycles")
		}
	}
}

// aggregates reports whether the cycles of a nested task are included in the outer one's if they
// should be: busy uses wall time, so on a busy machine it may execute little.
func aggregates(t *testing.T) bool {
	t.Helper()
	each, whole := NewRecorder(), NewRecorder()
	whole.AggregateNested = true
	for _, rec := range []*Recorder{each, whole} {
		ctx := WithRecorder(context.Background(), rec)
		Do(ctx, "outer", func(ctx context.Context) error {
			return Do(ctx, "inner", func(context.Context) error { busy(500 * time.Microsecond); return nil })
		})
	}
	if got := classNamed(t, each.Profile(), "inner"); got.Tasks+got.Unmeasured != 1 || got.Aggregated != 0 {
		t.Errorf("separately: %d inner tasks, %d aggregated", got.Tasks, got.Aggregated)
	}
	p := whole.Profile()
	if got := classNamed(t, p, "inner"); got.Tasks != 0 || got.Aggregated != 1 {
		t.Errorf("aggregated: %d inner tasks, %d aggregated", got.Tasks, got.Aggregated)
	}
	few, all := classNamed(t, each.Profile(), "outer").Cycles.Sum(), classNamed(t, p, "outer").Cycles.Sum()
	return p.Hz == 0 || few <= all/2 && all >= 250e-6*p.Hz
}

// Tasks of one class that come from different places have a site each.
func TestSites(t *testing.T) {
	rec := recorder(10)
	p := &Pool{Name: "named", Recorder: rec}
	const name = "github.com/bottleneck-go/bottleneck/granularity.made"
	submitHere(p)
	submitThere(p)
	Do(WithRecorder(context.Background(), rec), name, namedTask)
	p.Close()
	prof := rec.Profile()
	c := classNamed(t, prof, name)
	if c.Tasks != 3 || len(c.Sites) != 3 {
		t.Fatalf("%d tasks from %d sites; want 3 from 3", c.Tasks, len(c.Sites))
	}
	leaves := map[string]string{}
	for _, s := range c.Sites {
		leaf := ""
		if len(s.Submitted) > 0 {
			leaf = s.Submitted[0].Func[strings.LastIndexByte(s.Submitted[0].Func, '.')+1:]
		}
		leaves[leaf] = s.Pool
	}
	if len(leaves) != 3 || leaves["submitHere"] != "named" || leaves["submitThere"] != "named" || leaves[""] != "" {
		t.Errorf("submitted at (pool) %v; want submitHere (named), submitThere (named) and nowhere", leaves)
	}
	for _, task := range prof.Log {
		if (task.Creator == 0 || task.Executor == 0) && callstack.Goid() != 0 || task.Thread == 0 && runtime.GOOS == "linux" {
			t.Errorf("goroutines or thread are not known: %+v", task)
		}
		if task.CreatedAt > task.StartedAt || task.StartedAt > task.EndedAt ||
			task.SubmittedAt != 0 && (task.SubmittedAt < task.CreatedAt || task.SubmittedAt > task.StartedAt) {
			t.Errorf("created %d, submitted %d, started %d, ended %d", task.CreatedAt, task.SubmittedAt, task.StartedAt, task.EndedAt)
		}
	}
}

func made()                           {}
func submitHere(p *Pool)              { p.Submit(made) }
func submitThere(p *Pool)             { p.Submit(made) }
func namedTask(context.Context) error { return nil }
func (l *limited) method()            { l.n++ }

type limited struct{ n int }

func TestClassNames(t *testing.T) {
	rec := NewRecorder()
	Do(WithRecorder(context.Background(), rec), "", namedTask)
	p := &Pool{Recorder: rec}
	p.Submit((&limited{}).method)
	p.Close()
	prof := rec.Profile()
	const own = "github.com/bottleneck-go/bottleneck/granularity."
	classNamed(t, prof, own+"namedTask")
	classNamed(t, prof, own+"(*limited).method")
}

func TestSiteLimit(t *testing.T) {
	rec := NewRecorder()
	ctx := WithRecorder(context.Background(), rec)
	for i := range maxSites + 40 {
		Do(ctx, "class "+strconv.Itoa(i), namedTask)
	}
	prof := rec.Profile()
	if c := classNamed(t, prof, "(other)"); c.Executions() != 41 || len(prof.Classes) > maxSites+1 {
		t.Errorf("%d tasks in (other), %d classes; want 41 and at most 2048 with it", c.Tasks, len(prof.Classes))
	}
	Do(ctx, "one more", namedTask)
	prof = rec.Profile()
	want := fmt.Sprintf("2,048 places create tasks: %d tasks", classNamed(t, prof, "(other)").Tasks) // 42, but for those that lost their thread
	if len(prof.Warnings) == 0 || !strings.Contains(strings.Join(prof.Warnings, " "), want) {
		t.Errorf("no warning about the limit, or a wrong one: %q", prof.Warnings)
	}
}

func TestLogLimit(t *testing.T) {
	rec := recorder(5)
	ctx := WithRecorder(context.Background(), rec)
	for range 12 {
		Do(ctx, "x", namedTask)
	}
	if p := rec.Profile(); len(p.Log) != 5 || p.LogDropped != 7 || p.Classes[0].Tasks+p.Classes[0].Unmeasured != 12 {
		t.Errorf("%d logged, %d dropped, %d counted; want 5, 7, 12", len(p.Log), p.LogDropped, p.Classes[0].Tasks)
	}
}

// Tasks that never execute, or not as tasks of their own, take no entry of the log.
func TestLogPlaces(t *testing.T) {
	for name, test := range map[string]struct {
		aggregate bool
		tasks     int // in the log
		f         func(rec *Recorder)
	}{
		"TryGo": {false, 3, func(rec *Recorder) {
			g := Group{Recorder: rec}
			g.SetLimit(0)
			for range 20 {
				g.TryGo(func() error { return nil })
			}
			g.SetLimit(1)
			for range 3 {
				g.Go(func() error { return nil })
			}
			g.Wait()
		}},
		"SubmitContext": {false, 1, func(rec *Recorder) {
			p := &Pool{Workers: 1, Queue: -1, Recorder: rec}
			release := make(chan bool)
			p.Submit(func() { <-release })
			for range 20 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
				p.SubmitContext(ctx, func() {})
				cancel()
			}
			close(release)
			p.Close()
		}},
		"never resumed": {false, 3, func(rec *Recorder) {
			ctx := WithRecorder(context.Background(), rec)
			for range 20 {
				Do(ctx, "x", func(context.Context) error { Pause(); return nil })
			}
			for range 3 {
				Do(ctx, "y", namedTask)
			}
		}},
		"aggregated": {true, 4, func(rec *Recorder) {
			for range 4 {
				Do(WithRecorder(context.Background(), rec), "outer", func(ctx context.Context) error {
					for range 20 {
						Do(ctx, "inner", namedTask)
					}
					return nil
				})
			}
		}},
	} {
		rec := recorder(5)
		rec.AggregateNested = test.aggregate
		test.f(rec)
		if p := rec.Profile(); len(p.Log) != test.tasks || p.LogDropped != 0 {
			t.Errorf("%s: %d tasks in the log, %d dropped; want %d, 0", name, len(p.Log), p.LogDropped, test.tasks)
		}
	}
}

func TestDoPassesThrough(t *testing.T) {
	rec := NewRecorder()
	ctx := WithRecorder(context.Background(), rec)
	failure := errors.New("failure")
	if err := Do(ctx, "error", func(context.Context) error { return failure }); err != failure {
		t.Errorf("Do returned %v", err)
	}
	if got := panicOf(func() { Do(ctx, "panic", func(context.Context) error { panic(failure) }) }); got != failure {
		t.Errorf("the panic became %v", got)
	}
	done := make(chan bool)
	go func() {
		defer close(done)
		Do(ctx, "exit", func(context.Context) error { runtime.Goexit(); return nil })
	}()
	<-done
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if err := Do(canceled, "canceled", func(ctx context.Context) error { return ctx.Err() }); err != context.Canceled {
		t.Errorf("with a canceled context: %v; the function decides what that means", err)
	}
	p := rec.Profile()
	for _, name := range []string{"error", "panic", "exit", "canceled"} {
		if c := classNamed(t, p, name); c.Executions() != 1 {
			t.Errorf("%s: %d tasks; want 1", name, c.Tasks)
		}
	}
}

// A goroutine that exits while locked ends its thread.
func TestNoThreadIsLeftLocked(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks at threads in /proc")
	}
	rec := recorder(1000) // so that tasks are locked
	ctx := WithRecorder(context.Background(), rec)
	tid := func() int {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		return cycles.Default().Start().Thread.TID
	}
	for name, f := range map[string]func(){
		"Do":         func() { Do(ctx, "x", namedTask) },
		"nested":     func() { Do(ctx, "x", func(ctx context.Context) error { return Do(ctx, "y", namedTask) }) },
		"panic":      func() { panicOf(func() { Do(ctx, "x", func(context.Context) error { panic(1) }) }) },
		"Goexit":     func() { Do(ctx, "x", func(context.Context) error { runtime.Goexit(); return nil }) },
		"pause":      func() { Do(ctx, "x", func(context.Context) error { Pause()(); return nil }) },
		"pause only": func() { Do(ctx, "x", func(context.Context) error { Pause(); return nil }) },
		"nested pause": func() {
			Do(ctx, "x", func(ctx context.Context) error {
				return Do(ctx, "y", func(context.Context) error { Pause()(); return nil })
			})
		},
		"pause outside": func() { Pause()() },
		"unlock":        func() { Do(ctx, "x", func(context.Context) error { runtime.UnlockOSThread(); return nil }) },
	} {
		for range 10 {
			last := make(chan int)
			go func() {
				defer func() { last <- tid() }()
				f()
			}()
			thread := <-last
			time.Sleep(time.Millisecond)
			if _, err := os.Stat(filepath.Join("/proc/self/task", strconv.Itoa(thread))); err != nil {
				t.Fatalf("%s: the goroutine's thread exited with it: it was left locked", name)
			}
		}
	}
}

// A task that unlocks its goroutine and moves is counted but not measured.
func TestUnlockInTask(t *testing.T) {
	noLeak(t)
	rec := NewRecorder()
	p := &Pool{Workers: 6, Recorder: rec}
	var wg sync.WaitGroup
	for range 300 {
		wg.Add(1)
		p.Submit(func() {
			defer wg.Done()
			runtime.UnlockOSThread()
			busy(20 * time.Microsecond)
			time.Sleep(50 * time.Microsecond)
		})
	}
	wg.Wait()
	p.Close()
	prof := rec.Profile()
	c := prof.Classes[0]
	if c.Executions() != 300 || cycles.TurnsKnown() && !rec.anywhere && c.Unmeasured != 300 {
		t.Errorf("%d measured and %d unmeasured; want 300 unmeasured", c.Tasks, c.Unmeasured)
	}
	if c.Unmeasured > 30 && c.Diagnosis != Unknown {
		t.Errorf("diagnosis %s although %d of 300 were not measured", c.Diagnosis, c.Unmeasured)
	}
	// Tasks that follow are measured correctly.
	p = &Pool{Workers: 6, Recorder: rec}
	for range 100 {
		p.Submit(func() { busy(10 * time.Microsecond) })
	}
	p.Close()
	if c := classNamed(t, rec.Profile(), "github.com/bottleneck-go/bottleneck/granularity.TestUnlockInTask.func2"); c.Executions() != 100 || c.Nested != 0 {
		t.Errorf("afterwards: %d tasks, %d nested, %d unmeasured; want 100, 0, 0", c.Tasks, c.Nested, c.Unmeasured)
	}
}

func TestPauseMisuse(t *testing.T) {
	rec := recorder(100) // so that tasks are locked, and measured even if preempted
	ctx := WithRecorder(context.Background(), rec)
	Pause()() // outside of a task
	(*paused)(nil).resume()
	Do(ctx, "twice", func(context.Context) error {
		resume := Pause()
		resume()
		resume()
		Pause()()
		return nil
	})
	Do(ctx, "never", func(context.Context) error { Pause(); return nil })
	Do(ctx, "elsewhere", func(context.Context) error {
		resume := Pause()
		done := make(chan bool)
		go func() { resume(); close(done) }()
		<-done
		return nil
	})
	Do(ctx, "inside", func(ctx context.Context) error {
		resume := Pause()
		Do(ctx, "during", func(context.Context) error { resume(); return nil })
		return nil
	})
	want := map[string][2]uint64{"twice": {1, 0}, "never": {0, 1}, "elsewhere": {0, 1}, "inside": {0, 1}, "during": {1, 0}}
	prof := rec.Profile()
	for name, n := range want {
		if c := classNamed(t, prof, name); c.Tasks != n[0] || c.Unmeasured != n[1] {
			t.Errorf("%s: %d measured, %d unmeasured; want %d, %d", name, c.Tasks, c.Unmeasured, n[0], n[1])
		}
	}
}

// locked reports whether the calling goroutine is locked to its thread.
func locked() bool {
	var buf [256]byte
	line, _, _ := strings.Cut(string(buf[:runtime.Stack(buf[:], false)]), "\n")
	return strings.Contains(line, "locked to thread")
}

// However a pause ends, the goroutine is locked to its thread only as often as the user locked it.
func TestPauseAndLocks(t *testing.T) {
	rec := recorder(1000)
	ctx := WithRecorder(context.Background(), rec)
	var late func()
	for name, f := range map[string]func(){
		"never resumed": func() { Do(ctx, "x", func(context.Context) error { Pause(); return nil }) },
		"panic":         func() { panicOf(func() { Do(ctx, "x", func(context.Context) error { Pause(); panic(1) }) }) },
		"resumed late": func() {
			Do(ctx, "x", func(context.Context) error { late = Pause(); return nil })
			late()
		},
		"resumed in the task around": func() {
			Do(ctx, "x", func(ctx context.Context) error {
				Do(ctx, "y", func(context.Context) error { late = Pause(); return nil })
				late()
				return nil
			})
		},
		"resumed": func() { Do(ctx, "x", func(context.Context) error { Pause()(); return nil }) },
	} {
		for _, own := range []bool{false, true} {
			done := make(chan bool)
			go func() {
				defer close(done)
				if own {
					runtime.LockOSThread()
				}
				if f(); locked() != own {
					t.Errorf("%s: locked to the thread: %v; the user's lock: %v", name, locked(), own)
				}
				if sh := shadowOf(cycles.Goroutine()); sh.paused != nil || sh.depth() > 0 {
					t.Errorf("%s: tasks that have ended are still there", name)
				}
				before := rec.Profile()
				Do(ctx, "after", namedTask)
				if c := classNamed(t, rec.Profile(), "after"); c.Nested != 0 {
					t.Errorf("%s: a task that follows is nested, besides %v", name, before.Classes)
				}
				if own {
					runtime.UnlockOSThread()
				}
			}()
			<-done
		}
	}
}

// Events in a pause are not the task's work, whatever thread runs afterwards.
func TestPauseLeavesOut(t *testing.T) {
	rec := recorder(100)
	p := &Pool{Workers: 4, Recorder: rec}
	for range 40 {
		p.Submit(func() {
			busy(100 * time.Microsecond)
			resume := Pause()
			busy(500 * time.Microsecond) // outside of the task's time
			time.Sleep(500 * time.Microsecond)
			resume()
			busy(100 * time.Microsecond)
		})
	}
	p.Close()
	prof := rec.Profile()
	if prof.Accuracy == string(cycles.UpperBound) {
		t.Skip("nothing counts here")
	}
	within := 0
	for _, task := range prof.Log {
		us := float64(task.Cycles) / prof.Hz * 1e6
		if us < 500 { // 200 or less (busy uses wall time), and interrupts
			within++
		}
		if wall := task.EndedAt - task.StartedAt; wall < 1_150_000 {
			t.Errorf("the pause is missing from the wall time: %d ns", wall)
		}
		if task.Blocked < 1000*time.Microsecond {
			t.Errorf("the pause is missing from the blocked time: %v", task.Blocked)
		}
	}
	if within < 30 {
		t.Errorf("%d of %d tasks have fewer cycles than 500 µs", within, len(prof.Log))
	}
}

func TestPauseAllocatesTwice(t *testing.T) {
	ctx := WithRecorder(context.Background(), NewRecorder())
	f := func(context.Context) error { Pause()(); return nil }
	if n := testing.AllocsPerRun(1000, func() { Do(ctx, "x", f) }); n > 2.01 {
		t.Errorf("%g allocations a pause", n)
	}
}

func TestDoDoesNotAllocate(t *testing.T) {
	rec := NewRecorder()
	ctx := WithRecorder(context.Background(), rec)
	Do(ctx, "x", namedTask)
	if n := testing.AllocsPerRun(1000, func() { Do(ctx, "x", namedTask) }); n > 0.01 {
		t.Errorf("%g allocations a task", n)
	}
}
