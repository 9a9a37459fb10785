package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bottleneck-go/bottleneck/bottle"
)

// diffFlags are the choices of the user.
type diffFlags struct {
	kind  diffKind // empty: not given
	group string
	opt   bottle.Options
	to    destination
	fail  changeConditions
}

func (a *app) diff() *cobra.Command {
	f := &diffFlags{}
	c := a.command("diff [flags] OLD NEW", "compare two runs: graphs, ledgers, stacks, waiting or tasks", `
Diff compares two runs, OLD and NEW, each a trace or what was saved as JSON, in
a file, at a URL or in standard input (-): bottle graphs group by group, ledgers
by what the capacity went to, speedup stacks component by component, contention
profiles by lock, waiter and owner, and profiles of tasks class by class. Above
graphs and ledgers stand the first sentences of the verdicts. Pictures show both
graphs or stacks side by side on the same scale.

A CONDITION is NAME, one of < <= > >=, and a value:

  1.1x     compared with what NAME is in NEW divided by what it is in OLD
  30, 2s   compared with what NAME is in NEW

NAME is, as in -fail of the command of what is compared, one

  of graphs      such as neck-% or group(main.main).share-%
  of ledgers     such as lost(mutex); of traces also without -kind
  of stacks      speedup, remainder or a component, such as sync-mutex
  of contention  such as waited, or lock(LOCK).contentions by a name or class
  of tasks       such as fine-tasks-%, or tasks(CLASS).p50: p50, mean and p99
                 are in cycles or, if they are not known, in nanoseconds`, f.run)
	fs := c.Flags()
	fs.StringVar((*string)(&f.kind), "kind", "", "compare as `KIND`: graph, ledger, stack (of traces, estimates), contention or tasks (of traces, regions); if not given, traces as graphs with the categories of their ledgers, and JSON as what it holds")
	fs.StringVar(&f.group, "group", "", "of graphs of traces: "+groupHelp)
	f.to.define(c, diffWritings)
	f.to.defineBy("of -kind ledger: add up the rows that are the same in `COLUMNS`; category,wait,function,group if not given")
	fs.Func("fail", "exit with status 1 if `CONDITION` holds, such as 'neck-% > 1.1x'; several are separated by commas", f.fail.add)
	c.Example = `  bottleneck diff before.trace after.trace
  bottleneck diff -fail 'neck-% > 1.1x, wall > 1.2x' main.json branch.json
  bottleneck diff -o diff.svg stack-main.json stack-branch.json
  bottleneck diff -kind ledger -fail 'lost(mutex) > 1.1x' old.trace new.trace
  bottleneck diff -kind contention -fail 'waited > 1.1x' old.trace new.trace
  bottleneck diff -fail 'tasks(main.crunch).p50 > 1.2x' main.json branch.json`
	a.urls(c)
	a.limited(c)
	return c
}

func (f *diffFlags) parse(std stdio, rest []string) (before, after string, err error) {
	if f.group != "" {
		if f.opt.Group, err = bottle.ParseGrouping(f.group); err != nil {
			return "", "", usagef("%v", err)
		}
	}
	switch {
	case f.kind != "" && !slices.Contains(diffKinds, f.kind):
		return "", "", usagef("-kind: want graph, ledger, stack, contention or tasks, not %q", f.kind)
	case f.group != "" && f.kind != "" && f.kind != graphDiff:
		return "", "", usagef("-group is for graphs: -kind %s has no boxes", f.kind)
	case len(rest) != 2:
		return "", "", usagef("want two runs to compare, OLD and NEW; there are %d", len(rest))
	case rest[0] == "-" && rest[1] == "-":
		return "", "", usagef("OLD and NEW cannot both come from standard input")
	}
	return rest[0], rest[1], f.to.settle(std)
}

func (f *diffFlags) run(ctx context.Context, std stdio, args []string) error {
	before, after, err := f.parse(std, args)
	if err != nil {
		return err
	}
	if err := f.to.outputs.check(); err != nil {
		return err
	}
	var pair diffPair
	for i, name := range []string{before, after} {
		if pair[i], err = readSide(ctx, std, name, f.kind, f.opt); err != nil {
			return err
		}
	}
	if pair[0].kind != pair[1].kind {
		return usagef("%s is a %s, %s a %s: they cannot be compared; -kind says what to make of a trace",
			before, pair[0].kind.what(), after, pair[1].kind.what())
	}
	if f.group != "" && pair[0].kind != graphDiff {
		return usagef("-group is for graphs: a %s has no boxes", pair[0].kind.what())
	}
	for _, form := range f.to.asked() {
		if kind := pair[0].kind; (form == "svg" || form == "png") && !kind.drawn() {
			return usagef("there are no pictures that compare a %s with another: want text or json", kind.what())
		}
	}
	if f.to.draw.by != nil && pair[0].kind != ledgerDiff {
		return usagef("-by is for ledgers: want -kind ledger")
	}
	if err := f.fail.know(pair); err != nil {
		return err
	}
	f.to.draw.source = filepath.Base(before) + " and " + filepath.Base(after)
	written := f.to.write(std, func(w io.Writer, form string, d drawing) error { return diffForms[form](w, pair, d) })
	return errors.Join(written, f.fail.check(pair))
}
