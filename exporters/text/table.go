package text

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// table lists the idle time, the boxes from the top of the bottle, and the sums. If the width does
// not suffice for all columns, it first omits those that others imply (running is share ×
// parallelism).
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

// The columns of numbers.
const (
	goroutines = iota
	share
	percent
	lost
	parallelism
	self
	running
	runnable
	blocked
	numbers // number of columns
)

var headings = [numbers]string{"goroutines", "share", "%", "lost", "all", "self", "running", "runnable", "blocked"}

// spare lists the columns to omit if space is short, in order; reasons stands for the last column.
var spare = []int{running, self, runnable, reasons, blocked, goroutines}

const reasons = numbers

// line is a line of the table before the column widths are known.
type line struct {
	mark, name, attribute string
	cells                 [numbers]string
	starts                []string
	reasons               []string // ways to write the largest reasons, longest first
}

type tableText struct {
	m      *model
	width  int
	lines  []line
	hidden [numbers + 1]bool
	name   int // widths
	reason int
}

func newTable(m *model) *tableText {
	t := &tableText{m: m}
	g := m.graph
	if g.Idle > 0 {
		idle := line{name: "idle", mark: t.mark("", m.necks[key{}])}
		if m.necks[key{}] {
			idle.attribute = bold
		}
		idle.cells[share], idle.cells[percent], idle.cells[lost] = m.duration(g.Idle), m.percent(g.Idle), m.lost(g.IdleLost)
		t.lines = append(t.lines, idle)
	}
	sum := bottle.Box{Share: g.Wall, Lost: g.Lost(), Parallelism: g.MeanParallelism(), Waiting: map[string]time.Duration{}}
	for i := len(m.rows) - 1; i >= 0; i-- {
		r := &m.rows[i]
		l := t.line(&r.box, r.name)
		l.mark, l.attribute = t.mark(r.colour, r.neck), r.attribute()
		l.name = m.withKind(l.name, r.box.Kind)
		l.starts = r.box.Starts
		t.lines = append(t.lines, l)

		sum.Goroutines += r.box.Goroutines
		sum.Running += r.box.Running
		sum.Runnable += r.box.Runnable
		for reason, d := range r.box.Waiting {
			sum.Waiting[reason] += d
		}
	}
	all := t.line(&sum, "all")
	all.mark = t.mark("", false)
	all.cells[self] = ""
	t.lines = append(t.lines, all)
	return t
}

// withKind appends the kind to the name of a group that is not the program's own, unless the name
// includes it.
func (m *model) withKind(name string, kind bottle.Kind) string {
	suffix := "(" + m.style.clean(string(kind)) + ")"
	if kind == bottle.Application || kind == "" || strings.HasSuffix(name, suffix) || kind == bottle.GC && strings.Contains(name, "GC") {
		return name
	}
	return name + " " + suffix
}

// line returns the line of a box.
func (t *tableText) line(b *bottle.Box, name string) line {
	m := t.m
	return line{name: name, reasons: reasonsOf(m, b), cells: [numbers]string{
		goroutines:  format.Count(b.Goroutines),
		share:       m.duration(b.Share),
		percent:     m.percentOf(b),
		lost:        m.lost(b.Lost),
		parallelism: m.parallelism(b.Parallelism),
		self:        m.parallelism(b.SelfParallelism),
		running:     m.duration(b.Running),
		runnable:    m.duration(b.Runnable),
		blocked:     m.duration(b.Blocked()),
	}}
}

// percentOf returns the share of a box, with half the width of its confidence interval if it is an
// estimate.
func (m *model) percentOf(b *bottle.Box) string {
	s := m.percent(b.Share)
	if b.ShareError > 0 {
		s += " " + m.style.or("±", "+-") + " " + m.percent(b.ShareError)
	}
	return s
}

// mark returns the mark before a name: the color of its box, and a star for the neck.
func (t *tableText) mark(colour string, neck bool) string {
	swatch, star := "", "  "
	if t.m.style.colour {
		swatch = "  "
		if colour != "" {
			swatch = t.m.style.paint(colour, t.m.style.or("■", "#")) + " "
		}
	}
	if neck {
		star = "* "
	}
	return swatch + star
}

func (t *tableText) markWidth() int {
	if t.m.style.colour {
		return 4
	}
	return 2
}

// reasonsOf returns ways to name what blocked a box most: its two largest reasons with their parts
// of the blocked time, only one of them, or only its name.
func reasonsOf(m *model, b *bottle.Box) []string {
	blocked := b.Blocked()
	if blocked <= 0 {
		return nil
	}
	names := slices.SortedFunc(maps.Keys(b.Waiting), func(x, y string) int {
		return cmp.Or(cmp.Compare(b.Waiting[y], b.Waiting[x]), strings.Compare(x, y))
	})
	text := func(name string) string {
		return m.style.clean(name) + " " + m.style.plain(format.Percent(b.Waiting[name], blocked))
	}
	out := []string{text(names[0]), m.style.clean(names[0])}
	if len(names) > 1 && b.Waiting[names[1]] > 0 {
		out = slices.Insert(out, 0, out[0]+", "+text(names[1]))
	}
	return out
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
	for i := range t.lines {
		l := &t.lines[i]
		nameWish = max(nameWish, columns(l.name))
		if len(l.reasons) > 0 {
			reasonWish = max(reasonWish, columns(l.reasons[0]))
		}
	}
	reasonWish = max(min(reasonWish, 44), min(reasonWish, len("blocked on")))
	for next := 0; ; next++ {
		room := width - t.markWidth()
		for c := range numbers {
			if !t.hidden[c] {
				room -= 2 + t.cellWidth(c)
			}
		}
		t.name, t.reason = min(nameWish, room), 0
		if !t.hidden[reasons] && reasonWish > 0 {
			room -= 2
			t.reason = min(reasonWish, max(minReason, room-nameWish))
			t.name = min(nameWish, room-t.reason)
		}
		if t.name >= min(nameWish, minName+4) || t.name >= minName && next > 2 || next == len(spare) {
			return
		}
		t.hidden[spare[next]] = true
	}
}

// cellWidth returns the width of a column of numbers. "goroutines" may be longer than its numbers:
// it extends into the blanks after "group".
func (t *tableText) cellWidth(c int) int {
	n := columns(t.heading(c))
	if c == goroutines {
		n = 3
	}
	for i := range t.lines {
		n = max(n, columns(t.lines[i].cells[c]))
	}
	return n
}

// heading returns the lower line of the heading; the upper one is "parallelism".
func (t *tableText) heading(c int) string {
	if c == parallelism && t.hidden[self] {
		return "lelism" // below "paral-"
	}
	return headings[c]
}

func (t *tableText) write(b *strings.Builder) {
	var above, heading strings.Builder
	heading.WriteString(left(spaces(t.markWidth())+"group", t.markWidth()+t.name))
	end := t.markWidth() + t.name
	for c := range numbers {
		if t.hidden[c] {
			continue
		}
		end += 2 + t.cellWidth(c)
		h := t.heading(c)
		text := heading.String()
		heading.Reset()
		heading.WriteString(text[:min(len(text), end-len(h))] + spaces(end-len(h)-len(text)) + h)
		switch {
		case c == parallelism && t.hidden[self]:
			above.WriteString(spaces(end-len("paral-")) + "paral-")
		case c == self:
			above.WriteString(spaces(end-len("parallelism")) + "parallelism")
		}
	}
	if t.reason > 0 {
		heading.WriteString("  blocked on")
	}
	for _, h := range []string{above.String(), heading.String()} {
		b.WriteString(t.m.style.paint(dim, h) + "\n")
	}
	for i := range t.lines {
		t.writeLine(b, &t.lines[i])
	}
}

func (t *tableText) writeLine(b *strings.Builder, l *line) {
	st := t.m.style
	name := l.name
	if world, found := strings.CutPrefix(name, "stop-the-world ("); found && columns(name) > t.name {
		name = "STW (" + world // they differ in the reason, which must not be cut
	}
	text := l.mark + st.paint(l.attribute, left(st.fit(name, t.name), t.name))
	for c := range numbers {
		if !t.hidden[c] {
			text += "  " + right(l.cells[c], t.cellWidth(c))
		}
	}
	if t.reason > 0 && len(l.reasons) > 0 {
		i := slices.IndexFunc(l.reasons, func(s string) bool { return columns(s) <= t.reason })
		if i < 0 {
			i = len(l.reasons) - 1
		}
		text += "  " + st.fit(l.reasons[i], t.reason)
	}
	b.WriteString(strings.TrimRight(text, " ") + "\n")
	if len(l.starts) > 0 {
		started := "started as " + st.clean(format.Func(l.starts[0]))
		if n := len(l.starts) - 1; n > 0 {
			started += fmt.Sprintf(" and %d more", n)
		}
		b.WriteString(spaces(t.markWidth()+2) + st.paint(dim, st.fit(started, t.width-t.markWidth()-2)) + "\n")
	}
}

// legend explains the less obvious columns.
func (t *tableText) legend() string {
	var parts []string
	if len(t.m.necks) > 0 {
		parts = append(parts, "* lost at least 5%.")
	}
	if !t.hidden[lost] {
		parts = append(parts, "lost: capacity (GOMAXPROCS × time) not used while the group ran.")
	}
	running := "running"
	if t.m.graph.Offered {
		running = "running or runnable"
	}
	if t.hidden[self] {
		parts = append(parts, "parallelism: goroutines "+running+" while the group ran (mean).")
	} else {
		parts = append(parts, "all: goroutines "+running+" while the group ran (mean); self: its own.")
	}
	return t.m.style.or(strings.Join(parts, " "), strings.ReplaceAll(strings.Join(parts, " "), "×", "x"))
}

// neverRan returns the number of groups that are not shown because they never ran.
func neverRan(m *model) string {
	n := len(m.never)
	if n == 1 {
		return "Not shown: 1 group that never ran, " + m.style.fit(m.never[0], maxName) + "."
	}
	return fmt.Sprintf("Not shown: %s groups that never ran, such as %s.", format.Count(n), m.style.fit(m.never[0], maxName))
}

// sites lists where the groups of the program waited most, for each significant reason, and where
// they were in C.
func sites(m *model, width int) string {
	var lines [][3]string
	var places []string
	for i := len(m.rows) - 1; i >= 0; i-- {
		r := &m.rows[i]
		if r.box.Kind != bottle.Application {
			continue
		}
		name := r.name
		for _, wait := range siteReasons(&r.box) {
			site := r.box.TopSite(wait)
			if site == nil {
				continue
			}
			lines = append(lines, [3]string{name, m.style.clean(wait), m.duration(site.Time)})
			places = append(places, m.style.clean(site.String()))
			name = ""
		}
	}
	if len(lines) == 0 {
		return ""
	}
	heads := [3]string{"group", "reason", "time"}
	var wide [3]int
	for _, l := range append(lines, heads) {
		for c := range l {
			wide[c] = max(wide[c], columns(l[c]))
		}
	}
	wide[0] = min(wide[0], width/3)
	wide[1] = min(wide[1], 16)
	var b strings.Builder
	used := 2 + wide[0] + 2 + wide[1] + 2 + wide[2] + 2
	below := slices.ContainsFunc(places, func(s string) bool { return columns(s) > max(16, width-used) })
	write := func(l [3]string, place, attribute string) {
		text := "  " + left(m.style.fit(l[0], wide[0]), wide[0]) + "  " + left(m.style.fit(l[1], wide[1]), wide[1]) + "  " + right(l[2], wide[2])
		if below { // each place has a line of its own
			text += "\n" + spaces(4) + m.style.fit(place, width-4)
		} else {
			text = strings.TrimRight(text+"  "+m.style.fit(place, width-used), " ")
		}
		b.WriteString(m.style.paintLines(attribute, text) + "\n")
	}
	write(heads, "the place where most of it was spent", dim)
	for i, l := range lines {
		write(l, places[i], "")
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
