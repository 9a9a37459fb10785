package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/markdown"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// speedupFlags are the choices of the user.
type speedupFlags struct {
	opt      speedup.Options
	workers  string
	estimate bool
	part     timeline.Part
	out      stackOutput
}

// define adds the flags that scale has, too.
func (f *speedupFlags) define(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.workers, "workers", "auto", "`WHO` the workers are, see \"bottleneck help speedup\"")
	fs.IntVarP(&f.opt.N, "number", "n", 0, "compare with `N` workers; if not given, with as many as live at the same time, but no more than GOMAXPROCS")
	fs.StringVar(&f.opt.Unit, "unit", "", "a `TYPE` of regions each of which is the same amount of work: the estimate then knows the remainder, and two runs are checked for doing the same")
	f.out.define(c, formsIn(stackForms.has))
}

// check rejects what cannot be right.
func (f *speedupFlags) check() (err error) {
	if f.opt.Workers, err = speedup.ParseSelector(f.workers); err != nil {
		return usagef("-%v", err)
	}
	if f.opt.N < 0 || f.opt.N > maxN {
		return usagef("-n %d: want a number of workers, or 0 to find it", f.opt.N)
	}
	return nil
}

func (a *app) speedup() *cobra.Command {
	f := &speedupFlags{}
	c := a.command("speedup [flags] SINGLE MULTI...", "say why N workers are not N times faster", `
Speedup draws speedup stacks: bars of height N, cut into the measured speed-up
and what keeps it from being N: locks and channels, imbalance, sequential parts,
the garbage collector, I/O, scheduling; and a remainder, which is interference
in the hardware and work for being parallel. The parts sum to N exactly.

SINGLE is the trace of a run with one worker (or GOMAXPROCS=1), each MULTI that
of a run of the same work with several: their bars stand side by side.
"bottleneck scale" makes such runs. WHO is

  auto         the name with the largest area among those with at least two
               goroutines at the same time, or all goroutines of the program
  all          all goroutines of the program
  NAME[,NAME]  names or start functions, in full or short
  pool:NAME    goroutines of a pool
  region:TYPE  goroutines in a runtime/trace region
  /regexp/     names or start functions that match`, f.run)
	f.define(c)
	c.Flags().BoolVar(&f.estimate, "estimate", false, "there is no SINGLE: suppose that one worker does the same work at the same speed, which bounds the speed-up from above; not for programs that mostly wait for timers, the network or a disk")
	definePart(c.Flags(), &f.part)
	c.Flags().DurationVar(&f.opt.Window, "window", 0, "show how the last MULTI changes over time, in stretches of `DURATION`: estimates, since SINGLE has no such stretches")
	c.Example = `  bottleneck speedup one.trace two.trace four.trace
  bottleneck speedup -workers main.work,main.feed -o s.svg one.trace four.trace
  bottleneck speedup -estimate trace.out`
	a.limited(c)
	return c
}

// maxN bounds -n: every worker is a part of the bar.
const maxN = 1 << 20

func (f *speedupFlags) parse(traces []string) error {
	if err := f.check(); err != nil {
		return err
	}
	switch {
	case f.opt.Window < 0:
		return usagef("-window %v: want a positive duration, such as 500ms", f.opt.Window)
	case len(traces) == 0:
		return usagef("no traces: name that of a run with one worker, and those of runs with several")
	case len(traces) == 1 && !f.estimate:
		return usagef("only one trace: a speed-up takes that of a run with one worker, too; with -estimate, it is guessed")
	}
	if !f.estimate && f.part != (timeline.Part{}) {
		return usagef("-generations, -during and -outside are for estimates of one run (-estimate): of two runs, the parts need not be the same work")
	}
	for _, name := range traces {
		if isURL(name) || name == "-" {
			return usagef("%s: traces are read twice, so they have to be files; \"bottleneck record\" makes one of a service", name)
		}
	}
	return nil
}

func (f *speedupFlags) run(ctx context.Context, std stdio, traces []string) error {
	if err := f.parse(traces); err != nil {
		return err
	}
	if err := f.out.check(std); err != nil {
		return err
	}
	stacks, err := f.read(ctx, std, traces)
	if err != nil {
		return err
	}
	if f.opt.Window > 0 {
		last := stacks[len(stacks)-1]
		if stacks = last.Windows(); len(stacks) == 0 {
			return fmt.Errorf("%s: no windows of %v", traces[len(traces)-1], f.opt.Window)
		}
		stacks[0].Warnings = last.Warnings
	}
	f.out.draw.source = filepath.Base(traces[len(traces)-1])
	return f.out.write(std, stacks)
}

// read makes a stack of each run with several workers.
func (f *speedupFlags) read(ctx context.Context, std stdio, traces []string) (stacks []*speedup.Stack, err error) {
	single, multis := "", traces
	if !f.estimate {
		single, multis = traces[0], traces[1:]
	}
	m := &meter{}
	p := startProgress(std.err, func(time.Duration) string { return "reading traces" + m.String() })
	defer p.stop()
	for _, multi := range multis {
		report, err := analyzeFile(ctx, multi, single, bn.Options{Want: bn.WantSpeedup, Speedup: f.opt, Progress: m.decoded, Bottle: bottle.Options{Part: f.part}})
		if err != nil {
			return nil, err
		}
		stacks = append(stacks, report.Speedup)
	}
	return stacks, nil
}

// stackForms are the forms of speedup stacks.
var stackForms = drawn(formsOf[[]*speedup.Stack]{
	"text": func(w io.Writer, s []*speedup.Stack, d drawing) error {
		return text.WriteStacks(w, s, d.terminal.textOptions())
	},
	"json": func(w io.Writer, s []*speedup.Stack, _ drawing) error { return speedup.WriteJSON(w, s...) },
	"csv":  func(w io.Writer, s []*speedup.Stack, _ drawing) error { return text.TableCSV(w, speedup.Table(s...)) },
	"md":   func(w io.Writer, s []*speedup.Stack, _ drawing) error { return markdown.Write(w, speedup.Table(s...)) },
}, func(s []*speedup.Stack, d drawing) (*picture.Drawing, error) {
	return picture.DrawStacks(s, d.picture())
})

// stackOutput says where stacks go.
type stackOutput struct{ destination }

// check rejects what cannot be written before anything is read.
func (o *stackOutput) check(std stdio) error {
	if err := o.settle(std); err != nil {
		return err
	}
	return o.outputs.check()
}

// write writes the stacks in all the forms that were asked for.
func (o *stackOutput) write(std stdio, stacks []*speedup.Stack) error {
	return o.destination.write(std, func(w io.Writer, form string, d drawing) error { return stackForms[form](w, stacks, d) })
}

// stackMeasures has components as parts, by their bare names.
var stackMeasures = measures[*speedup.Stack]{
	whole: []measured[*speedup.Stack]{
		measuring("speedup", result.Number, "", always(func(s *speedup.Stack) float64 { return s.Speedup })),
		measuring("remainder", result.Number, "", always(func(s *speedup.Stack) float64 { return s.Remainder })),
	},
	part: func(name string) (m measured[*speedup.Stack], is bool, err error) {
		part, err := speedup.ParseComponent(name)
		if err != nil || part == speedup.Run { // which is named speedup
			return m, false, nil
		}
		return measuring(name, result.Number, "", always(func(s *speedup.Stack) float64 { return s.Components[part] })), true, nil
	},
}
