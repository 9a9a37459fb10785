package bottle

import (
	"slices"
	"time"
)

// Scale returns a copy of the graph in which every time is n times as long: the estimate of a time
// of which the graph shows the n-th part, drawn at random. As n is a whole number, nothing is
// rounded, and what sums in the graph sums in the copy. Parallelisms, GOMAXPROCS and the numbers of
// goroutines, which are of those that were seen, stay as they are. Windows are left out. n must be
// positive.
//
// [Merge] adds up graphs that were scaled, of pieces of one pass, too.
func (g *Graph) Scale(n int) *Graph {
	out := *g
	k := time.Duration(n)
	out.Windows, out.Verdict = nil, nil
	out.Wall *= k
	out.Idle *= k
	out.Capacity *= k
	out.IdleLost *= k
	out.Boxes = slices.Clone(g.Boxes)
	for i := range out.Boxes {
		out.Boxes[i].scale(k)
	}
	return &out
}

func (b *Box) scale(k time.Duration) {
	b.Share *= k
	b.ShareError *= k
	b.Running *= k
	b.Lost *= k
	b.Runnable *= k
	b.InC *= k
	b.exact *= share(k)
	frac := b.room.frac * share(k)
	b.room = area{ns: b.room.ns*int64(k) + int64(frac>>fracBits), frac: frac & (1<<fracBits - 1)}
	if b.busy > 0 { // else it is not known
		b.busy *= k
	}
	waiting := make(map[string]time.Duration, len(b.Waiting))
	for reason, d := range b.Waiting {
		waiting[reason] = k * d
	}
	b.Waiting = waiting
	b.Stacks = slices.Clone(b.Stacks)
	for i := range b.Stacks {
		s := &b.Stacks[i]
		s.Share *= k
		s.Running *= k
		s.exact *= share(k)
	}
	if b.Sites == nil {
		return
	}
	all := make(map[string][]Site, len(b.Sites))
	for reason, sites := range b.Sites {
		sites = slices.Clone(sites)
		for i := range sites {
			sites[i].Time *= k
		}
		all[reason] = sites
	}
	b.Sites = all
}
