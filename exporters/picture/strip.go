package picture

import (
	"image/color"
	"math"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Sizes of a strip, from the top: rows of classes, then the panels of the machine.
const (
	stripRow   = 30.0 // the bars of a class
	stripName  = 20.0 // the line above them
	panel      = 84.0
	panelAbove = 34.0 // its title, and the gap above
)

// strip is the time axis that all rows and panels share.
type strip struct {
	x, w       float64
	begin, end int64
	bands      []band // from the top, without the text between them
}

// band is the vertical range of bars.
type band struct{ top, bottom float64 }

func (s *strip) px(at int64) float64 {
	return s.x + s.w*min(1, max(0, float64(at-s.begin)/float64(s.end-s.begin)))
}

// layoutStrip lays out the rows and panels of a profile.
func layoutStrip(profile *granularity.Profile, opt Options) *scene {
	m := newTasksModel(profile, opt)
	const left = margin + axisRoom
	desc := m.describe("Tasks over time: for each class how many of its tasks were under way; then context switches a second, and how far the processors were used.")
	s, y := newPage(opt, "Tasks over time", m.sentence(), desc, left, opt.Width)
	st := &strip{x: left, w: opt.Width - left - margin - 24, begin: profile.Start, end: ended(profile)}
	y += 10
	for i := range m.classes {
		row, below := m.row(st, &m.classes[i], y)
		s.add(row)
		y = below
	}
	var notes []string
	if len(profile.Samples) > 0 {
		more, below := m.switches(st, y)
		s.add(more...)
		more, y = m.utilization(st, below)
		s.add(more...)
		for _, u := range profile.Utilizations()[1:] {
			notes = append(notes, u.String()+".")
		}
	} else {
		notes = append(notes, "The machine was not sampled, so context switches and utilization are not known: Recorder.Start samples it.")
	}
	if n := len(profile.Pauses); n > 0 {
		s.add(st.pauses(profile.Pauses))
		notes = append(notes, "Vertical lines: "+format.Plural(n, "pause", "pauses")+" of the garbage collector.")
	}
	axes, y := st.axis(y)
	s.add(axes...)
	return s.finish(append(notes, warningNotes(m.p.Warnings)...), left, y+10)
}

// row draws the average number of tasks of a class in progress in each interval.
func (m *tasksModel) row(st *strip, c *taskClass, y float64) (*group, float64) {
	most := 0.0
	level := make([]float64, len(c.Series))
	for i, b := range c.Series {
		from := st.begin
		if i > 0 {
			from = c.Series[i-1].At
		}
		if b.At > from {
			level[i] = float64(b.Busy) / float64(b.At-from)
		}
		most = max(most, level[i])
	}
	g := &group{title: c.title}
	after := tasksOf(c.Tasks)
	if most > 0 {
		after += ", up to " + format.Quantity(most) + " at once"
	}
	if badly(c) {
		after = diagnosisWords(c.Diagnosis) + ": " + after
	}
	width := room(after, tableSize, false)
	g.shapes = append(g.shapes,
		text{x: st.x, y: y + stripName - 6, s: shorten(c.label, tableSize, badly(c), st.w-width-12), size: tableSize, bold: badly(c), fill: themed(ink)},
		text{x: st.x + st.w, y: y + stripName - 6, s: shorten(after, tableSize, false, st.w/2), size: tableSize, anchor: end, fill: themed(muted)})
	base := y + stripName + stripRow
	st.bands = append(st.bands, band{base - stripRow, base})
	from := st.begin
	var bar rect // merge intervals of about the same height to avoid seams
	flush := func() {
		if bar.w > 0 && bar.h > 0 {
			g.shapes = append(g.shapes, bar)
		}
		bar = rect{}
	}
	for i, b := range c.Series {
		x0, x1 := st.px(from), st.px(b.At)
		from = b.At
		h := stripRow * level[i] / max(most, 1e-9)
		if h > 0 {
			h = max(h, 0.8)
		}
		if math.Abs(h-bar.h) > 0.5 || x0 > bar.x+bar.w+0.01 {
			flush()
			bar = rect{x: x0, y: base - h, h: h, fill: rgb(c.fill)}
		}
		bar.w = max(0, x1-bar.x)
	}
	flush()
	g.shapes = append(g.shapes, lines{segments: []segment{{st.x, base, st.x + st.w, base}}, stroke: themed(axis), width: 1})
	return g, base + 6
}

// switches draws the context switches per second.
func (m *tasksModel) switches(st *strip, y float64) (out []shape, bottom float64) {
	most := 0.0
	rate := make([]float64, len(m.p.Samples))
	for i := range m.p.Samples {
		if s := &m.p.Samples[i]; s.Wall > 0 {
			rate[i] = (float64(s.Voluntary) + float64(s.Involuntary)) / s.Wall.Seconds()
		}
		most = max(most, rate[i])
	}
	step := niceStep(max(most, 1), 3)
	top := step * math.Ceil(max(most, 1)/step-1e-9)
	var ticks []tick
	for v := 0.0; v <= top*1.001; v += step {
		ticks = append(ticks, tick{v / top, format.Quantity(v)})
	}
	out, base := st.panel(m.p.SwitchesName()+" a second", ticks, y)
	return append(out, m.steps(st, base, func(i int) float64 { return rate[i] / top }, runtimeColors[0])), base
}

// utilization draws the utilization of the processors.
func (m *tasksModel) utilization(st *strip, y float64) (out []shape, bottom float64) {
	ticks := []tick{{0, "0%"}, {0.5, "50%"}, {1, "100%"}}
	title, throttled := m.p.Utilizations()[0].String(), func(i int) float64 { return m.p.Samples[i].ThrottledShare(m.p.Procs) }
	if m.p.Run.Throttles > 0 {
		title += "; in front: throttled by the control group"
	}
	out, base := st.panel(title, ticks, y)
	return append(out, m.steps(st, base, func(i int) float64 { return m.p.Samples[i].Utilization }, runtimeColors[0]), m.steps(st, base, throttled, gcColors[0])), base
}

// panel draws the rules and labels of a panel and returns the position of its base.
func (st *strip) panel(title string, ticks []tick, y float64) (out []shape, base float64) {
	base = y + panelAbove + panel
	st.bands = append(st.bands, band{base - panel, base})
	rules := lines{stroke: themed(grid), width: 1}
	for _, t := range ticks {
		at := base - panel*t.at
		rules.segments = append(rules.segments, segment{st.x - tickLength, at, st.x + st.w, at})
		out = append(out, tickLabel(st.x, at, t.label))
	}
	return append(out, rules, text{x: st.x, y: y + panelAbove - 12, s: shorten(title, tableSize, false, st.w), size: tableSize, fill: themed(ink)}), base
}

// steps draws a value between 0 and 1 of each sample, as an area in steps. Samples that are mostly
// pauses are not meaningful.
func (m *tasksModel) steps(st *strip, base float64, value func(i int) float64, fill color.RGBA) *group {
	g := &group{}
	for i := range m.p.Samples {
		s := &m.p.Samples[i]
		x0, x1 := st.px(s.At-int64(s.Wall)), st.px(s.At)
		v := min(1, max(0, value(i)))
		if s.Excluded || math.IsNaN(v) || x1 <= x0 || v == 0 {
			continue
		}
		g.shapes = append(g.shapes, rect{x: x0, y: base - panel*v, w: x1 - x0, h: panel * v, fill: rgb(fill)})
	}
	return g
}

// pauses draws a line through all bands wherever the collector had stopped the world. If lines
// would touch, it draws only the first.
func (st *strip) pauses(pauses []granularity.GCPause) *group {
	l := lines{stroke: rgb(gcColors[0]), width: 0.8}
	last := math.Inf(-1)
	for i := range pauses {
		x := st.px(pauses[i].At - int64(pauses[i].Length)/2)
		if x < last+l.width {
			continue
		}
		last = x
		for _, p := range st.bands {
			l.segments = append(l.segments, segment{x, p.top, x, p.bottom})
		}
	}
	return &group{title: "pauses of the garbage collector", shapes: []shape{l}}
}

// axis draws the time axis below everything.
func (st *strip) axis(y float64) (out []shape, bottom float64) {
	wall := float64(st.end - st.begin)
	unit, size := timeUnit(wall)
	ruler := lines{stroke: themed(axis), width: 1, segments: []segment{{st.x, y, st.x + st.w, y}}}
	for _, t := range niceTicks(wall/size, max(2, int(st.w/90))) {
		x := st.px(st.begin + int64(t.at*size))
		ruler.segments = append(ruler.segments, segment{x, y, x, y + tickLength})
		out = append(out, text{x: x, y: y + 20, s: t.label, size: axisSize, anchor: middle, fill: themed(muted)})
	}
	return append(out, ruler, text{x: st.x + st.w/2, y: y + 42, s: "time (" + unit + ")", size: labelSize, anchor: middle, fill: themed(ink)}), y + 50
}
