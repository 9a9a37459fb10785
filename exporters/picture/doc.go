// Package picture draws bottle graphs as SVG, and package png below it as PNG; also speedup stacks
// ([StacksSVG]), and the granularity of tasks as distributions ([TasksSVG]) and over time
// ([StripSVG]).
//
// In a bottle graph each box is a group of goroutines. Its height is the group's share of
// the time, its width how many goroutines ran while the group did; the heights sum to the wall
// time. Wide boxes at the bottom scale; while narrow ones at the top ran, the capacity of the other
// processors was lost. Those that lost most of it are drawn in warm colours and named in bold.
//
//	package main
//
//	import (
//		"log"
//		"os"
//		"time"
//
//		"github.com/bottleneck-go/bottleneck/bottle"
//		"github.com/bottleneck-go/bottleneck/exporters/picture"
//	)
//
//	func main() {
//		g := &bottle.Graph{ // or one that package bottle has read from a trace
//			Wall: 900 * time.Millisecond, Idle: 40 * time.Millisecond, Procs: 4,
//			Boxes: []bottle.Box{
//				{Group: "main.work", Goroutines: 4, Share: 600 * time.Millisecond, Running: 2280 * time.Millisecond, Parallelism: 3.8},
//				{Group: "main.merge", Goroutines: 1, Share: 260 * time.Millisecond, Running: 286 * time.Millisecond, Parallelism: 1.1},
//			},
//		}
//		f, err := os.Create("bottle.svg")
//		if err != nil {
//			log.Fatal(err)
//		}
//		if err := picture.SVG(f, g, picture.Options{Title: "merge sort"}); err != nil {
//			log.Fatal(err)
//		}
//		if err := f.Close(); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// # What is in a picture
//
// Boxes stand in the order of the graph, from the bottom. The time in which nothing ran is a box of
// width 0 on top, a dashed line. Boxes of the garbage collector, the runtime and the tracer are
// hatched. The dashed lines on both sides are GOMAXPROCS, unless that is so far outside that the
// boxes could not be seen; then a footnote says so. The table names every box with its numbers and
// what the group waited for longest, and says how many groups never ran. The graph's warnings stand
// at the foot.
//
// A graph with windows is drawn as one small chart for each, side by side, with the same scales and
// the same colour for a group in all of them. If there are too many, neighbours are put together,
// which is exact, and a footnote says so. Groups that are too many, or too small to be seen, are
// folded into one box for each kind, "12 others".
//
// # How it is made
//
// The way of the data is
//
//	model.go → single.go or windows.go → scene.go → svg.go or drawing.go and package png
//
// model.go folds groups and gives names and colours. The layout puts rectangles, lines and texts in
// a scene, with room for fonts 15 % wider than those it knows (20 % for bold). Both back ends only
// translate the scene. An SVG needs nothing but the standard library; it changes to dark colours
// where its reader prefers them, also inside of an <img> element. A [Drawing] can be painted as
// polygons and texts; package png does that with golang.org/x/image, which this package does not
// import.
//
// # Cost
//
// A picture of 7 groups takes 0.2 ms and 14 kB as SVG; 300 groups take 1 ms and 30 kB, 48 windows
// 1.5 ms and 110 kB. (BenchmarkPicture, the fastest of 66 runs, one core of a Xeon, Go 1.26.)
package picture
