package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/counters"
	"github.com/bottleneck-go/bottleneck/internal/memory"
)

// recordFlags are the choices of the user.
type recordFlags struct {
	flags   *pflag.FlagSet
	outputs outputs
	force   bool
	seconds float64 // of a service, as is what follows
	maxSize int64
	source  *url.URL
	programFlags
}

func (a *app) record() *cobra.Command {
	f := &recordFlags{maxSize: 4e9}
	var c *cobra.Command
	c = a.command("record [flags] URL | [flags] -o FILE -- PROGRAM [arguments]", "keep the trace of a service, or counters of a program, in a file", `
Record stores the execution trace of a running service in a file, for graph,
contention, tasks and go tool trace; and, if wanted, its bottle graph beside it.

The URL is where the service has mounted package exporters/live, such as
http://localhost:6060/debug/bottleneck/, or net/http/pprof's
http://localhost:6060/debug/pprof/. The former records all the time and sends
the last seconds, at once; the latter traces the seconds to come. A service that
has no trace to send, as it only has the continuous analysis, sends its graph
for .svg and the others.

A recording cannot be made a second time, so files that are there already are
not replaced, unless -force says so. Files are written as a whole or not at all.
But when a recording ends early, by an interrupt or because the connection
breaks off, the trace is kept as far as it came, and the exit status is 1; graph
and the others read such traces to where they end.

Record runs a program as well, and counts what its threads do from the first
instruction on. The file is then an archive of the program's execution trace and
of what was counted, for "bottleneck report". The program must take the trace:
it calls counters.FromEnvironment at the beginning of its main, or serves it,
see -trace-url. What the machine refuses to count is told, with the reason, and
the rest is recorded. The exit status is that of the program, if that is not 0.
An interrupt is the program's business: what it wrote is kept.`, func(ctx context.Context, std stdio, args []string) error {
		if dash := c.ArgsLenAtDash(); dash >= 0 {
			return f.runProgram(ctx, std, args[:dash], args[dash:])
		}
		return f.run(ctx, std, args)
	})
	fs := c.Flags()
	f.flags = fs
	fs.FuncP("output", "o", "write `FILE`: the trace or archive as it is, or the bottle graph of it if the name ends in "+formsIn(graphForms.has).endings()+"; of a service, may be given several times", f.outputs.add)
	fs.BoolVar(&f.force, "force", false, "replace files that are there already")
	fs.Float64Var(&f.seconds, "seconds", 5, "of a service: take `N` seconds of trace")
	fs.Func("max-size", "of a service: end the recording when the trace is longer than `SIZE`, such as 500MB or 10GB; 4GB if not given", func(s string) (err error) {
		f.maxSize, err = memory.Parse(s)
		return err
	})
	fs.StringVar(&f.counters, "counters", "default", "of a program: count `LIST`, separated by commas: events of perf list, rNNN for a raw one, device/event such as msr/tsc; default is "+strings.Join(counters.DefaultCounters(), ", "))
	fs.StringVar(&f.serves, "trace-url", "", "of a program: it serves its trace at `URL`, which is asked for as soon as it answers, and what is counted ends with it")
	fs.DurationVar(&f.period, "period", time.Millisecond, "of a program: read counters on a thread that runs every `DURATION`")
	c.Example = `  bottleneck record -o service.trace http://localhost:6060/debug/bottleneck/
  bottleneck record -seconds 10 -o slow.trace -o slow.svg \
          http://localhost:6060/debug/pprof/
  bottleneck record -counters cycles,instructions,faults -o FILE -- PROGRAM`
	a.urls(c)
	return c
}

// without rejects flags that are for the other sort of recording.
func (f *recordFlags) without(what string, others ...string) error {
	for _, name := range others {
		if f.flags.Changed(name) {
			return usagef("unknown flag -%s of %s", name, what)
		}
	}
	return nil
}

// parse checks the flags and reads the URL.
func (f *recordFlags) parse(rest []string) error {
	if err := f.without("a service", "counters", "trace-url", "period"); err != nil {
		return err
	}
	switch {
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

func (f *recordFlags) run(ctx context.Context, std stdio, args []string) error {
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
