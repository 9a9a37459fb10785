package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bottleneck-go/bottleneck/result"
)

// conditions is the value of -fail, about a T, in the grammar of result.ParseComparisons. A name is
// a measure of the whole, such as parallelism, or one of a part: word "(" NAME ")." measure, such
// as group(main.main).share-%, or a column of a table, with a filter or without: see result.Find.
type conditions[T any] struct {
	about measures[T]
	list  []condition[T]
}

type condition[T any] struct {
	result.Comparison
	measured[T]
	limit float64
}

// add is what -fail does: it adds conditions.
func (c *conditions[T]) add(s string) error {
	list, err := result.ParseComparisons(s, c.about.example)
	if err != nil {
		return err
	}
	for _, one := range list {
		m, err := c.about.find(one.Name)
		if err != nil {
			return err
		}
		m, limit, err := m.against(one.Value)
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
			return fmt.Errorf("-fail %s: %w", one.Text, err)
		}
		if one.Holds(is, one.limit) {
			held = append(held, fmt.Sprintf("%s: got %s", one.Text, one.unit.FormatLimit(is, one.limit)))
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
