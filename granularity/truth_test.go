package granularity

import (
	"context"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/cycles"
)

// truth is what a task really executed: between lo and hi ticks. It is the bracket of
// internal/cycles' test of the same name: steps of a loop that reads the TSC are execution if they
// are short, and interrupts or time off the processor if they are long.
type truth struct{ lo, hi int64 }

func (tr *truth) spin(d time.Duration) {
	base := cycles.TimebaseOf()
	us := base.FromNS(1000)
	end := tr.lo + base.FromNS(int64(d))
	for last := cycles.Ticks(); tr.lo < end; {
		now := cycles.Ticks()
		switch step := now - last; {
		case step < us:
			tr.lo += step
			tr.hi += step
		case step < 50*us:
			tr.hi += step
		default:
			tr.hi += 100 * us
		}
		last = now
	}
}

// Tasks in a pool are measured as accurately as the clock measures spinning on as many threads at
// the same time: pure computation, and computation on both sides of a pause in which they change
// threads.
func TestTasksAreTrue(t *testing.T) {
	rec := recorder(1000)
	if p := rec.Profile(); p.Accuracy == string(cycles.UpperBound) {
		t.Skip("no source of reference cycles")
	}
	base := cycles.TimebaseOf()
	for _, kind := range []struct {
		name    string
		workers int
		work    func(tr *truth)
	}{
		{"compute", 1, func(tr *truth) { tr.spin(100 * time.Microsecond) }},
		{"preempted", 8, func(tr *truth) { tr.spin(2 * time.Millisecond) }},
		{"migrating in a pause", 4, func(tr *truth) {
			tr.spin(50 * time.Microsecond)
			from := cycles.Ticks()
			p := Pause()
			pausing := cycles.Ticks() - from
			time.Sleep(100 * time.Microsecond)
			runtime.Gosched()
			from = cycles.Ticks()
			p()
			pausing += cycles.Ticks() - from
			tr.spin(50 * time.Microsecond)
			tr.hi += max(base.FromNS(2000), pausing) // the pause itself: TestPauseIsNotCounted is stricter
		}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			var inside, above, all int
			var median, off float64
			for range 10 { // the machine may be shared: the best of ten
				off = clockIsOff(rec.clock, kind.workers)
				inside, above, all, median = tasksInside(kind.workers, off, kind.work)
				t.Logf("%d of %d tasks inside their bracket, %d above, median relative distance from it %.4f, of the clock %.4f", inside, all, above, median, off)
				if inside*10 >= all*8 && median <= 0.005+off {
					return
				}
			}
			t.Errorf("%d of %d tasks inside their bracket, median relative distance %.4f; want 80 %% and 0.005 + %.4f", inside, all, median, off)
		})
	}
}

// clockIsOff returns how far the clock's measurements of 2 ms of spinning are from their brackets,
// relative to them: the third quartile of 48, on that many threads. It is near 0 unless the machine
// is shared: then readings are system calls after each switch to another program, and a thread's
// clock may leave out interrupts, or count time in which the virtual processor did not run.
func clockIsOff(clock *cycles.Clock, workers int) float64 {
	var mu sync.Mutex
	var errs []float64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for range 48 / workers {
				tr := new(truth)
				from := clock.Start()
				tr.spin(2 * time.Millisecond)
				got := clock.Stop(from.Thread).CPU - from.CPU
				mu.Lock()
				errs = append(errs, float64(max(got-tr.hi, tr.lo-got, 0))/float64(tr.lo))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(errs)
	return errs[len(errs)*3/4]
}

// tasksInside measures 200 tasks in a pool and returns how many of the measurements were in their
// brackets, which are wider by what the clock is off, how many were above them, and the median of
// their relative distance from the brackets alone.
func tasksInside(workers int, off float64, work func(tr *truth)) (inside, above, all int, median float64) {
	base := cycles.TimebaseOf()
	rec := recorder(1000)
	varies := readingVaries(rec.clock)
	truths := make([]truth, 200)
	p := &Pool{Workers: workers, Recorder: rec}
	for i := range truths {
		p.Submit(func() { work(&truths[i]) })
	}
	p.Close()
	prof := rec.Profile()
	slices.SortFunc(prof.Log, func(a, b TaskRecord) int { return int(a.ID) - int(b.ID) })
	var errs []float64
	for i, task := range prof.Log {
		tr := truths[i]
		got := int64(task.Cycles)
		// The race detector's overhead on our own work is not proportional to a task, but
		// some µs per task.
		tr.hi += (race.Slowdown-1)*base.FromNS(1000) + varies
		slack := race.Slowdown*(base.FromNS(1500)+tr.lo/500) + int64(off*float64(tr.lo))
		switch {
		case got > tr.hi+slack:
			above++
		case got >= tr.lo-slack:
			inside++
		}
		errs = append(errs, float64(max(got-tr.hi, tr.lo-got, 0))/float64(tr.lo))
	}
	slices.Sort(errs)
	return inside, above, len(errs), errs[len(errs)/2]
}

// readingVaries returns the usual excess, in ticks, of the clock readings at both ends of a task
// over their minimum, which is not charged to the task: microseconds on some machines, if readings
// are system calls.
func readingVaries(clock *cycles.Clock) int64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var took []int64
	for range 200 {
		new(truth).spin(20 * time.Microsecond) // as in a task, which uses the caches itself
		from := cycles.Ticks()
		clock.Stop(clock.Start().Thread)
		took = append(took, cycles.Ticks()-from)
	}
	slices.Sort(took)
	return took[len(took)*3/4] - took[0]
}

// A pause adds nothing to a task even if each clock reading is a system call: the readings at both
// ends are not the task's work.
func TestPauseIsNotCounted(t *testing.T) {
	clock, err := cycles.Open(cycles.ThreadClock)
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("no fine thread clock: ", err)
	}
	var got, bias int64
	for range 20 { // other programs may use the processor, which changes the cost of system calls
		rec := NewRecorder()
		rec.bias, rec.clock, rec.anywhere = 0, clock, false
		ctx := WithRecorder(context.Background(), rec)
		little := func(class string, f func(context.Context) error) int64 { // of many; the minimum itself may be from a clock that stood still
			for range 1000 {
				Do(ctx, class, f)
			}
			return int64(classNamed(t, rec.Profile(), class).Cycles.Quantile(.05))
		}
		bias = little("empty", namedTask)
		rec.bias = bias
		if got = little("paused", func(context.Context) error { Pause()(); return nil }); got <= bias/2 {
			return
		}
	}
	t.Errorf("a task with nothing but a pause has %d cycles or more, where an empty one seems to have %d", got, bias)
}
