package byindex

import (
	"runtime"
	"slices"
	"testing"
)

// Values keep their place and content while the table grows, and are iterated in order.
func TestTable(t *testing.T) {
	var table Table[int]
	if table.Known(0) != nil {
		t.Error("an empty table has 0")
	}
	var at []*int
	want := []int{0, 1, 63, 64, 65, 1000}
	for _, i := range want {
		p := table.At(i)
		if *p != 0 {
			t.Errorf("the new value of %d is %d", i, *p)
		}
		*p = i + 1
		at = append(at, p)
	}
	var all []int
	for v := range table.All() {
		if *v != 0 {
			all = append(all, *v-1)
		}
	}
	if !slices.Equal(all, want) {
		t.Errorf("values of %d, want %d", all, want)
	}
	for k, i := range want {
		if table.At(i) != at[k] || table.Known(i) != at[k] {
			t.Errorf("the value of %d has moved", i)
		}
	}
	if table.Known(1<<20) != nil {
		t.Error("a number beyond the table is known")
	}
	for range table.All() { // ends early
		break
	}
}

// A growing table takes little more memory than its values, garbage included.
func TestGrowth(t *testing.T) {
	const n = 100_000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var table Table[[16]int64]
	for i := range n {
		table.At(i)
	}
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > n*16*8*11/10 {
		t.Errorf("%d bytes for %d values of 128", bytes, n)
	}
}
