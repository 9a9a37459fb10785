package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/instrument"
	"github.com/bottleneck-go/bottleneck/internal/atomicfile"
	"github.com/bottleneck-go/bottleneck/internal/condition"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/internal/schedstat"
	"github.com/bottleneck-go/bottleneck/internal/usage"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// scaleFlags holds the flags of scale.
type scaleFlags struct {
	speedupFlags
	widths  []int
	count   int
	dir     string
	verbose bool
	command []string
}

func (a *app) scale() *cobra.Command {
	f := &scaleFlags{}
	c := a.command("scale [flags] -- COMMAND [arguments]", "run a benchmark or program on 1, 2, 4 processors and compare", `
Scale runs a command at several values of GOMAXPROCS under the execution tracer,
several times each, and draws speedup stacks and bottle graphs of the runs with
the median times. If the speedup varies widely over the runs or, on Linux, other
programs took processors away, the stack is marked as disturbed. The command is

  go test -run=^$ -bench=NAME [flags] PACKAGE
            one benchmark. A first run without a trace finds the number of
            iterations, which all other runs use: the work must be the same
  X.test [-test.…]
            a test binary, likewise
  go run PACKAGE [arguments]
            a program that ends, built by "bottleneck instrument", with no
            change in its source; {cpu} stands for the width
  PROGRAM [arguments]
            one that "bottleneck instrument -- go build" has built, or that
            writes its execution trace to a file that an argument names:
            {trace} stands for that file

Scale also counts what the processes of a run use for each operation, or each
region of -unit. What grows with the number of processors explains the
remainder, or why goroutines wait.`, f.run)
	f.define(c)
	fs := c.Flags()
	usual := defaultWidths()
	f.widths, _ = parseWidths(usual)
	parsed(fs, &f.widths, "cpu", usual, "run at these `WIDTHS`; the run at 1 is the base of the others: without it, stacks are estimates", parseWidths)
	fs.IntVar(&f.count, "count", 3, "run `N` times at each width")
	fs.StringVar(&f.dir, "dir", "", "write stack.svg, stack.json, graphs.svg with the graphs of all widths side by side, and trace-N.out of the median run at each width into `DIR`")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "show the output of the command")
	c.Example = `  bottleneck scale -cpu 1,2,4 -- go test -run='^$' -bench=Sort ./pkg
  bottleneck scale -- go run ./cmd/render scene.json
  bottleneck scale -dir scaling -count 5 -- ./render -trace={trace} scene.json`
	a.limited(c)
	return c
}

// parse takes the command from the arguments after "--".
func (f *scaleFlags) parse(std stdio, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	f.command = args
	return cmp.Or(between("count", f.count, 1, 1000), onlyCommand(std, args))
}

// parseWidths parses the list of -cpu. The result is sorted.
func parseWidths(list string) (widths []int, err error) {
	for field := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		switch {
		case err != nil || n < 1 || n > 1<<14:
			return nil, fmt.Errorf("%q is not a number of processors", field)
		case slices.Contains(widths, n):
			return nil, fmt.Errorf("%d is given twice", n)
		}
		widths = append(widths, n)
	}
	slices.Sort(widths)
	return widths, nil
}

func (f *scaleFlags) run(ctx context.Context, std stdio, args []string) (err error) {
	if err := f.parse(std, args); err != nil {
		return err
	}
	if f.dir != "" {
		delete(f.to.only, "title") // stack.svg has a title
	}
	if err := f.to.settle(std); err != nil {
		return err
	}
	target, err := newTarget(f.command)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "bottleneck-scale-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if f.dir != "" {
		if err := os.MkdirAll(f.dir, 0o777); err != nil {
			return atomicfile.Error(f.dir, err)
		}
	}
	r := &scaler{flags: f, std: std, target: target, temp: temp}
	taken, err := r.measure(ctx)
	if err != nil {
		return err
	}
	return f.show(ctx, std, taken)
}

// show makes the stacks and graphs of the runs, writes the files, and then prints.
func (f *scaleFlags) show(ctx context.Context, std stdio, taken []*scaleRun) error {
	graphs, stacks, err := f.analyze(ctx, std, taken)
	if err != nil {
		return err
	}
	f.to.draw.source = strings.Join(f.command, " ")
	var errs []error
	if f.dir != "" {
		f.to.outputs = append(f.to.outputs, filepath.Join(f.dir, "stack.svg"), filepath.Join(f.dir, "stack.json"))
	}
	row := graphRow{graphs: graphs}
	for _, run := range taken {
		row.names = append(row.names, fmt.Sprintf("GOMAXPROCS %d", run.width))
	}
	if f.dir != "" && len(graphs) <= picture.MaxRuns {
		errs = append(errs, atomicfile.Write(filepath.Join(f.dir, "graphs.svg"), func(w io.Writer) error { return rowForms["svg"](w, row, f.to.draw) }))
	}
	errs = append(errs, f.to.write(std, stacks, stackForms), f.fail.check(std, condition.Of(stacks)))
	if f.to.format == "text" {
		opt := textOn(std.out)
		opt.Top = 6
		for i, g := range graphs {
			_, err := fmt.Fprintf(std.out, "\nGOMAXPROCS %d, %s\n\n", taken[i].width, format.Duration(taken[i].wall))
			errs = append(errs, err, text.Write(std.out, g, opt))
		}
	}
	return errors.Join(errs...)
}

// analyze returns the graph of every run, and the stacks that compare them with the run on one
// processor; without that run, the stacks are estimates.
func (f *scaleFlags) analyze(ctx context.Context, std stdio, taken []*scaleRun) (graphs []*bottle.Graph, stacks []*speedup.Stack, err error) {
	of, single := f.opt, ""
	if taken[0].width == 1 {
		single, of.SingleDelay, of.SingleName = taken[0].trace, taken[0].delay, "the run on 1 processor"
	}
	for i, run := range taken {
		opt := bn.Options{Want: bn.WantVerdict, CPUs: host.Processors(), Name: fmt.Sprintf("the run on %s", format.Plural(run.width, "processor", "processors"))}
		against := ""
		if i > 0 || single == "" || len(taken) == 1 {
			opt.Want |= bn.WantSpeedup
			opt.Speedup, against = of, single
			opt.Speedup.MultiDelay, opt.Speedup.N = run.delay, cmp.Or(of.N, run.width)
		}
		report, err := readFile(ctx, std, run.trace, against, opt)
		if err != nil {
			return nil, nil, err
		}
		graphs = append(graphs, report.Bottle)
		if report.Speedup != nil {
			if against != "" && i > 0 {
				report.Speedup.Repeat(run.speedups(taken[0]))
				if w := run.untimed(taken[0]); w != "" {
					report.Speedup.Warnings = append(report.Speedup.Warnings, w)
				}
			}
			report.Speedup.Explain(run.usage(taken[0], report.Speedup))
			stacks = append(stacks, report.Speedup)
		}
	}
	return graphs, stacks, nil
}

// target is a command that can be run at several widths, each time with a trace.
type target struct {
	command    []string
	kind       targetKind
	iterations int    // of a benchmark, or 0
	fixed      string // flag that fixes them, such as -benchtime=123x
}

type targetKind int

const (
	program    targetKind = iota // uses {trace} and GOMAXPROCS
	recorder                     // records itself, and uses GOMAXPROCS
	goRun                        // go run, of such a program
	goTest                       // go test
	testBinary                   // uses -test.trace and -test.cpu
)

// isTest reports whether the command has the flags of tests.
func (t *target) isTest() bool { return t.kind == goTest || t.kind == testBinary }

// newTarget determines the kind of a command, and rejects flags that scale sets itself.
func newTarget(command []string) (*target, error) {
	t := &target{command: command}
	base := strings.TrimSuffix(filepath.Base(command[0]), ".exe")
	switch goes := instrument.IsGo(command[0]) && len(command) > 1; {
	case goes && command[1] == "test":
		t.kind = goTest
	case strings.HasSuffix(base, ".test"):
		t.kind = testBinary
	case slices.ContainsFunc(command, func(a string) bool { return strings.Contains(a, "{trace}") }):
	case goes && command[1] == "run":
		t.kind = goRun
	case goes:
		return nil, usagef("go %s runs nothing: want go test or go run", command[1])
	default:
		t.kind = recorder
		path, err := exec.LookPath(command[0])
		if err != nil {
			return nil, notRun(command[0], err)
		}
		if code, err := os.ReadFile(path); err != nil || !bytes.Contains(code, []byte(instrument.Variable)) {
			return nil, usagef("%s does not record itself: build it with \"bottleneck instrument -- go build\", or give it an argument with {trace}, the file for its execution trace", command[0])
		}
	}
	if !t.isTest() {
		return t, nil
	}
	for _, own := range []string{"cpu", "trace", "o"} {
		if t.has(own) {
			instead := ""
			if own == "cpu" {
				instead = ", and give -cpu before --"
			}
			return nil, usagef("the command's -%s is set by bottleneck: leave it out%s", own, instead)
		}
	}
	if t.has("json") {
		return nil, usagef("the command's -json hides the results of benchmarks: leave it out")
	}
	if t.has("count") {
		return nil, usagef("the command has a -count of its own: give it before --, so that every run has its own trace")
	}
	return t, nil
}

// find returns the range [from, to) of a test flag in the command, or −1, and its value.
func (t *target) find(name string) (from, to int, value string) {
	for i, a := range t.command {
		if a == "-args" || a == "--args" {
			break
		}
		got, value, joined := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if i == 0 || !strings.HasPrefix(a, "-") || strings.TrimPrefix(got, "test.") != name {
			continue
		}
		if joined || i+1 == len(t.command) {
			return i, i + 1, value
		}
		return i, i + 2, t.command[i+1]
	}
	return -1, -1, ""
}

// has reports whether the command contains the test flag.
func (t *target) has(name string) bool {
	from, _, _ := t.find(name)
	return from >= 0
}

// flagsAt returns where the flags of a go command begin, after -C, which has to be the first one.
func flagsAt(command []string) int {
	switch {
	case len(command) > 3 && command[2] == "-C":
		return 4
	case len(command) > 2 && strings.HasPrefix(command[2], "-C="):
		return 3
	}
	return 2
}

// with inserts test flags into the command, before others. go test would leave the binary in the
// working directory, not in temp.
func (t *target) with(temp string, flags ...string) []string {
	at := 1
	if t.kind == goTest {
		at = flagsAt(t.command)
		flags = append(flags, "-o="+filepath.Join(temp, "scaled.test"))
	} else {
		for i, f := range flags {
			flags[i] = "-test." + strings.TrimPrefix(f, "-")
		}
	}
	return slices.Concat(t.command[:at], flags, t.command[at:])
}

// args returns the command for a width, with a trace.
func (t *target) args(width int, trace, temp string) []string {
	if !t.isTest() {
		replace := strings.NewReplacer("{trace}", trace, "{cpu}", strconv.Itoa(width))
		var args []string
		for _, a := range t.command {
			args = append(args, replace.Replace(a))
		}
		return args
	}
	flags := []string{"-trace=" + trace, "-count=1"}
	if width > 0 {
		flags = slices.Insert(flags, 0, "-cpu="+strconv.Itoa(width))
	}
	if t.fixed != "" {
		flags = append(flags, t.fixed)
	}
	return t.with(temp, flags...)
}

// resultLine is a benchmark's result: its name, the number of iterations and the time of one.
var resultLine = regexp.MustCompile(`(?m)^(Benchmark\S*)\s+(\d+)\s(?:\s*([0-9.]+) ns/op)?`)

// result returns the number of iterations and the time of one, of the benchmark in an output.
func (t *target) result(out string) (iterations int, ns float64, err error) {
	var names []string
	for _, found := range resultLine.FindAllStringSubmatch(out, -1) {
		names = append(names, found[1])
		iterations, _ = strconv.Atoi(found[2])
		ns, _ = strconv.ParseFloat(found[3], 64)
	}
	switch len(names) {
	case 0:
		err = fmt.Errorf("%s: no benchmark has run%s", strings.Join(t.command, " "), outputOf(out))
	case 1:
	default:
		err = fmt.Errorf("%d benchmarks match (%s): want one; name it with -bench", len(names), strings.Join(names, ", "))
	}
	return iterations, ns, err
}

// fixWork determines the number of iterations of a benchmark, so that all runs do the same work.
// Otherwise it would depend on time, and differ between widths.
func (t *target) fixWork(run func(args []string) (string, error), width int, temp string) error {
	from, to, given := t.find("benchtime")
	number, fixed := strings.CutSuffix(given, "x")
	if !t.isTest() || !t.has("bench") || fixed {
		if t.isTest() && t.has("bench") && fixed {
			t.iterations, _ = strconv.Atoi(number)
		}
		return nil
	}
	out, err := run(t.with(temp, "-cpu="+strconv.Itoa(width), "-count=1"))
	if err != nil {
		return err
	}
	if t.iterations, _, err = t.result(out); err != nil {
		return err
	}
	t.fixed = fmt.Sprintf("-benchtime=%dx", t.iterations)
	if from >= 0 {
		t.command = slices.Delete(slices.Clone(t.command), from, to)
	}
	return nil
}

// defaultWidths returns the powers of two up to the number of processors, and that number.
func defaultWidths() string {
	most := runtime.NumCPU()
	list := "1"
	for n := 2; n < most; n *= 2 {
		list += "," + strconv.Itoa(n)
	}
	if most > 1 {
		list += "," + strconv.Itoa(most)
	}
	return list
}

// scaleRun is a recorded run.
type scaleRun struct {
	width int
	trace string // trace file
	wall  time.Duration
	delay time.Duration   // of threads that waited for a core; 0 if unknown
	walls []time.Duration // of all runs at this width, in order
	used  usage.Run
	ops   float64 // iterations of the benchmark; 0 if unknown
	each  float64 // the benchmark's ns/op; 0 if unknown
}

// untimed returns a warning if the speed-up of the run differs from that by the timer of the
// benchmark, or "".
func (r *scaleRun) untimed(single *scaleRun) string {
	timed, all := single.each/r.each, single.wall.Seconds()/r.wall.Seconds()
	if !(timed > 0) || math.IsInf(timed, 0) || max(timed/all, all/timed) < untimedRatio {
		return ""
	}
	part := func(r *scaleRun) string {
		return fmt.Sprintf("%.0f %%", 100*max(0, 1-r.each*r.ops/float64(r.wall)))
	}
	return fmt.Sprintf("By its ns/op, the benchmark is %s times as fast with %s. The stack also has what the benchmark does not time, such as its set-up: %s of the run on 1 processor, and %s of this one.",
		format.Parallelism(timed), format.Plural(r.width, "processor", "processors"), part(single), part(r))
}

// untimedRatio is the least ratio of two speed-ups that is worth a warning.
const untimedRatio = 1.1

// speedups returns the speedup of each run over the one at the other width in the same round.
func (r *scaleRun) speedups(single *scaleRun) (out []float64) {
	for i, wall := range r.walls {
		out = append(out, single.walls[i].Seconds()/wall.Seconds())
	}
	return out
}

// usage returns what the run and that on one processor used for each unit of work, or nil.
func (r *scaleRun) usage(single *scaleRun, s *speedup.Stack) *speedup.Usage {
	if len(r.used.Counts) == 0 {
		return nil
	}
	u, n, one := &speedup.Usage{Per: "run", Missing: r.used.Missing}, 1.0, 1.0
	switch a, b := s.Single.Units, s.Multi.Units; {
	case s.Estimate && b != nil && b.Count > 0:
		u.Per, n = "unit", float64(b.Count)
	case a != nil && b != nil && a.Count > 0 && b.Count > 0:
		u.Per, n, one = "unit", float64(b.Count), float64(a.Count)
	case r.ops > 0:
		u.Per, n, one = "operation", r.ops, r.ops
	}
	counts := func(r *scaleRun, n float64) map[string]float64 {
		c := map[string]float64{"wall-time": float64(r.wall) / n}
		for name, v := range r.used.Counts {
			c[name] = v / n
		}
		return c
	}
	if u.Multi = counts(r, n); !s.Estimate && len(single.used.Counts) > 0 {
		u.Single = counts(single, one)
	}
	return u
}

// scaler runs a command at several widths.
type scaler struct {
	flags  *scaleFlags
	std    stdio
	target *target
	temp   string
	env    []string // instead of GOMAXPROCS
	record string   // directory for the recordings of a program, or ""
}

// measure runs the command count times at each width and returns the median run of each. Runs of
// different widths alternate, so that a lasting disturbance does not affect all runs of one width.
func (r *scaler) measure(ctx context.Context) ([]*scaleRun, error) {
	f := r.flags
	if err := r.target.fixWork(func(args []string) (string, error) {
		return r.run(ctx, args, f.widths[len(f.widths)-1], nil)
	}, f.widths[len(f.widths)-1], r.temp); err != nil {
		return nil, err
	}
	runs := make([][]*scaleRun, len(f.widths))
	for round := range f.count {
		for i, width := range f.widths {
			run := &scaleRun{width: width, trace: filepath.Join(r.temp, fmt.Sprintf("trace-%d-%d.out", width, round))}
			out, err := r.traced(ctx, r.target, run)
			if err != nil {
				return nil, err
			}
			if r.target.iterations > 0 { // given by the command or counted: of one benchmark
				if _, run.each, err = r.target.result(out); err != nil {
					return nil, err
				}
			}
			run.ops = float64(r.target.iterations)
			report, err := r.recorded(ctx, run.trace, bn.Options{Want: bn.WantInfo})
			if err != nil {
				return nil, err
			}
			run.wall = report.Info.Duration()
			runs[i] = append(runs[i], run)
		}
	}
	var taken []*scaleRun
	for _, same := range runs {
		var walls []time.Duration
		for _, run := range same {
			walls = append(walls, run.wall)
		}
		slices.SortStableFunc(same, func(a, b *scaleRun) int { return cmp.Compare(a.wall, b.wall) })
		run := same[(len(same)-1)/2]
		run.walls = walls
		if f.dir != "" {
			if err := copyFile(filepath.Join(f.dir, fmt.Sprintf("trace-%d.out", run.width)), run.trace); err != nil {
				return nil, err
			}
		}
		taken = append(taken, run)
	}
	return taken, nil
}

// traced runs a target at the width of a run, 0 if that is given by r.env, with the trace of the
// run.
func (r *scaler) traced(ctx context.Context, t *target, run *scaleRun) (out string, err error) {
	args, counts := t.args(run.width, run.trace, r.temp), run.trace+".json"
	if t.kind == goRun || t.kind == goTest && !t.has("exec") {
		wrapper, err := usage.Exec(counts)
		if err != nil {
			return "", err
		}
		args = slices.Insert(args, flagsAt(args), "-exec="+wrapper)
	}
	if r.record = ""; t.kind == goRun || t.kind == recorder {
		if r.record, err = os.MkdirTemp(r.temp, "record-"); err != nil {
			return "", err
		}
	}
	if out, err = r.run(ctx, args, run.width, run); err != nil {
		return "", err
	}
	if t.kind == goRun || t.kind == goTest {
		run.used, _ = usage.ReadFile(counts) // those of the go command are of no use
	}
	if r.record == "" {
		return out, nil
	}
	traces, err := recordings(r.record)
	if err == nil && len(traces) > 0 {
		err = os.Rename(traces[0].name, run.trace)
	}
	if err != nil {
		return "", err
	}
	return out, os.RemoveAll(r.record)
}

// recorded makes results of the trace that the command should have written.
func (r *scaler) recorded(ctx context.Context, trace string, opt bn.Options) (*bn.Report, error) {
	report, err := readFile(ctx, r.std, trace, "", opt)
	if errors.Is(err, os.ErrNotExist) {
		if err = fmt.Errorf("%s has written no trace to %s", r.flags.command[0], trace); r.record != "" {
			err = fmt.Errorf("%s: no process recorded anything", strings.Join(r.flags.command, " "))
		}
	}
	return report, err
}

// tools are the commands that build a test, by the 15 bytes of a name that the kernel keeps.
var tools = []string{"go", "compile", "link", "asm", "cgo", "vet", "buildid", "pack", "covdata", "gcc", "cc1", "as", "ld", "collect2"}

// run executes a command and returns its output. If into is not nil, it gets what the run used.
func (r *scaler) run(ctx context.Context, args []string, width int, into *scaleRun) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	if r.record != "" && instrument.IsGo(args[0]) {
		built, err := instrument.Options{}.Command(ctx, args...)
		if err != nil {
			return "", errors.Unwrap(err) // without the name of the package
		}
		cmd.Path, cmd.Args, cmd.Env, cmd.Err = built.Path, built.Args, built.Env, built.Err
	}
	cmd.WaitDelay = patience
	env, where := r.env, strings.Join(r.env, " ")
	if width > 0 {
		env, where = []string{"GOMAXPROCS=" + strconv.Itoa(width)}, "GOMAXPROCS="+strconv.Itoa(width)
	}
	cmd.Env = append(cmd.Environ(), env...)
	if r.record != "" {
		cmd.Env = append(cmd.Env, instrument.Variable+"="+r.record)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if r.flags.verbose {
		cmd.Stdout = io.MultiWriter(&out, r.std.err)
		cmd.Stderr = cmd.Stdout
	}
	defer startProgress(r.std.err, func(since time.Duration) string {
		return fmt.Sprintf("running with %s: %s, %.0f s", where, strings.Join(r.flags.command, " "), since.Seconds())
	})()
	wait, err := usage.Start(cmd)
	if err != nil {
		return "", notRun(args[0], err)
	}
	stop := schedstat.WatchTree(cmd.Process.Pid, func(command string) bool { return !slices.Contains(tools, command) })
	used, err := wait()
	times, _ := stop()
	if into != nil {
		into.delay, into.used = times.Lost(), used
	}
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("%s with %s: %w%s", strings.Join(r.flags.command, " "), where, err, outputOf(out.String()))
	}
	return out.String(), nil
}

// outputOf returns the output of a command as the end of an error; "" without output.
func outputOf(out string) string {
	if out = lastLines(out); out == "" {
		return ""
	}
	return "; its output: " + out
}

// lastLines returns the end of an output in one line; for a panic, its beginning, and for a wrong
// flag what precedes the usage.
func lastLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "Usage of ") }); i > 0 {
		lines = lines[:i]
	}
	const most = 5
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "panic: ") }); i >= 0 {
		lines = lines[i:min(len(lines), i+1)]
	} else if len(lines) > most {
		lines = append([]string{"…"}, lines[len(lines)-most:]...)
	}
	return strings.Join(lines, " | ")
}
