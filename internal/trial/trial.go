// Package trial runs a command several times, with different numbers of processors, and records an
// execution trace of each run.
package trial

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
	"slices"
	"strconv"
	"strings"
	"time"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/instrument"
	"github.com/bottleneck-go/bottleneck/internal/schedstat"
	"github.com/bottleneck-go/bottleneck/internal/usage"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// Run is a recorded run.
type Run struct {
	Width int    // GOMAXPROCS
	Trace string // trace file
	Wall  time.Duration
	Delay time.Duration   // of threads that waited for a core; 0 if unknown
	walls []time.Duration // of all runs at this width, in order
	used  usage.Run
	ops   float64 // iterations of the benchmark; 0 if unknown
	each  float64 // the benchmark's ns/op; 0 if unknown
}

// Explain adds to a stack of the run what the machine counted and, if the stack compares it with
// the run on one processor, the speed-ups of all rounds.
func (r *Run) Explain(s *speedup.Stack, single *Run, compared bool) {
	if compared {
		s.Repeat(r.speedups(single))
		if w := r.untimed(single); w != "" {
			s.Warnings = append(s.Warnings, w)
		}
	}
	s.Explain(r.usage(single, s))
}

// untimed returns a warning if the speed-up of the run differs from that by the timer of the
// benchmark, or "".
func (r *Run) untimed(single *Run) string {
	timed, all := single.each/r.each, single.Wall.Seconds()/r.Wall.Seconds()
	if !(timed > 0) || math.IsInf(timed, 0) || max(timed/all, all/timed) < untimedRatio {
		return ""
	}
	part := func(r *Run) string {
		return fmt.Sprintf("%.0f %%", 100*max(0, 1-r.each*r.ops/float64(r.Wall)))
	}
	return fmt.Sprintf("By its ns/op, the benchmark is %s times as fast with %s. The stack also has what the benchmark does not time, such as its set-up: %s of the run on 1 processor, and %s of this one.",
		format.Parallelism(timed), format.Plural(r.Width, "processor", "processors"), part(single), part(r))
}

// untimedRatio is the least ratio of two speed-ups that is worth a warning.
const untimedRatio = 1.1

// speedups returns the speedup of each run over the one at the other width in the same round.
func (r *Run) speedups(single *Run) (out []float64) {
	for i, wall := range r.walls {
		out = append(out, single.walls[i].Seconds()/wall.Seconds())
	}
	return out
}

// usage returns what the run and that on one processor used for each unit of work, or nil.
func (r *Run) usage(single *Run, s *speedup.Stack) *speedup.Usage {
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
	counts := func(r *Run, n float64) map[string]float64 {
		c := map[string]float64{"wall-time": float64(r.Wall) / n}
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

// Runner runs a command at several widths.
type Runner struct {
	Args   []string  // the command, for messages
	Temp   string    // directory of the traces
	Env    []string  // in place of GOMAXPROCS
	Output io.Writer // gets the output of the command, if not nil
	// Progress shows what say returns while the command runs, until stop is called.
	Progress func(say func(since time.Duration) string) (stop func())
	// Read makes results of a trace file.
	Read   func(ctx context.Context, trace string, opt bn.Options) (*bn.Report, error)
	record string // directory for the recordings of a program, or ""
}

// Measure runs the command count times at each width and returns the median run of each. Runs of
// different widths alternate, so that a lasting disturbance does not affect all runs of one width.
func (r *Runner) Measure(ctx context.Context, c *Command, widths []int, count int) ([]*Run, error) {
	most := widths[len(widths)-1]
	if err := c.fixWork(func(args []string) (string, error) { return r.run(ctx, args, most, nil) }, most, r.Temp); err != nil {
		return nil, err
	}
	runs := make([][]*Run, len(widths))
	for round := range count {
		for i, width := range widths {
			run := &Run{Width: width, Trace: filepath.Join(r.Temp, fmt.Sprintf("trace-%d-%d.out", width, round))}
			out, err := r.Traced(ctx, c, run)
			if err != nil {
				return nil, err
			}
			if c.iterations > 0 { // given by the command or counted: of one benchmark
				if _, run.each, err = c.Result(out); err != nil {
					return nil, err
				}
			}
			run.ops = float64(c.iterations)
			report, err := r.Recorded(ctx, run.Trace, bn.Options{Want: bn.WantInfo})
			if err != nil {
				return nil, err
			}
			run.Wall = report.Info.Duration()
			runs[i] = append(runs[i], run)
		}
	}
	var taken []*Run
	for _, same := range runs {
		var walls []time.Duration
		for _, run := range same {
			walls = append(walls, run.Wall)
		}
		slices.SortStableFunc(same, func(a, b *Run) int { return cmp.Compare(a.Wall, b.Wall) })
		run := same[(len(same)-1)/2]
		run.walls = walls
		taken = append(taken, run)
	}
	return taken, nil
}

// Traced runs a command at the width of a run, 0 if r.Env replaces that, with the trace of the
// run. It returns the output.
func (r *Runner) Traced(ctx context.Context, t *Command, run *Run) (out string, err error) {
	args, counts := t.args(run.Width, run.Trace, r.Temp), run.Trace+".json"
	if t.kind == goRun || t.kind == goTest && !t.has("exec") {
		wrapper, err := usage.Exec(counts)
		if err != nil {
			return "", err
		}
		args = slices.Insert(args, flagsAt(args), "-exec="+wrapper)
	}
	if r.record = ""; t.kind == goRun || t.kind == recorder {
		if r.record, err = os.MkdirTemp(r.Temp, "record-"); err != nil {
			return "", err
		}
	}
	if out, err = r.run(ctx, args, run.Width, run); err != nil {
		return "", err
	}
	if t.kind == goRun || t.kind == goTest {
		run.used, _ = usage.ReadFile(counts) // those of the go command are of no use
	}
	if r.record == "" {
		return out, nil
	}
	traces, err := Recordings(r.record)
	if err == nil && len(traces) > 0 {
		err = os.Rename(traces[0].Name, run.Trace)
	}
	if err != nil {
		return "", err
	}
	return out, os.RemoveAll(r.record)
}

// Recorded makes results of the trace that the command should have written.
func (r *Runner) Recorded(ctx context.Context, trace string, opt bn.Options) (*bn.Report, error) {
	report, err := r.Read(ctx, trace, opt)
	if errors.Is(err, os.ErrNotExist) {
		if err = fmt.Errorf("%s has written no trace to %s", r.Args[0], trace); r.record != "" {
			err = fmt.Errorf("%s: no process recorded anything", strings.Join(r.Args, " "))
		}
	}
	return report, err
}

// tools are the commands that build a test, by the 15 bytes of a name that the kernel keeps.
var tools = []string{"go", "compile", "link", "asm", "cgo", "vet", "buildid", "pack", "covdata", "gcc", "cc1", "as", "ld", "collect2"}

// Untraced runs a command without a trace, with r.Env, and returns its output.
func (r *Runner) Untraced(ctx context.Context, args []string) (string, error) {
	return r.run(ctx, args, 0, nil)
}

// run executes a command and returns its output. If into is not nil, it gets what the run used.
func (r *Runner) run(ctx context.Context, args []string, width int, into *Run) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	if r.record != "" && instrument.IsGo(args[0]) {
		built, err := instrument.Options{}.Command(ctx, args...)
		if err != nil {
			return "", errors.Unwrap(err) // without the name of the package
		}
		cmd.Path, cmd.Args, cmd.Env, cmd.Err = built.Path, built.Args, built.Env, built.Err
	}
	cmd.WaitDelay = time.Second
	env, where := r.Env, strings.Join(r.Env, " ")
	if width > 0 {
		env, where = []string{"GOMAXPROCS=" + strconv.Itoa(width)}, "GOMAXPROCS="+strconv.Itoa(width)
	}
	cmd.Env = append(cmd.Environ(), env...)
	if r.record != "" {
		cmd.Env = append(cmd.Env, instrument.Variable+"="+r.record)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if r.Output != nil {
		cmd.Stdout = io.MultiWriter(&out, r.Output)
		cmd.Stderr = cmd.Stdout
	}
	defer r.Progress(func(since time.Duration) string {
		return fmt.Sprintf("running with %s: %s, %.0f s", where, strings.Join(r.Args, " "), since.Seconds())
	})()
	wait, err := usage.Start(cmd)
	if err != nil {
		return "", NotRun(args[0], err)
	}
	stop := schedstat.WatchTree(cmd.Process.Pid, func(command string) bool { return !slices.Contains(tools, command) })
	used, err := wait()
	times, _ := stop()
	if into != nil {
		into.Delay, into.used = times.Lost(), used
	}
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("%s with %s: %w%s", strings.Join(r.Args, " "), where, err, outputOf(out.String()))
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

// Recording is a file with a recording.
type Recording struct {
	Name string
	Size int64
}

// Recordings returns the recordings in a directory, the largest first. An empty one has a reason.
func Recordings(dir string) (traces []Recording, err error) {
	files, err := os.ReadDir(dir)
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".trace") {
			continue
		}
		st, err := f.Info()
		if err != nil {
			return nil, err
		}
		traces = append(traces, Recording{filepath.Join(dir, f.Name()), st.Size()})
	}
	slices.SortStableFunc(traces, func(a, b Recording) int { return cmp.Compare(b.Size, a.Size) })
	return traces, err
}
