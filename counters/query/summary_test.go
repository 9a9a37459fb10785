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
	rows, stats, err := e.Summary(t.Context(), SummaryQuery{Filter: "duration > 30us", By: "ended", Metrics: []string{"cycles", "instructions / cycles"}, Stats: []string{"mean", "sum", "min", "max", "p50", "p99", "ratio"}})
	if err != nil || len(stats) != 7 || len(rows) != 2*len(running) {
		t.Fatalf("%d rows of %d keys, %v", len(rows), len(running), err)
	}
	for i, r := range rows {
		if i > 0 && rows[i-1].Metric == r.Metric && rows[i-1].Running < r.Running || int64(r.Running) != running[r.Part] {
			t.Errorf("row %d: %+v; it ran for %d", i, r, running[r.Part])
		}
		if r.Metric != "cycles" {
			q := quotients[r.Part]
			if got := float64(r.Values[6]); math.Abs(got-q[0]/q[1]) > 1e-9 {
				t.Errorf("%s: the ratio is %v, want %v", r.Part, got, q[0]/q[1])
			}
			continue
		}
		v := slices.Sorted(slices.Values(values[r.Part]))
		sum := 0.0
		for _, x := range v {
			sum += x
		}
		n := len(v)
		want := []float64{sum / float64(n), sum, v[0], v[n-1], v[(n+1)/2-1], v[(99*n+99)/100-1]}
		if r.Known != n {
			t.Errorf("%s: %d are known, want %d", r.Part, r.Known, n)
		}
		for k, w := range want {
			if got := float64(r.Values[k]); math.Abs(got-w) > 1e-9*w {
				t.Errorf("%s: %s is %v, want %v", r.Part, stats[k], got, w)
			}
		}
	}
}

// With any limit, the parts sum to the whole, and one part contains all that are not shown.
func TestSummaryTop(t *testing.T) {
	e := explorer(t, made(32, 700))
	whole, _, err := e.Summary(t.Context(), SummaryQuery{Stats: []string{"sum"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, top := range []int{0, 1, 3, 1000} {
		rows, _, err := e.Summary(t.Context(), SummaryQuery{By: "goroutine", Stats: []string{"sum"}, Top: top})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range whole {
			n, sum, known := 0, 0.0, 0
			for _, r := range rows {
				if r.Metric == w.Metric {
					n++
					known += r.Known
					if r.Values[0].Known() {
						sum += float64(r.Values[0])
					}
				}
			}
			if known != w.Known || math.Abs(sum-float64(w.Values[0])) > 1e-6*math.Abs(sum) || top > 0 && n > top+1 {
				t.Errorf("top %d, %s: %d parts with %v of %d, want %v of %d", top, w.Metric, n, sum, known, w.Values[0], w.Known)
			}
		}
		if last := rows[len(rows)-1].Part; (top == 1 || top == 3) != strings.HasSuffix(last, " others") {
			t.Errorf("top %d: the last part is %s", top, last)
		}
	}
}

func TestSummaryErrors(t *testing.T) {
	e := explorer(t, made(1, 50))
	for want, q := range map[string]SummaryQuery{
		"there are mean":  {Stats: []string{"median"}},
		"p100.1":          {Stats: []string{"p100.1"}},
		"cannot group by": {By: "color"},
		"did you mean":    {Metrics: []string{"cylces"}},
		"not a filter":    {Filter: "duration"},
	} {
		if _, _, err := e.Summary(t.Context(), q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", q, err, want)
		}
	}
}
