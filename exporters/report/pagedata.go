package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// object is a part of the JSON data for the scripts, by the names that they use. All times are in
// nanoseconds. The numbers are those of JavaScript: exact up to 2^53, which is 104 days in
// nanoseconds.
type object map[string]any

// newPageData makes the data of the page; of a served one, without the table of quanta.
func newPageData(d *Data, served bool) (object, error) {
	n := newNamer()
	version, procs, wall, functions, warnings := "", 0, time.Duration(0), true, list(d.Warnings)
	out := object{"title": d.title(), "source": d.Source, "served": served, "bottle": nil, "contention": nil, "tasks": nil, "counters": nil}
	if g := d.Bottle; g != nil {
		version, procs, wall = g.GoVersion, g.Procs, g.Start+g.Wall
		out["bottle"] = newBottleForm(g, n)
		if g.Verdict != nil {
			out["verdict"] = verdictObject(g.Verdict)
		} else {
			warnings = append(warnings, g.Sentences()...)
		}
		functions = slices.Contains([]string{"", "function", "start", "creator", "goroutine"}, g.GroupBy)
	}
	out["goroutines"] = goroutineForms(d, n)
	if r := d.Counters; r != nil {
		version, procs, wall = cmp.Or(version, r.GoVersion), cmp.Or(procs, r.Procs), max(wall, r.Wall)
		f, err := countersObject(r, n, served)
		if err != nil {
			return nil, err
		}
		out["counters"] = f
	}
	if d.Contention != nil {
		out["contention"] = contentionObject(d.Contention, d.ContentionWindows, n)
	}
	if d.Tasks != nil {
		out["tasks"] = tasksObject(d.Tasks, d.TaskWindows)
	}
	stacks := []object{}
	for _, s := range d.Speedup {
		stacks = append(stacks, stackObject(s))
	}
	if usage := speedup.UsageTable(d.Speedup...); usage != nil {
		out["usage"] = usage
	}
	missing := map[Section]string{}
	for s, has := range map[Section]bool{BottleSection: d.Bottle != nil, ContentionSection: d.Contention != nil, TasksSection: d.Tasks != nil, SpeedupSection: len(stacks) > 0, CountersSection: d.Counters != nil} {
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
var usualReasons = map[Section]string{
	BottleSection:     "There is no bottle graph: it comes from an execution trace, or from what “bottleneck graph -o graph.json” has saved.",
	ContentionSection: "There is no contention profile: it comes from an execution trace, or from a profile that package contention has written.",
	TasksSection:      "There are no tasks: they come from regions (runtime/trace.StartRegion) in an execution trace, or from a profile that package granularity has written.",
	SpeedupSection:    "There is no speedup stack: it takes goroutines of the program that run, in a complete trace.",
	CountersSection:   "There are no scheduling quanta: they come from an execution trace, or from an archive of “bottleneck record”.",
}

// bottleForm is a graph and its windows.
type bottleForm struct {
	graphForm
	GroupBy  string      `json:"groupBy"`
	Offered  bool        `json:"offered"`
	Warnings []string    `json:"warnings"`
	Windows  []graphForm `json:"windows"`
	Reasons  []string    `json:"reasons"` // reasons of waits, referenced by boxes
}

type graphForm struct {
	Start int64 `json:"start"`
	Wall  int64 `json:"wall"`
	Idle  int64 `json:"idle"`
	Procs int   `json:"procs"`
	// Capacity and IdleLost are in ns·processors; Capacity is 0 if unknown.
	Capacity int64     `json:"capacity"`
	IdleLost int64     `json:"idleLost"`
	Boxes    []boxForm `json:"boxes"`
	// Collector is a sentence, or "".
	Collector string `json:"collector,omitempty"`
}

// boxForm is a box. Waiting has pairs of a reason's number and a time.
type boxForm struct {
	Group int `json:"g"`
	// Start functions that differ from the group's name.
	Starts      []string    `json:"starts,omitempty"`
	Goroutines  int         `json:"n"`
	Share       int64       `json:"share"`
	Running     int64       `json:"running"`
	Lost        int64       `json:"lost"`
	Parallelism float64     `json:"p"`
	Runnable    int64       `json:"runnable,omitempty"`
	Waiting     [][2]int64  `json:"waiting,omitempty"`
	InC         int64       `json:"c,omitempty"`
	Sites       []placeForm `json:"sites,omitempty"` // the largest of each reason, longest first
}

// placeForm is a place where goroutines waited, with the number of the reason.
type placeForm struct {
	Reason int    `json:"r"`
	Place  string `json:"place"`
	Time   int64  `json:"t"`
}

func newBottleForm(g *bottle.Graph, n *namer) *bottleForm {
	reasons := newTable()
	f := &bottleForm{GroupBy: g.GroupBy, Offered: g.Offered, Warnings: list(g.Warnings), Windows: []graphForm{}}
	f.graphForm = newGraphForm(g, n, reasons)
	for _, w := range g.Windows {
		f.Windows = append(f.Windows, newGraphForm(w, n, reasons))
	}
	f.Reasons = reasons.texts
	return f
}

func newGraphForm(g *bottle.Graph, n *namer, reasons *table) graphForm {
	f := graphForm{Start: int64(g.Start), Wall: int64(g.Wall), Idle: int64(g.Idle), Procs: g.Procs, Capacity: int64(g.Capacity), IdleLost: int64(g.IdleLost), Boxes: make([]boxForm, 0, len(g.Boxes))}
	for i := range g.Boxes {
		b := &g.Boxes[i]
		f.Boxes = append(f.Boxes, boxForm{
			Group: n.group(b.Group, string(b.Kind)), Starts: b.Starts, Goroutines: b.Goroutines,
			Share: int64(b.Share), Running: int64(b.Running), Lost: int64(b.Lost), Parallelism: finite(b.Parallelism), Runnable: int64(b.Runnable),
			Waiting: waitingForm(b, reasons), InC: int64(b.InC), Sites: placeForms(b, reasons),
		})
	}
	f.Collector = g.Collector.String()
	return f
}

func waitingForm(b *bottle.Box, reasons *table) (out [][2]int64) {
	for _, reason := range slices.Sorted(maps.Keys(b.Waiting)) {
		if d := b.Waiting[reason]; d != 0 {
			out = append(out, [2]int64{int64(reasons.number(reason)), int64(d)})
		}
	}
	return out
}

func placeForms(b *bottle.Box, reasons *table) (out []placeForm) {
	for _, reason := range slices.Sorted(maps.Keys(b.Sites)) {
		if s := b.TopSite(reason); s != nil {
			out = append(out, placeForm{reasons.number(reason), s.String(), int64(s.Time)})
		}
	}
	slices.SortStableFunc(out, func(a, b placeForm) int { return cmp.Compare(b.Time, a.Time) })
	return out
}

func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// goroutineForm is one goroutine, or several that are folded into one.
type goroutineForm struct {
	Group    int              `json:"g"`
	ID       int64            `json:"id"` // 0 for several
	Number   int              `json:"n"`
	Name     string           `json:"name,omitempty"` // of several
	Share    int64            `json:"share"`
	Running  int64            `json:"running"`
	P        float64          `json:"p"`
	Runnable int64            `json:"runnable"`
	Waiting  map[string]int64 `json:"waiting"`
}

// goroutineForms returns the boxes of the program's goroutines. It derives the group from their
// names, "main.work #12", which is correct if the graph is by function.
func goroutineForms(d *Data, n *namer) []goroutineForm {
	out := []goroutineForm{}
	if d.Goroutines == nil || d.Bottle == nil || d.Bottle.GroupBy != "" && d.Bottle.GroupBy != "function" {
		return out
	}
	for i := range d.Goroutines.Boxes {
		b := &d.Goroutines.Boxes[i]
		name, id := splitNumber(b.Group)
		f := goroutineForm{
			Group: n.group(name, string(b.Kind)), ID: id, Number: b.Goroutines, Share: int64(b.Share), Running: int64(b.Running),
			P: finite(b.Parallelism), Runnable: int64(b.Runnable), Waiting: map[string]int64{},
		}
		if id == 0 {
			f.Name = format.Clean(b.Group)
		}
		for reason, t := range b.Waiting {
			f.Waiting[reason] = int64(t)
		}
		out = append(out, f)
	}
	return out
}

// splitNumber splits the name of a goroutine's box.
func splitNumber(s string) (name string, id int64) {
	if i := strings.LastIndex(s, " #"); i >= 0 {
		if id, err := strconv.ParseInt(s[i+2:], 10, 64); err == nil {
			return s[:i], id
		}
	}
	return s, 0
}

// stackObject is a speedup stack, with its components in stacking order. The components of its
// windows are keyed by their index in parts.
func stackObject(s *speedup.Stack) object {
	components, parts := []object{}, []object{}
	for _, c := range speedup.Delimiters() {
		part := object{"name": c.String(), "words": c.Words(), "family": c.Family().String(), "value": finite(s.Components[c])}
		if part["value"] != 0.0 {
			components = append(components, part)
		}
		parts = append(parts, part)
	}
	return object{
		"n": s.N, "label": s.Label, "speedup": finite(s.Speedup), "estimate": s.Estimate, "remainder": finite(s.Remainder), "components": components,
		"sentence": s.Sentence(), "next": s.Next, "warnings": list(s.Warnings), "windows": stackWindows(s), "parts": parts,
	}
}

// stackWindows returns the stacks of windows. The page computes a stack of several windows from
// them, because all parts are parts of the time.
func stackWindows(s *speedup.Stack) []object {
	out := []object{}
	if s.Multi == nil {
		return out
	}
	for i, w := range s.Windows() {
		a := s.Multi.Windows[i]
		components := map[int]float64{}
		for j, c := range speedup.Delimiters() {
			if v := finite(w.Components[c]); v != 0 {
				components[j] = v
			}
		}
		out = append(out, object{"from": a.Start, "to": a.Start + a.Wall, "speedup": finite(w.Speedup), "remainder": finite(w.Remainder), "components": components})
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

// edges adds the start and end times of windows, in order.
func edges[Part any](to object, windows []Window[Part]) object {
	var from, end []time.Duration
	for _, w := range windows {
		from, end = append(from, w.From), append(end, w.To)
	}
	to["from"], to["to"] = from, end
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

// named returns the number of the group with the name, of any kind; −1 for none.
func (n *namer) named(name string) int {
	if name == "" {
		return -1
	}
	if i, ok := n.byName[name]; ok {
		return i
	}
	return n.group(name, "application")
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

// table numbers strings in the order of their first use.
type table struct {
	texts []string
	index map[string]int
}

func newTable() *table { return &table{texts: []string{}, index: map[string]int{}} }

func (t *table) number(s string) int {
	i, ok := t.index[s]
	if !ok {
		i = len(t.texts)
		t.index[s] = i
		t.texts = append(t.texts, s)
	}
	return i
}
