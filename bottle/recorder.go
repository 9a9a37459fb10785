package bottle

import (
	"context"
	"errors"
	"io"
	"time"
)

// RecorderOptions are the choices of a [Recorder]. The zero value is right for most.
type RecorderOptions struct {
	// Window is how much time a snapshot covers. 0 means 5 s.
	Window time.Duration
	// MaxBytes bounds the memory of the recording, and so, in a busy program, the window: it is a hint to
	// runtime/trace.FlightRecorder, which goes before Window. 0 means 64 MB.
	MaxBytes uint64
	// Source is where snapshots come from if not from a FlightRecorder of the Recorder's own: one that
	// the program runs already, or anything that writes a trace. The Recorder neither starts nor stops it.
	Source io.WriterTo
	// Options are those of the graphs. From and To are not used.
	Options Options
}

// Recorder records the last seconds of the running program all the time, and makes a bottle graph of
// them when asked. The zero value is ready for use. All methods may be called at the same time.
type Recorder struct{ opt RecorderOptions }

// The errors of a [Recorder].
var (
	// ErrRecorderStopped: the Recorder was not started, or was stopped meanwhile.
	ErrRecorderStopped = errors.New("bottle: the recorder is not running")
	// ErrBusy: another FlightRecorder runs in this program, which may have one only; or a
	// snapshot is under way.
	ErrBusy = errors.New("bottle: the flight recorder is busy")
)

// NewRecorder returns a recorder with options other than the zero value's.
func NewRecorder(opt RecorderOptions) *Recorder { return &Recorder{opt: opt} }

var errNotYet = errors.New("bottle: not implemented yet")

// Start begins to record.
func (r *Recorder) Start() error { return errNotYet }

// Stop ends the recording.
func (r *Recorder) Stop() {}

// Enabled reports whether the recorder records.
func (r *Recorder) Enabled() bool { return false }

// Window returns how much time a snapshot covers.
func (r *Recorder) Window() time.Duration { return 5 * time.Second }

// Snapshot returns the bottle graph of the last Window of the program.
func (r *Recorder) Snapshot(ctx context.Context) (*Graph, error) { return nil, errNotYet }

// WriteTo writes the execution trace of the last Window.
func (r *Recorder) WriteTo(w io.Writer) (int64, error) { return 0, errNotYet }
