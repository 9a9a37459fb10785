package granularity

import (
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/cycles"
)

// TestClockStepsBack: readings of one root task never decrease. The next root starts with the
// clock as it is.
func TestClockStepsBack(t *testing.T) {
	sh := new(shadow)
	first, second := new(cycles.Thread), new(cycles.Thread)
	on := first
	var got []int64
	read := func(cpu int64) {
		mark := cycles.Mark{CPU: cpu, Thread: on}
		sh.forward(&mark)
		got = append(got, mark.CPU)
	}
	sh.push().site = new(site)
	read(1000)
	sh.push().site = new(site)
	read(1500)
	read(1400) // anchored anew
	read(1600)
	on = second
	read(950) // another thread: its clock may have any value
	sh.pop()
	read(900) // another root, on a clock with any value
	want := []int64{1000, 1500, 1500, 1600, 950, 900}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("readings %v, want %v", got, want)
		}
	}
}
