package bottle

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// Grouping determines which goroutines of the application share a box. The zero value groups by
// function. Goroutines of the collector, the runtime and the tracer, assists and stop-the-world
// phases have their own boxes in any grouping.
type Grouping struct {
	name  string
	group func(*timeline.Goroutine) string
	// single: every goroutine has its own box; those of exited goroutines may be folded.
	single bool
	// byName: the box depends only on the name, the start function or the ID of a goroutine,
	// not on its earlier events.
	byName bool
	byKind bool // one box per kind
}

// The groupings.
var (
	// ByFunction groups by the function that a goroutine was started for, which is the name of
	// the goroutine; see timeline.Goroutine. A goroutine that does several things, such as the
	// worker of a pool, is in the box of each while it does it.
	ByFunction = Grouping{name: "function", group: (*timeline.Goroutine).Name, byName: true}
	// ByStart groups by the start function: the function of the go statement.
	ByStart = Grouping{name: "start", group: func(g *timeline.Goroutine) string { return cmp.Or(g.Start, g.Name()) }, byName: true}
	// ByCreator groups by the name of the goroutine that executed the go statement.
	ByCreator = Grouping{name: "creator", group: func(g *timeline.Goroutine) string { return cmp.Or(g.Creator().Func, "(creator not known)") }}
	// ByGoroutine gives each goroutine a box. The largest exited goroutines keep their boxes;
	// the others are folded by function, so that memory is bounded.
	ByGoroutine = Grouping{name: "goroutine", group: single, single: true, byName: true}
	// ByRegion groups by the innermost open user region (runtime/trace.Region).
	ByRegion = Grouping{name: "region", group: region}
	// ByTask groups by the type of the user task (runtime/trace.Task) of the
	// innermost region, or that of the goroutine's creator.
	ByTask = Grouping{name: "task", group: func(g *timeline.Goroutine) string { return cmp.Or(g.UserTask(), "(no task)") }}
	// ByKind has one box for each kind: application, collector, runtime and tracer.
	ByKind = Grouping{name: "kind", byName: true, byKind: true}
)

// ByRegexp groups by the part of the goroutine's name that matches re: the first parenthesized
// subexpression, or the whole match if there is none. Names that do not match share the box "(no
// match)".
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

func single(g *timeline.Goroutine) string {
	return g.Name() + " #" + strconv.FormatInt(g.ID, 10)
}

func region(g *timeline.Goroutine) string {
	if regions := g.Regions(); len(regions) > 0 {
		return regions[len(regions)-1].Name
	}
	return "(no region)"
}

// assistRange and worldRange are the ranges in which a goroutine works for the runtime.
const (
	assistRange = "GC mark assist"
	worldRange  = "stop-the-world ("
)

// boxKey identifies a box.
type boxKey struct {
	name string
	kind timeline.Kind
}

// assistBox is the name of the box of application goroutines that assist the collector.
const assistBox = "GC assist"

// keyOf returns the box to which the time of a goroutine currently belongs. world is the name of
// the stop-the-world range that the goroutine is in, if any.
func (g Grouping) keyOf(gr *timeline.Goroutine, world string) boxKey {
	k := g.ownKey(gr, world)
	if g.byKind {
		if k.name = k.kind.String(); k.kind == GC {
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
	case gr.Label() != "":
		return boxKey{gr.Label(), GC}
	case gr.Kind != timeline.Application:
		return boxKey{gr.Name(), gr.Kind}
	case g.group == nil:
		return boxKey{gr.Name(), Application}
	}
	return boxKey{g.group(gr), Application}
}

// worldKind returns the part of the runtime that stopped the world, according to the reason in the
// range's name.
func worldKind(name string) timeline.Kind {
	switch reason := strings.TrimPrefix(name, worldRange); {
	case strings.HasPrefix(reason, "GC"):
		return GC
	case strings.HasPrefix(reason, "start trace"), strings.HasPrefix(reason, "stop trace"):
		return Tracer
	}
	return Runtime
}

// BoxOf returns the group and kind of the box to which the time of a goroutine currently belongs,
// for observers that group like a graph. world is the name of the stop-the-world range
// ([timeline.Span]) that the goroutine is in, or "".
func (g Grouping) BoxOf(gr *timeline.Goroutine, world string) (group string, kind timeline.Kind) {
	k := g.keyOf(gr, world)
	return k.name, k.kind
}
