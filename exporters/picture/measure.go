package picture

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Factors by which the reader's fonts may be wider than the measured ones.
const (
	slack     = 1.15
	boldSlack = 1.2
)

// Advance widths of ' ' to '~' in the Go fonts, in 1/2048 em. An SVG is laid out with them, without
// the fonts themselves; a test compares the two.
var (
	regularWidths = [95]uint16{
		569, 569, 727, 1139, 1139, 1821, 1366, 391, 682, 682, 1196, 1196, 648, 1196, 648, 569,
		1139, 1139, 1139, 1139, 1139, 1139, 1139, 1139, 1139, 1139, 627, 627, 1196, 1196, 1196, 1139,
		2079, 1366, 1366, 1479, 1479, 1366, 1251, 1593, 1479, 817, 1015, 1366, 1139, 1706, 1479, 1593,
		1366, 1593, 1479, 1366, 1251, 1479, 1366, 1933, 1366, 1366, 1251, 569, 569, 569, 960, 1139,
		682, 1139, 1139, 1024, 1139, 1139, 569, 1139, 1139, 505, 519, 1024, 548, 1706, 1139, 1139,
		1139, 1139, 682, 1024, 579, 1139, 1024, 1479, 1024, 1024, 1024, 684, 532, 684, 1196,
	}
	boldWidths = [95]uint16{
		569, 682, 971, 1139, 1139, 1821, 1479, 487, 682, 682, 1143, 1196, 569, 1196, 569, 569,
		1139, 1139, 1139, 1139, 1139, 1139, 1139, 1139, 1139, 1139, 682, 682, 1196, 1196, 1196, 1251,
		1997, 1479, 1479, 1479, 1479, 1366, 1251, 1593, 1479, 928, 1139, 1479, 1251, 1706, 1479, 1593,
		1366, 1593, 1479, 1366, 1251, 1479, 1366, 1933, 1366, 1366, 1251, 682, 569, 682, 1196, 1139,
		682, 1139, 1251, 1139, 1251, 1139, 682, 1251, 1251, 592, 589, 1139, 611, 1821, 1251, 1251,
		1251, 1251, 797, 1139, 682, 1251, 1139, 1593, 1139, 1139, 1024, 797, 573, 797, 1196,
	}
)

// otherWidths are the widths of non-ASCII characters in our own texts, and of letters wider than
// estimate assumes, in the bold font.
var otherWidths = map[rune]uint16{'–': 1139, '…': 2048, '·': 568, 'µ': 1251, '±': 1196, '×': 1196, '−': 1196, 'Σ': 1266, '\ufffd': 2048,
	'æ': 1821, 'œ': 1933, 'ǽ': 1821, 'љ': 1984, 'њ': 1856}

// minus is the sign of negative numbers.
const minus = "−"

// advance returns the width of a line of text in the Go fonts.
func advance(s string, size float64, bold bool) float64 {
	table := &regularWidths
	if bold {
		table = &boldWidths
	}
	sum := 0
	for _, r := range s {
		if r >= ' ' && r <= '~' {
			sum += int(table[r-' '])
		} else {
			sum += estimate(r)
		}
	}
	return float64(sum) * size / 2048
}

// room returns the width to reserve for a line of text.
func room(s string, size float64, bold bool) float64 {
	if bold {
		return boldSlack * advance(s, size, bold)
	}
	return slack * advance(s, size, bold)
}

// estimate returns the width of a character that is not in the tables. It errs on the wide side.
func estimate(r rune) int {
	if w, ok := otherWidths[r]; ok {
		return int(w)
	}
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xffe6 || r >= 0x1f000):
		return 2200 // ideographs, emoji
	case unicode.IsUpper(r), unicode.IsSymbol(r), unicode.IsPunct(r):
		return 2048
	}
	return 1500
}

// shorten shortens a text to the available width with an ellipsis in its middle, because the end of
// a Go name is its most specific part. It returns "" if not even a few letters fit.
func shorten(s string, size float64, bold bool, width float64) string {
	const longest = 300 // runes; no line has room for more
	if n := utf8.RuneCountInString(s); n > longest {
		r := []rune(s)
		s = string(r[:longest/3]) + "…" + string(r[n-longest*2/3:])
	}
	if room(s, size, bold) <= width {
		return s
	}
	r := []rune(strings.Replace(s, "…", "", 1))
	narrowest := 0.24 * size // the width of an i
	for keep := min(len(r)-1, int(width/narrowest)); keep >= 4; keep-- {
		head := keep * 2 / 5
		// A point or a bracket beside the ellipsis would look like a part of it.
		short := strings.TrimRight(string(r[:head]), ".(*[ ") + "…" + strings.TrimLeft(string(r[len(r)-(keep-head):]), ".)] ")
		if room(short, size, bold) <= width {
			return short
		}
	}
	return ""
}

// wrap breaks a text into at most n lines of the given width; it ends the last line with an
// ellipsis if text is left. Words longer than a line are shortened.
func wrap(s string, size, width float64, n int) []string {
	var out []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		if room(word, size, false) > width {
			word = shorten(word, size, false, width)
		}
		switch {
		case line == "":
			line = word
		case room(line+" "+word, size, false) <= width:
			line += " " + word
		case len(out) == n-1:
			for line != "" && room(line+" …", size, false) > width {
				line = line[:max(0, strings.LastIndexByte(line, ' '))]
			}
			return append(out, line+" …")
		default:
			out, line = append(out, line), word
		}
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}
