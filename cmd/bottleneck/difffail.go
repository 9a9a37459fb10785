package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/speedup"
)

// changeCondition is a condition of diff's -fail: one on a run alone, or, when its value ends in x, on the
// quotient of two runs.
type changeCondition struct {
	text     string
	quotient bool
	graph    *condition // on graphs
	// On stacks: a part by its name.
	part  string
	op    string
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
	c.part = strings.TrimSpace(s[:at])
	number, quotient := strings.CutSuffix(value, "x")
	c.quotient = quotient
	f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if quotient && (err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f < 0) {
		return c, fmt.Errorf("%q: want a quotient such as 1.1x, not %q", s, value)
	}
	if err == nil {
		c.limit = f
	}
	asGraph := s
	if quotient {
		asGraph = c.part + c.op + "0" // only the name counts
		if c.part == "wall" {
			asGraph += "s"
		}
	}
	if g, rest, gerr := parseCondition(asGraph); gerr == nil && rest == "" {
		c.graph = &g
		return c, nil
	} else if err != nil || !isPart(c.part) {
		return c, gerr
	}
	return c, nil
}

// isPart reports whether a stack has such a part.
func isPart(name string) bool {
	_, err := speedup.ParseComponent(name)
	return name == "speedup" || name == "remainder" || err == nil && name != speedup.Run.String()
}

// know rejects conditions on the other kind of what is compared.
func (c changeConditions) know(p diffPair) error {
	for _, one := range c {
		if (one.graph != nil) != (p[0].graph != nil) {
			return usagef("-fail %s: a %s has no %s", one.text, p[0].what(), one.part)
		}
	}
	return nil
}

// value is what the condition looks at in one run.
func (c changeCondition) value(s diffSide) (float64, error) {
	if s.graph != nil {
		return c.graph.value(s.graph)
	}
	switch c.part {
	case "speedup":
		return s.stack.Speedup, nil
	case "remainder":
		return s.stack.Remainder, nil
	}
	part, err := speedup.ParseComponent(c.part)
	return s.stack.Components[part], err
}

// check returns an error of one line that tells all conditions that hold, or nil.
func (c changeConditions) check(p diffPair) error {
	var held []string
	for _, one := range c {
		after, err := one.value(p[1])
		if err != nil {
			return fmt.Errorf("-fail %s: %w", one.text, err)
		}
		v, is := after, one.format(after)
		if one.quotient {
			before, err := one.value(p[0])
			if err != nil {
				return fmt.Errorf("-fail %s: in the old run: %w", one.text, err)
			}
			v = quotient(before, after)
			is += ", it was " + one.format(before)
			if !math.IsInf(v, 0) {
				is += fmt.Sprintf(": %.2fx", v)
			}
		}
		if one.holds(v) {
			held = append(held, fmt.Sprintf("%s (it is %s)", one.text, is))
		}
	}
	if held == nil {
		return nil
	}
	return errors.New("failed, as -fail says: " + strings.Join(held, ", "))
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

func (c changeCondition) holds(v float64) bool {
	cmp := condition{op: c.op, limit: c.limit}
	if c.graph != nil && !c.quotient {
		cmp.limit = c.graph.limit
	}
	return cmp.holds(v)
}

func (c changeCondition) format(v float64) string {
	if c.graph != nil {
		return c.graph.format(v)
	}
	return fmt.Sprintf("%.2f", v)
}
