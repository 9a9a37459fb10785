package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/counters/query"
	"github.com/bottleneck-go/bottleneck/exporters/report"
)

// reportFlags are the choices of the user.
type reportFlags struct {
	flags    *pflag.FlagSet
	outputs  outputs
	http     string
	window   time.Duration
	from, to time.Duration
	group    string
	grouping bottle.Grouping
	only     string
	filter   *query.Filter
	workers  string
	title    string
}

func (a *app) report() *cobra.Command {
	f := &reportFlags{}
	c := a.command("report [flags] FILE...", "make or serve a page to explore a recording in a browser", `
Report puts all that is known of a recording on one page: the bottle graph with
a slider over time, who waited for whom, tasks, what keeps the program from
scaling, and counters for each scheduling quantum. What is selected in one of
them filters all others.

Each FILE is an execution trace, an archive of "bottleneck record -counters", or
what graph, contention, tasks or speedup have saved as JSON; also a URL, or "-"
for standard input. Each fills the sections that it can; a saved profile takes
the place of what a trace would tell.

A page in a file is refused where it would have more than 1,000,000 quanta or 64
MiB: nothing is ever left out. The page that -http serves is for recordings of
any size, and has conditions and arithmetic on counters. Waits and tasks of
-from and -to are those of the windows that this time touches, and the speed-up
is always of the whole recording. A .perfetto-trace is for
https://ui.perfetto.dev: tracks for groups of goroutines, how many run, and
arrows from who woke to whom.`, f.run)
	fs := c.Flags()
	f.flags = fs
	fs.FuncP("output", "o", "write `FILE`: .html is a page that needs no network, .perfetto-trace the trace for another viewer", f.add)
	fs.StringVar(&f.http, "http", "", "serve the page at `[HOST]:PORT` of this machine, to requests from this machine only; port 0 is a free one")
	fs.DurationVar(&f.window, "window", 0, "the slider has stretches of `DURATION`; if not given, of a hundredth of the recording")
	fs.DurationVar(&f.from, "from", 0, "leave out quanta, and the part of the graph, before `DURATION`")
	fs.DurationVar(&f.to, "to", 0, "leave out quanta, and the part of the graph, after `DURATION`")
	fs.StringVar(&f.group, "group", "function", groupHelp)
	fs.StringVar(&f.only, "only", "", "keep only the quanta for which `CONDITION` holds, such as 'group =~ \"worker\" && duration > 10us'")
	fs.StringVar(&f.workers, "workers", "auto", "`WHO` the workers of the speed-up are, see \"bottleneck help speedup\"")
	fs.StringVar(&f.title, "title", "", "the page calls the recording `TITLE`")
	c.Example = `  bottleneck report trace.out -o report.html
  bottleneck report -http=localhost:0 trace.out
  bottleneck report -o report.html trace.out tasks.json stacks.json`
	a.urls(c)
	a.limited(c)
	return c
}

// add is what -o does.
func (f *reportFlags) add(name string) error {
	if reportFormOf(name) == "" {
		return errors.New("its form follows from its name: want a file ending in " + reportEndings)
	}
	return f.outputs.add(name)
}

func (f *reportFlags) parse(files []string) (err error) {
	if f.grouping, err = bottle.ParseGrouping(f.group); err != nil {
		return usagef("%v", err)
	}
	if f.filter, err = query.ParseFilter(f.only); err != nil {
		return usagef("-only: %v", err)
	}
	switch {
	case len(files) == 0:
		return usagef("no recording: name a trace, an archive or a saved profile")
	case len(f.outputs) == 0 && f.http == "":
		return usagef("say where the page goes: -o FILE.html, or -http=localhost:0 to serve it")
	case f.window < 0:
		return usagef("-window %v: want a positive duration, such as 100ms", f.window)
	case f.from < 0:
		return usagef("-from %v: want a time from the beginning of the recording", f.from)
	case f.to != 0 && f.to <= f.from:
		return usagef("-to %v is not after -from %v", f.to, f.from)
	case f.http != "":
		return checkLoopback(f.http)
	case !f.page():
		f.flags.Visit(func(fl *pflag.Flag) {
			if err == nil && f.isOwn(fl) {
				err = usagef("-%s is for the page, and none is written: add -o FILE.html, or leave it out", fl.Name)
			}
		})
	}
	return err
}

// isOwn reports whether a flag is for the page.
func (f *reportFlags) isOwn(fl *pflag.Flag) bool {
	return !slices.Contains([]string{"output", "header", "token-file", "memory"}, fl.Name)
}

func (f *reportFlags) run(ctx context.Context, std stdio, files []string) error {
	if err := f.parse(files); err != nil {
		return err
	}
	if err := f.outputs.check(); err != nil {
		return err
	}
	d, readErr := f.read(ctx, std, files)
	if d == nil || ctx.Err() != nil || !f.page() {
		return readErr
	}
	if d.Title = f.title; d.Title == "" {
		d.Title = shownSource(files[0])
	}
	d.Source = strings.Join(shownSources(files), ", ")
	errs := []error{readErr}
	for _, name := range f.outputs {
		if reportFormOf(name) == perfettoForm {
			continue // written while the trace was read
		}
		err := writeFile(name, func(w io.Writer) error { return reportForms[reportFormOf(name)](w, d) })
		tellWritten(std, name, err)
		errs = append(errs, err)
	}
	if f.http != "" && errors.Join(errs[1:]...) == nil {
		if readErr != nil {
			fmt.Fprintf(std.err, "bottleneck: %s\n", oneLine(readErr.Error()))
			errs[0] = nil // it has been told, and the page is served all the same
		}
		errs = append(errs, serveReport(ctx, std, f.http, d))
	}
	return errors.Join(errs...)
}

// perfettoForm is the form of files for the viewer of Perfetto.
const perfettoForm = "perfetto-trace"

// perfetto returns the files of that form.
func (f *reportFlags) perfetto() []string {
	return slices.DeleteFunc(slices.Clone(f.outputs), func(name string) bool { return reportFormOf(name) != perfettoForm })
}

// page tells that a page is wanted, and not only the trace in another form.
func (f *reportFlags) page() bool {
	return f.http != "" || len(f.perfetto()) < len(f.outputs)
}

func shownSources(files []string) (out []string) {
	for _, name := range files {
		out = append(out, shownSource(name))
	}
	return out
}

// reportForms are the forms of the files of -o.
var reportForms = map[string]func(io.Writer, *report.Data) error{
	"html": func(w io.Writer, d *report.Data) error { return report.Write(w, d, report.Options{}) },
}

const reportEndings = ".html or .perfetto-trace"

// reportFormOf is the form of a file by its name, or "".
func reportFormOf(name string) string {
	form := strings.TrimPrefix(strings.ToLower(filepath.Ext(name)), ".")
	if form == "htm" {
		form = "html"
	}
	if form != perfettoForm && reportForms[form] == nil {
		return ""
	}
	return form
}
