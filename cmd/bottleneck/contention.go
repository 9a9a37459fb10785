package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/artifact"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/measures"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/result"
)

// contentionFlags holds the flags of contention.
type contentionFlags struct {
	analysis
	match *regexp.Regexp // from -focus; nil means all
}

func (a *app) contention() *cobra.Command {
	f := &contentionFlags{analysis: analysis{kinds: []*artifact.Kind{artifact.Contention}}}
	f.check, f.result = f.parse, f.keep
	c := a.command("contention [flags] [FILE | URL | -]", "show waits for locks and channels, and who is to blame", `
Contention shows which goroutines waited, for what, and which owner is to blame:
the goroutine that held the lock during the wait, not the one that unlocked it
last.

It reads execution traces, and JSON of package contention, whose wrapped locks
record their owners. Time without a known owner is "unattributed".

`+output.Wrapped(0, "ASPECTS, the levels of the tree, are "+strings.Join(contention.Aspects, ", ")+`; the default is
owner-func,lock,waiter-func, with waits for workers, for work and for the network
last. A func is the function that locked or unlocked; a group is the name of the
goroutines. The root is the last owner in a chain of owners that wait for each other.
Percentages after a line are what owners did during the wait: run, be runnable, or be
blocked.`)+`

`+output.Wrapped(0, "KINDS of waits are "+strings.Join(contention.Kinds, ", ")+`; "locks" stands
for mutex, both of rwmutex, and once. syscall is included only if named: system calls
of a trace that lost their processor, by call chain.`)+`

The totals of text and pictures do not depend on -min; those of JSON, CSV, pprof
and folded stacks are of what is left. A picture shows which groups wait for
which; .folded is for flamegraph.pl.`, f.run)
	f.define(c, output.ContentionForms, &measures.Contention)
	f.to.DefineTop("lines below each line, locks and groups", "those above half a percent")
	fs, draw := c.Flags(), &f.to.Draw
	flags.Parsed(fs, &draw.By, "by", "", "the levels of the tree: `ASPECTS`, separated by commas", parseAspects)
	flags.Parsed(fs, &draw.Kinds, "kind", "", "show only these `KINDS` of waits, separated by commas", parseKinds)
	flags.Regexp(fs, &f.match, "focus", "show only waits with a match of `REGEXP` in the lock or its class, or in a function of the waiter, the owner or the root")
	fs.StringVar(&draw.View, "pprof", "", "the stacks of .pb.gz and .folded: `VIEW` is owner (default of .pb.gz), waiter, root, or joined (default of .folded), which is the waiter's calls, the lock, and the owner's calls")
	fs.DurationVar(&draw.Min, "min", 0, "leave out lines, edges and rows that are shorter than `DURATION`")
	fs.BoolVarP(&draw.Rates, "verbose", "v", false, "show events per second, and bytes per contention")
	f.to.Only["verbose"] = []string{"text"}
	f.to.Only["pprof"] = []string{"pprof", "folded"}
	f.to.Only["top"] = []string{"text", "svg", "png", "html"}
	c.Example = `  bottleneck contention trace.out
  bottleneck contention -kind locks -by lock,waiter-func,owner-func trace.out
  bottleneck contention -format folded trace.out | flamegraph.pl > flame.svg
  bottleneck contention -kind locks -fail 'waiting>1.5' trace.out`
	return a.reads(c)
}

// parse rejects invalid flags, and sets the options of the analysis.
func (f *contentionFlags) parse() error {
	draw := &f.to.Draw
	showsBy := func(form string) bool { return form == "text" || form == "json" && draw.Goroutines() }
	switch {
	case draw.By != nil && !slices.ContainsFunc(f.to.Asked(), showsBy):
		return usagef("-by is for text, and for single goroutines in JSON: other forms have all other aspects without it")
	case draw.View != "" && contention.CheckView(draw.View) != nil:
		return usagef("-pprof %s: want owner, waiter, joined or root", draw.View)
	case draw.Min < 0:
		return usagef("-min %v: want 0s or more", draw.Min)
	case draw.By == nil && slices.Equal(draw.Kinds, []string{contention.SyscallKind}):
		// No owner: show only the site.
		draw.By = []string{contention.ByWaiterStack}
	}
	f.opt.Contention.Goroutines, f.opt.Contention.Syscalls = draw.Goroutines(), slices.Contains(draw.Kinds, contention.SyscallKind)
	return nil
}

// parseAspects parses the levels of the tree.
func parseAspects(list string) ([]string, error) {
	by, err := parseList(list, contention.Aspects)
	for i, aspect := range by {
		if slices.Contains(by[:i], aspect) {
			return nil, fmt.Errorf("%s is given twice", aspect)
		}
	}
	return by, err
}

// parseList parses a list of known words, separated by commas.
func parseList(list string, known []string) (words []string, err error) {
	for word := range strings.SplitSeq(list, ",") {
		if word = strings.TrimSpace(word); !slices.Contains(known, word) {
			return nil, result.Unknown(word, known)
		}
		words = append(words, word)
	}
	return words, nil
}

// parseKinds parses the kinds of waits to keep.
func parseKinds(list string) (kinds []string, err error) {
	const locks = "locks"
	words, err := parseList(list, append([]string{locks}, contention.Kinds...))
	for _, k := range words {
		if k == locks {
			kinds = append(kinds, contention.MutexKind, contention.RWMutexWriterKind, contention.RWMutexReaderKind, contention.OnceKind)
		} else {
			kinds = append(kinds, k)
		}
	}
	return kinds, err
}

// keep removes waits that -kind and -focus do not select, and warns if nothing is left.
func (f *contentionFlags) keep(a artifact.Artifact) (any, error) {
	p := a.Value.(*contention.Profile)
	kept := p.Filter(f.to.Draw.Kinds, f.match, 0)
	if len(p.Waits) > 0 && len(kept.Waits) == 0 {
		kept.Warnings = append(slices.Clone(kept.Warnings), "Goroutines did wait, but for nothing that -kind and -focus keep.")
	}
	return kept, nil
}
