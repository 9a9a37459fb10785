package text

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// WriteDiff writes the changes from one result to another: the totals that are not 0 in both, and
// tables of changes, such as [bottle.Changes]. Rows whose first number changed by less than a
// thousandth of the sum are summed in one row. The error is that of w.
func WriteDiff[T any](w io.Writer, before, after *T, totals []result.Column[T], warnings []string, opt Options, tables ...*result.Table) error {
	whole := []*result.Table{result.New(totals, []T{*before}, 0), result.New(totals, []T{*after}, 0)}
	opt, st := opt.withDefaults()
	var b strings.Builder
	writeTotals(&b, []string{"before", "after"}, whole, st)
	for _, t := range tables {
		t.Title = ""
		u, least := t.Columns[0].Unit, 0.0
		for _, row := range append(slices.Clip(t.Rows), t.Total()) {
			least = max(least, math.Abs(u.Number(row[0])), math.Abs(u.Number(row[1])))
		}
		if least /= 1000; u.Whole() {
			least = math.Floor(least)
		}
		small := func(row []result.Value) bool {
			return row[0].Known && row[1].Known && math.Abs(u.Number(row[2])) < least
		}
		large := slices.DeleteFunc(slices.Clone(t.Rows), small)
		t.Rows = append(slices.Clip(large), slices.DeleteFunc(t.Rows, func(row []result.Value) bool { return !small(row) })...)
		opt := opt
		if most := max(1, len(large)); opt.Top == 0 || opt.Top > most {
			opt.Top = most
		}
		b.WriteByte('\n')
		if err := WriteTable(&b, t, opt); err != nil {
			return err
		}
	}
	return emit(w, b.String()+st.warnings(warnings, opt.Width))
}

// writeTotals writes summaries side by side, without zeros; those of two runs with quotients.
func writeTotals(b *strings.Builder, names []string, whole []*result.Table, st style) {
	headings := append([]string{""}, names...)
	if len(whole) == 2 {
		headings = append(headings, "change")
	}
	t := newColumns(headings...)
	for k := range whole[0].Columns {
		h := &whole[0].Columns[k]
		cells, values, known, all := []string{h.Title}, []float64{}, true, 0.0
		for _, run := range whole {
			c := &run.Rows[0][k]
			v := h.Unit.Number(*c)
			cells, values, known, all = append(cells, h.Format(c)), append(values, v), known && c.Known, all+math.Abs(v)
		}
		if len(whole) == 2 {
			cells = append(cells, ratioOf(values[0], values[1]))
		}
		for i := range cells {
			if known && all != 0 {
				t[i].add(cells[i])
			}
		}
	}
	writeColumns(b, t, st)
}

// WriteRow writes several bottle graphs side by side: the totals, then the share of each group in
// each of them. The error is that of w.
func WriteRow(w io.Writer, names []string, graphs []*bottle.Graph, opt Options) error {
	opt, st := opt.withDefaults()
	var b strings.Builder
	var short, warnings []string
	var whole []*result.Table
	for i, g := range graphs {
		short = append(short, fit(clean(names[i]), 16))
		whole = append(whole, result.New(bottle.Summary(), []bottle.Graph{*g}, 0))
		for _, warning := range g.Warnings {
			warnings = append(warnings, names[i]+": "+warning)
		}
	}
	writeTotals(&b, short, whole, st)
	opt.Top = cmp.Or(opt.Top, 15)
	b.WriteByte('\n')
	if err := WriteTable(&b, bottle.Row(short, graphs), opt); err != nil {
		return err
	}
	return emit(w, b.String()+st.warnings(warnings, opt.Width))
}

// VerdictDiff writes the first sentence of the verdict on each of two runs, followed by an empty
// line. It writes nothing if neither run has a verdict. The error is that of w.
func VerdictDiff(w io.Writer, before, after *verdict.Verdict, opt Options) error {
	if before == nil && after == nil {
		return nil
	}
	opt, st := opt.withDefaults()
	const column = len("before: ")
	var b strings.Builder
	for i, v := range []*verdict.Verdict{before, after} {
		s := "(no verdict: it is a sum of several recordings)"
		if v != nil && len(v.Findings) > 0 {
			s = clean(v.Findings[0].Title)
		}
		name := [2]string{"before: ", "after:  "}[i]
		b.WriteString(st.paintLines(bold, name+indent(wrap(s, opt.Width-column, 0), column-2)) + "\n")
	}
	return emit(w, b.String()+"\n")
}

// ratioOf formats after ÷ before as "1.25x".
func ratioOf(before, after float64) string {
	switch {
	case before == after:
		return "="
	case before == 0 || math.IsNaN(after/before):
		return format.Unknown
	}
	return strconv.FormatFloat(after/before, 'f', 2, 64) + "x"
}
