package main

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// TestChurn: the heap that lives does not grow with the goroutines that are born and gone. There are as many of them as the
// machine can follow, which with the race detector are fewer.
func TestChurn(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	var out bytes.Buffer
	err := errBehind
	for rate := 50_000; errors.Is(err, errBehind) && rate > 1000; rate /= 4 {
		out.Reset()
		_, err = churn(&out, 6*time.Second, 300*time.Millisecond, rate, -1)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
	t.Log("\n" + out.String())
	if !strings.Contains(out.String(), "live heap: flat: ") {
		t.Error("it does not say whether the heap is flat")
	}
}

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
		got := trendOf(c.v, time.Minute)
		if got.flat() != c.flat || math.Abs(got.growth/(1<<20)-c.growth) > 1.5 {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}
