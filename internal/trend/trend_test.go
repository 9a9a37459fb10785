package trend

import (
	"math"
	"testing"
	"time"
)

func TestTrend(t *testing.T) {
	mb := func(v ...uint64) []uint64 {
		for i := range v {
			v[i] <<= 20
		}
		return v
	}
	for _, c := range []struct {
		name   string
		v      []uint64
		flat   bool
		growth float64 // MB
	}{
		{"as it is", mb(10, 20, 40, 40, 40, 40, 40, 40), true, 0},
		{"one peak", mb(40, 40, 41, 39, 175, 40, 41, 40), true, 0},
		{"grows", mb(10, 20, 30, 40, 50, 60, 70, 80), false, 50},
		{"grows slowly", mb(90, 95, 100, 104, 108, 112, 116, 120), false, 20},
		{"comes and goes", mb(6, 12, 6, 12, 12, 6, 12, 6), true, 0},
		{"comes and goes, and grows", mb(6, 12, 16, 22, 28, 26, 38, 36, 48, 46, 58, 56), false, 40},
		{"shrinks", mb(80, 70, 60, 50, 40, 30, 20, 10), true, -50},
		{"one", mb(5), true, 0},
		{"none", nil, true, 0},
	} {
		got := Of(c.v, time.Minute)
		if got.Flat() != c.flat || math.Abs(got.Growth/(1<<20)-c.growth) > 1.5 {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}
