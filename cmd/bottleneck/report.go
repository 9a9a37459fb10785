package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/exporters/perfetto"
	"github.com/bottleneck-go/bottleneck/exporters/report"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/granularity/tracetasks"
	"github.com/bottleneck-go/bottleneck/internal/access"
	"github.com/bottleneck-go/bottleneck/internal/artifact"
	"github.com/bottleneck-go/bottleneck/internal/atomicfile"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/input"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// reportFlags holds the flags of report.
type reportFlags struct {
	to       output.Destination
	pages    output.Files // of to
	tracks   []string     // files for Perfetto, which the pass over the trace writes
	http     string
	window   time.Duration
	grouping bottle.Grouping
	title    string
}

func (a *app) report() *cobra.Command {
	f := &reportFlags{}
	c := a.command("report [flags] FILE...", "write or serve a page to explore a recording in a browser", `
Report writes one page with all results of a recording: the bottle graph with a
slider over time, contention, tasks, the speedup, and counters for each
scheduling quantum. A selection in one section filters all others.

Each FILE is an execution trace, an archive of "bottleneck record -counters", or
JSON of graph, contention, tasks or speedup, which replaces that of the trace.

A page with more than 1,000,000 quanta or 64 MiB is an error: quanta are never
left out. The page that -http serves has no such limit, and has conditions and
arithmetic on counters. A .perfetto-trace is for https://ui.perfetto.dev: tracks
for groups of goroutines, the number of running goroutines, and arrows from
wakers to woken goroutines.`, f.run)
	fs := c.Flags()
	f.to.Can, f.to.Flags, f.to.Only = reportForms, fs, map[string][]string{}
	for _, name := range []string{"window", "group", "title"} {
		f.to.Only[name] = []string{"html"}
	}
	fs.FuncP("output", "o", "write `FILE`: .html is a page that needs no network, .perfetto-trace a trace for Perfetto", f.to.Add)
	fs.StringVar(&f.http, "http", "", "serve the page at `[HOST]:PORT`, to this machine only; port 0 means a free port")
	flags.Window(fs, &f.window, "the step of the slider is `DURATION`; default a hundredth of the recording")
	flags.Group(fs, &f.grouping, "")
	fs.StringVar(&f.title, "title", "", "the `TITLE` of the page")
	c.Example = `  bottleneck report trace.out -o report.html
  bottleneck report -http=localhost:0 trace.out
  bottleneck report -o report.html trace.out tasks.json stacks.json`
	return a.reads(c)
}

func (f *reportFlags) parse(files []string) error {
	switch {
	case len(files) == 0:
		return usagef("no recording: name a trace, an archive or a saved profile")
	case len(f.to.Files) == 0 && f.http == "":
		return usagef("no output: want -o FILE.html, or -http=localhost:0 to serve the page")
	case f.http != "":
		if err := checkLoopback(f.http); err != nil {
			return err
		}
	default:
		if err := f.to.Effective(); err != nil {
			return err
		}
	}
	for _, name := range f.to.Files {
		if reportForms.FormOf(name) == "html" {
			f.pages = append(f.pages, name)
		} else {
			f.tracks = append(f.tracks, name)
		}
	}
	return f.to.Files.Check()
}

func (f *reportFlags) run(ctx context.Context, std stdio, files []string) error {
	if err := f.parse(files); err != nil {
		return err
	}
	d, readErr := f.read(ctx, std, files)
	if d == nil || ctx.Err() != nil || !f.page() {
		return readErr
	}
	if d.Title = f.title; d.Title == "" {
		d.Title = shownSource(files[0])
	}
	var shown []string
	for _, name := range files {
		shown = append(shown, shownSource(name))
	}
	d.Source = strings.Join(shown, ", ")
	errs := append([]error{readErr}, f.pages.Write(std.err, func(w io.Writer, _ string) error { return report.Write(w, d) }))
	if f.http != "" && errors.Join(errs[1:]...) == nil {
		if readErr != nil {
			fmt.Fprintf(std.err, "bottleneck: report: %s\n", oneLine(readErr.Error()))
			errs[0] = nil // printed; the page is served nevertheless
		}
		errs = append(errs, serveReport(ctx, std, f.http, d))
	}
	return errors.Join(errs...)
}

// reportForms are the forms of the files of -o.
var reportForms = output.Writings{"html", "perfetto"}

// page reports whether a page is requested, and not only the trace in another form.
func (f *reportFlags) page() bool { return f.http != "" || len(f.pages) > 0 }

// reportReading fills the sections of a page from files.
type reportReading struct {
	flags *reportFlags
	data  *report.Data
	from  map[string]string // saved profile that filled a section, in place of the trace
	trace string            // trace file
}

// read reads all files. With an error, the data may be that of the part that could be read.
func (f *reportFlags) read(ctx context.Context, std stdio, files []string) (*report.Data, error) {
	r := &reportReading{flags: f, data: &report.Data{Missing: map[string]string{}}, from: map[string]string{}}
	var broken []error
	for _, name := range files {
		in, err := input.Find(std.in, name)
		if err != nil {
			return nil, err
		}
		in.Archives = true
		partly, err := input.Read(ctx, std.progress, in, func(ctx context.Context, from io.Reader, head []byte) (bool, error) {
			return r.file(ctx, in, from, head)
		})
		if err != nil && !partly {
			return nil, err
		}
		broken = append(broken, err)
	}
	if r.trace == "" && len(f.tracks) > 0 {
		return nil, usagef("there is no trace among the files: -o FILE.perfetto-trace takes one")
	}
	return r.data, errors.Join(broken...)
}

// file reads one file of any kind. With an error, partly reports whether a part was read.
func (r *reportReading) file(ctx context.Context, in *input.Source, from io.Reader, head []byte) (partly bool, err error) {
	if input.HoldsJSON(head) {
		data, err := io.ReadAll(from)
		if err != nil {
			return false, input.FileError(in.Label, err)
		}
		return false, r.json(in.Label, data)
	}
	again, size, err := input.Seekable(from)
	if err != nil {
		return false, input.FileError(in.Label, err)
	}
	if r.trace != "" {
		return false, usagef("two recordings, %s and %s: a page is about one", r.trace, in.Label)
	}
	r.trace = in.Label
	if quanta.IsArchive(head) {
		return r.archive(ctx, in, again, size)
	}
	return r.readTrace(ctx, in, again, true)
}

// archive reads the output of "bottleneck record -counters": a trace with samples.
func (r *reportReading) archive(ctx context.Context, in *input.Source, from io.ReaderAt, size int64) (partly bool, err error) {
	rec, broken := quanta.ReadArchiveAt(ctx, from, size, quanta.Options{Group: r.flags.grouping, Name: in.Label, Progress: in.Decoded})
	if rec == nil {
		return false, broken
	}
	rec.Name = shownSource(in.Label)
	r.data.Counters = rec
	if broken != nil {
		broken = fmt.Errorf("%s: %w", in.Label, broken)
	}
	trace, err := quanta.TraceIn(from, size)
	if err != nil {
		return false, errors.Join(broken, fmt.Errorf("%s: %w", in.Label, err))
	}
	if partly, err := r.readTrace(ctx, in, trace, false); err != nil {
		return partly, err
	}
	return true, broken
}

// readTrace makes all results of a trace in one pass.
func (r *reportReading) readTrace(ctx context.Context, in *input.Source, from io.Reader, counted bool) (partly bool, err error) {
	f, d := r.flags, r.data
	opt := bn.Options{Want: bn.WantInfo}
	single := bottle.NewObserver(bottle.Options{Group: bottle.ByGoroutine})
	var inWindows *tracetasks.Observer
	var rows *quanta.Observer
	if f.page() {
		opt.Want = bn.WantVerdict | bn.WantContention | bn.WantSpeedup
		opt.Bottle.Group, opt.Speedup.MultiName = f.grouping, shownSource(in.Label)
		opt.Plan = func(opt *bn.Options, info *timeline.Info) {
			window := f.window
			if window == 0 {
				window = niceWindow(info.Duration())
			}
			opt.Bottle.Window, opt.Contention.Window, opt.Speedup.Window = window, window, window
			inWindows = tracetasks.NewObserver(tracetasks.Options{Window: window})
			opt.Observers = append(opt.Observers, inWindows, single)
			if counted {
				rows = quanta.NewObserver(quanta.Options{Group: f.grouping, Name: shownSource(in.Label)})
				opt.Observers = append(opt.Observers, rows)
			}
		}
	}
	all, err := r.pass(ctx, in, from, opt, f.tracks)
	if all == nil || ctx.Err() != nil {
		return false, err
	}
	if f.page() {
		r.warn(all, err)
		if r.from[report.BottleSection] == "" {
			d.Bottle, d.Goroutines = all.Bottle, single.Graph()
		}
		if r.from[report.ContentionSection] == "" {
			d.Contention, d.ContentionWindows, d.ContentionWindow = all.Contention, all.ContentionWindows, all.ContentionWindow
		}
		switch {
		case r.from[report.TasksSection] != "":
		case len(all.Tasks.Classes) == 0:
			d.Missing[report.TasksSection] = "The trace has no regions (runtime/trace.StartRegion), which are what is a task there. Package granularity measures the tasks of pools and errgroups."
		default:
			d.Tasks = all.Tasks
			d.TaskWindows, d.TaskWindow = inWindows.Windows()
		}
		switch {
		case r.from[report.SpeedupSection] != "":
		case all.Speedup == nil:
			d.Missing[report.SpeedupSection] = "There is no speedup stack: " + all.SpeedupErr.Error() + "."
		default:
			d.Speedup = []*speedup.Stack{all.Speedup}
		}
		if rows != nil {
			rec, tooMany := rows.Recording()
			if tooMany != nil {
				d.Missing[report.CountersSection] = "There are too many scheduling quanta: " + tooMany.Error() + "."
			} else {
				d.Counters = rec
			}
		}
	}
	return true, err
}

// pass reads a trace for the page, and writes it to the Perfetto files at the same time.
func (r *reportReading) pass(ctx context.Context, in *input.Source, from io.Reader, opt bn.Options, files []string) (report *bn.Report, err error) {
	if len(files) == 0 {
		return artifact.Analyze(ctx, in, from, opt)
	}
	var missing error
	err = atomicfile.Write(files[0], func(w io.Writer) error {
		o, finish := perfetto.New(w, shownSource(in.Label))
		opt.Observers = append(opt.Observers, o)
		if report, missing = r.pass(ctx, in, from, opt, files[1:]); report == nil || ctx.Err() != nil {
			return errors.Join(missing, finish())
		}
		return finish()
	})
	switch {
	case report == nil:
		return nil, missing // not an error of the output file
	case err != nil:
		return nil, err
	}
	return report, missing
}

// warn moves general warnings from the results to the top of the page.
func (r *reportReading) warn(all *bn.Report, err error) {
	general := all.Info.Warnings(err)
	r.data.Warnings = append(r.data.Warnings, general...)
	for _, w := range []*[]string{&all.Bottle.Warnings, &all.Contention.Warnings, &all.Tasks.Warnings} {
		*w = slices.DeleteFunc(*w, func(s string) bool { return slices.Contains(general, s) })
	}
}

// niceWindow returns about a hundredth of a time, as a round number; 100 ms if the time is unknown.
func niceWindow(wall time.Duration) time.Duration {
	if wall <= 0 {
		return 100 * time.Millisecond
	}
	ten := time.Duration(math.Pow(10, math.Floor(math.Log10(float64(max(1000, wall/100))))))
	for _, n := range []time.Duration{1, 2, 5} {
		if n*ten >= wall/100 {
			return n * ten
		}
	}
	return 10 * ten
}

// json reads a saved result, which replaces that of the trace.
func (r *reportReading) json(name string, data []byte) error {
	a, err := artifact.OfJSON(name, data, artifact.Graph, artifact.Stack, artifact.Contention, artifact.Tasks)
	if err != nil {
		return err
	}
	var section string
	d := r.data
	switch v := a.Value.(type) {
	case []*speedup.Stack:
		section, d.Speedup = report.SpeedupSection, v
	case *contention.Profile:
		section, d.Contention, d.ContentionWindows = report.ContentionSection, v, nil
	case *granularity.Profile:
		section, d.Tasks, d.TaskWindows = report.TasksSection, v, nil
	case *bottle.Graph:
		section, d.Bottle, d.Goroutines = report.BottleSection, v, nil
	}
	if other := r.from[section]; other != "" {
		return usagef("%s and %s are both for the section %s", other, name, section)
	}
	r.from[section] = name
	return nil
}

// checkLoopback rejects addresses that other machines could reach.
func checkLoopback(address string) error {
	host, port, err := net.SplitHostPort(address)
	if _, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil {
		return usagef("-http %s: want [HOST]:PORT, such as localhost:8080, or :0 for a free port", address)
	}
	if host != "" && !access.LoopbackHost(host) {
		return usagef("-http %s: the page is served to this machine only; want localhost, 127.0.0.1 or [::1]", address)
	}
	return nil
}

// serveReport serves the page until the command is interrupted.
func serveReport(ctx context.Context, std stdio, address string, d *report.Data) error {
	token, err := access.RandomToken().Value()
	if err != nil {
		return err
	}
	handler, err := report.NewHandler(d, token)
	if err != nil {
		return err
	}
	if strings.HasPrefix(address, ":") {
		address = "localhost" + address
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("-http: %w", err)
	}
	host, _, _ := net.SplitHostPort(address)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	fmt.Fprintf(std.out, "http://%s/?token=%s\n", net.JoinHostPort(host, port), token)
	if _, terminal := output.TerminalOf(std.err); terminal {
		fmt.Fprintln(std.err, "Serving the page to browsers that open this URL; interrupt (ctrl-C) to end.")
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("-http: %w", err)
	}
	return nil // serving ends with an interrupt
}
