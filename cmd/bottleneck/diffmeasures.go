package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// diffMeasure is something that diff's -fail can compare, in a run of its kind.
type diffMeasure struct {
	measure
	of func(diffSide) (float64, error)
}

// diffMeasures are the measures of the whole of a run.
func diffMeasures(kind diffKind) (out []diffMeasure) {
	add := func(m measure, of func(diffSide) float64) {
		out = append(out, diffMeasure{m, func(s diffSide) (float64, error) { return of(s), nil }})
	}
	switch kind {
	case graphDiff:
		for _, m := range graphMeasures {
			add(m, func(s diffSide) float64 { return m.of(s.graph) })
		}
	case stackDiff:
		add(measure{name: "speedup"}, func(s diffSide) float64 { return s.stack.Speedup })
		add(measure{name: "remainder"}, func(s diffSide) float64 { return s.stack.Remainder })
	case contentionDiff:
		for _, m := range contentionMeasures {
			add(m.measure, func(s diffSide) float64 {
				v, _ := m.of(sumContention(s.contention)) // each profile can tell
				return v
			})
		}
	case tasksDiff:
		add(measure{name: "tasks"}, func(s diffSide) float64 { return tasksWith(s.tasks, "") })
		for _, d := range []granularity.Diagnosis{granularity.Fine, granularity.Coarse} {
			add(measure{name: string(d) + "-tasks-%", percent: true}, func(s diffSide) float64 {
				return 100 * tasksWith(s.tasks, d) / max(1, tasksWith(s.tasks, ""))
			})
		}
	}
	return out
}

// tasksWith counts the tasks in classes with a diagnosis; all for none.
func tasksWith(p *granularity.Profile, d granularity.Diagnosis) (sum float64) {
	for i := range p.Classes {
		if d == "" || p.Classes[i].Diagnosis == d {
			sum += float64(p.Classes[i].Tasks)
		}
	}
	return sum
}

// findMeasure returns the measure of a kind that has a name: of the whole, or lock(LOCK).NAME, tasks(CLASS).NAME, group(NAME).NAME
// or the name of a component.
func findMeasure(kind diffKind, name string) (diffMeasure, error) {
	all := diffMeasures(kind)
	if i := slices.IndexFunc(all, func(m diffMeasure) bool { return m.name == name }); i >= 0 {
		return all[i], nil
	}
	switch kind {
	case graphDiff:
		return groupMeasure(name)
	case stackDiff:
		part, err := speedup.ParseComponent(name)
		if err == nil && part == speedup.Run {
			err = errors.New("it is named speedup")
		}
		return diffMeasure{measure{name: name}, func(s diffSide) (float64, error) { return s.stack.Components[part], nil }}, err
	case contentionDiff:
		return lockMeasure(name)
	}
	return classMeasure(name)
}

// groupMeasure is one of a group of a graph, in the words of "bottleneck graph -fail".
func groupMeasure(name string) (diffMeasure, error) {
	c, rest, err := parseCondition(name + ">0") // only the name counts
	if err == nil && rest != "" {
		err = fmt.Errorf("unknown name %q", name)
	}
	return diffMeasure{c.measure, func(s diffSide) (float64, error) { return c.value(s.graph) }}, err
}

// lockMeasure parses lock(LOCK).waited and lock(LOCK).contentions. A lock that nobody waited for is 0: being gone is what one hopes for.
func lockMeasure(name string) (diffMeasure, error) {
	known := []measure{{name: "waited", wall: true}, {name: "contentions"}}
	lock, m, err := measureOf("lock", name, known)
	if err != nil {
		return diffMeasure{}, err
	}
	return diffMeasure{m, func(s diffSide) (float64, error) {
		var waited time.Duration
		var contentions int64
		for i := range s.contention.Waits {
			if w := &s.contention.Waits[i]; isLock(w.Lock, lock) {
				waited += w.Waited
				contentions += w.Contentions
			}
		}
		if m.wall {
			return float64(waited), nil
		}
		return float64(contentions), nil
	}}, nil
}

// isLock reports whether a lock has that name or class, in full or short.
func isLock(l *contention.Lock, name string) bool {
	return name == l.Name || name == l.Class || name == format.Func(l.Class)
}

// classMeasure parses tasks(CLASS).NAME.
func classMeasure(name string) (diffMeasure, error) {
	known := []measure{{name: "p50"}, {name: "mean"}, {name: "p99"}, {name: "count"}, {name: "blocked-%", percent: true}}
	class, m, err := measureOf("tasks", name, known)
	if err != nil {
		return diffMeasure{}, err
	}
	return diffMeasure{m, func(s diffSide) (float64, error) {
		c, err := findClass(s.tasks, class)
		if err != nil {
			return 0, err
		}
		h := s.tasks.Granularity(c)
		switch {
		case m.name == "count":
			return float64(c.Tasks), nil
		case m.percent:
			return 100 * c.BlockedNS.Sum() / max(1, c.WallNS.Sum()), nil
		case h.Count() == 0:
			return 0, fmt.Errorf("the granularity of %q is not known", c.Name)
		case m.name == "mean":
			return h.Mean(), nil
		case m.name == "p99":
			return h.Quantile(.99), nil
		}
		return h.Quantile(.5), nil
	}}, nil
}

// findClass finds a class by its name, in full or short.
func findClass(p *granularity.Profile, name string) (*granularity.Class, error) {
	var names []string
	for i := range p.Classes {
		if p.Classes[i].Name == name {
			return &p.Classes[i], nil
		}
		names = append(names, p.Classes[i].Name)
	}
	short := format.Funcs(names)
	if i := slices.Index(short, name); i >= 0 {
		return &p.Classes[i], nil
	}
	if near := nearest(name, append(names, short...)); near != "" {
		return nil, fmt.Errorf("there are no tasks of class %q; did you mean %q?", name, near)
	}
	return nil, fmt.Errorf("there are no tasks of class %q", name)
}

// measureOf takes apart word(INNER).NAME.
func measureOf(word, s string, known []measure) (inner string, m measure, err error) {
	inner, ok := strings.CutPrefix(s, word+"(")
	if !ok {
		return "", m, fmt.Errorf("unknown name %q", s)
	}
	end := closing(inner)
	if end < 0 {
		return "", m, fmt.Errorf("\"%s(\" is never closed", word)
	}
	name, dot := strings.CutPrefix(strings.TrimSpace(inner[end+1:]), ".")
	if inner = strings.TrimSpace(inner[:end]); inner == "" || !dot {
		return "", m, fmt.Errorf("%q: want %s(NAME).%s", s, word, known[0].name)
	}
	i := slices.IndexFunc(known, func(m measure) bool { return m.name == name })
	if i < 0 {
		return "", m, unknownMeasure(name, known)
	}
	return inner, known[i], nil
}

// comparable reports an error if granularity is in cycles in one run and in time in the other.
func (p diffPair) comparable(m measure) error {
	if p[0].kind == tasksDiff && slices.Contains([]string{"p50", "mean", "p99"}, m.name) && p[0].tasks.ByTime() != p[1].tasks.ByTime() {
		unit := func(p *granularity.Profile) string {
			if p.ByTime() {
				return "nanoseconds"
			}
			return "cycles"
		}
		return fmt.Errorf("it is in %s, but was in %s", unit(p[1].tasks), unit(p[0].tasks))
	}
	return nil
}

// nearestMeasure suggests a name of any kind.
func nearestMeasure(name string) error {
	var known []measure
	for _, kind := range diffKinds {
		for _, m := range diffMeasures(kind) {
			known = append(known, m.measure)
		}
	}
	return unknownMeasure(name, known)
}

// quotient is after ÷ before; what was not there and is now grew without bound.
func quotient(before, after float64) float64 {
	switch {
	case before == after:
		return 1
	case before == 0:
		return math.Inf(int(math.Copysign(1, after)))
	}
	return after / before
}
