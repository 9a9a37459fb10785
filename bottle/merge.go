package bottle

import (
	"errors"
	"fmt"
	"go/version"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Merge adds graphs of several instances of a program, or of several windows of one instance, into
// one graph with one box for each group.
//
// All times are sums, so Σ Share + Idle == Wall stays exact. The parallelism of a box is Σ Running ÷
// Σ Share (eq. 2), SelfParallelism Σ Running ÷ the sum, over instances, of the time in which a
// member ran. Procs is the maximum; Start is the earliest.
//
// Successive graphs of [Observer.Cut] are one instance, and a goroutine in several of them counts
// once if the graphs are consecutive. Their sum is the graph of the whole, bit for bit up to 39
// hours; beyond that, to the nanosecond for each box and piece. Any other graph is a separate
// instance, or as many as its Instances field gives: for windows of one program from another
// source, set Instances of the result to 0.
//
// Merging graphs with different groupings, or offered with actual parallelism, is an error. Nil
// graphs are ignored, and windows are not merged. Merge takes about 0.2 µs per box.
func Merge(graphs ...*Graph) (*Graph, error) {
	m := merger{index: map[boxKey]int{}, sources: map[*int]int{}, out: &Graph{}}
	for _, g := range graphs {
		if g == nil {
			continue
		}
		if err := m.fits(g); err != nil {
			return nil, fmt.Errorf("bottle: merging: %w", err)
		}
		m.add(g)
	}
	if m.n == 0 {
		return nil, errors.New("bottle: merging: no graphs")
	}
	return m.result(), nil
}

// merger is the state of a merge.
type merger struct {
	out       *Graph
	n         int // number of graphs so far
	index     map[boxKey]int
	sources   map[*int]int // by source of pieces: the last piece
	instances int
}

func (m *merger) fits(g *Graph) error {
	o := m.out
	switch {
	case m.n == 0:
		return nil
	case g.GroupBy != o.GroupBy:
		return fmt.Errorf("graph %d is grouped by %q, earlier ones by %q", m.n+1, g.GroupBy, o.GroupBy)
	case g.Offered != o.Offered:
		return fmt.Errorf("graph %d and earlier ones are not all of offered parallelism", m.n+1)
	case g.Wall > math.MaxInt64-o.Wall:
		return fmt.Errorf("the graphs up to number %d cover more than 292 years", m.n+1)
	}
	return nil
}

func (m *merger) add(g *Graph) {
	o := m.out
	m.n++
	how := m.order(g)
	if m.n == 1 {
		o.Start, o.GoVersion, o.Offered, o.GroupBy = g.Start, g.GoVersion, g.Offered, g.GroupBy
	}
	o.Start = min(o.Start, g.Start)
	o.Wall += g.Wall
	o.Idle += g.Idle
	o.Collector.add(&g.Collector, 1)
	o.Latency.add(&g.Latency, 1)
	switch {
	case m.n == 1:
		o.Capacity, o.IdleLost, o.CPUs = g.Capacity, g.IdleLost, g.CPUs
	case o.Capacity == 0 && o.Wall > g.Wall || g.Capacity == 0 && g.Wall > 0 || g.Capacity > math.MaxInt64-o.Capacity:
		o.Capacity, o.IdleLost = 0, 0 // unknown for some
	default:
		o.Capacity += g.Capacity
		o.IdleLost += g.IdleLost
	}
	if o.CPUs != g.CPUs { // a single number would be wrong for both
		m.warn(o.Oversubscribed())
		m.warn(g.Oversubscribed())
		o.CPUs = 0
	}
	o.Throttles += g.Throttles
	o.Throttled += g.Throttled
	o.Procs = max(o.Procs, g.Procs)
	if g.GoVersion != o.GoVersion {
		if g.GoVersion != "" && o.GoVersion != "" { // else it is unknown
			m.warn("The instances run different versions of Go.")
		}
		if version.Compare(o.GoVersion, g.GoVersion) < 0 {
			o.GoVersion = g.GoVersion
		}
	}
	for _, w := range g.Warnings {
		// Warnings with these suffixes depend on the numbers.
		if !strings.HasSuffix(w, unnamedReason) && !strings.HasSuffix(w, cReason) {
			m.warn(w)
		}
	}
	for i := range g.Boxes {
		m.box(&g.Boxes[i], how)
	}
}

// maxMergedWarnings is the maximum number of different warnings of a merged graph.
const maxMergedWarnings = 32

func (m *merger) warn(w string) {
	if w != "" && len(m.out.Warnings) < maxMergedWarnings && !slices.Contains(m.out.Warnings, w) {
		m.out.Warnings = append(m.out.Warnings, w)
	}
}

// joint is the relation of a graph to the ones before it.
type joint uint8

const (
	apart     joint = iota // nothing is known
	follows                // a later piece of the same pass
	continues              // likewise, and the pieces so far start at the beginning of the pass
)

// order counts the instances and determines how to count the goroutines.
func (m *merger) order(g *Graph) joint {
	s := g.merged.source
	switch {
	case s == nil:
		m.instances += max(1, g.Instances)
	default:
		if last, seen := m.sources[s]; !seen || g.merged.first <= last {
			m.instances++ // otherwise it follows
		}
		m.sources[s] = g.merged.last
	}
	o := &m.out.merged
	switch {
	case m.n == 1:
		*o = g.merged
		return apart
	case s == nil || s != o.source || g.merged.first <= o.last:
		*o = merged{}
		return apart
	}
	o.last = g.merged.last
	if o.first == 0 {
		return continues
	}
	return follows
}

func (m *merger) box(b *Box, how joint) {
	key := boxKey{b.Group, b.Kind}
	if b.others {
		key.name = manyOthers
	}
	at, ok := m.index[key]
	if !ok {
		at = len(m.out.Boxes)
		m.index[key] = at
		m.out.Boxes = append(m.out.Boxes, Box{Group: b.Group, Kind: b.Kind, others: b.others, Waiting: make(map[string]time.Duration, len(b.Waiting))})
		if how == apart {
			m.out.Boxes[at].known, m.out.Boxes[at].carried = b.known, b.carried
		}
	}
	sum := &m.out.Boxes[at]
	if sum.Group != b.Group { // boxes of different numbers of groups
		sum.Group = manyOthers
		if b.Kind != Application {
			sum.Group += " (" + b.Kind.String() + ")"
		}
	}
	sum.addStarts(b.Starts)
	sum.add(b, 1)
	switch how {
	case follows:
		sum.Goroutines -= b.carried
	case continues:
		sum.Goroutines -= b.known
	}
	if busy := b.busyTime(); busy < 0 || sum.busy < 0 {
		sum.busy = -1
	} else {
		sum.busy += busy
	}
}

// add adds the goroutines of another box, and k times its times. Waiting must not be nil.
func (b *Box) add(o *Box, k time.Duration) {
	b.addStacks(o, k) // uses the sums so far
	b.Goroutines += o.Goroutines
	b.Share += k * o.Share
	b.exact += share(k) * o.exactShare()
	b.room.plus(o.exactRoom(), share(k))
	b.Lost += k * o.Lost
	b.Running += k * o.Running
	b.Runnable += k * o.Runnable
	b.InC += k * o.InC
	for reason, d := range o.Waiting {
		b.Waiting[reason] += k * d
	}
	b.addSites(o, k)
}

// exactShare returns the share before rounding, if known, or else the rounded share.
func (b *Box) exactShare() share {
	if b.exact == 0 && b.Share > 0 {
		return share(b.Share) << fracBits
	}
	return b.exact
}

// exactRoom does the same for the integral of GOMAXPROCS / r.
func (b *Box) exactRoom() area {
	if b.exact == 0 && b.Share > 0 {
		return area{ns: int64(b.Lost + b.Running)}
	}
	return b.room
}

// busyTime returns the time in which a member of the box ran, or −1 if unknown.
func (b *Box) busyTime() time.Duration {
	switch {
	case b.busy != 0:
		return b.busy
	case b.Running == 0:
		return 0
	case b.SelfParallelism > 0: // of a graph that was read from a file
		return time.Duration(math.Round(float64(b.Running) / b.SelfParallelism))
	}
	return -1
}

func (m *merger) result() *Graph {
	g := m.out
	if m.instances > 1 {
		g.Instances = m.instances
	}
	g.joinStacks(maxStacks)
	for i := range g.Boxes {
		b := &g.Boxes[i]
		if b.SelfParallelism = ratio(b.Running, b.busy); b.busy < 0 {
			b.SelfParallelism = math.NaN()
		}
		if g.Wall > maxWall {
			b.exact = 0 // the shares are sums of rounded ones
			b.sortStacks()
			b.Parallelism = b.width()
		}
	}
	if g.Wall > maxWall {
		order.Stable(g.Boxes, compareStack)
	} else {
		g.finish()
	}
	g.Collector.Share = g.shareOf(GC)
	g.Warnings = append(append(g.Warnings, g.unnamedWarning()...), g.cWarning(0)...)
	return g
}

// Top returns a copy of the graph, and of its windows, that keeps the k boxes with the largest
// shares and folds the others into one box per kind, named like "12 others". The SelfParallelism of
// folded boxes is NaN, because it cannot be derived from its parts. If k <= 0, Top keeps all boxes.
func (g *Graph) Top(k int) *Graph {
	out := *g
	out.Windows = nil
	for _, w := range g.Windows {
		out.Windows = append(out.Windows, w.Top(k))
	}
	if k <= 0 || len(g.Boxes) <= k {
		return &out
	}
	bySize := slices.Clone(g.Boxes)
	order.Stable(bySize, func(a, b Box) int {
		if a.others != b.others { // folded by an earlier Top: never kept as a single box
			if a.others {
				return 1
			}
			return -1
		}
		return compareSize(a, b)
	})
	out.Boxes = bySize[:k:k]
	rest := bySize[k:]
	for _, kind := range []timeline.Kind{Application, GC, Runtime, Tracer} {
		if b, n := fold(rest, kind); n > 0 {
			out.Boxes = append(out.Boxes, b)
		}
	}
	order.Stable(out.Boxes, compareStack)
	return &out
}

// fold adds the boxes of one kind.
func fold(boxes []Box, kind timeline.Kind) (sum Box, n int) {
	sum = Box{Kind: kind, SelfParallelism: math.NaN(), Waiting: map[string]time.Duration{}}
	again := false
	for i := range boxes {
		b := &boxes[i]
		if b.Kind != kind {
			continue
		}
		n++
		if n == 1 {
			sum.SelfParallelism = b.SelfParallelism
			sum.Group = b.Group
			sum.busy, sum.others = b.busy, b.others
		} else {
			sum.SelfParallelism, sum.busy, sum.others = math.NaN(), -1, true
		}
		again = again || b.others
		sum.known += b.known
		sum.carried += b.carried
		sum.ShareError += b.ShareError // an upper bound
		sum.add(b, 1)
	}
	if n > 1 {
		sum.Group = strconv.Itoa(n) + " others"
		if again {
			sum.Group = manyOthers // the number of groups is unknown
		}
		if kind != Application {
			sum.Group += " (" + kind.String() + ")"
		}
	}
	sum.Stacks = joinStacks(sum.Stacks)
	sum.sortStacks()
	sum.Parallelism = sum.width()
	return sum, n
}

// manyOthers is the name of a box that combines boxes of several groups.
const manyOthers = "many others"

// Scale returns a copy of the graph, without windows, in which every time is n times as long: an
// estimate if the graph shows a random sample of 1/n of the time. n must be positive. Nothing is
// rounded, so sums remain sums. Parallelism, GOMAXPROCS and the numbers of goroutines do not change.
// [Merge] accepts scaled graphs, including those of pieces of one pass.
func (g *Graph) Scale(n int) *Graph {
	out := *g
	k := time.Duration(n)
	out.Windows, out.Verdict = nil, nil
	out.Wall *= k
	out.Idle *= k
	out.Capacity *= k
	out.IdleLost *= k
	out.Collector, out.Latency = Collector{}, Latency{}
	out.Collector.add(&g.Collector, n)
	out.Latency.add(&g.Latency, n)
	out.Boxes = nil
	for i := range g.Boxes {
		b := g.Boxes[i]
		b.Goroutines, b.Waiting, b.Sites, b.Stacks = 0, map[string]time.Duration{}, nil, nil
		b.Share, b.exact, b.room, b.Lost, b.Running, b.Runnable, b.InC = 0, 0, area{}, 0, 0, 0, 0
		b.ShareError *= k
		if b.busy > 0 { // else it is unknown
			b.busy *= k
		}
		b.add(&g.Boxes[i], k)
		out.Boxes = append(out.Boxes, b)
	}
	return &out
}
