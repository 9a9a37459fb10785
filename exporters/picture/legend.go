package picture

import (
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// The legend is a table: a row for each group in the order of the boxes, from the top.

const (
	tableSize  = 13.0
	noteSize   = 12.0
	noteLine   = 16.5
	swatchSide = 13.0
	columnGap  = 16.0
)

// row is a row of the table. A row without an entry is the idle time, or the sum.
type row struct {
	entry *entry
	name  string
	cells []string
	bold  bool
}

// table is the legend with the widths of its columns.
type table struct {
	header []string // the first is that of the names
	rows   []row
	sum    row
	notes  []note
	// nameWidth is the room for names, widths those of the other columns. The last
	// one, if it is of words, is aligned to the left.
	nameWidth float64
	widths    []float64
	words     bool
	rowHeight float64
}

// note is a line of text under the table, with a swatch of a kind or without.
type note struct {
	kind *entry
	text string
}

// runningHeader is what a running time is called: offered parallelism counts the ready ones.
func runningHeader(g *bottle.Graph) string {
	if g.Offered {
		return "running or ready"
	}
	return "running"
}

// detail is how many columns the legend has.
type detail int

const (
	fewCells  detail = iota
	mostCells        // the running time as well
	allCells         // and what the groups wait for
)

// newTable makes the legend.
func (m *model) newTable(d detail) *table {
	blocked := d == allCells
	g := m.whole
	t := &table{header: []string{"group", "share", "", "lost", "parallelism", runningHeader(g)}, rowHeight: 23}
	if blocked {
		blocked = false
		for _, e := range m.entries {
			blocked = blocked || len(waits(&e.box)) > 0
		}
	}
	if blocked {
		t.header = append(t.header, "blocked on")
		t.words = true
	}
	if g.Idle > 0 {
		t.rows = append(t.rows, row{name: "idle", bold: m.necks[key{}], cells: []string{format.Duration(g.Idle), format.Percent(g.Idle, g.Wall), format.Percent(g.IdleLost, g.Capacity), "", ""}})
	}
	var running time.Duration
	for i := len(m.entries) - 1; i >= 0; i-- {
		e := m.entries[i]
		b := &e.box
		running += b.Running
		r := row{entry: e, name: e.label, bold: e.neck, cells: []string{
			format.Duration(b.Share), format.Percent(b.Share, g.Wall), format.Percent(b.Lost, g.Capacity), format.Parallelism(b.Parallelism), format.Duration(b.Running),
		}}
		if blocked {
			r.cells = append(r.cells, blockedBy(b))
		}
		t.rows = append(t.rows, r)
	}
	t.sum = row{name: "all", cells: []string{format.Duration(g.Wall), format.Percent(g.Wall, g.Wall), format.Percent(g.Lost(), g.Capacity), format.Parallelism(g.MeanParallelism()), format.Duration(running)}}
	if len(t.rows) > 18 {
		t.rowHeight = 20
	}
	if d == fewCells {
		t.header = t.header[:len(t.header)-1]
		for i := range t.rows {
			t.rows[i].cells = t.rows[i].cells[:len(t.rows[i].cells)-1]
		}
		t.sum.cells = t.sum.cells[:len(t.sum.cells)-1]
	}
	t.notes = m.legendNotes()
	t.measure()
	return t
}

// blockedBy names the reason for which a group waited longest, and how long.
func blockedBy(b *bottle.Box) string {
	w := waits(b)
	if len(w) == 0 {
		return ""
	}
	return shorten(format.Clean(w[0].reason), tableSize, false, 150) + " " + format.Duration(w[0].time)
}

// legendNotes explain what the table does not: bold names, hatches, groups that are missing.
func (m *model) legendNotes() (out []note) {
	seen := map[bottle.Kind]*entry{}
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
	if m.whole.Capacity > 0 {
		out = append(out, note{text: "lost: capacity (GOMAXPROCS × time) not used meanwhile"})
	}
	if len(m.necks) > 0 {
		out = append(out, note{text: "bold: lost at least 5%"})
	}
	if m.never > 0 {
		out = append(out, note{text: format.Plural(m.never, "group", "groups") + " never ran"})
	}
	return out
}

// measure finds the widths of the columns.
func (t *table) measure() {
	t.widths = make([]float64, len(t.header)-1)
	t.nameWidth = room(t.header[0], tableSize, false)
	see := func(r row, bold bool) {
		t.nameWidth = max(t.nameWidth, room(r.name, tableSize, bold))
		for i, c := range r.cells {
			t.widths[i] = max(t.widths[i], room(c, tableSize, false))
		}
	}
	for i, h := range t.header[1:] {
		t.widths[i] = room(h, tableSize, false)
	}
	for _, r := range t.rows {
		see(r, r.bold)
	}
	see(t.sum, false)
	t.nameWidth = min(t.nameWidth, 300)
}

// width is that of the whole table.
func (t *table) width() float64 {
	w := swatchSide + 8 + t.nameWidth
	for _, c := range t.widths {
		w += columnGap + c
	}
	return w
}

// squeeze makes the table narrower by shortening names, down to a limit.
func (t *table) squeeze(width, least float64) {
	t.nameWidth = max(min(t.nameWidth, least), min(t.nameWidth, t.nameWidth-(t.width()-width)))
}

// draw places the table and returns where it ends.
func (t *table) draw(m *model, x, y float64) (out []shape, bottom float64) {
	baseline := y + tableSize
	out = append(out, t.cells(x, baseline, row{name: t.header[0], cells: t.header[1:]}, muted, muted)...)
	for _, r := range t.rows {
		baseline += t.rowHeight
		out = append(out, t.row(m, x, baseline, r))
	}
	rule := baseline + 8
	baseline += t.rowHeight + 5
	out = append(out, lines{segments: []segment{{x, rule, x + t.width(), rule}}, stroke: themed(grid), width: 1})
	out = append(out, t.cells(x, baseline, t.sum, muted, muted)...)
	notes, bottom := t.drawNotes(x, baseline+12)
	return append(out, notes...), bottom
}

// row draws a row, with a tooltip.
func (t *table) row(m *model, x, baseline float64, r row) *group {
	out := &group{}
	sw := rect{x: x, y: baseline - swatchSide + 2, w: swatchSide, h: swatchSide}
	if r.entry == nil {
		mid := x + swatchSide/2
		out.shapes = append(out.shapes, lines{segments: []segment{{mid, sw.y + sw.h, mid, sw.y}}, stroke: themed(muted), width: 1.6, dash: 3},
			lines{segments: []segment{{mid - 4, sw.y, mid + 4, sw.y}}, stroke: themed(muted), width: 1.6})
		out.title = "idle: no goroutine ran"
	} else {
		out.title = tooltip(&r.entry.box, m.whole, r.entry.neck)
		out.shapes = append(out.shapes, r.entry.swatch(sw)...)
	}
	out.shapes = append(out.shapes, t.cells(x, baseline, r, ink, ink)...)
	return out
}

// swatch fills a small rectangle like the boxes of a group.
func (e *entry) swatch(r rect) []shape {
	r.fill = rgb(e.fill)
	out := []shape{r}
	if slope := kindHatch[e.box.Kind]; slope != 0 {
		out = append(out, hatch(r, slope, rgb(e.hatch)))
	}
	return out
}

// cells draws the texts of a row.
func (t *table) cells(x, baseline float64, r row, name, cell role) (out []shape) {
	bold := r.bold
	x += swatchSide + 8
	add := func(s string, x float64, a anchor, bold bool, role role) {
		if s != "" {
			out = append(out, text{x: x, y: baseline, s: s, size: tableSize, anchor: a, bold: bold, fill: themed(role)})
		}
	}
	add(shorten(r.name, tableSize, bold, t.nameWidth), x, start, bold, name)
	x += t.nameWidth
	for i, c := range r.cells {
		x += columnGap
		if t.words && i == len(t.widths)-1 {
			add(c, x, start, false, muted)
			break
		}
		x += t.widths[i]
		add(c, x, end, false, cell)
	}
	return out
}

// drawNotes places the notes under the table: kinds beside each other, other notes on lines of
// their own.
func (t *table) drawNotes(x, y float64) (out []shape, bottom float64) {
	right := x + t.width()
	at := x
	baseline := y + noteLine
	for _, n := range t.notes {
		if n.kind != nil {
			need := swatchSide + 6 + room(n.text, noteSize, false)
			if at > x && at+need > right {
				at, baseline = x, baseline+noteLine+2
			}
			out = append(out, n.kind.swatch(rect{x: at, y: baseline - 10, w: 11, h: 11})...)
			out = append(out, text{x: at + 17, y: baseline, s: n.text, size: noteSize, fill: themed(muted)})
			at += need + 14
			continue
		}
		if at > x {
			at, baseline = x, baseline+noteLine+2
		}
		for _, line := range wrap(n.text, noteSize, t.width(), 3) {
			out = append(out, text{x: x, y: baseline, s: line, size: noteSize, fill: themed(muted)})
			baseline += noteLine
		}
	}
	if at > x {
		baseline += noteLine
	}
	return out, baseline - noteLine + 5
}
