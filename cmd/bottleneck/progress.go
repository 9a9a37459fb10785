package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress is a line on the terminal that says what a command is doing, from
// the time on at which one begins to wonder. It leaves no trace.
type progress struct {
	quit func()
}

// startProgress shows say's answers on w, if that is a terminal.
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

// stop clears the line.
func (p *progress) stop() { p.quit() }

// fitLine keeps the beginning and the end of a line, which say more than its middle: what
// is read, and how far.
func fitLine(s string, width int) string {
	r := []rune(oneLine(s))
	if len(r) <= width || width < 8 {
		return string(r[:min(len(r), max(0, width))])
	}
	tail := width * 2 / 3
	return string(r[:width-tail-1]) + "…" + string(r[len(r)-tail:])
}
