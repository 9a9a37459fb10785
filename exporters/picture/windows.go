package picture

import (
	"math"
	"strconv"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Windows are small charts side by side, all on the same scales, to compare phases of the program
// (figure 12 of the paper).

const (
	windowsWidth = 1080.0
	leastPanel   = 78.0
	mostPanel    = 200.0
	panelGap     = 12.0 // at least
	rowGap       = 14.0
	panelFoot    = 44.0 // labels of the axis, and the start of the window
	panelLabel   = 11.5
)

// panels is the arrangement of windows.
type panels struct {
	rows, columns int
	width, height float64 // of a panel's plot
	gap           float64 // between two panels
}

// mostPanels returns the default maximum number of windows: few enough to compare at a glance, in
// at most six rows.
func mostPanels(width float64) int {
	if width == 0 {
		width = windowsWidth
	}
	columns := int((width - 2*margin - axisRoom + panelGap) / (leastPanel + panelGap))
	return min(48, 6*max(1, columns))
}

// arrange puts n panels into rows of about the same length. The gaps have room for the labels at
// the ends of two axes.
func arrange(n int, space, most float64) panels {
	gap := max(panelGap, room(strconv.FormatFloat(math.Floor(most), 'f', -1, 64), panelLabel, false)+2)
	columns := min(n, max(1, int((space+gap)/(leastPanel+gap))))
	rows := (n + columns - 1) / columns
	columns = (n + rows - 1) / rows
	return panels{
		rows: rows, columns: columns, gap: gap,
		width:  min(mostPanel, (space-gap*float64(columns-1))/float64(columns)),
		height: max(150, 340/math.Sqrt(float64(rows))),
	}
}

func (a panels) span() float64 {
	return float64(a.columns)*(a.width+a.gap) - a.gap
}

// layoutWindows lays out a chart for each window, and one legend for all.
func layoutWindows(m *model, opt Options) *scene {
	const left = margin + axisRoom
	const gap = 36.0
	width := opt.Width
	if width == 0 {
		width = windowsWidth
	}
	space := width - left - margin
	s, y := newPage(opt, m.title(), m.sentence(), m.describe(), left, width)
	y += 20

	most, _, _ := scales(m.windows...)
	a := arrange(len(m.windows), space, most)
	charts, bottom := m.charts(a, left, y, space)
	s.add(charts...)

	t := m.newTable(allCells)
	var legend []shape
	if a.span()+gap+t.width() <= space {
		var end float64
		legend, end = t.draw(left+a.span()+gap, y-14+tableSize, width-margin)
		bottom = max(bottom, end)
	} else {
		if t.width() > space {
			t = m.newTable(mostCells)
		}
		if t.width() > space && t.nameWidth > leastName {
			t = m.newTable(fewCells)
		}
		t.fit(width - 2*margin)
		legend, bottom = t.draw(min(left, width-margin-t.width()), bottom+26+tableSize, width-margin)
	}
	s.add(legend...)
	return s.finish(m.notes(), left, bottom+4)
}

// charts draws all windows and the axes they share.
func (m *model) charts(a panels, left, top, space float64) (out []shape, bottom float64) {
	xmax, ymax, procs := scales(m.windows...)
	clock := newClock(m.windows, a.width)
	for i, w := range m.windows {
		row, column := i/a.columns, i%a.columns
		p := plot{
			x: left + float64(column)*(a.width+a.gap), w: a.width,
			y: top + float64(row)*(a.height+panelFoot+rowGap), h: a.height,
			xmax: headroom * xmax, ymax: headroom * ymax,
		}
		if column == 0 {
			out = append(out, p.timeAxis(ymax)...)
		}
		out = append(out, m.panel(p, w, ymax, procs, clock))
		bottom = p.bottom() + panelFoot
		if i == a.columns-1 && procs > 0 {
			l := limitLabel(p, procs)
			l.x = max(l.x, left+room(l.s, l.size, false))
			out = append(out, l)
		}
	}
	s := m.axisTitle() + "; below it, the start of each window"
	if clock.origin != 0 {
		s += ", from " + clock.origin.String() + " on"
	}
	space = min(space, max(a.span(), 420))
	for _, line := range wrap(s, labelSize, space, 3) {
		out = append(out, text{x: left, y: bottom + 20, s: line, size: labelSize, fill: themed(ink)})
		bottom += lineHeight
	}
	return out, bottom
}

// panel draws one window.
func (m *model) panel(p plot, w *bottle.Graph, wall float64, procs int, c clock) *group {
	shapes := p.grid(wall, p.x, panelLabel, procs)
	shapes = append(shapes, text{x: p.x + p.w/2, y: p.bottom() + panelFoot - 8, s: c.at(w.Start), size: axisSize, anchor: middle, fill: themed(ink)})
	return &group{title: "window from " + c.at(w.Start) + ", " + format.Duration(w.Wall) + " long, mean parallelism " + format.Parallelism(w.MeanParallelism()),
		shapes: append(shapes, m.boxes(p, w, panelLabel, 4)...)}
}

// clock formats the starts of windows in one unit.
type clock struct {
	origin   time.Duration // origin of the times, if not the beginning of the trace
	unit     string
	size     float64
	decimals int // enough to distinguish the windows
}

// newClock returns a clock whose texts are at most as wide as a panel. If windows are so short and
// so late that their starts would have too many digits, it counts from the first of them.
func newClock(windows []*bottle.Graph, width float64) clock {
	last := windows[len(windows)-1].Start
	if c := clockFrom(0, windows); room(c.at(last), axisSize, false) <= width && room(c.at(windows[len(windows)/2].Start), axisSize, false) <= width {
		return c
	}
	return clockFrom(windows[0].Start, windows)
}

func clockFrom(origin time.Duration, windows []*bottle.Graph) clock {
	last, step := time.Duration(0), time.Duration(math.MaxInt64)
	for i, w := range windows {
		last = max(last, w.Start-origin)
		if i > 0 && w.Start > windows[i-1].Start {
			step = min(step, w.Start-windows[i-1].Start)
		}
	}
	c := clock{origin: origin}
	c.unit, c.size = timeUnit(float64(last))
	if last == 0 {
		c.unit, c.size = timeUnit(float64(time.Second))
	}
	for unit := c.size; unit > float64(step) && c.decimals < 8; unit /= 10 {
		c.decimals++
	}
	c.decimals++
	return c
}

// at formats a time.
func (c clock) at(d time.Duration) string {
	s := trimZeros(strconv.FormatFloat(float64(d-c.origin)/c.size, 'f', c.decimals, 64)) + " " + c.unit
	if c.origin != 0 {
		return "+" + s
	}
	return s
}
