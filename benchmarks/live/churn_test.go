package main

import (
	"bytes"
	"testing"
	"time"
)

// TestChurn: the heap that lives does not grow with the goroutines that are born and gone.
func TestChurn(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	var out bytes.Buffer
	heaps, err := churn(&out, 4*time.Second, 500*time.Millisecond, 50_000, -1)
	if err != nil {
		t.Skip(err)
	}
	t.Log("\n" + out.String())
	least := func(hs []uint64) uint64 {
		m := hs[0]
		for _, h := range hs {
			m = min(m, h)
		}
		return m
	}
	// What waits to be read comes and goes; what stays is in the least of several looks.
	early, late := least(heaps[:4]), least(heaps[4:])
	if late > early+16<<20 {
		t.Errorf("%d bytes live in the first half, %d in the second", early, late)
	}
}
