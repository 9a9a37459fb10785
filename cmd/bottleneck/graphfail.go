package main

import (
	"errors"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/result"
)

var graphMeasures = measures[*bottle.Graph]{
	example: "parallelism<4",
	whole: []measured[*bottle.Graph]{
		measuring("parallelism", result.Number, "mean number of goroutines that ran at once, idle time included", always((*bottle.Graph).MeanParallelism)),
		measuring("lost-%", result.Ratio, "the part of the capacity, GOMAXPROCS × time, that was not used", lostPercent),
		measuring("neck-%", result.Ratio, "the same without idle time: what was lost while something ran", neckPercent),
		measuring("idle-%", result.Ratio, "the part of the time in which nothing ran", always(func(g *bottle.Graph) float64 { return percent(g.Idle, g.Wall) })),
		measuring("gc-%", result.Ratio, "the garbage collector's part of the time", always(gcPercent)),
		measuring("in-c-%", result.Ratio, "the time of all goroutines in C code, in parts of the whole time: 200 where two were there all the time", always(func(g *bottle.Graph) float64 { all, _ := g.InC(); return percent(all, g.Wall) })),
		measuring("wall", result.Duration, "the whole time, as a duration: wall>2s", always(func(g *bottle.Graph) float64 { return float64(g.Wall) })),
	},
	parts: "or share-%, lost-%, in-c-% or parallelism of one group, as group(NAME).share-%, by the name in the graph, short or in full.",
	part:  ofPart("group", []measure{{name: "share-%", unit: result.Ratio}, {name: "lost-%", unit: result.Ratio}, {name: "in-c-%", unit: result.Ratio}, {name: "parallelism", unit: result.Number}}, groupMeasure),
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
	case m.unit == result.Ratio:
		return percent(b.Share, g.Wall), nil
	}
	return b.Parallelism, nil
}
