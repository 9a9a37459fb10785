package picture

import (
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

const (
	plotWidth  = 470.0 // preferred width
	goodPlot   = 390.0 // minimum width before names are shortened
	leastName  = 110.0
	tinyName   = 90.0  // with less, columns of numbers are omitted
	leastPlot  = 330.0 // with less, the legend goes below
	goodName   = 220.0 // with less, the reasons of waits are omitted
	plotHeight = 390.0
	tallest    = 620.0
	headroom   = 1.03 // axes are a little longer than their content
	axisFoot   = 60.0 // below a plot: labels and title of the parallelism axis
)

// layoutSingle lays out one graph: the chart on the left, the legend on the right, or below in a
// narrow picture.
func layoutSingle(m *model, opt Options) *scene {
	const left = margin + axisRoom
	const gap = 36.0
	width, t, below := m.columns(opt.Width, left+gap+margin)
	s, y := newPage(opt, m.title(), m.sentence(), m.describe(), left, width)
	y += 20 // the name of the limit
	p := plot{x: left, y: y, w: width - left - margin - gap - t.width(), h: plotHeight}
	if below {
		p.w = width - left - margin
	} else {
		// A long legend makes the chart taller, up to a limit.
		_, bottom := t.draw(0, tableSize, t.width())
		p.h = min(tallest, max(plotHeight, bottom-axisFoot))
	}
	s.add(m.chart(p)...)
	foot := p.bottom() + axisFoot

	legendX, legendY := width-margin-t.width(), y-14
	if below {
		legendX, legendY = min(left, legendX), foot+10
	}
	legend, bottom := t.draw(legendX, legendY+tableSize, width-margin)
	s.add(legend...)
	return s.finish(m.notes(), left, max(foot, bottom))
}

// columns divides the width of the picture among chart and legend. fixedWidth is the empty part. If
// there is not enough room, it omits the reasons of waits, then the running times, then shortens
// long names, and then puts the legend below the chart.
func (m *model) columns(wanted, empty float64) (width float64, t *table, below bool) {
	t = m.newTable(allCells)
	width = wanted
	if width == 0 {
		const least, most = 900.0, 1300.0
		width = min(most, max(least, empty+plotWidth+t.width()))
	}
	for _, d := range []detail{allCells, mostCells, fewCells} {
		t = m.newTable(d)
		full := t.nameWidth
		t.squeeze(width-empty-goodPlot, leastName)
		if width-empty-t.width() >= goodPlot-1 && t.nameWidth >= min(full, goodName) {
			return width, t, false
		}
	}
	t.squeeze(width-empty-leastPlot, leastName)
	if width-empty-t.width() >= leastPlot {
		return width, t, false
	}
	for _, d := range []detail{allCells, mostCells, fewCells} {
		t = m.newTable(d)
		if t.fits(width-2*margin, leastName) {
			break
		}
	}
	t.fit(width - 2*margin)
	return width, t, true
}

// chart draws the axes and the boxes of the whole graph.
func (m *model) chart(p plot) (out []shape) {
	xmax, ymax, procs := scales(m.whole)
	p.xmax, p.ymax = headroom*xmax, 1.045*ymax
	labels, right := m.gutter(&p)
	out = append(p.grid(height(m.whole), p.x-tickLength, axisSize, procs), p.timeAxis(height(m.whole))...)
	if procs > 0 {
		out = append(out, limitLabel(p, procs))
	}
	out = append(out, m.boxes(p, m.whole, labelSize, 6)...)
	out = append(out, drawOutside(settle(labels, p.y-2), right)...)
	title := m.axisTitle()
	if short, _, _ := strings.Cut(title, " ("); room(title, labelSize, false) > p.w+30 {
		title = short
	}
	return append(out, text{x: p.x + p.w/2, y: p.bottom() + 46, s: title, size: labelSize, anchor: middle, fill: themed(ink)})
}

// gutter returns the labels that stand beside the boxes. If they would leave the plot, it makes the
// plot narrower, which moves them by less. They end at right.
func (m *model) gutter(p *plot) (labels []*outside, right float64) {
	const most = 170.0
	right = p.right()
	for left := min(most, p.w/3); ; {
		labels = m.outsideLabels(*p)
		need := 0.0
		for _, l := range settle(labels, p.y-2) {
			need = max(need, l.x+2+min(room(l.s, labelSize, l.bold), most)-right)
		}
		if need = min(need, left); need < 1 {
			return labels, right
		}
		p.w, left = p.w-need, left-need
	}
}

func (m *model) outsideLabels(p plot) (out []*outside) {
	boxes, idle := m.place(p, m.whole)
	// Labels of boxes that are invisible would have nothing to point to.
	const least = 2
	for _, b := range boxes {
		r := b.rect
		if _, ok := b.inside(labelSize); !ok && r.h >= least {
			out = append(out, newOutside(b.entry.label, b.entry.neck, b.box.Share, r.x+r.w, r.y, r.y+r.h))
		}
	}
	if m.whole.Idle > 0 && idle.h >= least {
		s := "idle " + format.Duration(m.whole.Idle) + " (" + format.Percent(m.whole.Idle, m.whole.Wall) + ")"
		out = append(out, newOutside(s, false, m.whole.Idle, idle.x+6, idle.y, idle.y+idle.h))
	}
	return out
}

// limitLabel returns the label of the right GOMAXPROCS line, above the plot.
func limitLabel(p plot, procs int) text {
	return text{x: min(p.px(float64(procs))+14, p.right()+8), y: p.y - 6, s: "GOMAXPROCS " + format.Count(procs), size: noteSize, anchor: end, fill: themed(muted)}
}
