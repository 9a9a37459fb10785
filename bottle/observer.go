package bottle

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/byindex"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Options configures a bottle graph. The zero value is ready to use.
type Options struct {
	// Group determines which goroutines share a box; the zero value groups by function.
	Group Grouping
	// Window, if positive, requests additional graphs of windows of this length.
	Window time.Duration
	// Collections requests additional graphs from the beginning of each collection of garbage to
	// that of the next one, and of the time before the first.
	Collections bool
	// From and To bound the graph, relative to the beginning of the trace. A To of 0 is its
	// end.
	From, To time.Duration
	// First and Last, or During and Outside, select what is read of the trace, as in
	// timeline.Options.
	First, Last int
	During      string
	Outside     bool
	// Offered counts runnable goroutines as running; see [Graph.Offered].
	Offered bool
	// Stacks requests the call chains of each box; see [Box.Stacks].
	Stacks bool
	// MaxSingle bounds the number of exited goroutines with their own boxes when grouping by
	// goroutine. 0 means 1000. A window may have twice as many.
	MaxSingle int
	// Name is the name of the trace in errors.
	Name string
}

// Observer folds a pass over a trace into a bottle graph. Use it to compute the graph in one pass
// together with other analyses; [ReadTrace] is simpler for the graph alone.
type Observer struct {
	timeline.Base
	opt Options

	clock   clock
	members byindex.Table[member]
	boxes   map[boxKey]*box
	latest  *box // found in boxes
	exited  int  // boxes of exited goroutines, when grouping by goroutine

	begin, from, to timeline.Time // begin of the trace; bounds of the graph
	ended           bool          // the clock has reached to
	stretch         stretch       // the current window
	next            timeline.Time // its end
	windows         []*Graph
	tooMany         bool
	version         int
	whole           span // up to the current window
	minProcs        int
	pieces          pieces
	cpus            float64 // see [Graph.CPUs]
	// throttling is that until the first and the last note within the graph.
	throttling [2]host.Throttling
	noted      bool
	// inC is the number of goroutines that were in C, inCOf the number of the graph for which
	// it counts.
	inC       int
	inCOf     int32
	chains    chainTable
	collector union // of the goroutines that work for it
	latency   Latency
	open      byindex.Table[openCode] // with Options.Stacks
}

// union tracks the time in which at least one of several goroutines runs.
type union struct {
	active int // number of those that run
	since  timeline.Time
}

func (u *union) start(now timeline.Time) {
	if u.active == 0 {
		u.since = now
	}
	u.active++
}

// stop returns the time until now if the last one stops.
func (u *union) stop(now timeline.Time) (d timeline.Time) {
	if u.active--; u.active == 0 {
		d = now - u.since
	}
	return d
}

// settle returns the time until now, which does not count again.
func (u *union) settle(now timeline.Time) (d timeline.Time) {
	if u.active > 0 {
		d = now - u.since
	}
	u.since = now
	return d
}

// member is a live goroutine. There may be millions.
type member struct {
	g      *timeline.Goroutine // nil if it does not exist, or left without an exit
	box    *box
	since  timeline.Time   // time up to which it is accounted for; its ID if it left without an exit
	a      share           // clock.a at since, if active
	began  timeline.Time   // when the state began; inThePast if that is not in the trace
	site   *timeline.Frame // where it waits
	extra  *extra          // nil if it has nothing of that
	window int32           // in which it was last counted for box
	inC    int32           // number of the last graph in which it was in C; see Observer.inCOf
	state  timeline.State  // since then; at the end of a window, g may already be in the next state
	wait   timeline.Wait
	role   role // in its box
	active bool
}

// extra is the state that few goroutines have.
type extra struct {
	world  string         // the stop-the-world range that it is in
	visits map[*box]int32 // the window in which it was last counted for each box that it has left
}

// rare returns the extra state of a goroutine for writing.
func (m *member) rare() *extra {
	if m.extra == nil {
		m.extra = &extra{}
	}
	return m.extra
}

// world returns the stop-the-world range that the goroutine is in, or "".
func (m *member) world() string {
	if m.extra == nil {
		return ""
	}
	return m.extra.world
}

// leave notes that the goroutine is no longer in its box.
func (m *member) leave() {
	x := m.rare()
	if x.visits == nil {
		x.visits = map[*box]int32{}
	}
	x.visits[m.box] = m.window
	m.box = nil
}

// move makes b the box of the goroutine, and reports whether it has visited that box before.
func (m *member) move(b *box) (known bool) {
	if b == m.box {
		return true
	}
	if m.box != nil {
		m.leave()
	}
	m.box = b
	if m.extra != nil {
		m.window, known = m.extra.visits[b]
	}
	return known
}

// box accumulates one box, of the current window and of the whole graph.
type box struct {
	key      boxKey
	starts   []string // of its goroutines; see [Box.Starts]
	single   bool     // the box of one goroutine
	exited   bool     // which has exited
	folded   bool     // contains several boxes: the union of their running times is unknown
	members  union
	win, sum account
	sites    siteTimes // of the whole graph
	chains   chains    // likewise, with Options.Stacks
}

type account struct {
	share      share
	room       area  // the integral of GOMAXPROCS / r over the time in which members ran
	counted    share // the part of share that is in room
	running    timeline.Time
	any        timeline.Time // in which at least one member ran
	runnable   timeline.Time
	inC        timeline.Time
	waiting    [32]timeline.Time // by timeline.Wait
	goroutines int
	// known is the number of goroutines that were in an earlier piece, carried that in the
	// previous one.
	known, carried int
}

// NewObserver returns an observer for one pass.
func NewObserver(opt Options) *Observer {
	if opt.MaxSingle <= 0 {
		opt.MaxSingle = 1000
	}
	opt.From, opt.To = opt.Bounds()
	return &Observer{opt: opt, boxes: map[boxKey]*box{}, inCOf: 1}
}

// Begin implements [timeline.Observer].
func (o *Observer) Begin(t timeline.Time, version int) {
	o.version = version
	o.begin = t
	o.from = after(t, o.opt.From)
	o.to = math.MaxInt64
	if o.opt.To > 0 {
		o.to = max(o.from, after(t, o.opt.To))
	}
	o.clock.now = t
	o.stretch.number = -1 // before from
	o.stretch.start = t
	o.next = o.from
}

// after returns the time d after t if d is positive. Otherwise, or on overflow, it returns a time
// that is never reached.
func after(t timeline.Time, d time.Duration) timeline.Time {
	if d <= 0 {
		return t
	}
	return t + min(timeline.Time(d), math.MaxInt64-t)
}

// advance moves the clock to t and closes the windows that end before t. The clock stops at the end
// of the graph.
func (o *Observer) advance(t timeline.Time) {
	for t >= o.next && !o.ended {
		o.clock.advance(o.next)
		o.turn()
	}
	if !o.ended {
		o.clock.advance(t)
	}
}

func (a *account) add(b *account) {
	a.share += b.share
	a.room.plus(b.room, 1)
	a.counted += b.counted
	a.running += b.running
	a.any += b.any
	a.runnable += b.runnable
	a.inC += b.inC
	for i := range b.waiting {
		a.waiting[i] += b.waiting[i]
	}
	a.goroutines += b.goroutines
	a.known += b.known
	a.carried += b.carried
}

// settleAll accounts for the time of all live goroutines and running boxes up to now.
func (o *Observer) settleAll() {
	for m := range o.members.All() {
		if m.g != nil {
			o.settle(m)
		}
	}
	for _, b := range o.boxes {
		b.win.any += b.members.settle(o.clock.now)
	}
	o.stretch.collector.Time += time.Duration(o.collector.settle(o.clock.now))
}

// settle accounts for the time of a goroutine in its state up to now.
func (o *Observer) settle(m *member) {
	now := o.clock.now
	dt := now - m.since
	m.since = now
	if m.active {
		d := o.clock.a - m.a
		m.box.win.share += d
		m.a = o.clock.a
		m.box.win.running += dt
		if m.box.key.kind == GC {
			o.collected(m, dt)
		}
		if o.opt.Stacks {
			o.ran(m, ran{d, dt})
		}
	}
	switch m.state {
	case timeline.Runnable:
		m.box.win.runnable += dt
	case timeline.Waiting, timeline.SyscallBlocked:
		m.box.win.waiting[m.wait%32] += dt
		*m.box.sites.at(siteKey{m.wait, m.site}) += dt
	case timeline.InC, timeline.InCDetached, timeline.InCUncounted:
		if !m.active {
			m.box.win.waiting[m.wait%32] += dt
		}
		m.box.win.inC += dt
		if m.inC != o.inCOf && dt > 0 {
			m.inC = o.inCOf
			o.inC++
		}
		*m.box.sites.at(siteKey{m.wait, m.site}) += dt
	}
}

// collected accounts for work of the collector.
func (o *Observer) collected(m *member, dt timeline.Time) {
	switch m.role {
	case pausing:
		o.stretch.collector.Paused += time.Duration(dt)
	case assisting:
		o.stretch.collector.Assists += time.Duration(dt)
	}
}

// role is the work of a goroutine for the collector, other than as one of its workers.
type role uint8

const (
	assisting role = iota + 1
	pausing
)

func (m *member) roleNow() role {
	switch {
	case m.world() != "":
		return pausing
	case m.g.InRange(assistRange):
		return assisting
	}
	return 0
}

func (o *Observer) start(m *member) {
	m.active, m.a = true, o.clock.a
	o.clock.running++
	m.box.members.start(o.clock.now)
	if m.box.key.kind == GC {
		o.collector.start(o.clock.now)
	}
}

func (o *Observer) stop(m *member) {
	m.active = false
	o.clock.running--
	m.box.win.any += m.box.members.stop(o.clock.now)
	if m.box.key.kind == GC {
		o.stretch.collector.Time += time.Duration(o.collector.stop(o.clock.now))
	}
}

// runs reports whether a goroutine in state s counts as running.
func (o *Observer) runs(s timeline.State) bool {
	return s.Runs() || o.opt.Offered && (s == timeline.Runnable || s == timeline.InCUncounted)
}

// Transition implements [timeline.Observer].
func (o *Observer) Transition(t *timeline.Transition) {
	o.advance(t.End)
	if o.ended {
		return
	}
	m := o.members.At(t.G.Index)
	o.latency.observe(t, m.began)
	if m.g != t.G {
		*m = member{g: t.G, since: o.clock.now}
		o.pieces.recall(m)
		m.role = m.roleNow()
		o.visit(m, o.boxOf(m), o.stretch.number)
	} else {
		o.settle(m)
		if o.opt.Stacks && m.state == timeline.Running {
			o.covered(m, t.G.Stack())
		}
	}
	if o.opt.Stacks {
		o.open.At(t.G.Index).entered = t.G.Stack()
	}
	m.state, m.wait, m.site, m.began = t.To, t.G.Wait(), t.G.Stack().Site(), t.End
	if t.State == timeline.Unknown {
		m.began = inThePast
	}
	if run := o.runs(t.To); run != m.active {
		if run {
			o.start(m)
		} else {
			o.stop(m)
		}
	}
	if !t.To.Alive() {
		o.leave(m, t.To == timeline.NotExist)
	}
}

func (o *Observer) leave(m *member, exit bool) {
	if exit && o.opt.Group.single {
		m.leave()
		for b := range m.extra.visits { // it may have had several names, not just the one at its exit
			if b.single {
				b.exited = true
				o.exited++
			}
		}
	}
	if exit {
		*m = member{}
	} else {
		m.g, m.since = nil, timeline.Time(m.g.ID) // it may return after a gap
	}
	if o.exited > 2*o.opt.MaxSingle {
		o.foldExited()
	}
}

// boxOf returns the current box of a goroutine.
func (o *Observer) boxOf(m *member) *box {
	key := o.opt.Group.keyOf(m.g, m.world())
	if m.box != nil && m.box.key == key && !m.box.single {
		return m.box
	}
	if o.latest != nil && o.latest.key == key {
		return o.latest
	}
	b := o.boxes[key]
	if b == nil {
		b = &box{key: key, single: o.opt.Group.single && key.kind == Application}
		o.boxes[key] = b
	}
	o.latest = b
	return b
}

// visit makes b the box of the goroutine, and counts the goroutine for it, once per window and once
// per piece.
func (o *Observer) visit(m *member, b *box, window int32) {
	if m.move(b) {
		if m.window != window {
			b.win.goroutines++
		}
		if m.window < o.pieces.start {
			b.sum.visitedAgain(m.window >= o.pieces.before)
		}
		m.window = window
		return
	}
	m.window = window
	b.win.goroutines++
	b.sum.goroutines++
	if m.g.Start != "" && m.g.Start != b.key.name && b.key.kind == Application {
		b.starts = withStart(b.starts, m.g.Start)
	}
}

// maxStarts bounds the start functions of a box; the alphabetically first ones are kept.
const maxStarts = 8

func (b *Box) addStarts(starts []string) {
	for _, fn := range starts {
		b.Starts = withStart(b.Starts, fn)
	}
}

// withStart returns starts with fn added.
func withStart(starts []string, fn string) []string {
	i, found := slices.BinarySearch(starts, fn)
	if found || i == maxStarts {
		return starts
	}
	return slices.Insert(starts[:min(len(starts), maxStarts-1):min(len(starts), maxStarts-1)], i, fn)
}

// relabel moves a goroutine to another box if its box has changed. That is a stop and a start at
// the same instant, so the number of running goroutines does not change. calls is the call chain of
// the goroutine, or nil if unknown.
func (o *Observer) relabel(g *timeline.Goroutine, t timeline.Time, calls *timeline.Stack) {
	o.advance(t) // first, because a box found before the graph begins may be discarded then
	m := o.members.Known(g.Index)
	if o.ended || m == nil || m.g != g {
		return // not yet shown: its first transition determines the box
	}
	if calls != nil && o.opt.Stacks && m.state == timeline.Running {
		o.settle(m)
		o.covered(m, calls)
	}
	b, does := o.boxOf(m), m.roleNow()
	if b == m.box && does == m.role {
		return
	}
	o.settle(m)
	if m.role = does; b == m.box {
		return
	}
	if o.opt.Stacks {
		o.open.At(g.Index).moved(m.box)
	}
	active := m.active
	if active {
		o.stop(m)
	}
	o.visit(m, b, o.stretch.number)
	if active {
		o.start(m)
	}
}

// Named implements [timeline.Observer].
func (o *Observer) Named(g *timeline.Goroutine, t timeline.Time) { o.relabel(g, t, nil) }

// Label implements [timeline.Observer].
func (o *Observer) Label(g *timeline.Goroutine, t timeline.Time) { o.relabel(g, t, nil) }

// Region implements [timeline.Observer].
func (o *Observer) Region(e *timeline.Span) { o.relabel(e.G, e.Time, e.Stack) }

// Range implements [timeline.Observer].
func (o *Observer) Range(e *timeline.Span) {
	if e.Begin && !e.Stopped && (e.Name == timeline.MarkPhase || strings.HasPrefix(e.Name, worldRange) && worldKind(e.Name) == GC) {
		if o.advance(e.Time); !o.ended && e.Name == timeline.MarkPhase {
			if o.opt.Collections && len(o.windows) < maxWindows && o.stretch.number >= 0 && o.clock.now > o.stretch.start {
				o.turn()
			}
			o.stretch.collector.Cycles++
		} else if !o.ended {
			o.stretch.collector.Pauses++
		}
	}
	if !e.OfG || e.G == nil {
		return
	}
	calls := e.Stack
	if m := o.members.Known(e.G.Index); m != nil && m.g == e.G {
		if strings.HasPrefix(e.Name, worldRange) {
			m.rare().world = ""
			if e.Begin {
				m.extra.world = e.Name
			}
		}
		if o.opt.Stacks {
			calls = o.open.At(e.G.Index).rangeCalls(e)
		}
	}
	o.relabel(e.G, e.Time, calls)
}

// Sample implements [timeline.Observer].
func (o *Observer) Sample(t timeline.Time, g *timeline.Goroutine, stack *timeline.Stack) {
	if !o.opt.Stacks || g == nil || stack == nil {
		return
	}
	o.advance(t)
	if m := o.members.Known(g.Index); !o.ended && m != nil && m.g == g && m.active && m.state == timeline.Running {
		o.chains.sample(m.box, stack, o.clock.running)
	}
}

// Log implements [timeline.Observer]. Recordings of this module contain log messages with the
// number of processors, and the throttling until then.
func (o *Observer) Log(l *timeline.Log) {
	m, ok := host.ReadNote(l.Category, l.Message)
	if !ok {
		return
	}
	o.cpus = m.Processors
	if l.Time >= o.from && (o.opt.To <= 0 || l.Time <= o.to) {
		if !o.noted {
			o.noted, o.throttling[0] = true, m.Throttling
		}
		o.throttling[1] = m.Throttling
	}
}

// Metric implements [timeline.Observer].
func (o *Observer) Metric(t timeline.Time, name string, value uint64, _ bool) {
	if name != "/sched/gomaxprocs:threads" {
		return
	}
	n := int(min(value, math.MaxInt32))
	o.advance(t)
	o.setProcs(n)
	o.stretch.now = n
	o.stretch.procs = max(o.stretch.procs, n)
	if !o.ended && (o.minProcs == 0 || n < o.minProcs) {
		o.minProcs = n
	}
}

// End implements [timeline.Observer].
func (o *Observer) End(t timeline.Time) {
	o.advance(t)
	if o.ended {
		return
	}
	o.to = o.clock.now
	if o.stretch.number < 0 {
		o.from = o.clock.now // the trace ended before the beginning of the graph
		o.settleAll()
		o.discard()
	} else {
		o.closeWindow()
	}
	o.ended = true
}

// foldExited folds the boxes of exited goroutines, except for the largest, into one box per
// function.
func (o *Observer) foldExited() {
	var gone []*box
	for _, b := range o.boxes {
		if b.exited {
			gone = append(gone, b)
		}
	}
	size := func(b *box) share { return b.win.share + b.sum.share }
	slices.SortFunc(gone, func(a, b *box) int {
		return cmp.Or(cmp.Compare(size(b), size(a)), strings.Compare(a.key.name, b.key.name))
	})
	for _, b := range gone[min(len(gone), o.opt.MaxSingle):] {
		name, _, _ := strings.Cut(b.key.name, " #")
		key := boxKey{name + " (exited)", b.key.kind}
		into := o.boxes[key]
		if into == nil {
			into = &box{key: key, folded: true}
			o.boxes[key] = into
		}
		into.win.add(&b.win)
		into.sum.add(&b.sum)
		for _, fn := range b.starts {
			into.starts = withStart(into.starts, fn)
		}
		for k, t := range b.sites.of {
			*into.sites.at(k) += *t
		}
		o.chains.fold(b, into)
		delete(o.boxes, b.key)
	}
	o.exited, o.latest = min(len(gone), o.opt.MaxSingle), nil
}
