package main

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
	"github.com/spf13/cobra"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/spelling"
	"github.com/bottleneck-go/bottleneck/result"
)

// A condition of -fail compares a measure with a limit, in the grammar of parseConditions.
// A measure is one of
//
//	NAME              a column of the summary of a result, such as parallelism
//	WORD(NAME).NAME   a column of one part of a result, such as group(main.main).share-%
//	NAME(FILTER)      a column of the table of a result, of the rows that have FILTER

// measure is a number of a result. Its functions take a pointer to the result.
type measure struct {
	name string
	unit result.Unit // values of a Ratio are in percent
	help string
	of   func(v any) (float64, error)
	// asPart, if not nil, returns the value in percent of a whole.
	asPart func(v any) (float64, error)
	// repeated, if not nil, returns the values of repeated runs of which v is one, if any, and
	// disturbed reports whether v is no valid result.
	repeated  func(v any) []float64
	disturbed func(v any) bool
}

// measures are the measures of one type of result.
type measures struct {
	example string    // example of a condition
	whole   []measure // in the order of help and errors
	// part returns the measure of a name that is not in whole. ok is false if the name does not
	// have the form of one. part is nil if the result has no parts.
	part  func(name string) (m measure, ok bool, err error)
	parts string // describes these names in the help
}

// help returns the section of a help text on conditions.
func (ms *measures) help() string {
	var b strings.Builder
	b.WriteString("A CONDITION is NAME, one of < <= > >=, and a value. NAME is\n\n")
	for _, m := range ms.whole {
		fmt.Fprintf(&b, "  %-17s %s\n", m.name, wrapped(20, m.help))
	}
	return b.String() + "\n" + wrapped(0, ms.parts)
}

func (ms *measures) names() (names []string) {
	for _, m := range ms.whole {
		names = append(names, m.name)
	}
	return names
}

// find returns the measure with a name; the error may be one of [result.Unknown].
func (ms *measures) find(name string) (measure, error) {
	if i := slices.Index(ms.names(), name); i >= 0 {
		return ms.whole[i], nil
	}
	if ms.part != nil {
		if m, ok, err := ms.part(name); ok {
			return m, err
		}
	}
	return measure{}, result.Unknown(name, ms.names())
}

// against parses a limit, and returns the measure that can be compared with it.
func (m measure) against(value string) (measure, float64, error) {
	if m.asPart != nil && strings.HasSuffix(value, "%") {
		m.of, m.unit = m.asPart, result.Ratio
	}
	limit, err := parseLimit(m.unit, m.name, value)
	if err != nil && m.asPart != nil {
		err = fmt.Errorf("%w, or a part such as 10%%", err)
	}
	return m, limit, err
}

// summary returns the measures of the columns of a whole result. why returns the reason why the
// value of a column is unknown, or "".
func summary[T any](columns []result.Column[T], why func(v *T, name string) string) (out []measure) {
	for _, c := range columns {
		out = append(out, measure{name: c.Name, unit: c.Unit, help: c.Help, of: func(v any) (float64, error) {
			value, known := c.Value(v.(*T))
			if known {
				return limitOf(c.Unit, value), nil
			}
			if reason := why(v.(*T), c.Name); reason != "" {
				return 0, errors.New(reason)
			}
			return 0, fmt.Errorf("%s is not known", c.Name)
		}})
	}
	return out
}

// certain is the why function of summaries that are always known.
func certain[T any](*T, string) string { return "" }

// ofPart returns the measures word(NAME).measure of the part that find returns.
func ofPart[T, Part any](word string, columns []result.Column[Part], find func(v *T, name string) (*Part, error)) func(string) (measure, bool, error) {
	known := measures{whole: summary(columns, certain)}
	return func(s string) (none measure, ok bool, err error) {
		first, name, rest, filtered, err := cutFilter(s)
		if first != word || !filtered && err == nil {
			return none, false, nil
		}
		if err != nil {
			return none, true, err
		}
		last, dot := strings.CutPrefix(rest, ".")
		if name == "" || !dot {
			return none, true, fmt.Errorf("%q: want %s(NAME).%s", s, word, strings.Join(known.names(), fmt.Sprintf(" or %s(NAME).", word)))
		}
		m, err := known.find(strings.TrimSpace(last))
		if err != nil {
			return none, true, fmt.Errorf("%s(NAME): %w", word, err)
		}
		of := m.of
		m.of = func(v any) (float64, error) {
			part, err := find(v.(*T), name)
			if err != nil {
				return 0, err
			}
			return of(part)
		}
		return m, true, nil
	}
}

// ofTable returns the measures of the columns of a table: of all rows, and of those that
// NAME(FILTER) selects. A FILTER that is a plain word must be in words. Any other FILTER, such as a
// function, must be one of the names of the result, unless a question mark follows it.
func ofTable[T any](columns []result.Head, words []string, table func(*T) *result.Table, names func(*T) []string) (whole []measure, part func(string) (measure, bool, error)) {
	find := func(name, word, filter, rest string, filtered bool) (measure, error) {
		c, err := findColumn(columns, name, word, filter, rest, filtered)
		m := measure{name: name, unit: c.Unit, help: c.Help, of: func(v any) (float64, error) {
			sum, err := c.of(table(v.(*T)))
			return limitOf(c.Unit, sum), err
		}}
		if c.Part {
			m.asPart = func(v any) (float64, error) {
				t := table(v.(*T))
				sum, err := c.of(t)
				of := t.Columns[c.index].Whole
				if err == nil && of <= 0 {
					err = fmt.Errorf("the whole that %s is a part of is not known", name)
				}
				return 100 * c.Unit.Number(sum) / float64(max(of, 1)), err
			}
		}
		return m, err
	}
	for _, c := range columns {
		if !c.Unit.IsText() {
			m, _ := find(c.Name, c.Name, "", "", false)
			whole = append(whole, m)
		}
	}
	return whole, func(name string) (m measure, ok bool, err error) {
		column, filter, rest, filtered, err := cutFilter(name)
		if err != nil || !filtered {
			return m, err != nil, err
		}
		filter, maybe := strings.CutSuffix(filter, "?")
		if maybe {
			name = column + "(" + filter + ")" + rest
		}
		m, err = find(name, column, filter, rest, true)
		switch plain := !strings.ContainsFunc(filter, func(r rune) bool { return r != '-' && !unicode.IsLetter(r) }); {
		case err != nil:
		case plain && !slices.Contains(words, filter):
			err = fmt.Errorf("%s(%s): %w, or a function such as main.main", column, filter, result.Unknown(filter, words))
		case !plain && !maybe:
			for _, of := range []*func(any) (float64, error){&m.of, &m.asPart} {
				if *of != nil {
					*of = onlyKnown(*of, filter, names)
				}
			}
		}
		return m, true, err
	}
}

// onlyKnown returns a measure that fails if the filter matches neither a row nor a name.
func onlyKnown[T any](of func(any) (float64, error), filter string, names func(*T) []string) func(any) (float64, error) {
	return func(v any) (float64, error) {
		is, err := of(v)
		if is != 0 || err != nil {
			return is, err
		}
		all := names(v.(*T))
		all = append(all, format.Funcs(all)...)
		if slices.ContainsFunc(all, func(name string) bool { return name == filter || strings.HasSuffix(name, "/"+filter) }) {
			return is, nil
		}
		guess := ""
		if near := spelling.Nearest(filter, all); near != "" {
			guess = "; did you mean " + near + "?"
		}
		return 0, fmt.Errorf("unknown name %q%s (%s? counts as 0 where it is unknown)", filter, guess, filter)
	}
}

// findNamed finds a part by its full name, or by its shortened name in text and pictures. missing
// begins the error if there is none.
func findNamed[Part any](parts []Part, nameOf func(*Part) string, missing, name string) (*Part, error) {
	names := make([]string, len(parts))
	for i := range parts {
		names[i] = nameOf(&parts[i])
	}
	short := format.Funcs(names)
	for _, known := range [][]string{names, short} {
		if i := slices.Index(known, name); i >= 0 {
			return &parts[i], nil
		}
	}
	if near := spelling.Nearest(name, slices.Concat(names, short)); near != "" {
		return nil, fmt.Errorf("%s %q; did you mean %q?", missing, name, near)
	}
	return nil, fmt.Errorf("%s %q", missing, name)
}

// conditions is the value of -fail.
type conditions struct {
	about []*measures // kinds of results to which the conditions may apply
	pairs bool        // a limit such as 1.1x applies to the ratio of two runs
	list  []condition
}

type condition struct {
	text, name, op, value string // as written
	quotient              bool
	in                    map[*measures]limited // measures with the name, by the kinds of results that have it
}

// limited is a measure with the limit that it is compared with.
type limited struct {
	measure
	limit float64
}

// define adds -fail. more is the end of its help.
func (c *conditions) define(cmd *cobra.Command, more string, about ...*measures) {
	c.about = about
	cmd.Flags().Func("fail", "exit with status 1 if `CONDITION` holds, such as "+about[0].example+more+"; separate several by commas", c.add)
}

// add implements -fail: it adds conditions.
func (c *conditions) add(s string) error {
	list, err := parseConditions(s, c.about[0].example)
	for i := range list {
		if err = c.resolve(&list[i]); err != nil {
			break
		}
	}
	c.list = append(c.list, list...)
	return err
}

// resolve sets the measures that the name of a condition may mean.
func (c *conditions) resolve(one *condition) (err error) {
	one.in = map[*measures]limited{}
	number, quotient := strings.CutSuffix(one.value, "x")
	var limit float64
	if one.quotient = quotient && c.pairs; one.quotient {
		limit, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || math.IsNaN(limit) || math.IsInf(limit, 0) || limit < 0 {
			return fmt.Errorf("%q: want a quotient such as 1.1x, not %q", one.text, one.value)
		}
	}
	var known []string
	var wrong error // the name or the value does not fit a measure
	var unknown error
	for _, about := range c.about {
		m, err := about.find(one.name)
		if err == nil && !one.quotient {
			m, limit, err = m.against(one.value)
		}
		if err == nil {
			one.in[about] = limited{m, limit}
		} else if result.IsUnknown(err) {
			unknown = err
		} else {
			wrong = err
		}
		known = append(known, about.names()...)
	}
	switch {
	case len(one.in) > 0:
		return nil
	case wrong != nil:
		return wrong
	case len(c.about) == 1:
		return unknown
	}
	return result.Unknown(one.name, known)
}

// of returns the measure with the name, and the results to which it applies: several runs on each
// side. values returns the results of a kind, or none.
func (c *condition) of(about []*measures, values func(*measures) [][]any) (m limited, sides [][]any) {
	for _, a := range about {
		if m, ok := c.in[a]; ok {
			if sides = values(a); sides != nil {
				return m, sides
			}
		}
	}
	return m, nil
}

// sample returns the values of the measure in the runs of a side.
func (m measure) sample(side []any) (out []float64, err error) {
	if m.repeated != nil && len(side) == 1 {
		if out = m.repeated(side[0]); len(out) > 1 {
			return out, nil
		}
		out = nil
	}
	for _, run := range side {
		v, err := m.of(run)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// confidence is that of intervals, and of conditions on several runs.
const confidence = 0.95

// average formats the mean of a sample, with half the width of its confidence interval.
func (m measure) average(sample []float64, limit float64) string {
	mean, low, _ := stats.MeanCI(sample, confidence)
	s := formatLimit(m.unit, mean, limit)
	if len(sample) > 1 {
		s += " ± " + formatLimit(m.unit, mean-low, limit)
	}
	return s
}

// significant reports whether a condition that holds for the means holds with 95 % confidence, by
// Student's test or, for quotients, Welch's. A single run on each side counts as certain.
func (c *condition) significant(before, after []float64, limit float64) bool {
	if len(after) < 2 {
		return true
	}
	side := stats.LocationLess
	if c.op[0] == '>' {
		side = stats.LocationGreater
	}
	var t *stats.TTestResult
	var err error
	if !c.quotient {
		t, err = stats.OneSampleTTest(stats.Sample{Xs: after}, limit, side)
	} else {
		scaled := make([]float64, len(before))
		for i := range before {
			scaled[i] = limit * before[i]
		}
		t, err = stats.TwoSampleWelchTTest(stats.Sample{Xs: after}, stats.Sample{Xs: scaled}, side)
	}
	return err != nil || t.P < 1-confidence // without variance there is no doubt
}

// unmeasurableError is the answer to conditions if the machine was disturbed.
type unmeasurableError struct{ msg string }

func (e *unmeasurableError) Error() string { return e.msg }

// check returns a one-line error that lists all conditions that hold, with their values in the last
// run, or nil if none holds. Of several runs, a condition has to hold with confidence; otherwise a
// note says so. An unmeasurableError lists the conditions on disturbed results.
func (c *conditions) check(std stdio, values func(*measures) [][]any) error {
	var held, disturbed []string
	for i := range c.list {
		one := &c.list[i]
		m, sides := one.of(c.about, values)
		last := sides[len(sides)-1]
		after, err := m.sample(last)
		if err != nil {
			return fmt.Errorf("-fail %s: %w", one.text, err)
		}
		is, before := m.average(after, m.limit), []float64(nil)
		v := stats.Mean(after)
		if one.quotient {
			if before, err = m.sample(sides[0]); err != nil {
				return fmt.Errorf("-fail %s: in the old run: %w", one.text, err)
			}
			is += ", was " + m.average(before, m.limit)
			if v = quotient(stats.Mean(before), v); !math.IsInf(v, 0) {
				is += fmt.Sprintf(": %.2fx", v)
			}
		}
		switch {
		case m.disturbed != nil && slices.ContainsFunc(last, m.disturbed):
			disturbed = append(disturbed, fmt.Sprintf("%s: got %s", one.text, is))
		case !one.holds(v, m.limit):
		case one.significant(before, after, m.limit):
			held = append(held, fmt.Sprintf("%s: got %s", one.text, is))
		default:
			fmt.Fprintf(std.err, "bottleneck: -fail: %s: got %s; passes, because that may be chance: more runs would show it\n", one.text, is)
		}
	}
	switch {
	case held != nil:
		return errors.New("-fail: " + strings.Join(held, "; "))
	case disturbed != nil:
		return &unmeasurableError{"-fail: not measurable, because the machine was disturbed: " + strings.Join(disturbed, "; ")}
	}
	return nil
}

// checkOne is check for a single result.
func (c *conditions) checkOne(std stdio, v any) error {
	return c.check(std, func(*measures) [][]any { return [][]any{{v}} })
}

// quotient returns after ÷ before; it is infinite if only before is 0.
func quotient(before, after float64) float64 {
	switch {
	case before == after:
		return 1
	case before == 0:
		return math.Inf(int(math.Copysign(1, after)))
	}
	return after / before
}

// The syntax of conditions is:
//
//	conditions = condition { "," condition }
//	condition  = name ( "<" | "<=" | ">" | ">=" ) value
//	name       = NAME | NAME "(" FILTER ")"
//	value      = a number, with or without "%" for a Ratio; a duration for a
//	             Duration; a number with "%" for a part of the whole
//
// Blanks are allowed between tokens. A FILTER ends at the parenthesis that closes the first one, so
// main.(*T).run needs no quoting. NAME is the name of a column of numbers. FILTER is one of the
// texts of a row, in full or from the last slash on.

// parseConditions parses conditions without resolving their names. Errors show the example.
func parseConditions(s, example string) (list []condition, err error) {
	for more := true; more; {
		text := s
		if i := outside(s, ","); i >= 0 {
			text, s = s[:i], s[i+1:]
		} else {
			more = false
		}
		c := condition{text: strings.TrimSpace(text)}
		at := outside(text, "<>")
		switch word, inner, opened := strings.Cut(c.text, "("); {
		case at < 0 && opened && closing(inner) < 0:
			return nil, fmt.Errorf("\"%s(\" is never closed", word)
		case at < 0:
			return nil, fmt.Errorf("%q is not a condition: want a name, one of < <= > >=, and a value, as in %s", c.text, example)
		}
		c.name, c.op, c.value = strings.TrimSpace(text[:at]), text[at:at+1], text[at+1:]
		if v, ok := strings.CutPrefix(c.value, "="); ok {
			c.op, c.value = c.op+"=", v
		}
		c.value = strings.TrimSpace(c.value)
		list = append(list, c)
	}
	return list, nil
}

// holds compares a value with the limit.
func (c *condition) holds(v, limit float64) bool {
	switch c.op {
	case "<":
		return v < limit
	case "<=":
		return v <= limit
	case ">":
		return v > limit
	}
	return v >= limit
}

// cutFilter splits a name such as "lost(main.work).x" into "lost", "main.work" and ".x". filtered
// is false if there are no parentheses.
func cutFilter(name string) (word, filter, rest string, filtered bool, err error) {
	word, inner, opened := strings.Cut(name, "(")
	if !opened {
		return name, "", "", false, nil
	}
	end := closing(inner)
	if end < 0 {
		return "", "", "", false, fmt.Errorf("\"%s(\" is never closed", word)
	}
	return strings.TrimSpace(word), strings.TrimSpace(inner[:end]), strings.TrimSpace(inner[end+1:]), true, nil
}

// closing returns the index at which a parenthesis opened before s is closed, or a negative one.
func closing(s string) int { return outside("("+s, ")") - 1 }

// outside returns the index of the first of some characters outside parentheses, or −1. A
// parenthesis that closes the first one counts as outside.
func outside(s, chars string) int {
	depth := 0
	for i := range len(s) {
		if s[i] == ')' {
			depth--
		}
		if depth <= 0 && strings.IndexByte(chars, s[i]) >= 0 {
			return i
		}
		if s[i] == '(' {
			depth++
		}
	}
	return -1
}

// parseLimit parses a value to compare with: nanoseconds, a number, or percent of a Ratio.
func parseLimit(u result.Unit, name, s string) (float64, error) {
	if u == result.Duration {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, fmt.Errorf("%s wants a duration such as 1.5s, not %q", name, s)
		}
		return float64(d), nil
	}
	number := s
	if u == result.Ratio {
		number = strings.TrimSpace(strings.TrimSuffix(s, "%"))
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("%s wants a number, not %q", name, s)
	}
	return f, nil
}

// limitOf converts a value to the scale of parseLimit.
func limitOf(u result.Unit, v result.Value) float64 {
	if u == result.Ratio {
		return math.Round(1e14*v.Float) / 1e12 // 100 × 0.07 is 7
	}
	return u.Number(v)
}

// formatLimit formats a value with enough digits to distinguish it from a limit.
func formatLimit(u result.Unit, v, limit float64) string {
	if u == result.Duration {
		return time.Duration(v).String()
	}
	s := ""
	for decimals := 2; decimals < 20; decimals++ {
		s = strconv.FormatFloat(v, 'f', decimals, 64)
		if shown, _ := strconv.ParseFloat(s, 64); shown != limit || v == limit {
			break
		}
	}
	if u == result.Ratio {
		s += "%"
	}
	return s
}

// tableColumn is a column of tables, for the rows that have a filter, or for all.
type tableColumn struct {
	result.Head
	index    int
	filter   string
	filtered bool
}

// findColumn resolves NAME or NAME(FILTER), of which columns and the other results are the parts, in
// tables with these columns. It returns [result.Unknown] if no column of numbers has the name.
func findColumn(columns []result.Head, name, word, filter, rest string, filtered bool) (c tableColumn, err error) {
	var numbers []string
	for i, h := range columns {
		if h.Unit.IsText() {
			continue
		}
		numbers = append(numbers, h.Name)
		if h.Name == word {
			h.Name = name
			c = tableColumn{h, i, filter, filtered}
		}
	}
	switch {
	case c.Name == "":
		err = result.Unknown(word, numbers)
	case filtered && (rest != "" || filter == ""):
		err = fmt.Errorf("%q: want %s(FILTER), where FILTER is the text of a row", name, word)
	}
	return c, err
}

// of returns the sum or mean of the rows. The sum of no rows is 0.
func (c *tableColumn) of(t *result.Table) (result.Value, error) {
	rows := t.Rows
	if c.filtered {
		rows = slices.DeleteFunc(slices.Clone(rows), func(row []result.Cell) bool { return !matches(t.Columns, row, c.filter) })
	}
	sum := (&result.Table{Columns: t.Columns, Rows: rows}).Total()[c.index]
	if !sum.Known && len(rows) > 0 {
		return sum.Value, fmt.Errorf("%s is not known of all rows", c.Name)
	}
	return sum.Value, nil
}

// matches reports whether a text of a row equals the filter, in full or from the last slash on.
func matches(columns []result.Head, row []result.Cell, filter string) bool {
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
