package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/atomicfile"
	"github.com/bottleneck-go/bottleneck/internal/condition"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/internal/trial"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// scaleFlags holds the flags of scale.
type scaleFlags struct {
	speedupFlags
	widths  []int
	count   int
	dir     string
	verbose bool
	command []string
}

func (a *app) scale() *cobra.Command {
	f := &scaleFlags{}
	c := a.command("scale [flags] -- COMMAND [arguments]", "run a benchmark or program on 1, 2, 4 processors and compare", `
Scale runs a command at several values of GOMAXPROCS under the execution tracer,
several times each, and draws speedup stacks and bottle graphs of the runs with
the median times. If the speedup varies widely over the runs or, on Linux, other
programs took processors away, the stack is marked as disturbed. The command is

  go test -run=^$ -bench=NAME [flags] PACKAGE
            one benchmark. A first run without a trace finds the number of
            iterations, which all other runs use: the work must be the same
  X.test [-test.…]
            a test binary, likewise
  go run PACKAGE [arguments]
            a program that ends, built by "bottleneck instrument", with no
            change in its source; {cpu} stands for the width
  PROGRAM [arguments]
            one that "bottleneck instrument -- go build" has built, or that
            writes its execution trace to a file that an argument names:
            {trace} stands for that file

Scale also counts what the processes of a run use for each operation, or each
region of -unit. What grows with the number of processors explains the
remainder, or why goroutines wait.`, f.run)
	f.define(c)
	fs := c.Flags()
	usual := defaultWidths()
	f.widths, _ = parseWidths(usual)
	flags.Parsed(fs, &f.widths, "cpu", usual, "run at these `WIDTHS`; the run at 1 is the base of the others: without it, stacks are estimates", parseWidths)
	fs.IntVar(&f.count, "count", 3, "run `N` times at each width")
	fs.StringVar(&f.dir, "dir", "", "write stack.svg, stack.json, graphs.svg with the graphs of all widths side by side, and trace-N.out of the median run at each width into `DIR`")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "show the output of the command")
	c.Example = `  bottleneck scale -cpu 1,2,4 -- go test -run='^$' -bench=Sort ./pkg
  bottleneck scale -- go run ./cmd/render scene.json
  bottleneck scale -dir scaling -count 5 -- ./render -trace={trace} scene.json`
	a.limited(c)
	return c
}

// parse takes the command from the arguments after "--".
func (f *scaleFlags) parse(std stdio, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	f.command = args
	return cmp.Or(flags.Between("count", f.count, 1, 1000), onlyCommand(std, args))
}

// parseWidths parses the list of -cpu. The result is sorted.
func parseWidths(list string) (widths []int, err error) {
	for field := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		switch {
		case err != nil || n < 1 || n > 1<<14:
			return nil, fmt.Errorf("%q is not a number of processors", field)
		case slices.Contains(widths, n):
			return nil, fmt.Errorf("%d is given twice", n)
		}
		widths = append(widths, n)
	}
	slices.Sort(widths)
	return widths, nil
}

func (f *scaleFlags) run(ctx context.Context, std stdio, args []string) (err error) {
	if err := f.parse(std, args); err != nil {
		return err
	}
	if f.dir != "" {
		delete(f.to.Only, "title") // stack.svg has a title
	}
	if err := f.to.Settle(std.out); err != nil {
		return err
	}
	command, err := trial.New(f.command)
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
			return atomicfile.Error(f.dir, err)
		}
	}
	r := newRunner(std, f.command, temp)
	if f.verbose {
		r.Output = std.err
	}
	taken, err := r.Measure(ctx, command, f.widths, f.count)
	if err != nil {
		return err
	}
	for _, run := range taken {
		if f.dir == "" {
			break
		}
		if err := copyFile(filepath.Join(f.dir, fmt.Sprintf("trace-%d.out", run.Width)), run.Trace); err != nil {
			return err
		}
	}
	return f.show(ctx, std, taken)
}

// newRunner returns a runner of a command whose traces are in temp.
func newRunner(std stdio, args []string, temp string) *trial.Runner {
	return &trial.Runner{Args: args, Temp: temp, Progress: std.progress,
		Read: func(ctx context.Context, trace string, opt bn.Options) (*bn.Report, error) {
			return readFile(ctx, std, trace, "", opt)
		}}
}

// show makes the stacks and graphs of the runs, writes the files, and then prints.
func (f *scaleFlags) show(ctx context.Context, std stdio, taken []*trial.Run) error {
	graphs, stacks, err := f.analyze(ctx, std, taken)
	if err != nil {
		return err
	}
	f.to.Draw.Source = strings.Join(f.command, " ")
	var errs []error
	if f.dir != "" {
		f.to.Files = append(f.to.Files, filepath.Join(f.dir, "stack.svg"), filepath.Join(f.dir, "stack.json"))
	}
	row := output.Row{Graphs: graphs}
	for _, run := range taken {
		row.Names = append(row.Names, fmt.Sprintf("GOMAXPROCS %d", run.Width))
	}
	if f.dir != "" && len(graphs) <= picture.MaxRuns {
		errs = append(errs, atomicfile.Write(filepath.Join(f.dir, "graphs.svg"), func(w io.Writer) error { return output.RowForms["svg"](w, row, f.to.Draw) }))
	}
	errs = append(errs, f.to.Write(std.out, std.err, stacks, output.StackForms), f.fail.Failed(std.err, condition.Of(stacks)))
	if f.to.Format == "text" {
		for i, g := range graphs {
			_, err := fmt.Fprintf(std.out, "\nGOMAXPROCS %d, %s\n\n", taken[i].Width, format.Duration(taken[i].Wall))
			errs = append(errs, err, text.Write(std.out, g, output.TextOn(std.out)))
		}
	}
	return errors.Join(errs...)
}

// analyze returns the graph of every run, and the stacks that compare them with the run on one
// processor; without that run, the stacks are estimates.
func (f *scaleFlags) analyze(ctx context.Context, std stdio, taken []*trial.Run) (graphs []*bottle.Graph, stacks []*speedup.Stack, err error) {
	of, single := f.opt, ""
	if taken[0].Width == 1 {
		single, of.SingleDelay, of.SingleName = taken[0].Trace, taken[0].Delay, "the run on 1 processor"
	}
	for i, run := range taken {
		opt := bn.Options{Want: bn.WantVerdict, CPUs: host.Processors(), Name: fmt.Sprintf("the run on %s", format.Plural(run.Width, "processor", "processors"))}
		against := ""
		if i > 0 || single == "" || len(taken) == 1 {
			opt.Want |= bn.WantSpeedup
			opt.Speedup, against = of, single
			opt.Speedup.MultiDelay, opt.Speedup.N = run.Delay, cmp.Or(of.N, run.Width)
		}
		report, err := readFile(ctx, std, run.Trace, against, opt)
		if err != nil {
			return nil, nil, err
		}
		graphs = append(graphs, report.Bottle)
		if report.Speedup != nil {
			run.Explain(report.Speedup, taken[0], against != "" && i > 0)
			stacks = append(stacks, report.Speedup)
		}
	}
	return graphs, stacks, nil
}

// defaultWidths returns the powers of two up to the number of processors, and that number.
func defaultWidths() string {
	most := runtime.NumCPU()
	list := "1"
	for n := 2; n < 2*most; n *= 2 {
		list += "," + strconv.Itoa(min(n, most))
	}
	return list
}
