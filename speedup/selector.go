package speedup

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// selector selects the workers, as [Options].Workers does. The zero value chooses automatically.
type selector struct {
	name      string
	functions []string // start functions that it names
	match     func(*timeline.Goroutine) bool
	stays     bool // a goroutine that becomes a worker stays one until it exits
}

// byFunction selects by the name of a goroutine (see [timeline.Goroutine]) or its start function,
// in full or short ("main.work" for "example.com/cmd/main.work"). The feeder of a pipeline is
// included only if it is named as well.
func byFunction(names ...string) selector {
	return selector{name: strings.Join(names, ","), functions: names, match: func(g *timeline.Goroutine) bool {
		return isOne(names, g.Func) || isOne(names, g.Start)
	}}
}

func isOne(names []string, fn string) bool {
	return fn != "" && (slices.Contains(names, fn) || slices.Contains(names, format.Func(fn)))
}

// byExactFunctions selects by full names only, for the automatic choice.
func byExactFunctions(names ...string) selector {
	return selector{name: strings.Join(names, ","), functions: names, match: func(g *timeline.Goroutine) bool { return slices.Contains(names, g.Func) }}
}

// everyone is the name of the selector of all goroutines of the application.
const everyone = "all goroutines"

var everyWorker = selector{name: everyone, match: func(g *timeline.Goroutine) bool { return g.Func != "" }}

// byRegions selects goroutines while they are in a user region that matches or, if they stay, from
// then on. Package granularity logs the tasks of a pool as regions of a user task.
func byRegions(name string, stays bool, match func(timeline.Span) bool) selector {
	return selector{name: name, stays: stays, match: func(g *timeline.Goroutine) bool { return slices.ContainsFunc(g.Regions(), match) }}
}

// byRegexp selects goroutines whose name or start function matches.
func byRegexp(re *regexp.Regexp) selector {
	return selector{name: "/" + re.String() + "/", match: func(g *timeline.Goroutine) bool {
		return g.Func != "" && (re.MatchString(g.Func) || re.MatchString(g.Start))
	}}
}

// CheckWorkers returns an error if a text is not one for [Options].Workers.
func CheckWorkers(text string) error {
	_, err := parseSelector(text)
	return err
}

// parseSelector returns the selector that a text stands for.
func parseSelector(s string) (selector, error) {
	switch {
	case s == "" || s == "auto":
		return selector{}, nil
	case s == "all" || s == everyone:
		return everyWorker, nil
	case len(s) >= 2 && s[0] == '/' && s[len(s)-1] == '/':
		re, err := regexp.Compile(s[1 : len(s)-1])
		if err != nil {
			return selector{}, fmt.Errorf("workers %s: %w", s, err)
		}
		return byRegexp(re), nil
	}
	pool, isPool := strings.CutPrefix(s, "pool:")
	region, isRegion := strings.CutPrefix(s, "region:")
	switch {
	case pool == "" || region == "":
		return selector{}, fmt.Errorf("workers %q: a name is missing", s)
	case isPool:
		return byRegions(s, true, func(r timeline.Span) bool { return r.Task == pool }), nil
	case isRegion:
		return byRegions(s, false, func(r timeline.Span) bool { return r.Name == region }), nil
	}
	names := strings.Split(s, ",")
	for i := range names {
		if names[i] = strings.TrimSpace(names[i]); names[i] == "" {
			return selector{}, errors.New("workers: a name is missing")
		}
	}
	return byFunction(names...), nil
}

// String returns the text that parseSelector accepts; "auto" for the zero value.
func (s selector) String() string {
	if s.match == nil {
		return "auto"
	}
	return s.name
}

func (s selector) selects(g *timeline.Goroutine) bool {
	return s.match != nil && g.Kind == timeline.Application && s.match(g)
}
