package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/speedup"
)

func init() {
	register(&command{
		name:    "diff",
		rank:    5,
		args:    "[flags] OLD NEW",
		summary: "compare two bottle graphs or two speedup stacks",
		help:    diffHelp,
		run:     runDiff,
	})
}

const diffHelp = `Diff compares two runs: bottle graphs of traces or saved with -o FILE.json, group by group; or
speedup stacks saved as JSON, component by component.

    -group BY        which goroutines of traces share a box, as in "bottleneck graph"
    -o FILE          write a file; its form follows from the name: .svg or .png (both side by
                     side on the same scale), .json or .txt. May be given several times
    -format FORM     what goes to standard output: text, json, svg or png; text if there is
                     neither -format nor -o
    -title TEXT      the title of pictures
    -fail CONDITION  exit with status 1 and one line that says why if the condition holds.
                     Several are separated by commas, or given one by one; one is enough.
                     NAME ( < | <= | > | >= ) VALUE, where VALUE is

                         1.1x      compared with what NAME is in NEW divided by what it is in OLD
                         30, 2s    compared with what NAME is in NEW

                     and NAME is, of graphs, one of those of "bottleneck graph -fail"; of stacks,
                     speedup, remainder or the name of a component, such as sync-mutex

Examples:

    bottleneck diff before.trace after.trace
    bottleneck diff -fail 'neck-% > 1.1x, wall > 1.2x' main.json branch.json
    bottleneck diff -o diff.svg stack-main.json stack-branch.json
`

// diffFlags are the choices of the user.
type diffFlags struct {
	group  string
	opt    bottle.Options
	draw   drawing
	format string
	out    outputs
	fail   changeConditions
}

func (f *diffFlags) set() *flag.FlagSet {
	fs := flag.NewFlagSet("diff", flag.ContinueOnError)
	fs.StringVar(&f.group, "group", "function", "")
	fs.Var(&f.out, "o", "")
	fs.StringVar(&f.format, "format", "", "")
	fs.StringVar(&f.draw.title, "title", "", "")
	fs.Var(&f.fail, "fail", "")
	return fs
}

func (f *diffFlags) parse(args []string) (before, after string, err error) {
	rest, err := parseFlags(f.set(), args)
	if err != nil {
		return "", "", err
	}
	if f.opt.Group, err = bottle.ParseGrouping(f.group); err != nil {
		return "", "", usagef("%v", err)
	}
	if f.format == "" && len(f.out) == 0 {
		f.format = "text"
	}
	switch {
	case len(rest) != 2:
		return "", "", usagef("want two runs to compare, OLD and NEW; there are %d", len(rest))
	case f.format != "" && diffForms[f.format] == nil:
		return "", "", usagef("unknown form %q: want text, json, svg or png", f.format)
	}
	for _, name := range f.out {
		if diffForms[formOf(name)] == nil {
			return "", "", usagef("-o %s: want a file ending in .svg, .png, .json or .txt", name)
		}
	}
	return rest[0], rest[1], nil
}

func runDiff(ctx context.Context, std stdio, args []string) error {
	f := &diffFlags{}
	before, after, err := f.parse(args)
	if err != nil {
		return err
	}
	if f.format == "png" {
		if _, terminal := terminalOf(std.out); terminal {
			return usagef("-format png is not for terminals: write it with -o FILE.png, or into a pipe")
		}
	}
	if err := f.out.check(); err != nil {
		return err
	}
	var pair diffPair
	for i, name := range []string{before, after} {
		if pair[i], err = readSide(ctx, name, f.opt); err != nil {
			return err
		}
	}
	if (pair[0].graph == nil) != (pair[1].graph == nil) {
		return fmt.Errorf("%s is a %s, %s a %s: they cannot be compared", before, pair[0].what(), after, pair[1].what())
	}
	if err := f.fail.know(pair); err != nil {
		return err
	}
	f.draw.source = filepath.Base(before) + " and " + filepath.Base(after)
	var errs []error
	for _, name := range f.out {
		errs = append(errs, writeFile(name, func(w io.Writer) error { return diffForms[formOf(name)](w, pair, f.draw) }))
	}
	if f.format != "" {
		f.draw.terminal, _ = terminalOf(std.out)
		errs = append(errs, diffForms[f.format](std.out, pair, f.draw))
	}
	return errors.Join(append(errs, f.fail.check(pair))...)
}

// diffSide is one of the two runs: a graph or a stack.
type diffSide struct {
	graph *bottle.Graph
	stack *speedup.Stack
}

type diffPair [2]diffSide

func (s diffSide) what() string {
	if s.graph != nil {
		return "bottle graph"
	}
	return "speedup stack"
}

// readSide reads a trace, or a graph or a stack from JSON.
func readSide(ctx context.Context, name string, opt bottle.Options) (diffSide, error) {
	file, err := os.Open(name)
	if err != nil {
		return diffSide{}, fileError(name, err)
	}
	defer file.Close()
	r := bufio.NewReader(file)
	if head, _ := r.Peek(1); string(head) != "{" {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return diffSide{}, fileError(name, err)
		}
		opt.Name = name
		g, err := bottle.ReadTrace(ctx, file, opt)
		return diffSide{graph: g}, err
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return diffSide{}, fileError(name, err)
	}
	var kind struct {
		Components json.RawMessage `json:"components"`
	}
	if json.NewDecoder(bytes.NewReader(data)).Decode(&kind) == nil && kind.Components != nil {
		stacks, err := speedup.ReadJSON(bytes.NewReader(data))
		if err != nil {
			return diffSide{}, fmt.Errorf("%s: %w", name, err)
		}
		return diffSide{stack: stacks[len(stacks)-1]}, nil // of several widths, the last
	}
	g, err := bottle.ReadJSON(bytes.NewReader(data))
	if err != nil {
		return diffSide{}, fmt.Errorf("%s: %w", name, err)
	}
	return diffSide{graph: g}, nil
}

// diffForms write a pair.
var diffForms = map[string]func(w io.Writer, p diffPair, d drawing) error{
	"text": func(w io.Writer, p diffPair, d drawing) error {
		if p[0].graph != nil {
			return text.WriteDiff(w, p[0].graph, p[1].graph, d.terminal.textOptions())
		}
		return text.WriteStackDiff(w, p[0].stack, p[1].stack, d.terminal.textOptions())
	},
	"json": writeDiffJSON,
	"svg": func(w io.Writer, p diffPair, d drawing) error {
		if p[0].graph != nil {
			return picture.DiffSVG(w, p[0].graph, p[1].graph, d.picture())
		}
		return picture.StacksSVG(w, p.stacks(), d.picture())
	},
	"png": func(w io.Writer, p diffPair, d drawing) error {
		if p[0].graph != nil {
			return picture.DiffPNG(w, p[0].graph, p[1].graph, d.picture())
		}
		return picture.StacksPNG(w, p.stacks(), d.picture())
	},
}

// stacks are the two stacks with labels.
func (p diffPair) stacks() []*speedup.Stack {
	before, after := *p[0].stack, *p[1].stack
	before.Label, after.Label = "before", "after"
	return []*speedup.Stack{&before, &after}
}

// changeJSON is a group or component in a diff: times in nanoseconds, components in units of the speed-up; null where it is not there.
type changeJSON struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind,omitempty"`
	Before *float64 `json:"before"`
	After  *float64 `json:"after"`
}

// writeDiffJSON writes one object: {"what":"bottle graph", "measures":[…], "changes":[…]}.
func writeDiffJSON(w io.Writer, p diffPair, _ drawing) error {
	var out struct {
		What     string       `json:"what"`
		Measures []changeJSON `json:"measures"`
		Changes  []changeJSON `json:"changes"`
	}
	out.What = p[0].what()
	out.Measures, out.Changes = []changeJSON{}, []changeJSON{}
	if p[0].graph != nil {
		for _, m := range graphMeasures {
			before, after := m.of(p[0].graph), m.of(p[1].graph)
			out.Measures = append(out.Measures, changeJSON{Name: m.name, Before: &before, After: &after})
		}
		ns := func(d time.Duration, there bool) *float64 {
			if !there {
				return nil
			}
			f := float64(d)
			return &f
		}
		for _, c := range text.Changes(p[0].graph, p[1].graph) {
			out.Changes = append(out.Changes, changeJSON{c.Group, string(c.Kind), ns(c.Before.Share, c.InBefore), ns(c.After.Share, c.InAfter)})
		}
	} else {
		one := func(name string, before, after float64) changeJSON {
			return changeJSON{Name: name, Before: &before, After: &after}
		}
		a, b := p[0].stack, p[1].stack
		out.Measures = append(out.Measures, one("speedup", a.Speedup, b.Speedup), one("remainder", a.Remainder, b.Remainder))
		for _, c := range speedup.Delimiters() {
			if a.Components[c] != 0 || b.Components[c] != 0 {
				out.Changes = append(out.Changes, one(c.String(), a.Components[c], b.Components[c]))
			}
		}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
