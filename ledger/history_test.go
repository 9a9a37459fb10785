package ledger

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// A history gives the sums that were computed nanosecond by nanosecond.
func TestHistorySums(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 7))
		h := newHistory()
		ran := []who{} // by nanosecond
		now := timeline.Time(0)
		whos := []who{stopGC, none, several, 3, 4, 5, 6}
		for range 400 {
			w := whos[r.IntN(len(whos))]
			h.begin(now, w)
			for range r.IntN(4) {
				ran = append(ran, w)
				now++
			}
			from, middle := timeline.Time(r.IntN(int(now)+1)), timeline.Time(r.IntN(int(now)+1))
			from, middle = min(from, middle), max(from, middle)
			var late, early spells
			i := h.sum(middle, now, len(h.pieces)-1, &late)
			h.sum(from, middle, i, &early)
			for _, part := range []struct {
				from, to timeline.Time
				got      spells
			}{{middle, now, late}, {from, middle, early}} {
				want, got := map[who]timeline.Time{}, map[who]timeline.Time{}
				for _, w := range ran[part.from:part.to] {
					if w != none {
						want[w]++
					}
				}
				for _, sp := range part.got {
					got[sp.who] += sp.time
				}
				if !maps.Equal(want, got) {
					t.Fatalf("seed %d: from %d to %d of %d: %v ran, want %v", seed, part.from, part.to, now, got, want)
				}
			}
		}
	}
}

// Removing a part of some spells leaves the rest, even if the part counts a name as several.
func TestRemovedSpells(t *testing.T) {
	for _, tt := range []struct{ all, part, rest spells }{
		{spells{{3, 5}, {4, 2}}, spells{{3, 2}, {4, 2}}, spells{{3, 3}}},
		{spells{{several, 1}, {3, 5}}, spells{{several, 4}}, spells{{3, 2}}},
		{spells{{several, 7}}, spells{{3, 4}, {several, 1}}, spells{{several, 2}}},
	} {
		if tt.all.remove(tt.part); !slices.Equal(tt.all, tt.rest) {
			t.Errorf("without %v: %v, want %v", tt.part, tt.all, tt.rest)
		}
	}
}

// Beginning the history anew changes no row.
func TestFoldingChangesNoRow(t *testing.T) {
	defer func(n int) { minLimit = n }(minLimit)
	for seed := range uint64(1000) {
		whole, _, _, _ := play(seed, Options{})
		least := minLimit
		minLimit = 2
		short, _, _, _ := play(seed, Options{})
		minLimit = least
		if !reflect.DeepEqual(whole, short) {
			t.Fatalf("seed %d: the rows are\n%v, want\n%v", seed, short.Rows, whole.Rows)
		}
	}
}
