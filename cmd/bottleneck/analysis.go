package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// analysis is what graph, contention and tasks have in common: each reads one input, makes a T of
// it, writes that in the forms that were asked for, and checks the conditions of -fail.
type analysis[T any] struct {
	flags *pflag.FlagSet // of the whole command, which adds its own
	to    destination
	fail  conditions[*T]
	part  timeline.Part
}

// define adds the flags that all of them have.
func (a *analysis[T]) define(c *cobra.Command, forms formsOf[*T], about measures[*T]) {
	a.flags = c.Flags()
	a.to.define(c, formsIn(forms.has))
	a.fail.about = about
	a.flags.Func("fail", "exit with status 1 if `CONDITION` holds, such as "+about.example+"; several are separated by commas", a.fail.add)
	definePart(a.flags, &a.part)
	c.Long = strings.TrimSpace(c.Long) + "\n\n" + about.help()
}

// input checks what all have in common and returns the input. What names what is read.
func (a *analysis[T]) input(std stdio, args []string, what string) (source string, err error) {
	if err := a.to.settle(std); err != nil {
		return "", err
	}
	return oneInput(args, what)
}

// reader makes something of an input. What it returns may be there even if there is an error: it is
// then what could be read.
type reader[T any] func(ctx context.Context, std stdio, in *input) (*T, error)

// analyze makes results of a trace. All commands read traces with it.
func analyze(ctx context.Context, in *input, r io.Reader, opt bn.Options) (*bn.Report, error) {
	opt.Name, opt.Progress = in.label, in.decoded
	return bn.Analyze(ctx, r, opt)
}

// analyzeFile makes results of a trace in a file and, unless single is "", of one of a run of the
// same work with one worker. It is an error if a speedup is wanted and there is none.
func analyzeFile(ctx context.Context, name, single string, opt bn.Options) (*bn.Report, error) {
	if single != "" {
		r, err := fileInput(single).open(ctx, nil)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		opt.Single, opt.Speedup.SingleName = r, cmp.Or(opt.Speedup.SingleName, single)
	}
	r, err := fileInput(name).open(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	opt.Speedup.MultiName = cmp.Or(opt.Speedup.MultiName, opt.Name, name)
	opt.Name = opt.Speedup.MultiName
	report, err := bn.Analyze(ctx, r, opt)
	if err == nil && opt.Want&bn.WantSpeedup != 0 {
		err = report.SpeedupErr
	}
	return report, err
}

// resultFrom makes a result of a trace, or reads one that was saved. The result may be there even
// if there is an error: it is then what could be read.
func resultFrom[T any](ctx context.Context, std stdio, in *input, opt bn.Options, of func(*bn.Report) *T, saved func(r io.Reader) (*T, error)) (*T, error) {
	return readInput(ctx, std, in, func(ctx context.Context, r io.Reader, head []byte) (*T, error) {
		if holdsJSON(head) {
			return saved(r)
		}
		report, err := analyze(ctx, in, r, opt)
		if report == nil {
			return nil, err
		}
		return of(report), err
	})
}

// run does what the flags say.
func (a *analysis[T]) run(ctx context.Context, std stdio, source string, read reader[T], forms formsOf[*T]) error {
	in, err := findInput(std, source)
	if err != nil {
		return err
	}
	if err := a.to.outputs.check(); err != nil { // before anything is read
		return err
	}
	v, err := read(ctx, std, in)
	if v == nil || ctx.Err() != nil { // what was read before an interrupt is a matter of chance
		return err
	}
	a.to.draw.source = shownSource(in.label)
	written := a.to.write(std, func(w io.Writer, form string, d drawing) error { return forms[form](w, v, d) })
	return errors.Join(err, written, a.fail.check(v))
}
