package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestChurn: the heap that lives does not grow with the goroutines that are born and gone. There
// are as many of them as the machine can follow, which with the race detector are fewer.
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
