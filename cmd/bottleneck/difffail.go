package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// changeCondition is a condition of diff's -fail: one on a run alone, or, when its value ends in x, on the
// quotient of two runs.
type changeCondition struct {
	text     string
	name     string
	quotient bool
	op       string
	// in has what the name means, for each kind of run that has such a name.
	in map[diffKind]changeMeasure
}

type changeMeasure struct {
	diffMeasure
	limit float64
}

type changeConditions []changeCondition

// String implements flag.Value.
func (c *changeConditions) String() string {
	var texts []string
	for _, one := range *c {
		texts = append(texts, one.text)
	}
	return strings.Join(texts, ",")
}

// Set implements flag.Value: it adds conditions. Which names are right depends on what is compared: see know.
func (c *changeConditions) Set(s string) error {
	for _, one := range splitConditions(s) {
		cond, err := parseChange(strings.TrimSpace(one))
		if err != nil {
			return err
		}
		*c = append(*c, cond)
	}
	return nil
}

// splitConditions cuts at commas that are in no parentheses: names of groups may contain some.
func splitConditions(s string) (parts []string) {
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, s[from:i])
				from = i + 1
			}
		}
	}
	return append(parts, s[from:])
}

func parseChange(s string) (changeCondition, error) {
	c := changeCondition{text: s}
	at := strings.LastIndexAny(s, "<>")
	if at < 0 {
		return c, fmt.Errorf("%q is not a condition: want a name, one of < <= > >=, and a value, as in neck-%%>1.1x", s)
	}
	value := s[at+1:]
	c.op = s[at : at+1]
	if v, ok := strings.CutPrefix(value, "="); ok {
		c.op, value = c.op+"=", v
	}
	value = strings.TrimSpace(value)
	c.name = strings.TrimSpace(s[:at])
	number, quotient := strings.CutSuffix(value, "x")
	c.quotient = quotient
	var limit float64
	if quotient {
		var err error
		limit, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || math.IsNaN(limit) || math.IsInf(limit, 0) || limit < 0 {
			return c, fmt.Errorf("%q: want a quotient such as 1.1x, not %q", s, value)
		}
	}
	return c, c.resolve(value, limit)
}

// resolve finds the kinds that know the name and can be compared with the value.
func (c *changeCondition) resolve(value string, quotient float64) error {
	c.in = map[diffKind]changeMeasure{}
	var parsing, inner error
	for _, kind := range diffKinds {
		m, err := findMeasure(kind, c.name)
		if err != nil {
			if word, _, ok := strings.Cut(c.name, "("); ok && word == (map[diffKind]string{graphDiff: "group", contentionDiff: "lock", tasksDiff: "tasks"})[kind] {
				inner = err
			}
			continue
		}
		limit := quotient
		if !c.quotient {
			if limit, err = m.parse(value); err != nil {
				parsing = err
				continue
			}
		}
		c.in[kind] = changeMeasure{m, limit}
	}
	switch {
	case len(c.in) > 0:
		return nil
	case parsing != nil:
		return parsing
	case inner != nil:
		return inner
	}
	return nearestMeasure(c.name)
}

// know rejects conditions on the other kinds of what is compared.
func (c changeConditions) know(p diffPair) error {
	for _, one := range c {
		m, ok := one.in[p[0].kind]
		if !ok {
			return usagef("-fail %s: a %s has no %s", one.text, p[0].kind.what(), one.name)
		}
		if err := p.comparable(m.measure); err != nil && one.quotient {
			return fmt.Errorf("-fail %s: %w", one.text, err)
		}
	}
	return nil
}

// check returns an error of one line that tells all conditions that hold, or nil.
func (c changeConditions) check(p diffPair) error {
	var held []string
	for _, one := range c {
		m := one.in[p[0].kind]
		after, err := m.of(p[1])
		if err != nil {
			return fmt.Errorf("-fail %s: %w", one.text, err)
		}
		cond := condition{measure: m.measure, op: one.op, limit: m.limit}
		v, is := after, cond.format(after)
		if one.quotient {
			before, err := m.of(p[0])
			if err != nil {
				return fmt.Errorf("-fail %s: in the old run: %w", one.text, err)
			}
			v = quotient(before, after)
			is += ", it was " + cond.format(before)
			if !math.IsInf(v, 0) {
				is += fmt.Sprintf(": %.2fx", v)
			}
		}
		if cond.holds(v) {
			held = append(held, fmt.Sprintf("%s (it is %s)", one.text, is))
		}
	}
	if held == nil {
		return nil
	}
	return errors.New("failed, as -fail says: " + strings.Join(held, ", "))
}
