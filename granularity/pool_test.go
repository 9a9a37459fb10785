package granularity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/cycles"
)

// recorder returns a recorder whose log holds that many tasks.
func recorder(log int) *Recorder {
	rec := NewRecorder()
	rec.Log = log
	return rec
}

// classNamed returns the profile's class of the name.
func classNamed(t *testing.T, p *Profile, name string) *Class {
	t.Helper()
	for i := range p.Classes {
		if p.Classes[i].Name == name {
			return &p.Classes[i]
		}
	}
	var names []string
	for i := range p.Classes {
		names = append(names, p.Classes[i].Name)
	}
	t.Fatalf("there is no class %q, only %q", name, names)
	return nil
}

// noLeak fails the test if goroutines that it started still exist at its end.
func noLeak(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				buf := make([]byte, 1<<16)
				t.Fatalf("%d goroutines before, %d after\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
			}
		}
	})
}

var poolKinds = map[string]func(*Recorder) *Pool{
	"fixed":      func(rec *Recorder) *Pool { return &Pool{Workers: 3, Recorder: rec} },
	"unbuffered": func(rec *Recorder) *Pool { return &Pool{Workers: 2, Queue: -1, Recorder: rec} },
	"lone":       func(rec *Recorder) *Pool { return &Pool{Workers: 1, Queue: 1, Recorder: rec} },
}

func TestPoolExecutesEverything(t *testing.T) {
	for name, pool := range poolKinds {
		t.Run(name, func(t *testing.T) {
			noLeak(t)
			p := pool(NewRecorder())
			var sum, running, most atomic.Int64
			for round := range 3 {
				for i := range 200 {
					if err := p.Submit(func() {
						most.Store(max(most.Load(), running.Add(1)))
						sum.Add(int64(i))
						running.Add(-1)
					}); err != nil {
						t.Fatal(err)
					}
				}
				if err := p.Wait(); err != nil {
					t.Fatal(err)
				}
				if got, want := sum.Load(), int64((round+1)*200*199/2); got != want {
					t.Fatalf("after round %d the sum is %d; want %d", round, got, want)
				}
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			if n := most.Load(); n > int64(p.Workers) {
				t.Errorf("%d tasks at the same time on %d workers", n, p.Workers)
			}
			c := classNamed(t, p.Recorder.Profile(), "github.com/bottleneck-go/bottleneck/granularity.TestPoolExecutesEverything.func1.1")
			if c.Executions() != 600 || len(c.Sites) != 1 {
				t.Errorf("%d tasks, %d unmeasured, from %d sites; want 600, 0, 1", c.Tasks, c.Unmeasured, len(c.Sites))
			}
		})
	}
}

func TestPoolErrors(t *testing.T) {
	noLeak(t)
	p := &Pool{Workers: 1, Recorder: NewRecorder()}
	first, second := errors.New("first"), errors.New("second")
	p.Go(func() error { return nil })
	p.Go(func() error { return first })
	p.Go(func() error { return second })
	if err := p.Wait(); err != first {
		t.Errorf("Wait returned %v; want the first error", err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("the next Wait returned %v again", err)
	}
	p.Go(func() error { return second })
	if err := p.Close(); err != second {
		t.Errorf("Close returned %v; want the error since the last Wait", err)
	}
}

func TestPoolAfterClose(t *testing.T) {
	noLeak(t)
	p := &Pool{Recorder: NewRecorder()}
	p.Close()
	if err := p.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	ran := false
	if err := p.Submit(func() { ran = true }); err != ErrClosed {
		t.Errorf("Submit after Close: %v; want ErrClosed", err)
	}
	if err := p.SubmitContext(context.Background(), func() { ran = true }); err != ErrClosed {
		t.Errorf("SubmitContext after Close: %v; want ErrClosed", err)
	}
	if got := panicOf(func() { p.Go(func() error { ran = true; return nil }) }); got != ErrClosed {
		t.Errorf("Go after Close panicked with %v; want ErrClosed", got)
	}
	if ran {
		t.Error("a task ran in a closed pool")
	}
}

// Tasks submitted while the pool is being closed are either refused or executed.
func TestPoolCloseRace(t *testing.T) {
	for name, pool := range poolKinds {
		noLeak(t)
		rec := NewRecorder()
		for range 50 {
			p := pool(rec)
			var accepted, executed atomic.Int64
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					for range 20 {
						if p.Submit(func() { executed.Add(1) }) == nil {
							accepted.Add(1)
						}
					}
				})
			}
			p.Close()
			wg.Wait()
			if accepted.Load() != executed.Load() {
				t.Fatalf("%s: %d tasks accepted, %d executed", name, accepted.Load(), executed.Load())
			}
		}
	}
}

func TestNilFunctions(t *testing.T) {
	noLeak(t)
	p := &Pool{Recorder: NewRecorder()}
	defer p.Close()
	for name, f := range map[string]func(){
		"Submit":        func() { p.Submit(nil) },
		"Go":            func() { p.Go(nil) },
		"SubmitContext": func() { p.SubmitContext(context.Background(), nil) },
		"Do":            func() { Do(context.Background(), "x", nil) },
	} {
		if got := panicOf(f); got == nil {
			t.Errorf("%s(nil) did not panic", name)
		}
	}
	p.Wait() // nothing is pending
}

func panicOf(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

func TestPoolGoexit(t *testing.T) {
	for name, pool := range poolKinds {
		noLeak(t)
		p := pool(NewRecorder())
		var executed atomic.Int64
		for i := range 60 {
			p.Submit(func() {
				executed.Add(1)
				if i%3 == 0 {
					runtime.Goexit()
				}
			})
		}
		p.Close()
		if n := executed.Load(); n != 60 {
			t.Errorf("%s: %d of 60 tasks executed", name, n)
		}
		if c := p.Recorder.Profile().Classes[0]; c.Executions() != 60 {
			t.Errorf("%s: %d of 60 tasks recorded", name, c.Tasks)
		}
	}
}

// A panic ends the program with its own call chain, in pool and group.
func TestPanicsEndTheProgram(t *testing.T) {
	for _, kind := range []string{"pool", "group"} {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), "GRANULARITY_TEST_CHILD=panic-"+kind)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "panic: boom") || !strings.Contains(string(out), "explode") {
			t.Errorf("%s: %v; want a crash with the task's call chain:\n%s", kind, err, out)
		}
	}
}

func explode() { panic("boom") }

func childMain(child string) {
	switch child {
	case "state":
		stateChild()
		return
	case "first":
		firstChild()
		return
	case "busy":
		busyChild()
	case "notes":
		notesChild()
		return
	case "panic-pool":
		p := &Pool{}
		p.Submit(explode)
		p.Wait()
	case "nil-group":
		var g Group
		g.Go(nil)
		g.Wait()
		time.Sleep(time.Second)
	case "panic-group":
		var g Group
		g.Go(func() error { explode(); return nil })
		g.Wait()
		time.Sleep(time.Second) // errgroup's Wait may return while the program is crashing
	}
	fmt.Println("survived")
}

// stateChild measures tasks with the chosen clock, and prints its name.
func stateChild() {
	rec := NewRecorder()
	p := &Pool{Workers: 4, Recorder: rec}
	for range 100 {
		p.Submit(func() {
			resume := Pause()
			resume()
		})
	}
	p.Wait()
	p.Close()
	profile := rec.Profile()
	var tasks, unmeasured uint64
	for _, c := range profile.Classes {
		tasks, unmeasured = tasks+c.Tasks, unmeasured+c.Unmeasured
	}
	fmt.Println(profile.Source, tasks, unmeasured, profile.Warnings)
}

// TestProfileNamesTheClockWithoutThreadState: with the environment variable, tasks are measured by a
// clock other than the rseq clock, and the profile names it. If each reading is a system call, a
// warning has its cost.
func TestProfileNamesTheClockWithoutThreadState(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GRANULARITY_TEST_CHILD=state", cycles.NoThreadState+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var source string
	var tasks, unmeasured int
	fmt.Sscan(string(out), &source, &tasks, &unmeasured)
	if source == "" || source == string(cycles.RseqClock) || tasks+unmeasured != 100 {
		t.Errorf("%s; want 100 tasks, measured by another clock than %s", out, cycles.RseqClock)
	}
	if s := cycles.Source(source); (s == cycles.ThreadClock || s == cycles.MSRTSC) && !strings.Contains(string(out), "the clock is "+source+", and a task needs two readings of ") {
		t.Errorf("%s; want a warning of the cost of a reading", out)
	}
}

// Each clock of the ladder below the rseq clock is named, with what a reading costs and why the better
// ones are refused; the rseq clock and counters of cycles are not.
func TestEachFallIsNamed(t *testing.T) {
	accuracy := map[cycles.Source]cycles.Accuracy{cycles.RefCyclesRDPMC: cycles.Counted, cycles.RefCyclesRead: cycles.CountedUser, cycles.WallTSC: cycles.UpperBound}
	costs := map[cycles.Source]time.Duration{cycles.MSRTSC: 400, cycles.ThreadClock: 270, cycles.WallTSC: 29, cycles.RefCyclesRead: 50, cycles.RefCyclesRDPMC: 30, cycles.RseqClock: 17}
	fell := false
	for i, source := range cycles.Ladder {
		info := cycles.Info{Source: source, Accuracy: cmp.Or(accuracy[source], cycles.ThreadTime), Costs: costs[source]}
		for _, better := range cycles.Ladder[:i] {
			info.Refused = append(info.Refused, string(better)+": not here")
		}
		w := fall(&info)
		named := strings.Contains(w, "the clock is "+string(source)) && strings.Contains(w, "two readings of "+costs[source].String()) && strings.Contains(w, strings.Join(info.Refused, "; "))
		if named != fell || !fell && w != "" {
			t.Errorf("%s: named: %v, want %v: %q", source, named, fell, w)
		}
		fell = fell || source == cycles.RseqClock
	}
}

func TestMain(m *testing.M) {
	if child := os.Getenv("GRANULARITY_TEST_CHILD"); child != "" {
		childMain(child)
		return
	}
	os.Exit(m.Run())
}

// TestREADMEDescribesEffectsOnThreads: the section of the README names the system calls, the
// variable.
func TestREADMEDescribesEffectsOnThreads(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## What it does to your process")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, name := range []string{"set_tid_address", "rseq", "LockOSThread", cycles.NoThreadState + "=1"} {
		if !strings.Contains(section, name) {
			t.Errorf("the section does not name %s", name)
		}
	}
}

func TestSubmitContext(t *testing.T) {
	noLeak(t)
	p := &Pool{Workers: 1, Queue: -1, Recorder: NewRecorder()}
	release := make(chan bool)
	p.Submit(func() { <-release })
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(5*time.Millisecond, cancel)
	ran := false
	if err := p.SubmitContext(ctx, func() { ran = true }); err != context.Canceled {
		t.Errorf("a submission that waits when its context ends: %v", err)
	}
	if err := p.SubmitContext(ctx, func() { ran = true }); err != context.Canceled {
		t.Errorf("a submission after its context ended: %v", err)
	}
	close(release)
	p.Wait()
	if ran {
		t.Error("a refused task ran")
	}
	if err := p.SubmitContext(context.Background(), func() { ran = true }); err != nil {
		t.Error(err)
	}
	if p.Close(); !ran {
		t.Error("an accepted task did not run")
	}
}

// Every accepted task runs, however it was submitted.
func TestEveryWayToSubmit(t *testing.T) {
	for name, pool := range poolKinds {
		for way, submit := range map[string]func(p *Pool, f func()) error{
			"Submit":        (*Pool).Submit,
			"SubmitContext": func(p *Pool, f func()) error { return p.SubmitContext(context.Background(), f) },
		} {
			p := pool(NewRecorder())
			ran := make(chan bool, 3)
			for range 3 {
				if err := submit(p, func() { ran <- true }); err != nil {
					t.Error(err)
				}
			}
			for range 3 {
				select {
				case <-ran:
				case <-time.After(time.Minute):
					t.Fatalf("%s, %s: an accepted task does not run", name, way)
				}
			}
			p.Close()
		}
	}
}
