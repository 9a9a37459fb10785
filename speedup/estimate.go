package speedup

import (
	"errors"
	"fmt"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Without a single-threaded run, the stack needs an estimate of what a single worker would do.
// Everything that ran in parallel in the run with N workers then runs sequentially: the work of the
// workers, of other goroutines and of the collector. The idle time, in which everything waited for
// the outside world, stays the same:
//
//	S_est = (Σ running, or in a system call with a processor, + idle) / T_p
//
// The execution tracer's goroutines count only while nothing else runs.
//
// This is an upper bound of the speed-up if a single worker does the same work at the same speed. A
// single worker is usually faster: it does not compete for caches and has no parallel overhead. The
// bound is too small if a single worker is slower, or if it would wait for timers, network and disks
// sequentially: see outside. Units of equal work remove the bias: running time in units is replaced
// by the number of units times the time of a unit that ran alone.

// ErrOutside is the error of an [Estimate] if the outside world determined the length of the run.
// The trace does not show what a single worker would wait for, and for how long.
var ErrOutside = errors.New("the speed-up cannot be estimated from one trace")

// Thresholds above which the outside world, not the work, determines the length of a run.
const (
	mostIdle    = 0.25 // of the wall time: nothing ran and no goroutine of the program was ready
	mostWaiting = 0.10 // of the lanes' time: workers waited for timers, network or system calls
)

// outside returns an error if the outside world determined the length of the run.
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

// usable reports whether enough units ran alone to estimate the time of one.
func (u *unitTimes) usable() bool { return u != nil && u.Alone >= leastAlone }

// estimated returns the stack of a single account.
func estimated(multi *Account) *Stack {
	s := New(assumeSingle(multi), multi)
	s.Estimate = true
	return s
}

// estimateWarnings returns the limits of an estimate.
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

// Windows returns a stack for each window of the run with N workers, if windows were requested. A
// window has no counterpart in the single-threaded run, so each stack is an estimate.
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
