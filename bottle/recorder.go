package bottle

import (
	"cmp"
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
)

// Recorder keeps the last seconds of the execution trace of the running program, in a
// [trace.FlightRecorder]. bottleneck.AnalyzeRecorder and GraphRecorder analyze them. One call in
// main is sufficient:
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
// The zero value is ready to use; the fields must not be changed afterwards. All methods are safe
// for concurrent use. A recorder costs as much as the FlightRecorder, which for most programs is
// within the noise, plus the memory of the window, up to MaxBytes. After Stop, no goroutines and no
// memory are left.
type Recorder struct {
	// Last is the time that is kept. 0 means 5 s.
	Last time.Duration
	// MaxBytes bounds the memory of the recording and thus, in a busy program, the window: it
	// is a hint to runtime/trace.FlightRecorder and takes precedence over Last. 0 means 32 MB.
	MaxBytes uint64
	// Source, if not nil, takes the place of the Recorder's own FlightRecorder: one that the
	// program already runs, or another writer of traces. The Recorder neither starts nor stops it,
	// and does not need Start.
	Source io.WriterTo

	mu      sync.Mutex // guards the fields below; held only briefly
	flight  *trace.FlightRecorder
	stopped bool // Stop was called, and not Start since

	taking   sync.Mutex // held during a snapshot
	starting sync.Mutex // serializes Start and Stop
	reading  sync.Mutex // held while flight is read or stopped
}

// The errors of a [Recorder].
var (
	// ErrRecorderStopped: the Recorder was not started, or was stopped during the call.
	ErrRecorderStopped = errors.New("bottle: the recorder is not running")
	// ErrBusy: another FlightRecorder is running in this program, which can have only one (pass
	// it as Recorder.Source), or a snapshot is already in progress.
	ErrBusy = errors.New("bottle: the flight recorder is busy")
)

// Window returns the time that is kept.
func (r *Recorder) Window() time.Duration {
	if r.Last <= 0 {
		return 5 * time.Second
	}
	return r.Last
}

// Start starts the recording. It does nothing if the recorder is already recording, and fails with
// [ErrBusy] if other code in the program runs a FlightRecorder. A trace.Start by other code does
// not interfere. A trace.Stop without a matching trace.Start ends the recording; Start then starts
// it again.
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
	r.end() // remove a recording that was ended by trace.Stop
	cfg := trace.FlightRecorderConfig{MinAge: r.Window(), MaxBytes: cmp.Or(r.MaxBytes, 32<<20)}
	flight := trace.NewFlightRecorder(cfg)
	if err := flight.Start(); err != nil {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	r.mu.Lock()
	r.flight = flight
	r.mu.Unlock()
	return nil
}

// Stop stops the recording. It does nothing if there is none. A snapshot in progress is completed
// if it already has its data. Otherwise it fails with [ErrRecorderStopped], or Stop waits for the
// data for some milliseconds.
func (r *Recorder) Stop() {
	r.starting.Lock()
	defer r.starting.Unlock()
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	r.end()
}

// end stops the FlightRecorder, if there is one.
func (r *Recorder) end() {
	r.mu.Lock()
	flight := r.flight
	r.flight = nil
	r.mu.Unlock()
	if flight != nil {
		r.reading.Lock()
		defer r.reading.Unlock()
		flight.Stop()
	}
}

// Enabled reports whether the recorder is recording.
func (r *Recorder) Enabled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.recording()
}

// recording reports whether snapshots are possible. A trace.Stop without a matching trace.Start, as
// in a program that stops twice, ends a FlightRecorder, whose state does not show it.
func (r *Recorder) recording() bool {
	return r.flight != nil && trace.IsEnabled() || r.Source != nil && !r.stopped
}

// WriteTo writes the execution trace of the last Window in whole generations, so it may be up to
// two seconds longer, and shorter if MaxBytes hold no more. It takes some milliseconds before it
// writes to w. It fails with [ErrRecorderStopped], [ErrBusy], or the error of w.
func (r *Recorder) WriteTo(w io.Writer) (int64, error) {
	buf, memory := w.(*snapshot.Buffer)
	if !memory {
		buf = snapshot.New(context.Background())
	}
	switch err := r.take(buf); {
	case err != nil:
		return 0, err
	case memory:
		return buf.Size(), nil
	}
	return buf.WriteTo(w)
}

// take writes the recorded trace to buf.
func (r *Recorder) take(buf *snapshot.Buffer) (err error) {
	switch {
	case !r.Enabled():
		return ErrRecorderStopped
	case !r.taking.TryLock():
		return fmt.Errorf("%w: a snapshot is under way", ErrBusy)
	}
	defer r.taking.Unlock()
	defer contain(&err)
	if s := r.Source; s != nil {
		_, err := s.WriteTo(buf)
		return explainSource(err)
	}
	r.reading.Lock()
	defer r.reading.Unlock()
	r.mu.Lock()
	flight := r.flight
	r.mu.Unlock()
	if flight == nil {
		return ErrRecorderStopped
	}
	host.Note() // again, because the note made at the start is overwritten
	_, err = flight.WriteTo(buf)
	return explainSource(err)
}

// explainSource translates an error of a source into one of this package.
func explainSource(err error) error {
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "already in progress"): // from a FlightRecorder
		return fmt.Errorf("%w: %w", ErrBusy, err)
	case strings.Contains(err.Error(), "disabled flight recorder"):
		return fmt.Errorf("%w: %w", ErrRecorderStopped, err)
	}
	return fmt.Errorf("bottle: snapshot: %w", err)
}

// contain turns a panic of the source into an error.
func contain(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("bottle: snapshot: panic: %v", p)
	}
}
