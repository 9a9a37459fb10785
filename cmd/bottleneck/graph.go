package main

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// graphFlags are the choices of the user.
type graphFlags struct {
	analysis[bottle.Graph]
	group string
	opt   bottle.Options
}

// groupHelp is what -group means.
const groupHelp = "group goroutines `BY` function, start, creator, goroutine, region, task or /regexp/, see \"bottleneck help graph\""

func (a *app) graph() *cobra.Command {
	f := &graphFlags{}
	c := a.command("graph [flags] [FILE | URL | -]", "draw the bottle graph of an execution trace", `
Graph draws the bottle graph of an execution trace: text in the terminal, or a
picture, a profile or data with -o.

The trace is a FILE, a URL, or standard input ("-", or nothing at all in a
pipe); packed with gzip or zstd, or not. A broken trace is drawn as far as it
can be read. A graph that was saved as JSON can be drawn again.

Goroutines share a box that have the same

  function   function that they were started for: the outermost that is neither
             the compiler's, nor the standard library's, nor calls several
             others by function values
  start      function of the go statement
  creator    name of the goroutine that started them
  goroutine  number: each has its own box
  region     innermost open runtime/trace region
  task       runtime/trace task
  /regexp/   match in the name by function: the first parenthesised part, or
             the whole match

Generations of the trace that -from and -to leave out are not decoded.
Goroutines that began in them are named by what they do later; for -group
creator, region or task, what is before -from is decoded.`, f.run)
	f.define(c, graphWritings, graphMeasures)
	f.to.defineTop("groups", "15 in text and pictures, else all")
	fs := c.Flags()
	fs.StringVar(&f.group, "group", "function", groupHelp)
	fs.DurationVar(&f.opt.Window, "window", 0, "one graph for each stretch of `DURATION`, such as 500ms")
	fs.BoolVar(&f.opt.Offered, "offered", false, "count goroutines that are ready as running: what the program offers to a larger machine")
	defineBounds(fs, &f.opt)
	c.Example = `  go test -bench Sort -trace trace.out && bottleneck graph trace.out
  curl -s http://localhost:6060/debug/pprof/trace?seconds=5 | bottleneck graph
  bottleneck graph -window 500ms -format json trace.out  # one object a line
  bottleneck graph -group '/^([^.]+)[.]/' trace.out      # by package
  bottleneck graph -o b.pb.gz trace.out && go tool pprof -http=: b.pb.gz
  bottleneck graph -fail 'parallelism<3,neck-%>30' trace.out`
	a.urls(c)
	a.limited(c)
	return c
}

// parse rejects what cannot be right before anything is read.
func (f *graphFlags) parse(std stdio, args []string) (source string, err error) {
	if source, err = f.input(std, args, "trace"); err != nil {
		return "", err
	}
	f.opt.Part = f.part
	if f.opt.Group, err = bottle.ParseGrouping(f.group); err != nil {
		return "", usagef("%v", err)
	}
	if f.flags.Changed("window") && f.opt.Window <= 0 {
		return "", usagef("-window %v: want a positive duration, such as 500ms", f.opt.Window)
	}
	return source, checkBounds(f.flags, f.opt)
}

// defineBounds adds -from and -to.
func defineBounds(fs *pflag.FlagSet, opt *bottle.Options) {
	fs.DurationVar(&opt.From, "from", 0, "leave out what comes before `DURATION` from the beginning of the trace, or of -generations")
	fs.DurationVar(&opt.To, "to", 0, "leave out what comes after `DURATION`")
}

// checkBounds rejects -from and -to that bound nothing.
func checkBounds(fs *pflag.FlagSet, opt bottle.Options) error {
	if opt.From < 0 {
		return usagef("-from %v: want a time from the beginning of the trace", opt.From)
	}
	if fs.Changed("to") && opt.To <= opt.From {
		return usagef("-to %v is not after -from %v", opt.To, opt.From)
	}
	return nil
}

func (f *graphFlags) run(ctx context.Context, std stdio, args []string) error {
	source, err := f.parse(std, args)
	if err != nil {
		return err
	}
	f.opt.Stacks = slices.Contains(f.to.asked(), "pprof")
	read := func(ctx context.Context, std stdio, in *input) (*bottle.Graph, error) {
		return readGraph(ctx, std, in, f.opt)
	}
	write := func(w io.Writer, form string, g *bottle.Graph, d drawing) error { return forms[form](w, g, d) }
	return f.analysis.run(ctx, std, source, read, write)
}

// readGraph reads a trace, with progress on a terminal. The graph may be there even if
// there is an error: it is then that of what could be read.
func readGraph(ctx context.Context, std stdio, in *input, opt bottle.Options) (*bottle.Graph, error) {
	return resultFrom(ctx, std, in, bn.Options{Want: bn.WantVerdict, Bottle: opt}, func(r *bn.Report) *bottle.Graph { return r.Bottle },
		func(r io.Reader) (*bottle.Graph, error) {
			g, err := readSaved(r, in.label, graphDiff, bottle.ReadJSON)
			group := opt.Group.String()
			switch {
			case err != nil:
				return nil, err
			case opt.Window != 0 || opt.From != 0 || opt.To != 0 || opt.Offered || opt.Part != timeline.Part{} || group != bottle.ByFunction.String() && group != g.GroupBy:
				return nil, usagef("-group, -window, -from, -to, -generations and -offered are for traces; %s is a graph already", in.label)
			}
			return g, nil
		})
}

// progressDelay is how long a command runs before it says what it is doing.
const progressDelay = 500 * time.Millisecond

// shownSource is what pictures call the trace: a URL, or a file without the
// folders of this machine.
func shownSource(label string) string {
	if strings.Contains(label, "://") {
		return label
	}
	return filepath.Base(label)
}
