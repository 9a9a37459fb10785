//go:build !windows

package main

import (
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// terminalWatch tells what happens to the terminal.
type terminalWatch struct {
	wake      chan struct{} // it has another size, or is ours again
	suspend   chan struct{} // somebody wants to suspend the process
	continued atomic.Bool   // the process had been stopped

	signals chan os.Signal
	done    chan struct{}
}

func watchTerminal(*os.File) *terminalWatch {
	w := &terminalWatch{
		wake: make(chan struct{}, 1), suspend: make(chan struct{}, 1),
		signals: make(chan os.Signal, 4), done: make(chan struct{}),
	}
	signal.Notify(w.signals, unix.SIGWINCH, unix.SIGTSTP, unix.SIGCONT)
	go w.run()
	return w
}

func (w *terminalWatch) run() {
	for {
		to := w.wake
		select {
		case s := <-w.signals:
			switch s {
			case unix.SIGTSTP:
				to = w.suspend
			case unix.SIGCONT:
				w.continued.Store(true)
			}
		case <-w.done:
			return
		}
		select {
		case to <- struct{}{}:
		default: // one is enough
		}
	}
}

func (w *terminalWatch) stop() {
	signal.Stop(w.signals)
	close(w.done)
}

// canStop tells that there is a shell which lets a stopped process go on: it has given a process
// group of its own to the command.
func (w *terminalWatch) canStop() bool {
	session, err := unix.Getsid(0)
	return err == nil && session != unix.Getpgrp()
}

// stopProcess stops the process as ctrl-Z does, and returns when it goes on. It takes SIGSTOP,
// since a Go program that has once asked for SIGTSTP does not stop by that any more.
func (w *terminalWatch) stopProcess() {
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, unix.SIGCONT)
	defer signal.Stop(goesOn)
	unix.Kill(0, unix.SIGSTOP) // whoever started this, such as go run, stops as well
	select {
	case <-goesOn:
	case <-time.After(time.Second): // it did not stop
	}
}
