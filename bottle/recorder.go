package bottle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/trace"
	"strings"
	"sync"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/internal/snapshot"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// RecorderOptions are the choices of a [Recorder]. The zero value is right for most.
type RecorderOptions struct {
	// Window is how much time a snapshot covers. 0 means 5 s.
	Window time.Duration
	// MaxBytes bounds the memory of the recording, and so, in a busy program, the window: it is
	// a hint to runtime/trace.FlightRecorder, which goes before Window. 0 means 32 MB.
	MaxBytes uint64
	// Source is where snapshots come from if not from a FlightRecorder of the Recorder's own:
	// one that the program runs already, or anything that writes a trace. The Recorder neither
	// starts nor stops it, and needs no Start.
	Source io.WriterTo
	// Options are those of the graphs. From, To and Progress are not used.
	Options Options
}

// Recorder records the last seconds of the running program all the time, and makes a bottle graph
// of them when asked. It is a runtime/trace.FlightRecorder with an analysis behind it. One call in
// main is enough:
//
//	var rec bottle.Recorder
//
//	func main() {
//		if err := rec.Start(); err != nil {
//			log.Print(err) // the program goes on without
//		}
//		…
//	}
//
// The zero value is ready for use. All methods may be called at the same time.
//
// A recorder costs what the FlightRecorder does, which for most programs cannot be told from noise,
// and the memory of the window, up to RecorderOptions.MaxBytes. A snapshot costs some 0.2 µs of
// processor time for each event in it, once, on as many processors as there are: for an HTTP server
// with 30,000 requests a second 0.2 to 0.3 s for each second in it, so that one of 5 s taken every
// 2 s, on two processors under full load, took 22 % of the throughput. For looking all the time
// there is bottleneck.Continuous. After Stop no goroutine and no memory is left.
type Recorder struct {
	opt RecorderOptions

	mu      sync.Mutex // guards what follows, never held for long
	flight  *trace.FlightRecorder
	stopped bool          // Stop was called, and no Start since
	busy    bool          // a snapshot is under way
	capture chan struct{} // closed when flight is not being read any more; nil if it is not

	starting sync.Mutex // Start and Stop, one at a time
}

// The errors of a [Recorder].
var (
	// ErrRecorderStopped: the Recorder was not started, or was stopped during that time.
	ErrRecorderStopped = errors.New("bottle: the recorder is not running")
	// ErrBusy: another FlightRecorder runs in this program, which may have one only (give it to
	// RecorderOptions.Source); or a snapshot is under way, since there is one at a time.
	ErrBusy = errors.New("bottle: the flight recorder is busy")
)

// NewRecorder returns a recorder with options other than the zero value's.
func NewRecorder(opt RecorderOptions) *Recorder { return &Recorder{opt: opt} }

// Window returns how much time a snapshot covers.
func (r *Recorder) Window() time.Duration {
	if r.opt.Window <= 0 {
		return 5 * time.Second
	}
	return r.opt.Window
}

// Start begins to record. It does nothing if the recorder records already, and fails with [ErrBusy]
// if something else in the program runs a FlightRecorder. A trace.Start by something else is no
// obstacle; a trace.Stop without one ends the recording, which Start then begins again.
func (r *Recorder) Start() error {
	r.starting.Lock()
	defer r.starting.Unlock()
	r.mu.Lock()
	r.stopped = false
	running := r.recording()
	r.mu.Unlock()
	if running {
		return nil
	}
	r.end() // a recording that a trace.Stop has ended would be in the way
	cfg := trace.FlightRecorderConfig{MinAge: r.Window(), MaxBytes: r.opt.MaxBytes}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 32 << 20
	}
	flight := trace.NewFlightRecorder(cfg)
	if err := flight.Start(); err != nil {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	r.mu.Lock()
	r.flight = flight
	r.mu.Unlock()
	return nil
}

// Stop ends the recording; it does nothing if there is none. A snapshot that is under way is
// finished if it has its data already; else it fails with [ErrRecorderStopped], or Stop waits for
// the data, some milliseconds.
func (r *Recorder) Stop() {
	r.starting.Lock()
	defer r.starting.Unlock()
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	r.end()
}

// end ends the FlightRecorder, if there is one.
func (r *Recorder) end() {
	r.mu.Lock()
	flight, capture := r.flight, r.capture
	r.flight = nil
	r.mu.Unlock()
	if flight == nil {
		return
	}
	if capture != nil {
		<-capture
	}
	flight.Stop()
}

// Enabled reports whether the recorder records.
func (r *Recorder) Enabled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.recording()
}

// recording reports whether there is something to take snapshots of. A trace.Stop that no
// trace.Start belongs to, as of a program that stops twice, ends a FlightRecorder, which does not
// know.
func (r *Recorder) recording() bool {
	return r.flight != nil && trace.IsEnabled() || r.opt.Source != nil && !r.stopped
}

// Snapshot returns the bottle graph of the last Window of the program, to the instant of the call.
// It fails with [ErrRecorderStopped] or [ErrBusy], or when ctx ends; a program that traces too much
// for the window, or was started less than a Window ago, gives the graph of what there is, with a
// warning.
func (r *Recorder) Snapshot(ctx context.Context) (g *Graph, err error) {
	release, err := r.acquire()
	if err != nil {
		return nil, err
	}
	defer release()
	defer contain(&err)
	buf := snapshot.New(ctx)
	if err := r.take(ctx, buf); err != nil {
		return nil, err
	}
	opt := r.opt.Options
	opt.From, opt.To = 0, 0
	o := NewObserver(opt)
	info, err := timeline.ReadSnapshot(ctx, buf.Reader(), timeline.Options{Name: opt.Name}, nil, func(info *timeline.Info) timeline.Second {
		return timeline.Second{From: max(info.Start, info.End-timeline.Time(r.Window())), Observers: []timeline.Observer{o}}
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if g, err = o.Result(info, err); g == nil {
		return nil, fmt.Errorf("bottle: snapshot: %w", err)
	}
	g.setCPUs(host.Processors())
	if w := r.Window(); g.Wall < w-w/10 {
		g.Warnings = append(g.Warnings, fmt.Sprintf("The snapshot covers %v of %v: the recorder holds no more.", g.Wall.Round(time.Millisecond), w))
	}
	return g, err
}

// WriteTo writes the execution trace of the last Window, in whole generations, so that it may be
// up to two seconds longer. The recorder is free again before it writes to w, however slow that is.
// Errors are those of [Recorder.Snapshot] and of w.
func (r *Recorder) WriteTo(w io.Writer) (int64, error) {
	buf, memory := w.(*snapshot.Buffer)
	if !memory {
		buf = snapshot.New(context.Background())
	}
	release, err := r.acquire()
	if err != nil {
		return 0, err
	}
	err = func() (err error) {
		defer release()
		defer contain(&err)
		return r.take(context.Background(), buf)
	}()
	switch {
	case err != nil:
		return 0, err
	case memory:
		return buf.Size(), nil
	}
	return buf.WriteTo(w)
}

// acquire makes a snapshot the only one.
func (r *Recorder) acquire() (release func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.recording():
		return nil, ErrRecorderStopped
	case r.busy:
		return nil, fmt.Errorf("%w: a snapshot is under way", ErrBusy)
	}
	r.busy = true
	return func() {
		r.mu.Lock()
		r.busy = false
		r.mu.Unlock()
	}, nil
}

// take writes the recorded trace into memory.
func (r *Recorder) take(ctx context.Context, buf *snapshot.Buffer) error {
	if s := r.opt.Source; s != nil {
		_, err := s.WriteTo(buf)
		return explainSource(ctx, err)
	}
	r.mu.Lock()
	flight := r.flight
	if flight == nil {
		r.mu.Unlock()
		return ErrRecorderStopped
	}
	done := make(chan struct{})
	r.capture = done
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.capture = nil
		r.mu.Unlock()
		close(done)
	}()
	host.Note() // now, as what was noted at the start is overwritten
	_, err := flight.WriteTo(buf)
	return explainSource(ctx, err)
}

// explainSource returns what is wrong with a source in the words of this package.
func explainSource(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case strings.Contains(err.Error(), "already in progress"): // of a FlightRecorder
		return fmt.Errorf("%w: %w", ErrBusy, err)
	case strings.Contains(err.Error(), "disabled flight recorder"):
		return fmt.Errorf("%w: %w", ErrRecorderStopped, err)
	}
	return fmt.Errorf("bottle: snapshot: %w", err)
}

// contain turns a panic of the source, or of a function that the options hold, into an error.
func contain(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("bottle: snapshot: panic: %v", p)
	}
}
