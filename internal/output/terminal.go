package output

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Terminal holds the properties of an output terminal.
type Terminal struct {
	text.Options
	Dumb bool // cannot move its cursor
}

// TerminalOf reports whether w is a terminal, and returns its properties.
func TerminalOf(w any) (Terminal, bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return Terminal{}, false
	}
	dumb := os.Getenv("TERM") == "dumb" || !enableEscapes(f)
	t := Terminal{text.Options{Width: 80, Color: !dumb && os.Getenv("NO_COLOR") == ""}, dumb}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		t.Width = width
	}
	return t, true
}

// TextOn returns the options of text on w: those of a file unless it is a terminal.
func TextOn(w any) text.Options {
	t, _ := TerminalOf(w)
	return t.Options
}

// ProgressDelay is the time after which a command shows progress.
const ProgressDelay = 500 * time.Millisecond

// Progress shows what say returns as a line on a terminal, after a delay. stop erases it.
func Progress(w io.Writer, say func(since time.Duration) string) (stop func()) {
	t, ok := TerminalOf(w)
	if !ok || t.Dumb {
		return func() {}
	}
	begin := time.Now()
	quit, done := make(chan struct{}), make(chan struct{})
	background.Go(func() {
		defer close(done)
		tick := time.NewTicker(ProgressDelay)
		defer tick.Stop()
		shown := false
		for {
			select {
			case <-tick.C:
				shown = true
				fmt.Fprintf(w, "\r\x1b[K%s", fitLine(say(time.Since(begin)), t.Width-1))
				tick.Reset(ProgressDelay / 2)
			case <-quit:
				if shown {
					io.WriteString(w, "\r\x1b[K")
				}
				return
			}
		}
	})
	return sync.OnceFunc(func() { close(quit); <-done })
}

// fitLine keeps the beginning and the end of a line: the input, and the progress.
func fitLine(s string, width int) string {
	r := []rune(format.Clean(s))
	if len(r) <= width || width < 8 {
		return string(r[:min(len(r), max(0, width))])
	}
	tail := width * 2 / 3
	return string(r[:width-tail-1]) + "…" + string(r[len(r)-tail:])
}

// HelpWidth is the number of columns of a help text.
const HelpWidth = 80

// Wrapped wraps words to the width of a help text; it indents all lines except the first.
func Wrapped(indent int, words string) string {
	var b strings.Builder
	at := indent
	for i, word := range strings.Fields(words) {
		n := len([]rune(word)) + 1
		if i > 0 && at+n > HelpWidth {
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		} else if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}
