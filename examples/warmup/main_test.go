package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"
)

// TestUnitsAreRecorded: units are recorded, between collections and compactions. By how much they
// slow down depends on the processor's caches, the race detector and the load of the machine, so
// this test does not check it; see TestLocality.
func TestUnitsAreRecorded(t *testing.T) {
	ratio := func(o *options) float64 {
		r, err := o.record()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := o.report(&out, r); err != nil {
			t.Fatal(err)
		}
		t.Log(out.String())
		_, tenths, _ := tenthsOf(r)
		if o.file != "" && !strings.Contains(out.String(), o.file) {
			t.Errorf("%s is not mentioned", o.file)
		}
		return tenths[9] / tenths[0]
	}
	name := filepath.Join(t.TempDir(), "warmup.zip")
	as := ratio(&options{units: 1500, entries: 1 << 17, file: name})
	if st, err := os.Stat(name); err != nil || st.Size() < 1000 {
		t.Error(err)
	}
	cured := ratio(&options{units: 1500, entries: 1 << 17, every: 50})
	if !(as > 0 && cured > 0) {
		t.Errorf("units before a collection take %.2f times as long as after it; %.2f times with the cure", as, cured)
	}
}

// TestLocality: after a compaction, all entries are contiguous. Each unit makes the walk jump
// more, until the next compaction.
func TestLocality(t *testing.T) {
	c := newCache(10_000)
	jumps := func() (n int) {
		for i, e := range c.at {
			if i > 0 && uintptr(unsafe.Pointer(e)) != uintptr(unsafe.Pointer(c.at[i-1]))+unsafe.Sizeof(*e) {
				n++
			}
		}
		return n
	}
	for round := range 3 {
		last := jumps()
		if last != 0 {
			t.Errorf("round %d: %d jumps after a compaction", round, last)
		}
		for range 10 {
			for range 10 {
				c.unit(len(c.at)/32, len(c.at)/400)
			}
			n := jumps()
			if n <= last {
				t.Errorf("round %d: %d jumps, %d before", round, n, last)
			}
			last = n
		}
		c.compact()
	}
}

// TestCompactionKeepsTheList: the list has the same entries in the same order after any
// replacements and compactions.
func TestCompactionKeepsTheList(t *testing.T) {
	c := newCache(2000)
	for i := range 50 {
		c.unit(100, 300)
		if i%7 == 0 {
			c.compact()
		}
		e := c.at[0]
		for k := range c.at {
			if e != c.at[k] || e.value != uint64(k) {
				t.Fatalf("round %d, entry %d: %d", i, k, e.value)
			}
			e = e.next
		}
		if e != c.at[0] {
			t.Fatal("the list does not end where it begins")
		}
	}
}
