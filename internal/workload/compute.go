package workload

import (
	"runtime"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/monotime"
)

// compute is the work: a chain of dependent steps, so that no processor can overlap them. It
// allocates nothing and touches no memory, so only the queue limits the workload.
func compute(seed uint64, steps int) uint64 {
	x := seed*0x9e3779b97f4a7c15 + 1
	for range steps {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// StepsFor returns the number of steps of a unit with which a run of the configuration without
// repairs takes about d on the given number of processors. It measures this processor for some
// milliseconds.
func (c Config) StepsFor(d time.Duration, procs int) int {
	// The small files go through all processors or workers at once, whichever are fewer; the
	// large one through one.
	wide := max(1, min(procs, c.Workers))
	units := float64(c.Small)/float64(wide) + float64(c.Factor)
	return max(1, int(float64(d)/units/stepTime()))
}

// stepTime is the duration of a step in nanoseconds: the minimum of several short measurements,
// because a disturbance only makes one slower.
func stepTime() float64 {
	const rounds, steps = 8, 1 << 20
	best := time.Duration(1 << 62)
	for i := range rounds {
		begin := monotime.Now()
		runtime.KeepAlive(compute(uint64(i), steps)) // prevents the compiler from removing it
		best = min(best, time.Duration(monotime.Now()-begin))
	}
	return max(0.01, float64(best)/steps)
}
