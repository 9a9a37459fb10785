package condition

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/aclements/go-moremath/stats"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/spelling"
	"github.com/bottleneck-go/bottleneck/result"
)

// Measures are the measures of one type of result.
type Measures struct {
	Example  string  // example of a condition
	Whole    []Table // tables for NAME, in the order of help and errors
	Filtered []Table // tables for names with a FILTER
	Parts    string  // describes these names in the help
	// Runs, if not nil, returns the values of a measure in repeated runs, of which the result v has
	// the mean, and whether v was disturbed.
	Runs func(v any, m *Measure) (values []float64, disturbed bool)
	// UnitOf, if not nil, returns the unit of a measure if that depends on the result v, or "".
	UnitOf func(v any, m *Measure) string
}

// Table is a table of a result whose columns of numbers are measures.
type Table struct {
	Columns []result.Head
	Of      func(v any) *result.Table
	Unknown func(v any, column string) string // explains an unknown value; it may be nil, or return ""
	Word    string                            // of WORD(FILTER).NAME, or ""
	Missing string                            // begins the error for a filter that is in no row
	Check   func(filter string) error         // rejects filters that no result has, if not nil
	// Names, if not nil, returns names of the result that may be in no row. If Loose, other names
	// may be, too, unless they look mistyped.
	Names func(v any) []string
	Loose bool
}

// Rows returns the table of some rows of a result.
func Rows[T, Row any](columns []result.Column[Row], rows func(*T) []Row) Table {
	return Table{Columns: result.Heads(columns), Of: func(v any) *result.Table { return result.New(columns, rows(v.(*T)), 0) }}
}

// Summary returns the table with the columns of a whole result, its only row.
func Summary[T any](columns []result.Column[T], unknown func(v any, column string) string) Table {
	in := Rows(columns, func(v *T) []T { return []T{*v} })
	in.Unknown = unknown
	return in
}

// Parts returns the table of the measures WORD(FILTER).NAME.
func Parts[T, Row any](word, missing string, columns []result.Column[Row], rows func(*T) []Row) Table {
	in := Rows(columns, rows)
	in.Word, in.Missing = word, missing
	return in
}

// numbers returns the names of the columns of numbers.
func (in *Table) numbers() (names []string) {
	for _, h := range in.Columns {
		if !h.Unit.IsText() {
			names = append(names, h.Name)
		}
	}
	return names
}

// measure returns the measure of a column; the error is one of [result.Unknown].
func (in *Table) measure(column string) (*Measure, error) {
	i := slices.IndexFunc(in.Columns, func(h result.Head) bool { return h.Name == column && !h.Unit.IsText() })
	if i < 0 {
		return nil, result.Unknown(column, in.numbers())
	}
	return &Measure{Head: in.Columns[i], Text: column, in: in, index: i, limit: math.NaN()}, nil
}

// names returns the names of the measures in some tables.
func names(tables []Table) (names []string) {
	for i := range tables {
		if word := tables[i].Word; word != "" {
			names = append(names, word+"(NAME)")
		} else {
			names = append(names, tables[i].numbers()...)
		}
	}
	return names
}

// All returns the measures of a whole result that have a help text.
func (ms *Measures) All() (all []*Measure) {
	for i := range ms.Whole {
		for _, name := range ms.Whole[i].numbers() {
			if m, _ := ms.Whole[i].measure(name); m.Help != "" {
				m.of = ms
				all = append(all, m)
			}
		}
	}
	return all
}

// Find returns the measure with a name; the error may be one of [result.Unknown].
func (ms *Measures) Find(name string) (m *Measure, err error) {
	word, filter, rest, filtered, err := cutFilter(name)
	if err != nil {
		return nil, err
	}
	tables := ms.Whole
	if filtered {
		tables = ms.Filtered
	}
	for i := range tables {
		in, column := &tables[i], word
		if filtered && in.Word != "" {
			if in.Word != word {
				continue
			}
			last, dot := strings.CutPrefix(rest, ".")
			if filter == "" || !dot {
				return nil, fmt.Errorf("%q: want %s(NAME).%s", name, word, strings.Join(in.numbers(), fmt.Sprintf(" or %s(NAME).", word)))
			}
			if column = strings.TrimSpace(last); !slices.Contains(in.numbers(), column) {
				return nil, fmt.Errorf("%s(NAME): %w", word, result.Unknown(column, in.numbers()))
			}
		}
		if m, err = in.measure(column); err != nil {
			continue
		}
		if m.Text, m.of = name, ms; !filtered {
			return m, nil
		}
		if in.Word == "" && (rest != "" || filter == "") {
			return nil, fmt.Errorf("%q: want %s(FILTER), where FILTER is the text of a row", name, word)
		}
		if m.Filter, m.maybe = strings.CutSuffix(filter, "?"); in.Check != nil {
			if err := in.Check(m.Filter); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		return m, nil
	}
	known := names(tables)
	if spelling.Nearest(word, known) == "" && !filtered {
		known = nil
		for _, m := range ms.All() {
			known = append(known, m.Name)
		}
	}
	return nil, result.Unknown(word, known)
}

// Measure is a column of a table, of the rows that have a filter if that is not "". Values of a Ratio
// are in percent.
type Measure struct {
	result.Head
	Text   string // as written
	Filter string
	maybe  bool // a filter that is in no row counts as 0
	part   bool // the value is in percent of the whole of the column
	limit  float64
	of     *Measures
	in     *Table
	index  int
}

// against parses the limit of the measure.
func (m *Measure) against(s string) (err error) {
	if m.Part && strings.HasSuffix(s, "%") {
		m.part, m.Unit = true, result.Ratio
	}
	if m.Unit == result.Duration {
		var d time.Duration
		if d, err = time.ParseDuration(s); err != nil {
			err = fmt.Errorf("%s wants a duration such as 1.5s, not %q", m.Text, s)
		}
		m.limit = float64(d)
	} else {
		number := s
		if m.Unit == result.Ratio {
			number = strings.TrimSuffix(s, "%")
		}
		if m.limit, err = parseNumber(number); err != nil {
			err = fmt.Errorf("%s wants a number, not %q", m.Text, s)
		}
	}
	if err != nil && m.Part {
		err = fmt.Errorf("%w, or a part such as 10%%", err)
	}
	return err
}

// parseNumber parses a finite number.
func parseNumber(s string) (float64, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		err = strconv.ErrRange
	}
	return f, err
}

// Value returns the sum or mean of the rows. Without rows it is 0.
func (m *Measure) Value(v any) (float64, error) {
	t := m.in.Of(v)
	rows := t.Rows
	if m.Filter != "" {
		rows = slices.DeleteFunc(slices.Clone(rows), func(row []result.Value) bool { return !matches(t.Columns, row, m.Filter) })
		if len(rows) == 0 {
			return 0, m.absent(v, t)
		}
	}
	sum := (&result.Table{Columns: t.Columns, Rows: rows}).Total()[m.index]
	switch whole := t.Columns[m.index].Whole; {
	case !sum.Known && len(rows) > 1:
		return 0, fmt.Errorf("%s is not known of all rows", m.Text)
	case !sum.Known && len(rows) == 1:
		if m.in.Unknown != nil {
			if reason := m.in.Unknown(v, m.Name); reason != "" {
				return 0, errors.New(reason)
			}
		}
		return 0, fmt.Errorf("%s is not known", m.Text)
	case m.part && whole <= 0:
		return 0, fmt.Errorf("the whole that %s is a part of is not known", m.Text)
	case m.part:
		return 100 * float64(sum.Int) / float64(whole), nil
	case m.Unit == result.Ratio:
		return math.Round(1e14*sum.Float) / 1e12, nil // 100 × 0.07 is 7
	}
	return m.Unit.Number(sum), nil
}

// absent returns the error for a filter that is in no row of the table; nil if that means 0.
func (m *Measure) absent(v any, t *result.Table) error {
	if m.maybe {
		return nil
	}
	var known []string
	if m.in.Names != nil {
		known = m.in.Names(v)
	}
	for _, row := range t.Rows {
		for k := range row {
			if t.Columns[k].Unit == result.Func {
				known = append(append(known, row[k].Text), row[k].More...)
			}
		}
	}
	known = append(known, format.Funcs(known)...)
	// Names that differ only in the number after # belong to different locks.
	word, _, _ := strings.Cut(m.Filter, "#")
	for i, name := range known {
		known[i], _, _ = strings.Cut(name, "#")
		if known[i] == word || strings.HasSuffix(known[i], "/"+word) {
			return nil
		}
	}
	near := spelling.Nearest(word, known)
	if near == "" && m.in.Loose {
		return nil
	}
	if near != "" {
		near = fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Errorf("%s %q%s (%s? counts as 0 where it is unknown)", m.in.Missing, m.Filter, near, m.Filter)
}

// matches reports whether a text of a row equals the filter, in full or from the last slash on.
func matches(columns []result.Head, row []result.Value, filter string) bool {
	for k := range row {
		if !columns[k].Unit.IsText() || !row[k].Known {
			continue
		}
		for _, s := range append([]string{row[k].Text}, row[k].More...) {
			if s == filter || strings.HasSuffix(s, "/"+filter) || columns[k].Unit == result.Func && format.Func(s) == filter {
				return true
			}
		}
	}
	return false
}

// OneOf returns the check of filters that are one of some words, or no plain word, but a function
// or a line.
func OneOf(words []string) func(string) error {
	return func(filter string) error {
		plain := !strings.ContainsFunc(filter, func(r rune) bool { return r != '-' && !unicode.IsLetter(r) })
		if !plain || slices.Contains(words, filter) {
			return nil
		}
		return fmt.Errorf("%w, or a function such as main.main", result.Unknown(filter, words))
	}
}

// Sample returns the values of the measure in the runs of a side.
func (m *Measure) Sample(side []any) (out []float64, err error) {
	if m.of.Runs != nil && len(side) == 1 {
		if out, _ = m.of.Runs(side[0], m); len(out) > 1 {
			return out, nil
		}
		out = nil
	}
	for _, run := range side {
		v, err := m.Value(run)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (m *Measure) disturbed(v any) (disturbed bool) {
	if m.of.Runs != nil {
		_, disturbed = m.of.Runs(v, m)
	}
	return disturbed
}

// Average formats the mean of a sample, with half the width of its confidence interval.
func (m *Measure) Average(sample []float64) string {
	mean, low, _ := stats.MeanCI(sample, Confidence)
	s := m.format(mean)
	if len(sample) > 1 {
		s += " ± " + m.format(mean-low)
	}
	return s
}

// format formats a value with enough digits to distinguish it from the limit.
func (m *Measure) format(v float64) string {
	if m.Unit == result.Duration {
		d, limit := time.Duration(v), time.Duration(m.limit)
		if rounded := format.Round3(d); rounded != format.Round3(limit) || d == limit {
			return rounded.String()
		}
		return d.String()
	}
	s := ""
	for decimals := 2; decimals < 20; decimals++ {
		s = strconv.FormatFloat(v, 'f', decimals, 64)
		if shown, _ := strconv.ParseFloat(s, 64); shown != m.limit || v == m.limit {
			break
		}
	}
	if m.Unit == result.Ratio {
		s += "%"
	}
	return s
}
