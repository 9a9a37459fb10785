package picture

import (
	"math"
	"strconv"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Sizes of pictures of tasks.
const (
	cdfHeight   = 380.0
	curveWidth  = 2.6
	mostDecades = 22 // 64-bit values have 20
)

// cdfPlot is the area of the curves: a logarithmic x axis, and the part of the tasks as y.
type cdfPlot struct {
	x, y, w, h float64
	lo, hi     int // decades
}

func (p *cdfPlot) px(v float64) float64 {
	at := (math.Log10(max(v, 1)) - float64(p.lo)) / float64(p.hi-p.lo)
	return p.x + p.w*min(1, max(0, at))
}

func (p *cdfPlot) py(fraction float64) float64 { return p.y + p.h*(1-fraction) }

// drawCDF lays out the curves of a profile.
func (m *tasksModel) drawCDF() *Drawing {
	const left = margin + axisRoom
	desc := m.describe("Task granularity: for each class the part of its tasks that is at most so large.")
	d, y := newPage(m.opt, "Task granularity", m.sentence(), desc, left, stripWidth)
	p := cdfPlot{x: left, y: y + 16, w: stripWidth - left - margin - 24, h: cdfHeight}
	p.lo, p.hi = m.decades()
	d.add(m.cdf(&p)...)
	y = p.y + p.h + 80
	if len(m.classes) > 0 {
		table, bottom := m.table(stripWidth-left-margin).draw(left, y+12.8, stripWidth-margin)
		d.add(table...)
		y = bottom - 5
	}
	return d.finish(m.notes(), left, y)
}

// decades returns the range of the axis: the sizes of the tasks, and the end of the shaded area if
// it is near.
func (m *tasksModel) decades() (lo, hi int) {
	least, most := math.Inf(1), 0.0
	for i := range m.classes {
		least, most = min(least, float64(m.classes[i].hist.Min())), max(most, float64(m.classes[i].hist.Max()))
	}
	if len(m.classes) == 0 {
		least, most = 1e3, 1e6
	}
	least, most = max(least, 1), max(most, 1)
	if fine := m.p.FineBelow(); fine > least/30 && fine < most*30 {
		least, most = min(least, fine/2), max(most, fine)
	}
	lo, hi = int(math.Floor(math.Log10(max(least, 1)))), int(math.Ceil(math.Log10(most)-1e-9))
	return lo, min(max(hi, lo+1), lo+mostDecades)
}

// cdf draws the axes, the shaded area and the curves.
func (m *tasksModel) cdf(p *cdfPlot) (out []shape) {
	out = append(out, m.shading(p)...)
	rules := lines{stroke: themed(grid), width: 1.4}
	for i := range 5 {
		y := p.py(float64(i) / 4)
		rules.segments = append(rules.segments, segment{p.x, y, p.x + p.w, y})
		out = append(out, text{x: p.x - 10, y: y + 0.35*axisSize, s: strconv.Itoa(25*i) + "%", size: axisSize, anchor: end, fill: themed(muted)})
	}
	every := 1
	for float64(p.hi-p.lo)/float64(every) > p.w/76 {
		every++
	}
	for d := p.lo; d <= p.hi; d++ {
		x := p.px(math.Pow(10, float64(d)))
		rules.segments = append(rules.segments, segment{x, p.y, x, p.y + p.h + tickLength})
		if (d-p.lo)%every == 0 {
			out = append(out, m.decade(d, x, p.y+p.h)...)
		}
	}
	name := "granularity (reference cycles; below: their time)"
	switch {
	case m.p.ByTime():
		name = "granularity (running time)"
	case m.p.Hz == 0:
		name = "granularity (cycles)"
	}
	out = append(out, rules,
		text{x: p.x + p.w/2, y: p.y + p.h + 60, s: shorten(name, labelSize, false, p.w), size: labelSize, anchor: middle, fill: themed(ink)},
		text{x: p.x - 58, y: p.y + p.h/2, s: "part of the tasks", size: labelSize, anchor: middle, fill: themed(ink), upright: true})
	for i := len(m.classes) - 1; i >= 0; i-- { // the largest on top
		out = append(out, m.curve(p, &m.classes[i]))
	}
	return out
}

// shading marks the range of fine-grained tasks, and labels the side of coarse-grained ones.
func (m *tasksModel) shading(p *cdfPlot) (out []shape) {
	x := p.x
	if fine := m.p.FineBelow(); fine > 1 {
		x = p.px(fine)
	}
	if x > p.x {
		out = append(out, rect{x: p.x, y: p.y, w: x - p.x, h: p.h, fill: themed(shade)})
	}
	if s := "fine-grained"; room(s, labelSize, false)+12 <= x-p.x {
		out = append(out, text{x: p.x + 8, y: p.y + 20, s: s, size: labelSize, fill: themed(muted)})
	}
	if s := "coarse-grained"; room(s, labelSize, false)+16 <= p.x+p.w-x {
		out = append(out, text{x: p.x + p.w - 8, y: p.y + p.h - 12, s: s, size: labelSize, anchor: end, fill: themed(muted)})
	}
	return out
}

// decade labels a tick: a power of ten, and the equivalent time of this number of cycles.
func (m *tasksModel) decade(d int, x, y float64) (out []shape) {
	v := math.Pow(10, float64(d))
	t, known := m.p.Duration(v)
	first := format.Quantity(v)
	if m.p.ByTime() {
		first, known = format.Duration(t), false
	}
	out = append(out, text{x: x, y: y + 20, s: first, size: axisSize, anchor: middle, fill: themed(muted)})
	if known && t >= time.Nanosecond {
		out = append(out, text{x: x, y: y + 36, s: format.Duration(t), size: noteSize, anchor: middle, fill: themed(muted)})
	}
	return out
}

// curve draws the distribution of a class in steps. Points closer than half a unit are merged.
func (m *tasksModel) curve(p *cdfPlot, c *taskClass) *group {
	l := lines{stroke: rgb(c.fill), width: curveWidth}
	const join = curveWidth / 2 // makes the corners solid
	x, y := p.px(float64(c.hist.Min())), p.py(0)
	for value, fraction := range c.hist.CDF() {
		nx, ny := p.px(value), p.py(fraction)
		if fraction < 1 && nx-x < 0.5 && y-ny < 0.5 {
			continue
		}
		if nx > x {
			l.segments = append(l.segments, segment{max(p.x, x-join), y, min(p.x+p.w, nx+join), y})
		}
		l.segments = append(l.segments, segment{nx, y, nx, ny})
		x, y = nx, ny
	}
	return &group{title: c.title, shapes: []shape{l}}
}
