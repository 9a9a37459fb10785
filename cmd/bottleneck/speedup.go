package main

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"time"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/speedup"
)

func init() {
	register(&command{
		name:    "speedup",
		rank:    5,
		args:    "[flags] SINGLE MULTI...",
		summary: "say why N workers are not N times faster",
		help:    speedupHelp,
		reads:   true,
		run:     runSpeedup,
	})
}

const speedupHelp = `Speedup draws speedup stacks: bars of height N, cut into the measured speed-up and what
keeps it from being N: locks and channels, imbalance, sequential parts, the garbage
collector, I/O, scheduling; and a remainder, which is interference in the hardware and
work for being parallel. The parts sum to N exactly.

SINGLE is the trace of a run with one worker (or GOMAXPROCS=1), each MULTI that of a run of
the same work with several: their bars stand side by side. "bottleneck scale" makes such runs.

    -estimate        there is no SINGLE: suppose that one worker does the same work at the same
                     speed. The speed-up is then an upper bound, and the remainder is not
                     known. A program that mostly waits for timers, the network or a disk
                     cannot be estimated
    -workers WHO     which goroutines the workers are:
                       auto         the name with the largest area among those with
                                    at least two goroutines at the same time, or all goroutines
                                    of the program if there is none (default)
                       all          all goroutines of the program
                       NAME[,NAME]  names or start functions, in full or short
                       pool:NAME    goroutines of a pool
                       region:TYPE  goroutines in a runtime/trace region
                       /regexp/     names or start functions that match
    -n N             number of workers to compare with; by default, as many as live at the
                     same time, but no more than GOMAXPROCS
    -unit TYPE       a type of regions each of which is the same amount of work: the estimate
                     then knows the remainder, and two runs are checked for doing the same work
    -window DURATION show how the last MULTI changes over time, in stretches of that length,
                     instead: estimates, since the single-threaded run has no such stretches
    -o FILE          write a file; its form follows from the name: .svg, .png, .json, .csv or
                     .txt. May be given several times
    -format FORM     what goes to standard output: text, json, csv, svg or png; text if there
                     is neither -format nor -o
    -title TEXT      the title of pictures

Examples:

    bottleneck speedup one.trace two.trace four.trace
    bottleneck speedup -workers main.work,main.feed -o stack.svg one.trace four.trace
    bottleneck speedup -estimate trace.out
`

// speedupFlags are the choices of the user.
type speedupFlags struct {
	opt      speedup.Options
	workers  string
	estimate bool
	out      stackOutput
}

func (f *speedupFlags) set() *flag.FlagSet {
	fs := flag.NewFlagSet("speedup", flag.ContinueOnError)
	fs.BoolVar(&f.estimate, "estimate", false, "")
	fs.StringVar(&f.workers, "workers", "auto", "")
	fs.IntVar(&f.opt.N, "n", 0, "")
	fs.StringVar(&f.opt.Unit, "unit", "", "")
	fs.DurationVar(&f.opt.Window, "window", 0, "")
	f.out.define(fs, stackWritings)
	return fs
}

// maxN bounds -n: every worker is a part of the bar.
const maxN = 1 << 20

func (f *speedupFlags) parse(args []string) (traces []string, err error) {
	if traces, err = parseFlags(f.set(), args); err != nil {
		return nil, err
	}
	if f.opt.Workers, err = speedup.ParseSelector(f.workers); err != nil {
		return nil, usagef("-%v", err)
	}
	switch {
	case f.opt.N < 0 || f.opt.N > maxN:
		return nil, usagef("-n %d: want a number of workers, or 0 to find it", f.opt.N)
	case f.opt.Window < 0:
		return nil, usagef("-window %v: want a positive duration, such as 500ms", f.opt.Window)
	case len(traces) == 0:
		return nil, usagef("no traces: name that of a run with one worker, and those of runs with several")
	case len(traces) == 1 && !f.estimate:
		return nil, usagef("only one trace: a speed-up takes that of a run with one worker, too; with -estimate, it is guessed")
	}
	for _, name := range traces {
		if isURL(name) || name == "-" {
			return nil, usagef("%s: traces are read twice, so they have to be files; \"bottleneck record\" makes one of a service", name)
		}
	}
	return traces, nil
}

func runSpeedup(ctx context.Context, std stdio, args []string) error {
	f := &speedupFlags{}
	traces, err := f.parse(args)
	if err != nil {
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
		report, err := analyzeFile(ctx, multi, single, bn.Options{Want: bn.WantSpeedup, Speedup: f.opt, Progress: m.decoded})
		if err != nil {
			return nil, err
		}
		stacks = append(stacks, report.Speedup)
	}
	return stacks, nil
}
