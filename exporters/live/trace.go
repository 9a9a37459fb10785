package live

import (
	"context"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/snapshot"
)

var traceEndpoint = endpoint{
	name:       "trace",
	title:      "Execution trace",
	about:      "The raw trace of the last seconds, as many as were asked for as far as the recorder keeps them, for “bottleneck graph FILE” and go tool trace. It holds names of source files as the machine that built the program had them, and the texts of the program's own logs, tasks and regions.",
	forms:      []form{formTrace},
	parameters: []string{"seconds", "format"},
	takes:      atOnce,
	missing: func(h *handler) string {
		switch {
		case h.opt.NoTrace:
			return "raw traces are switched off: live.Options.NoTrace is set"
		case h.recorder == nil:
			return "there is no recorder: live.Options.Recorder is not set"
		}
		return ""
	},
}

func (h *handler) trace(ctx context.Context, q query) (*snapshot.Buffer, error) {
	d := q.seconds
	if d == 0 {
		d = longestTime // all that is there
	}
	return h.recorded(ctx, max(d, time.Nanosecond))
}
