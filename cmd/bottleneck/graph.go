package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/markdown"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/exporters/report"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/result"
)

// graphFlags holds the flags of graph.
type graphFlags struct {
	analysis[bottle.Graph]
	opt bottle.Options
}

func (a *app) graph() *cobra.Command {
	f := &graphFlags{}
	c := a.command("graph [flags] [FILE | URL | -]...", "draw the bottle graph of an execution trace", `
Graph draws the bottle graph of an execution trace: as text in the terminal or,
with -o, as a picture, a profile or data.

The trace is a FILE, a URL, or standard input: "-", or no argument in a pipe. It
may be packed with gzip or zstd, or in an archive of "record -counters". A
broken trace is drawn up to where it can be read. A graph that was saved as JSON
can be drawn again. Several traces are drawn side by side, on the same scales
and with one color for a group in all of them.

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
	f.define(c, graphForms, &graphMeasures)
	f.to.only["title"] = append(f.to.only["title"], "html")
	f.to.defineTop("groups", "15 in text and pictures, all in other forms")
	fs := c.Flags()
	defineGroup(fs, &f.opt.Group, "")
	defineWindow(fs, &f.opt.Window, "draw one graph for each `DURATION`, such as 500ms")
	fs.BoolVar(&f.opt.Offered, "offered", false, "count runnable goroutines as running: the parallelism that the program offers a larger machine")
	defineBounds(fs, &f.opt.From, &f.opt.To, "the trace, or of -generations")
	c.Example = `  go test -bench Sort -trace trace.out && bottleneck graph trace.out
  curl -s http://localhost:6060/debug/pprof/trace?seconds=5 | bottleneck graph
  bottleneck graph -window 500ms -format json trace.out  # one object a line
  bottleneck graph -group '/^([^.]+)[.]/' trace.out      # by package
  bottleneck graph -o b.pb.gz trace.out && go tool pprof -http=: b.pb.gz
  bottleneck graph -o row.svg one.trace two.trace four.trace
  bottleneck graph -fail 'parallelism<3,neck-%>30' trace.out`
	a.urls(c)
	a.limited(c)
	return c
}

// parse rejects invalid flags before anything is read.
func (f *graphFlags) parse(std stdio, args []string) (source string, err error) {
	if source, err = f.input(std, args, "trace"); err != nil {
		return "", err
	}
	f.opt.Part = f.part
	return source, settleBounds(f.flags, &f.opt)
}

func (f *graphFlags) run(ctx context.Context, std stdio, args []string) error {
	if len(args) > 1 {
		return f.runRow(ctx, std, args)
	}
	source, err := f.parse(std, args)
	if err != nil {
		return err
	}
	f.opt.Stacks = slices.Contains(f.to.asked(), "pprof")
	return f.analysis.run(ctx, std, source, graphForms, f.reader(graphKind, bn.Options{Bottle: f.opt}))
}

// runRow draws several traces side by side.
func (f *graphFlags) runRow(ctx context.Context, std stdio, args []string) error {
	if _, err := f.parse(std, nil); err != nil {
		return err
	}
	for _, name := range []string{"window", "fail"} {
		if f.flags.Changed(name) {
			return usagef("-%s is for one trace, not %d", name, len(args))
		}
	}
	if i := slices.IndexFunc(f.to.asked(), func(form string) bool { return !rowForms.has(form) }); i >= 0 {
		return usagef("there is no %s of several graphs: want %s", f.to.asked()[i], formsIn(rowForms.has))
	}
	if at := slices.Index(args, "-"); at >= 0 && slices.Contains(args[at+1:], "-") {
		return usagef("standard input is named twice")
	}
	if err := f.to.outputs.check(); err != nil {
		return err
	}
	read := f.reader(graphKind, bn.Options{Bottle: f.opt})
	var runs []picture.Run
	var broken []error
	for _, arg := range args {
		in, err := findInput(std, arg)
		if err != nil {
			return err
		}
		g, err := read(ctx, std, in)
		if g == nil || ctx.Err() != nil {
			return err
		}
		broken = append(broken, err)
		runs = append(runs, picture.Run{Name: runName(in.label), Graph: g})
	}
	for i := range runs {
		if base := runs[i].Name; slices.ContainsFunc(runs[:i], func(r picture.Run) bool { return r.Name == base }) {
			for k := range runs {
				runs[k].Name = args[k] // with directories
			}
		}
	}
	return errors.Join(append(broken, writeRow(&f.to, std, runs))...)
}

// runName returns the caption of a run: the name of its file without the usual endings.
func runName(label string) string {
	name := shownSource(label)
	for _, ending := range []string{".zst", ".gz", ".trace", ".json", ".out"} {
		name = strings.TrimSuffix(name, ending)
	}
	return cmp.Or(name, label)
}

func writeRow(to *destination, std stdio, runs []picture.Run) error {
	return to.write(std, func(w io.Writer, form string, d drawing) error { return rowForms[form](w, runs, d) })
}

// rowForms are the forms of several graphs side by side.
var rowForms = drawn(formsOf[[]picture.Run]{
	"text": func(w io.Writer, runs []picture.Run, d drawing) error {
		names, graphs := ofRuns(runs)
		return text.WriteRow(w, names, graphs, d.text())
	},
	"json": func(w io.Writer, runs []picture.Run, d drawing) error {
		names, graphs := ofRuns(runs)
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			Runs   []string      `json:"runs"`
			Groups *result.Table `json:"groups"`
		}{names, bottle.Row(names, graphs)})
	},
	"csv": rowTable(text.TableCSV),
	"md":  rowTable(markdown.Write),
	"html": func(w io.Writer, runs []picture.Run, d drawing) error {
		p, err := picture.DrawRow(runs, d.picture())
		if err != nil {
			return err
		}
		return rowTable(func(w io.Writer, t *result.Table) error { return writePage(w, t, p) })(w, runs, d)
	},
}, func(runs []picture.Run, d drawing) (*picture.Drawing, error) {
	return picture.DrawRow(runs, d.picture())
})

func ofRuns(runs []picture.Run) (names []string, graphs []*bottle.Graph) {
	for _, r := range runs {
		names, graphs = append(names, r.Name), append(graphs, r.Graph)
	}
	return names, graphs
}

func rowTable(write func(io.Writer, *result.Table) error) func(io.Writer, []picture.Run, drawing) error {
	return func(w io.Writer, runs []picture.Run, d drawing) error {
		t := bottle.Row(ofRuns(runs))
		t.Title = "Shares of the time"
		return write(w, t.Top(d.top))
	}
}

// writePage writes a picture and its table as a page.
func writePage(w io.Writer, t *result.Table, p *picture.Drawing) error {
	var svg strings.Builder
	if err := p.SVG(&svg); err != nil {
		return err
	}
	return report.WritePicture(w, t, svg.String())
}

// readGraph reads a trace or a saved graph.
func readGraph(ctx context.Context, std stdio, in *input) (*bottle.Graph, error) {
	return readResult(ctx, std, in, graphKind, bn.Options{}, func(*bottle.Graph) error { return nil })
}

// progressDelay is the time after which a command shows progress.
const progressDelay = 500 * time.Millisecond

// shownSource returns the name of the trace in pictures: a URL, or a file name without local
// directories.
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
	"html": func(w io.Writer, g *bottle.Graph, d drawing) error {
		p, err := picture.Draw(g, d.picture())
		if err != nil {
			return err
		}
		return writePage(w, g.Top(d.top).Groups(), p)
	},
	"pprof": func(w io.Writer, g *bottle.Graph, d drawing) error {
		return pprof.Write(w, g.Top(d.top), pprof.Options{File: d.source})
	},
}, func(g *bottle.Graph, d drawing) (*picture.Drawing, error) { return picture.Draw(g, d.picture()) })

var graphMeasures = measures{
	example: "parallelism<4",
	whole:   summary(bottle.Summary(), lacksCapacity),
	parts:   "or share-%, lost-%, in-c-% or parallelism of one group, as group(NAME).share-%, by the name in the graph, short or in full.",
	part: ofPart("group", []result.Column[groupOf]{
		{Name: "share-%", Unit: result.Ratio, Value: result.Floats(func(b *groupOf) float64 { return ratio(b.Share, b.graph.Wall) })},
		{Name: "lost-%", Unit: result.Ratio, Value: func(b *groupOf) (result.Value, bool) {
			return result.Float(ratio(b.Lost, b.graph.Capacity)), b.graph.Capacity > 0 || b.graph.Wall <= 0
		}},
		{Name: "in-c-%", Unit: result.Ratio, Value: result.Floats(func(b *groupOf) float64 { return ratio(b.InC, b.graph.Wall) })},
		{Name: "parallelism", Unit: result.Number, Value: result.Floats(func(b *groupOf) float64 { return b.Parallelism })},
	}, findGroup),
}

func lacksCapacity(*bottle.Graph, string) string {
	return "lost capacity is not known, as GOMAXPROCS is not"
}

// groupOf is a box of a graph.
type groupOf struct {
	*bottle.Box
	graph *bottle.Graph
}

func ratio(d, whole time.Duration) float64 { return float64(d) / float64(max(1, whole)) }

func findGroup(g *bottle.Graph, group string) (*groupOf, error) {
	nameOf := func(b *bottle.Box) string { return b.Group }
	b, err := findNamed(g.Boxes, nameOf, "the graph has no group", group)
	if reason, short := strings.CutPrefix(group, "STW ("); err != nil && short { // as in the table
		b, err = findNamed(g.Boxes, nameOf, "the graph has no group", "stop-the-world ("+reason)
	}
	return &groupOf{b, g}, err
}
