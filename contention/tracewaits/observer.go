// Package tracewaits finds out from an execution trace who waited for what, and who is to blame.
//
// The result is a [contention.Profile], of any program that runtime/trace has recorded:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//
//		"github.com/bottleneck-go/bottleneck/contention/tracewaits"
//	)
//
//	func main() {
//		p, err := tracewaits.ReadFile(context.Background(), "app.trace", tracewaits.Options{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		for _, q := range p.Pairs {
//			fmt.Println(q.Kind, q.Waiter.Stack, "lost", q.Blamed, "to", q.Owner.Stack)
//		}
//	}
//
// It takes about a microsecond for each wait more than reading the trace does.
package tracewaits

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
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
//  1. Every interval in the state Waiting is a wait of a kind (timeline/wait.go). From the wake on,
//     the goroutine is Ready until it runs: that is the lock's doing only where a processor was
//     idle.
//  2. A goroutine that was woken for a lock but found it taken blocks again at
//     once. Such futile wakes make one wait together (wait.go).
//  3. Call chains are the names of locks: a release and the waiter that it woke concern
//     the same lock, and so do a goroutine's own wait and its release in the same call of a
//     function. Union-find puts the call chains together (lock.go). Several locks of
//     the same code would become one; but a lock wakes its waiters in order, so
//     whoever was overtaken waits for another lock.
//  4. A release tells who held the lock until then. Since when follows from the owner's own wait,
//     or from when others found the lock taken (owner.go). While a waiter was woken but did not run
//     yet, others may lock and unlock a Mutex and leave no event. Only call chains in the midst of
//     the code between Lock and Unlock tell of that, and of the readers that a writer waits for
//     (readers.go).
//  5. The releases cut the time line of a lock into stretches, each held by a known owner, handed
//     over, or Unattributed: no owner is blamed on suspicion. A wait is a part of that time line
//     (split.go).
//  6. Locks of package contention tell in the log what is exact, and take the place of all that
//     (log.go).
//  7. The other kinds have no owner, but a goroutine that ended the wait: the sender, the last
//     Done, the Signal. They are blamed for it up to the wake. Sleep, timers and the network
//     have nobody: Unattributed.
//
// So Waited == Blamed + HandOff + Unattributed, in whole nanoseconds, for each wait. What to
// record, and that a wait is split among its owners, is from P. Hofer and others (see package
// contention), who have instrumented a virtual machine; 2 to 5 take the place of that.
//
// Memory follows the live goroutines, the distinct call chains and the rows of the profile;
// each lock remembers its latest releases only.
//
// # How true it is
//
// oracle_test.go runs workloads under the tracer whose locks log every request,
// acquisition and release, and compares (go test -bench TraceOracle). On 2 virtual cores that other
// programs keep busy, Go 1.26, one run of half a second each, in %: "at the time" is how much of
// what is blamed falls on a goroutine that held that very lock at that very time, or of the
// hand-off on a time in which it was free; recall is how much of the truth is told; "naive" blames
// the waker. Where the log leaves open when a hold began or ended, since its goroutine was off its
// core between the lock and the line of the log, all that is possible is right.
//
//	                          at the time  recall   naive precision
//	spare 2µs, 2 goroutines         100.0    88.2             100.0
//	spare 2µs, 16 goroutines        100.0    97.6              89.9
//	spare 20µs, 8 goroutines        100.0    99.7              52.1
//	spare 200µs, 8 goroutines        100.0   100.0              58.0
//	spare 1ms, 16 goroutines        100.0    99.7              83.4
//	2µs, 2 goroutines               100.0    27.6             100.0
//	2µs, 8 goroutines               100.0     0.4              57.7
//	2µs, 16 goroutines              100.0     0.7              72.5
//	20µs, 2 goroutines              100.0    59.5             100.0
//	20µs, 8 goroutines              100.0    46.3              62.7
//	20µs, 16 goroutines             100.0    28.1              60.8
//	200µs, 8 goroutines             100.0    44.6              59.6
//	1ms, 8 goroutines               100.0    76.8              64.6
//	1ms, 16 goroutines              100.0    96.3              68.4
//	spare 4 shards                   99.9    90.4              86.7
//	spare 32 locks                  100.0    67.3              96.0
//	spare rw 20% writes             100.0    98.8              83.1
//	spare rw 4 shards                99.4    96.2              91.6
//	spare nested                    100.0    99.8              83.9
//	spare queue                     100.0    99.7              83.1
//	10µs                             99.3    62.8              53.2
//	64 goroutines                   100.0    52.2              71.8
//	4 shards                        100.0    48.3              76.6
//	32 call chains                  100.0    85.0              21.4
//	nested                           96.8    40.6              73.2
//	queue                           100.0    25.1              66.1
//	rw 10% writes                   100.0    92.6              72.0
//	rw 4 shards                      92.1    79.0              82.2
//	rw 50% writes                    99.6    58.2              59.9
//
// In "spare" the owners sleep while they hold the lock; else they compute, on more goroutines than
// processors. What is missing is Unattributed. A single run of a short workload can be worse where
// other programs take threads off their cores.

// Options are the choices of an analysis of a trace. The zero value is right for most.
type Options struct {
	// Goroutines keeps rows apart by the ids of waiter and owner.
	Goroutines bool
	// Runtime has the waits of the runtime's own goroutines (the collector's workers, the
	// tracer, the scavenger), too, most of which are idle on purpose.
	Runtime bool
	// Syscalls has the system calls that lost their processor, too, by call chain: they block,
	// but on nothing that another goroutine could let go of.
	Syscalls bool
	// MaxPairs bounds the rows of the profile; 0 means 65536. What does not fit goes into
	// rows without call chains and is counted in Profile.Dropped.
	MaxPairs int
	// MaxChains bounds the call chains that are told apart; 0 means 65536. The others are put
	// together as one, so that for locks that are waited for there the owner is not known, and
	// are counted in Profile.Dropped.
	MaxChains int
	// Quick leaves out what owners did during that time, and who is at the root of chains of
	// blame: Pair.Activity is then unknown. It saves about a third of the time that the
	// analysis takes besides reading the trace.
	Quick bool
	// Window, if positive, asks [Observer] for a profile of each stretch of that length as
	// well: see [Observer.Windows].
	Window time.Duration
	// Name is what errors call the trace.
	Name string
	// Progress is told how many bytes of how many (−1 = not known) are done.
	Progress func(done, size int64)
	// MaxMemory bounds what the heap grows by during a pass, in bytes, as in timeline.Options:
	// 0 means half of the machine's.
	MaxMemory int64
	// Part is what to read of the trace, if not all of it.
	Part timeline.Part
}

// Read returns who waited for what, and because of whom, in the execution trace
// in r: a file, a stream, the bytes of a flight recorder, packed with gzip or zstd or not.
// It takes about a microsecond for each wait more than reading the trace does.
//
// What a [contention.Wait] of a trace says:
//
//   - Waited is the time that the goroutine was blocked. A goroutine that was woken for a lock
//     but found it taken, and blocked again, goes on with the same wait; Parks counts each block.
//   - Ready is the time from the wake-up until the goroutine ran, which is not in Waited, and
//     ReadyIdle the part of it in which a processor was idle.
//   - Blamed is the part of Waited for which the owner of the lock is known; for channels, a
//     WaitGroup, a Cond and so on, the time until a goroutine, the owner of the pair, ended the wait.
//   - HandOff is the part in which the lock was given to another goroutine that did not run yet.
//   - Unattributed is the rest: the trace does not tell who held the lock, or whether it was held;
//     or there is no owner, as for timers and the network. While a goroutine that Unlock woke does
//     not run yet, others may lock a Mutex unseen.
//
// A goroutine may unlock a sync.Mutex that another one has locked. Where the trace shows that, the
// time is Unattributed; else who let go of a lock is taken for who held it.
//
// A trace does not tell locks apart. Those of the same code are one [contention.Lock], named
// [contention.SeveralLocks] if it shows that they are several. Of the readers that a writer waits
// for, the last one is known, and those that block, are stopped or wake a goroutine while they have
// the lock; readers that only compute are not, and the last one has their share. Waits that the
// trace does not see the end of are InFlight, and those for which the goroutine was not woken
// either are in Profile.Unfinished, with who holds the lock at the end where that is known.
//
// In workloads that log what they do, 95 % or more of what is blamed or called hand-off is right at
// that very time, in single runs beside two programs that compute. It is less where other programs
// take the cores away, which a trace does not show: with 15 busy threads for each core, 66 % of
// holds of 10 µs. How much of the truth is told differs: 67 to 100 % where processors are free, 9
// to 100 % where they are not, and next to nothing of a lock that is usually held for less than 8
// µs, for which goroutines spin: there, no owner is blamed once that is known.
//
// While an owner is blamed, the trace shows what it did: Pair.Activity. If it was itself blocked by
// another, that one is in Pair.Roots, or whoever blocked that one, and so on. Both are exact for
// who is blamed; the past of a goroutine with very many changes of state is kept in sums, and then
// some of it is Unknown.
//
// Programs that use the locks of package contention, with collection on, tell more to the trace:
// waits for those are exact, with the names of the locks, and flagged [contention.Logged]. Waits
// that a hot lock did not record are inferred like all others; see contention.Options.Exact.
//
// A trace that is cut off or broken gives the profile of what could be read, with a
// warning, and an error (a *[timeline.Error]) that says where the trouble is and what is
// missing. The profile is nil only if nothing could be read.
func Read(ctx context.Context, r io.Reader, opt Options) (*contention.Profile, error) {
	o := NewObserver(opt)
	info, err := timeline.Read(ctx, r, timeline.Options{Name: opt.Name, Progress: opt.Progress, MaxMemory: opt.MaxMemory, Part: opt.Part}, o)
	return o.result(info, err)
}

// ReadFile is [Read] for the trace in a file.
func ReadFile(ctx context.Context, name string, opt Options) (*contention.Profile, error) {
	if opt.Name == "" {
		opt.Name = name
	}
	o := NewObserver(opt)
	info, err := timeline.ReadFile(ctx, name, timeline.Options{Name: opt.Name, Progress: opt.Progress, MaxMemory: opt.MaxMemory, Part: opt.Part}, o)
	return o.result(info, err)
}

func (o *Observer) result(info *timeline.Info, err error) (*contention.Profile, error) {
	if info.Generations == 0 {
		return nil, err
	}
	p := o.Profile()
	p.Warnings = append(p.Warnings, info.Warnings(err)...)
	return p, err
}

// Observer folds a pass over a trace into a [contention.Profile]: the way to get it in one pass
// together with other analyses. [Read] is simpler if the profile is all you need.
type Observer struct {
	timeline.Base
	opt   Options
	begin timeline.Time
	end   timeline.Time
	wall  time.Time // of begin; zero if not known

	goroutines []*tracedGoroutine // by Goroutine.Index
	spare      []*tracedGoroutine // have exited
	places     places
	sections   readSections
	rows       traceRows
	locks      uint64 // how many there were
	pseudo     map[pseudoKey]*tracedLock
	fits       map[[2]*callSite]bool // see site.mayRelease
	apart      *[recentPlaces]recentApart
	inFlight   int64
	cutOff     timeline.Time // the longest wait for a lock that the trace did not see the end of
	waiting    []unfinishedWait
	left       []leftHolding
	lost       uint64 // waits that outlasted the memory of their lock
	room       pastRoom
	logs       traceLogs
	cutRoom    cutRoom
	cuts       traceCuts
	windows    *traceWindows // nil if there are none
	idle       idleTime
	marking    bool          // the collector marks,
	marked     timeline.Time // and did so last until then

	nowOf func(g *timeline.Goroutine) (timeline.Wait, *timeline.Stack)                    // tests: what g waits for now, and where
	audit func(waiter *timeline.Goroutine, g int64, by owner, from, to, ns timeline.Time) // tests: told of everything that is blamed on an owner of a lock
}

// pseudoKey names what is waited for where there is no lock.
type pseudoKey struct {
	wait  timeline.Wait
	class string
}

// NewObserver returns an observer for one pass.
func NewObserver(opt Options) *Observer {
	return &Observer{
		opt:    opt,
		places: newPlaces(orUsual(opt.MaxChains)),
		rows:   newTraceRows(orUsual(opt.MaxPairs)),
		pseudo: map[pseudoKey]*tracedLock{},
		fits:   map[[2]*callSite]bool{},
		apart:  new([recentPlaces]recentApart),
	}
}

// orUsual returns the n of an option, or the usual one.
func orUsual(n int) int {
	if n <= 0 {
		return 1 << 16
	}
	return n
}

// Begin implements [timeline.Observer].
func (o *Observer) Begin(b *timeline.Begin) {
	o.begin, o.end, o.cuts.at, o.idle.at = b.Time, b.Time, b.Time, b.Time
	o.windows = newTraceWindows(b.Time, o.opt.Window, o.rows.rest, min(o.rows.max, maxWindowCells))
}

// End implements [timeline.Observer].
func (o *Observer) End(e *timeline.End) { o.end = e.Time }

// Clock implements [timeline.Observer].
func (o *Observer) Clock(c *timeline.Clock) {
	if o.wall.IsZero() && !c.Wall.IsZero() {
		o.wall = c.Wall.Add(-time.Duration(c.Trace - o.begin))
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
		// A wait that took no time was outside of what is looked at: see timeline.During.
		if !o.opt.Runtime && !o.counts(t.G, &t.Interval) || t.Start == t.End && t.To.Alive() {
			g.finish(t)
			break
		}
		if t.To.Alive() {
			o.woken(g, t)
			g.finish(t)
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
			o.bookContended(&g.wait)
			g.wait.reset()
		}
	}
	if !t.To.Alive() {
		o.leaves(g, t)
		o.commit(g)
		o.goroutines[t.G.Index] = nil
	}
	if t.To == timeline.Waiting && (o.opt.Runtime || t.G.Kind == timeline.Application) {
		o.parked(g, t)
	}
	if t.State == timeline.Waiting && g.parkedAt != nil {
		g.unparked() // the wait was of its lock until now
	}
	if !t.To.Alive() {
		o.letGo(g)
	}
}

// blocked reports whether goroutines in a state wait for something that the profile is about.
func (o *Observer) blocked(s timeline.State) bool {
	return s == timeline.Waiting || s == timeline.SyscallBlocked && o.opt.Syscalls
}

// suspended reports whether the runtime stopped a goroutine that was running, for the collector to
// scan its stack or for the tracer to note its state. It waited for nothing; the function in which
// that happened has nothing to do with it.
func suspended(i *timeline.Interval) bool {
	return i.State == timeline.Waiting && i.Wait == timeline.WaitRuntime && i.Reason == "preempted"
}

// counts reports whether a wait is one of the program. The runtime's own parking is not, such as
// when the tracer stops, but for suspensions while the collector marks, and the waits of
// testing/synctest.
func (o *Observer) counts(g *timeline.Goroutine, i *timeline.Interval) bool {
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
func (o *Observer) Range(r *timeline.Range) {
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
func (o *Observer) Metric(m *timeline.Metric) {
	if m.Name == "/sched/gomaxprocs:threads" {
		o.idle.until(m.Time)
		o.idle.procs = int(min(m.Value, 1<<20))
	}
}

// goroutine returns what is known of a live goroutine.
func (o *Observer) goroutine(g *timeline.Goroutine) *tracedGoroutine {
	for g.Index >= len(o.goroutines) {
		o.goroutines = append(o.goroutines, nil)
	}
	k := o.goroutines[g.Index]
	if k == nil || k.g != g {
		if k != nil { // its end was not shown: it may be in use
			o.commit(k)
			k.shown = true
			o.letGo(k)
		}
		if n := len(o.spare); n > 0 {
			k = o.spare[n-1]
			o.spare = o.spare[:n-1]
		} else {
			k = &tracedGoroutine{lockState: &noLocks}
			if !o.opt.Quick {
				k.past = newPast()
			}
		}
		k.g = g
		if k.past != nil {
			k.past.room = &o.room
			o.room.live++
		}
		o.goroutines[g.Index] = k
	}
	return k
}

// maxSpare bounds the goroutines that have exited whose memory is kept for those that come. Tests
// keep none.
var maxSpare = 1 << 10

// letGo lets go of a goroutine that has exited, but for what holds still need of its past.
func (o *Observer) letGo(g *tracedGoroutine) {
	if !g.shown && len(o.spare) < maxSpare {
		if g.past != nil {
			o.room.used -= len(g.past.segs)
			o.room.live--
		}
		g.reset()
		o.spare = append(o.spare, g)
		return
	}
	if g.past == nil {
		return
	}
	g.past.trim(pastBlock)
	o.room.used -= len(g.past.segs)
	o.room.live--
	g.past.room = nil
}

// Profile returns what was found so far; all of it after the pass. See [Read] for a
// profile with the warnings of the pass.
func (o *Observer) Profile() *contention.Profile {
	return o.profile(o.settle())
}

// settle books the waits that are over, and returns how many are not.
func (o *Observer) settle() (inFlight int64) {
	inFlight = o.inFlight
	for _, g := range o.goroutines {
		if g == nil {
			continue
		}
		if g.wait.chosen {
			inFlight++
		} else {
			o.commit(g)
		}
	}
	return inFlight
}

// profile returns the rows as they are.
func (o *Observer) profile(inFlight int64) *contention.Profile {
	p := &contention.Profile{
		Source: contention.FromTrace, Accuracy: contention.Inferred,
		Start: o.wall, Duration: time.Duration(o.end - o.begin - o.cuts.missing), InFlight: inFlight,
	}
	o.bookAllKept()
	o.rows.copyTo(p, func(l *tracedLock) lockFacts { return l.lockFacts })
	p.Dropped.Chains = o.places.uses
	p.Dropped.Pairs, p.Dropped.Exits = o.rows.crowded, o.lost
	p.Unfinished = o.unfinishedRows()
	p.Finish(o.cuts.mark())
	o.warn(p)
	return p
}

// warn says what limits the trust in the numbers.
func (o *Observer) warn(p *contention.Profile) {
	o.warnLogged(p)
	if o.cutOff > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("Goroutines still waited for locks when the trace ended, one of them for %v; no sum has that.",
			time.Duration(o.cutOff).Round(time.Microsecond)))
	}
}
