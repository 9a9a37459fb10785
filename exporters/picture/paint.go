package picture

import (
	"image/color"
	"math"
)

// Paint paints the drawing on its background by calling fill with the corners of polygons, and text
// with lines of text. x and y are the point of a text's baseline at the fraction anchor of its
// length: 0 is the beginning. An upright text reads from the bottom to the top.
func (d *Drawing) Paint(fill func(corners [][2]float64, c color.RGBA), text func(x, y float64, s string, size, anchor float64, bold, upright bool, c color.RGBA)) {
	b := brush{fill, text}
	b.shapes(d.shapes)
}

// brush converts shapes to polygons and texts.
type brush struct {
	fill func(corners [][2]float64, c color.RGBA)
	text func(x, y float64, s string, size, anchor float64, bold, upright bool, c color.RGBA)
}

func (b *brush) color(p paint) color.RGBA {
	if p.role == fixed {
		return p.rgb
	}
	return lightTheme[p.role]
}

func (b *brush) shapes(shapes []shape) {
	for _, s := range shapes {
		switch s := s.(type) {
		case *group:
			b.shapes(s.shapes)
		case rect:
			b.rect(s)
		case ribbon:
			b.ribbon(s)
		case lines:
			b.lines(s)
		case text:
			b.text(s.x, s.y, s.s, s.size, [...]float64{start: 0, middle: 0.5, end: 1}[s.anchor], s.bold, s.upright, b.color(s.fill))
		}
	}
}

func (b *brush) rect(r rect) {
	x, y := r.x+r.w, r.y+r.h
	b.fill([][2]float64{{r.x, r.y}, {x, r.y}, {x, y}, {r.x, y}}, b.color(r.fill))
	if r.border {
		b.lines(lines{segments: []segment{{r.x, r.y, x, r.y}, {x, r.y, x, y}, {x, y, r.x, y}, {r.x, y, r.x, r.y}}, stroke: themed(paper), width: borderWidth})
	}
}

// borderWidth is the width of the line that separates boxes.
const borderWidth = 0.8

func (b *brush) lines(l lines) {
	col := b.color(l.stroke)
	for _, s := range l.segments {
		for _, d := range dashes(s, l.dash) {
			length := math.Hypot(d.x2-d.x1, d.y2-d.y1)
			if length == 0 {
				continue
			}
			// Half the width, at a right angle to the line.
			nx, ny := -(d.y2-d.y1)/length*l.width/2, (d.x2-d.x1)/length*l.width/2
			b.fill([][2]float64{{d.x1 + nx, d.y1 + ny}, {d.x2 + nx, d.y2 + ny}, {d.x2 - nx, d.y2 - ny}, {d.x1 - nx, d.y1 - ny}}, col)
		}
	}
}

// dashes splits a line into dashes that are as long as the gaps between them.
func dashes(s segment, dash float64) []segment {
	length := math.Hypot(s.x2-s.x1, s.y2-s.y1)
	if dash <= 0 || length <= dash {
		return []segment{s}
	}
	at := func(d float64) (x, y float64) {
		t := min(1, d/length)
		return s.x1 + t*(s.x2-s.x1), s.y1 + t*(s.y2-s.y1)
	}
	var out []segment
	for d := 0.0; d < length; d += 2 * dash {
		x1, y1 := at(d)
		x2, y2 := at(d + dash)
		out = append(out, segment{x1, y1, x2, y2})
	}
	return out
}

// ribbon paints a ribbon as a polygon. Corners 1/32 of its length apart are invisible.
func (b *brush) ribbon(r ribbon) {
	const parts = 32
	var upper, lower [][2]float64
	for i := range parts + 1 {
		t := float64(i) / parts
		// A cubic Bézier curve; the control points are at the bend, at the height of either end.
		p, q, u, v := (1-t)*(1-t)*(1-t), 3*t*(1-t)*(1-t), 3*t*t*(1-t), t*t*t
		x := p*r.x1 + (q+u)*r.bend() + v*r.x2
		y := (p+q)*r.top1 + (u+v)*r.top2
		upper = append(upper, [2]float64{x, y})
		lower = append(lower, [2]float64{x, y + r.h})
	}
	for i := range lower {
		upper = append(upper, lower[len(lower)-1-i])
	}
	// Colors are multiplied by their opacity.
	part := func(v uint8) uint8 { return uint8(float64(v)*opacity + 0.5) }
	b.fill(upper, color.RGBA{R: part(r.fill.R), G: part(r.fill.G), B: part(r.fill.B), A: part(0xff)})
}
