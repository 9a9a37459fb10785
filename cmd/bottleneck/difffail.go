package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// changeCondition is a condition of diff's -fail: one on the new run alone, or, when its value ends in x, on the
// quotient of two runs.
type changeCondition struct {
	comparison
	quotient bool
	in       map[diffKind]changeMeasure // what the name means, in the kinds of runs that know it
}

type changeMeasure struct {
	measured[diffSide]
	limit float64
}

// changeConditions is the value of diff's -fail.
type changeConditions []changeCondition

// add is what -fail does. Which names are right depends on what is compared: see know.
func (c *changeConditions) add(s string) error {
	list, err := parseComparisons(s, "neck-%>1.1x")
	if err != nil {
		return err
	}
	for _, one := range list {
		cond, err := newChange(one)
		if err != nil {
			return err
		}
		*c = append(*c, cond)
	}
	return nil
}

func newChange(one comparison) (c changeCondition, err error) {
	c = changeCondition{comparison: one, in: map[diffKind]changeMeasure{}}
	number, quotient := strings.CutSuffix(one.value, "x")
	var limit float64
	if c.quotient = quotient; quotient {
		limit, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || math.IsNaN(limit) || math.IsInf(limit, 0) || limit < 0 {
			return c, fmt.Errorf("%q: want a quotient such as 1.1x, not %q", one.text, one.value)
		}
	}
	found, err := findMeasures(one.name)
	if err != nil {
		return c, err
	}
	for kind, m := range found {
		if !quotient {
			var wrong error
			if limit, wrong = m.parse(one.value); wrong != nil {
				err = wrong
				continue
			}
		}
		c.in[kind] = changeMeasure{m, limit}
	}
	if len(c.in) > 0 {
		return c, nil
	}
	return c, err
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
		v, is := after, m.format(after, m.limit)
		if one.quotient {
			before, err := m.of(p[0])
			if err != nil {
				return fmt.Errorf("-fail %s: in the old run: %w", one.text, err)
			}
			v = quotient(before, after)
			is += ", was " + m.format(before, m.limit)
			if !math.IsInf(v, 0) {
				is += fmt.Sprintf(": %.2fx", v)
			}
		}
		if one.holds(v, m.limit) {
			held = append(held, fmt.Sprintf("%s: got %s", one.text, is))
		}
	}
	return failed(held)
}
