package text

import (
	"strings"
	"unicode"

	"github.com/bottleneck-go/bottleneck/internal/chart"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// style paints text, if the terminal has colors.
type style struct{ color bool }

// Terminal attributes for paint. Colors are 38;5;n.
const (
	bold = "1"
	dim  = "2"
)

// paint returns s with an attribute, or unchanged without colors.
func (st style) paint(attribute, s string) string {
	if !st.color || s == "" || attribute == "" {
		return s
	}
	return "\x1b[" + attribute + "m" + s + "\x1b[0m"
}

// The colors of the pictures in the palette of 256-color terminals, in the same order: cool ones
// (blue, sky blue, green, …), and warm ones for the neck.
var (
	coolColors    = []string{"38;5;32", "38;5;117", "38;5;36", "38;5;114", "38;5;62", "38;5;153", "38;5;29", "38;5;151"}
	warmColors    = []string{"38;5;202", "38;5;214", "38;5;227", "38;5;166", "38;5;221", "38;5;209", "38;5;178", "38;5;223"}
	gcColors      = []string{"38;5;175", "38;5;132", "38;5;218", "38;5;96"}
	runtimeColors = []string{"38;5;246", "38;5;243", "38;5;249"}
	tracerColors  = []string{"38;5;251", "38;5;253"}
	othersColor   = "38;5;109"
)

func palette() *chart.Palette[string] {
	return &chart.Palette[string]{Cool: coolColors, Warm: warmColors, GC: gcColors, Runtime: runtimeColors, Tracer: tracerColors}
}

// warnings formats each warning as a separate paragraph.
func (st style) warnings(list []string, width int) string {
	var b strings.Builder
	for _, w := range list {
		b.WriteString(st.paint(bold, "Warning:") + wrap(clean(w), width, len("Warning:")) + "\n")
	}
	return b.String()
}

// maxMarks is the maximum number of consecutive combining marks on a letter: enough for any script,
// too few to write over the lines above and below.
const maxMarks = 3

// clean makes text from a trace safe for one line of this terminal.
func clean(s string) string {
	marks := 0
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0xFE00 && r <= 0xFE0F:
			return -1 // variation selectors: terminals disagree on the width of the result
		case !unicode.Is(unicode.M, r):
			marks = 0
		case marks == maxMarks:
			return -1
		default:
			marks++
		}
		return r
	}, format.Clean(s))
}

// Terminals give most characters a column, East Asian ones and emoji two, combining marks none.

// wide holds the characters that take two columns: the East Asian Width classes W and F of Unicode
// 16, with unassigned code points between them.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x231a, 0x231b, 1}, {0x2329, 0x232a, 1}, {0x23e9, 0x23ec, 1}, {0x23f0, 0x23f3, 3},
		{0x25fd, 0x25fe, 1}, {0x2614, 0x2615, 1}, {0x2630, 0x2637, 1}, {0x2648, 0x2653, 1}, {0x267f, 0x267f, 1},
		{0x268a, 0x268f, 1}, {0x2693, 0x2693, 1}, {0x26a1, 0x26a1, 1}, {0x26aa, 0x26ab, 1}, {0x26bd, 0x26be, 1},
		{0x26c4, 0x26c5, 1}, {0x26ce, 0x26d4, 6}, {0x26ea, 0x26ea, 1}, {0x26f2, 0x26f3, 1}, {0x26f5, 0x26fa, 5},
		{0x26fd, 0x26fd, 1}, {0x2705, 0x2705, 1}, {0x270a, 0x270b, 1}, {0x2728, 0x2728, 1}, {0x274c, 0x274e, 2},
		{0x2753, 0x2755, 1}, {0x2757, 0x2757, 1}, {0x2795, 0x2797, 1}, {0x27b0, 0x27bf, 15}, {0x2b1b, 0x2b1c, 1},
		{0x2b50, 0x2b55, 5}, {0x2e80, 0x303e, 1}, {0x3041, 0x3247, 1}, {0x3250, 0xa4cf, 1}, {0xa960, 0xa97c, 1},
		{0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1}, {0xfe10, 0xfe19, 1}, {0xfe30, 0xfe6f, 1}, {0xff01, 0xff60, 1}, {0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{
		{0x16fe0, 0x18dff, 1}, {0x1aff0, 0x1b2ff, 1}, {0x1d300, 0x1d376, 1}, {0x1f004, 0x1f004, 1}, {0x1f0cf, 0x1f0cf, 1},
		{0x1f18e, 0x1f18e, 1}, {0x1f191, 0x1f19a, 1}, {0x1f200, 0x1f320, 1}, {0x1f32d, 0x1f335, 1}, {0x1f337, 0x1f37c, 1},
		{0x1f37e, 0x1f393, 1}, {0x1f3a0, 0x1f3ca, 1}, {0x1f3cf, 0x1f3d3, 1}, {0x1f3e0, 0x1f3f0, 1}, {0x1f3f4, 0x1f3f4, 1},
		{0x1f3f8, 0x1f43e, 1}, {0x1f440, 0x1f440, 1}, {0x1f442, 0x1f4fc, 1}, {0x1f4ff, 0x1f53d, 1}, {0x1f54b, 0x1f54e, 1},
		{0x1f550, 0x1f567, 1}, {0x1f57a, 0x1f57a, 1}, {0x1f595, 0x1f596, 1}, {0x1f5a4, 0x1f5a4, 1}, {0x1f5fb, 0x1f64f, 1},
		{0x1f680, 0x1f6c5, 1}, {0x1f6cc, 0x1f6cc, 1}, {0x1f6d0, 0x1f6d2, 1}, {0x1f6d5, 0x1f6d7, 1}, {0x1f6dc, 0x1f6df, 1},
		{0x1f6eb, 0x1f6ec, 1}, {0x1f6f4, 0x1f6fc, 1}, {0x1f7e0, 0x1f7eb, 1}, {0x1f7f0, 0x1f7f0, 1}, {0x1f90c, 0x1f93a, 1},
		{0x1f93c, 0x1f945, 1}, {0x1f947, 0x1f9ff, 1}, {0x1fa70, 0x1faff, 1}, {0x20000, 0x3fffd, 1},
	},
}

// columnsOf returns the number of columns of a character.
func columnsOf(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me), r >= 0x1160 && r <= 0x11ff:
		// Marks; Korean vowels and finals join the initial.
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// columns returns the number of columns of cleaned text without escape sequences.
func columns(s string) (n int) {
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}

// fit cuts cleaned text to width columns in the middle, where function names differ least.
func fit(s string, width int) string {
	if columns(s) <= width {
		return s
	}
	room := width - 1
	if room < 2 {
		return head(s, max(0, width))
	}
	front := head(s, (room+1)/2)
	return front + "…" + tail(s, room-columns(front))
}

// head returns the longest prefix of s of at most width columns.
func head(s string, width int) string {
	for i, r := range s {
		if width -= columnsOf(r); width < 0 {
			return s[:i]
		}
	}
	return s
}

// tail returns the longest suffix of s of at most width columns that does not begin with a mark.
func tail(s string, width int) string {
	runes := []rune(s)
	from := len(runes)
	for i := len(runes) - 1; i >= 0; i-- {
		n := columnsOf(runes[i])
		if width -= n; width < 0 {
			break
		}
		if n > 0 {
			from = i
		}
	}
	return string(runes[from:])
}

// left and right pad s to width columns.
func left(s string, width int) string  { return s + spaces(width-columns(s)) }
func right(s string, width int) string { return spaces(width-columns(s)) + s }

func spaces(n int) string { return strings.Repeat(" ", max(0, n)) }

// wrap breaks cleaned text at blanks into lines of at most width columns. The first used columns of
// the first line are taken. Further lines are indented by two.
func wrap(s string, width, used int) string {
	var b strings.Builder
	fresh := used == 0 // nothing stands on the line yet
	newline := func() {
		b.WriteString("\n  ")
		used, fresh = 2, true
	}
	for word := range strings.FieldsSeq(s) {
		if !fresh && used+1+columns(word) > width {
			newline()
		}
		if !fresh {
			b.WriteByte(' ')
			used++
		}
		part := head(word, width-used)
		for ; len(part) < len(word); part = head(word, width-used) { // longer than a line
			b.WriteString(part)
			word = word[len(part):]
			newline()
		}
		b.WriteString(part)
		used += columns(part)
		fresh = false
	}
	return b.String()
}
