package query

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
)

// All queries work on recordings of real traces.
func TestRealTraces(t *testing.T) {
	for _, name := range []string{"small/phases-go1.26.8.trace", "small/mutex-go1.26.8.trace", "small/compute-go1.22.12.trace", "real/json-gogc5.trace.zst"} {
		t.Run(name, func(t *testing.T) {
			rec, err := quanta.ReadFile(t.Context(), filepath.Join("..", "..", "testdata", name), quanta.Options{})
			if err != nil {
				t.Fatal(err)
			}
			e := explorer(t, rec)
			var metrics []string
			for _, n := range e.Names() {
				metrics = append(metrics, n.Name)
			}
			a := answer(t, e, Query{
				Stats: metrics, Table: &Table{By: "group", Metrics: metrics[:2]}, Rows: &rowPage{Metrics: metrics, Sort: "duration", Descending: true},
				Density: &density{X: "duration", Y: "gap", LogX: true}, Lanes: &Lanes{By: "proc"},
				Correlate: metrics[:min(len(metrics), 20)], Compare: []string{},
			})
			sum := int64(0)
			for _, d := range rec.Duration {
				sum += d
			}
			if a.Duration != Value(sum) || a.Stats[0].Sum != Value(sum) || a.Count != rec.Len() || rec.Len() == 0 {
				t.Errorf("%d quanta of %v, want %d of %d", a.Count, a.Duration, rec.Len(), sum)
			}
			busy := Value(0)
			for _, lane := range a.Lanes.Lanes {
				busy += lane.Busy
			}
			if busy != Value(sum) {
				t.Errorf("lanes have %v of %d", busy, sum)
			}
			// No two quanta overlap on a processor, so no lane is busier than the time.
			for _, lane := range a.Lanes.Lanes {
				if lane.Number != nil && float64(lane.Busy) > float64(a.Lanes.To-a.Lanes.From) {
					t.Errorf("%s is busy for %v", lane.Key, lane.Busy)
				}
			}
			// A counter's known values and its remainder are its total.
			for i, n := range e.Names()[len(builtins):] {
				c := &rec.Counters[i]
				if got := float64(a.Stats[len(builtins)+i].Sum) + float64(c.Remainder); !c.Level && a.Stats[len(builtins)+i].Known > 0 && math.Abs(got-float64(c.Total)) > 1e-9*math.Abs(float64(c.Total)) {
					t.Errorf("%s sums to %v of %d", n.Title, got, c.Total)
				}
			}
			after, before := chosen(t, e, "first(20, gc)"), chosen(t, e, "last(20, gc)")
			if name == "real/json-gogc5.trace.zst" && (len(after) < 20 || len(before) < 20 || slices.Equal(after, before)) {
				t.Errorf("%d quanta after collections, %d before", len(after), len(before))
			}
		})
	}
}
