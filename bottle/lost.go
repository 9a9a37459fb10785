package bottle

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// Lost capacity. While r goroutines run on p processors, p − r processors are not used. A box that
// runs then is given its part of them, 1/r for each member, as it is given its part of the time. Over the
// graph this is
//
//	Lost = Share × (GOMAXPROCS − Parallelism) = Share × GOMAXPROCS − Running
//
// in ns·processors. Where nothing runs, all p processors are lost to idle time. So
//
//	Σ Lost + IdleLost == Capacity − Σ Running
//
// is an identity of integers. GOMAXPROCS may change during a graph: Capacity is then the integral of
// GOMAXPROCS over the time, and Share × GOMAXPROCS the integral of GOMAXPROCS / r.

// maxProcs bounds GOMAXPROCS in sums, so that those over 39 hours do not overflow.
const maxProcs = 1 << 14

// area is a time summed over processors: whole ns, and 2^-16 ns.
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

func (a *area) plus(b area) {
	frac := a.frac + b.frac
	a.ns += b.ns + int64(frac>>fracBits)
	a.frac = frac & (1<<fracBits - 1)
}

// charge accounts for the capacity up to now, at the GOMAXPROCS until now.
func (o *Observer) charge() {
	p := o.clock.procs
	if p == 0 {
		return // not known yet: it is accounted for as soon as it is
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

// setProcs changes GOMAXPROCS now.
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

// lose gives each box what it lost, so that the identity holds. Where GOMAXPROCS did not change, that is
// Share × GOMAXPROCS − Running to the nanosecond: what rounding changes of a share, it changes of the capacity,
// GOMAXPROCS times. Else some ns·processors are left, for the box that had most.
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

// SetProcs sets Procs, Capacity, IdleLost and what each box lost as if GOMAXPROCS had been n all the time, in
// the graph and its windows, for a graph whose source does not tell them.
func (g *Graph) SetProcs(n int) {
	for _, w := range g.Windows {
		if w != nil {
			w.SetProcs(n)
		}
	}
	g.Procs = n
	if n > maxProcs || n > 0 && g.Wall > math.MaxInt64/time.Duration(n) {
		n = 0 // too much to count
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

// Lost returns the capacity that was not used: Capacity − Σ Running, in ns·processors. It is
// negative if more ran than GOMAXPROCS, as with [Graph.Offered], and 0 where GOMAXPROCS is not known.
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

// Loss is a part of the capacity that was not used.
type Loss struct {
	// Boxes are the boxes that ran meanwhile: one, or all of the garbage collector. There is none if nothing ran.
	Boxes []*Box
	// Lost is in ns·processors.
	Lost time.Duration
}

// Idle reports whether the capacity was lost while nothing ran.
func (l *Loss) Idle() bool { return len(l.Boxes) == 0 }

// Losses returns where capacity was lost, the most first: idle time, the garbage collector as a whole, and
// each other box, as far as they lost any.
func (g *Graph) Losses() []Loss {
	out := make([]Loss, 1, len(g.Boxes)+2)
	out[0].Lost = g.IdleLost
	var gc Loss
	for i := range g.Boxes {
		b := &g.Boxes[i]
		if b.Kind == GC {
			gc.Boxes = append(gc.Boxes, b)
			gc.Lost += b.Lost
			continue
		}
		out = append(out, Loss{[]*Box{b}, b.Lost})
	}
	out = append(out, gc)
	out = slices.DeleteFunc(out, func(l Loss) bool { return l.Lost <= 0 })
	order.Stable(out, func(a, b Loss) int { return cmp.Compare(b.Lost, a.Lost) })
	return out
}

// Neck returns the losses of at least 5% of the capacity, the most first: what to look at.
func (g *Graph) Neck() []Loss {
	return slices.DeleteFunc(g.Losses(), func(l Loss) bool { return l.Lost < g.Capacity/20 })
}

// saturated reports whether less than 5% of the capacity was lost.
func (g *Graph) saturated() bool { return g.Lost() <= 0 || g.Lost() < g.Capacity/20 }

func (g *Graph) setCPUs(n float64) {
	g.CPUs = n
	for _, w := range g.Windows {
		w.CPUs = n
	}
}

// Oversubscribed says that GOMAXPROCS is higher than the number of processors that the process may use; it
// returns "" if that is not so, or not known.
func (g *Graph) Oversubscribed() string {
	return host.Oversubscribed(g.Procs, g.CPUs)
}

// Sentence says where the capacity of the processors went, such as
//
//	48% of the capacity of 4 processors was not used: 32% while main.reader ran (1.02 s at a parallelism of 1.12), 16% while nothing ran (idle).
//
// That GOMAXPROCS exceeds the processors of the machine comes first, in a sentence of its own. name returns
// what a box is called; nil is its group as it is.
func (g *Graph) Sentence(name func(*Box) string) string {
	if name == nil {
		name = func(b *Box) string { return format.Clean(b.Group) }
	}
	if warning := g.Oversubscribed(); warning != "" {
		return warning + " " + g.sentence(name)
	}
	return g.sentence(name)
}

func (g *Graph) sentence(name func(*Box) string) string {
	mean := format.Parallelism(g.MeanParallelism())
	of := host.Count(float64(g.Procs))
	if g.Capacity != time.Duration(g.Procs)*g.Wall {
		of = "the processors (up to " + strconv.Itoa(g.Procs) + ")"
	}
	used := format.Percent(g.running(), g.Capacity)
	switch {
	case g.Wall <= 0:
		return "No time passed."
	case g.running() == 0:
		return "Nothing ran in this time."
	case g.Capacity == 0:
		return "GOMAXPROCS is not known, so the lost capacity is not known either: the mean parallelism is " + mean + "."
	case g.Offered && g.saturated():
		return "The program offers enough work for " + of + ": on average, " + mean + " goroutines were running or ready to run."
	case g.Offered:
		return "The program does not offer enough work for " + of + ": " + format.Percent(g.Lost(), g.Capacity) + " of the capacity was not asked for: " + g.where(name)
	case g.Procs == 1 && g.Idle >= g.Wall/20:
		return "With GOMAXPROCS 1, one goroutine runs at a time, and none can lack parallelism: for " + format.Percent(g.Idle, g.Wall) + " of the time none ran, as they waited or the scheduler switched between them."
	case g.Procs == 1:
		return "With GOMAXPROCS 1, one goroutine runs at a time, and none can lack parallelism: one ran for " + used + " of the time."
	case g.saturated():
		return "Goroutines were running for " + used + " of the capacity of " + of + ". " + notProgressing
	}
	s := format.Percent(g.Lost(), g.Capacity) + " of the capacity of " + of + " was not used: " + g.where(name)
	if g.Lost() < g.Capacity/5 {
		s += " " + notProgressing
	}
	return s
}

// notProgressing is what a graph cannot say where most of the capacity is used.
const notProgressing = "Running is not progressing: false sharing, atomics, spinning, C code and other programs do not show in a trace."

// where lists the largest losses. What they do not name is one sum.
func (g *Graph) where(name func(*Box) string) string {
	rest := g.Lost()
	var parts []string
	for _, l := range g.Losses() {
		if len(parts) == 3 || len(parts) > 0 && l.Lost < g.Capacity/100 {
			break
		}
		rest -= l.Lost
		parts = append(parts, format.Percent(l.Lost, g.Capacity)+" while "+g.during(&l, name))
	}
	if rest >= g.Capacity/200 {
		parts = append(parts, format.Percent(rest, g.Capacity)+" while others ran")
	}
	return strings.Join(parts, ", ") + "."
}

// during says what ran, for how long and how wide.
func (g *Graph) during(l *Loss, name func(*Box) string) string {
	if l.Idle() {
		return "nothing ran (idle for " + format.Duration(g.Idle) + ")"
	}
	var sum Box
	for _, b := range l.Boxes {
		sum.Share += b.Share
		sum.Running += b.Running
		sum.exact += b.exact
	}
	what := "the garbage collector"
	if b := l.Boxes[0]; len(l.Boxes) == 1 && b.Kind != GC {
		what = name(b)
	}
	parallelism := "a parallelism"
	if g.Offered {
		parallelism = "an offered parallelism"
	}
	return fmt.Sprintf("%s ran (%s at %s of %s)", what, format.Duration(sum.Share), parallelism, format.Parallelism(sum.width()))
}
