package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/bottleneck-go/bottleneck/counters"
)

// programFlags are the choices of the user for a program that is recorded.
type programFlags struct {
	counters string
	serves   string // the URL of its trace
	period   time.Duration
}

// programError is the failure of a program that was run: its exit status becomes ours.
type programError struct{ status int }

func (e *programError) Error() string { return fmt.Sprintf("exit status %d", e.status) }

// ourWait is set while a program runs that decides itself what an interrupt means.
var ourWait atomic.Bool

// parseProgram checks the flags for a program.
func (f *recordFlags) parseProgram(rest, command []string) error {
	if err := f.without("a program", "seconds", "max-size"); err != nil {
		return err
	}
	switch {
	case len(rest) > 0:
		return usagef("%q before --: it is a URL or a program that is recorded, not both", rest[0])
	case len(command) == 0:
		return usagef("no program after --")
	case len(f.outputs) == 0:
		return usagef("no file: say -o FILE")
	case len(f.outputs) > 1:
		return usagef("more than one -o: a program is recorded into one file")
	case f.period < 10*time.Microsecond:
		return usagef("-period %v: want 10µs or more", f.period)
	case f.serves != "" && !isURL(f.serves):
		return usagef("-trace-url %q is not a URL", f.serves)
	}
	if err := counters.CheckNames(f.names()); err != nil {
		return usagef("-counters: %s", strings.TrimPrefix(err.Error(), "counters: "))
	}
	return nil
}

// names are the counters that were asked for; nil for the default.
func (f *programFlags) names() (names []string) {
	for name := range strings.SplitSeq(f.counters, ",") {
		if name = strings.TrimSpace(name); name == "default" {
			names = append(names, counters.DefaultCounters()...)
		} else {
			names = append(names, name)
		}
	}
	return names
}

// runProgram records a program: what follows "--".
func (f *recordFlags) runProgram(ctx context.Context, std stdio, rest, command []string) error {
	if err := f.parseProgram(rest, command); err != nil {
		return err
	}
	output := f.outputs[0]
	if st, err := os.Stat(output); err == nil && st.Mode().IsRegular() && !f.force {
		return fmt.Errorf("%s: there is such a file; -force replaces it", output)
	}
	if err := checkFile(output); err != nil {
		return err
	}
	ourWait.Store(true)
	defer ourWait.Store(false)
	cmd := exec.Command(command[0], command[1:]...)
	std.err = shared(std.err)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = std.in, std.out, std.err
	opt := counters.RunOptions{Counters: f.names(), Period: f.period, TraceURL: f.serves, Forward: forwarded(onTerminal(std.in))}
	opt.Warning = func(s string) { fmt.Fprintf(std.err, "bottleneck: %s\n", oneLine(s)) }
	opt.Threads = opt.Warning
	var exit *exec.ExitError
	var ran error
	// An interrupt is the program's business, so ctx, which ends with one, is not handed on.
	err := writeFile(output, func(w io.Writer) error {
		ran = withoutExit(counters.Run(context.WithoutCancel(ctx), cmd, w, opt), &exit)
		return ran
	})
	if ran != nil && cmd.Process == nil {
		return notRun(command[0], ran)
	}
	if exit == nil {
		return err
	}
	for _, e := range flatten(err) {
		if e != nil {
			fmt.Fprintf(std.err, "bottleneck: %s\n", oneLine(e.Error()))
		}
	}
	if exit.ExitCode() > 0 {
		return &programError{exit.ExitCode()}
	}
	return errors.Join(err, fmt.Errorf("%s: %v", command[0], exit))
}

// notRun says why a program did not even start. What else was wrong says so itself.
func notRun(name string, err error) error {
	var search *exec.Error
	var start *os.PathError
	switch {
	case errors.As(err, &search):
		return fmt.Errorf("cannot run %s: %w", name, search.Err)
	case errors.As(err, &start) && start.Op == "fork/exec":
		return fmt.Errorf("cannot run %s: %w", name, start.Err)
	}
	return err
}

// withoutExit takes the program's own failure out of an error.
func withoutExit(err error, exit **exec.ExitError) error {
	var rest []error
	for _, e := range flatten(err) {
		if e != nil && !errors.As(e, exit) {
			rest = append(rest, e)
		}
	}
	return errors.Join(rest...)
}

// sharedWriter takes lines of the program and ours, one after the other.
type sharedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *sharedWriter) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
}

// shared makes a writer safe for the program and us. A file is, and the program gets it as it is.
func shared(w io.Writer) io.Writer {
	if _, ok := w.(*os.File); ok {
		return w
	}
	return &sharedWriter{w: w}
}

func onTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
