package counters

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/metrics"
	"runtime/trace"
	"time"

	"github.com/bottleneck-go/bottleneck/counters/internal/archive"
	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/host"
)

// Options configures a recording. The zero value is ready to use.
type Options struct {
	// Counters are the counters to record; see [KnownCounters]. nil means [DefaultCounters]; [Run]
	// omits those that can be counted only in the program.
	Counters []string
	// Period is the interval at which counters that cannot be recorded event by event are read on a
	// running thread, in addition to its switches. 0 means 1 ms.
	Period time.Duration
	// MaxBytes bounds the size of the records: six bytes per event, and twenty per reading of
	// counters. Exceeding it is an error. 0 means 1 GB for [Start], in memory, and 16 GB for [Run],
	// on disk.
	MaxBytes int64
	Dir      string // of the temporary files; "" means that of the system

	// The other fields are for [Run].

	// TraceURL is the URL of the program's execution trace, such as
	// http://localhost:6060/debug/pprof/trace?seconds=5. Run requests it as soon as the program
	// answers, and stops counting when the trace ends. "" means that the program calls
	// [FromEnvironment].
	TraceURL string
	Forward  []os.Signal // signals that are forwarded to the program
	// Warning is called for each warning about the reliability of the recording, and for refused
	// counters, as soon as it is known. The archive contains the warnings, too.
	Warning func(string)
}

// session is a recording in progress.
type session struct {
	c       *collector
	metrics *metricReader
	file    *os.File // trace file
	stop    chan struct{}
	done    chan error
	over    bool
}

// ErrStopped is the error of a recording that has already been stopped.
var ErrStopped = errors.New("counters: the recording is over already")

// Start begins a recording of the calling program: an execution trace, and the counters of the
// kernel and the runtime.
//
// The function that it returns ends the recording and writes it as an archive. Its error, if any,
// describes what is missing from the archive. Package counters/quanta turns an archive into a table
// of quanta, in this program or another one; quanta.Stop does both.
//
// An event that the machine refuses is not an error: the recording has a warning with the reason.
// On systems other than Linux, only the trace and the runtime's metrics are recorded. An unknown
// counter is an error, and so is an execution trace in progress.
//
// For a busy service whose requests compute for 0.5 ms, a recording took 1.4 % of the processor
// time, including the cost of the trace: docs/measurements.md has the table of benchmarks/live.
func Start(opt Options) (stop func(io.Writer) error, err error) {
	s, err := begin(opt)
	if err != nil {
		return nil, err
	}
	return s.stopTo, nil
}

func begin(opt Options) (*session, error) {
	p, warnings, err := newPlan(opt.Counters)
	if err != nil {
		return nil, err
	}
	return startPlan(opt, p, warnings)
}

func startPlan(opt Options, p plan, warnings []string) (*session, error) {
	s := &session{c: newCollector(p, warnings, cmp.Or(max(opt.MaxBytes, 0), 1<<30)), stop: make(chan struct{}), done: make(chan error, 1)}
	s.c.open(0, opt.Period)
	s.metrics = newMetricReader(p.metrics)
	s.metrics.read()
	var err error
	if s.file, err = startTrace(opt.Dir); err != nil {
		s.c.close()
		return nil, fmt.Errorf("counters: a trace: %w", err)
	}
	background.Go(s.collect)
	return s, nil
}

func startTrace(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "counters-*.trace")
	if err != nil {
		return nil, err
	}
	if err := trace.Start(f); err != nil {
		f.Close()
		os.Remove(f.Name())
		return nil, err
	}
	host.Note()
	return f, nil
}

// collect collects records until the session is stopped.
func (s *session) collect() {
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

func (s *session) stopTo(w io.Writer) error {
	if s.over {
		return ErrStopped
	}
	s.over = true
	host.Note()
	trace.Stop()
	close(s.stop)
	err := <-s.done
	defer os.Remove(s.file.Name())
	defer s.file.Close()
	if _, serr := s.file.Seek(0, io.SeekStart); serr != nil {
		return errors.Join(err, serr)
	}
	s.c.meta.MetricNames, s.c.meta.Metrics = s.c.plan.metrics, s.metrics.samples
	var samples io.Reader
	if s.c.meta.Begin != 0 {
		samples = bytes.NewReader(s.c.buf)
	}
	return errors.Join(err, archive.Write(w, &s.c.meta, samples, s.file))
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

// Mark adds a named point in time to the recording, or to any execution trace in progress that is
// later converted to a recording. Filters can then select the activity between two markers.
//
// Without a trace, Mark does nothing and takes 2 ns, so calls may stay in a program; with a trace,
// it takes about half a microsecond. The context only determines the user task
// (runtime/trace.NewTask) of the marker.
func Mark(ctx context.Context, text string) {
	if trace.IsEnabled() {
		trace.Log(ctx, archive.MarkCategory, text)
	}
}
