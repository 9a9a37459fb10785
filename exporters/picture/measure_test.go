package picture

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestWidthsAreThoseOfTheFonts compares the tables with the fonts that PNGs are drawn in.
func TestWidthsAreThoseOfTheFonts(t *testing.T) {
	fonts, err := loadFonts()
	if err != nil {
		t.Fatal(err)
	}
	for i, bold := range []bool{false, true} {
		for r := ' '; r <= '~'; r++ {
			if got, want := advance(string(r), 2048, bold), fonts[i].glyph(r).advance; got != want {
				t.Errorf("bold %v: %q is %v wide in the table, %v in the font", bold, r, got, want)
			}
		}
		// Of others the table may say too much, never too little for the room that is left.
		for r := rune(0xa0); r < 0x2200; r++ {
			if fonts[i].face.index(r) == 0 {
				continue
			}
			if got, want := room(string(r), 2048, bold), fonts[i].glyph(r).advance; got < want && estimate(r) != 0 {
				t.Errorf("bold %v: %q has room of %v, its glyph takes %v", bold, r, got, want)
			}
		}
	}
}

func TestGlyphs(t *testing.T) {
	fonts, err := loadFonts()
	if err != nil {
		t.Fatal(err)
	}
	f := fonts[0].face
	for r, contours := range map[rune]int{' ': 0, 'l': 1, 'o': 2, 'i': 2, 'B': 3, 'é': 3, 'ö': 4} {
		if got := len(f.glyph(r).contours); got != contours {
			t.Errorf("%q has %d contours, want %d", r, got, contours)
		}
	}
	// Every glyph of both fonts can be read.
	for _, f := range fonts {
		for i := range len(f.face.loca) - 1 {
			f.face.contours(uint16(i), 0)
		}
	}
	if f.index('世') != 0 || f.index(0x1f600) != 0 {
		t.Error("the font has glyphs that it has not")
	}
	if _, err := parseFace(nil); err == nil {
		t.Error("no error for no font")
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
		if got := join(niceTicks(tt.most, tt.n)); got != tt.want {
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
