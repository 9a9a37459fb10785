package main

import (
	"errors"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
)

var graphMeasures = measures[*bottle.Graph]{
	example: "parallelism<4",
	whole: []measured[*bottle.Graph]{
		{measure{name: "parallelism"}, always((*bottle.Graph).MeanParallelism)},
		{measure{name: "lost-%", percent: true}, lostPercent},
		{measure{name: "neck-%", percent: true}, neckPercent},
		{measure{name: "idle-%", percent: true}, always(func(g *bottle.Graph) float64 { return percent(g.Idle, g.Wall) })},
		{measure{name: "gc-%", percent: true}, always(gcPercent)},
		{measure{name: "in-c-%", percent: true}, always(func(g *bottle.Graph) float64 { all, _ := g.InC(); return percent(all, g.Wall) })},
		{measure{name: "wall", wall: true}, always(func(g *bottle.Graph) float64 { return float64(g.Wall) })},
	},
	part: ofPart("group", []measure{{name: "share-%", percent: true}, {name: "lost-%", percent: true}, {name: "in-c-%", percent: true}, {name: "parallelism"}}, groupMeasure),
}

func neckPercent(g *bottle.Graph) (float64, error) { return ofCapacity(g, g.Lost()-g.IdleLost) }

func lostPercent(g *bottle.Graph) (float64, error) { return ofCapacity(g, g.Lost()) }

// ofCapacity is a part of the capacity in percent.
func ofCapacity(g *bottle.Graph, d time.Duration) (float64, error) {
	if g.Capacity == 0 && g.Wall > 0 {
		return 0, errors.New("lost capacity is not known, as GOMAXPROCS is not")
	}
	return percent(d, g.Capacity), nil
}

func gcPercent(g *bottle.Graph) float64 {
	var d time.Duration
	for i := range g.Boxes {
		if g.Boxes[i].Kind == bottle.GC {
			d += g.Boxes[i].Share
		}
	}
	return percent(d, g.Wall)
}

func groupMeasure(g *bottle.Graph, group string, m measure) (float64, error) {
	nameOf := func(b *bottle.Box) string { return b.Group }
	b, err := findNamed(g.Boxes, nameOf, "the graph has no group", group)
	if reason, short := strings.CutPrefix(group, "STW ("); err != nil && short { // so the table calls it
		b, err = findNamed(g.Boxes, nameOf, "the graph has no group", "stop-the-world ("+reason)
	}
	switch {
	case err != nil:
		return 0, err
	case m.name == "lost-%":
		return ofCapacity(g, b.Lost)
	case m.name == "in-c-%":
		return percent(b.InC, g.Wall), nil
	case m.percent:
		return percent(b.Share, g.Wall), nil
	}
	return b.Parallelism, nil
}
