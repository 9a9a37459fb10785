package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/spelling"
)

var graphMeasures = measures[*bottle.Graph]{
	example: "parallelism<4",
	whole: []measured[*bottle.Graph]{
		{measure{name: "parallelism"}, always((*bottle.Graph).MeanParallelism)},
		{measure{name: "neck-%", percent: true}, always(neckPercent)},
		{measure{name: "idle-%", percent: true}, always(func(g *bottle.Graph) float64 { return percent(g.Idle, g.Wall) })},
		{measure{name: "gc-%", percent: true}, always(gcPercent)},
		{measure{name: "wall", wall: true}, always(func(g *bottle.Graph) float64 { return float64(g.Wall) })},
	},
	part: ofPart("group", []measure{{name: "share-%", percent: true}, {name: "parallelism"}}, groupMeasure),
}

func neckPercent(g *bottle.Graph) float64 {
	_, share := g.Neck()
	return percent(share, g.Wall)
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
	b, err := findGroup(g, group)
	switch {
	case err != nil:
		return 0, err
	case m.percent:
		return percent(b.Share, g.Wall), nil
	}
	return b.Parallelism, nil
}

// findGroup finds a box by its name, in full or as text and pictures shorten it.
func findGroup(g *bottle.Graph, name string) (*bottle.Box, error) {
	names := make([]string, len(g.Boxes))
	for i := range g.Boxes {
		names[i] = g.Boxes[i].Group
	}
	i, near := findName(names, name)
	switch {
	case i >= 0:
		return &g.Boxes[i], nil
	case near != "":
		return nil, fmt.Errorf("the graph has no group %q; did you mean %q?", name, near)
	}
	return nil, fmt.Errorf("the graph has no group %q", name)
}

// findName finds a name, in full or as it is shortened; else −1 and what may be meant, if anything.
func findName(names []string, name string) (i int, near string) {
	if i := slices.Index(names, name); i >= 0 {
		return i, ""
	}
	short := format.Funcs(names)
	if i := slices.Index(short, name); i >= 0 {
		return i, ""
	}
	return -1, spelling.Nearest(name, slices.Concat(names, short))
}
