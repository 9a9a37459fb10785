package criticalpath

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/tracetasks"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// With stacks, the call chains of a path sum to its time, too.
func TestStacks(t *testing.T) {
	o := NewObserver(true)
	tasks := tracetasks.NewObserver(tracetasks.Options{Begins: o.TaskBegins, Ends: o.TaskEnds})
	if _, err := timeline.ReadFile(context.Background(), filepath.Join("..", "..", "testdata", "real", "nethttp-parallel4.trace.zst"), timeline.Options{}, tasks, o); err != nil {
		t.Fatal(err)
	}
	for _, p := range o.Profile().Paths {
		left, chains := p.Elapsed, 0
		for _, s := range p.Stacks {
			left -= s.Time
			if s.Calls != nil {
				chains++
			}
		}
		if left != 0 || chains == 0 {
			t.Errorf("%s: the stacks sum to %v less than %v; %d have call chains", p.Class, left, p.Elapsed, chains)
		}
	}
}

// BenchmarkObserver reads traces with the bottle graph alone, with tasks in addition, and with paths.
func BenchmarkObserver(b *testing.B) {
	files, _ := filepath.Glob(filepath.Join("..", "..", "testdata", "real", "*.trace.zst"))
	for _, with := range []string{"graph", "graph+tasks", "graph+tasks+paths"} {
		b.Run(with, func(b *testing.B) {
			events := int64(0)
			for b.Loop() {
				for _, file := range files {
					observers := []timeline.Observer{bottle.NewObserver(bottle.Options{})}
					switch o := NewObserver(false); with {
					case "graph+tasks":
						observers = append(observers, tracetasks.NewObserver(tracetasks.Options{}))
					case "graph+tasks+paths":
						observers = append(observers, tracetasks.NewObserver(tracetasks.Options{Begins: o.TaskBegins, Ends: o.TaskEnds}), o)
					}
					info, err := timeline.ReadFile(context.Background(), file, timeline.Options{Workers: 1}, observers...)
					if err != nil {
						b.Fatal(err)
					}
					events += info.Events
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
		})
	}
}
