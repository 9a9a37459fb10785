package picture

import (
	"fmt"
	"io"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// DiffSVG writes two bottle graphs side by side as an SVG document: on the same scales, with the
// same colour for a group in both, so that what changed can be seen. Of the options, Panels means
// nothing here. See [SVG].
func DiffSVG(w io.Writer, before, after *bottle.Graph, opt Options) error {
	d, err := DrawDiff(before, after, opt)
	if err != nil {
		return err
	}
	return d.SVG(w)
}

// DrawDiff lays out the picture of [DiffSVG].
func DrawDiff(before, after *bottle.Graph, opt Options) (*Drawing, error) {
	s, err := layoutDiff(before, after, opt)
	return newDrawing(s, err, opt)
}

// Sizes of a picture of two graphs.
const (
	diffChart = 300.0 // width of each
	diffGap   = 30.0
)

// layoutDiff places two charts beside each other and one legend for both: its numbers are sums.
func layoutDiff(before, after *bottle.Graph, opt Options) (*scene, error) {
	if before == nil || after == nil {
		return nil, errNoGraph
	}
	m := newDiffModel(before, after, opt)
	const left, gap = margin + axisRoom, 36.0
	l := m.diffLegend()
	width := left + 2*diffChart + diffGap + gap + l.width + margin
	s := &scene{width: width, title: m.title(), desc: "Two bottle graphs, before and after a change. " + m.changeSentence()}
	head, y := heading(m.title(), []string{m.changeSentence(), format.Clean(m.opt.Subtitle)}, left, width)
	s.shapes = head
	y += 20
	xmax, ymax, procs := scales(m.windows...)
	for i, w := range m.windows {
		p := plot{x: left + float64(i)*(diffChart+diffGap), y: y, w: diffChart, h: max(plotHeight, l.height-axisFoot), xmax: headroom * xmax, ymax: 1.045 * ymax}
		s.shapes = append(s.shapes, m.diffChart(p, i, w, ymax, min(procs, w.Procs))...)
		s.height = p.bottom()
	}
	s.shapes = append(s.shapes, text{x: left + diffChart + diffGap/2, y: s.height + 46, s: m.axisTitle(), size: labelSize, anchor: middle, fill: themed(ink)})
	s.shapes = append(s.shapes, l.draw(m, width-margin-l.width, y-14)...)
	notes, bottom := footnotes(m.notes(), left, max(s.height+axisFoot, y-14+l.height), width)
	s.shapes = append(s.shapes, notes...)
	s.height = bottom + margin
	return s, nil
}

// newDiffModel is the model of a graph whose two windows are the graphs: it folds and colours
// groups for both alike.
func newDiffModel(before, after *bottle.Graph, opt Options) *model {
	both := &bottle.Graph{GroupBy: after.GroupBy, Offered: after.Offered, Procs: max(before.Procs, after.Procs)}
	for _, g := range []*bottle.Graph{before, after} {
		one := *g
		one.Windows = nil
		both.Windows = append(both.Windows, &one)
		for _, w := range g.Warnings {
			both.Warnings = append(both.Warnings, []string{"before: ", "after: "}[len(both.Windows)-1]+w)
		}
	}
	opt.Panels = 2
	m := newModel(both, opt)
	m.addEntries(m.windows...) // what is the neck of their sum may be that of neither
	return m
}

// changeSentence tells what changed in all.
func (m *model) changeSentence() string {
	lost := func(g *bottle.Graph) string { return format.Percent(g.Lost(), g.Capacity) }
	a, b := m.windows[0], m.windows[1]
	return fmt.Sprintf("wall time %s, then %s; parallelism %s, then %s; lost capacity %s, then %s", format.Duration(a.Wall), format.Duration(b.Wall),
		format.Parallelism(a.MeanParallelism()), format.Parallelism(b.MeanParallelism()), lost(a), lost(b))
}

// diffChart draws one of the graphs; the left one has the axis of time.
func (m *model) diffChart(p plot, i int, w *bottle.Graph, ymax float64, procs int) (out []shape) {
	if i == 0 {
		out = append(out, p.timeAxis(ymax)...)
	}
	out = append(out, p.grid(ymax, p.x, axisSize, procs)...)
	out = append(out, text{x: p.x + p.w/2, y: p.y - 6, s: [2]string{"before", "after"}[i] + ", " + format.Duration(w.Wall), size: labelSize, bold: true, anchor: middle, fill: themed(ink)})
	boxes, idle := m.place(p, w)
	necks := neckOf(w)
	for _, b := range boxes {
		e := *b.entry
		e.neck = necks[keyOf(b.box)]
		b.entry = &e
		g := b.draw(w)
		if t, ok := b.inside(panelLabel); ok {
			g.shapes = append(g.shapes, t)
		}
		out = append(out, g)
	}
	if w.Idle > 0 {
		out = append(out, drawIdle(idle, w, 5))
	}
	return out
}
