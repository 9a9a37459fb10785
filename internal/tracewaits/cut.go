package tracewaits

import (
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// A pass over a live trace never ends, so its profile is taken in pieces. The time of a wait before
// a cut is Unattributed, since the blame is known only at its end. The wait counts as one
// contention, and with its whole length in Longest, in the profile in which it ended.

// traceCuts has the position of the latest cut of a pass.
type traceCuts struct {
	at      timeline.Time // the latest cut, or the beginning
	missing timeline.Time // missing time in gaps since then
	pass    *int          // identifies the profiles of this pass
	number  int           // number of cuts
}

// since returns how much of the time from a to b is not in an earlier profile.
func (c *traceCuts) since(a, b timeline.Time) timeline.Time {
	return max(0, b-max(a, c.at))
}

// presentState is the state of a goroutine after its latest transition, which was at past.end. The
// goroutine itself may be in the next state already, since a pass may be cut between the two.
type presentState struct {
	state  timeline.State
	wait   timeline.Wait
	reason uint8 // index in presentReasons
	stack  *timeline.Stack
}

// presentReasons are the reasons that matter; see suspended and counts.
var presentReasons = [...]string{"", "preempted", "synctest"}

func (p *presentState) set(t *timeline.Transition) {
	p.state, p.wait, p.reason, p.stack = t.To, t.G.Wait(), 0, t.G.Stack()
	if p.wait == timeline.WaitRuntime {
		p.reason = uint8(max(0, slices.Index(presentReasons[:], t.G.Reason())))
	}
}

// maxTraceSites is the maximum number of call chains that a pass remembers from one piece to the
// next.
const maxTraceSites = 1 << 14

// Cut ends the current profile at time t, which is not before the latest event, returns it, and
// begins the next one. [contention.Merge] combines consecutive profiles.
//
// The part of a wait before the cut is Unattributed. Unlike at the end of a trace, the time so far
// of waits InFlight is in the rows. Cut takes a microsecond for each row and waiting goroutine.
func (o *Observer) Cut(t timeline.Time) *contention.Profile {
	t = max(t, o.cuts.at)
	o.windows = nil
	inFlight := o.inFlight
	for g := range o.goroutines.All() {
		if g.g != nil && o.cutWait(g, t) {
			inFlight++
		}
	}
	o.end = t
	p := o.profile(inFlight)
	for k := range o.rows.rows {
		l := k.lock.root()
		l.lockFacts, l.rows = lockFacts{}, nil
	}
	o.rows = newTraceRows(o.rows.max, o.opt.Goroutines)
	if !o.wall.IsZero() {
		o.wall = o.wall.Add(time.Duration(t - o.begin))
	}
	o.begin, o.cuts.at, o.cuts.missing = t, t, 0
	o.cuts.number++
	o.inFlight, o.cutOff, o.lost, o.waiting, o.left = 0, 0, 0, nil, nil
	o.places.uses, o.logs.bad = 0, 0
	if o.places.count > maxTraceSites || len(o.places.byStack) > 4*maxTraceSites || len(o.fits) > 16*maxTraceSites {
		o.forget()
	}
	return p
}

// cutWait books the wait of a goroutine up to t, and reports whether the wait continues.
func (o *Observer) cutWait(g *tracedGoroutine, t timeline.Time) bool {
	w := g.wait
	p := timeline.Transition{State: g.state, Wait: g.presentState.wait, Reason: presentReasons[g.reason], Start: g.past.end}
	o.bookContended(w)
	switch {
	case w.chosen:
		o.readied(w, t)
		o.rows.part(g.g, w)
		return true
	case o.blocked(g.state) && o.counts(g.g, &p):
		o.cutBlocked(g, waitOf(&p), t)
		return true
	case w.open && active(g.state) && g.past.ranSince(w.resumed, futile)+t-g.past.activeSince() <= futile:
		o.rows.part(g.g, w) // possibly a futile wake-up
	default:
		o.commit(g)
	}
	return false
}

// cutBlocked books the wait of a blocked goroutine up to t.
func (o *Observer) cutBlocked(g *tracedGoroutine, kind timeline.Wait, t timeline.Time) {
	at, lock := o.places.of(g.stack), lockWait(kind)
	if lock && g.inVain(at.site) {
		o.rows.part(g.g, g.wait) // a futile wake-up
	} else {
		o.commit(g)
	}
	d := o.cuts.since(g.past.end, t)
	p := waiting{kind: kind, site: at.site, lock: o.waitedFor(kind, at.site), waited: d, lockWaiting: &noLockWaiting}
	if p.times[unattributedSpan] = d; lock {
		p.flags = at.flags & contention.Reacquire
	}
	o.rows.part(g.g, &p)
}

// part books the time so far of a wait that continues, which is not a contention yet, and subtracts
// it from the wait.
func (r *traceRows) part(g *timeline.Goroutine, w *waiting) {
	row := r.rowOf(g, w)
	row.addTimes(w.waited, &w.times, 1)
	add := func(parts []blamedPart) {
		for i := range parts {
			r.pair(row, &parts[i].owner).addTimes(&parts[i], 1)
		}
	}
	add(w.parts)
	for _, s := range w.sums {
		add(s.parts)
	}
	w.earlier += w.waited
	w.waited, w.piece = 0, piece{parts: w.parts[:0]}
	if len(w.sums) > 0 {
		clear(w.sums)
		w.sums = w.sums[:0]
	}
}

// forget drops all call chains and the locks inferred from them.
func (o *Observer) forget() {
	o.places = newPlaces(o.places.max)
	o.pseudo = map[pseudoKey]*tracedLock{}
	clear(o.fits)
	o.sections, o.exits.latest.by = newReadSections(), nil
	for g := range o.goroutines.All() {
		if g.g != nil && g.lockState != &noLocks {
			*g.lockState = lockState{parkedAt: g.parkedAt, parkedIn: g.parkedIn}
		}
	}
}

// Gap implements [timeline.Observer]. No goroutine is blamed across a gap, and the missing time is
// not in Duration. Waits that the gap cut off are InFlight.
func (o *Observer) Gap(from, to timeline.Time) {
	o.cuts.missing += to - from
	o.windows.gap(from, to)
	o.logs.forgetOwners()
	for _, sites := range o.places.sites {
		for _, s := range sites {
			if s.lock != nil {
				l := s.lock.root()
				l.forget()
				l.woken, l.seen, l.readers, l.unclaimed = nil, nil, nil, 0
			}
		}
	}
}
