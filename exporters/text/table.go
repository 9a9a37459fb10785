package text

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/chart"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// table lists the idle time, the boxes from the top of the bottle, and the sums. Without room for
// all columns, it first omits those that others imply: running is share × parallelism.
func table(m *model, width int) string {
	var b strings.Builder
	if len(m.rows) > 0 {
		t := newTable(m)
		t.fit(width)
		t.write(&b)
		b.WriteString(m.style.paintLines(dim, wrap(t.legend(), width, 0)) + "\n")
	}
	if len(m.never) > 0 {
		b.WriteString(m.style.paintLines(dim, wrap(neverRan(m), width, 0)) + "\n")
	}
	return b.String()
}

// boxColumn is a column of numbers of the boxes.
type boxColumn struct {
	heading string
	spare   int  // columns are omitted in this order if space is short; 0 means never
	idle    bool // the idle time has it
	cell    func(m *model, b *bottle.Box) string
}

// boxColumns are the columns of numbers. A column of [bottle.Columns] that is not among them, and
// is none of sameColumns, follows them if there is room.
var boxColumns = []boxColumn{
	{"goroutines", 6, false, func(_ *model, b *bottle.Box) string { return format.Count(b.Goroutines) }},
	{"share", 0, true, func(m *model, b *bottle.Box) string { return format.Duration(b.Share) }},
	{"%", 0, true, (*model).percentOf},
	{"lost", 0, true, func(m *model, b *bottle.Box) string { return m.lost(b.Lost) }},
	{"all", 0, false, func(m *model, b *bottle.Box) string { return parallelism(b.Parallelism) }},
	{"self", 2, false, func(m *model, b *bottle.Box) string { return parallelism(b.SelfParallelism) }},
	{"running", 1, false, func(m *model, b *bottle.Box) string { return format.Duration(b.Running) }},
	{"runnable", 3, false, func(m *model, b *bottle.Box) string { return format.Duration(b.Runnable) }},
	{"blocked", 5, false, func(m *model, b *bottle.Box) string { return format.Duration(b.Blocked()) }},
}

// spareReasons is the place of the reasons of waits among the columns to omit.
const spareReasons = 4

// sameColumns are the titles of bottle.Columns that the table shows in other ways.
var sameColumns = []string{"parallelism", "started as"}

// moreColumns returns the columns that only bottle.Columns has. They are the first ones to omit.
func moreColumns() (out []boxColumn) {
	for _, c := range bottle.Columns() {
		known := slices.ContainsFunc(boxColumns, func(b boxColumn) bool { return b.heading == c.Title })
		if known || c.Unit.IsText() || slices.Contains(sameColumns, c.Title) {
			continue
		}
		h := result.Heads([]result.Column[bottle.Box]{c})[0]
		out = append(out, boxColumn{c.Title, -1, false, func(m *model, b *bottle.Box) string {
			var v result.Value
			v, v.Known = c.Value(b)
			return formatCell(&h, &v)
		}})
	}
	return out
}

// tableText is the table before and after its layout.
type tableText struct {
	m       *model
	width   int
	numbers []*columnText
	name    *columnText
	reasons *columnText
	starts  [][]string // by line, like the cells
}

func newTable(m *model) *tableText {
	t := &tableText{m: m, starts: [][]string{nil}}
	t.name, t.reasons = &columnText{left: true}, &columnText{left: true}
	t.name.add(spaces(t.markWidth()) + "group")
	t.reasons.add("blocked on")
	marks, attributes := []string{""}, []string{""}
	var ways [][]string // ways to write the reasons
	columns := append(slices.Clip(boxColumns), moreColumns()...)
	for _, c := range columns {
		number := &columnText{name: c.heading, spare: c.spare, cells: []string{c.heading}, width: columnsOfHeading(c.heading)}
		t.numbers = append(t.numbers, number)
	}
	line := func(b *bottle.Box, name, mark, attribute string, shows func(c *boxColumn) bool) {
		for k := range columns {
			cell := ""
			if shows(&columns[k]) {
				cell = columns[k].cell(m, b)
			}
			t.numbers[k].add(cell)
		}
		way := reasonsOf(b)
		ways, marks, attributes, t.starts = append(ways, way), append(marks, mark), append(attributes, attribute), append(t.starts, b.Starts)
		t.name.add(name)
		t.reasons.add(strings.Join(way[:min(1, len(way))], ""))
	}
	g := m.graph
	if g.Idle > 0 {
		idle := row{neck: m.necks[chart.Key{}]}
		line(&bottle.Box{Share: g.Idle, Lost: g.IdleLost}, "idle", t.mark("", idle.neck), idle.attribute(), func(c *boxColumn) bool { return c.idle })
	}
	sum := bottle.Box{Share: g.Wall, Lost: g.Lost(), Parallelism: g.MeanParallelism(), Waiting: map[string]time.Duration{}}
	for i := len(m.rows) - 1; i >= 0; i-- {
		r := &m.rows[i]
		line(&r.box, m.withKind(r.name, r.box.Kind), t.mark(r.color, r.neck), r.attribute(), func(*boxColumn) bool { return true })
		sum.Goroutines += r.box.Goroutines
		sum.Running += r.box.Running
		sum.Runnable += r.box.Runnable
		for reason, d := range r.box.Waiting {
			sum.Waiting[reason] += d
		}
	}
	line(&sum, "all", t.mark("", false), "", func(c *boxColumn) bool { return c.heading != "self" && c.spare >= 0 })
	t.name.before = func(i int) string { return marks[i] }
	t.name.paint = func(i int, cell string) string { return m.style.paint(attributes[i], cell) }
	t.name.short = func(i, width int) string {
		name := t.name.cells[i]
		if world, found := strings.CutPrefix(name, "stop-the-world ("); found {
			name = "STW (" + world // they differ in the reason, which must not be cut
		}
		return fit(name, width)
	}
	t.reasons.short = func(i, width int) string { return shortest(ways[i-1], width) }
	return t
}

// columnsOfHeading returns the width of a heading. "goroutines" may be longer than its numbers: it
// extends into the blanks after "group".
func columnsOfHeading(heading string) int {
	if heading == "goroutines" {
		return 3
	}
	return columns(heading)
}

// withKind appends the kind to the name of a group that is not the program's own.
func (m *model) withKind(name string, kind timeline.Kind) string {
	suffix := "(" + kind.String() + ")"
	if kind == bottle.Application || name == kind.String() || strings.HasSuffix(name, suffix) || kind == bottle.GC && strings.Contains(name, "GC") {
		return name
	}
	return name + " " + suffix
}

// percentOf returns the share of a box; with its confidence interval if it is an estimate.
func (m *model) percentOf(b *bottle.Box) string {
	s := m.percent(b.Share)
	if b.ShareError > 0 {
		s += " " + "±" + " " + m.percent(b.ShareError)
	}
	return s
}

// mark returns the mark before a name: the color of its box, and a star for the neck.
func (t *tableText) mark(color string, neck bool) string {
	swatch, star := "", "  "
	if t.m.style.color {
		swatch = "  "
		if color != "" {
			swatch = t.m.style.paint(color, "■") + " "
		}
	}
	if neck {
		star = "* "
	}
	return swatch + star
}

func (t *tableText) markWidth() int {
	if t.m.style.color {
		return 4
	}
	return 2
}

// reasonsOf returns ways to name what blocked a box most: its two largest reasons with their parts
// of the blocked time, only one of them, or only its name.
func reasonsOf(b *bottle.Box) []string {
	blocked := b.Blocked()
	if blocked <= 0 {
		return nil
	}
	names := slices.SortedFunc(maps.Keys(b.Waiting), func(x, y string) int {
		return cmp.Or(cmp.Compare(b.Waiting[y], b.Waiting[x]), strings.Compare(x, y))
	})
	text := func(name string) string {
		return clean(name) + " " + format.Percent(b.Waiting[name], blocked)
	}
	out := []string{text(names[0]), clean(names[0])}
	if len(names) > 1 && b.Waiting[names[1]] > 0 {
		out = slices.Insert(out, 0, out[0]+", "+text(names[1]))
	}
	return out
}

// shortest returns the first of several ways to write something that fits.
func shortest(ways []string, width int) string {
	for i, way := range ways {
		if columns(way) <= width || i == len(ways)-1 {
			return fit(way, width)
		}
	}
	return ""
}

// The minimum useful widths of text columns.
const (
	minName   = 18
	minReason = 16
)

// fit decides how wide the columns are and which ones to omit.
func (t *tableText) fit(width int) {
	t.width = width
	nameWish, reasonWish := minName, 0
	for i := range t.name.cells[1:] {
		nameWish = max(nameWish, columns(t.name.cells[i+1]))
		reasonWish = max(reasonWish, columns(t.reasons.cells[i+1]))
	}
	reasonWish = min(reasonWish, 44)
	t.reasons.fits = reasonWish > 0
	for _, c := range t.numbers {
		c.fits = c.spare >= 0 || slices.ContainsFunc(c.cells[1:], func(s string) bool { return s != "" })
	}
	for next := -1; ; next++ { // the number of columns that are omitted, without further ones
		room := width - t.markWidth()
		for _, c := range t.numbers {
			if c.fits {
				room -= 2 + c.width
			}
		}
		t.name.width = min(nameWish, room)
		if t.reasons.fits {
			room -= 2
			t.reasons.width = min(reasonWish, max(minReason, room-nameWish))
			t.name.width = min(nameWish, room-t.reasons.width)
		}
		if t.name.width >= min(nameWish, minName+4) || t.name.width >= minName && next > 2 || next == 6 {
			return
		}
		for _, c := range t.numbers {
			c.fits = c.fits && !(next < 0 && c.spare < 0 || next >= 0 && c.spare == next+1)
		}
		t.reasons.fits = t.reasons.fits && next+1 != spareReasons
		for _, c := range t.numbers {
			if c.name == "all" && !t.shows("self") { // one column, below the rest of its title
				c.cells[0], c.width = "lelism", max(c.width, len("lelism"))
			}
		}
	}
}

// shows reports whether a column of numbers is shown.
func (t *tableText) shows(heading string) bool {
	return slices.ContainsFunc(t.numbers, func(c *columnText) bool { return c.name == heading && c.fits })
}

func (t *tableText) write(b *strings.Builder) {
	shown, above, end := []*columnText{t.name}, "", t.markWidth()+t.name.width
	for _, c := range t.numbers {
		if !c.fits {
			continue
		}
		shown = append(shown, c)
		end += 2 + c.width
		switch title := ""; {
		case c.cells[0] == "lelism":
			title = "paral-"
			above = spaces(end-len(title)) + title
		case c.name == "self":
			title = "parallelism"
			above = spaces(end-len(title)) + title
		}
	}
	if t.reasons.fits {
		shown = append(shown, t.reasons)
	}
	b.WriteString(t.m.style.paint(dim, above) + "\n")
	for i, line := range linesOf(shown) {
		if i == 0 {
			line = t.m.style.paint(dim, line)
		}
		b.WriteString(line + "\n")
		if starts := t.starts[i]; len(starts) > 0 {
			started := "started as " + clean(format.Func(starts[0]))
			if n := len(starts) - 1; n > 0 {
				started += fmt.Sprintf(" and %d more", n)
			}
			b.WriteString(spaces(t.markWidth()+2) + t.m.style.paint(dim, fit(started, t.width-t.markWidth()-2)) + "\n")
		}
	}
}

// legend explains the less obvious columns.
func (t *tableText) legend() string {
	var parts []string
	if len(t.m.necks) > 0 {
		parts = append(parts, "* lost at least 5%.")
	}
	if t.shows("lost") {
		parts = append(parts, "lost: capacity (GOMAXPROCS × time) not used while the group ran.")
	}
	running := "running"
	if t.m.graph.Offered {
		running = "running or runnable"
	}
	if !t.shows("self") {
		parts = append(parts, "parallelism: goroutines "+running+" while the group ran (mean).")
	} else {
		parts = append(parts, "all: goroutines "+running+" while the group ran (mean); self: its own.")
	}
	return strings.Join(parts, " ")
}

// neverRan returns the number of groups that are not shown because they never ran.
func neverRan(m *model) string {
	n := len(m.never)
	if n == 1 {
		return "Not shown: 1 group that never ran, " + fit(m.never[0], maxName) + "."
	}
	return fmt.Sprintf("Not shown: %s groups that never ran, such as %s.", format.Count(n), fit(m.never[0], maxName))
}

// sites lists where groups waited most, for each significant reason, and where they were in C.
func sites(m *model, width int) string {
	table := newColumns("group", "reason", "time")
	table[1].left = true
	place := newColumns("the place where most of it was spent")[0]
	for i := len(m.rows) - 1; i >= 0; i-- {
		r := &m.rows[i]
		if r.box.Kind != bottle.Application {
			continue
		}
		name := r.name
		for _, wait := range siteReasons(&r.box) {
			if site := r.box.TopSite(wait); site != nil {
				table[0].add(name)
				table[1].add(clean(wait))
				table[2].add(format.Duration(site.Time))
				place.add(clean(site.String()))
				name = ""
			}
		}
	}
	if len(place.cells) == 1 {
		return ""
	}
	table[0].width = min(table[0].width, width/3)
	table[1].width = min(table[1].width, 16)
	used := 8 + table[0].width + table[1].width + table[2].width
	below := slices.ContainsFunc(place.cells[1:], func(s string) bool { return columns(s) > max(16, width-used) })
	if !below { // otherwise each place has a line of its own
		place.width = width - used
		table = append(table, place)
	}
	var b strings.Builder
	for i, line := range linesOf(table) {
		line = "  " + line
		if below {
			line += "\n" + spaces(4) + fit(place.cells[i], width-4)
		}
		if i == 0 {
			line = m.style.paintLines(dim, line)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// siteReasons returns the reasons for at least a twentieth of the time in which a box was blocked
// or in C, longest first, and its time in C.
func siteReasons(b *bottle.Box) []string {
	of := maps.Clone(b.Waiting)
	if of == nil {
		of = map[string]time.Duration{}
	}
	delete(of, bottle.InCode)
	if b.InC > 0 {
		of[bottle.InCode] = b.InC
	}
	all := b.Blocked() - b.Waiting[bottle.InCode] + b.InC
	maps.DeleteFunc(of, func(_ string, d time.Duration) bool { return d < all/20 || d <= 0 })
	return slices.SortedFunc(maps.Keys(of), func(x, y string) int {
		return cmp.Or(cmp.Compare(of[y], of[x]), strings.Compare(x, y))
	})
}
