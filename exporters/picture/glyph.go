package picture

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// This file reads the outlines of TrueType glyphs, as much of the format as
// the Go fonts need: the tables head, hhea, hmtx, cmap (format 4), loca and glyf. The parser of
// golang.org/x/image would do, but needs golang.org/x/text for encodings of the last
// century. The fonts are part of the program and not input; a reader that went outside
// of them would panic in the tests.

// face is a font.
type face struct {
	unitsPerEm       float64
	loca             []uint32
	glyf, hmtx, cmap []byte
	longMetrics      int
	glyphs           map[uint16]glyph
}

// glyph is an outline in font units; y grows upwards.
type glyph struct {
	contours [][]point
	advance  float64
}

// point is a point of a contour: on the curve, or the control point of a quadratic one.
type point struct {
	x, y float64
	on   bool
}

// parseFace finds the tables of a TrueType font.
func parseFace(ttf []byte) (*face, error) {
	if len(ttf) < 12 {
		return nil, errors.New("font too short")
	}
	tables := map[string][]byte{}
	for i := range int(u16(ttf, 4)) {
		entry := ttf[12+16*i:]
		offset, length := u32(entry, 8), u32(entry, 12)
		tables[string(entry[:4])] = ttf[offset : offset+length]
	}
	for _, name := range []string{"head", "hhea", "hmtx", "cmap", "loca", "glyf"} {
		if tables[name] == nil {
			return nil, fmt.Errorf("font without table %q", name)
		}
	}
	f := &face{
		unitsPerEm:  float64(u16(tables["head"], 18)),
		glyf:        tables["glyf"],
		hmtx:        tables["hmtx"],
		longMetrics: int(u16(tables["hhea"], 34)),
		glyphs:      map[uint16]glyph{},
	}
	f.loca = parseLoca(tables["loca"], u16(tables["head"], 50) != 0)
	if f.cmap = findCmap(tables["cmap"]); f.cmap == nil {
		return nil, errors.New("font without a character map of format 4")
	}
	return f, nil
}

// parseLoca reads where each glyph's outline begins.
func parseLoca(b []byte, long bool) (loca []uint32) {
	if long {
		for i := 0; i+4 <= len(b); i += 4 {
			loca = append(loca, u32(b, i))
		}
		return loca
	}
	for i := 0; i+2 <= len(b); i += 2 {
		loca = append(loca, 2*uint32(u16(b, i)))
	}
	return loca
}

// findCmap returns the character map of format 4, which covers the basic multilingual plane.
func findCmap(b []byte) []byte {
	for i := range int(u16(b, 2)) {
		if sub := b[u32(b, 4+8*i+4):]; u16(sub, 0) == 4 {
			return sub
		}
	}
	return nil
}

// index is the number of a character's glyph; 0, an empty box, for one that the font lacks.
func (f *face) index(r rune) uint16 {
	if r > 0xffff {
		return 0
	}
	segments := int(u16(f.cmap, 6)) / 2
	ends := f.cmap[14:]
	starts := ends[2*segments+2:]
	deltas := starts[2*segments:]
	offsets := deltas[2*segments:]
	for i := range segments {
		if int(r) > int(u16(ends, 2*i)) {
			continue
		}
		first := int(u16(starts, 2*i))
		if int(r) < first {
			return 0
		}
		offset := int(u16(offsets, 2*i))
		if offset == 0 {
			return uint16(r) + u16(deltas, 2*i)
		}
		// The offset counts from its own place, as the format has it.
		if g := u16(offsets, 2*i+offset+2*(int(r)-first)); g != 0 {
			return g + u16(deltas, 2*i)
		}
		return 0
	}
	return 0
}

// glyph returns the outline of a character.
func (f *face) glyph(r rune) glyph {
	i := f.index(r)
	g, ok := f.glyphs[i]
	if !ok {
		g = glyph{contours: f.contours(i, 0), advance: f.advance(i)}
		f.glyphs[i] = g
	}
	return g
}

// advance is the width of a glyph. Those after the last that has a width of its own have the last one's.
func (f *face) advance(i uint16) float64 {
	return float64(u16(f.hmtx, 4*min(int(i), f.longMetrics-1)))
}

// contours reads an outline: a simple one, or one composed of others (é of e and ´).
func (f *face) contours(i uint16, depth int) [][]point {
	if int(i)+1 >= len(f.loca) || f.loca[i] == f.loca[i+1] || depth > 4 {
		return nil // a space
	}
	b := f.glyf[f.loca[i]:f.loca[i+1]]
	n := int(int16(u16(b, 0)))
	if n < 0 {
		return f.composite(b[10:], depth)
	}
	return simple(b[10:], n)
}

// Bits of the flags of points.
const (
	onCurve = 1 << iota
	xShort
	yShort
	repeat
	xSame // or, for a short x, that it is positive
	ySame
)

// simple reads n contours: their last points, instructions, which are skipped, flags, x and y.
func simple(b []byte, n int) [][]point {
	ends := make([]int, n)
	for i := range ends {
		ends[i] = int(u16(b, 2*i)) + 1
	}
	total := ends[n-1]
	b = b[2*n:]
	b = b[2+int(u16(b, 0)):]

	flags := make([]byte, 0, total)
	for len(flags) < total {
		flag := b[0]
		b = b[1:]
		flags = append(flags, flag)
		if flag&repeat != 0 {
			for range b[0] {
				flags = append(flags, flag)
			}
			b = b[1:]
		}
	}
	points := make([]point, total)
	b = coordinates(b, flags, xShort, xSame, func(i int, v float64) { points[i].x = v })
	coordinates(b, flags, yShort, ySame, func(i int, v float64) { points[i].y = v })

	contours := make([][]point, n)
	first := 0
	for i, last := range ends {
		contours[i] = points[first:last]
		first = last
	}
	for i := range points {
		points[i].on = flags[i]&onCurve != 0
	}
	return contours
}

// coordinates reads the differences of x or y from point to point and returns what follows them.
func coordinates(b, flags []byte, short, same byte, set func(i int, v float64)) []byte {
	v := 0
	for i, flag := range flags {
		switch {
		case flag&short != 0:
			d := int(b[0])
			if flag&same == 0 {
				d = -d
			}
			v += d
			b = b[1:]
		case flag&same == 0:
			v += int(int16(u16(b, 0)))
			b = b[2:]
		}
		set(i, float64(v))
	}
	return b
}

// composite reads the parts of a composed glyph. The Go fonts only move them, they do
// not scale; parts that are scaled are skipped over and shown unscaled.
func (f *face) composite(b []byte, depth int) (contours [][]point) {
	const (
		words = 1 << iota
		offsets
		_
		scale
		_
		more
		scaleXY
		scale2x2
	)
	for {
		flags, part := u16(b, 0), u16(b, 2)
		var dx, dy float64
		if flags&words != 0 {
			dx, dy = float64(int16(u16(b, 4))), float64(int16(u16(b, 6)))
			b = b[8:]
		} else {
			dx, dy = float64(int8(b[4])), float64(int8(b[5]))
			b = b[6:]
		}
		if flags&offsets == 0 {
			dx, dy = 0, 0 // aligned by point numbers
		}
		switch {
		case flags&scale != 0:
			b = b[2:]
		case flags&scaleXY != 0:
			b = b[4:]
		case flags&scale2x2 != 0:
			b = b[8:]
		}
		for _, c := range f.contours(part, depth+1) {
			moved := make([]point, len(c))
			for i, p := range c {
				moved[i] = point{p.x + dx, p.y + dy, p.on}
			}
			contours = append(contours, moved)
		}
		if flags&more == 0 {
			return contours
		}
	}
}

func u16(b []byte, i int) uint16 { return binary.BigEndian.Uint16(b[i:]) }

func u32(b []byte, i int) uint32 { return binary.BigEndian.Uint32(b[i:]) }
