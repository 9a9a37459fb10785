package bottle

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// Grouping is which goroutines of the application share a box. The zero
// value groups by function. Goroutines of the collector, the runtime and the
// tracer, assists and stop-the-world phases have boxes of their own in any grouping.
type Grouping struct {
	name  string
	group func(*timeline.Goroutine) string
	// single: every goroutine has a box of its own; exited ones may be folded.
	single bool
	// byName: a box follows from the name of a goroutine, what it was started as, or its id,
	// whatever else it did before.
	byName bool
	byKind bool // the boxes of a kind are one
}

// The groupings.
var (
	// ByFunction groups by the function that a goroutine was started for, which is the name of
	// the goroutine: see timeline.Goroutine. A goroutine that does several things, as the
	// worker of a pool does, is in the box of each for as long as it does it.
	ByFunction = Grouping{name: "function", group: (*timeline.Goroutine).Name, byName: true}
	// ByStart groups by the start function: the function of the go statement.
	ByStart = Grouping{name: "start", group: start, byName: true}
	// ByCreator groups by the name of the goroutine that executed the go statement.
	ByCreator = Grouping{name: "creator", group: creator}
	// ByGoroutine gives each goroutine a box. Of those that have exited, the largest stay
	// single and the others are folded by function, so that memory stays bounded.
	ByGoroutine = Grouping{name: "goroutine", group: single, single: true, byName: true}
	// ByRegion groups by the innermost open user region (runtime/trace.Region).
	ByRegion = Grouping{name: "region", group: region}
	// ByTask groups by the type of the user task (runtime/trace.Task) of the
	// innermost region, or that of the goroutine's creator.
	ByTask = Grouping{name: "task", group: task}
	// ByKind has one box for each kind: application, collector, runtime and tracer.
	ByKind = Grouping{name: "kind", byName: true, byKind: true}
)

// ByRegexp groups by what a regular expression finds in the name of the goroutine: its first
// parenthesised part, or the whole match if it has none. What does not match goes into one box,
// "(no match)".
func ByRegexp(re *regexp.Regexp) Grouping {
	return Grouping{name: "/" + re.String() + "/", byName: true, group: func(g *timeline.Goroutine) string {
		m := re.FindStringSubmatch(g.Name())
		switch {
		case m == nil:
			return "(no match)"
		case len(m) > 1:
			return m[1]
		}
		return m[0]
	}}
}

// ByFunc groups by a function of the caller's, which must give the same answer for the
// same goroutine as long as its name and its open regions stay the same.
func ByFunc(name string, f func(*timeline.Goroutine) string) Grouping {
	return Grouping{name: name, group: f}
}

// ParseGrouping returns the grouping with the given name: function, start, creator,
// goroutine, region, task, kind, or a regular expression between slashes.
func ParseGrouping(s string) (Grouping, error) {
	for _, g := range []Grouping{ByFunction, ByStart, ByCreator, ByGoroutine, ByRegion, ByTask, ByKind} {
		if s == g.name {
			return g, nil
		}
	}
	if s == "" {
		return ByFunction, nil
	}
	if len(s) >= 2 && strings.HasPrefix(s, "/") && strings.HasSuffix(s, "/") {
		re, err := regexp.Compile(s[1 : len(s)-1])
		if err != nil {
			return Grouping{}, fmt.Errorf("grouping %s: %w", s, err)
		}
		return ByRegexp(re), nil
	}
	return Grouping{}, fmt.Errorf("unknown grouping %q: want function, start, creator, goroutine, region, task, kind or /regexp/", s)
}

// String returns the name of the grouping.
func (g Grouping) String() string {
	if g.group == nil && !g.byKind {
		return ByFunction.name
	}
	return g.name
}

func start(g *timeline.Goroutine) string {
	if g.Start == "" {
		return g.Name()
	}
	return g.Start
}

func creator(g *timeline.Goroutine) string {
	if g.CreatorFunc == "" {
		return "(creator not known)"
	}
	return g.CreatorFunc
}

func single(g *timeline.Goroutine) string {
	return g.Name() + " #" + strconv.FormatInt(g.ID, 10)
}

func region(g *timeline.Goroutine) string {
	if n := len(g.Regions); n > 0 {
		return g.Regions[n-1].Type
	}
	return "(no region)"
}

func task(g *timeline.Goroutine) string {
	if t := g.UserTask(); t != "" {
		return t
	}
	return "(no task)"
}

// assistRange and worldRange are the ranges during which a goroutine works for the runtime.
const (
	assistRange = "GC mark assist"
	worldRange  = "stop-the-world ("
)

// boxKey identifies a box.
type boxKey struct {
	name string
	kind Kind
}

// assistBox names the box of goroutines of the application that work for the collector.
const assistBox = "GC assist"

// keyOf returns the box that a goroutine's time goes to now. world is the
// name of the stop-the-world range that it is in, if any.
func (g Grouping) keyOf(gr *timeline.Goroutine, world string) boxKey {
	k := g.ownKey(gr, world)
	if g.byKind {
		if k.name = string(k.kind); k.kind == GC {
			k.name = "collector"
		}
	}
	return k
}

func (g Grouping) ownKey(gr *timeline.Goroutine, world string) boxKey {
	switch {
	case world != "":
		return boxKey{world, worldKind(world)}
	case gr.InRange(assistRange):
		return boxKey{assistBox, GC}
	case gr.Label != "":
		return boxKey{gr.Label, GC}
	case gr.Kind != timeline.Application:
		return boxKey{gr.Name(), Kind(gr.Kind.String())}
	case g.group == nil:
		return boxKey{gr.Name(), Application}
	}
	return boxKey{g.group(gr), Application}
}

// worldKind is who stopped the world, by the reason in the range's name.
func worldKind(name string) Kind {
	switch reason := strings.TrimPrefix(name, worldRange); {
	case strings.HasPrefix(reason, "GC"):
		return GC
	case strings.HasPrefix(reason, "start trace"), strings.HasPrefix(reason, "stop trace"):
		return Tracer
	}
	return Runtime
}

// BoxOf returns the group and the kind of the box that a goroutine's time goes to now, for
// observers that group as a graph does. world is the name of the stop-the-world range
// ([timeline.Range]) that the goroutine is in, or "".
func (g Grouping) BoxOf(gr *timeline.Goroutine, world string) (group string, kind Kind) {
	k := g.keyOf(gr, world)
	return k.name, k.kind
}
