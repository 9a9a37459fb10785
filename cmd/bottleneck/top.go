package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/artifact"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/input"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/internal/process"
	"github.com/bottleneck-go/bottleneck/internal/top"
)

// topFlags holds the flags of top.
type topFlags struct {
	flags    *pflag.FlagSet
	interval time.Duration
	seconds  float64
	group    bottle.Grouping
	top      int
	frames   int
}

func (a *app) top() *cobra.Command {
	f := &topFlags{}
	c := a.command("top [flags] URL", "watch the bottle graph of a running service", `
Top shows which groups of goroutines limit a running service, refreshed like
top.

The URL is the place where the service has mounted package exporters/live, such
as http://localhost:6060/debug/bottleneck/. A service with only net/http/pprof
works as well: give the URL of /debug/pprof/. Top then traces one second in
three, which costs the service more, and analyzes the traces itself.

Columns are the share of the time of each group; the capacity lost while it ran;
the change of the share since the last refresh; the parallelism; the mean number
of its goroutines that were running, runnable (waiting for a processor) and
blocked; and the main reason for being blocked. A star marks groups that lost at
least 5% of the capacity.

Keys are q to quit, p to pause, the arrow keys or k and j, page up and down or b
and f, home and end to scroll, s and S for the next and the previous order, 1 to
7 for order by lost, share, parallelism, running, runnable, blocked or name, the
space bar to refresh at once, and + and - to refresh more and less often.

If the service becomes unreachable, top shows the last graph with a message, and
tries again at every refresh.`, f.run)
	fs := c.Flags()
	f.flags = fs
	fs.DurationVar(&f.interval, "interval", 0, "refresh every `DURATION`; default 1s, 3s for net/http/pprof")
	flags.Seconds(fs, &f.seconds, 0, "request the last `N` seconds; default 2, 1 for net/http/pprof")
	flags.Group(fs, &f.group, "of net/http/pprof: ")
	fs.IntVar(&f.top, "top", 0, "show `N` groups, or all if 0; default 15, or as many as fit on a terminal")
	fs.IntVarP(&f.frames, "number", "n", 0, "print `N` frames and exit; without -n, output that is not a terminal gets frames until top is interrupted")
	c.Example = `  bottleneck top http://localhost:6060/debug/bottleneck/
  bottleneck top http://localhost:6060/debug/pprof/
  bottleneck top -n 3 http://localhost:6060/debug/bottleneck/ >> log`
	return a.reads(c)
}

func (f *topFlags) parse() error {
	switch {
	case f.flags.Changed("number") && f.frames < 1:
		return usagef("-n %d: want a number of frames", f.frames)
	case f.top < 0:
		return usagef("-top %d: want a number of groups, or 0 for all", f.top)
	case f.top == 0 && f.flags.Changed("top"):
		f.top = -1 // all
	}
	if f.flags.Changed("interval") {
		return flags.Between("interval", f.interval, top.LeastInterval, top.MostInterval)
	}
	return nil
}

func (f *topFlags) run(ctx context.Context, std stdio, args []string) error {
	if err := f.parse(); err != nil {
		return err
	}
	u, err := serviceURL(args)
	if err != nil {
		return err
	}
	source, err := f.open(ctx, std, u)
	if err != nil {
		if ctx.Err() != nil {
			return nil // top ends with an interrupt
		}
		return err
	}
	loop := top.New(source, cmp.Or(f.interval, source.Pace), f.top)
	t, terminal := output.TerminalOf(std.out)
	if !terminal || t.Dumb || f.frames > 0 {
		return loop.Batch(ctx, std.out, t.Options, f.frames)
	}
	keys := std.in
	if !process.OnTerminal(keys) {
		keys = nil // there are no keys
	}
	return loop.Interact(ctx, keys, std.out, t.Options)
}

// open returns the source of a URL, after a service with a wrong answer was rejected. A service
// without a graph yet is accepted.
func (f *topFlags) open(ctx context.Context, std stdio, u *url.URL) (top.Source, error) {
	source, traces := f.service(u)
	if traces {
		return source, nil
	}
	if f.group.String() != bottle.ByFunction.String() {
		return source, usagef("-group is for net/http/pprof, whose traces top reads itself: this service groups as it likes")
	}
	defer output.Progress(std.err, func(time.Duration) string { return "asking " + u.Redacted() })()
	_, err := source.Next(ctx)
	var status *input.StatusError
	if err == nil || errors.As(err, &status) && status.Status == http.StatusServiceUnavailable {
		return source, nil
	}
	return source, fmt.Errorf("%s: %w", u.Redacted(), hinted(err))
}

// topPatience is how long top waits for an answer, in addition to the time of a trace.
const topPatience = 15 * time.Second

// errNoGraph is the error for an answer that is not a graph.
var errNoGraph = errors.New("the answer is not a bottle graph")

// service returns the source of a URL. traces is set for net/http/pprof, whose traces top analyzes.
func (f *topFlags) service(u *url.URL) (s top.Source, traces bool) {
	address, traces := input.Mount(u, "/graph")
	s.Label, s.Pace = address.Redacted(), time.Second
	period := cmp.Or(f.seconds, 2)
	if traces {
		period = cmp.Or(f.seconds, 1)
		s.Pace = max(3*time.Second, 3*input.Seconds(period))
		s.Note = fmt.Sprintf("Traces of net/http/pprof, of %v each: slower, and dearer for the service.", input.Seconds(period))
		address = input.Below(address, "trace", "seconds", input.FormatSeconds(period))
	} else {
		address = input.Below(address, "graph", "format", "json", "seconds", input.FormatSeconds(period))
	}
	s.Next = func(ctx context.Context) (*bottle.Graph, error) {
		ctx, cancel := context.WithTimeout(ctx, topPatience+input.Seconds(period))
		defer cancel()
		resp, err := input.Fetch(ctx, address)
		if err != nil {
			return nil, causeOf(err)
		}
		defer resp.Body.Close()
		from, head := input.Peek(resp.Body)
		if input.HoldsJSON(head) {
			from = input.Saved(ctx, from)
		} else if !traces {
			return nil, errNoGraph
		}
		a, err := artifact.Load(ctx, &input.Source{Label: "the answer"}, from, head, bn.Options{Bottle: bottle.Options{Group: f.group}}, artifact.Graph)
		switch {
		case a.Value != nil:
			return a.Value.(*bottle.Graph), nil
		case !traces:
			err = fmt.Errorf("%w: %w", errNoGraph, err)
		}
		return nil, causeOf(err)
	}
	return s, traces
}

// causeOf returns an error without the URL, which is shown above it.
func causeOf(err error) error {
	var ue *url.Error
	if !errors.As(err, &ue) {
		return err
	}
	if ue.Timeout() {
		return errors.New("the service does not answer")
	}
	return ue.Err
}
