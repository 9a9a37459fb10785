package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/bottleneck-go/bottleneck/counters"
)

// recordProgramHelp is the part of the help of record about programs.
const recordProgramHelp = `
Record runs a program as well, and counts what its threads do from the first instruction on:

    bottleneck record -counters cycles,instructions,faults -o FILE -- PROGRAM [arguments]

The file is an archive of the program's execution trace and of what was counted, for "bottleneck
report". The program must take the trace: it calls counters.FromEnvironment at the beginning of
its main, or serves it, see -trace-url.

    -counters LIST   what to count, separated by commas; "default" is
                     task-clock,context-switches,preemptions,migrations,faults,cycles,instructions.
                     Others are the events of perf list, rNNN for a raw one, device/event such as
                     msr/tsc. What the machine refuses is told, with the reason, and the rest
                     is recorded
    -trace-url URL   where the program serves its trace, such as
                     http://localhost:6060/debug/pprof/trace?seconds=5; it is asked for as
                     soon as it answers, and what is counted ends with it
    -period D        how often counters are read on a thread that runs, 1ms by default

The exit status is that of the program, if that is not 0. An interrupt is the program's business:
what it wrote is kept.
`

// programFlags are the choices of the user for a program that is recorded.
type programFlags struct {
	counters string
	traceURL string
	period   time.Duration
	output   string
	force    bool
	command  []string
}

// programError is the failure of a program that was run: its exit status becomes ours.
type programError struct{ status int }

func (e *programError) Error() string { return fmt.Sprintf("exit status %d", e.status) }

// ourWait is set while a program runs that decides itself what an interrupt means.
var ourWait atomic.Bool

func (f *programFlags) set() *flag.FlagSet {
	fs := flag.NewFlagSet("record", flag.ContinueOnError)
	fs.StringVar(&f.counters, "counters", "default", "")
	fs.StringVar(&f.traceURL, "trace-url", "", "")
	fs.DurationVar(&f.period, "period", time.Millisecond, "")
	fs.StringVar(&f.output, "o", "", "")
	fs.BoolVar(&f.force, "force", false, "")
	return fs
}

func (f *programFlags) parse(args []string) error {
	i := slices.Index(args, "--")
	f.command = args[i+1:]
	rest, err := parseFlags(f.set(), args[:i])
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return usagef("%q before --: it is a URL or a program that is recorded, not both", rest[0])
	case len(f.command) == 0:
		return usagef("no program after --")
	case f.output == "":
		return usagef("no file: say -o FILE")
	case f.period < 10*time.Microsecond:
		return usagef("-period %v: want 10µs or more", f.period)
	case f.traceURL != "" && !isURL(f.traceURL):
		return usagef("-trace-url %q is not a URL", f.traceURL)
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

// runRecordProgram records a program: what follows "--".
func runRecordProgram(ctx context.Context, std stdio, args []string) error {
	f := &programFlags{}
	if err := f.parse(args); err != nil {
		return err
	}
	if st, err := os.Stat(f.output); err == nil && st.Mode().IsRegular() && !f.force {
		return fmt.Errorf("%s: there is such a file; -force replaces it", f.output)
	}
	if err := checkFile(f.output); err != nil {
		return err
	}
	ourWait.Store(true)
	defer ourWait.Store(false)
	cmd := exec.Command(f.command[0], f.command[1:]...)
	std.err = shared(std.err)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = std.in, std.out, std.err
	opt := counters.RunOptions{Counters: f.names(), Period: f.period, TraceURL: f.traceURL, Forward: forwarded(onTerminal(std.in))}
	opt.Warning = func(s string) { fmt.Fprintf(std.err, "bottleneck: %s\n", oneLine(s)) }
	opt.Threads = opt.Warning
	var exit *exec.ExitError
	var ran error
	// An interrupt is the program's business, so ctx, which ends with one, is not handed on.
	err := writeFile(f.output, func(w io.Writer) error {
		ran = withoutExit(counters.Run(context.WithoutCancel(ctx), cmd, w, opt), &exit)
		return ran
	})
	if ran != nil && cmd.Process == nil {
		return notRun(f.command[0], ran)
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
	return errors.Join(err, fmt.Errorf("%s: %v", f.command[0], exit))
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
