package main

import (
	"fmt"
	"slices"
	"strings"
)

// profileMeasure is something about a P, made from a profile, that -fail can compare. It is an error
// if the profile cannot tell.
type profileMeasure[P any] struct {
	measure
	of func(P) (float64, error)
}

// always is for measures that every profile can tell.
func always[P any](of func(P) float64) func(P) (float64, error) {
	return func(p P) (float64, error) { return of(p), nil }
}

// profileConditions is the value of -fail for profiles, whose measures have no groups: see [conditions].
type profileConditions[P any] struct {
	measures []profileMeasure[P]
	example  string // of a condition
	list     []profileCondition[P]
}

type profileCondition[P any] struct {
	condition
	of func(P) (float64, error)
}

// String implements flag.Value.
func (c *profileConditions[P]) String() string {
	var texts []string
	for _, one := range c.list {
		texts = append(texts, one.text)
	}
	return strings.Join(texts, ",")
}

// Set implements flag.Value: it adds conditions.
func (c *profileConditions[P]) Set(s string) error {
	for one := range strings.SplitSeq(s, ",") {
		if err := c.add(strings.TrimSpace(one)); err != nil {
			return err
		}
	}
	return nil
}

func (c *profileConditions[P]) add(text string) error {
	at := strings.IndexAny(text, "<>")
	if at < 0 {
		return fmt.Errorf("%q is not a condition: want a name, one of < <= > >=, and a value, as in %s", text, c.example)
	}
	name, op, value := strings.TrimSpace(text[:at]), text[at:at+1], text[at+1:]
	if v, ok := strings.CutPrefix(value, "="); ok {
		op, value = op+"=", v
	}
	i := slices.IndexFunc(c.measures, func(m profileMeasure[P]) bool { return m.name == name })
	if i < 0 {
		var known []measure
		for _, m := range c.measures {
			known = append(known, m.measure)
		}
		return unknownMeasure(name, known)
	}
	m := c.measures[i]
	limit, err := m.parse(strings.TrimSpace(value))
	if err != nil {
		return err
	}
	c.list = append(c.list, profileCondition[P]{condition{text: text, measure: m.measure, op: op, limit: limit}, m.of})
	return nil
}

// check returns an error of one line that tells all conditions that hold, with their values,
// or nil when none does.
func (c *profileConditions[P]) check(p P) error {
	var held []string
	for _, one := range c.list {
		v, err := one.of(p)
		if err != nil {
			return fmt.Errorf("-fail %s: %w", one.text, err)
		}
		if one.holds(v) {
			held = append(held, fmt.Sprintf("%s (it is %s)", one.text, one.format(v)))
		}
	}
	if held == nil {
		return nil
	}
	return fmt.Errorf("failed, as -fail says: %s", strings.Join(held, ", "))
}
