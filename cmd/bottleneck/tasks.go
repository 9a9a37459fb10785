package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/artifact"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/measures"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/internal/sweep"
	"github.com/bottleneck-go/bottleneck/internal/trial"
)

// tasksFlags holds the flags of tasks.
type tasksFlags struct {
	analysis
	only  *regexp.Regexp // from -class; nil means all
	sweep parameter
	runs  int
}

func (a *app) tasks() *cobra.Command {
	f := &tasksFlags{analysis: analysis{kinds: []*artifact.Kind{artifact.Tasks}}}
	f.result = func(a artifact.Artifact) (any, error) {
		p := a.Value.(*granularity.Profile)
		return p, f.choose(p)
	}
	c := a.command("tasks [flags] [FILE | URL | -]", "show how large the tasks are, and where they come from", `
Tasks shows how large the tasks of a program are, whether they are too small
(the overhead costs more than the parallelism gains) or too large (processors
are idle), and which lines create them.

It reads profiles recorded by package granularity, in reference cycles, and
execution traces of any program. A task of a trace is a region of runtime/trace
or, without regions, a goroutine or an HTTP request; its size is the time for
which it ran.

The diagnosis of a class of tasks is "fine" if they are too small, "coarse" if
they are too large, "blocked" if they are blocked for most of their time, "ok"
otherwise, or "unknown". Conditions are about the classes of -class.

With -sweep it runs a command after "--" for each value of a parameter, an
environment variable or {NAME} in the arguments, and shows the time, the number,
overhead and size of the tasks, and the time that the first value predicts from
them. The command is one as in "bottleneck scale"; the time of a benchmark is
that without a trace.`, func(ctx context.Context, std stdio, args []string) error {
		if f.sweep.name != "" {
			return f.runSweep(ctx, std, args)
		}
		return f.run(ctx, std, args)
	})
	f.define(c, output.TasksForms, &measures.Tasks)
	f.to.DefineTop("classes with the largest sums", "12 in pictures, all in other forms")
	fs := c.Flags()
	flags.Regexp(fs, &f.only, "class", "show only classes whose name matches `REGEXP`")
	fs.BoolVar(&f.to.Draw.Strip, "strip", false, "draw tasks over time, with context switches and CPU utilization, instead of the distributions")
	fs.BoolVar(&f.opt.Tasks.Tasks, "user-tasks", false, "the tasks of a trace are those of trace.NewTask, with what ran in their regions, instead of the regions of trace.StartRegion")
	fs.BoolVar(&f.opt.Tasks.AggregateNested, "aggregate", false, "count regions inside a region of a trace as part of it, and goroutines as part of those that started them and ended later")
	flags.Parsed(fs, &f.sweep, "sweep", "", "run the command after -- with `NAME=VALUES` of a parameter, such as GRAIN=1,10,100", parseSweep)
	fs.IntVar(&f.runs, "runs", 5, "with -sweep, run `N` times for each value")
	f.to.Only["strip"] = []string{"svg", "png", "html"}
	c.Example = `  go run ./examples/pmdtasks -json pmd.json && bottleneck tasks pmd.json
  bottleneck tasks -o cdf.svg -o tasks.csv pmd.json
  bottleneck tasks -o tasks.pb.gz pmd.json &&
          go tool pprof -top -sample_index=tasks tasks.pb.gz
  bottleneck tasks -fail 'fine-tasks-%>10,cycles/task<20000' pmd.json
  bottleneck tasks 'http://localhost:6060/debug/pprof/trace?seconds=5'
  bottleneck tasks -sweep GRAIN=1,10,100 -- go test -run='^$' -bench=Sort .`
	return a.reads(c)
}

// choose keeps the classes that -class selects.
func (f *tasksFlags) choose(p *granularity.Profile) error {
	if f.only == nil {
		return nil
	}
	var names []string
	p.Classes = slices.DeleteFunc(p.Classes, func(c granularity.Class) bool {
		names = append(names, format.Clean(c.Name))
		return !f.only.MatchString(c.Name)
	})
	if len(p.Classes) > 0 {
		return nil
	}
	if names == nil {
		return errors.New("there are no classes of tasks at all")
	}
	return fmt.Errorf("no class matches %q: the classes are %s", f.only, strings.Join(names[:min(len(names), 8)], ", "))
}

// parameter is an environment variable, or {NAME} in the arguments, with its values.
type parameter struct {
	name   string
	values []string
}

func parseSweep(s string) (w parameter, err error) {
	name, list, _ := strings.Cut(s, "=")
	w.name, w.values = name, strings.Split(list, ",")
	if name == "" || slices.Contains(w.values, "") || len(slices.Compact(slices.Sorted(slices.Values(w.values)))) < len(w.values) {
		err = errors.New("want NAME=VALUE,VALUE,… with different values")
	}
	return w, err
}

// sweeper runs a command over the values of a sweep.
type sweeper struct {
	*tasksFlags
	parameter
	runner *trial.Runner
}

// runSweep implements -sweep.
func (f *tasksFlags) runSweep(ctx context.Context, std stdio, args []string) error {
	s := &sweeper{tasksFlags: f, parameter: f.sweep}
	switch {
	case len(args) == 0 || std.dash != 0:
		return usagef("-sweep wants a command after --, as in -- go test -run='^$' -bench=Sort .")
	case !f.fail.Empty():
		return usagef("-fail is not for -sweep")
	}
	if err := cmp.Or(flags.Between("runs", f.runs, 1, 1000), f.settle(std)); err != nil {
		return err
	}
	if err := f.to.Supports(output.TableForms, "a sweep"); err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "bottleneck-sweep-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	s.runner = newRunner(std, args, temp)
	points, err := s.measure(ctx)
	if err != nil {
		return err
	}
	return f.to.Write(std.out, std.err, sweep.Table(s.name, points), output.TableForms)
}

// measure runs the command for all values in turn, several times. The last run of each is traced;
// the others are, too, unless the command is a test, which prints its time.
func (s *sweeper) measure(ctx context.Context) (points []sweep.Point, err error) {
	commands := make([]*trial.Command, len(s.values))
	for i, value := range s.values {
		points = append(points, sweep.Point{Value: value})
		var args []string
		for _, a := range s.runner.Args {
			args = append(args, strings.ReplaceAll(a, "{"+s.name+"}", value))
		}
		if commands[i], err = trial.New(args); err != nil {
			return nil, err
		}
	}
	for run := range s.runs + 1 {
		for i, c := range commands {
			p := &points[i]
			took, err := s.run(ctx, c, p, run == s.runs)
			if err != nil {
				return nil, err
			}
			if run < s.runs {
				p.Times = append(p.Times, max(took, 1))
			}
		}
	}
	return points, nil
}

// run runs the command once and returns how long it took. It sets the tasks of p if tasks is set.
func (s *sweeper) run(ctx context.Context, c *trial.Command, p *sweep.Point, tasks bool) (time.Duration, error) {
	s.runner.Env = []string{s.name + "=" + p.Value}
	if c.IsTest() && !tasks {
		out, err := s.runner.Untraced(ctx, c.With(s.runner.Temp, "-count=1"))
		if err != nil {
			return 0, err
		}
		_, ns, err := c.Result(out)
		return time.Duration(ns), err
	}
	trace := filepath.Join(s.runner.Temp, "trace.out")
	if _, err := s.runner.Traced(ctx, c, &trial.Run{Trace: trace}); err != nil {
		return 0, err
	}
	report, err := s.runner.Recorded(ctx, trace, bn.Options{Want: bn.WantTasks, Tasks: s.opt.Tasks})
	if err != nil {
		return 0, err
	}
	took := report.Info.Duration()
	if p.Profile = report.Tasks; tasks {
		err = s.choose(p.Profile)
	}
	return took, errors.Join(err, os.Remove(trace))
}
