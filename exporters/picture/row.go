package picture

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Run is one of several bottle graphs in a row, with its caption.
type Run struct {
	Name  string
	Graph *bottle.Graph
}

// MaxRuns is the maximum number of graphs in a row: more could not be distinguished.
const MaxRuns = 16

// DrawRow lays out bottle graphs side by side, on the same scales and with the same color for a
// group in all of them, so that runs can be compared. It ignores Options.Width.
func DrawRow(runs []Run, opt Options) (*Drawing, error) {
	s, err := layoutRow(runs, opt)
	return newDrawing(s, err, opt)
}

// Sizes of a row.
const (
	rowCharts  = 880.0 // width of all charts, if there are several
	mostChart  = 300.0 // width of one
	leastChart = 96.0
	chartGap   = 30.0
)

// layoutRow lays out the charts with a common legend, which stands beside two charts and below more
// of them.
func layoutRow(runs []Run, opt Options) (*scene, error) {
	if len(runs) == 0 {
		return nil, errNoGraph
	}
	if len(runs) > MaxRuns {
		return nil, fmt.Errorf("picture: a row has at most %d graphs, not %d", MaxRuns, len(runs))
	}
	for _, r := range runs {
		if r.Graph == nil {
			return nil, errNoGraph
		}
	}
	m := newRowModel(runs, opt)
	const left, gap = margin + axisRoom, 36.0
	n := float64(len(runs))
	chart := min(mostChart, max(leastChart, (rowCharts-chartGap*(n-1))/n))
	span := n*(chart+chartGap) - chartGap
	l, below := m.rowLegend(runs), len(runs) > 2
	width := left + span + gap + l.width() + margin
	if below {
		width = max(left+span, left+l.width(), 560) + margin
	}
	s, y := newPage(opt, m.title(), m.rowSentence(), "Bottle graphs of "+format.Plural(len(runs), "run", "runs")+" on the same scales. "+m.rowSentence(), left, width)
	y += 42
	xmax, ymax, procs := scales(m.windows...)
	p := plot{y: y, w: chart, h: plotHeight, xmax: headroom * xmax, ymax: 1.045 * ymax}
	if !below {
		p.h = max(plotHeight, l.height()-axisFoot)
	}
	for i, w := range m.windows {
		p.x = left + float64(i)*(chart+chartGap)
		if i == 0 {
			s.add(p.timeAxis(ymax)...)
		}
		s.add(m.rowChart(p, label(runs[i].Name), w, ymax, min(procs, w.Procs))...)
	}
	s.add(text{x: left + max(span, 300)/2, y: p.bottom() + 46, s: m.axisTitle(), size: labelSize, anchor: middle, fill: themed(ink)})
	foot := p.bottom() + axisFoot
	at, baseline := width-margin-l.width(), y-14+0.7*l.rowHeight
	if below {
		at, baseline = left, foot+10+0.7*l.rowHeight
	}
	legend, bottom := l.draw(at, baseline, width-margin)
	s.add(legend...)
	return s.finish(m.notes(), left, max(foot, bottom)), nil
}

// newRowModel returns the model of a graph with the runs as windows: it folds and colors groups the
// same way in all of them.
func newRowModel(runs []Run, opt Options) *model {
	last := runs[len(runs)-1].Graph
	all := &bottle.Graph{GroupBy: last.GroupBy, Offered: last.Offered}
	for _, r := range runs {
		one := *r.Graph
		one.Windows = nil
		all.Windows = append(all.Windows, &one)
		all.Procs = max(all.Procs, one.Procs)
		for _, w := range one.Warnings {
			all.Warnings = append(all.Warnings, r.Name+": "+w)
		}
	}
	opt.panels = len(runs)
	m := newModel(all, opt)
	m.addEntries(m.windows...) // the neck of the sum may be the neck of none
	return m
}

// rowSentence returns the wall time, the parallelism and the lost capacity of the runs.
func (m *model) rowSentence() string {
	if len(m.windows) > 6 {
		return format.Plural(len(m.windows), "run", "runs") + " on the same scales"
	}
	of := func(what string, number func(*bottle.Graph) string) string {
		var all []string
		for _, g := range m.windows {
			all = append(all, number(g))
		}
		if len(all) == 2 {
			return what + " " + all[0] + ", then " + all[1]
		}
		return what + " " + strings.Join(all, ", ")
	}
	return of("wall time", func(g *bottle.Graph) string { return format.Duration(g.Wall) }) + "; " +
		of("parallelism", func(g *bottle.Graph) string { return format.Parallelism(g.MeanParallelism()) }) + "; " +
		of("lost capacity", func(g *bottle.Graph) string { return format.Percent(g.Lost(), g.Capacity) })
}

// rowChart draws one of the graphs with its caption.
func (m *model) rowChart(p plot, name string, w *bottle.Graph, ymax float64, procs int) (out []shape) {
	out = append(out, p.grid(ymax, p.x, axisSize, procs)...)
	room := p.w + chartGap - 8
	for i, s := range []string{name, format.Duration(w.Wall)} {
		out = append(out, text{x: p.x + p.w/2, y: p.y - 23 + 17*float64(i), s: shorten(s, labelSize, i == 0, room), size: labelSize, bold: i == 0, anchor: middle, fill: themed(ink)})
	}
	own := *m // the neck of this graph may differ from that of the others
	own.byKey = map[key]*entry{}
	necks := neckOf(w)
	for k, e := range m.byKey {
		one := *e
		one.neck = necks[k]
		own.byKey[k] = &one
	}
	return append(out, own.boxes(p, w, panelLabel, 5)...)
}

// rowLegend returns a table with a row for each group, its share in each run and, of two runs, the
// change.
func (m *model) rowLegend(runs []Run) *table {
	t := &table{header: []cell{{s: "group"}}, gap: 16, rowHeight: 23}
	for _, r := range runs {
		t.header = append(t.header, cell{s: shorten(label(r.Name), tableSize, true, 100)})
	}
	if len(runs) == 2 {
		t.header = append(t.header, cell{s: "change"})
	}
	add := func(r row, of func(i int) time.Duration) {
		var texts []string
		for i := range runs {
			text := "–" // the group is not in the run
			if of(i) > 0 {
				text = format.Duration(of(i))
			}
			texts = append(texts, text)
		}
		if len(runs) == 2 {
			sign, change := "+", of(1)-of(0)
			if change < 0 {
				sign, change = minus, -change
			}
			texts = append(texts, sign+format.Duration(change))
		}
		r.cells = cellsOf(false, texts...)
		t.rows = append(t.rows, r)
	}
	if slices.ContainsFunc(m.windows, func(w *bottle.Graph) bool { return w.Idle > 0 }) {
		add(row{swatch: idleSwatch, name: "idle", fill: ink}, func(i int) time.Duration { return m.windows[i].Idle })
	}
	for i := len(m.entries) - 1; i >= 0; i-- {
		e := m.entries[i]
		add(row{title: fullName(e.box.Group), swatch: e.swatchAt, name: e.label, bold: e.neck, fill: ink}, func(i int) time.Duration { return m.shareOf(i, e) })
	}
	add(row{name: "all", fill: muted, rule: grid, space: 5}, func(i int) time.Duration { return m.windows[i].Wall })
	t.notes = m.kindNotes()
	if slices.ContainsFunc(m.entries, func(e *entry) bool { return e.neck }) {
		t.notes = append(t.notes, note{text: "bold: lost at least 5% in one of the runs"})
	}
	t.measure()
	t.nameWidth = min(t.nameWidth, 300)
	return t
}

// shareOf returns the share of a group in one of the runs.
func (m *model) shareOf(i int, e *entry) time.Duration {
	for j := range m.windows[i].Boxes {
		if b := &m.windows[i].Boxes[j]; keyOf(b) == keyOf(&e.box) {
			return b.Share
		}
	}
	return 0
}
