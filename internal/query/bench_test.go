package query

import (
	"sync"
	"testing"
)

const largeRows = 2_000_000

var largeExplorer = sync.OnceValue(func() *Explorer {
	e, err := NewExplorer(large(largeRows, 5000))
	if err != nil {
		panic(err)
	}
	e.index()
	return e
})

func perRow(b *testing.B, rows int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}

// Filters over two million rows.
func BenchmarkSelect(b *testing.B) {
	e := largeExplorer()
	for _, filter := range []string{
		"duration > 100us",
		"instructions / cycles < 0.5",
		`group =~ "worker[a-f]"`,
		"goroutine in (1, 5, 9, 100..200)",
		"gap > 1ms",
		"change(cycles) > 0",
		"first(20, gc, goroutine)",
		"during(gc)",
		`group =~ "worker" && duration > 100us && !(ended = preempted) && first(1000, gc)`,
	} {
		b.Run(filter, func(b *testing.B) {
			for b.Loop() {
				chosen(b, e, filter)
			}
			perRow(b, largeRows)
		})
	}
}

// A filter and the statistics of the selection: two million rows, half of them selected.
func BenchmarkStatistics(b *testing.B) {
	e := largeExplorer()
	for _, c := range [][2]string{{"", "duration"}, {"duration > 500us", "instructions / cycles"}, {"duration > 500us", "cycles"}} {
		b.Run(c[0]+"/"+c[1], func(b *testing.B) {
			for b.Loop() {
				statsOf(b, e, c[1], c[0])
			}
			perRow(b, largeRows)
		})
	}
}

// The other parts of an answer, for two million rows.
func BenchmarkAnswer(b *testing.B) {
	e := largeExplorer()
	ten := []string{"duration", "gap", "cycles", "instructions", "minor_faults", "heap", "instructions / cycles", "cycles / duration", "begin", "change(heap)"}
	for name, q := range map[string]Query{
		"table":     {Table: &Table{By: "group", Metrics: []string{"cycles", "instructions / cycles"}}},
		"rows":      {Rows: &rowPage{Sort: "cycles", Descending: true}},
		"bins":      {Table: &Table{Metrics: []string{"instructions / cycles"}, Bins: 400}},
		"density":   {Density: &density{X: "duration", Y: "cycles"}},
		"lanes":     {Lanes: &Lanes{By: "goroutine", Metric: "cycles"}},
		"correlate": {Filter: "goroutine <= 500", Correlate: ten},
		"compare":   {Filter: "duration > 500us", Compare: []string{}},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				answer(b, e, q)
			}
			perRow(b, largeRows)
		})
	}
}
