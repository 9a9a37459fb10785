package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/memory"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// analysis holds what graph, contention and tasks have in common: each reads one input, makes a T
// of it, writes that in the requested forms, and checks the conditions of -fail.
type analysis[T any] struct {
	flags *pflag.FlagSet // of the whole command, which adds its own
	to    destination
	fail  conditions
	part  timeline.Part
}

// define adds the common flags.
func (a *analysis[T]) define(c *cobra.Command, forms formsOf[*T], about *measures) {
	a.flags = c.Flags()
	a.to.define(c, formsIn(forms.has))
	a.fail.about = []*measures{about}
	a.flags.Func("fail", "exit with status 1 if `CONDITION` holds, such as "+about.example+"; separate several by commas", a.fail.add)
	definePart(a.flags, &a.part)
	c.Long = strings.TrimSpace(c.Long) + "\n\n" + about.help()
}

// input checks the common flags and returns the input; what names the input in messages.
func (a *analysis[T]) input(std stdio, args []string, what string) (source string, err error) {
	if err := a.to.settle(std); err != nil {
		return "", err
	}
	return oneInput(args, what)
}

// reader makes a result of an input. If it returns an error, its result may be non-nil: it then
// covers the part that could be read.
type reader[T any] func(ctx context.Context, std stdio, in *input) (*T, error)

// analyze makes results of a trace. All commands use it to read traces.
func analyze(ctx context.Context, in *input, r io.Reader, opt bn.Options) (*bn.Report, error) {
	opt.Name, opt.Progress = in.label, in.decoded
	return bn.Analyze(ctx, r, opt)
}

// analyzeFile makes results of a trace file and, unless single is "", of the trace of a run of the
// same work with one worker. It returns an error if a speedup is requested and there is none.
func analyzeFile(ctx context.Context, name, single string, opt bn.Options) (*bn.Report, error) {
	if single != "" {
		r, err := fileInput(single).open(ctx, nil)
		if err != nil {
			return nil, reading(err)
		}
		defer r.Close()
		opt.Single, opt.Speedup.SingleName = r, cmp.Or(opt.Speedup.SingleName, single)
	}
	r, err := fileInput(name).open(ctx, nil)
	if err != nil {
		return nil, reading(err)
	}
	defer r.Close()
	opt.Speedup.MultiName = cmp.Or(opt.Speedup.MultiName, opt.Name, name)
	opt.Name = opt.Speedup.MultiName
	report, err := bn.Analyze(ctx, r, opt)
	err = reading(err)
	if err == nil && opt.Want&bn.WantSpeedup != 0 {
		err = report.SpeedupErr
	}
	return report, err
}

// readResult makes a result of a trace, or reads a saved one that check accepts. If it returns an
// error, the result may be non-nil: it then covers the part that could be read.
func readResult[T any](ctx context.Context, std stdio, in *input, k *row[*T], opt bn.Options, check func(*T) error) (*T, error) {
	return readInput(ctx, std, in, func(ctx context.Context, r io.Reader, head []byte) (*T, error) {
		if holdsJSON(head) {
			v, err := readSaved(r, in.label, k)
			if err == nil {
				err = check(v)
			}
			if err != nil {
				return nil, err
			}
			return v, nil
		}
		opt.Want = k.want
		report, err := analyze(ctx, in, r, opt)
		if report == nil {
			return nil, err
		}
		return k.of(report), err
	})
}

// reader returns the reader of a kind of result.
func (a *analysis[T]) reader(k *row[*T], opt bn.Options) reader[T] {
	return func(ctx context.Context, std stdio, in *input) (*T, error) {
		return readResult(ctx, std, in, k, opt, func(v *T) error {
			if g, ok := any(v).(*bottle.Graph); ok {
				return rejectTraceFlags(a.flags, in.label, g.GroupBy)
			}
			return rejectTraceFlags(a.flags, in.label, "")
		})
	}
}

// traceFlags are the flags that affect the analysis of a trace.
var traceFlags = []string{"group", "window", "from", "to", "offered", "generations", "during", "outside", "user-tasks", "aggregate", "hz"}

// rejectTraceFlags rejects flags that have no effect on a saved result, whose grouping is fixed.
func rejectTraceFlags(flags *pflag.FlagSet, label, group string) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if err == nil && slices.Contains(traceFlags, f.Name) && value != f.DefValue && !(f.Name == "group" && value == group) {
			err = usagef("-%s is for traces; %s is a saved result", f.Name, label)
		}
	})
	return err
}

// run runs the command as the flags specify.
func (a *analysis[T]) run(ctx context.Context, std stdio, source string, forms formsOf[*T], read reader[T]) error {
	in, err := findInput(std, source)
	if err != nil {
		return err
	}
	if err := a.to.outputs.check(); err != nil { // before reading anything
		return err
	}
	v, err := read(ctx, std, in)
	if v == nil || ctx.Err() != nil { // the part read before an interrupt is arbitrary
		return err
	}
	a.to.draw.source = shownSource(in.label)
	written := a.to.write(std, func(w io.Writer, form string, d drawing) error { return forms[form](w, v, d) })
	return errors.Join(err, written, a.fail.checkOne(std, v))
}

// definePart adds -generations, -during and -outside.
func definePart(fs *pflag.FlagSet, part *timeline.Part) {
	fs.Var(&parsedFlag{set: func(s string) error {
		p, err := parsePart(s)
		part.First, part.Last = p.First, p.Last
		return err
	}}, "generations", "read only the generations `A:B` of a trace, about a second each, counted from 1; A: is to the end")
	during := func(outside bool) func(string) error {
		return func(s string) error {
			d, err := timeline.ParseDuring(s)
			if !part.During.All() && err == nil {
				return errors.New("one -during or -outside at a time")
			}
			if part.During = d; outside {
				part.During = d.Outside()
			}
			return err
		}
	}
	const parts = "region:NAME, task:TYPE, gc, gc:N or marker:A..B (messages of trace.Log)"
	fs.Var(&parsedFlag{set: during(false)}, "during", "analyze only a `PART` of the time, such as region:checkout: "+parts)
	fs.Var(&parsedFlag{set: during(true)}, "outside", "analyze all but a `PART` of the time: "+parts)
}

// defineGroup adds -group; of begins its help.
func defineGroup(fs *pflag.FlagSet, group *bottle.Grouping, of string) {
	set := func(s string) (err error) {
		*group, err = bottle.ParseGrouping(s)
		return err
	}
	fs.Var(&parsedFlag{set, "function"}, "group", of+"group goroutines `BY` function, start, creator, goroutine, region, task, kind or /regexp/; see \"bottleneck help graph\"")
}

// defineWindow adds -window.
func defineWindow(fs *pflag.FlagSet, window *time.Duration, help string) {
	fs.Var(&parsedFlag{set: func(s string) (err error) {
		if *window, err = time.ParseDuration(s); err != nil || *window <= 0 {
			return errors.New("want a positive duration, such as 500ms")
		}
		return nil
	}}, "window", help)
}

// defineBounds adds -from and -to, which count from the start of the input that of names.
func defineBounds(fs *pflag.FlagSet, from, to *time.Duration, of string) {
	fs.DurationVar(from, "from", 0, "begin `DURATION` after the start of "+of)
	fs.DurationVar(to, "to", 0, "end `DURATION` after the start of "+of)
}

// settleBounds is checkBounds for a command with a part of the trace. With -during, the pass over
// the trace cuts the time.
func settleBounds(fs *pflag.FlagSet, opt *bottle.Options) error {
	if err := checkBounds(fs, opt.From, opt.To); err != nil || opt.Part.During.All() {
		return err
	}
	opt.Part.From, opt.Part.To, opt.From, opt.To = opt.From, opt.To, 0, 0
	return nil
}

// checkBounds rejects an empty interval of -from and -to.
func checkBounds(fs *pflag.FlagSet, from, to time.Duration) error {
	if from < 0 {
		return usagef("-from %v: want 0s or more", from)
	}
	if fs.Changed("to") && to <= from {
		return usagef("-to %v is not after -from %v", to, from)
	}
	return nil
}

// parsedFlag is a flag with a parser. It keeps its text for the commands that a verdict suggests.
type parsedFlag struct {
	set  func(string) error
	text string
}

func (f *parsedFlag) Set(s string) error {
	f.text = s
	return f.set(s)
}

func (f *parsedFlag) String() string { return f.text }

func (f *parsedFlag) Type() string { return "string" }

// parsePart parses the value of -generations: "3", "3:7", "3:" or ":7".
func parsePart(s string) (p timeline.Part, err error) {
	first, last, isRange := strings.Cut(s, ":")
	if !isRange {
		last = first
	}
	for _, bound := range []struct {
		text string
		n    *int
	}{{first, &p.First}, {last, &p.Last}} {
		if bound.text == "" && isRange && s != ":" {
			continue
		}
		n, err := strconv.Atoi(bound.text)
		if err != nil || n < 1 {
			return p, errors.New("want a range such as 3:7, 3: or :7, from 1")
		}
		*bound.n = n
	}
	if p.Last > 0 && p.Last < p.First {
		return p, errors.New("the last is before the first")
	}
	return p, nil
}

// limited adds the memory flag of a command that reads traces or saved results.
func (a *app) limited(c *cobra.Command) {
	c.Flags().Func("memory", "stop with an error before memory exceeds `SIZE`, such as 2GB or 512MB; default half of the memory of the machine or cgroup", func(s string) (err error) {
		if a.memory, err = memory.Parse(s); err == nil && a.memory < memory.Least {
			err = fmt.Errorf("want at least %s", memory.Text(memory.Least))
		}
		return err
	})
}

// savedInput limits the size of a saved result, which takes about eight times its bytes in memory.
func savedInput(ctx context.Context, r io.Reader) io.Reader {
	limit := memory.Limit(ctx, 0)
	return &savedReader{r: r, left: limit / 8, err: fmt.Errorf("%w: it is longer than %s, and the limit is %s; raise it with -memory",
		memory.ErrLimit, memory.Text(limit/8), memory.Text(limit))}
}

type savedReader struct {
	r    io.Reader
	left int64
	err  error
}

func (s *savedReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if s.left -= int64(n); s.left < 0 {
		return 0, s.err
	}
	return n, err
}

// guard is called with the memory limit of a command; main sets it. Tests share a process, which
// has no limit.
var guard = func(limit int64) {}

// guardProcess ends the process before it uses more memory than the limit. Passes over traces watch
// the limit themselves and return what they have read; this covers saved results, and processing
// after a trace was read.
func guardProcess(limit int64) {
	debug.SetMemoryLimit(limit / 10 * 9)
	pace := memory.Pace()
	go func() {
		for ; ; time.Sleep(10 * time.Millisecond) {
			pace()
			if memory.Resident() < limit/100*95 {
				continue
			}
			debug.FreeOSMemory()
			if memory.Resident() >= limit/100*92 {
				fmt.Fprintf(os.Stderr, "bottleneck: memory limit %s exceeded; raise it with -memory\n", memory.Text(limit))
				os.Exit(exitFailure)
			}
		}
	}()
}
