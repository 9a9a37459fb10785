package ab

import (
	"strings"
	"testing"
)

func TestInterval(t *testing.T) {
	// Four values with mean 2 % and standard deviation √(2/3) %: ± 3.182 · √(2/3) / 2 = 1.30 %.
	got := interval([]float64{.01, .02, .02, .03})
	if want := " +2.00 % ±  1.30, median  +2.00"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := interval([]float64{0, .01, .02, .03, .04, .05, .06}), "median  +3.00 ( +0.00 to  +6.00)"; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
