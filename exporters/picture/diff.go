package picture

import (
	"fmt"
	"io"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// DiffSVG writes two bottle graphs side by side as an SVG document, on the same scales and with the
// same color for a group in both, to make changes visible. It ignores Options.Panels. See [SVG].
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

// Sizes of pictures of two graphs.
const (
	diffChart = 300.0 // width of each
	diffGap   = 30.0
)

// layoutDiff lays out two charts side by side with a common legend, whose numbers are sums.
func layoutDiff(before, after *bottle.Graph, opt Options) (*scene, error) {
	if before == nil || after == nil {
		return nil, errNoGraph
	}
	m := newDiffModel(before, after, opt)
	const left, gap = margin + axisRoom, 36.0
	l := m.diffLegend()
	width := left + 2*diffChart + diffGap + gap + l.width() + margin
	s, y := newPage(opt, m.title(), m.changeSentence(), "Two bottle graphs, before and after a change. "+m.changeSentence(), left, width)
	y += 20
	xmax, ymax, procs := scales(m.windows...)
	for i, w := range m.windows {
		p := plot{x: left + float64(i)*(diffChart+diffGap), y: y, w: diffChart, h: max(plotHeight, l.height()-axisFoot), xmax: headroom * xmax, ymax: 1.045 * ymax}
		s.add(m.diffChart(p, i, w, ymax, min(procs, w.Procs))...)
		s.height = p.bottom()
	}
	s.add(text{x: left + diffChart + diffGap/2, y: s.height + 46, s: m.axisTitle(), size: labelSize, anchor: middle, fill: themed(ink)})
	legend, _ := l.draw(width-margin-l.width(), y-14+0.7*l.rowHeight)
	s.add(legend...)
	return s.finish(m.notes(), left, max(s.height+axisFoot, y-14+l.height())), nil
}

// newDiffModel returns the model of a graph with the two graphs as windows: it folds and colors
// groups the same way in both.
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
	m.addEntries(m.windows...) // the neck of the sum may be the neck of neither
	return m
}

// changeSentence returns a sentence on the overall change.
func (m *model) changeSentence() string {
	lost := func(g *bottle.Graph) string { return format.Percent(g.Lost(), g.Capacity) }
	a, b := m.windows[0], m.windows[1]
	return fmt.Sprintf("wall time %s, then %s; parallelism %s, then %s; lost capacity %s, then %s", format.Duration(a.Wall), format.Duration(b.Wall),
		format.Parallelism(a.MeanParallelism()), format.Parallelism(b.MeanParallelism()), lost(a), lost(b))
}

// diffChart draws one of the graphs; the left one has the time axis.
func (m *model) diffChart(p plot, i int, w *bottle.Graph, ymax float64, procs int) (out []shape) {
	if i == 0 {
		out = append(out, p.timeAxis(ymax)...)
	}
	out = append(out, p.grid(ymax, p.x, axisSize, procs)...)
	out = append(out, text{x: p.x + p.w/2, y: p.y - 6, s: [2]string{"before", "after"}[i] + ", " + format.Duration(w.Wall), size: labelSize, bold: true, anchor: middle, fill: themed(ink)})
	own := *m // the neck of this graph may differ from that of the other
	own.byKey = map[key]*entry{}
	necks := neckOf(w)
	for k, e := range m.byKey {
		one := *e
		one.neck = necks[k]
		own.byKey[k] = &one
	}
	return append(out, own.boxes(p, w, panelLabel, 5)...)
}

// diffLegend returns the table of two graphs: a row for each group with its shares in both and the
// difference.
func (m *model) diffLegend() *table {
	t := &table{header: cellsOf(false, "group", "before", "after", "change"), wide: true, gap: 14, rowHeight: 24}
	add := func(r row, before, after time.Duration) {
		change := format.Duration(after - before)
		if after > before {
			change = "+" + change
		}
		r.fill, r.cells = ink, cellsOf(r.bold, format.Duration(before), format.Duration(after), change)
		t.rows = append(t.rows, r)
	}
	for i := len(m.entries) - 1; i >= 0; i-- {
		e := m.entries[i]
		add(row{swatch: e.bordered, name: shorten(e.label, tableSize, e.neck, 240), bold: e.neck}, m.shareOf(0, e), m.shareOf(1, e))
	}
	add(row{name: "idle"}, m.windows[0].Idle, m.windows[1].Idle)
	add(row{name: "all"}, m.windows[0].Wall, m.windows[1].Wall)
	t.measure()
	return t
}

func (e *entry) bordered(x, baseline float64) []shape {
	r := swatchRect(x, baseline)
	r.border = true
	return e.swatch(r)
}

// shareOf returns the share of a group in one of the two graphs.
func (m *model) shareOf(i int, e *entry) time.Duration {
	for j := range m.windows[i].Boxes {
		if b := &m.windows[i].Boxes[j]; keyOf(b) == keyOf(&e.box) {
			return b.Share
		}
	}
	return 0
}
