package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/memory"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// How a gain was computed.
const (
	boundBasis    = "the capacity without what was lost here, all else as it was"
	overlapBasis  = "the capacity without idle processors: without these waits, more goroutines may run at a time"
	sleepsBasis   = "the sleeps of those that wait there, on average, which this does not shorten"
	commandsBasis = "cannot tell: the commands may use the processors that are idle here"
	longestBasis  = "the running time of the goroutine that ran longest, which this does not shorten"
)

// aloneAnyway returns the part of a cause for which the goroutine that makes its system calls ran
// alone for other reasons: it did more than these calls.
func (d *diagnosis) aloneAnyway(c *cause) time.Duration {
	if c.kind != Syscalls && c.kind != Blocking {
		return 0
	}
	return max(0, c.alone-d.timesOf(c)[ledger.Syscall]*time.Duration(d.l.Procs-1))
}

// finding describes a cause.
func (d *diagnosis) finding(c *cause) verdict.Finding {
	f := verdict.Finding{Kind: c.kind, Lost: c.lost, Share: ratio(c.lost, d.l.Capacity), Rows: c.rows}
	if rest := d.l.Capacity - c.lost + d.aloneAnyway(c); rest > 0 {
		f.Gain, f.Basis = float64(d.l.Capacity)/float64(rest), boundBasis
	} else {
		f.Basis = "all of the capacity was lost"
	}
	if longest := d.stays(c); float64(longest)*f.Gain > float64(d.l.Wall) {
		f.Gain, f.Basis = float64(d.l.Wall)/float64(longest), longestBasis
	}
	most, lost := f.Gain, format.Percent(c.lost, d.l.Capacity)
	top := &d.l.Rows[c.rows[0]]
	var at string
	at, f.Where = d.named(c)
	switch c.kind {
	case Serial:
		d.serial(&f, c, lost)
	case once:
		f.Kind = Serial
		f.Title = fmt.Sprintf("Processors had nothing to do for %s of the capacity while %s ran, which others waited for at %s.", lost, format.Func(c.name), at)
		if top.Wait == timeline.WaitOnce.String() {
			once := "Done once"
			if d.waitsIn(c.place, contention.OnceKind, "golang.org/x/sync/singleflight.") {
				once = "Done once for all that ask at a time (singleflight)"
			}
			f.Title = once + ": p" + f.Title[1:]
		}
		f.Where = append(f.Where[:min(len(f.Where), 1)], d.placesUnder(c)...)
		f.Advice = "Divide that among goroutines, begin it earlier, or let the others do other work until it is done."
	case Imbalance:
		f.Where = d.places(c.place)
		d.uneven(&f, c, lost)
	case Starved:
		f.Title = fmt.Sprintf("Too little parallel work: for %s of the capacity, processors had nothing to run while others did.", lost)
		for r := range d.rowsOf(c) {
			if d.own(r.Site) && r.Count > 1 { // a single wait is chance
				f.Where = d.from(r.Site, r.Callers)
				break
			}
		}
		f.Where = append(f.Where[:min(len(f.Where), 1)], d.hotPlaces(d.hottest())...)
		f.Advice = "Offer more work at a time: more goroutines, or larger batches, before the program waits for them."
	case Lock:
		d.lock(&f, c, at, lost)
	case Limit:
		d.limited(&f, c, at, lost)
	case HandOver:
		d.handOver(&f, c, lost)
	case Collector:
		d.collector(&f, c, lost)
	case Syscalls:
		held := d.taken(c.lost-c.alone-c.blocked, c.blocked) + fmt.Sprintf(" (%s of %s)", format.Plural(c.count, "call", "calls"), format.Duration((c.lost-c.alone-c.blocked)/time.Duration(max(c.count, 1))))
		f.Title = fmt.Sprintf("System calls at %s held processors for %s.", at, held)
		if c.name == severalPlaces {
			f.Title = fmt.Sprintf("System calls held processors for %s, most at %s.", held, d.mostPlaces(&f, c))
		} else if c.place == (timeline.Place{}) {
			f.Title = fmt.Sprintf("System calls in the standard library held processors for %s, most in %s.", held, d.mostGroups(c, 2))
			f.Where = d.places(top.Site)
		}
		f.Advice = d.fewerCalls(c)
		if c.name != severalPlaces && d.startsCommands(c) {
			start := "Starting commands"
			f.Advice = "A processor is held until the system has loaded the command. Start fewer commands that do more each, or do their work in the program."
			if ratio(c.blocked, d.l.Capacity) >= 0.01 || d.waitsForCommands(c) {
				start += " and waiting for them"
				f.Advice = "Run several at a time, or start fewer that do more each. A processor is held until the system has loaded a command; the trace does not cover what commands do after that."
			}
			f.Title = fmt.Sprintf("%s (os/exec) at %s held processors for %s.", start, at, held)
		}
		d.andAlone(&f, c)
		if without(&f, "the calls", "without the code around them"); d.startsCommands(c) {
			f.Basis = commandsBasis
		}
	case Blocking:
		busy := d.timesOf(c)[ledger.Syscall]
		lost = format.Percent(c.lost-c.alone-busy, d.l.Capacity)
		times := d.times(c, "call", "calls")
		what := "system calls"
		if c.name == severalPlaces {
			what, at = what+", most", d.mostPlaces(&f, c)+","
		}
		if f.Title = idles("Waiting for "+what, at, lost, times); ratio(busy, d.l.Capacity) >= 0.01 {
			f.Title = fmt.Sprintf("Long "+what+" at %s held processors for %s%s.", at, d.taken(busy, c.lost-c.alone-busy), times)
		}
		call := cmp.Or(d.calls(c), top)
		if f.Advice = moreCalls(call); c.lost-c.alone-busy < busy/4 && !writesOut(call) {
			f.Advice = "Make fewer, larger calls, or have several goroutines make them. If they usually take less time, other programs may have used the processors."
		}
		if d.ofFile(c) {
			took := "left " + lost + " of the capacity idle"
			if ratio(busy, d.l.Capacity) >= 0.01 {
				took = "held processors for " + d.taken(busy, c.lost-c.alone-busy)
			}
			if f.Title = fmt.Sprintf("The lock of a file, waited for at %s, %s%s.", strings.TrimSuffix(at, ","), took, times); len(c.inside) > 0 {
				f.Title = strings.TrimSuffix(f.Title, ".") + " while " + d.doing(c.inside) + "."
				f.Where = slices.Insert(f.Where, min(1, len(f.Where)), d.placesInside(c)...)
			}
			f.Advice = "It lets one of them in at a time: hold it for less time."
		}
		if command(top) {
			f.Title, f.Advice = idles("Waiting for a command (os/exec)", at, lost, ""), slowCommand
		}
		d.andAlone(&f, c)
		if held := d.at[visited{ledger.Syscall, c.place}].time; ratio(held, d.l.Capacity) >= worthTelling {
			without(&f, "the waits", "with fewer calls")
		}
	case Sleep:
		f.Title, f.Advice = idles("Sleeping", at, lost, d.times(c, "time", "times")), "Wait for what is expected instead of sleeping, or have more of it under way at a time."
		if others := d.othersWait(&f, c); others != "" {
			f.Advice = others + "have more of it under way at a time, or shorten it."
		}
	case Timer:
		f.Title = idles("Waiting for a timer", at, lost, d.times(c, "time", "times"))
		if top.Wait == timeline.WaitCreated.String() && (c.place == (timeline.Place{}) || symbol.IsProgram(top.Group, "")) {
			f.Title = fmt.Sprintf("Waiting for timers that start goroutines (time.AfterFunc) left %s of the capacity idle, most for %s.", lost, d.mostGroups(c, 2))
			f.Where = d.hotPlaces(top.Group)
		}
		f.Advice = "A timer sets the pace there (a ticker, a rate limiter, time.After, a deadline), not the processors: shorten it, do more each time or, if it polls, wait for what is expected instead."
		if others := d.othersWait(&f, c); others != "" {
			f.Advice = others + "if it is not meant to set their pace, have more of it under way at a time, or shorten it."
		} else if c.waits == 1 {
			f.Advice = "A deadline or a timer ended it, not the program." + d.stuck(&f, c)
		}
	case Network:
		d.network(&f, c, at, lost)
	case Cgo:
		f.Title = fmt.Sprintf("Waiting for C code left %s of the capacity idle.", lost)
		f.Where = d.places(top.Site)
		if c.alone > 0 {
			at := d.ran[c.name].inC
			f.Where = d.from(at.Site, at.Callers)
			f.Title = fmt.Sprintf("C code at %s left %s of the capacity idle: no others ran beside %s, which calls it.", short(at.Site), lost, format.Func(c.name))
			f.Advice = "Have several goroutines call it at a time, or make fewer calls. A trace does not show whether it computes or waits."
			without(&f, "idle processors", "with fewer calls")
		}
	case Tracing:
		f.Title = fmt.Sprintf("Tracing itself took %s of the capacity: the other numbers are those of a program that is slower than usual.", lost)
		if d.timesOf(c)[ledger.NoWork] > c.lost/2 {
			f.Title = fmt.Sprintf("Stopping the tracer left %s of the capacity idle at the end: a longer recording has less of that.", lost)
		}
	case Runtime:
		d.runtime(&f, c, lost)
	case Switching:
		f.Title = fmt.Sprintf("Yielding at %s took %s of the capacity, from one goroutine to the next (%s).", at, lost, format.Plural(c.count, "time", "times"))
		if f.Advice = "If it yields until something has happened, wait for that instead (a channel, a sync.Cond)."; !d.ownModule(c.place) {
			f.Advice = "A library does that for the program: call it less often, for more at a time."
		}
	case Tiny:
		d.tinyGoroutines(&f, c.groups, fmt.Sprintf("; %s of the capacity went to starting them and waiting for them", lost))
		for r := range d.rowsOf(c) {
			if r.Wait == timeline.WaitCreated.String() {
				top = r // where they are started
				break
			}
		}
		if f.Where = d.from(top.Site, top.Callers); top.Waker == "" && top.Site.Func == "" {
			f.Where, f.Advice = d.hotPlaces(top.Group), "Timers start them (time.AfterFunc): use fewer timers that do more each."
		}
	case pieces:
		d.tinyPieces(&f, c.name, fmt.Sprintf("; %s of the capacity went to handing over", lost))
		f.Advice = d.herd(c) + f.Advice
	case NoWork:
		f.Title = fmt.Sprintf("Nothing ran for %s of the capacity, to the end of the trace.", lost)
		f.Advice = "The program had no work, or all of its goroutines wait for ever." + d.stuck(&f, c)
		if top.Category == ledger.Outside { // the wait of the goroutine that recorded
			f.Title = fmt.Sprintf("Nothing ran for %s of the capacity, to the end of the recording.", lost)
			f.Advice, f.Where = "What the program waited for shows in a longer one.", nil
		}
		f.Gain, f.Basis = 0, "" // of work that does not exist
		if d.Window {
			f.Title = fmt.Sprintf("Nothing ran for %s of the capacity, to the end of the window and for long after it.", lost)
			f.Advice = "What the program waited for shows in a larger window."
		}
	}
	f.Advice = d.lastOf(&f, c) + f.Advice
	if f.Gain > 0 {
		d.bound(&f, c)
	}
	if least, slept := d.sleeps(c); slept > 0 && most > 0 && float64(d.l.Wall)/float64(slept) < most {
		if f.Gain, f.Basis = float64(d.l.Wall)/float64(least), sleepsBasis; least < slept*2/3 {
			f.Gain = float64(d.l.Wall) / float64(slept)
			without(&f, "these waits", "if the sleeps are shorter: in a program that is idle they take some milliseconds longer")
		}
	}
	return f
}

// othersWait begins the advice on a wait that is not for the processors, if others wait for those
// that wait there, and adds the place of these to the finding; or else it returns "". Those that wait
// for the goroutines of a server are its workers, without work.
func (d *diagnosis) othersWait(f *verdict.Finding, c *cause) string {
	top := &d.l.Rows[c.rows[0]]
	by := d.servedBy(top.Group)
	n := d.waitedFrom(by.place)
	if !d.own(by.place) || by.place == top.Site || by.place == c.place || n < 0.5 || d.connected(top.Group) {
		return ""
	}
	f.Where = slices.Insert(f.Where, min(1, len(f.Where)), by.place)
	return fmt.Sprintf("Others wait for that at %s (%s on average): ", by.place, format.Number(n))
}

// sleeps returns for how long goroutines that wait at a limit or a lock slept, on average, or waited
// past a limit for what is outside the program: that stays without the limit or the lock. They slept
// for least at least, as each sleep may have taken longer than it was meant to.
func (d *diagnosis) sleeps(c *cause) (least, most time.Duration) {
	each := func(slept time.Duration, goroutines int, like func(*contention.Wait) bool) {
		most = max(most, slept/time.Duration(max(goroutines, 1)))
		for i := range d.Contention.Waits {
			if w := &d.Contention.Waits[i]; w.Kind == contention.SleepKind && like(w) {
				slept -= time.Duration(w.Contentions) * oversleeps
			}
		}
		least = max(least, slept/time.Duration(max(goroutines, 1)))
	}
	slept := func(group string) {
		if b := d.boxes[group]; b != nil && d.Contention != nil {
			each(b.Waiting[timeline.WaitSleep.String()], b.Goroutines, func(w *contention.Wait) bool { return w.Waiter.Group == group })
		}
	}
	switch l := d.limitAt[c.place]; {
	case c.kind == Lock:
		for r := range d.rowsOf(c) {
			if isLock(r.Wait) {
				slept(r.Group)
			}
		}
	case c.kind == Limit && l != nil && l.sort != workers:
		slept(l.waiters)
		n := 0
		for group, b := range d.boxes {
			if group == l.waiters || l.holders[group] > 0 {
				n += b.Goroutines
			}
		}
		for _, in := range c.inside {
			if in.kind == Sleep || in.kind == Network {
				each(time.Duration(in.mean*float64(d.l.Wall)), n, func(w *contention.Wait) bool { return passes(w.Waiter.Stack, in.place) })
			}
		}
	}
	return least, most
}

// oversleeps is by how much a sleep may take longer in a program that is idle: the system waits for whole
// milliseconds then, and a virtual or busy machine for some more.
const oversleeps = 3 * time.Millisecond

// lastOf returns a sentence about goroutines that others start in batches and wait for, if most
// of a batch are done long before those that wait outside the program for longest; or else "". It
// adds the place of that wait to the finding.
func (d *diagnosis) lastOf(f *verdict.Finding, c *cause) string {
	if c.kind != Sleep && c.kind != Timer && c.kind != Network && c.kind != Blocking || d.Contention == nil || d.windowed() {
		return ""
	}
	var all *bottle.Box
	for r := range d.rowsOf(c) {
		group := r.Group
		if by := d.servedBy(group).group; by != "" && !d.own(r.Site) {
			group = by
		}
		if b := d.boxes[group]; all == nil && b != nil && r.Empty() {
			all = b
		}
	}
	if all == nil {
		return ""
	}
	waited := map[timeline.Place]time.Duration{}
	for i := range d.Contention.Pairs {
		if w := &d.Contention.Pairs[i]; w.Kind == contention.WaitGroupKind && w.Owner.Group == all.Group {
			p, _ := d.placeIn(w.Waiter.Stack)
			waited[p] += w.Blamed
		}
	}
	at := largest(waited, timeline.Place.Compare)
	var batches int64
	var during time.Duration
	for i := range d.Contention.Waits {
		if w := &d.Contention.Waits[i]; w.Kind == contention.WaitGroupKind {
			if p, _ := d.placeIn(w.Waiter.Stack); p == at {
				batches, during = batches+w.Contentions, during+w.Waited
			}
		}
	}
	if batches < 2 || !d.own(at) || during*time.Duration(d.l.Procs) < c.lost/2 {
		return ""
	}
	size, left := float64(all.Goroutines)/float64(batches), ratio(all.Running+all.Runnable+all.Blocked(), during)
	if left > size/2 {
		return ""
	}
	f.Where = append(f.Where[:min(len(f.Where), 2)], at)
	return fmt.Sprintf("At %s, others wait for the last of %s goroutines, of which only %s are not done, on average: begin the next ones before the slowest is done. ", at, format.Count(int64(size+0.5)), format.Number(left))
}

// maxWaking bounds the running time that one wait and its end take, which a repair saves: the system
// call that wakes another processor is most of it.
const maxWaking = 10 * time.Microsecond

// bound sets the gain of a finding, allowing for what a repair saves beside the lost capacity: the
// running time of its waits, and other idle time if goroutines then overlap. There is no bound if its
// waits may be most of what the program would still do, and none for a lock that is often waited for:
// goroutines may also have spun for it, and got it.
func (d *diagnosis) bound(f *verdict.Finding, c *cause) {
	if d.forCommands(c) || d.readsCommand(c) {
		f.Gain, f.Basis = 0, commandsBasis
		return
	}
	if ratio(d.of[ledger.C], d.l.Capacity) >= worthTelling {
		without(f, "these waits", "if C code then runs at the same time, which takes no processor for long")
		return
	}
	rest, basis, unused := d.l.Capacity-c.lost, boundBasis, time.Duration(0)
	if c.kind != Tracing && c.kind != Runtime { // these offer the collector's processors no work
		unused = d.idleCollector()
	}
	rest -= unused
	if less, calls := d.overlapped(c); less > 0 && rest-less > c.lost/2 {
		without(f, "these waits", "if goroutines then run at the same time")
		return
	} else if calls > less/10 {
		f.Gain = float64(d.l.Capacity) / float64(less)
		without(f, "idle processors", "if goroutines then run during the long system calls of others")
		return
	} else if c.kind == Network && ratio(d.callsOf(c), d.l.Capacity) >= worthTelling {
		f.Gain = float64(d.l.Capacity) / float64(less)
		without(f, "idle processors", "with fewer, larger messages")
		return
	} else if less -= calls; less > 0 && rest-less > rest/20 {
		rest, basis = less, overlapBasis
	}
	var waits int64
	if d.l.Rows[c.rows[0]].Empty() {
		waits = min(max(c.count, c.waits), d.l.Slices) // one wait may leave several processors idle
	}
	saved := time.Duration(waits) * maxWaking
	if saved <= rest/100 {
		saved = 0
	}
	if saved > min(rest/2, c.lost) || saved > 0 && f.Kind == Lock {
		without(f, "these waits", "because waiting and waking take running time, too")
		return
	} else if unused > 2*c.lost && basis == boundBasis {
		without(f, "this", "if the program then uses the processors that only the collector used")
		return
	}
	f.Gain, f.Basis = float64(d.l.Capacity)/float64(rest-saved), basis
	if least := d.stays(c) - saved; float64(least)*f.Gain > float64(d.l.Wall) { // all waits may be those of this goroutine
		f.Gain, f.Basis = float64(d.l.Wall)/float64(least), longestBasis
	}
	if saved > 0 {
		f.Basis += fmt.Sprintf(", and %s less running for each of %s", format.Duration(maxWaking), format.Plural(waits, "wait", "waits"))
	}
}

// forCommands reports whether most of a cause is waiting for commands.
func (d *diagnosis) forCommands(c *cause) bool {
	var sum time.Duration
	for r := range d.rowsOf(c) {
		if r.Empty() && command(r) {
			sum += r.Time
		}
	}
	return sum > c.lost/2 || slices.ContainsFunc(c.inside, func(in inside) bool { return in.kind == Syscalls && c.kind == Limit })
}

// stays returns the longest running time of a goroutine if repairs of a cause shorten waits
// alone, not system calls, or 0.
func (d *diagnosis) stays(c *cause) time.Duration {
	switch c.kind {
	case Lock:
		if d.ownerRuns(c) > 0 || d.timesOf(c)[ledger.Syscall] >= d.l.Capacity/100 {
			return 0
		}
		fallthrough
	case Limit, HandOver, Sleep, Timer, Network:
		for _, b := range d.boxes { // one that never waits may poll until others are done
			if b.Running > d.l.Wall*9/10 && b.Goroutines == 1 && b.Blocked() == 0 {
				return 0
			}
		}
		return d.longest()
	}
	return 0
}

// isOfLibrary reports whether the standard library, not the program, acquires a lock most of the
// time.
func (d *diagnosis) isOfLibrary(lock timeline.Place) bool {
	if d.Contention == nil {
		return false
	}
	lock = d.find(lock)
	var library, all time.Duration
	for i := range d.Contention.Waits {
		w := &d.Contention.Waits[i]
		if p, _ := d.placeIn(w.Waiter.Stack); isLock(string(w.Kind)) && d.find(p) == lock {
			if all += w.Waited; d.inLibrary(w.Waiter.Stack) {
				library += w.Waited
			}
		}
	}
	return library > all/2
}

// ownerRuns returns for how long a group of goroutines ran that releases a lock, if that is most of
// the time, or else 0. It may do so only until others are done, and a repair shortens what it does
// under the lock.
func (d *diagnosis) ownerRuns(lock *cause) (ran time.Duration) {
	for r := range d.rowsOf(lock) {
		if isLock(r.Wait) && r.Waker != r.Group {
			ran = max(ran, d.alone(d.called(r.Waker)))
		}
	}
	if d.Graph == nil || ran < d.Graph.Wall/2 {
		return 0
	}
	return ran
}

// overlapped returns the capacity that a program would still need without a wait that let goroutines
// run one by one: they may run at the same time, on processors that were idle for other reasons or
// that long system calls held while no other goroutine was ready. calls is the part of rest in such
// calls. The results are 0 for other causes.
func (d *diagnosis) overlapped(c *cause) (rest, calls time.Duration) {
	switch c.kind {
	case Limit, Sleep, Timer, Network:
	default:
		return 0, 0
	}
	rest = d.l.Capacity - c.lost - d.idleCollector()
	for i := range d.l.Rows {
		switch r := &d.l.Rows[i]; {
		case r.Empty():
			rest -= r.Time
		case r.Category == ledger.Syscall && r.Time > time.Duration(r.Count)*leastRetake && !slices.Contains(c.rows, i):
			calls += r.Time
		}
	}
	for r := range d.rowsOf(c) {
		if r.Empty() {
			rest += r.Time
		}
	}
	return rest, calls
}

// callsOf returns the time of the system calls of the goroutines that wait for a cause.
func (d *diagnosis) callsOf(c *cause) (sum time.Duration) {
	seen := map[string]bool{}
	for r := range d.rowsOf(c) {
		if group := d.called(r.Group); !seen[group] {
			seen[group] = true
			sum += d.ran[group].calls
		}
	}
	return sum
}

// leastRetake is the least time after which the runtime takes the processor from a system call, if
// another goroutine is ready.
const leastRetake = 20 * time.Microsecond

// taken returns the parts of the capacity that calls held, and that was idle because of them.
func (d *diagnosis) taken(held, idle time.Duration) string {
	parts := format.Percent(held, d.l.Capacity) + " of the capacity"
	if ratio(idle, d.l.Capacity) >= 0.01 {
		parts += ", and left " + format.Percent(idle, d.l.Capacity) + " idle"
	}
	return parts
}

// andAlone adds that processors were idle while the caller of the system calls ran alone.
func (d *diagnosis) andAlone(f *verdict.Finding, c *cause) {
	if c.alone == 0 {
		return
	}
	who := "goroutines that make them"
	if c.name != severalPlaces {
		who = format.Func(c.name)
	}
	f.Title = strings.TrimSuffix(f.Title, ".") + fmt.Sprintf("; while %s ran alone, the other processors had nothing to do for %s.", who, format.Percent(c.alone, d.l.Capacity))
}

// dials reports whether a finding may be the cost of connections that net/http opens for the program.
func (d *diagnosis) dials(f *verdict.Finding) bool {
	switch f.Kind {
	case Collector:
		return true
	case Saturated:
		return len(f.Where) > 0 && strings.HasPrefix(f.Where[0].Func, "crypto/")
	case Syscalls, Network:
		return slices.ContainsFunc(f.Rows, func(i int) bool { return strings.HasPrefix(d.l.Rows[i].Site.Func, "net/http.") })
	}
	return false
}

// opened returns advice on the connections that net/http opens for the program, if most requests have
// one of their own; or else "".
func (d *diagnosis) opened() string {
	if d.Contention == nil || d.windowed() {
		return ""
	}
	var opened, requests int64
	for group, b := range d.boxes {
		if strings.HasPrefix(group, "net/http.(*Transport).") && strings.Contains(group, "ialConnFor") {
			opened += int64(b.Goroutines)
		}
	}
	for i := range d.Contention.Waits {
		if w := &d.Contention.Waits[i]; calls(w.Waiter.Stack, "net/http.(*persistConn).roundTrip") {
			requests += w.Contentions
		}
	}
	if opened < 100 || opened < requests/4 { // a request waits until it is written, and for its response
		return ""
	}
	return fmt.Sprintf("The program opened %s: have net/http use them again (one Client for all; read each response to its end and close it; raise MaxIdleConnsPerHost of the Transport). ", format.Plural(opened, "connection", "connections"))
}

// fewerCalls returns the advice on the short system calls of a cause, by the longest of them. A
// buffer makes fewer of those that read or write; a file or directory has its own of most others.
func (d *diagnosis) fewerCalls(c *cause) string {
	r := d.calls(c)
	waits := c.kind == Syscalls && c.blocked > (c.lost-c.alone-c.blocked)/2 && c.lost-c.alone > time.Duration(c.count)*leastRetake
	switch {
	case r != nil && writesOut(r):
		return moreCalls(r)
	case r != nil && c.key == (key{kind: Syscalls}) && strings.HasPrefix(r.Site.Func, "net/http."):
		return "Each request takes some: send fewer that do more each."
	case r != nil && (r.Callee == "os.ReadFile" || r.Callee == "os.WriteFile") || r != nil && slices.ContainsFunc(byName, func(part string) bool { return strings.Contains(r.Call, part) }):
		several := ""
		if waits || c.alone > 0 {
			several = "have several goroutines make them at a time, or "
		}
		return "Each file or directory has its own calls (" + r.Call + "): " + several + "make fewer."
	case waits:
		return moreCalls(&d.l.Rows[c.rows[0]])
	}
	return "Make fewer, larger calls: a buffer does that for writes and reads."
}

// moreCalls returns the advice on system calls that wait, which are those of a row.
func moreCalls(r *ledger.Row) string {
	if writesOut(r) {
		return "Each waits until the disk has written: sync once for several changes, in batches or for all that wait at a time."
	}
	return "Have more of them under way at a time, or fewer (fsync, small reads)."
}

// writesOut reports whether the system calls of a row wait until the disk has written.
func writesOut(r *ledger.Row) bool {
	return strings.Contains(r.Call, "sync") || r.Call == "flushfilebuffers"
}

// byName are parts of the names of system calls that find, open, describe and change files and
// directories.
var byName = []string{"open", "creat", "close", "stat", "dir", "dents", "link", "rename", "chmod", "chown", "utime", "access", "truncate", "findfirst", "findnext", "fileinfo", "fileattr", "deletefile", "movefile"}

// placesUnder returns where a group of goroutines ran most in calls from the place of a cause, or else
// where it ran most.
func (d *diagnosis) placesUnder(c *cause) []timeline.Place {
	for _, i := range d.code[c.name] {
		if r := &d.l.Rows[i]; d.own(r.Site) && slices.Contains(r.Callers, c.place) {
			return d.from(r.Site, r.Callers)
		}
	}
	return d.hotPlaces(c.name)
}

// hotPlaces returns where a group of goroutines ran most, with the callers.
func (d *diagnosis) hotPlaces(group string) []timeline.Place {
	p, callers := d.hot(group)
	return d.from(p, d.orWaits(group, p, callers))
}

// mostGroups lists the groups of goroutines with the most time of a cause.
func (d *diagnosis) mostGroups(c *cause, n int) string {
	list, _ := d.most(c, n, func(r *ledger.Row) string { return format.Func(r.Group) })
	return list
}

// mostPlaces lists the places with the most time of a cause and makes them the places of the
// finding. Places of the standard library are listed only if the program has none.
func (d *diagnosis) mostPlaces(f *verdict.Finding, c *cause) string {
	own := false
	for r := range d.rowsOf(c) {
		own = own || d.own(d.lineOf(r))
	}
	list, first := d.most(c, 2, func(r *ledger.Row) string {
		if p := d.lineOf(r); p.Func != "" && (!own || d.own(p)) {
			return short(p)
		}
		return ""
	})
	for _, i := range first {
		f.Where = append(f.Where, d.places(d.lineOf(&d.l.Rows[i]), d.behalfOf(&d.l.Rows[i]))...)
	}
	return list
}

// most lists the names with the most time of a cause and returns the largest row of each.
func (d *diagnosis) most(c *cause, n int, nameOf func(*ledger.Row) string) (list string, rows []int) {
	sums, row := map[string]time.Duration{}, map[string]int{}
	for _, i := range slices.Backward(c.rows) {
		if name := nameOf(&d.l.Rows[i]); name != "" {
			sums[name] += d.l.Rows[i].Time
			row[name] = i
		}
	}
	names := slices.SortedFunc(maps.Keys(sums), func(a, b string) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b)) })
	var out []string
	for i, name := range names[:min(n, len(names))] {
		if i > 0 && sums[name] < d.l.Capacity/100 {
			break
		}
		out = append(out, fmt.Sprintf("%s (%s)", name, format.Percent(sums[name], d.l.Capacity)))
		rows = append(rows, row[name])
	}
	return strings.Join(out, " and "), rows
}

// times returns, in parentheses, how often goroutines waited for a cause and how many waited at a
// time if more than one; "" if neither is known. A wait may leave several processors idle, or none.
func (d *diagnosis) times(c *cause, one, many string) string {
	var said []string
	if c.waits = d.waits(c); c.waits > 0 {
		said = append(said, format.Plural(c.waits, one, many))
	}
	if n := d.atATime(c); n >= 1.5 {
		said = append(said, format.Number(n)+" at a time")
	}
	if len(said) == 0 {
		return ""
	}
	return " (" + strings.Join(said, ", ") + ")"
}

// waits returns how often goroutines waited for a cause or, for system calls, the number of calls
// at its places; 0 if that is unknown, for example if goroutines end some of the waits and timers
// others.
func (d *diagnosis) waits(c *cause) (n int64) {
	type at struct {
		wait  string
		place timeline.Place
	}
	call := timeline.WaitSyscall.String()
	behind := map[at]bool{} // regardless of names: handlers rename goroutines temporarily
	for r := range d.rowsOf(c) {
		if !d.beside(c, r) && r.Wait != timeline.WaitOther.String() {
			behind[at{cmp.Or(r.Wait, call), r.Site}] = true
		}
	}
	if c.kind == Blocking {
		for b := range behind {
			if b.wait == call {
				n += d.at[visited{ledger.Syscall, b.place}].count
			}
		}
		return n
	}
	if d.Contention == nil || d.windowed() {
		return 0
	}
	is := func(p *contention.Party, kind string) bool {
		return slices.ContainsFunc(framesOf(p.Stack), func(f contention.Frame) bool { return behind[at{kind, placeOf(f)}] })
	}
	for i := range d.Contention.Pairs {
		if p := &d.Contention.Pairs[i]; p.Owner.Stack != nil && is(&p.Waiter, p.Kind) {
			return 0
		}
	}
	for i := range d.Contention.Waits {
		if w := &d.Contention.Waits[i]; is(&w.Waiter, w.Kind) {
			n += w.Contentions
		}
	}
	return n
}

// network describes the connection that goroutines wait for.
func (d *diagnosis) network(f *verdict.Finding, c *cause, at, lost string) {
	times, what := d.times(c, "time", "times"), "the network"
	f.Advice = "The other end sets the pace: have more requests under way at a time, or make it faster."
	switch {
	case d.readsCommand(c):
		what, times, f.Advice = "a command (os/exec)", "", slowCommand
	case d.throughFile(c):
		what = "a pipe or a device"
		f.Advice = "The other end sets the pace. If that is a command: " + strings.ToLower(slowCommand[:1]) + slowCommand[1:]
	}
	switch {
	case d.forRequests(c):
		// Each connection waits for its next request, also while it serves one.
		f.Title = fmt.Sprintf("Waiting for requests from the network left %s of the capacity idle.", lost)
		f.Advice, f.Gain, f.Basis = "The clients set the pace there: with more requests at a time, it would be less.", 0, ""
		if d.leavesIdle(c) {
			f.Kind, f.Advice = NoWork, ""
			f.Title = fmt.Sprintf("Nothing to do for %s of the capacity: processors were idle until requests came from the network.", lost)
		}
	case c.name == severalPlaces:
		f.Title = fmt.Sprintf("Waiting for %s left %s of the capacity idle%s, most at %s.", what, lost, times, d.mostPlaces(f, c))
	case c.place == timeline.Place{}:
		f.Title = fmt.Sprintf("Waiting for %s left %s of the capacity idle%s.", what, lost, times)
	default:
		f.Title = idles("Waiting for "+what, at, lost, times)
	}
}

// throughFile reports whether a cause waits mostly for a file, through the network poller.
func (d *diagnosis) throughFile(c *cause) bool {
	return c.kind == Network && d.mostly(c, d.fromFile)
}

// fromFile reports whether goroutines wait for a file, through the network poller, at the place
// of a row.
func (d *diagnosis) fromFile(r *ledger.Row) bool {
	return d.waitsIn(r.Site, contention.NetworkKind, "os.(*File).")
}

// readsCommand reports whether a cause is reading from pipes in goroutines of os/exec, or in a
// function that also starts commands or waits for them: it reads their output.
func (d *diagnosis) readsCommand(c *cause) bool {
	if c.kind != Network || !d.mostly(c, func(r *ledger.Row) bool { return command(r) || d.fromFile(r) }) {
		return false
	}
	fn := symbol.Enclosing(c.place.Func)
	return fn != "" && slices.ContainsFunc(d.l.Rows, func(r ledger.Row) bool { return command(&r) && symbol.Enclosing(r.Site.Func) == fn }) ||
		d.mostly(c, func(r *ledger.Row) bool { return strings.HasPrefix(r.Group, "os/exec.") })
}

// mostly reports whether rows like that are nearly all of a cause.
func (d *diagnosis) mostly(c *cause, like func(*ledger.Row) bool) bool {
	var sum time.Duration
	for r := range d.rowsOf(c) {
		if like(r) {
			sum += r.Time
		}
	}
	return sum*10 > c.lost*9
}

// idles is the sentence about a wait at a place.
func idles(what, at, lost, times string) string {
	return fmt.Sprintf("%s at %s left %s of the capacity idle%s.", what, at, lost, times)
}

// slowCommand is the advice on a program that this one has started.
const slowCommand = "The trace does not cover what the command does: make it faster, or run several at a time."

// leavesIdle reports whether the program waited for little else than a cause and did little.
func (d *diagnosis) leavesIdle(c *cause) bool {
	used := d.used()
	return used <= d.l.Capacity/2 && c.lost >= (d.l.Capacity-used)/2
}

// forRequests reports whether most of a cause was a server's wait for clients.
func (d *diagnosis) forRequests(c *cause) bool {
	if c.kind != Network {
		return false
	}
	var requests, all time.Duration // of its own rows
	for r := range d.rowsOf(c) {
		if d.beside(c, r) {
			continue
		}
		of := func(prefix string) bool { return strings.HasPrefix(r.Site.Func, prefix) }
		all += r.Time
		if slices.ContainsFunc(serverWaits, of) || d.waitsIn(r.Site, contention.NetworkKind, accepts) || d.reads(r.Group) {
			requests += r.Time
		}
	}
	return requests*10 > all*9
}

const accepts = "net.(*netFD).accept"

// serverWaits begin the functions in which a server of the standard library waits for clients.
var serverWaits = []string{"net/http.(*connReader).", "net/http.(*conn).", "net/http.(*Server).", "net/http.(*http2serverConn)."}

// reads reports whether a group of goroutines waits for the network at one place only, and was
// started where connections are accepted: it waits for what clients send. Goroutines older than the
// trace were started there if a function of their package accepts.
func (d *diagnosis) reads(group string) bool {
	b, started := d.boxes[group], d.ran[group].started
	if b == nil || d.Contention == nil || len(b.Sites[timeline.WaitNetwork.String()]) != 1 {
		return false
	}
	starts := func(w contention.Wait) bool {
		frames := framesOf(w.Waiter.Stack)
		if !calls(w.Waiter.Stack, accepts) {
			return false
		} else if started != nil {
			return w.Waiter.Group == started.Waker
		}
		i := slices.IndexFunc(frames, func(f contention.Frame) bool {
			return !slices.Contains([]string{"runtime", "internal/poll", "net", "crypto/tls"}, symbol.Package(f.Func))
		})
		return b.Goroutines > 1 && i >= 0 && symbol.Package(frames[i].Func) == symbol.Package(group)
	}
	return slices.ContainsFunc(d.Contention.Waits, starts) || slices.ContainsFunc(d.Contention.Unfinished, starts)
}

// waitsIn reports whether goroutines that wait at a place do so in a function.
func (d *diagnosis) waitsIn(p timeline.Place, kind string, fn string) bool {
	if d.Contention == nil {
		return false
	}
	return slices.ContainsFunc(d.Contention.Waits, func(w contention.Wait) bool {
		return w.Kind == kind && calls(w.Waiter.Stack, fn) && passes(w.Waiter.Stack, p)
	})
}

// handOver describes the way from one goroutine to the next.
func (d *diagnosis) handOver(f *verdict.Finding, c *cause, lost string) {
	var scheduler, pulled, beside time.Duration // pulled: by iter.Pull; beside: while others ran
	var count, turns, waits int64
	var groups []string
	ran := map[string]time.Duration{}
	for r := range d.rowsOf(c) {
		if r.Category == ledger.Scheduler {
			scheduler, count = scheduler+r.Time, count+r.Count
		}
		if r.Wait == timeline.WaitCoroutine.String() {
			pulled += r.Time
		}
		if r.Category == ledger.Idle && d.boxes[r.Beside] != nil {
			beside, waits = beside+r.Time, waits+r.Count
			ran[r.Beside] += r.Time
		}
		for _, p := range d.places(r.Site, r.WakerSite) {
			inFunc := func(q timeline.Place) bool { return q.Func == p.Func } // preemption shows several lines of a loop
			if d.own(p) && len(f.Where) < 3 && !slices.ContainsFunc(f.Where, inFunc) {
				f.Where = append(f.Where, p)
			}
		}
		if !slices.Contains(groups, r.Group) {
			groups = append(groups, r.Group)
			if r.Wait == timeline.WaitCoroutine.String() {
				turns += d.ran[d.called(r.Group)].slices
			}
		}
	}
	unused := d.timesOf(c)[ledger.NoWork] // processors that had none to run
	if pulled > (c.lost-unused)/2 {
		f.Title = fmt.Sprintf("Taking turns: an iterator of iter.Pull and the goroutine that pulls never run at the same time, and the processor that this leaves idle is %s of the capacity (%s), most for %s.", lost, format.Plural(turns, "turn", "turns"), d.mostGroups(c, 2))
		f.Advice = "If both parts take long, have a goroutine send batches through a channel; else range over the iterator itself."
		return
	}
	if beside > (c.lost-unused)/2 && beside > time.Duration(waits)*lateThread && d.takeTurns(f, ran, lost) {
		return
	}
	until := "goroutines ran that others had woken"
	if ratio(unused, d.l.Capacity) >= 0.01 {
		until += ", or had none to run"
	}
	f.Title = fmt.Sprintf("Handing over: processors were idle for %s of the capacity until %s (%s), most for %s.", lost, until, format.Plural(c.count, "time", "times"), d.mostGroups(c, 2))
	f.Advice = d.herd(c) + "Hand over less often: do more for each message, or let one goroutine do both parts."
	if scheduler > c.lost/2 {
		f.Kind = Switching
		f.Title = fmt.Sprintf("The scheduler took %s of the capacity, from one goroutine to the next (%s).", format.Percent(scheduler, d.l.Capacity), format.Plural(count, "time", "times"))
		if waking := c.lost - scheduler; ratio(waking, d.l.Capacity) >= 0.01 {
			f.Title = strings.TrimSuffix(f.Title, ".") + fmt.Sprintf(", and processors were idle for %s until goroutines ran that others had woken.", format.Percent(waking, d.l.Capacity))
		}
		f.Advice = "Have goroutines do more before they wait."
	}
	if mean, short := d.shortSlices(); short {
		f.Title = strings.TrimSuffix(f.Title, ".") + fmt.Sprintf("; goroutines ran for only %s at a time.", format.Duration(mean))
	}
	took := ""
	pinned := slices.DeleteFunc(slices.Clone(d.l.Pinned), func(group string) bool { return !slices.Contains(groups, group) })
	if latency := d.latency(c); latency >= threadSwitch && f.Kind != Switching {
		took = "They ran " + format.Duration(latency) + " after they were woken, on average"
		if latency < lateThread {
			f.Advice = took + ": as long as it takes to wake a thread. " + f.Advice
		} else {
			f.Advice = took + ": longer than it takes to wake a thread, so other programs may have used the processors, or there are fewer than GOMAXPROCS. " + f.Advice
		}
		took += ". "
	}
	if len(pinned) > 0 {
		f.Title = strings.TrimSuffix(f.Title, ".") + fmt.Sprintf("; %s always ran on a thread of its own (runtime.LockOSThread), which each hand-over has to wake.", format.Func(pinned[0]))
		f.Advice = took + "Do without LockOSThread where no C library needs it, or do more for each message."
	}
}

// takeTurns describes groups that wait for each other, by how long processors were idle while each
// ran. It reports whether there are several, whose turns the ledger shows.
func (d *diagnosis) takeTurns(f *verdict.Finding, ran map[string]time.Duration, lost string) bool {
	var names []string
	var running time.Duration
	var turns int64
	for len(ran) > 0 && len(names) < 3 {
		most := largest(ran, strings.Compare)
		names, running, turns = append(names, format.Func(most)), running+d.boxes[most].Running, turns+d.ran[most].slices
		delete(ran, most)
	}
	last := len(names) - 1
	if last < 1 || turns == 0 {
		return false
	}
	f.Title = fmt.Sprintf("Taking turns: %s and %s wait for each other, which leaves %s of the capacity idle (%s of %s).", strings.Join(names[:last], ", "), names[last], lost, format.Plural(turns, "turn", "turns"), format.Duration(running/time.Duration(turns)))
	f.Advice = "Let each begin its next part while the other still has the last one: have two or more messages, buffers or requests under way."
	return true
}

// herd returns a sentence about goroutines that sync.Cond.Broadcast wakes, of which few have
// anything to do, if processors were idle mostly until these ran; or else "".
func (d *diagnosis) herd(c *cause) string {
	var at timeline.Place
	var sum time.Duration
	for r := range d.rowsOf(c) {
		if r.Wait == timeline.WaitCond.String() && (sum == 0 || r.Site == at) {
			at, sum = r.Site, sum+r.Time
		}
	}
	v := d.at[visited{ledger.Code, at}]
	if sum < c.lost/2 || v.count < 1000 || v.time > time.Duration(v.count)*shortRunning || d.barriers[at] ||
		!slices.ContainsFunc(d.l.Rows, func(r ledger.Row) bool { return r.All && r.Site == at }) {
		return ""
	}
	return fmt.Sprintf("Broadcast wakes all that wait at %s, which ran for %s until they waited again, on average: if one is enough, use Signal. ", at.String(), format.Duration(v.time/time.Duration(v.count)))
}

// shortSlices returns how long goroutines ran at a time, on average, and whether that is as short
// as it takes to switch between them.
func (d *diagnosis) shortSlices() (time.Duration, bool) {
	mean := d.of[ledger.Code] / time.Duration(max(d.l.Slices, 1))
	return mean, d.l.Slices >= 1000 && mean < tinyRunning
}

// threadSwitch is the latency above which the operating system must have taken part in a wake-up.
const threadSwitch = 3 * time.Microsecond

// lateThread is the latency above which a thread's wake-up is late, even in a virtual machine.
const lateThread = 100 * time.Microsecond

// latency returns how long processors were empty, on average, until a ready goroutine of a cause
// ran; 0 if none was ready. Rows that differ only in what ran are parts of the same gaps.
func (d *diagnosis) latency(c *cause) time.Duration {
	type wakes struct {
		group, wait string
		site        timeline.Place
	}
	var empty time.Duration
	gaps := map[wakes]int64{}
	for r := range d.rowsOf(c) {
		if r.Category != ledger.WakeUp {
			continue
		}
		t, of := r.Time, wakes{r.Group, r.Wait, r.Site}
		if r.Beside == ledger.None {
			t /= time.Duration(max(d.l.Procs, 1))
		}
		empty += t
		gaps[of] = max(gaps[of], r.Count)
	}
	var n int64
	for _, count := range gaps {
		n += count
	}
	return empty / time.Duration(max(n, 1))
}

// serial describes the group of goroutines that ran alone.
func (d *diagnosis) serial(f *verdict.Finding, c *cause, lost string) {
	name := d.nameOf(c.name)
	f.Where = d.hotPlaces(c.name)
	if p, ok := d.through(c.name); ok {
		f.Where = d.places(p) // the hot place is only a small part
	}
	what := "ran alone"
	if d.isGroup(c.name) {
		what = "ran, and no others"
		if b := d.boxes[c.name]; b.SelfParallelism > 1.5 {
			what = "ran, " + format.Number(b.SelfParallelism) + " at a time"
		}
	}
	if slices.ContainsFunc(c.rows, func(i int) bool { return d.l.Rows[i].Beside == ledger.Several }) {
		what = "ran, alone or beside too few others" // see mergeAlone
	}
	for r := range d.rowsOf(c) {
		if d.own(r.Site) && r.Wait != "" && r.Time >= c.lost/10 && !slices.Contains(f.Where, r.Site) {
			f.Where = append(slices.DeleteFunc(f.Where, func(p timeline.Place) bool { return p == timeline.Place{Func: r.Site.Func} }), r.Site)
			break
		}
	}
	if b := d.boxes[c.name]; d.areFew(c.name) {
		f.Kind = Starved
		f.Title = fmt.Sprintf("Too few goroutines: while the %d of %s ran, %s at a time, other processors had nothing to do: %s of the capacity.", b.Goroutines, name, format.Number(b.SelfParallelism), lost)
		f.Advice = fmt.Sprintf("Divide the work among more goroutines (there are %s).", format.Plural(d.l.Procs, "processor", "processors"))
		return
	}
	if d.waitsForLast(c) {
		f.Where = nil
		d.uneven(f, c, lost)
		return
	}
	idle := "had nothing to do"
	if d.timesOf(c)[ledger.WakeUp] > c.lost/4 {
		idle += " or were waking up"
	}
	if d.oneByOne(f, c) {
		f.Title = fmt.Sprintf("The %s goroutines of %s ran one at a time, and the other processors %s: %s of the capacity.", format.Count(d.boxes[c.name].Goroutines), name, idle, lost)
		return
	}
	f.Title = fmt.Sprintf("While %s %s, the other processors %s: %s of the capacity.", name, what, idle, lost)
	if starter, ran, whole := d.startedAt(c); ran > 0 && d.isGroup(c.name) && (d.boxes[c.name].SelfParallelism <= 1.5 || d.ownModule(starter)) {
		if !slices.Contains(f.Where, starter) {
			f.Where = slices.Insert(f.Where, min(1, len(f.Where)), starter)
		}
		f.Advice = fmt.Sprintf("What %s started took %s of the time for which they ran. ", starter, format.Percent(ran, whole))
	} else {
		f.Advice = d.mostlyOne(c)
	}
	if d.mostlyPolls(c.name) {
		f.Advice = "Most of that passed in atomic operations or in select statements that did not wait: if it polls for something, have it wait for that instead."
		return
	}
	f.Advice += d.herd(c) + "Divide its work among goroutines, let the others begin before it is done, or make it faster, which can gain more."
}

// waitsForLast reports whether goroutines of a group compute, several at a time, and processors were
// idle until the last of them were done: what ran then had not waited, or had started them and waited
// for no more of their messages than there are goroutines. There may be more messages if one of them
// ran for so much longer than the others that this explains the idle time.
func (d *diagnosis) waitsForLast(c *cause) bool {
	b := d.boxes[c.name]
	if b == nil || !d.computes(c.name) || b.SelfParallelism <= 1.25 {
		return false
	}
	longer := d.longer(c.name)*time.Duration(d.l.Procs) >= c.lost
	joins := int64(0)
	return d.mostly(c, func(r *ledger.Row) bool {
		started := r.Waker == c.name && r.Group != c.name && (d.startedBy[c.name][r.Group] || longer && d.siblings(c.name, r.Group))
		if started {
			joins += r.Count
		}
		return r.Waker == "" && (b.SelfParallelism > 1.5 || longer) || started
	}) && (joins <= int64(b.Goroutines) || longer)
}

// siblings reports whether one function starts the goroutines of two groups.
func (d *diagnosis) siblings(a, b string) bool {
	for by := range d.startedBy[a] {
		if d.startedBy[b][by] {
			return true
		}
	}
	return false
}

// longer returns for how much longer than the mean the goroutine of a group ran that ran longest.
func (d *diagnosis) longer(group string) time.Duration {
	if d.Tasks == nil || d.Tasks.Of != granularity.OfGoroutines || d.Window || d.windowed() {
		return 0
	}
	i := slices.IndexFunc(d.Tasks.Classes, func(t granularity.Class) bool { return t.Name == group })
	if i < 0 {
		return 0
	}
	ran := &d.Tasks.Classes[i].RunningNS
	return time.Duration(float64(ran.Max()) - ran.Mean())
}

// mostlyOne returns a sentence about the goroutine that ran for most of the time of several, or "".
func (d *diagnosis) mostlyOne(c *cause) string {
	b := d.boxes[c.name]
	if !d.isGroup(c.name) || b.SelfParallelism > 1.5 || d.longer(c.name) < b.Running*2/5 {
		return ""
	}
	longest := min(d.longer(c.name)+b.Running/time.Duration(b.Goroutines), b.Running)
	return fmt.Sprintf("One of the %s took %s of the time for which they ran. ", format.Count(b.Goroutines), format.Percent(longest, b.Running))
}

// oneByOne reports whether a group of goroutines, none of which ran for most of the time, ran one at
// a time because another one starts each when the one before is done, or because they wait for each
// other. It then sets the advice, and the place.
func (d *diagnosis) oneByOne(f *verdict.Finding, c *cause) bool {
	if !d.isGroup(c.name) || !d.oneAtATime(c.name) || d.Tasks == nil || d.Tasks.Of != granularity.OfGoroutines {
		return false
	}
	b := d.boxes[c.name]
	i := slices.IndexFunc(d.Tasks.Classes, func(t granularity.Class) bool { return t.Name == c.name })
	if i < 0 || time.Duration(d.Tasks.Classes[i].RunningNS.Max()) > b.Running/2 {
		return false
	}
	var joined, passed time.Duration
	var joins int64
	var join *ledger.Row
	for r := range d.rowsOf(c) {
		switch {
		case r.Group != c.name && d.startedBy[c.name][r.Group] && d.own(r.Site):
			if joined += r.Time; r.Category == ledger.Idle {
				joins += r.Count
			}
			if join == nil {
				join = r
			}
		case r.Group == c.name && d.startedBy[c.name][r.Waker]:
			joined += r.Time // on other processors, until it started the next one, or asked it
		case r.Group == c.name && (r.Waker == c.name || r.Category == ledger.WakeUp) && isTurn(r.Wait):
			passed += r.Time
		}
	}
	waited := c.lost - d.timesOf(c)[ledger.NoWork]
	switch {
	case joined > waited/2 && join != nil && joins >= int64(b.Goroutines)*3/4:
		f.Where = append([]timeline.Place{join.Site}, slices.DeleteFunc(f.Where, func(p timeline.Place) bool { return p == join.Site })...)
		f.Advice = "Each is waited for there before the next one has work: give work to several, then wait for them."
	case passed > waited/2:
		f.Advice = "They wait for each other: have more items or requests under way at a time, so that each works on another one."
	default:
		return false
	}
	return true
}

// uneven describes a group of goroutines of which the last ones ran longer than the others.
func (d *diagnosis) uneven(f *verdict.Finding, c *cause, lost string) {
	f.Kind = Imbalance
	f.Title = fmt.Sprintf("Uneven work: %s of the capacity was idle while the last of the %s %s ran.", lost, format.Count(d.boxes[c.name].Goroutines), format.Func(c.name))
	f.Where = append(f.Where, d.hotPlaces(c.name)...)
	f.Advice = "Divide the work into more, smaller pieces, or let goroutines that are done take over."
}

// startedAt returns the call that started those goroutines of a cause's group which ran for most
// of its time, if it started no others of the group, such as one of several stages that share a
// function; for how long they ran, or 0, and for how long the whole group did.
func (d *diagnosis) startedAt(of *cause) (starter timeline.Place, ran, whole time.Duration) {
	if d.Tasks == nil || d.Tasks.Of != granularity.OfGoroutines || d.Window || d.windowed() {
		return
	}
	i := slices.IndexFunc(d.Tasks.Classes, func(c granularity.Class) bool { return c.Name == of.name })
	if i < 0 || len(d.Tasks.Classes[i].Sites) < 2 {
		return
	}
	c := &d.Tasks.Classes[i]
	took := func(i int) time.Duration { return time.Duration(c.Sites[i].RunningNS.Sum()) }
	most := 0
	for i := range c.Sites {
		if whole += took(i); took(i) > took(most) {
			most = i
		}
	}
	if took(most) < whole*6/10 {
		return starter, 0, whole
	}
	for _, f := range c.Sites[most].Created {
		shared := false
		for i := range c.Sites {
			shared = shared || i != most && slices.Contains(c.Sites[i].Created, f)
		}
		if p := (timeline.Place{Func: f.Func, File: f.File, Line: f.Line}); !shared && d.own(p) {
			return p, took(most), whole
		}
	}
	return starter, 0, whole
}

// nameOf returns the name of a goroutine for a sentence.
func (d *diagnosis) nameOf(group string) string {
	name := d.functionOf(group)
	if group == unnamed && name != unnamed {
		name = "a goroutine in " + name
	}
	return name
}

// functionOf returns the name of goroutines or, if the trace does not show their start, the outermost
// function in which they ran.
func (d *diagnosis) functionOf(group string) string {
	if group == unnamed {
		hot, callers := d.hot(group)
		group = append([]timeline.Place{hot}, callers...)[len(callers)].Func
	}
	return format.Func(group)
}

// unnamed is the name of goroutines whose start the trace does not show.
const unnamed = "(unnamed)"

// windowed reports whether the ledger covers only part of the trace while contention covers all of
// it.
func (d *diagnosis) windowed() bool {
	return d.Contention != nil && d.Contention.Duration > d.l.Wall+d.l.Wall/20
}

// lock describes a lock and what its owners did.
func (d *diagnosis) lock(f *verdict.Finding, c *cause, at, lost string) {
	if d.ownModule(c.place) {
		f.Where = d.places(c.place)
		if q, ok := d.user(c.place, c.callers(d)); ok {
			f.Where = append(f.Where, q)
		}
	}
	for r := range d.rowsOf(c) {
		if isLock(r.Wait) && r.Waker != "" && !slices.Contains(f.Where, r.WakerSite) {
			f.Where = append(f.Where, d.places(r.WakerSite)...)
			break
		}
	}
	for r := range d.rowsOf(c) { // another place that acquires it
		if isLock(r.Wait) && d.own(r.Site) && len(f.Where) < 3 && !slices.Contains(f.Where, r.Site) {
			f.Where = append(f.Where, r.Site)
			break
		}
	}
	name := "The lock at " + at
	f.Title = fmt.Sprintf("%s kept %s of the capacity idle.", name, lost)
	f.Advice = "Hold it for less time, or divide what it guards among several locks."
	if d.isOfLibrary(c.place) {
		f.Advice = libraryHolds
	}
	row := d.lockRow(c.place)
	defer func() {
		if ran := d.ownerRuns(c); ran > 0 {
			without(f, "these waits", fmt.Sprintf("if it is held for less time, because its owners ran for %s of the time", format.Percent(ran, d.Graph.Wall)))
		}
		if row != nil && !d.windowed() && spunFor(row) || d.runsAt(c.place).spun > d.l.Capacity/20 { // a slice that ends in a wait for the lock may have been spinning for it
			without(f, "the waits", "if part of the running is spinning for the lock")
		}
	}()
	if row == nil {
		return
	}
	called := row.Lock.Name
	if called == contention.SeveralLocks { // perhaps: a thread that loses its core looks like a second lock
		called = ""
		if !d.isOfLibrary(c.place) {
			f.Advice = "Hold it for less time. It may be several locks of the same code: a trace does not distinguish them."
		}
	}
	if called = cmp.Or(called, row.Lock.Class); called != "" {
		if !symbol.IsProgram(called, "") {
			f.Advice = libraryHolds
		}
		name = "The lock " + format.Clean(format.Func(called))
	}
	did, under := owners(row), d.waitedUnder(c)
	waited := strings.HasPrefix(did, "waited")
	if d.cUnder(c.place) > d.l.Wall/2 {
		did = strings.Replace(did, "were running", "were in C code, running or waiting,", 1)
	}
	switch {
	case did != "":
		if row.Blamed*2 < row.Waited {
			did += " of the " + format.Percent(row.Blamed, row.Waited) + " in which they are known"
		}
		if waited && under.Func != "" {
			did += ", most at " + under.String()
			if len(c.inside) > 0 && c.inside[0].place != under && d.own(c.inside[0].place) {
				did += ", for one that waits (" + c.inside[0].kind + ") at " + c.inside[0].place.String()
			}
		}
		who := "its owners "
		if fn := d.releases(c.place); fn != "" && fn != c.place.Func {
			who += "(most in " + format.Func(fn) + ") "
		}
		f.Advice = "While others waited, " + who + did + ". " + f.Advice
	case len(c.inside) > 0:
		waited = true
		f.Advice = "Its owners waited themselves (" + c.inside[0].kind + ") at " + under.String() + ". " + f.Advice
	}
	if waited && d.own(under) {
		f.Where = slices.Insert(f.Where, min(len(f.Where), 1), under)
	}
	waits := fmt.Sprintf(" (%s, blocked for %s in all)", format.Plural(row.Contentions, "wait", "waits"), format.Duration(row.Waited))
	if row.Ready > row.Waited/2 {
		waits = strings.TrimSuffix(waits, " in all)") + fmt.Sprintf(" and then ready for %s in all)", format.Duration(row.Ready))
	}
	if d.windowed() {
		waits = "" // of the whole recording
	}
	f.Title = fmt.Sprintf("%s kept %s of the capacity idle%s.", name, lost, waits)
	spent := d.timesOf(c)
	in, calls := spent[ledger.Code], spent[ledger.Syscall] // in methods of the lock, and under it
	if ratio(calls, d.l.Capacity) < 0.01 {
		calls = 0
	}
	parts := []string{"processors were idle for " + format.Percent(c.lost-in-calls, d.l.Capacity)}
	if in > 0 {
		parts = append(parts, "ran in its own methods for "+format.Percent(in, d.l.Capacity))
	}
	if calls > 0 {
		parts = append(parts, "were in system calls under it for "+format.Percent(calls, d.l.Capacity))
		if at := d.calls(c).Site; d.own(at) && !slices.Contains(f.Where, at) {
			f.Where = slices.Insert(f.Where, min(1, len(f.Where)), at)
		}
		f.Advice = strings.Replace(f.Advice, "were running", "were running or in system calls", 1) + " " + d.fewerCalls(c)
		without(f, "the waits and the calls", "without the code around the calls")
	}
	if last := len(parts) - 1; last > 0 {
		f.Title = fmt.Sprintf("%s cost %s of the capacity: %s and %s%s.", name, lost, strings.Join(parts[:last], ", "), parts[last], waits)
	}
	if c.queue && f.Share < 0.1 {
		more := ""
		if c.held >= mostlyHeld {
			more = fmt.Sprintf("; with more, at best %s times as fast while the lock is held for as long", format.Number(1/c.held))
			f.Title = fmt.Sprintf("%s limits, not the number of processors: its owners ran for some %.0f%% of the time, and %s goroutines waited for it on average%s.", name, 100*c.held, mean(row.Waited, d.l.Wall), waits)
		} else {
			f.Title = fmt.Sprintf("%s may limit, not the number of processors: %s goroutines on average waited for it, or after that for the processor%s.", name, mean(row.Waited+row.Ready, d.l.Wall), waits)
			f.Advice += " The trace does not show for how long its owners ran, which bounds what more processors gain."
		}
		if f.Share < worthTelling {
			f.Gain, f.Basis = 0, "none with one processor"+more
		}
	}
}

const libraryHolds = "The standard library holds it for the program: call that less often, for more at a time."

// cUnder returns how long C code ran while its caller held a lock.
func (d *diagnosis) cUnder(lock timeline.Place) (sum time.Duration) {
	if d.inC == nil {
		return 0
	}
	spans := d.spansOf(lock)
	for i := range d.l.Rows {
		if r := &d.l.Rows[i]; r.Category == ledger.C && spans.contain(r) {
			sum += r.Time
		}
	}
	return sum
}

// waitedUnder returns where the owners of a lock waited most while they held it; the zero place if
// that is unknown.
func (d *diagnosis) waitedUnder(lock *cause) timeline.Place {
	all := d.spansOf(lock.place)
	most := spans{} // of the function whose owners others waited for most
	if fn := d.releases(lock.place); all[fn] != nil {
		most[fn] = all[fn]
	}
	for _, within := range []spans{most, all} {
		at := map[timeline.Place]time.Duration{}
		for i := range d.Contention.Waits {
			w := &d.Contention.Waits[i]
			if p, callers := d.placeIn(w.Waiter.Stack); !isLock(string(w.Kind)) && within.contain(&ledger.Row{Site: p, Callers: callers}) {
				at[p] += w.Waited
			}
		}
		if len(at) > 0 {
			return largest(at, timeline.Place.Compare)
		}
		if len(lock.inside) > 0 {
			return lock.inside[0].place
		}
	}
	return timeline.Place{}
}

// releases returns the function that releases a lock for which others wait most, or "".
func (d *diagnosis) releases(lock timeline.Place) string {
	lock = d.find(lock)
	blamed := map[string]time.Duration{}
	for i := range d.Contention.Pairs {
		p := &d.Contention.Pairs[i]
		acquires, _ := d.placeIn(p.Waiter.Stack)
		if releases, _ := d.placeIn(p.Owner.Stack); isLock(string(p.Kind)) && d.find(acquires) == lock && releases.Func != "" {
			blamed[releases.Func] += p.Blamed
		}
	}
	return largest(blamed, strings.Compare)
}

// spunFor reports whether goroutines may get a lock by spinning for it, which leaves no event: it
// is held briefly, others take it before a woken goroutine runs, or most of its owners are unknown.
func spunFor(row *contention.Tree) bool {
	return row.Lock.Hold > 0 && row.Lock.Hold < 2*maxSpin || row.Parks >= 2*row.Contentions || row.Blamed*4 < row.Waited
}

// queues reports whether goroutines wait for a lock, and not only for the one processor, which is in
// use.
func (d *diagnosis) queues(c *cause) bool {
	if c.kind != Lock || d.Graph == nil || d.windowed() || !d.onOne() {
		return false
	}
	row := d.lockRow(c.place)
	if row == nil || d.used() < d.l.Capacity*7/10 {
		return false
	}
	var most float64
	c.held, most = d.held(c.place)
	return most >= mostlyHeld && row.Waited+row.Ready >= d.l.Wall/4
}

// onOne reports whether the program had one processor nearly all of the time.
func (d *diagnosis) onOne() bool { return d.l.Capacity < d.l.Wall+d.l.Wall/20 }

// mostlyHeld is the part of the running time from which a lock on one processor limits.
const mostlyHeld = 0.6

// held returns bounds of the part of the running time, system calls included, in which goroutines
// held a lock. It counts what has a place. The runtime may lose the caller of the function that it
// interrupts, which may have acquired the lock, and it interrupts functions at their beginning
// rather than while they hold a lock. Such slices are in the upper bound only.
func (d *diagnosis) held(lock timeline.Place) (least, most float64) {
	lock = d.find(lock)
	spans := d.spansOf(lock)
	above, callsIt := map[string]bool{}, map[timeline.Place]bool{} // callers of the functions with the lock
	for i := range d.Contention.Waits {
		w := &d.Contention.Waits[i]
		if !isLock(string(w.Kind)) {
			continue
		}
		if p, callers := d.placeIn(w.Waiter.Stack); len(callers) > 0 && d.find(p) == lock {
			callsIt[callers[0]] = true
			for _, q := range callers {
				above[q.Func] = true
			}
		}
	}
	var in, perhaps time.Duration
	for i := range d.l.Rows {
		r := &d.l.Rows[i]
		if !r.Used() || r.Site.Func == "" {
			continue
		}
		inside := len(spans[r.Site.Func]) > 0
		before := slices.ContainsFunc(spans[r.Site.Func], func(s span) bool { return s.from-2 <= r.Site.Line && r.Site.Line <= s.from })
		lost := callsIt[r.Site] || len(r.Callers) == 0 && r.Site.Func != r.Group && !above[r.Site.Func]
		for _, p := range r.Callers {
			inside, lost = inside || len(spans[p.Func]) > 0, lost || callsIt[p]
		}
		// A slice without samples that ends in a line which calls a library may have run
		// before that.
		ends := r.Category == ledger.Code && !r.Sampled && slices.Contains(spans[r.Site.Func], span{r.Site.Line, r.Site.Line})
		switch {
		case spans.contain(r) && !ends:
			in += r.Time
		case lost && !inside, before, ends:
			perhaps += r.Time
		}
	}
	if d.known < d.used()/4 {
		return 0, 1
	}
	return ratio(in, d.known), ratio(in+perhaps, d.known)
}

// spun reports whether goroutines that may have spun for a lock ran mostly up to a wait for it, or
// after they had released it.
func (d *diagnosis) spun(c *cause) bool {
	if c.kind != Lock || ratio(c.lost, d.l.Capacity) < worthTelling || d.windowed() {
		return false
	}
	row := d.lockRow(c.place)
	return row != nil && spunFor(row) && d.runsAt(c.place).time >= d.of[ledger.Code]/2
}

// runsAt returns the slices of the program's code that ended at the places of a lock, unless most of
// them ended in system calls.
func (d *diagnosis) runsAt(lock timeline.Place) (sum visits) {
	lock = d.find(lock)
	for p := range d.locks {
		v := d.at[visited{ledger.Code, p}]
		if p != (timeline.Place{}) && d.find(p) == lock && d.at[visited{ledger.Syscall, p}].count <= v.count/2 {
			sum.time, sum.spun = sum.time+v.time, sum.spun+v.spun
		}
	}
	return sum
}

// without adds that a repair can gain more than what was lost here, so the gain is not a bound.
func without(f *verdict.Finding, what, more string) {
	if f.Gain > 0 {
		f.Basis = fmt.Sprintf("%s times as fast without %s%s; more %s", format.Number(f.Gain), what, f.Half(), more)
		f.Gain = 0
	}
}

// maxSpin bounds the time that a goroutine spins for a mutex before it blocks.
const maxSpin = 20 * time.Microsecond

// lockRow returns the lock that goroutines waited for at a place, or nil if it is ambiguous.
func (d *diagnosis) lockRow(p timeline.Place) *contention.Tree {
	if d.Contention == nil {
		return nil
	}
	waited := map[*contention.Lock]time.Duration{}
	for i := range d.Contention.Waits {
		w := &d.Contention.Waits[i]
		if w.Lock != nil && isLock(string(w.Kind)) && passes(w.Waiter.Stack, p) {
			waited[w.Lock] += w.Waited
		}
	}
	best := largest(waited, func(a, b *contention.Lock) int { return cmp.Compare(a.ID, b.ID) })
	if i := slices.IndexFunc(d.lockTable, func(r *contention.Tree) bool { return r.Lock == best }); i >= 0 {
		return d.lockTable[i]
	}
	return nil
}

// owners describes what the owners of a lock did for most of the time blamed on them.
func owners(r *contention.Tree) string {
	total := r.Blamed
	if total == 0 || r.Blamed*10 < r.Waited {
		return ""
	}
	kind, blocked := "", time.Duration(0)
	for _, k := range r.BlockedKinds() {
		if d := r.Blocked[k]; d > blocked {
			kind, blocked = k, d
		}
	}
	switch {
	case r.Running*2 >= total:
		return "were running for " + format.Percent(r.Running, total)
	case blocked*2 >= total:
		return "waited themselves (" + kind + ") for " + format.Percent(blocked, total)
	case r.Runnable*2 >= total:
		return "were ready to run and had no processor for " + format.Percent(r.Runnable, total)
	}
	return ""
}

// collector describes the part of the collector that costs most.
func (d *diagnosis) collector(f *verdict.Finding, c *cause, lost string) {
	spent := d.timesOf(c)
	assist, workers, stop := spent[ledger.GCAssist]+spent[ledger.GCSweep], spent[ledger.GCWorker], spent[ledger.GCStop]
	wait := c.lost - assist - workers - stop
	var site timeline.Place
	for r := range d.rowsOf(c) {
		if (r.Category == ledger.GCAssist || r.Category == ledger.GCSweep) && d.own(r.Site) {
			site = r.Site
			break
		}
	}
	f.Where = d.places(site)
	percent := func(t time.Duration) string { return format.Percent(t, d.l.Capacity) }
	f.Title = fmt.Sprintf("The garbage collector took %s of the capacity: workers %s, assists %s, world stopped %s, waits for it %s.", lost, percent(workers), percent(assist), percent(stop), percent(wait))
	if spare := d.spare(c); ratio(spare, d.l.Capacity) >= 0.01 {
		f.Title = strings.TrimSuffix(f.Title, ".") + fmt.Sprintf("; for %s, processors had nothing else to run.", percent(spare))
		f.Gain = float64(d.l.Capacity) / float64(d.l.Capacity-c.lost+spare)
	}
	without(f, "the collector", "if the program allocates less")
	f.Advice = d.collectorAdvice()
	if each := d.eachStop(stop); each > lateStop && stop > c.lost/2 {
		f.Advice = fmt.Sprintf("It ran %s, and stopped the world for %s each time, on average: longer than that takes, so other programs may have used the processors.", format.Plural(d.l.Heap.Collections, "time", "times"), format.Duration(each))
	}
	if n, most := d.requested(); n > 0 {
		f.Where = d.places(most)
		asks, instead := fmt.Sprintf("; at %s the program asks for it.", short(most)), "leave that to the runtime, or do it less often"
		if !d.own(most) {
			asks = "; package testing asks for it."
			instead = "package testing does that before each run, so have a benchmark run for longer (-benchtime)"
		}
		f.Title = strings.TrimSuffix(f.Title, ".") + asks
		f.Advice = fmt.Sprintf("It ran %s, at least %s of them because of runtime.GC or debug.FreeOSMemory: %s.", format.Plural(d.l.Heap.Collections, "time", "times"), format.Count(n), instead)
	}
}

// spare returns for how long at least the collector's workers had processors for which no
// goroutine was ready, and so took nothing from the program; 0 if that waits for its collections.
func (d *diagnosis) spare(c *cause) time.Duration {
	if c.kind != Collector || d.waitsForCollections() {
		return 0
	}
	ready := d.l.Queued
	if d.l.Queue > 0 { // the part of it in which the workers had these processors
		var queue time.Duration
		for r := range d.rowsOf(c) {
			if r.Category == ledger.GCWorker {
				queue += r.Queue
			}
		}
		ready = time.Duration(float64(ready) * ratio(queue, d.l.Queue))
	}
	return max(d.timesOf(c)[ledger.GCWorker]-ready*time.Duration(d.l.Procs), 0)
}

// idleCollector returns for how long the collector's workers had processors that goroutines could
// have used at no cost to it.
func (d *diagnosis) idleCollector() (sum time.Duration) {
	if c := d.byKey[key{kind: Collector}]; c != nil {
		sum = d.spare(c)
	}
	if g := d.ran[idleWorkers]; !d.waitsForCollections() {
		sum += g.collector
	}
	return sum
}

// eachStop returns for how long a collection stopped the world, on average.
func (d *diagnosis) eachStop(all time.Duration) time.Duration {
	if d.l.Heap == nil {
		return 0
	}
	return all / time.Duration(int64(max(d.l.Procs, 1))*max(d.l.Heap.Collections, 1))
}

// late returns for how long the collector stopped the world beyond lateStop each time, which the
// operating system did rather than the program.
func (d *diagnosis) late(c *cause) time.Duration {
	if c.kind != Collector {
		return 0
	}
	stop := d.timesOf(c)[ledger.GCStop]
	if each := d.eachStop(stop); each > lateStop {
		return stop - time.Duration(float64(stop)*ratio(lateStop, each))
	}
	return 0
}

// lateStop is the time for which a collection stops the world if the operating system runs all
// threads at once, with room.
const lateStop = time.Millisecond

// requested returns how many collections the program requests, if these are most of them, and where
// it requests most.
func (d *diagnosis) requested() (n int64, most timeline.Place) {
	for _, asked := range d.asked {
		n += asked
	}
	most = largest(d.asked, timeline.Place.Compare)
	if h := d.l.Heap; h == nil || n < 2 || n*4 < h.Collections*3 {
		return 0, most
	}
	return min(n, d.l.Heap.Collections), most
}

// waitsForCollections reports whether the program requests most of the collections itself, and so
// waits for them.
func (d *diagnosis) waitsForCollections() bool {
	n, most := d.requested()
	return n > 0 && d.own(most)
}

// asksInTests reports whether package testing requests most of the collections.
func (d *diagnosis) asksInTests() bool {
	n, most := d.requested()
	return n > 0 && !d.own(most)
}

// collectorAdvice describes how often the collector ran, on what heap, and what to do.
func (d *diagnosis) collectorAdvice() string {
	const less = "llocate less (go tool pprof -sample_index=alloc_space)"
	h := d.l.Heap
	if h == nil {
		return "A" + less + ", or give it more memory (GOGC, GOMEMLIMIT)."
	}
	ran := fmt.Sprintf("It ran %s: the program allocated %s a second", format.Plural(h.Collections, "time", "times"), memory.Text(int64(h.Rate(d.l.Wall))))
	if h.Collections < 3 {
		return ran + ". A" + less + ", or give it more memory (GOGC, GOMEMLIMIT)."
	}
	ran += fmt.Sprintf(", and the live heap of %s grew by %.0f%% until the next collection. ", memory.Text(h.Live), 100*h.Growth())
	switch {
	case h.Growth() < 0.5:
		return ran + "That is little: raise GOGC or GOMEMLIMIT, or a" + less + "."
	case h.Growth() < 1.5 && h.Live < smallHeap:
		return ran + fmt.Sprintf("GOGC=400 would take some %s more memory, and a quarter of the collections; or a%s.", memory.Text(3*h.Live), less)
	}
	return ran + "A" + less + ", or give it more memory (GOGC, GOMEMLIMIT)."
}

// runtime describes where the program stops the world, if that is most of the runtime's share.
func (d *diagnosis) runtime(f *verdict.Finding, c *cause, lost string) {
	f.Title = fmt.Sprintf("The runtime took %s of the capacity besides the collector.", lost)
	var most *ledger.Row
	var stopped time.Duration
	for r := range d.rowsOf(c) {
		if d.stops[r.Site] > 0 {
			stopped, most = stopped+r.Time, cmp.Or(most, r)
		}
	}
	if d.runsFinalizers(c) {
		f.Title = fmt.Sprintf("Finalizers and cleanups (runtime.SetFinalizer, AddCleanup) ran for %s of the capacity.", format.Percent(d.finalizers(), d.l.Capacity))
		if alone := d.emptyFor(c); ratio(alone, d.l.Capacity) >= 0.01 {
			f.Title = strings.TrimSuffix(f.Title, ".") + fmt.Sprintf("; while they ran alone, the other processors had nothing to do for %s.", format.Percent(alone, d.l.Capacity))
		}
		f.Advice = "Do that where the program is done with an object, such as in Close: the runtime runs them only after a collection, and finalizers one after the other."
		f.Where = d.finalizersAt(c)
		return
	}
	if stopped < c.lost/2 || most == nil {
		return
	}
	f.Title = fmt.Sprintf("The world was stopped, but not for the collector: that took %s of the capacity, most at %s.", lost, short(most.Site))
	f.Where = d.from(most.Site, most.Callers)
	if ratio(d.at[visited{ledger.Code, most.Site}].time, d.l.Capacity) >= worthTelling {
		without(f, "the stops", "without the code there")
	}
	if f.Advice = "Stop all goroutines less often: runtime.ReadMemStats, goroutine profiles and changes of GOMAXPROCS do. Package runtime/metrics does not."; strings.HasPrefix(most.Site.Func, "testing.") {
		f.Advice = "Package testing does that when it starts and stops its timer: have a benchmark run for longer (-benchtime), and stop the timer less often."
	}
}

// isFinalizer reports whether a group of goroutines runs the program's finalizers or cleanups.
func isFinalizer(group string) bool {
	return group == "runtime.runFinalizers" || group == "runtime.runfinq" || group == "runtime.runCleanups"
}

// runsFinalizers reports whether finalizers and cleanups are most of a cause.
func (d *diagnosis) runsFinalizers(c *cause) bool {
	return d.finalizers() > (c.lost-d.emptyFor(c))/2
}

// emptyFor returns the part of a cause in which processors had nothing to run.
func (d *diagnosis) emptyFor(c *cause) (sum time.Duration) {
	for r := range d.rowsOf(c) {
		if r.Empty() {
			sum += r.Time
		}
	}
	return sum
}

// finalizers returns how long finalizers and cleanups ran.
func (d *diagnosis) finalizers() (ran time.Duration) {
	if d.Graph != nil {
		for i := range d.Graph.Boxes {
			if b := &d.Graph.Boxes[i]; isFinalizer(b.Group) {
				ran += b.Running
			}
		}
	}
	return ran
}

// finalizersAt returns the place where finalizers and cleanups ran longest or, if they are too short
// for that to show, where they ended the longest waits.
func (d *diagnosis) finalizersAt(c *cause) []timeline.Place {
	for r := range d.rowsOf(c) {
		if isFinalizer(r.Group) {
			return d.from(r.Site, r.Callers)
		}
	}
	ended := map[timeline.Place]time.Duration{}
	if d.Contention != nil {
		for i := range d.Contention.Pairs {
			if w := &d.Contention.Pairs[i]; isFinalizer(w.Owner.Group) {
				p, _ := d.placeIn(w.Owner.Stack)
				ended[p] += w.Blamed
			}
		}
	}
	return d.places(largest(ended, timeline.Place.Compare))
}

// smallHeap is the size up to which a heap four times as large is cheap.
const smallHeap = 64 << 20

// tinyGoroutines describes groups of goroutines that are too short.
func (d *diagnosis) tinyGoroutines(f *verdict.Finding, groups []string, what string) {
	var n int
	var running time.Duration
	names := make([]string, len(groups))
	for i, group := range groups {
		n, running, names[i] = n+d.boxes[group].Goroutines, running+d.boxes[group].Running, format.Func(group)
	}
	if slices.Sort(names); len(names) > 2 {
		names = append(names[:2], "others")
	}
	f.Kind = Tiny
	f.Title = fmt.Sprintf("Tiny goroutines: %s of %s ran for %s each, on average%s.", format.Count(n), strings.Join(names, " and "), format.Duration(running/time.Duration(n)), what)
	if f.Advice = "Give each goroutine more to do: a range of the work, or a pool of workers."; !slices.ContainsFunc(groups, func(g string) bool { return symbol.IsProgram(g, "") }) {
		f.Advice = "A library starts them for the program: have it do so less often."
	}
	f.Gain, f.Basis = 0, "cannot tell: a trace does not show all that it takes to start goroutines"
}

// tinyGroup returns the finding about the longest-running group of goroutines that are too short, if
// such groups ran for a tenth of the capacity.
func (d *diagnosis) tinyGroup() (out []verdict.Finding) {
	ran := d.ranTiny()
	if sum(ran) < d.l.Capacity/10 {
		return nil
	}
	most := largest(ran, strings.Compare)
	var f verdict.Finding
	d.tinyGoroutines(&f, []string{most}, "")
	f.Where = d.hotPlaces(most)
	return []verdict.Finding{f}
}

// ranTiny returns how long the groups of goroutines ran that are too short. If goroutines run for as
// short as it takes to switch between them, those that are only short are, too.
func (d *diagnosis) ranTiny() map[string]time.Duration {
	ran := map[string]time.Duration{}
	_, switching := d.shortSlices()
	for group, short := range d.short {
		if d.tiny[group] || short && switching && d.l.Born >= 1000 {
			ran[group] = d.ran[group].code
		}
	}
	return ran
}

func sum[K comparable](of map[K]time.Duration) (all time.Duration) {
	for _, t := range of {
		all += t
	}
	return all
}

// before returns the findings that come first regardless of their cost.
func (d *diagnosis) before() []verdict.Finding {
	var out []verdict.Finding
	if d.Graph != nil {
		if s := d.Graph.Oversubscribed(); s != "" {
			out = append(out, verdict.Finding{Kind: Oversized, Title: s, Advice: "Leave GOMAXPROCS to the runtime, which sets it to what the machine and its control group allow."})
		}
		if s := d.Graph.Throttling(); s != "" {
			out = append(out, verdict.Finding{Kind: Throttled, Title: s, Basis: "cannot tell: a trace does not show which goroutines were stopped", Advice: "Raise the CPU limit of the container, or lower GOMAXPROCS, so that bursts do not use up the quota."})
		}
	}
	return out
}

func (d *diagnosis) used() time.Duration {
	return d.of[ledger.Code] + d.of[ledger.C] + d.of[ledger.Syscall]
}

// has reports whether a finding of a kind is among others.
func has(findings []verdict.Finding, kind string) bool {
	return slices.ContainsFunc(findings, func(f verdict.Finding) bool { return f.Kind == kind })
}

// after returns the findings that cost nothing. largest is the most that another one costs.
func (d *diagnosis) after(costly []verdict.Finding, largest time.Duration) []verdict.Finding {
	used := d.used()
	out := d.tasks(costly)
	if f, ok := d.pieces(); ok && len(out) == 0 && !has(costly, Tiny) {
		out = append(out, f)
	}
	if d.l.Queue > d.l.Wall/4 && d.l.Queued > d.l.Wall/4 && d.l.Queue > time.Duration(d.l.Slices)*threadSwitch {
		f := verdict.Finding{Kind: MoreProcs, Where: d.hotPlaces(d.hottest())}
		queued, ready := format.Percent(d.l.Queued, d.l.Wall), mean(d.l.Queue, d.l.Queued)
		f.Title = fmt.Sprintf("For %s of the time all processors were in use and other goroutines were ready: %s on average.", queued, ready)
		f.Advice = fmt.Sprintf("There is work for up to %s, unless goroutines then wait for each other, or for memory that they share.", format.Plural(d.enough(), "processor", "processors"))
		if i := slices.IndexFunc(d.allLimits(), func(l *limit) bool { return l.sort == semaphores || l.sort == tokens }); i >= 0 {
			if p := d.allLimits()[i].place; d.waitedAt(p) >= 1 {
				f.Advice += fmt.Sprintf(" More of them do not change that %s goroutines wait for one another at %s, on average.", format.Number(d.waitedAt(p)), p)
			}
		}
		limited := has(costly, Lock) || has(costly, Tiny) // more processors would wait for the lock, or start goroutines
		if d.onOne() {
			f.Kind = OneProc
			f.Title = fmt.Sprintf("GOMAXPROCS is 1: for %s of the time the processor was in use and other goroutines were ready: %s on average.", queued, ready)
			limited = slices.ContainsFunc(d.causes, func(c *cause) bool { return c.queue })
		}
		if !limited && used > d.l.Capacity*7/10 && d.spreads() && !d.mayPoll(d.hottest()) && !d.fights() && !d.mostlyYields() {
			out = append(out, f)
		}
	}
	if !has(costly, Tiny) {
		out = append(out, d.tinyGroup()...)
	}
	if c := d.of[ledger.C]; ratio(c, d.l.Capacity) >= worthTelling && !has(costly, Cgo) {
		f := verdict.Finding{Kind: Cgo, Where: d.places(d.inC.Site)}
		f.Title = fmt.Sprintf("C code ran for %s of the capacity. The scheduler does not see it, so a trace does not show whether it computes or waits.", format.Percent(c, d.l.Capacity))
		out = append(out, f)
	}
	if f, ok := d.leaks(); ok {
		out = append(out, f)
	}
	if code := d.of[ledger.Code]; code > d.l.Capacity/2 && largest < d.little() && !has(costly, Tiny) && !has(out, Tiny) || d.fights() && largest < d.shared {
		out = append(out, d.saturated(len(costly)+len(out) == 0))
	} else if len(costly) == 0 && len(out) == 0 {
		out = append(out, verdict.Finding{Kind: CannotTell, Title: fmt.Sprintf("No single cause cost %.0f%% of the capacity: the program's own code ran for %s of it.", 100*worthTelling, format.Percent(d.of[ledger.Code], d.l.Capacity))})
	}
	return out
}

// saturated returns the finding that the program uses its processors. If it is the only one, there
// is nothing to repair.
func (d *diagnosis) saturated(only bool) verdict.Finding {
	group := d.hottest()
	code, share := d.of[ledger.Code], d.ran[group].code
	f := verdict.Finding{Kind: Saturated, Where: d.hotPlaces(group), Rows: d.code[group]}
	if d.fights() {
		f.Where = d.from(d.sharedAt.Site, d.sharedAt.Callers)
		in := "atomic operations or in read locks of an RWMutex"
		f.Advice = "Goroutines that change the same memory wait for it while they run, which a trace does not show. \"bottleneck scale\" measures whether several are faster than one. If not, give each its own part of the data."
		if strings.HasPrefix(d.sharedAt.Callee, "runtime.select") {
			in = "select statements that did not wait"
			f.Advice = "A select with a default case goes on at once if no other case is ready. If it polls for something, have it wait for that, without the default case; else do more for each message."
		}
		uses := "It uses its processors, but"
		if code < d.l.Capacity*7/10 {
			uses = "What runs"
		}
		f.Title = fmt.Sprintf(uses+" may not progress: %s of the capacity passed in %s, most at %s.", format.Percent(d.shared, d.l.Capacity), in, short(d.sharedAt.Site))
		if name, ready := d.starved(group); ready > 0 {
			f.Title = strings.TrimSuffix(f.Title, ".") + d.without(name, ready)
		}
		return f
	}
	if d.mostlyYields() {
		f.Where = d.from(d.yieldsAt.Site, d.yieldsAt.Callers)
		f.Title = fmt.Sprintf("It uses its processors, but may not progress: goroutines yielded %s, most at %s.", format.Plural(d.yields, "time", "times"), short(d.yieldsAt.Site))
		f.Advice = "A goroutine that yields is ready at once, whether or not it has anything to do. If it yields until something has happened, wait for that instead (a channel, a sync.Cond)."
		return f
	}
	part := "most"
	if share <= code/2 {
		part = "the largest part"
	}
	f.Title = fmt.Sprintf("It uses its processors: the program's own code ran for %s of the capacity, %s of it in %s (%s).", format.Percent(code, d.l.Capacity), part, d.functionOf(group), format.Percent(share, d.l.Capacity))
	f.Advice = "A trace does not show progress: the code may spin, or wait for memory because of false sharing, atomics or bandwidth. \"bottleneck scale\" measures it."
	if name, ready := d.starved(group); ready > 0 && only {
		f.Title = strings.TrimSuffix(f.Title, ".") + d.without(name, ready)
		f.Advice = fmt.Sprintf("If %s polls, have it wait instead: it took the processors from %s. ", d.functionOf(group), format.Func(name)) + f.Advice
	} else if d.mayPoll(group) {
		f.Advice = fmt.Sprintf("If %s polls an atomic variable, have it wait instead (a channel, a sync.Cond). ", d.functionOf(group)) + f.Advice
	} else if only && (d.opened() == "" || !d.dials(&f)) {
		f.Advice = "The trace shows nothing to repair. " + f.Advice
	}
	return f
}

// without is the end of a sentence about a goroutine that had no processor.
func (d *diagnosis) without(name string, ready time.Duration) string {
	return fmt.Sprintf("; %s was ready for %s of the time, but had no processor.", format.Func(name), format.Percent(ready, d.l.Wall))
}

// starved returns the goroutine that was ready for most of the time, while a group that never waits
// had the processors, and for how long; 0 if there is none.
func (d *diagnosis) starved(by string) (name string, ready time.Duration) {
	if b := d.boxes[by]; b == nil || b.Blocked() > b.Running/1000 {
		return "", 0
	}
	for group, b := range d.boxes {
		if group != by && b.Goroutines == 1 && b.Runnable > d.l.Wall/2 && b.Runnable > 4*b.Running && (b.Runnable > ready || b.Runnable == ready && group < name) {
			name, ready = group, b.Runnable
		}
	}
	return name, ready
}

// pieces returns the finding that goroutines hand over too little work at a time, if they do.
func (d *diagnosis) pieces() (f verdict.Finding, found bool) {
	group := d.pieceGroup()
	if group == "" {
		return f, false
	}
	f = verdict.Finding{Rows: d.code[group]}
	d.tinyPieces(&f, group, "")
	return f, true
}

// pieceGroup returns the group of goroutines that ran longest of those that hand over too little
// work at a time, if that was for a quarter of the capacity; or else "".
func (d *diagnosis) pieceGroup() string {
	ran := map[string]time.Duration{}
	for group := range d.handed {
		if _, tiny := d.tinyPiece(group); tiny && d.boxes[group].Running >= d.l.Capacity/4 {
			ran[group] = d.boxes[group].Running
		}
	}
	return largest(ran, strings.Compare)
}

// tinyPieces describes a group of goroutines that hand over too little work at a time.
func (d *diagnosis) tinyPieces(f *verdict.Finding, group, what string) {
	piece, _ := d.tinyPiece(group)
	h := d.handed[group]
	p, callers := d.placeIn(h.most.Waiter.Stack)
	f.Kind, f.Where, f.Gain = Tiny, d.from(p, callers), 0
	f.Basis = "cannot tell: a trace does not show what of the running is the switching"
	f.Title = fmt.Sprintf("Tiny pieces of work: %s ran for %s between one wait for others and the next, on average (%s times, most at %s)%s.", format.Func(group), format.Duration(piece), format.Count(h.waits), short(p), what)
	f.Advice = "To wait and be woken takes about as long: hand over several pieces at a time, or let each goroutine take a range of the work."
}

// handOvers counts the waits of a group for others at channels and conditions, most at one place.
type handOvers struct {
	waits int64
	most  *contention.Wait
}

func (d *diagnosis) countHandOvers() {
	d.handed = map[string]*handOvers{}
	if d.Contention == nil || d.windowed() {
		return
	}
	for i := range d.Contention.Waits {
		w := &d.Contention.Waits[i]
		switch w.Kind {
		case contention.ChanSendKind, contention.ChanReceiveKind, contention.SelectKind, contention.CondKind:
			h := d.handed[w.Waiter.Group]
			if h == nil {
				h = &handOvers{most: w}
				d.handed[w.Waiter.Group] = h
			}
			if h.waits += w.Parks; w.Parks > h.most.Parks && w.Waiter.Stack != nil {
				h.most = w
			}
		}
	}
}

// tinyPiece returns how long goroutines ran from one wait to the next, and whether it is too short.
func (d *diagnosis) tinyPiece(group string) (time.Duration, bool) {
	h, b := d.handed[group], d.boxes[group]
	if h == nil || b == nil || h.most.Waiter.Stack == nil || h.waits < 1000 {
		return 0, false
	}
	piece := b.Running / time.Duration(h.waits)
	return piece, piece < tinyRunning
}

// spreads reports whether more processors can help: most of what waited for one are goroutines of
// the program, and no goroutine runs for nearly all of the time, or does more than one processor's
// part of the work. No group does, either, of which none is ready while another one runs.
func (d *diagnosis) spreads() bool {
	var runnable time.Duration
	for _, b := range d.boxes {
		runnable += b.Runnable
	}
	for group, b := range d.boxes { // how long it takes if those that were ready had run, too
		if ratio(b.Running, b.Running+b.Runnable)*float64(d.alone(group)) >= float64(d.l.Wall)*3/4 {
			return false
		}
	}
	longest := d.longest()
	return d.Graph == nil || runnable >= d.l.Queue/2 && longest < d.l.Wall*85/100 && longest*time.Duration(d.l.Procs) < d.used()
}

// longest returns the longest running time of a goroutine that has ended or is alone in its group.
// The program takes at least that long on any number of processors. Of goroutines that receive work
// again and again, others can take over what one did: it is then their mean.
func (d *diagnosis) longest() (most time.Duration) {
	for _, b := range d.boxes {
		if b.Goroutines == 1 {
			most = max(most, b.Running)
		}
	}
	if d.Tasks != nil && d.Tasks.Of == granularity.OfGoroutines && !d.Window && !d.windowed() {
		for i := range d.Tasks.Classes {
			c := &d.Tasks.Classes[i]
			least := time.Duration(c.RunningNS.Max())
			if h := d.handed[c.Name]; h != nil && h.most.Kind == contention.ChanReceiveKind && h.waits >= 2*int64(c.Tasks) {
				least = time.Duration(c.RunningNS.Sum() / float64(max(c.Tasks, 1)))
			}
			most = max(most, least)
		}
	}
	return min(most, d.l.Wall)
}

// hottest returns the group of goroutines that ran most.
func (d *diagnosis) hottest() string {
	code := map[string]time.Duration{}
	for group := range d.code {
		code[group] = d.ran[group].code
	}
	return largest(code, strings.Compare)
}

// enough returns the number of processors that would have served 95 % of the offered load, or the
// number that the goroutine which ran longest leaves work for, if that is less.
func (d *diagnosis) enough() int {
	most := len(d.l.Offered)
	if longest := d.longest(); longest > 0 {
		most = int((d.used() + longest - 1) / longest)
	}
	var all time.Duration
	for n, t := range d.l.Offered {
		all += time.Duration(n) * t
	}
	for k := 1; k < min(len(d.l.Offered), most); k++ {
		var served time.Duration
		for n, t := range d.l.Offered {
			served += time.Duration(min(n, k)) * t
		}
		if served*20 >= all*19 {
			return k
		}
	}
	return max(min(len(d.l.Offered)-1, most), 1)
}

func mean(sum, over time.Duration) string { return format.Number(ratio(sum, over)) }

// short returns the name of a place in a sentence.
func short(p timeline.Place) string {
	if p.Func == "" {
		return "a place that the trace does not show"
	}
	return p.String()
}

func (d *diagnosis) places(ps ...timeline.Place) (out []timeline.Place) {
	for _, p := range ps {
		if p.Func != "" {
			out = append(out, p)
		}
	}
	return out
}
