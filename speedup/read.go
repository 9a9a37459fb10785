package speedup

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// Options configures a stack. The zero value is ready to use.
type Options struct {
	// Workers selects the goroutines of the lanes. The zero value chooses automatically: see
	// [Selector].
	Workers Selector
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
	// each run were ready but waited for a core that another program used. On Linux,
	// schedstat.Times.Lost measures it. 0 means unknown.
	SingleDelay, MultiDelay time.Duration
	// SingleName and MultiName are the names of the traces in errors and warnings.
	SingleName, MultiName string
	// Progress, if not nil, is called in each of three passes with the number of bytes done and the total;
	// size is −1 if unknown.
	Progress func(done, size int64)
	// MaxMemory bounds the growth of the heap during a pass, in bytes, as in timeline.Options.
	// 0 means half of the machine's memory.
	MaxMemory int64
}

// MaxDelay is the part of the wall time that threads may wait for a core that another program uses
// before a run counts as disturbed.
const MaxDelay = 0.03

// FromTraces returns the stack of two runs of the same program with the same work: one with a
// single worker (or one processor) and one with many.
//
// The workers are chosen in the second run, so it is read twice; input that cannot seek is kept in
// memory. An incomplete trace is an error, because its time is not that of the run.
// Other limits of the result are in [Stack.Warnings].
func FromTraces(ctx context.Context, single, multi io.Reader, opt Options) (*Stack, error) {
	opt.MultiName = cmp.Or(opt.MultiName, "the run with many workers")
	e := NewEstimator(opt)
	info, err := e.read(ctx, multi)
	if err != nil {
		return nil, err
	}
	return e.Compare(ctx, single, info)
}

// Estimate returns an estimate of the stack from one run with many workers. Its speed-up is an
// upper bound if a single worker does the same work at the same speed: one run does not show the
// remainder, the extra time that parallel work took. Programs can remove that bias with
// [Options.Unit]. The error is [ErrOutside] if timers, the network or a disk determined the length
// of the run.
func Estimate(ctx context.Context, multi io.Reader, opt Options) (*Stack, error) {
	e := NewEstimator(opt)
	info, err := e.read(ctx, multi)
	if err != nil {
		return nil, err
	}
	return e.Stack(info)
}

// run is what was read of one run.
type run struct {
	name    string
	info    *timeline.Info
	survey  *survey
	workers Selector
	account *account
}

// read makes both passes over the run with many workers.
func (e *Estimator) read(ctx context.Context, r io.Reader) (*timeline.Info, error) {
	if e.opt.N < 0 {
		return nil, fmt.Errorf("speedup: %d workers: want at least 1, or 0 to find their number", e.opt.N)
	}
	again, err := rereadable(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.run.name, err)
	}
	info, err := timeline.Read(ctx, again, e.opt.pass(e.run.name), e.First())
	if err == nil {
		err = elapsed(e.run.name, info)
	}
	if err != nil {
		return nil, err
	}
	second, err := e.Second()
	if err != nil {
		return nil, err
	}
	if _, err := again.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("%s: %w", e.run.name, err)
	}
	return timeline.Read(ctx, again, e.opt.pass(e.run.name), second)
}

// rereadable returns a reader that can be read twice. It keeps the trace in memory, which takes
// less than its events do, if r cannot seek.
func rereadable(r io.Reader) (io.ReadSeeker, error) {
	if s, ok := r.(io.ReadSeeker); ok {
		if _, err := s.Seek(0, io.SeekCurrent); err == nil {
			return s, nil
		}
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return bytes.NewReader(data), nil
}

func (opt Options) pass(name string) timeline.Options {
	return timeline.Options{Name: name, Progress: opt.Progress, MaxMemory: opt.MaxMemory}
}
