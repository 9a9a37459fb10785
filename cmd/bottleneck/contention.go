package main

import (
	"context"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/contention/tracewaits"
	"github.com/bottleneck-go/bottleneck/internal/spelling"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// contentionFlags are the choices of the user.
type contentionFlags struct {
	analysis[contention.Profile]
	by, kinds, focus, view string
	filter                 contention.Filter
	draw                   contentionDrawing
}

func (a *app) contention() *cobra.Command {
	f := &contentionFlags{}
	c := a.command("contention [flags] [FILE | URL | -]", "show who waited for locks and channels, and who is to blame", `
Contention shows who waited, for what, and which owner is to blame: the
goroutine that held the lock meanwhile, not the one that happened to let go of
it last.

It reads execution traces of any program (a FILE, a URL, or standard input),
JSON of package contention, whose wrapped locks know the owners
exactly, and JSON that it wrote itself. What a trace does not tell is
"unattributed": nobody is blamed on suspicion.

`+wrapped(0, "The ASPECTS of the tree are "+kindsOf(contention.Aspects, ", ")+`; by default
owner-func,lock,waiter-func, with waits for workers, for work and for the network
after all others. A func is the function that locked or unlocked; a group is
where goroutines began. The root is who blocked the owner, if that was itself
blocked, and so on: the end of the chain of blame. Percentages behind a line tell
what owners did meanwhile: run, be ready to run, or be blocked.`)+`

`+wrapped(0, "The KINDS of waits are "+kindsOf(contention.Kinds, ", ")+`; "locks" are
mutex, both of rwmutex, and once. Only if named: syscall, the system calls of a
trace that lost their processor, by call chain.`)+`

Totals in text and pictures stay those of all whatever -min says; those in JSON,
CSV, pprof and folded stacks are what is left. A picture shows who waits for
whom, .dot is for Graphviz and .folded for flamegraph.pl.`, f.run)
	f.define(c, contentionWritings, contentionMeasures)
	f.to.defineTop("lines below each line, locks and groups", "as many as are useful")
	fs := c.Flags()
	fs.StringVar(&f.by, "by", "", "the levels of the tree: `ASPECTS`, separated by commas, in any order")
	fs.StringVar(&f.kinds, "kind", "", "only these `KINDS`, separated by commas")
	fs.StringVar(&f.focus, "focus", "", "only what `REGEXP` finds in a lock or its class, or in a function of the waiter, the owner or the root")
	fs.StringVar(&f.view, "pprof", "", "the stacks of .pb.gz and .folded: `VIEW` is owner (default of .pb.gz), waiter, root, or joined (default of .folded): the waiter's calls, the lock, the owner's calls")
	fs.DurationVar(&f.draw.least, "min", 0, "leave out lines, edges and rows that are shorter than `DURATION`")
	f.to.only["pprof"] = []string{"pprof", "folded"}
	f.to.only["top"] = []string{"text", "svg", "png"}
	c.Example = `  bottleneck contention trace.out
  bottleneck contention -kind locks -by lock,waiter-func,owner-func trace.out
  bottleneck contention -by root-func,owner-func,lock trace.out
  bottleneck contention -o joined.pb.gz -pprof joined locks.json
  bottleneck contention -format folded trace.out | flamegraph.pl > flame.svg
  bottleneck contention -kind locks -fail 'waiting>1.5' trace.out`
	a.urls(c)
	a.limited(c)
	return c
}

// kindsOf joins names.
func kindsOf[K ~string](kinds []K, by string) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return strings.Join(names, by)
}

// parse reads the flags and rejects what cannot be right before anything is read.
func (f *contentionFlags) parse(std stdio, args []string) (source string, err error) {
	if source, err = f.input(std, args, "input"); err != nil {
		return "", err
	}
	if f.draw.by, err = parseAspects(f.by); err != nil {
		return "", err
	}
	tellsBy := func(form string) bool { return form == "text" || form == "json" && f.draw.goroutines() }
	if f.by != "" && !slices.ContainsFunc(f.to.asked(), tellsBy) {
		return "", usagef("-by is for text, and for single goroutines in JSON: other forms have all other aspects without it")
	}
	if f.filter.Kinds, err = parseKinds(f.kinds); err != nil {
		return "", err
	}
	f.draw.kinds = f.filter.Kinds
	if f.by == "" && slices.Equal(f.filter.Kinds, []contention.Kind{contention.SyscallKind}) {
		f.draw.by = []contention.Aspect{contention.ByWaiterStack} // no goroutine is to blame; the site is all there is
	}
	if f.focus != "" {
		if f.filter.Focus, err = regexp.Compile(f.focus); err != nil {
			return "", usagef("-focus: %v", err)
		}
	}
	if f.view != "" {
		if f.draw.view, err = contention.ParseView(f.view); err != nil {
			return "", usagef("-pprof: unknown view %q: want owner, waiter, joined or root", f.view)
		}
	}
	if f.draw.least < 0 {
		return "", usagef("-min %v: want a positive duration, such as 1ms", f.draw.least)
	}
	return source, nil
}

// parseAspects parses the levels of the tree; none are the usual ones.
func parseAspects(s string) (by []contention.Aspect, err error) {
	if s == "" {
		return nil, nil
	}
	var names []string
	for _, a := range contention.Aspects {
		names = append(names, string(a))
	}
	for name := range strings.SplitSeq(s, ",") {
		name = strings.TrimSpace(name)
		a := contention.Aspect(name)
		switch {
		case !slices.Contains(names, name):
			if near := spelling.Nearest(name, names); near != "" {
				return nil, usagef("-by: unknown aspect %q; did you mean %s?", name, near)
			}
			return nil, usagef("-by: unknown aspect %q: want some of %s", name, strings.Join(names, ", "))
		case slices.Contains(by, a):
			return nil, usagef("-by: %s comes twice", name)
		}
		by = append(by, a)
	}
	return by, nil
}

var lockKinds = []contention.Kind{contention.MutexKind, contention.RWMutexWriterKind, contention.RWMutexReaderKind, contention.OnceKind}

// parseKinds parses the kinds to keep; none means all.
func parseKinds(s string) (kinds []contention.Kind, err error) {
	if s == "" {
		return nil, nil
	}
	names := []string{"locks"}
	for _, k := range contention.Kinds {
		names = append(names, string(k))
	}
	for name := range strings.SplitSeq(s, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "locks":
			kinds = append(kinds, lockKinds...)
		case slices.Contains(names, name):
			kinds = append(kinds, contention.Kind(name))
		default:
			if near := spelling.Nearest(name, names); near != "" {
				return nil, usagef("-kind: unknown kind %q; did you mean %s?", name, near)
			}
			return nil, usagef("-kind: unknown kind %q: want some of %s", name, strings.Join(names, ", "))
		}
	}
	return kinds, nil
}

func (f *contentionFlags) run(ctx context.Context, std stdio, args []string) error {
	source, err := f.parse(std, args)
	if err != nil {
		return err
	}
	read := func(ctx context.Context, std stdio, in *input) (*contention.Profile, error) {
		p, err := readContention(ctx, std, in, tracewaits.Options{Goroutines: f.draw.goroutines(), Syscalls: slices.Contains(f.filter.Kinds, contention.SyscallKind), Part: f.part})
		if p != nil {
			p = f.keep(p)
		}
		return p, err
	}
	write := func(w io.Writer, form string, p *contention.Profile, d drawing) error {
		f.draw.drawing = d
		return contentionForms[form](w, p, f.draw)
	}
	return f.analysis.run(ctx, std, source, read, write)
}

// keep leaves out what -kind and -focus do not name, and says so if that is all.
func (f *contentionFlags) keep(p *contention.Profile) *contention.Profile {
	kept := p.Filter(f.filter)
	if len(p.Waits) > 0 && len(kept.Waits) == 0 {
		kept.Warnings = append(slices.Clone(kept.Warnings), "Goroutines did wait, but for nothing that -kind and -focus keep.")
	}
	return kept
}

// readContention reads a trace or JSON. The profile may be there even if there is an error: it is
// then that of what could be read.
func readContention(ctx context.Context, std stdio, in *input, opt tracewaits.Options) (*contention.Profile, error) {
	return resultFrom(ctx, std, in, bn.Options{Want: bn.WantContention, Contention: opt, Bottle: bottle.Options{Part: opt.Part}}, func(r *bn.Report) *contention.Profile { return r.Contention },
		func(r io.Reader) (*contention.Profile, error) {
			if opt.Part != (timeline.Part{}) {
				return nil, usagef("-generations is for traces; %s is none", in.label)
			}
			return readSaved(r, in.label, contentionDiff, contention.ReadJSON)
		})
}
