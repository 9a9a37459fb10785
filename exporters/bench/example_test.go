package bench_test

import (
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/exporters/bench"
)

// A benchmark that reports its parallelism.
func ExampleStart() {
	benchmark := func(b *testing.B) {
		bench.Start(b, bench.Trace)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				_ = strings.Repeat("-", 1000)
			}
		})
	}
	_ = benchmark // go test -bench runs it, if its name begins with Benchmark
}
