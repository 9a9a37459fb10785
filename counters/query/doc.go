// Package query answers questions about a recording of package counters: how many scheduling quanta
// a filter selects, the statistics of a metric over them, how it develops over time, what it goes
// together with, and which counters tell two sets of quanta apart.
//
//	package main
//
//	import (
//		"context"
//		"encoding/json"
//		"log"
//		"os"
//
//		"github.com/bottleneck-go/bottleneck/counters/quanta"
//		"github.com/bottleneck-go/bottleneck/counters/query"
//	)
//
//	func main() {
//		rec, err := quanta.ReadFile(context.Background(), "indexer.zip", quanta.Options{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		e, err := query.NewExplorer(rec)
//		if err != nil {
//			log.Fatal(err)
//		}
//		answer, err := e.Answer(context.Background(), query.Query{
//			Filter:  "first(20, gc, goroutine)", // of each goroutine, the first 20 quanta after each collection
//			Stats:   []string{"instructions / cycles", "1000 * minor_faults / duration"},
//			Compare: &query.CompareQuery{}, // with all the other quanta
//		})
//		if err != nil {
//			log.Fatal(err)
//		}
//		json.NewEncoder(os.Stdout).Encode(answer)
//	}
//
// A [Query] and its [Answer] are JSON; the served page of package exporters/report asks the same. A
// [Set] of quanta can be joined, intersected and subtracted, and written as CSV or JSON.
//
// # The language of filters and metrics
//
// A metric is arithmetic on what is known of a quantum: numbers, + - * / and parentheses, min(…),
// max(…), abs(x), and change(x), the difference to the quantum before of the same goroutine. Names
// are duration, begin, end, gap (the time since that quantum), goroutine, thread, proc, and the
// counters of the recording, with _ for -, such as minor_faults, or in quotes, such as "msr/tsc".
// Numbers may have a unit: 100us, 2ms, 4KiB; only what has the same unit can be added and compared,
// and a bare number goes with everything.
//
//	duration > 100us                    instructions / cycles < 0.5         goroutine in (7, 20..29)
//	group = main.worker                 group =~ "work|load"                func !~ "^runtime\\."
//	ended = preempted                   ended in (blocked, syscall)         wait = chan-receive
//	kind = gc                           known(minor_faults)                 all, none
//	first(20, gc)                       last(5, gc, goroutine)              first(3, "stop-the-world (GC mark termination)", proc)
//	during(gc)                          during(10ms, 20ms)                  between("start", "end")
//
// make filters, and !, &&, || and parentheses combine them. group, kind, func (on top when the
// quantum ended), caller (of that function), ended and wait (what it blocked on) are text. first(n, span) are the first n
// quanta that begin after the end of each such span (and before the next one begins), and last(n,
// span) the last n that end before its beginning (and begin after the end of the one before), in
// the whole program or, with a third argument, of each goroutine, group, proc or thread; gc is the
// mark phase of a collection. during is what overlaps a time or span. between(a, b) is what begins
// after a marker with the first text and before the next with the second; with a third argument,
// goroutine, markers concern only the goroutine that set them.
//
// What is not known of a quantum stays so: a metric of it is not known, a division by zero is not,
// no test of it holds, be it = or !=, and statistics leave it out and say of how many. But ! is the
// complement: !(minor_faults > 5) has the quanta whose faults are not known.
//
// # Cost
//
// Of two million quanta, on one of two busy virtual cores at 2.3 GHz, a filter takes 5 to 75 ms,
// with the statistics of one metric 70 to 120 ms; a table by group, a series, a density or the
// lanes of a timeline 35 to 85 ms each; the search among ten candidates 0.4 s, and the correlations
// of ten metrics 1 to 2 s (BenchmarkSelect, BenchmarkStatistics, BenchmarkAnswer).
package query
