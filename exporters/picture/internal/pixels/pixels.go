// Package pixels paints pictures with golang.org/x/image: package sfnt reads the outlines of the Go
// fonts, and package vector fills them. It does not use package opentype, which cannot draw upright
// text, as a time axis needs.
package pixels

import (
	"bufio"
	"fmt"
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

// Drawing is a picture that can be painted. It is implemented by *picture.Drawing.
type Drawing interface {
	// Size returns the size in units, and the number of pixels per unit.
	Size() (width, height, scale float64)
	// Paper returns the color of the background.
	Paper() color.RGBA
	// Paint calls fill for the corners of polygons and text for lines of text, in order. It
	// returns the first error of text.
	Paint(fill func(corners [][2]float64, c color.RGBA), text func(x, y float64, s string, size, anchor float64, bold, upright bool, c color.RGBA) error) error
}

// maxPixels bounds the size of a picture; each pixel takes 4 bytes of memory.
const maxPixels = 120e6

// Write writes a drawing as a PNG.
func Write(w io.Writer, d Drawing) error {
	img, err := Paint(d)
	if err != nil {
		return err
	}
	buf := bufio.NewWriterSize(w, 64<<10)
	if err := png.Encode(buf, img); err != nil {
		return fmt.Errorf("picture: writing PNG: %w", err)
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("picture: writing PNG: %w", err)
	}
	return nil
}

// Paint paints a drawing.
func Paint(d Drawing) (*image.RGBA, error) {
	width, height, scale := d.Size()
	if !(scale >= 0.1 && scale <= 20) {
		return nil, fmt.Errorf("picture: scale %v is not between 0.1 and 20", scale)
	}
	if width*height*scale*scale > maxPixels {
		return nil, fmt.Errorf("picture: a PNG of %.0f × %.0f pixels is too large; lower the scale, or draw fewer groups", width*scale, height*scale)
	}
	fonts, err := Fonts()
	if err != nil {
		return nil, err
	}
	c := &canvas{img: image.NewRGBA(image.Rect(0, 0, int(math.Ceil(width*scale)), int(math.Ceil(height*scale)))), scale: scale, fonts: fonts}
	draw.Draw(c.img, c.img.Bounds(), image.NewUniform(d.Paper()), image.Point{}, draw.Src)
	return c.img, d.Paint(c.polygon, c.text)
}

// UnitsPerEm is the unit of the coordinates and advances of the Go fonts.
const UnitsPerEm = 2048

// Fonts returns the regular and the bold font. It parses them once. Several pictures may use them
// at the same time, each with its own buffer.
var Fonts = sync.OnceValues(func() (fonts [2]*sfnt.Font, err error) {
	for i, ttf := range [][]byte{goregular.TTF, gobold.TTF} {
		if fonts[i], err = sfnt.Parse(ttf); err != nil {
			return fonts, err
		}
	}
	return fonts, nil
})

// canvas paints on an image.
type canvas struct {
	img   *image.RGBA
	scale float64
	fonts [2]*sfnt.Font
	buf   sfnt.Buffer
	ras   vector.Rasterizer
}

// polygon fills a polygon.
func (c *canvas) polygon(corners [][2]float64, col color.RGBA) {
	out := make([]piece, len(corners))
	for i, p := range corners {
		at := point{p[0], p[1]}
		out[i] = piece{sfnt.SegmentOpLineTo, at, at}
	}
	out[0].op = sfnt.SegmentOpMoveTo
	c.fill(out, col)
}

// text paints a line of text; anchor is the fraction of it left of x. The Go fonts have no kerning:
// the advance of a glyph determines the position of the next one.
func (c *canvas) text(x, y float64, s string, size, anchor float64, bold, upright bool, col color.RGBA) error {
	f := c.fonts[0]
	if bold {
		f = c.fonts[1]
	}
	em := size / UnitsPerEm
	type glyph struct {
		index   sfnt.GlyphIndex
		advance float64
	}
	var glyphs []glyph
	along := 0.0 // along the baseline, from the anchor
	for _, r := range s {
		index, err := f.GlyphIndex(&c.buf, r)
		if err != nil {
			return err
		}
		advance, err := f.GlyphAdvance(&c.buf, index, UnitsPerEm, font.HintingNone)
		if err != nil {
			return err
		}
		g := glyph{index, float64(advance) * em}
		glyphs = append(glyphs, g)
		along -= g.advance
	}
	along *= anchor
	for _, g := range glyphs {
		segments, err := f.LoadGlyph(&c.buf, g.index, UnitsPerEm, nil)
		if err != nil {
			return err
		}
		c.fill(outline(segments, func(gx, gy float64) point {
			dx, dy := along+gx*em, gy*em
			if upright {
				dx, dy = dy, -dx
			}
			return point{x + dx, y + dy}
		}), col)
		along += g.advance
	}
	return nil
}

// point is a position in the picture.
type point struct{ x, y float64 }

// piece is a part of an outline: the beginning of a contour, or a line or a quadratic curve from
// the previous piece.
type piece struct {
	op          sfnt.SegmentOp
	control, to point // equal, unless the piece is a curve
}

// outline positions a glyph in the picture. TrueType fonts have no cubic curves.
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

// fill paints the inside of an outline, anti-aliased. It touches only the pixels around the
// outline: a rasterizer as large as the picture would take longer for each glyph.
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
