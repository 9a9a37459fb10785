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
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// diffFlags holds the flags of diff.
type diffFlags struct {
	name string // of the kind; "" if not given
	kind kind
	opt  bottle.Options
	to   destination
	fail conditions
}

func (a *app) diff() *cobra.Command {
	f := &diffFlags{}
	var c *cobra.Command
	c = a.command("diff [flags] OLD NEW | OLD... -- NEW...", "compare two runs: graphs, ledgers, stacks, waits or tasks", `
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
                 are in cycles or, if these are not known, in nanoseconds`, func(ctx context.Context, std stdio, args []string) error {
		return f.run(ctx, std, args, c.ArgsLenAtDash())
	})
	fs := c.Flags()
	fs.StringVar(&f.name, "kind", "", "compare as `KIND`: graph, ledger, stack (of traces, estimates), contention or tasks (of traces, regions); default graphs with the categories of the ledgers for traces, and the kind of the file for JSON")
	defineGroup(fs, &f.opt.Group, "of graphs of traces: ")
	f.to.define(c, formsIn(diffForms.has))
	f.to.defineBy("of -kind ledger: sum the rows that are equal in `COLUMNS`; default category,wait,function,group")
	var about []*measures
	for _, k := range kinds {
		about = append(about, k.measures())
	}
	f.fail.define(c, ", or 'neck-% > 1.1x'", about...)
	f.fail.pairs = true
	c.Example = `  bottleneck diff before.trace after.trace
  bottleneck diff -fail 'neck-% > 1.1x, wall > 1.2x' main.json branch.json
  bottleneck diff -fail 'wall > 1.05x' old-*.trace -- new-*.trace
  bottleneck diff -kind ledger -fail 'lost(mutex) > 1.1x' old.trace new.trace
  bottleneck diff -fail 'tasks(main.crunch).p50 > 1.2x' main.json branch.json`
	return a.reads(c)
}

// parse returns the names of the runs of both sides.
func (f *diffFlags) parse(std stdio, rest []string, dash int) (sides [2][]string, err error) {
	f.kind = kindNamed(f.name)
	if dash < 0 && len(rest) == 2 {
		dash = 1
	}
	if dash >= 0 {
		sides = [2][]string{rest[:dash], rest[dash:]}
	}
	switch {
	case f.name != "" && f.kind == nil:
		return sides, usagef("-kind: want graph, ledger, stack, contention or tasks, not %q", f.name)
	case f.to.flags.Changed("group") && f.name != "" && f.kind != graphKind:
		return sides, usagef("-group is for graphs: -kind %s has no boxes", f.name)
	case dash < 0 || len(sides[0]) == 0 || len(sides[1]) == 0:
		return sides, usagef("want two runs to compare, OLD and NEW, not %d; of several runs, -- separates the sides", len(rest))
	case len(rest) > 2 && min(len(sides[0]), len(sides[1])) == 1:
		return sides, usagef("one run on a side has no confidence interval: want one on each, or several")
	}
	if at := slices.Index(rest, "-"); at >= 0 && slices.Contains(rest[at+1:], "-") {
		return sides, usagef("OLD and NEW cannot both come from standard input")
	}
	return sides, f.to.settle(std)
}

func (f *diffFlags) run(ctx context.Context, std stdio, args []string, dash int) error {
	sides, err := f.parse(std, args, dash)
	if err != nil {
		return err
	}
	var pair diffPair
	before, after := sides[0][0], sides[1][0]
	var k *kindInfo
	for i, names := range sides {
		var runs []artifact
		for _, name := range names {
			a, err := f.load(ctx, std, name)
			if err != nil {
				return err
			}
			if k == nil {
				k = a.kind.about()
			}
			if k != a.kind.about() {
				return usagef("%s is a %s, %s a %s: they cannot be compared; -kind chooses what is made of a trace", before, k.what, name, a.what())
			}
			runs = append(runs, a)
		}
		pair[i] = median(runs)
	}
	if f.to.flags.Changed("group") && pair[0].kind != graphKind {
		return usagef("-group is for graphs: a %s has no boxes", k.what)
	}
	for _, form := range f.to.asked() {
		if (form == "svg" || form == "png") && k.draw == nil {
			return usagef("there are no pictures that compare a %s with another: want text or json", k.what)
		}
	}
	if f.to.draw.by != nil && pair[0].kind != ledgerKind {
		return usagef("-by is for ledgers: want -kind ledger")
	}
	if err := pair.have(&f.fail); err != nil {
		return err
	}
	f.to.draw.source = filepath.Base(before) + " and " + filepath.Base(after)
	written := f.to.write(std, func(w io.Writer, form string, d drawing) error { return diffForms[form](w, pair, d) })
	return errors.Join(written, f.fail.check(std, pair.values))
}

// load reads one of the runs.
func (f *diffFlags) load(ctx context.Context, std stdio, name string) (artifact, error) {
	a, err := readKind(ctx, std, name, f.kind, bn.Options{Bottle: f.opt})
	if err == nil && f.kind == graphKind && a.Info != nil {
		a.Ledger = nil // compare only the graphs
	}
	return a, err
}

// diffPair holds the two runs.
type diffPair [2]artifact

// median returns the run with the median wall time or first measure. It has all runs.
func median(runs []artifact) artifact {
	whole := runs[0].kind.measures().whole
	m := whole[max(0, slices.IndexFunc(whole, func(m measure) bool { return m.name == "wall" }))]
	sorted := slices.Clone(runs)
	slices.SortStableFunc(sorted, func(a, b artifact) int {
		x, _ := m.of(a.value)
		y, _ := m.of(b.value)
		return cmp.Compare(x, y)
	})
	out := sorted[(len(runs)-1)/2]
	out.runs = runs
	return out
}

// values returns the results of all runs that have these measures, or nil.
func (p diffPair) values(about *measures) [][]any {
	of := func(value func(*artifact) any) (sides [][]any) {
		for i := range p {
			var side []any
			for k := range p[i].runs {
				side = append(side, value(&p[i].runs[k]))
			}
			sides = append(sides, side)
		}
		return sides
	}
	switch {
	case about == p[0].kind.measures():
		return of(func(a *artifact) any { return a.value })
	case about == &ledgerMeasures && p.booked():
		return of(func(a *artifact) any { return a.Ledger })
	}
	return nil
}

// means returns the measures of several runs, with confidence intervals; nil for one run.
func (p diffPair) means() *result.Table {
	if len(p[0].runs) < 2 {
		return nil
	}
	type row struct{ name, before, after, change, sure string }
	var rows []row
	sides := p.values(p[0].kind.measures())
	for _, m := range p[0].kind.measures().whole {
		before, err := m.sample(sides[0])
		after, err2 := m.sample(sides[1])
		if err != nil || err2 != nil || stats.Mean(before) == 0 && stats.Mean(after) == 0 {
			continue
		}
		r := row{m.name, m.average(before, math.NaN()), m.average(after, math.NaN()), format.Unknown, "may be chance"}
		if q := quotient(stats.Mean(before), stats.Mean(after)); !math.IsInf(q, 0) {
			r.change = fmt.Sprintf("%.2fx", q)
		}
		if t, err := stats.TwoSampleWelchTTest(stats.Sample{Xs: before}, stats.Sample{Xs: after}, stats.LocationDiffers); err != nil && stats.Mean(before) == stats.Mean(after) {
			r.sure = "the same"
		} else if err != nil || t.P < 1-confidence {
			r.sure = "significant"
		}
		rows = append(rows, r)
	}
	t := result.New([]result.Column[row]{
		{Name: "measure", Title: "mean of runs", Value: result.Texts(func(r *row) string { return r.name })},
		{Name: "before", Title: "before", Note: true, Value: result.Texts(func(r *row) string { return r.before })},
		{Name: "after", Title: "after", Note: true, Value: result.Texts(func(r *row) string { return r.after })},
		{Name: "change", Title: "change", Note: true, Value: result.Texts(func(r *row) string { return r.change })},
		{Name: "significant", Title: "95 % confidence", Note: true, Value: result.Texts(func(r *row) string { return r.sure })},
	}, rows, 0)
	t.Title = fmt.Sprintf("%d runs before and %d after, ± 95 %%", len(p[0].runs), len(p[1].runs))
	return t
}

// have rejects conditions on missing measures, and quotients of different units.
func (p diffPair) have(c *conditions) error {
	for i := range c.list {
		one := &c.list[i]
		m, sides := one.of(c.about, p.values)
		if sides == nil {
			return usagef("-fail %s: a %s has no %s", one.text, p[0].what(), one.name)
		}
		before, tasks := sides[0][0].(*granularity.Profile)
		if !tasks || !one.quotient || !slices.Contains([]string{"p50", "mean", "p99"}, m.name) {
			continue
		}
		unit := func(p *granularity.Profile) string {
			if p.ByTime() {
				return "nanoseconds"
			}
			return "cycles"
		}
		if after := sides[1][0].(*granularity.Profile); after.ByTime() != before.ByTime() {
			return fmt.Errorf("-fail %s: it is in %s, but was in %s", one.text, unit(after), unit(before))
		}
	}
	return nil
}

// diffForms write a pair; pictures exist only for kinds that can be drawn.
var diffForms = forms(diffPair.table, func(p diffPair, d drawing) (*picture.Drawing, error) { return p[0].kind.about().draw(p, d) }, formsOf[diffPair]{
	"text": func(w io.Writer, p diffPair, d drawing) error {
		if err := text.VerdictDiff(w, p[0].Verdict, p[1].Verdict, d.Options); err != nil {
			return err
		}
		if t := p.means(); t != nil {
			if err := text.WriteTable(w, t, d.Options); err != nil {
				return err
			}
			fmt.Fprintln(w)
		}
		return p[0].kind.about().compare(w, p, d)
	},
	"json": writeDiffJSON,
	"md": func(w io.Writer, p diffPair, d drawing) error {
		if t := p.means(); t != nil {
			if err := markdown.Write(w, t); err != nil {
				return err
			}
			fmt.Fprintln(w)
		}
		return tableForm(diffPair.table, markdown.Write)(w, p, d)
	},
	"html": tableForm(diffPair.table, report.WriteTable), // not all kinds have pictures
})

// comparing compares the values of a pair by their totals and the tables of changes.
func comparing[E any](totals []result.Column[E], warnings func(before, after *E) []string) func(io.Writer, diffPair, drawing) error {
	return func(w io.Writer, p diffPair, d drawing) error {
		before, after, tables := p[0].value.(*E), p[1].value.(*E), []*result.Table{p[0].kind.about().changes(p)}
		if _, waits := p[0].value.(*contention.Profile); waits {
			kinds, err := tables[0].By("kind")
			if err != nil {
				return err
			}
			tables = []*result.Table{kinds, tables[0]}
		}
		return text.WriteDiff(w, before, after, totals, warnings(before, after), d.Options, tables...)
	}
}

// differing returns the warnings of both runs, and one if they differ in a property.
func differing(different, before, after string, warnings ...[]string) (out []string) {
	if before != after {
		out = append(out, fmt.Sprintf("the %s %s and %s.", different, before, after))
	}
	for i, side := range warnings {
		for _, s := range side {
			out = append(out, [2]string{"before: ", "after: "}[i]+s)
		}
	}
	return out
}

var (
	compareBoxes = comparing(bottle.Summary(), func(a, b *bottle.Graph) []string {
		return differing("graphs are grouped differently,", "by "+a.GroupBy, "by "+b.GroupBy)
	})
	compareStacks     = comparing(speedup.Summary(), func(a, b *speedup.Stack) []string { return differing("", "", "", a.Warnings, b.Warnings) })
	compareContention = comparing(contention.Summary(), func(a, b *contention.Profile) []string {
		return differing("profiles differ in accuracy:", a.Accuracy, b.Accuracy, a.Warnings, b.Warnings)
	})
	compareTasks = comparing(granularity.Summary(), func(a, b *granularity.Profile) []string {
		return differing("profiles are measured differently,", "by "+a.Source, "by "+b.Source, a.Warnings, b.Warnings)
	})
)

func compareLedgers(w io.Writer, p diffPair, d drawing) error {
	return tableForm(diffPair.table, d.rowsText)(w, p, d)
}

// compareGraphs also compares the use of the capacity if both runs have a ledger.
func compareGraphs(w io.Writer, p diffPair, d drawing) error {
	if err := compareBoxes(w, p, d); err != nil || !p.booked() {
		return err
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	t, err := p.ledgers([]string{"category"})
	if err != nil {
		return err
	}
	return text.WriteTable(w, t, d.Options)
}

// drawPair draws two runs side by side.
type drawPair func(p diffPair, d drawing) (*picture.Drawing, error)

func drawGraphs(p diffPair, d drawing) (*picture.Drawing, error) {
	return picture.DrawRow([]string{"before", "after"}, []*bottle.Graph{p[0].value.(*bottle.Graph), p[1].value.(*bottle.Graph)}, d.picture())
}

func drawStacks(p diffPair, d drawing) (*picture.Drawing, error) {
	before, after := *p[0].value.(*speedup.Stack), *p[1].value.(*speedup.Stack)
	before.Label, after.Label = "before", "after"
	return picture.DrawStacks([]*speedup.Stack{&before, &after}, d.picture())
}

// booked reports whether both runs have ledgers.
func (p diffPair) booked() bool { return p[0].Ledger != nil && p[1].Ledger != nil }

// ledgers compares the ledgers by some columns; by default without lines, which edits move.
func (p diffPair) ledgers(by []string) (*result.Table, error) {
	if by == nil {
		by = []string{"category", "wait", "function", "group"}
	}
	before, after := p[0].Ledger, p[1].Ledger
	t, err := result.Diff(before.Table(), after.Table(), append([]string{"time"}, by...)...)
	if err != nil {
		return nil, err
	}
	t.Title = fmt.Sprintf("What the capacity went to: %s before, %s after", before.Extent(), after.Extent())
	return t, nil
}

// table returns the changes.
func (p diffPair) table(d drawing) (*result.Table, error) {
	if changes := p[0].kind.about().changes; changes != nil {
		return changes(p), nil
	}
	return p.ledgers(d.by) // the rows themselves
}

// measureJSON is a measure of both runs, with times in nanoseconds; null if unknown.
type measureJSON struct {
	Name   string   `json:"name"`
	Before *float64 `json:"before"`
	After  *float64 `json:"after"`
	// Runs are the values of several runs on each side.
	Runs *[2][]float64 `json:"runs,omitempty"`
}

// verdictsJSON holds the verdicts on two runs.
type verdictsJSON struct {
	Before *verdict.Verdict `json:"before"`
	After  *verdict.Verdict `json:"after"`
}

// writeDiffJSON writes one object: {"what":"bottle graph", "measures":[…], "changes":[…],
// "capacity":[…], "verdicts":{"before":…, "after":…}}.
func writeDiffJSON(w io.Writer, p diffPair, d drawing) error {
	out := struct {
		What     string        `json:"what"`
		Measures []measureJSON `json:"measures"`
		Changes  *result.Table `json:"changes"` // by row; nil for ledgers, which have Capacity
		// Capacity is the use of the capacity.
		Capacity *result.Table `json:"capacity,omitempty"`
		// Verdicts are those of graphs and ledgers; null if there are none.
		Verdicts *verdictsJSON `json:"verdicts,omitempty"`
	}{What: p[0].what(), Measures: p.measures(), Changes: &result.Table{}}
	if changes := p[0].kind.about().changes; changes != nil {
		out.Changes = changes(p)
	}
	if p[0].Verdict != nil || p[1].Verdict != nil {
		out.Verdicts = &verdictsJSON{p[0].Verdict, p[1].Verdict}
	}
	if p.booked() {
		by := d.by
		if p[0].kind != ledgerKind {
			by = []string{"category"}
		}
		var err error
		if out.Capacity, err = p.ledgers(by); err != nil {
			return err
		}
	}
	return writeJSON(w, out)
}

// measures returns the -fail measures of both runs.
func (p diffPair) measures() (out []measureJSON) {
	for _, m := range p[0].kind.measures().whole {
		value := func(a artifact) *float64 {
			v, err := m.of(a.value)
			if err != nil {
				return nil
			}
			return &v
		}
		one := measureJSON{Name: m.name, Before: value(p[0]), After: value(p[1])}
		if one.Before != nil && one.After != nil && len(p[0].runs) > 1 {
			sides := p.values(p[0].kind.measures())
			before, err := m.sample(sides[0])
			after, err2 := m.sample(sides[1])
			if err == nil && err2 == nil {
				one.Runs = &[2][]float64{before, after}
			}
		}
		out = append(out, one)
	}
	return out
}
