package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/speedup/schedstat"
)

// defaultWidths are the powers of two up to the number of processors, and that number.
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

// scaleRun is a run that was recorded.
type scaleRun struct {
	width int
	trace string // file
	wall  time.Duration
	delay time.Duration   // of threads that waited for a core; 0 where it is not known
	walls []time.Duration // of all runs at this width, in order
}

// speedups returns how many times faster each of the runs was than the one on the other width in
// the same round.
func (r *scaleRun) speedups(single *scaleRun) (out []float64) {
	for i, wall := range r.walls {
		out = append(out, single.walls[i].Seconds()/wall.Seconds())
	}
	return out
}

// scaler runs a command at several widths.
type scaler struct {
	flags  *scaleFlags
	std    stdio
	target *target
	temp   string
}

// measure runs the command count times at each width and returns the median run of each.
// The widths take turns, so that a disturbance that lasts does not hit all runs of one.
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
			args := r.target.args(width, run.trace, r.temp)
			if _, err := r.run(ctx, args, width, run); err != nil {
				return nil, err
			}
			report, err := analyzeFile(ctx, run.trace, "", bn.Options{Want: bn.WantInfo})
			if errors.Is(err, os.ErrNotExist) {
				return nil, fmt.Errorf("%s has written no trace to %s", args[0], run.trace)
			}
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
			if err := keepTrace(run, f.dir); err != nil {
				return nil, err
			}
		}
		taken = append(taken, run)
	}
	return taken, nil
}

// keepTrace copies a run's trace to where the user wants it.
func keepTrace(run *scaleRun, dir string) error {
	in, err := os.Open(run.trace)
	if err != nil {
		return err
	}
	defer in.Close()
	name := filepath.Join(dir, fmt.Sprintf("trace-%d.out", run.width))
	return writeFile(name, func(w io.Writer) error { _, err := io.Copy(w, in); return err })
}

// tools are the commands that build a test, which are not watched. The kernel keeps 15 bytes of a
// name.
var tools = []string{"go", "compile", "link", "asm", "cgo", "vet", "buildid", "pack", "covdata", "gcc", "cc1", "as", "ld", "collect2"}

// run executes a command and returns what it printed. into is told what its threads waited for; it
// may be nil.
func (r *scaler) run(ctx context.Context, args []string, width int, into *scaleRun) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.WaitDelay = patience
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(width))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if r.flags.verbose {
		cmd.Stdout = io.MultiWriter(&out, r.std.err)
		cmd.Stderr = cmd.Stdout
	}
	p := startProgress(r.std.err, func(since time.Duration) string {
		return fmt.Sprintf("running on %s: %s, %.0f s", format.Plural(width, "processor", "processors"), strings.Join(r.flags.command, " "), since.Seconds())
	})
	defer p.stop()
	if err := cmd.Start(); err != nil {
		return "", notRun(args[0], err)
	}
	meter := schedstat.WatchTree(cmd.Process.Pid, func(command string) bool { return !slices.Contains(tools, command) })
	err := cmd.Wait()
	times, _ := meter.Stop()
	if into != nil {
		into.delay = times.Lost()
	}
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("%s with GOMAXPROCS=%d: %w%s", strings.Join(r.flags.command, " "), width, err, itSays(out.String()))
	}
	return out.String(), nil
}

// itSays is what a command said, for the end of an error; empty if it said nothing.
func itSays(out string) string {
	if out = lastLines(out); out == "" {
		return ""
	}
	return "; it says: " + out
}

// lastLines is the end of what a command said, in one line; of a panic, its beginning.
func lastLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	const most = 5
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "panic: ") }); i >= 0 {
		lines = lines[i:min(len(lines), i+1)]
	} else if len(lines) > most {
		lines = append([]string{"…"}, lines[len(lines)-most:]...)
	}
	return strings.Join(lines, " | ")
}
