package counters

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/metrics"
	"runtime/trace"
	"time"

	"github.com/bottleneck-go/bottleneck/counters/internal/archive"
	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/host"
)

// StartOptions configures a recording that the program makes of itself. The zero value is ready to
// use.
type StartOptions struct {
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
// For a busy service whose requests compute for 0.5 ms it took 1.4 % of the processor time, of which
// the trace has its part: docs/measurements.md has the table of benchmarks/counters.
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

// StopTo ends the recording and writes it as an archive. If something went wrong, the error says
// what is missing in it. Package counters/quanta makes a table of quanta of an archive, here or
// elsewhere.
func (s *Session) StopTo(w io.Writer) error {
	if s.opt.OwnTrace {
		return errors.New("counters: the program takes the trace itself: hand it to StopWith")
	}
	err := s.halt()
	if err == ErrStopped {
		return err
	}
	defer s.removeTrace()
	if _, serr := s.file.Seek(0, io.SeekStart); serr != nil {
		return errors.Join(err, serr)
	}
	return errors.Join(err, s.write(s.file, w))
}

// StopWith is [Session.StopTo] for a program that takes the trace itself. The trace must have been
// stopped and must lie within the session.
func (s *Session) StopWith(trace io.Reader, w io.Writer) error {
	if !s.opt.OwnTrace {
		return errors.New("counters: the session takes the trace: call StopTo")
	}
	err := s.halt()
	if err == ErrStopped {
		return err
	}
	return errors.Join(err, s.write(trace, w))
}

func (s *Session) write(trace io.Reader, w io.Writer) error {
	s.c.meta.MetricNames, s.c.meta.Metrics = s.c.plan.metrics, s.metrics.samples
	var samples io.Reader
	if s.c.meta.Begin != 0 {
		samples = bytes.NewReader(s.c.buf)
	}
	return archive.Write(w, &s.c.meta, samples, trace)
}

// metricReader reads counters of the runtime every few milliseconds, for the whole process.
type metricReader struct {
	buf     []metrics.Sample
	samples []archive.MetricSample
	start   time.Time
}

func newMetricReader(names []string) *metricReader {
	r := &metricReader{start: time.Now()}
	for _, n := range names {
		r.buf = append(r.buf, metrics.Sample{Name: archive.Metrics[n].Name})
	}
	return r
}

func (r *metricReader) read() {
	if len(r.buf) == 0 {
		return
	}
	metrics.Read(r.buf)
	s := archive.MetricSample{Wall: r.start.UnixNano() + int64(time.Since(r.start)), Values: make([]uint64, len(r.buf))}
	for i := range r.buf {
		if r.buf[i].Value.Kind() == metrics.KindUint64 {
			s.Values[i] = r.buf[i].Value.Uint64()
		}
	}
	r.samples = append(r.samples, s)
}

// Mark puts a named point in time into the recording, or into any execution trace that is being
// taken, from which a recording is made later. Filters of an analysis then select what ran between
// two markers.
//
// Without a trace Mark does nothing and takes 2 ns, so calls may stay in a program; with one it
// takes about half a microsecond. The context only says which user task (runtime/trace.NewTask) the
// marker belongs to.
func Mark(ctx context.Context, text string) {
	if trace.IsEnabled() {
		trace.Log(ctx, archive.MarkCategory, text)
	}
}
