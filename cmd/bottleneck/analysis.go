package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/instrument"
	"github.com/bottleneck-go/bottleneck/internal/condition"
	"github.com/bottleneck-go/bottleneck/internal/input"
	"github.com/bottleneck-go/bottleneck/internal/memory"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// analysis is a command that reads one input, writes the result in the requested forms, and checks
// the conditions of -fail.
type analysis struct {
	flags *pflag.FlagSet // of the whole command, which adds its own
	to    destination
	forms formsOf
	fail  conditions
	opt   bn.Options
}

// define adds the common flags, without -fail if about is nil.
func (a *analysis) define(c *cobra.Command, forms formsOf, about *condition.Measures) {
	a.flags, a.forms = c.Flags(), forms
	a.to.define(c, formsIn(forms))
	definePart(a.flags, &a.opt.Bottle.Part)
	if about != nil {
		a.fail.define(c, "", about)
	}
}

// settle rejects invalid common flags. With -during, the pass over the trace cuts the time.
func (a *analysis) settle(std stdio) error {
	opt := &a.opt.Bottle
	if err := checkBounds(a.flags, opt.From, opt.To); err != nil {
		return err
	}
	if opt.Part.During != "" {
		opt.Part.From, opt.Part.To, opt.From, opt.To = opt.From, opt.To, 0, 0
	}
	return a.to.settle(std)
}

// run makes the result of a trace, or of saved JSON of one of the kinds. result, if not nil,
// returns it in place of the value of the artifact.
func (a *analysis) run(ctx context.Context, std stdio, args []string, result func(artifact) (any, error), kinds ...*kind) error {
	in, err := oneInput(std, args)
	if err != nil {
		return err
	}
	read, err := readArtifact(ctx, std, in, a.opt, kinds...)
	if read.value == nil || ctx.Err() != nil { // the part read before an interrupt is arbitrary
		return err
	}
	if err := rejectTraceFlags(a.flags, read); err != nil {
		return err
	}
	v, failed := read.value, error(nil)
	if result != nil {
		if v, failed = result(read); failed != nil {
			return errors.Join(err, failed)
		}
	}
	a.to.draw.source = shownSource(in.Label)
	return errors.Join(err, a.to.write(std, v, a.forms), a.fail.check(std, condition.Of(v)))
}

// conditions is the value of -fail.
type conditions struct{ condition.List }

// define adds -fail. more is the end of its help.
func (f *conditions) define(c *cobra.Command, more string, about ...*condition.Measures) {
	f.About = about
	c.Flags().Func("fail", "exit with status 1 if `CONDITION` holds, such as "+about[0].Example+more+"; separate several by commas", f.Add)
	if len(about) > 1 {
		return
	}
	var b strings.Builder
	b.WriteString(strings.TrimSpace(c.Long) + "\n\nA CONDITION is NAME, one of < <= > >=, and a value. NAME is\n\n")
	all, width := about[0].All(), 17
	for _, m := range all {
		width = max(width, len(m.Name))
	}
	for _, m := range all {
		fmt.Fprintf(&b, "  %-*s %s\n", width, m.Name, wrapped(width+3, m.Help))
	}
	c.Long = b.String() + "\n" + wrapped(0, about[0].Parts)
}

// check returns a one-line error that lists the conditions that hold.
func (f *conditions) check(std stdio, values condition.Values) error {
	err := f.Check(values, func(s string) { fmt.Fprintf(std.err, "bottleneck: -fail: %s\n", s) })
	if err != nil {
		err = fmt.Errorf("-fail: %w", err)
	}
	return err
}

// shownSource returns the name of a trace in pictures: a URL, or a file without directories.
func shownSource(label string) string {
	if strings.Contains(label, "://") {
		return label
	}
	return filepath.Base(label)
}

// analyze makes results of a trace. All commands use it to read traces.
func analyze(ctx context.Context, in *input.Source, r io.Reader, opt bn.Options) (*bn.Report, error) {
	opt.Name, opt.Progress = in.Label, in.Decoded
	opt.Contention.Declared = instrument.Declarations()
	return bn.Analyze(ctx, r, opt)
}

// readFile makes the results of opt.Want of a trace file and, unless single is "", of the trace of a
// run of the same work with one worker.
func readFile(ctx context.Context, std stdio, name, single string, opt bn.Options) (*bn.Report, error) {
	if single != "" {
		r, from, _, err := input.File(single).OpenTrace(ctx, nil)
		if err != nil {
			return nil, input.Reading(err)
		}
		defer r.Close()
		opt.Single, opt.Speedup.SingleName = from, cmp.Or(opt.Speedup.SingleName, single)
	}
	in := input.File(name)
	in.Label = cmp.Or(opt.Name, name)
	a, err := readArtifact(ctx, std, in, opt, traceKind)
	return a.Report, err
}

// traceFlags are the flags that affect the analysis of a trace.
var traceFlags = []string{"group", "window", "collections", "from", "to", "offered", "generations", "during", "outside", "user-tasks", "aggregate", "hz"}

// rejectTraceFlags rejects flags that have no effect on a saved result, whose grouping is fixed.
func rejectTraceFlags(flags *pflag.FlagSet, a artifact) (err error) {
	group := ""
	if g, ok := a.value.(*bottle.Graph); ok {
		group = g.GroupBy
	}
	flags.Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if err == nil && a.Info == nil && slices.Contains(traceFlags, f.Name) && value != f.DefValue && !(f.Name == "group" && value == group) {
			err = usagef("-%s is for traces; %s is a saved result", f.Name, a.label)
		}
	})
	return err
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
			if s == "" {
				return errors.New("want a part of the time")
			}
			if part.During != "" {
				return errors.New("one -during or -outside at a time")
			}
			part.During, part.Outside = s, outside
			return part.CheckValid()
		}
	}
	const parts = "region:NAME, task:TYPE, gc, gc:N or marker:A..B (messages of trace.Log)"
	fs.Var(&parsedFlag{set: during(false)}, "during", "analyze only a `PART` of the time, such as region:checkout: "+parts)
	fs.Var(&parsedFlag{set: during(true)}, "outside", "analyze all but a `PART` of the time: "+parts)
}

// defineGroup adds -group; of begins its help.
func defineGroup(fs *pflag.FlagSet, group *bottle.Grouping, of string) {
	parsed(fs, group, "group", "function", of+"group goroutines `BY` function, start, creator, goroutine, region, task, kind or /regexp/; see \"bottleneck help graph\"", bottle.ParseGrouping)
}

// defineWindow adds -window.
func defineWindow(fs *pflag.FlagSet, window *time.Duration, help string) {
	parsed(fs, window, "window", "", help, func(s string) (d time.Duration, err error) {
		if d, err = time.ParseDuration(s); err != nil || d <= 0 {
			err = errors.New("want a positive duration, such as 500ms")
		}
		return d, err
	})
}

// defineBounds adds -from and -to.
func defineBounds(fs *pflag.FlagSet, from, to *time.Duration) {
	fs.DurationVar(from, "from", 0, "begin `DURATION` after the start of the trace, or of -generations")
	fs.DurationVar(to, "to", 0, "end `DURATION` after the start of the trace, or of -generations")
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

// between rejects a value of a flag that is out of range.
func between[N cmp.Ordered](name string, value, least, most N) error {
	if least <= value && value <= most {
		return nil
	}
	return usagef("-%s %v: want from %v to %v", name, value, least, most)
}

// defineSeconds adds -seconds of commands that ask a service.
func defineSeconds(fs *pflag.FlagSet, n *float64, usual float64, help string) {
	*n = usual
	parsed(fs, n, "seconds", "", help, func(s string) (v float64, err error) {
		if v, err = strconv.ParseFloat(s, 64); err != nil || !(v >= 0.001 && v <= 3600) {
			err = errors.New("want from 0.001 to 3600")
		}
		return v, err
	})
}

// defineRegexp adds a flag for a regular expression.
func defineRegexp(fs *pflag.FlagSet, to **regexp.Regexp, name, help string) {
	parsed(fs, to, name, "", help, regexp.Compile)
}

// parsed adds a flag whose values parse returns. usual is the text of the default.
func parsed[T any](fs *pflag.FlagSet, to *T, name, usual, help string, parse func(string) (T, error)) {
	fs.Var(&parsedFlag{func(s string) error {
		v, err := parse(s)
		if err == nil {
			*to = v
		}
		return err
	}, usual}, name, help)
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

// reads adds the flags of a command that reads files and URLs.
func (a *app) reads(c *cobra.Command) *cobra.Command {
	a.urls(c)
	a.limited(c)
	return c
}

// limited adds the memory flag of a command that reads traces or saved results.
func (a *app) limited(c *cobra.Command) {
	parsed(c.Flags(), &a.memory, "memory", "", "stop with an error before memory exceeds `SIZE`, such as 2GB or 512MB; default half of the memory of the machine or cgroup", func(s string) (n int64, err error) {
		if n, err = memory.Parse(s); err == nil && n < memory.Least {
			err = fmt.Errorf("want at least %s", memory.Text(memory.Least))
		}
		return n, err
	})
}

// oneInput returns the input of a command that reads one: the argument, or standard input.
func oneInput(std stdio, args []string) (*input.Source, error) {
	switch len(args) {
	case 0:
		return input.Find(std.in, "")
	case 1:
		return input.Find(std.in, args[0])
	}
	return nil, usagef("more than one input: %q and %q", args[0], args[1])
}

// onceStdin rejects arguments that name standard input twice.
func onceStdin(args []string) error {
	if at := slices.Index(args, "-"); at >= 0 && slices.Contains(args[at+1:], "-") {
		return usagef("standard input is named twice")
	}
	return nil
}

// urls adds the flags of a command that reads URLs.
func (a *app) urls(c *cobra.Command) {
	a.credentials.Header = http.Header{}
	c.Flags().Func("header", "send the header `'NAME: VALUE'` with each request, except to other hosts after a redirect; may be repeated", a.credentials.Add)
	c.Flags().StringVar(&a.credentials.Token, "token-file", "", "send \"Authorization: Bearer TOKEN\" with the token in `FILE`, for exporters/live with a token")
}

// guard is called with the memory limit of a command. It does nothing in tests.
var guard = func(limit int64) {}

// guardProcess ends the process before it uses more memory than the limit. Passes over traces watch
// the limit themselves; this covers saved results, and processing after a trace was read.
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
