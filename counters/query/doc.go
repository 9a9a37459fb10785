// Package query answers questions about a recording of package counters: the number of scheduling
// quanta that a filter selects, the statistics of a metric over them, its development over time,
// its correlations, and the counters that distinguish two sets of quanta.
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
//			Compare: []string{}, // all counters, with those of the other quanta
//		})
//		if err != nil {
//			log.Fatal(err)
//		}
//		json.NewEncoder(os.Stdout).Encode(answer)
//	}
//
// [Query] and [Answer] can be encoded as JSON; the served page of package exporters/report uses the
// same queries. A [Set] of quanta can be joined, intersected and subtracted, and written as CSV or
// JSON.
//
// # The language of filters and metrics
//
// A metric is an arithmetic expression over the properties of a quantum: numbers, + - * / and
// parentheses, min(…), max(…), abs(x), and change(x), the difference to the previous quantum of the
// same goroutine. Names are duration, begin, end, gap (the time since that quantum), goroutine,
// thread, proc, and the counters of the recording, with _ for -, such as minor_faults, or in
// quotes, such as "msr/tsc". Numbers may have a unit: 100us, 2ms, 4KiB. Only values with the same
// unit can be added and compared; a plain number is compatible with every unit.
//
//	duration > 100us                    instructions / cycles < 0.5         goroutine in (7, 20..29)
//	group = main.worker                 group =~ "work|load"                func !~ "^runtime\\."
//	ended = preempted                   ended in (blocked, syscall)         wait = chan-receive
//	kind = gc                           known(minor_faults)                 all, none
//	first(20, gc)                       last(5, gc, goroutine)              first(3, "stop-the-world (GC mark termination)", proc)
//	during(gc)                          during(10ms, 20ms)                  between("start", "end")
//
// are filters, which !, &&, || and parentheses combine. group, kind, func (the top function when
// the quantum ended), caller (of that function), ended and wait (the reason for blocking) are text.
// first(n, span) selects the first n quanta that begin after the end of each such span and before
// the next one begins. last(n, span) selects the last n that end before its beginning and begin
// after the end of the previous one. Both count in the whole program or, with a third argument, in
// each goroutine, group, proc or thread; gc is the mark phase of a collection. during selects
// quanta that overlap an interval or span. between(a, b) selects quanta that begin after a marker
// with the first text and before the next with the second; with a third argument, goroutine,
// markers affect only the goroutine that set them.
//
// Unknown values propagate: a metric of an unknown value is unknown, and so is a division by zero.
// No comparison with an unknown value holds, neither = nor !=. Statistics omit unknown values and
// return the number of known ones. But ! is the complement: !(minor_faults > 5) includes the quanta
// whose faults are unknown.
//
// # Cost
//
// For two million quanta, on one of two busy virtual cores at 2.3 GHz, a filter takes 10 to 120 ms,
// and the statistics of one metric 70 to 240 ms; a table by group, a density or the lanes of a
// timeline take 60 to 160 ms; a comparison of ten candidates takes 0.8 s (BenchmarkSelect,
// BenchmarkStatistics, BenchmarkAnswer).
package query
