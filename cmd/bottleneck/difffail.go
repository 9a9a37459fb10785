package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/result"
)

// changeCondition is a condition of diff's -fail: one on the new run alone, or, when its value ends
// in x, on the quotient of two runs.
type changeCondition struct {
	result.Comparison
	quotient bool
	in       map[kind]changeMeasure // what the name means, in the kinds of runs that know it
}

type changeMeasure struct {
	measured[artifact]
	limit float64
}

// changeConditions is the value of diff's -fail.
type changeConditions []changeCondition

// add is what -fail does. Which names are right depends on what is compared: see know.
func (c *changeConditions) add(s string) error {
	list, err := result.ParseComparisons(s, "neck-%>1.1x")
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

func newChange(one result.Comparison) (c changeCondition, err error) {
	c = changeCondition{Comparison: one, in: map[kind]changeMeasure{}}
	number, quotient := strings.CutSuffix(one.Value, "x")
	var limit float64
	if c.quotient = quotient; quotient {
		limit, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || math.IsNaN(limit) || math.IsInf(limit, 0) || limit < 0 {
			return c, fmt.Errorf("%q: want a quotient such as 1.1x, not %q", one.Text, one.Value)
		}
	}
	found, err := findMeasures(one.Name)
	if err != nil {
		return c, err
	}
	for k, m := range found {
		if !quotient {
			var wrong error
			if m, limit, wrong = m.against(one.Value); wrong != nil {
				err = wrong
				continue
			}
		}
		c.in[k] = changeMeasure{m, limit}
	}
	if len(c.in) > 0 {
		return c, nil
	}
	return c, err
}

// of returns what the name means in these runs.
func (c *changeCondition) of(p diffPair) (changeMeasure, bool) {
	m, ok := c.in[p[0].kind]
	if !ok && p[0].ledger != nil && p[1].ledger != nil {
		m, ok = c.in[ledgerKind]
	}
	return m, ok
}

// know rejects conditions on the other kinds of what is compared.
func (c changeConditions) know(p diffPair) error {
	for _, one := range c {
		m, ok := one.of(p)
		if !ok {
			return usagef("-fail %s: a %s has no %s", one.Text, p[0].what(), one.Name)
		}
		if err := p.comparable(m.measure); err != nil && one.quotient {
			return fmt.Errorf("-fail %s: %w", one.Text, err)
		}
	}
	return nil
}

// check returns an error of one line that tells all conditions that hold, or nil.
func (c changeConditions) check(p diffPair) error {
	var held []string
	for _, one := range c {
		m, _ := one.of(p)
		after, err := m.of(p[1])
		if err != nil {
			return fmt.Errorf("-fail %s: %w", one.Text, err)
		}
		v, is := after, m.unit.FormatLimit(after, m.limit)
		if one.quotient {
			before, err := m.of(p[0])
			if err != nil {
				return fmt.Errorf("-fail %s: in the old run: %w", one.Text, err)
			}
			v = quotient(before, after)
			is += ", was " + m.unit.FormatLimit(before, m.limit)
			if !math.IsInf(v, 0) {
				is += fmt.Sprintf(": %.2fx", v)
			}
		}
		if one.Holds(v, m.limit) {
			held = append(held, fmt.Sprintf("%s: got %s", one.Text, is))
		}
	}
	return failed(held)
}

// findMeasures returns what a name means in the kinds of runs that know it, at least one.
func findMeasures(name string) (map[kind]measured[artifact], error) {
	found := map[kind]measured[artifact]{}
	var wrong error // in the one kind to which the name belongs
	var known []string
	for _, k := range kinds {
		about := k.measures()
		m, err := about.find(name)
		var unknown *result.UnknownName
		switch {
		case err == nil:
			found[k] = m
		case !errors.As(err, &unknown) || unknown != err:
			wrong = err
		}
		known = append(known, about.names()...)
	}
	switch {
	case len(found) > 0:
		return found, nil
	case wrong != nil:
		return nil, wrong
	}
	return nil, result.Unknown(name, known)
}

// comparable reports an error if granularity is in cycles in one run and in time in the other.
func (p diffPair) comparable(m measure) error {
	before, tasks := p[0].value.(*granularity.Profile)
	if !tasks {
		return nil
	}
	after := p[1].value.(*granularity.Profile)
	if slices.Contains([]string{"p50", "mean", "p99"}, m.name) && before.ByTime() != after.ByTime() {
		unit := func(p *granularity.Profile) string {
			if p.ByTime() {
				return "nanoseconds"
			}
			return "cycles"
		}
		return fmt.Errorf("it is in %s, but was in %s", unit(after), unit(before))
	}
	return nil
}

// quotient is after ÷ before; what was not there and is now grew without bound.
func quotient(before, after float64) float64 {
	switch {
	case before == after:
		return 1
	case before == 0:
		return math.Inf(int(math.Copysign(1, after)))
	}
	return after / before
}
