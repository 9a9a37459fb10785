package report

import (
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
)

// The page leads with the sentence of the graph, word for word: its script makes the sentence again, for selected windows.
func TestPageLeadsWithTheSentenceOfTheGraph(t *testing.T) {
	graph := func(procs int, idle time.Duration, boxes ...bottle.Box) *bottle.Graph {
		g := &bottle.Graph{Wall: idle, Idle: idle, Boxes: boxes}
		for i := range g.Boxes {
			b := &g.Boxes[i]
			b.Running = time.Duration(float64(b.Share) * b.Parallelism)
			g.Wall += b.Share
		}
		g.SetProcs(procs)
		return g
	}
	box := func(name string, kind bottle.Kind, share time.Duration, p float64) bottle.Box {
		return bottle.Box{Group: name, Kind: kind, Goroutines: 1, Share: share, Parallelism: p}
	}
	app := bottle.Application
	many := graph(4, 6*ms, box("main.work", app, 700*ms, 3.5), box("GC (dedicated)", bottle.GC, 90*ms, 2), box("GC assist", bottle.GC, 20*ms, 3),
		box("main.read", app, 100*ms, 1), box("main.write", app, 30*ms, 1.2), box("main.log", app, 30*ms, 1.1))
	many.CPUs = 2
	offered := graph(4, 0, box("main.work", app, 700*ms, 3), box("main.read", app, 300*ms, 1))
	offered.Offered = true
	for _, g := range []*bottle.Graph{
		many, offered, graph(2, 0, box("main.work", app, 90*ms, 1.97)), graph(2, 10*ms, box("main.work", app, 90*ms, 1.9)),
		graph(1, 60*ms, box("main.work", app, 40*ms, 1)), graph(0, 60*ms, box("main.work", app, 40*ms, 1)),
	} {
		p := openFile(t, &Data{Bottle: g}, "", wide)
		oversubscribed := g.Oversubscribed()
		want := strings.TrimSpace(strings.TrimPrefix(g.Sentence(nil), oversubscribed))
		if got := p.text("#bottle-lead"); !strings.HasSuffix(strings.Join(strings.Fields(got), " "), want) || !strings.HasPrefix(got, oversubscribed) {
			t.Errorf("the page leads with\n%s\nwant at its end\n%s", got, want)
		}
	}
}
