package counters

import "testing"

// BenchmarkMetrics measures a reading of the runtime's metrics.
func BenchmarkMetrics(b *testing.B) {
	r := newMetricReader([]string{"goroutines", "heap-allocs"})
	for b.Loop() {
		r.read()
		r.samples = r.samples[:0]
	}
}
