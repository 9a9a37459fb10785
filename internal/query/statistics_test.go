package query

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
)

// column makes a recording with one goroutine and one counter, "v".
func columnOf(unit string, values ...int64) *quanta.Recording {
	rec := &quanta.Recording{Groups: []quanta.Group{{Name: "main.main"}}, Funcs: []string{""}, Counters: []quanta.Counter{{Name: "v", Unit: unit, Values: values}}}
	for row := range values {
		rec.Goroutine, rec.Group, rec.Thread, rec.Proc = append(rec.Goroutine, 1), append(rec.Group, 0), append(rec.Thread, 1), append(rec.Proc, 0)
		rec.Begin, rec.Duration = append(rec.Begin, int64(row)*100), append(rec.Duration, 50)
		rec.Ending, rec.Wait, rec.Func = append(rec.Ending, quanta.Preempted), append(rec.Wait, 0), append(rec.Func, 0)
	}
	return rec
}

func statsOf(t testing.TB, e *Explorer, metric, filter string) *Statistics {
	t.Helper()
	return &answer(t, e, Query{Filter: filter, Stats: []string{metric}}).Stats[0]
}

// All statistics of 1 … n have closed forms.
func TestStatisticsClosedForm(t *testing.T) {
	const n = 1000
	values := make([]int64, n)
	for i := range values {
		values[i] = int64(i*7919%n + 1) // a permutation: 7919 and 1000 have no common divisor
	}
	s := statsOf(t, explorer(t, columnOf("ns", values...)), "v", "")
	if s.Count != n || s.Known != n || s.Sum != n*(n+1)/2 || s.Min != 1 || s.Max != n || s.Mean != (n+1)/2. || s.Unit != "ns" {
		t.Errorf("%+v", s)
	}
	if want := math.Sqrt(n * (n + 1) / 12.); math.Abs(float64(s.Deviation)-want) > 1e-12*want {
		t.Errorf("deviation %v, want %v", s.Deviation, want)
	}
	for name, want := range map[string]Value{"p1": 10, "p5": 50, "p25": 250, "p50": 500, "p75": 750, "p95": 950, "p99": 990} {
		if got := s.Quantiles[name]; got != want || len(s.Quantiles) != 7 {
			t.Errorf("quantile %s is %v, want %v", name, got, want)
		}
	}
	if want := float64(values[n-1]-values[0]) / (n - 1); s.Changes != n-1 || float64(s.MeanChange) != want {
		t.Errorf("mean change %v of %d, want %v", s.MeanChange, s.Changes, want)
	}
	if s.RatioOfSums.Known() || s.RatioRows != 0 {
		t.Errorf("a ratio: %v", s.RatioOfSums)
	}
}

// Small numbers are not lost next to large ones.
func TestStatisticsAreStable(t *testing.T) {
	e := explorer(t, columnOf("", 1<<53-8, 1<<53-7, 1<<53-6))
	s := statsOf(t, e, "v", "")
	if s.Mean != 1<<53-7 || s.Deviation != 1 {
		t.Errorf("mean %v, deviation %v", s.Mean, s.Deviation)
	}
	if s := statsOf(t, explorer(t, columnOf("", 1<<60, 1, -1<<60, 1)), "v", ""); s.Sum != 2 {
		t.Errorf("sum %v", s.Sum)
	}
}

// Sum and deviation of random values against exact arithmetic.
func TestStatisticsAgainstRationals(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 30 {
		values := make([]int64, 2+r.IntN(300))
		sum := new(big.Rat)
		for i := range values {
			values[i] = r.Int64N(1<<uint(1+r.IntN(52))) - r.Int64N(1000)
			sum.Add(sum, new(big.Rat).SetInt64(values[i]))
		}
		mean := new(big.Rat).Quo(sum, big.NewRat(int64(len(values)), 1))
		square := new(big.Rat)
		for _, v := range values {
			d := new(big.Rat).Sub(new(big.Rat).SetInt64(v), mean)
			square.Add(square, d.Mul(d, d))
		}
		variance, _ := square.Quo(square, big.NewRat(int64(len(values)-1), 1)).Float64()
		s := statsOf(t, explorer(t, columnOf("", values...)), "v", "")
		if want, _ := sum.Float64(); float64(s.Sum) != want {
			t.Errorf("sum %v, want %v", s.Sum, want)
		}
		if want := math.Sqrt(variance); math.Abs(float64(s.Deviation)-want) > 1e-14*want {
			t.Errorf("deviation %v, want %v", s.Deviation, want)
		}
	}
}

func TestQuantiles(t *testing.T) {
	if got := rank(.07, 100); got != 6 { // .07·100 is more than 7 in floating point
		t.Errorf("the rank of .07 of 100 is %d", got)
	}
	r := rand.New(rand.NewPCG(6, 6))
	for range 300 {
		values := make([]float64, 1+r.IntN(2000))
		kinds := 1 + r.IntN(len(values))
		for i := range values {
			switch r.IntN(3) {
			case 0:
				values[i] = float64(i)
			case 1:
				values[i] = float64(-i)
			default:
				values[i] = float64(r.IntN(kinds))
			}
		}
		sorted := slices.Clone(values)
		slices.Sort(sorted)
		got := quantiles(values, quantilesShown)
		for i, q := range quantilesShown {
			// The minimum value such that at least the part q of all values is not
			// above it; q in hundredths.
			hundredths, _ := strconv.Atoi(q[1:])
			want := sorted[(hundredths*len(sorted)+99)/100-1]
			if got[i] != want {
				t.Fatalf("quantile %s of %d values: %v, want %v", q, len(sorted), got[i], want)
			}
		}
		slices.Sort(values)
		if !slices.Equal(values, sorted) {
			t.Fatal("quantiles changed the values")
		}
	}
}

// Selection is correct even if every pivot is bad.
func TestSelectWithoutBudget(t *testing.T) {
	values := rand.New(rand.NewPCG(1, 1)).Perm(5000)
	var floats []float64
	for _, v := range values {
		floats = append(floats, float64(v))
	}
	selectRanks(floats, 0, []int{17, 4000}, 1)
	if floats[17] != 17 || floats[4000] != 4000 {
		t.Errorf("%v, %v", floats[17], floats[4000])
	}
}

func TestStatisticsOfUnknown(t *testing.T) {
	e := explorer(t, columnOf("", quanta.Unknown, 4, quanta.Unknown, 6, 10))
	s := statsOf(t, e, "v", "")
	if s.Count != 5 || s.Known != 3 || s.Sum != 20 || s.Min != 4 || s.Changes != 1 || s.MeanChange != 4 {
		t.Errorf("%+v", s)
	}
	for _, s := range []*Statistics{statsOf(t, e, "v", "none"), statsOf(t, e, "v/0", ""), statsOf(t, e, "0/0", ""), statsOf(t, e, "1e300*1e300*v", "")} {
		if s.Known != 0 || s.Sum.Known() || s.Min.Known() || s.Mean.Known() || s.Deviation.Known() || s.MeanChange.Known() || s.Quantiles["p50"].Known() {
			t.Errorf("%+v", s)
		}
	}
	if s := statsOf(t, e, "v", "v = 4"); s.Known != 1 || s.Mean != 4 || s.Deviation.Known() || s.Quantiles["p99"] != 4 {
		t.Errorf("one value: %+v", s)
	}
}

// A quotient has two means: that of the quotients, and that of the whole.
func TestRatioOfSums(t *testing.T) {
	rec := columnOf("", 10, 20, quanta.Unknown, 90)
	rec.Counters = append(rec.Counters, quanta.Counter{Name: "w", Values: []int64{10, 10, 10, 0}})
	s := statsOf(t, explorer(t, rec), "v / w", "")
	if s.Known != 2 || s.Mean != 1.5 || s.RatioRows != 3 || s.RatioOfSums != 6 {
		t.Errorf("%+v", s)
	}
}

// The changes of a goroutine sum to its last value minus its first.
func TestChangesTelescope(t *testing.T) {
	rec := made(9, 900)
	e := explorer(t, rec)
	cycles := rec.Counter("cycles").Values // known in all rows
	first, last := map[int64]int64{}, map[int64]int64{}
	for row, g := range rec.Goroutine {
		if _, ok := first[g]; !ok {
			first[g] = cycles[row]
		}
		last[g] = cycles[row]
	}
	want := int64(0)
	for g := range first {
		want += last[g] - first[g]
	}
	s := statsOf(t, e, "cycles", "")
	if got := float64(s.MeanChange) * float64(s.Changes); math.Abs(got-float64(want)) > 1e-6 || s.Changes != rec.Len()-len(first) {
		t.Errorf("%v over %d changes, want %v", got, s.Changes, want)
	}
	if d := statsOf(t, e, "change(cycles)", ""); d.Mean != s.MeanChange {
		t.Errorf("mean of changes %v, mean change %v", d.Mean, s.MeanChange)
	}
}
