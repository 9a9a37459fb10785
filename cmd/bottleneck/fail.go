package main

import (
	"errors"
	"fmt"
	"strings"
)

// The conditions of -fail:
//
//	conditions = condition { "," condition }
//	condition  = name ( "<" | "<=" | ">" | ">=" ) value
//	name       = a measure of the whole, such as parallelism, or one of a part: word "(" NAME ")." measure,
//	             such as group(main.main).share-%
//	value      = a number, with or without "%" for the names that end in it; a duration for times
//
// Blanks may stand anywhere between them. A NAME ends at the parenthesis that closes the first one,
// so that main.(*T).run needs no quoting.

// comparison is a condition as it was written.
type comparison struct{ text, name, op, value string }

// parseComparisons takes conditions apart, without asking what the names mean.
func parseComparisons(s, example string) (list []comparison, err error) {
	for more := true; more; {
		text := s
		if i := outside(s, ","); i >= 0 {
			text, s = s[:i], s[i+1:]
		} else {
			more = false
		}
		c := comparison{text: strings.TrimSpace(text)}
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
func (c comparison) holds(v, limit float64) bool {
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

// conditions is the value of -fail, about a T.
type conditions[T any] struct {
	about measures[T]
	list  []condition[T]
}

type condition[T any] struct {
	comparison
	measured[T]
	limit float64
}

// add is what -fail does: it adds conditions.
func (c *conditions[T]) add(s string) error {
	list, err := parseComparisons(s, c.about.example)
	if err != nil {
		return err
	}
	for _, one := range list {
		m, err := c.about.find(one.name)
		if err != nil {
			return err
		}
		limit, err := m.parse(one.value)
		if err != nil {
			return err
		}
		c.list = append(c.list, condition[T]{one, m, limit})
	}
	return nil
}

// check returns an error of one line that tells all conditions that hold, with
// their values, or nil when none does.
func (c *conditions[T]) check(v T) error {
	var held []string
	for _, one := range c.list {
		is, err := one.of(v)
		if err != nil {
			return fmt.Errorf("-fail %s: %w", one.text, err)
		}
		if one.holds(is, one.limit) {
			held = append(held, fmt.Sprintf("%s: got %s", one.text, one.format(is, one.limit)))
		}
	}
	return failed(held)
}

// failed is the error of the conditions that hold, nil if none does.
func failed(held []string) error {
	if held == nil {
		return nil
	}
	return errors.New("-fail: " + strings.Join(held, "; "))
}
