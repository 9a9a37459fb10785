package bottleneck

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// Live is a report of a program that runs.
type Live struct {
	Report
	// From and To are the time that the report is about.
	From, To time.Time
	// Covered is how much of it was really seen: the rest was dropped, and is in no number.
	Covered time.Duration
	// Windows is the number of windows, one a generation of the trace, in the report.
	Windows int
	// Stream tells what the reading has cost and dropped since Start.
	Stream timeline.StreamStats
}

// AnalyzeRecorder takes a snapshot of a running program and runs all analyses on it. rec is a
// *bottle.Recorder, a *trace.FlightRecorder, or anything that writes an execution trace.
func AnalyzeRecorder(ctx context.Context, rec io.WriterTo, opt Options) (*Report, error) {
	return nil, errNotYet
}

var errNotYet = errors.New("bottleneck: not implemented yet")
