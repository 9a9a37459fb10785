package main

import (
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/bottleneck-go/bottleneck/exporters/text"
)

// terminal is what is known of the terminal that something is written to.
type terminal struct {
	width  int
	colour bool
	ascii  bool
	dumb   bool // cannot move its cursor
}

// terminalOf looks whether w is a terminal.
func terminalOf(w any) (terminal, bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return terminal{}, false
	}
	t := terminal{width: 80, dumb: os.Getenv("TERM") == "dumb" || !enableEscapes(f), ascii: !utf8Locale(os.Getenv)}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		t.width = width
	}
	t.colour = !t.dumb && os.Getenv("NO_COLOR") == ""
	return t, true
}

// utf8Locale reports whether the terminal shows more than ASCII. Only a locale that
// says otherwise counts: many systems set none and have terminals that do.
func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			_, charset, named := strings.Cut(v, ".")
			return !named || strings.HasPrefix(charset, "utf8") || strings.HasPrefix(charset, "utf-8")
		}
	}
	return true
}

// textOptions are the options of text on this terminal; of none, those of a file.
func (t terminal) textOptions() text.Options {
	return text.Options{Width: t.width, Colour: t.colour, ASCII: t.ascii}
}
