package sweep

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/granularity"
)

func TestRunsEverything(t *testing.T) {
	calls := map[int]int{}
	want := []int{20, 10, 80, 2, 1}
	result := Run(5, func(tasks int) { calls[tasks]++ }, want...)
	if len(result) != len(want) {
		t.Fatalf("%d points; want %v", len(result), want)
	}
	for i, n := range want {
		if result[i].Tasks != n || calls[n] != 6 || len(result[i].Times) != 5 {
			t.Errorf("point %d: %d tasks, %d calls, %d times; want %d, 6, 5", i, result[i].Tasks, calls[result[i].Tasks], len(result[i].Times), n)
		}
	}
	if p := result[0]; p.Speedup != 1 || p.Low != 1 || p.High != 1 {
		t.Errorf("the base is %g [%g, %g] times faster than itself", p.Speedup, p.Low, p.High)
	}
	for _, counts := range [][]int{nil, {0}, {3, -1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a sweep of %v tasks did not panic", counts)
				}
			}()
			Run(5, func(int) {}, counts...)
		}()
	}
}

// The interval contains the true speed-up 95 times in 100.
func TestIntervals(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	times := func(n int, mean, spread float64) (out []time.Duration) {
		for range n {
			out = append(out, time.Duration(mean*math.Exp(spread*rng.NormFloat64())))
		}
		return out
	}
	for _, n := range []int{3, 10, 40} {
		const trials = 4000
		covered := 0
		for range trials {
			base := times(n, 5e8, 0.10)
			p := Point{Times: times(n, 2e8, 0.03)}
			if p.compare(base); p.Low <= 2.5 && 2.5 <= p.High {
				covered++
			}
		}
		if share := float64(covered) / trials; share < 0.935 || share > 0.985 {
			t.Errorf("%d runs: %.3f of the intervals hold the true speed-up; want 0.95 or a little more", n, share)
		}
	}
}

// Without profiles, the table has only the times.
func TestTableOfTimes(t *testing.T) {
	ms := time.Millisecond
	table := Table("tasks", []Point{{Value: "8", Times: []time.Duration{3 * ms, 3 * ms}}, {Value: "4", Times: []time.Duration{2 * ms, 2 * ms}}})
	var got []string
	for k, head := range table.Columns {
		got = append(got, head.Name+" "+head.Format(&table.Rows[1][k]))
	}
	if want := []string{"value 4", "time 2 ms", "speedup 1.50", "low 1.50", "high 1.50"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Half the tasks take three quarters of the time: work of 2 ms and overhead of 2 ms become 2 ms and
// 1 ms.
func TestPredicts(t *testing.T) {
	profile := func(n int, each time.Duration) *granularity.Profile {
		p := &granularity.Profile{Hz: 1e9, Overhead: time.Microsecond, Procs: 2}
		c := granularity.Class{Name: "work", Tasks: uint64(n)}
		c.Cycles.AddN(uint64(each), c.Tasks)
		p.Classes = []granularity.Class{c}
		return p
	}
	points := []Point{
		{Value: "1", Times: []time.Duration{4 * time.Millisecond, 4 * time.Millisecond}, Profile: profile(2000, time.Microsecond)},
		{Value: "2", Times: []time.Duration{2 * time.Millisecond, 2 * time.Millisecond}, Profile: profile(1000, 2*time.Microsecond)},
		{Value: "3", Times: []time.Duration{time.Millisecond}},
	}
	got := map[string][]string{}
	table := Table("GRAIN", points)
	for k, head := range table.Columns {
		for _, row := range table.Rows {
			got[head.Name] = append(got[head.Name], head.Format(&row[k]))
		}
	}
	for name, want := range map[string][]string{
		"value": {"1", "2", "3"}, "tasks": {"2,000", "1,000", ""}, "overhead-%": {"50.0%", "33.3%", ""},
		"time": {"4 ms", "2 ms", "1 ms"}, "predicted": {"4 ms", "3 ms", ""}, "speedup": {"1.00", "2.00", "4.00"}, "low": {"1.00", "2.00", ""},
	} {
		if !slices.Equal(got[name], want) {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}
