package query_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/internal/query"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// sixQuanta is a recording of two goroutines around a collection.
func sixQuanta() *quanta.Recording {
	return &quanta.Recording{
		Name: "six quanta", Wall: 700 * time.Microsecond,
		Groups:    []quanta.Group{{Name: "main.reader"}, {Name: "main.worker"}},
		Funcs:     []string{"", "main.work"},
		Goroutine: []int64{7, 8, 7, 8, 7, 8}, Group: []int32{0, 1, 0, 1, 0, 1}, Thread: []int64{1, 2, 1, 2, 1, 2}, Proc: []int32{0, 1, 0, 1, 0, 1},
		Begin: []int64{0, 100_000, 200_000, 400_000, 500_000, 600_000}, Duration: []int64{50_000, 80_000, 90_000, 20_000, 60_000, 10_000},
		Ending: make([]quanta.Ending, 6), Wait: make([]timeline.Wait, 6), Func: []int32{1, 1, 1, 0, 1, 1},
		Counters: []quanta.Counter{
			{Name: "cycles", Values: []int64{100, 160, 180, 40, 120, 20}, Total: 620},
			{Name: "minor-faults", Values: []int64{1, 0, 2, 9, quanta.Unknown, 7}, Total: 19},
		},
		Spans: []quanta.Span{{Name: "GC concurrent mark phase", Begin: 300_000, End: 380_000}},
	}
}

func ExampleExplorer_Answer() {
	e, err := query.NewExplorer(sixQuanta())
	if err != nil {
		log.Fatal(err)
	}
	answer, err := e.Answer(context.Background(), query.Query{
		Filter:  "first(3, gc)",
		Stats:   []string{"minor_faults", "minor_faults / cycles"},
		Compare: []string{"minor_faults", "cycles"},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Count, "of", answer.Of, "quanta")
	faults, rate := answer.Stats[0], answer.Stats[1]
	fmt.Println("faults:", faults.Sum, "in", faults.Known, "quanta, mean", faults.Mean)
	fmt.Printf("faults per cycle: %.2f on average, %.2f in all\n", float64(rate.Mean), float64(rate.RatioOfSums))
	most := answer.Comparison[0]
	fmt.Println("differs most:", most.Metric, "is", most.A.Mean, "instead of", most.B.Mean)
	// Output:
	// 3 of 6 quanta
	// faults: 16 in 2 quanta, mean 8
	// faults per cycle: 0.29 on average, 0.27 in all
	// differs most: minor_faults is 8 instead of 1
}

func ExampleCheckFilter() {
	fmt.Println(query.CheckFilter(`group =~ "work" && duration > 0.1ms && !(ended = preempted)`))
	fmt.Println(query.CheckFilter("ended = premepted"))
	// Output:
	// <nil>
	// at character 9: ended is never "premepted"; did you mean preempted?
}

func ExampleExplorer_Values() {
	e, err := query.NewExplorer(sixQuanta())
	if err != nil {
		log.Fatal(err)
	}
	values, err := e.Values(context.Background(), "change(cycles) / 10", []int{0, 1, 2, 3, 4, 5})
	fmt.Println(values, err) // the change of a goroutine's first quantum is unknown
	// Output: [NaN NaN 8 -12 -6 -2] <nil>
}

func ExampleExplorer_Select() {
	e, err := query.NewExplorer(sixQuanta())
	if err != nil {
		log.Fatal(err)
	}
	rows, err := e.Select(context.Background(), "duration >= 50us && minor_faults > 1")
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range rows {
		fmt.Println("goroutine", e.Recording().Goroutine[row], "at", time.Duration(e.Recording().Begin[row]))
	}
	// Output:
	// goroutine 7 at 200µs
}
