package picture

import (
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

const (
	plotWidth  = 470.0 // preferred width
	goodPlot   = 390.0 // least width
	goodName   = 220.0 // with less, the reasons of waits are omitted
	plotHeight = 390.0
	tallest    = 620.0
	headroom   = 1.03 // axes are a little longer than their content
	axisFoot   = 60.0 // below a plot: labels and title of the parallelism axis
)

// drawSingle lays out one graph: the chart on the left, the legend on the right. If there is not
// enough room, it omits the reasons of waits, and then shortens long names.
func (m *model) drawSingle() *Drawing {
	const left, gap, least, most = margin + axisRoom, 36.0, 900.0, 1300.0
	const fixed = left + gap + margin
	t := m.newTable(true)
	for _, reasons := range []bool{true, false} {
		t = m.newTable(reasons)
		names := min(t.nameWidth, most-fixed-goodPlot-(t.width()-t.nameWidth))
		if names >= min(t.nameWidth, goodName) || !reasons {
			t.nameWidth = names
			break
		}
	}
	width := min(most, max(least, fixed+plotWidth+t.width()))
	d, y := newPage(m.opt, m.title(), m.sentence(), m.describe(), left, width)
	y += 20 // the name of the limit
	p := plot{x: left, y: y, w: width - fixed - t.width()}
	// A long legend makes the chart taller, up to a limit.
	_, bottom := t.draw(0, tableSize, t.width())
	p.h = min(tallest, max(plotHeight, bottom-axisFoot))
	d.add(m.chart(p)...)
	legend, bottom := t.draw(width-margin-t.width(), y-14+tableSize, width-margin)
	d.add(legend...)
	return d.finish(m.notes(), left, max(p.bottom()+axisFoot, bottom))
}

// chart draws the axes and the boxes of the whole graph.
func (m *model) chart(p plot) (out []shape) {
	g := m.whole.graph
	xmax, ymax, procs := scales(g)
	p.xmax, p.ymax = headroom*xmax, 1.045*ymax
	labels, right := m.gutter(&p)
	out = append(p.grid(height(g), p.x-tickLength, axisSize, procs), p.timeAxis(height(g))...)
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
			out = append(out, newOutside(b.entry.label, b.neck, b.box.Share, r.x+r.w, r.y, r.y+r.h))
		}
	}
	if g := m.whole.graph; g.Idle > 0 && idle.h >= least {
		s := "idle " + format.Duration(g.Idle) + " (" + format.Percent(g.Idle, g.Wall) + ")"
		out = append(out, newOutside(s, false, g.Idle, idle.x+6, idle.y, idle.y+idle.h))
	}
	return out
}

// limitLabel returns the label of the right GOMAXPROCS line, above the plot.
func limitLabel(p plot, procs int) text {
	return text{x: min(p.px(float64(procs))+14, p.right()+8), y: p.y - 6, s: "GOMAXPROCS " + format.Count(procs), size: noteSize, anchor: end, fill: themed(muted)}
}
