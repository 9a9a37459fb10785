package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/artifact"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/input"
	"github.com/bottleneck-go/bottleneck/internal/measures"
	"github.com/bottleneck-go/bottleneck/internal/output"
)

// graphFlags holds the flags of graph.
type graphFlags struct{ analysis }

func (a *app) graph() *cobra.Command {
	f := &graphFlags{analysis{kinds: []*artifact.Kind{artifact.Graph}}}
	c := a.command("graph [flags] [FILE | URL | -]...", "draw the bottle graph of an execution trace", `
Graph draws the bottle graph of an execution trace: as text in the terminal or,
with -o, as a picture, a profile or data. Several traces are drawn side by side,
on the same scales and with one color for a group in all of them.

Goroutines share a box if they have the same BY:

  function   function that they run: the outermost one that is not in the
             runtime or the standard library, and does not call several others
             by function values
  start      function of the go statement
  creator    name of the goroutine that started them
  goroutine  number: each goroutine has its own box
  region     innermost open region of runtime/trace
  task       task of runtime/trace
  kind       kind: application, collector, runtime or tracer
  /regexp/   match in the name by function: the first parenthesized group, or
             the whole match

Generations of the trace outside of -from and -to are not decoded. Goroutines
that started in one of them are named by what they do later. For -group creator,
region or task, everything before -from is decoded.`, f.run)
	f.define(c, output.GraphForms, &measures.Graph)
	f.to.DefineTop("groups", "15 in text and pictures, all in other forms")
	fs, opt := c.Flags(), &f.opt.Bottle
	flags.Group(fs, &opt.Group, "")
	flags.Window(fs, &opt.Window, "draw one graph for each `DURATION`, such as 500ms")
	fs.BoolVar(&opt.Collections, "collections", false, "draw one graph for the time from each garbage collection to the next")
	fs.BoolVar(&opt.Offered, "offered", false, "count runnable goroutines as running: the parallelism that the program offers a larger machine")
	flags.Bounds(fs, &opt.From, &opt.To)
	c.Example = `  go test -bench Sort -trace trace.out && bottleneck graph trace.out
  curl -s http://localhost:6060/debug/pprof/trace?seconds=5 | bottleneck graph
  bottleneck graph -group '/^([^.]+)[.]/' trace.out      # by package
  bottleneck graph -o b.pb.gz trace.out && go tool pprof -http=: b.pb.gz
  bottleneck graph -o row.svg one.trace two.trace four.trace
  bottleneck graph -fail 'parallelism<3,neck-%>30' trace.out`
	return a.reads(c)
}

func (f *graphFlags) run(ctx context.Context, std stdio, args []string) error {
	if len(args) > 1 {
		return f.runRow(ctx, std, args)
	}
	return f.analysis.run(ctx, std, args)
}

// runRow draws several traces side by side.
func (f *graphFlags) runRow(ctx context.Context, std stdio, args []string) error {
	for _, name := range []string{"window", "collections", "fail"} {
		if f.flags.Changed(name) {
			return usagef("-%s is for one trace, not %d", name, len(args))
		}
	}
	if err := f.settle(std); err != nil {
		return err
	}
	if err := cmp.Or(f.to.Supports(output.RowForms, "several graphs"), onceStdin(args)); err != nil {
		return err
	}
	var names []string
	var graphs []*bottle.Graph
	var broken []error
	for _, arg := range args {
		in, err := input.Find(std.in, arg)
		if err != nil {
			return err
		}
		read, err := artifact.Read(ctx, std.progress, in, f.opt, artifact.Graph)
		if read.Value == nil || ctx.Err() != nil {
			return err
		}
		if err := rejectTraceFlags(f.flags, read); err != nil {
			return err
		}
		broken = append(broken, err)
		names, graphs = append(names, runName(in.Label)), append(graphs, read.Value.(*bottle.Graph))
	}
	for i := range names {
		if slices.Contains(names[:i], names[i]) {
			names = args // with directories
			break
		}
	}
	return errors.Join(append(broken, f.to.Write(std.out, std.err, output.Row{Names: names, Graphs: graphs}, output.RowForms))...)
}

// runName returns the caption of a run: the name of its file without the usual endings.
func runName(label string) string {
	name := input.Short(label)
	for _, ending := range []string{".zst", ".gz", ".trace", ".json", ".out"} {
		name = strings.TrimSuffix(name, ending)
	}
	return cmp.Or(name, label)
}
