package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/counters/query"
	"github.com/bottleneck-go/bottleneck/exporters/report"
)

func init() {
	register(&command{
		name:    "report",
		rank:    8,
		args:    "[flags] FILE...",
		summary: "make or serve a page to explore a recording in a browser",
		help:    reportHelp,
		urls:    true,
		reads:   true,
		run:     runReport,
	})
}

const reportHelp = `Report puts all that is known of a recording on one page: the bottle graph with a slider over
time, who waited for whom, tasks, what keeps the program from scaling, and counters for each
scheduling quantum. What is selected in one of them filters all others.

Each FILE is an execution trace, an archive of "bottleneck record -counters", or what graph,
contention, tasks or speedup have saved as JSON; also a URL, or "-" for standard input. Each
fills the sections that it can; a saved profile takes the place of what a trace would tell.

    -o FILE.html     write one file that needs no network. It is refused where it would have
                     more than 1,000,000 quanta or 64 MiB: nothing is ever left out
    -o FILE.perfetto-trace
                     write the trace for https://ui.perfetto.dev instead: tracks for groups of
                     goroutines, how many run, and arrows from who woke to whom
    -http HOST:PORT  serve the page instead, for recordings of any size, and with conditions and
                     arithmetic on counters, which a file does not have. HOST must be this
                     machine (localhost, the default); port 0 takes a free one. The address is
                     printed. Only requests from this machine are answered
    -window DURATION the stretches of the slider; by default a hundredth of the recording
    -group BY        which goroutines share a box: function, start, creator, region, task or /regexp/,
                     as in "bottleneck help graph"
    -from DURATION   leave out quanta, and the part of the graph, before that time
    -to DURATION     or after that one. Waits and tasks are those of the windows (see -window)
                     that this time touches, and the speed-up is always of the whole recording
    -only FILTER     keep only the quanta for which a condition holds, such as
                     'group =~ "worker" && duration > 10us'
    -workers WHO     the workers of the speed-up, as in "bottleneck help speedup"
    -title TEXT      what the page calls the recording

Examples:

    bottleneck report trace.out -o report.html
    bottleneck report -http=localhost:0 trace.out
    bottleneck report -o report.html trace.out tasks.json stacks.json
`

// reportFlags are the choices of the user.
type reportFlags struct {
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

func (f *reportFlags) set() *flag.FlagSet {
	fs := flag.NewFlagSet("report", flag.ContinueOnError)
	fs.Func("o", "", f.add)
	fs.StringVar(&f.http, "http", "", "")
	fs.DurationVar(&f.window, "window", 0, "")
	fs.DurationVar(&f.from, "from", 0, "")
	fs.DurationVar(&f.to, "to", 0, "")
	fs.StringVar(&f.group, "group", "function", "")
	fs.StringVar(&f.only, "only", "", "")
	fs.StringVar(&f.workers, "workers", "auto", "")
	fs.StringVar(&f.title, "title", "", "")
	return fs
}

// add is what -o does.
func (f *reportFlags) add(name string) error {
	if reportFormOf(name) == "" {
		return errors.New("its form follows from its name: want a file ending in " + reportEndings)
	}
	return f.outputs.add(name)
}

func (f *reportFlags) parse(args []string) (files []string, err error) {
	fs := f.set()
	if files, err = parseFlags(fs, args); err != nil {
		return nil, err
	}
	if f.grouping, err = bottle.ParseGrouping(f.group); err != nil {
		return nil, usagef("%v", err)
	}
	if f.filter, err = query.ParseFilter(f.only); err != nil {
		return nil, usagef("-only: %v", err)
	}
	switch {
	case len(files) == 0:
		return nil, usagef("no recording: name a trace, an archive or a saved profile")
	case len(f.outputs) == 0 && f.http == "":
		return nil, usagef("say where the page goes: -o FILE.html, or -http=localhost:0 to serve it")
	case f.window < 0:
		return nil, usagef("-window %v: want a positive duration, such as 100ms", f.window)
	case f.from < 0:
		return nil, usagef("-from %v: want a time from the beginning of the recording", f.from)
	case f.to != 0 && f.to <= f.from:
		return nil, usagef("-to %v is not after -from %v", f.to, f.from)
	case f.http != "":
		if err := checkLoopback(f.http); err != nil {
			return nil, err
		}
	case !f.page():
		fs.Visit(func(fl *flag.Flag) {
			if err == nil && fl.Name != "o" {
				err = usagef("-%s is for the page, and none is written: add -o FILE.html, or leave it out", fl.Name)
			}
		})
	}
	return files, err
}

func runReport(ctx context.Context, std stdio, args []string) error {
	f := &reportFlags{}
	files, err := f.parse(args)
	if err != nil {
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
