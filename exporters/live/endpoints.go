package live

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/live/internal/page"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/snapshot"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// endpoint is a path below the mount point.
type endpoint struct {
	name string
	// title and about are texts for the index page.
	title, about string
	// forms are the formats, and lean those that need no Options.Full; nil means all.
	forms, lean []form
	parameters  []string
	// missing returns what the handler lacks for the endpoint, or "".
	missing func(h *handler) string
	// collect returns the data of the endpoint. It is nil for metrics and traces.
	collect func(h *handler, ctx context.Context, q query) (*page.Shown, error)
}

// endpoints lists all paths in the order of the index page.
var endpoints = []*endpoint{&graphEndpoint, &contentionEndpoint, &holdersEndpoint, &tasksEndpoint, &speedupEndpoint, &wallEndpoint, &leaksEndpoint, &traceEndpoint, &metricsEndpoint}

// shownIn returns the data in the given format.
func (h *handler) shownIn(s *page.Shown, f form) ([]byte, error) {
	var buf bytes.Buffer
	var err error
	switch f {
	case formText:
		err = s.Text(&buf)
	case formJSON:
		err = s.JSON(&buf)
	case formPprof:
		err = s.Profile(&buf)
	default:
		var d *picture.Drawing
		switch d, err = s.Draw(); {
		case err != nil:
		case f == formPNG:
			err = h.opt.PNG(&buf, d)
		default:
			err = d.SVG(&buf)
		}
	}
	return buf.Bytes(), err
}

// noFull returns why a page that needs Options.Full is not available, or "".
func noFull(h *handler) string {
	if h.opt.Full != nil {
		return ""
	}
	return "live.Options.Full is not set: set it to full.Pages of package exporters/live/full"
}

var (
	allForms = []form{formSVG, formPNG, formText, formJSON, formPprof}
	usual    = []string{"seconds", "debug", "format"} // parameters of most paths
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
	lean:       allForms[:4], // no profile
	parameters: append(usual[:len(usual):len(usual)], "group"),
	missing:    noSource,
	collect: func(h *handler, ctx context.Context, q query) (*page.Shown, error) {
		live, err := h.grouped(ctx, q.orDefault(), q.group, q.form == formPprof)
		if err != nil {
			return nil, err
		}
		g := page.Trimmed(live.Bottle)
		s := &page.Shown{
			Draw: func() (*picture.Drawing, error) { return picture.Draw(g, h.look(live)) },
			Text: func(w io.Writer) error { return text.Write(w, g, text.Options{}) },
			JSON: func(w io.Writer) error { return bottle.WriteJSON(w, g) },
		}
		if h.opt.Full != nil {
			s.Profile = h.opt.Full.Graph(g, live.From)
		}
		return s, nil
	},
}

var contentionEndpoint = endpoint{
	name:       "contention",
	title:      "Contention",
	about:      "Who waited for locks, channels and so on in the last seconds, and who held them. Inferred from the execution trace: what cannot be known is called unattributed. Profiles have three views: view=owner (default), waiter, joined.",
	forms:      allForms,
	parameters: append(usual[:len(usual):len(usual)], "view"),
	missing:    func(h *handler) string { return cmp.Or(noSource(h), noFull(h)) },
	collect: func(h *handler, ctx context.Context, q query) (*page.Shown, error) {
		live, err := h.report(ctx, q.orDefault(), false)
		if err != nil {
			return nil, err
		}
		p := live.Contention
		if p == nil {
			p = &contention.Profile{Source: contention.FromTrace, Accuracy: contention.Inferred}
		}
		return h.opt.Full.Contention(p, live.From, q.view, h.look(live)), nil
	},
}

var holdersEndpoint = endpoint{
	name:       "holders",
	title:      "Locks that are waited for",
	about:      "Who waits for a lock at this moment, for how long so far, and which goroutine holds it, since when, at which call. Of live.Options.Locks it is the wrapped locks, waits of at least 10 ms; without it, or with seconds=, all locks at the end of the trace of the last seconds.",
	forms:      []form{formText, formJSON},
	parameters: usual,
	missing: func(h *handler) string {
		if h.opt.Locks == nil && h.recorder == nil {
			return "neither live.Options.Locks nor live.Options.Recorder is set"
		}
		return noFull(h)
	},
	collect: func(h *handler, ctx context.Context, q query) (*page.Shown, error) {
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
		return h.opt.Full.Contention(p, time.Time{}, "", picture.Options{}), nil
	},
}

var tasksEndpoint = endpoint{
	name:       "tasks",
	title:      "Task granularity",
	about:      "Whether tasks are too small or too large: the cycles that they execute, by class, and the lines that create them. Of a recorder of tasks it is all since the recorder was made, and with seconds= what is measured in the seconds to come; else the regions in the trace of the last seconds.",
	forms:      allForms,
	parameters: usual,
	missing: func(h *handler) string {
		if h.tasks == nil && h.recorder == nil && h.continuous == nil {
			return "nothing is recorded: none of live.Options.Tasks, Recorder and Continuous is set"
		}
		return noFull(h)
	},
	collect: func(h *handler, ctx context.Context, q query) (*page.Shown, error) {
		p, look, err := h.taskProfile(ctx, q)
		if err != nil {
			return nil, err
		}
		return h.opt.Full.Tasks(p, look), nil
	},
}

// taskProfile returns the tasks of the task recorder, of the seconds to come if the query has
// seconds, or the regions of the last seconds.
func (h *handler) taskProfile(ctx context.Context, q query) (*granularity.Profile, picture.Options, error) {
	if h.tasks != nil {
		p, look := h.tasks.Profile(), picture.Options{Subtitle: h.opt.Title}
		if q.seconds == 0 {
			return p, look, nil
		}
		select {
		case <-time.After(q.seconds):
		case <-ctx.Done():
			return nil, look, ctx.Err()
		}
		return h.opt.Full.Since(h.tasks.Profile(), p), look, nil
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
		return noFull(h)
	},
	collect: func(h *handler, ctx context.Context, q query) (*page.Shown, error) {
		live, err := h.ofSnapshot(ctx, q.orDefault(), bottleneck.Options{})
		if err != nil {
			return nil, err
		}
		if live.Speedup == nil {
			why := ""
			if live.SpeedupErr != nil {
				why = ": " + strings.TrimPrefix(format.Clean(live.SpeedupErr.Error()), "the trace: ")
			}
			return nil, &problem{status: http.StatusServiceUnavailable, retry: 5 * time.Second, text: "there is no estimate for these seconds" + why}
		}
		return h.opt.Full.Speedup(live.Speedup, h.look(live)), nil
	},
}

var wallEndpoint = endpoint{
	name:       "wall",
	title:      "Wall-clock profile",
	about:      "Where all goroutines are, running or not, in the last seconds: every interval in the trace, and nothing is stopped. Samples carry the name of their box in the bottle graph as the label “group”.",
	forms:      []form{formPprof, formText},
	parameters: usual,
	missing: func(h *handler) string {
		if text := noFull(h); text != "" || h.recorder != nil {
			return text
		}
		return "a wall-clock profile needs a snapshot, and there is no recorder: live.Options.Recorder is not set"
	},
	collect: func(h *handler, ctx context.Context, q query) (*page.Shown, error) {
		o, show := h.opt.Full.Wall()
		live, err := h.ofSnapshot(ctx, q.orDefault(), bottleneck.Options{Want: bottleneck.WantBottle, Observers: []timeline.Observer{o}})
		if err != nil {
			return nil, err
		}
		return show(live.From, live.Covered), nil
	},
}

var leaksEndpoint = endpoint{
	name:       "leaks",
	title:      "Leaked goroutines",
	about:      "Goroutines that wait for a channel or a lock that no goroutine can reach that may still run: they never end. The runtime finds them by a garbage collection, which each request for this page takes.",
	forms:      []form{formPprof, formText},
	parameters: usual, // scrapers send seconds
	missing: func(h *handler) string {
		if text := noFull(h); text != "" {
			return text
		}
		if _, err := h.opt.Full.Leaks(); err != nil {
			return err.Error()
		}
		return ""
	},
	collect: func(h *handler, _ context.Context, _ query) (*page.Shown, error) {
		return h.opt.Full.Leaks()
	},
}

var traceEndpoint = endpoint{
	name:       "trace",
	title:      "Execution trace",
	about:      "The raw trace of the last seconds, or of as many as the recorder keeps, for “bottleneck graph FILE” and go tool trace. It holds names of source files as the machine that built the program had them, and the texts of the program's own logs, tasks and regions.",
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
	// 0 means everything available.
	return h.recorded(ctx, max(time.Nanosecond, cmp.Or(q.seconds, longestTime)))
}
