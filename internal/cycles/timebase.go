package cycles

import (
	"math"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/lazy"
	"github.com/bottleneck-go/bottleneck/internal/monotime"
)

// A Timebase converts ticks of the machine's constant-rate counter (TSC, CNTVCT_EL0) to nanoseconds
// and back. Without such a counter, a tick is a nanosecond of the monotonic clock.
type Timebase struct {
	// Hz is the number of ticks in a second.
	Hz float64
	// Origin describes how Hz was determined.
	Origin string
	// PPM is the uncertainty of Hz in parts per million.
	PPM float64

	tick0  int64   // a tick
	mono0  int64   // CLOCK_MONOTONIC at tick0, nanoseconds
	at0    int64   // the runtime's monotonic clock at tick0
	err0   int64   // uncertainty of tick0, in ticks
	nsTick float64 // nanoseconds per tick
}

// TimebaseOf returns the process's timebase. The first call takes 0.3 ms: it reads the counter and
// the monotonic clock at both ends of an interval of that length, and uses the time between to
// locate the runtime's state. [Timebase.Refined] later reduces the uncertainty.
func TimebaseOf() *Timebase {
	return theTimebase.Get(func() *Timebase { return calibrate(300*time.Microsecond, prepare) })
}

var theTimebase lazy.Value[*Timebase]

// calibrate returns a timebase from at least that interval, in which it calls f.
func calibrate(interval time.Duration, f func()) *Timebase {
	if !haveTSC {
		f()
		now := time.Now()
		return &Timebase{Hz: 1e9, Origin: "nanoseconds of the monotonic clock", nsTick: 1,
			tick0: ticks(), mono0: monotonic(now)}
	}
	t0, at0, err0 := pair()
	f()
	for monotime.Now()-at0 < int64(interval) { // a sleep may take much longer
	}
	b := &Timebase{
		Origin: "calibrated against " + monotonicName,
		tick0:  t0,
		mono0:  monotonic(monotime.Time(at0)),
		at0:    at0,
		err0:   err0,
	}
	return b.until(pair())
}

// until returns the timebase for the time from the origin to another reading of both clocks.
func (b *Timebase) until(tick, at, err int64) *Timebase {
	out := *b
	seconds := time.Duration(at - b.at0).Seconds()
	out.Hz = float64(tick-b.tick0) / seconds
	out.PPM = (float64(b.err0+err)/out.Hz + 2*monotonicStep) / seconds * 1e6
	out.nsTick = 1e9 / out.Hz
	return &out
}

// Refined returns the current best timebase. Its precision increases with the time since
// calibration. It takes 3 µs.
func (b *Timebase) Refined() *Timebase {
	if !haveTSC {
		return b
	}
	if refined := b.until(pair()); refined.PPM < b.PPM {
		return refined
	}
	return b
}

// pair reads the counter and the clock at nearly the same time: the clock was read within ±err
// ticks of tick.
func pair() (tick, at, err int64) {
	width := int64(math.MaxInt64)
	for range 50 {
		a := ticks()
		now := monotime.Now()
		b := ticks()
		if b-a < width {
			width, tick, at = b-a, a+(b-a)/2, now
		}
	}
	return tick, at, width/2 + 1
}

// Ticks reads the counter, in about 20 ns.
func Ticks() int64 { return ticks() }

// NS converts a number of ticks to nanoseconds, in about 1 ns.
func (b *Timebase) NS(ticks int64) int64 { return int64(float64(ticks)*b.nsTick + 0.5) }

// FromNS converts nanoseconds to a number of ticks.
func (b *Timebase) FromNS(ns int64) int64 { return int64(float64(ns)*(b.Hz/1e9) + 0.5) }

// Monotonic converts a reading of the counter to nanoseconds of the system's
// monotonic clock (CLOCK_MONOTONIC on Linux, the runtime's clock elsewhere).
func (b *Timebase) Monotonic(tick int64) int64 { return b.mono0 + b.NS(tick-b.tick0) }

// start is the origin of the nanoseconds used as ticks.
var start = time.Now()

// nanoticks replaces the counter on systems without one.
func nanoticks() int64 { return int64(time.Since(start)) }
