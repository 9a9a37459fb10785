package picture

import "image/color"

// ribbon is a band between two vertical sides that leaves both at right angles, as flows
// are drawn. Where bands cross, both can be seen: they are translucent.
type ribbon struct {
	x1, top1, x2, top2 float64
	h                  float64 // the same on both sides
	fill               color.RGBA
}

func (ribbon) isShape() {}

// opacity is how much of what is below ribbons they hide.
const opacity = 0.5

// bend is where the control points of a ribbon's curves are: in the middle.
func (r ribbon) bend() float64 { return (r.x1 + r.x2) / 2 }

func (o *svgWriter) ribbon(r ribbon) {
	m := num(r.bend())
	o.print(`<path fill="`, hexOf(r.fill), `" fill-opacity="`, num(opacity), `" d="M`, num(r.x1), " ", num(r.top1),
		"C", m, " ", num(r.top1), " ", m, " ", num(r.top2), " ", num(r.x2), " ", num(r.top2),
		"V", num(r.top2+r.h),
		"C", m, " ", num(r.top2+r.h), " ", m, " ", num(r.top1+r.h), " ", num(r.x1), " ", num(r.top1+r.h), "Z\"/>\n")
}

// ribbon paints a ribbon as a polygon: nobody sees corners that are 1/32 of its length apart.
func (b *brush) ribbon(r ribbon) {
	const parts = 32
	var upper, lower [][2]float64
	for i := range parts + 1 {
		t := float64(i) / parts
		// A cubic Bézier curve; the control points are at the bend, on the level of either
		// end.
		p, q, u, v := (1-t)*(1-t)*(1-t), 3*t*(1-t)*(1-t), 3*t*t*(1-t), t*t*t
		x := p*r.x1 + (q+u)*r.bend() + v*r.x2
		y := (p+q)*r.top1 + (u+v)*r.top2
		upper = append(upper, [2]float64{x, y})
		lower = append(lower, [2]float64{x, y + r.h})
	}
	for i := range lower {
		upper = append(upper, lower[len(lower)-1-i])
	}
	part := func(v uint8) uint8 { return uint8(float64(v)*opacity + 0.5) } // colours are multiplied by their opacity
	b.fill(upper, color.RGBA{R: part(r.fill.R), G: part(r.fill.G), B: part(r.fill.B), A: part(0xff)})
}
