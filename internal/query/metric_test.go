package query

import (
	"math"
	"testing"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
)

// Metrics against the same arithmetic in Go, row by row.
func TestMetrics(t *testing.T) {
	rec := made(11, 1100) // more than a block
	e := explorer(t, rec)
	get := func(name string) func(i int) float64 {
		return func(i int) float64 {
			v := rec.Counter(name).Values[i]
			if v == quanta.Unknown {
				return math.NaN()
			}
			return float64(v)
		}
	}
	cycles, instructions, faults := get("cycles"), get("instructions"), get("minor-faults")
	duration := func(i int) float64 { return float64(rec.Duration[i]) }
	for metric, want := range map[string]func(i int) float64{
		"instructions/cycles":          func(i int) float64 { return instructions(i) / cycles(i) },
		"1000*minor_faults/duration":   func(i int) float64 { return 1000 * faults(i) / duration(i) },
		"1000*(minor_faults/cycles)":   func(i int) float64 { return 1000 * (faults(i) / cycles(i)) },
		"cycles-instructions-1":        func(i int) float64 { return cycles(i) - instructions(i) - 1 },
		"cycles-(instructions-1)":      func(i int) float64 { return cycles(i) - (instructions(i) - 1) },
		"-cycles*2+3":                  func(i int) float64 { return -cycles(i)*2 + 3 },
		"end-begin":                    duration,
		"min(cycles,instructions,1e5)": func(i int) float64 { return min(cycles(i), instructions(i), 1e5) },
		"max(minor_faults,1)":          func(i int) float64 { return max(faults(i), 1) },
		"abs(instructions-cycles)":     func(i int) float64 { return math.Abs(instructions(i) - cycles(i)) },
		"cycles/minor_faults":          func(i int) float64 { return cycles(i) / faults(i) },
		"5ms":                          func(int) float64 { return 5e6 },
		"goroutine":                    func(i int) float64 { return float64(rec.Goroutine[i]) },
		"thread": func(i int) float64 {
			if rec.Thread[i] < 0 {
				return math.NaN()
			}
			return float64(rec.Thread[i])
		},
	} {
		for i, got := range valuesOf(t, e, metric) {
			w := want(i)
			if math.IsInf(w, 0) {
				w = math.NaN()
			}
			if got != w && (got == got || w == w) {
				t.Errorf("%s: row %d is %v, want %v", metric, i, got, w)
				break
			}
		}
	}
}

func TestMetricUnits(t *testing.T) {
	e := explorer(t, made(1, 5))
	for metric, want := range map[string]string{
		"cycles": "", "duration": "ns", "heap": "bytes", "minor_faults/duration": "1/ns", "1000*minor_faults/duration": "1/ns", "heap/duration": "bytes/ns",
		"duration/gap": "", "heap*duration": "ns*bytes", "duration*gap": "ns^2", "1/duration/duration": "1/ns^2", "1/heap/duration": "1/ns/bytes", "duration+5": "ns",
		"2*3+duration": "ns", "5ms+duration": "ns", "min(heap,1MB)": "bytes", "change(heap)": "bytes", "-gap": "ns", "5": "", "task_clock/duration": "",
	} {
		c, err := e.compile(metric)
		if err != nil || c.unit.String() != want {
			t.Errorf("%s: unit %q, %v; want %q", metric, c.unit, err, want)
		}
	}
}

func TestMetricErrors(t *testing.T) {
	e := explorer(t, made(1, 5))
	for _, c := range []struct {
		metric string
		pos    int
	}{
		{"heap + duration", 5}, {"duration + heap/duration", 9}, {"max(duration, heap)", 0}, {"5ms + 1kB", 4}, {"1 + nothing", 4}, {`1 + "minor_faults"`, 4}, {"µs", 0},
		{"change(1)+change(1)+change(1)+change(1)+change(1)+change(1)+change(1)+change(1)+change(1)", 80},
	} {
		_, err := e.Values(t.Context(), c.metric, chosen(t, e, "all"))
		if s := syntaxOf(t, err); s == nil || s.Pos != c.pos {
			t.Errorf("%s: %v", c.metric, err)
		}
	}
}
