package bottleneck_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// unlimited is a Continuous without a budget, because tests are too short for one.
var unlimited = bottleneck.ContinuousOptions{Budget: -1}

// startContinuous starts a Continuous with short bursts.
func startContinuous(t *testing.T, opt bottleneck.ContinuousOptions) *bottleneck.Continuous {
	t.Helper()
	c := bottleneck.Hurry(bottleneck.NewContinuous(opt), 5*time.Millisecond)
	if err := c.Start(); err != nil {
		t.Skip(err) // the test itself is traced
	}
	t.Cleanup(c.Stop)
	return c
}

// until works until the condition holds, which may take a while.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); contend() {
		if time.Now().After(deadline) {
			t.Fatalf("not %s", what)
		}
	}
}

// contend makes goroutines wait for a lock in regions, for a while.
func contend() {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				trace.WithRegion(context.Background(), "step", func() {
					mu.Lock()
					time.Sleep(50 * time.Microsecond)
					mu.Unlock()
				})
			}
		})
	}
	wg.Wait()
}

func checkLive(t *testing.T, l *bottleneck.Live) {
	t.Helper()
	sum := l.Bottle.Idle
	for i := range l.Bottle.Boxes {
		sum += l.Bottle.Boxes[i].Share
	}
	if sum != l.Bottle.Wall || l.Covered > l.Bottle.Wall || (l.Covered > 0) != (l.Windows > 0) {
		t.Errorf("shares sum to %v of %v, %v covered in %d windows", sum, l.Bottle.Wall, l.Covered, l.Windows)
	}
	if l.Contention.Duration != l.Bottle.Wall || l.Tasks.Wall != l.Bottle.Wall {
		t.Errorf("contention in %v, tasks in %v of %v", l.Contention.Duration, l.Tasks.Wall, l.Bottle.Wall)
	}
	if l.Coverage < 0 || l.Coverage > 1 || l.WidestError < 0 || l.WidestError > 1 || l.IdleError < 0 || l.IdleError > l.Bottle.Wall {
		t.Errorf("coverage %v, errors %v and %v of %v", l.Coverage, l.IdleError, l.WidestError, l.Bottle.Wall)
	}
	for i := range l.Bottle.Boxes {
		if b := &l.Bottle.Boxes[i]; b.ShareError < 0 || b.ShareError > l.Bottle.Wall {
			t.Errorf("%s: %v ± %v of %v", b.Group, b.Share, b.ShareError, l.Bottle.Wall)
		}
	}
	if warned := slices.ContainsFunc(l.Bottle.Warnings, func(w string) bool { return strings.Contains(w, "burst") }); warned != (l.Windows > 0) {
		t.Errorf("%d windows, %q", l.Windows, l.Bottle.Warnings)
	}
	if l.Windows > 0 {
		if err := l.Ledger.CheckValid(); err != nil || l.Ledger.Wall != l.Bottle.Wall || l.Ledger.Capacity != l.Bottle.Capacity {
			t.Errorf("%v; the ledger is of %v and %v, the graph of %v and %v", err, l.Ledger.Wall, l.Ledger.Capacity, l.Bottle.Wall, l.Bottle.Capacity)
		}
		v := l.Verdict
		if v == nil || v != l.Bottle.Verdict || len(v.Findings) == 0 || v.Capacity != l.Ledger.Capacity || !slices.ContainsFunc(v.Warnings, func(w string) bool { return strings.Contains(w, "burst") }) {
			t.Errorf("the verdict is %+v, that of the graph %+v", v, l.Bottle.Verdict)
		}
	} else if l.Verdict != nil || l.Bottle.Verdict != nil {
		t.Errorf("a verdict on nothing: %+v", l.Verdict)
	}
	for i := range l.Contention.Waits {
		w := &l.Contention.Waits[i]
		if w.Waited != w.Blamed+w.HandOff+w.Unattributed {
			t.Errorf("%+v", w)
		}
	}
	if l.Speedup != nil || l.SpeedupErr == nil || l.Info == nil {
		t.Errorf("%v, %v, %v", l.Speedup, l.SpeedupErr, l.Info)
	}
}

func waited(l *bottleneck.Live) (d time.Duration) {
	for i := range l.Contention.Waits {
		d += l.Contention.Waits[i].Waited
	}
	return d
}

func steps(l *bottleneck.Live) (n uint64) {
	for i := range l.Tasks.Classes {
		if l.Tasks.Classes[i].Name == "step" {
			n += l.Tasks.Classes[i].Tasks
		}
	}
	return n
}

// TestContinuous: the windows sum to the result of Read, and all generations are counted.
func TestContinuous(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("", func(t *testing.T) {
		opt := unlimited
		opt.Keep = 10_000
		c := startContinuous(t, opt)
		if err := c.Start(); err != nil || !c.Enabled() {
			t.Errorf("Start again: %v", err)
		}
		checkLive(t, c.Read())
		for i := range 20 {
			contend()
			if i%7 == 6 {
				checkLive(t, c.Read())
			}
		}
		until(t, "sampled", func() bool { return c.Read().Windows >= 20 })
		c.Stop()
		c.Stop()
		parts, total := c.Windows(), c.Read()
		var wall, seen, wait time.Duration
		var tasks uint64
		windows := 0
		for _, p := range parts {
			checkLive(t, p)
			wall += p.Bottle.Wall
			seen += p.Covered
			wait += waited(p)
			tasks += steps(p)
			windows += p.Windows
		}
		checkLive(t, total)
		if wall != total.Bottle.Wall || seen != total.Covered || wait != waited(total) || tasks != steps(total) || windows != total.Windows {
			t.Errorf("parts: %v of %v, %v waited, %d tasks, %d windows; the total: %v of %v, %v, %d, %d", seen, wall, wait, tasks, windows, total.Covered, total.Bottle.Wall, waited(total), steps(total), total.Windows)
		}
		if tasks == 0 || wait == 0 {
			t.Errorf("%d tasks, %v waited", tasks, wait)
		}
		st := total.Stream
		if st.Err != nil || st.Pending != 0 || st.Generations < int64(total.Windows) || st.Dropped.Generations != 0 {
			t.Errorf("%d windows, %+v", total.Windows, st)
		}
		if total.CutBursts > 1 || total.MissedBursts != 0 || total.LostBursts > 1 { // Stop may shorten the last one
			t.Errorf("%d bursts cut, %d missed, %d lost", total.CutBursts, total.MissedBursts, total.LostBursts)
		}
		// The estimate of the time is right on average: a burst represents 8 times its
		// length, or 9 times if Stop comes early.
		if least := 8*(total.Covered-5*time.Millisecond) - 40*time.Millisecond; total.Bottle.Wall < least || total.Bottle.Wall > total.Covered*9+time.Second {
			t.Errorf("%v seen stand for %v", total.Covered, total.Bottle.Wall)
		}
		if total.Bottle.Instances != 0 || total.Contention.Instances != 0 || total.Tasks.Instances != 0 {
			t.Error("several instances")
		}
		ws := c.Windows()
		if last := c.Last(0); len(ws) != total.Windows || last.Windows != 1 || last.To != ws[len(ws)-1].To || c.Last(time.Hour).Windows != total.Windows {
			t.Errorf("%d windows kept, %d in the last one", len(ws), last.Windows)
		}
		for i, l := range ws {
			checkLive(t, l)
			if i < len(ws)-1 && l.Covered != 5*time.Millisecond {
				t.Errorf("window %d of %d shows %v", i+1, len(ws), l.Covered)
			}
		}
	})
}

// TestContinuousLeavesNothingBehind: many bursts leave no goroutine and no memory behind.
func TestContinuousLeavesNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("", func(t *testing.T) {
		opt := unlimited
		opt.Keep = 20
		c := bottleneck.Hurry(bottleneck.NewContinuous(opt), time.Millisecond)
		if err := c.Start(); err != nil {
			t.Skip(err)
		}
		defer c.Stop()
		// The minimum of several measurements: usually a burst is being read, which takes
		// some MB.
		look := func(windows int) (heap uint64, goroutines int) {
			heap = math.MaxUint64
			for i := range 10 {
				until(t, "sampled", func() bool { return c.Read().Windows >= windows+4*i })
				runtime.GC()
				runtime.GC() // releases what pools keep
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				heap, goroutines = min(heap, m.HeapAlloc), runtime.NumGoroutine()
			}
			return heap, goroutines
		}
		heap, goroutines := look(40)
		more, moreGoroutines := look(180)
		if more > heap+4<<20 || moreGoroutines > goroutines+2 { // one more may be between two states
			t.Errorf("after 40 bursts %d bytes, %d goroutines; after 180 %d, %d", heap, goroutines, more, moreGoroutines)
		}
	})
}

func TestContinuousFaults(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("another trace is running", func(t *testing.T) {
		if err := trace.Start(io.Discard); err != nil {
			t.Skip(err)
		}
		defer trace.Stop()
		c := bottleneck.NewContinuous(unlimited)
		if err := c.Start(); !errors.Is(err, bottleneck.ErrTracing) || c.Enabled() {
			t.Errorf("Start: %v", err)
		}
		c.Stop()
		if !trace.IsEnabled() {
			t.Error("Stop has stopped a trace that it did not start")
		}
		checkLive(t, c.Read())
	})
	t.Run("another trace during gaps", func(t *testing.T) {
		c := startContinuous(t, unlimited)
		var theirs bytes.Buffer
		until(t, "another trace has started", func() bool { return trace.Start(&theirs) == nil })
		until(t, "missed", func() bool { return c.Read().MissedBursts > 2 })
		if err := trace.Start(io.Discard); err == nil {
			t.Error("it has stopped a trace that it did not start")
		}
		trace.Stop()
		if info, err := timeline.Read(context.Background(), &theirs, timeline.Options{}); err != nil || info.Duration() <= 0 {
			t.Errorf("the other trace: %v", err)
		}
		before := c.Read()
		if !c.Enabled() || !strings.Contains(strings.Join(before.Bottle.Warnings, " "), "other code traced the program") {
			t.Errorf("enabled %v, %q", c.Enabled(), before.Bottle.Warnings)
		}
		until(t, "sampled again", func() bool { return c.Read().Windows > before.Windows+2 })
		checkLive(t, c.Read())
	})
	for _, beside := range []bool{false, true} {
		t.Run(fmt.Sprintf("another trace after a stopped burst, with a recorder %v", beside), func(t *testing.T) {
			var rec bottle.Recorder
			if beside {
				if err := rec.Start(); err != nil {
					t.Skip(err)
				}
				defer rec.Stop()
			}
			// The burst is long: at its end another trace could be mistaken for it.
			c := bottleneck.Hurry(bottleneck.NewContinuous(unlimited), 400*time.Millisecond)
			if err := c.Start(); err != nil {
				t.Skip(err)
			}
			defer c.Stop()
			trace.Stop()
			if err := trace.Start(io.Discard); err != nil {
				t.Fatal(err)
			}
			defer trace.Stop()
			time.Sleep(450 * time.Millisecond) // the burst would end
			runtime.GC()
			time.Sleep(100 * time.Millisecond)
			c.Stop()
			if trace.Start(io.Discard) == nil {
				t.Error("it has stopped a trace that it did not start")
			}
			checkLive(t, c.Read())
		})
	}
	t.Run("a recorder ends generations", func(t *testing.T) {
		flight := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
		if err := flight.Start(); err != nil {
			t.Skip(err)
		}
		defer flight.Stop()
		c := startContinuous(t, unlimited)
		until(t, "sampled", func() bool {
			time.Sleep(30 * time.Millisecond)
			if _, err := flight.WriteTo(io.Discard); err != nil {
				t.Error(err)
			}
			return c.Read().Windows >= 5
		})
		c.Stop()
		l := c.Read()
		checkLive(t, l)
		if l.Stream.Generations <= int64(l.Windows) || l.LostBursts > 1 || l.Stream.Err != nil {
			t.Errorf("%d windows, %d lost, %+v", l.Windows, l.LostBursts, l.Stream)
		}
	})
	t.Run("read while it cannot start", func(t *testing.T) {
		c := startContinuous(t, unlimited)
		until(t, "sampled", func() bool { return c.Read().Windows > 0 })
		c.Stop()
		if err := trace.Start(io.Discard); err != nil {
			t.Skip(err)
		}
		defer trace.Stop()
		windows := c.Read().Windows
		if windows == 0 {
			t.Fatal("no windows")
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 20 {
				var others sync.WaitGroup
				others.Go(func() { // who waits for it does so for a while
					flight := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
					if flight.Start() == nil {
						flight.Stop()
					}
				})
				if err := c.Start(); !errors.Is(err, bottleneck.ErrTracing) {
					t.Errorf("Start: %v", err)
				}
				others.Wait()
			}
		}()
		for reading := true; reading; {
			select {
			case <-done:
				reading = false
			default:
				if n := c.Read().Windows; n != windows {
					t.Errorf("%d windows, %d before", n, windows)
					<-done
					reading = false
				}
			}
		}
	})
	t.Run("an observer panics", func(t *testing.T) {
		opt := unlimited
		once := &panicking{}
		opt.Observers = []timeline.Observer{once}
		c := startContinuous(t, opt)
		until(t, "at rest", func() bool { return !c.Enabled() })
		if l := c.Read(); l.Panics != 1 || l.Panic != "mine" || l.Stream.Err == nil {
			t.Errorf("%d panics, %q, %v", l.Panics, l.Panic, l.Stream.Err)
		}
		once.over.Store(true)
		until(t, "begun anew", c.Enabled)
		until(t, "analyzed again", func() bool { return c.Read().Windows > 0 })
		if l := c.Read(); l.Panics != 1 || l.Stream.Err != nil {
			t.Errorf("%d panics, %v", l.Panics, l.Stream.Err)
		}
	})
	t.Run("in use and stopped at the same time", func(t *testing.T) {
		c := startContinuous(t, unlimited)
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				for range 20 {
					switch i % 4 {
					case 0:
						checkLive(t, c.Read())
					case 1:
						checkLive(t, c.Last(0))
					case 2:
						checkLive(t, c.Last(time.Second))
					case 3:
						contend()
					}
				}
			})
		}
		time.Sleep(5 * time.Millisecond)
		c.Stop()
		if err := c.Start(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
}

type panicking struct {
	timeline.Base
	over atomic.Bool
}

func (p *panicking) Transition(*timeline.Transition) {
	if !p.over.Load() {
		panic("mine")
	}
}

// TestContinuousBounded: with new groups all the time, the totals stay small and complete.
func TestContinuousBounded(t *testing.T) {
	opt := unlimited
	opt.MaxGroups, opt.Keep = 10, 3
	opt.Bottle.Group = bottle.ByRegion
	c := startContinuous(t, opt)
	n := 0
	until(t, "sampled", func() bool {
		for range 50 {
			trace.WithRegion(context.Background(), fmt.Sprintf("region %d", n), func() { time.Sleep(time.Microsecond) })
			n++
		}
		l := c.Read()
		return l.Windows >= 10 && tasksOf(l) >= 100
	})
	c.Stop()
	l := c.Read()
	checkLive(t, l)
	tasks := tasksOf(l)
	if tasks < 100 || len(l.Tasks.Classes) > 11 || len(l.Bottle.Boxes) > 14 || len(c.Windows()) != 3 {
		t.Errorf("%d tasks in %d classes, %d boxes, %d windows kept", tasks, len(l.Tasks.Classes), len(l.Bottle.Boxes), len(c.Windows()))
	}
}

func tasksOf(l *bottleneck.Live) (n uint64) {
	for i := range l.Tasks.Classes {
		n += l.Tasks.Classes[i].Tasks
	}
	return n
}

// TestAnalyzeRecorder: all analyses of a snapshot cover the same time.
func TestAnalyzeRecorder(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("", func(t *testing.T) {
		rec := &bottle.Recorder{Last: 30 * time.Millisecond}
		if err := rec.Start(); err != nil {
			t.Skip(err)
		}
		defer rec.Stop()
		for range 8 {
			contend()
		}
		time.Sleep(10 * time.Millisecond)
		r, err := bottleneck.AnalyzeRecorder(context.Background(), rec, bottleneck.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Bottle.CPUs != host.Processors() {
			t.Errorf("%v processors, want %v", r.Bottle.CPUs, host.Processors())
		}
		if w := r.Bottle.Wall; w != 30*time.Millisecond || r.Contention.Duration != w || r.Tasks.Wall != w || r.Info.Duration() != w {
			t.Errorf("wall %v, contention in %v, tasks in %v, %v", w, r.Contention.Duration, r.Tasks.Wall, r.Info.Duration())
		}
		if r.Speedup == nil {
			if !errors.Is(r.SpeedupErr, speedup.ErrOutside) { // the program may have slept for most of the time
				t.Errorf("no estimate: %v", r.SpeedupErr)
			}
		} else if !r.Speedup.Estimate || math.Abs(float64(r.Speedup.Multi.Wall-30*time.Millisecond)) > 1 {
			t.Errorf("%+v", r.Speedup)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := bottleneck.AnalyzeRecorder(ctx, rec, bottleneck.Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v", err)
		}
		if r, err := bottleneck.AnalyzeRecorder(context.Background(), rec, bottleneck.Options{Observers: []timeline.Observer{&panicking{}}}); r != nil || err == nil || !strings.Contains(err.Error(), "mine") {
			t.Errorf("an observer that panics: %v", err)
		}
		rec.Stop()
		if _, err := bottleneck.AnalyzeRecorder(context.Background(), rec, bottleneck.Options{}); !errors.Is(err, bottle.ErrRecorderStopped) {
			t.Errorf("stopped: %v", err)
		}
	})
}
