package contention

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// Who is to blame, from an execution trace
//
// A trace of runtime/trace shows each wait with the waiter's call chain, and who ended
// it, the waker, with its call chain. It shows neither which lock was meant nor
// who got a lock without waiting. Blaming the waker for the whole wait, as the block
// profile joined with the mutex profile would, is wrong by up to 450 %: the waker is only
// the last of the owners. So:
//
//  1. Every interval in the state Waiting is a wait of a kind (timeline/wait.go). It is
//     Waited from the block until the goroutine runs again; from the wake on, it is
//     HandOff: the waiter was chosen but did not run yet.
//  2. A goroutine that was woken for a lock but found it taken blocks again at
//     once. Such futile wakes make one wait together, of which all but the moments in
//     which it ran is Waited (tracewait.go).
//  3. Call chains are the names of locks: a release and the waiter that it woke concern
//     the same lock, and so do a goroutine's own wait and its release in the same call of a
//     function. Union-find puts the call chains together (tracelock.go). Several locks of
//     the same code would become one; but a lock wakes its waiters in order, so
//     whoever was overtaken waits for another lock.
//  4. A release tells who held the lock until then. Since when follows from the owner's own
//     wait, or is bounded from below (traceowner.go).
//  5. A wait is cut at the releases of its lock and given to the successive owners. While
//     another waiter was chosen but did not run yet, it is HandOff: the lock was free, or
//     somebody got it and let go of it again, which the trace does not show. What is left is
//     Unattributed: nobody is blamed on suspicion (tracesplit.go).
//  6. The other kinds have no owner, but somebody who ended the wait: the sender, the last
//     Done, the Signal. They are blamed for it up to the wake. Sleep, timers and the network
//     have nobody: Unattributed.
//
// So Waited == Blamed + HandOff + Unattributed, in whole nanoseconds, for each wait. What to
// record, and that a wait is split among its owners, is from P. Hofer and others (see the package
// comment), who have instrumented a virtual machine; 2 to 5 take the place of that.
//
// Memory follows the live goroutines, the distinct call chains and the rows of the profile;
// each lock remembers its latest releases only.

// TraceOptions are the choices of an analysis of a trace. The zero value is right for most.
type TraceOptions struct {
	// Goroutines keeps rows apart by the ids of waiter and owner.
	Goroutines bool
	// Runtime has the waits of the runtime's own goroutines (the collector's workers, the tracer, the
	// scavenger), too, most of which are idle on purpose.
	Runtime bool
	// MaxPairs bounds the rows of the profile; 0 means 65536. What does not fit goes into
	// rows without call chains and is counted in Profile.Dropped.
	MaxPairs int
	// Name is what errors call the trace.
	Name string
	// Progress is told how many bytes of how many (−1 = not known) are done.
	Progress func(done, size int64)
}

// ReadTrace returns who waited for what, and because of whom, in the execution trace
// in r: a file, a stream, the bytes of a flight recorder, packed with gzip or zstd or not.
// It takes little more time than reading the trace does.
//
// A trace that is cut off or broken gives the profile of what could be read, with a
// warning, and an error (a *[timeline.Error]) that says where the trouble is and what is
// missing. The profile is nil only if nothing could be read.
func ReadTrace(ctx context.Context, r io.Reader, opt TraceOptions) (*Profile, error) {
	o := NewTraceObserver(opt)
	info, err := timeline.Read(ctx, r, timeline.Options{Name: opt.Name, Progress: opt.Progress}, o)
	return o.result(info, err)
}

// ReadTraceFile is [ReadTrace] for the trace in a file.
func ReadTraceFile(ctx context.Context, name string, opt TraceOptions) (*Profile, error) {
	if opt.Name == "" {
		opt.Name = name
	}
	o := NewTraceObserver(opt)
	info, err := timeline.ReadFile(ctx, name, timeline.Options{Name: opt.Name, Progress: opt.Progress}, o)
	return o.result(info, err)
}

func (o *TraceObserver) result(info *timeline.Info, err error) (*Profile, error) {
	if info.Generations == 0 {
		return nil, err
	}
	p := o.Profile()
	if err != nil {
		p.warn("The trace could not be read to its end: %v.", err)
	}
	p.Warnings = append(p.Warnings, info.Notes...)
	if info.Inconsistent > 0 {
		p.warn("%d of %d events contradict what was known before them: the trace may be damaged.", info.Inconsistent, info.Events)
	}
	if info.Reordered > 0 {
		p.warn("%d of %d events were moved to keep time from running backwards between generations.", info.Reordered, info.Events)
	}
	return p, err
}

// TraceObserver folds a pass over a trace into a [Profile]: the way to get it in one pass
// together with other analyses. [ReadTrace] is simpler if the profile is all you need.
type TraceObserver struct {
	timeline.Base
	opt   TraceOptions
	begin timeline.Time
	end   timeline.Time
	wall  time.Time // of begin; zero if not known

	goroutines []*tracedGoroutine // by Goroutine.Index
	places     places
	rows       traceRows
	locks      uint64 // how many there were
	pseudo     map[pseudoKey]*tracedLock
	fits       map[[2]*callSite]bool // see site.mayRelease
	inFlight   int64
	cutOff     timeline.Time // the longest wait for a lock that the trace did not see the end of
	lost       uint64        // waits that outlasted the memory of their lock

	audit func(waiter *timeline.Goroutine, by owner, from, to timeline.Time) // tests: told of everything that is blamed on an owner of a lock
}

// pseudoKey names what is waited for where there is no lock.
type pseudoKey struct {
	wait  timeline.Wait
	class string
}

// NewTraceObserver returns an observer for one pass.
func NewTraceObserver(opt TraceOptions) *TraceObserver {
	return &TraceObserver{
		opt:    opt,
		places: newPlaces(),
		rows:   newTraceRows(orDefault(opt.MaxPairs, 1<<16)),
		pseudo: map[pseudoKey]*tracedLock{},
		fits:   map[[2]*callSite]bool{},
	}
}

// Begin implements [timeline.Observer].
func (o *TraceObserver) Begin(b *timeline.Begin) { o.begin, o.end = b.Time, b.Time }

// End implements [timeline.Observer].
func (o *TraceObserver) End(e *timeline.End) { o.end = e.Time }

// Clock implements [timeline.Observer].
func (o *TraceObserver) Clock(c *timeline.Clock) {
	if o.wall.IsZero() && !c.Wall.IsZero() {
		o.wall = c.Wall.Add(-time.Duration(c.Trace - o.begin))
	}
}

// Transition implements [timeline.Observer].
func (o *TraceObserver) Transition(t *timeline.Transition) {
	g := o.goroutine(t.G)
	g.track(t)
	switch {
	case t.State == timeline.Waiting:
		if !o.opt.Runtime && t.G.Kind != timeline.Application {
			break
		}
		if t.To.Alive() {
			o.woken(g, t)
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
			g.wait = waiting{parts: g.wait.parts[:0]}
		}
	}
	if !t.To.Alive() {
		o.commit(g)
		o.goroutines[t.G.Index] = nil
	}
}

// goroutine returns what is known of a live goroutine.
func (o *TraceObserver) goroutine(g *timeline.Goroutine) *tracedGoroutine {
	for g.Index >= len(o.goroutines) {
		o.goroutines = append(o.goroutines, nil)
	}
	k := o.goroutines[g.Index]
	if k == nil || k.g != g {
		if k != nil {
			o.commit(k)
		}
		k = &tracedGoroutine{g: g}
		o.goroutines[g.Index] = k
	}
	return k
}

// unfinished counts a wait that the trace did not see the end of.
func (o *TraceObserver) unfinished(t *timeline.Transition) {
	o.inFlight++
	if lockWait(t.Wait) {
		o.cutOff = max(o.cutOff, t.End-t.Start)
	}
}

// Profile returns what was found so far; all of it after the pass. See [ReadTrace] for a
// profile with the warnings of the pass.
func (o *TraceObserver) Profile() *Profile {
	p := &Profile{
		Source: FromTrace, Accuracy: Inferred,
		Start: o.wall, Duration: time.Duration(o.end - o.begin), InFlight: o.inFlight,
	}
	for _, g := range o.goroutines {
		if g == nil {
			continue
		}
		if g.wait.chosen {
			p.InFlight++
		} else {
			o.commit(g)
		}
	}
	o.rows.copyTo(p)
	p.Dropped.Pairs, p.Dropped.Exits = o.rows.crowded, o.lost
	p.finish()
	o.warn(p)
	return p
}

// warn says what limits the trust in the numbers.
func (o *TraceObserver) warn(p *Profile) {
	var waited, unattributed time.Duration
	for i := range p.Waits {
		if w := &p.Waits[i]; w.Kind == MutexKind || w.Kind == RWMutexWriterKind || w.Kind == RWMutexReaderKind || w.Kind == OnceKind {
			waited += w.Waited
			unattributed += w.Unattributed
		}
	}
	if unattributed > 0 {
		p.warn("For %.0f %% of the waiting for locks the trace does not tell the owner.", 100*float64(unattributed)/float64(waited))
	}
	several := 0
	for _, l := range p.Locks {
		if l.Name == SeveralLocks {
			several++
		}
	}
	if several > 0 {
		p.warn("%d entries stand for several locks each, which the trace cannot tell apart: they are locked by the same code.", several)
	}
	if o.cutOff > 0 {
		p.warn("Goroutines still waited for locks when the trace ended, one of them for %v; that is in no row.",
			fmt.Sprint(time.Duration(o.cutOff).Round(time.Microsecond)))
	}
}
