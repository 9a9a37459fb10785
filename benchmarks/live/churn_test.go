package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/race"
)

// TestChurnKeepsHeapFlat: the live heap does not grow with the number of goroutines that start and
// exit. The rate is what the machine can follow.
func TestChurnKeepsHeapFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	var out bytes.Buffer
	err := errBehind
	for rate := 50_000 / race.Slowdown; errors.Is(err, errBehind) && rate > 1000; rate /= 4 {
		out.Reset()
		_, err = churn(&out, 3*time.Second, 150*time.Millisecond, rate, -1)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
	t.Log("\n" + out.String())
	if !strings.Contains(out.String(), "live heap: flat: ") {
		t.Error("the output does not state whether the heap is flat")
	}
}
