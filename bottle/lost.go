package bottle

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// Lost capacity. While r goroutines run on p processors, p − r processors are unused. A box that
// runs is charged its part of them, 1/r for each member, just as it gets its part of the time. Over
// the graph this is
//
//	Lost = Share × (GOMAXPROCS − Parallelism) = Share × GOMAXPROCS − Running
//
// in ns·processors. While nothing runs, all p processors are lost to idle time. So
//
//	Σ Lost + IdleLost == Capacity − Σ Running
//
// is an identity of integers. GOMAXPROCS may change during a graph: Capacity is then the integral
// of GOMAXPROCS over the time, and Share × GOMAXPROCS the integral of GOMAXPROCS / r.

// maxProcs bounds GOMAXPROCS in sums, so that sums over 39 hours do not overflow.
const maxProcs = 1 << 14

// area is a time summed over processors, in whole ns and 2^-16 ns.
type area struct {
	ns   int64
	frac share
}

// add adds d × procs.
func (a *area) add(d share, procs int64) {
	hi, lo := bits.Mul64(uint64(d), uint64(procs))
	lo, carry := bits.Add64(lo, uint64(a.frac), 0)
	a.ns += int64((hi+carry)<<(64-fracBits) | lo>>fracBits)
	a.frac = share(lo & (1<<fracBits - 1))
}

// plus adds b × k.
func (a *area) plus(b area, k share) {
	frac := a.frac + b.frac*k
	a.ns += b.ns*int64(k) + int64(frac>>fracBits)
	a.frac = frac & (1<<fracBits - 1)
}

// charge accounts for the capacity up to now, at the GOMAXPROCS that was in effect.
func (o *Observer) charge() {
	p := o.clock.procs
	if p == 0 {
		return // not yet known: charged when it is
	}
	s := &o.stretch
	s.capacity += p * int64(o.clock.elapsed-s.counted)
	s.idleCapacity += p * int64(o.clock.idle-s.idleCounted)
	s.counted, s.idleCounted = o.clock.elapsed, o.clock.idle
	for _, b := range o.boxes {
		b.win.charge(p)
		b.sum.charge(p)
	}
}

func (a *account) charge(procs int64) {
	a.room.add(a.share-a.counted, procs)
	a.counted = a.share
}

// setProcs changes GOMAXPROCS as of now.
func (o *Observer) setProcs(n int) {
	n = min(n, maxProcs)
	if old := o.clock.procs; int64(n) == old || o.ended {
		return
	} else if old != 0 {
		o.settleAll()
		o.charge()
	}
	o.clock.procs = int64(n)
}

// lose computes the loss of each box so that the identity holds. If GOMAXPROCS did not change, the
// loss is Share × GOMAXPROCS − Running to the nanosecond: rounding changes the capacity GOMAXPROCS
// times as much as the share. Otherwise a remainder of some ns·processors is added to the box with
// the largest loss.
func (g *Graph) lose() {
	if g.Capacity == 0 {
		for i := range g.Boxes {
			g.Boxes[i].Lost = 0
		}
		return
	}
	left := g.Capacity - g.IdleLost
	var most *Box
	for i := range g.Boxes {
		b := &g.Boxes[i]
		rounded := int64(b.Share)<<fracBits - int64(b.exact)
		room := time.Duration(b.room.ns + (int64(b.room.frac)+int64(min(g.Procs, maxProcs))*rounded)>>fracBits)
		b.Lost = room - b.Running
		left -= room
		if most == nil || b.exact > most.exact {
			most = b
		}
	}
	if most != nil {
		most.Lost += left
	}
}

// SetProcs sets Procs, Capacity, IdleLost and the losses of the boxes in the graph and its windows
// as if GOMAXPROCS had always been n. It is for graphs whose source does not contain them.
func (g *Graph) SetProcs(n int) {
	for _, w := range g.Windows {
		if w != nil {
			w.SetProcs(n)
		}
	}
	g.Procs = n
	if n > maxProcs || n > 0 && g.Wall > math.MaxInt64/time.Duration(n) {
		n = 0 // would overflow
	}
	p := time.Duration(n)
	g.Capacity, g.IdleLost = p*g.Wall, p*g.Idle
	for i := range g.Boxes {
		b := &g.Boxes[i]
		b.Lost = 0
		if n > 0 {
			b.Lost = p*b.Share - b.Running
		}
	}
}

// Lost returns the unused capacity, Capacity − Σ Running, in ns·processors. It is negative if more
// goroutines ran than GOMAXPROCS, as with [Graph.Offered], and 0 if GOMAXPROCS is unknown.
func (g *Graph) Lost() time.Duration {
	if g.Capacity == 0 {
		return 0
	}
	return g.Capacity - g.running()
}

func (g *Graph) running() (d time.Duration) {
	for i := range g.Boxes {
		d += g.Boxes[i].Running
	}
	return d
}

// Neck returns the boxes that lost at least 5 % of the capacity while they ran, largest loss first,
// and reports whether the idle time did. The boxes of the garbage collector count together.
func (g *Graph) Neck() (boxes []*Box, idle bool) {
	var collector time.Duration
	for i := range g.Boxes {
		if b := &g.Boxes[i]; b.Kind == GC {
			collector += b.Lost
		}
	}
	lost := func(b *Box) time.Duration {
		if b.Kind == GC {
			return collector
		}
		return b.Lost
	}
	least := max(1, g.Capacity/20)
	for i := range g.Boxes {
		if b := &g.Boxes[i]; lost(b) >= least {
			boxes = append(boxes, b)
		}
	}
	order.Stable(boxes, func(a, b *Box) int { return cmp.Compare(lost(b), lost(a)) })
	return boxes, g.IdleLost >= least
}

// Oversubscribed returns a warning if GOMAXPROCS is higher than the number of processors that the
// process may use. Otherwise, or if that number is unknown, it returns "".
func (g *Graph) Oversubscribed() string {
	return host.Oversubscribed(g.Procs, g.CPUs)
}

// Throttling returns a warning if a cgroup of the process took away at least 1 % of the capacity,
// else "".
func (g *Graph) Throttling() string {
	if g.Throttles <= 0 || g.Capacity <= 0 || g.Throttled < g.Capacity/100 {
		return ""
	}
	return fmt.Sprintf("The control group of the process used up its quota of processor time %s and took away %s of the capacity: goroutines that count as running did not run then.",
		format.Plural(g.Throttles, "time", "times"), format.Percent(min(g.Throttled, g.Capacity), g.Capacity))
}

// Sentences returns the text to show above the graph: the sentences of its verdict, the most costly
// finding first. Without a verdict, it returns only the warnings of Oversubscribed and Throttling,
// if any.
func (g *Graph) Sentences() (out []string) {
	if g.Verdict != nil {
		for i := range g.Verdict.Findings {
			out = append(out, g.Verdict.Findings[i].Title)
		}
		return out
	}
	for _, warning := range []string{g.Oversubscribed(), g.Throttling()} {
		if warning != "" {
			out = append(out, warning)
		}
	}
	return out
}
