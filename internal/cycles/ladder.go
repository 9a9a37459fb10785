// Package cycles measures how many reference cycles a goroutine executes between two points, with the
// best counter of the machine. Reference cycles elapse at the processor's nominal frequency. They are
// the unit of task granularity in A. Rosà, E. Rosales, W. Binder, "Analysis and Optimization of Task
// Granularity on the Java Virtual Machine" (TOPLAS 2019), section 3.
//
// All counters count threads. Two readings measure a goroutine if it stayed on its thread between
// them, which [Mark.Stayed] reports: see turn.go.
//
// [Open] takes the first of these sources that proves itself: it must advance correctly while the
// thread spins and must not advance while it sleeps. [Info].Refused lists the others with reasons.
//
//	source                one reading        accuracy
//	ref-cycles/rdpmc      25–80 ns (cited)   counted
//	ref-cycles/read       as msr/tsc         counted
//	rseq-clock            17 ns              thread-time, to within a microsecond or two
//	msr/tsc               300–450 ns         thread-time
//	thread-clock          240–300 ns         thread-time (on Linux ns, elsewhere 1 µs and coarser)
//	wall-tsc              29 ns              upper-bound: includes time off the processor
//
// After the thread was off its processor, a reading of the rseq clock takes 0.4 µs. Hardware counters
// for user mode only are counted-user. The first Open takes 0.5 ms, later ones 0.1 ms.
//
// On Linux without a C library, each thread that is read gives the kernel an address that it zeroes
// when the thread exits (set_tid_address), and a struct rseq. [NoThreadState] prevents both and rules
// the rseq clock out. With a C library, that clock needs glibc 2.35 or newer on amd64. Since Linux 6.19
// a voluntary sleep may leave the marker set, which the self-test detects. The rseq clock of arm64 and
// the thread clocks of macOS and Windows were not run on such machines.
package cycles

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/lazy"
	"github.com/bottleneck-go/bottleneck/internal/perfevent"
)

// Default returns the process's clock, which the first call chooses with Open.
func Default() *Clock {
	return theClock.Get(func() *Clock {
		c, _ := Open() // the last source of the ladder is never refused
		return c
	})
}

var theClock lazy.Value[*Clock]

// Open returns a clock for the first of the sources (default: the whole [Ladder]) that proves
// itself by counting. It fails if all of them are refused. Clocks of different perf-event sources
// should not be used at the same time: each thread keeps one event open.
func Open(sources ...Source) (*Clock, error) {
	if len(sources) == 0 {
		sources = Ladder
	}
	base := TimebaseOf()
	th, unlock := lockThread()
	defer unlock()
	var refused []string
	for _, s := range sources {
		c, err := openSource(s, base, th)
		if err == nil {
			c.info.Refused = refused
			return c, nil
		}
		refused = append(refused, fmt.Sprintf("%s: %v", s, err))
	}
	return nil, fmt.Errorf("cycles: no source counts: %q", refused)
}

// prepare locates the required parts of the runtime's state. In that time another thread, which
// mostly sleeps, begins to probe the kernel.
func prepare() {
	probed := make(chan bool)
	background.Go(func() {
		findProcid()
		prepareRseq()
		close(probed)
	})
	findTurn()
	<-probed
}

// lockThread locks the calling goroutine to its thread and returns the thread.
func lockThread() (th *Thread, unlock func()) {
	runtime.LockOSThread()
	th = threads.current()
	return th, runtime.UnlockOSThread
}

// openSource opens one source on the calling thread and probes it.
func openSource(s Source, base *Timebase, th *Thread) (*Clock, error) {
	c := &Clock{base: base, rseq: s == RseqClock, info: Info{
		Source: s, Accuracy: ThreadTime, Hz: base.Hz, HzOrigin: base.Origin, HzPPM: base.PPM,
	}}
	switch s {
	case RefCyclesRDPMC, RefCyclesRead, MSRTSC:
		if !haveTSC { // without it their frequency is unknown, and the probe would pass only by chance
			return nil, errNoTSC
		}
	}
	switch s {
	case RefCyclesRDPMC, RefCyclesRead:
		return c.probeEvent(perfevent.RefCycles, Counted, th)
	case MSRTSC:
		spec, err := perfevent.Lookup("msr", "tsc")
		if err != nil {
			return nil, err
		}
		return c.probeEvent(spec, ThreadTime, th)
	case RseqClock:
		if err := probeRseq(th, base); err != nil { // it also spins and sleeps
			return nil, err
		}
		c.measure()
		return c, nil
	case ThreadClock:
		c.info.HzOrigin += "; thread time from " + threadClockName
		return c.probe(th)
	case WallTSC:
		c.info.Accuracy = UpperBound
		c.measure()
		return c, nil
	}
	return nil, errors.New("not a source that can be opened")
}

// errNoTSC rejects sources whose cycles have an unknown frequency.
var errNoTSC = errors.New("no counter of constant rate")

// probeEvent opens the event on the calling thread to see what is granted, and probes the source.
func (c *Clock) probeEvent(spec perfevent.Spec, accuracy Accuracy, th *Thread) (*Clock, error) {
	e, err := perfevent.OpenThread(spec)
	if err != nil {
		return nil, err
	}
	c.spec, c.info.Accuracy = e.Spec(), accuracy
	if c.spec.ExcludeKernel && accuracy == Counted {
		c.info.Accuracy = CountedUser
	}
	e.Close()
	defer func() {
		// The descriptor stays with the thread if the source is taken; otherwise it is
		// closed.
		if err != nil {
			if e := th.event.Swap(nil); e != nil {
				e.Close()
			}
		}
	}()
	if c.info.Source == RefCyclesRDPMC {
		if e = c.openOn(th); e == nil {
			err = errors.New("the event's control page cannot be mapped")
			return nil, err
		}
		if _, ok := e.ReadUser(); !ok {
			err = errors.New("the kernel does not permit RDPMC, or the event is on no counter")
			return nil, err
		}
	}
	_, err = c.probe(th)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// probe verifies that the source counts while the thread spins and does not while it sleeps. The best
// of several short spins decides, because other threads may take the processor from the spinning
// one.
func (c *Clock) probe(th *Thread) (*Clock, error) {
	const spin, sleep = 50 * time.Microsecond, 50 * time.Microsecond
	const least, most = 0.5, 1.1
	best, last := 0.0, 0.0
	for range 100 {
		from := c.Start()
		spinUntil(ticks() + c.base.FromNS(int64(spin)))
		to := c.Stop(th)
		if last = from.rate(&to); last <= most {
			best = max(best, last)
		}
		if best >= 0.9 {
			break
		}
	}
	if best < least {
		return nil, fmt.Errorf("opens, but counts %.2g cycles a tick of spinning", last)
	}
	err := standsStill(func() float64 {
		from := c.Start()
		sleepThread(sleep)
		to := c.Stop(th)
		return from.rate(&to)
	})
	if err != nil {
		return nil, err
	}
	c.measure()
	return c, nil
}

// rate returns the cycles for each tick between two readings.
func (m *Mark) rate(to *Mark) float64 { return float64(to.CPU-m.CPU) / float64(max(to.Wall-m.Wall, 1)) }

// standsStill verifies that the source does not count while the thread sleeps. The best of several
// sleeps decides, because time that a hypervisor takes counts as executed.
func standsStill(sleep func() (cyclesPerTick float64)) error {
	var last float64
	for range 5 {
		if last = sleep(); last <= 0.5 {
			return nil
		}
	}
	return fmt.Errorf("counts %.2g cycles a tick of sleeping", last)
}

// measure determines the duration of a reading.
func (c *Clock) measure() {
	best := int64(math.MaxInt64)
	for range 20 {
		from := ticks()
		c.Start()
		best = min(best, ticks()-from)
	}
	c.info.Costs = time.Duration(c.base.NS(best))
}

// spinUntil keeps the thread busy until the tick.
func spinUntil(tick int64) {
	for ticks() < tick {
	}
}

// Source is the source of the count.
type Source string

// The sources, best first.
const (
	RefCyclesRDPMC Source = "ref-cycles/rdpmc" // hardware reference cycles, read in user mode
	RefCyclesRead  Source = "ref-cycles/read"  // hardware reference cycles, read by a system call
	RseqClock      Source = "rseq-clock"       // thread CPU time, extrapolated by the TSC while an rseq marker is set
	MSRTSC         Source = "msr/tsc"          // perf event that counts the TSC while the thread is on a processor
	ThreadClock    Source = "thread-clock"     // the system's thread CPU clock × TSC frequency
	WallTSC        Source = "wall-tsc"         // elapsed time × TSC frequency
)

// Ladder lists the sources that [Open] tries, best first.
var Ladder = []Source{RefCyclesRDPMC, RefCyclesRead, RseqClock, MSRTSC, ThreadClock, WallTSC}

// Accuracy is the accuracy of a count of cycles.
type Accuracy string

// The accuracies.
const (
	// Counted: hardware counted the thread's reference cycles.
	Counted Accuracy = "counted"
	// CountedUser: as Counted, but without the thread's time in the kernel.
	CountedUser Accuracy = "counted-user"
	// ThreadTime: the thread's processor time × the TSC frequency.
	ThreadTime Accuracy = "thread-time"
	// UpperBound: time off the processor is included.
	UpperBound Accuracy = "upper-bound"
)

// Info describes a clock. It should be part of every result measured with the clock.
type Info struct {
	Source   Source
	Accuracy Accuracy
	// Hz is the number of cycles that the source counts in a second of uninterrupted execution.
	Hz float64
	// HzOrigin describes how Hz was determined.
	HzOrigin string
	// HzPPM is the uncertainty of Hz in parts per million.
	HzPPM float64
	// Costs is the duration of a reading.
	Costs time.Duration
	// Refused has the reason why each better source was not taken.
	Refused []string
}
