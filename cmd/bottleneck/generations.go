package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// definePart adds -generations, -during and -outside.
func definePart(fs *pflag.FlagSet, part *timeline.Part) {
	fs.Var(&partFlag{set: func(s string) error {
		p, err := parsePart(s)
		part.First, part.Last = p.First, p.Last
		return err
	}}, "generations", "read the generations (about a second each) `A:B` of a trace only, from 1; A: is to the end")
	during := func(outside bool) func(string) error {
		return func(s string) error {
			d, err := timeline.ParseDuring(s)
			if !part.During.All() && err == nil {
				return errors.New("one -during or -outside at a time")
			}
			if part.During = d; outside {
				part.During = d.Outside()
			}
			return err
		}
	}
	const parts = "region:NAME, task:TYPE, gc, gc:N or marker:A..B (messages of trace.Log)"
	fs.Var(&partFlag{set: during(false)}, "during", "look at a `PART` of the time only, such as region:checkout: "+parts)
	fs.Var(&partFlag{set: during(true)}, "outside", "look at all but that `PART` of the time: "+parts)
}

// partFlag is a flag that sets a part of a trace, and knows its text for the commands that a
// verdict proposes.
type partFlag struct {
	set  func(string) error
	text string
}

func (f *partFlag) Set(s string) error {
	f.text = s
	return f.set(s)
}

func (f *partFlag) String() string { return f.text }

func (f *partFlag) Type() string { return "string" }

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
