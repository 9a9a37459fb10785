package speedup

import (
	"math"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/apportion"
)

// account is what the lanes of one run did. Lane time is wall time summed over lanes.
//
// The times are exact: Σ Time == N · Wall, in integer nanoseconds. Single times are rounded only
// while more than N workers live; each is then off by at most one nanosecond per window.
type account struct {
	N     int           // lanes
	Start time.Duration // from the beginning of the trace
	Wall  time.Duration
	Time  [NumComponents]time.Duration
	// Solo is the single-threaded run that an estimate assumes: the time that all goroutines of
	// the program would take one after the other, with the same idle time. Σ Solo is Idle plus
	// the summed time in which goroutines had a processor, Tracer excluded.
	Solo [NumComponents]time.Duration
	// Idle is the time in which no goroutine had a processor. Waking is the part of it in which
	// a goroutine of the program was ready to run: wake-up latency, not a wait for the outside
	// world.
	Idle, Waking time.Duration
	// Tracer is the time in which the execution tracer's goroutines, and those of this module,
	// ran beside others. While nothing else runs, they count as one goroutine of the runtime.
	Tracer time.Duration
	// Company is the time in which more than one goroutine of the program had a processor.
	Company time.Duration
	// Procs is the largest GOMAXPROCS during that time, or 0 if the trace does not contain it.
	Procs int
	// Peak is the largest number of workers that lived at the same time.
	Peak int
	// Workers is the number of goroutines that were workers.
	Workers int
	// Windows are the accounts of the windows of the run, if requested. Their times sum to
	// those of this account.
	Windows []*account
	// Units describes the units of equal work, if a region type was named for them.
	Units *unitTimes
}

// Family returns the lane time of all components of a family.
func (a *account) Family(f string) (d time.Duration) {
	for c := range Component(NumComponents) {
		if c.Family() == f {
			d += a.Time[c]
		}
	}
	return d
}

// add adds b's times and wall time.
func (a *account) add(b *account) {
	a.Wall += b.Wall
	a.Procs = max(a.Procs, b.Procs)
	a.Idle += b.Idle
	a.Waking += b.Waking
	a.Tracer += b.Tracer
	a.Company += b.Company
	for c := range b.Time {
		a.Time[c] += b.Time[c]
		a.Solo[c] += b.Solo[c]
	}
}

// purse collects lane time: whole nanoseconds, and fractions when several workers share a lane.
type purse struct {
	ns   [NumComponents]int64
	frac [NumComponents]int64 // in 2^-16 ns
}

// fracBits is the number of fraction bits.
const fracBits = 16

// maxStep bounds dt · lanes where fractions are needed, to keep it within 64 bits.
const maxStep = 1 << 45

// share gives lanes lanes for dt to members workers. counts holds the number of workers in each
// component and sums to members. A lane that k workers share counts 1/k for each. The remainder of
// a division is carried into the next one, as in the clock of a bottle graph, so nothing is lost.
// At any time
//
//	Σ purses + carry == Σ lanes · dt
func (p *purse) share(carry *int64, dt, lanes, members int64, counts []part) {
	if lanes == members {
		for _, c := range counts {
			p.ns[c.component] += c.count * dt
		}
		return
	}
	for dt > 0 {
		step := min(dt, max(1, maxStep/lanes))
		dt -= step
		n := step*lanes<<fracBits + *carry
		q := n / members
		*carry = n - q*members
		for _, c := range counts {
			hi, lo := q>>fracBits, q&(1<<fracBits-1)
			f := p.frac[c.component] + lo*c.count
			p.ns[c.component] += hi*c.count + f>>fracBits
			p.frac[c.component] = f & (1<<fracBits - 1)
		}
	}
}

// part is a number of workers in a component.
type part struct {
	component Component
	count     int64
}

// empty moves all time out, rounded so that the times sum to total. The largest fractions are
// rounded up.
func (p *purse) empty(to *[NumComponents]time.Duration, total int64) {
	var fractions [NumComponents]uint64
	for c, ns := range p.ns {
		total -= ns
		fractions[c] = uint64(p.frac[c])
	}
	for c, up := range apportion.Round(total, fractions[:], fracBits) {
		to[c] = time.Duration(p.ns[c] + up)
	}
	*p = purse{}
}

// maxWall keeps N · Wall within 64 bits.
func maxWall(n int) time.Duration { return time.Duration(math.MaxInt64 / int64(max(1, n))) }
