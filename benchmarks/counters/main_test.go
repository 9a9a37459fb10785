package main

import "testing"

// The tables of order statistics have these intervals of the median.
func TestBeside(t *testing.T) {
	for n, want := range map[int]int{5: -1, 6: 0, 8: 0, 9: 1, 15: 3, 20: 5, 30: 9} {
		if got := beside(n); got != want {
			t.Errorf("of %d values, %d are left out at either end, want %d", n, got, want)
		}
	}
}
