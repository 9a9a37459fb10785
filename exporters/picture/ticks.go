package picture

import (
	"math"
	"strconv"
	"time"
)

// tick is a labelled place on an axis.
type tick struct {
	at    float64
	label string
}

// niceStep is the smallest of …, 0.1, 0.2, 0.5, 1, 2, 5, 10, … that cuts a length into at most n
// parts.
func niceStep(length float64, n int) float64 {
	if length <= 0 || n < 1 {
		return 1
	}
	raw := length / float64(n)
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, f := range []float64{1, 2, 5, 10} {
		if f*power >= raw*(1-1e-9) {
			return f * power
		}
	}
	return 10 * power
}

// niceTicks are the multiples of a nice step from 0 to most, about n of them.
func niceTicks(most float64, n int) []tick {
	step := niceStep(most, n)
	decimals := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	var out []tick
	for i := 0; float64(i)*step <= most*(1+1e-9); i++ {
		at := float64(i) * step
		out = append(out, tick{at, trimZeros(strconv.FormatFloat(at, 'f', decimals, 64))})
	}
	return out
}

// trimZeros makes 1.0 a 1, as 0, 0.5, 1, 1.5 reads better on an axis.
func trimZeros(s string) string {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// timeUnit is the unit of the time axis for a wall time, and how many nanoseconds it has.
func timeUnit(wall float64) (name string, size float64) {
	for _, u := range []struct {
		name  string
		size  time.Duration
		least float64 // so that the labels of the axis have four digits at most
	}{
		{"1000 h", 1000 * time.Hour, 9}, {"h", time.Hour, 2.5},
		{"s", time.Second, 1}, {"ms", time.Millisecond, 1}, {"µs", time.Microsecond, 1},
	} {
		if wall >= u.least*float64(u.size) {
			return u.name, float64(u.size)
		}
	}
	return "ns", 1
}

// parallelismTicks are the ticks on one side of 0, whole goroutines, as many as
// have room on an axis of a length without their labels touching.
func parallelismTicks(most, length, size float64) []tick {
	for n := min(int(most), int(length/34)); n > 1; n-- {
		ticks := niceTicks(most, n)
		if last := ticks[len(ticks)-1]; len(ticks) > 1 && (room(last.label, size, false)+10)*most/length <= ticks[1].at {
			return ticks
		}
	}
	whole := math.Floor(most)
	return []tick{{0, "0"}, {whole, strconv.FormatFloat(whole, 'f', -1, 64)}}
}
