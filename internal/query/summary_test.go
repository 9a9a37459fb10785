package query

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
)

// The statistics of the parts equal those of their rows, summed and sorted one by one.
func TestSummary(t *testing.T) {
	rec := made(31, 900)
	e := explorer(t, rec)
	keep := func(row int) bool { return rec.Duration[row] > 30_000 }
	values := map[string][]float64{}
	running := map[string]int64{}
	quotients := map[string][2]float64{}
	for row := range rec.Len() {
		key := rec.Ending[row].String()
		if !keep(row) {
			continue
		}
		running[key] += rec.Duration[row]
		cycles, instructions := rec.Counters[0].Values[row], rec.Counters[1].Values[row]
		if cycles != quanta.Unknown {
			values[key] = append(values[key], float64(cycles))
			if instructions != quanta.Unknown {
				q := quotients[key]
				quotients[key] = [2]float64{q[0] + float64(instructions), q[1] + float64(cycles)}
			}
		}
	}
	stats := []string{"mean", "sum", "min", "max", "p50", "p99", "ratio"}
	rows := answer(t, e, Query{Filter: "duration > 30us", Table: &Table{By: "ended", Metrics: []string{"cycles", "instructions / cycles"}, Stats: stats}}).Table.Rows
	if len(rows) != len(running) {
		t.Fatalf("%d rows of %d keys", len(rows), len(running))
	}
	for i, r := range rows {
		if i > 0 && rows[i-1].Duration < r.Duration || int64(r.Duration) != running[r.Key] {
			t.Errorf("row %d: %+v; it ran for %d", i, r, running[r.Key])
		}
		q := quotients[r.Key]
		if got := float64(r.Cells[1].value("ratio")); math.Abs(got-q[0]/q[1]) > 1e-9 {
			t.Errorf("%s: the ratio is %v, want %v", r.Key, got, q[0]/q[1])
		}
		v := slices.Sorted(slices.Values(values[r.Key]))
		sum := 0.0
		for _, x := range v {
			sum += x
		}
		n := len(v)
		want := []float64{sum / float64(n), sum, v[0], v[n-1], v[(n+1)/2-1], v[(99*n+99)/100-1]}
		if r.Cells[0].Known != n {
			t.Errorf("%s: %d are known, want %d", r.Key, r.Cells[0].Known, n)
		}
		for k, w := range want {
			if got := float64(r.Cells[0].value(stats[k])); math.Abs(got-w) > 1e-9*w {
				t.Errorf("%s: %s is %v, want %v", r.Key, stats[k], got, w)
			}
		}
	}
}

// With any limit, the parts sum to the whole, and one part contains all that are not shown.
func TestSummaryTop(t *testing.T) {
	e := explorer(t, made(32, 700))
	whole := answer(t, e, Query{Table: &Table{}}).Table
	for _, top := range []int{0, 1, 3, 1000} {
		table := answer(t, e, Query{Table: &Table{By: "goroutine", Limit: top}}).Table
		rows := table.all()
		if top > 0 && len(rows) > top+1 || !slices.Equal(table.Metrics, whole.Metrics) {
			t.Errorf("top %d: %d parts with %v, want %v", top, len(rows), table.Metrics, whole.Metrics)
		}
		for i, w := range whole.Rows[0].Cells {
			sum, known := 0.0, 0
			for _, r := range rows {
				known += r.Cells[i].Known
				if r.Cells[i].Sum.Known() {
					sum += float64(r.Cells[i].Sum)
				}
			}
			if known != w.Known || math.Abs(sum-float64(w.Sum)) > 1e-6*math.Abs(sum) {
				t.Errorf("top %d, %s: %v of %d, want %v of %d", top, w.Metric, sum, known, w.Sum, w.Known)
			}
		}
		if last := rows[len(rows)-1].Key; (top == 1 || top == 3) != strings.HasSuffix(last, " others") {
			t.Errorf("top %d: the last part is %s", top, last)
		}
	}
}

func TestSummaryErrors(t *testing.T) {
	e := explorer(t, made(1, 50))
	for want, q := range map[string]Query{
		"want mean":       {Table: &Table{Stats: []string{"median"}}},
		"p100.1":          {Table: &Table{Stats: []string{"p100.1"}}},
		"cannot group by": {Table: &Table{By: "color"}},
		"did you mean":    {Table: &Table{Metrics: []string{"cylces"}}},
		"not a filter":    {Filter: "duration"},
	} {
		if _, err := e.Answer(t.Context(), q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", q, err, want)
		}
	}
}
