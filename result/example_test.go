package result_test

import (
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/bottleneck-go/bottleneck/result"
)

// A result lists its columns once. Differences between two runs use them.
func Example() {
	type phase struct {
		name string
		time time.Duration
	}
	columns := []result.Column[phase]{
		{Name: "time", Title: "time", Unit: result.Duration, Part: true, Help: "its time",
			Value: func(p *phase) (result.Value, bool) { return result.Int(p.time), true }},
		{Name: "phase", Title: "phase", Help: "its name",
			Value: func(p *phase) (result.Value, bool) { return result.Str(p.name), true }},
	}
	before := result.New(columns, []phase{{"load", 6 * time.Second}, {"index", 4 * time.Second}}, 10*time.Second)
	after := result.New(columns, []phase{{"load", 2 * time.Second}, {"index", 4 * time.Second}}, 6*time.Second)

	changes, err := result.Diff(before, after, "phase", "time")
	if err != nil {
		log.Fatal(err)
	}
	b, err := json.MarshalIndent(changes, "", " ")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(b))
	// Output:
	// [
	//  {
	//   "time_before": 6000000000,
	//   "time_after": 2000000000,
	//   "time_change": -4000000000,
	//   "row": null,
	//   "phase": "load"
	//  },
	//  {
	//   "time_before": 4000000000,
	//   "time_after": 4000000000,
	//   "time_change": 0,
	//   "row": null,
	//   "phase": "index"
	//  }
	// ]
}
