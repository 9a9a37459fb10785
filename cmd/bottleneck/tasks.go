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
	"github.com/bottleneck-go/bottleneck/exporters/markdown"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/granularity/tracetasks"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/spf13/cobra"
)

// tasksFlags are the choices of the user.
type tasksFlags struct {
	analysis[granularity.Profile]
	class, site string
	only        *regexp.Regexp // what class means; nil: all
	trace       tracetasks.Options
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
	f.define(c, tasksForms, tasksMeasures)
	f.to.defineTop("classes with the largest sums", "12 in pictures, else all")
	fs := c.Flags()
	fs.StringVar(&f.class, "class", "", "only classes in whose name `REGEXP` finds something")
	fs.StringVar(&f.site, "site", "", "`SITE` is creation or submission: whose call chains are the stacks of .pb.gz (creation if not given), and which lines text lists (both)")
	fs.BoolVar(&f.to.draw.strip, "strip", false, "show tasks over time, with context switches and CPU utilization, in pictures in place of the distributions")
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
	f.to.draw.creation, f.to.draw.submission = f.site == "creation", f.site == "submission"
	switch {
	case f.site != "" && !f.to.draw.creation && !f.to.draw.submission:
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
	return f.analysis.run(ctx, std, source, read, tasksForms)
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
			p, err := readSaved(r, in.label, tasksKind)
			if err == nil && (f.trace.Tasks || f.trace.AggregateNested || f.trace.Hz != 0 || f.part != timeline.Part{}) {
				return nil, usagef("-user-tasks, -aggregate, -generations, -during, -outside and -hz are for traces; %s is a recorded profile", in.label)
			}
			return p, err
		})
}

// tasksForms are the forms of profiles of tasks.
var tasksForms = drawn(formsOf[*granularity.Profile]{
	"text": func(w io.Writer, p *granularity.Profile, d drawing) error {
		return text.WriteTasks(w, p, text.TasksOptions{Options: d.text(), Creation: d.creation, Submission: d.submission, Strip: d.strip})
	},
	"json": func(w io.Writer, p *granularity.Profile, d drawing) error {
		return granularity.WriteJSON(w, d.largest(p))
	},
	"csv": func(w io.Writer, p *granularity.Profile, d drawing) error {
		return text.TableCSV(w, d.largest(p).Table())
	},
	"md": func(w io.Writer, p *granularity.Profile, d drawing) error {
		return markdown.Write(w, d.largest(p).ClassTable(p.ByTime()))
	},
	"pprof": func(w io.Writer, p *granularity.Profile, d drawing) error {
		return pprof.WriteTasks(w, d.largest(p), pprof.TasksOptions{Submission: d.submission, File: d.source})
	},
}, func(p *granularity.Profile, d drawing) (*picture.Drawing, error) {
	if d.strip {
		return picture.DrawStrip(p, d.picture())
	}
	return picture.DrawTasks(p, d.picture())
})

// largest keeps the classes with the largest sums, for the forms that do not do it themselves.
func (d drawing) largest(p *granularity.Profile) *granularity.Profile {
	if d.top == 0 || d.top >= len(p.Classes) {
		return p
	}
	out := *p
	out.Classes = p.Classes[:d.top]
	return &out
}

var tasksMeasures = measures[*granularity.Profile]{
	example: "fine-tasks-%>10",
	whole: []measured[*granularity.Profile]{
		measuring("tasks", result.Number, "the number of tasks", always(func(p *granularity.Profile) float64 { return countTasks(p, "") })),
		measuring("fine-tasks-%", result.Ratio, "the share of tasks in classes that are too small", diagnosedShare(granularity.Fine)),
		measuring("coarse-tasks-%", result.Ratio, "the share in classes that are too large", diagnosedShare(granularity.Coarse)),
		measuring("blocked-tasks-%", result.Ratio, "the share in classes that are blocked for most of their time", diagnosedShare(granularity.Blocked)),
		measuring("unknown-tasks-%", result.Ratio, "the share in classes of which the numbers do not tell", diagnosedShare(granularity.Unknown)),
		measuring("cycles/task", result.Number, "mean cycles of a task", cyclesPerTask),
		measuring("running/task", result.Duration, "mean running time of a task, as a duration such as 20us", runningPerTask),
		measuring("wall/task", result.Duration, "mean time of a task from its begin to its end, as a duration", wallPerTask),
	},
	parts: "or p50, mean, p99, count or blocked-% of one class, as tasks(CLASS).p50.",
	part:  ofPart("tasks", []measure{{name: "p50", unit: result.Number}, {name: "mean", unit: result.Number}, {name: "p99", unit: result.Number}, {name: "count", unit: result.Number}, {name: "blocked-%", unit: result.Ratio}}, classMeasure),
}

var errNoTasks = errors.New("no task was measured")

// countTasks counts the tasks of all classes with a diagnosis, of all if it is "".
func countTasks(p *granularity.Profile, d granularity.Diagnosis) (n float64) {
	for i := range p.Classes {
		if d == "" || p.Classes[i].Diagnosis == d {
			n += float64(p.Classes[i].Tasks)
		}
	}
	return n
}

// diagnosedShare returns the share of tasks that are in classes with the diagnosis. Where
// there are no tasks, none are.
func diagnosedShare(d granularity.Diagnosis) func(*granularity.Profile) (float64, error) {
	return func(p *granularity.Profile) (float64, error) {
		all := countTasks(p, "")
		if all == 0 {
			return 0, nil
		}
		return 100 * countTasks(p, d) / all, nil
	}
}

// meanOfTasks returns the mean over all tasks of all classes.
func meanOfTasks(p *granularity.Profile, of func(*granularity.Class) *granularity.Histogram) (float64, error) {
	var sum, count float64
	for i := range p.Classes {
		h := of(&p.Classes[i])
		sum += h.Sum()
		count += float64(h.Count())
	}
	if count == 0 {
		return 0, errNoTasks
	}
	return sum / count, nil
}

func cyclesPerTask(p *granularity.Profile) (float64, error) {
	if p.ByTime() {
		return 0, errors.New("a trace does not tell cycles; give -hz, or compare running/task")
	}
	return meanOfTasks(p, func(c *granularity.Class) *granularity.Histogram { return &c.Cycles })
}

func runningPerTask(p *granularity.Profile) (float64, error) {
	granules, err := meanOfTasks(p, p.Granularity)
	if err != nil {
		return 0, err
	}
	d, ok := p.Duration(granules)
	if !ok {
		return 0, errors.New("the length of a cycle is not known; compare cycles/task")
	}
	return float64(d), nil
}

func wallPerTask(p *granularity.Profile) (float64, error) {
	return meanOfTasks(p, func(c *granularity.Class) *granularity.Histogram { return &c.WallNS })
}

// classMeasure is one of a class: granularity in cycles or, if they are not known, in nanoseconds.
func classMeasure(p *granularity.Profile, class string, m measure) (float64, error) {
	c, err := findNamed(p.Classes, func(c *granularity.Class) string { return c.Name }, "there are no tasks of class", class)
	if err != nil {
		return 0, err
	}
	h := p.Granularity(c)
	switch {
	case m.name == "count":
		return float64(c.Tasks), nil
	case m.name == "blocked-%":
		return 100 * c.BlockedNS.Sum() / max(1, c.WallNS.Sum()), nil
	case h.Count() == 0:
		return 0, fmt.Errorf("the granularity of %q is not known", c.Name)
	case m.name == "mean":
		return h.Mean(), nil
	case m.name == "p99":
		return h.Quantile(.99), nil
	}
	return h.Quantile(.5), nil
}
