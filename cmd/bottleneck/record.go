package main

import (
	"context"
	"errors"
	"flag"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/memory"
)

func init() {
	register(&command{
		name:    "record",
		rank:    10,
		args:    "[flags] URL | [flags] -o FILE -- PROGRAM [arguments]",
		summary: "keep the trace of a running service, or counters of a program, in a file",
		help:    recordHelp + recordProgramHelp,
		urls:    true,
		run:     runRecord,
	})
}

const recordHelp = `Record stores the execution trace of a running service in a file, for graph, contention, tasks
and go tool trace; and, if wanted, its bottle graph beside it.

The URL is where the service has mounted package exporters/live, such as
http://localhost:6060/debug/bottleneck/, or net/http/pprof's http://localhost:6060/debug/pprof/.
The former records all the time and sends the last seconds, at once; the latter traces
the seconds to come.

    -o FILE          write a file: the trace as it is; or the bottle graph of it, if the name
                     ends in .svg, .png, .pb.gz (for go tool pprof), .json, .csv or .txt.
                     May be given several times: all are about the same seconds
    -seconds N       how many seconds of trace, 5 by default
    -max-size SIZE   end the recording when the trace is longer than that, such as 500MB or
                     10GB; 4GB by default
    -force           replace files that are there already

A recording cannot be made a second time, so files that are there already are not replaced, unless
-force says so. Files are written as a whole or not at all. But when a recording ends
early, by an interrupt or because the connection breaks off, the trace is kept as far as it
came, and the exit status is 1; graph and the others read such traces to where they end.

A service that has no trace to send, as it only has the continuous analysis, sends its
graph for .svg and the others.

Examples:

    bottleneck record -o service.trace http://localhost:6060/debug/bottleneck/
    bottleneck record -seconds 10 -o slow.trace -o slow.svg http://localhost:6060/debug/pprof/
`

// recordFlags are the choices of the user.
type recordFlags struct {
	seconds float64
	maxSize int64
	force   bool
	outputs outputs
	source  *url.URL
}

func (f *recordFlags) set() *flag.FlagSet {
	fs := flag.NewFlagSet("record", flag.ContinueOnError)
	fs.Func("o", "", f.outputs.add)
	fs.Float64Var(&f.seconds, "seconds", 5, "")
	f.maxSize = 4e9
	fs.Func("max-size", "", func(s string) (err error) {
		f.maxSize, err = memory.Parse(s)
		return err
	})
	fs.BoolVar(&f.force, "force", false, "")
	return fs
}

// parse reads the flags and the URL.
func (f *recordFlags) parse(args []string) error {
	rest, err := parseFlags(f.set(), args)
	switch {
	case err != nil:
		return err
	case len(rest) == 0:
		return usagef("no service: give the URL where it has mounted exporters/live or net/http/pprof")
	case len(f.outputs) == 0:
		return usagef("no file: say -o FILE")
	case !(f.seconds >= 0.001 && f.seconds <= mostSeconds):
		return usagef("-seconds %v: want from 0.001 to %d", f.seconds, mostSeconds)
	}
	arg, err := oneInput(rest, "service")
	if err != nil {
		return err
	}
	if f.source, err = url.Parse(arg); err != nil || !isURL(arg) || f.source.Host == "" {
		return usagef("%q is not the URL of a service", arg)
	}
	return nil
}

func runRecord(ctx context.Context, std stdio, args []string) error {
	if slices.Contains(args, "--") {
		return runRecordProgram(ctx, std, args)
	}
	f := &recordFlags{}
	if err := f.parse(args); err != nil {
		return err
	}
	r := newRecording(f)
	if err := r.check(); err != nil {
		return err
	}
	if len(r.traces) > 0 {
		return r.store(ctx, std)
	}
	g, err := readGraph(ctx, std, urlInput(f.traceURL()), bottle.Options{})
	var status *statusError
	if errors.As(err, &status) && status.status == http.StatusNotImplemented {
		g, err = r.fetchGraph(ctx, std) // it sends no traces
	}
	if g == nil || ctx.Err() != nil {
		return hinted(err)
	}
	return errors.Join(err, r.draw(std, g))
}

// traceURL is where the trace is, of a URL as people write it.
func (f *recordFlags) traceURL() *url.URL {
	return below(f.mount(), "trace", "seconds", strconv.FormatFloat(f.seconds, 'f', -1, 64))
}

// mount is the URL of the handlers.
func (f *recordFlags) mount() *url.URL {
	at := strings.TrimRight(f.source.Path, "/")
	if before, _, found := strings.Cut(at+"/", "/debug/pprof/"); found {
		return withPath(f.source, before+"/debug/pprof/")
	}
	return withPath(f.source, strings.TrimSuffix(at, "/trace")+"/")
}
