package result

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Unit is the unit of a column's values. It determines their format and alignment, and whether
// values of several rows are summed or averaged.
type Unit uint8

// The units. Durations are in nanoseconds: of wall time, or of processors' or goroutines' time.
const (
	Text     Unit = iota
	Func          // the name of a function, shortened for people
	Duration      // summed
	Bytes         // summed
	Count         // summed
	Cycles        // summed
	Ratio         // a part of a whole: 0.27 is 27 %. Averaged
	Number        // any other, such as a parallelism. Averaged
)

// IsText reports whether the values are texts, which are left-aligned and identify rows.
func (u Unit) IsText() bool { return u == Text || u == Func }

// Whole reports whether the values are integers, which are summed. Others are averaged.
func (u Unit) Whole() bool { return u == Duration || u == Bytes || u == Count || u == Cycles }

// Format formats a value for people, in a few characters. It may contain µ and –. Texts are
// unchanged: see internal/format.Clean.
func (u Unit) Format(v Value) string {
	switch u {
	case Duration:
		return format.Duration(time.Duration(v.Int))
	case Bytes:
		return format.Of(float64(v.Int), "B")
	case Count:
		return format.Count(v.Int)
	case Cycles:
		return format.Quantity(float64(v.Int))
	case Ratio:
		return strconv.FormatFloat(100*v.Float+0, 'f', 1, 64) + "%"
	case Number:
		return format.Parallelism(v.Float)
	case Func:
		return withMore(format.Func(v.Text), v.More)
	}
	return withMore(v.Text, v.More)
}

func withMore(s string, more []string) string {
	if len(more) == 0 {
		return s
	}
	return fmt.Sprintf("%s +%d", s, len(more))
}

// Number returns a value as a float64: nanoseconds, bytes, a count, or a fraction.
func (u Unit) Number(v Value) float64 {
	if u.Whole() {
		return float64(v.Int)
	}
	return v.Float
}

// Machine formats a value for programs: all digits, no unit.
func (u Unit) Machine(v Value) string {
	switch {
	case u.IsText():
		return strings.Join(append([]string{v.Text}, v.More...), " ")
	case u.Whole():
		return strconv.FormatInt(v.Int, 10)
	case math.IsNaN(v.Float) || math.IsInf(v.Float, 0):
		return ""
	}
	form := byte('f')
	if abs := math.Abs(v.Float); abs != 0 && abs < 1e-6 || abs >= 1e21 {
		form = 'e' // as in JSON
	}
	return strconv.FormatFloat(v.Float, form, -1, 64)
}
