// Package process runs the programs that the command was asked to run.
package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/input"
	"github.com/bottleneck-go/bottleneck/internal/trial"
)

// Error is the failure of a program; its exit status becomes that of the command.
type Error struct{ Status int }

func (e *Error) Error() string { return fmt.Sprintf("exit status %d", e.Status) }

// Busy is set while a program runs, which decides itself how to handle an interrupt.
var Busy atomic.Bool

// Run runs a command with the standard streams and more environment variables, and passes
// signals on to it. The go command does not pass them on, so they also go to the processes that
// record into dir, unless that is "". If the command fails, the error is a [*Error].
func Run(stdin io.Reader, stdout, stderr io.Writer, cmd *exec.Cmd, env []string, dir string) error {
	Busy.Store(true)
	defer Busy.Store(false)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	cmd.Env = append(cmd.Environ(), env...)
	if err := cmd.Start(); err != nil {
		return trial.NotRun(cmd.Args[0], err)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, Forwarded(stdin)...)
	ended := make(chan error, 1)
	background.Go(func() { ended <- cmd.Wait() })
	var patience time.Time // for the ends of recordings after a signal
	for {
		select {
		case s := <-signals:
			cmd.Process.Signal(s) // fails if it has ended
			for _, p := range recording(dir) {
				p.Signal(s)
			}
			patience = time.Now().Add(5 * time.Second)
		case err := <-ended:
			signal.Stop(signals)
			for time.Now().Before(patience) && recording(dir) != nil {
				time.Sleep(10 * time.Millisecond)
			}
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				return err
			}
			if exit.ExitCode() > 0 {
				return &Error{exit.ExitCode()}
			}
			fmt.Fprintf(stderr, "bottleneck: %s: %v\n", cmd.Args[0], exit)
			return &Error{1}
		}
	}
}

// recording returns the running processes that record into dir, by the names of their files. One
// outside of our process group is not of the command, or on its own.
func recording(dir string) (running []*os.Process) {
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".trace")
		pid, _ := strconv.Atoi(name[strings.LastIndexByte(name, '.')+1:])
		if p, err := os.FindProcess(pid); err == nil && inOurGroup(pid) {
			running = append(running, p)
		}
	}
	return running
}

// WithoutExit removes the program's own failure from an error.
func WithoutExit(err error, exit **exec.ExitError) error {
	var rest []error
	for _, e := range input.Flatten(err) {
		if e != nil && !errors.As(e, exit) {
			rest = append(rest, e)
		}
	}
	return errors.Join(rest...)
}

// OnTerminal reports whether a reader is a terminal.
func OnTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Forwarded returns the signals to forward to a program that reads stdin. A terminal sends those of
// keys itself.
func Forwarded(stdin io.Reader) []os.Signal { return forwarded(OnTerminal(stdin)) }
