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
//		"time"
//
//		"github.com/bottleneck-go/bottleneck/bottle"
//		"github.com/bottleneck-go/bottleneck/counters/quanta"
//		"github.com/bottleneck-go/bottleneck/exporters/report"
//	)
//
//	func main() {
//		ctx := context.Background()
//		g, err := bottle.ReadFile(ctx, "trace.out", bottle.Options{Window: 100 * time.Millisecond})
//		if err != nil {
//			log.Fatal(err)
//		}
//		rec, err := quanta.ReadFile(ctx, "trace.out", quanta.Options{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		f, err := os.Create("report.html")
//		if err != nil {
//			log.Fatal(err)
//		}
//		if err := report.Write(f, &report.Data{Title: "my service", Bottle: g, Counters: rec}, report.Options{}); err != nil {
//			log.Fatal(err)
//		}
//		if err := f.Close(); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// "bottleneck report trace.out -o report.html" fills all sections.
//
// # Two forms
//
// [Write] makes one HTML file that holds all data and works from a disk: it loads nothing, and its
// content security policy lets nothing run but its own script, which has its hash. [NewHandler]
// serves the same page, but keeps the table of quanta and answers the page's questions about it.
// What is selected, how it is looked at, and selections that were given names are in the fragment
// of the page's address in both forms, so a copied address shows the same.
//
// Both forms filter by what is picked: groups, goroutines, a stretch of time, processors, threads,
// and how quanta ended. Conditions and arithmetic on counters need the served page, which asks
// [query.Explorer]; a saved page has names of counters and quotients of two of them.
//
// # How numbers are kept true
//
// The page computes with the definitions of the Go packages: its tree of contention is that of
// [contention.Profile.Aggregate], what a speed-up would be without a part that of
// [speedup.Stack.WhatIf], and its answers about quanta those of [query.Explorer.Answer]. Tests
// compare them in the browser. Nothing is thinned: where there are more than 50,000 points a
// picture shows how many fall into each bin, with a note. A selection of time filters graph,
// contention, tasks and speed-up by windows, for less than a window cannot be told apart there: it
// is widened to the windows that it touches, and the page says so, as it says where a saved profile
// does not tell when ([Data].ContentionWindows, TaskWindows). Numbers are those of JavaScript,
// exact up to 2^53: times up to 104 days.
//
// Names come from the recorded program and may be hostile. They become text nodes and nothing else;
// what controls, reorders or hides text is shown as U+FFFD, and long names are cut in their middle.
//
// # How it is made
//
//	Data → pagedata.go, …form.go → page.go (page/*.js, page/*.css concatenated, hashed) → one file, or server.go
//
// The scripts are small files of plain JavaScript, one concept each, that are concatenated as they
// are. The one thing that was not written for the page is uPlot (page/vendor, MIT licence), which
// draws the axes of plots. The page needs a browser of 2023 or later: Chrome 113, Firefox 113 or
// Safari 16.4, for DecompressionStream.
//
// # Cost and limits
//
// Scripts and styles are 260 kB, 50 of them uPlot. A quantum takes 10 to 25 bytes of the file, as
// its columns are packed; 20,000 quanta of four counters make a page of 0.9 MB in 90 ms
// (BenchmarkWrite of internal/browsertest). [Write] refuses more than [DefaultMaxRows] quanta or
// [DefaultMaxBytes], as a browser would take too long over them; the advice of the error is to
// serve the page, or to take a part.
//
// Served, with two million quanta, on two virtual cores: 225 ms from a new filter to the new
// charts, of which drawing is 34 ms, the least of 8; 505 ms and 49 ms were measured while other
// work used the machine at a load of 8 to 15 (BenchmarkServedPage, BenchmarkServer there). Tables,
// which take longer, follow.
package report
