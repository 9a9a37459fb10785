package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// definePart adds -generations.
func definePart(fs *pflag.FlagSet, part *timeline.Part) {
	fs.Func("generations", "read the generations (about a second each) `A:B` of a trace only, from 1; A: is to the end", func(s string) (err error) {
		*part, err = parsePart(s)
		return err
	})
}

// parsePart parses the value of -generations: "3", "3:7", "3:" or ":7".
func parsePart(s string) (p timeline.Part, err error) {
	first, last, isRange := strings.Cut(s, ":")
	if !isRange {
		last = first
	}
	for _, bound := range []struct {
		text string
		n    *int
	}{{first, &p.First}, {last, &p.Last}} {
		if bound.text == "" && isRange && s != ":" {
			continue
		}
		n, err := strconv.Atoi(bound.text)
		if err != nil || n < 1 {
			return p, errors.New("want a range such as 3:7, 3: or :7, from 1")
		}
		*bound.n = n
	}
	if p.Last > 0 && p.Last < p.First {
		return p, errors.New("the last is before the first")
	}
	return p, nil
}
