package speedup

import (
	"errors"
	"fmt"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Without a single-threaded run, the stack needs a guess of what a single worker would do. Whatever
// ran at once in the run with N workers runs one after the other then, whether it is the workers'
// own, other goroutines' or the collector's work; and the time in which nothing ran, as all waited
// for the world outside, is as long:
//
//	S_est = (Σ running, or in a system call with a processor, + idle) / T_p
//
// The execution tracer's own goroutines are not the program's: they count only while nothing else
// runs. What the program would have done on their processors is not in it either.
//
// This is an upper bound of the speed-up if a single worker does the same work at the same speed: a
// single one mostly runs faster, as no other fights it for caches and memory, and it saves the work
// for being parallel. It is at least 1, and 1 exactly where one goroutine at a time ran. It is too
// small where a single worker runs slower, or would wait for timers, network and disks one after
// the other, not all at once: see outside.
//
// Units of equal work remove the bias: running time in units is replaced by their number times
// the time of a unit that ran alone.

// ErrOutside is the error of an [Estimate] whose run was as long as it was because of the world
// outside. What a single worker would wait for, and how long, is not in the trace.
var ErrOutside = errors.New("the speed-up cannot be estimated from one trace")

// The parts of the time from which on the world outside, not the work, makes a run as long as it
// is.
const (
	mostIdle    = 0.25 // of the wall time, nothing ran and no goroutine of the program was ready to run
	mostWaiting = 0.10 // of the lanes' time, workers waited for timers, network or system calls
)

// outside returns an error if the world outside made the run as long as it is.
func outside(multi *Account, workers Selector) error {
	const then = "what a single worker would wait for, and how long, does not show; record a run with one worker"
	if idle := multi.Idle - multi.Waking; float64(idle) > mostIdle*float64(multi.Wall) {
		return fmt.Errorf("%w, because nothing ran for %s of the time: the program waited for timers, the network, a disk or another process, and %s",
			ErrOutside, format.Percent(idle, multi.Wall), then)
	}
	lanes := multi.Wall * time.Duration(multi.N)
	if waits := multi.Family(InputOutput); workers.name != everyone && float64(waits) > mostWaiting*float64(lanes) {
		return fmt.Errorf("%w, because its workers waited for timers, the network or system calls for %s of their time, at the same time: %s",
			ErrOutside, format.Percent(waits, lanes), then)
	}
	return nil
}

// assumeSingle returns the account that the estimate assumes for a single worker.
func assumeSingle(multi *Account) *Account {
	s := &Account{N: 1, Procs: 1, Workers: 1, Peak: 1, Time: multi.Solo}
	if u := multi.Units; u.usable() {
		s.Time[Run] = max(0, s.Time[Run]-u.Running) + time.Duration(u.Count)*u.Median
	}
	for _, d := range s.Time {
		s.Wall += d
	}
	return s
}

// usable reports whether enough units ran alone to know what one takes.
func (u *Units) usable() bool { return u != nil && u.Alone >= leastAlone }

// estimated makes the stack of an account alone.
func estimated(multi *Account) *Stack {
	s := New(assumeSingle(multi), multi)
	s.Estimate = true
	return s
}

// estimateWarnings says how far an estimate can be trusted.
func estimateWarnings(s *Stack, unit string) (w []string) {
	multi := s.Multi
	switch u := multi.Units; {
	case u.usable():
		w = append(w, fmt.Sprintf("An estimate without a single-threaded run: %s, each taken to be as long as the %s that ran alone (%s).",
			format.Plural(u.Count, "unit of work", "units of work"), format.Count(u.Alone), format.Duration(u.Median)))
	case u != nil:
		w = append(w, fmt.Sprintf("Only %s of the %s of type %q ran while nothing else did; at least %d are needed to know how long one takes.",
			format.Count(u.Alone), format.Plural(u.Count, "region", "regions"), format.Clean(unit), leastAlone))
		fallthrough
	default:
		w = append(w, "An estimate without a single-threaded run: an upper bound of the speed-up if a single worker does the same work at the same speed. The remainder is hidden in it.")
	}
	waits := multi.Family(InputOutput)
	if multi.Wall > 0 && waits*100 > multi.Wall {
		w = append(w, "The workers wait for timers, the network or system calls, a single one perhaps one after the other: the speed-up may be larger than the estimate.")
	}
	return w
}

// Windows returns a stack for each window of the run with N workers, when windows were asked for. A
// window has no counterpart in the single-threaded run, so all of them are estimates.
func (s *Stack) Windows() []*Stack {
	if s.Multi == nil {
		return nil
	}
	var out []*Stack
	for _, a := range s.Multi.Windows {
		a := *a
		a.Workers = s.Multi.Workers
		w := estimated(&a)
		if err := outside(&a, Selector{name: s.Workers.Selector}); err != nil {
			w.Warnings = append(w.Warnings, "In this window "+err.Error()+".")
		}
		w.Workers = s.Workers
		w.Label = format.Duration(a.Start)
		out = append(out, w)
	}
	return out
}
