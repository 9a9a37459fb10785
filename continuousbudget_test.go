package bottleneck

import (
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
)

// TestContinuousBudget: half of the budget while the program needs the machine, or nothing is
// known.
func TestContinuousBudget(t *testing.T) {
	graph := func(procs int, running ...time.Duration) *bottle.Graph {
		g := &bottle.Graph{Procs: procs, Wall: time.Second}
		for _, r := range running {
			g.Boxes = append(g.Boxes, bottle.Box{Running: r})
		}
		return g
	}
	for _, c := range []struct {
		name   string
		budget float64
		graph  *bottle.Graph
		want   float64
	}{
		{"nothing known", 0, nil, 0.01},
		{"idle", 0, graph(4), 0.02},
		{"three of four processors", 0, graph(4, 2*time.Second, time.Second), 0.02},
		{"more", 0, graph(4, 2*time.Second, 1001*time.Millisecond), 0.01},
		{"all", 0.1, graph(2, 2*time.Second), 0.05},
		{"number of processors not known", 0, graph(0, time.Millisecond), 0.01},
	} {
		if got := (&ContinuousOptions{Budget: c.budget}).budget(c.graph); got != c.want {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
	if got := (&ContinuousOptions{Budget: -1}).budget(nil); got >= 0 {
		t.Errorf("without a limit: %g", got)
	}
}
