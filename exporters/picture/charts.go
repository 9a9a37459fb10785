package picture

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/chart"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Windows of a graph, or several runs, are small charts side by side, all on the same scales, to
// compare the phases of a program (figure 12 of the paper) or its versions.

const (
	chartsWidth = 1080.0
	leastChart  = 78.0
	mostChart   = 300.0
	chartGap    = 12.0 // at least
	rowGap      = 14.0
	chartFoot   = 44.0 // labels of the axis, and a line of the caption
	chartLabel  = 11.5
)

// MaxRuns is the maximum number of graphs in a row: more could not be distinguished.
const MaxRuns = 16

// DrawRow lays out bottle graphs of several runs side by side, on the same scales and with the same
// color for a group in all of them. names are their captions.
func DrawRow(names []string, graphs []*bottle.Graph, opt Options) (*Drawing, error) {
	m, err := newRowModel(names, graphs, opt)
	if err != nil {
		return nil, err
	}
	sentence := m.rowSentence()
	return m.drawCharts(sentence, "Bottle graphs of "+format.Plural(len(graphs), "run", "runs")+" on the same scales. "+sentence), nil
}

// newRowModel returns the model of the sum of the runs with the runs as its charts: it folds and
// colors groups the same way in all of them.
func newRowModel(names []string, graphs []*bottle.Graph, opt Options) (*model, error) {
	if len(graphs) == 0 || slices.Contains(graphs, nil) {
		return nil, errNothing
	}
	if len(graphs) > MaxRuns {
		return nil, fmt.Errorf("picture: a row has at most %d graphs, not %d", MaxRuns, len(graphs))
	}
	all, err := bottle.Merge(graphs...)
	if err != nil {
		return nil, fmt.Errorf("picture: %w", err)
	}
	all.Warnings = nil
	for i, g := range graphs {
		for _, w := range g.Warnings {
			all.Warnings = append(all.Warnings, names[i]+": "+w)
		}
	}
	m, err := newModel(all, graphs, opt)
	if err != nil {
		return nil, err
	}
	m.runs = true
	m.whole.necks = map[chart.Key]bool{} // the neck of the sum may be the neck of none
	for i := range m.charts {
		m.charts[i].name = label(names[i])
		maps.Copy(m.whole.necks, m.charts[i].necks)
	}
	m.addEntries()
	return m, nil
}

// rowSentence returns the wall time, the parallelism and the lost capacity of the runs.
func (m *model) rowSentence() string {
	if len(m.charts) > 6 {
		return format.Plural(len(m.charts), "run", "runs") + " on the same scales"
	}
	var wall, parallelism, lost []string
	for _, g := range m.graphs() {
		wall, parallelism, lost = append(wall, format.Duration(g.Wall)), append(parallelism, format.Parallelism(g.MeanParallelism())), append(lost, format.Percent(g.Lost(), g.Capacity))
	}
	between := ", "
	if len(wall) == 2 {
		between = ", then "
	}
	return "wall time " + strings.Join(wall, between) + "; parallelism " + strings.Join(parallelism, between) + "; lost capacity " + strings.Join(lost, between)
}

// chartGrid is the arrangement of charts.
type chartGrid struct {
	rows, columns int
	width, height float64 // of a chart's plot
	gap           float64 // between two charts
}

// arrange puts n charts into rows of about the same length. The gaps have room for the labels at the
// ends of two axes.
func arrange(n int, most float64) chartGrid {
	const space = chartsWidth - 2*margin - axisRoom
	gap := max(chartGap, room(strconv.FormatFloat(math.Floor(most), 'f', -1, 64), chartLabel, false)+2)
	columns := min(n, max(1, int((space+gap)/(leastChart+gap))))
	rows := (n + columns - 1) / columns
	columns = (n + rows - 1) / rows
	return chartGrid{
		rows: rows, columns: columns, gap: gap,
		width:  min(mostChart, (space-gap*float64(columns-1))/float64(columns)),
		height: max(150, 340/math.Sqrt(float64(rows))),
	}
}

func (a chartGrid) span() float64 {
	return float64(a.columns)*(a.width+a.gap) - a.gap
}

// drawCharts lays out the charts, and one legend below all of them.
func (m *model) drawCharts(sentence, desc string) *Drawing {
	const left, least = margin + axisRoom, 640.0
	most, _, _ := scales(m.graphs()...)
	a, t := arrange(len(m.charts), most), m.newTable(true)
	width := left + max(least, a.span(), t.width()) + margin
	d, y := newPage(m.opt, m.title(), sentence, desc, left, width)
	shapes, bottom := m.allCharts(a, left, y+20, width-left-margin)
	d.add(shapes...)
	legend, bottom := t.draw(left, bottom+26+tableSize, width-margin)
	d.add(legend...)
	return d.finish(m.notes(), left, bottom+4)
}

// allCharts draws the charts and the axes they share.
func (m *model) allCharts(a chartGrid, left, top, space float64) (out []shape, bottom float64) {
	graphs := m.graphs()
	xmax, ymax, procs := scales(graphs...)
	foot := chartFoot
	if m.runs {
		foot += lineHeight
	}
	clock := newClock(graphs)
	for i, c := range m.charts {
		row, column := i/a.columns, i%a.columns
		p := plot{
			x: left + float64(column)*(a.width+a.gap), w: a.width,
			y: top + float64(row)*(a.height+foot+rowGap), h: a.height,
			xmax: headroom * xmax, ymax: headroom * ymax,
		}
		if column == 0 {
			out = append(out, p.timeAxis(ymax)...)
		}
		caption, tip := clock.at(c.graph.Start), "window from "+clock.at(c.graph.Start)
		if m.runs {
			caption, tip = c.name, c.name
			out = append(out, text{x: p.x + p.w/2, y: p.bottom() + foot - 8, s: format.Duration(c.graph.Wall), size: axisSize, anchor: middle, fill: themed(muted)})
		}
		caption = shorten(caption, axisSize, m.runs, a.width+a.gap-4)
		shapes := append(p.grid(ymax, p.x, chartLabel, min(procs, c.graph.Procs)),
			text{x: p.x + p.w/2, y: p.bottom() + chartFoot - 8, s: caption, size: axisSize, bold: m.runs, anchor: middle, fill: themed(ink)})
		out = append(out, &group{title: tip + ", " + format.Duration(c.graph.Wall) + " long, mean parallelism " + format.Parallelism(c.graph.MeanParallelism()),
			shapes: append(shapes, m.boxes(p, c, chartLabel, 4)...)})
		bottom = p.bottom() + foot
		if i == a.columns-1 && procs > 0 && !slices.ContainsFunc(graphs, func(g *bottle.Graph) bool { return g.Procs != procs }) {
			l := limitLabel(p, procs)
			l.x = max(l.x, left+room(l.s, l.size, false))
			out = append(out, l)
		}
	}
	s := m.axisTitle() + "; below it, the start of each window"
	if m.runs {
		s = m.axisTitle() + "; below it, each run and its wall time"
	}
	for _, line := range wrap(s, labelSize, space, 3) {
		out = append(out, text{x: left, y: bottom + 20, s: line, size: labelSize, fill: themed(ink)})
		bottom += lineHeight
	}
	return out, bottom
}

// clock formats the starts of windows in one unit.
type clock struct {
	unit     string
	size     float64
	decimals int // enough to distinguish the windows
}

func newClock(windows []*bottle.Graph) (c clock) {
	last, step := time.Duration(0), time.Duration(math.MaxInt64)
	for i, w := range windows {
		last = max(last, w.Start)
		if i > 0 && w.Start > windows[i-1].Start {
			step = min(step, w.Start-windows[i-1].Start)
		}
	}
	last = cmp.Or(last, time.Second)
	c.unit, c.size = timeUnit(float64(last))
	for unit := c.size; unit > float64(step) && c.decimals < 8; unit /= 10 {
		c.decimals++
	}
	c.decimals++
	return c
}

// at formats a time.
func (c clock) at(d time.Duration) string {
	return decimal(float64(d)/c.size, c.decimals) + " " + c.unit
}
