package text

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/chart"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/result"
)

// TopSorts lists the orders of groups. The largest is first, except that the smallest parallelism
// is, and that names are alphabetical.
var TopSorts = []string{"lost", "share", "parallelism", "running", "runnable", "blocked", "name"}

// topRow is a group in a live view.
type topRow struct {
	name          string // after the mark of the neck
	box           *bottle.Box
	graph, before *bottle.Graph
	was           time.Duration // share in the graph before
	blockedOn     string
}

// topColumns are the columns of a live view, with the names of TopSorts.
var topColumns = []result.Column[topRow]{
	{Name: "name", Title: "  group", Value: result.Texts(func(r *topRow) string { return r.name })},
	{Name: "share", Title: "share", Unit: result.Ratio, Value: result.Floats(func(r *topRow) float64 { return partOf(r.box.Share, r.graph.Wall) })},
	{Name: "lost", Title: "lost", Unit: result.Ratio, Value: result.Floats(func(r *topRow) float64 { return partOf(r.box.Lost, r.graph.Capacity) })},
	{Name: "trend", Title: "trend", Unit: result.Ratio, Value: result.Floats((*topRow).trend)},
	{Name: "parallelism", Title: "parallel", Unit: result.Number, Value: result.Floats(func(r *topRow) float64 {
		if r.box.Running <= 0 {
			return math.NaN() // it never ran
		}
		return width(r.box)
	})},
	{Name: "running", Title: "running", Unit: result.Number, Value: result.Floats(func(r *topRow) float64 { return partOf(r.box.Running, r.graph.Wall) })},
	{Name: "runnable", Title: "runnable", Unit: result.Number, Value: result.Floats(func(r *topRow) float64 { return partOf(r.box.Runnable, r.graph.Wall) })},
	{Name: "blocked", Title: "blocked", Unit: result.Number, Value: result.Floats(func(r *topRow) float64 { return partOf(r.box.Blocked(), r.graph.Wall) })},
	{Name: "reason", Title: "blocked on", Note: true, Value: result.Texts(func(r *topRow) string { return r.blockedOn })},
}

// partOf returns NaN if the whole is unknown.
func partOf(d, whole time.Duration) float64 {
	if whole <= 0 {
		return math.NaN()
	}
	return float64(d) / float64(whole)
}

// leastTrend is the smallest change that is shown.
const leastTrend = 0.005

// trend returns the change of the share, NaN if it is unknown or small.
func (r *topRow) trend() float64 {
	if r.before == nil {
		return math.NaN()
	}
	if change := partOf(r.box.Share, r.graph.Wall) - partOf(r.was, r.before.Wall); math.Abs(change) >= leastTrend {
		return change
	}
	return math.NaN()
}

// WriteTop writes one frame of a live view: some lines about the graph, and a table of its groups.
// The output depends only on the arguments. No line is wider than Width, and there are at most
// Height lines unless Height is 0. The error is that of w.
//
// Shares are parts of the wall time, and losses parts of the capacity. Running, runnable and
// blocked are mean numbers of goroutines. Trends are changes of a share since the previous graph.
//
// A frame of 300 groups takes 0.4 ms.
func WriteTop(w io.Writer, v *chart.Screen, opt Options) error {
	if v == nil {
		return errors.New("text: no view")
	}
	opt, st := opt.withDefaults()
	t := &topFrame{v: v, top: opt.Top, width: opt.Width, st: st}
	if v.Graph != nil {
		t.m = &model{graph: v.Graph, necks: chart.Neck(v.Graph), names: map[chart.Key]string{}}
		t.m.addNames()
	}
	lines := t.head()
	if v.Graph != nil {
		lines = append(lines, "")
		lines = append(lines, t.groups(len(lines))...)
	}
	if v.Height > 0 {
		lines = lines[:min(len(lines), max(0, v.Height-1))]
		for len(lines) < v.Height-1 {
			lines = append(lines, "")
		}
		lines = append(lines, t.keys())
	}
	return emit(w, strings.Join(lines, "\n")+"\n")
}

// topFrame is a frame under construction.
type topFrame struct {
	v          *chart.Screen
	top, width int
	st         style
	m          *model // model of all groups; nil without a graph
	all        int    // number of groups
	from, to   int    // those shown
}

// head returns the lines above the groups.
func (t *topFrame) head() []string {
	lines := []string{t.title()}
	g := t.v.Graph
	if g != nil {
		lines = append(lines, t.line(t.summary(), ""), t.line([]string{t.waiting()}, ""), t.line([]string{t.finding()}, bold))
	}
	switch {
	case t.v.Note != "":
		lines = append(lines, t.line([]string{t.v.Note}, dim))
	case g != nil && len(g.Warnings) > 0:
		lines = append(lines, t.line([]string{"Warning: " + g.Warnings[0]}, dim))
	}
	if t.v.Problem != "" {
		const inverse = "7"
		lines = append(lines, t.line([]string{t.v.Problem}, inverse))
	}
	return lines
}

// line puts parts on one line, separated by three blanks, and omits the last ones that do not fit.
func (t *topFrame) line(parts []string, attribute string) string {
	line := ""
	for i, p := range parts {
		p = clean(p)
		if i == 0 {
			line = fit(p, t.width)
		} else if columns(line)+3+columns(p) <= t.width {
			line += "   " + p
		}
	}
	return t.st.paint(attribute, line)
}

// title returns the source, and the time of the graph.
func (t *topFrame) title() string {
	var when []string
	if !t.v.Taken.IsZero() {
		when = append(when, t.v.Taken.Format("15:04:05"))
	}
	if t.v.Interval > 0 {
		when = append(when, "every "+format.Duration(t.v.Interval))
	}
	if t.v.Paused {
		when = append(when, "PAUSED")
	}
	end := strings.Join(when, "  ")
	begin := fit("bottleneck top: "+clean(t.v.Source), t.width-columns(end)-2)
	if end == "" {
		return t.st.paint(bold, begin)
	}
	return t.st.paint(bold, begin) + spaces(t.width-columns(begin)-columns(end)) + end
}

// summary returns the totals of the graph.
func (t *topFrame) summary() []string {
	g := t.v.Graph
	parts := []string{format.Duration(g.Wall) + " seen", "mean parallelism " + parallelism(g.MeanParallelism())}
	if g.Offered {
		parts[1] = "mean offered parallelism " + parallelism(g.MeanParallelism())
	}
	if g.Procs > 0 {
		parts = append(parts, "GOMAXPROCS "+strconv.Itoa(g.Procs))
	}
	parts = append(parts, "idle "+t.m.percent(g.Idle))
	if g.Instances > 1 {
		parts = append(parts, format.Plural(g.Instances, "instance", "instances"))
	}
	if n := len(g.Warnings); n > 0 {
		parts = append(parts, format.Plural(n, "warning", "warnings"))
	}
	return parts
}

// finding returns the most costly finding, or the sentence above the graph.
func (t *topFrame) finding() string {
	g := t.v.Graph
	if s := g.Sentences(); len(s) > 0 {
		return s[0]
	}
	if g.Capacity == 0 {
		return "lost capacity: not known, as GOMAXPROCS is not"
	}
	return "* lost: " + t.m.lost(max(0, g.Lost())) + " of the capacity"
}

// waiting returns how many goroutines waited for locks.
func (t *topFrame) waiting() string {
	var locks time.Duration
	for i := range t.v.Graph.Boxes {
		for _, reason := range []string{"mutex", "rwmutex-writer", "rwmutex-reader", "once"} {
			locks += t.v.Graph.Boxes[i].Waiting[reason]
		}
	}
	return "waiting for locks: " + parallelism(partOf(locks, t.v.Graph.Wall)) + " goroutines"
}

// keys returns the last line of a screen.
func (t *topFrame) keys() string {
	line := "q quit  p pause  s sort  + - interval"
	if sort := t.v.Sort; sort != "" {
		line = strings.Replace(line, "s sort", "s sorted by "+sort, 1)
	}
	if t.all > t.to-t.from {
		line += fmt.Sprintf("  groups %d–%d of %d", min(t.all, t.from+1), t.to, t.all)
	}
	return t.st.paint(dim, fit(line, t.width))
}

// table returns all groups, sorted.
func (t *topFrame) table() *result.Table {
	was := map[chart.Key]time.Duration{}
	before := t.v.Before
	if before != nil {
		for i := range before.Boxes {
			b := &before.Boxes[i]
			was[chart.KeyOf(b)] += b.Share
		}
	}
	var rows []topRow
	for i := range t.v.Graph.Boxes {
		b := &t.v.Graph.Boxes[i]
		k := chart.KeyOf(b)
		mark := "  "
		if t.m.necks[k] {
			mark = "* "
		}
		rows = append(rows, topRow{mark + t.m.withKind(t.m.name(b), b.Kind), b, t.v.Graph, before, was[k], shortest(reasonsOf(b), minText)})
	}
	out := result.New(topColumns, rows, 0)
	for k := range out.Columns {
		out.Columns[k].Quotient = result.Single // there is no sum
		out.Columns[k].Signed = out.Columns[k].Name == "trend"
	}
	by := cmp.Or(t.v.Sort, TopSorts[0])
	at := slices.IndexFunc(out.Columns, func(h result.Head) bool { return h.Name == by })
	size := func(row []result.Value) float64 {
		switch {
		case at <= 0:
			return 0
		case !row[at].Known: // never having run does not make it narrow
			return math.Inf(-1)
		case by == "parallelism":
			return -row[at].Float
		}
		return row[at].Float
	}
	order.Stable(out.Rows, func(a, b []result.Value) int {
		return cmp.Or(cmp.Compare(size(b), size(a)), strings.Compare(a[0].Text[2:], b[0].Text[2:]))
	})
	return out
}

// groups returns the table of the groups that fit below the lines used.
func (t *topFrame) groups(used int) []string {
	table := t.table()
	t.all = len(table.Rows)
	room := cmp.Or(t.top, 15)
	if t.v.Height > 0 {
		room = max(0, t.v.Height-used-3) // the heading, the columns without room, the keys
	} else if room < 0 {
		room = t.all
	}
	t.from = max(0, min(t.v.Skip, t.all-room))
	t.to = min(t.all, t.from+room)
	table.Rows = table.Rows[t.from:t.to]
	var b strings.Builder
	rows := newRows(table, 0)
	rows[0].least = 28 // names are worth more than the last numbers
	shown, hidden := rows.fit(t.width)
	writeShown(&b, shown, hidden, t.width, t.st)
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if t.v.Problem != "" { // out of date
		for i := range table.Rows {
			lines[1+i] = t.st.paint(dim, lines[1+i])
		}
	}
	if t.v.Height <= 0 && t.to < t.all {
		lines = append(lines, t.st.paint(dim, "  and "+strconv.Itoa(t.all-t.to)+" more"))
	}
	return lines
}
