// Package report makes a page in which a person explores a whole recording: the bottle graph with a
// slider over time, contention, tasks, speedup stacks, and the counters of every scheduling
// quantum. What is selected in one of them filters all others.
//
//	package main
//
//	import (
//		"context"
//		"log"
//		"os"
//
//		"github.com/bottleneck-go/bottleneck/bottle"
//		"github.com/bottleneck-go/bottleneck/exporters/report"
//	)
//
//	func main() {
//		g, err := bottle.ReadFile(context.Background(), "trace.out", bottle.Options{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		if err := report.Write(os.Stdout, &report.Data{Title: "my service", Bottle: g}, report.Options{}); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// [Write] makes one HTML file that holds all data, loads nothing, and runs nothing but its own
// script, whose hash is in its content security policy. [NewHandler] serves the same page, and
// answers its questions about quanta by package counters/query. A saved page filters by what is
// picked; conditions and arithmetic need the served page. The selection is in the page's address.
//
// The page computes with the definitions of the Go packages, and tests compare them in the browser
// (internal/browsertest). Nothing is thinned: more than 50,000 points are shown as density, with a
// note. A selection of time is widened to windows, and the page says so. Names may be hostile: they
// become text nodes, and what controls, reorders or hides text is shown as U+FFFD.
//
// It needs a browser of 2023 or later, for DecompressionStream. Scripts and styles are 260 kB, 50 of
// them uPlot (MIT licence). 20,000 quanta of four counters make a page of 0.9 MB in 90 ms
// (BenchmarkWrite of internal/browsertest).
package report
