package diagnose

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/starter"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Each row of the ledger that is not the program's own work belongs to one cause: what a processor
// waited for (a lock, a limit, something outside, the collector, the tracer, the runtime). If it
// waited for another goroutine to make progress, the cause is the group of goroutines that ran
// during that time, too little work if several did, and the hand-over if none did.

type diagnosis struct {
	Results
	l          *ledger.Ledger
	boxes      map[string]*bottle.Box
	code       map[string][]int                  // rows of code by group, largest first
	locks      map[timeline.Place]timeline.Place // union-find over places of locks
	lockAge    map[timeline.Place]int            // by place that acquires a lock: its position among these
	limits     map[string]timeline.Place         // by group: where it waits at a semaphore
	limitAt    map[timeline.Place]*limit
	starters   map[string]timeline.Place        // by group: where it mostly waits at a channel that limits the goroutines it starts
	joined     map[timeline.Place]bool          // semaphores that are not limits: see joins
	waitsFrom  map[timeline.Place]bool          // where goroutines wait for others
	barriers   map[timeline.Place]bool          // where goroutines of one group wait until one of them wakes all
	closed     map[timeline.Place]bool          // where goroutines wait for a channel to be closed
	behalf     map[string]served                // by group: see servedBy
	above      map[served][]timeline.Place      // the callers there
	handler    map[string]string                // by group: see findHandlers
	tiny       map[string]bool                  // groups of many goroutines with almost no work each
	tracers    map[string]bool                  // groups of goroutines of the tracer
	short      map[string]bool                  // and with so little work that waiting for them may cost as much
	startedBy  map[string]map[string]bool       // by group: the groups whose goroutines start it
	stops      map[timeline.Place]time.Duration // time for which the program stopped the world there, except for the collector
	sums                                        // of the rows
	asked      map[timeline.Place]int64         // the program's own calls for a collection, by place; 0 if it only yields there
	outside    map[string]*ledger.Row           // by group: its largest wait for what is outside the program
	waitPlaces map[timeline.Place]int64         // waits for channels by place: see blocksAt
	receives   map[timeline.Place]bool          // where goroutines wait to receive: see receivesAt
	handed     map[string]*handOvers            // by group
	causes     []*cause
	byKey      map[key]*cause
	lockTable  []*contention.Tree
}

// sums are sums of the ledger's rows, from one walk over them.
type sums struct {
	of       map[string]time.Duration
	ran      map[string]ran // by group, as called
	at       map[visited]visits
	waitRows []int         // that end with a wait for a lock
	known    time.Duration // of what ran with a place
	nameless time.Duration // of code with neither a name nor a place
	inC      *ledger.Row   // the largest of C code
	shared   time.Duration // of code: see ledger.Row
	sharedAt *ledger.Row   // the largest of these
	yields   int64         // after which goroutines ran again
	yieldsAt *ledger.Row   // the most frequent of these
}

// ran is what the goroutines of a group did.
type ran struct {
	code, calls, c time.Duration
	slices         int64         // of code
	inC, started   *ledger.Row   // the largest of C code, and of goroutines that the program had just started
	nameless       time.Duration // of code without a place
	collector      time.Duration // of its workers
	shared         time.Duration // of code: see ledger.Row
	tracer         bool          // they started the tracer
}

// visited is a place where code or system calls ran.
type visited struct {
	category string
	place    timeline.Place
}

// visits are the slices that ended there, in spun of which goroutines may have spun for a lock.
type visits struct {
	time, spun time.Duration
	count      int64
}

// key identifies a cause.
type key struct {
	kind  string
	place timeline.Place
	name  string
}

// cause is a cause, with the rows that it explains.
type cause struct {
	key
	rows   []int
	lost   time.Duration
	count  int64
	waits  int64    // of goroutines, once times has counted them; 0 if unknown
	inside []inside // of a limit or a lock
	groups []string // of tiny goroutines
	// alone is the part of lost in which processors were idle while the caller of system calls
	// ran alone, and blocked that in which they were idle during some of the short calls.
	alone, blocked time.Duration

	queue bool    // of a lock: see queues
	held  float64 // with one processor: see held
	spun  bool    // and see spun
}

// causeOf returns the cause of a key, creating it if necessary.
func (d *diagnosis) causeOf(k key) *cause {
	c := d.byKey[k]
	if c == nil {
		c = &cause{key: k}
		d.byKey[k] = c
		d.causes = append(d.causes, c)
	}
	return c
}

// take moves all rows of another cause to c.
func (c *cause) take(from *cause) {
	c.rows, c.lost, c.count = append(c.rows, from.rows...), c.lost+from.lost, c.count+from.count
	c.alone, c.blocked = c.alone+from.alone, c.blocked+from.blocked
	from.rows, from.lost, from.count, from.alone, from.blocked = nil, 0, 0, 0, 0
}

// takeIf moves the rows like that of another cause to c.
func (c *cause) takeIf(from *cause, l *ledger.Ledger, like func(*ledger.Row) bool) {
	from.rows = slices.DeleteFunc(from.rows, func(i int) bool {
		r := &l.Rows[i]
		if !like(r) {
			return false
		}
		c.rows, c.lost, c.count = append(c.rows, i), c.lost+r.Time, c.count+r.Count
		from.lost, from.count = from.lost-r.Time, from.count-r.Count
		return true
	})
}

// callers returns the callers of the place of a cause.
func (c *cause) callers(d *diagnosis) []timeline.Place {
	if l := d.limitAt[c.place]; c.kind == Limit && l != nil {
		return l.callers
	}
	for r := range d.rowsOf(c) {
		if r.Site == c.place && len(r.Callers) > 0 {
			return r.Callers
		}
	}
	return nil
}

// rowsOf returns the rows of a cause, largest first.
func (d *diagnosis) rowsOf(c *cause) iter.Seq[*ledger.Row] {
	return func(yield func(*ledger.Row) bool) {
		for _, i := range c.rows {
			if !yield(&d.l.Rows[i]) {
				return
			}
		}
	}
}

// timesOf returns the times of a cause by category of the ledger.
func (d *diagnosis) timesOf(c *cause) map[string]time.Duration {
	sums := map[string]time.Duration{}
	for _, i := range c.rows {
		sums[d.l.Rows[i].Category] += d.l.Rows[i].Time
	}
	return sums
}

func (d *diagnosis) index() {
	d.behalf, d.above = map[string]served{}, map[served][]timeline.Place{}
	d.boxes, d.code, d.locks, d.limits, d.byKey = map[string]*bottle.Box{}, map[string][]int{}, map[timeline.Place]timeline.Place{}, map[string]timeline.Place{}, map[key]*cause{}
	d.barriers, d.waitsFrom, d.closed = map[timeline.Place]bool{}, map[timeline.Place]bool{}, map[timeline.Place]bool{}
	d.lockAge, d.startedBy = map[timeline.Place]int{}, map[string]map[string]bool{}
	d.tiny, d.short, d.tracers, d.stops = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[timeline.Place]time.Duration{}
	d.sums = sums{of: map[string]time.Duration{}, ran: map[string]ran{}, at: map[visited]visits{}}
	d.asked, d.outside = map[timeline.Place]int64{}, map[string]*ledger.Row{}
	if d.Graph != nil {
		for i := range d.Graph.Boxes {
			switch b := &d.Graph.Boxes[i]; b.Kind {
			case bottle.Tracer:
				d.tracers[b.Group] = true
			case bottle.Application:
				d.boxes[b.Group] = b
				d.short[b.Group] = b.Goroutines >= 1000 && b.Running < time.Duration(b.Goroutines)*shortRunning
				d.tiny[b.Group] = d.l.Born >= 1000 && b.Goroutines >= 1000 && (b.Running < time.Duration(b.Goroutines)*tinyRunning || d.short[b.Group] && d.mostlyTiny(b.Group))
			}
		}
	}
	if d.Contention != nil {
		// What goroutines wait for in a sync.Once or a WaitGroup of the same object is no lock.
		waited := map[*contention.Lock]time.Duration{}
		for i := range d.Contention.Waits {
			if w := &d.Contention.Waits[i]; isLock(string(w.Kind)) {
				waited[w.Lock] += w.Waited
			}
		}
		d.lockTable = slices.DeleteFunc(d.Contention.LockTable(), func(r *contention.Tree) bool { return waited[r.Lock]*2 < r.Waited })
	}
	d.findHandlers()
	var yields []*ledger.Row
	for i := range d.l.Rows {
		r := &d.l.Rows[i]
		group := d.called(r.Group)
		g := d.ran[group]
		switch d.of[r.Category] += r.Time; r.Category {
		case ledger.Code:
			d.code[group] = append(d.code[group], i)
			g.code, g.slices, g.shared = g.code+r.Time, g.slices+r.Count, g.shared+r.Shared
			if d.shared += r.Shared; r.Shared > 0 && (d.sharedAt == nil || r.Shared > d.sharedAt.Shared) {
				d.sharedAt = r
			}
			if r.Site.Func == "" && r.Time > time.Duration(r.Count)*time.Millisecond { // else it is interrupted, such as by a coroutine
				g.nameless += r.Time
			}
			if r.Site.Func == "" && r.Group == unnamed {
				d.nameless += r.Time
			}
		case ledger.Syscall:
			g.calls += r.Time
		case ledger.GCWorker:
			g.collector += r.Time
		case ledger.Tracer:
			g.tracer = true
		case ledger.C:
			g.c += r.Time
			g.inC, d.inC = cmp.Or(g.inC, r), cmp.Or(d.inC, r)
		case ledger.Runtime:
			if r.Site.Func != "" && r.Group == "" {
				d.stops[r.Site] += r.Time
			}
		}
		if r.Used() && r.Site.Func != "" {
			d.known += r.Time
		}
		if !r.Empty() {
			at := visited{r.Category, r.Site}
			v := d.at[at]
			d.at[at] = visits{v.time + r.Time, v.spun + min(r.Time, time.Duration(r.Count)*maxSpin), v.count + r.Count}
		}
		if r.Category == ledger.Outside && r.Wait != timeline.WaitOther.String() {
			d.outside[r.Group] = cmp.Or(d.outside[r.Group], r)
		}
		if r.Empty() && (isLock(r.Wait) || isTurn(r.Wait)) {
			d.waitsFrom[r.Site] = true
		}
		switch {
		case isLock(r.Wait):
			d.waitRows = append(d.waitRows, i)
			if r.Category == ledger.Code { // ran in the lock's methods, there or where the lock is released
				d.locks[r.Site] = cmp.Or(d.locks[r.Site], r.Site)
			} else {
				d.union(r.Site, r.Site)
			}
			if r.Waker != "" {
				d.union(r.Site, r.WakerSite)
			}
		case r.Wait == timeline.WaitCreated.String():
			d.noteStart(r.Group, r.Waker)
			if g.started == nil && d.own(r.Site) {
				g.started = r
			}
		case r.Wait == timeline.WaitYield.String():
			if r.Callee == "runtime.GC" || r.Callee == "runtime/debug.FreeOSMemory" {
				d.asked[r.Site] = 0
			}
			yields = append(yields, r)
		case r.All && r.Waker == r.Group && r.WakerSite.Func == r.Site.Func: // else it may release a limit
			d.barriers[r.Site] = true
		case r.Wait == timeline.WaitSemaphore.String():
			if _, known := d.limits[r.Group]; !known {
				d.limits[r.Group] = r.Site
			}
		}
		d.ran[group] = g
	}
	if d.Tasks != nil && d.Tasks.Of == granularity.OfGoroutines { // those that no processor waited for, too
		for _, c := range d.Tasks.Classes {
			for _, site := range c.Sites {
				for _, f := range site.Created {
					if d.boxes[f.Func] != nil {
						d.noteStart(c.Name, f.Func)
					}
				}
			}
		}
	}
	d.findAsked()
	for _, r := range yields {
		if d.asked[r.Site] > 0 {
			continue // until the collection that it asks for has swept
		}
		if d.yields += r.Count; d.yieldsAt == nil || r.Count > d.yieldsAt.Count {
			d.yieldsAt = r
		}
	}
}

// noteStart notes that goroutines of a group start those of another one.
func (d *diagnosis) noteStart(group, by string) {
	if d.startedBy[group] == nil {
		d.startedBy[group] = map[string]bool{}
	}
	d.startedBy[group][by] = true
}

// mostlyTiny reports whether three of four goroutines of a group ran for less than tinyRunning. The
// operating system may have taken the others off their processors, which counts as running.
func (d *diagnosis) mostlyTiny(group string) bool {
	return d.Tasks != nil && d.Tasks.Of == granularity.OfGoroutines && slices.ContainsFunc(d.Tasks.Classes, func(c granularity.Class) bool {
		return c.Name == group && c.RunningNS.Count() > 0 && c.RunningNS.Quantile(0.75) < float64(tinyRunning)
	})
}

// findHandlers finds the goroutines of servers. Only slices whose call chain shows the handler have
// its name. If one handler has most of these, the other slices count for it as well.
func (d *diagnosis) findHandlers() {
	type handlers struct {
		all, most time.Duration
		name      string
	}
	of := map[string]*handlers{} // by start function
	for _, name := range slices.Sorted(maps.Keys(d.boxes)) {
		b := d.boxes[name]
		if len(b.Starts) != 1 || d.boxes[b.Starts[0]] == nil || b.Starts[0]+reading == name || !symbol.IsProgram(name, "") {
			continue
		}
		h := of[b.Starts[0]]
		if h == nil {
			h = &handlers{}
			of[b.Starts[0]] = h
		}
		if h.all += b.Running; b.Running > h.most {
			h.most, h.name = b.Running, name
		}
	}
	d.handler = map[string]string{}
	for start, h := range of {
		if h.most > h.all*4/5 && !symbol.IsProgram(start, "") {
			d.handler[start] = h.name
		}
	}
}

// reading ends the name of a server's goroutine that waits for a request.
const reading = " (reading)"

// called returns the name under which a group of goroutines is counted.
func (d *diagnosis) called(group string) string {
	if h, ok := d.handler[group]; ok {
		return h
	}
	return group
}

func (d *diagnosis) find(p timeline.Place) timeline.Place {
	for {
		up, ok := d.locks[p]
		if !ok || up == p {
			return p
		}
		p = up
	}
}

// union joins the places that acquire and release one lock. The place in the largest row of those
// that acquire it represents all of them.
func (d *diagnosis) union(acquires, releases timeline.Place) {
	if _, known := d.lockAge[acquires]; !known {
		d.lockAge[acquires] = len(d.lockAge)
	}
	a, b := d.find(acquires), d.find(releases)
	if age, acquired := d.lockAge[b]; acquired && age < d.lockAge[a] {
		a, b = b, a
	}
	d.locks[a], d.locks[b] = a, a
}

func isLock(wait string) bool {
	return wait == timeline.WaitMutex.String() || wait == timeline.WaitRWMutexReader.String() || wait == timeline.WaitRWMutexWriter.String()
}

// isTurn reports whether a wait may be for other goroutines of the same group.
func isTurn(wait string) bool {
	return wait == timeline.WaitCond.String() || wait == timeline.WaitChanSend.String() || wait == timeline.WaitChanReceive.String() || wait == timeline.WaitSelect.String()
}

func (d *diagnosis) collect() {
	d.findLimits()
	d.countHandOvers()
	for i := range d.l.Rows {
		r := &d.l.Rows[i]
		k, ok := d.keyOf(r)
		if !ok || d.Focus != "" && !involves(r, d.Focus) {
			continue
		}
		c := d.causeOf(k)
		c.rows = append(c.rows, i)
		c.lost += r.Time
		c.count += r.Count
	}
	for _, merge := range []func(){d.mergeSame, d.mergeSteps, d.mergePast, d.mergeShort, d.mergeCalls, d.mergeQueued, d.mergeHeld, d.mergeWithin, d.mergeUnder, d.mergeFile, d.mergeLimited, d.mergeCommands, d.mergeRequests, d.mergeBackground, d.mergeBeside, d.mergeTurns, d.mergePieces, d.mergeAlone} {
		merge()
		d.causes = slices.DeleteFunc(d.causes, func(c *cause) bool { return len(c.rows) == 0 })
	}
	for _, kind := range []string{Syscalls, Blocking, Network} {
		d.mergeSites(kind)
	}
	for _, c := range d.causes {
		slices.Sort(c.rows) // as the rows of the ledger: largest first
		c.queue, c.spun = d.queues(c), d.spun(c)
	}
}

// mergeSame makes one cause of the places of one lock, and of the groups of tiny goroutines that one
// function starts.
func (d *diagnosis) mergeSame() {
	rows, started := map[*contention.Tree]*cause{}, map[string]*cause{}
	for _, c := range d.causes {
		switch c.kind {
		case Lock:
			row := d.lockRow(c.place)
			if row == nil || row.Lock.Name == contention.SeveralLocks {
				continue
			}
			if into := rows[row]; into != nil {
				d.union(into.place, c.place)
				into.take(c)
			} else {
				rows[row] = c
			}
		case Tiny:
			fn := d.l.Rows[c.rows[0]].Site.Func
			if into := started[fn]; into != nil && fn != "" {
				into.groups = append(into.groups, c.name)
				into.take(c)
			} else {
				c.groups, started[fn] = []string{c.name}, c
			}
		}
	}
}

// mergeSteps adds to uneven work the processors that were idle until the goroutines of the next
// step began, when the last ones of the step before were done, or to the end.
func (d *diagnosis) mergeSteps() {
	for _, c := range d.causes {
		for _, tests := range d.causes { // package testing waits for those that wait
			if c.kind == Imbalance && tests.kind == Imbalance && tests.name == c.name && !d.own(tests.place) && c != tests && (d.own(c.place) || c.lost >= tests.lost) {
				c.take(tests)
			}
		}
		serial := d.byKey[key{kind: Serial, name: c.name}]
		if c.kind != Imbalance || serial == nil {
			continue
		}
		if d.waitsForLast(serial) {
			c.take(serial)
			continue
		}
		waits := map[string]bool{}
		for _, i := range c.rows {
			waits[d.l.Rows[i].Group] = true
		}
		computes := d.computes(c.name)
		c.takeIf(serial, d.l, func(r *ledger.Row) bool {
			return r.Wait == timeline.WaitCreated.String() && waits[r.Waker] || r.Category == ledger.NoWork || computes && r.Waker == ""
		})
	}
}

// computes reports whether a group of goroutines hardly waits. What ran after them without having
// waited for them, such as a ticker, did so because the last of them ran.
func (d *diagnosis) computes(group string) bool {
	b := d.boxes[group]
	return b != nil && b.Blocked() < b.Running/4
}

// mergeShort makes one cause of the short and the long system calls at a place. If they are short on
// average, the operating system took the thread away from some, or some of the calls block.
func (d *diagnosis) mergeShort() {
	for _, c := range d.causes {
		blocking := d.byKey[key{kind: Blocking, place: c.place}]
		switch {
		case c.kind != Syscalls || blocking == nil || d.startsCommands(c): // see mergeCommands
		case c.lost+blocking.lost > time.Duration(c.count)*longCall:
			blocking.take(c)
		default:
			d.blocks(c, blocking)
		}
	}
}

// mergeCommands adds to the start of commands the processors that were idle until these were done, or
// wrote to their pipes. Those may have readers in other goroutines of the same function.
func (d *diagnosis) mergeCommands() {
	for _, c := range d.causes {
		starts := c.kind == Syscalls && d.startsCommands(c)
		if !starts && (c.kind != Blocking || !d.forCommands(c)) {
			continue
		}
		fn := symbol.Enclosing(c.place.Func)
		for _, wait := range d.causes {
			reads := d.readsCommand(wait) && symbol.Enclosing(wait.place.Func) == fn
			switch {
			case reads && wait.place != c.place && wait.lost > c.lost:
				wait.take(c)
			case starts && (reads || wait.place == c.place && (wait.kind == Blocking || d.throughFile(wait))):
				d.blocks(c, wait)
			case reads:
				c.take(wait)
			}
		}
	}
}

// blocks adds the processors that were idle to the system calls at a place.
func (d *diagnosis) blocks(c, idle *cause) {
	c.blocked, idle.count = c.blocked+idle.lost-idle.alone, 0 // a gap is not a call
	c.name = cmp.Or(c.name, idle.name)
	c.take(idle)
}

// mergeCalls adds to system calls, or to C code, the processors that were idle while the caller ran
// alone, if the calls took at least half of its running time, or a third with little code around each.
func (d *diagnosis) mergeCalls() {
	for _, alone := range d.causes {
		if alone.kind != Serial {
			continue
		}
		ran := d.ran[alone.name]
		calls := ran.calls
		if ratio(alone.lost, d.l.Capacity) < worthTelling || max(calls, ran.c) < ran.code && (2*calls < ran.code || ran.code > time.Duration(ran.slices)*tinyRunning) {
			continue
		}
		var into *cause
		if ran.c > calls {
			calls, into = 0, d.causeOf(key{kind: Cgo})
		}
		took := func(c *cause) time.Duration { // during a call that left processors idle, all were
			busy := d.timesOf(c)[ledger.Syscall]
			return busy + (c.lost-busy)/time.Duration(d.l.Procs)
		}
		for _, c := range d.causes {
			if calls > 0 && (c.kind == Syscalls || c.kind == Blocking) && d.l.Rows[c.rows[0]].Group == alone.name && (into == nil || took(c) > took(into)) {
				into = c
			}
		}
		if into == nil || calls == 0 && into.kind != Cgo || into.lost < calls/2 {
			continue
		}
		into.name, into.alone, alone.count = alone.name, into.alone+alone.lost, 0 // a gap is not a call
		into.take(alone)
	}
}

// fewTurns is the number of hand-overs from which goroutines take turns.
const fewTurns = 5

// mergeTurns makes a hand-over of two groups that alternate: each waits while the other runs alone.
func (d *diagnosis) mergeTurns() {
	for i, a := range d.causes {
		for _, b := range d.causes[i+1:] {
			if a.kind != Serial || b.kind != Serial || !d.mostlyWaits(a, b) || !d.mostlyWaits(b, a) || min(a.lost, b.lost) < max(a.lost, b.lost)/3 {
				continue
			}
			c := d.causeOf(key{kind: HandOver})
			c.take(a)
			c.take(b)
			a.kind, b.kind = "", ""
		}
	}
	d.mergeCycle()
}

// mergeCycle does the same for three or more groups, none of which has most of the work: each waits
// for the one before, and the first one for the last.
func (d *diagnosis) mergeCycle() {
	var cycle []*cause
	alone := map[string]bool{}
	for _, c := range d.causes {
		if c.kind == Serial && ratio(c.lost, d.l.Capacity) >= worthTelling {
			cycle = append(cycle, c)
			alone[c.name] = true
		}
	}
	cycle = slices.DeleteFunc(cycle, func(c *cause) bool {
		var turns int64
		var took time.Duration
		for r := range d.rowsOf(c) {
			if isTurn(r.Wait) && (alone[r.Group] && r.Group != c.name || alone[r.Waker]) {
				took, turns = took+r.Time, turns+r.Count
			}
		}
		return turns < fewTurns || took < (c.lost-d.timesOf(c)[ledger.NoWork])/2 || d.boxes[c.name] == nil
	})
	var ran, sum, most time.Duration
	for _, c := range cycle {
		ran, sum, most = ran+d.boxes[c.name].Running, sum+c.lost, max(most, c.lost)
	}
	if len(cycle) < 3 || ran > d.l.Wall*11/10 || most > sum*6/10 {
		return
	}
	into := d.causeOf(key{kind: HandOver})
	for _, c := range cycle {
		into.take(c)
		c.kind = ""
	}
}

// startsOf returns the cause that the goroutines of a group, or those that it starts, are too short;
// nil if they are not. To hand work over is then to start them.
func (d *diagnosis) startsOf(group string) *cause {
	for _, c := range d.causes {
		if c.kind == Tiny && slices.ContainsFunc(c.groups, func(tiny string) bool { return tiny == group || d.startedBy[tiny][group] }) {
			return c
		}
	}
	return nil
}

// mergePieces makes one cause of the groups of goroutines that ran alone, if they hand over so
// little work at a time that the hand-over takes as long. Dividing such work gains nothing.
func (d *diagnosis) mergePieces() {
	var alone []*cause
	into := d.byKey[key{kind: HandOver}]
	sum, pinned := time.Duration(0), false // of alone, less that of the hand-overs
	if into != nil {
		sum -= into.lost
	}
	for _, c := range d.causes {
		if c.kind == Serial && c.lost < time.Duration(c.count)*shortRunning {
			locked := slices.Contains(d.l.Pinned, c.name) // to a thread, which each hand-over has to wake
			if piece, tiny := d.tinyPiece(c.name); tiny || locked && piece > 0 && piece < shortRunning {
				alone = append(alone, c)
				sum += c.lost
				pinned = pinned || locked
			}
		}
	}
	name := ""
	if pinned {
		into = d.causeOf(key{kind: HandOver})
	} else if sum > 0 {
		most := slices.MaxFunc(alone, func(a, b *cause) int { return cmp.Or(cmp.Compare(a.lost, b.lost), cmp.Compare(b.name, a.name)) })
		name = most.name
	} else if into != nil && d.timesOf(into)[ledger.Scheduler] > into.lost/2 {
		name = d.pieceGroup() // the scheduler takes as long as the pieces
	}
	if name != "" {
		handed := into
		if into = d.startsOf(name); into == nil {
			into = d.causeOf(key{kind: pieces, name: name})
		}
		if handed != nil {
			into.take(handed)
		}
	}
	if into != nil && into.kind == pieces {
		alone = append(alone, d.causeOf(key{kind: Serial, name: name}))
	}
	for _, c := range alone {
		if into != nil {
			into.take(c)
		}
	}
	for _, c := range d.causes {
		if len(c.rows) == 0 || c.kind != HandOver && c.kind != Serial {
			continue
		}
		largest := &d.l.Rows[c.rows[0]]
		starts := d.startsOf(d.called(largest.Group))
		switch {
		case starts == nil:
		case c.kind == HandOver:
			starts.takeIf(c, d.l, func(r *ledger.Row) bool { return d.startsOf(d.called(r.Group)) == starts })
		case c.lost < starts.lost && largest.Wait == timeline.WaitCreated.String() && d.startedBy[largest.Group][c.name] && largest.Time < time.Duration(largest.Count)*timeSlice:
			starts.take(c)
		}
	}
}

// mergeAlone makes one cause of the groups that ran alone, if these are many, each for a small part
// of the time: then the program offers too little work at a time, whatever it does. If a group ran
// nearly all of the time that has fewer goroutines than there are processors, they are too few, also
// while others ran beside them, and so is one goroutine if that was for a small part of the time.
func (d *diagnosis) mergeAlone() {
	starved := d.causeOf(key{kind: Starved})
	for _, c := range d.causes {
		if c.kind == Serial && d.busy(c.name) && (d.areFew(c.name) || !d.isGroup(c.name) && starved.lost < c.lost/3 && ratio(starved.lost, d.l.Capacity) >= worthTelling) {
			c.take(starved)
		}
	}
	var sum, largest time.Duration
	for _, c := range d.causes {
		if c.kind == Serial {
			sum, largest = sum+c.lost, max(largest, c.lost)
		}
	}
	if largest > sum/3 || largest > d.l.Capacity/10 {
		return
	}
	for _, c := range d.causes {
		if c.kind == Serial {
			starved.take(c)
		}
	}
}

// areFew reports whether the goroutines of a group run at the same time, but are fewer than the
// processors.
func (d *diagnosis) areFew(group string) bool {
	b := d.boxes[group]
	return b != nil && b.SelfParallelism > 1.5 && b.Goroutines < d.l.Procs
}

// mergeSites adds up the causes of one kind if no place has two thirds of their total, or if the
// standard library has and the rest would be a finding, too. Long system calls are of one kind if
// the program calls the same function for them. Waits of a server for requests are of their own kind.
func (d *diagnosis) mergeSites(kind string) {
	same := map[string][]*cause{}
	for _, c := range d.causes {
		if c.kind == kind {
			callee := ""
			if kind == Blocking {
				callee = d.l.Rows[c.rows[0]].Callee
			} else if d.forRequests(c) {
				callee = "requests"
			}
			same[callee] = append(same[callee], c)
		}
	}
	for _, causes := range same {
		most := slices.MaxFunc(causes, func(a, b *cause) int { return cmp.Compare(a.lost, b.lost) })
		rest := -most.lost
		for _, c := range causes {
			rest += c.lost
		}
		if most.lost >= rest*2 && (most.place != timeline.Place{} || ratio(rest, d.l.Capacity) < worthTelling) {
			continue
		}
		causes[0].key = key{kind: kind, name: severalPlaces}
		for _, c := range causes[1:] {
			causes[0].take(c)
		}
	}
	d.causes = slices.DeleteFunc(d.causes, func(c *cause) bool { return len(c.rows) == 0 })
}

// severalPlaces is the name of a cause at several places.
const severalPlaces = "several places"

// mostlyWaits reports whether most of the idle time of c, which ran alone, passed until goroutines of
// other ran, which had often waited for c. It does not count processors that had no others to run.
func (d *diagnosis) mostlyWaits(c, other *cause) bool {
	var sum time.Duration
	var turns int64
	for r := range d.rowsOf(c) {
		if r.Group == other.name && (r.Waker == c.name || r.Category == ledger.WakeUp) {
			sum, turns = sum+r.Time, turns+r.Count
		}
	}
	return turns >= fewTurns && sum >= (c.lost-d.timesOf(c)[ledger.NoWork])/2
}

// mergeHeld adds to a lock what its owners waited for, such as sleeps, if that was mostly while
// others waited for the lock.
func (d *diagnosis) mergeHeld() {
	for _, lock := range d.causes {
		row := d.lockRow(lock.place)
		if lock.kind != Lock || row == nil || row.Blamed == 0 {
			continue
		}
		held := func(kind string) time.Duration {
			return time.Duration(float64(row.Lock.Contended) * float64(row.Blocked[kind]) / float64(row.Blamed))
		}
		for _, c := range d.causes {
			if c.kind != Sleep && c.kind != Blocking && c.kind != Network || len(c.rows) == 0 {
				continue
			}
			wait := d.l.Rows[c.rows[0]].Wait
			if wait == "" {
				wait = timeline.WaitSyscall.String()
			}
			var all time.Duration // such waits of its owners
			groups := map[string]bool{}
			for r := range d.rowsOf(c) {
				if !groups[r.Group] {
					groups[r.Group] = true
					if b := d.boxes[r.Group]; b != nil {
						all += b.Waiting[wait]
					}
				}
			}
			if all > 0 && held(wait) > all/2 {
				lock.inside = append(lock.inside, inside{kind: c.kind, place: c.place})
				lock.take(c)
			}
		}
	}
}

// mergeWithin adds to a lock what goroutines wait for between the lines where they acquire and
// release it, if others waited for the lock for as long. The trace may not show that they had it,
// because a lock that is free is acquired without an event; more do than wait for it if they had not.
func (d *diagnosis) mergeWithin() {
	for _, lock := range d.causes {
		row := d.lockRow(lock.place)
		if lock.kind != Lock || row == nil || d.windowed() {
			continue
		}
		spans := d.spansOf(lock.place)
		for _, c := range d.causes {
			if c.kind != Sleep && c.kind != Blocking && c.kind != Network && c.kind != Timer || len(c.rows) == 0 {
				continue
			}
			var within time.Duration
			for r := range d.rowsOf(c) {
				if spans.contain(r) || d.worksUnder(spans, r) {
					within += r.Time
				}
			}
			if within > c.lost/2 && row.Waited*time.Duration(d.l.Procs) >= c.lost && d.atATime(c) <= ratio(row.Waited, d.l.Wall) {
				lock.inside = append(lock.inside, inside{kind: c.kind, place: c.place})
				lock.take(c)
			}
		}
	}
}

// mergeQueued adds to a lock the processors that were idle until a sleep, a system call or the
// network ended, if others waited for the lock most of the time, its owners waited themselves for
// most of that, and more goroutines waited for the lock than for the event. An owner may wait for
// another goroutine that sleeps or reads from a connection for it.
func (d *diagnosis) mergeQueued() {
	if d.Contention == nil || d.windowed() {
		return
	}
	for _, row := range d.lockTable {
		var blocked time.Duration
		for kind, t := range row.Blocked {
			if !isLock(string(kind)) && kind != contention.GCKind {
				blocked += t
			}
		}
		place, known := d.placeOfLock(row.Lock)
		if !known || row.Lock.Contended < d.l.Wall/2 || blocked < row.Blamed/2 {
			continue
		}
		into := d.causeOf(key{kind: Lock, place: d.find(place)})
		for _, c := range d.causes {
			if (c.kind == Sleep || c.kind == Blocking || c.kind == Network) && d.atATime(c) <= ratio(row.Waited, d.l.Wall) {
				into.inside = append(into.inside, inside{kind: c.kind, place: c.place})
				into.take(c)
			}
		}
		return
	}
}

// mergeUnder adds to a lock what its owners do while others wait for it: system calls under the
// lock, and processors that were idle while goroutines waited for a lock and only its owners ran,
// or others that wait for it.
func (d *diagnosis) mergeUnder() {
	for _, lock := range d.causes {
		if lock.kind != Lock || d.windowed() {
			continue
		}
		row := d.lockRow(lock.place)
		waiting := row != nil && row.Running*2 < row.Blamed // its owners wait while others wait for it
		owners, waiters := map[string]bool{}, map[string]bool{}
		for r := range d.rowsOf(lock) {
			if r.Waker != "" {
				owners[d.called(r.Waker)] = true
			}
			waiters[d.called(r.Group)] = true
		}
		spans := d.spansOf(lock.place)
		for _, c := range d.causes {
			switch {
			case (c.kind == Syscalls || c.kind == Blocking) && c.alone == 0 && !waiting && ratio(lock.lost, d.l.Capacity) >= worthTelling:
				var under time.Duration
				for r := range d.rowsOf(c) {
					if spans.contain(r) {
						under += r.Time
					}
				}
				if under > c.lost/2 {
					lock.take(c)
				}
			case row != nil && row.Waited*time.Duration(d.l.Procs) < c.lost: // others waited for another lock
			case c.kind == Starved, c.kind == Limit: // others wait for the lock
				lock.takeIf(c, d.l, func(r *ledger.Row) bool { return r.Locked > r.Time/2 })
			case d.forRequests(c) && (d.mostlyLocked(c) || row != nil && row.Lock.Contended > d.l.Wall*9/10): // clients that wait for the lock send none
				lock.take(c)
			case c.kind == Network && !waiting: // over a connection to another goroutine
				lock.takeIf(c, d.l, func(r *ledger.Row) bool { return owners[d.called(r.Beside)] && r.Locked > r.Time/2 })
			case (c.kind == Serial || c.kind == Imbalance) && waiters[c.name] && d.isGroup(c.name) && d.boxes[c.name].SelfParallelism < 1.25 && c.lost < lock.lost/2:
				lock.take(c) // the last of those that ran one at a time because of the lock
			case c.kind == Serial && (owners[c.name] && !waiting || waiters[c.name]):
				lock.takeIf(c, d.l, func(r *ledger.Row) bool { return r.Locked > r.Time/2 })
			}
		}
	}
}

// mostlyLocked reports whether goroutines waited for a lock during most of a cause.
func (d *diagnosis) mostlyLocked(c *cause) bool {
	var sum time.Duration
	for r := range d.rowsOf(c) {
		sum += r.Locked
	}
	return sum > c.lost/2
}

// mergeRequests makes one cause of the waits of a server for connections, and for requests from
// these.
func (d *diagnosis) mergeRequests() {
	var into *cause
	for _, c := range d.causes {
		switch {
		case !d.forRequests(c):
		case into == nil:
			into = c
		default:
			into.take(c)
		}
	}
}

// mergeFile adds to the lock of a file what the goroutines that take it wait for one at a time, if
// more wait for the lock, and their system calls.
func (d *diagnosis) mergeFile() {
	for _, lock := range d.causes {
		if !d.ofFile(lock) {
			continue
		}
		waited := d.atATime(lock)
		if waited < 1 {
			continue
		}
		owners := map[string]bool{}
		for r := range d.rowsOf(lock) {
			owners[r.Group] = true
		}
		for _, c := range d.causes {
			if c == lock || c.kind != Sleep && c.kind != Blocking && c.kind != Syscalls && c.kind != Network || d.ofFile(c) || c.alone > 0 {
				continue
			}
			var theirs time.Duration
			for r := range d.rowsOf(c) {
				if owners[r.Group] {
					theirs += r.Time
				}
			}
			if n := d.atATime(c); theirs > c.lost/2 && n < min(1.25, waited) {
				lock.inside = append(lock.inside, inside{c.kind, c.place, n, d.didIn(c)})
				lock.take(c)
			}
		}
	}
}

// ofFile reports whether a cause is a wait for the lock of a file, with which processes exclude
// each other, and goroutines.
func (d *diagnosis) ofFile(c *cause) bool {
	for r := range d.rowsOf(c) {
		if c.kind == Blocking && (r.Site == c.place || c.name == severalPlaces) && (strings.HasSuffix(r.Callee, "Flock") || strings.HasSuffix(r.Callee, "LockFileEx")) {
			return true
		}
	}
	return false
}

// mergeBeside adds to a limit, what is done once, or what is outside, the smaller time in which
// processors were idle because some of the goroutines that wait for it ran, and no others, if two
// or more of these waited on average: without that wait, another one would have run beside them. What
// is done once ran for the smaller time if it also waits.
func (d *diagnosis) mergeBeside() {
	for _, wait := range d.causes {
		switch wait.kind {
		case Limit, Sleep, Timer, Network, once:
		default:
			continue
		}
		waiters, waits := map[string]bool{}, map[string]bool{}
		if l := d.limitAt[wait.place]; wait.kind == Limit && l != nil && d.waitedAt(l.place) >= 2 {
			waiters[d.called(l.waiters)] = true
		}
		many := d.atATime(wait) >= 2
		for r := range d.rowsOf(wait) {
			waits[d.called(r.Group)] = true
			if many {
				waiters[d.called(r.Group)] = true
			}
			if by := d.servedBy(r.Group); by.group != "" && d.waitedAt(by.place) >= 2 {
				waiters[d.called(by.group)] = true
			}
		}
		for _, c := range d.causes {
			if (c.kind == Serial && waiters[c.name] || c.kind == once && c != wait && waits[c.name]) && c.lost < wait.lost/3 {
				wait.take(c)
			}
		}
	}
}

// mergeBackground adds timers and sleeps of goroutines that do next to nothing, and wake no others, to
// the largest cause that may set the pace of the others: something else would have ended these waits.
// They may come more often than requests do.
func (d *diagnosis) mergeBackground() {
	var small []*cause
	var into *cause
	for _, c := range d.causes {
		switch c.kind {
		case Sleep, Timer:
			if d.isBackground(c) {
				small = append(small, c)
				continue
			}
			fallthrough
		case Network, Blocking, Limit, Lock:
			if into == nil || c.lost > into.lost {
				into = c
			}
		}
	}
	for _, c := range small {
		if into != nil && (into.lost > c.lost || d.forRequests(into) || d.atATime(into) >= 0.5 && (into.kind != Network || into.lost >= d.l.Capacity/100)) {
			into.take(c)
		}
	}
}

// isBackground reports whether the goroutines that wait for a cause run for less than a hundredth of
// the capacity and, except for locks, wake others at less than a tenth of their waits, or answer them.
func (d *diagnosis) isBackground(c *cause) bool {
	var ran time.Duration
	var own, others int64
	answers, groups := false, map[string]bool{}
	for r := range d.rowsOf(c) {
		if g := d.called(r.Group); !groups[g] {
			groups[g] = true
			ran += d.ran[g].code + d.ran[g].calls
			answers = answers || d.connected(g)
		}
	}
	if ran >= d.l.Capacity/100 || answers || d.Contention == nil || d.windowed() {
		return false
	}
	for i := range d.Contention.Waits {
		if w := &d.Contention.Waits[i]; groups[d.called(w.Waiter.Group)] {
			own += w.Contentions
		}
	}
	for i := range d.Contention.Pairs {
		if w := &d.Contention.Pairs[i]; !isLock(string(w.Kind)) && groups[d.called(w.Owner.Group)] && !groups[d.called(w.Waiter.Group)] {
			others += w.Contentions
		}
	}
	return others < own/10
}

// connected reports whether the goroutines of a group also wait for the network, as those of a server do.
func (d *diagnosis) connected(group string) bool {
	for name, b := range d.boxes {
		if b.Waiting[timeline.WaitNetwork.String()] > 0 && d.starts(name) == d.starts(group) {
			return true
		}
	}
	return false
}

// beside reports whether a row of a cause came from mergeBeside, mergeFile or mergeBackground: it is
// not a wait for the cause.
func (d *diagnosis) beside(c *cause, r *ledger.Row) bool {
	switch c.kind {
	case Blocking:
		return c.name == "" && r.Site != c.place && d.ofFile(c)
	case Limit:
		k, ok := d.keyOf(r)
		return ok && k.kind == Serial
	case Sleep, Timer, Network:
		k, ok := d.keyOf(r)
		return ok && (k.kind != c.kind || c.kind != Network && c.name == "" && k.place != c.place)
	}
	return false
}

// worksUnder reports whether a row is the wait of a goroutine of the standard library, such as one
// that reads from a connection, for others that wait for it between the lines.
func (d *diagnosis) worksUnder(s spans, r *ledger.Row) bool {
	if d.own(r.Site) {
		return false
	}
	b := d.servedBy(r.Group)
	lines := spans{} // without those that call a library, which does more there than to hold its lock
	for fn, all := range s {
		for _, at := range all {
			if at.from < at.to {
				lines[fn] = append(lines[fn], at)
			}
		}
	}
	return lines.contain(&ledger.Row{Site: b.place, Callers: d.above[b]})
}

// spans are the lines of each function between which a lock is held: from one line to another or,
// of a lock that a library acquires and releases, single lines that call it.
type spans map[string][]span

type span struct{ from, to int }

// spansOf returns the lines between those where a function acquires a lock and those where it
// releases the lock. If a library does both, that is the line that calls the library.
func (d *diagnosis) spansOf(lock timeline.Place) spans {
	lock = d.find(lock)
	all, within := spans{}, map[timeline.Place]bool{} // within: of the standard library
	add := func(acquires, releases timeline.Place) {
		if acquires.Func == "" || acquires.Func != releases.Func || acquires.Line > releases.Line {
			return
		}
		of := all[acquires.Func]
		switch {
		case within[acquires]:
			if slices.Contains(of, span{acquires.Line, acquires.Line}) {
				return
			}
			of = append(of, span{acquires.Line, acquires.Line})
		case of == nil:
			of = []span{{acquires.Line, releases.Line}}
		default:
			of[0] = span{min(of[0].from, acquires.Line), max(of[0].to, releases.Line)}
		}
		all[acquires.Func] = of
	}
	// Those that acquire it in a function may wait only for those that release it in another.
	var acquired, released []timeline.Place
	note := func(acquires, releases timeline.Place) {
		if !slices.Contains(acquired, acquires) {
			acquired = append(acquired, acquires)
		}
		if !slices.Contains(released, releases) {
			released = append(released, releases)
		}
	}
	library := map[timeline.Place]bool{} // calls of golang.org/x/sync, which calls the program, but not with its lock
	if d.Contention != nil {
		for i := range d.Contention.Pairs {
			p := &d.Contention.Pairs[i]
			acquires, _ := d.placeIn(p.Waiter.Stack)
			if !isLock(string(p.Kind)) || d.find(acquires) != lock {
				continue
			}
			if in := syncPlace(p.Waiter.Stack); in != (timeline.Place{}) {
				library[acquires] = true
				add(in, syncPlace(p.Owner.Stack))
				continue
			}
			within[acquires] = d.inLibrary(p.Waiter.Stack)
			releases, _ := d.placeIn(p.Owner.Stack)
			note(acquires, releases)
		}
	}
	for _, i := range d.waitRows {
		if r := &d.l.Rows[i]; d.find(r.Site) == lock && !library[r.Site] {
			note(r.Site, r.WakerSite)
		}
	}
	for _, acquires := range acquired {
		for _, releases := range released {
			add(acquires, releases)
		}
	}
	return all
}

// inLibrary reports whether the standard library, and not the program, acquires a lock.
func (d *diagnosis) inLibrary(s *contention.Stack) bool {
	for _, f := range framesOf(s) {
		pkg := symbol.Package(f.Func)
		lock := pkg == "runtime" || (pkg == "sync" || pkg == "internal/sync") && !strings.Contains(f.Func, "Map") && !strings.Contains(f.Func, "(*Pool)")
		if !lock {
			return !d.own(placeOf(f))
		}
	}
	return false
}

// syncPlace returns the innermost place of a call chain outside the standard library if that is in
// golang.org/x/sync.
func syncPlace(s *contention.Stack) timeline.Place {
	for _, f := range framesOf(s) {
		if strings.HasPrefix(f.Func, "golang.org/x/sync/") {
			return placeOf(f)
		}
		if symbol.IsProgram(f.Func, f.File) {
			break
		}
	}
	return timeline.Place{}
}

// contain reports whether what ran in a row did so between the lines. A slice that ends where the
// lock is acquired ran before.
func (s spans) contain(r *ledger.Row) bool {
	in := func(p timeline.Place, site bool) bool {
		return slices.ContainsFunc(s[p.Func], func(at span) bool {
			return at.from <= p.Line && p.Line <= at.to && (!site || at.from == at.to || p.Line > at.from)
		})
	}
	return in(r.Site, true) || slices.ContainsFunc(r.Callers, func(p timeline.Place) bool { return in(p, false) })
}

// placeOfLock returns the place where goroutines waited most for a mutex or RWMutex.
func (d *diagnosis) placeOfLock(l *contention.Lock) (p timeline.Place, known bool) {
	var most time.Duration
	for i := range d.Contention.Waits {
		if w := &d.Contention.Waits[i]; w.Lock == l && isLock(string(w.Kind)) && w.Waited > most {
			p, _ = d.placeIn(w.Waiter.Stack)
			most = w.Waited
		}
	}
	return p, p != (timeline.Place{})
}

// findAsked finds the places where the program requests collections, and yields until the collector
// has swept. The place may be in package testing, which collects before each run of a benchmark.
func (d *diagnosis) findAsked() {
	if d.Contention == nil {
		return
	}
	for i := range d.Contention.Waits {
		w := &d.Contention.Waits[i]
		if w.Kind != contention.GCKind {
			continue
		}
		yields := func(f contention.Frame) bool { _, yields := d.asked[placeOf(f)]; return yields }
		if frames := framesOf(w.Waiter.Stack); slices.ContainsFunc(frames, yields) {
			d.asked[placeOf(frames[slices.IndexFunc(frames, yields)])] += w.Contentions
		}
	}
}

// keyOf returns the cause of a row. It returns false for the program's own work, and for work on a
// processor that had nothing else to do.
func (d *diagnosis) keyOf(r *ledger.Row) (key, bool) {
	switch r.Category {
	case ledger.Code:
		lock := d.find(r.Site)
		_, waited := d.lockAge[lock] // else its methods take that long if it is free, too
		return key{kind: Lock, place: lock}, isLock(r.Wait) && waited
	case ledger.C:
		return key{}, false
	case ledger.Syscall:
		if r.Time > time.Duration(r.Count)*longCall && !command(r) {
			return key{kind: Blocking, place: r.Site}, true
		}
		return key{kind: Syscalls, place: ownOnly(d, r.Site)}, true
	case ledger.GCWorker:
		return key{kind: Collector}, r.Group != idleWorkers || d.waitsForCollections()
	case ledger.GCAssist, ledger.GCSweep, ledger.GCStop:
		return key{kind: Collector}, true
	case ledger.Tracer:
		return key{kind: Tracing}, true
	case ledger.Runtime:
		return key{kind: Runtime}, true
	}
	ran := d.called(r.Beside)
	alone := r.Beside == r.Waker && r.Time > time.Duration(r.Count)*longCall // who starts goroutines had more to do
	switch w := r.Wait; {
	case isLock(w) && d.paced(d.find(r.Site), ran):
		return key{kind: Serial, name: ran}, true
	case isLock(w):
		return key{kind: Lock, place: d.find(r.Site)}, true
	case w == timeline.WaitGC.String() && d.stops[r.Site] > r.Time/4:
		return key{kind: Runtime}, true
	case w == timeline.WaitGC.String(), w == timeline.WaitYield.String() && d.asked[r.Site] > 0:
		return key{kind: Collector}, true
	case w == timeline.WaitSemaphore.String() && !d.joined[r.Site]:
		return key{kind: Limit, place: r.Site}, true
	case d.limitAt[r.Site] != nil && d.limitAt[r.Site].sort != workers && isTurn(w) && r.Category != ledger.Scheduler:
		return key{kind: Limit, place: r.Site}, true
	case w == timeline.WaitYield.String():
		return key{kind: Switching, place: r.Site}, true
	case w == timeline.WaitCreated.String() && d.starters[r.Waker] != (timeline.Place{}) && !d.tiny[r.Group] && d.past(d.limitAt[d.starters[r.Waker]], r.Group) && !alone:
		return key{kind: Limit, place: d.starters[r.Waker]}, true
	case w == timeline.WaitCreated.String() && d.short[r.Group] && d.forProgram(r) && r.Category != ledger.Outside && (r.Category != ledger.Idle || r.Time < time.Duration(r.Count)*longCall):
		return key{kind: Tiny, name: r.Group}, true
	case r.Category == ledger.Scheduler:
		return key{kind: HandOver}, true
	case d.betweenRequests(r):
		return key{kind: Network}, true
	case r.Category == ledger.Outside && ran != d.called(r.Group) && d.busy(ran):
		// What ran during that time set the pace.
	case r.Category == ledger.Outside && d.records(r.Group, w):
		return key{kind: NoWork}, true
	case w == timeline.WaitSleep.String():
		return key{kind: Sleep, place: r.Site}, true
	case w == timeline.WaitNetwork.String():
		return key{kind: Network, place: ownOnly(d, d.behalfOf(r))}, true
	case w == timeline.WaitSyscall.String():
		return key{kind: Blocking, place: d.behalfOf(r)}, true
	case w == timeline.WaitC.String(), w == timeline.WaitCThread.String():
		return key{kind: Cgo}, true
	case strings.HasPrefix(r.Site.Func, "net/http/pprof."): // records the trace
		return key{kind: NoWork}, true
	case r.Category == ledger.Outside:
		return key{kind: Timer, place: d.behalfOf(r)}, true
	case w == timeline.WaitCreated.String():
		if site, ok := d.limits[r.Waker]; ok && !alone && !d.joined[site] && symbol.Enclosing(site.Func) == symbol.Enclosing(r.Site.Func) {
			return key{kind: Limit, place: site}, true
		}
	}
	nothing := ran == ledger.None || strings.HasPrefix(ran, "GC (") // of the program ran
	switch {
	case nothing && r.Wait == timeline.WaitOther.String() && r.Waker == "" && d.outside[r.Group] != nil: // since before the trace
		return d.keyOf(d.outside[r.Group])
	case nothing && (strings.HasPrefix(r.Waker, "GC (") || strings.HasPrefix(r.Waker, "runtime.gc")), ran != ledger.None && nothing && r.Category == ledger.Idle && r.Group == "":
		return key{kind: Collector}, true
	case nothing && r.Category == ledger.NoWork:
		return key{kind: NoWork}, true
	case r.Category == ledger.NoWork && d.stopsTracing(ran, r.Time):
		return key{kind: Tracing}, true
	case nothing, r.Category == ledger.WakeUp && (r.Wait == timeline.WaitCreated.String() && ran == d.called(r.Group) || r.Wait != timeline.WaitCreated.String() && d.isGroup(ran) && d.boxes[ran].SelfParallelism > 1.5 && !d.areFew(ran) || !d.setsPace(ran)):
		return key{kind: HandOver}, true
	case ran == ledger.Several:
		return key{kind: Starved}, true
	case d.untilClosed(r) && r.Time < time.Duration(r.Count)*shortRunning: // of a channel for each message
		return key{kind: HandOver}, true
	case r.Wait == timeline.WaitOnce.String(), d.untilClosed(r), r.Wait == timeline.WaitWaitGroup.String() && r.Group == r.Beside && !d.startedBy[ran][ran] && (d.boxes[ran] == nil || d.isGroup(ran)):
		return key{kind: once, place: r.Site, name: ran}, true
	case r.Wait == timeline.WaitWaitGroup.String() && d.short[ran]:
		return key{kind: Tiny, name: ran}, true
	case (r.Wait == timeline.WaitWaitGroup.String() || strings.HasPrefix(r.Site.Func, "testing.") || d.barriers[r.Site] && r.Group == ran) && d.isGroup(ran) && d.boxes[ran].Goroutines >= d.l.Procs && !d.oneAtATime(ran):
		return key{kind: Imbalance, place: r.Site, name: ran}, true
	case d.tracers[ran]:
		return key{kind: Tracing}, true
	case isFinalizer(ran):
		return key{kind: Runtime}, true
	}
	return key{kind: Serial, name: ran}, true
}

// forProgram reports whether goroutines were started that are the program's, or that a library
// started for a call of the program. A server's connections start some that no line led to.
func (d *diagnosis) forProgram(r *ledger.Row) bool {
	return symbol.IsProgram(r.Group, "") || d.own(r.Site) || slices.ContainsFunc(r.Callers, d.own)
}

// betweenRequests reports whether a processor was idle until a server read from a connection, and two
// or more connections waited for a request, on average; but not if goroutines ran beside it that only
// run one at a time. A server starts a goroutine for each request that reads ahead, which ends such
// times, too.
func (d *diagnosis) betweenRequests(r *ledger.Row) bool {
	if !strings.HasPrefix(r.Site.Func, "net/http.(*connReader).") || r.Locked > r.Time/2 || d.idleConns() < 2 {
		return false
	}
	b := d.boxes[d.called(r.Beside)]
	return b == nil || b.SelfParallelism >= 1.05
}

// idleConns returns how many connections of net/http servers waited for a request, on average.
func (d *diagnosis) idleConns() float64 {
	var sum time.Duration
	for _, b := range d.boxes {
		for _, at := range b.Sites[timeline.WaitNetwork.String()] {
			if at.Func == "net/http.(*connReader).Read" {
				sum += at.Time
			}
		}
	}
	return ratio(sum, d.l.Wall)
}

// untilClosed reports whether several goroutines wait where those of a row did, until what all of
// them need is done.
func (d *diagnosis) untilClosed(r *ledger.Row) bool {
	b := d.boxes[r.Group]
	return b != nil && b.Goroutines > 1 && r.Wait == timeline.WaitChanReceive.String() && d.closed[r.Site]
}

// records reports whether a goroutine started the tracer and then waited once, to the end of the
// trace: it records, and the end of its wait ended the trace, not a wait of the program.
func (d *diagnosis) records(group, wait string) bool {
	b := d.boxes[group]
	if b == nil || b.Goroutines > 1 || !d.ran[group].tracer || d.Window || d.Contention == nil || d.windowed() || b.Waiting[wait] < d.Graph.Wall*9/10 {
		return false
	}
	var waits int64
	for i := range d.Contention.Waits {
		if w := &d.Contention.Waits[i]; w.Waiter.Group == group {
			waits += w.Contentions
		}
	}
	return waits == 1
}

// stopsTracing reports whether a goroutine stopped the tracer while processors were idle to the
// end of the trace. It then runs in the runtime, which looks at each goroutine there has been,
// and is not preempted; other code is, after 10 ms, at a place.
func (d *diagnosis) stopsTracing(ran string, idle time.Duration) bool {
	b := d.boxes[ran]
	placed := func(i int) bool { return d.l.Rows[i].Site.Func != "" }
	return b != nil && b.Goroutines == 1 && !d.Window && slices.ContainsFunc(d.code[ran], placed) && idle > 2*timeSlice*time.Duration(d.l.Procs-1) && d.ran[ran].nameless >= idle/time.Duration(max(d.l.Procs-1, 1))*9/10
}

// timeSlice is the time after which the runtime preempts a goroutine.
const timeSlice = 10 * time.Millisecond

// command reports whether the system calls of a row start a command or wait for one.
func command(r *ledger.Row) bool {
	return strings.HasPrefix(r.Callee, "os/exec.") || strings.HasPrefix(r.Callee, "os.(*Process).") || r.Callee == "os.StartProcess"
}

// startsCommands reports whether the longest system calls of a cause start commands.
func (d *diagnosis) startsCommands(c *cause) bool {
	r := d.calls(c)
	return c.kind == Syscalls && r != nil && command(r)
}

// waitsForCommands reports whether the system calls that start commands are so long that they wait
// for these.
func (d *diagnosis) waitsForCommands(c *cause) bool {
	r := d.calls(c)
	return d.startsCommands(c) && r.Time > time.Duration(r.Count)*longCall
}

// calls returns the row of the longest system calls of a cause, or nil.
func (d *diagnosis) calls(c *cause) *ledger.Row {
	for r := range d.rowsOf(c) {
		if r.Category == ledger.Syscall {
			return r
		}
	}
	return nil
}

// longCall is the mean length above which system calls count as blocking rather than computing. The
// runtime takes the processor away after 20 µs at the earliest.
const longCall = 100 * time.Microsecond

// tinyRunning bounds the mean running time of goroutines, or of their pieces of work, that are too
// short: starting one or waking it, switching to it and waiting for it takes about a microsecond.
const tinyRunning = 5 * time.Microsecond

// shortRunning bounds the mean running time of goroutines for which a wait on another processor
// takes as long.
const shortRunning = 25 * time.Microsecond

// idleWorkers are the collector's mark workers on processors with nothing else to do. If goroutines
// wait until a collection ends that they request, they have something to do without it.
const idleWorkers = "GC (idle)"

// alone returns the time in which at least one goroutine of a group ran; 0 if it is unknown.
func (d *diagnosis) alone(name string) time.Duration {
	b := d.boxes[name]
	if b == nil || b.SelfParallelism < 1 {
		return 0
	}
	running := b.Running
	for start, handler := range d.handler {
		if handler == name {
			running += d.boxes[start].Running
		}
	}
	return min(time.Duration(float64(running)/b.SelfParallelism), d.Graph.Wall)
}

// busy reports whether a group of goroutines ran nearly all of the time, and so sets the pace.
func (d *diagnosis) busy(name string) bool {
	ran := d.alone(name)
	return ran > 0 && ran >= d.Graph.Wall/10*9
}

// paced reports whether a group of goroutines that has nothing to do with a lock ran nearly all of the
// time, and waited for others at times: those that wait for the lock would wait for it instead.
func (d *diagnosis) paced(lock timeline.Place, by string) bool {
	if !d.busy(by) || d.boxes[by].Blocked() == 0 {
		return false
	}
	return !slices.ContainsFunc(d.waitRows, func(i int) bool {
		r := &d.l.Rows[i]
		return (d.called(r.Group) == by || d.called(r.Waker) == by) && d.find(r.Site) == lock
	})
}

// setsPace reports whether a group of goroutines ran for so long that dividing its work gains more
// than waking others at once. With P processors, dividing leaves at least 1/P of the time in which
// the group ran, plus the time in which it did not. Waking at once leaves the time in which it ran.
func (d *diagnosis) setsPace(name string) bool {
	ran := d.alone(name)
	return ran > 0 && ran*time.Duration(2*d.l.Procs-1) >= d.Graph.Wall*time.Duration(d.l.Procs)
}

// isGroup reports whether a name is that of more than one goroutine.
func (d *diagnosis) isGroup(name string) bool {
	b := d.boxes[name]
	return b != nil && b.Goroutines > 1
}

// oneAtATime reports whether the goroutines of a group ran one after the other, such as benchmarks
// that wait for each other: their work is serial, not uneven.
func (d *diagnosis) oneAtATime(name string) bool {
	p := d.boxes[name].SelfParallelism
	return p > 0 && p < 1.05
}

// own reports whether a place is in the program's own code.
func (d *diagnosis) own(p timeline.Place) bool {
	return p.Func != "" && p.File != "_testmain.go" && symbol.IsProgram(p.Func, p.File) && !starter.Is(p.Func) && !strings.HasPrefix(p.Func, pages)
}

// pages begins the functions that serve this module's pages for the program.
const pages = "github.com/bottleneck-go/bottleneck/exporters/live."

func ownOnly(d *diagnosis, p timeline.Place) timeline.Place {
	if d.own(p) {
		return p
	}
	return timeline.Place{}
}

// ranAt returns the rows of code of a group, without those in which goroutines began to wait: a slice
// without samples has the place of its end, so the code before a wait counts at the line of the wait.
// If all others are small, it returns all.
func (d *diagnosis) ranAt(group string) []int {
	rows := d.code[group]
	waits := func(i int) bool { return d.waitsFrom[d.l.Rows[i].Site] }
	first := slices.IndexFunc(rows, func(i int) bool { return !waits(i) && d.own(d.l.Rows[i].Site) })
	if first < 0 || d.l.Rows[rows[first]].Time < d.l.Rows[rows[0]].Time/4 {
		return rows
	}
	return slices.DeleteFunc(slices.Clone(rows), waits)
}

// hot returns the place where a group of goroutines ran most, with its callers. The call chain of a
// library's worker that waits for the next task does not show the task. So a place in the program's
// own module is preferred if the goroutines ran at least half as long up to it, or if it is in the
// function that names them and the program did not call the pool.
func (d *diagnosis) hot(group string) (p timeline.Place, callers []timeline.Place) {
	most := time.Duration(0)
	for _, i := range d.ranAt(group) {
		r := &d.l.Rows[i]
		if r.Site.Func != "" {
			most = max(most, r.Time)
		}
		if d.ownModule(r.Site) && r.Time >= most/2 {
			return r.Site, r.Callers
		}
	}
	rows := make([]*ledger.Row, 0, len(d.code[group])+1)
	var ofOwn time.Duration // the longest in the program's own module
	for _, i := range d.ranAt(group) {
		r := &d.l.Rows[i]
		if rows = append(rows, r); d.ownModule(r.Site) {
			ofOwn = max(ofOwn, r.Time)
		}
	}
	for _, is := range []func(*ledger.Row) bool{
		func(r *ledger.Row) bool { // the golden file of otel-old needs it
			return r.Time == most && d.own(r.Site) && slices.ContainsFunc(r.Callers, d.ownModule)
		},
		func(r *ledger.Row) bool { return r.Site.Func == group && d.ownModule(r.Site) && r.Time >= ofOwn/10 },
		func(r *ledger.Row) bool { return d.own(r.Site) },
	} {
		if i := slices.IndexFunc(rows, is); i >= 0 {
			if rows[i].Site.Func == group && slices.ContainsFunc(rows, func(r *ledger.Row) bool { return r.Site.Func != "" && r.Time > 20*rows[i].Time }) {
				return timeline.Place{Func: group}, nil // the line of so little would mislead
			}
			return rows[i].Site, rows[i].Callers
		}
	}
	if r := d.ran[group].started; r != nil && len(rows) > 0 && strings.HasPrefix(rows[0].Site.Func, "runtime.asyncPreempt") {
		return timeline.Place{Func: group}, []timeline.Place{r.Site} // interrupted in its start function, whose frame is lost
	} else if r != nil { // TestShortGoroutinesHaveTheirStartLine needs it
		rows = slices.Insert(rows, 0, r)
	}
	if i := slices.IndexFunc(rows, func(r *ledger.Row) bool { return r.Site.Func != "" }); i >= 0 {
		return rows[i].Site, rows[i].Callers
	}
	return timeline.Place{Func: group}, nil
}
