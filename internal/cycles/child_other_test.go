//go:build !linux

package cycles

// blockCost is the 10 µs for each block that a blocking operation may cost its thread, in ticks. What it does cost is not known.
func (j job) blockCost(base *Timebase) (cost, median int64) {
	return int64(j.blocks) * base.FromNS(10_000), 0
}

func childMain(string) {}
