package bottleneck_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/internal/bulk"
)

// TestPassesGrowNoFasterThanNLogN: of everything that a trace can hold many of, four times as much makes all analyses together allocate
// at most n log n times as much. BenchmarkManyOf has the times.
func TestPassesGrowNoFasterThanNLogN(t *testing.T) {
	const n = 1500
	for _, in := range bulk.Inputs {
		allocated := func(n int) uint64 {
			var b bytes.Buffer
			if err := in.Write(&b, n); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := bottleneck.Analyze(t.Context(), bytes.NewReader(b.Bytes()), bottleneck.Options{}); err != nil {
				t.Errorf("%s: %v", in.Name, err)
			}
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		once, fourTimes := allocated(n), allocated(4*n)
		const fixed = 2 << 20 // what a pass takes in any case, and buffers
		if ratio := float64(fourTimes) / float64(once+fixed/4); ratio > 6 {
			t.Errorf("%d %s take %d bytes, %d take %d: %.1f times as many", n, in.Name, once, 4*n, fourTimes, ratio)
		}
	}
}

// BenchmarkManyOf is the time for a thing that a trace holds many of: it must be about the same for 10,000 and 160,000.
func BenchmarkManyOf(b *testing.B) {
	for _, in := range bulk.Inputs {
		for _, size := range []struct {
			name string
			n    int
		}{{"10k", 10_000}, {"160k", 160_000}} {
			b.Run(in.Name+"/"+size.name, func(b *testing.B) {
				var trace bytes.Buffer
				if err := in.Write(&trace, size.n); err != nil {
					b.Fatal(err)
				}
				b.ResetTimer()
				for b.Loop() {
					if _, err := bottleneck.Analyze(b.Context(), bytes.NewReader(trace.Bytes()), bottleneck.Options{}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size.n), "ns/thing")
			})
		}
	}
}
