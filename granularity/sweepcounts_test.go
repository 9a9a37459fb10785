package granularity

import (
	"slices"
	"testing"
)

func TestSweepCounts(t *testing.T) {
	for _, tt := range []struct {
		opts SweepOptions
		want []int
	}{
		{SweepOptions{}, []int{10, 5, 2, 1}},
		{SweepOptions{Least: 3}, []int{10, 5}},
		{SweepOptions{Least: 30}, []int{10}},
		{SweepOptions{Counts: []int{80, 3}}, []int{10, 80, 3}},
	} {
		var got []int
		for _, p := range Sweep(10, func(int) {}, tt.opts) {
			got = append(got, p.Tasks)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%+v: tried %v; want %v", tt.opts, got, tt.want)
		}
	}
}
