// Package format formats numbers and names the same way in every picture, table and report of this
// module: "640 ms", "20%", "3.84", "1,371", "pgzip.(*Writer).compressBlock".
//
// Nothing here fails: a value that cannot be shown (a share of nothing, an unknown parallelism) is
// an en dash, and hostile text is sanitized.
package format

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// units are tried from the largest. A duration is shown in the first unit in which it is at least
// least. Minutes start late because "600 s" compares better with "980 ms" than "10 min" does.
var units = []struct {
	name  string
	size  time.Duration
	least time.Duration
}{
	{"h", time.Hour, 1000 * time.Minute},
	{"min", time.Minute, 1000 * time.Second},
	{"s", time.Second, time.Second},
	{"ms", time.Millisecond, time.Millisecond},
	{"µs", time.Microsecond, time.Microsecond},
	{"ns", time.Nanosecond, 0},
}

// Duration formats d in its natural unit with three significant digits, without trailing zeros:
// "640 ms", "2.11 s", "1.75 µs", "0 s".
func Duration(d time.Duration) string {
	if d == 0 {
		return "0 s"
	}
	if d < 0 {
		// The smallest Duration has no negative: one nanosecond less does not show.
		return "-" + Duration(-max(d, math.MinInt64+1))
	}
	d = Round3(d)
	for _, u := range units {
		if d >= u.least {
			return significant(float64(d)/float64(u.size)) + " " + u.name
		}
	}
	return "0 s" // not reached: the last unit takes everything
}

// Round3 rounds to three significant decimal digits of nanoseconds, so that 999.6 µs is shown as 1
// ms, not 1000 µs.
func Round3(d time.Duration) time.Duration {
	step := time.Duration(1)
	for d/step >= 1000 {
		step *= 10
	}
	if d > math.MaxInt64-step {
		return d
	}
	return (d + step/2) / step * step
}

// significant formats x ≥ 0 with three significant digits and no trailing zeros.
func significant(x float64) string {
	decimals := 2
	switch {
	case x >= 99.95:
		decimals = 0
	case x >= 9.995:
		decimals = 1
	}
	s := strconv.FormatFloat(x, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Percent formats part of whole in whole percent. A nonzero part is never "0%" but "<1%", and an
// incomplete part is never "100%" but ">99%". A part of nothing is [Unknown].
func Percent(part, whole time.Duration) string {
	if whole <= 0 {
		return Unknown
	}
	p := math.Round(100 * float64(part) / float64(whole))
	switch {
	case part > 0 && p < 1:
		return "<1%"
	case part < whole && p >= 100:
		return ">99%"
	}
	return strconv.FormatFloat(p+0, 'f', 0, 64) + "%" // +0 turns -0 into 0
}

// Parallelism formats a number of goroutines that run at once with two decimals. NaN and infinities
// are [Unknown].
func Parallelism(p float64) string {
	if math.IsNaN(p) || math.IsInf(p, 0) {
		return Unknown
	}
	s := strconv.FormatFloat(p, 'f', 2, 64)
	if s == "-0.00" {
		return "0.00"
	}
	return s
}

// Number formats a mean or a ratio with three digits or more: "1.08", "29.9", "1,371". NaN and
// infinities are [Unknown].
func Number(n float64) string {
	switch {
	case !(n >= 9.995): // or NaN
		return Parallelism(n)
	case n < 99.95:
		return strconv.FormatFloat(n, 'f', 1, 64)
	case n >= math.MaxInt64:
		return Unknown
	}
	return Count(int64(n + 0.5))
}

// Count formats n with commas between the thousands: "1,371".
func Count[N int | int64 | uint64](n N) string {
	s, sign := strconv.FormatUint(uint64(n), 10), ""
	if n < 0 {
		sign, s = "-", strconv.FormatUint(-uint64(n), 10)
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Plural formats a count with its noun: "1 goroutine", "1,371 goroutines".
func Plural[N int | int64 | uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Capacity formats a time with the GOMAXPROCS during it: "2 s × 4 processors", or, where GOMAXPROCS
// changed, "2 s × 1.76 processors on average, at most 4". The capacity is its integral over the
// time.
func Capacity(wall, capacity time.Duration, most int) string {
	s := Duration(wall) + " × "
	if mean := float64(capacity) / float64(wall); wall > 0 && mean < 0.99*float64(most) {
		return s + Parallelism(mean) + " processors on average, at most " + Count(most)
	}
	return s + Plural(most, "processor", "processors")
}

// Of formats an amount of a unit with three significant digits: "512 MB", "2.3 GHz".
func Of(v float64, unit string) string {
	s := Quantity(v)
	digits := strings.TrimRight(s, "kMGTPE")
	return digits + " " + s[len(digits):] + unit
}

// Quantity formats a number of 0 or more with three significant digits and a suffix for thousand,
// million and so on: "640", "2.11k", "35.2M". NaN and infinities are [Unknown].
func Quantity(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Unknown
	}
	if v < 0 {
		return "-" + Quantity(-v)
	}
	letters := []string{"", "k", "M", "G", "T", "P", "E"}
	i := 0
	for ; i < len(letters)-1 && v >= 999.5; i++ {
		v /= 1000
	}
	if v >= 999.5 {
		return strconv.FormatFloat(v, 'g', 3, 64) + letters[i]
	}
	return significant(v) + letters[i]
}

// Unknown represents a number that does not exist or is unknown.
const Unknown = "–"
