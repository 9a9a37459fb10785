package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/bottleneck-go/bottleneck/exporters/text"
)

// terminal holds the properties of an output terminal.
type terminal struct {
	width int
	color bool
	ascii bool
	dumb  bool // cannot move its cursor
}

// terminalOf reports whether w is a terminal, and returns its properties.
func terminalOf(w any) (terminal, bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return terminal{}, false
	}
	t := terminal{width: 80, dumb: os.Getenv("TERM") == "dumb" || !enableEscapes(f), ascii: !utf8Locale(os.Getenv)}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		t.width = width
	}
	t.color = !t.dumb && os.Getenv("NO_COLOR") == ""
	return t, true
}

// utf8Locale reports whether the terminal shows more than ASCII. It returns false only for a locale
// with another charset, because many systems set no locale and have terminals that show UTF-8.
func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			_, charset, named := strings.Cut(v, ".")
			return !named || strings.HasPrefix(charset, "utf8") || strings.HasPrefix(charset, "utf-8")
		}
	}
	return true
}

// textOptions returns the options of text for this terminal; without a terminal, those for a file.
func (t terminal) textOptions() text.Options {
	return text.Options{Width: t.width, Color: t.color, ASCII: t.ascii}
}

// progress is a progress line on the terminal. It appears after progressDelay and is erased at the
// end.
type progress struct {
	quit func()
}

// startProgress shows the results of say on w, if that is a terminal.
func startProgress(w io.Writer, say func(since time.Duration) string) *progress {
	t, ok := terminalOf(w)
	if !ok || t.dumb {
		return &progress{quit: func() {}}
	}
	begin := time.Now()
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(progressDelay)
		defer tick.Stop()
		shown := false
		for {
			select {
			case <-tick.C:
				shown = true
				fmt.Fprintf(w, "\r\x1b[K%s", fitLine(say(time.Since(begin)), t.width-1))
				tick.Reset(progressDelay / 2)
			case <-quit:
				if shown {
					io.WriteString(w, "\r\x1b[K")
				}
				return
			}
		}
	}()
	return &progress{quit: sync.OnceFunc(func() { close(quit); <-done })}
}

// stop erases the line.
func (p *progress) stop() { p.quit() }

// fitLine keeps the beginning and the end of a line, which are more useful than its middle: the
// input, and the progress.
func fitLine(s string, width int) string {
	r := []rune(oneLine(s))
	if len(r) <= width || width < 8 {
		return string(r[:min(len(r), max(0, width))])
	}
	tail := width * 2 / 3
	return string(r[:width-tail-1]) + "…" + string(r[len(r)-tail:])
}
