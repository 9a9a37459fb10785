package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/result"
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

// parseConditions parses conditions without resolving their names. example is a valid condition for
// use in errors.
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

// parseLimit parses a value to compare with, for what is called name: nanoseconds, a number, or
// percent of a Ratio.
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

// formatLimit formats a value that was compared with a limit, with enough digits to distinguish it
// from the limit.
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
// tables with these columns. It returns a [*result.UnknownName] if no column of numbers has the name.
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

// matches reports whether one of the texts of a row equals the filter, in full or from the last
// slash on.
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
