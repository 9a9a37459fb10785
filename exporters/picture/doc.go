// Package picture draws bottle graphs as SVG, and package png below it as PNG; also contention,
// speedup stacks, the granularity of tasks, and counters over time.
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
// Each box is a group of goroutines: as high as its share of the time, as wide as how many goroutines
// ran then. Boxes that lost most capacity are drawn in warm colors and named in bold; those of the
// collector, the runtime and the tracer are hatched; the dashed lines on both sides are GOMAXPROCS.
// The table names every box. Groups that are too many, or too small to be seen, are one box for each
// kind, "12 others". A graph with windows is a row of charts with one scale and one color a group.
//
// The way of the data is
//
//	model.go → single.go or windows.go → scene.go → svg.go, or drawing.go and package png
//
// A layout puts rectangles, lines and texts in a scene, with room for fonts 15 % wider; the back
// ends only translate it. An SVG changes to dark colors where its reader prefers them.
//
// A picture of 7 groups takes 0.2 ms and 14 kB as SVG; 300 groups take 1 ms and 30 kB
// (BenchmarkPicture).
package picture
