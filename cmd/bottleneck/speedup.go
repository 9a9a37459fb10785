package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/condition"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/input"
	"github.com/bottleneck-go/bottleneck/internal/measures"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// speedupFlags holds the flags of speedup.
type speedupFlags struct {
	opt      speedup.Options
	estimate bool
	part     bottle.Options
	to       output.Destination
	fail     output.Conditions
}

// define adds the flags that scale has, too.
func (f *speedupFlags) define(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.opt.Workers, "workers", "auto", "`WHO` the workers are; see \"bottleneck help speedup\"")
	fs.IntVarP(&f.opt.N, "number", "n", 0, "compare with `N` workers; default the most that exist at once, up to GOMAXPROCS")
	fs.StringVar(&f.opt.Unit, "unit", "", "regions of `TYPE` are equal amounts of work: with them the estimate has a remainder, and two runs are checked for the same amount of work")
	f.to.Define(c, output.FormsIn(output.StackForms))
	f.fail.Define(c, ", or 3 if the machine was disturbed", &measures.Stack)
}

// check rejects invalid flags.
func (f *speedupFlags) check() error {
	if err := speedup.CheckWorkers(f.opt.Workers); err != nil {
		return usagef("-%v", err)
	}
	if f.opt.N < 0 || f.opt.N > maxN {
		return usagef("-n %d: want a number of workers, or 0 to find it", f.opt.N)
	}
	return nil
}

func (a *app) speedup() *cobra.Command {
	f := &speedupFlags{}
	c := a.command("speedup [flags] SINGLE MULTI...", "show why N workers are not N times as fast as one", `
Speedup draws speedup stacks: bars of height N, divided into the measured
speedup, the reasons why it is not N, and a remainder: interference in the
hardware, and work that the single-threaded run does not do.

SINGLE is the trace of a run with one worker (or GOMAXPROCS=1), each MULTI that
of a run of the same work with several. Their bars are drawn side by side.
"bottleneck scale" makes such runs. WHO is

  auto         the name with the largest area among those of at least two
               concurrent goroutines, or else all goroutines of the program
  all          all goroutines of the program
  NAME[,NAME]  names or start functions, in full or short
  pool:NAME    goroutines of a pool
  region:TYPE  goroutines in a region of runtime/trace
  /regexp/     names or start functions that match`, f.run)
	f.define(c)
	c.Flags().BoolVar(&f.estimate, "estimate", false, "estimate an upper bound of the speedup without SINGLE, as if one worker did the same work at the same speed; not for programs that mostly wait for timers, the network or a disk")
	flags.Part(c.Flags(), &f.part)
	c.Example = `  bottleneck speedup one.trace two.trace four.trace
  bottleneck speedup -workers main.work,main.feed -o s.svg one.trace four.trace
  bottleneck speedup -estimate trace.out`
	a.limited(c)
	return c
}

// maxN bounds -n, because every worker is a part of the bar.
const maxN = 1 << 20

func (f *speedupFlags) parse(traces []string) error {
	if err := f.check(); err != nil {
		return err
	}
	switch {
	case len(traces) == 0:
		return usagef("no traces: name that of a run with one worker, and those of runs with several")
	case len(traces) == 1 && !f.estimate:
		return usagef("only one trace: a speedup needs that of a run with one worker, too; -estimate computes an upper bound without it")
	}
	if !f.estimate && (f.part.First > 0 || f.part.Last > 0 || f.part.During != "") {
		return usagef("-generations, -during and -outside are for estimates of one run (-estimate): of two runs, the parts need not be the same work")
	}
	for _, name := range traces {
		if input.IsURL(name) || name == "-" {
			return usagef("%s: traces are read twice, so they have to be files; \"bottleneck record\" makes one of a service", name)
		}
	}
	return nil
}

func (f *speedupFlags) run(ctx context.Context, std stdio, traces []string) error {
	if err := f.parse(traces); err != nil {
		return err
	}
	if err := f.to.Settle(std.out); err != nil {
		return err
	}
	stacks, err := f.read(ctx, std, traces)
	if err != nil {
		return err
	}
	f.to.Draw.Source = filepath.Base(traces[len(traces)-1])
	return errors.Join(f.to.Write(std.out, std.err, stacks, output.StackForms), f.fail.Failed(std.err, condition.Of(stacks)))
}

// read makes a stack of each run with several workers.
func (f *speedupFlags) read(ctx context.Context, std stdio, traces []string) (stacks []*speedup.Stack, err error) {
	single, multis := "", traces
	if !f.estimate {
		single, multis = traces[0], traces[1:]
	}
	for _, multi := range multis {
		report, err := readFile(ctx, std, multi, single, bn.Options{Want: bn.WantSpeedup, Speedup: f.opt, Bottle: f.part})
		if err != nil {
			return nil, err
		}
		stacks = append(stacks, report.Speedup)
	}
	return stacks, nil
}
