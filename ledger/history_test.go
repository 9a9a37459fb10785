package ledger

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// A history that is shortened now and then gives the sums of a complete one, computed nanosecond
// by nanosecond.
func TestHistorySums(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		h := newHistory()
		ran := []who{} // by nanosecond
		cuts := []timeline.Time{0}
		now, w := timeline.Time(0), none
		whos := []who{stopGC, none, several, 3, 4, 5, 6}
		for range 400 {
			w = whos[r.IntN(len(whos))]
			h.begin(now, w)
			for range r.IntN(4) {
				ran = append(ran, w)
				now++
			}
			if r.IntN(3) == 0 {
				cuts = append(cuts, now)
			}
			if len(cuts) > 1 && r.IntN(3) == 0 {
				k := r.IntN(len(cuts))
				cuts = slices.Delete(cuts, k, k+1)
			}
			if r.IntN(20) == 0 {
				h.limit = 1000
				if !h.forget(cuts[0]) || len(h.pieces) > 1 && h.pieces[1].from <= cuts[0] {
					t.Fatalf("seed %d: %v and so on are remembered, from %d on", seed, h.pieces[:2], cuts[0])
				}
			}
			if r.IntN(40) == 0 {
				before := len(h.pieces)
				h.shorten(cuts)
				if most := len(whos)*(len(cuts)+1) + 2; len(h.pieces) > min(most, before+len(cuts)) {
					t.Fatalf("seed %d: %d pieces of %d, with %d cuts", seed, len(h.pieces), before, len(cuts))
				}
			}
			from, middle := cuts[r.IntN(len(cuts))], cuts[r.IntN(len(cuts))]
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

// Shortening the history repeatedly changes no row.
func TestShorteningChangesNoRow(t *testing.T) {
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
