package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/spelling"
)

// measure is something that -fail can compare.
type measure struct {
	name    string
	percent bool
	wall    bool // a duration, in nanoseconds
}

// measured is a measure of a T. It is an error if the T cannot tell.
type measured[T any] struct {
	measure
	of func(T) (float64, error)
}

// always is for measures that every T can tell.
func always[T any](of func(T) float64) func(T) (float64, error) {
	return func(v T) (float64, error) { return of(v), nil }
}

// measures are all that can be compared about a T.
type measures[T any] struct {
	example string        // of a condition
	whole   []measured[T] // in the order in which an error lists them
	// part returns what a name that is not of the whole means: word(NAME).measure, see [ofPart].
	// None is false if it means nothing. Nil where there are no parts.
	part func(name string) (m measured[T], is bool, err error)
}

// find returns the measure with a name; the error may be an [*unknownName].
func (ms measures[T]) find(name string) (measured[T], error) {
	if i := slices.IndexFunc(ms.whole, func(m measured[T]) bool { return m.name == name }); i >= 0 {
		return ms.whole[i], nil
	}
	if ms.part != nil {
		if m, is, err := ms.part(name); is {
			return m, err
		}
	}
	return measured[T]{}, unknownMeasure(name, ms.names())
}

func (ms measures[T]) names() (names []string) {
	for _, m := range ms.whole {
		names = append(names, m.name)
	}
	return names
}

// ofPart takes apart word(NAME).measure, such as group(main.main).share-%. Of returns a measure
// of the part of v with a name.
func ofPart[T any](word string, known []measure, of func(v T, name string, m measure) (float64, error)) func(string) (measured[T], bool, error) {
	return func(s string) (none measured[T], is bool, err error) {
		inner, is := strings.CutPrefix(s, word+"(")
		if !is {
			return none, false, nil
		}
		end := closing(inner)
		if end < 0 {
			return none, true, fmt.Errorf("\"%s(\" is never closed", word)
		}
		name := strings.TrimSpace(inner[:end])
		last, dot := strings.CutPrefix(strings.TrimSpace(inner[end+1:]), ".")
		last = strings.TrimSpace(last)
		var names []string
		for _, m := range known {
			names = append(names, m.name)
		}
		if name == "" || !dot {
			return none, true, fmt.Errorf("%q: want %s(NAME).%s", s, word, strings.Join(names, fmt.Sprintf(" or %s(NAME).", word)))
		}
		i := slices.Index(names, last)
		if i < 0 {
			return none, true, fmt.Errorf("%s(NAME): %w", word, unknownMeasure(last, names))
		}
		m := known[i]
		return measured[T]{m, func(v T) (float64, error) { return of(v, name, m) }}, true, nil
	}
}

// closing returns where the parenthesis that was opened before s is closed; negative if it is not.
func closing(s string) int { return outside("("+s, ")") - 1 }

// outside returns where one of some characters stands first that is in no parentheses, or −1. A parenthesis that
// closes the first one is in none.
func outside(s, chars string) int {
	depth := 0
	for i := range len(s) {
		if s[i] == ')' {
			depth--
		}
		if depth <= 0 && strings.IndexByte(chars, s[i]) >= 0 {
			return i
		}
		if s[i] == '(' {
			depth++
		}
	}
	return -1
}

// findNamed finds a part by its name, in full or as text and pictures shorten it. Missing begins the error that there is none.
func findNamed[Part any](parts []Part, nameOf func(*Part) string, missing, name string) (*Part, error) {
	names := make([]string, len(parts))
	for i := range parts {
		names[i] = nameOf(&parts[i])
	}
	short := format.Funcs(names)
	for _, known := range [][]string{names, short} {
		if i := slices.Index(known, name); i >= 0 {
			return &parts[i], nil
		}
	}
	if near := spelling.Nearest(name, slices.Concat(names, short)); near != "" {
		return nil, fmt.Errorf("%s %q; did you mean %q?", missing, name, near)
	}
	return nil, fmt.Errorf("%s %q", missing, name)
}

// unknownName is the error for a name that means nothing.
type unknownName struct{ msg string }

func (e *unknownName) Error() string { return e.msg }

func unknownMeasure(name string, known []string) error {
	if near := spelling.Nearest(name, known); near != "" {
		return &unknownName{fmt.Sprintf("unknown name %q; did you mean %s?", name, near)}
	}
	return &unknownName{fmt.Sprintf("unknown name %q: want one of %s", name, strings.Join(known, ", "))}
}

// parse parses a value to compare with.
func (m measure) parse(s string) (float64, error) {
	if m.wall {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, fmt.Errorf("%s wants a duration such as 1.5s, not %q", m.name, s)
		}
		return float64(d), nil
	}
	number := s
	if m.percent {
		number = strings.TrimSpace(strings.TrimSuffix(s, "%"))
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("%s wants a number, not %q", m.name, s)
	}
	return f, nil
}

// format writes a value with as many digits as it takes to see that it is not the limit.
func (m measure) format(v, limit float64) string {
	if m.wall {
		return time.Duration(v).String()
	}
	s := ""
	for decimals := 2; decimals < 20; decimals++ {
		s = strconv.FormatFloat(v, 'f', decimals, 64)
		if shown, _ := strconv.ParseFloat(s, 64); shown != limit || v == limit {
			break
		}
	}
	if m.percent {
		s += "%"
	}
	return s
}

func percent(part, whole time.Duration) float64 {
	if whole <= 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}
