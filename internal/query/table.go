package query

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/result"
)

// Table holds statistics of the parts of a set, each with the quanta that share a property. A
// [Query] has the first five fields; the answer has all.
type Table struct {
	// By is the property: group, kind, goroutine, func, caller, proc, thread, ended or wait. ""
	// makes one part.
	By string `json:"by"`
	// Metrics has at most 50 metrics; none means the duration, and every counter with a known
	// value.
	Metrics []string `json:"metrics,omitzero"`
	// Stats names the statistics that are shown, at most 20: mean, sum, min, max, deviation, ratio
	// (of the sums of a quotient), and quantiles such as p50 or p99.9. Deviations and quantiles are
	// computed only if they are among these.
	Stats []string `json:"stats,omitempty"`
	// Limit is the maximum number of rows, those that ran longest; the others are added up. 0 means
	// all.
	Limit int `json:"limit,omitempty"`
	// Bins is the number of bins of [Statistics].Means, at most 10000. They divide the time between
	// From and To; a quantum counts in the bin in which it begins.
	Bins int `json:"bins,omitempty"`

	Units  []string   `json:"units,omitzero"`
	Rows   []tableRow `json:"rows,omitzero"`
	Others *tableRow  `json:"others,omitempty"` // sum of the rows beyond the limit; nil if none
	Groups int        `json:"groups"`           // number of parts
	From   int64      `json:"from,omitempty"`   // ns, if there are bins
	To     int64      `json:"to,omitempty"`
}

// tableRow summarizes one part.
type tableRow struct {
	Key       string       `json:"key"`
	Goroutine *int64       `json:"goroutine,omitempty"`
	Thread    *int64       `json:"thread,omitempty"`
	Proc      *int64       `json:"proc,omitempty"`
	Groups    int          `json:"groups,omitempty"` // of Others
	Count     int          `json:"count"`
	Duration  Value        `json:"duration"` // ns
	Cells     []Statistics `json:"cells"`    // by metric
}

// table answers the question of a [Table] for a set.
func (e *Explorer) table(ctx context.Context, q Table, set []int) (*Table, error) {
	if err := CheckStats(q.Stats); err != nil {
		return nil, InPart("stat", err)
	}
	if err := CheckBy(q.By); err != nil {
		return nil, InPart("by", err)
	}
	keys, _ := e.by(q.By)
	metrics, all := q.Metrics, len(q.Metrics) == 0
	if all {
		metrics = []string{"duration"}
		for i := range e.rec.Counters {
			metrics = append(metrics, e.written(i))
		}
	}
	compiled, err := e.compileAll(50, metrics...)
	if err != nil {
		return nil, err
	}
	out := &Table{By: q.By, Metrics: []string{}, Stats: q.Stats, Units: []string{}, Rows: []tableRow{}}
	bin := func(int) int { return 0 }
	if q.Bins != 0 {
		if q.Bins < 0 || q.Bins > 10_000 {
			return nil, fmt.Errorf("want 1 to 10000 bins, got %d", q.Bins)
		}
		if out.From, out.To, err = e.window(0, 0); err != nil {
			return nil, err
		}
		out.Bins = q.Bins
		bin = func(row int) int {
			return min(q.Bins-1, int((float64(e.rec.Begin[row])-float64(out.From))/float64(out.To-out.From)*float64(q.Bins)))
		}
	}
	of := e.parts(out, keys, q.Limit, set)
	rows := out.all()
	for i, m := range compiled {
		cells, err := e.statistics(ctx, m, set, len(rows), of, q.Stats, false)
		if err != nil {
			return nil, err
		}
		if all && i > 0 && !slices.ContainsFunc(cells, func(s Statistics) bool { return s.Known > 0 }) {
			continue
		}
		if q.Bins > 0 {
			bins, err := e.statistics(ctx, m, set, len(rows)*q.Bins, func(row int) int { return of(row)*q.Bins + bin(row) }, nil, false)
			if err != nil {
				return nil, err
			}
			for j := range bins {
				cells[j/q.Bins].Means = append(cells[j/q.Bins].Means, bins[j].Mean)
			}
		}
		out.Metrics, out.Units = append(out.Metrics, m.name), append(out.Units, m.unit.String())
		for j, row := range rows {
			row.Cells = append(row.Cells, cells[j])
		}
	}
	return out, nil
}

// CheckBy returns an error if there is no property of the name by which a [Table] can group quanta.
func CheckBy(name string) error {
	if _, ok := (&Explorer{rec: &quanta.Recording{}}).by(name); !ok {
		return fmt.Errorf("cannot group by %s: want group, kind, goroutine, func, caller, proc, thread, ended or wait", quote(name))
	}
	return nil
}

// all returns the rows, with that of the others.
func (t *Table) all() (out []*tableRow) {
	for i := range t.Rows {
		out = append(out, &t.Rows[i])
	}
	if t.Others != nil {
		out = append(out, t.Others)
	}
	return out
}

// parts adds the rows of a table, without cells, and returns the index of a quantum's row.
func (e *Explorer) parts(t *Table, keys keys, limit int, set []int) (of func(row int) int) {
	all := keys.tally(set, func(row int) (int64, bool) { return e.rec.Duration[row], true })
	t.Groups = len(all.used)
	if limit <= 0 {
		limit = t.Groups
	}
	index, rest := make([]int, keys.n), sum{}
	for i, key := range all.used {
		index[key] = min(i, limit)
		if i < limit {
			row := tableRow{Key: keys.label(key), Count: all.quanta[key], Duration: Value(all.time[key].total()), Cells: []Statistics{}}
			switch number := keys.number(key); t.By {
			case "goroutine":
				row.Goroutine = number
			case "thread":
				row.Thread = number
			case "proc":
				row.Proc = number
			}
			t.Rows = append(t.Rows, row)
			continue
		}
		if i == limit {
			t.Others = &tableRow{Key: keys.label(key), Cells: []Statistics{}}
		} else {
			t.Others.Key = fmt.Sprintf("%d others", i-limit+1)
		}
		rest.add(all.time[key].total())
		t.Others.Groups++
		t.Others.Count += all.quanta[key]
		t.Others.Duration = Value(rest.total())
	}
	return func(row int) int { return index[keys.of(row)] }
}

// A recording's statistics are tables in three forms: one for programs, with the unit as text, and
// for people one for each display unit.

// Tables returns the answer's comparison, or else its table: for people, a table for each display
// unit; otherwise, a single one with the units as text.
func (a *Answer) Tables(people bool) []*result.Table {
	if a.Table == nil {
		return tablesOf(a.Comparison, people,
			func(c *comparison) (*Statistics, []Value) { return &c.A, []Value{c.A.Mean, c.B.Mean} }, comparisonColumns)
	}
	t, rows := a.Table, []line(nil)
	for i := range t.Metrics {
		for _, row := range t.all() {
			l := line{Statistics: row.Cells[i], part: row.Key, running: time.Duration(row.Duration)}
			for _, name := range t.Stats {
				l.values = append(l.values, l.value(name))
			}
			rows = append(rows, l)
		}
	}
	return tablesOf(rows, people, func(l *line) (*Statistics, []Value) { return &l.Statistics, l.values }, t.columns)
}

// line holds the statistics of one metric over one part.
type line struct {
	Statistics
	part    string
	running time.Duration
	values  []Value // by Table.Stats
}

// tablesOf returns tables of rows. Quotients without a unit that are all below 1 are shown to
// people as parts of a whole.
func tablesOf[Row any](rows []Row, people bool, of func(*Row) (*Statistics, []Value), columns func([]Row, result.Unit, bool) []result.Column[Row]) (out []*result.Table) {
	if !people {
		return []*result.Table{result.New(columns(rows, result.Number, false), rows, 0)}
	}
	is := func(r *Row) result.Unit {
		s, values := of(r)
		over := slices.ContainsFunc(values, func(v Value) bool { return math.Abs(float64(v)) >= 1 })
		if s.Unit == "" && !over && s.RatioRows > 0 {
			return result.Ratio
		}
		return UnitOf(s.Unit)
	}
	for _, u := range []struct {
		unit  result.Unit
		title string
	}{{result.Duration, "Times, of quanta"}, {result.Bytes, "Bytes, of quanta"}, {result.Number, "Numbers, of quanta"}, {result.Ratio, "Quotients, of quanta"}} {
		var some []Row
		for i := range rows {
			if is(&rows[i]) == u.unit {
				some = append(some, rows[i])
			}
		}
		if len(some) > 0 {
			t := result.New(columns(some, u.unit, true), some, 0)
			t.Title = u.title
			out = append(out, t)
		}
	}
	return out
}

// UnitOf returns the display unit for a unit of metrics.
func UnitOf(unit string) result.Unit {
	switch unit {
	case "ns":
		return result.Duration
	case "bytes":
		return result.Bytes
	}
	return result.Number
}

func textColumn[Row any](name, title, help string, unit result.Unit, of func(*Row) string) result.Column[Row] {
	return result.Column[Row]{Name: name, Title: title, Unit: unit, Help: help, Note: name == "unit", Value: result.Texts(of)}
}

// differ reports whether a text is not the same in all rows.
func differ[Row any](rows []Row, of func(*Row) string) bool {
	return slices.ContainsFunc(rows, func(r Row) bool { return of(&r) != of(&rows[0]) })
}

// columns returns the columns of the statistics. For people, it omits columns that are the same in
// all rows.
func (t *Table) columns(rows []line, unit result.Unit, people bool) (out []result.Column[line]) {
	part, unitText, partUnit := func(l *line) string { return l.part }, func(l *line) string { return l.Unit }, result.Text
	if t.By == "group" || t.By == "func" || t.By == "caller" {
		partUnit = result.Func
	}
	out = append(out, textColumn("metric", "metric", "what was counted", result.Text, func(l *line) string { return l.Metric }))
	if !people || differ(rows, part) {
		out = append(out, textColumn("part", "part", "what the quanta have in common", partUnit, part))
	}
	if !people || unit == result.Number && differ(rows, unitText) {
		out = append(out, textColumn("unit", "unit", "the unit of the values; empty for a plain count", result.Text, unitText))
	}
	for i, stat := range t.Stats {
		out = append(out, numberColumn(stat, stat, "the "+stat+" over the quanta whose value is known", unit, func(l *line) Value { return l.values[i] }))
	}
	return append(out,
		countColumn("quanta", "quanta", "scheduling quanta of the part", func(l *line) int { return l.Count }),
		countColumn("known", "known", "quanta whose value is known", func(l *line) int { return l.Known }),
		result.Column[line]{Name: "running", Title: "running", Unit: result.Duration, Help: "for how long the quanta ran", Quotient: result.Single, Value: result.Ints(func(l *line) time.Duration { return l.running })})
}

func comparisonColumns(rows []comparison, unit result.Unit, people bool) []result.Column[comparison] {
	out := []result.Column[comparison]{
		textColumn("metric", "metric", "what is compared", result.Text, func(c *comparison) string { return c.Metric }),
		numberColumn("standardized", "standardized", "the difference in units of the deviation within the sets: 0.2 is small, 0.8 is large", result.Number, func(c *comparison) Value { return c.Standardized }),
		numberColumn("a", "mean of A", "the mean of the first set", unit, func(c *comparison) Value { return c.A.Mean }),
		numberColumn("b", "mean of B", "the mean of the second set", unit, func(c *comparison) Value { return c.B.Mean }),
		numberColumn("difference", "A − B", "the mean of the first set less that of the second", unit, func(c *comparison) Value { return c.Difference }),
		numberColumn("low", "from", "with 95 % confidence, the difference is not less, if quanta are independent", unit, func(c *comparison) Value { return c.Low }),
		numberColumn("high", "to", "with 95 % confidence, the difference is not more", unit, func(c *comparison) Value { return c.High }),
		countColumn("a_known", "of A", "quanta of the first set whose value is known", func(c *comparison) int { return c.A.Known }),
		countColumn("b_known", "of B", "quanta of the second set whose value is known", func(c *comparison) int { return c.B.Known }),
	}
	if !people || unit == result.Number && slices.ContainsFunc(rows, func(c comparison) bool { return c.Unit != "" }) {
		out = append(out, textColumn("unit", "unit", "the unit of the means; empty for a plain count", result.Text, func(c *comparison) string { return c.Unit }))
	}
	return out
}

func countColumn[Row any](name, title, help string, of func(*Row) int) result.Column[Row] {
	return result.Column[Row]{Name: name, Title: title, Unit: result.Count, Help: help, Quotient: result.Single, Value: result.Ints(of)}
}

func numberColumn[Row any](name, title, help string, unit result.Unit, of func(*Row) Value) result.Column[Row] {
	return result.Column[Row]{Name: name, Title: title, Unit: unit, Help: help, Quotient: result.Single, Value: func(r *Row) (result.Value, bool) {
		v := of(r)
		if !unit.Whole() {
			return result.Float(float64(v)), v.Known()
		}
		if !v.Known() || math.Abs(float64(v)) > math.MaxInt64/2 {
			return result.Value{}, false
		}
		return result.Int(int64(math.Round(float64(v)))), true
	}}
}
