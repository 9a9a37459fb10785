package main

import (
	"context"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/text"
)

// topFlags are the choices of the user.
type topFlags struct {
	flags    *pflag.FlagSet
	interval time.Duration
	seconds  float64
	group    string
	sort     string
	top      int
	topSet   bool
	frames   int
}

func (a *app) top() *cobra.Command {
	f := &topFlags{}
	c := a.command("top [flags] URL | FILE.json", "watch the bottle graph of a running service", `
Top shows which groups of goroutines limit a running service, again and again,
in the manner of top.

The URL is where the service has mounted package exporters/live, such as
http://localhost:6060/debug/bottleneck/. Every second, top asks for the graph of
the last seconds; a service that analyzes itself all the time
(bottleneck.Continuous) has it at once, one that records only (bottle.Recorder)
takes a snapshot each time.

A service with nothing but net/http/pprof works too: give the URL of
/debug/pprof/. Top then traces a second of every three, which costs the service
more, and reads the traces itself.

A FILE.json is a graph as "bottleneck graph -o FILE.json" writes it. It is read
again whenever it changes; the windows of one with windows are shown one after
the other.

What is shown: the share of the time of each group, as a bar and in percent; how
it has changed since the refresh before, in points of percent; the parallelism;
how many of its goroutines were running, runnable (waiting for a processor) and
blocked on average; and what blocked them most. Groups with a star lost at least
5% of the capacity. The key h shows the keys, q quits.

When the service goes away, the last graph stays, with a line that says so, and
top tries again at every refresh.`, f.run)
	fs := c.Flags()
	f.flags = fs
	fs.DurationVar(&f.interval, "interval", 0, "refresh every `DURATION`; 1s if not given, 3s for net/http/pprof")
	fs.Float64Var(&f.seconds, "seconds", 0, "each graph is about the last `N` seconds; 2 if not given, 1 for net/http/pprof")
	fs.StringVar(&f.group, "group", "function", "of net/http/pprof: "+groupHelp)
	fs.StringVar(&f.sort, "sort", "lost", "`ORDER` is "+kindsOf(text.TopSorts, ", "))
	fs.IntVar(&f.top, "top", 0, "show `N` groups and 0 all; if not given, 15 in a pipe, and as many as fit on a terminal")
	fs.IntVarP(&f.frames, "number", "n", 0, "print `N` frames and end, without keys, for pipes and files; if the output is no terminal, top prints frames until it is interrupted")
	c.Example = `  bottleneck top http://localhost:6060/debug/bottleneck/
  bottleneck top http://localhost:6060/debug/pprof/
  bottleneck top -n 3 http://localhost:6060/debug/bottleneck/ >> log`
	a.urls(c)
	a.limited(c)
	return c
}

// The shortest and the longest interval, and the longest time that a graph is about.
const (
	leastInterval = 100 * time.Millisecond
	mostInterval  = time.Hour
	mostSeconds   = 3600
)

func (f *topFlags) parse(rest []string) (source string, err error) {
	f.topSet = f.flags.Changed("top")
	switch {
	case f.flags.Changed("interval") && (f.interval < leastInterval || f.interval > mostInterval):
		return "", usagef("-interval %v: want from %v to %v", f.interval, leastInterval, mostInterval)
	case f.flags.Changed("seconds") && !(f.seconds >= 0.01 && f.seconds <= mostSeconds):
		return "", usagef("-seconds %v: want from 0.01 to %d", f.seconds, mostSeconds)
	case f.flags.Changed("number") && f.frames < 1:
		return "", usagef("-n %d: want a number of frames", f.frames)
	case f.top < 0:
		return "", usagef("-top %d: want a number of groups, or 0 for all", f.top)
	case sortOf(f.sort) == "":
		return "", usagef("-sort %q: want lost, share, parallelism, running, runnable, blocked or name", f.sort)
	case len(rest) == 0:
		return "", usagef("no service: give the URL where it has mounted exporters/live or net/http/pprof")
	}
	return oneInput(rest, "source")
}

// sortOf is an order by its name, or "".
func sortOf(name string) text.TopSort {
	for _, s := range text.TopSorts {
		if string(s) == name {
			return s
		}
	}
	return ""
}

func (f *topFlags) run(ctx context.Context, std stdio, args []string) error {
	arg, err := f.parse(args)
	if err != nil {
		return err
	}
	source, err := f.open(ctx, std, arg)
	if err != nil {
		if ctx.Err() != nil {
			return nil // that is how top ends
		}
		return err
	}
	if f.interval == 0 {
		f.interval = source.pace()
	}
	loop := newTopLoop(source, f)
	t, terminal := terminalOf(std.out)
	if !terminal || t.dumb || f.frames > 0 {
		return loop.batch(ctx, std.out, t, f.frames)
	}
	return loop.interact(ctx, std.in, std.out)
}

// open finds out what kind of source it is.
func (f *topFlags) open(ctx context.Context, std stdio, arg string) (topSource, error) {
	group, err := bottle.ParseGrouping(f.group)
	if err != nil {
		return nil, usagef("%v", err)
	}
	if !isURL(arg) {
		if arg == "-" {
			return nil, usagef("top reads a URL, or a file that changes, again and again; for standard input, run \"bottleneck graph -\"")
		}
		if f.group != "function" {
			return nil, usagef("-group is for net/http/pprof, whose traces top reads itself")
		}
		return newTopFile(arg)
	}
	u, err := url.Parse(arg)
	if err != nil || u.Host == "" {
		return nil, usagef("%q is not a URL", arg)
	}
	p := startProgress(std.err, func(time.Duration) string { return "asking " + u.Redacted() })
	defer p.stop()
	source, err := findService(ctx, u, f.seconds, bottle.Options{Group: group})
	if err != nil {
		return nil, err
	}
	if _, traces := source.(*topTraces); !traces && f.group != "function" {
		return nil, usagef("-group is for net/http/pprof, whose traces top reads itself: this service groups as it likes")
	}
	return source, nil
}
