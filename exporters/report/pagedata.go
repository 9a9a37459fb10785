package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// pageData is the JSON data for the scripts. All times are in nanoseconds. Its numbers are those of
// JavaScript: exact up to 2^53, which is 104 days in nanoseconds.
type pageData struct {
	Title      string             `json:"title"`
	Source     string             `json:"source"`
	GoVersion  string             `json:"go"`
	Procs      int                `json:"procs"`
	Wall       int64              `json:"wall"`
	Served     bool               `json:"served"`
	Missing    map[Section]string `json:"missing"`
	Warnings   []string           `json:"warnings"`
	Groups     []groupForm        `json:"groups"`
	Verdict    *verdictForm       `json:"verdict,omitempty"`
	Bottle     *bottleForm        `json:"bottle"`
	Goroutines []goroutineForm    `json:"goroutines"`
	Contention *contentionForm    `json:"contention"`
	Tasks      *tasksForm         `json:"tasks"`
	Speedup    []stackForm        `json:"speedup"`
	Usage      [][]string         `json:"usage,omitempty"` // see speedup.UsageTable
	Counters   *countersForm      `json:"counters"`
}

// newPageData copies data into the form for the page; for a served one, without the table of
// quanta.
func newPageData(d *Data, served bool) (*pageData, error) {
	n := newNamer()
	out := &pageData{
		Title: cmp.Or(d.Title, d.Source, "bottleneck"), Source: d.Source, Served: served,
		Missing: map[Section]string{}, Warnings: append([]string{}, d.Warnings...), Goroutines: []goroutineForm{}, Speedup: []stackForm{},
	}
	functions := true
	if g := d.Bottle; g != nil {
		out.GoVersion, out.Procs, out.Wall = g.GoVersion, g.Procs, int64(g.Start+g.Wall)
		out.Bottle = newBottleForm(g, n)
		if out.Verdict = newVerdictForm(g.Verdict); out.Verdict == nil {
			out.Warnings = append(out.Warnings, g.Sentences()...)
		}
		functions = slices.Contains([]string{"", "function", "start", "creator", "goroutine"}, g.GroupBy)
	}
	out.Goroutines = goroutineForms(d, n)
	if r := d.Counters; r != nil {
		out.GoVersion, out.Procs = cmp.Or(out.GoVersion, r.GoVersion), cmp.Or(out.Procs, r.Procs)
		out.Wall = max(out.Wall, int64(r.Wall))
		var err error
		if out.Counters, err = newCountersForm(r, n); err != nil {
			return nil, err
		}
		if served {
			out.Counters.number(r)
		} else if err = out.Counters.pack(r); err != nil {
			return nil, err
		}
	}
	if p := d.Contention; p != nil {
		out.Contention = newContentionForm(p, d.ContentionWindows, n)
	}
	if d.Tasks != nil {
		out.Tasks = newTasksForm(d.Tasks)
		out.Tasks.addTaskWindows(d.TaskWindows)
	}
	out.Usage = speedup.UsageTable(d.Speedup...)
	for _, s := range d.Speedup {
		out.Speedup = append(out.Speedup, newStackForm(s))
	}
	out.Groups = n.shorten(functions)
	for _, s := range Sections {
		if !out.has(s) {
			out.Missing[s] = cmp.Or(d.Missing[s], usualReasons[s])
		}
	}
	return out, nil
}

// usualReasons explain why a section is missing, unless Data.Missing does.
var usualReasons = map[Section]string{
	BottleSection:     "There is no bottle graph: it comes from an execution trace, or from what “bottleneck graph -o graph.json” has saved.",
	ContentionSection: "There is no contention profile: it comes from an execution trace, or from a profile that package contention has written.",
	TasksSection:      "There are no tasks: they come from regions (runtime/trace.StartRegion) in an execution trace, or from a profile that package granularity has written.",
	SpeedupSection:    "There is no speedup stack: it takes goroutines of the program that run, in a complete trace.",
	CountersSection:   "There are no scheduling quanta: they come from an execution trace, or from an archive of “bottleneck record”.",
}

func (p *pageData) has(s Section) bool {
	switch s {
	case BottleSection:
		return p.Bottle != nil
	case ContentionSection:
		return p.Contention != nil
	case TasksSection:
		return p.Tasks != nil
	case SpeedupSection:
		return len(p.Speedup) > 0
	}
	return p.Counters != nil
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
	f := &bottleForm{GroupBy: g.GroupBy, Offered: g.Offered, Warnings: append([]string{}, g.Warnings...), Windows: []graphForm{}}
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

// stackForm is a speedup stack, with its components in stacking order.
type stackForm struct {
	N          int        `json:"n"`
	Label      string     `json:"label"`
	Speedup    float64    `json:"speedup"`
	Estimate   bool       `json:"estimate"`
	Remainder  float64    `json:"remainder"`
	Components []partForm `json:"components"`
	Sentence   string     `json:"sentence"`
	Next       string     `json:"next,omitempty"`
	Warnings   []string   `json:"warnings"`
	// Windows are stacks of intervals, whose components are numbered as in Parts.
	Windows []stackWindow `json:"windows"`
	Parts   []partForm    `json:"parts"`
}

type partForm struct {
	Name   string  `json:"name"`
	Words  string  `json:"words"`
	Family string  `json:"family"`
	Value  float64 `json:"value"`
}

func newStackForm(s *speedup.Stack) stackForm {
	f := stackForm{
		N: s.N, Label: s.Label, Speedup: finite(s.Speedup), Estimate: s.Estimate, Remainder: finite(s.Remainder),
		Components: []partForm{}, Sentence: s.Sentence(), Next: s.Next, Warnings: append([]string{}, s.Warnings...),
		Windows: newStackWindows(s), Parts: []partForm{},
	}
	for _, c := range speedup.Delimiters() {
		f.Parts = append(f.Parts, partForm{Name: c.String(), Words: c.Words(), Family: c.Family().String()})
		if v := finite(s.Components[c]); v != 0 {
			f.Components = append(f.Components, partForm{c.String(), c.Words(), c.Family().String(), v})
		}
	}
	return f
}

// verdictForm is the verdict in words, which the page shows unchanged.
type verdictForm struct {
	Head     string        `json:"head"`
	Parts    []partOfAll   `json:"parts"`
	Findings []findingForm `json:"findings"`
	Warnings []string      `json:"warnings"`
}

type partOfAll struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
	Text  string  `json:"text"` // of the share
}

type findingForm struct {
	Title  string   `json:"title"`
	Where  []string `json:"where"`
	Advice string   `json:"advice,omitempty"`
	Gain   string   `json:"gain,omitempty"`
}

func newVerdictForm(v *verdict.Verdict) *verdictForm {
	if v == nil {
		return nil
	}
	out := &verdictForm{Head: v.Head(), Parts: []partOfAll{}, Findings: []findingForm{}, Warnings: append([]string{}, v.Warnings...)}
	for _, p := range v.Parts {
		out.Parts = append(out.Parts, partOfAll{format.Clean(p.Name), p.Share, format.Percent(p.Time, v.Capacity)})
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		form := findingForm{Title: f.Title, Where: []string{}, Advice: f.Advice, Gain: f.Bound()}
		for _, p := range f.Where {
			form.Where = append(form.Where, p.String())
		}
		out.Findings = append(out.Findings, form)
	}
	return out
}
