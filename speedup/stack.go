// Package speedup explains why N workers are not N times faster than one. It computes speedup stacks
// (Eyerman, Du Bois, Eeckhout, "Speedup stacks: identifying scaling bottlenecks in multi-threaded
// applications", ISPASS 2012): bars of height N that consist of the measured speed-up and the
// components that keep it below N. A stack needs two execution traces of the same work, with one
// worker (bottleneck.Options.Single) and with many; an estimate shows what one trace alone does:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//		"os"
//
//		"github.com/bottleneck-go/bottleneck"
//	)
//
//	func main() {
//		opt := bottleneck.Options{Want: bottleneck.WantSpeedup}
//		r, err := bottleneck.Analyze(context.Background(), os.Stdin, opt)
//		if err != nil {
//			log.Fatal(err)
//		}
//		if r.Speedup == nil {
//			log.Fatal(r.SpeedupErr)
//		}
//		fmt.Println(r.Speedup.Sentence())
//	}
//
// The run with N workers has N lanes. At each instant every lane is in exactly one [Component]
// (observer.go lists the rules). A component is the difference of the two runs divided by the time T_p
// of the run with N workers, so S + Σ components + remainder == N exactly, with S = T_s / T_p.
//
// The remainder is the extra time that the same work took to run: caches, memory, parallel
// overhead, and time for which the system gave the processor to another process. "bottleneck
// scale" measures the latter; [Stack.Explain] explains the rest by counters of the system.
//
// The analysis adds about 50 ns to each event of a pass (BenchmarkObserver). Equations are numbered as
// by Du Bois, Sartor, Eyerman and Eeckhout for managed programs.
package speedup

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// A stack follows from the accounts of two runs, one with N workers (MT) and
// one with a single one (ST):
//
//	N = Σ_c O_c,MT / T_p                       the lanes are always in some component
//	S = T_s / T_p = Σ_c O_c,ST / T_p           likewise, with one lane
//	N − S = Σ_c (O_c,MT − O_c,ST) / T_p        eq. 3 with the single-threaded parts of eq. 4 to 6
//
// The difference of Run is the remainder: the extra (or saved) time of the same work on N
// processors, due to caches, memory and parallel overhead. All others are delimiters. So
//
//	S + Σ components + remainder == N
//
// is an identity of rationals with the denominator T_p; their numerators are differences of
// integers in account. A component is negative if the single-threaded run has more of it.

// Stack is a speedup stack: a bar of height N.
type Stack struct {
	// N is the number of workers, and so the ideal speed-up.
	N int `json:"n"`
	// Speedup is how many times faster the run with N workers is. In an estimate it is an upper
	// bound, assuming that a single worker does the same work at the same speed.
	Speedup float64 `json:"speedup"`
	// Estimate reports whether there was no single-threaded run: see [Estimator.Stack].
	Estimate bool `json:"estimate"`
	// Components are the delimiters in units of the speed-up; Components[Run] is 0.
	Components parts `json:"components"`
	// Remainder is what the components do not explain: hardware interference and parallel
	// overhead.
	Remainder float64 `json:"remainder"`
	// Idle is the part of the time of the run with N workers in which nothing ran and no
	// goroutine of the program was ready: it waited for timers, the network, a disk or
	// another process.
	Idle float64 `json:"idle,omitempty"`
	// Runs has the speed-ups of repeated pairs of runs, if any, including this one: see
	// [Stack.Repeat].
	Runs []float64 `json:"runs,omitempty"`
	// Disturbed reports whether the stack is not a valid result: the operating system took
	// processors away in one of the runs for too long, or repeated runs disagree. See
	// [MaxDelay] and [MaxSpread].
	Disturbed bool `json:"disturbed"`
	// Warnings are sentences about the limits of the numbers.
	Warnings []string `json:"warnings"`
	// Workers describes the goroutines of the lanes.
	Workers laneWorkers `json:"workers"`
	// Usage has the counters of the system for both runs, if they were read, and Next is a sentence
	// on what they show and what to look at next: see [Stack.Explain].
	Usage *Usage `json:"usage,omitempty"`
	Next  string `json:"next,omitempty"`

	// Label names the stack among others, such as by a number of processors; "" means N.
	Label string `json:"-"`
	// Single and Multi are the accounts that the stack was made of; nil if it was read from
	// JSON. In an estimate, Single is the assumed account.
	Single, Multi *account `json:"-"`
}

// parts are parts of a stack by component.
type parts [NumComponents]float64

// laneWorkers describes the goroutines of the lanes.
type laneWorkers struct {
	Selector string `json:"selector"` // as in [Options].Workers
	Count    int    `json:"count"`    // goroutines, in the run with N workers
}

// String names the workers, such as "main.work, 4 goroutines".
func (w laneWorkers) String() string {
	if w.Selector == everyone {
		return "all of the program, " + format.Plural(w.Count, "goroutine", "goroutines")
	}
	return w.Selector + ", " + format.Plural(w.Count, "goroutine", "goroutines")
}

// newStack returns the stack of two accounts. single should have one lane. A single-threaded run without
// any worker, in which another goroutine does the work, is assumed to be sequential for as long as
// the other run.
func newStack(single, multi *account) *Stack {
	s := &Stack{N: multi.N, Single: single, Multi: multi}
	if single.Workers == 0 && multi.Workers > 0 {
		s.Single = assumeWorkers(single, multi)
		s.Warnings = append(s.Warnings, "The single-threaded run has no goroutine of the workers: its sequential part cannot be separated from its work and is taken to be as long as that of the other run.")
	}
	t := float64(multi.Wall)
	if multi.Wall <= 0 {
		return s
	}
	s.Speedup, s.Idle = float64(s.Single.Wall)/t, float64(multi.Idle-multi.Waking)/t
	for c := range Component(NumComponents) {
		s.Components[c] = float64(multi.Time[c]-s.Single.Time[c]) / t
	}
	s.Remainder = s.Components[Run]
	s.Components[Run] = 0
	s.Workers.Count = multi.Workers
	return s
}

// assumeWorkers splits the time of a run without workers by the account of the other run.
func assumeWorkers(single, multi *account) *account {
	out := *single
	all := single.Time[Sequential]
	out.Time[Sequential] = min(all, multi.Time[Sequential]/time.Duration(max(1, multi.N)))
	out.Time[Run] += all - out.Time[Sequential]
	return &out
}

// Of returns a family's part of the stack. For Running it is the speed-up.
func (s *Stack) Of(f string) (sum float64) {
	if f == Running {
		return s.Speedup
	}
	for _, c := range Delimiters() {
		if c.Family() == f {
			sum += s.Components[c]
		}
	}
	return sum
}

// WhatIf returns the speed-up if a component were zero, and the remaining work spread over the freed
// lanes:
//
//	S' = T_s / (T_p · (1 − c/N)) = S · N / (N − c)
//
// but at most N, or S if that is more. It would exceed N if other components are negative. Only waits
// for I/O of the single worker, which several do at the same time, can raise it above N.
// It is +Inf if nothing else is left. For a lock it is a lower bound: goroutines spin for one that is
// held for some µs or less before they wait for it. A trace shows that as running, so it is part of
// the remainder. Nor does a trace show which imbalance a lock causes by preferring one goroutine.
// It is NaN for waits of a run in which mostly nothing ran (Idle): others may go on for as long.
func (s *Stack) WhatIf(c Component) float64 {
	if s.idles(c) {
		return math.NaN()
	}
	return s.without(s.Components[c])
}

// idles reports whether time in which nothing ran may be a large part of the component.
// Goroutines that wait for a lock could go on if there were none.
func (s *Stack) idles(c Component) bool {
	return c != SyncMutex && c != SyncRWMutex && c != SyncSemaphore && s.familyIdles(c.Family(), s.Components[c])
}

func (s *Stack) familyIdles(f string, part float64) bool {
	return s.Idle > mostIdle && 2*s.Idle*float64(s.N) > part && (f == Synchronization || f == InputOutput || f == SequentialPart)
}

func (s *Stack) without(part float64) float64 {
	n := float64(s.N)
	if part >= n {
		return math.Inf(1)
	}
	most := n
	for c, v := range s.Components {
		if Component(c).Family() == InputOutput {
			most -= min(v, 0)
		}
	}
	return min(s.Speedup*n/(n-part), max(most, s.Speedup))
}

// worthNaming is the part of N below which a loss is not mentioned.
const worthNaming = 0.01

// Sentence returns one line with the speed-up and what keeps it below N.
func (s *Stack) Sentence() string {
	times := format.Parallelism(s.Speedup)
	if s.Speedup < 1 && times != format.Parallelism(1) {
		times += " times as fast" // slower
	} else {
		times += " times faster"
	}
	times += " with " + format.Plural(s.N, "worker", "workers")
	if n := len(s.Runs); n > 1 {
		times += fmt.Sprintf(" (%s to %s in %d pairs of runs)", format.Parallelism(s.Runs[0]), format.Parallelism(s.Runs[n-1]), n)
	}
	switch {
	case s.Estimate && s.N == 1:
		times = "at most " + strings.TrimSuffix(times, " with 1 worker") + " than a single-threaded run that does the same work at the same speed (an estimate from one run)"
	case s.Estimate:
		times = "at most " + times + " than with one, if one does the same work at the same speed (an estimate from one run)"
	}
	if s.Disturbed {
		times = "disturbed, not a result: " + times
	}
	worst, found := s.worst()
	switch {
	case !s.Estimate && s.Speedup > (1+worthNaming)*float64(s.N):
		all := "all of them together"
		if s.N == 1 {
			all = "it"
		}
		return times + "; the single-threaded run took longer than " + all + ": it did more work, or did it slower"
	case found && worst.idles && worst.part >= worthNaming*float64(s.N):
		return times + fmt.Sprintf("; nothing ran for %.0f %% of the run: the program waited for timers, the network, a disk or another process. Shorter waits, or more of them at the same time, help; processors do not", 100*s.Idle)
	case s.Remainder > 0 && (!found || s.Remainder > worst.part) && s.Remainder >= worthNaming*float64(s.N):
		times += "; most is lost to the remainder, " + format.Parallelism(s.Remainder)
		if most, imbalance, ok := s.mostWithoutLock(s.locks()); ok {
			times += ", which may be spinning for locks; without both"
			if imbalance {
				times += " and the imbalance"
			}
			times += ", up to " + format.Parallelism(most) + " times"
		}
		return times
	case found && worst.part >= worthNaming*float64(s.N):
		times += "; most is lost to " + worst.words + ", " + format.Parallelism(worst.part)
		if without := s.without(worst.part); !math.IsInf(without, 0) {
			times += "; without it, "
			if s.Estimate {
				times += "at most "
			}
			times += format.Parallelism(without) + " times"
			if most, imbalance, ok := s.mostWithoutLock(worst.part); ok && worst.part <= s.locks() {
				times += ", or up to " + format.Parallelism(most)
				switch {
				case !imbalance:
					times += " if the remainder is spinning for it"
				case s.Remainder < worthNaming*float64(s.N):
					times += " if the imbalance comes from it"
				default:
					times += " if the remainder and the imbalance come from it"
				}
			}
		}
		return times
	}
	return times + "; nothing is lost"
}

// locks is the part of waits for locks.
func (s *Stack) locks() float64 { return s.Components[SyncMutex] + s.Components[SyncRWMutex] }

// mostWithoutLock returns the speed-up without a part, which is waits for a lock, and without all that
// may come from it: the remainder, because spinning for a lock shows as running, and the imbalance,
// because a lock may prefer the goroutine that has just released it. imbalance: it is worth naming. ok
// is false if neither is, or there are no waits for locks.
func (s *Stack) mostWithoutLock(part float64) (most float64, imbalance, ok bool) {
	least := worthNaming * float64(s.N)
	unequal := s.Components[Imbalance]
	most, imbalance = s.without(part+s.Remainder+unequal), unequal >= least
	return most, imbalance, !s.Estimate && (imbalance || s.Remainder >= least) && s.locks() >= least && !math.IsInf(most, 0)
}

// loss is what keeps the speed-up down, in words, and its amount.
type loss struct {
	words string
	part  float64
	idles bool
}

// mostOfFamily is the part of a family above which its largest component is named instead.
const mostOfFamily = 0.9

// worst returns the family that keeps the speed-up down most, or the component that is nearly all
// of it. found is false if there is none. The parts of one cause, such as those of a collection,
// count together.
func (s *Stack) worst() (worst loss, found bool) {
	for _, c := range Delimiters() {
		f := c.Family()
		part := s.Of(f)
		if part <= worst.part {
			continue
		}
		worst, found = loss{f, part, s.familyIdles(f, part)}, true
		for _, c := range Delimiters() {
			if v := s.Components[c]; c.Family() == f && v >= mostOfFamily*part {
				worst = loss{c.Words(), min(v, part), s.idles(c)}
			}
		}
	}
	return worst, found
}
