package timeline

import (
	"runtime/metrics"
	"time"
)

// The garbage collector works on threads of its own, for all that the program allocates. What it
// does because of a stream is estimated: its processor time so far, by the stream's part of what
// was allocated. In a program that keeps little and allocates much that is a tenth of what the
// stream takes itself, else a few hundredths.

// allocatedPerByte is how many bytes are allocated to read a byte of a trace: 3 to 10 for the
// decoder and the replay, and as much again for the analyses of this module where goroutines live
// shortly.
const allocatedPerByte = 10

// collector reads what the garbage collector has cost so far.
type collector struct{ samples [2]metrics.Sample }

func newCollector() collector {
	return collector{[2]metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/gc/heap/allocs:bytes"}}}
}

// cost is what collecting the memory takes that was used to read so many bytes of a trace.
func (c *collector) cost(bytes int64) time.Duration {
	metrics.Read(c.samples[:])
	cpu, allocated := c.samples[0].Value, c.samples[1].Value
	if cpu.Kind() != metrics.KindFloat64 || allocated.Kind() != metrics.KindUint64 || allocated.Uint64() == 0 {
		return 0 // a version of Go that does not tell
	}
	own := allocatedPerByte * float64(bytes) / float64(allocated.Uint64())
	return time.Duration(min(own, 1) * cpu.Float64() * float64(time.Second))
}
