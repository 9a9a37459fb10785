package text

import (
	"strings"
	"unicode"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// style is what the terminal can do.
type style struct{ colour, ascii bool }

// Attributes of terminals, for paint. Colours are 38;5;n.
const (
	bold = "1"
	dim  = "2"
)

// paint writes s with an attribute, or as it is without colours.
func (st style) paint(attribute, s string) string {
	if !st.colour || s == "" || attribute == "" {
		return s
	}
	return "\x1b[" + attribute + "m" + s + "\x1b[0m"
}

// The colours of the picture in the palette of 256-colour terminals, in the
// same order: cool ones (blue, sky blue, green, …), and warm ones for the neck.
var (
	coolColours    = []string{"38;5;32", "38;5;117", "38;5;36", "38;5;114", "38;5;62", "38;5;153", "38;5;29", "38;5;151"}
	warmColours    = []string{"38;5;202", "38;5;214", "38;5;227", "38;5;166", "38;5;221", "38;5;209", "38;5;178", "38;5;223"}
	gcColours      = []string{"38;5;175", "38;5;132", "38;5;218", "38;5;96"}
	runtimeColours = []string{"38;5;246", "38;5;243", "38;5;249"}
	tracerColours  = []string{"38;5;251", "38;5;253"}
	othersColour   = "38;5;109"
)

// palette hands out the colours of each list in turn.
type palette map[string]int

func (p palette) pick(kind bottle.Kind, neck bool) string {
	list := coolColours
	switch {
	case kind == bottle.GC:
		list = gcColours
	case kind == bottle.Runtime:
		list = runtimeColours
	case kind == bottle.Tracer:
		list = tracerColours
	case neck:
		list = warmColours
	}
	n := p[list[0]]
	p[list[0]]++
	return list[n%len(list)]
}

// or returns u, or its substitute on a terminal without Unicode.
func (st style) or(u, ascii string) string {
	if st.ascii {
		return ascii
	}
	return u
}

// plain turns the few signs that our numbers hold ("µs", "–") into ASCII if need be.
func (st style) plain(s string) string {
	if !st.ascii {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r < unicode.MaxASCII:
			return r
		case r == 'µ':
			return 'u'
		case r == '–':
			return '-'
		}
		return '?'
	}, s)
}

// maxMarks is how many combining marks in a row a letter keeps: enough for any
// script, too few to write over the lines above and below.
const maxMarks = 3

// clean makes text from a trace safe for one line of this terminal.
func (st style) clean(s string) string {
	s = format.Clean(s)
	marks := 0
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 0xFE00 && r <= 0xFE0F:
			return -1 // variation selectors: terminals disagree on the width of what they make
		case !unicode.Is(unicode.M, r):
			marks = 0
		case marks == maxMarks:
			return -1
		default:
			marks++
		}
		return r
	}, s)
	return st.plain(s)
}

// fit shortens cleaned text to at most width columns.
func (st style) fit(s string, width int) string { return truncate(s, width, st.or("…", "~")) }
