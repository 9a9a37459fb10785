package main

import (
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/term"
)

// terminalWatch tells what happens to the terminal.
type terminalWatch struct {
	wake      chan struct{} // it has another size
	suspend   chan struct{} // never, on this system
	continued atomic.Bool   // never, on this system

	done chan struct{}
}

// watchTerminal looks at the size again and again: consoles do not tell.
func watchTerminal(f *os.File) *terminalWatch {
	w := &terminalWatch{wake: make(chan struct{}, 1), suspend: make(chan struct{}), done: make(chan struct{})}
	go func() {
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		width, height, _ := term.GetSize(int(f.Fd()))
		for {
			select {
			case <-tick.C:
			case <-w.done:
				return
			}
			if x, y, err := term.GetSize(int(f.Fd())); err == nil && (x != width || y != height) {
				width, height = x, y
				select {
				case w.wake <- struct{}{}:
				default: // one is enough
				}
			}
		}
	}()
	return w
}

func (w *terminalWatch) stop() { close(w.done) }

func (w *terminalWatch) canStop() bool { return false }

func (w *terminalWatch) stopProcess() {}
