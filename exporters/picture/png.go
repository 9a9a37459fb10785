package picture

import (
	"bufio"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/vector"
)

// writePNG writes a scene as pixels.
func writePNG(w io.Writer, s *scene, scale float64, dark bool) error {
	img, err := paintScene(s, scale, dark)
	if err != nil {
		return err
	}
	buf := bufio.NewWriterSize(w, 64<<10)
	if err := png.Encode(buf, img); err != nil {
		return err
	}
	return buf.Flush()
}

// paintScene paints a scene in the Go fonts.
func paintScene(s *scene, scale float64, dark bool) (*image.RGBA, error) {
	theme := lightTheme
	if dark {
		theme = darkTheme
	}
	fonts, err := loadFonts()
	if err != nil {
		return nil, err
	}
	c := &canvas{
		img:   image.NewRGBA(image.Rect(0, 0, int(math.Ceil(s.width*scale)), int(math.Ceil(s.height*scale)))),
		scale: scale, theme: theme, fonts: fonts,
	}
	draw.Draw(c.img, c.img.Bounds(), image.NewUniform(theme[paper]), image.Point{}, draw.Src)
	return c.img, c.paint(s.shapes)
}

// unitsPerEm is the unit of the coordinates and advances of the Go fonts.
const unitsPerEm = 2048

// loadFonts parses the regular and the bold font, once. Several pictures may read them at the
// same time, each with a buffer of its own.
var loadFonts = sync.OnceValues(func() (fonts [2]*sfnt.Font, err error) {
	for i, ttf := range [][]byte{goregular.TTF, gobold.TTF} {
		if fonts[i], err = sfnt.Parse(ttf); err != nil {
			return fonts, err
		}
	}
	return fonts, nil
})

// canvas paints shapes on an image.
type canvas struct {
	img   *image.RGBA
	scale float64
	theme map[role]color.RGBA
	fonts [2]*sfnt.Font
	buf   sfnt.Buffer
	ras   vector.Rasterizer
}

func (c *canvas) color(p paint) color.RGBA {
	if p.role == fixed {
		return p.rgb
	}
	return c.theme[p.role]
}

// paint fails only where a font does.
func (c *canvas) paint(shapes []shape) error {
	for _, s := range shapes {
		var err error
		switch s := s.(type) {
		case *group:
			err = c.paint(s.shapes)
		case rect:
			c.rect(s)
		case ribbon:
			c.ribbon(s)
		case lines:
			c.lines(s)
		case text:
			err = c.text(s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *canvas) rect(r rect) {
	x, y := r.x+r.w, r.y+r.h
	c.fill(polygon(point{r.x, r.y}, point{x, r.y}, point{x, y}, point{r.x, y}), c.color(r.fill))
	if r.border {
		c.lines(lines{segments: []segment{{r.x, r.y, x, r.y}, {x, r.y, x, y}, {x, y, r.x, y}, {r.x, y, r.x, r.y}}, stroke: themed(paper), width: borderWidth})
	}
}

// borderWidth is that of the line that sets boxes off.
const borderWidth = 0.8

func (c *canvas) lines(l lines) {
	col := c.color(l.stroke)
	for _, s := range l.segments {
		for _, d := range dashes(s, l.dash) {
			length := math.Hypot(d.x2-d.x1, d.y2-d.y1)
			if length == 0 {
				continue
			}
			// Half the width, at a right angle to the line.
			nx, ny := -(d.y2-d.y1)/length*l.width/2, (d.x2-d.x1)/length*l.width/2
			c.fill(polygon(
				point{d.x1 + nx, d.y1 + ny}, point{d.x2 + nx, d.y2 + ny},
				point{d.x2 - nx, d.y2 - ny}, point{d.x1 - nx, d.y1 - ny},
			), col)
		}
	}
}

// dashes cuts a line into dashes that are as long as the gaps between them.
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

// text paints a line of text. The Go fonts have no kerning: a glyph's advance alone says where the next one stands.
func (c *canvas) text(t text) error {
	f := c.fonts[0]
	if t.bold {
		f = c.fonts[1]
	}
	em := t.size / unitsPerEm
	type glyph struct {
		index   sfnt.GlyphIndex
		advance float64
	}
	var glyphs []glyph
	along := 0.0 // the baseline, from the anchor
	for _, r := range t.s {
		index, err := f.GlyphIndex(&c.buf, r)
		if err != nil {
			return err
		}
		advance, err := f.GlyphAdvance(&c.buf, index, unitsPerEm, font.HintingNone)
		if err != nil {
			return err
		}
		g := glyph{index, float64(advance) * em}
		glyphs = append(glyphs, g)
		along -= g.advance
	}
	along *= [...]float64{start: 0, middle: 0.5, end: 1}[t.anchor]
	col := c.color(t.fill)
	for _, g := range glyphs {
		segments, err := f.LoadGlyph(&c.buf, g.index, unitsPerEm, nil)
		if err != nil {
			return err
		}
		c.fill(outline(segments, func(x, y float64) point {
			dx, dy := along+x*em, y*em
			if t.upright {
				dx, dy = dy, -dx
			}
			return point{t.x + dx, t.y + dy}
		}), col)
		along += g.advance
	}
	return nil
}

// point is a place in the picture.
type point struct{ x, y float64 }

// piece is a part of an outline: the beginning of a contour, or a line or a
// quadratic curve from the piece before.
type piece struct {
	op          sfnt.SegmentOp
	control, to point // the same, unless it is a curve
}

// polygon is the outline of straight lines between corners.
func polygon(corners ...point) []piece {
	out := make([]piece, len(corners))
	for i, p := range corners {
		out[i] = piece{sfnt.SegmentOpLineTo, p, p}
	}
	out[0].op = sfnt.SegmentOpMoveTo
	return out
}

// outline places a glyph in the picture. TrueType fonts have no cubic curves.
func outline(glyph sfnt.Segments, place func(x, y float64) point) []piece {
	out := make([]piece, len(glyph))
	for i, s := range glyph {
		p := place(float64(s.Args[0].X), float64(s.Args[0].Y))
		out[i] = piece{s.Op, p, p}
		if s.Op == sfnt.SegmentOpQuadTo {
			out[i].to = place(float64(s.Args[1].X), float64(s.Args[1].Y))
		}
	}
	return out
}

// fill paints the inside of an outline, anti-aliased. Only the pixels around
// it are touched: a rasterizer as large as the picture would take longer for each glyph.
func (c *canvas) fill(outline []piece, col color.RGBA) {
	x0, y0, x1, y1 := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, p := range outline {
		x0, x1 = min(x0, p.control.x, p.to.x), max(x1, p.control.x, p.to.x)
		y0, y1 = min(y0, p.control.y, p.to.y), max(y1, p.control.y, p.to.y)
	}
	if x0 > x1 {
		return // a space
	}
	area := image.Rect(int(math.Floor(x0*c.scale)), int(math.Floor(y0*c.scale)), int(math.Ceil(x1*c.scale)), int(math.Ceil(y1*c.scale)))
	if area.Intersect(c.img.Bounds()).Empty() {
		return
	}
	c.ras.Reset(area.Dx(), area.Dy())
	at := func(p point) (x, y float32) {
		return float32(p.x*c.scale - float64(area.Min.X)), float32(p.y*c.scale - float64(area.Min.Y))
	}
	for _, p := range outline {
		x, y := at(p.to)
		switch p.op {
		case sfnt.SegmentOpMoveTo:
			c.ras.MoveTo(x, y)
		case sfnt.SegmentOpLineTo:
			c.ras.LineTo(x, y)
		case sfnt.SegmentOpQuadTo:
			bx, by := at(p.control)
			c.ras.QuadTo(bx, by, x, y)
		}
	}
	c.ras.ClosePath() // a polygon; the contours of glyphs end where they begin
	c.ras.Draw(c.img, area, image.NewUniform(col), image.Point{})
}
