package picture_test

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// mergesort is the graph of a program with four workers and one goroutine that merges.
func mergesort() *bottle.Graph {
	const ms = time.Millisecond
	g := &bottle.Graph{
		Wall: 900 * ms, Idle: 40 * ms, Procs: 4, GroupBy: "function",
		Boxes: []bottle.Box{
			{Group: "main.work", Kind: bottle.Application, Goroutines: 4, Share: 600 * ms, Running: 2280 * ms, Parallelism: 3.8},
			{Group: "main.merge", Kind: bottle.Application, Goroutines: 1, Share: 260 * ms, Running: 286 * ms, Parallelism: 1.1},
		},
	}
	g.SetProcs(4)
	g.Verdict = &verdict.Verdict{Findings: []verdict.Finding{{Title: "While main.merge ran, the other processors had nothing to do: 21% of the capacity."}}} // of bottleneck.Analyze
	return g
}

func ExampleSVG() {
	var b strings.Builder
	if err := picture.SVG(&b, mergesort(), picture.Options{Title: "merge sort"}); err != nil {
		fmt.Println(err)
	}
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, "900 ms in all") && strings.HasPrefix(line, "<text") {
			_, text, _ := strings.Cut(line, ">")
			fmt.Println(strings.TrimSuffix(strings.TrimSpace(text), "</text>"))
		}
	}
	// Output:
	// 900 ms in all. While main.merge ran, the other processors had nothing to do: 21% of the capacity.
}

// A graph with windows is drawn as a row of charts.
func ExampleSVG_windows() {
	g := mergesort()
	for i := range 3 {
		w := mergesort()
		w.Start = time.Duration(i) * w.Wall
		g.Windows = append(g.Windows, w)
	}
	g.Wall *= 3
	var b strings.Builder
	err := picture.SVG(&b, g, picture.Options{})
	fmt.Println(strings.Count(b.String(), "<title>window from "), err)
	// Output: 3 <nil>
}

// Nothing is drawn without a graph, but an empty graph is drawn.
func ExampleOptions() {
	fmt.Println(picture.SVG(io.Discard, nil, picture.Options{}))
	fmt.Println(picture.SVG(io.Discard, &bottle.Graph{}, picture.Options{}))
	// Output:
	// picture: nothing to draw
	// <nil>
}
