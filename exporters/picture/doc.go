// Package picture draws bottle graphs, contention, speedup stacks, task granularity, and counters
// over time as SVG; its subpackage png writes the same drawings as PNG.
//
//	package main
//
//	import (
//		"context"
//		"log"
//		"os"
//
//		"github.com/bottleneck-go/bottleneck/bottle"
//		"github.com/bottleneck-go/bottleneck/exporters/picture"
//	)
//
//	func main() {
//		g, err := bottle.ReadFile(context.Background(), "trace.out", bottle.Options{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		if err := picture.SVG(os.Stdout, g, picture.Options{Title: "merge sort"}); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// Each box is a group of goroutines. Its height is the group's share of the time, and its width the
// number of its goroutines that ran at the same time. Boxes that lost most capacity are drawn in
// warm colors and named in bold; those of the collector, the runtime and the tracer are hatched;
// the dashed lines on both sides are GOMAXPROCS. The table names every box. Excess groups, and
// groups too small to be seen, are one box per kind, "12 others". A graph with windows is a row of
// charts with one scale and one color per group, as are several runs ([DrawRow]).
//
// The data flow is
//
//	model.go → single.go or charts.go → scene.go → svg.go, or paint.go and package png
//
// A layout puts rectangles, lines and texts into a scene, with room for fonts 15 % wider; the back
// ends only translate it. An SVG changes to dark colors if its reader prefers them.
//
// A picture of 7 groups takes 0.2 ms and 14 kB as SVG; 300 groups take 1 ms and 30 kB
// (BenchmarkPicture).
package picture
