package counters

import (
	"cmp"
	"math"
	"slices"
)

// rowsByEnd returns the rows in the order of their ends.
func rowsByEnd(r *Recording) []int32 {
	rows := make([]int32, r.Len())
	for i := range rows {
		rows[i] = int32(i)
	}
	slices.SortStableFunc(rows, func(a, b int32) int { return cmp.Compare(r.Begin[a]+r.Duration[a], r.Begin[b]+r.Duration[b]) })
	return rows
}

func clampInt(v uint64) int64 { return int64(min(v, math.MaxInt64)) }
