package speedup

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Estimator makes an [Estimate] in two passes over a trace that it shares with other analyses, using
// timeline.ReadTwice: see the example. [Estimate] is simpler if only the stack is needed.
type Estimator struct {
	opt    Options
	run    run
	second *observer
}

// NewEstimator returns an estimator for one trace.
func NewEstimator(opt Options) *Estimator {
	return &Estimator{opt: opt, run: run{name: cmp.Or(opt.MultiName, "the trace"), survey: newSurvey(opt.Workers)}}
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

// Stack returns the estimate after the second pass, or nil if there was no second pass. info is the
// result of that pass. The error is [ErrOutside] if the trace does not determine the speed-up.
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

// Compare is [FromTraces] after the second pass: it reads the trace of the single-worker run.
func (e *Estimator) Compare(ctx context.Context, single io.Reader, info *timeline.Info) (*Stack, error) {
	if err := e.ended(info); e.second == nil || err != nil {
		return nil, err
	}
	opt, m := e.opt, &e.run
	opt.N, opt.Workers, opt.Window = 1, m.workers, 0
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
	stack := New(s.account, m.account)
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
	if opt.Workers, opt.N = m.workers, max(opt.N, 0); opt.N == 0 {
		opt.N = m.survey.Lanes(m.workers)
	}
	if d := m.survey.Wall(); d > maxWall(opt.N) {
		return opt, fmt.Errorf("%s: %v on %d lanes is more than can be counted", m.name, d, opt.N)
	}
	return opt, nil
}
