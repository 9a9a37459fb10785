package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/trace"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/internal/workload"
)

// repairs are the values of -repair.
var repairs = map[string]workload.Repair{"": {}, "largest-first": {LargestFirst: true}, "split": {Split: true}}

// demo holds the flags of a run.
type demo struct {
	out, trace, repair     string
	workers, files, factor int
	time                   time.Duration
	procs                  int
}

func (d *demo) define(fs *pflag.FlagSet) {
	d.procs = runtime.GOMAXPROCS(0)
	fs.StringVarP(&d.out, "output", "o", "bottleneck-demo.svg", "write the picture to `FILE`, in a form of \"bottleneck graph -o\"")
	fs.IntVar(&d.workers, "workers", max(4, d.procs), "run `N` workers")
	fs.IntVar(&d.files, "files", 40*d.procs+1, "process `N` files, including the large one")
	fs.IntVar(&d.factor, "factor", 60, "make the large file `N` times as large as the others")
	fs.DurationVar(&d.time, "time", 2*time.Second, "run for about `DURATION`")
	fs.StringVar(&d.repair, "repair", "", "repair the program: `REPAIR` is largest-first, to begin with the large file, or split, to cut it into pieces")
	fs.StringVar(&d.trace, "trace", "", "write the execution trace to `FILE`, for the other commands")
}

func (a *app) demo() *cobra.Command {
	d := &demo{}
	c := a.command("demo [flags]", "run a small program with a known neck, and print what limits it", `
Demo runs a small program inside this process, prints what limits it, and draws
its bottle graph: some workers process a queue of files, the last of which is
much larger than the others. Its worker runs alone after the others are done:
that is the neck. It takes about two seconds.`, d.run)
	d.define(c.Flags())
	c.Example = `  bottleneck demo
  bottleneck demo -trace demo.trace &&
          bottleneck graph -group region -window 250ms demo.trace
  bottleneck demo -repair split`
	return c
}

func (d *demo) parse(rest []string) error {
	_, known := repairs[d.repair]
	switch {
	case len(rest) > 0:
		return usagef("unexpected argument %q: the demo brings its own program", rest[0])
	case !known:
		return usagef("-repair %q: want largest-first or split", d.repair)
	case output.FormsIn(output.GraphForms).FormOf(d.out) == "":
		return usagef("-o %q: want a file ending in %s", d.out, output.FormsIn(output.GraphForms).Endings())
	case d.trace != "":
		if kept := (output.Files{d.out}); kept.Add(d.trace) != nil {
			return usagef("-o and -trace are the same file, %s", d.trace)
		}
	}
	return cmp.Or(flags.Between("workers", d.workers, 2, 10_000), flags.Between("files", d.files, 2, 1_000_000),
		flags.Between("factor", d.factor, 2, 1_000_000), flags.Between("time", d.time, time.Millisecond, time.Hour))
}

func (d *demo) run(ctx context.Context, std stdio, args []string) error {
	if err := d.parse(args); err != nil {
		return err
	}
	kept := output.Files{d.out}
	if d.trace != "" {
		kept = append(kept, d.trace)
	}
	if err := kept.Check(); err != nil {
		return err
	}
	if d.procs < 2 {
		return errors.New("demo needs GOMAXPROCS >= 2: with one processor there is no parallelism to show")
	}
	run, err := d.record(ctx, std)
	if err != nil {
		return err
	}
	return d.show(std, run, kept)
}

// demoRun is the result of a run.
type demoRun struct {
	result *workload.Result
	trace  []byte
	graph  *bottle.Graph
}

// record runs the program under the tracer and reads the trace.
func (d *demo) record(ctx context.Context, std stdio) (*demoRun, error) {
	defer output.Progress(std.err, d.progress)()
	config := workload.Config{Workers: d.workers, Small: d.files - 1, Factor: d.factor}
	config.Unit = config.StepsFor(d.time, d.procs)

	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		return nil, fmt.Errorf("cannot record: %w", err)
	}
	host.Note()
	res, err := config.Run(ctx, repairs[d.repair])
	host.Note()
	trace.Stop()
	if err != nil {
		return nil, err
	}
	run := &demoRun{result: res, trace: buf.Bytes()}
	return run, run.read(ctx)
}

// progress returns the line of progress while the program runs.
func (d *demo) progress(since time.Duration) string {
	s := fmt.Sprintf("%d workers process %d files: %.1f of about %.1f s", d.workers, d.files, since.Seconds(), d.time.Seconds())
	if since > d.time*3/2 {
		s += "; other programs keep the processors busy"
	}
	return s
}

// read makes the graph of the trace, with the verdict. Every worker is in its own region, so that
// grouping by region gives it its own box, with a meaningful name.
func (r *demoRun) read(ctx context.Context) error {
	report, err := bn.Analyze(ctx, bytes.NewReader(r.trace), bn.Options{Name: "the demo's trace", Want: bn.WantVerdict, CPUs: host.Processors(), Bottle: bottle.Options{Group: bottle.ByRegion}})
	if err != nil {
		return err
	}
	r.graph = report.Bottle
	var running time.Duration
	for i := range r.graph.Boxes {
		running += r.graph.Boxes[i].Running
	}
	if w := workload.Crowded(r.result.CPU, running); w != "" {
		r.graph.Warnings = append(r.graph.Warnings, w)
	}
	return nil
}

// show prints the verdict and the graph, and writes the files.
func (d *demo) show(std stdio, r *demoRun, kept output.Files) error {
	draw := output.Drawing{
		Title:  "Bottle graph of the demo, by worker",
		Source: fmt.Sprintf("%d workers, %d files, the last one %d times larger than the others", d.workers, d.files, d.factor),
	}
	opt := output.TextOn(std.out)
	if err := text.Verdict(std.out, r.graph.Verdict, opt); err != nil {
		return err
	}
	if _, err := io.WriteString(std.out, "\n"); err != nil {
		return err
	}
	opt.Judged = true
	if err := text.Write(std.out, r.graph, opt); err != nil {
		return err
	}
	if err := kept.Write(io.Discard, func(w io.Writer, name string) error {
		if name == d.trace {
			_, err := w.Write(r.trace)
			return err
		}
		return output.GraphForms[output.FormsIn(output.GraphForms).FormOf(name)](w, r.graph, draw)
	}); err != nil {
		return err
	}
	truth := "In truth, the large file was cut into pieces."
	if w := r.result.Large(); w != nil {
		truth = fmt.Sprintf("In truth, %s had the one file that is %d times larger than the others.", w.Name, d.factor)
	}
	_, err := fmt.Fprintf(std.out, "\n%s\nWrote %s.\n", truth, strings.Join(kept, " and "))
	return err
}
