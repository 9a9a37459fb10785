package picture

import (
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
)

const unitsPerEm = 2048

// goFonts returns the fonts of PNGs, regular and bold.
func goFonts(t *testing.T) (fonts [2]*sfnt.Font) {
	for i, ttf := range [][]byte{goregular.TTF, gobold.TTF} {
		f, err := sfnt.Parse(ttf)
		if err != nil {
			t.Fatal(err)
		}
		fonts[i] = f
	}
	return fonts
}

// glyphOf returns the number of a character's glyph, 0 if the font has none, and its width.
func glyphOf(t *testing.T, f *sfnt.Font, buf *sfnt.Buffer, r rune) (sfnt.GlyphIndex, float64) {
	t.Helper()
	i, err := f.GlyphIndex(buf, r)
	if err != nil {
		t.Fatal(err)
	}
	width, err := f.GlyphAdvance(buf, i, unitsPerEm, font.HintingNone)
	if err != nil {
		t.Fatal(err)
	}
	return i, float64(width)
}

// TestWidthsAreThoseOfTheFonts compares the tables with the fonts of the PNGs.
func TestWidthsAreThoseOfTheFonts(t *testing.T) {
	fonts := goFonts(t)
	var buf sfnt.Buffer
	for i, bold := range []bool{false, true} {
		for r := ' '; r <= '~'; r++ {
			_, want := glyphOf(t, fonts[i], &buf, r)
			if got := advance(string(r), unitsPerEm, bold); got != want {
				t.Errorf("bold %v: %q is %v wide in the table, %v in the font", bold, r, got, want)
			}
		}
		// For other characters the table may overestimate, but never underestimate.
		for r := rune(0xa0); r < 0x2200; r++ {
			glyph, want := glyphOf(t, fonts[i], &buf, r)
			if got := room(string(r), unitsPerEm, bold); glyph != 0 && got < want && estimate(r) != 0 {
				t.Errorf("bold %v: %q has room of %v, its glyph takes %v", bold, r, got, want)
			}
		}
	}
}

// TestFonts checks the properties of the fonts that painting relies on.
func TestFonts(t *testing.T) {
	fonts := goFonts(t)
	var buf sfnt.Buffer
	for n, f := range fonts {
		if f.UnitsPerEm() != unitsPerEm {
			t.Errorf("font %d has %d units per em, want %d", n, f.UnitsPerEm(), unitsPerEm)
		}
		for i := range sfnt.GlyphIndex(f.NumGlyphs()) {
			segments, err := f.LoadGlyph(&buf, i, unitsPerEm, nil)
			if err != nil {
				t.Errorf("font %d, glyph %d: %v", n, i, err)
			}
			var begin, last any
			for j, s := range segments {
				switch s.Op {
				case sfnt.SegmentOpMoveTo:
					if begin != last {
						t.Errorf("font %d, glyph %d: a contour before %d is open", n, i, j)
					}
					begin, last = s.Args[0], s.Args[0]
				case sfnt.SegmentOpLineTo:
					last = s.Args[0]
				case sfnt.SegmentOpQuadTo:
					last = s.Args[1]
				default:
					t.Errorf("font %d, glyph %d has cubic curves", n, i)
				}
			}
			if begin != last {
				t.Errorf("font %d, glyph %d: the last contour is open", n, i)
			}
		}
		for r := ' '; r <= '~'; r++ {
			for s := ' '; s <= '~'; s++ {
				a, _ := glyphOf(t, f, &buf, r)
				b, _ := glyphOf(t, f, &buf, s)
				if k, err := f.Kern(&buf, a, b, unitsPerEm, font.HintingNone); k != 0 || err != nil {
					t.Fatalf("font %d: %q and %q are kerned by %v, %v", n, r, s, k, err)
				}
			}
		}
		for _, r := range "世\U0001f600" {
			if i, _ := glyphOf(t, f, &buf, r); i != 0 {
				t.Errorf("font %d has a glyph for %q", n, r)
			}
		}
	}
	// The outline of a glyph has all of its contours, also if it is composed of others.
	for r, want := range map[rune]int{' ': 0, 'l': 1, 'o': 2, 'i': 2, 'B': 3, 'é': 3, 'ö': 4} {
		i, _ := glyphOf(t, fonts[0], &buf, r)
		segments, err := fonts[0].LoadGlyph(&buf, i, unitsPerEm, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, s := range segments {
			if s.Op == sfnt.SegmentOpMoveTo {
				got++
			}
		}
		if got != want {
			t.Errorf("%q has %d contours, want %d", r, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	const size = 10
	for _, tt := range []struct {
		s     string
		width float64
		want  string
	}{
		{"main.main", 100, "main.main"},
		{"pgzip.(*Writer).compressBlock", 110, "pgzip…mpressBlock"},
		{"main.main", 20, ""},
		{"", 10, ""},
	} {
		got := shorten(tt.s, size, false, tt.width)
		if got != tt.want {
			t.Errorf("shorten(%q, %v) = %q, want %q", tt.s, tt.width, got, tt.want)
		}
	}
	for _, s := range append(hostileNames, strings.Repeat("…", 50)) {
		for _, width := range []float64{10, 50, 200} {
			got := shorten(label(s), size, true, width)
			if room(got, size, true) > width || !utf8.ValidString(got) {
				t.Errorf("shorten(%q, %v) = %q, which is %v wide", s, width, got, room(got, size, true))
			}
		}
	}
}

func TestWrap(t *testing.T) {
	s := "The trace ends in the middle of a generation: the last 12 ms are missing."
	for _, tt := range []struct {
		width float64
		lines int
		want  string
	}{
		{1000, 3, s},
		{220, 3, "The trace ends in the middle of a|generation: the last 12 ms are missing."},
		{120, 2, "The trace ends in the|middle of a …"},
	} {
		lines := wrap(s, 10, tt.width, tt.lines)
		if got := strings.Join(lines, "|"); got != tt.want {
			t.Errorf("wrap to %v: %q, want %q", tt.width, got, tt.want)
		}
		for _, l := range lines {
			if room(l, 10, false) > tt.width {
				t.Errorf("%q is wider than %v", l, tt.width)
			}
		}
	}
}

func TestTicks(t *testing.T) {
	join := func(ticks []tick) string {
		var out []string
		for _, t := range ticks {
			out = append(out, t.label)
		}
		return strings.Join(out, " ")
	}
	for _, tt := range []struct {
		most float64
		n    int
		want string
	}{
		{3.28, 8, "0 0.5 1 1.5 2 2.5 3"},
		{500, 5, "0 100 200 300 400 500"},
		{1, 5, "0 0.2 0.4 0.6 0.8 1"},
		{0.3, 3, "0 0.1 0.2 0.3"},
		{0, 5, "0"},
	} {
		if got := join(niceTicks(0, tt.most, float64(tt.n))); got != tt.want {
			t.Errorf("ticks to %v: %s, want %s", tt.most, got, tt.want)
		}
	}
	for _, tt := range []struct {
		most, length float64
		want         string
	}{
		{4, 230, "0 1 2 3 4"}, {1, 230, "0 1"}, {8, 165, "0 2 4 6 8"}, {64, 230, "0 20 40 60"}, {3.2, 39, "0 3"}, {1.5, 300, "0 1"}, {128, 60, "0 128"}, {9999999, 30, "0 9999999"},
	} {
		if got := join(parallelismTicks(tt.most, tt.length, axisSize)); got != tt.want {
			t.Errorf("parallelism to %v in %v: %s, want %s", tt.most, tt.length, got, tt.want)
		}
	}
	for wall, want := range map[float64]string{0: "ns", 999: "ns", 1000: "µs", 2e6: "ms", 1e9: "s", 8e12: "s", 9e12: "h", 9e18: "1000 h"} {
		if got, _ := timeUnit(wall); got != want {
			t.Errorf("unit of %v ns is %s, want %s", wall, got, want)
		}
	}
}
