package speedup

import (
	"math"
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
// The difference of Run is the remainder: what the same work took longer (or less) on N processors,
// by caches, memory and work for being parallel. All others are delimiters. So
//
//	S + Σ components + remainder == N
//
// is an identity of rationals with the denominator T_p; their numerators are differences of
// integers in [Account]. A component is negative if the single-threaded run has more of it: it
// helped.

// Stack is a speedup stack: a bar of height N.
type Stack struct {
	// N is the number of workers that the stack asks a speed-up of N of.
	N int `json:"n"`
	// Speedup is how many times faster the run with N workers is. In an estimate it is an upper
	// bound, if a single worker does the same work at the same speed.
	Speedup float64 `json:"speedup"`
	// Estimate tells that there was no single-threaded run: see [Estimate].
	Estimate bool `json:"estimate"`
	// Components are the delimiters in units of the speed-up; Components[Run] is 0.
	Components [NumComponents]float64 `json:"-"`
	// Remainder is what the components do not explain: interference in the hardware, and work
	// for being parallel.
	Remainder float64 `json:"remainder"`
	// Runs has the speed-ups of repeated pairs of runs, if there were any, of which this is
	// one: see [Stack.Repeat].
	Runs []float64 `json:"runs,omitempty"`
	// Disturbed tells that the operating system took processors away in one of the runs for so
	// long that the stack is not a result, or that repeated runs disagree: see [MaxDelay] and
	// [MaxSpread].
	Disturbed bool `json:"disturbed"`
	// Warnings says in full sentences what limits the trust in the numbers.
	Warnings []string `json:"warnings"`
	// Workers tells whose lanes these are.
	Workers Workers `json:"workers"`

	// Label names the stack among others, such as a number of processors; "" for N.
	Label string `json:"-"`
	// Single and Multi are the accounts that it was made of; nil when it was read from JSON.
	// Single of an estimate is what it assumes.
	Single, Multi *Account `json:"-"`
}

// Workers tells who the workers are.
type Workers struct {
	Selector string `json:"selector"` // as ParseSelector takes it
	Count    int    `json:"count"`    // goroutines, in the run with N workers
}

// String names the workers, such as "main.work, 4 goroutines".
func (w Workers) String() string {
	if w.Selector == everyone {
		return "all of the program, " + format.Plural(w.Count, "goroutine", "goroutines")
	}
	return w.Selector + ", " + format.Plural(w.Count, "goroutine", "goroutines")
}

// New makes the stack of two accounts. single should have one lane. A single-threaded run without
// any worker, one that does the work in another goroutine, is taken to be sequential for as long as
// the other run.
func New(single, multi *Account) *Stack {
	s := &Stack{N: multi.N, Single: single, Multi: multi}
	if single.Workers == 0 && multi.Workers > 0 {
		s.Single = assumeWorkers(single, multi)
		s.Warnings = append(s.Warnings, "The single-threaded run has no goroutine of the workers: its sequential part cannot be told from its work and is taken to be as long as that of the other run.")
	}
	t := float64(multi.Wall)
	if multi.Wall <= 0 {
		return s
	}
	s.Speedup = float64(s.Single.Wall) / t
	for c := range Component(NumComponents) {
		s.Components[c] = float64(multi.Time[c]-s.Single.Time[c]) / t
	}
	s.Remainder = s.Components[Run]
	s.Components[Run] = 0
	s.Workers.Count = multi.Workers
	return s
}

// assumeWorkers splits the time of a run without workers as well as can be.
func assumeWorkers(single, multi *Account) *Account {
	out := *single
	all := single.Time[Sequential]
	out.Time[Sequential] = min(all, multi.Time[Sequential]/time.Duration(max(1, multi.N)))
	out.Time[Run] += all - out.Time[Sequential]
	return &out
}

// Of returns a family's part of the stack; for Running, the speed-up.
func (s *Stack) Of(f Family) (sum float64) {
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

// WhatIf returns the speed-up if a component were zero. The lane time that it took is then free, a
// part of 1/N on every lane, and the run is shorter by that much:
//
//	S' = T_s / (T_p · (1 − c/N)) = S · N / (N − c)
//
// It supposes that the rest of the work spreads over the freed lanes. Without all components and
// the remainder it is N. It is +Inf if nothing else is left.
func (s *Stack) WhatIf(c Component) float64 { return s.without(s.Components[c]) }

// WhatIfFamily is [Stack.WhatIf] for all components of a family.
func (s *Stack) WhatIfFamily(f Family) float64 {
	if f == Running {
		return s.Speedup
	}
	return s.without(s.Of(f))
}

func (s *Stack) without(part float64) float64 {
	n := float64(s.N)
	if part >= n {
		return math.Inf(1)
	}
	return s.Speedup * n / (n - part)
}

// Largest returns the component that keeps the speed-up down most, and false if none does.
func (s *Stack) Largest() (Component, bool) {
	best := Run
	for _, c := range Delimiters() {
		if s.Components[c] > 0 && (best == Run || s.Components[c] > s.Components[best]) {
			best = c
		}
	}
	return best, best != Run
}
