package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bottleneck-go/bottleneck/counters"
	"github.com/bottleneck-go/bottleneck/internal/atomicfile"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/input"
	"github.com/bottleneck-go/bottleneck/internal/memory"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/internal/process"
	"github.com/bottleneck-go/bottleneck/internal/trial"
)

// recordFlags holds the flags of record.
type recordFlags struct {
	flags   *pflag.FlagSet
	output  string
	force   bool
	seconds float64 // of a service, like the fields below
	maxSize int64
	source  *url.URL
	programFlags
}

func (a *app) record() *cobra.Command {
	f := &recordFlags{maxSize: 4e9}
	c := a.command("record [flags] URL | [flags] -o FILE -- PROGRAM [arguments]", "store the trace of a service or the counters of a program", `
Record stores the execution trace of a running service in a file, for the other
commands and "go tool trace".

The URL is the place where the service has mounted package exporters/live, such
as http://localhost:6060/debug/bottleneck/, or net/http/pprof, such as
http://localhost:6060/debug/pprof/. The former records all the time and sends
the last seconds at once; the latter traces the next seconds.

An existing file is not replaced without -force. The trace of a recording that
ends early, by an interrupt or a broken connection, is kept up to there; the
exit status is then 1.

Record also runs a program and counts events on its threads from the first
instruction on. The file is then an archive of the program's execution trace and
the counters, for "bottleneck report". The program must record the trace: it was
built with "bottleneck instrument -- go build", calls counters.FromEnvironment
at the beginning of main, or serves the trace, see -trace-url. Events that the
machine cannot count are listed with the reason. The exit status is that of the
program if it is not 0. An interrupt goes to the program, and its recording is
kept.`, func(ctx context.Context, std stdio, args []string) error {
		if std.dash >= 0 {
			return f.runProgram(ctx, std, args[:std.dash], args[std.dash:])
		}
		return f.run(ctx, std, args)
	})
	fs := c.Flags()
	f.flags = fs
	fs.FuncP("output", "o", "write the trace or archive to `FILE`", func(name string) error {
		if f.output != "" {
			return errors.New("a recording has one file")
		}
		f.output = name
		return nil
	})
	fs.BoolVar(&f.force, "force", false, "replace an existing file")
	flags.Seconds(fs, &f.seconds, 5, "of a service: record `N` seconds; default 5")
	flags.Parsed(fs, &f.maxSize, "max-size", "", "of a service: stop when the trace is longer than `SIZE`, such as 500MB or 10GB; default 4GB", memory.Parse)
	fs.StringVar(&f.counters, "counters", "default", "of a program: count the events of `LIST`, separated by commas: names of perf list, rNNN for a raw event, device/event such as msr/tsc; default is "+strings.Join(counters.DefaultCounters(), ", "))
	fs.StringVar(&f.serves, "trace-url", "", "of a program: read the trace from `URL`, where the program serves it; counting ends with the trace")
	fs.DurationVar(&f.period, "period", time.Millisecond, "of a program: read the counters of running threads every `DURATION`")
	c.Example = `  bottleneck record -o service.trace http://localhost:6060/debug/bottleneck/
  bottleneck record -seconds 10 -o slow.trace http://localhost:6060/debug/pprof/
  bottleneck instrument -- go build -o program ./cmd/program &&
          bottleneck record -counters cycles,faults -o a.zip -- ./program`
	a.urls(c)
	return c
}

// without rejects flags of the other kind of recording.
func (f *recordFlags) without(what string, others ...string) error {
	for _, name := range others {
		if f.flags.Changed(name) {
			return usagef("-%s is not for recording %s", name, what)
		}
	}
	return nil
}

// parse checks the flags and reads the URL.
func (f *recordFlags) parse(rest []string) error {
	if err := f.without("a service", "counters", "trace-url", "period"); err != nil {
		return err
	}
	switch {
	case f.output == "" && len(rest) > 0:
		return usagef("no output file: want -o FILE")
	case output.FormsIn(output.GraphForms).FormOf(f.output) != "":
		return usagef("-o %s: record writes the trace; \"bottleneck graph\" draws it", f.output)
	}
	var err error
	f.source, err = serviceURL(rest)
	return err
}

// serviceURL returns the URL of a service, the argument.
func serviceURL(args []string) (*url.URL, error) {
	switch {
	case len(args) == 0:
		return nil, usagef("no service: give the URL where it has mounted exporters/live or net/http/pprof")
	case len(args) > 1:
		return nil, usagef("more than one service: %q and %q", args[0], args[1])
	}
	u, err := url.Parse(args[0])
	if err != nil || !input.IsURL(args[0]) || u.Host == "" {
		return nil, usagef("%q is not the URL of a service, such as http://localhost:6060/debug/pprof/", args[0])
	}
	return u, nil
}

// check checks, before recording, whether the file can be written.
func (f *recordFlags) check() error {
	if st, err := os.Stat(f.output); err == nil && st.Mode().IsRegular() && !f.force {
		return fmt.Errorf("%s: the file exists; -force replaces it", f.output)
	}
	return atomicfile.Check(f.output)
}

// traceURL returns the URL of the trace, derived from the URL of the service.
func (f *recordFlags) traceURL() *url.URL {
	mount, _ := input.Mount(f.source, "/trace")
	return input.Below(mount, "trace", "seconds", input.FormatSeconds(f.seconds))
}

// run writes the trace as it arrives, and keeps a part: a recording cannot be repeated.
func (f *recordFlags) run(ctx context.Context, std stdio, args []string) error {
	if err := f.parse(args); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	t, err := atomicfile.Create(f.output)
	if err != nil {
		return err
	}
	defer t.Discard()
	in := input.URL(f.traceURL())
	var keeps time.Duration // time that the service's recorder keeps; 0 if unknown
	in.Answered = func(h http.Header) { keeps, _ = time.ParseDuration(h.Get("Bottleneck-Window")) }
	n, broken := input.Read(ctx, std.progress, in, func(_ context.Context, from io.Reader, head []byte) (int64, error) {
		if !mayBeTrace(head) {
			return 0, fmt.Errorf("%s: the answer is not an execution trace", in.Label)
		}
		return f.copyTrace(t, from, in.Label)
	})
	if n == 0 && broken == nil {
		broken = fmt.Errorf("%s: the server sends nothing", in.Label)
	}
	if n == 0 {
		return hinted(broken)
	}
	if err := t.Commit(); err != nil {
		return errors.Join(broken, err)
	}
	if broken != nil {
		broken = fmt.Errorf("%w; what had come is kept: %s in %s", broken, input.Bytes(n), f.output)
		if ctx.Err() != nil {
			fmt.Fprintf(std.err, "bottleneck: kept %s of the trace in %s\n", input.Bytes(n), oneLine(f.output))
			return broken
		}
	} else if _, terminal := output.TerminalOf(std.err); terminal {
		fmt.Fprintf(std.err, "Wrote %s, %s.\n", oneLine(f.output), input.Bytes(n))
	}
	if asked := input.Seconds(f.seconds); keeps > 0 && keeps < asked {
		fmt.Fprintf(std.err, "bottleneck: the service keeps the last %v only: %v are not in %s\n", keeps, asked-keeps, oneLine(f.output))
	}
	return broken
}

// hinted adds the correct path to the error for a path that the service does not serve.
func hinted(err error) error {
	var status *input.StatusError
	if errors.As(err, &status) && status.Status == http.StatusNotFound || errors.Is(err, errNoGraph) {
		return fmt.Errorf("%w; give the URL where the service has mounted exporters/live, or that of /debug/pprof/", err)
	}
	return err
}

// mayBeTrace reports whether an answer begins like a trace, compressed or not. It also accepts an
// empty answer, or one that breaks off at once.
func mayBeTrace(head []byte) bool {
	for _, magic := range []string{"go 1.", "\x1f\x8b", "\x28\xb5\x2f\xfd"} {
		if n := min(len(head), len(magic)); string(head[:n]) == magic[:n] {
			return true
		}
	}
	return false
}

// copyTrace copies a trace. Its errors name the side that failed.
func (f *recordFlags) copyTrace(t io.Writer, from io.Reader, label string) (n int64, err error) {
	n, err = io.Copy(t, io.LimitReader(from, f.maxSize))
	more := 0
	if n == f.maxSize && err == nil {
		more, _ = from.Read(make([]byte, 1))
	}
	var written *os.PathError
	switch {
	case errors.As(err, &written):
		err = atomicfile.Error(f.output, err)
	case err != nil:
		err = fmt.Errorf("%s: %w", label, err)
	case more > 0:
		err = fmt.Errorf("%s: the trace is longer than %s; raise the limit with -max-size", label, memory.Text(f.maxSize))
	}
	return n, err
}

func copyFile(name, from string) error {
	f, err := os.Open(from)
	if err != nil {
		return input.FileError(from, err)
	}
	defer f.Close()
	return atomicfile.Write(name, func(w io.Writer) error { _, err := io.Copy(w, f); return err })
}

// programFlags holds the flags for recording a program.
type programFlags struct {
	counters string
	serves   string // URL of the program's trace
	period   time.Duration
}

func (f *recordFlags) parseProgram(rest, command []string) error {
	if err := f.without("a program", "seconds", "max-size"); err != nil {
		return err
	}
	switch {
	case len(rest) > 0:
		return usagef("%q before --: it is a URL or a program that is recorded, not both", rest[0])
	case len(command) == 0:
		return usagef("no program after --")
	case f.output == "":
		return usagef("no output file: want -o FILE")
	case f.period < 10*time.Microsecond:
		return usagef("-period %v: want 10µs or more", f.period)
	case f.serves != "" && !input.IsURL(f.serves):
		return usagef("-trace-url %q is not a URL", f.serves)
	}
	if err := counters.CheckNames(f.names()); err != nil {
		return usagef("-counters: %s", strings.TrimPrefix(err.Error(), "counters: "))
	}
	return nil
}

// names returns the requested counters; nil for the default.
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

// runProgram records the program given after "--".
func (f *recordFlags) runProgram(ctx context.Context, std stdio, rest, command []string) error {
	if err := f.parseProgram(rest, command); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	process.Busy.Store(true)
	defer process.Busy.Store(false)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = std.in, std.out, std.err
	opt := counters.Options{Counters: f.names(), Period: f.period, TraceURL: f.serves, Forward: process.Forwarded(std.in)}
	opt.Warning = func(s string) { fmt.Fprintf(std.err, "bottleneck: %s\n", oneLine(s)) }
	var exit *exec.ExitError
	var ran error
	// The program handles interrupts itself, so ctx, which ends with one, is not passed on.
	err := atomicfile.Write(f.output, func(w io.Writer) error {
		ran = process.WithoutExit(counters.Run(context.WithoutCancel(ctx), cmd, w, opt), &exit)
		return ran
	})
	if ran != nil && cmd.Process == nil {
		return trial.NotRun(command[0], ran)
	}
	if exit == nil {
		return err
	}
	for _, e := range input.Flatten(err) {
		if e != nil {
			fmt.Fprintf(std.err, "bottleneck: %s\n", oneLine(e.Error()))
		}
	}
	if exit.ExitCode() > 0 {
		return &process.Error{Status: exit.ExitCode()}
	}
	return errors.Join(err, fmt.Errorf("%s: %v", command[0], exit))
}
