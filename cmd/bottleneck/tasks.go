package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/granularity/tracetasks"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/spf13/cobra"
)

// tasksFlags are the choices of the user.
type tasksFlags struct {
	analysis[granularity.Profile]
	class, site string
	only        *regexp.Regexp // what class means; nil: all
	trace       tracetasks.Options
	draw        tasksDrawing
}

func (a *app) tasks() *cobra.Command {
	f := &tasksFlags{}
	c := a.command("tasks [flags] [FILE | URL | -]", "show how large the tasks are, and where they come from", `
Tasks shows how much work the tasks of a program do each, whether they are too
small (overheads eat the gain) or too large (processors idle), and which lines
create them.

It reads profiles recorded by package granularity (granularity.WriteJSON), in
reference cycles, and execution traces of any program: there a task is a region
of runtime/trace, and its size the time for which its goroutine ran. The input
is a FILE, a URL, or standard input ("-", or nothing at all in a pipe).

Diagnoses: "fine" is too small, "coarse" too large; "blocked" tasks are blocked
for most of their time, so their size matters little; "ok" is none of these,
"unknown" if the numbers do not tell. The text says why, and what to do.
Conditions are about the classes of -class.`, f.run)
	f.define(c, tasksWritings, tasksMeasures)
	f.to.defineTop("classes with the largest sums", "12 in pictures, else all")
	fs := c.Flags()
	fs.StringVar(&f.class, "class", "", "only classes in whose name `REGEXP` finds something")
	fs.StringVar(&f.site, "site", "", "`SITE` is creation or submission: whose call chains are the stacks of .pb.gz (creation if not given), and which lines text lists (both)")
	fs.BoolVar(&f.draw.strip, "strip", false, "show tasks over time, with context switches and CPU utilization, in pictures in place of the distributions")
	fs.BoolVar(&f.trace.Tasks, "user-tasks", false, "tasks of a trace are those of trace.NewTask, not the regions of trace.StartRegion: what ran in their regions")
	fs.BoolVar(&f.trace.AggregateNested, "aggregate", false, "count regions of a trace inside of a region to that one")
	fs.Float64Var(&f.trace.Hz, "hz", 0, "the `FREQUENCY` of reference cycles on the machine of the trace, such as 2.4e9, to have cycles")
	f.to.only["strip"] = []string{"svg", "png", "text"}
	f.to.only["site"] = []string{"pprof", "text"}
	c.Example = `  go run ./examples/pmdtasks -json pmd.json && bottleneck tasks pmd.json
  bottleneck tasks -o cdf.svg -o tasks.csv pmd.json
  bottleneck tasks -strip -o strip.svg pmd.json
  bottleneck tasks -o tasks.pb.gz pmd.json &&
          go tool pprof -top -sample_index=tasks tasks.pb.gz
  bottleneck tasks -fail 'fine-tasks-%>10,cycles/task<20000' pmd.json
  bottleneck tasks 'http://localhost:6060/debug/pprof/trace?seconds=5'`
	a.urls(c)
	a.limited(c)
	return c
}

// parse reads the flags and rejects what cannot be right before anything is read.
func (f *tasksFlags) parse(std stdio, args []string) (source string, err error) {
	if source, err = f.input(std, args, "input"); err != nil {
		return "", err
	}
	if f.class != "" {
		if f.only, err = regexp.Compile(f.class); err != nil {
			return "", usagef("-class: %v", err)
		}
	}
	f.draw.creation, f.draw.submission = f.site == "creation", f.site == "submission"
	switch {
	case f.site != "" && !f.draw.creation && !f.draw.submission:
		return "", usagef("-site %q: want creation or submission", f.site)
	case !(f.trace.Hz >= 0 && f.trace.Hz <= 1e12):
		return "", usagef("-hz %v: want a frequency, such as 2.4e9", f.trace.Hz)
	}
	return source, nil
}

func (f *tasksFlags) run(ctx context.Context, std stdio, args []string) error {
	source, err := f.parse(std, args)
	if err != nil {
		return err
	}
	read := func(ctx context.Context, std stdio, in *input) (*granularity.Profile, error) {
		p, err := f.read(ctx, std, in)
		if p == nil {
			return nil, err
		}
		if none := f.choose(p); none != nil {
			return nil, errors.Join(err, none)
		}
		return p, err
	}
	write := func(w io.Writer, form string, p *granularity.Profile, d drawing) error {
		f.draw.drawing = d
		return tasksForms[form](w, p, f.draw)
	}
	return f.analysis.run(ctx, std, source, read, write)
}

// choose keeps the classes of -class.
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
	const most = 8
	switch n := len(names); {
	case n == 0:
		return errors.New("there are no classes of tasks at all")
	case n > most:
		names = append(names[:most], fmt.Sprintf("%d others", n-most))
	}
	return fmt.Errorf("no class matches %q; there are %s", f.class, strings.Join(names, ", "))
}

// read reads a trace or a recorded profile, whatever it is. The profile may be there even if there
// is an error: it is then that of what could be read.
func (f *tasksFlags) read(ctx context.Context, std stdio, in *input) (*granularity.Profile, error) {
	opt := bn.Options{Want: bn.WantTasks, Tasks: f.trace, Bottle: bottle.Options{Part: f.part}}
	return resultFrom(ctx, std, in, opt, func(r *bn.Report) *granularity.Profile { return r.Tasks },
		func(r io.Reader) (*granularity.Profile, error) {
			p, err := readSaved(r, in.label, tasksDiff, granularity.ReadJSON)
			if err == nil && (f.trace.Tasks || f.trace.AggregateNested || f.trace.Hz != 0 || f.part != timeline.Part{}) {
				return nil, usagef("-user-tasks, -aggregate, -generations and -hz are for traces; %s is a recorded profile", in.label)
			}
			return p, err
		})
}
