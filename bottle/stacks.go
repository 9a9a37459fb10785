package bottle

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/apportion"
	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// A box shows which goroutines ran; its call chains show which code. With [Options.Stacks], each
// nanosecond of a box's share and running time belongs to one call chain:
//
//   - A system call, C code, or waiting for a processor ([Options.Offered]) has the call chain at
//     its beginning.
//   - Go code has no call chain of its own. The event that ends it has one, which stands for all
//     the time since the previous event. Such events are blocking, preemption, system calls, and
//     the beginning or end of a range or region. Time that ends otherwise, as with the exit of the
//     goroutine or the end of the trace, is [NotSampled].
//   - If a CPU profile ran as well and has enough samples, the samples divide the time of a box in
//     Go code instead: each sample counts once for the running time and, for the share, 1/r while
//     r goroutines run.
//
// Time in Go code is open until the event that ends it. By then, the goroutine may be in another
// box. The sums are exact: in 2^-16 ns during the pass, in nanoseconds in the graph.

// Stack is the part of a box that belongs to one call chain.
type Stack struct {
	// Calls is the call chain, or one of several whose [timeline.Stack.Code] has the same
	// source lines. It is shared and must not be modified. It is nil if the call chain is
	// unknown (Source is NotSampled), or if the stack stands for all call chains of the box
	// beyond the limit.
	Calls *timeline.Stack
	// Source is the source of the call chain: CPUSamples, SchedulingEvents or NotSampled.
	Source string
	// Share and Running are its parts of the box's Share and Running.
	Share, Running time.Duration

	exact share // before rounding
}

// The sources of call chains.
const (
	CPUSamples       = "cpu samples"
	SchedulingEvents = "scheduling events"
	NotSampled       = "not sampled"
)

// Folded reports whether the stack stands for call chains beyond the limit.
func (s *Stack) Folded() bool { return s.Calls == nil && s.Source != NotSampled }

// maxStacks bounds the number of call chains of a graph. Further ones are combined into one stack
// per box.
const maxStacks = 1 << 15

// otherCalls stands for the call chains beyond maxStacks.
var otherCalls = &timeline.Stack{}

// ran is an amount of running time of a goroutine.
type ran struct {
	share   share
	running timeline.Time
}

func (r *ran) add(more ran) {
	r.share += more.share
	r.running += more.running
}

// ranIn is running time in a box.
type ranIn struct {
	box *box
	ran
}

// openCode is running time of a goroutine in Go code whose call chain is not yet known.
type openCode struct {
	here      ran             // in the current box
	elsewhere []ranIn         // in earlier boxes
	entered   *timeline.Stack // call chain at the beginning of the current state
	inRange   *timeline.Stack // call chain at the beginning of the current range
}

// chains holds the times of a box by call chain.
type chains struct {
	of      map[chainKey]*ran
	samples map[*timeline.Stack]samples
}

// chainKey is a call chain. CPU samples divide the time in Go code.
type chainKey struct {
	calls *timeline.Stack
	code  bool
}

// samples counts samples of the CPU profiler: their number, and the sum of 2^32/r.
type samples struct{ n, weight uint64 }

// chainTable looks up the times of call chains.
type chainTable struct {
	recent []recentChain // a cache; most lookups hit it
	n      int           // number of call chains of all boxes
}

type recentChain struct {
	box *box
	key chainKey
	ran *ran
}

const recentChains = 1 << 9

// at returns the time of a call chain in a box.
func (t *chainTable) at(b *box, k chainKey) *ran {
	h := uintptr(unsafe.Pointer(k.calls))>>4 ^ uintptr(unsafe.Pointer(b))>>7
	h = (h ^ h>>9) % recentChains
	if t.recent == nil {
		t.recent = make([]recentChain, recentChains)
	}
	e := &t.recent[h]
	if e.box != b || e.key != k || e.ran == nil {
		e.box, e.key, e.ran = b, k, t.find(b, k)
	}
	return e.ran
}

func (t *chainTable) find(b *box, k chainKey) *ran {
	if found := b.chains.of[k]; found != nil {
		return found
	}
	if t.n >= maxStacks && k.calls != nil {
		k.calls = otherCalls
		if found := b.chains.of[k]; found != nil {
			return found
		}
	}
	if b.chains.of == nil {
		b.chains.of = map[chainKey]*ran{}
	}
	made := &ran{}
	b.chains.of[k] = made
	t.n++
	return made
}

// sample counts a sample of the CPU profiler while r goroutines run.
func (t *chainTable) sample(b *box, calls *timeline.Stack, r int64) {
	s, known := b.chains.samples[calls]
	if !known && t.n >= maxStacks {
		calls = otherCalls
		s, known = b.chains.samples[calls]
	}
	if !known {
		t.n++
		if b.chains.samples == nil {
			b.chains.samples = map[*timeline.Stack]samples{}
		}
	}
	b.chains.samples[calls] = samples{s.n + 1, s.weight + 1<<32/uint64(r)}
}

// fold adds the times of b to those of into.
func (t *chainTable) fold(b, into *box) {
	for k, r := range b.chains.of {
		t.find(into, k).add(*r)
		t.n--
	}
	for calls, s := range b.chains.samples {
		if into.chains.samples == nil {
			into.chains.samples = map[*timeline.Stack]samples{}
		}
		sum, known := into.chains.samples[calls]
		if known {
			t.n--
		}
		into.chains.samples[calls] = samples{sum.n + s.n, sum.weight + s.weight}
	}
	b.chains = chains{}
}

// ran accounts for running time of a goroutine in its box and state.
func (o *Observer) ran(m *member, r ran) {
	open := o.open.At(m.g.Index)
	if m.state == timeline.Running {
		open.here.add(r)
		return
	}
	o.chains.at(m.box, chainKey{calls: open.entered}).add(r)
}

// covered assigns a call chain to the open time; nil means none.
func (o *Observer) covered(m *member, calls *timeline.Stack) {
	open, k := o.open.At(m.g.Index), chainKey{calls, true}
	for _, r := range open.elsewhere {
		o.chains.at(r.box, k).add(r.ran)
	}
	open.elsewhere = open.elsewhere[:0]
	if open.here != (ran{}) {
		o.chains.at(m.box, k).add(open.here)
		open.here = ran{}
	}
}

// rangeCalls returns the call chain for the beginning or end of a range. For an end, it is that of
// the beginning.
func (c *openCode) rangeCalls(e *timeline.Span) *timeline.Stack {
	began := c.inRange
	c.inRange = nil
	if e.Begin {
		c.inRange = e.Stack
	}
	if e.Begin || e.Stack != nil {
		return e.Stack
	}
	return began
}

// moved leaves the open time in the box that the goroutine leaves.
func (c *openCode) moved(from *box) {
	if c.here == (ran{}) {
		return
	}
	i := slices.IndexFunc(c.elsewhere, func(e ranIn) bool { return e.box == from })
	if i < 0 {
		i = len(c.elsewhere)
		c.elsewhere = append(c.elsewhere, ranIn{box: from})
	}
	c.elsewhere[i].add(c.here)
	c.here = ran{}
}

// uncovered assigns the open time to no call chain at the end of the graph.
func (o *Observer) uncovered() {
	if !o.opt.Stacks {
		return
	}
	for m := range o.members.All() {
		if m.g != nil {
			o.covered(m, nil)
		}
	}
}

// stacks returns the stacks of a box, without rounded shares.
func (c *chains) stacks() []Stack {
	var out, sampled []Stack
	var n uint64
	for calls, s := range c.samples {
		n += s.n
		sampled = append(sampled, Stack{Calls: known(calls), Source: CPUSamples, Running: time.Duration(s.n), exact: share(s.weight)})
	}
	var code ran
	for k, r := range c.of {
		if k.code && n >= apportion.Enough {
			code.add(*r)
			continue
		}
		s := Stack{Calls: known(k.calls), Source: SchedulingEvents, Running: time.Duration(r.running), exact: r.share}
		if k.calls == nil {
			s.Source = NotSampled
		}
		out = append(out, s)
	}
	if n >= apportion.Enough {
		sampled = joinStacks(sampled) // in an order that is independent of map iteration
		numbers, weights := make([]uint64, len(sampled)), make([]uint64, len(sampled))
		for i := range sampled {
			numbers[i], weights[i] = uint64(sampled[i].Running), uint64(sampled[i].exact)
		}
		running, shares := apportion.Divide(uint64(code.running), numbers), apportion.Divide(uint64(code.share), weights)
		for i := range sampled {
			sampled[i].Running, sampled[i].exact = time.Duration(running[i]), share(shares[i])
		}
		out = append(out, sampled...)
	}
	return joinStacks(out)
}

func known(calls *timeline.Stack) *timeline.Stack {
	if calls == otherCalls {
		return nil
	}
	return calls
}

// joinStacks adds stacks with equal places and sources, and sorts them by place.
func joinStacks(stacks []Stack) []Stack {
	stacks = slices.DeleteFunc(stacks, func(s Stack) bool { return s.Share == 0 && s.Running == 0 && s.exact == 0 })
	return order.Merge(stacks, compareStacks, func(sum, more *Stack) {
		sum.Share += more.Share
		sum.Running += more.Running
		sum.exact += more.exact
	})
}

// compareStacks orders stacks by place and source.
func compareStacks(a, b Stack) int {
	if a.Calls == b.Calls {
		return strings.Compare(a.Source, b.Source)
	}
	return cmp.Or(compareCalls(a.Calls, b.Calls), strings.Compare(a.Source, b.Source))
}

// compareCalls orders call chains by their places, from the leaf. Calls in the same source line are
// the same place.
func compareCalls(x, y *timeline.Stack) int {
	a, b := x.Code(), y.Code()
	for i, f := range a {
		if i == len(b) {
			return 1
		}
		g := b[i]
		if f == g {
			continue
		}
		if c := cmp.Or(strings.Compare(f.Func, g.Func), cmp.Compare(f.Line, g.Line), strings.Compare(f.File, g.File)); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// roundStacks rounds the shares of stacks so that they sum to that of the box, and sorts the
// stacks, largest first.
func (b *Box) roundStacks() {
	if len(b.Stacks) == 0 {
		return
	}
	exact := make([]uint64, len(b.Stacks))
	for i := range b.Stacks {
		exact[i] = uint64(b.Stacks[i].exact)
	}
	for i, part := range apportion.Round(int64(b.Share), exact, fracBits) {
		b.Stacks[i].Share = time.Duration(part)
	}
	b.sortStacks()
}

func (b *Box) sortStacks() {
	order.Stable(b.Stacks, func(x, y Stack) int {
		return cmp.Or(cmp.Compare(y.Share, x.Share), cmp.Compare(y.Running, x.Running), compareStacks(x, y))
	})
}

// addStacks adds the stacks of another box, with k times their times, to be joined later. If only one
// of the two boxes has stacks, the time of the other is not sampled.
func (b *Box) addStacks(more *Box, k time.Duration) {
	before := Stack{Source: NotSampled, Share: b.Share, Running: b.Running, exact: b.exact}
	switch {
	case len(b.Stacks) == 0 && len(more.Stacks) == 0:
		return
	case len(b.Stacks) == 0 && before != (Stack{Source: NotSampled}):
		b.Stacks = append(b.Stacks, before)
	}
	added := more.Stacks
	if len(added) == 0 {
		added = []Stack{{Source: NotSampled, Share: more.Share, Running: more.Running, exact: more.exactShare()}}
	}
	for _, s := range added {
		if more.exact == 0 { // of a sum over more than 39 hours
			s.exact = share(s.Share) << fracBits
		}
		s.Share, s.Running, s.exact = k*s.Share, k*s.Running, share(k)*s.exact
		b.Stacks = append(b.Stacks, s)
	}
}

// joinStacks joins the stacks that were added to the boxes and keeps at most the given number.
func (g *Graph) joinStacks(most int) {
	var all []share
	for i := range g.Boxes {
		b := &g.Boxes[i]
		b.Stacks = joinStacks(b.Stacks)
		for j := range b.Stacks {
			all = append(all, b.Stacks[j].exact)
		}
	}
	if len(all) <= most {
		return
	}
	slices.Sort(all)
	least := all[len(all)-most]
	for i := range g.Boxes {
		b := &g.Boxes[i]
		for j := range b.Stacks {
			if s := &b.Stacks[j]; s.exact <= least && s.Source != NotSampled {
				s.Calls = nil
			}
		}
		b.Stacks = joinStacks(b.Stacks)
	}
}
