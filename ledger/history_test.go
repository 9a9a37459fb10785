package ledger

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// A history gives the sums since the beginning of gaps, and since goroutines became ready, that were
// computed nanosecond by nanosecond.
func TestHistorySums(t *testing.T) {
	defer func(n int) { maxPieces = n }(maxPieces)
	maxPieces = 8
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 7))
		o := NewObserver(Options{})
		ran := []who{} // by nanosecond
		members := make([]member, 5)
		var open []int32
		check := func(m *mark) {
			var got spells
			o.history.since(m, o.now, &got)
			sums, want := map[who]timeline.Time{}, map[who]timeline.Time{}
			for _, sp := range got {
				sums[sp.who] += sp.time
			}
			for _, w := range ran[m.at:] {
				if w != none {
					want[w]++
				}
			}
			if !maps.Equal(want, sums) {
				t.Fatalf("seed %d: since %d, at %d: %v ran, want %v", seed, m.at, o.now, sums, want)
			}
		}
		whos := []who{stopGC, none, several, 3, 4, 5, 6}
		for range 400 {
			o.who = whos[r.IntN(len(whos))]
			if o.history.begin(o.now, o.who); o.history.full() {
				o.fold()
			}
			for range r.IntN(4) {
				ran = append(ran, o.who)
				o.now++
			}
			switch m := &members[r.IntN(len(members))]; {
			case m.isReady:
				check(&m.run.ready)
				m.isReady = false
			case r.IntN(2) == 0:
				m.isReady, m.run = true, &run{ready: mark{at: o.now}}
				if o.history.becomes(m); o.history.full() {
					o.fold()
				}
			}
			if k := r.IntN(len(open) + 3); k < len(open) {
				check(&o.slots[open[k]].mark)
				o.gaps.end(o.slots, open[k])
				open = slices.Delete(open, k, k+1)
			} else if len(open) < 20 {
				o.slots = append(o.slots, slot{})
				open = append(open, int32(len(o.slots)-1))
				o.gaps.begin(o.slots, open[len(open)-1], o.now)
			}
		}
	}
}

// A gap is visited once, however often the list of pieces is full before it ends.
func TestGapsAreVisitedOnce(t *testing.T) {
	o := NewObserver(Options{})
	o.slots = make([]slot, 1000)
	for i := range o.slots {
		o.gaps.begin(o.slots, int32(i), 0)
	}
	for ; o.now < timeline.Time(10*maxPieces); o.now++ {
		o.who = several + who(o.now%2)
		if o.history.begin(o.now, o.who); o.history.full() {
			o.fold()
		}
		if o.now == timeline.Time(2*maxPieces) {
			for i := range o.slots {
				o.slots[i].at, o.slots[i].ran = 1<<40, nil // a second visit fails
			}
		}
	}
	for i := range o.slots {
		if o.slots[i].ran != nil || &o.slots[i].clocks[0] != &o.slots[0].clocks[0] {
			t.Fatalf("slot %d: %+v", i, o.slots[i].mark)
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

// Beginning the list of pieces anew changes no row.
func TestFoldingChangesNoRow(t *testing.T) {
	defer func(n int) { maxPieces = n }(maxPieces)
	for seed := range uint64(testenv.Rounds(1000)) {
		whole, _, _, _ := play(seed, Options{})
		most := maxPieces
		maxPieces = 2
		short, _, _, _ := play(seed, Options{})
		maxPieces = most
		if !reflect.DeepEqual(whole, short) {
			t.Fatalf("seed %d: the rows are\n%v, want\n%v", seed, short.Rows, whole.Rows)
		}
	}
}
