package ab

import (
	"math"
	"strings"
	"testing"
)

func TestInterval(t *testing.T) {
	// Four values with mean 2 and standard deviation √(2/3): ± 3.182 · √(2/3) / 2.
	got := interval([]float64{.01, .02, .02, .03})
	if want := 100 * 3.182 * math.Sqrt(2./3) / 2 / 100; !strings.HasPrefix(got, "+  2.00 %"[1:]) && !strings.Contains(got, "2.00 %") || !strings.Contains(got, "1.30") || math.Abs(want-1.299) > .01 {
		t.Errorf("%s, want 2 %% ± %.2f", got, want)
	}
	if s := student(100); s < 1.98 || s > 1.99 {
		t.Errorf("t for 100 degrees of freedom: %v", s)
	}
}
