package granularity

import (
	"context"
	"errors"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
)

func TestGroupMeasures(t *testing.T) {
	noLeak(t)
	rec := NewRecorder()
	g, ctx := WithContext(WithRecorder(context.Background(), rec))
	g.Name = "crawlers"
	g.SetLimit(3)
	var executed atomic.Int64
	failure := errors.New("failure")
	for i := range 100 {
		g.Go(func() error {
			executed.Add(1)
			switch i {
			case 50:
				return failure
			case 60:
				runtime.Goexit() // counts as one that returned nil
			}
			return nil
		})
	}
	if err := g.Wait(); err != failure || ctx.Err() == nil {
		t.Errorf("Wait returned %v, the context %v; want the failure and an end", err, ctx.Err())
	}
	prof := rec.Profile()
	if len(prof.Classes) != 1 || len(prof.Classes[0].Sites) != 1 {
		t.Fatalf("the tasks of one line are %d classes: %+v", len(prof.Classes), prof.Classes)
	}
	c := prof.Classes[0]
	site := c.Sites[0]
	if c.Executions() != 100 || executed.Load() != 100 {
		t.Errorf("%d executed, %d recorded, %d unmeasured; want 100, 100, 0", executed.Load(), c.Tasks, c.Unmeasured)
	}
	if !strings.HasSuffix(c.Name, "TestGroupMeasures.func1") || site.Pool != "crawlers" || !strings.HasSuffix(site.Submitted[0].Func, ".TestGroupMeasures") {
		t.Errorf("class %s in %s, submitted at %s; want this test's", c.Name, site.Pool, site.Submitted[0])
	}
}

func TestGroupLimits(t *testing.T) {
	noLeak(t)
	rec := NewRecorder()
	g := Group{Recorder: rec}
	g.SetLimit(0)
	for range 10 {
		if g.TryGo(func() error { return nil }) {
			t.Error("TryGo with a limit of 0 started a goroutine")
		}
	}
	g.SetLimit(1)
	release := make(chan bool)
	if !g.TryGo(func() error { <-release; return nil }) {
		t.Error("TryGo below the limit did not start a goroutine")
	}
	if g.TryGo(func() error { return nil }) {
		t.Error("TryGo at the limit started a goroutine")
	}
	if panicOf(func() { g.SetLimit(2) }) == nil {
		t.Error("changing the limit of an active group did not panic")
	}
	close(release)
	g.Wait()
	var tasks uint64
	for _, c := range rec.Profile().Classes {
		tasks += c.Executions()
	}
	if tasks != 1 {
		t.Errorf("%d tasks recorded; want only the one that ran", tasks)
	}
}

// Calling a nil function ends the program, as in errgroup.
func TestGroupNilFunction(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GRANULARITY_TEST_CHILD=nil-group")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "nil pointer dereference") {
		t.Errorf("%v; want a crash:\n%s", err, out)
	}
}

func TestGroupDoesNotAllocate(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector makes sync.Pool forget")
	}
	rec := NewRecorder()
	f := func() error { return nil }
	var g Group
	g.Recorder = rec
	var plain errgroup.Group
	bare := testing.AllocsPerRun(500, func() { plain.Go(f); plain.Wait() })
	measured := testing.AllocsPerRun(500, func() { g.Go(f); g.Wait() })
	if measured > bare+0.5 {
		t.Errorf("%g allocations a task; errgroup makes %g", measured, bare)
	}
}
