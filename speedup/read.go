package speedup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
	// Progress, if not nil, is called in each of three passes with the number of bytes done and
	// the total; size is −1 if unknown.
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
// memory. An incomplete trace is an error, because its time is not that of the run. Other limits of
// the result are in [Stack.Warnings].
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

// FromFiles is [FromTraces] with files. If single is "", it returns an [Estimate].
func FromFiles(ctx context.Context, single, multi string, opt Options) (*Stack, error) {
	opt.SingleName, opt.MultiName = cmp.Or(opt.SingleName, single), cmp.Or(opt.MultiName, multi)
	m, err := os.Open(multi)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	if single == "" {
		return Estimate(ctx, m, opt)
	}
	s, err := os.Open(single)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return FromTraces(ctx, s, m, opt)
}

// run is what was read of one run.
type run struct {
	name    string
	info    *timeline.Info
	survey  *Survey
	workers Selector
	account *Account
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
	if _, err = read(ctx, again, e.run.name, e.opt, e.First()); err != nil {
		return nil, err
	}
	second, err := e.Second()
	if err != nil {
		return nil, err
	}
	if _, err := again.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("%s: %w", e.run.name, err)
	}
	return read(ctx, again, e.run.name, e.opt, second)
}

func (opt Options) config() Config {
	return Config{Workers: opt.Workers, N: opt.N, Window: opt.Window, Unit: opt.Unit}
}

// read makes one pass and returns an error if the trace is incomplete.
func read(ctx context.Context, r io.Reader, name string, opt Options, observers ...timeline.Observer) (*timeline.Info, error) {
	info, err := timeline.Read(ctx, r, timeline.Options{Name: name, Progress: opt.Progress, MaxMemory: opt.MaxMemory}, observers...)
	if err != nil {
		return nil, err
	}
	if info.Duration() <= 0 {
		return nil, fmt.Errorf("%s: %w", name, errEmptyRun)
	}
	return info, nil
}

var errEmptyRun = errors.New("no time passes in the trace")

// rereadable returns a reader that can be read twice.
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
