package artifact

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/markdown"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/condition"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/measures"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/internal/report"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// Pair holds the two runs.
type Pair [2]Artifact

// Median returns the run with the median wall time or first measure. It has all runs.
func Median(runs []Artifact) Artifact {
	all := runs[0].Fails.All()
	m := all[max(0, slices.IndexFunc(all, func(m *condition.Measure) bool { return m.Name == "wall" }))]
	sorted := slices.Clone(runs)
	slices.SortStableFunc(sorted, func(a, b Artifact) int {
		x, _ := m.Value(a.Value)
		y, _ := m.Value(b.Value)
		return cmp.Compare(x, y)
	})
	out := sorted[(len(runs)-1)/2]
	out.Runs = runs
	return out
}

// Values returns the results of all runs that have these measures, or nil.
func (p Pair) Values(about *condition.Measures) [][]any {
	if about != p[0].Fails && (about != &measures.Ledger || !p.Booked()) {
		return nil
	}
	sides := make([][]any, len(p))
	for i := range p {
		for _, run := range p[i].Runs {
			if about == p[0].Fails {
				sides[i] = append(sides[i], run.Value)
			} else {
				sides[i] = append(sides[i], run.Ledger)
			}
		}
	}
	return sides
}

// Compared is a measure of both runs, with times in nanoseconds; null if it is unknown.
type Compared struct {
	m      *condition.Measure
	Name   string   `json:"name"`
	Before *float64 `json:"before"`
	After  *float64 `json:"after"`
	// Runs are the values of several runs on each side.
	Runs *[2][]float64 `json:"runs,omitempty"`
}

// measures returns the measures of both runs, without those that neither has.
func (p Pair) measures() (out []Compared) {
	for _, m := range p[0].Fails.All() {
		c := Compared{m: m, Name: m.Name}
		for i, to := range []**float64{&c.Before, &c.After} {
			if v, err := m.Value(p[i].Value); err == nil {
				*to = &v
			}
		}
		if c.Before == nil && c.After == nil {
			continue
		}
		if sides := p.Values(p[0].Fails); len(sides[0]) > 1 {
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
func (p Pair) means() *result.Table {
	if len(p[0].Runs) < 2 {
		return nil
	}
	rows := slices.DeleteFunc(p.measures(), func(c Compared) bool {
		return c.Runs == nil || stats.Mean(c.Runs[0]) == 0 && stats.Mean(c.Runs[1]) == 0
	})
	t := result.New(meanColumns, rows, 0)
	t.Title = fmt.Sprintf("%d runs before and %d after, ± 95 %%", len(p[0].Runs), len(p[1].Runs))
	return t
}

// meanColumns are the columns of measures of several runs.
var meanColumns = []result.Column[Compared]{
	{Name: "measure", Title: "mean of runs", Value: result.Texts(func(c *Compared) string { return c.Name })},
	{Name: "before", Title: "before", Note: true, Value: result.Texts(func(c *Compared) string { return c.m.Average(c.Runs[0]) })},
	{Name: "after", Title: "after", Note: true, Value: result.Texts(func(c *Compared) string { return c.m.Average(c.Runs[1]) })},
	{Name: "change", Title: "change", Note: true, Value: result.Texts(func(c *Compared) string {
		if q := condition.Quotient(c.Runs[0], c.Runs[1]); !math.IsInf(q, 0) {
			return fmt.Sprintf("%.2fx", q)
		}
		return format.Unknown
	})},
	{Name: "significant", Title: "95 % confidence", Note: true, Value: result.Texts(func(c *Compared) string {
		switch differ, significant := condition.Differ(c.Runs[0], c.Runs[1]); {
		case !differ:
			return "the same"
		case significant:
			return "significant"
		}
		return "may be chance"
	})},
}

// readable is table with the names of the rows first.
func (p Pair) readable(d output.Drawing) (*result.Table, error) {
	t, err := p.table(d)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, h := range t.Columns {
		names = append(names, h.Name)
	}
	numbers := slices.Index(names, "row") + 1 // see [result.Diff]
	return t.Pick(slices.Concat(names[numbers:], names[:numbers])...)
}

// DiffForms write a pair; pictures exist only for kinds that can be drawn.
var DiffForms = output.FormsOf(Pair.table, func(p Pair, d output.Drawing) (*picture.Drawing, error) { return p[0].Pairs.Draw(p, d) }, output.Writers[Pair]{
	"text": func(w io.Writer, p Pair, d output.Drawing) error {
		if err := text.VerdictDiff(w, p[0].Verdict, p[1].Verdict, d.Options); err != nil {
			return err
		}
		if t := p.means(); t != nil {
			if err := text.WriteTable(w, t, d.Options); err != nil {
				return err
			}
			fmt.Fprintln(w)
		}
		if p[0].Pairs.compare == nil {
			return output.Via(Pair.table, d.RowsText)(w, p, d)
		}
		if err := p[0].Pairs.compare(w, p, d); err != nil || !p.Booked() {
			return err
		}
		fmt.Fprintln(w)
		return output.Via(Pair.categories, d.RowsText)(w, p, d)
	},
	"json": writeDiffJSON,
	"md": func(w io.Writer, p Pair, d output.Drawing) error {
		if t := p.means(); t != nil {
			if err := markdown.Write(w, t); err != nil {
				return err
			}
			fmt.Fprintln(w)
		}
		return output.Via(Pair.readable, markdown.Write)(w, p, d)
	},
	"html": output.Via(Pair.readable, report.WriteTable), // not all kinds have pictures
})

// pairs compares two results of a kind.
type pairs struct {
	compare func(w io.Writer, p Pair, d output.Drawing) error        // in words
	changes func(p Pair) *result.Table                               // nil if these are those of the ledgers
	Draw    func(p Pair, d output.Drawing) (*picture.Drawing, error) // nil if there is no picture
}

// comparing compares results by their totals and the table of changes. one returns the result of a
// value. about returns a property in which two may differ, after the words for that, and the
// warnings.
func comparing[E any](one func(v any) *E, totals []result.Column[E], changes func(before, after *E) *result.Table,
	draw func(Pair, output.Drawing) (*picture.Drawing, error), about func(*E) (different, property string, warnings []string)) *pairs {
	return &pairs{Draw: draw, changes: func(p Pair) *result.Table { return changes(one(p[0].Value), one(p[1].Value)) },
		compare: func(w io.Writer, p Pair, d output.Drawing) error {
			before, after := one(p[0].Value), one(p[1].Value)
			tables := []*result.Table{changes(before, after)}
			if _, waits := p[0].Value.(*contention.Profile); waits {
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

func drawGraphs(p Pair, d output.Drawing) (*picture.Drawing, error) {
	return picture.DrawRow([]string{"before", "after"}, []*bottle.Graph{p[0].Value.(*bottle.Graph), p[1].Value.(*bottle.Graph)}, d.Picture())
}

func drawStacks(p Pair, d output.Drawing) (*picture.Drawing, error) {
	before, after := *measures.Widest(p[0].Value.([]*speedup.Stack)), *measures.Widest(p[1].Value.([]*speedup.Stack))
	before.Label, after.Label = "before", "after"
	return picture.DrawStacks([]*speedup.Stack{&before, &after}, d.Picture())
}

// Booked reports whether both runs have ledgers.
func (p Pair) Booked() bool { return p[0].Ledger != nil && p[1].Ledger != nil }

// ledgers compares the ledgers by some columns.
func (p Pair) ledgers(by ...string) (*result.Table, error) {
	before, after := p[0].Ledger, p[1].Ledger
	t, err := result.Diff(before.Table(), after.Table(), append([]string{"time"}, by...)...)
	if err != nil {
		return nil, err
	}
	t.Title = fmt.Sprintf("What the capacity went to: %s before, %s after", before.Extent(), after.Extent())
	return t, nil
}

func (p Pair) categories(output.Drawing) (*result.Table, error) { return p.ledgers("category") }

// table returns the changes; those of ledgers by default without lines, which edits move.
func (p Pair) table(d output.Drawing) (*result.Table, error) {
	if changes := p[0].Pairs.changes; changes != nil {
		return changes(p), nil
	}
	if d.By == nil {
		d.By = []string{"category", "wait", "function", "group"}
	}
	return p.ledgers(d.By...)
}

// writeDiffJSON writes one object: {"what":"bottle graph", "measures":[…], "changes":[…],
// "capacity":[…], "verdicts":{"before":…, "after":…}}.
func writeDiffJSON(w io.Writer, p Pair, d output.Drawing) (err error) {
	type verdicts struct {
		Before *verdict.Verdict `json:"before"`
		After  *verdict.Verdict `json:"after"`
	}
	out := struct {
		What     string        `json:"what"`
		Measures []Compared    `json:"measures"`
		Changes  *result.Table `json:"changes"` // by row; empty for ledgers, which have Capacity
		// Capacity is the use of the capacity.
		Capacity *result.Table `json:"capacity,omitempty"`
		// Verdicts are those of graphs and ledgers; null if there are none.
		Verdicts *verdicts `json:"verdicts,omitempty"`
	}{What: p[0].What, Measures: p.measures(), Changes: &result.Table{}}
	if changes := p[0].Pairs.changes; changes == nil {
		out.Capacity, err = p.table(d)
	} else if out.Changes = changes(p); p.Booked() {
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
