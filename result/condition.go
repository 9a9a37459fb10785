package result

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

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

// Comparison is a condition as written.
type Comparison struct{ Text, Name, Op, Value string }

// ParseComparisons parses conditions without resolving their names. example is a valid condition
// for use in errors.
func ParseComparisons(s, example string) (list []Comparison, err error) {
	for more := true; more; {
		text := s
		if i := outside(s, ","); i >= 0 {
			text, s = s[:i], s[i+1:]
		} else {
			more = false
		}
		c := Comparison{Text: strings.TrimSpace(text)}
		at := outside(text, "<>")
		switch word, inner, opened := strings.Cut(c.Text, "("); {
		case at < 0 && opened && closing(inner) < 0:
			return nil, fmt.Errorf("\"%s(\" is never closed", word)
		case at < 0:
			return nil, fmt.Errorf("%q is not a condition: want a name, one of < <= > >=, and a value, as in %s", c.Text, example)
		}
		c.Name, c.Op, c.Value = strings.TrimSpace(text[:at]), text[at:at+1], text[at+1:]
		if v, ok := strings.CutPrefix(c.Value, "="); ok {
			c.Op, c.Value = c.Op+"=", v
		}
		c.Value = strings.TrimSpace(c.Value)
		list = append(list, c)
	}
	return list, nil
}

// Holds compares a value with the limit.
func (c Comparison) Holds(v, limit float64) bool {
	switch c.Op {
	case "<":
		return v < limit
	case "<=":
		return v <= limit
	case ">":
		return v > limit
	}
	return v >= limit
}

// CutFilter splits a name such as "lost(main.work).x" into "lost", "main.work" and ".x". filtered
// is false if there are no parentheses.
func CutFilter(name string) (word, filter, rest string, filtered bool, err error) {
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

// closing returns the index at which a parenthesis opened before s is closed, negative if it is
// not.
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

// ParseLimit parses a value to compare with, for what is called name: nanoseconds, a number, or
// percent of a Ratio.
func (u Unit) ParseLimit(name, s string) (float64, error) {
	if u == Duration {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, fmt.Errorf("%s wants a duration such as 1.5s, not %q", name, s)
		}
		return float64(d), nil
	}
	number := s
	if u == Ratio {
		number = strings.TrimSpace(strings.TrimSuffix(s, "%"))
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("%s wants a number, not %q", name, s)
	}
	return f, nil
}

// Limit converts a value to the scale of [Unit.ParseLimit].
func (u Unit) Limit(v Value) float64 {
	if u == Ratio {
		return math.Round(1e14*v.Float) / 1e12 // 100 × 0.07 is 7
	}
	return u.Number(v)
}

// FormatLimit formats a value that was compared with a limit, with enough digits to distinguish it
// from the limit.
func (u Unit) FormatLimit(v, limit float64) string {
	if u == Duration {
		return time.Duration(v).String()
	}
	s := ""
	for decimals := 2; decimals < 20; decimals++ {
		s = strconv.FormatFloat(v, 'f', decimals, 64)
		if shown, _ := strconv.ParseFloat(s, 64); shown != limit || v == limit {
			break
		}
	}
	if u == Ratio {
		s += "%"
	}
	return s
}

// Measure is a number computed from a table: the sum or mean of a column, over all rows or those
// that match a filter.
type Measure struct {
	Name     string
	Unit     Unit
	Part     bool
	column   int
	filter   string
	filtered bool
}

// Find resolves a name, NAME or NAME(FILTER), in tables with these columns. It returns an
// [*UnknownName] if no column of numbers has the name.
func Find(columns []Head, name string) (Measure, error) {
	word, filter, rest, filtered, err := CutFilter(name)
	if err != nil {
		return Measure{}, err
	}
	var numbers []string
	for i := range columns {
		if !columns[i].Unit.IsText() {
			numbers = append(numbers, columns[i].Name)
		}
	}
	if !slices.Contains(numbers, word) {
		return Measure{}, Unknown(word, numbers)
	}
	if filtered && (rest != "" || filter == "") {
		return Measure{}, fmt.Errorf("%q: want %s(FILTER), where FILTER is the text of a row", name, word)
	}
	k, err := index(columns, word)
	return Measure{Name: name, Unit: columns[k].Unit, Part: columns[k].Part, column: k, filter: filter, filtered: filtered}, err
}

// Of returns the measure of a table with the columns of [Find]: nanoseconds, a number, or percent
// of a Ratio. The sum of no rows is 0.
func (m Measure) Of(t *Table) (float64, error) {
	c, err := m.cell(t)
	return m.Unit.Limit(c.Value), err
}

// Share returns the measure in percent of the table's whole, if it is a part of that.
func (m Measure) Share(t *Table) (float64, error) {
	c, err := m.cell(t)
	whole := t.Columns[m.column].Whole
	if err == nil && whole <= 0 {
		err = fmt.Errorf("the whole that %s is a part of is not known", m.Name)
	}
	return 100 * m.Unit.Number(c.Value) / float64(max(whole, 1)), err
}

func (m Measure) cell(t *Table) (Cell, error) {
	rows := t.Rows
	if m.filtered {
		rows = nil
		for _, row := range t.Rows {
			if t.matches(row, m.filter) {
				rows = append(rows, row)
			}
		}
	}
	sum := total(t.Columns, rows)[m.column]
	if !sum.Known && len(rows) > 0 {
		return Cell{}, fmt.Errorf("%s is not known of all rows", m.Name)
	}
	return sum, nil
}

// matches reports whether one of the texts of a row equals the filter, in full or from the last
// slash on.
func (t *Table) matches(row []Cell, filter string) bool {
	for k := range row {
		if u := t.Columns[k].Unit; !u.IsText() || !row[k].Known {
			continue
		}
		for _, s := range append([]string{row[k].Text}, row[k].More...) {
			if s == filter || strings.HasSuffix(s, "/"+filter) || t.Columns[k].Unit == Func && format.Func(s) == filter {
				return true
			}
		}
	}
	return false
}
