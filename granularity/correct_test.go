package granularity

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
)

// A correct program stays correct when its tasks are measured, locked to threads or not, and every
// execution is counted. Programs with coroutines are in package coroutines, and panics that end
// the program in TestPanicsEndTheProgram.
func TestCorrectProgramsStayCorrect(t *testing.T) {
	for _, tt := range []struct {
		what  string
		run   func(ctx context.Context, rec *Recorder) bool // reports whether the result is correct; runs on its own goroutine
		tasks uint64
	}{
		{"a task locks its goroutine for good", func(ctx context.Context, _ *Recorder) bool {
			Do(ctx, "lock", func(context.Context) error { runtime.LockOSThread(); return nil })
			return locked()
		}, 1},
		{"a task unlocks what was locked around it", func(ctx context.Context, _ *Recorder) bool {
			runtime.LockOSThread()
			Do(ctx, "unlock", func(context.Context) error { runtime.UnlockOSThread(); return nil })
			return !locked()
		}, 1},
		{"a task unlocks what is not locked", func(ctx context.Context, _ *Recorder) bool {
			Do(ctx, "unlock", func(context.Context) error { runtime.UnlockOSThread(); runtime.UnlockOSThread(); return nil })
			runtime.LockOSThread()
			return locked()
		}, 1},
		{"a task blocks while its goroutine is locked", func(ctx context.Context, _ *Recorder) bool {
			runtime.LockOSThread()
			ask, answer := make(chan int), make(chan int)
			go func() { answer <- <-ask + 1 }()
			Do(ctx, "ask", func(context.Context) error { ask <- 41; return nil })
			return <-answer == 42 && locked()
		}, 1},
		{"a task recovers from the panic of one in it", func(ctx context.Context, _ *Recorder) bool {
			var got any
			Do(ctx, "outer", func(ctx context.Context) error {
				got = panicOf(func() { Do(ctx, "inner", func(context.Context) error { panic("x") }) })
				return Do(ctx, "next", namedTask)
			})
			return got == "x" && !locked()
		}, 3},
		{"Goexit ends a task in a task", func(ctx context.Context, _ *Recorder) bool {
			done, deferred := make(chan bool), false
			go func() {
				defer close(done)
				Do(ctx, "outer", func(ctx context.Context) error {
					defer func() { deferred = true }()
					return Do(ctx, "inner", func(context.Context) error { runtime.Goexit(); return nil })
				})
				deferred = false
			}()
			<-done
			return deferred
		}, 2},
		{"tasks submit to their own pool", func(_ context.Context, rec *Recorder) bool {
			p := &Pool{Workers: 3, Queue: 200, Recorder: rec}
			var leaves atomic.Int64
			var split func(depth int) func()
			split = func(depth int) func() {
				return func() {
					if depth == 0 {
						leaves.Add(1)
						return
					}
					p.Submit(split(depth - 1))
					p.Submit(split(depth - 1))
				}
			}
			p.Submit(split(6))
			return p.Wait() == nil && p.Close() == nil && leaves.Load() == 64
		}, 127},
		{"tasks of a group start others of it, and groups of their own", func(_ context.Context, rec *Recorder) bool {
			list := make([]int, 500)
			for i := range list {
				list[i] = i * 7919 % 500
			}
			all := Group{Recorder: rec}
			sort := func(part []int) error {
				if len(part) < 2 {
					return nil
				}
				inner := Group{Recorder: rec}
				inner.SetLimit(2)
				half := len(part) / 2
				inner.Go(func() error { slices.Sort(part[:half]); return nil })
				inner.Go(func() error { slices.Sort(part[half:]); return nil })
				err := inner.Wait()
				slices.Sort(part)
				return err
			}
			all.Go(func() error {
				all.Go(func() error { return sort(list[:250]) })
				return sort(list[250:])
			})
			return all.Wait() == nil && slices.IsSorted(list[:250]) && slices.IsSorted(list[250:])
		}, 6},
	} {
		for name, log := range map[string]int{"": 0, ", all locked": 1000} {
			t.Run(tt.what+name, func(t *testing.T) {
				rec := recorder(log)
				done := make(chan bool)
				go func() { done <- tt.run(WithRecorder(context.Background(), rec), rec) }()
				if !<-done {
					t.Error("it is not what it was")
				}
				var executions uint64
				for _, c := range rec.Profile().Classes {
					executions += c.Executions()
				}
				if executions != tt.tasks {
					t.Errorf("%d executions; want %d", executions, tt.tasks)
				}
			})
		}
	}
}
