package text

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// topRow is a group in a live view.
type topRow struct {
	box   *bottle.Box
	name  string
	neck  bool
	trend float64 // change of the share, in points of percent; NaN if it is not known
	fresh bool    // it was not there before
}

// topRows are all groups, with what has changed since the graph before.
func topRows(m *model, before *bottle.Graph) []topRow {
	was := map[key]time.Duration{}
	if before != nil {
		for i := range before.Boxes {
			b := &before.Boxes[i]
			was[key{b.Group, b.Kind}] += b.Share
		}
	}
	rows := make([]topRow, 0, len(m.graph.Boxes))
	for i := range m.graph.Boxes {
		b := &m.graph.Boxes[i]
		r := topRow{box: b, name: m.withKind(m.name(b), b.Kind), neck: m.necks[key{b.Group, b.Kind}], trend: math.NaN()}
		if before != nil && before.Wall > 0 && m.graph.Wall > 0 {
			share, known := was[key{b.Group, b.Kind}]
			r.fresh = !known
			r.trend = 100 * (float64(b.Share)/float64(m.graph.Wall) - float64(share)/float64(before.Wall))
		}
		rows = append(rows, r)
	}
	return rows
}

// topColumn is a column of a live view.
type topColumn struct {
	heading string
	width   int
	cell    func(t *topFrame, r *topRow) string // of columns with numbers
	hidden  bool
}

// The columns after the name. The bar comes first, the reason last; both take what there is.
const (
	topBar = iota
	topPercent
	topLost
	topTrend
	topParallelism
	topRunning
	topRunnable
	topBlocked
	topReason
	topColumnCount
)

// spareTop is what is left out for want of width, in this order.
var spareTop = []int{topRunnable, topRunning, topTrend, topReason, topBar, topBlocked}

// Widths of the name, the bar and the reason: at least, and at most.
const (
	topNameLeast, topNameMost     = 20, 60
	topBarLeast, topBarMost       = 8, 24
	topReasonLeast, topReasonMost = 12, 36
)

// layout decides how wide the columns are and which are left out. It returns the width of the
// names.
func (t *topFrame) layout() (columnsOf [topColumnCount]topColumn, name int) {
	c := [topColumnCount]topColumn{
		topBar:         {heading: "share", width: topBarLeast},
		topPercent:     {heading: "%", width: 4, cell: func(t *topFrame, r *topRow) string { return t.m.percent(r.box.Share) }},
		topLost:        {heading: "lost", width: 4, cell: func(t *topFrame, r *topRow) string { return t.m.lost(r.box.Lost) }},
		topTrend:       {heading: "trend", width: 6, cell: (*topFrame).trend},
		topParallelism: {heading: "parallel", width: 8, cell: (*topFrame).parallelism},
		topRunning:     {heading: "running", width: 7, cell: func(t *topFrame, r *topRow) string { return t.mean(r.box.Running) }},
		topRunnable:    {heading: "runnable", width: 8, cell: func(t *topFrame, r *topRow) string { return t.mean(r.box.Runnable) }},
		topBlocked:     {heading: "blocked", width: 7, cell: func(t *topFrame, r *topRow) string { return t.mean(r.box.Blocked()) }},
		topReason:      {heading: "blocked on", width: topReasonLeast},
	}
	wish := topNameLeast
	for i := range t.rows {
		wish = max(wish, min(topNameMost, columns(t.rows[i].name)))
	}
	room := func() int {
		n := t.width - 2 // the mark of necks
		for i := range c {
			if !c[i].hidden {
				n -= 2 + c[i].width
			}
		}
		return n
	}
	for _, s := range spareTop {
		if room() >= min(wish, topNameLeast+6) {
			break
		}
		c[s].hidden = true
	}
	name = max(1, min(wish, room()))
	for _, grow := range []struct{ column, most int }{{topReason, topReasonMost}, {topBar, topBarMost}} {
		if col := &c[grow.column]; !col.hidden {
			col.width += max(0, min(grow.most-col.width, room()-name))
		}
	}
	return c, name
}

// groups are the heading and the groups, in at most so many lines; negative for no bound.
func (t *topFrame) groups(lines int) []string {
	c, name := t.layout()
	from, to := t.window(lines - 1)
	if lines < 0 {
		from, to = t.window(-1)
	}
	t.shown = [2]int{from, to}
	heading := "  " + left("group", name)
	for i := range c {
		switch {
		case c[i].hidden:
		case i == topBar || i == topReason:
			heading += "  " + left(c[i].heading, c[i].width)
		default:
			heading += "  " + right(c[i].heading, c[i].width)
		}
	}
	out := []string{t.st.paint(dim, strings.TrimRight(heading, " "))}
	for i := from; i < to; i++ {
		out = append(out, t.line(&t.rows[i], &c, name))
	}
	if lines < 0 && to < len(t.rows) {
		out = append(out, t.st.paint(dim, "  and "+strconv.Itoa(len(t.rows)-to)+" more"))
	}
	return out
}

// window chooses the rows to show: as many as there is room for, but at least the last screen of
// them.
func (t *topFrame) window(room int) (from, to int) {
	n := len(t.rows)
	if room < 0 {
		if room = t.opt.Top; room == 0 {
			room = 15
		}
		if room < 0 {
			room = n
		}
	}
	from = max(0, min(t.v.Skip, n-room))
	return from, min(n, from+room)
}

func (t *topFrame) line(r *topRow, c *[topColumnCount]topColumn, name int) string {
	attribute := ""
	mark := "  "
	if r.neck {
		attribute, mark = bold, "* "
	}
	line := mark + t.st.paint(attribute, left(t.st.fit(r.name, name), name))
	for i := range c {
		switch {
		case c[i].hidden:
		case i == topBar:
			bar := left(t.bars(r, c[i].width), c[i].width)
			line += "  " + t.st.paint(topColour(r), bar)
		case i == topReason:
			line += "  " + t.reason(r, c[i].width)
		default:
			line += "  " + right(c[i].cell(t, r), c[i].width)
		}
	}
	line = strings.TrimRight(line, " ")
	if t.v.Problem != "" && !t.st.colour {
		return line
	}
	if t.v.Problem != "" { // what is shown is over
		return t.st.paint(dim, stripped(line))
	}
	return line
}

// stripped takes the colours off a line that was painted here.
func stripped(line string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(line, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, line, _ = strings.Cut(rest, "m")
	}
}

// topColour tells necks, the program's other groups, the collector and the runtime apart; it stays
// with a group from one frame to the next.
func topColour(r *topRow) string { return palette{}.pick(r.box.Kind, r.neck) }

// bars is the share as a bar of at most so many columns, to an eighth of one.
func (t *topFrame) bars(r *topRow, width int) string {
	wall := t.v.Graph.Wall
	if wall <= 0 || r.box.Share <= 0 {
		return ""
	}
	part := min(1, float64(r.box.Share)/float64(wall))
	if t.st.ascii {
		return strings.Repeat("#", max(1, int(math.Round(part*float64(width)))))
	}
	eighths := max(1, int(math.Round(part*float64(8*width))))
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string([]rune(" ▏▎▍▌▋▊▉")[rest])
	}
	return bar
}

func (t *topFrame) parallelism(r *topRow) string {
	if r.box.Running <= 0 {
		return t.st.plain(format.Unknown) // it never ran
	}
	return t.m.parallelism(r.box.Parallelism)
}

// leastTrend is the smallest change that is worth a look, in points of percent.
const leastTrend = 0.5

func (t *topFrame) trend(r *topRow) string {
	switch {
	case r.fresh:
		return "new"
	case math.IsNaN(r.trend) || math.Abs(r.trend) < leastTrend:
		return ""
	case r.trend > 0:
		return t.st.or("▲", "+") + strconv.FormatFloat(r.trend, 'f', 1, 64)
	}
	return t.st.or("▼", "-") + strconv.FormatFloat(-r.trend, 'f', 1, 64)
}

func (t *topFrame) mean(d time.Duration) string { return t.st.plain(meanOf(d, t.v.Graph.Wall)) }

// reason is what blocked the group most.
func (t *topFrame) reason(r *topRow, width int) string {
	ways := reasonsOf(t.m, r.box)
	for _, way := range ways {
		if columns(way) <= width {
			return way
		}
	}
	if len(ways) == 0 {
		return ""
	}
	return t.st.fit(ways[len(ways)-1], width)
}
