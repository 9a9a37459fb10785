package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/markdown"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/result"
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
	f.define(c, graphForms, graphMeasures)
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
	return f.analysis.run(ctx, std, source, read, graphForms)
}

// readGraph reads a trace, with progress on a terminal. The graph may be there even if
// there is an error: it is then that of what could be read.
func readGraph(ctx context.Context, std stdio, in *input, opt bottle.Options) (*bottle.Graph, error) {
	return resultFrom(ctx, std, in, bn.Options{Want: bn.WantVerdict, Bottle: opt}, func(r *bn.Report) *bottle.Graph { return r.Bottle },
		func(r io.Reader) (*bottle.Graph, error) {
			g, err := readSaved(r, in.label, graphKind)
			group := opt.Group.String()
			switch {
			case err != nil:
				return nil, err
			case opt.Window != 0 || opt.From != 0 || opt.To != 0 || opt.Offered || opt.Part != timeline.Part{} || group != bottle.ByFunction.String() && group != g.GroupBy:
				return nil, usagef("-group, -window, -from, -to, -generations, -during, -outside and -offered are for traces; %s is a graph already", in.label)
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

// graphForms are the forms of graphs.
var graphForms = drawn(formsOf[*bottle.Graph]{
	"text": func(w io.Writer, g *bottle.Graph, d drawing) error { return text.Write(w, g, d.text()) },
	"json": func(w io.Writer, g *bottle.Graph, d drawing) error { return bottle.WriteJSON(w, g.Top(d.top)) },
	"csv":  func(w io.Writer, g *bottle.Graph, d drawing) error { return text.TableCSV(w, g.Top(d.top).Table()) },
	"md":   func(w io.Writer, g *bottle.Graph, d drawing) error { return markdown.Write(w, g.Top(d.top).Groups()) },
	"pprof": func(w io.Writer, g *bottle.Graph, d drawing) error {
		return pprof.Write(w, g.Top(d.top), pprof.Options{File: d.source})
	},
}, func(g *bottle.Graph, d drawing) (*picture.Drawing, error) { return picture.Draw(g, d.picture()) })

var graphMeasures = measures[*bottle.Graph]{
	example: "parallelism<4",
	whole: []measured[*bottle.Graph]{
		measuring("parallelism", result.Number, "mean number of goroutines that ran at once, idle time included", always((*bottle.Graph).MeanParallelism)),
		measuring("lost-%", result.Ratio, "the part of the capacity, GOMAXPROCS × time, that was not used", lostPercent),
		measuring("neck-%", result.Ratio, "the same without idle time: what was lost while something ran", neckPercent),
		measuring("idle-%", result.Ratio, "the part of the time in which nothing ran", always(func(g *bottle.Graph) float64 { return percent(g.Idle, g.Wall) })),
		measuring("gc-%", result.Ratio, "the garbage collector's part of the time", always(gcPercent)),
		measuring("in-c-%", result.Ratio, "the time of all goroutines in C code, in parts of the whole time: 200 where two were there all the time", always(func(g *bottle.Graph) float64 { all, _ := g.InC(); return percent(all, g.Wall) })),
		measuring("wall", result.Duration, "the whole time, as a duration: wall>2s", always(func(g *bottle.Graph) float64 { return float64(g.Wall) })),
	},
	parts: "or share-%, lost-%, in-c-% or parallelism of one group, as group(NAME).share-%, by the name in the graph, short or in full.",
	part:  ofPart("group", []measure{{name: "share-%", unit: result.Ratio}, {name: "lost-%", unit: result.Ratio}, {name: "in-c-%", unit: result.Ratio}, {name: "parallelism", unit: result.Number}}, groupMeasure),
}

func neckPercent(g *bottle.Graph) (float64, error) { return ofCapacity(g, g.Lost()-g.IdleLost) }

func lostPercent(g *bottle.Graph) (float64, error) { return ofCapacity(g, g.Lost()) }

// ofCapacity is a part of the capacity in percent.
func ofCapacity(g *bottle.Graph, d time.Duration) (float64, error) {
	if g.Capacity == 0 && g.Wall > 0 {
		return 0, errors.New("lost capacity is not known, as GOMAXPROCS is not")
	}
	return percent(d, g.Capacity), nil
}

func gcPercent(g *bottle.Graph) float64 {
	var d time.Duration
	for i := range g.Boxes {
		if g.Boxes[i].Kind == bottle.GC {
			d += g.Boxes[i].Share
		}
	}
	return percent(d, g.Wall)
}

func groupMeasure(g *bottle.Graph, group string, m measure) (float64, error) {
	nameOf := func(b *bottle.Box) string { return b.Group }
	b, err := findNamed(g.Boxes, nameOf, "the graph has no group", group)
	if reason, short := strings.CutPrefix(group, "STW ("); err != nil && short { // so the table calls it
		b, err = findNamed(g.Boxes, nameOf, "the graph has no group", "stop-the-world ("+reason)
	}
	switch {
	case err != nil:
		return 0, err
	case m.name == "lost-%":
		return ofCapacity(g, b.Lost)
	case m.name == "in-c-%":
		return percent(b.InC, g.Wall), nil
	case m.unit == result.Ratio:
		return percent(b.Share, g.Wall), nil
	}
	return b.Parallelism, nil
}
