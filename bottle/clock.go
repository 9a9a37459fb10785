package bottle

import (
	"math/bits"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// The clock implements equations 1 and 2 of the paper exactly, with constant work per transition.
//
// Equation 1 gives each of the r running goroutines dt/r of an interval dt. All r get the same, so
// one clock serves all: a advances by dt/r, and the share of a goroutine is the difference of a
// between its start and its stop. a is in 2^-16 ns. The remainder of a division is carried into the
// next one, so nothing is lost: at any time,
//
//	Σ shares + carry == (time − idle time) · 2^16
//
// is an identity of integers. It does not matter where the time is divided: advancing in two steps
// gives the same a and carry as in one step, so windows sum to the whole bit for bit. A share differs
// from equation 1 by less than r/65,536 ns for each change of r.

// fracBits is the number of fraction bits of a share.
const fracBits = 16

// share is a part of the time in 2^-16 ns.
type share uint64

type clock struct {
	now     timeline.Time
	running int64 // number of running goroutines: r
	a       share // modulo 2^64: only differences are meaningful
	carry   share // remainder of divisions, in units of a; less than the r of the last one
	idle    timeline.Time
	elapsed timeline.Time // total time by which it has advanced
	procs   int64         // current GOMAXPROCS; 0 if unknown
}

// advance moves the clock to t, which must not be before now.
func (c *clock) advance(t timeline.Time) {
	dt := t - c.now
	c.now = t
	if dt == 0 {
		return
	}
	c.elapsed += dt
	if c.running == 0 {
		c.idle += dt
		return
	}
	// dt·2^16 + carry fits: graphs end at 39 hours, 2^47 ns.
	n, r := share(dt)<<fracBits+c.carry, share(c.running)
	var q share
	if r&(r-1) == 0 { // a division takes longer than the rest
		q = n >> bits.TrailingZeros64(uint64(r))
	} else {
		q = n / r
	}
	c.carry = n - q*r
	c.a += q
}
