package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/spelling"
	"github.com/bottleneck-go/bottleneck/result"
)

// measure is something that -fail can compare.
type measure struct {
	name string
	unit result.Unit // of a Ratio, the values are in percent
	help string
}

// measured is a measure of a T. It is an error if the T cannot tell.
type measured[T any] struct {
	measure
	of func(T) (float64, error)
	// asPart, if not nil, is what of is in percent of a whole.
	asPart func(T) (float64, error)
}

// measuring returns the measure with a name.
func measuring[T any](name string, unit result.Unit, help string, of func(T) (float64, error)) measured[T] {
	return measured[T]{measure: measure{name, unit, help}, of: of}
}

// against parses a value to compare the measure with, and returns the measure that can be compared
// with it.
func (m measured[T]) against(value string) (measured[T], float64, error) {
	if m.asPart != nil && strings.HasSuffix(value, "%") {
		m.of, m.unit = m.asPart, result.Ratio
	}
	limit, err := m.unit.ParseLimit(m.name, value)
	if err != nil && m.asPart != nil {
		err = fmt.Errorf("%w, or a part such as 10%%", err)
	}
	return m, limit, err
}

// always is for measures that every T can tell.
func always[T any](of func(T) float64) func(T) (float64, error) {
	return func(v T) (float64, error) { return of(v), nil }
}

// measures are all that can be compared about a T.
type measures[T any] struct {
	example string        // of a condition
	whole   []measured[T] // in the order in which an error lists them
	// part returns what a name that is not of the whole means: word(NAME).measure, see
	// [ofPart]. None is false if it means nothing. Nil where there are no parts.
	part func(name string) (m measured[T], is bool, err error)
	// parts says in the help what the names of parts are.
	parts string
}

// help says what conditions are about.
func (ms measures[T]) help() string {
	var b strings.Builder
	b.WriteString("A CONDITION is NAME, one of < <= > >=, and a value. NAME is\n\n")
	for _, m := range ms.whole {
		fmt.Fprintf(&b, "  %-17s %s\n", m.name, wrapped(20, m.help))
	}
	return b.String() + "\n" + wrapped(0, ms.parts)
}

// find returns the measure with a name; the error may be an [*result.UnknownName].
func (ms measures[T]) find(name string) (measured[T], error) {
	if i := slices.IndexFunc(ms.whole, func(m measured[T]) bool { return m.name == name }); i >= 0 {
		return ms.whole[i], nil
	}
	if ms.part != nil {
		if m, is, err := ms.part(name); is {
			return m, err
		}
	}
	return measured[T]{}, result.Unknown(name, ms.names())
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
		first, name, rest, filtered, err := result.CutFilter(s)
		if first != word || !filtered && err == nil {
			return none, false, nil
		}
		if err != nil {
			return none, true, err
		}
		last, dot := strings.CutPrefix(rest, ".")
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
			return none, true, fmt.Errorf("%s(NAME): %w", word, result.Unknown(last, names))
		}
		m := known[i]
		return measuring(m.name, m.unit, "", func(v T) (float64, error) { return of(v, name, m) }), true, nil
	}
}

// ofTable returns what the columns of a table say about a T, all rows together or those of
// NAME(FILTER). A FILTER that is a plain word is one of words: only functions and lines, which have
// a dot, may be missing in one table and be in the next. But one that is mistyped, as names tells
// of a T, is an error, unless a question mark after it says that it may be missing.
func ofTable[T any](columns []result.Head, words []string, table func(T) *result.Table, names func(T) []string) (whole []measured[T], part func(string) (measured[T], bool, error)) {
	find := func(name string) (measured[T], error) {
		m, err := result.Find(columns, name)
		if err != nil {
			return measured[T]{}, err
		}
		out := measuring(name, m.Unit, "", func(v T) (float64, error) { return m.Of(table(v)) })
		if m.Part {
			out.asPart = func(v T) (float64, error) { return m.Share(table(v)) }
		}
		return out, nil
	}
	for _, c := range columns {
		if !c.Unit.IsText() {
			m, err := find(c.Name)
			if err != nil {
				panic(err) // the name is no name
			}
			m.help = c.Help
			whole = append(whole, m)
		}
	}
	return whole, func(name string) (m measured[T], is bool, err error) {
		column, filter, _, filtered, err := result.CutFilter(name)
		if err == nil && !filtered {
			return m, false, nil
		}
		maybe := strings.HasSuffix(filter, "?")
		if maybe {
			filter = strings.TrimSuffix(filter, "?")
			name = column + "(" + filter + ")"
		}
		if m, err = find(name); err == nil && !maybe && !isPlainWord(filter) {
			for _, of := range []*func(T) (float64, error){&m.of, &m.asPart} {
				if *of != nil {
					*of = unlessMistyped(*of, filter, names)
				}
			}
		}
		if err == nil && isPlainWord(filter) && !slices.Contains(words, filter) {
			err = fmt.Errorf("%s(%s): %w, or a function such as main.main", column, filter, result.Unknown(filter, words))
		}
		return m, true, err
	}
}

// unlessMistyped returns a measure that is an error where it is 0 and the filter is none of the
// names of a T, but nearly one.
func unlessMistyped[T any](of func(T) (float64, error), filter string, names func(T) []string) func(T) (float64, error) {
	return func(v T) (float64, error) {
		is, err := of(v)
		if is != 0 || err != nil {
			return is, err
		}
		all := names(v)
		all = append(all, format.Funcs(all)...)
		if slices.ContainsFunc(all, func(name string) bool { return name == filter || strings.HasSuffix(name, "/"+filter) }) {
			return is, nil
		}
		if near := spelling.Slip(filter, all); near != "" {
			return 0, fmt.Errorf("nothing in the trace is called %s; did you mean %s? (%s? if it may be missing)", filter, near, filter)
		}
		return is, nil
	}
}

// isPlainWord reports whether a text has nothing but letters and hyphens.
func isPlainWord(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r != '-' && !unicode.IsLetter(r) })
}

// findNamed finds a part by its name, in full or as text and pictures shorten it. Missing begins
// the error that there is none.
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

func percent(part, whole time.Duration) float64 {
	if whole <= 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}
