package live

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/granularity"
)

var tasksEndpoint = endpoint{
	name:       "tasks",
	title:      "Task granularity",
	about:      "Whether tasks are too small or too large: the cycles that they execute, by class, and the lines that create them. Of a recorder of tasks it is all since the recorder was made, and with seconds= a profile for pprof of the seconds to come; else the regions in the trace of the last seconds.",
	forms:      []form{formSVG, formPNG, formText, formJSON, formPprof},
	parameters: usual,
	takes: func(h *handler, seconds time.Duration) time.Duration {
		if h.tasks != nil {
			return seconds
		}
		return 0
	},
	missing: func(h *handler) string {
		if h.tasks == nil && h.recorder == nil && h.continuous == nil {
			return "nothing is recorded: none of live.Options.Tasks, Recorder and Continuous is set"
		}
		return ""
	},
	collect: (*handler).taskSizes,
}

func (h *handler) taskSizes(ctx context.Context, q query) ([]byte, error) {
	if h.tasks != nil && q.seconds > 0 {
		return h.taskDelta(ctx, q)
	}
	p, look, err := h.taskProfile(ctx, q)
	if err != nil {
		return nil, err
	}
	if !h.opt.FilePaths {
		p = trimTasks(p)
	}
	var buf bytes.Buffer
	switch q.form {
	case formSVG, formPNG:
		err = h.draw(&buf, q.form)(picture.DrawTasks(p, look))
	case formText:
		err = text.WriteTasks(&buf, p, text.TasksOptions{})
	case formJSON:
		err = granularity.WriteJSON(&buf, p)
	default:
		var prof *profile.Profile
		if prof, err = pprof.Tasks(p, pprof.TasksOptions{File: filepath.Base(os.Args[0])}); err == nil {
			if prof.TimeNanos == 0 {
				prof.TimeNanos = time.Now().Add(-p.Wall).UnixNano()
			}
			err = h.writeProfile(&buf, prof)
		}
	}
	return buf.Bytes(), err
}

// taskProfile is all that the recorder of tasks knows, or the regions of the last seconds.
func (h *handler) taskProfile(ctx context.Context, q query) (*granularity.Profile, picture.Options, error) {
	if h.tasks != nil {
		return h.tasks.Profile(), picture.Options{Subtitle: h.opt.Title}, nil
	}
	live, err := h.report(ctx, q.orDefault(), false)
	if err != nil {
		return nil, picture.Options{}, err
	}
	p := live.Tasks
	if p == nil {
		p = &granularity.Profile{Source: granularity.SourceTrace}
	}
	return p, h.look(live), nil
}

// taskDelta is the difference of what the recorder of tasks knows after and before some seconds.
func (h *handler) taskDelta(ctx context.Context, q query) ([]byte, error) {
	if q.form != formPprof {
		return nil, &problem{status: http.StatusBadRequest, text: "seconds= makes a profile for pprof of the seconds to come: other forms show all tasks since the recorder was made, and take no seconds"}
	}
	start := time.Now()
	before, err := pprof.Tasks(h.tasks.Profile(), pprof.TasksOptions{File: filepath.Base(os.Args[0])})
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(q.seconds)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	after, err := pprof.Tasks(h.tasks.Profile(), pprof.TasksOptions{File: filepath.Base(os.Args[0])})
	if err != nil {
		return nil, err
	}
	p, err := difference(before, after)
	if err != nil {
		return nil, err
	}
	p.TimeNanos, p.DurationNanos = start.UnixNano(), int64(time.Since(start))
	var buf bytes.Buffer
	err = h.writeProfile(&buf, p)
	return buf.Bytes(), err
}

// difference subtracts profiles. A class's diagnosis may have changed during that time, so it is
// left out.
func difference(before, after *profile.Profile) (*profile.Profile, error) {
	for _, p := range []*profile.Profile{before, after} {
		for _, s := range p.Sample {
			delete(s.Label, "diagnosis")
		}
	}
	before.Scale(-1)
	p, err := profile.Merge([]*profile.Profile{after, before})
	if err != nil {
		return nil, err
	}
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		return !slices.ContainsFunc(s.Value, func(v int64) bool { return v > 0 })
	})
	for _, s := range p.Sample {
		for i, v := range s.Value {
			s.Value[i] = max(0, v)
		}
	}
	return p, nil
}
