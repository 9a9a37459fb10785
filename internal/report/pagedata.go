package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/query"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// object is a part of the JSON data for the scripts: the results in their own form, and what the
// scripts cannot compute. All times are in nanoseconds. The numbers are those of JavaScript: exact
// up to 2^53, which is 104 days in nanoseconds.
type object map[string]any

// newPageData makes the data of the page; of a served one, without the table of quanta.
func newPageData(d *Data, served bool) (object, error) {
	n := newNamer()
	version, procs, wall, functions, warnings := "", 0, time.Duration(0), true, list(d.Warnings)
	out := object{"title": d.title(), "source": d.Source, "served": served, "bottle": nil, "contention": nil, "tasks": nil, "counters": nil}
	if g := d.Bottle; g != nil {
		version, procs, wall = g.GoVersion, g.Procs, g.Start+g.Wall
		out["bottle"], out["collectors"] = graphList(g, n)
		if g.Verdict != nil {
			out["verdict"] = verdictObject(g.Verdict)
		} else {
			warnings = append(warnings, g.Sentences()...)
		}
		functions = slices.Contains([]string{"", "function", "start", "creator", "goroutine"}, g.GroupBy)
	}
	out["goroutines"] = []bottle.Box{}
	if d.Goroutines != nil && d.Bottle != nil && (d.Bottle.GroupBy == "" || d.Bottle.GroupBy == "function") { // others are not in the names
		out["goroutines"] = list(d.Goroutines.Boxes)
	}
	if r := d.Counters; r != nil {
		version, procs, wall = cmp.Or(version, r.GoVersion), cmp.Or(procs, r.Procs), max(wall, r.Wall)
		f, err := countersObject(r, n, served)
		if err != nil {
			return nil, err
		}
		out["counters"] = f
	}
	if d.Contention != nil {
		out["contention"] = contentionObject(d, n)
	}
	if d.Tasks != nil {
		out["tasks"] = tasksObject(d)
	}
	stacks := []object{}
	out["components"] = components()
	for _, s := range d.Speedup {
		stacks = append(stacks, stackObject(s))
	}
	if usage := speedup.UsageTable(d.Speedup...); usage != nil {
		out["usage"] = usage
	}
	missing := map[string]string{}
	for s, has := range map[string]bool{BottleSection: d.Bottle != nil, ContentionSection: d.Contention != nil, TasksSection: d.Tasks != nil, SpeedupSection: len(stacks) > 0, CountersSection: d.Counters != nil} {
		if !has {
			missing[s] = cmp.Or(d.Missing[s], usualReasons[s])
		}
	}
	out["go"], out["procs"], out["wall"], out["warnings"] = version, procs, wall, warnings
	out["speedup"], out["missing"], out["groups"] = stacks, missing, n.shorten(functions)
	return out, nil
}

func (d *Data) title() string { return cmp.Or(d.Title, d.Source, "bottleneck") }

// list returns a copy that is an array in JSON even if it is empty.
func list[E any](of []E) []E { return append([]E{}, of...) }

// usualReasons explain why a section is missing, unless Data.Missing does.
var usualReasons = map[string]string{
	BottleSection:     "There is no bottle graph: it comes from an execution trace, or from what “bottleneck graph -o graph.json” has saved.",
	ContentionSection: "There is no contention profile: it comes from an execution trace, or from a profile that package contention has written.",
	TasksSection:      "There are no tasks: they come from regions (runtime/trace.StartRegion) in an execution trace, or from a profile that package granularity has written.",
	SpeedupSection:    "There is no speedup stack: it takes goroutines of the program that run, in a complete trace.",
	CountersSection:   "There are no scheduling quanta: they come from an execution trace, or from an archive of “bottleneck record”.",
}

// graphList returns a graph and its windows, and a sentence about the collector of each.
func graphList(g *bottle.Graph, n *namer) (list []bottle.Graph, collectors []string) {
	for _, w := range append([]*bottle.Graph{g}, g.Windows...) {
		plain := *w
		plain.Verdict = nil // the page has that of the whole, in words
		for i := range w.Boxes {
			n.group(w.Boxes[i].Group, w.Boxes[i].Kind.String())
		}
		list, collectors = append(list, plain), append(collectors, w.Collector.String())
	}
	return list, collectors
}

// contentionObject is a profile and its windows, with what the scripts cannot compute: the short
// names of functions and locks, and which waits need not cost anything, by kind and function.
func contentionObject(d *Data, n *namer) object {
	p := d.Contention
	var functions []string
	short, forWork := map[string]string{}, map[string]bool{}
	party := func(who *contention.Party) (leaf string) {
		n.named(who.Group)
		if who.Stack == nil || len(who.Stack.Frames) == 0 {
			return ""
		}
		for _, f := range who.Stack.Frames {
			if _, known := short[f.Func]; !known {
				short[f.Func] = f.Func
				functions = append(functions, f.Func)
			}
		}
		return who.Stack.Frames[0].Func
	}
	for _, l := range p.Locks {
		short[l.Name] = l.Name // names given by people stay unchanged
	}
	for _, waits := range [][]contention.Wait{p.Waits, p.Unfinished} {
		for i := range waits {
			w := &waits[i]
			forWork[w.Kind+" "+party(&w.Waiter)] = w.ForWork()
			party(&w.Owner)
			if name := w.Lock.String(); short[name] == "" {
				short[name] = lockTitle(name)
			}
		}
	}
	for i := range p.Pairs {
		q := &p.Pairs[i]
		party(&q.Waiter)
		party(&q.Owner)
		for _, r := range q.Roots {
			party(&r.Owner)
		}
	}
	for i, s := range format.Funcs(functions) {
		short[functions[i]] = s
	}
	return edges(object{"profile": p, "rates": p.Rates(), "short": short, "forWork": forWork}, d.ContentionWindows, d.ContentionWindow, p.Duration, func(w *contention.Profile) any { return w })
}

// lockTitle shortens the name of a lock like package text.
func lockTitle(name string) string {
	if strings.HasPrefix(name, "[") {
		return name
	}
	return format.Func(name)
}

// tasksObject is a profile, with the titles of its axes and the short names of its classes. The
// classes of a window have only their distributions.
func tasksObject(d *Data) object {
	p := d.Tasks
	names, utilization := []string{}, []string{}
	for i := range p.Classes {
		names = append(names, p.Classes[i].Name)
	}
	for _, u := range p.Utilizations() {
		utilization = append(utilization, u.String())
	}
	out := object{"profile": p, "short": format.Funcs(names), "byTime": p.ByTime(), "fineBelow": p.FineBelow(), "switches": p.SwitchesName(), "utilization": utilization}
	return edges(out, d.TaskWindows, d.TaskWindow, p.Wall, func(w *granularity.Profile) any {
		classes := []granularity.Class{}
		for _, c := range w.Classes {
			classes = append(classes, granularity.Class{Name: c.Name, Tasks: c.Tasks, Cycles: c.Cycles, RunningNS: c.RunningNS, WallNS: c.WallNS, BlockedNS: c.BlockedNS})
		}
		return classes
	})
}

// countersObject is a table of quanta, without its columns if it is served.
func countersObject(r *quanta.Recording, n *namer, served bool) (object, error) {
	e, err := query.NewExplorer(r)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	groups, table := []int{}, *r
	table.Counters = list(r.Counters)
	for _, g := range r.Groups {
		groups = append(groups, n.group(g.Name, g.Kind.String()))
	}
	if served {
		table = quanta.Recording{Wall: r.Wall, Counters: table.Counters, Markers: r.Markers, Spans: r.Spans, Warnings: r.Warnings}
		for i := range table.Counters {
			table.Counters[i].Values = nil
		}
	}
	return object{"table": table, "rows": r.Len(), "groups": groups, "endings": quanta.Endings(), "waits": timeline.Waits(), "names": e.Names()}, nil
}

// stackObject is a speedup stack. The page computes a stack of several windows from those of the
// windows, because all parts are parts of the time.
func stackObject(s *speedup.Stack) object {
	windows := []object{}
	for i, w := range s.Windows() {
		a := s.Multi.Windows[i]
		windows = append(windows, object{"from": a.Start, "to": a.Start + a.Wall, "stack": w})
	}
	return object{"stack": s, "label": s.Label, "sentence": s.Sentence(), "windows": windows}
}

// components are those of all speedup stacks, in stacking order.
func components() (out []object) {
	for _, c := range speedup.Delimiters() {
		out = append(out, object{"name": c.String(), "words": c.Words(), "family": c.Family()})
	}
	return out
}

// verdictObject is the verdict in words, which the page shows unchanged.
func verdictObject(v *verdict.Verdict) object {
	parts, findings := []object{}, []object{}
	for _, p := range v.Parts {
		parts = append(parts, object{"name": format.Clean(p.Name), "share": p.Share, "text": format.Percent(p.Time, v.Capacity)})
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		where := []string{}
		for _, p := range f.Where {
			where = append(where, p.String())
		}
		findings = append(findings, object{"title": f.Title, "where": where, "advice": f.Advice, "gain": f.Bound()})
	}
	return object{"head": v.Head(), "parts": parts, "findings": findings, "warnings": list(v.Warnings)}
}

// edges adds the beginnings, the ends and the contents of windows of a length, the last of which
// ends with the recording. Without windows, it adds null.
func edges[Part any](to object, windows []*Part, length, all time.Duration, content func(*Part) any) object {
	to["windows"] = nil
	if len(windows) > 0 {
		var from, end []time.Duration
		parts := []any{}
		for i, w := range windows {
			begin := time.Duration(i) * length
			from, end = append(from, begin), append(end, begin+length)
			if all > begin {
				end[i] = min(end[i], all)
			}
			if w == nil {
				w = new(Part)
			}
			parts = append(parts, content(w))
		}
		to["windows"] = object{"from": from, "to": end, "parts": parts}
	}
	return to
}

// groupForm is a group of goroutines, which all sections show in the same color.
type groupForm struct {
	Name  string `json:"name"`
	Short string `json:"short"`
	Kind  string `json:"kind"`
}

// namer numbers the groups.
type namer struct {
	groups []groupForm
	index  map[groupForm]int // keyed without Short
	byName map[string]int    // first group with the name
}

func newNamer() *namer {
	return &namer{groups: []groupForm{}, index: map[groupForm]int{}, byName: map[string]int{}}
}

// group returns the number of the group with a name and kind.
func (n *namer) group(name, kind string) int {
	k := groupForm{Name: name, Kind: kind}
	i, ok := n.index[k]
	if !ok {
		i = len(n.groups)
		n.index[k] = i
		n.groups = append(n.groups, k)
		if _, ok := n.byName[name]; !ok {
			n.byName[name] = i
		}
	}
	return i
}

// named adds a group with the name, unless there is one, of any kind.
func (n *namer) named(name string) {
	if _, known := n.byName[name]; name != "" && !known {
		n.group(name, "application")
	}
}

// shorten gives all groups their short names. functions is set if they are functions.
func (n *namer) shorten(functions bool) []groupForm {
	names := make([]string, len(n.groups))
	for i := range n.groups {
		names[i] = n.groups[i].Name
	}
	if functions {
		names = format.Funcs(names)
	}
	for i := range n.groups {
		n.groups[i].Short = format.Clean(names[i])
	}
	return n.groups
}
