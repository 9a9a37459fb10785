// Package live shows over HTTP what limits a running service. It serves bottle graphs, contention,
// execution traces and metrics of the last seconds to browsers, curl and Prometheus. Package full,
// below this one, adds verdicts on snapshots, tasks, speedup stacks, wall-clock profiles, and
// profiles for go tool pprof and profile databases.
//
//	package main
//
//	import (
//		"context"
//		"log"
//
//		"github.com/bottleneck-go/bottleneck/bottle"
//		"github.com/bottleneck-go/bottleneck/exporters/live"
//	)
//
//	func main() {
//		var rec bottle.Recorder // keeps the last seconds of the execution trace
//		if err := rec.Start(); err != nil {
//			log.Print(err)
//		}
//		defer rec.Stop()
//		opt := live.Options{Recorder: &rec}
//		log.Print(live.ListenAndServe(context.Background(), "localhost:6060", opt))
//	}
//
// A Recorder or a Continuous is enough; a request that needs the other gets an error. Importing the
// package registers and starts nothing. The index page explains itself; docs/pages.md describes the
// paths, their parameters and errors, and docs/services.md who can see them.
//
// No answer reveals the command line, the environment, or a path of the machine: source files are
// named by package, "example.com/shop/cart.go", as with go build -trimpath. The raw trace is the
// exception (Options.NoTrace).
//
// A mounted handler costs nothing. Answers of a Continuous take 0.05 to 0.4 ms, those of a Recorder
// 0.5 to 2 µs per event (BenchmarkAnswer), and at most Options.MaxMemory of memory (TestMemory).
// TestWeight prints what a program grows by.
package live

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/internal/series"
	"github.com/bottleneck-go/bottleneck/exporters/live/internal/page"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/snapshot"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Options configures a handler. The zero value serves an index page on a listener of
// [ListenAndServe], to clients on the same machine only. The handler starts and stops nothing.
type Options struct {
	// Recorder provides the last seconds. Without it there is no raw trace, no wall-clock profile,
	// and no speedup stack.
	Recorder *bottle.Recorder
	// Continuous, a *bottleneck.Continuous, takes precedence over Recorder while it is enabled. It
	// also provides the metrics. It is an interface because not every program needs its code.
	Continuous interface {
		Enabled() bool
		Read() *bottleneck.Live
		Last(time.Duration) *bottleneck.Live
	}
	// Tasks, a *granularity.Recorder, replaces the user regions of the execution trace as the
	// source of tasks, and has metrics.
	Tasks interface{ Profile() *granularity.Profile }

	// Locks, a *contention.Collector that is on, provides the waits for wrapped locks at the
	// moment of a request for "holders".
	Locks interface{ Snapshot() *contention.Profile }
	// Captures, a *capture.Capturer, answers requests for "captures", and has metrics. It is an
	// interface because this package does not import package capture.
	Captures interface {
		http.Handler
		Counts() (stored, suppressed, failed int64)
	}

	// Token is a secret that each request must carry, as "Authorization: Bearer TOKEN" or as the
	// parameter token=TOKEN. It has at least 16 bytes; "openssl rand -hex 16" prints one. If it is
	// "", TokenFile names a file with the token, which is read for each request. If both are "",
	// and Authorize and AllowRemote are not set, the environment variables BOTTLENECK_TOKEN and
	// BOTTLENECK_TOKEN_FILE are used.
	Token, TokenFile string
	// Authorize, if not nil, alone decides on each request: an error refuses it and is the text of
	// the answer (403).
	Authorize func(*http.Request) error
	// AllowRemote admits every request if there is neither Authorize nor a token.
	AllowRemote bool

	// MaxMemory bounds the heap memory of answers, in bytes: snapshots under analysis, the memory
	// that the analysis needs, and data being sent to slow clients. A request that does not fit
	// gets 503. 0 means 256 MB, or a quarter of the memory of the machine or the cgroup if that is
	// less; a negative value means no limit. The minimum is 32 MB.
	MaxMemory int64

	// PNG, if not nil, writes pictures as PNG. Set it to png.Write of package
	// exporters/picture/png, which this package does not import because of its size.
	PNG func(io.Writer, *picture.Drawing) error

	// Full, if not nil, adds the verdict on snapshots of Recorder, all pages but graph, trace,
	// metrics and captures, and profiles for pprof. Set it to full.Pages of package
	// exporters/live/full, which this package does not import because of its size. A Continuous
	// has a verdict without it.
	Full pages

	// Title is the name of the service on the index page.
	Title string
	// LeanMetrics limits metrics to 60 series, which docs/metrics.md lists.
	LeanMetrics bool
	// Version is the label version of the metric bottleneck_build_info; "" means the version of the
	// program's module.
	Version string
	// NoTrace refuses raw traces. They contain everything that the execution tracer records: the
	// original names of source files, and the texts of the program's own logs, tasks and regions.
	NoTrace bool
}

// pages is implemented by full.Pages.
type pages interface {
	Analyze(ctx context.Context, rec io.WriterTo, opt bottleneck.Options) (*bottleneck.Report, error)
	Graph(g *bottle.Graph, from time.Time) (profile func(io.Writer) error)
	Contention(p *contention.Profile, from time.Time, view string, look picture.Options) *page.Shown
	Tasks(p *granularity.Profile, look picture.Options) *page.Shown
	Since(p, earlier *granularity.Profile) *granularity.Profile
	Speedup(s *speedup.Stack, look picture.Options) *page.Shown
	Leaks() (*page.Shown, error)
	Wall() (timeline.Observer, func(from time.Time, d time.Duration) *page.Shown)
}

// Handler returns a handler that can be mounted under any path that ends with a slash, with or
// without [http.StripPrefix]:
//
//	opt := live.Options{Recorder: recorder, TokenFile: "/run/secrets/bottleneck"}
//	mux.Handle("/debug/bottleneck/", live.Handler(opt))
//
// It refuses all requests (403) unless the options or the environment have a token, or Authorize or
// AllowRemote is set, because it cannot detect a proxy in front of it. [ListenAndServe] needs none
// of them. The handler is safe for concurrent use and needs no Close.
func Handler(opt Options) http.Handler {
	h := &handler{opt: opt, guard: newGuard(&opt), patience: patience, sendTime: sendTime, born: time.Now(), snapshot: make(chan struct{}, 1), analysis: make(chan struct{}, 1)}
	h.room.limit = opt.memory()
	h.analyze = h.analyzeSnapshot
	var source series.Source
	if opt.Recorder != nil {
		h.recorder = opt.Recorder
	}
	if c, ok := opt.Continuous.(*bottleneck.Continuous); opt.Continuous != nil && !(ok && c == nil) {
		h.continuous, source = opt.Continuous, opt.Continuous
	}
	if opt.Tasks != nil {
		h.tasks = opt.Tasks
	}
	h.series = newSeries(h, source)
	return h
}

func newSeries(h *handler, source series.Source) *series.Reader {
	return series.NewReader(source, h.tasks, series.Options{Lean: h.opt.LeanMetrics, Version: h.opt.Version, Captures: h.opt.Captures})
}

// recorder is implemented by *bottle.Recorder.
type recorder interface {
	io.WriterTo
	Enabled() bool
	Window() time.Duration
}

// continuous is implemented by *bottleneck.Continuous.
type continuous interface {
	series.Source
	Last(time.Duration) *bottleneck.Live
}

type handler struct {
	opt        Options
	guard      guard
	recorder   recorder
	continuous continuous
	tasks      series.Tasker
	series     *series.Reader
	analyze    func(context.Context, *snapshot.Buffer, time.Duration, bottleneck.Options) (*bottleneck.Report, error)
	patience   time.Duration
	sendTime   func(n int64) time.Duration
	born       time.Time
	busy       sync.Map      // names of the endpoints that collect
	snapshot   chan struct{} // a token for taking a snapshot from the recorder
	analysis   chan struct{} // a token for analyzing a snapshot
	room       room
	latest     atomic.Int64                    // size of the latest snapshot
	judged     atomic.Pointer[bottleneck.Live] // the verdict on the latest analyzed snapshot
}

// ServeHTTP answers a request. The last element of the path selects the endpoint, so the mount
// point does not matter.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header(w.Header())
	out := &onceWriter{ResponseWriter: w}
	defer func() {
		switch p := recover(); {
		case p == nil:
		case p == http.ErrAbortHandler, out.began:
			panic(http.ErrAbortHandler) // the answer is incomplete, so abort the connection
		default:
			(&problem{status: http.StatusInternalServerError, text: format.Clean(fmt.Sprintf("the collection panicked: %v", p))}).write(out)
		}
	}()
	if err := h.serve(out, r); err != nil {
		problemOf(err).write(out)
	}
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request) error {
	r, err := h.guard.admit(w, r)
	if r == nil || err != nil {
		return err
	}
	name := path.Base(r.URL.Path)
	if name == "captures" && h.opt.Captures != nil {
		h.opt.Captures.ServeHTTP(w, r)
		return nil
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return &problem{status: http.StatusMethodNotAllowed, allow: "GET, HEAD", text: "only GET and HEAD are answered here"}
	}
	switch {
	case r.URL.Path == "": // the mount point without a slash, stripped
		return h.addSlash(w, r)
	case strings.HasSuffix(r.URL.Path, "/"):
		return h.serveIndex(w, r)
	}
	i := slices.IndexFunc(endpoints, func(e *endpoint) bool { return e.name == name })
	if i < 0 {
		return &problem{status: http.StatusNotFound, text: fmt.Sprintf("there is no %q here: there are %s; the index page is at the mount point, with a slash at the end", name, h.paths())}
	}
	return h.serveEndpoint(w, r, endpoints[i])
}

// addSlash redirects a browser to the mount point with a slash, because links are relative to it.
func (h *handler) addSlash(w http.ResponseWriter, r *http.Request) error {
	at, _, _ := strings.Cut(r.RequestURI, "?")
	if at == "" || strings.HasSuffix(at, "/") { // the slash was stripped, too
		return h.serveIndex(w, r)
	}
	w.Header().Set("Location", "./"+path.Base(at)+"/")
	w.WriteHeader(http.StatusMovedPermanently)
	return nil
}

func (h *handler) paths() string {
	var names []string
	for _, e := range endpoints {
		names = append(names, e.name)
	}
	if h.opt.Captures != nil {
		names = append(names, "captures")
	}
	return strings.Join(names, ", ")
}

// serveEndpoint collects before it answers, so that errors of the collection have their own status.
func (h *handler) serveEndpoint(w http.ResponseWriter, r *http.Request, e *endpoint) error {
	q, err := parseQuery(r.URL.RawQuery, e.parameters, e.forms)
	if err != nil {
		return &problem{status: http.StatusBadRequest, text: format.Clean(err.Error())}
	}
	if q.form == "" {
		var ok bool
		if q.form, ok = choose(r.Header, h.forms(e)); !ok && !(e == &metricsEndpoint && prefersOpenMetrics(r.Header)) {
			return &problem{status: http.StatusNotAcceptable, text: fmt.Sprintf("nothing of what the client accepts is here: there are %s, by ?format=", joined(h.forms(e)))}
		}
	}
	if q.form == formPNG && h.opt.PNG == nil {
		return &problem{status: http.StatusNotImplemented, text: "this program has no PNG: use format=svg, or set live.Options.PNG to png.Write of package exporters/picture/png"}
	}
	if q.form != "" && e.missing(h) == "" && !slices.Contains(h.forms(e), q.form) {
		return &problem{status: http.StatusNotImplemented, text: "this program has no " + e.name + " as " + string(q.form) + ": " + noFull(h)}
	}
	if text := e.missing(h); text != "" {
		return &problem{status: http.StatusNotImplemented, text: text}
	}
	if e == &metricsEndpoint {
		return h.serveMetrics(w, r)
	}
	w.Header().Set("Vary", "Accept")
	if r.Method == http.MethodHead {
		h.describe(w, e, q.form)
		return nil
	}
	body, err := h.collectOne(w, r, e, q)
	if err != nil {
		return err
	}
	h.describe(w, e, q.form)
	if q.form == formSVG {
		w.Header().Set("Content-Security-Policy", policyFor(body.data, ""))
	}
	h.send(w, body)
	return nil
}

// forms returns the formats that are available for a path.
func (h *handler) forms(e *endpoint) []form {
	forms := e.forms
	if h.opt.Full == nil && e.lean != nil {
		forms = e.lean
	}
	if h.opt.PNG != nil {
		return forms
	}
	return slices.DeleteFunc(slices.Clone(forms), func(f form) bool { return f == formPNG })
}

// describe sets the headers of a format.
func (h *handler) describe(w http.ResponseWriter, e *endpoint, f form) {
	w.Header().Set("Content-Type", media[f].contentType)
	if e == &traceEndpoint && h.recorder != nil {
		// A trace holds at most this.
		w.Header().Set("Bottleneck-Window", h.recorder.Window().String())
	}
	if extension := media[f].extension; extension != "" {
		w.Header().Set("Content-Disposition", `attachment; filename="`+e.name+extension+`"`)
	}
}

// collectOne collects unless another request is collecting, within the time limit of a request.
// There is room for what it returns.
func (h *handler) collectOne(w http.ResponseWriter, r *http.Request, e *endpoint, q query) (content, error) {
	takes := time.Duration(0)
	if e == &tasksEndpoint && h.tasks != nil {
		takes = q.seconds
	}
	// Others are not queued, which would slow down a slow service further.
	if _, busy := h.busy.LoadOrStore(e.name, true); busy {
		return content{}, &problem{status: http.StatusServiceUnavailable, retry: max(takes, time.Second), text: fmt.Sprintf("another %s collection is in progress", e.name)}
	}
	defer h.busy.Delete(e.name)
	limit := takes + max(q.orDefault()/2, h.patience)
	if left, bounded := extend(w, r, limit); bounded {
		if left <= takes {
			return content{}, timeoutError(q.orDefault(), left)
		}
		limit = min(limit, left*4/5) // leave the rest for the answer
	}
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	return h.contentOf(ctx, e, q)
}

func (h *handler) contentOf(ctx context.Context, e *endpoint, q query) (content, error) {
	if e == &traceEndpoint {
		trace, err := h.trace(ctx, q)
		return content{trace: trace}, err
	}
	s, err := e.collect(h, ctx, q)
	if err != nil {
		return content{}, err
	}
	data, err := h.shownIn(s, q.form)
	if err == nil {
		err = h.room.take(int64(len(data)))
	}
	return content{data: data}, err
}

// usualTime is the default length of the period that an answer covers.
const usualTime = 5 * time.Second

func (q query) orDefault() time.Duration {
	if q.seconds > 0 {
		return q.seconds
	}
	return usualTime
}

// patience is the minimum time limit for producing an answer from collected data, for busy
// machines. The limit is half of the time that the answer covers if that is longer, so that
// repeated requests are answered in time.
const patience = 10 * time.Second

// onceWriter records whether an answer has begun.
type onceWriter struct {
	http.ResponseWriter
	began bool
}

func (w *onceWriter) WriteHeader(status int) {
	w.began = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *onceWriter) Write(p []byte) (int, error) {
	w.began = true
	return w.ResponseWriter.Write(p)
}

// Unwrap supports [http.ResponseController].
func (w *onceWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
