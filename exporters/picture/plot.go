package picture

import (
	"cmp"
	"math"
	"strconv"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/chart"
)

// plot is the area between the axes: parallelism on both sides of its middle, execution time from
// the bottom.
type plot struct {
	x, y, w, h float64
	xmax       float64 // parallelism at the right edge
	ymax       float64 // nanoseconds at the top
}

func (p plot) px(parallelism float64) float64 { return p.x + p.w/2 + parallelism/p.xmax*p.w/2 }

func (p plot) py(ns float64) float64 { return p.y + p.h - ns/p.ymax*p.h }

func (p plot) bottom() float64 { return p.y + p.h }

func (p plot) right() float64 { return p.x + p.w }

// height returns the time that a graph's boxes and its idle time fill. It is the wall time unless a
// graph does not add up; this keeps such a graph within the plot.
func height(g *bottle.Graph) float64 {
	sum := float64(max(0, g.Idle))
	for i := range g.Boxes {
		sum += float64(max(0, g.Boxes[i].Share))
	}
	return max(sum, float64(g.Wall))
}

// scales returns the ends of the axes for graphs that are drawn alike.
func scales(graphs ...*bottle.Graph) (xmax, ymax float64, procs int) {
	widest := 0.0
	for _, g := range graphs {
		ymax = max(ymax, height(g))
		procs = max(procs, g.Procs)
		for i := range g.Boxes {
			widest = max(widest, g.Boxes[i].Parallelism)
		}
	}
	if ymax <= 0 {
		ymax = float64(time.Second) // the axis needs a length even if there is nothing to draw
	}
	widest = cmp.Or(widest, float64(procs))
	xmax = max(widest, 1)
	// The limit belongs in the picture unless it would make the boxes too narrow.
	const crushed = 3
	if procs > 0 && float64(procs) <= crushed*xmax {
		return max(xmax, float64(procs)), ymax, procs
	}
	return xmax, ymax, 0
}

// Sizes of ticks and of the texts of the chart.
const (
	tickLength = 5.0
	axisSize   = 12.5
	labelSize  = 13.0
	lineHeight = 17.0 // of labels beside the boxes
)

// grid draws the lines behind the boxes, time lines starting at left, and the labels of the
// parallelism axis.
func (p plot) grid(wall, left, labels float64, procs int) (out []shape) {
	_, size := timeUnit(wall)
	var rules, marks []segment
	for _, t := range p.timeTicks(wall) {
		if y := p.py(t.at * size); t.at > 0 {
			rules = append(rules, segment{left, y, p.right(), y})
		}
	}
	for _, t := range parallelismTicks(p.xmax/headroom, p.w/2/headroom, labels) {
		for _, at := range sides(t.at) {
			x := p.px(at)
			rules = append(rules, segment{x, p.y, x, p.bottom()})
			marks = append(marks, segment{x, p.bottom(), x, p.bottom() + tickLength})
			out = append(out, text{x: x, y: p.bottom() + tickLength + 2.5 + labels, s: t.label, size: labels, anchor: middle, fill: themed(muted)})
		}
	}
	out = append([]shape{lines{segments: rules, stroke: themed(grid), width: 1}}, out...)
	if procs > 0 {
		out = append(out, p.limit(procs)...)
	}
	marks = append(marks, segment{left, p.bottom(), p.right(), p.bottom()})
	return append(out, lines{segments: marks, stroke: themed(axis), width: 1})
}

// timeTicks returns the ticks of the time axis, in its unit.
func (p plot) timeTicks(wall float64) []tick {
	_, size := timeUnit(wall)
	return niceTicks(0, wall/size, max(2, math.Floor(p.h/46)))
}

// timeAxis draws the labels and the title of the axis at the left.
func (p plot) timeAxis(wall float64) (out []shape) {
	unit, size := timeUnit(wall)
	for _, t := range p.timeTicks(wall) {
		out = append(out, tickLabel(p.x, p.py(t.at*size), t.label))
	}
	title := "execution time (" + unit + ")"
	if room(title, labelSize, false) > p.h {
		title = "time (" + unit + ")"
	}
	return append(out, text{x: p.x - 50, y: p.y + p.h/2, s: title, size: labelSize, anchor: middle, fill: themed(ink), upright: true})
}

// tickLabel returns a label of an axis at the left.
func tickLabel(x, y float64, s string) text {
	return text{x: x - tickLength - 6, y: y + 0.35*axisSize, s: s, size: axisSize, anchor: end, fill: themed(muted)}
}

// sides returns a parallelism to the right and the left of 0.
func sides(at float64) []float64 {
	if at == 0 {
		return []float64{0}
	}
	return []float64{at, -at}
}

// limit draws the limit that the number of processors sets for the boxes, on both sides.
func (p plot) limit(procs int) []shape {
	l := lines{stroke: themed(limit), width: 1.2, dash: 4}
	for _, at := range sides(float64(procs)) {
		l.segments = append(l.segments, segment{p.px(at), p.y, p.px(at), p.bottom()})
	}
	return []shape{l}
}

// hatch fills a rectangle with parallel lines. It cuts them at the edges, so that no back end needs
// clipping or patterns.
func hatch(r rect, slope int, stroke paint) lines {
	const gap = 7.0
	l := lines{stroke: stroke, width: 1.6}
	x0, x1, y0, y1 := r.x, r.x+r.w, r.y, r.y+r.h
	// Lines are at multiples of gap from the picture's corner, so that those of neighbors meet.
	for c := math.Floor((x0-y1)/gap) * gap; c < x1+y1; c += gap {
		s := segment{y1: max(y0, x0-c), y2: min(y1, x1-c)} // x − y = c
		s.x1, s.x2 = c+s.y1, c+s.y2
		if slope > 0 { // x + y = c
			s.y1, s.y2 = max(y0, c-x1), min(y1, c-x0)
			s.x1, s.x2 = c-s.y1, c-s.y2
		}
		if s.y1 < s.y2 {
			l.segments = append(l.segments, s)
		}
	}
	return l
}

// tick is a labeled position on an axis.
type tick struct {
	at    float64
	label string
}

// niceTicks returns the multiples of a nice step from −below to most, about n of them.
func niceTicks(below, most, n float64) []tick {
	step := chart.NiceStep((below + most) / n)
	decimals := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	var out []tick
	for i := -int(math.Floor(below/step + 1e-9)); float64(i)*step <= most*(1+1e-9); i++ {
		at := float64(i) * step
		out = append(out, tick{at, decimal(at, decimals)})
	}
	return out
}

// decimal formats v with at most that number of decimals, but 1 instead of 1.0, because 0, 0.5, 1,
// 1.5 is easier to read on an axis.
func decimal(v float64, decimals int) string {
	f, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', decimals, 64), 64)
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// timeUnit returns the unit of the time axis for a wall time, and its size in nanoseconds.
func timeUnit(wall float64) (name string, size float64) {
	for _, u := range []struct {
		name  string
		size  time.Duration
		least float64 // the labels of the axis have at most four digits
	}{
		{"1000 h", 1000 * time.Hour, 9}, {"h", time.Hour, 2.5},
		{"s", time.Second, 1}, {"ms", time.Millisecond, 1}, {"µs", time.Microsecond, 1},
	} {
		if wall >= u.least*float64(u.size) {
			return u.name, float64(u.size)
		}
	}
	return "ns", 1
}

// parallelismTicks returns the ticks on one side of 0: whole goroutines, as many as fit on an axis
// of the given length without labels touching.
func parallelismTicks(most, length, size float64) []tick {
	for n := min(int(most), int(length/34)); n > 1; n-- {
		ticks := niceTicks(0, most, float64(n))
		if last := ticks[len(ticks)-1]; len(ticks) > 1 && (room(last.label, size, false)+10)*most/length <= ticks[1].at {
			return ticks
		}
	}
	whole := math.Floor(most)
	return []tick{{0, "0"}, {whole, strconv.FormatFloat(whole, 'f', -1, 64)}}
}
