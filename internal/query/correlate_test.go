package query

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
)

// withColumns makes a recording of counters a, b, c, …
func withColumns(columns ...[]int64) *quanta.Recording {
	rec := columnOf("", columns[0]...)
	rec.Counters = nil
	for i, values := range columns {
		rec.Counters = append(rec.Counters, quanta.Counter{Name: string(rune('a' + i)), Values: values})
	}
	return rec
}

func TestCorrelation(t *testing.T) {
	rec := withColumns(
		[]int64{1, 2, 3, 4, 5},
		[]int64{10, 30, 50, 70, 90},     // 20a − 10
		[]int64{-1, -8, -27, -64, -125}, // falls with a, not linearly
		[]int64{2, 1, 0, 1, 2},          // symmetric: not correlated with a
		[]int64{7, 7, 7, 7, 7},
		[]int64{4, quanta.Unknown, 3, 9, quanta.Unknown},
	)
	c := answer(t, explorer(t, rec), Query{Correlate: []string{"a", "b", "c", "d", "e", "f"}}).Correlation
	near := func(v Value, want float64) bool { return math.Abs(float64(v)-want) < 1e-15 }
	if !near(c.Pearson[0][0], 1) || !near(c.Pearson[0][1], 1) || !near(c.Pearson[1][0], 1) || !near(c.Pearson[0][3], 0) {
		t.Errorf("%v", c.Pearson)
	}
	// Σ(a−3)(c+45) = −304, Σ(a−3)² = 10, Σ(c+45)² = 10390
	if want := -304 / math.Sqrt(10*10390); !near(c.Pearson[0][2], want) || !near(c.Spearman[0][2], -1) {
		t.Errorf("a, c: %v, ranks %v; want %v, −1", c.Pearson[0][2], c.Spearman[0][2], want)
	}
	if c.Pearson[0][4].Known() || c.Pearson[4][4].Known() || c.Spearman[4][0].Known() {
		t.Error("what does not vary is correlated")
	}
	if c.N[0][5] != 3 || c.N[5][0] != 3 || c.N[0][1] != 5 {
		t.Errorf("%v", c.N)
	}
	// Of a = 1, 3, 4 and f = 4, 3, 9: the ranks are 1 2 3 and 2 1 3.
	if !near(c.Spearman[0][5], .5) {
		t.Errorf("a, f: %v", c.Spearman[0][5])
	}
}

// Ties get the mean of their ranks.
func TestRanks(t *testing.T) {
	got := ranks([]float64{5, 1, 5, 3, 5, 1})
	for i, want := range []float64{5, 1.5, 5, 3, 5, 1.5} {
		if got[i] != want {
			t.Errorf("rank %d is %v, want %v", i, got[i], want)
		}
	}
}

func TestStudent(t *testing.T) {
	for df, want := range map[float64]float64{3: 3.182446, 4: 2.776445, 5: 2.570582, 10: 2.228139, 30: 2.042272, 100: 1.983972, 1e4: 1.960201, 1e6: 1.959966, 1e9: 1.959964} {
		if got := studentQuantile(df); math.Abs(got/want-1) > 3e-7 {
			t.Errorf("%v degrees of freedom: %v, want %v", df, got, want)
		}
	}
	if studentQuantile(2.9) == studentQuantile(2.9) {
		t.Error("an interval from too little")
	}
}

// Welch's t by hand: means 20 and 23, variances 2.5 and 10, five values each.
func TestWelch(t *testing.T) {
	r := compareMeans(momentsOf([]float64{18, 19, 20, 21, 22}), momentsOf([]float64{19, 21, 23, 25, 27}))
	// The squared errors of the means are .5 and 2, so t = −3/√2.5, and df = 2.5²/(.5²/4 +
	// 2²/4).
	checks := map[string][2]float64{
		"difference":   {float64(r.Difference), -3},
		"standardized": {float64(r.Standardized), -3 / math.Sqrt(6.25)},
		"t":            {float64(r.T), -3 / math.Sqrt(2.5)},
		"df":           {float64(r.DF), 6.25 / (.0625 + 1)},
		"width":        {float64(r.High - r.Low), 2 * 2.4469 * math.Sqrt(2.5) * studentQuantile(6.25/1.0625) / 2.4469},
	}
	for name, c := range checks {
		if math.Abs(c[0]-c[1]) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, c[0], c[1])
		}
	}
}

// About 95 of 100 intervals contain the true difference.
func TestWelchCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	inside := 0
	for range 2000 {
		x, y := make([]float64, 12), make([]float64, 40)
		for i := range x {
			x[i] = 5 + 3*r.NormFloat64()
		}
		for i := range y {
			y[i] = 4 + r.NormFloat64()
		}
		if c := compareMeans(momentsOf(x), momentsOf(y)); c.Low <= 1 && c.High >= 1 {
			inside++
		}
	}
	if inside < 1870 || inside > 1930 { // 1900 ± 3 deviations
		t.Errorf("%d of 2000 intervals hold the true difference", inside)
	}
}

// The search finds the counter that differs by construction, and none where nothing differs.
func TestSearch(t *testing.T) {
	rec := made(31, 3000)
	after := chosen(t, explorer(t, rec), "first(100, gc)")
	faults := rec.Counter("minor-faults")
	for _, row := range after {
		if faults.Values[row] != quanta.Unknown {
			faults.Values[row] += 3
		}
	}
	e := explorer(t, rec)
	c := answer(t, e, Query{Filter: "first(100, gc)", Compare: []string{}}).Comparison
	if c[0].Metric != "minor_faults" || c[0].Standardized < 2 || c[0].Low > 3 || c[0].High < 3 {
		t.Errorf("%+v", c[0])
	}
	for i, row := range c[1:] {
		if math.Abs(float64(row.Standardized)) > math.Abs(float64(c[i].Standardized)) {
			t.Errorf("%s is out of order", row.Metric)
		}
		if row.Metric != "minor_faults / duration" && math.Abs(float64(row.Standardized)) > .4 && row.Metric != "heap" {
			t.Errorf("%s differs by %v deviations", row.Metric, row.Standardized)
		}
	}
	if len(c) != 2+6+5 {
		t.Errorf("%d candidates", len(c))
	}
}
