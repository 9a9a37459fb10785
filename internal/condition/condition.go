// Package condition checks conditions such as parallelism<3 on the columns of tables of results.
//
// A condition compares a measure with a limit. A measure is one of
//
//	NAME               a column of a table, such as parallelism, summed or averaged over all rows
//	NAME(FILTER)       the same over the rows that have FILTER in a column of text
//	WORD(FILTER).NAME  a column of a table of parts, such as group(main.main).share-%
//
// Of several runs, a condition has to hold with confidence.
package condition

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/aclements/go-moremath/stats"

	"github.com/bottleneck-go/bottleneck/result"
)

// List is a list of conditions.
type List struct {
	About []*Measures // kinds of results to which the conditions may apply
	Pairs bool        // a limit such as 1.1x applies to the ratio of two runs
	list  []one
}

// one is a condition.
type one struct {
	text, name, op, value string // as written
	quotient              bool
	in                    []*Measure // the measure in each of List.About, or nil
}

// Empty reports whether there is no condition.
func (l *List) Empty() bool { return len(l.list) == 0 }

// Add parses conditions, separated by commas, and adds them.
func (l *List) Add(s string) error {
	list, err := parse(s, l.About[0].Example)
	for i := range list {
		if err = l.resolve(&list[i]); err != nil {
			break
		}
	}
	l.list = append(l.list, list...)
	return err
}

// resolve sets the measures that the name of a condition may mean.
func (l *List) resolve(c *one) (err error) {
	number, quotient := strings.CutSuffix(c.value, "x")
	var factor float64
	if c.quotient = quotient && l.Pairs; c.quotient {
		if factor, err = parseNumber(number); err != nil || factor < 0 {
			return fmt.Errorf("%q: want a quotient such as 1.1x, not %q", c.text, c.value)
		}
	}
	known, found := []string(nil), false
	for _, about := range l.About {
		m, wrong := about.Find(c.name)
		if wrong == nil {
			if m.limit = factor; !c.quotient {
				wrong = m.against(c.value)
			}
		}
		if wrong != nil {
			m = nil
			if err == nil || result.IsUnknown(err) {
				err = wrong
			}
		}
		found = found || m != nil
		c.in = append(c.in, m)
		known = append(known, names(about.Whole)...)
	}
	switch {
	case found:
		return nil
	case result.IsUnknown(err) && len(l.About) > 1:
		return result.Unknown(c.name, known)
	}
	return err
}

// Values returns the results of a kind to which conditions apply, several runs on each side, or nil.
type Values func(*Measures) [][]any

// Of returns the Values of a single result.
func Of(v any) Values { return func(*Measures) [][]any { return [][]any{{v}} } }

// in returns the measure that a condition means, and the results to which it applies.
func (l *List) in(c *one, values Values) (m *Measure, sides [][]any) {
	for i, about := range l.About {
		if c.in[i] != nil {
			if sides = values(about); sides != nil {
				return c.in[i], sides
			}
		}
	}
	return nil, nil
}

// Fit returns an error for a condition on a measure that the results, a what, do not have, for which
// missing is set, or for a quotient of measures in different units.
func (l *List) Fit(what string, values Values) (missing bool, err error) {
	for i := range l.list {
		c := &l.list[i]
		m, sides := l.in(c, values)
		if m == nil {
			return true, fmt.Errorf("%s: a %s has no %s", c.text, what, c.name)
		}
		if c.quotient && m.of.UnitOf != nil {
			if was, is := m.of.UnitOf(sides[0][0], m), m.of.UnitOf(sides[1][0], m); was != is {
				return false, fmt.Errorf("%s: it is in %s, but was in %s", c.text, is, was)
			}
		}
	}
	return false, nil
}

// Unmeasurable is the error for conditions on results that were disturbed.
type Unmeasurable struct{ msg string }

func (e *Unmeasurable) Error() string { return e.msg }

// Check returns a one-line error that lists all conditions that hold, with their values in the last
// run, or nil if none holds. Of several runs, a condition has to hold with confidence; otherwise
// note is called. An [Unmeasurable] lists the conditions on disturbed results.
func (l *List) Check(values Values, note func(string)) error {
	var held, disturbed []string
	for i := range l.list {
		c := &l.list[i]
		m, sides := l.in(c, values)
		last := sides[len(sides)-1]
		after, err := m.Sample(last)
		if err != nil {
			return fmt.Errorf("%s: %w", c.text, err)
		}
		got, before := c.text+": got "+m.Average(after), []float64(nil)
		v := stats.Mean(after)
		if c.quotient {
			if before, err = m.Sample(sides[0]); err != nil {
				return fmt.Errorf("%s: in the old run: %w", c.text, err)
			}
			got += ", was " + m.Average(before)
			if v = Quotient(before, after); !math.IsInf(v, 0) {
				got += fmt.Sprintf(": %.2fx", v)
			}
		}
		switch {
		case slices.ContainsFunc(last, m.disturbed):
			disturbed = append(disturbed, got)
		case !c.holds(v, m.limit):
		case c.significant(before, after, m.limit):
			held = append(held, got)
		default:
			note(got + "; passes, because that may be chance: more runs would show it")
		}
	}
	switch {
	case held != nil:
		return errors.New(strings.Join(held, "; "))
	case disturbed != nil:
		return &Unmeasurable{"not measurable, because the machine was disturbed: " + strings.Join(disturbed, "; ")}
	}
	return nil
}

// Confidence is that of intervals, and of conditions on several runs.
const Confidence = 0.95

// holds compares a value with the limit.
func (c *one) holds(v, limit float64) bool {
	less := c.op[0] == '<'
	return less && v < limit || !less && v > limit || v == limit && len(c.op) == 2
}

// significant reports whether a condition that holds for the means holds with confidence, by
// Student's test or, for quotients, Welch's. A single run on each side counts as certain.
func (c *one) significant(before, after []float64, limit float64) bool {
	if len(after) < 2 {
		return true
	}
	side := stats.LocationLess
	if c.op[0] == '>' {
		side = stats.LocationGreater
	}
	if !c.quotient {
		return sure(stats.OneSampleTTest(stats.Sample{Xs: after}, limit, side))
	}
	scaled := make([]float64, len(before))
	for i := range before {
		scaled[i] = limit * before[i]
	}
	return sure(stats.TwoSampleWelchTTest(stats.Sample{Xs: after}, stats.Sample{Xs: scaled}, side))
}

// sure reports whether a test has the confidence. Without variance there is no doubt.
func sure(t *stats.TTestResult, err error) bool { return err != nil || t.P < 1-Confidence }

// Differ reports whether the means of two samples differ, and whether that is significant.
func Differ(before, after []float64) (differ, significant bool) {
	t, err := stats.TwoSampleWelchTTest(stats.Sample{Xs: before}, stats.Sample{Xs: after}, stats.LocationDiffers)
	return err == nil || stats.Mean(before) != stats.Mean(after), sure(t, err)
}

// Quotient returns the mean after ÷ the mean before; it is infinite if only that before is 0.
func Quotient(before, after []float64) float64 {
	a, b := stats.Mean(before), stats.Mean(after)
	switch {
	case a == b:
		return 1
	case a == 0:
		return math.Inf(int(math.Copysign(1, b)))
	}
	return b / a
}

// The syntax of conditions is:
//
//	conditions = condition { "," condition }
//	condition  = name ( "<" | "<=" | ">" | ">=" ) value
//	name       = NAME | NAME "(" FILTER ")" | WORD "(" FILTER ")" "." NAME
//	value      = a number, with or without "%" for a Ratio; a duration for a
//	             Duration; a number with "%" for a part of the whole
//
// Blanks are allowed between tokens. A FILTER ends at the parenthesis that closes the first one, so
// main.(*T).run needs no quoting.

// parse parses conditions without resolving their names. Errors show the example.
func parse(s, example string) (list []one, err error) {
	for more := true; more; {
		text := s
		i := outside(s, ",")
		if more = i >= 0; more {
			text, s = s[:i], s[i+1:]
		}
		c := one{text: strings.TrimSpace(text)}
		at := outside(text, "<>")
		if at < 0 {
			if _, _, _, _, err := cutFilter(c.text); err != nil {
				return nil, err
			}
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

// cutFilter splits a name such as "lost(main.work).x" into "lost", "main.work" and ".x". filtered
// is false if there are no parentheses.
func cutFilter(name string) (word, filter, rest string, filtered bool, err error) {
	word, inner, opened := strings.Cut(name, "(")
	if !opened {
		return name, "", "", false, nil
	}
	end := outside("("+inner, ")") - 1
	if end < 0 {
		return "", "", "", false, fmt.Errorf("\"%s(\" is never closed", word)
	}
	return strings.TrimSpace(word), strings.TrimSpace(inner[:end]), strings.TrimSpace(inner[end+1:]), true, nil
}

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
