package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bottleneck-go/bottleneck/internal/atomicfile"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/internal/input"
	"github.com/bottleneck-go/bottleneck/internal/instrument"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/internal/process"
	"github.com/bottleneck-go/bottleneck/internal/trial"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func (a *app) run() *cobra.Command {
	f := &runFlags{verdict: newVerdict()}
	c := a.command("run [flags] -- go run | test [arguments] | PROGRAM [arguments]", "record a program or its tests, and print what limits it", `
Run records a program from before main to its end, keeps the recording, and
prints the verdict on it: what limits the program, where, and what to do.

The command after -- is one of

  go run PACKAGE [arguments]
  go test [flags] PACKAGE
            the program or the tests are built by "bottleneck instrument", with
            no change in their source
  PROGRAM [arguments]
            a program that "bottleneck instrument -- go build" has built, or
            with -trace-url one that serves its trace, as net/http/pprof does

A trace that is served does not begin before main, and does not have the owners
of each lock. -what, -only and -skip are those of "bottleneck instrument". If
several processes record, such as the tests of several packages, all recordings
are kept, and the verdict is on the largest. It follows the output of the
program; to redirect that alone, write the verdict to a file with -o. The exit
status is that of the program if it is not 0.

With -cpu, it runs once with each value of GOMAXPROCS. The verdict is on the
run with the most. If one run has 1, the text also has a speedup stack, which
shows why the others are not as many times as fast. "bottleneck scale" runs each
several times, and benchmarks with the same number of iterations.`, f.run)
	f.verdict.define(c, verdictForms, &verdictMeasures)
	defineInstrument(c.Flags(), &f.build)
	flags.Parsed(c.Flags(), &f.widths, "cpu", "", "run with GOMAXPROCS of each of `WIDTHS`, such as 1,2,4, one after the other", parseWidths)
	c.Flags().StringVar(&f.dir, "dir", ".", "keep the recordings in `DIR`, created if needed")
	c.Flags().StringVar(&f.serves, "trace-url", "", "of a PROGRAM as it is: read the trace from `URL`, where the program serves it; the verdict follows when the program ends")
	c.Example = `  bottleneck run -- go run ./cmd/server
  bottleneck run -cpu 1,2,4 -- go run ./cmd/render scene.json
  bottleneck run -fail 'lost(lock)>10%' -- go test -bench=. ./store
  bottleneck run -trace-url http://localhost:6060/debug/pprof/trace -- ./server`
	a.limited(c)
	return c
}

// runFlags holds the flags of run.
type runFlags struct {
	verdict *verdictFlags
	build   instrument.Options
	dir     string
	serves  string // URL of the program's trace
	widths  []int  // values of GOMAXPROCS, the least first; nil for one run as it is
}

func (f *runFlags) run(ctx context.Context, std stdio, args []string) error {
	if err := onlyCommand(std, args); err != nil {
		return err
	}
	if err := os.MkdirAll(f.dir, 0o777); err != nil {
		return atomicfile.Error(f.dir, err)
	}
	if err := atomicfile.Check(filepath.Join(f.dir, "x.trace")); err != nil {
		return atomicfile.Error(f.dir, errors.Unwrap(err))
	}
	switch chosen := slices.Concat(f.build.What, f.build.Only, f.build.Skip); {
	case chosen != nil && !instrument.IsGo(args[0]):
		return usagef("-what, -only and -skip choose what is built into a program: they are flags of \"bottleneck instrument\"")
	case f.serves == "":
		if err := checkProgram(args); err != nil {
			return err
		}
	case instrument.IsGo(args[0]):
		return usagef("-trace-url is for a PROGRAM: what the go command runs records itself")
	case f.widths != nil:
		return usagef("-trace-url and -cpu exclude each other: a trace that is served is not that of a whole run")
	default:
		return f.runServing(ctx, std, args)
	}
	if f.widths == nil {
		longest, err := f.record(ctx, std, args)
		return f.judge(ctx, std, longest, err)
	}
	if len(f.widths) > 1 && trial.Timed(args) {
		return usagef("a benchmark does more work with more processors: fix its iterations, as in -benchtime=100x, or use \"bottleneck scale\"")
	}
	var traces []string
	for _, n := range f.widths {
		longest, err := f.record(ctx, std, args, fmt.Sprintf("GOMAXPROCS=%d", n))
		if err != nil || longest == "" {
			return f.judge(ctx, std, longest, err)
		}
		traces = append(traces, longest)
	}
	err := f.judge(ctx, std, traces[len(traces)-1], nil)
	if len(traces) == 1 || f.widths[0] != 1 || f.verdict.to.Format != "text" {
		return err
	}
	return errors.Join(err, showSpeedup(ctx, std, traces))
}

// showSpeedup prints the speedup stacks of recordings, the first with one processor.
func showSpeedup(ctx context.Context, std stdio, recordings []string) error {
	for _, name := range recordings[1:] {
		if a, b := programOf(recordings[0]), programOf(name); a != b {
			fmt.Fprintf(std.err, "bottleneck: no speedup stack: the largest recordings are of different programs, %s and %s\n", oneLine(a), oneLine(b))
			return nil
		}
	}
	fmt.Fprintln(std.out)
	f := speedupFlags{opt: speedup.Options{Workers: "auto"}}
	stacks, err := f.read(ctx, std, recordings)
	if err != nil {
		return err
	}
	return output.StackForms["text"](std.out, stacks, output.Drawing{Options: output.TextOn(std.out)})
}

// programOf returns the name of the program in that of a recording, NAME.PID.trace.
func programOf(recording string) string {
	name := strings.TrimSuffix(filepath.Base(recording), ".trace")
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// record runs the command once, keeps its recordings, and returns the name of the longest, "" if
// there is none. An error of the command itself is a [*process.Error].
func (f *runFlags) record(ctx context.Context, std stdio, args []string, env ...string) (longest string, err error) {
	dir, err := instrument.Recordings()
	if err != nil {
		return "", err
	}
	machine := host.Machine{Processors: host.Processors(), All: runtime.NumCPU(), Throttling: host.Throttled()}
	env = append(env, instrument.Variable+"="+dir, instrument.MachineVariable+"="+machine.String())
	var ran error
	if instrument.IsGo(args[0]) {
		ran = runGo(ctx, std, f.build, args, env, dir)
	} else {
		ran = process.Run(std.in, std.out, std.err, exec.Command(args[0], args[1:]...), env, "")
	}
	var failed *process.Error
	if ran != nil && !errors.As(ran, &failed) {
		os.RemoveAll(dir)
		return "", ran
	}
	longest, err = f.keep(std, dir)
	if longest == "" && err == nil && failed == nil {
		err = errors.New("no process recorded anything: was there a test or a program to run?")
	}
	return longest, errors.Join(err, ran)
}

// judge prints the verdict on a recording, and returns its error and that of the run.
func (f *runFlags) judge(ctx context.Context, std stdio, recording string, ran error) error {
	if recording == "" {
		return ran
	}
	failure := f.show(ctx, std, recording)
	if cut := (*timeline.Error)(nil); errors.As(failure, &cut) && cut.Read.Generations == 0 {
		failure = fmt.Errorf("%w: the end of a program by SIGKILL or syscall.Exit loses the last second", failure)
	}
	return errors.Join(failure, ran)
}

// runServing runs a program as it is, and prints the verdict on the trace that it serves.
func (f *runFlags) runServing(ctx context.Context, std stdio, args []string) error {
	name := filepath.Join(f.dir, fmt.Sprintf("%s.%d.zip", filepath.Base(args[0]), os.Getpid()))
	r := &recordFlags{flags: pflag.NewFlagSet("", pflag.ContinueOnError), output: name}
	r.programFlags = programFlags{counters: "task-clock", serves: f.serves, period: time.Millisecond}
	ran := r.runProgram(ctx, std, nil, args)
	st, err := os.Stat(name)
	if err != nil {
		return ran
	}
	fmt.Fprintf(std.err, "bottleneck: recorded %s, %s\n", oneLine(name), input.Bytes(st.Size()))
	return errors.Join(f.show(ctx, std, name), ran)
}

// show writes the verdict on a recording, on standard output below what the program has printed.
func (f *runFlags) show(ctx context.Context, std stdio, recording string) error {
	if f.verdict.to.Format != "" || len(f.verdict.to.Files) == 0 {
		fmt.Fprintln(std.out)
	}
	return f.verdict.run(context.WithoutCancel(ctx), std, []string{recording})
}

// checkProgram returns an error if a command is known not to run a program that records itself.
func checkProgram(args []string) error {
	name := args[0]
	if instrument.IsGo(name) {
		if len(args) > 1 && (args[1] == "build" || args[1] == "install") {
			return usagef(`go %s runs nothing: use "bottleneck instrument -- go %s", then "bottleneck run -- PROGRAM"`, args[1], args[1])
		}
		return nil
	}
	if st, err := os.Stat(name); strings.HasSuffix(name, ".go") || err == nil && st.IsDir() {
		return usagef("%s is not a program: want -- go run %s", name, name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return trial.NotRun(name, err)
	}
	if _, err := buildinfo.ReadFile(path); err != nil {
		return fmt.Errorf("%s is not a Go program, so it has no execution trace", name)
	}
	program, err := os.ReadFile(path)
	switch {
	case err != nil || bytes.Contains(program, []byte(instrument.Variable)):
		return nil
	case bytes.Contains(program, []byte("/debug/pprof/")):
		return fmt.Errorf(`%s does not record itself: build it with "bottleneck instrument -- go build", or add -trace-url 'http://ADDRESS/debug/pprof/trace?seconds=5' for what it serves there`, name)
	}
	return fmt.Errorf(`%s does not record itself and does not contain net/http/pprof: build it with "bottleneck instrument -- go build"; from outside, no system shows what goroutines wait for`, name)
}

// keep moves the recordings out of dir, which it removes unless that fails, and returns the name of
// the largest, "" if there is none.
func (f *runFlags) keep(std stdio, dir string) (longest string, err error) {
	traces, err := trial.Recordings(dir)
	for _, of := range traces {
		name := filepath.Join(f.dir, filepath.Base(of.Name))
		if err := copyFile(name, of.Name); err != nil {
			return longest, fmt.Errorf("%w; all recordings are in %s", err, oneLine(dir))
		}
		longest = cmp.Or(longest, name)
		fmt.Fprintf(std.err, "bottleneck: recorded %s, %s\n", oneLine(name), input.Bytes(of.Size))
	}
	if len(traces) > 1 {
		fmt.Fprintf(std.err, "bottleneck: the verdict is that of %s, the largest of %d recordings\n", oneLine(longest), len(traces))
	}
	if err == nil {
		os.RemoveAll(dir)
	}
	return longest, err
}

// defineInstrument defines the flags that choose what a recording has.
func defineInstrument(fs *pflag.FlagSet, opt *instrument.Options) {
	flags.Parsed(fs, &opt.What, "what", "", "record the parts of `LIST`, separated by commas: locks, the owners of locks; pools, each task of an ants, tunny, pond or conc pool; tasks, pools and what every trace has: go and errgroup, each goroutine with its go statement; default locks,tasks",
		func(list string) ([]string, error) { return parseList(list, instrument.Parts) })
	fs.StringSliceVar(&opt.Only, "only", nil, "record owners while packages of `PATTERNS` wait, and tasks of pools that they submit; patterns as in go list: ./..., example.com/x/...")
	fs.StringSliceVar(&opt.Skip, "skip", nil, "leave out those of `PATTERNS`")
}

func (a *app) instrument() *cobra.Command {
	var opt instrument.Options
	c := a.command("instrument [flags] -- go build | install | run | test [arguments]", "build a program that records itself, unchanged", `
Instrument runs a command of go so that the program records itself: its
execution trace with CPU samples, the owners of each sync.Mutex and sync.RWMutex
while goroutines wait for it, in the program, in its dependencies and in the
standard library, and the tasks of pools of goroutines. No source is changed,
and nothing is written beside it.

The program records from before main to its end, if the environment variable
BOTTLENECK_RECORD has the name of a directory. Each process writes a trace
NAME.PID.trace into it, for "bottleneck FILE" and all other commands. Without
the variable it records nothing. "bottleneck run" sets it, and prints the
verdict.

A recording misses its last second if the program is killed or calls
syscall.Exit. The runtime finds no deadlock while it records.`, func(ctx context.Context, std stdio, args []string) error {
		if err := onlyCommand(std, args); err != nil {
			return err
		}
		return runGo(ctx, std, opt, args, nil, "")
	})
	defineInstrument(c.Flags(), &opt)
	c.Example = `  bottleneck instrument -- go build -o server ./cmd/server
  mkdir recordings && BOTTLENECK_RECORD=recordings ./server
  bottleneck instrument -what locks -only ./... -- go build ./cmd/server
  bottleneck recordings/server.*.trace`
	return c
}

// onlyCommand checks that there is a command after -- and nothing before.
func onlyCommand(std stdio, args []string) error {
	switch {
	case len(args) == 0:
		return usagef("no command: it follows after --, as in -- go test ./pkg")
	case std.dash != 0:
		return usagef("unexpected argument %q: the command follows after --", args[0])
	}
	return nil
}

// runGo runs a go command so that it builds an instrumented program. See process.Run.
func runGo(ctx context.Context, std stdio, opt instrument.Options, args, env []string, dir string) error {
	if !instrument.IsGo(args[0]) || len(args) < 2 || !slices.Contains([]string{"build", "install", "run", "test"}, args[1]) {
		return usagef("%s builds no program: want go build, install, run or test", strings.Join(args[:min(2, len(args))], " "))
	}
	cmd, err := opt.Command(ctx, args...)
	if err != nil {
		return errors.Unwrap(err) // without the name of the package
	}
	return process.Run(std.in, std.out, std.err, cmd, env, dir)
}
