package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/artifact"
	"github.com/bottleneck-go/bottleneck/internal/condition"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/input"
	"github.com/bottleneck-go/bottleneck/internal/memory"
	"github.com/bottleneck-go/bottleneck/internal/output"
)

// analysis is a command that reads one input, writes the result in the requested forms, and checks
// the conditions of -fail.
type analysis struct {
	flags *pflag.FlagSet // of the whole command, which adds its own
	to    output.Destination
	forms output.Forms
	fail  output.Conditions
	opt   bn.Options
	kinds []*artifact.Kind // the first is made of a trace, and JSON of all is read
	check func() error     // rejects invalid flags of the command and sets options; may be nil
	// result, if not nil, returns the result in place of the value of the artifact.
	result func(artifact.Artifact) (any, error)
}

// define adds the common flags, without -fail if about is nil.
func (a *analysis) define(c *cobra.Command, forms output.Forms, about *condition.Measures) {
	a.flags, a.forms = c.Flags(), forms
	a.to.Define(c, output.FormsIn(forms))
	flags.Part(a.flags, &a.opt.Bottle)
	if about != nil {
		a.fail.Define(c, "", about)
	}
}

// settle rejects invalid flags. Profiles for pprof need stacks.
func (a *analysis) settle(std stdio) error {
	opt := &a.opt.Bottle
	if err := flags.CheckBounds(a.flags, opt.From, opt.To); err != nil {
		return err
	}
	if err := a.to.Settle(std.out); err != nil {
		return err
	}
	a.opt.PathStacks = slices.Contains(a.to.Asked(), "pprof")
	opt.Stacks = opt.Stacks || a.opt.PathStacks
	if a.check == nil {
		return nil
	}
	return a.check()
}

// run makes the result of a trace or of saved JSON, and writes it.
func (a *analysis) run(ctx context.Context, std stdio, args []string) error {
	if err := a.settle(std); err != nil {
		return err
	}
	in, err := oneInput(std, args)
	if err != nil {
		return err
	}
	read, err := artifact.Read(ctx, std.progress, in, a.opt, a.kinds...)
	if read.Value == nil || ctx.Err() != nil { // the part read before an interrupt is arbitrary
		return err
	}
	if err := rejectTraceFlags(a.flags, read); err != nil {
		return err
	}
	v, failed := read.Value, error(nil)
	if a.result != nil {
		if v, failed = a.result(read); failed != nil {
			return errors.Join(err, failed)
		}
	}
	a.to.Draw.Source = input.Short(in.Label)
	return errors.Join(err, a.to.Write(std.out, std.err, v, a.forms), a.fail.Failed(std.err, condition.Of(v)))
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
	a, err := artifact.Read(ctx, std.progress, in, opt, artifact.Trace)
	return a.Report, err
}

// traceFlags are the flags that affect the analysis of a trace.
var traceFlags = []string{"group", "window", "collections", "from", "to", "offered", "generations", "during", "outside", "user-tasks", "aggregate"}

// rejectTraceFlags rejects flags that have no effect on a saved result, whose grouping is fixed.
func rejectTraceFlags(flags *pflag.FlagSet, a artifact.Artifact) (err error) {
	group := ""
	if g, ok := a.Value.(*bottle.Graph); ok {
		group = g.GroupBy
	}
	flags.Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if err == nil && a.Info == nil && slices.Contains(traceFlags, f.Name) && value != f.DefValue && !(f.Name == "group" && value == group) {
			err = usagef("-%s is for traces; %s is a saved result", f.Name, a.Label)
		}
	})
	return err
}

// reads adds the flags of a command that reads files and URLs.
func (a *app) reads(c *cobra.Command) *cobra.Command {
	a.urls(c)
	a.limited(c)
	return c
}

// limited adds the memory flag of a command that reads traces or saved results.
func (a *app) limited(c *cobra.Command) {
	flags.Parsed(c.Flags(), &a.memory, "memory", "", "stop with an error before memory exceeds `SIZE`, such as 2GB or 512MB; default half of the memory of the machine or cgroup", func(s string) (n int64, err error) {
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

// progress shows what say returns on the standard error, if that is a terminal.
func (s stdio) progress(say func(since time.Duration) string) (stop func()) {
	return output.Progress(s.err, say)
}

// guard is called with the memory limit of a command. It does nothing in tests.
var guard = func(limit int64) {}

// guardProcess ends the process before it uses more memory than the limit. Passes over traces watch
// the limit themselves; this covers saved results, and processing after a trace was read.
func guardProcess(limit int64) {
	memory.Guard(limit, func() {
		fmt.Fprintf(os.Stderr, "bottleneck: memory limit %s exceeded; raise it with -memory\n", memory.Text(limit))
		os.Exit(exitFailure)
	})
}
