// Package png writes the drawings of package picture as PNG, in the fonts of the Go project.
//
//	package main
//
//	import (
//		"log"
//		"os"
//		"time"
//
//		"github.com/bottleneck-go/bottleneck/bottle"
//		"github.com/bottleneck-go/bottleneck/exporters/picture"
//		"github.com/bottleneck-go/bottleneck/exporters/picture/png"
//	)
//
//	func main() {
//		g := &bottle.Graph{ // or one that package bottle has read from a trace
//			Wall: time.Second, Procs: 4,
//			Boxes: []bottle.Box{{
//				Group: "main.work", Parallelism: 3,
//				Share: time.Second, Running: 3 * time.Second,
//			}},
//		}
//		d, err := picture.Draw(g, picture.Options{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		if err := png.Write(os.Stdout, d); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// It is a separate package because of its size: the fonts, the rasterizer and the encoder add about
// 0.9 MB to a program. The fonts cover Latin, Greek and Cyrillic. Other scripts appear as empty
// boxes; use SVG for them.
//
// A picture of 7 groups takes 85 ms and 12 MB of memory (BenchmarkPicture of package picture).
package png

// Package sfnt of golang.org/x/image reads the outlines of the fonts, and package vector fills them.
// Package opentype cannot draw upright text, as a time axis needs.

import (
	"bufio"
	"cmp"
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

	"github.com/bottleneck-go/bottleneck/exporters/picture"
)

const (
	scale     = 2     // pixels per unit
	maxPixels = 120e6 // of 4 bytes each
)

// Write writes a drawing as a PNG with two pixels per unit. It returns an error of the writer, or an
// error if the picture has more than 120 million pixels.
func Write(w io.Writer, d *picture.Drawing) error {
	img, err := paint(d)
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

func paint(d *picture.Drawing) (*image.RGBA, error) {
	width, height := d.Size()
	if width*height*scale*scale > maxPixels {
		return nil, fmt.Errorf("picture: a PNG of %.0f × %.0f pixels is too large; draw fewer groups", width*scale, height*scale)
	}
	fonts, err := fonts()
	if err != nil {
		return nil, err
	}
	c := &canvas{img: image.NewRGBA(image.Rect(0, 0, int(math.Ceil(width*scale)), int(math.Ceil(height*scale)))), fonts: fonts}
	draw.Draw(c.img, c.img.Bounds(), image.NewUniform(d.Paper()), image.Point{}, draw.Src)
	d.Paint(c.polygon, c.text)
	return c.img, c.err
}

// unitsPerEm is the unit of the coordinates and advances of the Go fonts.
const unitsPerEm = 2048

// fonts returns the regular and the bold font. It parses them once. Several pictures may use them
// at the same time, each with its own buffer.
var fonts = sync.OnceValues(func() (fonts [2]*sfnt.Font, err error) {
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
	fonts [2]*sfnt.Font
	buf   sfnt.Buffer
	ras   vector.Rasterizer
	err   error // the first one of a font
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
func (c *canvas) text(x, y float64, s string, size, anchor float64, bold, upright bool, col color.RGBA) {
	f := c.fonts[0]
	if bold {
		f = c.fonts[1]
	}
	em := size / unitsPerEm
	var glyphs []sfnt.GlyphIndex
	var advances []float64
	along := 0.0 // along the baseline, from the anchor
	for _, r := range s {
		glyph, err := f.GlyphIndex(&c.buf, r)
		c.err = cmp.Or(c.err, err)
		advance, err := f.GlyphAdvance(&c.buf, glyph, unitsPerEm, font.HintingNone)
		c.err = cmp.Or(c.err, err)
		glyphs, advances = append(glyphs, glyph), append(advances, float64(advance)*em)
		along -= float64(advance) * em * anchor
	}
	for i, glyph := range glyphs {
		segments, err := f.LoadGlyph(&c.buf, glyph, unitsPerEm, nil)
		c.err = cmp.Or(c.err, err)
		c.fill(outline(segments, func(gx, gy float64) point {
			dx, dy := along+gx*em, gy*em
			if upright {
				dx, dy = dy, -dx
			}
			return point{x + dx, y + dy}
		}), col)
		along += advances[i]
	}
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
	area := image.Rect(int(math.Floor(x0*scale)), int(math.Floor(y0*scale)), int(math.Ceil(x1*scale)), int(math.Ceil(y1*scale)))
	if area.Intersect(c.img.Bounds()).Empty() {
		return
	}
	c.ras.Reset(area.Dx(), area.Dy())
	at := func(p point) (x, y float32) {
		return float32(p.x*scale - float64(area.Min.X)), float32(p.y*scale - float64(area.Min.Y))
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
