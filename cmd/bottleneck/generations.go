package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// generations is the value of -generations: "3", "3:7", "3:" or ":7".
type generations timeline.Part

// Set implements [flag.Value].
func (g *generations) Set(s string) error {
	first, last, isRange := strings.Cut(s, ":")
	if !isRange {
		last = first
	}
	var p generations
	for _, bound := range []struct {
		text string
		n    *int
	}{{first, &p.First}, {last, &p.Last}} {
		if bound.text == "" && isRange && s != ":" {
			continue
		}
		n, err := strconv.Atoi(bound.text)
		if err != nil || n < 1 {
			return errors.New("want a range such as 3:7, 3: or :7, from 1")
		}
		*bound.n = n
	}
	if p.Last > 0 && p.Last < p.First {
		return errors.New("the last is before the first")
	}
	*g = p
	return nil
}

// String implements [flag.Value].
func (g *generations) String() string { return "" }
