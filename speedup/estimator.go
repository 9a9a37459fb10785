package speedup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Options configures a stack. The zero value is ready to use.
type Options struct {
	// Workers selects the workers, the goroutines of the lanes. Only goroutines of the application
	// can be workers.
	//
	//	"", auto             choose automatically
	//	all, all goroutines  all goroutines of the program
	//	NAME, NAME,NAME…     names of goroutines or start functions, in full or short
	//	pool:NAME            goroutines that execute tasks of a pool, from their first one on
	//	region:TYPE          goroutines while they are in a user region
	//	/REGEXP/             names or start functions that match
	//
	// The feeder of a pipeline is included only if it is named as well. The automatic choice is,
	// among the start functions with at least two goroutines that lived at the same time, the one
	// whose goroutines ran longest in the run with many workers. If there is none, it takes the start
	// functions that each ran for a twentieth of the time or more: the stages of a pipeline, or a
	// single worker without the goroutine that waits for it. If nothing ran, it takes all.
	Workers string
	by      selector // as parsed, or chosen
	// N is the number of lanes. 0 means the largest number of workers that lived at the same
	// time, but at most GOMAXPROCS.
	N int
	// Window, if positive, requests an account of each window of the run with N workers: see
	// [Stack.Windows].
	Window time.Duration
	// Unit is a type of user region (runtime/trace.Region); each region is the same amount of
	// work. An estimate then uses the regions that ran alone as the time a single worker needs.
	// With two runs, the numbers of regions show whether the work was the same.
	Unit string
	// SingleDelay and MultiDelay are the times, summed over threads, for which the threads of
	// each run were ready but waited for a core that another program used; on Linux,
	// "bottleneck scale" measures them. 0 means unknown.
	SingleDelay, MultiDelay time.Duration
	// SingleName and MultiName are the names of the traces in errors and warnings.
	SingleName, MultiName string
	// Progress, if not nil, is called while the run with one worker is read, with the number of bytes
	// done and the total; size is −1 if unknown.
	Progress func(done, size int64)
	// MaxMemory bounds the growth of the heap during that pass, in bytes, as in timeline.Options. 0
	// means half of the machine's memory.
	MaxMemory int64
}

// MaxDelay is the part of the wall time that threads may wait for a core that another program uses
// before a run counts as disturbed.
const MaxDelay = 0.03

// Estimator makes the stack of a run with many workers in two passes over its trace, which it shares
// with other analyses: see the example. bottleneck.Analyze does all of that.
type Estimator struct {
	opt    Options
	run    run
	second *observer
}

// run is what was read of one run.
type run struct {
	name    string
	info    *timeline.Info
	survey  *survey
	workers selector
	account *account
}

func (opt Options) pass(name string) timeline.Options {
	return timeline.Options{Name: name, Progress: opt.Progress, MaxMemory: opt.MaxMemory}
}

// NewEstimator returns an estimator for one trace.
func NewEstimator(opt Options) *Estimator {
	by, err := parseSelector(opt.Workers)
	s := newSurvey(by)
	s.wrong = err
	return &Estimator{opt: opt, run: run{name: cmp.Or(opt.MultiName, "the trace"), survey: s}}
}

// First returns the observer of the first pass, which finds the workers.
func (e *Estimator) First() timeline.Observer { return e.run.survey }

// Window sets Options.Window, before the second pass.
func (e *Estimator) Window(d time.Duration) { e.opt.Window = d }

// Second returns the observer of the second pass. Call it after the first pass. It returns an error
// if no estimate is possible.
func (e *Estimator) Second() (timeline.Observer, error) {
	m := &e.run
	opt, err := e.opt.chosen(m)
	if err != nil {
		return nil, err
	}
	e.second = newObserver(opt)
	return e.second, nil
}

// Stack returns an estimate from this run alone after the second pass, or nil if there was no second
// pass. info is the result of that pass. The speed-up is an upper bound if a single worker does the
// same work at the same speed: one run does not show the remainder, the extra time that parallel work
// took. Programs can remove that bias with [Options.Unit]. The error is [ErrOutside] if timers, the
// network or a disk determined the length of the run.
func (e *Estimator) Stack(info *timeline.Info) (*Stack, error) {
	if err := e.ended(info); e.second == nil || err != nil {
		return nil, err
	}
	m := &e.run
	if err := outside(m.account, m.workers); err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	stack := estimated(m.account)
	stack.describe(m)
	stack.Warnings = append(stack.Warnings, estimateWarnings(stack, e.opt.Unit)...)
	stack.Warnings = append(stack.Warnings, limits(m)...)
	stack.judge(m, e.opt.MultiDelay)
	return stack, nil
}

// Compare returns the stack of two runs of the same program with the same work after the second pass:
// it reads the trace of the run with a single worker, or one processor. An incomplete trace is an
// error, because its time is not that of the run. Other limits of the result are in [Stack.Warnings].
func (e *Estimator) Compare(ctx context.Context, single io.Reader, info *timeline.Info) (*Stack, error) {
	if err := e.ended(info); e.second == nil || err != nil {
		return nil, err
	}
	opt, m := e.opt, &e.run
	opt.N, opt.by, opt.Window = 1, m.workers, 0
	s := &run{name: cmp.Or(opt.SingleName, "the single-threaded run"), survey: newSurvey(m.workers)}
	lanes := newObserver(opt)
	var err error
	if s.info, err = timeline.Read(ctx, single, opt.pass(s.name), s.survey, lanes); err != nil {
		return nil, err
	}
	if err := elapsed(s.name, s.info); err != nil {
		return nil, err
	}
	s.account = lanes.Account()
	stack := newStack(s.account, m.account)
	stack.describe(m)
	stack.Warnings = append(stack.Warnings, compare(s, m)...)
	if opt.Unit != "" && s.account.Units.Count == 0 && m.account.Units.Count == 0 {
		stack.Warnings = append(stack.Warnings, fmt.Sprintf("Neither run has a region of type %q that began and ended: they do not tell whether the runs did the same work.", format.Clean(opt.Unit)))
	}
	stack.judge(s, opt.SingleDelay)
	stack.judge(m, opt.MultiDelay)
	return stack, nil
}

// ended records what the second pass found, if there was one.
func (e *Estimator) ended(info *timeline.Info) error {
	if e.second == nil {
		return nil
	}
	if err := elapsed(e.run.name, info); err != nil {
		return err
	}
	e.run.info, e.run.account = info, e.second.Account()
	return nil
}

// elapsed returns an error if no time passes in the trace.
func elapsed(name string, info *timeline.Info) error {
	if info.Duration() <= 0 {
		return fmt.Errorf("%s: no time passes in the trace", name)
	}
	return nil
}

// chosen returns the options with the workers and their number, as found by the survey.
func (opt Options) chosen(m *run) (Options, error) {
	var err error
	if m.workers, err = m.survey.Workers(); err != nil {
		return opt, fmt.Errorf("%s: %w; there are %s", m.name, err, m.survey.candidates())
	}
	if peak, _ := m.survey.Peak(m.workers); peak == 0 {
		return opt, fmt.Errorf("%s: no goroutine is a worker by %q; there are %s", m.name, m.workers, m.survey.candidates())
	}
	if opt.by, opt.N = m.workers, max(opt.N, 0); opt.N == 0 {
		opt.N = m.survey.Lanes(m.workers)
	}
	if d := time.Duration(m.survey.end - m.survey.begin); d > maxWall(opt.N) {
		return opt, fmt.Errorf("%s: %v on %d lanes is more than can be counted", m.name, d, opt.N)
	}
	return opt, nil
}

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

// ErrOutside is the error of an estimate if the outside world determined the length of the run.
// The trace does not show what a single worker would wait for, and for how long.
var ErrOutside = errors.New("the speed-up cannot be estimated from one trace")

// Thresholds above which the outside world, not the work, determines the length of a run.
const (
	mostIdle    = 0.25 // of the wall time: nothing ran and no goroutine of the program was ready
	mostWaiting = 0.10 // of the lanes' time: workers waited for timers, network or system calls
)

// outside returns an error if the outside world determined the length of the run.
func outside(multi *account, workers selector) error {
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
func assumeSingle(multi *account) *account {
	s := &account{N: 1, Procs: 1, Workers: 1, Peak: 1, Time: multi.Solo}
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
func estimated(multi *account) *Stack {
	s := newStack(assumeSingle(multi), multi)
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
		if err := outside(&a, selector{name: s.Workers.Selector}); err != nil {
			w.Warnings = append(w.Warnings, "In this window "+err.Error()+".")
		}
		w.Workers = s.Workers
		w.Label = format.Duration(a.Start)
		out = append(out, w)
	}
	return out
}
