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

	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/vector"
)

// writePNG paints a scene in the Go fonts.
func writePNG(w io.Writer, s *scene, scale float64, dark bool) error {
	theme := lightTheme
	if dark {
		theme = darkTheme
	}
	fonts, err := loadFonts()
	if err != nil {
		return err
	}
	c := &canvas{
		img:   image.NewRGBA(image.Rect(0, 0, int(math.Ceil(s.width*scale)), int(math.Ceil(s.height*scale)))),
		scale: scale, theme: theme, fonts: fonts,
	}
	draw.Draw(c.img, c.img.Bounds(), image.NewUniform(theme[paper]), image.Point{}, draw.Src)
	c.paint(s.shapes)
	buf := bufio.NewWriterSize(w, 64<<10)
	if err := png.Encode(buf, c.img); err != nil {
		return err
	}
	return buf.Flush()
}

// loadFonts parses the regular and the bold font, once; they are then read under their own locks.
var loadFonts = sync.OnceValues(func() (f [2]*lockedFace, err error) {
	for i, ttf := range [][]byte{goregular.TTF, gobold.TTF} {
		parsed, err := parseFace(ttf)
		if err != nil {
			return f, err
		}
		f[i] = &lockedFace{face: parsed}
	}
	return f, nil
})

// lockedFace lets several pictures use the glyphs that one of them has read.
type lockedFace struct {
	mu   sync.Mutex
	face *face
}

func (f *lockedFace) glyph(r rune) glyph {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.face.glyph(r)
}

// canvas paints shapes on an image.
type canvas struct {
	img   *image.RGBA
	scale float64
	theme map[role]color.RGBA
	fonts [2]*lockedFace
	ras   vector.Rasterizer
}

func (c *canvas) color(p paint) color.RGBA {
	if p.role == fixed {
		return p.rgb
	}
	return c.theme[p.role]
}

func (c *canvas) paint(shapes []shape) {
	for _, s := range shapes {
		switch s := s.(type) {
		case *group:
			c.paint(s.shapes)
		case rect:
			c.rect(s)
		case lines:
			c.lines(s)
		case text:
			c.text(s)
		}
	}
}

func (c *canvas) rect(r rect) {
	corners := []point{{r.x, r.y, true}, {r.x + r.w, r.y, true}, {r.x + r.w, r.y + r.h, true}, {r.x, r.y + r.h, true}}
	c.fill([][]point{corners}, c.color(r.fill))
	if r.border {
		x, y := r.x+r.w, r.y+r.h
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
			c.fill([][]point{{
				{d.x1 + nx, d.y1 + ny, true}, {d.x2 + nx, d.y2 + ny, true},
				{d.x2 - nx, d.y2 - ny, true}, {d.x1 - nx, d.y1 - ny, true},
			}}, col)
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

func (c *canvas) text(t text) {
	f := c.fonts[0]
	if t.bold {
		f = c.fonts[1]
	}
	em := t.size / f.face.unitsPerEm
	along := 0.0 // the baseline, from the anchor
	var glyphs []glyph
	for _, r := range t.s {
		g := f.glyph(r)
		glyphs = append(glyphs, g)
		along -= g.advance * em
	}
	along *= [...]float64{start: 0, middle: 0.5, end: 1}[t.anchor]
	col := c.color(t.fill)
	for _, g := range glyphs {
		placed := make([][]point, len(g.contours))
		for i, contour := range g.contours {
			placed[i] = make([]point, len(contour))
			for j, p := range contour {
				dx, dy := along+p.x*em, -p.y*em
				if t.upright {
					dx, dy = dy, -dx
				}
				placed[i][j] = point{t.x + dx, t.y + dy, p.on}
			}
		}
		c.fill(placed, col)
		along += g.advance * em
	}
}

// fill paints the inside of contours, anti-aliased. Only the pixels around
// them are touched: a rasterizer as large as the picture would take longer for each glyph.
func (c *canvas) fill(contours [][]point, col color.RGBA) {
	x0, y0, x1, y1 := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, contour := range contours {
		for _, p := range contour {
			x0, x1 = min(x0, p.x*c.scale), max(x1, p.x*c.scale)
			y0, y1 = min(y0, p.y*c.scale), max(y1, p.y*c.scale)
		}
	}
	if x0 > x1 {
		return
	}
	area := image.Rect(int(math.Floor(x0)), int(math.Floor(y0)), int(math.Ceil(x1)), int(math.Ceil(y1)))
	if area.Intersect(c.img.Bounds()).Empty() {
		return
	}
	c.ras.Reset(area.Dx(), area.Dy())
	c.ras.DrawOp = draw.Over
	for _, contour := range contours {
		c.outline(contour, float64(area.Min.X), float64(area.Min.Y))
	}
	c.ras.Draw(c.img, area, image.NewUniform(col), image.Point{})
}

// outline gives a closed contour to the rasterizer. Between two control points of
// quadratic curves lies a point of the curve that TrueType leaves out.
func (c *canvas) outline(contour []point, x0, y0 float64) {
	n := len(contour)
	if n < 2 {
		return
	}
	at := func(p point) (x, y float32) { return float32(p.x*c.scale - x0), float32(p.y*c.scale - y0) }
	between := func(a, b point) point { return point{(a.x + b.x) / 2, (a.y + b.y) / 2, true} }
	first := 0
	for first < n && !contour[first].on {
		first++
	}
	var begin point
	if first == n {
		first = 0
		begin = between(contour[n-1], contour[0])
		first = n - 1
	} else {
		begin = contour[first]
	}
	c.ras.MoveTo(at(begin))
	var control *point
	curve := func(to point) {
		if control == nil {
			c.ras.LineTo(at(to))
			return
		}
		bx, by := at(*control)
		cx, cy := at(to)
		c.ras.QuadTo(bx, by, cx, cy)
		control = nil
	}
	for i := 1; i <= n; i++ {
		p := contour[(first+i)%n]
		switch {
		case p.on:
			curve(p)
		case control != nil:
			curve(between(*control, p))
			control = &p
		default:
			control = &p
		}
	}
	curve(begin)
	c.ras.ClosePath()
}
