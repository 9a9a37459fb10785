// Package report writes a page for exploring a whole recording: the bottle graph with a slider over
// time, contention, tasks, speedup stacks, and the counters of every scheduling quantum. A
// selection in one of them filters all others.
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
//		d := &report.Data{Title: "my service", Bottle: g}
//		if err := report.Write(os.Stdout, d, report.Options{}); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// [Write] writes one HTML file that contains all data, loads nothing, and runs only its own script,
// whose hash is in its content security policy. [NewHandler] serves the same page and answers its
// queries about quanta with package counters/query. A saved page supports filtering by selection;
// conditions and arithmetic need the served page. The page's address contains the selection.
//
// The page computes with the definitions of the Go packages, and tests compare the two in a browser
// (internal/browsertest). No data is dropped: more than 50,000 points are shown as density, with a
// note. A time selection is widened to windows, with a note. Names may be hostile: they become text
// nodes, and characters that control, reorder or hide text are shown as U+FFFD.
//
// The page needs a browser of 2023 or later, for DecompressionStream. Scripts and styles take 260
// kB, of which uPlot (MIT license) takes 50. 20,000 quanta of four counters make a page of 0.9 MB
// in 90 ms (BenchmarkWrite of internal/browsertest).
package report
