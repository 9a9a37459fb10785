package picture

import (
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/chart"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// A legend is a table: a row for each part of a picture with its color, name and numbers.

const (
	tableSize  = 13.0
	noteSize   = 12.0
	noteLine   = 16.5
	swatchSide = 13.0
)

// row is a row of a table.
type row struct {
	title  string                            // the tooltip
	swatch func(x, baseline float64) []shape // nil for none
	name   string
	bold   bool
	cells  []cell
	fill   role
	rule   role    // color of a line above, 0 for none
	space  float64 // space above
}

type cell struct {
	s    string
	bold bool
}

// cellsOf returns cells that are not bold.
func cellsOf(texts ...string) (out []cell) {
	for _, s := range texts {
		out = append(out, cell{s: s})
	}
	return out
}

// table is a legend with the widths of its columns.
type table struct {
	header []cell // the first is that of the names
	rows   []row
	notes  []note
	// nameWidth is the room for names, widths those of the other columns. The last one is
	// left-aligned if it contains words.
	nameWidth float64
	widths    []float64
	words     bool
	gap       float64
	rowHeight float64
}

// note is a line of text under the table, with or without the swatch of a kind.
type note struct {
	kind *entry
	text string
}

// runningHeader returns the header of the running time, which in a graph of offered parallelism
// includes ready goroutines.
func runningHeader(g *bottle.Graph) string {
	if g.Offered {
		return "running or ready"
	}
	return "running"
}

// newTable returns the legend: the numbers of the whole graph, with the reasons of waits if wanted and
// known, or the shares in all runs.
func (m *model) newTable(reasons bool) *table {
	g := m.whole.graph
	t := &table{header: cellsOf("group", "share", "", "lost", "parallelism", runningHeader(g)), gap: 16, rowHeight: 23}
	if t.words = reasons && !m.runs && slices.ContainsFunc(m.entries, func(e *entry) bool { return len(waits(&e.box)) > 0 }); t.words {
		t.header = append(t.header, cell{s: "blocked on"})
	}
	if m.runs {
		t.header = m.runHeader()
	}
	add := func(r row, in func(oneGraph) time.Duration, numbers ...string) {
		if m.runs {
			numbers = m.inRuns(in)
		}
		r.cells = cellsOf(numbers...)
		t.rows = append(t.rows, r)
	}
	if g.Idle > 0 {
		add(row{title: "idle: no goroutine ran", swatch: idleSwatch, name: "idle", bold: m.whole.necks[chart.Key{}], fill: ink}, func(c oneGraph) time.Duration { return c.graph.Idle },
			format.Duration(g.Idle), format.Percent(g.Idle, g.Wall), format.Percent(g.IdleLost, g.Capacity), "", "")
	}
	var running time.Duration
	for _, e := range slices.Backward(m.entries) {
		b := &e.box
		running += b.Running
		numbers := []string{format.Duration(b.Share), format.Percent(b.Share, g.Wall), format.Percent(b.Lost, g.Capacity), format.Parallelism(b.Parallelism), format.Duration(b.Running)}
		if t.words {
			numbers = append(numbers, blockedBy(b))
		}
		add(row{title: tooltip(b, g, e.neck), swatch: e.swatchAt, name: e.label, bold: e.neck, fill: ink}, func(c oneGraph) time.Duration { return c.share(chart.KeyOf(b)) }, numbers...)
	}
	if len(t.rows) > 18 {
		t.rowHeight = 20
	}
	add(row{name: "all", fill: muted, rule: grid, space: 5}, func(c oneGraph) time.Duration { return c.graph.Wall },
		format.Duration(g.Wall), format.Percent(g.Wall, g.Wall), format.Percent(g.Lost(), g.Capacity), format.Parallelism(g.MeanParallelism()), format.Duration(running))
	t.notes = m.legendNotes()
	t.measure()
	t.nameWidth = min(t.nameWidth, 300)
	return t
}

// runHeader returns the heads of a column for each run and, of two runs, for the change.
func (m *model) runHeader() []cell {
	out := []cell{{s: "group"}}
	for _, c := range m.charts {
		out = append(out, cell{s: shorten(c.name, tableSize, true, 100)})
	}
	if len(m.charts) == 2 {
		out = append(out, cell{s: "change"})
	}
	return out
}

// inRuns returns a time in each run and, of two runs, the change.
func (m *model) inRuns(of func(oneGraph) time.Duration) (out []string) {
	for _, c := range m.charts {
		s := "–" // the group is not in the run
		if of(c) > 0 {
			s = format.Duration(of(c))
		}
		out = append(out, s)
	}
	if len(m.charts) == 2 {
		sign, change := "+", of(m.charts[1])-of(m.charts[0])
		if change < 0 {
			sign, change = minus, -change
		}
		out = append(out, sign+format.Duration(change))
	}
	return out
}

// share returns the share of a group, 0 if it is not in the chart.
func (c oneGraph) share(k chart.Key) time.Duration {
	for i := range c.graph.Boxes {
		if b := &c.graph.Boxes[i]; chart.KeyOf(b) == k {
			return b.Share
		}
	}
	return 0
}

// blockedBy returns the reason for which a group waited longest, and the time.
func blockedBy(b *bottle.Box) string {
	w := waits(b)
	if len(w) == 0 {
		return ""
	}
	return shorten(format.Clean(w[0].reason), tableSize, false, 150) + " " + format.Duration(w[0].time)
}

// kindNotes explains the hatches.
func (m *model) kindNotes() (out []note) {
	seen := map[timeline.Kind]*entry{}
	for _, e := range m.entries {
		if largest := seen[e.box.Kind]; largest == nil || e.box.Share > largest.box.Share {
			seen[e.box.Kind] = e
		}
	}
	for _, k := range kindNames {
		if e := seen[k.kind]; e != nil {
			out = append(out, note{e, k.name})
		}
	}
	return out
}

// legendNotes explains what the table does not: bold names, hatches, missing groups.
func (m *model) legendNotes() []note {
	out, bold := m.kindNotes(), "bold: lost at least 5%"
	if m.runs {
		bold += " in one of the runs"
	} else if m.whole.graph.Capacity > 0 {
		out = append(out, note{text: "lost: capacity (GOMAXPROCS × time) not used while the group ran"})
	}
	if len(m.whole.necks) > 0 {
		out = append(out, note{text: bold})
	}
	if m.never > 0 {
		out = append(out, note{text: format.Plural(m.never, "group", "groups") + " never ran"})
	}
	return out
}

// measure computes the widths of the columns.
func (t *table) measure() {
	t.widths = make([]float64, len(t.header)-1)
	for _, r := range append([]row{{name: t.header[0].s, cells: t.header[1:]}}, t.rows...) {
		t.nameWidth = max(t.nameWidth, room(r.name, tableSize, r.bold))
		for i, c := range r.cells {
			t.widths[i] = max(t.widths[i], room(c.s, tableSize, c.bold))
		}
	}
}

// width returns the width of the whole table.
func (t *table) width() float64 {
	w := swatchSide + 8 + t.nameWidth
	for _, c := range t.widths {
		w += t.gap + c
	}
	return w
}

// height returns the height of the table without notes.
func (t *table) height() float64 { return t.rowHeight*float64(len(t.rows)+1) + 6 }

// draw positions the table, with the header at a baseline, and returns its end. Its notes may be
// wider than the table, up to right.
func (t *table) draw(x, baseline, right float64) (out []shape, bottom float64) {
	out = t.cells(x, baseline, row{name: t.header[0].s, cells: t.header[1:], fill: muted})
	for _, r := range t.rows {
		if r.rule != 0 {
			out = append(out, lines{segments: []segment{{x, baseline + 8, x + t.width(), baseline + 8}}, stroke: themed(r.rule), width: 1})
		}
		baseline += t.rowHeight + r.space
		var shapes []shape
		if r.swatch != nil {
			shapes = r.swatch(x, baseline)
		}
		shapes = append(shapes, t.cells(x, baseline, r)...)
		if r.title != "" {
			shapes = []shape{&group{title: r.title, shapes: shapes}}
		}
		out = append(out, shapes...)
	}
	notes, bottom := t.drawNotes(x, baseline+12, right)
	return append(out, notes...), bottom
}

// swatchRect returns the rectangle of a swatch beside a line of text.
func swatchRect(x, baseline float64) rect {
	return rect{x: x, y: baseline - swatchSide + 2, w: swatchSide, h: swatchSide}
}

// idleSwatch returns a small box of width 0.
func idleSwatch(x, baseline float64) []shape {
	r := swatchRect(x, baseline)
	r.x += swatchSide / 2
	return idleShapes(r, 4)
}

func (e *entry) swatchAt(x, baseline float64) []shape { return e.swatch(swatchRect(x, baseline)) }

// swatch fills a small rectangle in the style of the group's boxes.
func (e *entry) swatch(r rect) []shape {
	r.fill = rgb(e.fill)
	out := []shape{r}
	if slope := kindHatch[e.box.Kind]; slope != 0 {
		out = append(out, hatch(r, slope, rgb(e.hatch)))
	}
	return out
}

// cells positions the texts of a row.
func (t *table) cells(x, baseline float64, r row) (out []shape) {
	x += swatchSide + 8
	add := func(s string, x float64, a anchor, bold bool, fill role) {
		if s != "" {
			out = append(out, text{x: x, y: baseline, s: s, size: tableSize, anchor: a, bold: bold, fill: themed(fill)})
		}
	}
	add(shorten(r.name, tableSize, r.bold, t.nameWidth), x, start, r.bold, r.fill)
	x += t.nameWidth
	for i, c := range r.cells {
		x += t.gap
		if t.words && i == len(t.widths)-1 {
			add(c.s, x, start, c.bold, muted)
			break
		}
		x += t.widths[i]
		add(c.s, x, end, c.bold, r.fill)
	}
	return out
}

// drawNotes positions the notes under the table, each on lines of its own.
func (t *table) drawNotes(x, y, right float64) (out []shape, bottom float64) {
	y += noteLine
	for _, n := range t.notes {
		at := x
		if n.kind != nil {
			out = append(out, n.kind.swatch(rect{x: x, y: y - 10, w: 11, h: 11})...)
			at += 17
		}
		for _, line := range wrap(n.text, noteSize, right-at, 3) {
			out = append(out, text{x: at, y: y, s: line, size: noteSize, fill: themed(muted)})
			y += noteLine
		}
	}
	return out, y - noteLine + 5
}
