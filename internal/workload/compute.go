package workload

import (
	"runtime"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/monotime"
)

// compute is the work: a chain of steps in which each needs the result of the
// one before, so that no processor can overlap them. It allocates nothing and
// touches no memory: what limits the workload is its queue alone.
func compute(seed uint64, steps int) uint64 {
	x := seed*0x9e3779b97f4a7c15 + 1
	for range steps {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// StepsFor returns the number of steps of a unit with which a run of the
// configuration without repairs takes about d on that many processors. It measures this processor for some milliseconds.
func (c Config) StepsFor(d time.Duration, procs int) int {
	// The small files go through all processors at once, or as many as there are workers; the large one through one.
	wide := max(1, min(procs, c.Workers))
	units := float64(c.Small)/float64(wide) + float64(c.Factor)
	return max(1, int(float64(d)/units/stepTime()))
}

// stepTime is the duration of a step in nanoseconds: that of the fastest of
// several short measurements, since whatever disturbs one makes it slower.
func stepTime() float64 {
	const rounds, steps = 8, 1 << 20
	best := time.Duration(1 << 62)
	for i := range rounds {
		begin := monotime.Now()
		runtime.KeepAlive(compute(uint64(i), steps)) // else the compiler could leave it out
		best = min(best, time.Duration(monotime.Now()-begin))
	}
	return max(0.01, float64(best)/steps)
}
