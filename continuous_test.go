package bottleneck_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/trace"
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

// unlimited is a Continuous without a budget, as tests last too short for one.
var unlimited = bottleneck.ContinuousOptions{Budget: -1}

func startContinuous(t *testing.T, opt bottleneck.ContinuousOptions) *bottleneck.Continuous {
	t.Helper()
	c := bottleneck.NewContinuous(opt)
	if err := c.Start(); err != nil {
		t.Skip(err) // the test itself is traced
	}
	t.Cleanup(c.Stop)
	return c
}

// pulse ends the generation of the trace that is under way each time it is called: reading a flight recorder does so.
func pulse(t *testing.T) func() {
	t.Helper()
	flight := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	if err := flight.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(flight.Stop)
	return func() {
		if _, err := flight.WriteTo(io.Discard); err != nil {
			t.Error(err)
		}
	}
}

// contend lets goroutines wait for a lock in regions, for a while.
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
	if sum != l.Bottle.Wall || l.Covered != l.Bottle.Wall {
		t.Errorf("shares sum to %v of %v, %v covered", sum, l.Bottle.Wall, l.Covered)
	}
	if l.Contention.Duration != l.Covered || l.Tasks.Wall != l.Covered {
		t.Errorf("contention in %v, tasks in %v of %v", l.Contention.Duration, l.Tasks.Wall, l.Covered)
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

// TestContinuous: the parts that ReadReset returns sum to what Read does, and all generations are counted.
func TestContinuous(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("", func(t *testing.T) {
		next := pulse(t)
		c := startContinuous(t, unlimited)
		if err := c.Start(); err != nil || !c.Enabled() {
			t.Errorf("Start again: %v", err)
		}
		checkLive(t, c.Read())
		var parts []*bottleneck.Live
		for i := range 40 {
			contend()
			next()
			if i%7 == 6 {
				parts = append(parts, c.ReadReset())
			}
		}
		c.Stop()
		c.Stop()
		parts = append(parts, c.ReadReset())
		total := c.Read()
		var wall, wait time.Duration
		var tasks uint64
		windows := 0
		for _, p := range parts {
			checkLive(t, p)
			wall += p.Covered
			wait += waited(p)
			tasks += steps(p)
			windows += p.Windows
		}
		checkLive(t, total)
		if wall != total.Covered || wait != waited(total) || tasks != steps(total) || windows != total.Windows {
			t.Errorf("parts: %v, %v waited, %d tasks, %d windows; the total: %v, %v, %d, %d", wall, wait, tasks, windows, total.Covered, waited(total), steps(total), total.Windows)
		}
		st := total.Stream
		if st.Err != nil || st.Pending != 0 || int64(total.Windows) != st.Generations || total.Windows < 40 || st.Dropped.Generations != 0 {
			t.Errorf("%d windows, %+v", total.Windows, st)
		}
		if tasks != 40*80 {
			t.Errorf("%d tasks of 3200", tasks)
		}
		if d := total.To.Sub(total.From) - total.Covered; d < -time.Millisecond || d > 100*time.Millisecond {
			t.Errorf("from %v to %v, covered %v", total.From, total.To, total.Covered)
		}
		if total.Bottle.Instances != 0 || total.Contention.Instances != 0 || total.Tasks.Instances != 0 {
			t.Error("several instances")
		}
		ws := c.Windows()
		if last := c.Last(0); len(ws) != total.Windows || last.Windows != 1 || last.To != ws[len(ws)-1].To || c.Last(time.Hour).Windows != total.Windows {
			t.Errorf("%d windows kept, %d in the last one", len(ws), last.Windows)
		}
		for _, l := range ws {
			checkLive(t, l)
		}
		if empty := c.ReadReset(); empty.Windows != 0 || len(empty.Bottle.Boxes) != 0 {
			t.Errorf("read twice: %+v", empty)
		}
	})
}

func TestContinuousFaults(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("somebody traces", func(t *testing.T) {
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
			t.Error("Stop has stopped the trace of somebody else")
		}
		checkLive(t, c.Read())
	})
	t.Run("somebody stops it", func(t *testing.T) {
		c := startContinuous(t, unlimited)
		trace.Stop()
		if c.Enabled() {
			t.Error("it seems to go on")
		}
		if err := c.Start(); err != nil || !c.Enabled() || !trace.IsEnabled() {
			t.Errorf("Start again: %v", err)
		}
		trace.Stop()
		c.Stop()
		checkLive(t, c.Read())
	})
	t.Run("somebody stops it while a recorder runs, and traces", func(t *testing.T) {
		var rec bottle.Recorder
		if err := rec.Start(); err != nil {
			t.Skip(err)
		}
		defer rec.Stop()
		c := startContinuous(t, unlimited)
		runtime.GC()
		if !c.Enabled() {
			t.Error("it seems to be stopped")
		}
		trace.Stop()
		stopped := func() bool { runtime.GC(); return !c.Enabled() }
		for deadline := time.Now().Add(time.Minute); !stopped(); {
			if time.Now().After(deadline) {
				t.Fatal("it seems to go on")
			}
		}
		if err := trace.Start(io.Discard); err != nil {
			t.Fatal(err)
		}
		c.Stop()
		if err := trace.Start(io.Discard); err == nil {
			t.Error("Stop has stopped the trace of somebody else")
		}
		trace.Stop()
		c.Stop()
		if !rec.Enabled() {
			t.Error("Stop has stopped the recorder")
		}
	})
	t.Run("read while it cannot start", func(t *testing.T) {
		c := startContinuous(t, unlimited)
		contend()
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
		next := pulse(t)
		opt := unlimited
		once := &panicking{}
		opt.Observers = []timeline.Observer{once}
		c := startContinuous(t, opt)
		until := func(what string, done func() bool) {
			t.Helper()
			for deadline := time.Now().Add(time.Minute); !done(); contend() {
				if time.Now().After(deadline) {
					t.Fatalf("not %s: %+v", what, c.Read().Stream)
				}
				next()
			}
		}
		until("at rest", func() bool { return !c.Enabled() })
		if l := c.Read(); l.Panics != 1 || l.Panic != "mine" || l.Stream.Err == nil {
			t.Errorf("%d panics, %q, %v", l.Panics, l.Panic, l.Stream.Err)
		}
		once.over.Store(true)
		until("begun anew", c.Enabled)
		until("analyzed again", func() bool { return c.Read().Windows > 0 })
		if l := c.Read(); l.Panics != 1 || l.Stream.Err != nil {
			t.Errorf("%d panics, %v", l.Panics, l.Stream.Err)
		}
	})
	t.Run("in use and stopped at the same time", func(t *testing.T) {
		next := pulse(t)
		c := startContinuous(t, unlimited)
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				for range 20 {
					switch i % 4 {
					case 0:
						checkLive(t, c.Read())
					case 1:
						checkLive(t, c.ReadReset())
					case 2:
						checkLive(t, c.Last(time.Second))
					case 3:
						contend()
						next1(next)
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

var nextMu sync.Mutex

func next1(next func()) {
	nextMu.Lock()
	defer nextMu.Unlock()
	next()
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

// TestContinuousBounded: with ever new groups, the totals stay small and keep everything.
func TestContinuousBounded(t *testing.T) {
	next := pulse(t)
	opt := unlimited
	opt.MaxGroups, opt.Keep = 10, 3
	opt.Bottle.Group = bottle.ByRegion
	c := startContinuous(t, opt)
	for i := range 50 {
		for j := range 8 {
			trace.WithRegion(context.Background(), fmt.Sprintf("region %d", 8*i+j), func() { time.Sleep(time.Microsecond) })
		}
		next()
	}
	c.Stop()
	l := c.Read()
	checkLive(t, l)
	var tasks uint64
	for i := range l.Tasks.Classes {
		tasks += l.Tasks.Classes[i].Tasks
	}
	if tasks != 400 || len(l.Tasks.Classes) > 11 || len(l.Bottle.Boxes) > 14 || len(c.Windows()) != 3 {
		t.Errorf("%d tasks in %d classes, %d boxes, %d windows kept", tasks, len(l.Tasks.Classes), len(l.Bottle.Boxes), len(c.Windows()))
	}
}

// TestAnalyzeRecorder: all analyses of a snapshot are about the same time.
func TestAnalyzeRecorder(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("", func(t *testing.T) {
		rec := bottle.NewRecorder(bottle.RecorderOptions{Window: 30 * time.Millisecond})
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
