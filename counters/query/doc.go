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
//			Filter:  "first(20, gc, goroutine)",
//			Stats:   []string{"instructions / cycles", "1000 * minor_faults / duration"},
//			Compare: []string{}, // all counters, with those of the other quanta
//		})
//		if err != nil {
//			log.Fatal(err)
//		}
//		json.NewEncoder(os.Stdout).Encode(answer)
//	}
//
// [CheckFilter] defines the language of filters and metrics. A filter over two million quanta takes
// 10 to 120 ms on one core, the statistics of a metric 70 to 240 ms (BenchmarkSelect,
// BenchmarkStatistics).
package query
