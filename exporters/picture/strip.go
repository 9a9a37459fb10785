package picture

import (
	"cmp"
	"image/color"
	"math"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/chart"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/result"
)

// Values over time are bars on a common time axis: tasks in progress, the load of the machine,
// counters, or when a goroutine ran.

const (
	stripWidth = 960.0 // of the picture
	stripRow   = 30.0  // the bars of a class
	stripName  = 20.0  // the line above them
	panel      = 84.0
	panelAbove = 34.0 // its title, and the gap above
	laneRow    = 15.0
	laneName   = 150.0
	glyphSize  = 3.0
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

// level is a value during an interval.
type level struct {
	from, to int64
	value    float64 // NaN if unknown
}

// bars draws values as bars that stand on base. A value of top is as high as given.
func (s *strip) bars(title string, base, height, top float64, fill color.RGBA, levels []level) *group {
	g := &group{title: title}
	var bar rect // intervals of about the same height are one bar, to avoid seams
	flush := func() {
		if bar.w > 0 && bar.h > 0 {
			g.shapes = append(g.shapes, bar)
		}
	}
	for _, l := range levels {
		x0, x1, h := s.px(l.from), s.px(l.to), 0.0
		if l.value > 0 && !math.IsInf(l.value, 0) {
			h = max(0.8, height*min(1, l.value/top))
		}
		if math.Abs(h-bar.h) > 0.5 || x0 > bar.x+bar.w+0.01 {
			flush()
			bar = rect{x: x0, y: base - h, h: h, fill: rgb(fill)}
		}
		bar.w = max(0, x1-bar.x)
	}
	flush()
	return g
}

// scaleTo returns the end of an axis for values up to most, and its ticks.
func scaleTo(most float64, label func(v float64) string) (top float64, ticks []tick) {
	step := chart.NiceStep(most / 3)
	top = step * math.Ceil(most/step-1e-9)
	for i := 0; float64(i)*step <= top*1.001; i++ {
		ticks = append(ticks, tick{float64(i) * step / top, label(float64(i) * step)})
	}
	return top, ticks
}

// drawStrip lays out the rows and panels of a profile.
func (m *tasksModel) drawStrip() *Drawing {
	const left = margin + axisRoom
	desc := m.describe("Tasks over time: for each class how many of its tasks were under way; then context switches a second, and how far the processors were used.")
	d, y := newPage(m.opt, "Tasks over time", m.sentence(), desc, left, stripWidth)
	st := &strip{x: left, w: stripWidth - left - margin - 24, begin: m.p.Start, end: ended(m.p)}
	y += 10
	for i := range m.classes {
		row, below := m.row(st, &m.classes[i], y)
		d.add(row)
		y = below
	}
	var notes []string
	if len(m.p.Samples) > 0 {
		more, below := m.switches(st, y)
		d.add(more...)
		more, y = m.utilization(st, below)
		d.add(more...)
		for _, u := range m.p.Utilizations()[1:] {
			notes = append(notes, u.String()+".")
		}
	} else {
		notes = append(notes, "The machine was not sampled, so context switches and utilization are not known: Recorder.Start samples it.")
	}
	if n := len(m.p.Pauses); n > 0 {
		d.add(st.pauses(m.p.Pauses))
		notes = append(notes, "Vertical lines: "+format.Plural(n, "pause", "pauses")+" of the garbage collector.")
	}
	axes, y := st.axis(y)
	d.add(axes...)
	return d.finish(append(notes, warningNotes(m.p.Warnings)...), left, y+10)
}

// row draws the average number of tasks of a class in progress in each interval.
func (m *tasksModel) row(st *strip, c *taskClass, y float64) (*group, float64) {
	most, from := 1e-9, st.begin
	var levels []level
	for _, b := range c.Series {
		l := level{from: from, to: b.At}
		if b.At > from {
			l.value = float64(b.Busy) / float64(b.At-from)
		}
		from, most = b.At, max(most, l.value)
		levels = append(levels, l)
	}
	after := tasksOf(c.Tasks)
	if most > 1e-9 {
		after += ", up to " + format.Quantity(most) + " at once"
	}
	if badly(c) {
		after = diagnosisWords(&c.Class) + ": " + after
	}
	width := room(after, tableSize, false)
	base := y + stripName + stripRow
	st.bands = append(st.bands, band{base - stripRow, base})
	g := st.bars(c.title, base, stripRow, most, c.fill, levels)
	g.shapes = append(g.shapes,
		text{x: st.x, y: y + stripName - 6, s: shorten(c.label, tableSize, badly(c), st.w-width-12), size: tableSize, bold: badly(c), fill: themed(ink)},
		text{x: st.x + st.w, y: y + stripName - 6, s: shorten(after, tableSize, false, st.w/2), size: tableSize, anchor: end, fill: themed(muted)},
		lines{segments: []segment{{st.x, base, st.x + st.w, base}}, stroke: themed(axis), width: 1})
	return g, base + 6
}

// samples returns a value of each sample of the machine, and the largest. Samples that are mostly
// pauses are not meaningful.
func (m *tasksModel) samples(value func(i int) float64) (out []level, most float64) {
	for i := range m.p.Samples {
		if s := &m.p.Samples[i]; !s.Excluded {
			out = append(out, level{s.At - int64(s.Wall), s.At, value(i)})
			most = max(most, value(i))
		}
	}
	return out, most
}

// switches draws the context switches per second.
func (m *tasksModel) switches(st *strip, y float64) (out []shape, bottom float64) {
	rates, most := m.samples(func(i int) float64 {
		s := &m.p.Samples[i]
		if s.Wall <= 0 {
			return 0
		}
		return (float64(s.Voluntary) + float64(s.Involuntary)) / s.Wall.Seconds()
	})
	top, ticks := scaleTo(max(most, 1), format.Quantity)
	out, base := st.panel(m.p.SwitchesName()+" a second", ticks, y)
	return append(out, st.bars("", base, panel, top, runtimeColors[0], rates)), base
}

// utilization draws the utilization of the processors.
func (m *tasksModel) utilization(st *strip, y float64) (out []shape, bottom float64) {
	used, _ := m.samples(func(i int) float64 { return m.p.Samples[i].Utilization })
	throttled, _ := m.samples(func(i int) float64 { return m.p.Samples[i].ThrottledShare(m.p.Procs) })
	title := m.p.Utilizations()[0].String()
	if m.p.Run.Throttles > 0 {
		title += "; in front: throttled by the control group"
	}
	out, base := st.panel(title, []tick{{0, "0%"}, {0.5, "50%"}, {1, "100%"}}, y)
	return append(out, st.bars("", base, panel, 1, runtimeColors[0], used), st.bars("", base, panel, 1, gcColors[0], throttled)), base
}

// levels returns the values of a series with their intervals.
func levels(l *chart.Series) (out []level) {
	for i, v := range l.Values {
		out = append(out, level{l.At(i), l.At(i + 1), v})
	}
	return out
}

// axisLabel returns the function that formats values of an axis.
func axisLabel(unit result.Unit) func(float64) string {
	return func(v float64) string {
		if unit == result.Number || v == 0 {
			return format.Quantity(v)
		}
		return unit.Format(result.Int(int64(v)))
	}
}

// DrawSeries lays out values over time, a panel for each, below a heading with the given sentence.
func DrawSeries(list []chart.Series, sentence string, opt Options) (*Drawing, error) {
	if len(list) == 0 {
		return nil, errNothing
	}
	const left = margin + axisRoom
	sentence = format.Clean(sentence)
	d, y := newPage(opt, "Counters over time", sentence, sentence, left, stripWidth)
	most := map[string]float64{}
	for _, l := range list {
		for _, v := range l.Values {
			if v == v && !math.IsInf(v, 0) {
				most[l.Scale] = max(most[l.Scale], v)
			}
		}
	}
	st := &strip{x: left, w: stripWidth - left - margin - 24, begin: list[0].Begin, end: max(list[0].End, list[0].Begin+1)}
	for i := range list {
		l := &list[i]
		top := cmp.Or(most[l.Scale], 1)
		top, ticks := scaleTo(top, axisLabel(l.Unit))
		name := format.Clean(l.Name)
		shapes, base := st.panel(name, ticks, y)
		d.add(append(shapes, st.bars(name, base, panel, top, coolColors[0], levels(l)))...)
		y = base + 6
	}
	axes, y := st.axis(y)
	d.add(axes...)
	return d.finish([]string{"Each bar is the mean over the quanta that begin in its interval; where there is none, no quantum with a known value begins."}, left, y+10), nil
}

// DrawLanes draws when goroutines, processors, threads or groups ran, one above the other. The values
// are the part of each interval, with a glyph where a long quantum ended.
func DrawLanes(list []chart.Series, sentence string, opt Options) (*Drawing, error) {
	if len(list) == 0 || list[0].End <= list[0].Begin {
		return nil, errNothing
	}
	sentence = format.Clean(sentence)
	d, y := newPage(opt, "Timelines", sentence, sentence, margin, stripWidth)
	st := &strip{x: margin + laneName, w: stripWidth - 2*margin - laneName, begin: list[0].Begin, end: list[0].End}
	glyphs := lines{stroke: themed(ink), width: 1.2}
	y += 8
	for i := range list {
		l := &list[i]
		y += laneRow
		name := format.Clean(l.Name)
		d.add(text{x: margin, y: y - 4, s: shorten(name, axisSize, false, laneName-8), size: axisSize, fill: themed(muted)},
			st.bars(name, y-2, laneRow-3, 1, coolColors[0], levels(l)))
		for at, ended := range l.Ended {
			x1, mid := st.px(l.At(at+1))-1, y-laneRow/2
			x0 := x1 - 2*glyphSize + 1
			switch ended {
			case "preempted":
				glyphs.add(x0, mid-glyphSize, x1, mid, x0, mid+glyphSize, x0, mid-glyphSize)
			case "yielded":
				glyphs.add(x0, mid, x0+glyphSize, mid-glyphSize, x1, mid, x0+glyphSize, mid+glyphSize, x0, mid)
			case "blocked":
				glyphs.add(x0, mid-glyphSize, x1, mid-glyphSize, x1, mid+glyphSize, x0, mid+glyphSize, x0, mid-glyphSize)
			}
		}
	}
	d.add(glyphs)
	axes, y := st.axis(y + 4)
	d.add(axes...)
	return d.finish([]string{"Glyphs at the end of long quanta: a triangle if it was preempted, a diamond if it yielded, a square if it blocked."}, margin, y+10), nil
}

// add adds a path of straight strokes through points.
func (l *lines) add(at ...float64) {
	for i := 0; i+3 < len(at); i += 2 {
		l.segments = append(l.segments, segment{at[i], at[i+1], at[i+2], at[i+3]})
	}
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
	for _, t := range niceTicks(0, wall/size, max(2, math.Floor(st.w/90))) {
		x := st.px(st.begin + int64(t.at*size))
		ruler.segments = append(ruler.segments, segment{x, y, x, y + tickLength})
		out = append(out, text{x: x, y: y + 20, s: t.label, size: axisSize, anchor: middle, fill: themed(muted)})
	}
	return append(out, ruler, text{x: st.x + st.w/2, y: y + 42, s: "time (" + unit + ")", size: labelSize, anchor: middle, fill: themed(ink)}), y + 50
}
