package counters

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/trace"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/host"
)

// StartOptions configures a recording that the program makes of itself. The zero value is ready to
// use.
type StartOptions struct {
	// Options are those of the recording.
	Options
	// Counters are what to count: see [KnownCounters]. nil means [DefaultCounters].
	Counters []string
	// Period is how often counters that cannot be recorded one by one are read on a thread that
	// runs, beside its switches. 0 means 1 ms.
	Period time.Duration
	// OwnTrace is set when the program takes the execution trace itself. The trace goes to
	// [Session.StopWith].
	OwnTrace bool
	// MaxBytes bounds the records of events, of six bytes each, and twenty for a reading of
	// counters: more are an error. 0 means 1 GB.
	MaxBytes int64
	// Dir is where the trace is put until the end. "" means the system's directory for
	// temporary files.
	Dir string
}

// Session is a recording under way.
type Session struct {
	opt     StartOptions
	c       *collector
	metrics *metricReader
	file    *os.File // the trace
	stop    chan struct{}
	done    chan error
	over    bool
}

// ErrStopped is the error of a session that has been stopped before.
var ErrStopped = errors.New("counters: the recording is over already")

// Start begins a recording of the calling program: an execution trace, and what the kernel and the
// runtime count during it.
//
// An event that the machine refuses is no error: the recording has a warning that says why, and
// everything else. On other systems than Linux only the trace and the runtime's metrics are
// recorded. A name that is no counter's, and a trace that is being taken already
// ([StartOptions].OwnTrace is for that), are errors.
//
// It takes 0.5 % of the time of a busy service whose requests compute for 0.5 ms, and 1.4 to 2.6 %
// where they compute for 0.2 ms (see benchmarks/counters; two virtual cores): a microsecond for
// each switch of a thread and each page fault, and the trace's own cost.
func Start(opt StartOptions) (*Session, error) {
	p, warnings, err := newPlan(opt.Counters)
	if err != nil {
		return nil, err
	}
	return startPlan(opt, p, warnings)
}

func startPlan(opt StartOptions, p plan, warnings []string) (*Session, error) {
	s := &Session{opt: opt, stop: make(chan struct{}), done: make(chan error, 1)}
	s.c = &collector{plan: p, max: opt.MaxBytes}
	s.c.meta.Start, s.c.meta.System = time.Now().Round(0), runtime.GOOS+"/"+runtime.GOARCH
	s.c.meta.Warnings = warnings
	s.c.open(0, opt.Period)
	s.metrics = newMetricReader(p.metrics)
	s.metrics.read()
	if !opt.OwnTrace {
		if err := s.startTrace(); err != nil {
			s.c.close()
			return nil, err
		}
	}
	background.Go(s.collect)
	return s, nil
}

func (s *Session) startTrace() error {
	f, err := os.CreateTemp(s.opt.Dir, "counters-*.trace")
	if err != nil {
		return fmt.Errorf("counters: a file for the trace: %w", err)
	}
	if err := trace.Start(f); err != nil {
		f.Close()
		os.Remove(f.Name())
		return fmt.Errorf("counters: %w; if the program takes a trace itself, say so by StartOptions.OwnTrace", err)
	}
	host.Note()
	s.file = f
	return nil
}

// collect takes what is recorded, until the session is stopped.
func (s *Session) collect() {
	for {
		select {
		case <-s.stop:
			s.metrics.read()
			s.done <- s.c.close()
			return
		default:
			s.c.step()
			s.metrics.read()
		}
	}
}

// halt ends the trace and the counting.
func (s *Session) halt() error {
	if s.over {
		return ErrStopped
	}
	s.over = true
	if s.file != nil {
		trace.Stop()
	}
	close(s.stop)
	return <-s.done
}

func (s *Session) removeTrace() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
}

// Stop ends the recording and returns it. If something went wrong, the error says what is
// missing in it.
func (s *Session) Stop() (*Recording, error) {
	if s.opt.OwnTrace && !s.over {
		return nil, errors.New("counters: the program takes the trace itself: hand it to StopWith")
	}
	err := s.halt()
	if err == ErrStopped {
		return nil, err
	}
	defer s.removeTrace()
	if _, serr := s.file.Seek(0, io.SeekStart); serr != nil {
		return nil, errors.Join(err, serr)
	}
	r, rerr := s.recording(context.Background(), s.file)
	return r, errors.Join(err, rerr)
}

// StopWith ends the recording of a program that takes the trace itself, and joins it with that
// trace, which must have been stopped and must lie within the session.
func (s *Session) StopWith(ctx context.Context, r io.Reader) (*Recording, error) {
	if !s.opt.OwnTrace {
		return nil, errors.New("counters: the session takes the trace: call Stop")
	}
	err := s.halt()
	if err == ErrStopped {
		return nil, err
	}
	rec, rerr := s.recording(ctx, r)
	return rec, errors.Join(err, rerr)
}

func (s *Session) recording(ctx context.Context, r io.Reader) (*Recording, error) {
	s.fillMeta()
	return readJoined(ctx, r, bytes.NewReader(s.c.buf), &s.c.meta, s.opt.Options)
}

func (s *Session) fillMeta() {
	s.c.meta.MetricNames, s.c.meta.Metrics = s.c.plan.metrics, s.metrics.samples
}
