package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/artifact"
	"github.com/bottleneck-go/bottleneck/internal/condition"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// diffFlags holds the flags of diff.
type diffFlags struct {
	kind *artifact.Kind // nil if not given
	opt  bottle.Options
	to   output.Destination
	fail output.Conditions
}

func (a *app) diff() *cobra.Command {
	f := &diffFlags{}
	c := a.command("diff [flags] OLD NEW | OLD... -- NEW...", "compare two runs: graphs, ledgers, stacks, waits or tasks", `
Diff compares two runs, OLD and NEW, each a trace or saved JSON: bottle graphs
by group, ledgers by row, speedup stacks by component, contention profiles by
lock, waiter and owner, and profiles of tasks by class.

Of several runs on each side, the means are shown with their 95 % confidence
intervals, and a condition has to hold with that confidence. All else is about
the run of each side that has the median wall time.

A CONDITION is NAME, one of < <= > >=, and a value:

  1.1x     compared with NAME in NEW divided by NAME in OLD
  30, 2s   compared with NAME in NEW

NAME is that of -fail of the command that shows the result:

  of graphs      such as neck-% or group(main.main).share-%
  of ledgers     such as lost(mutex); of traces also without -kind
  of stacks      speedup, remainder or a component, such as sync-mutex
  of contention  such as waited, or lock(LOCK).contentions by a name or class
  of tasks       such as fine-tasks-%, or tasks(CLASS).p50: p50, mean and p99
                 are in cycles or, if these are not known, in nanoseconds`, f.run)
	artifact.DefineKind(c, &f.kind, artifact.Kinds,
		"compare as `KIND`: graph, ledger, stack (of traces, estimates), contention or tasks (of traces, regions); default graphs with the categories of the ledgers for traces, and the kind of the file for JSON")
	flags.Group(c.Flags(), &f.opt.Group, "of graphs of traces: ")
	f.to.Define(c, output.FormsIn(artifact.DiffForms))
	f.to.DefineBy("of -kind ledger: sum the rows that are equal in `COLUMNS`; default category,wait,function,group")
	var about []*condition.Measures
	for _, k := range artifact.Kinds {
		about = append(about, k.Fails)
	}
	f.fail.Define(c, ", or 'neck-% > 1.1x'", about...)
	f.fail.Pairs = true
	c.Example = `  bottleneck diff before.trace after.trace
  bottleneck diff -fail 'neck-% > 1.1x, wall > 1.2x' main.json branch.json
  bottleneck diff -fail 'wall > 1.05x' old-*.trace -- new-*.trace
  bottleneck diff -kind ledger -fail 'lost(mutex) > 1.1x' old.trace new.trace
  bottleneck diff -fail 'tasks(main.crunch).p50 > 1.2x' main.json branch.json`
	return a.reads(c)
}

// parse returns the names of the runs of both sides.
func (f *diffFlags) parse(std stdio, args []string) (sides [2][]string, err error) {
	dash := std.dash
	if dash < 0 && len(args) == 2 {
		dash = 1
	}
	if dash >= 0 {
		sides = [2][]string{args[:dash], args[dash:]}
	}
	switch {
	case dash < 0 || len(sides[0]) == 0 || len(sides[1]) == 0:
		return sides, usagef("want two runs to compare, OLD and NEW, not %d; of several runs, -- separates the sides", len(args))
	case len(args) > 2 && min(len(sides[0]), len(sides[1])) == 1:
		return sides, usagef("one run on a side has no confidence interval: want one on each, or several")
	case f.kind != nil:
		err = f.fits(f.kind)
	}
	return sides, cmp.Or(err, onceStdin(args), f.to.Settle(std.out))
}

// fits rejects flags that are not for a kind.
func (f *diffFlags) fits(k *artifact.Kind) error {
	switch {
	case f.to.Flags.Changed("group") && k != artifact.Graph:
		return usagef("-group is for graphs: a %s has no boxes", k.What)
	case f.to.Draw.By != nil && k != artifact.Ledger:
		return usagef("-by is for ledgers: want -kind ledger")
	case k.Pairs.Draw == nil && slices.ContainsFunc(f.to.Asked(), func(form string) bool { return form == "svg" || form == "png" }):
		return usagef("there are no pictures that compare a %s with another: want text or json", k.What)
	}
	return nil
}

func (f *diffFlags) run(ctx context.Context, std stdio, args []string) error {
	sides, err := f.parse(std, args)
	if err != nil {
		return err
	}
	var pair artifact.Pair
	var first artifact.Artifact
	for i, names := range sides {
		var runs []artifact.Artifact
		for _, name := range names {
			a, err := artifact.ReadKind(ctx, std.in, std.progress, name, f.kind, artifact.Kinds, bn.Options{Bottle: f.opt})
			if err != nil {
				return err
			}
			if f.kind == artifact.Graph && a.Info != nil {
				a.Ledger = nil // compare only the graphs
			}
			if stacks, ok := a.Value.([]*speedup.Stack); ok {
				a.Value = stacks[len(stacks)-1:]
			}
			if first.Kind == nil {
				first = a
			}
			if err := a.Alike(first, "compared"); err != nil {
				return err
			}
			runs = append(runs, a)
		}
		pair[i] = artifact.Median(runs)
	}
	if err := f.fits(first.Kind); err != nil {
		return err
	}
	for _, a := range slices.Concat(pair[0].Runs, pair[1].Runs) {
		if err := rejectTraceFlags(f.to.Flags, a); err != nil {
			return err
		}
	}
	if missing, err := f.fail.Fit(first.What, pair.Values); missing {
		return usagef("-fail: %v", err)
	} else if err != nil {
		return fmt.Errorf("-fail: %w", err)
	}
	f.to.Draw.Source = filepath.Base(sides[0][0]) + " and " + filepath.Base(sides[1][0])
	return errors.Join(f.to.Write(std.out, std.err, pair, artifact.DiffForms), f.fail.Failed(std.err, pair.Values))
}
