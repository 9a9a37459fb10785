package bottle

import "github.com/bottleneck-go/bottleneck/timeline"

// The clock turns equations 1 and 2 of the paper into a constant amount of
// work a transition, exactly.
//
// Equation 1 gives a goroutine dt/r of every interval dt in which it is one of r that run.
// All r get the same, so one clock can count for all: a advances by dt/r, and a goroutine's
// share is the difference of a between its start and its stop. a is in
// 2^-16 ns; what a division leaves over is carried into the next one, so nothing
// is lost: at any time
//
//	Σ shares + carry == (time − idle time) · 2^16
//
// is an identity of integers. It also does not matter where the time is cut: advancing
// in two steps gives the same a and carry as in one, so windows sum to the whole bit for bit.

// fracBits is the number of fraction bits of a share.
const fracBits = 16

// share is a part of the time in 2^-16 ns.
type share uint64

type clock struct {
	now     timeline.Time
	running int64 // goroutines that run now: r
	a       share // modulo 2^64: only differences mean something
	carry   share // left over from divisions, in units of a; less than the r of the last one
	idle    timeline.Time
	elapsed timeline.Time // all that it has advanced
	procs   int64         // GOMAXPROCS now; 0 while it is not known
}

// advance moves the clock to t, which is not before now.
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
	q := n / r
	c.carry = n - q*r
	c.a += q
}
