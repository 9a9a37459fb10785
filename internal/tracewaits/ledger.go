package tracewaits

import (
	"slices"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// ledger has the times of what a goroutine did, and of the roots while it was blocked. For time
// that is in no cause, the goroutine itself is the root. A copy is only for reading.
type ledger struct {
	// Most goroutines do few things: n of them are in few, and all others in rest.
	n      uint8
	what   [fewDoings]doing
	few    [fewDoings]timeline.Time
	rest   *[doings]timeline.Time
	causes []ledgerCause
}

const fewDoings = 5

// spend adds time in which the goroutine did something.
func (l *ledger) spend(on doing, d timeline.Time) {
	if l.n > 0 && l.what[0] == on {
		l.few[0] += d
		return
	}
	l.spendOther(on, d)
}

func (l *ledger) spendOther(on doing, d timeline.Time) {
	n := int(l.n)
	for i := 1; i < n; i++ {
		if l.what[i] == on {
			l.few[i] += d
			return
		}
	}
	if n < fewDoings {
		l.n, l.what[n], l.few[n] = uint8(n+1), on, d
		return
	}
	if l.rest == nil {
		l.rest = new([doings]timeline.Time)
	}
	l.rest[on] += d
}

// spendAs adds the times of another ledger, each times n.
func (l *ledger) spendAs(m *ledger, n timeline.Time) {
	for i := range m.few[:m.n] {
		l.spend(m.what[i], n*m.few[i])
	}
	if m.rest != nil {
		for on, d := range m.rest {
			if d != 0 {
				l.spend(doing(on), n*d)
			}
		}
	}
}

// did returns the time of each thing that the goroutine did.
func (l *ledger) did() (all [doings]timeline.Time) {
	if l.rest != nil {
		all = *l.rest
	}
	for i, on := range l.what[:l.n] {
		all[on] = l.few[i]
	}
	return all
}

type ledgerCause struct {
	causePart
	via  doing
	n    int64  // number of waits
	wait uint64 // the one counted last, unless 0
}

func (l *ledger) total() (d timeline.Time) {
	for _, ns := range l.few[:l.n] {
		d += ns
	}
	if l.rest != nil {
		for _, ns := range l.rest {
			d += ns
		}
	}
	return d
}

// itself returns the time in which the goroutine was the root.
func (l *ledger) itself() timeline.Time {
	d := l.total()
	for i := range l.causes {
		d -= l.causes[i].ns
	}
	return d
}

// addSegment adds d of the length whole of a segment that has a cause. It returns the index of the
// cause, or −1 if that has several roots or none is kept of its own.
func (l *ledger) addSegment(on doing, of *cause, whole, d timeline.Time) int {
	l.spend(on, d)
	n := len(l.causes)
	switch {
	case len(of.parts) == 1:
		c := &of.parts[0]
		for i := range l.causes { // the usual case, without copies
			if k := &l.causes[i]; d > 0 && k.via == on && k.root == c.root {
				k.ns += d
				k.links = max(k.links, c.links)
				return i
			}
		}
		if l.addCause(ledgerCause{causePart: causePart{root: c.root, links: c.links, ns: d}, via: on}); len(l.causes) > n {
			return n
		}
	case d == whole:
		for _, c := range of.parts {
			l.addCause(ledgerCause{causePart: c, via: on})
		}
	default: // it is unknown which of them it was
		l.addCause(ledgerCause{causePart: causePart{links: 1, ns: d}, via: on})
	}
	return -1
}

// addOfLock adds the time from a to b of a segment in which the goroutine waited for the lock with
// the time line q.
func (l *ledger) addOfLock(on doing, q *past, a, b timeline.Time) {
	roots := q.between(a, b)
	l.spend(on, b-a)
	known := timeline.Time(0)
	for i := range roots.causes {
		c := roots.causes[i].causePart
		known += c.ns
		l.addCause(ledgerCause{causePart: c, via: on})
	}
	// It was held, but the holder is unknown.
	if unknown := min(roots.did()[doingUnknown], b-a-known); unknown > 0 {
		l.addCause(ledgerCause{causePart: causePart{links: 1, ns: unknown}, via: on})
	}
}

// addCause adds a cause. If there are too many, the shortest is added to the unknown root.
func (l *ledger) addCause(c ledgerCause) {
	if c.ns <= 0 {
		return
	}
	shortest := -1
	for i := range l.causes {
		k := &l.causes[i]
		if k.via == c.via && k.root == c.root {
			k.ns += c.ns
			if k.wait != c.wait || c.wait == 0 {
				k.n += c.n
				k.wait = c.wait
			}
			k.links = max(k.links, c.links)
			return
		}
		if k.root != (owner{}) && (shortest < 0 || k.ns < l.causes[shortest].ns) {
			shortest = i
		}
	}
	if len(l.causes) < mostRoots || c.root == (owner{}) {
		l.causes = append(l.causes, c)
		return
	}
	if shortest >= 0 && l.causes[shortest].ns < c.ns {
		l.causes[shortest], c = c, l.causes[shortest]
	}
	c.root = owner{}
	l.addCause(c)
}

func (l *ledger) merge(m *ledger) {
	l.spendAs(m, 1)
	for i := range m.causes {
		l.addCause(m.causes[i])
	}
}

// addTimes adds a ledger several times, without the number of waits of its causes.
func (l *ledger) addTimes(m *ledger, times int64) {
	n := timeline.Time(times)
	l.spendAs(m, n)
	for _, c := range m.causes {
		c.ns, c.n = n*c.ns, 0
		l.addCause(c)
	}
}

// count adds waits to a cause, or to the unknown root if the ledger does not have it.
func (l *ledger) count(k causeKey, waits int64) {
	for _, root := range [2]owner{k.root, {}} {
		for i := range l.causes {
			if c := &l.causes[i]; c.via == k.via && c.root == root {
				c.n += waits
				return
			}
		}
	}
}

// scale scales the ledger to the total d, with its parts in proportion, rounded to whole
// nanoseconds. Readers that share the blame for a time each have a part of it.
func (l *ledger) scale(d timeline.Time) {
	whole := l.total()
	if whole == d || whole <= 0 {
		if whole <= 0 {
			*l = ledger{}
			l.spend(doingUnknown, d)
		}
		return
	}
	portion := func(ns timeline.Time) timeline.Time {
		return timeline.Time(float64(ns) / float64(whole) * float64(d))
	}
	rest, largest, most := d, 0, timeline.Time(-1)
	left := l.did()
	for i, ns := range left {
		if ns > most {
			largest, most = i, ns
		}
		left[i] = min(rest, portion(ns))
		rest -= left[i]
	}
	left[largest] += rest
	l.n, l.rest = 0, nil
	for on, ns := range left {
		if ns != 0 {
			l.spend(doing(on), ns)
		}
	}
	for i := range l.causes { // no more than what was done
		c := &l.causes[i]
		c.ns = min(left[c.via], portion(c.ns))
		left[c.via] -= c.ns
	}
}

// causeFor returns the roots for goroutines blocked by by, the goroutine of the ledger.
func (l *ledger) causeFor(by owner) *cause {
	c := &cause{parts: make([]causePart, 0, len(l.causes)+1)}
	for _, k := range l.causes {
		part := k.causePart
		part.links++
		i := slices.IndexFunc(c.parts, func(q causePart) bool { return q.root == part.root })
		if i < 0 {
			c.parts = append(c.parts, part)
			continue
		}
		c.parts[i].ns += part.ns
		c.parts[i].links = max(c.parts[i].links, part.links)
	}
	if itself := l.itself(); itself > 0 {
		c.parts = append(c.parts, causePart{root: by, links: 1, ns: itself})
	}
	return c
}

// doing is what a goroutine does, in one byte. The values from blockedOn on are waits of
// contention.Kinds, in their order.
type doing uint8

const (
	doingUnknown doing = iota
	doingRunning
	doingRunnable
	blockedOn
	doings = blockedOn + 15
)

// doingOf has what a goroutine does during each kind of wait.
var doingOf = func() (of [64]doing) {
	other := slices.Index(contention.Kinds, contention.OtherKind)
	for w := range of {
		if of[w] = blockedOn + doing(other); w < len(timeline.Waits()) {
			if i := slices.Index(contention.Kinds, timeline.Wait(w).String()); i >= 0 {
				of[w] = blockedOn + doing(i)
			}
		}
	}
	return of
}()

// kind returns what d waits for, or "" if it is not a wait.
func (d doing) kind() string {
	if d < blockedOn {
		return ""
	}
	return contention.Kinds[d-blockedOn]
}
