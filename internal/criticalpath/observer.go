// Package criticalpath follows the critical paths in an execution trace: package critical describes
// them.
//
// An [Observer] adds a fifth to the time of a pass with the graph and the tasks
// (BenchmarkObserver). It takes at most 32 MB besides the rows, of which there are at most 16,384,
// and 40 bytes for each live goroutine.
package criticalpath

import (
	"fmt"
	"math/bits"
	"slices"
	"time"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/critical"
	"github.com/bottleneck-go/bottleneck/internal/byindex"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Observer follows the critical paths in a pass over a trace that it can share with other
// observers.
//
// The path of the whole program begins at its end, with the oldest goroutine of the program that
// runs there or, if none does, the one that ran last. A goroutine other than main that stops the
// trace counts only if there is no other. Paths of tasks are those that [Observer.TaskBegins] and
// [Observer.TaskEnds] announce.
//
// A wait that the network, a timer, a system call, or the runtime ended is a piece of the path, and
// the path continues with the same goroutine before the wait. So is a wait that the trace does not
// show the end of. The runtime does not show timers, except that they end waits in select or for a
// channel without a goroutine.
type Observer struct {
	timeline.Base
	tree
	now     timeline.Time
	members byindex.Table[member]
	size    int // of members
	keys    keys
	unknown int32 // row of the time before all that is known
	forgot  bool
	stopper *timeline.Goroutine // stops the trace
	end     ending
	classes map[string]*class
	rows    int // of all classes
}

// member is a live goroutine.
type member struct {
	g     *timeline.Goroutine
	at    timeline.Time // end of the newest node
	ran   timeline.Time // when it last stopped running
	tip   int32         // the newest node of its path
	group int32
}

// ending is the end of the path of the whole program.
type ending struct {
	tip  int32
	rank [4]int64 // the largest wins
}

// class sums the paths of tasks.
type class struct {
	critical.Path
	time map[int32]timeline.Time // by row
}

// NewObserver returns an observer for one pass. With stacks, paths have their call chains: see
// critical.Path.Stacks.
func NewObserver(stacks bool) *Observer {
	o := &Observer{
		tree:    tree{nodes: make([]node, 1, leastNodes), limit: leastNodes, least: leastNodes, most: mostNodes},
		classes: map[string]*class{},
		keys:    keys{stacks: stacks, numbers: map[key]int32{}, groups: map[string]int32{"": noGroup, others: otherGroups}, names: []string{"", others}},
	}
	o.unknown = o.keys.find(key{what: unattributed})
	return o
}

// Begin implements [timeline.Observer].
func (o *Observer) Begin(t timeline.Time, _ int) {
	o.nodes[0].end, o.now = t, t
}

// Transition implements [timeline.Observer].
func (o *Observer) Transition(t *timeline.Transition) {
	o.now = t.End
	m := o.members.At(t.G.Index)
	if m.g != t.G {
		o.appear(m, t)
		return
	}
	switch {
	case t.State == timeline.Waiting && o.wakes(t):
		o.join(m, t)
	case t.State == timeline.Running:
		o.extend(m, running, t.G.Stack())
		m.ran = t.End
	case t.State == timeline.Runnable && t.Wait == timeline.WaitCreated:
		o.extend(m, scheduling, t.G.Creator().Stack)
	default:
		o.extend(m, kindOf(t), t.Stack)
	}
	if !t.To.Alive() {
		o.disappear(m, t)
	}
}

// kindOf returns the kind of an interval other than running of a goroutine.
func kindOf(t *timeline.Transition) kind {
	switch {
	case t.State == timeline.Runnable:
		return scheduling
	case t.State.IsC() || t.Wait == timeline.WaitCThread:
		return inC
	case t.State == timeline.Syscall || t.State == timeline.SyscallBlocked:
		return syscall
	case t.Wait == timeline.WaitNetwork:
		return network
	case t.Wait == timeline.WaitSleep:
		return timer
	case t.Wait == timeline.WaitGC, t.Wait == timeline.WaitRuntime, t.Waker != nil && t.Waker.Kind != timeline.Application:
		return inRuntime
	case t.Waker == nil && t.To != timeline.Unknown && (t.Wait == timeline.WaitSelect || t.Wait == timeline.WaitChanReceive):
		return timer
	}
	return unattributed
}

// wakes reports whether the path of a goroutine that waited continues with the one that ended the
// wait.
func (o *Observer) wakes(t *timeline.Transition) bool {
	w := t.Waker
	if w == nil || w == t.G || w.State() != timeline.Running || kindOf(t) != unattributed {
		return false
	}
	by := o.members.Known(w.Index)
	return by != nil && by.g == w
}

// join gives a goroutine the path of its waker up to now.
func (o *Observer) join(m *member, t *timeline.Transition) {
	by := o.members.At(t.Waker.Index)
	o.extend(by, running, t.WakerStack)
	o.nodes[by.tip].refs++
	o.release(m.tip)
	m.tip, m.at = by.tip, by.at
}

// appear begins the path of a goroutine.
func (o *Observer) appear(m *member, t *timeline.Transition) {
	o.release(m.tip)
	o.size = max(o.size, t.G.Index+1)
	*m = member{g: t.G, group: o.keys.group(t.G.Name()), at: o.nodes[0].end}
	if t.State == timeline.NotExist && o.wakes(t) {
		o.join(m, t)
	} else {
		o.extendBy(m, o.unknown)
	}
	if !t.To.Alive() {
		o.disappear(m, t)
	}
}

// disappear ends the path of a goroutine, at its exit or at the end of what is known.
func (o *Observer) disappear(m *member, t *timeline.Transition) {
	if t.To == timeline.Unknown {
		rank := [4]int64{1, 1, int64(m.ran), -t.G.ID}
		if t.G.Kind != timeline.Application {
			rank[0] = 0
		}
		if t.G == o.stopper && t.G.ID != mainID {
			rank[1] = 0
		}
		if t.State.Runs() {
			rank[2] = int64(t.End) + 1
		}
		if o.end.tip == 0 || slices.Compare(rank[:], o.end.rank[:]) > 0 {
			m.tip, o.end.tip = o.end.tip, m.tip
			o.end.rank = rank
		}
	}
	o.release(m.tip)
	*m = member{}
}

// mainID is the ID of the main goroutine.
const mainID = 1

// extend adds the time up to now to the path of a goroutine.
func (o *Observer) extend(m *member, what kind, stack *timeline.Stack) {
	if o.now != m.at {
		o.extendBy(m, o.keys.of(what, m.group, stack))
	}
}

func (o *Observer) extendBy(m *member, row int32) {
	if o.now == m.at {
		return
	}
	if n := &o.nodes[m.tip]; n.row == row && n.refs == 1 && m.tip != 0 {
		n.end = o.now
	} else {
		if o.full() {
			o.shrink()
		}
		m.tip = o.add(m.tip, row, o.now)
	}
	m.at = o.now
}

// shrink makes room for nodes.
func (o *Observer) shrink() {
	o.fold(o.tips, o.size)
	if len(o.nodes)-len(o.free) < o.most/4*3 {
		return
	}
	o.forgot = true
	at, root := o.forget(o.unknown, o.tips)
	for m := range o.members.All() {
		if m.g != nil && m.at <= at {
			o.release(m.tip)
			o.nodes[root].refs++
			m.tip, m.at = root, at
		}
	}
	if o.end.tip != 0 && o.nodes[o.end.tip].end <= at {
		o.release(o.end.tip)
		o.nodes[root].refs++
		o.end.tip = root
	}
	o.release(root)
}

// tips visits the newest nodes of all goroutines.
func (o *Observer) tips(visit func(i int32)) {
	visit(o.end.tip)
	for m := range o.members.All() {
		visit(m.tip)
	}
}

// Named implements [timeline.Observer].
func (o *Observer) Named(g *timeline.Goroutine, t timeline.Time) {
	o.now = t
	if m := o.known(g); m != nil {
		if g.State() == timeline.Running {
			o.extend(m, running, nil)
		}
		m.group = o.keys.group(g.Name())
	}
}

// known returns the member of a goroutine that has been seen, or nil.
func (o *Observer) known(g *timeline.Goroutine) *member {
	if g != nil {
		if m := o.members.Known(g.Index); m != nil && m.g == g {
			return m
		}
	}
	return nil
}

// Range implements [timeline.Observer].
func (o *Observer) Range(e *timeline.Span) {
	if e.Begin && e.Name == "stop-the-world (stop trace)" {
		o.stopper = e.G
	}
}

// Gap implements [timeline.Observer]. The time in a gap is unattributed.
func (o *Observer) Gap(_, to timeline.Time) {
	o.release(o.end.tip)
	o.end, o.now = ending{}, to
}

// End implements [timeline.Observer].
func (o *Observer) End(t timeline.Time) {
	o.now = t
	m := member{tip: o.end.tip, at: o.nodes[o.end.tip].end}
	o.end.tip = 0
	o.extendBy(&m, o.unknown)
	o.book(critical.Program, m.tip, o.nodes[0].end)
	o.release(m.tip)
}

// TaskEnds adds the path of a task of a class that ends on a goroutine, from its begin up to now.
// stack is the call chain of the end, or nil. Without a goroutine, the path is not known, and is
// dropped. TaskBegins must have been called at begin.
func (o *Observer) TaskEnds(g *timeline.Goroutine, class string, stack *timeline.Stack, begin, now timeline.Time) {
	defer o.ended(begin) // the path may be folded until it is booked
	m := o.known(g)
	if m == nil || class == "" {
		return
	}
	o.now = now
	if now != m.at {
		t := timeline.Transition{G: g, State: g.State(), To: timeline.Unknown, Wait: g.Wait(), Stack: g.Stack()}
		if t.State == timeline.Running {
			o.extend(m, running, stack)
		} else {
			o.extend(m, kindOf(&t), t.Stack)
		}
	}
	o.book(class, m.tip, begin)
}

// others is the group and the class of what exceeds a limit.
const others = "(others)"

// Limits of what is summed. Beyond them, rows are added up by kind, and classes under (others).
const (
	maxKeys    = 1 << 14
	maxClasses = 1 << 10
	maxRows    = 1 << 16
)

// book adds the path that ends with a node to a class.
func (o *Observer) book(name string, tip int32, begin timeline.Time) {
	c := o.classes[name]
	if c == nil && len(o.classes) >= maxClasses && name != critical.Program {
		name = others
		c = o.classes[name]
	}
	if c == nil {
		c = &class{Path: critical.Path{Class: name}, time: map[int32]timeline.Time{}}
		o.classes[name] = c
	}
	took := time.Duration(max(o.nodes[tip].end-begin, 0))
	c.Count++
	c.Elapsed += took
	c.Longest = max(c.Longest, took)
	for i := tip; i != 0 && o.nodes[i].end > begin; i = o.nodes[i].parent {
		n := &o.nodes[i]
		row := n.row
		if _, known := c.time[row]; !known {
			if o.rows++; o.rows > maxRows {
				row = o.keys.find(key{what: o.keys.all[row].what, group: otherGroups})
			}
		}
		c.time[row] += n.end - max(o.start(i), begin)
	}
}

// Profile returns the profile of the pass, once it has ended.
func (o *Observer) Profile() *critical.Profile {
	p := &critical.Profile{}
	for _, c := range o.classes {
		path := c.Path
		at := map[critical.Row]int{}
		for row, t := range c.time {
			r := o.keys.row(row)
			if o.keys.stacks {
				s := r
				s.Time, s.Calls = time.Duration(t), o.keys.all[row].stack
				path.Stacks = append(path.Stacks, s)
			}
			k, known := at[r]
			if !known {
				k = len(path.Rows)
				at[r] = k
				path.Rows = append(path.Rows, r)
			}
			path.Rows[k].Time += time.Duration(t)
		}
		p.Paths = append(p.Paths, path)
	}
	if o.forgot {
		p.Warnings = append(p.Warnings, fmt.Sprintf("Some paths are longer than the %s pieces that are kept: their oldest part is unattributed.", format.Count(o.most)))
	}
	p.Sort()
	return p
}

// kind is the number of a Kind.
type kind uint8

const (
	running kind = iota
	inC
	scheduling
	network
	timer
	syscall
	inRuntime
	unattributed
)

// key identifies a row.
type key struct {
	what  kind
	group int32
	site  timeline.Place
	stack *timeline.Stack // if call chains are wanted
}

// keys numbers rows and groups.
type keys struct {
	stacks  bool
	numbers map[key]int32
	all     []key
	groups  map[string]int32
	names   []string
	// recent has the latest lookups.
	recent [1 << recentBits]struct {
		stack *timeline.Stack
		group int32
		what  kind
		known bool
		row   int32
	}
}

const (
	recentBits        = 10
	noGroup     int32 = 0
	otherGroups int32 = 1
	maxGroups         = 1 << 16
)

// group returns the number of a name.
func (k *keys) group(name string) int32 {
	n, known := k.groups[name]
	switch {
	case known:
		return n
	case len(k.names) >= maxGroups:
		return otherGroups
	}
	n = int32(len(k.names))
	k.groups[name] = n
	k.names = append(k.names, name)
	return n
}

// of returns the row of a piece.
func (k *keys) of(what kind, group int32, stack *timeline.Stack) int32 {
	h := uint64(uintptr(unsafe.Pointer(stack))) ^ bits.RotateLeft64(uint64(group), 40) ^ uint64(what)<<60
	e := &k.recent[h*0x9E3779B97F4A7C15>>(64-recentBits)]
	if e.stack != stack || e.group != group || e.what != what || !e.known {
		of := key{what: what, group: group}
		if f := stack.Site(); f != nil {
			of.site = f.Place()
		}
		if k.stacks {
			of.stack = stack
		}
		e.stack, e.group, e.what, e.known, e.row = stack, group, what, true, k.find(of)
	}
	return e.row
}

// find returns the number of a row.
func (k *keys) find(of key) int32 {
	n, known := k.numbers[of]
	if rest := (key{what: of.what, group: otherGroups}); !known && len(k.all) >= maxKeys && of != rest {
		return k.find(rest)
	}
	if !known {
		n = int32(len(k.all))
		k.numbers[of] = n
		k.all = append(k.all, of)
	}
	return n
}

// row returns a row without its time.
func (k *keys) row(n int32) critical.Row {
	of := &k.all[n]
	return critical.Row{What: critical.Kinds()[of.what], Group: k.names[of.group], Site: of.site}
}
