package main

import (
	"testing"

	"github.com/bottleneck-go/bottleneck/exporters/bench"
)

func TestRun(t *testing.T) {
	// Two-letter words: a document of 50,000 has nearly all 676 of them.
	if n := run(2); n < 2*600 || n > 2*676 {
		t.Errorf("two documents have %d different words, want 1200 to 1352", n)
	}
}

func BenchmarkIndex(b *testing.B) {
	docs := load(20)
	bench.Start(b, bench.Trace)
	for range b.N { // not b.Loop: its first run is measured before package testing sets -cpu
		index(docs)
	}
}
