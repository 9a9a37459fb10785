package ledger

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/apportion"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/internal/starter"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// rowKey identifies a row during the pass. Frames of one pass are compared by pointer; equal places
// are joined at the end. It has four words so that the compiler keeps it in registers: each event
// looks one up.
type rowKey struct {
	site      *timeline.Frame
	wakerSite *timeline.Frame
	groups    uint64 // group, and above it waker
	kind      uint64 // beside, and above it wait and category
}

func keyOf(c category, group who, site *timeline.Frame) rowKey {
	return rowKey{site: site, groups: uint64(group), kind: uint64(c) << 40}
}

func (k rowKey) category() category  { return category(k.kind >> 40) }
func (k rowKey) wait() timeline.Wait { return timeline.Wait(k.kind >> 32) }
func (k rowKey) beside() who         { return who(k.kind) }
func (k rowKey) group() who          { return who(k.groups) }
func (k rowKey) waker() who          { return who(k.groups >> 32) }

// after returns the key of a gap that ended with a wait.
func (k rowKey) after(w timeline.Wait) rowKey {
	k.kind |= uint64(w) << 32
	return k
}

// whileRan returns the key of a gap in which w ran.
func (k rowKey) whileRan(w who) rowKey {
	k.kind |= uint64(w)
	return k
}

// waited returns the key of the gaps in which a goroutine was waited for.
func (m *member) waited() rowKey {
	c := catIdle
	if outside(&m.cause) {
		c = catOutside
	}
	k := keyOf(c, m.group, m.cause.stack.Site()).after(m.cause.wait)
	k.wakerSite = m.cause.wakerStack.Site()
	k.groups |= uint64(m.cause.waker) << 32
	return k
}

// category is the number of a category, in the order of [Categories].
type category uint8

const (
	catCode category = iota
	catC
	catSyscall
	catGCWorker
	catGCAssist
	catGCSweep
	catGCStop
	catTracer
	catRuntime
	catScheduler
	catWakeUp
	catIdle
	catOutside
	catNoWork
)

var categories = Categories()

type row struct {
	key    rowKey
	time   timeline.Time
	count  int64
	queue  float64       // in ns·goroutines
	locked timeline.Time // see Row.Locked
	// blocked is the part of time of slices that ended with a wait, where the call chain is.
	blocked timeline.Time
	all     bool // see Row.All
	majority
}

// majority is the call chain of more than half of a row's time if there is one, otherwise some call
// chain of it. It needs no table: a call chain is replaced when the others outweigh it (Boyer and
// Moore).
type majority struct {
	stack  *timeline.Stack
	weight timeline.Time
}

func (m *majority) add(s *timeline.Stack, t timeline.Time) {
	switch {
	case s == m.stack && m.weight > 0:
		m.weight += t
	case s == nil:
	case s.Root() == s.Site():
		// It has no callers: the runtime has often lost them when it preempts a goroutine.
		if m.weight == 0 {
			m.stack = s
		}
	case t <= m.weight:
		m.weight -= t
	default:
		m.stack, m.weight = s, t-m.weight
	}
}

// maxRows bounds the rows: later ones are added up by category.
const maxRows = 1 << 14

type rows struct {
	of      map[rowKey]*row
	recent  *[1 << recentBits]*row     // cache of recent lookups
	samples map[sampleKey]*samples     // of the CPU profiler
	chains  map[chainKey]timeline.Time // with Options.Stacks
}

type sampleKey struct {
	group who
	site  *timeline.Frame
	in    timeline.Wait // a lock
}

type samples struct {
	n int64
	majority
}

const recentBits = 9

// at returns the row of a key.
func (r *rows) at(k rowKey) *row {
	if r.recent == nil {
		r.recent = new([1 << recentBits]*row)
	}
	h := uint64(uintptr(unsafe.Pointer(k.site))) ^ uint64(uintptr(unsafe.Pointer(k.wakerSite)))<<20 ^ bits.RotateLeft64(k.groups, 24) ^ bits.RotateLeft64(k.kind, 48)
	e := &r.recent[h*0x9E3779B97F4A7C15>>(64-recentBits)]
	if *e == nil || (*e).key != k {
		*e = r.find(k)
	}
	return *e
}

func (r *rows) find(k rowKey) *row {
	if found := r.of[k]; found != nil {
		return found
	}
	if len(r.of) >= maxRows {
		k = keyOf(k.category(), otherGroups, nil)
		if found := r.of[k]; found != nil {
			return found
		}
	}
	if r.of == nil {
		r.of = map[rowKey]*row{}
	}
	made := &row{key: k}
	r.of[k] = made
	return made
}

func (r *rows) sample(group who, stack *timeline.Stack) {
	if r.samples == nil {
		r.samples = map[sampleKey]*samples{}
	}
	k := sampleKey{group, stack.Site(), stack.InLock()}
	if r.samples[k] == nil && len(r.samples) >= maxRows {
		k.site, k.in = nil, timeline.WaitNone
	}
	s := r.samples[k]
	if s == nil {
		s = &samples{}
		r.samples[k] = s
	}
	s.n++
	s.add(stack, 1)
}

// category returns what a running goroutine does.
func (o *Observer) category(m *member) category {
	switch {
	case o.stop != 0 && o.stopper == m.g:
		return stopCategory(o.stop)
	case m.base != catCode:
		return m.base
	case m.inAssist:
		return catGCAssist
	case m.sweeps:
		return catGCSweep
	case m.c:
		return catC
	case m.call:
		return catSyscall
	}
	return catCode
}

func baseOf(g *timeline.Goroutine) category {
	switch {
	case g.Label() != "" || g.Kind == timeline.GC:
		return catGCWorker
	case g.Kind == timeline.Tracer:
		return catTracer
	case g.Kind != timeline.Application:
		return catRuntime
	}
	return catCode
}

func stopCategory(w who) category {
	switch w {
	case stopGC:
		return catGCStop
	case stopTracer:
		return catTracer
	}
	return catRuntime
}

// book adds the running time of a goroutine to the row of what it did and where. blocks reports
// whether it ends with a wait.
func (o *Observer) book(m *member, stack *timeline.Stack, blocks bool) {
	dt, part := o.now-m.since, o.part-m.part
	m.since, m.part = o.now, o.part
	if dt == 0 {
		return
	}
	if m.slot < 0 {
		o.unbooked += dt
		return
	}
	c := o.category(m)
	switch {
	case c == catGCAssist:
		stack = o.assists[m.g]
	case c == catCode && stack.Forks():
		c = catSyscall
	}
	group := m.group
	if c == catRuntime && o.stop == stopRuntime && o.stopper == m.g {
		group, stack = 0, o.stopped
	}
	k := keyOf(c, group, stack.Site())
	if o.opt.Stacks {
		o.rows.chain(k, stack, nil, dt)
	}
	r := o.rows.at(k)
	r.add(stack, dt)
	r.time += dt
	if blocks {
		r.blocked += dt
	}
	r.queue += part
	r.count++
}

// shortGap bounds the gaps that count as the scheduler's switch between two goroutines.
const shortGap = 10 * timeline.Time(time.Microsecond)

// close books the gap of a slot that m ends. A nil m is the end of the trace.
func (o *Observer) close(s *slot, m *member) {
	by, gap := o.enderOf(m), o.now-s.at
	o.lockedPart = 0
	if gap > 0 && o.lockedTime > s.locked {
		o.lockedPart = float64(o.lockedTime-s.locked) / float64(gap)
	}
	if gap <= shortGap && m != nil && m.base == catCode && !(m.marked && m.ready.at > s.at) {
		// Most gaps: the goroutine was ready in all of it, so it does not matter what ran.
		of := by
		if by == nil && goesOn(m, gap) {
			of = m
		}
		if of != nil && (by == nil || len(s.pending) == 0) {
			if t, ok := o.history.undivided(&s.mark, o.now); ok {
				o.bookEmpty(o.between(of, gap), &of.cause, t)
				return
			}
		}
	}
	// idle is the part before the goroutine that ends the gap was ready; ready is the rest.
	idle, ready := o.wait[:0], o.latency[:0]
	h := &o.history
	switch {
	case m != nil && m.marked && m.ready.at > s.at:
		i := h.since(&m.ready, o.now, &ready)
		if s.clocks == nil {
			h.sum(s.at, m.ready.at, i, &idle)
		} else {
			h.since(&s.mark, o.now, &idle)
			idle.remove(ready)
		}
	case m != nil && m.base == catCode:
		h.since(&s.mark, o.now, &ready)
	default:
		h.since(&s.mark, o.now, &idle)
	}
	switch {
	case by == nil && len(idle) == 0 && goesOn(m, gap):
		o.empties(o.between(m, gap), &m.cause, ready, false)
	case m == nil:
		idle.addAll(s.pending)
		s.pending = s.pending[:0]
		o.empties(keyOf(catNoWork, 0, nil), nil, idle, true)
	case by == nil:
		s.pending.addAll(idle)
		s.pending.addAll(ready)
	default:
		switch {
		case len(idle) == 0:
		case o.switches(gap):
			ready.addAll(idle)
			idle = idle[:0]
		default:
			gap = math.MaxInt64 // others waited for the goroutine
		}
		if len(ready) > 0 {
			k := o.between(by, gap)
			o.empties(k, &by.cause, ready, k.category() == catWakeUp)
		}
		for _, sp := range s.pending {
			if sp.time > littleWork*(o.now-by.waitedAt) { // it waited only for a small part of that
				o.empties(keyOf(catIdle, 0, nil), &cause{}, spells{sp}, true)
			} else {
				idle.add(sp.who, sp.time)
			}
		}
		s.pending = s.pending[:0]
		if len(idle) > 0 {
			o.empties(by.waited(), &by.cause, idle, true)
		}
	}
	o.wait, o.latency = idle, ready
}

// switches reports whether a gap that ends now was only the way from one goroutine to the next: it
// was short, and others are ready. A timer that the scheduler runs there, or the network, may have
// made the next one ready, but the processor did not wait for that.
func (o *Observer) switches(gap timeline.Time) bool { return gap <= shortGap && o.ready > 0 }

// between returns the row of a gap in which m was ready.
func (o *Observer) between(m *member, gap timeline.Time) rowKey {
	c := catWakeUp
	if gap <= shortGap {
		c = catScheduler
	}
	return keyOf(c, m.group, m.cause.stack.Site()).after(m.cause.wait)
}

// goesOn reports whether a gap was only the way of a goroutine of the program from where it was
// stopped to where it continues.
func goesOn(m *member, gap timeline.Time) bool {
	return m != nil && (m.cause.wait == timeline.WaitYield || gap <= shortGap && stopped(m.cause.wait)) && m.base == catCode
}

// closeAll books the time in which nothing ran, of all slots, when m ends it: m explains why all of
// them were empty. A nil m is the end of the trace.
func (o *Observer) closeAll(m *member) {
	if o.idle == 0 || o.procs == 0 {
		return // kept while GOMAXPROCS is unknown
	}
	by := o.enderOf(m)
	times := timeline.Time(o.procs)
	o.lockedPart = 0
	if m != nil && by == nil {
		if ready := min(o.now-m.ready.at, o.idle-o.kept); goesOn(m, ready) {
			o.empties(o.between(m, ready), &m.cause, spells{{none, ready * times}}, false)
			o.idle -= ready
		}
		o.kept = o.idle
		return // the rest is counted as part of the next time
	}
	if m == nil {
		o.empties(keyOf(catNoWork, 0, nil), nil, spells{{none, o.idle * times}}, true)
		o.idle, o.kept = 0, 0
		return
	}
	ready, gap := min(o.now-m.ready.at, o.idle), timeline.Time(math.MaxInt64)
	switch {
	case o.switches(o.idle):
		ready, gap = o.idle, o.idle
	case o.procs == 1 && ready == o.idle:
		gap = ready // nothing else could have run it
	}
	k := o.between(by, gap)
	o.empties(k, &by.cause, spells{{none, ready * times}}, k.category() == catWakeUp)
	o.empties(by.waited(), &by.cause, spells{{none, (o.idle - ready) * times}}, true)
	o.idle, o.kept = 0, 0
}

// enderOf returns the goroutine that causes the end of a gap. It is m, unless m had been stopped.
// Then it is the goroutine that took the slot of m, such as the receiver of a mutex handover. It is
// nil if that goroutine is not of the program or was stopped as well. The gap is then counted as
// part of the next one in its slot.
func (o *Observer) enderOf(m *member) *member {
	if m != nil && m.slot >= 0 && int(m.slot) < len(o.slots) && stopped(m.cause.wait) {
		m = o.slots[m.slot].occupant()
	}
	if m == nil || stopped(m.cause.wait) || m.base != catCode {
		return nil
	}
	return m
}

// outside reports whether no goroutine ended the wait, but a timer, the network or the operating
// system.
func outside(c *cause) bool {
	if c.waker != 0 {
		return false
	}
	switch c.wait {
	case timeline.WaitSleep, timeline.WaitNetwork, timeline.WaitSyscall, timeline.WaitCThread,
		timeline.WaitChanReceive, timeline.WaitSelect, timeline.WaitCreated:
		return true
	}
	return false
}

// empties books the time of an empty slot, by who ran during that time if divide is set. c is
// its cause, or nil.
func (o *Observer) empties(k rowKey, c *cause, s spells, divide bool) {
	rest := timeline.Time(0) // not divided
	for _, sp := range s {
		switch {
		case sp.who < 0:
			key := keyOf(stopCategory(sp.who), 0, nil)
			if sp.who == stopRuntime {
				key.site = o.stopped.Site()
			}
			o.bookEmpty(key, c, sp.time)
		case divide:
			o.bookEmpty(k.whileRan(sp.who), c, sp.time)
		default:
			rest += sp.time
		}
	}
	o.bookEmpty(k, c, rest)
}

func (o *Observer) bookEmpty(k rowKey, c *cause, t timeline.Time) {
	if t == 0 {
		return
	}
	var stack *timeline.Stack
	if c != nil {
		stack = c.stack
	}
	if o.opt.Stacks {
		o.rows.chain(k, stack, c, t)
	}
	r := o.rows.at(k)
	r.add(stack, t)
	r.time += t
	if o.lockedPart > 0 {
		r.locked += timeline.Time(float64(t) * o.lockedPart)
	}
	r.count++
	r.all = k.wakerSite != nil && c.wakerStack.WakesAll()
}

// littleWork is how many times as long processors were empty as a group ran that has little to do.
const littleWork = 8

// spare corrects the rows of processors that were empty while others ran, until a timer, the
// network or the operating system made a goroutine ready that has little to do: it looks at
// something at times, waits for connections, or sleeps once for long. Without its waits, the
// processors would be as empty, so what ran explains them.
func (o *Observer) spare() {
	ran, waited := map[who]timeline.Time{}, map[who]timeline.Time{}
	beside := func(k rowKey) bool { return k.category() == catOutside && k.beside() != none }
	for k, r := range o.rows.of {
		switch {
		case k.category() <= catSyscall:
			ran[k.group()] += r.time
		case beside(k):
			waited[k.group()] += r.time
		}
	}
	to := func(k rowKey) rowKey { return keyOf(catIdle, 0, nil).whileRan(k.beside()) }
	for k, r := range o.rows.of {
		if beside(k) && (ran[k.group()] < waited[k.group()]/littleWork || r.time > timeline.Time(r.count)*(o.now/5)) {
			sum := o.rows.find(to(k))
			sum.time, sum.count, sum.locked = sum.time+r.time, sum.count+r.count, sum.locked+r.locked
			delete(o.rows.of, k)
		}
	}
	for k, t := range o.rows.chains {
		if beside(k.rowKey) && o.rows.of[k.rowKey] == nil {
			o.rows.chains[chainKey{rowKey: to(k.rowKey)}] += t
			delete(o.rows.chains, k)
		}
	}
}

// Ledger returns the ledger of the pass, once it has ended.
func (o *Observer) Ledger() *Ledger {
	o.spare()
	l := &Ledger{
		Start: max(o.opt.From, 0), Wall: time.Duration(o.now), Procs: o.maxProcs, Capacity: time.Duration(o.capacity),
		Queue: time.Duration(o.queue), Queued: time.Duration(o.queued),
		Born: o.born, Slices: o.slices,
		Pinned: o.threads.names(&o.groups), Heap: o.heap.result(),
	}
	for _, d := range o.offered {
		l.Offered = append(l.Offered, time.Duration(d))
	}
	sampled := o.sampledGroups()
	type fine struct {
		Row
		queue   uint64 // in 2^-16 ns, so that sums do not depend on their order
		blocked timeline.Time
		stacks  map[*timeline.Stack]timeline.Time
		shared  map[string]timeline.Time // by what shares returns
	}
	joined := map[name]*fine{}
	add := func(r Row, t, blocked timeline.Time, count int64, queue uint64, m majority) {
		f := joined[r.name()]
		if f == nil {
			f = &fine{Row: r, stacks: map[*timeline.Stack]timeline.Time{}}
			joined[r.name()] = f
		}
		f.All = f.All || r.All
		f.stacks[m.stack] += m.weight
		if fn := shares(m.stack); fn != "" && r.Category == Code {
			if f.shared == nil {
				f.shared = map[string]timeline.Time{}
			}
			f.shared[fn] += t
		}
		f.Time += time.Duration(t)
		f.blocked += blocked
		f.Count += count
		f.queue += queue
	}
	totals := map[who]*total{}
	for k, r := range o.rows.of {
		if group := k.group(); sampled[group] > 0 && k.category() == catCode {
			sum := totals[group]
			if sum == nil {
				sum = &total{}
				totals[group] = sum
			}
			sum.time += r.time
			sum.count += r.count
			sum.queue += fixed(r.queue)
			continue
		}
		named := o.row(k)
		named.All = r.all
		add(named, r.time, r.blocked, r.count, fixed(r.queue), r.majority)
		joined[named.name()].Locked += time.Duration(r.locked)
	}
	for group, sum := range totals {
		o.divide(group, sum, func(k sampleKey, t timeline.Time, queue uint64, m majority) {
			r := o.row(keyOf(catCode, group, k.site).after(k.in))
			r.Sampled = true
			count := int64(0)
			if sum.count > 0 {
				count, sum.count = sum.count, 0
			}
			add(r, t, 0, count, queue, m)
		})
	}
	left := l.Queue // rounding
	for _, f := range joined {
		f.Queue = time.Duration(f.queue >> fixedBits)
		left -= f.Queue
		large, calls := f.Time >= l.Capacity/1000 || f.Wait == timeline.WaitCreated.String(), f.Category == Syscall || f.Wait == timeline.WaitSyscall.String()
		yields := f.Wait == timeline.WaitYield.String()
		if large || calls || yields {
			s, callers := most(f.stacks)
			if large { // skip the many small rows to save memory
				f.Callers = callers
			}
			if calls || yields {
				f.Callee, f.Call = callee(s), systemCall(s)
			}
			if f.Category == Code && time.Duration(f.blocked) < f.Time/2 {
				for fn, t := range f.shared {
					f.Shared += time.Duration(t)
					if most := f.shared[f.Callee]; t > most || t == most && fn < f.Callee {
						f.Callee = fn
					}
				}
			}
		}
		l.Rows = append(l.Rows, f.Row)
	}
	sortRows(l.Rows)
	longest := 0
	for i := range l.Rows {
		if l.Rows[i].Queue > l.Rows[longest].Queue {
			longest = i
		}
	}
	if len(l.Rows) > 0 && l.Rows[longest].Queue > 0 {
		l.Rows[longest].Queue += left
	}
	l.Stacks = o.stacks()
	l.Warnings = o.warnings()
	return l
}

const fixedBits = 16

func fixed(queue float64) uint64 { return uint64(queue*(1<<fixedBits) + 0.5) }

// total is the running of a group that samples divide.
type total struct {
	time  timeline.Time
	count int64
	queue uint64
}

func (o *Observer) sampledGroups() map[who]int64 {
	n := map[who]int64{}
	for k, c := range o.rows.samples {
		n[k.group] += c.n
	}
	for group, c := range n {
		if c < apportion.Enough {
			delete(n, group)
		}
	}
	return n
}

// divide divides the running time of a group among its sites in proportion to its samples, to the
// nanosecond.
func (o *Observer) divide(group who, sum *total, add func(sampleKey, timeline.Time, uint64, majority)) {
	type part struct {
		sampleKey
		*samples
	}
	var parts []part
	for k, n := range o.rows.samples {
		if k.group == group {
			parts = append(parts, part{k, n})
		}
	}
	order.Stable(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(b.n, a.n), placeOf(a.site).Compare(placeOf(b.site)), cmp.Compare(a.in, b.in))
	})
	weights := make([]uint64, len(parts))
	for i, p := range parts {
		weights[i] = uint64(p.n)
	}
	times, queues := apportion.Divide(uint64(sum.time), weights), apportion.Divide(sum.queue, weights)
	for i, p := range parts {
		add(p.sampleKey, timeline.Time(times[i]), queues[i], p.majority)
	}
}

func (o *Observer) row(k rowKey) Row {
	r := Row{Category: categories[k.category()]}
	if k.group() != 0 {
		r.Group = o.groups.names[k.group()]
	}
	switch r.Category {
	case NoWork:
		r.Beside = o.groups.names[k.beside()]
		return r
	case GCStop, Runtime:
		switch {
		case r.Group == "":
			r.Site = placeOf(k.site) // of a stop of the world
		case k.site != nil && symbol.IsProgram(k.site.Func, k.site.File):
			r.Site = placeOf(k.site) // of a finalizer or a cleanup
		default:
			r.Group = ""
		}
		return r
	case GCWorker, Tracer:
		return r
	}
	r.Site = placeOf(k.site)
	if r.Empty() && k.group() != 0 || k.wait() != timeline.WaitNone {
		r.Wait = k.wait().String()
	}
	if !r.Empty() || r.Category == Scheduler {
		return r
	}
	if k.waker() != 0 {
		r.Waker, r.WakerSite = o.groups.names[k.waker()], placeOf(k.wakerSite)
	}
	r.Beside = o.groups.names[k.beside()]
	return r
}

// shares returns the innermost call of a call chain if that is an atomic operation, or one of a
// reader of an RWMutex, or else the select in which the goroutine was preempted: these change memory
// that goroutines share, or look at it. It returns "" for others. A preempted Unlock of a Mutex may
// have handed it over.
func shares(s *timeline.Stack) string {
	for i, f := range s.Code() {
		switch {
		case strings.HasPrefix(f.Func, "runtime.select"):
			return f.Func
		case i == 0 && slices.ContainsFunc([]string{"sync/atomic.", "internal/runtime/atomic.", "sync.(*RWMutex).R"}, func(prefix string) bool { return strings.HasPrefix(f.Func, prefix) }):
			return f.Func
		case !strings.HasPrefix(f.Func, "runtime."):
			return ""
		}
	}
	return ""
}

// most returns the call chain with the most time, and its callers. Ties do not depend on the order
// of a map.
func most(stacks map[*timeline.Stack]timeline.Time) (of *timeline.Stack, best []timeline.Place) {
	longest := timeline.Time(-1)
	for s, t := range stacks {
		if t < longest {
			continue
		}
		if places := callers(s); t > longest || slices.CompareFunc(places, best, timeline.Place.Compare) < 0 {
			of, best, longest = s, places, t
		}
	}
	return of, best
}

// maxCallers bounds the callers of a row: half of them are the innermost, half the outermost.
const maxCallers = 16

// callers returns the places of the program from which the site of a call chain was called,
// innermost first.
func callers(s *timeline.Stack) (places []timeline.Place) {
	site := s.Site()
	if site == nil {
		return nil
	}
	inside := true // of the site
	for _, f := range s.Frames {
		if f.Func == "testing.(*M).Run" {
			break
		}
		if inside {
			inside = f != site
			continue
		}
		if symbol.IsProgram(f.Func, f.File) && !symbol.IsWrapper(f.Func, f.File) && !starter.Is(f.Func) {
			places = append(places, placeOf(f))
		}
	}
	if n := len(places); n > maxCallers {
		places = slices.Delete(places, maxCallers/2, n-maxCallers/2)
	}
	return places
}

// callee returns the function that the site of a call chain called, "" if the chain ends there.
func callee(s *timeline.Stack) string {
	if s != nil {
		if i := slices.Index(s.Frames, s.Site()); i > 0 {
			return s.Frames[i-1].Func
		}
	}
	return ""
}

// systemCall returns the name of the system call in which a call chain ends, or "".
func systemCall(s *timeline.Stack) string {
	if s == nil {
		return ""
	}
	for _, f := range s.Frames {
		switch pkg := symbol.Package(f.Func); pkg {
		case "syscall", "internal/syscall/unix", "internal/syscall/windows", "golang.org/x/sys/unix", "golang.org/x/sys/windows":
			if name := strings.ToLower(f.Func[len(pkg)+1:]); !strings.HasPrefix(strings.TrimPrefix(name, "raw"), "syscall") {
				return name
			}
		default:
			if !strings.HasPrefix(pkg, "runtime") && !strings.HasPrefix(pkg, "internal/runtime") {
				return ""
			}
		}
	}
	return ""
}

func placeOf(f *timeline.Frame) timeline.Place {
	if f == nil {
		return timeline.Place{}
	}
	return timeline.Place{Func: f.Func, File: f.File, Line: f.Line}
}

func (o *Observer) warnings() (w []string) {
	if o.unbooked > 0 {
		w = append(w, fmt.Sprintf("More goroutines ran than GOMAXPROCS: %s of running is not in the ledger.", format.Duration(time.Duration(o.unbooked))))
	}
	if o.maxProcs == 0 {
		w = append(w, "The trace does not say GOMAXPROCS.")
	}
	if o.version > 0 && o.version < 22 {
		w = append(w, fmt.Sprintf("A trace of Go 1.%d does not show the states of goroutines as exactly as those since Go 1.22.", o.version))
	}
	return w
}
