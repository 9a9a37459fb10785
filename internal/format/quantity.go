package format

import (
	"math"
	"strconv"
)

// Quantity writes a number of 0 or more with three significant digits and the letter of a
// thousand, a million and so on: "640", "2.11k", "35.2M". NaN and infinities are [Unknown].
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
