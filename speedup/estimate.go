package speedup

import (
	"fmt"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Without a single-threaded run, the stack needs a guess of what a single worker would do: it runs for as
// long as the workers do together, the collector works as much for it, and sequential parts are as long.
//
//	S_est = (run + gc + sequential/N) / T_p
//
// A single worker mostly runs faster than each of N, so this is an upper bound of the speed-up; it is too large by
// exactly the remainder. If the program waits for I/O, a single worker would wait, too, and the bound does not hold.
//
// Units of equal work remove the bias: running time in units is replaced by their number times
// the time of a unit that ran alone.

// assumeSingle returns the account that the estimate assumes for a single worker.
func assumeSingle(multi *Account) *Account {
	s := &Account{N: 1, Procs: 1, Workers: 1, Peak: 1}
	s.Time[Run] = multi.Time[Run]
	for c := GCStopTheWorld; c <= GCWorkers; c++ {
		s.Time[c] = multi.Time[c]
	}
	s.Time[Sequential] = multi.Time[Sequential] / time.Duration(max(1, multi.N))
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

// estimateWarnings says how far the estimate can be trusted.
func estimateWarnings(multi *Account, unit string) (w []string) {
	switch u := multi.Units; {
	case u.usable():
		w = append(w, fmt.Sprintf("An estimate without a single-threaded run: %s, each taken to be as long as the %s that ran alone (%s).",
			format.Plural(u.Count, "unit of work", "units of work"), format.Count(u.Alone), format.Duration(u.Median)))
	case u != nil:
		w = append(w, fmt.Sprintf("Only %s of the %s of type %q ran while nothing else did; at least %d are needed to know how long one takes.",
			format.Count(u.Alone), format.Plural(u.Count, "region", "regions"), format.Clean(unit), leastAlone))
		fallthrough
	default:
		w = append(w, "An estimate without a single-threaded run: the speed-up is an upper bound, and the remainder is hidden in it.")
	}
	waits := multi.Family(InputOutput) + multi.Time[Syscall]
	if multi.Wall > 0 && waits*100 > multi.Wall {
		w = append(w, "The workers wait for I/O or system calls, as a single one would, too: the speed-up may be larger than the estimate.")
	}
	return w
}

// Windows returns a stack for each window of the run with N workers, when windows were asked for. A window has no
// counterpart in the single-threaded run, so all of them are estimates.
func (s *Stack) Windows() []*Stack {
	if s.Multi == nil {
		return nil
	}
	var out []*Stack
	for _, a := range s.Multi.Windows {
		a := *a
		a.Workers = s.Multi.Workers
		w := estimated(&a)
		w.Workers = s.Workers
		w.Label = format.Duration(a.Start)
		out = append(out, w)
	}
	return out
}
