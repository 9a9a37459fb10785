package format

import (
	"math"
	"testing"
)

func TestQuantity(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 7: "7", 0.25: "0.25", 640: "640", 999.4: "999", 999.6: "1k", 2110: "2.11k", 35.23e6: "35.2M", 18.4e18: "18.4E", 1e24: "1e+06E",
		-1500: "-1.5k", math.Inf(1): Unknown,
	} {
		if got := Quantity(v); got != want {
			t.Errorf("Quantity(%v) = %q, want %q", v, got, want)
		}
	}
	if got := Quantity(math.NaN()); got != Unknown {
		t.Errorf("Quantity(NaN) = %q", got)
	}
}
