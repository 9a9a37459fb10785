package granularity

import (
	"bytes"
	"context"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
)

// While a trace is recorded, its bottle graphs can group by class and by pool.
func TestTasksAreRegions(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("a trace is being recorded already")
	}
	rec := NewRecorder()
	p := &Pool{Name: "indexer", Workers: 2, Recorder: rec}
	g := Group{Name: "fetchers", Recorder: rec}
	ctx := WithRecorder(context.Background(), rec)

	var recorded bytes.Buffer
	if err := trace.Start(&recorded); err != nil {
		t.Skip(err)
	}
	for range 20 {
		p.Submit(traceable)
		g.Go(func() error { busy(100 * time.Microsecond); return nil })
		Do(ctx, "by hand", func(context.Context) error { busy(100 * time.Microsecond); return nil })
	}
	p.Close()
	g.Wait()
	trace.Stop()

	groups := func(by bottle.Grouping) map[string]time.Duration {
		graph, err := bottle.ReadTrace(context.Background(), bytes.NewReader(recorded.Bytes()), bottle.Options{Group: by})
		if err != nil {
			t.Fatal(err)
		}
		running := map[string]time.Duration{}
		for _, b := range graph.Boxes {
			running[b.Group[strings.LastIndexByte(b.Group, '/')+1:]] = b.Running
		}
		return running
	}
	classes, pools := groups(bottle.ByRegion), groups(bottle.ByTask)
	for _, name := range []string{"granularity.traceable", "granularity.TestTasksAreRegions.func1", "by hand"} {
		if classes[name] < time.Millisecond {
			t.Errorf("by region: %s ran for %v; want 2 ms or so of %v", name, classes[name], classes)
		}
	}
	for _, name := range []string{"indexer", "fetchers"} {
		if pools[name] < time.Millisecond {
			t.Errorf("by task: %s ran for %v; want 2 ms or so of %v", name, pools[name], pools)
		}
	}
	// A preempted task that moved to another thread may differ from all measured ones.
	if c := classNamed(t, rec.Profile(), "by hand"); c.Executions() != 20 || c.Tasks < 10 {
		t.Errorf("%d of %d tasks by hand were measured during the trace; want 20 of 20", c.Tasks, c.Executions())
	}
}

func traceable() { busy(100 * time.Microsecond) }
