package tracewaits

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/waitlog"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Waits logged by wrapped locks
//
// The messages of wrapped locks (package waitlog) come after the waits that they describe: once the
// owner, or the waiter itself, has released the lock. Therefore waits in the methods of package
// contention's types are not booked at once, but kept for a while:
//
//  1. A message about a wait replaces all waits of that goroutine in its time; the trace may show
//     several. Their inferred split is dropped.
//  2. The wait is booked with the split in the message, flagged Logged. The call chains and groups
//     of the owners are those of their own messages.
//  3. If there is no message in time, the wait is booked as inferred: collection was off, or the
//     lock is hot and the wait was not sampled. So is a wait that began before the trace or the
//     latest cut: the message does not show which part of it came later.
//
// A message from another goroutine may come before the trace shows that the waiter continues. It is
// kept until then. Waits that have a message but no interval in the trace, because the waiter got
// the lock while spinning, are not in the profile. A message that does not sum up, or fits no wait,
// changes nothing.
//
// The messages have their own clock, which serves only to find waits. Since no message is written
// before its time, the minimum difference seen between the two clocks is nearly right: within
// logTolerance. On Windows, the clocks differ in speed, so the minimum is over the latest messages
// only, and long waits can be off by more.

const (
	maxLogged     = 1 << 12 // waits kept for a message
	maxLoggedOf   = 1 << 9  // waits kept for one goroutine
	maxLoggedExit = 1 << 15 // exits remembered
	maxLoggedLock = 1 << 14 // locks
	maxLogOpen    = 1 << 10 // goroutines with incomplete messages

	maxTied = 32 // minimum number of messages whose clocks are compared

	logTolerance timeline.Time = 100_000
)

// traceLogs is the data from the messages.
type traceLogs struct {
	kept  map[int64][]*keptWait
	order []*keptWait                // oldest first
	exits map[loggedExit]loggedOwner // who released the lock, and when it had held that by the clock of the messages
	ring  []loggedExit               // keys of exits, in order of arrival
	next  int
	locks map[uint64]*tracedLock
	open  map[int64]*waitlog.Wait // by goroutine: messages with missing parts
	early map[int64]earlyWait     // by goroutine

	offset timeline.Time // upper bound of the trace's clock minus that of the messages
	latest timeline.Time // the same, over the last ties messages only
	ties   int

	sync  bool   // the locks of package sync log their waits, too: see package instrument
	exact int64  // waits that were logged
	bad   uint64 // malformed messages

	lined  int // number of exits added to histories
	walked int // number of exits visited for single waits, for tests
}

func newTraceLogs() traceLogs {
	return traceLogs{
		kept: map[int64][]*keptWait{}, exits: map[loggedExit]loggedOwner{}, locks: map[uint64]*tracedLock{},
		open: map[int64]*waitlog.Wait{}, early: map[int64]earlyWait{},
	}
}

// keptWait is a wait kept until its message arrives.
type keptWait struct {
	*waiting
	g    *timeline.Goroutine // with its ID and Func only
	gone bool
}

// earlyWait is a message from another goroutine, received at time at, about a wait whose end has
// not been seen yet.
type earlyWait struct {
	at   timeline.Time
	wait *waitlog.Wait
}

type loggedExit struct{ lock, number uint64 }

// loggedOwner is the goroutine that released a lock, with the times of its message.
type loggedOwner struct {
	owner owner
	past  *past
	waitlog.Exit
}

// keep keeps the finished wait of g for its message. It returns false if there will be none.
func (o *Observer) keep(g *timeline.Goroutine, w *waiting) bool {
	if !w.wrapped || w.earlier != 0 {
		return false
	}
	l := &o.logs
	k := &keptWait{waiting: w, g: &timeline.Goroutine{ID: g.ID, Func: g.Func}}
	if of := l.kept[g.ID]; len(of) >= maxLoggedOf {
		o.bookKept(of[0])
	}
	l.kept[g.ID] = append(l.kept[g.ID], k)
	l.order = append(l.order, k)
	if e, ok := l.early[g.ID]; ok {
		delete(l.early, g.ID)
		o.takeWait(e.at, e.wait)
	}
	for len(l.order) > 0 && (l.order[0].gone || len(l.order) > maxLogged) {
		o.bookKept(l.order[0])
		l.order = l.order[1:]
	}
	return true
}

// bookKept books a wait as inferred, unless a message has replaced it.
func (o *Observer) bookKept(k *keptWait) {
	if !k.gone {
		o.logs.drop(k)
		o.book(k.g, k.waiting)
	}
}

// bookAllKept books all kept waits as inferred.
func (o *Observer) bookAllKept() {
	for _, k := range o.logs.order {
		o.bookKept(k)
	}
	o.logs.order = nil
}

// drop removes a wait from those that are kept.
func (l *traceLogs) drop(k *keptWait) {
	id := k.g.ID
	k.gone = true
	if of := slices.DeleteFunc(l.kept[id], func(x *keptWait) bool { return x == k }); len(of) > 0 {
		l.kept[id] = of
	} else {
		delete(l.kept, id)
	}
}

// forgetOwners drops the logged owners and the messages with missing parts: all waits that they
// describe began before a gap.
func (l *traceLogs) forgetOwners() {
	clear(l.exits)
	l.ring, l.next = l.ring[:0], 0
	clear(l.open)
	clear(l.early)
	l.forgetHistories()
}

// forgetHistories drops the histories made of exits.
func (l *traceLogs) forgetHistories() {
	for _, lock := range l.locks {
		lock.forget()
	}
	l.lined = 0
}

// Log implements [timeline.Observer]. It processes the messages of wrapped locks.
func (o *Observer) Log(m *timeline.Log) {
	if m.Category != waitlog.Category || m.G == nil {
		return
	}
	version, text, _ := strings.Cut(m.Message, " ")
	what, text, _ := strings.Cut(text, " ")
	var err error
	switch {
	case version != waitlog.Version:
		err = waitlog.ErrMessage
	case what == "l": // does not show who owned the lock
	case what == "x":
		err = o.logExit(m, text)
	case what == "w":
		var w *waitlog.Wait
		if w, err = waitlog.ParseWait(text); err == nil {
			err = o.logWait(m, w)
		}
	case what == "p":
		w := o.logs.open[m.G.ID]
		if w == nil {
			return // it began before the trace
		}
		delete(o.logs.open, m.G.ID)
		if err = w.AddParts(text); err == nil {
			err = o.logWait(m, w)
		}
	default:
		err = waitlog.ErrMessage
	}
	if err != nil {
		o.logs.bad++
	}
}

// logExit records who released a lock.
func (o *Observer) logExit(m *timeline.Log, text string) error {
	x, err := waitlog.ParseExit(text)
	if err != nil {
		return err
	}
	l := &o.logs
	l.tie(m, x.Sent)
	l.sync = l.sync || x.Lock&waitlog.SyncLock != 0
	k := loggedExit{x.Lock, x.Number}
	if _, again := l.exits[k]; !again {
		if len(l.ring) < maxLoggedExit {
			l.ring = append(l.ring, k)
		} else {
			delete(l.exits, l.ring[l.next])
			l.ring[l.next] = k
			l.next = (l.next + 1) % maxLoggedExit
		}
	}
	g := o.goroutine(m.G)
	g.shown = true
	by := o.ownerAs(g.g, o.places.of(m.Stack).site, 0)
	l.exits[k] = loggedOwner{by, o.pastOf(g), x}
	return nil
}

// logWait processes a message about a wait, if it is complete.
func (o *Observer) logWait(m *timeline.Log, w *waitlog.Wait) error {
	l := &o.logs
	l.tie(m, w.Sent)
	if !w.Complete() {
		if len(l.open) < maxLogOpen {
			l.open[m.G.ID] = w
		}
		return nil
	}
	if err := w.Check(); err != nil {
		return err
	}
	if m.G.ID == int64(w.Goroutine) {
		if g := o.goroutine(m.G); !g.wait.chosen {
			o.commit(g) // its wait is over
		}
	}
	if !o.takeWait(m.Time, w) && m.G.ID != int64(w.Goroutine) {
		if len(l.early) >= maxLogOpen { // of goroutines that never continued
			clear(l.early)
		}
		l.early[int64(w.Goroutine)] = earlyWait{m.Time, w}
	}
	return nil
}

// takeWait books the wait of a message that came at time at, in place of the kept waits that it
// covers. It returns false if there are none.
func (o *Observer) takeWait(at timeline.Time, w *waitlog.Wait) bool {
	l := &o.logs
	waited := timeline.Time(w.Waited)
	start, tolerance := timeline.Time(w.Start)+l.offset, logTolerance+waited/64
	end := start + waited
	if start < o.cuts.at-tolerance || end > at+tolerance {
		return true // a part of it is in another profile, or it is not over
	}
	var logged waiting
	var g *timeline.Goroutine
	for _, k := range slices.Clone(l.kept[int64(w.Goroutine)]) {
		if k.began < start-tolerance || k.resumed > end+tolerance || min(k.resumed, end) <= max(k.began, start) {
			continue
		}
		if g == nil {
			g, logged = k.g, waiting{site: k.site, kind: k.kind, flags: k.flags & contention.Reacquire, lockWaiting: &noLockWaiting}
		}
		logged.blocks += k.blocks
		l.drop(k)
	}
	if g == nil {
		return false // it did not block, or not in the trace
	}
	lock := l.lock(o, w, logged.site)
	logged.lock = lock
	o.fill(&logged, w, start, at)
	logged.resumed = min(end, at)
	o.released(lock, logged.resumed, int(w.Waiters))
	o.contend(lock, min(start, logged.resumed-1), logged.resumed, timeline.Time(w.Contended))
	l.exact++
	o.book(g, &logged)
	return true
}

// tie compares the two clocks at a message, which may have been delayed after it was sent.
func (l *traceLogs) tie(m *timeline.Log, sent uint64) {
	d := m.Time - timeline.Time(sent)
	switch l.ties {
	case 0:
		l.offset, l.latest = d, d
	case maxTied:
		l.offset, l.latest, l.ties = l.latest, d, 0
	}
	l.offset, l.latest = min(l.offset, d), min(l.latest, d)
	l.ties++
}

// fill sets the fields of logged, a wait that began at start, from its message, which came now.
func (o *Observer) fill(logged *waiting, w *waitlog.Wait, start, now timeline.Time) {
	if w.Kind != waitlog.Mutex || w.Lock&waitlog.SyncLock == 0 { // a Mutex of package sync may be in an RWMutex
		logged.kind = [...]timeline.Wait{waitlog.Mutex: timeline.WaitMutex, waitlog.Writer: timeline.WaitRWMutexWriter, waitlog.Reader: timeline.WaitRWMutexReader}[w.Kind]
	}
	logged.flags |= contention.Logged
	if w.Reacquire {
		logged.flags |= contention.Reacquire
	}
	logged.waited = timeline.Time(w.Waited)
	w.Parts = slices.DeleteFunc(w.Parts, func(p waitlog.Part) bool { return o.takeSums(logged, w, &p) })
	parts, handOff, unattributed := o.logs.split(w)
	// The message does not contain the times of the hand-off and of the unknown owners.
	first, last := o.windows.clip(start, start+logged.waited, now)
	o.spend(logged, handOffSpan, first, last, timeline.Time(handOff))
	o.spend(logged, unattributedSpan, first, last, timeline.Time(unattributed))
	for i := range parts {
		p := &parts[i]
		by, known := o.logs.exits[loggedExit{w.Lock, p.Number}]
		if !known {
			by.owner = owner{site: o.places.unknown.site}
		}
		by.owner.flags = 0
		for bit, flag := range [...]uint32{contention.ReadOwner, contention.PendingWriter, contention.InWait} {
			if p.Flags&(1<<bit) != 0 {
				by.owner.flags |= flag
			}
		}
		if p.Goroutine != 0 && o.opt.Goroutines { // otherwise only in its own message
			by.owner.g = int64(p.Goroutine)
		}
		from := start + timeline.Time(p.From)
		to := from + timeline.Time(p.Length)
		did := by.past.between(from, to)
		did.scale(timeline.Time(p.NS))
		from, to = o.windows.clip(from, to, now)
		o.blame(logged, &by.owner, from, to, timeline.Time(p.NS), &did, by.past)
	}
}

// takeSums divides a part of a wait with many owners. If they have held the lock one after the
// other, their exits are a history of the lock, like the releases of other locks, with the same
// sums. It returns false if that is not so, or not known.
func (o *Observer) takeSums(logged *waiting, w *waitlog.Wait, p *waitlog.Part) bool {
	l, lock := &o.logs, logged.lock
	first := p.Number - p.Count + 1
	if int(p.Count) <= wideSum || p.Flags != 0 || p.NS != p.Length || o.windows != nil || l.locks[w.Lock] != lock {
		return false
	}
	if lock.next < first || max(lock.ahead, l.offset)-min(lock.ahead, l.offset) > logTolerance {
		lock.forget()
		lock.next, lock.ahead = first, l.offset
	}
	lock.peak = max(lock.peak, int(w.Waiters))
	for ; lock.next <= p.Number; lock.next++ {
		x, known := l.exits[loggedExit{w.Lock, lock.next}]
		if !known || x.To == 0 || x.Reader || x.Pending != 0 {
			return false
		}
		h := &hold{from: timeline.Time(x.From) + lock.ahead, to: timeline.Time(x.To) + lock.ahead, coOwner: coOwner{owner: x.owner, past: x.past}}
		if before := lock.last(); before != nil {
			h.from, h.to = max(h.from, before.to), max(h.to, before.to)
			if h.from > before.to {
				h.spans = append(h.spans, heldSpan{from: before.to, to: h.from, what: handOffSpan})
			}
		}
		if h.from < h.to {
			h.spans = append(h.spans, heldBy(&h.coOwner, h.from, h.to))
		}
		lock.add(h)
		if l.lined++; l.lined > 4*maxLoggedExit {
			l.forgetHistories()
			return false
		}
	}
	n := len(lock.history) - int(lock.next-1-p.Number)
	if n < int(p.Count) {
		return false
	}
	for _, back := range [2]uint64{0, p.Count - 1} {
		x := l.exits[loggedExit{w.Lock, p.Number - back}]
		if timeline.Time(x.To)+lock.ahead > lock.history[n-1-int(back)].to {
			lock.forget() // it is that of an earlier lock with the same address
			return false
		}
	}
	start := timeline.Time(w.Start) + lock.ahead + timeline.Time(p.From)
	end := start + timeline.Time(p.Length)
	c := cutter{o: o, w: logged, lock: lock, start: start, at: min(end, max(start, lock.history[n-1].to)), end: lock.history[n-1], n: n}
	o.unowned(logged, handOffSpan, c.at, end)
	if c.bySums(); c.steps <= maxSteps {
		o.unowned(logged, handOffSpan, start, c.at)
	} else {
		o.unowned(logged, unattributedSpan, start, c.at)
	}
	return true
}

// split returns the parts of a wait, each with one owner, its hand-off, and the time without a known
// owner. The owners of a part with several are split as package contention does it: readers that
// hold an RWMutex together share the blame equally; that of a waiting reader, they share with the
// writer that waits for them.
func (l *traceLogs) split(w *waitlog.Wait) (parts []waitlog.Part, handOff, unattributed int64) {
	handOff, unattributed = w.HandOff, w.Unattributed
	for i := range w.Parts {
		p := &w.Parts[i]
		if p.Count == 0 {
			parts = append(parts, *p)
			continue
		}
		at, end, left := int64(w.Start)+p.From, int64(w.Start)+p.From+p.Length, p.NS
		blame := func(x *waitlog.Exit, from, ns int64, flags waitlog.Flags) {
			ns = min(ns, left)
			left -= ns
			parts = append(parts, waitlog.Part{Number: x.Number, From: from - int64(w.Start), Length: max(at-from, ns), NS: ns, Flags: flags})
		}
		l.walked += int(p.Count)
		exits := make([]waitlog.Exit, 0, min(p.Count, 1024))
		for n := p.Number - p.Count + 1; n <= p.Number; n++ {
			if x := l.exits[loggedExit{w.Lock, n}].Exit; x.To > at {
				if x.From, x.To = max(x.From, at), min(x.To, end); x.From < x.To {
					exits = append(exits, x)
				}
			} else if x.To == 0 {
				p.Flags |= waitlog.Missed
			}
		}
		for len(exits) > 0 {
			x, n, flags := &exits[0], 1, waitlog.Flags(0)
			if x.Reader {
				flags = waitlog.ReadOwner
				for n < len(exits) && exits[n].Reader && exits[n].Pending == x.Pending {
					n++
				}
			}
			pending := x.Reader && w.Kind == waitlog.Reader && n < len(exits) && exits[n].Pending == x.Pending
			from, share, rest := max(x.From, at), int64(0), int64(0)
			at = from
			for i := range n { // share is that of each that has not left
				sharers := int64(n - i)
				if pending {
					sharers++
				}
				d := max(0, exits[i].To-at) + rest
				share, rest, at = share+d/sharers, d%sharers, max(at, exits[i].To)
				blame(&exits[i], from, share, flags)
			}
			if pending {
				blame(&exits[n], from, share+rest, waitlog.PendingWriter)
			}
			exits = exits[n:]
		}
		if p.Flags&waitlog.Missed != 0 {
			unattributed += left
		} else {
			handOff += left
		}
	}
	return parts, handOff, unattributed
}

// lock returns the lock of a message about a wait at a site, which is inferred if there are too many.
func (l *traceLogs) lock(o *Observer, w *waitlog.Wait, site *callSite) *tracedLock {
	lock := l.locks[w.Lock]
	declared := ""
	if w.Lock&waitlog.SyncLock != 0 {
		declared = o.declared(site)
	}
	if lock == nil || declared != "" && lock.declared != "" && declared != lock.declared { // the address was used again
		if len(l.locks) >= maxLoggedLock {
			return o.lockOf(site)
		}
		o.locks++
		lock = &tracedLock{id: o.locks}
		l.locks[w.Lock] = lock
	}
	lock.declared = cmp.Or(lock.declared, declared)
	lock.name, lock.class = cmp.Or(w.Name, lock.name), cmp.Or(w.Class, lock.declared, lock.class, site.class())
	return lock
}

// declared returns the declaration of the lock that is asked for at a site, or "". Only the source
// of programs whose locks of package sync log their waits is known to be that of the trace.
func (o *Observer) declared(site *callSite) string {
	if o.opt.Declared == nil || !o.logs.sync {
		return ""
	}
	return o.opt.Declared(site.stack, o.wall)
}

// warnLogged adds a warning with the percentage of the waiting that is exact.
func (o *Observer) warnLogged(p *contention.Profile) {
	var exact, all time.Duration
	for i := range p.Waits {
		if w := &p.Waits[i]; w.OfLock() {
			if all += w.Waited; w.Flags&contention.Logged != 0 {
				exact += w.Waited
			}
		}
	}
	if exact > 0 {
		p.Warnings = append(p.Warnings, format.Percent(exact, all)+" of the waiting for locks is exact, as the program's own locks logged it; it is flagged so. The rest is inferred.")
	}
	if o.logs.bad > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s not understood, and left out.", format.Plural(o.logs.bad, "log message of the category "+waitlog.Category+" was", "log messages of the category "+waitlog.Category+" were")))
	}
}
