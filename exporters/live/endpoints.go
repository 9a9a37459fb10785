package live

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/snapshot"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// endpoint is a path below the mount point.
type endpoint struct {
	name string
	// title and about are texts for the index page.
	title, about string
	forms        []form
	parameters   []string
	// takes returns the approximate time of a collection until the answer begins; nil means no
	// time.
	takes func(h *handler, seconds time.Duration) time.Duration
	// missing returns what the handler lacks for the endpoint, or "".
	missing func(h *handler) string
	// collect returns the data of the endpoint. It is nil for metrics and traces.
	collect func(h *handler, ctx context.Context, q query) (*shown, error)
}

// endpoints lists all paths in the order of the index page.
var endpoints = []*endpoint{&graphEndpoint, &contentionEndpoint, &holdersEndpoint, &tasksEndpoint, &speedupEndpoint, &wallEndpoint, &traceEndpoint, &metricsEndpoint}

// shown is the data of an endpoint, with a function for each available format.
type shown struct {
	draw    func() (*picture.Drawing, error)
	text    func(io.Writer) error
	json    func(io.Writer) error
	profile func() (*profile.Profile, error)
}

// in returns the data in the given format.
func (s *shown) in(h *handler, f form) ([]byte, error) {
	var buf bytes.Buffer
	var err error
	switch f {
	case formText:
		err = s.text(&buf)
	case formJSON:
		err = s.json(&buf)
	case formPprof:
		var p *profile.Profile
		if p, err = s.profile(); err != nil {
			break
		}
		if !h.opt.FilePaths {
			trimProfile(p)
		}
		err = p.Write(&buf)
	default:
		var d *picture.Drawing
		switch d, err = s.draw(); {
		case err != nil:
		case f == formPNG:
			err = h.opt.PNG(&buf, d)
		default:
			err = d.SVG(&buf)
		}
	}
	return buf.Bytes(), err
}

var (
	allForms = []form{formSVG, formPNG, formText, formJSON, formPprof}
	usual    = []string{"seconds", "debug", "format"} // parameters of most paths
	program  = filepath.Base(os.Args[0])
)

// look returns picture options with the time of the data as subtitle.
func (h *handler) look(live *bottleneck.Live) picture.Options {
	when := live.To.Format("2006-01-02 15:04:05 MST")
	if h.opt.Title != "" {
		when = h.opt.Title + ", " + when
	}
	return picture.Options{Subtitle: when}
}

var graphEndpoint = endpoint{
	name:       "graph",
	title:      "Bottle graph",
	about:      "Which groups of goroutines limit how well the program scales, in the last seconds. A box is as tall as the group's share of the time, and as wide as the number of goroutines that ran during that time. Where few ran, the capacity of the other processors was lost. group=start, creator, goroutine, region, task, kind or /regexp/ groups otherwise, and takes a snapshot for that.",
	forms:      allForms,
	parameters: append(usual[:len(usual):len(usual)], "group"),
	missing:    noSource,
	collect: func(h *handler, ctx context.Context, q query) (*shown, error) {
		live, err := h.grouped(ctx, q.orDefault(), q.group, q.form == formPprof)
		if err != nil {
			return nil, err
		}
		g := live.Bottle
		if !h.opt.FilePaths {
			g = trimGraph(g)
		}
		return &shown{
			draw: func() (*picture.Drawing, error) { return picture.Draw(g, h.look(live)) },
			text: func(w io.Writer) error { return text.Write(w, g, text.Options{}) },
			json: func(w io.Writer) error { return bottle.WriteJSON(w, g) },
			profile: func() (*profile.Profile, error) {
				return pprof.Profile(g, pprof.Options{Time: live.From, File: program})
			},
		}, nil
	},
}

var contentionEndpoint = endpoint{
	name:       "contention",
	title:      "Contention",
	about:      "Who waited for locks, channels and so on in the last seconds, and who held them. Inferred from the execution trace: what cannot be known is called unattributed. Profiles have three views: view=owner (default), waiter, joined.",
	forms:      allForms,
	parameters: append(usual[:len(usual):len(usual)], "view"),
	missing:    noSource,
	collect: func(h *handler, ctx context.Context, q query) (*shown, error) {
		live, err := h.report(ctx, q.orDefault(), false)
		if err != nil {
			return nil, err
		}
		p := live.Contention
		if p == nil {
			p = &contention.Profile{Source: contention.FromTrace, Accuracy: contention.Inferred}
		}
		if !h.opt.FilePaths {
			p = trimContention(p)
		}
		return &shown{
			draw: func() (*picture.Drawing, error) {
				return picture.DrawContention(p, picture.ContentionOptions{Options: h.look(live)})
			},
			text: func(w io.Writer) error { return text.WriteContention(w, p, text.ContentionOptions{}) },
			json: func(w io.Writer) error { return contention.WriteJSON(w, p) },
			profile: func() (*profile.Profile, error) {
				return since(live.From)(pprof.Contention(p, pprof.ContentionOptions{View: q.view, File: program}))
			},
		}, nil
	},
}

var holdersEndpoint = endpoint{
	name:       "holders",
	title:      "Locks that are waited for",
	about:      "Who waits for a lock at this moment, for how long so far, and which goroutine holds it, at which call. Of live.Options.Locks it is the wrapped locks, waits of at least 10 ms; without it, or with seconds=, all locks at the end of the trace of the last seconds.",
	forms:      []form{formText, formJSON},
	parameters: usual,
	missing: func(h *handler) string {
		if h.opt.Locks == nil && h.recorder == nil {
			return "neither live.Options.Locks nor live.Options.Recorder is set"
		}
		return ""
	},
	collect: func(h *handler, ctx context.Context, q query) (*shown, error) {
		var p *contention.Profile
		if h.opt.Locks != nil && q.seconds == 0 {
			p = h.opt.Locks.Snapshot()
		} else {
			if h.recorder == nil {
				return nil, &problem{status: http.StatusNotImplemented, text: "seconds= needs a snapshot, and there is no recorder: live.Options.Recorder is not set"}
			}
			live, err := h.ofSnapshot(ctx, q.orDefault(), bottleneck.Options{Want: bottleneck.WantBottle | bottleneck.WantContention})
			if err != nil {
				return nil, err
			}
			p = live.Contention
		}
		p = &contention.Profile{Source: p.Source, Accuracy: p.Accuracy, Start: p.Start, Duration: p.Duration, Unfinished: p.Unfinished, InFlight: p.InFlight}
		if !h.opt.FilePaths {
			p = trimContention(p)
		}
		return &shown{
			text: func(w io.Writer) error { return text.WriteContention(w, p, text.ContentionOptions{}) },
			json: func(w io.Writer) error { return contention.WriteJSON(w, p) },
		}, nil
	},
}

// since returns a function that sets the start of a profile that does not have one.
func since(t time.Time) func(*profile.Profile, error) (*profile.Profile, error) {
	return func(p *profile.Profile, err error) (*profile.Profile, error) {
		if err == nil && p.TimeNanos == 0 && !t.IsZero() {
			p.TimeNanos = t.UnixNano()
		}
		return p, err
	}
}

var tasksEndpoint = endpoint{
	name:       "tasks",
	title:      "Task granularity",
	about:      "Whether tasks are too small or too large: the cycles that they execute, by class, and the lines that create them. Of a recorder of tasks it is all since the recorder was made, and with seconds= a profile for pprof of the seconds to come; else the regions in the trace of the last seconds.",
	forms:      allForms,
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
	collect: func(h *handler, ctx context.Context, q query) (*shown, error) {
		if h.tasks != nil && q.seconds > 0 {
			p, err := h.taskDelta(ctx, q)
			return &shown{profile: func() (*profile.Profile, error) { return p, nil }}, err
		}
		p, look, err := h.taskProfile(ctx, q)
		if err != nil {
			return nil, err
		}
		if !h.opt.FilePaths {
			p = trimTasks(p)
		}
		return &shown{
			draw: func() (*picture.Drawing, error) { return picture.DrawTasks(p, look) },
			text: func(w io.Writer) error { return text.WriteTasks(w, p, text.Options{}) },
			json: func(w io.Writer) error { return granularity.WriteJSON(w, p) },
			profile: func() (*profile.Profile, error) {
				return since(time.Now().Add(-p.Wall))(pprof.Tasks(p, pprof.TasksOptions{File: program}))
			},
		}, nil
	},
}

// taskProfile returns the tasks of the task recorder, or the regions of the last seconds.
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

// taskDelta returns the tasks that the task recorder measures over the given seconds.
func (h *handler) taskDelta(ctx context.Context, q query) (*profile.Profile, error) {
	if q.form != formPprof {
		return nil, &problem{status: http.StatusBadRequest, text: "seconds= makes a profile for pprof of the seconds to come: other forms show all tasks since the recorder was made, and take no seconds"}
	}
	start := time.Now()
	before, err := pprof.Tasks(h.tasks.Profile(), pprof.TasksOptions{File: program})
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
	after, err := pprof.Tasks(h.tasks.Profile(), pprof.TasksOptions{File: program})
	if err != nil {
		return nil, err
	}
	p, err := difference(before, after)
	if err == nil {
		p.TimeNanos, p.DurationNanos = start.UnixNano(), int64(time.Since(start))
	}
	return p, err
}

// difference subtracts profiles. It omits diagnoses, because the diagnosis of a class may have
// changed in between.
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

var speedupEndpoint = endpoint{
	name:       "speedup",
	title:      "Speedup stack (estimate)",
	about:      "Why N workers were not N times faster than one, in the last seconds. The same work has not been run with one worker, so the speed-up is an estimate: an upper bound if one worker does the same work at the same speed, too large by what is lost in caches and memory and by work that is only done because there are several workers. A program that mostly waits for timers or the network has none.",
	forms:      allForms[:4], // no profile
	parameters: usual,
	missing: func(h *handler) string {
		if h.recorder == nil {
			return "an estimate needs a snapshot, and there is no recorder: live.Options.Recorder is not set"
		}
		return ""
	},
	collect: func(h *handler, ctx context.Context, q query) (*shown, error) {
		live, err := h.ofSnapshot(ctx, q.orDefault(), bottleneck.Options{})
		if err != nil {
			return nil, err
		}
		if live.Speedup == nil {
			why := ""
			if live.SpeedupErr != nil {
				why = ": " + format.Clean(live.SpeedupErr.Error())
			}
			return nil, &problem{status: http.StatusServiceUnavailable, retry: 5 * time.Second, text: "there is no estimate for these seconds" + why}
		}
		stacks := []*speedup.Stack{live.Speedup}
		return &shown{
			draw: func() (*picture.Drawing, error) { return picture.DrawStacks(stacks, h.look(live)) },
			text: func(w io.Writer) error { return text.WriteStacks(w, stacks, text.Options{}) },
			json: func(w io.Writer) error { return speedup.WriteJSON(w, stacks...) },
		}, nil
	},
}

var traceEndpoint = endpoint{
	name:       "trace",
	title:      "Execution trace",
	about:      "The raw trace of the last seconds, as many as were asked for as far as the recorder keeps them, for “bottleneck graph FILE” and go tool trace. It holds names of source files as the machine that built the program had them, and the texts of the program's own logs, tasks and regions.",
	forms:      []form{formTrace},
	parameters: []string{"seconds", "format"},
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
		d = longestTime // everything available
	}
	return h.recorded(ctx, max(d, time.Nanosecond))
}
