//go:build !linux

package cycles

// blockCost is the 10 µs for each block that a blocking operation may cost its thread, in ticks.
func (j job) blockCost(base *Timebase) int64 { return int64(j.blocks) * base.FromNS(10_000) }

func childMain(string) {}
