package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"github.com/spf13/cobra"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/markdown"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/report"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/condition"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/measures"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// diffFlags holds the flags of diff.
type diffFlags struct {
	kind *kind // nil if not given
	opt  bottle.Options
	to   output.Destination
	fail conditions
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
	defineKind(c, &f.kind, kinds,
		"compare as `KIND`: graph, ledger, stack (of traces, estimates), contention or tasks (of traces, regions); default graphs with the categories of the ledgers for traces, and the kind of the file for JSON")
	flags.Group(c.Flags(), &f.opt.Group, "of graphs of traces: ")
	f.to.Define(c, output.FormsIn(diffForms))
	f.to.DefineBy("of -kind ledger: sum the rows that are equal in `COLUMNS`; default category,wait,function,group")
	var about []*condition.Measures
	for _, k := range kinds {
		about = append(about, k.fails)
	}
	f.fail.define(c, ", or 'neck-% > 1.1x'", about...)
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
func (f *diffFlags) fits(k *kind) error {
	switch {
	case f.to.Flags.Changed("group") && k != graphKind:
		return usagef("-group is for graphs: a %s has no boxes", k.what)
	case f.to.Draw.By != nil && k != ledgerKind:
		return usagef("-by is for ledgers: want -kind ledger")
	case k.pairs.draw == nil && slices.ContainsFunc(f.to.Asked(), func(form string) bool { return form == "svg" || form == "png" }):
		return usagef("there are no pictures that compare a %s with another: want text or json", k.what)
	}
	return nil
}

func (f *diffFlags) run(ctx context.Context, std stdio, args []string) error {
	sides, err := f.parse(std, args)
	if err != nil {
		return err
	}
	var pair diffPair
	var first artifact
	for i, names := range sides {
		var runs []artifact
		for _, name := range names {
			a, err := readKind(ctx, std, name, f.kind, kinds, bn.Options{Bottle: f.opt})
			if err != nil {
				return err
			}
			if f.kind == graphKind && a.Info != nil {
				a.Ledger = nil // compare only the graphs
			}
			if stacks, ok := a.value.([]*speedup.Stack); ok {
				a.value = stacks[len(stacks)-1:]
			}
			if first.kind == nil {
				first = a
			}
			if err := a.alike(first, "compared"); err != nil {
				return err
			}
			runs = append(runs, a)
		}
		pair[i] = median(runs)
	}
	if err := f.fits(first.kind); err != nil {
		return err
	}
	for _, a := range slices.Concat(pair[0].runs, pair[1].runs) {
		if err := rejectTraceFlags(f.to.Flags, a); err != nil {
			return err
		}
	}
	if missing, err := f.fail.Fit(first.what, pair.values); missing {
		return usagef("-fail: %v", err)
	} else if err != nil {
		return fmt.Errorf("-fail: %w", err)
	}
	f.to.Draw.Source = filepath.Base(sides[0][0]) + " and " + filepath.Base(sides[1][0])
	return errors.Join(f.to.Write(std.out, std.err, pair, diffForms), f.fail.check(std, pair.values))
}

// diffPair holds the two runs.
type diffPair [2]artifact

// median returns the run with the median wall time or first measure. It has all runs.
func median(runs []artifact) artifact {
	all := runs[0].fails.All()
	m := all[max(0, slices.IndexFunc(all, func(m *condition.Measure) bool { return m.Name == "wall" }))]
	sorted := slices.Clone(runs)
	slices.SortStableFunc(sorted, func(a, b artifact) int {
		x, _ := m.Value(a.value)
		y, _ := m.Value(b.value)
		return cmp.Compare(x, y)
	})
	out := sorted[(len(runs)-1)/2]
	out.runs = runs
	return out
}

// values returns the results of all runs that have these measures, or nil.
func (p diffPair) values(about *condition.Measures) [][]any {
	if about != p[0].fails && (about != &measures.Ledger || !p.booked()) {
		return nil
	}
	sides := make([][]any, len(p))
	for i := range p {
		for _, run := range p[i].runs {
			if about == p[0].fails {
				sides[i] = append(sides[i], run.value)
			} else {
				sides[i] = append(sides[i], run.Ledger)
			}
		}
	}
	return sides
}

// compared is a measure of both runs, with times in nanoseconds; null if it is unknown.
type compared struct {
	m      *condition.Measure
	Name   string   `json:"name"`
	Before *float64 `json:"before"`
	After  *float64 `json:"after"`
	// Runs are the values of several runs on each side.
	Runs *[2][]float64 `json:"runs,omitempty"`
}

// measures returns the measures of both runs, without those that neither has.
func (p diffPair) measures() (out []compared) {
	for _, m := range p[0].fails.All() {
		c := compared{m: m, Name: m.Name}
		for i, to := range []**float64{&c.Before, &c.After} {
			if v, err := m.Value(p[i].value); err == nil {
				*to = &v
			}
		}
		if c.Before == nil && c.After == nil {
			continue
		}
		if sides := p.values(p[0].fails); len(sides[0]) > 1 {
			before, err := m.Sample(sides[0])
			after, err2 := m.Sample(sides[1])
			if err == nil && err2 == nil {
				c.Runs = &[2][]float64{before, after}
			}
		}
		out = append(out, c)
	}
	return out
}

// means returns the measures of several runs, with confidence intervals; nil for one run.
func (p diffPair) means() *result.Table {
	if len(p[0].runs) < 2 {
		return nil
	}
	rows := slices.DeleteFunc(p.measures(), func(c compared) bool {
		return c.Runs == nil || stats.Mean(c.Runs[0]) == 0 && stats.Mean(c.Runs[1]) == 0
	})
	t := result.New(meanColumns, rows, 0)
	t.Title = fmt.Sprintf("%d runs before and %d after, ± 95 %%", len(p[0].runs), len(p[1].runs))
	return t
}

// meanColumns are the columns of measures of several runs.
var meanColumns = []result.Column[compared]{
	{Name: "measure", Title: "mean of runs", Value: result.Texts(func(c *compared) string { return c.Name })},
	{Name: "before", Title: "before", Note: true, Value: result.Texts(func(c *compared) string { return c.m.Average(c.Runs[0]) })},
	{Name: "after", Title: "after", Note: true, Value: result.Texts(func(c *compared) string { return c.m.Average(c.Runs[1]) })},
	{Name: "change", Title: "change", Note: true, Value: result.Texts(func(c *compared) string {
		if q := condition.Quotient(c.Runs[0], c.Runs[1]); !math.IsInf(q, 0) {
			return fmt.Sprintf("%.2fx", q)
		}
		return format.Unknown
	})},
	{Name: "significant", Title: "95 % confidence", Note: true, Value: result.Texts(func(c *compared) string {
		switch differ, significant := condition.Differ(c.Runs[0], c.Runs[1]); {
		case !differ:
			return "the same"
		case significant:
			return "significant"
		}
		return "may be chance"
	})},
}

// diffForms write a pair; pictures exist only for kinds that can be drawn.
var diffForms = output.FormsOf(diffPair.table, func(p diffPair, d output.Drawing) (*picture.Drawing, error) { return p[0].pairs.draw(p, d) }, output.Writers[diffPair]{
	"text": func(w io.Writer, p diffPair, d output.Drawing) error {
		if err := text.VerdictDiff(w, p[0].Verdict, p[1].Verdict, d.Options); err != nil {
			return err
		}
		if t := p.means(); t != nil {
			if err := text.WriteTable(w, t, d.Options); err != nil {
				return err
			}
			fmt.Fprintln(w)
		}
		if p[0].pairs.compare == nil {
			return output.Via(diffPair.table, d.RowsText)(w, p, d)
		}
		if err := p[0].pairs.compare(w, p, d); err != nil || !p.booked() {
			return err
		}
		fmt.Fprintln(w)
		return output.Via(diffPair.categories, d.RowsText)(w, p, d)
	},
	"json": writeDiffJSON,
	"md": func(w io.Writer, p diffPair, d output.Drawing) error {
		if t := p.means(); t != nil {
			if err := markdown.Write(w, t); err != nil {
				return err
			}
			fmt.Fprintln(w)
		}
		return output.Via(diffPair.table, markdown.Write)(w, p, d)
	},
	"html": output.Via(diffPair.table, report.WriteTable), // not all kinds have pictures
})

// pairs compares two results of a kind.
type pairs struct {
	compare func(w io.Writer, p diffPair, d output.Drawing) error        // in words
	changes func(p diffPair) *result.Table                               // nil if these are those of the ledgers
	draw    func(p diffPair, d output.Drawing) (*picture.Drawing, error) // nil if there is no picture
}

// comparing compares results by their totals and the table of changes. one returns the result of a
// value. about returns a property in which two may differ, after the words for that, and the
// warnings.
func comparing[E any](one func(v any) *E, totals []result.Column[E], changes func(before, after *E) *result.Table,
	draw func(diffPair, output.Drawing) (*picture.Drawing, error), about func(*E) (different, property string, warnings []string)) *pairs {
	return &pairs{draw: draw, changes: func(p diffPair) *result.Table { return changes(one(p[0].value), one(p[1].value)) },
		compare: func(w io.Writer, p diffPair, d output.Drawing) error {
			before, after := one(p[0].value), one(p[1].value)
			tables := []*result.Table{changes(before, after)}
			if _, waits := p[0].value.(*contention.Profile); waits {
				byKind, err := tables[0].By("kind")
				if err != nil {
					return err
				}
				tables = []*result.Table{byKind, tables[0]}
			}
			different, was, warned := about(before)
			_, is, warns := about(after)
			var warnings []string
			if was != is {
				warnings = append(warnings, fmt.Sprintf("the %s %s and %s.", different, was, is))
			}
			for _, s := range warned {
				warnings = append(warnings, "before: "+s)
			}
			for _, s := range warns {
				warnings = append(warnings, "after: "+s)
			}
			return text.WriteDiff(w, before, after, totals, warnings, d.Options, tables...)
		}}
}

func drawGraphs(p diffPair, d output.Drawing) (*picture.Drawing, error) {
	return picture.DrawRow([]string{"before", "after"}, []*bottle.Graph{p[0].value.(*bottle.Graph), p[1].value.(*bottle.Graph)}, d.Picture())
}

func drawStacks(p diffPair, d output.Drawing) (*picture.Drawing, error) {
	before, after := *measures.Widest(p[0].value.([]*speedup.Stack)), *measures.Widest(p[1].value.([]*speedup.Stack))
	before.Label, after.Label = "before", "after"
	return picture.DrawStacks([]*speedup.Stack{&before, &after}, d.Picture())
}

// booked reports whether both runs have ledgers.
func (p diffPair) booked() bool { return p[0].Ledger != nil && p[1].Ledger != nil }

// ledgers compares the ledgers by some columns.
func (p diffPair) ledgers(by ...string) (*result.Table, error) {
	before, after := p[0].Ledger, p[1].Ledger
	t, err := result.Diff(before.Table(), after.Table(), append([]string{"time"}, by...)...)
	if err != nil {
		return nil, err
	}
	t.Title = fmt.Sprintf("What the capacity went to: %s before, %s after", before.Extent(), after.Extent())
	return t, nil
}

func (p diffPair) categories(output.Drawing) (*result.Table, error) { return p.ledgers("category") }

// table returns the changes; those of ledgers by default without lines, which edits move.
func (p diffPair) table(d output.Drawing) (*result.Table, error) {
	if changes := p[0].pairs.changes; changes != nil {
		return changes(p), nil
	}
	if d.By == nil {
		d.By = []string{"category", "wait", "function", "group"}
	}
	return p.ledgers(d.By...)
}

// writeDiffJSON writes one object: {"what":"bottle graph", "measures":[…], "changes":[…],
// "capacity":[…], "verdicts":{"before":…, "after":…}}.
func writeDiffJSON(w io.Writer, p diffPair, d output.Drawing) (err error) {
	type verdicts struct {
		Before *verdict.Verdict `json:"before"`
		After  *verdict.Verdict `json:"after"`
	}
	out := struct {
		What     string        `json:"what"`
		Measures []compared    `json:"measures"`
		Changes  *result.Table `json:"changes"` // by row; empty for ledgers, which have Capacity
		// Capacity is the use of the capacity.
		Capacity *result.Table `json:"capacity,omitempty"`
		// Verdicts are those of graphs and ledgers; null if there are none.
		Verdicts *verdicts `json:"verdicts,omitempty"`
	}{What: p[0].what, Measures: p.measures(), Changes: &result.Table{}}
	if changes := p[0].pairs.changes; changes == nil {
		out.Capacity, err = p.table(d)
	} else if out.Changes = changes(p); p.booked() {
		out.Capacity, err = p.categories(d)
	}
	if err != nil {
		return err
	}
	if p[0].Verdict != nil || p[1].Verdict != nil {
		out.Verdicts = &verdicts{p[0].Verdict, p[1].Verdict}
	}
	return output.JSON(w, out)
}
