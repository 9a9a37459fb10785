package picture

import "image/color"

// Drawing is a finished picture: rectangles, lines and texts in units of one SVG pixel, painted in
// order. It can be written as SVG, or by package png as pixels, which look alike.
type Drawing struct {
	width, height float64
	title, desc   string // for readers who cannot see the picture
	shapes        []shape
}

// Size returns the size in units. A unit is a pixel of an SVG.
func (d *Drawing) Size() (width, height float64) { return d.width, d.height }

// Paper returns the color of the background.
func (d *Drawing) Paper() color.RGBA { return lightTheme[paper] }

func (d *Drawing) add(shapes ...shape) { d.shapes = append(d.shapes, shapes...) }

// shape is a rect, a ribbon, lines, a text, or a *group.
type shape interface{ isShape() }

func (rect) isShape()   {}
func (ribbon) isShape() {}
func (lines) isShape()  {}
func (text) isShape()   {}
func (*group) isShape() {}

// group holds shapes that belong together, and their tooltip.
type group struct {
	title  string
	shapes []shape
}

// rect is a filled rectangle. A border separates it from its neighbors by a thin line in the color
// of the background.
type rect struct {
	x, y, w, h float64
	fill       paint
	border     bool
}

// ribbon is a band between two vertical sides that leaves both at right angles, used for flows.
// Bands are translucent, so that both are visible where they cross.
type ribbon struct {
	x1, top1, x2, top2 float64
	h                  float64 // the same on both sides
	fill               color.RGBA
}

// opacity is the opacity of ribbons.
const opacity = 0.5

// bend returns the x coordinate of the control points of a ribbon's curves: the middle.
func (r ribbon) bend() float64 { return (r.x1 + r.x2) / 2 }

// lines are straight strokes of the same style.
type lines struct {
	segments []segment
	stroke   paint
	width    float64
	dash     float64 // length of dashes and gaps; 0 is solid
}

type segment struct{ x1, y1, x2, y2 float64 }

// text is one line of text. x, y is the left end, middle or right end of its baseline. Upright text
// reads from the bottom to the top; its baseline is vertical.
type text struct {
	x, y    float64
	s       string
	size    float64
	bold    bool
	anchor  anchor
	fill    paint
	upright bool
}

type anchor int

const (
	start anchor = iota
	middle
	end
)

// paint is a color of the theme, which depends on light or dark mode, or a fixed one.
type paint struct {
	role role
	rgb  color.RGBA // if role is fixed
}

// role is the purpose of a color of the theme.
type role int

const (
	fixed role = iota
	paper
	ink
	muted
	grid
	axis
	limit
	shade // an area behind a plot
)

func rgb(c color.RGBA) paint { return paint{rgb: c} }

func themed(r role) paint { return paint{role: r} }
