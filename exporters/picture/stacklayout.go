package picture

import (
	"math"
	"strconv"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// Lengths of a picture of stacks.
const (
	stackHeight = 420.0
	stackBar    = 84.0 // a bar, as wide as it should be
	stackGap    = 56.0 // between two
	leastBar    = 8.0
	stackFoot   = 52.0 // labels and title of the axis
)

// layout places title, bars, legend and notes.
func (m *stackModel) layout() *scene {
	const left, gap = margin + axisRoom, 40.0
	legend := m.legend()
	n := float64(len(m.stacks))
	plotWidth := max(260, n*(stackBar+stackGap))
	width := m.opt.Width
	if width == 0 {
		width = min(1240, max(640, left+plotWidth+gap+legend.width+margin))
		if line := left + room(m.sentence(), subtitleSize, false) + margin; line < 900 {
			width = max(width, line) // no last word on a line of its own
		}
	}
	below := width-left-margin-gap-legend.width < max(200, n*(leastBar+4))
	space := width - left - margin
	if !below {
		space -= gap + legend.width
	}
	s := &scene{width: width, title: m.title(), desc: m.describe()}
	head, y := heading(m.title(), []string{m.sentence(), format.Clean(m.opt.Subtitle)}, left, width)
	y += 14
	p := stackPlot{x: left, y: y, w: min(plotWidth, space), h: stackHeight}
	if !below {
		p.h = max(stackHeight, legend.height-stackFoot)
	}
	s.shapes = append(head, m.chart(&p)...)
	foot := p.y + p.h + stackFoot
	if below {
		shapes := legend.draw(m, left, foot+8)
		s.shapes = append(s.shapes, shapes...)
		foot += 8 + legend.height
	} else {
		s.shapes = append(s.shapes, legend.draw(m, p.x+p.w+gap, y-4)...)
		foot = max(foot, y-4+legend.height)
	}
	notes, bottom := footnotes(warningNotes(m.warnings()), left, foot, width)
	s.shapes = append(s.shapes, notes...)
	s.height = bottom + margin
	return s
}

// stackPlot is the area of the bars.
type stackPlot struct {
	x, y, w, h float64
	up, down   float64 // of the axis, from zero
}

func (p *stackPlot) py(v float64) float64 { return p.y + p.h*(p.up-v)/(p.up+p.down) }

// chart draws the axis and the bars.
func (m *stackModel) chart(p *stackPlot) (out []shape) {
	up, down := m.span()
	p.up, p.down = headroom*up, headroom*down
	rules := lines{stroke: themed(grid), width: 1}
	step := niceStep(up+down, max(3, int(p.h/60)))
	decimals := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	for i := -int(math.Floor(down/step + 1e-9)); float64(i)*step <= up*(1+1e-9); i++ {
		v := float64(i) * step
		y := p.py(v)
		if i != 0 {
			rules.segments = append(rules.segments, segment{p.x - tickLength, y, p.x + p.w, y})
		}
		out = append(out, text{x: p.x - tickLength - 6, y: y + 0.35*axisSize, s: trimZeros(strconv.FormatFloat(v, 'f', decimals, 64)), size: axisSize, anchor: end, fill: themed(muted)})
	}
	out = append([]shape{rules}, out...)
	each := p.w / float64(len(m.stacks))
	bar := min(stackBar, max(leastBar, each*0.6))
	for i, s := range m.stacks {
		x := p.x + (float64(i)+0.5)*each
		out = append(out, m.bar(p, i, x-bar/2, bar))
		if l := shorten(barLabel(s), axisSize, false, each); l != "" {
			out = append(out, text{x: x, y: p.y + p.h + 19, s: l, size: axisSize, anchor: middle, fill: themed(muted)})
		}
	}
	zero := lines{segments: []segment{{p.x - tickLength, p.py(0), p.x + p.w, p.py(0)}}, stroke: themed(axis), width: 1}
	return append(out, zero,
		text{x: p.x - 50, y: p.y + p.h/2, s: "speed-up", size: labelSize, anchor: middle, fill: themed(ink), upright: true},
		text{x: p.x + p.w/2, y: p.y + p.h + 42, s: "workers", size: labelSize, anchor: middle, fill: themed(ink)})
}

// bar draws one stack: what is positive from zero up, what is negative from zero down.
func (m *stackModel) bar(p *stackPlot, i int, x, w float64) *group {
	s := m.stacks[i]
	out := &group{title: barLabel(s) + ": " + s.Sentence()}
	up, down := 0.0, 0.0
	for _, part := range m.parts {
		v := part.values[i]
		if v == 0 {
			continue
		}
		from, to := up, up+v
		if v < 0 {
			from, to = -down+v, -down
			down -= v
		} else {
			up += v
		}
		r := rect{x: x, y: p.py(to), w: w, h: p.py(from) - p.py(to), fill: rgb(part.fill), border: true}
		g := &group{title: part.name + ": " + format.Parallelism(v) + whatIf(s, part), shapes: []shape{r}}
		stroke := part.fill
		if v < 0 {
			stroke = hatchColor(part.fill)
			g.shapes = append(g.shapes, hatch(r, 1, rgb(stroke)))
		}
		size := labelSize
		if t := valueText(v); r.h >= 15 && room(t, size, part.bold) <= w {
			g.shapes = append(g.shapes, text{x: x + w/2, y: r.y + r.h/2 + 0.35*size, s: t, size: size, bold: part.bold, anchor: middle, fill: rgb(labelColor(part.fill, stroke))})
		}
		out.shapes = append(out.shapes, g)
	}
	y := p.py(float64(s.N))
	out.shapes = append(out.shapes, lines{segments: []segment{{x - 12, y, x - 1, y}, {x + w + 1, y, x + w + 12, y}}, stroke: themed(axis), width: 1.4})
	return out
}

func valueText(v float64) string {
	if math.Abs(v) >= 9.95 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// whatIf says what the speed-up would be without a component.
func whatIf(s *speedup.Stack, part stackPart) string {
	if part.what < 0 {
		return ""
	}
	v := s.WhatIf(speedup.Component(part.what))
	if math.IsInf(v, 0) {
		return ""
	}
	return "; without it, " + format.Parallelism(v) + " times faster"
}
