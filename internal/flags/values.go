package flags

import (
	"cmp"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Part adds -generations, -during and -outside.
func Part(fs *pflag.FlagSet, part *bottle.Options) {
	fs.Var(&parsedFlag{set: func(s string) (err error) {
		part.First, part.Last, err = parseRange(s)
		return err
	}}, "generations", "read only the generations `A:B` of a trace, about a second each, counted from 1; A: is to the end")
	during := func(outside bool) func(string) error {
		return func(s string) error {
			if s == "" {
				return errors.New("want a part of the time")
			}
			if part.During != "" {
				return errors.New("one -during or -outside at a time")
			}
			part.During, part.Outside = s, outside
			return timeline.CheckDuring(s)
		}
	}
	const parts = "region:NAME, task:TYPE, gc, gc:N or marker:A..B (messages of trace.Log)"
	fs.Var(&parsedFlag{set: during(false)}, "during", "analyze only a `PART` of the time, such as region:checkout: "+parts)
	fs.Var(&parsedFlag{set: during(true)}, "outside", "analyze all but a `PART` of the time: "+parts)
}

// Group adds -group; of begins its help.
func Group(fs *pflag.FlagSet, group *bottle.Grouping, of string) {
	Parsed(fs, group, "group", "function", of+"group goroutines `BY` function, start, creator, goroutine, region, task, kind or /regexp/; see \"bottleneck help graph\"", bottle.ParseGrouping)
}

// Window adds -window.
func Window(fs *pflag.FlagSet, window *time.Duration, help string) {
	Parsed(fs, window, "window", "", help, func(s string) (d time.Duration, err error) {
		if d, err = time.ParseDuration(s); err != nil || d <= 0 {
			err = errors.New("want a positive duration, such as 500ms")
		}
		return d, err
	})
}

// Bounds adds -from and -to.
func Bounds(fs *pflag.FlagSet, from, to *time.Duration) {
	fs.DurationVar(from, "from", 0, "begin `DURATION` after the start of the trace, or of -generations")
	fs.DurationVar(to, "to", 0, "end `DURATION` after the start of the trace, or of -generations")
}

// CheckBounds rejects an empty interval of -from and -to.
func CheckBounds(fs *pflag.FlagSet, from, to time.Duration) error {
	if from < 0 {
		return Errorf("-from %v: want 0s or more", from)
	}
	if fs.Changed("to") && to <= from {
		return Errorf("-to %v is not after -from %v", to, from)
	}
	return nil
}

// Between rejects a value of a flag that is out of range.
func Between[N cmp.Ordered](name string, value, least, most N) error {
	if least <= value && value <= most {
		return nil
	}
	return Errorf("-%s %v: want from %v to %v", name, value, least, most)
}

// Seconds adds -seconds of commands that ask a service.
func Seconds(fs *pflag.FlagSet, n *float64, usual float64, help string) {
	*n = usual
	Parsed(fs, n, "seconds", "", help, func(s string) (v float64, err error) {
		if v, err = strconv.ParseFloat(s, 64); err != nil || !(v >= 0.001 && v <= 3600) {
			err = errors.New("want from 0.001 to 3600")
		}
		return v, err
	})
}

// Regexp adds a flag for a regular expression.
func Regexp(fs *pflag.FlagSet, to **regexp.Regexp, name, help string) {
	Parsed(fs, to, name, "", help, regexp.Compile)
}

// Parsed adds a flag whose values parse returns. usual is the text of the default.
func Parsed[T any](fs *pflag.FlagSet, to *T, name, usual, help string, parse func(string) (T, error)) {
	fs.Var(&parsedFlag{func(s string) error {
		v, err := parse(s)
		if err == nil {
			*to = v
		}
		return err
	}, usual}, name, help)
}

// parsedFlag is a flag with a parser. It keeps its text for the commands that a verdict suggests.
type parsedFlag struct {
	set  func(string) error
	text string
}

func (f *parsedFlag) Set(s string) error {
	f.text = s
	return f.set(s)
}

func (f *parsedFlag) String() string { return f.text }

func (f *parsedFlag) Type() string { return "string" }

// parseRange parses the value of -generations: "3", "3:7", "3:" or ":7".
func parseRange(s string) (first, last int, err error) {
	from, to, isRange := strings.Cut(s, ":")
	if !isRange {
		to = from
	}
	for _, bound := range []struct {
		text string
		n    *int
	}{{from, &first}, {to, &last}} {
		if bound.text == "" && isRange && s != ":" {
			continue
		}
		n, err := strconv.Atoi(bound.text)
		if err != nil || n < 1 {
			return 0, 0, errors.New("want a range such as 3:7, 3: or :7, from 1")
		}
		*bound.n = n
	}
	if last > 0 && last < first {
		return 0, 0, errors.New("the last is before the first")
	}
	return first, last, nil
}
