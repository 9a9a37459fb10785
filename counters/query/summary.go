package query

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/result"
)

// SummaryQuery asks for statistics of metrics over the parts of a set.
type SummaryQuery struct {
	Filter string // "" is all quanta
	// By is the property that the quanta of a part share, as in [TableQuery]; "" makes one part.
	By string
	// Metrics has at most 50 metrics; none means the duration, and every counter with a known
	// value.
	Metrics []string
	// Stats has at most 20 of mean, sum, min, max, deviation, ratio (of the sums of a quotient),
	// and quantiles such as p50 or p99.9; none means mean, p50 and p99.
	Stats []string
	// Top is the maximum number of parts, those that ran longest; the rest is an additional one. 0
	// means all.
	Top int
}

// SummaryRow holds the statistics of one metric over one part of a set.
type SummaryRow struct {
	Part    string // the shared property of its quanta
	Metric  string // canonical
	Unit    string
	Quanta  int
	Known   int // quanta with a known value, which the statistics cover
	Running time.Duration
	Values  []Value // by statistic
}

// Summary answers a [SummaryQuery]. The rows of a metric are consecutive, with the part that ran
// longest first. It also returns the names of the statistics. Errors are those of
// [Explorer.Answer].
func (e *Explorer) Summary(ctx context.Context, q SummaryQuery) (rows []SummaryRow, stats []string, err error) {
	if stats = q.Stats; len(stats) == 0 {
		stats = []string{"mean", "p50", "p99"}
	}
	if err := CheckStats(stats); err != nil {
		return nil, nil, &PartError{"stat", err}
	}
	set, _, err := e.selectText(ctx, "filter", q.Filter)
	if err != nil {
		return nil, nil, err
	}
	metrics, all := q.Metrics, len(q.Metrics) == 0
	if all {
		metrics = []string{"duration"}
		for i := range e.rec.Counters {
			metrics = append(metrics, e.written(i))
		}
	}
	m, err := e.compileAll("metric", metrics, 50)
	if err != nil {
		return nil, nil, err
	}
	parts, of, err := e.parts(q, set)
	if err != nil {
		return nil, nil, err
	}
	for i, c := range m.metrics {
		columns := []column{c.column}
		if c.over != nil {
			columns = append(columns, c.over, c.under)
		}
		for j := range parts {
			parts[j].values, parts[j].over, parts[j].under = parts[j].values[:0], sum{}, sum{}
		}
		known := false
		err := visit(ctx, set, columns, func(row int, v []float64) {
			p := &parts[of(row)]
			if v[0] == v[0] {
				p.values, known = append(p.values, v[0]), true
			}
			if len(v) > 1 && v[1] == v[1] && v[2] == v[2] {
				p.over.add(v[1])
				p.under.add(v[2])
			}
		})
		if err != nil {
			return nil, nil, err
		}
		if all && i > 0 && !known {
			continue
		}
		for j := range parts {
			rows = append(rows, parts[j].row(m.names[i], m.units[i], stats))
		}
	}
	return rows, stats, nil
}

// part holds the quanta with one key, or the rest.
type part struct {
	label       string
	quanta      int
	running     int64
	values      []float64 // known values of a metric
	over, under sum       // of the sides of a quotient
}

func (p *part) row(metric, unit string, stats []string) SummaryRow {
	var s Statistics
	s.describe(p.values)
	s.RatioOfSums = Value(finite(p.over.total() / p.under.total()))
	row := SummaryRow{Part: p.label, Metric: metric, Unit: unit, Quanta: p.quanta, Known: s.Known, Running: time.Duration(p.running)}
	for _, stat := range stats {
		row.Values = append(row.Values, s.value(stat, p.values))
	}
	return row
}

// parts returns the parts of a set, longest run time first, and the index of each row's part.
func (e *Explorer) parts(q SummaryQuery, set *Set) (parts []part, of func(row int) int32, err error) {
	keys := keys{n: 1, of: func(int) int32 { return 0 }, label: func(int32) string { return "all" }}
	if q.By != "" {
		var ok bool
		if keys, ok = e.by(q.By); !ok {
			return nil, nil, &PartError{"by", errBy(q.By)}
		}
	}
	quanta, running := make([]int, keys.n), make([]int64, keys.n)
	for row := range set.Rows() {
		quanta[keys.of(row)]++
		running[keys.of(row)] += e.rec.Duration[row]
	}
	var used []int32
	for key, n := range quanta {
		if n > 0 {
			used = append(used, int32(key))
		}
	}
	slices.SortStableFunc(used, func(a, b int32) int { return cmp.Compare(running[b], running[a]) })
	index := make([]int32, keys.n)
	for i, key := range used {
		if q.Top > 0 && i >= q.Top {
			i = q.Top
		}
		if i == len(parts) {
			parts = append(parts, part{label: keys.label(key)})
		}
		index[key] = int32(i)
		parts[i].quanta += quanta[key]
		parts[i].running += running[key]
	}
	if n := len(used) - q.Top; q.Top > 0 && n > 1 {
		parts[q.Top].label = fmt.Sprintf("%d others", n)
	}
	return parts, func(row int) int32 { return index[keys.of(row)] }, nil
}

// CheckStats returns an error if one of the names is not that of a statistic.
func CheckStats(names []string) error {
	if len(names) > 20 {
		return fmt.Errorf("%d statistics are more than 20", len(names))
	}
	for _, name := range names {
		if _, ok := quantileOf(name); !ok && !slices.Contains([]string{"mean", "sum", "min", "max", "deviation", "ratio"}, name) {
			return fmt.Errorf("no statistic is called %s: there are mean, sum, min, max, deviation, ratio, and quantiles such as p50 or p99.9", quote(name))
		}
	}
	return nil
}

func quantileOf(name string) (float64, bool) {
	percent, found := strings.CutPrefix(name, "p")
	p, err := strconv.ParseFloat(percent, 64)
	return p / 100, found && err == nil && p >= 0 && p <= 100
}

// value returns a statistic. It reorders the values.
func (s *Statistics) value(stat string, values []float64) Value {
	switch stat {
	case "mean":
		return s.Mean
	case "sum":
		return s.Sum
	case "min":
		return s.Min
	case "max":
		return s.Max
	case "deviation":
		return s.Deviation
	case "ratio":
		return s.RatioOfSums
	}
	q, _ := quantileOf(stat)
	return Value(quantiles(values, []float64{q})[0])
}

// SummaryTable returns rows and statistics, as returned by [Explorer.Summary], as a table for
// programs, with the unit of the values as text.
func SummaryTable(rows []SummaryRow, stats []string) *result.Table {
	return result.New(summaryColumns(rows, stats, result.Number, programs), rows, 0)
}

// SummaryTables returns tables for people, one per unit, of rows grouped by [SummaryQuery].By.
func SummaryTables(by string, rows []SummaryRow, stats []string) []*result.Table {
	return tablesByUnit(rows, func(r *SummaryRow) (string, string, []Value) { return r.Metric, r.Unit, r.Values }, func(rows []SummaryRow, unit result.Unit) []result.Column[SummaryRow] {
		return summaryColumns(rows, stats, unit, by)
	})
}

// tablesByUnit returns a table of rows for each display unit. Quotients without a unit that are all
// below 1 are shown as parts of a whole.
func tablesByUnit[Row any](rows []Row, of func(*Row) (metric, unit string, values []Value), columns func([]Row, result.Unit) []result.Column[Row]) (out []*result.Table) {
	is := func(r *Row) result.Unit {
		metric, unit, values := of(r)
		over := slices.ContainsFunc(values, func(v Value) bool { return math.Abs(float64(v)) >= 1 })
		if unit == "" && !over && strings.Contains(metric, " / ") {
			return result.Ratio
		}
		return UnitOf(unit)
	}
	for _, u := range units {
		var some []Row
		for i := range rows {
			if is(&rows[i]) == u.unit {
				some = append(some, rows[i])
			}
		}
		if len(some) > 0 {
			t := result.New(columns(some, u.unit), some, 0)
			t.Title = u.title
			out = append(out, t)
		}
	}
	return out
}

// units lists the display units.
var units = []struct {
	unit  result.Unit
	title string
}{{result.Duration, "Times, of quanta"}, {result.Bytes, "Bytes, of quanta"}, {result.Number, "Numbers, of quanta"}, {result.Ratio, "Quotients, of quanta"}}

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

// programs, as the grouping in summaryColumns, selects all columns.
const programs = "programs"

// summaryColumns returns the columns of the statistics. For people, it omits columns that are the
// same in all rows.
func summaryColumns(rows []SummaryRow, stats []string, unit result.Unit, by string) (out []result.Column[SummaryRow]) {
	one := func(of func(*SummaryRow) string) bool {
		return !slices.ContainsFunc(rows, func(r SummaryRow) bool { return of(&r) != of(&rows[0]) })
	}
	part, people, partUnit := func(r *SummaryRow) string { return r.Part }, by != programs, result.Text
	if by == "group" || by == "func" || by == "caller" {
		partUnit = result.Func
	}
	out = append(out, result.Column[SummaryRow]{Name: "metric", Title: "metric", Help: "what was counted", Value: result.Texts(func(r *SummaryRow) string { return r.Metric })})
	if !people || !one(part) {
		out = append(out, result.Column[SummaryRow]{Name: "part", Title: "part", Unit: partUnit, Help: "what the quanta have in common", Value: result.Texts(part)})
	}
	if unitText := func(r *SummaryRow) string { return r.Unit }; !people || unit == result.Number && !one(unitText) {
		out = append(out, result.Column[SummaryRow]{Name: "unit", Title: "unit", Help: "the unit of the values; empty for a plain count", Note: true, Value: result.Texts(unitText)})
	}
	for i, stat := range stats {
		out = append(out, result.Column[SummaryRow]{Name: stat, Title: stat, Unit: unit, Help: "the " + stat + " over the quanta whose value is known", Quotient: result.Single,
			Value: func(r *SummaryRow) (result.Value, bool) { return valueIn(unit, r.Values[i]) }})
	}
	return append(out,
		result.Column[SummaryRow]{Name: "quanta", Title: "quanta", Unit: result.Count, Help: "scheduling quanta of the part", Quotient: result.Single, Value: result.Ints(func(r *SummaryRow) int { return r.Quanta })},
		result.Column[SummaryRow]{Name: "known", Title: "known", Unit: result.Count, Help: "quanta whose value is known", Quotient: result.Single, Value: result.Ints(func(r *SummaryRow) int { return r.Known })},
		result.Column[SummaryRow]{Name: "running", Title: "running", Unit: result.Duration, Help: "for how long the quanta ran", Quotient: result.Single, Value: result.Ints(func(r *SummaryRow) time.Duration { return r.Running })})
}

func valueIn(unit result.Unit, v Value) (result.Value, bool) {
	if !unit.Whole() {
		return result.Float(float64(v)), v.Known()
	}
	if !v.Known() || math.Abs(float64(v)) > math.MaxInt64/2 {
		return result.Value{}, false
	}
	return result.Int(int64(math.Round(float64(v)))), true
}

// Table returns the comparison as a table for programs: the units are text.
func (c *Comparison) Table() *result.Table {
	return result.New(comparisonColumns(result.Number, true), c.Rows, 0)
}

// Tables returns the comparison as tables for people, one per unit.
func (c *Comparison) Tables() []*result.Table {
	tables := tablesByUnit(c.Rows, func(r *ComparisonRow) (string, string, []Value) {
		return r.Metric, r.Unit, []Value{r.A.Mean, r.B.Mean}
	}, func(rows []ComparisonRow, unit result.Unit) []result.Column[ComparisonRow] {
		return comparisonColumns(unit, unit == result.Number && slices.ContainsFunc(rows, func(r ComparisonRow) bool { return r.Unit != "" }))
	})
	for _, t := range tables {
		t.Title += ". "
	}
	return tables
}

func comparisonColumns(unit result.Unit, units bool) []result.Column[ComparisonRow] {
	number := func(name, title, help string, unit result.Unit, of func(*ComparisonRow) Value) result.Column[ComparisonRow] {
		return result.Column[ComparisonRow]{Name: name, Title: title, Unit: unit, Help: help, Quotient: result.Single, Value: func(r *ComparisonRow) (result.Value, bool) { return valueIn(unit, of(r)) }}
	}
	known := func(name, title, help string, of func(*ComparisonRow) int) result.Column[ComparisonRow] {
		return result.Column[ComparisonRow]{Name: name, Title: title, Unit: result.Count, Help: help, Quotient: result.Single, Value: result.Ints(of)}
	}
	out := []result.Column[ComparisonRow]{
		{Name: "metric", Title: "metric", Help: "what is compared", Value: result.Texts(func(r *ComparisonRow) string { return r.Metric })},
		number("standardized", "standardized", "the difference in units of the deviation within the sets: 0.2 is small, 0.8 is large", result.Number, func(r *ComparisonRow) Value { return r.Standardized }),
		number("a", "mean of A", "the mean of the first set", unit, func(r *ComparisonRow) Value { return r.A.Mean }),
		number("b", "mean of B", "the mean of the second set", unit, func(r *ComparisonRow) Value { return r.B.Mean }),
		number("difference", "A − B", "the mean of the first set less that of the second", unit, func(r *ComparisonRow) Value { return r.Difference }),
		number("low", "from", "with 95 % confidence, the difference is not less, if quanta are independent", unit, func(r *ComparisonRow) Value { return r.Low }),
		number("high", "to", "with 95 % confidence, the difference is not more", unit, func(r *ComparisonRow) Value { return r.High }),
		known("a_known", "of A", "quanta of the first set whose value is known", func(r *ComparisonRow) int { return r.A.Known }),
		known("b_known", "of B", "quanta of the second set whose value is known", func(r *ComparisonRow) int { return r.B.Known }),
	}
	if units {
		out = append(out, result.Column[ComparisonRow]{Name: "unit", Title: "unit", Help: "the unit of the means; empty for a plain count", Note: true, Value: result.Texts(func(r *ComparisonRow) string { return r.Unit })})
	}
	return out
}
