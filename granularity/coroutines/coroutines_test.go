// Package coroutines tests the effect of coroutines ([iter.Pull]) in a program on the measurement
// of tasks. It is a program of its own, because containing coroutines changes how all of its tasks
// are measured.
package coroutines

import (
	"context"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/granularity"
)

// numbers yields numbers, and blocks before each.
func numbers(yield func(int) bool) {
	for i := range 1000 {
		time.Sleep(time.Microsecond)
		if !yield(i) {
			return
		}
	}
}

// An iterator that is created outside of tasks, advanced in blocking tasks and stopped outside is
// a correct program. It was a fatal error when tasks were locked to their threads.
func TestIteratorsGoThroughTasks(t *testing.T) {
	rec := granularity.NewRecorder()
	rec.Log = 100
	ctx := granularity.WithRecorder(context.Background(), rec)
	next, stop := iter.Pull(numbers)
	const tasks = 200
	for i := range tasks {
		granularity.Do(ctx, "advance", func(ctx context.Context) error {
			if n, ok := next(); n != i || !ok {
				t.Errorf("number %d is %d, %v", i, n, ok)
			}
			resume := granularity.Pause()
			time.Sleep(time.Microsecond)
			resume()
			return nil
		})
	}
	stop()
	var group granularity.Group
	group.Recorder = rec
	group.Go(func() error {
		next, stop := iter.Pull(numbers)
		defer stop()
		return granularity.Do(ctx, "inner", func(context.Context) error { next(); return nil })
	})
	group.Wait()
	p := rec.Profile()
	for _, c := range p.Classes {
		if c.Name == "advance" && c.Tasks+c.Unmeasured != tasks {
			t.Errorf("%d tasks, %d unmeasured; want %d", c.Tasks, c.Unmeasured, tasks)
		}
	}
	if text := strings.Join(p.Warnings, "\n"); !strings.Contains(text, "coroutines") {
		t.Errorf("no reason why tasks are not measured:\n%s", text)
	}
}

// Work of an iterator belongs to the task that advances it. Work of others while it blocks does
// not.
func TestOthersTimeIsNotCharged(t *testing.T) {
	rec := granularity.NewRecorder()
	ctx := granularity.WithRecorder(context.Background(), rec)
	var stop atomic.Bool
	defer stop.Store(true)
	for range 4 { // others that use all processors
		go func() {
			for !stop.Load() {
			}
		}()
	}
	next, end := iter.Pull(numbers)
	defer end()
	for range 20 {
		granularity.Do(ctx, "advance", func(ctx context.Context) error { next(); return nil })
	}
	for _, c := range rec.Profile().Classes {
		if most := c.Cycles.Max(); c.Name == "advance" && float64(most) > 0.005*2e9 {
			t.Errorf("a task that sleeps for 1 µs is charged %d cycles", most)
		}
	}
}
