//go:build !linux

package cycles

// blockCost is the 10 µs that a blocking operation may cost its thread, in ticks.
func (j job) blockCost(base *Timebase) int64 { return base.FromNS(10_000) }

func childMain(string) {}
