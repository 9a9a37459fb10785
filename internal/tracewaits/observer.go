// Package tracewaits computes from an execution trace which goroutines waited, for what, and which
// goroutines are to blame.
//
// The result is a [contention.Profile]. It works for any program recorded with runtime/trace.
// The analysis takes one to a few microseconds per wait, in addition to reading the trace.
package tracewaits

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/byindex"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Blame from an execution trace
//
// A trace shows each wait with the waiter's call chain, and the goroutine that ended it, the waker,
// with its call chain. It does not show which lock was waited for, nor which goroutines got a lock
// without waiting. Blaming the waker, the last owner, for the whole wait is wrong by up to 450 %.
// The analysis works as follows:
//
//  1. Every interval in the state Waiting is a wait of a kind (timeline/wait.go). The time from the
//     wake-up until the goroutine runs is due to the lock only if a processor was idle.
//  2. A goroutine that was woken for a lock but found it taken blocks again at once. Such futile
//     wake-ups and the waits between them form one wait (wait.go).
//  3. Call chains identify locks (site.go, lock.go).
//  4. A release shows who held the lock until then. The start of the hold follows from the owner's
//     own wait, or from when others found the lock taken (owner.go). Between the wake-up of a
//     waiter and its running, others may lock and unlock a Mutex without an event. Only call chains
//     between Lock and Unlock reveal them, and the readers that a writer waits for (readers.go).
//  5. The releases divide the time line of a lock into stretches, each held by a known owner, in
//     hand-off, or Unattributed. No owner is blamed without evidence. A wait is a part of that time
//     line (split.go, sums.go).
//  6. Locks of package contention log exact data, which replaces the inference (log.go).
//  7. Other waits have no owner, but a goroutine that ended them. It is blamed for the time up to
//     the wake-up, for a WaitGroup together with goroutines that exited before (waitgroup.go).
//     Sleep, timers and the network have no such goroutine: Unattributed.
//
// What to record, and the division of a wait among its owners, are from P. Hofer and others (see
// package contention), who instrumented a virtual machine; steps 2 to 5 replace that. Memory is
// proportional to the live goroutines, the distinct call chains and the rows of the profile.
// oracle_test.go compares the results with locks that log what they do.

// Options configures the analysis of a trace. The zero value is ready to use. Package bottleneck
// describes the first fields, Options.Contention.
type Options struct {
	Goroutines, Syscalls, NoRoots, Quick bool

	Declared func(s *contention.Stack, began time.Time) string
	// Window, if positive, makes [Observer] also compute a profile of each stretch of that
	// length: see [Observer.Windows].
	Window time.Duration
	// MaxPairs bounds the rows of the profile; 0 means 65536. The excess goes into rows without
	// call chains and is counted in Profile.Dropped.
	MaxPairs int
	// MaxChains bounds the distinct call chains; 0 means 65536. All others are one chain, without
	// known owners. They are counted in Profile.Dropped.
	MaxChains int
}

// Observer builds a [contention.Profile] in a pass over a trace: of a file, a stream or the bytes of
// a flight recorder.
//
// Blamed is the part of a wait for which the owner of the lock, or the goroutine that ended the wait,
// is known. Unattributed is the time for which the trace does not show who held the lock, or
// whether it was held, or for which there is no owner, as for timers and the network.
//
// The goroutine that released a lock is assumed to have held it, unless the trace shows that
// another one did. Locks of the same code are one [contention.Lock], named
// [contention.SeveralLocks] if the trace shows that there are several. Of the readers that a writer
// waits for, the known ones are the last, and those that block, are stopped or wake a goroutine
// while they hold the lock; the share of the others goes to the last one. Waits that continue at
// the end of the trace are InFlight; those whose goroutine has not been woken are also in
// Profile.Unfinished.
//
// The pairs have what an owner did while it was blamed, and in Roots the goroutines that blocked
// it, directly or through others. Both are exact, except that the past of a goroutine with very many
// state changes is kept as sums; then some of it is Unknown.
//
// Waits for locks of package contention, with collection on, are exact and flagged
// [contention.Logged], except those that a hot lock did not record; see contention.Options.Exact.
// docs/measurements.md has the accuracy of the others.
type Observer struct {
	timeline.Base
	opt   Options
	begin timeline.Time
	end   timeline.Time
	wall  time.Time // wall time of begin; zero if unknown

	goroutines byindex.Table[tracedGoroutine] // by Goroutine.Index
	sparePasts []*past
	spareWaits []*waiting
	places     places
	sections   readSections
	rows       traceRows
	locks      uint64 // number of locks so far
	pseudo     map[pseudoKey]*tracedLock
	fits       map[[2]*callSite]bool // see site.mayRelease
	apart      *[recentPlaces]recentApart
	inFlight   int64
	// cutOff is the longest wait for a lock that was still in progress at the end of the trace.
	cutOff  timeline.Time
	waiting []unfinishedWait
	left    []leftHolding
	lost    uint64 // waits longer than the history of their lock
	room    pastRoom
	logs    traceLogs
	cutRoom cutRoom
	cuts    traceCuts
	windows *traceWindows // nil without Options.Window
	idle    idleTime
	exits   exits
	marking bool          // the collector is marking
	marked  timeline.Time // time of the latest begin or end of marking

	// nowOf, if set by tests, returns what g waits for now, and where.
	nowOf func(g *timeline.Goroutine) (timeline.Wait, *timeline.Stack)
	// audit, if set by tests, is called for all blame on an owner of a lock.
	audit func(waiter *timeline.Goroutine, g int64, by owner, from, to, ns timeline.Time)
}

// pseudoKey identifies what is waited for where there is no lock.
type pseudoKey struct {
	wait  timeline.Wait
	class string
}

// usualLimit is the default of Options.MaxPairs and MaxChains.
const usualLimit = 1 << 16

// NewObserver returns an observer for one pass.
func NewObserver(opt Options) *Observer {
	return &Observer{
		opt:    opt,
		cuts:   traceCuts{pass: new(int)},
		room:   pastRoom{brief: opt.Quick},
		places: newPlaces(cmp.Or(max(0, opt.MaxChains), usualLimit)),
		rows:   newTraceRows(cmp.Or(max(0, opt.MaxPairs), usualLimit), opt.Goroutines),
		pseudo: map[pseudoKey]*tracedLock{},
		fits:   map[[2]*callSite]bool{},
		apart:  new([recentPlaces]recentApart),
		logs:   newTraceLogs(), sections: newReadSections(),
		exits: exits{waiting: map[int64]bool{}, of: map[startCall]*exitList{}},
	}
}

// Begin implements [timeline.Observer].
func (o *Observer) Begin(t timeline.Time, _ int) {
	o.begin, o.end, o.cuts.at, o.idle.at = t, t, t, t
	o.windows = newTraceWindows(t, o.opt, min(o.rows.max, maxWindowCells))
	o.rows.windows = o.windows
}

// End implements [timeline.Observer].
func (o *Observer) End(t timeline.Time) { o.end = t }

// Clock implements [timeline.Observer].
func (o *Observer) Clock(t timeline.Time, _ uint64, wall time.Time) {
	if o.wall.IsZero() && !wall.IsZero() {
		o.wall = wall.Add(time.Duration(o.begin - t))
	}
}

// Transition implements [timeline.Observer].
func (o *Observer) Transition(t *timeline.Transition) {
	g := o.goroutine(t.G)
	o.idle.transition(t)
	g.track(t)
	if o.sections.version != 0 {
		o.noteSections(g, t)
	}
	if len(g.held) > 0 && t.Stack != nil {
		o.seenAt(g, t.Stack)
	}
	if g.last != nil && t.State == timeline.Running && t.To == timeline.Runnable {
		g.handsOff(t)
	}
	switch {
	case o.blocked(t.State):
		// A wait of zero length was outside the selected part: see timeline.Options.During.
		if !o.counts(t.G, t) || t.Start == t.End && t.To.Alive() {
			g.past.finish(t, o.roots())
			break
		}
		if t.To.Alive() {
			o.woken(g, t)
			g.past.finish(t, o.roots())
			if active(t.To) {
				o.resumed(g, t.End)
			}
		} else {
			o.unfinished(t)
		}
	case t.State == timeline.Runnable && g.wait.chosen:
		if t.To.Alive() {
			o.resumed(g, t.End)
		} else {
			o.inFlight++
			g.wait.claim(t.End)
			o.bookContended(g.wait)
			o.endWait(g)
		}
	}
	if !t.To.Alive() {
		o.leaves(g, t)
		o.commit(g)
	}
	if t.To == timeline.Waiting && t.G.Kind == timeline.Application {
		o.parked(g, t)
	}
	if t.State == timeline.Waiting && g.parkedAt != nil {
		g.unparked() // the wait counted for its lock until now
	}
	if g.inGroup && t.State == timeline.Waiting {
		o.waitsForGroup(g, false, t.End)
	}
	if !t.To.Alive() {
		if len(o.exits.waiting) > 0 && t.To == timeline.NotExist {
			o.exit(g, t.End)
		}
		o.letGo(g)
	}
}

// roots reports whether pasts have the roots of waits.
func (o *Observer) roots() bool { return !o.opt.Quick && !o.opt.NoRoots }

// blocked reports whether a goroutine in state s waits for something that the profile includes.
func (o *Observer) blocked(s timeline.State) bool {
	return s == timeline.Waiting || s == timeline.SyscallBlocked && o.opt.Syscalls
}

// suspended reports whether the runtime stopped a running goroutine, for the collector to scan its
// stack or for the tracer to record its state. The goroutine waited for nothing, and the function
// in which it was stopped is not the cause.
func suspended(i *timeline.Transition) bool {
	return i.State == timeline.Waiting && i.Wait == timeline.WaitRuntime && i.Reason == "preempted"
}

// counts reports whether a wait belongs to the program. The runtime's own parking does not, such as
// when the tracer stops, except for suspensions while the collector marks and the waits of
// testing/synctest.
func (o *Observer) counts(g *timeline.Goroutine, i *timeline.Transition) bool {
	switch {
	case g.Kind != timeline.Application:
		return false
	case i.Wait != timeline.WaitRuntime:
		return true
	case suspended(i):
		return o.marking || i.Start < o.marked
	}
	return i.Reason == "synctest"
}

// Range implements [timeline.Observer].
func (o *Observer) Range(r *timeline.Span) {
	switch {
	case r.Name == timeline.MarkPhase:
		o.marking = r.Begin
		o.marked = max(o.marked, r.Time)
	case strings.HasPrefix(r.Name, "stop-the-world"):
		o.idle.until(r.Time)
		if o.idle.stopped = 0; r.Begin {
			o.idle.stopped = 1
		}
	}
}

// Metric implements [timeline.Observer].
func (o *Observer) Metric(t timeline.Time, name string, value uint64, _ bool) {
	if name == "/sched/gomaxprocs:threads" {
		o.idle.until(t)
		o.idle.procs = int(min(value, 1<<20))
	}
}

// goroutine returns the state of a live goroutine.
func (o *Observer) goroutine(g *timeline.Goroutine) *tracedGoroutine {
	if k := o.goroutines.Known(g.Index); k != nil && k.g == g {
		return k
	}
	return o.begins(g)
}

// begins returns the state of a new goroutine.
func (o *Observer) begins(g *timeline.Goroutine) *tracedGoroutine {
	k := o.goroutines.At(g.Index)
	if k.g != nil { // its end was not shown: it may be referenced
		o.commit(k)
		k.shown = true
		o.letGo(k)
	}
	l := &noLocks
	if k.lockState != nil && k.lockState != l { // its memory is reused
		l = k.lockState
		clear(l.held)
		clear(l.usual)
		*l = lockState{held: l.held[:0], usual: l.usual[:0]}
	}
	*k = tracedGoroutine{g: g, wait: &noWait, lockState: l, past: o.newPast()}
	k.past.room = &o.room
	o.room.live++
	return k
}

// maxSpare bounds the pasts and the waits whose memory is kept for reuse. Tests set it to 0.
var maxSpare = 1 << 10

// letGo frees the state of a goroutine that has exited, except for the past that others still need.
func (o *Observer) letGo(g *tracedGoroutine) {
	if g.shown {
		g.past.trim(pastBlock)
	}
	o.room.used -= len(g.past.segs)
	o.room.live--
	g.past.room = nil
	if (!g.shown || o.opt.Quick) && len(o.sparePasts) < maxSpare {
		g.past.reset()
		o.sparePasts = append(o.sparePasts, g.past)
	}
	g.g, g.past = nil, nil
}

// pastOf returns the past of a goroutine for what it is to blame for, nil if that is not wanted.
func (o *Observer) pastOf(g *tracedGoroutine) *past {
	if o.opt.Quick {
		return nil
	}
	return g.past
}

// newPast returns the empty past of a new goroutine.
func (o *Observer) newPast() *past {
	if n := len(o.sparePasts); n > 0 {
		p := o.sparePasts[n-1]
		o.sparePasts = o.sparePasts[:n-1]
		return p
	}
	return newPast()
}

// Profile returns the profile up to now; after the pass, it is complete. See [Read] for a profile
// that includes the warnings of the pass.
func (o *Observer) Profile() *contention.Profile {
	return o.profile(o.settle())
}

// settle books the waits that are over, and returns the number of those in progress.
func (o *Observer) settle() (inFlight int64) {
	inFlight = o.inFlight
	for g := range o.goroutines.All() {
		switch {
		case g.g == nil:
		case g.wait.chosen:
			inFlight++
		default:
			o.commit(g)
		}
	}
	return inFlight
}

// profile returns a profile of the current rows.
func (o *Observer) profile(inFlight int64) *contention.Profile {
	p := &contention.Profile{
		Source: contention.FromTrace, Accuracy: contention.Inferred,
		Start: o.wall, Duration: time.Duration(o.end - o.begin - o.cuts.missing),
	}
	o.bookAllKept()
	o.rows.copyTo(p, func(l *tracedLock) *lockFacts { return &l.lockFacts })
	o.addRest(p, inFlight)
	p.Finish(o.cuts.pass, o.cuts.number, false)
	o.warn(p)
	return p
}

// addRest adds what is in no row.
func (o *Observer) addRest(p *contention.Profile, inFlight int64) {
	p.InFlight, p.Unfinished = inFlight, o.unfinishedRows()
	p.Dropped.Chains, p.Dropped.Pairs, p.Dropped.Exits = o.places.uses, o.rows.crowded, o.lost
}

// warn adds warnings about the limits of the results.
func (o *Observer) warn(p *contention.Profile) {
	o.warnLogged(p)
	if o.cutOff > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("Goroutines still waited for locks when the trace ended, one of them for %v; no sum has that.",
			time.Duration(o.cutOff).Round(time.Microsecond)))
	}
}
