package granularity

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// Notes that threads write during a count are counted exactly once.
func TestNotesAreCountedOnce(t *testing.T) {
	rec, other := NewRecorder(), NewRecorder()
	const workers, tasks = 4, 20_000
	var stop atomic.Bool
	var counting, wg sync.WaitGroup
	for range 2 {
		counting.Go(func() {
			for !stop.Load() {
				countNotes()
				runtime.Gosched()
			}
		})
	}
	for range workers {
		wg.Go(func() {
			for i := range tasks {
				ctx := WithRecorder(context.Background(), rec)
				if i%3 == 0 { // so that a ring has notes of both
					ctx = WithRecorder(context.Background(), other)
				}
				Do(ctx, "noted", func(context.Context) error { return nil })
			}
		})
	}
	wg.Wait()
	stop.Store(true)
	counting.Wait()
	const thirds = (tasks + 2) / 3
	for r, want := range map[*Recorder]uint64{rec: workers * (tasks - thirds), other: workers * thirds} {
		for _, when := range []string{"first", "asked again"} { // some may be preempted and so unmeasured
			if c := classNamed(t, r.Profile(), "noted"); c.Executions() != want {
				t.Errorf("%s: %d tasks, want %d", when, c.Executions(), want)
			}
		}
	}
}

// A profile has the tasks of exited goroutines and threads. The memory for goroutines is that of
// the maximum number alive at one time.
func TestExitedGoroutinesKeepTheirTasks(t *testing.T) {
	rec := NewRecorder()
	const goroutines = 300
	ctx := WithRecorder(context.Background(), rec)
	kept := func() (n int) {
		shadows.more.Range(func(any, any) bool { n++; return true })
		table := shadows.table.Load()
		for i := range table {
			if table[i].g.Load() != 0 {
				n++
			}
		}
		return n
	}
	before := kept()
	for range goroutines {
		done := make(chan bool)
		go func() {
			defer close(done)
			runtime.LockOSThread() // and never unlocks: the thread exits
			Do(ctx, "last words", func(context.Context) error { return nil })
		}()
		<-done
	}
	if got := classNamed(t, rec.Profile(), "last words").Tasks; got != goroutines {
		t.Errorf("%d tasks, want %d", got, goroutines)
	}
	if n := kept() - before; n >= goroutines/2 {
		t.Errorf("%d shadow stacks, although few goroutines lived at a time", n)
	}
}
