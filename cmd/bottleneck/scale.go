package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// scaleFlags are the choices of the user.
type scaleFlags struct {
	speedupFlags
	cpu     string
	widths  []int
	count   int
	dir     string
	verbose bool
	command []string
}

func (a *app) scale() *cobra.Command {
	f := &scaleFlags{}
	var c *cobra.Command
	c = a.command("scale [flags] -- COMMAND [arguments]", "run a benchmark or program on 1, 2, 4 processors and compare", `
Scale runs a command at several values of GOMAXPROCS under the execution tracer,
several times each, takes for each value the run with the median time, and draws
speedup stacks and bottle graphs of them; the graphs with -format text. The
interval of the speed-up over the runs is shown; if it is wide, the stack is
marked as disturbed.

The command is one of

  go test -run=^$ -bench=NAME [flags] PACKAGE
            one benchmark. It is first run without a trace to find out how often
            its loop runs, and then always with that number: the work must be
            the same
  X.test [-test.…]
            a test binary, likewise
  PROGRAM … {trace} …
            any other program that writes its execution trace to a file that an
            argument names: {trace} stands for that file, {cpu} for the width

GOMAXPROCS is set in its environment, or by -cpu of the test. On Linux, threads
that wait for a core are watched: a run for which other programs took processors
away is marked as disturbed.`, func(ctx context.Context, std stdio, args []string) error {
		return f.run(ctx, std, args, c.ArgsLenAtDash())
	})
	f.define(c)
	fs := c.Flags()
	fs.StringVar(&f.cpu, "cpu", defaultWidths(), "the `WIDTHS`: the run on 1 is what the others are compared with; without it, stacks are estimates")
	fs.IntVar(&f.count, "count", 3, "run `N` times at each width")
	fs.StringVar(&f.dir, "dir", "", "write stack.svg and stack.json into `DIR`, and of the run that was taken for each width graph-N.svg and trace-N.out")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "show what the command prints")
	c.Example = `  bottleneck scale -cpu 1,2,4 -- go test -run='^$' -bench=Sort ./pkg
  bottleneck scale -dir scaling -count 5 -- ./render -trace={trace} scene.json`
	a.limited(c)
	return c
}

// parse takes the command from what follows "--".
func (f *scaleFlags) parse(args []string, dash int) (err error) {
	if dash >= 0 {
		args, f.command = args[:dash], args[dash:]
	}
	if f.widths, err = parseWidths(f.cpu); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	switch {
	case len(args) > 0:
		return usagef("unexpected argument %q: the command follows after --", args[0])
	case len(f.command) == 0:
		return usagef("no command: it follows after --, as in -- go test -run='^$' -bench=Sort .")
	case f.count < 1 || f.count > 1000:
		return usagef("-count %d: want from 1 to 1000 runs at each width", f.count)
	}
	return nil
}

// parseWidths reads the list of -cpu. The result is sorted.
func parseWidths(list string) (widths []int, err error) {
	for field := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		switch {
		case err != nil || n < 1 || n > 1<<14:
			return nil, usagef("-cpu %s: %q is not a number of processors", list, field)
		case slices.Contains(widths, n):
			return nil, usagef("-cpu %s: %d is given twice", list, n)
		}
		widths = append(widths, n)
	}
	slices.Sort(widths)
	return widths, nil
}

func (f *scaleFlags) run(ctx context.Context, std stdio, args []string, dash int) (err error) {
	if err := f.parse(args, dash); err != nil {
		return err
	}
	if f.dir != "" {
		delete(f.out.only, "title") // stack.svg has one
	}
	if err := f.out.check(std); err != nil {
		return err
	}
	target, err := newTarget(f.command)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "bottleneck-scale-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if f.dir != "" {
		if err := os.MkdirAll(f.dir, 0o777); err != nil {
			return writeError(f.dir, err)
		}
	}
	r := &scaler{flags: f, std: std, target: target, temp: temp}
	taken, err := r.measure(ctx)
	if err != nil {
		return err
	}
	return f.show(ctx, std, taken)
}

// show makes the stacks and graphs of the runs that were taken, writes the files first, and then
// prints.
func (f *scaleFlags) show(ctx context.Context, std stdio, taken []*scaleRun) error {
	graphs, stacks, err := f.analyze(ctx, taken)
	if err != nil {
		return err
	}
	f.out.draw.source = strings.Join(f.command, " ")
	var errs []error
	if f.dir != "" {
		for _, name := range []string{"stack.svg", "stack.json"} {
			errs = append(errs, writeFile(filepath.Join(f.dir, name), func(w io.Writer) error { return stackForms[f.out.can.formOf(name)](w, stacks, f.out.draw) }))
		}
	}
	for i, run := range taken {
		if f.dir != "" {
			name := filepath.Join(f.dir, fmt.Sprintf("graph-%d.svg", run.width))
			errs = append(errs, writeFile(name, func(w io.Writer) error {
				return picture.SVG(w, graphs[i], picture.Options{Title: run.title(), Subtitle: f.out.draw.source})
			}))
		}
	}
	errs = append(errs, f.out.write(std, stacks))
	if f.out.format == "text" {
		t, _ := terminalOf(std.out)
		opt := t.textOptions()
		opt.Top = 6
		for i, g := range graphs {
			_, err := fmt.Fprintf(std.out, "\n%s\n\n", taken[i].title())
			errs = append(errs, err, text.Write(std.out, g, opt))
		}
	}
	return errors.Join(errs...)
}

func (r *scaleRun) title() string {
	return fmt.Sprintf("GOMAXPROCS %d, %s", r.width, format.Duration(r.wall))
}

// analyze returns the graph of every run, and the stacks that compare them with the one on one
// processor; without that one, they are estimates.
func (f *scaleFlags) analyze(ctx context.Context, taken []*scaleRun) (graphs []*bottle.Graph, stacks []*speedup.Stack, err error) {
	of, single := f.opt, ""
	if taken[0].width == 1 {
		single, of.SingleDelay, of.SingleName = taken[0].trace, taken[0].delay, "the run on 1 processor"
	}
	for i, run := range taken {
		opt := bn.Options{Want: bn.WantVerdict, CPUs: host.Processors(), Name: fmt.Sprintf("the run on %s", format.Plural(run.width, "processor", "processors"))}
		against := ""
		if i > 0 || single == "" || len(taken) == 1 {
			opt.Want |= bn.WantSpeedup
			opt.Speedup, against = of, single
			opt.Speedup.MultiDelay, opt.Speedup.N = run.delay, cmp.Or(of.N, run.width)
		}
		report, err := analyzeFile(ctx, run.trace, against, opt)
		if err != nil {
			return nil, nil, err
		}
		graphs = append(graphs, report.Bottle)
		if report.Speedup != nil {
			if against != "" && i > 0 {
				report.Speedup.Repeat(run.speedups(taken[0]))
			}
			stacks = append(stacks, report.Speedup)
		}
	}
	return graphs, stacks, nil
}
