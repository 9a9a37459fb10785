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

// Selector selects the workers, the goroutines of the lanes. Only goroutines of the application can
// be workers.
//
// The zero value chooses automatically. Among the start functions with at least two goroutines that
// lived at the same time, it takes the one whose goroutines ran longest in the run with many
// workers. If there is none, it takes the start functions that each ran for a twentieth of the time
// or more: the stages of a pipeline, or a single worker without the goroutine that waits for it. If
// nothing ran, it takes all goroutines of the program.
type Selector struct {
	name      string
	functions []string // start functions that it names
	match     func(*timeline.Goroutine) bool
	stays     bool // a goroutine that becomes a worker stays one until it exits
}

// ByFunction selects by the name of a goroutine (see [timeline.Goroutine]) or its start function,
// in full or short ("main.work" for "example.com/cmd/main.work"). The feeder of a pipeline is
// included only if it is named as well.
func ByFunction(names ...string) Selector {
	return Selector{name: strings.Join(names, ","), functions: names, match: func(g *timeline.Goroutine) bool {
		return isOne(names, g.Func) || isOne(names, g.Start)
	}}
}

func isOne(names []string, fn string) bool {
	return fn != "" && (slices.Contains(names, fn) || slices.Contains(names, format.Func(fn)))
}

// byExactFunctions selects by full names only, for the automatic choice.
func byExactFunctions(names ...string) Selector {
	return Selector{name: strings.Join(names, ","), functions: names, match: func(g *timeline.Goroutine) bool { return slices.Contains(names, g.Func) }}
}

// everyone is the name of the selector of all goroutines of the application.
const everyone = "all goroutines"

var everyWorker = Selector{name: everyone, match: func(g *timeline.Goroutine) bool { return g.Func != "" }}

// ByPool selects the goroutines that execute tasks of the named pool, from a goroutine's first task
// until its exit. Package granularity logs the pools to the trace.
func ByPool(name string) Selector {
	return Selector{name: "pool:" + name, stays: true, match: func(g *timeline.Goroutine) bool {
		return slices.ContainsFunc(g.Regions(), func(r timeline.Region) bool { return r.Task == name })
	}}
}

// ByRegion selects goroutines while they are in a user region (runtime/trace.Region) of that type.
func ByRegion(typ string) Selector {
	return Selector{name: "region:" + typ, match: func(g *timeline.Goroutine) bool {
		return slices.ContainsFunc(g.Regions(), func(r timeline.Region) bool { return r.Type == typ })
	}}
}

// ByRegexp selects goroutines whose name or start function matches.
func ByRegexp(re *regexp.Regexp) Selector {
	return Selector{name: "/" + re.String() + "/", match: func(g *timeline.Goroutine) bool {
		return g.Func != "" && (re.MatchString(g.Func) || re.MatchString(g.Start))
	}}
}

// ParseSelector returns the selector that a text stands for:
//
//	"", auto             choose by itself
//	all, all goroutines  all goroutines of the program
//	NAME, NAME,NAME…     names of goroutines or start functions, in full or short
//	pool:NAME            goroutines of a pool
//	region:TYPE          goroutines in a user region
//	/REGEXP/             names or start functions that match
func ParseSelector(s string) (Selector, error) {
	switch {
	case s == "" || s == "auto":
		return Selector{}, nil
	case s == "all" || s == everyone:
		return everyWorker, nil
	case len(s) >= 2 && s[0] == '/' && s[len(s)-1] == '/':
		re, err := regexp.Compile(s[1 : len(s)-1])
		if err != nil {
			return Selector{}, fmt.Errorf("workers %s: %w", s, err)
		}
		return ByRegexp(re), nil
	}
	for prefix, by := range map[string]func(string) Selector{"pool:": ByPool, "region:": ByRegion} {
		if name, ok := strings.CutPrefix(s, prefix); ok {
			if name == "" {
				return Selector{}, fmt.Errorf("workers %q: a name is missing", s)
			}
			return by(name), nil
		}
	}
	names := strings.Split(s, ",")
	for i := range names {
		if names[i] = strings.TrimSpace(names[i]); names[i] == "" {
			return Selector{}, errors.New("workers: a name is missing")
		}
	}
	return ByFunction(names...), nil
}

// String returns the text that [ParseSelector] accepts; "auto" for the zero value.
func (s Selector) String() string {
	if s.match == nil {
		return "auto"
	}
	return s.name
}

func (s Selector) selects(g *timeline.Goroutine) bool {
	return s.match != nil && g.Kind == timeline.Application && s.match(g)
}
