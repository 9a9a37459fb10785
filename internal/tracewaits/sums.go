package tracewaits

import (
	"slices"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// The owners of many waits
//
// Of n waiters in a queue, each waits for all owners before it: n²/2 pairs of a wait and an owner.
// The analysis needs n log n steps instead:
//
//  1. The lock keeps the sums of 4, 16, 64 and so on consecutive stretches of its time line. A sum
//     has a part for each distinct owner.
//  2. A wait is made of the largest sums that lie in it: at most six of each size. If a sum has few
//     owners, its parts are added to the wait. If it has many, the wait refers to it (wideSum).
//  3. A row of the profile stands for all waits of one kind of waiter. Successive waits in a queue
//     have most of their sums in common. The row remembers the sums of its latest wait, and counts
//     its waits: that is its clock. When a sum is first in a wait, its parts are added to what each
//     pair has in each wait; when it is no longer in one, they are subtracted. Only then, a pair is
//     brought up to date: its blame grows by what it has in each wait, times the number of waits
//     since. So a row visits a hold twice in each of log n sums, however many waits are behind it.
//     With Options.Window, no sum reaches beyond a window, so what is booked for a sum, or for a
//     pair, is also booked in the window (windows.go).
//  4. Once the profile has no room for further pairs, a row looks up only the owners of its pairs
//     in a sum. All others are one part: the sum's total minus those.
//
// No step rounds or drops anything: the result is that of the division of each wait, one by one.

// fanOut is the number of sums that form one sum of the next level.
const (
	fanOut  = 1 << fanBits
	fanBits = 2
)

// wideSum is the maximum number of parts of a sum that a wait adds up. Tests change it.
var wideSum = 16

// spanSum is the sum of the spans of consecutive stretches.
type spanSum struct {
	from, to timeline.Time
	piece                    // with one part for each owner
	index    map[owner]int32 // of parts, if there are many
	all      *ledger         // see together
	shown    bool            // see traceRows.show
	// asked is, by queue, when the latest of their waiters asked, except those that may be out of
	// order; see inOrder.
	asked [queues]timeline.Time
	ran   timeline.Time // see ranBy; 0 if not known yet
}

// find returns the index of an owner in the parts, or −1.
func (s *spanSum) find(by *owner) int {
	if len(s.parts) <= wideSum {
		for i := range s.parts {
			if s.parts[i].owner.is(by) {
				return i
			}
		}
		return -1
	}
	if s.index == nil {
		s.index = make(map[owner]int32, len(s.parts))
		for i := range s.parts {
			s.index[s.parts[i].owner] = int32(i)
		}
	}
	if i, ok := s.index[*by]; ok {
		return int(i)
	}
	return -1
}

// ledgerOf adds ns to the part of an owner, and returns what that did, to add to.
func (s *spanSum) ledgerOf(by *owner, ns timeline.Time) *ledger {
	s.times[blamedSpan] += ns
	i := s.find(by)
	if i < 0 {
		i = len(s.parts)
		s.parts = append(s.parts, blamedPart{owner: *by})
		if s.index != nil {
			s.index[*by] = int32(i)
		}
	}
	s.parts[i].ns += ns
	return &s.parts[i].did
}

func (s *spanSum) add(t *spanSum) {
	s.to = t.to
	for q, asked := range t.asked {
		s.asked[q] = max(s.asked[q], asked)
	}
	s.times[handOffSpan] += t.times[handOffSpan]
	s.times[unattributedSpan] += t.times[unattributedSpan]
	for i := range t.parts {
		p := &t.parts[i]
		s.ledgerOf(&p.owner, p.ns).merge(&p.did)
	}
}

// addHold adds the stretch of h.
func (s *spanSum) addHold(h *hold) {
	s.to = h.to
	s.asked[h.queue] = max(s.asked[h.queue], h.order())
	for i := range h.spans {
		switch sp := &h.spans[i]; {
		case sp.what != blamedSpan:
			s.times[sp.what] += sp.to - sp.from
		case len(sp.with) == 0 && sp.did == nil:
			s.ledgerOf(&sp.holder.owner, sp.to-sp.from).spend(sp.only, sp.to-sp.from)
		default:
			sp.shares(sp.from, sp.to, func(by *coOwner, ns timeline.Time, did *ledger) {
				if ns > 0 {
					s.ledgerOf(&by.owner, ns).merge(did)
				}
			})
		}
	}
}

// together returns what all owners did, without the causes.
func (s *spanSum) together() *ledger {
	if s.all == nil {
		s.all = &ledger{}
		for i := range s.parts {
			s.all.addTimes(&s.parts[i].did, 1)
		}
		s.all.causes = nil
	}
	return s.all
}

// sumOf makes sum number i of a level.
func (l *tracedLock) sumOf(level, i int) *spanSum {
	s := &spanSum{}
	if level > 0 {
		below := l.sums[level-1][i*fanOut:][:fanOut]
		s.from = below[0].from
		for _, t := range below {
			s.add(t)
			l.work += len(t.parts)
		}
	} else {
		stretches := l.history[i*fanOut:][:fanOut]
		if s.from = stretches[0].to; len(stretches[0].spans) > 0 {
			s.from = stretches[0].spans[0].from
		}
		for _, h := range stretches {
			s.addHold(h)
		}
	}
	s.index = nil
	return s
}

// sumFrom makes the sums of which release number first or a later one is a part.
func (l *tracedLock) sumFrom(first int) {
	for level, n := 0, len(l.history)/fanOut; n > 0; level, n = level+1, n/fanOut {
		if first /= fanOut; level == len(l.sums) {
			l.sums = append(l.sums, nil)
		}
		l.sums[level] = l.sums[level][:min(first, len(l.sums[level]))]
		for i := len(l.sums[level]); i < n; i++ {
			l.sums[level] = append(l.sums[level], l.sumOf(level, i))
		}
	}
}

// shownSum is a sum in the latest wait of a row.
type shownSum struct {
	sum   *spanSum
	since int64      // the clock of the row when it came
	rest  blamedPart // what the owners without a pair have
}

// inWaits is what a pair has in each wait of its row since a time of the row's clock.
type inWaits struct {
	ns     timeline.Time
	since  int64
	causes map[causeKey]*causeInWaits
	ends   []timeline.Time // of the sums, with Options.Window
	later  int64           // waits that traceWindows counts after the last of these
}

type causeKey struct {
	via  doing
	root owner
}

// causeInWaits is the number of the row's sums that have a cause.
type causeInWaits struct {
	sums  int
	since int64
}

// show makes the row's sums those of a wait for a lock, and counts the wait.
func (r *traceRows) show(row *traceRow, lock *tracedLock, sums []*spanSum) {
	if len(row.sums) == 0 {
		lock.rows = append(lock.rows, row)
	}
	for _, s := range sums {
		s.shown = true
	}
	kept := row.sums[:0]
	for i := range row.sums {
		if e := &row.sums[i]; e.sum.shown {
			e.sum.shown = false
			kept = append(kept, *e)
		} else {
			row.hide(e)
		}
	}
	clear(row.sums[len(kept):])
	row.sums = kept
	for _, s := range sums {
		if s.shown {
			s.shown = false
			row.sums = append(row.sums, r.come(row, s))
		}
	}
	row.clock++
	for i := range row.sums {
		if row.sums[i].rest.ns > 0 {
			r.crowded++
		}
	}
	lock.work += len(sums) + row.work
	row.work = 0
}

// come adds a sum to those of the row.
func (r *traceRows) come(row *traceRow, s *spanSum) shownSum {
	for i := 0; i < len(s.parts) && r.cells < r.max; i++ {
		r.pair(row, &s.parts[i].owner)
	}
	e := shownSum{sum: s, since: row.clock, rest: blamedPart{owner: owner{site: restSite}, ns: s.times[blamedSpan]}}
	row.eachPart(s, func(p *tracePair, part *blamedPart) {
		row.add(p, part, s.to)
		e.rest.ns -= part.ns
	})
	if e.rest.ns > 0 {
		e.rest.did.addTimes(s.together(), 1)
		row.eachPart(s, func(_ *tracePair, part *blamedPart) { e.rest.did.addTimes(&part.did, -1) })
		e.rest.did.causes = nil
		row.add(r.pair(row, &e.rest.owner), &e.rest, s.to)
	}
	return e
}

// hide removes a sum from those of the row.
func (row *traceRow) hide(e *shownSum) {
	row.eachPart(e.sum, func(p *tracePair, part *blamedPart) { row.subtract(p, part, e) })
	if e.rest.ns > 0 {
		row.subtract(row.pairs[e.rest.owner], &e.rest, e)
	}
	row.windows.bookSum(row, e)
}

// settle brings all pairs of the row up to date.
func (row *traceRow) settle() {
	for i := range row.sums {
		row.hide(&row.sums[i])
	}
	clear(row.sums)
	row.sums = row.sums[:0]
}

// eachPart calls f for each part of a sum whose owner has a pair.
func (row *traceRow) eachPart(s *spanSum, f func(*tracePair, *blamedPart)) {
	row.work += min(len(s.parts), len(row.pairs))
	if len(row.pairs) < len(s.parts) {
		for by, p := range row.pairs {
			if by.site == restSite {
				continue
			}
			if i := s.find(&by); i >= 0 {
				f(p, &s.parts[i])
			}
		}
		return
	}
	for i := range s.parts {
		if p := row.pairs[s.parts[i].owner]; p != nil {
			f(p, &s.parts[i])
		}
	}
}

// upTo brings a pair up to date.
func (row *traceRow) upTo(p *tracePair, by *owner) *inWaits {
	if p.now == nil {
		p.now = &inWaits{}
	}
	now := p.now
	if waits := row.clock - now.since; now.ns > 0 && waits > 0 {
		ns := int64(now.ns)
		p.count += waits
		p.blamed += waits * ns
		p.longest = max(p.longest, ns)
		if row.windows != nil && waits > now.later {
			row.windows.pair(slices.Max(now.ends), row.key, by).over(waits-now.later, ns)
		}
	}
	now.since, now.later = row.clock, 0
	return now
}

// add adds a part of a sum that ends at a time to what the pair has in each wait.
func (row *traceRow) add(p *tracePair, part *blamedPart, end timeline.Time) {
	now := row.upTo(p, &part.owner)
	now.ns += part.ns
	if row.windows != nil {
		now.ends = append(now.ends, end)
	}
	for i := range part.did.causes {
		c := &part.did.causes[i]
		k := causeKey{c.via, c.root}
		if now.causes == nil {
			now.causes = map[causeKey]*causeInWaits{}
		}
		if now.causes[k] == nil {
			now.causes[k] = &causeInWaits{since: row.clock}
		}
		now.causes[k].sums++
	}
}

// subtract subtracts a part of a sum that was in the waits since e.since.
func (row *traceRow) subtract(p *tracePair, part *blamedPart, e *shownSum) {
	now := row.upTo(p, &part.owner)
	now.ns -= part.ns
	if i := slices.Index(now.ends, e.sum.to); i >= 0 {
		now.ends = slices.Delete(now.ends, i, i+1)
	}
	p.did.addTimes(&part.did, row.clock-e.since)
	for i := range part.did.causes {
		c := &part.did.causes[i]
		k := causeKey{c.via, c.root}
		if in := now.causes[k]; in.sums > 1 {
			in.sums--
		} else {
			p.did.count(k, row.clock-in.since)
			delete(now.causes, k)
		}
	}
}
