package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"path/filepath"
	"slices"

	"github.com/bottleneck-go/bottleneck/bottle"
)

func init() {
	register(&command{
		name:    "diff",
		rank:    7,
		args:    "[flags] OLD NEW",
		summary: "compare two runs: graphs, ledgers, stacks, waiting or tasks",
		help:    diffHelp,
		urls:    true,
		reads:   true,
		run:     runDiff,
	})
}

const diffHelp = `Diff compares two runs, OLD and NEW, each a trace or what was saved as JSON, in a file, at a URL
or in standard input (-): bottle graphs group by group, ledgers by what the capacity went to,
speedup stacks component by component, contention profiles by lock, waiter and owner, and
profiles of tasks class by class. Above graphs and ledgers stand the first sentences of the verdicts.

    -kind KIND       what is compared: graph, ledger, stack (an estimate, of a trace), contention or
                     tasks (the regions of a trace). By default, traces are compared as graphs with
                     the categories of their ledgers, and JSON as what it holds
    -group BY        which goroutines of traces share a box, as in "bottleneck graph"; of graphs only
    -by COLUMNS      which rows of ledgers are added up, as in "bottleneck ledger"; by default
                     -by category,wait,function,group. Of -kind ledger only
    -o FILE          write a file; its form follows from the name: .svg or .png (both side by
                     side on the same scale; graphs and stacks only), .csv or .html (ledgers only),
                     .json or .txt. May be given several times
    -format FORM     what goes to standard output: text, json, csv, html, svg or png; text if there
                     is neither -format nor -o
    -title TEXT      the title of pictures
    -fail CONDITION  exit with status 1 and one line that says why if the condition holds.
                     Several are separated by commas, or given one by one; one is enough.
                     NAME ( < | <= | > | >= ) VALUE, where VALUE is

                         1.1x      compared with what NAME is in NEW divided by what it is in OLD
                         30, 2s    compared with what NAME is in NEW

                     and NAME is

                         of graphs       one of those of "bottleneck graph -fail"
                         of ledgers      one of those of "bottleneck ledger -fail", such as
                                         lost(mutex); of traces also without -kind
                         of stacks       speedup, remainder or a component, such as sync-mutex
                         of contention   one of those of "bottleneck contention -fail", such as
                                         waited, ready or contentions; lock(LOCK).waited
                                         or lock(LOCK).contentions, where LOCK is a name or class
                         of tasks        one of those of "bottleneck tasks -fail", such as
                                         fine-tasks-%; of a class tasks(CLASS).p50, or mean, p99,
                                         count or blocked-%. p50, mean and p99 are in cycles or,
                                         if they are not known, in nanoseconds

Examples:

    bottleneck diff before.trace after.trace
    bottleneck diff -fail 'neck-% > 1.1x, wall > 1.2x' main.json branch.json
    bottleneck diff -o diff.svg stack-main.json stack-branch.json
    bottleneck diff -kind ledger -fail 'lost(mutex) > 1.1x' before.trace after.trace
    bottleneck diff -kind contention -fail 'waited > 1.1x' before.trace after.trace
    bottleneck diff -fail 'tasks(main.crunch).p50 > 1.2x' tasks-main.json tasks-branch.json
`

// diffFlags are the choices of the user.
type diffFlags struct {
	kind  diffKind // empty: not given
	group string
	opt   bottle.Options
	to    destination
	fail  changeConditions
}

func (f *diffFlags) set() *flag.FlagSet {
	fs := flag.NewFlagSet("diff", flag.ContinueOnError)
	fs.StringVar((*string)(&f.kind), "kind", "", "")
	fs.StringVar(&f.group, "group", "", "")
	f.to.define(fs, diffWritings)
	fs.Func("by", "", f.to.draw.addColumns)
	fs.Func("fail", "", f.fail.add)
	return fs
}

func (f *diffFlags) parse(std stdio, args []string) (before, after string, err error) {
	rest, err := parseFlags(f.set(), args)
	if err != nil {
		return "", "", err
	}
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
	return rest[0], rest[1], f.to.settle(std, "")
}

func runDiff(ctx context.Context, std stdio, args []string) error {
	f := &diffFlags{}
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
		kind := pair[0].kind
		switch {
		case (form == "svg" || form == "png") && !kind.drawn():
			return usagef("there are no pictures that compare a %s with another: want text or json", kind.what())
		case (form == "csv" || form == "html") && kind != ledgerDiff:
			return usagef("there is no %s that compares a %s with another: want text or json, or -kind ledger", form, kind.what())
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
