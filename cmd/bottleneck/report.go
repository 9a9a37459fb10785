package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/input"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/internal/page"
	"github.com/bottleneck-go/bottleneck/internal/report"
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
	fs.StringVar(&f.http, "http", "", "serve the page at `[HOST]:[PORT]`, to this machine only; without PORT, at a free one")
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
		if err := page.CheckLoopback(f.http); err != nil {
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
	from := &page.Reader{Group: f.grouping, Window: f.window, NoPage: !f.page(), Tracks: f.tracks}
	d, readErr := from.Read(ctx, std.in, std.progress, files)
	if d == nil || ctx.Err() != nil || !f.page() {
		return readErr
	}
	if d.Title = f.title; d.Title == "" {
		d.Title = input.Short(files[0])
	}
	var shown []string
	for _, name := range files {
		shown = append(shown, input.Short(name))
	}
	d.Source = strings.Join(shown, ", ")
	errs := append([]error{readErr}, f.pages.Write(std.err, func(w io.Writer, _ string) error { return report.Write(w, d) }))
	if f.http != "" && errors.Join(errs[1:]...) == nil {
		if readErr != nil {
			fmt.Fprintf(std.err, "bottleneck: report: %s\n", oneLine(readErr.Error()))
			errs[0] = nil // printed; the page is served nevertheless
		}
		errs = append(errs, page.Serve(ctx, std.out, std.err, f.http, d))
	}
	return errors.Join(errs...)
}

// reportForms are the forms of the files of -o.
var reportForms = output.Writings{"html", "perfetto"}

// page reports whether a page is requested, and not only the trace in another form.
func (f *reportFlags) page() bool { return f.http != "" || len(f.pages) > 0 }
