package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/contention/tracewaits"
	"github.com/bottleneck-go/bottleneck/exporters/markdown"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/spelling"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// contentionFlags are the choices of the user.
type contentionFlags struct {
	analysis[contention.Profile]
	by, kinds, focus, view string
	filter                 contention.Filter
}

func (a *app) contention() *cobra.Command {
	f := &contentionFlags{}
	c := a.command("contention [flags] [FILE | URL | -]", "show who waited for locks and channels, and who is to blame", `
Contention shows who waited, for what, and which owner is to blame: the
goroutine that held the lock meanwhile, not the one that happened to let go of
it last.

It reads execution traces of any program (a FILE, a URL, or standard input),
JSON of package contention, whose wrapped locks know the owners exactly, and
JSON that it wrote itself. What a trace does not tell is "unattributed": nobody
is blamed on suspicion.

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
	f.define(c, contentionForms, contentionMeasures)
	f.to.defineTop("lines below each line, locks and groups", "as many as are useful")
	fs := c.Flags()
	fs.StringVar(&f.by, "by", "", "the levels of the tree: `ASPECTS`, separated by commas, in any order")
	fs.StringVar(&f.kinds, "kind", "", "only these `KINDS`, separated by commas")
	fs.StringVar(&f.focus, "focus", "", "only what `REGEXP` finds in a lock or its class, or in a function of the waiter, the owner or the root")
	fs.StringVar(&f.view, "pprof", "", "the stacks of .pb.gz and .folded: `VIEW` is owner (default of .pb.gz), waiter, root, or joined (default of .folded): the waiter's calls, the lock, the owner's calls")
	fs.DurationVar(&f.to.draw.least, "min", 0, "leave out lines, edges and rows that are shorter than `DURATION`")
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
	if f.to.draw.aspects, err = parseAspects(f.by); err != nil {
		return "", err
	}
	tellsBy := func(form string) bool { return form == "text" || form == "json" && f.to.draw.goroutines() }
	if f.by != "" && !slices.ContainsFunc(f.to.asked(), tellsBy) {
		return "", usagef("-by is for text, and for single goroutines in JSON: other forms have all other aspects without it")
	}
	if f.filter.Kinds, err = parseKinds(f.kinds); err != nil {
		return "", err
	}
	f.to.draw.kinds = f.filter.Kinds
	if f.by == "" && slices.Equal(f.filter.Kinds, []contention.Kind{contention.SyscallKind}) {
		f.to.draw.aspects = []contention.Aspect{contention.ByWaiterStack} // no goroutine is to blame; the site is all there is
	}
	if f.focus != "" {
		if f.filter.Focus, err = regexp.Compile(f.focus); err != nil {
			return "", usagef("-focus: %v", err)
		}
	}
	if f.view != "" {
		if f.to.draw.view, err = contention.ParseView(f.view); err != nil {
			return "", usagef("-pprof: unknown view %q: want owner, waiter, joined or root", f.view)
		}
	}
	if f.to.draw.least < 0 {
		return "", usagef("-min %v: want a positive duration, such as 1ms", f.to.draw.least)
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
		p, err := readContention(ctx, std, in, tracewaits.Options{Goroutines: f.to.draw.goroutines(), Syscalls: slices.Contains(f.filter.Kinds, contention.SyscallKind), Part: f.part})
		if p != nil {
			p = f.keep(p)
		}
		return p, err
	}
	return f.analysis.run(ctx, std, source, read, contentionForms)
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
				return nil, usagef("-generations, -during and -outside are for traces; %s is none", in.label)
			}
			return readSaved(r, in.label, contentionKind)
		})
}

// goroutines tells that goroutines have to be told apart.
func (d drawing) goroutines() bool {
	return slices.ContainsFunc(d.aspects, func(a contention.Aspect) bool {
		return a == contention.ByOwnerGoroutine || a == contention.ByWaiterGoroutine || a == contention.ByRootGoroutine
	})
}

// contentionForms are the forms of contention profiles.
var contentionForms = drawn(formsOf[*contention.Profile]{
	"text": func(w io.Writer, p *contention.Profile, d drawing) error {
		return text.WriteContention(w, p, text.ContentionOptions{Options: d.text(), By: d.aspects, Min: d.least, Kinds: d.kinds})
	},
	"json": func(w io.Writer, p *contention.Profile, d drawing) error { return contention.WriteJSON(w, d.waits(p)) },
	"csv":  func(w io.Writer, p *contention.Profile, d drawing) error { return text.TableCSV(w, d.waits(p).Table()) },
	"md": func(w io.Writer, p *contention.Profile, d drawing) error {
		return markdown.Write(w, d.waits(p).Table())
	},
	"dot": func(w io.Writer, p *contention.Profile, d drawing) error { return text.DOT(w, p, d.least) },
	"folded": func(w io.Writer, p *contention.Profile, d drawing) error {
		return text.FoldedStacks(w, d.waits(p), cmp.Or(d.view, contention.JoinedView))
	},
	"pprof": func(w io.Writer, p *contention.Profile, d drawing) error {
		return pprof.WriteContention(w, d.waits(p), pprof.ContentionOptions{View: d.view, File: d.source})
	},
}, func(p *contention.Profile, d drawing) (*picture.Drawing, error) {
	return picture.DrawContention(p, picture.ContentionOptions{Options: d.picture(), Min: d.least})
})

// rows leaves out short rows, for the forms that have no shorter way to say that there are some.
func (d drawing) waits(p *contention.Profile) *contention.Profile {
	if d.least == 0 {
		return p
	}
	out := p.Filter(contention.Filter{Min: d.least})
	whole, left := sumContention(p).waited, sumContention(out).waited
	if whole > left {
		out.Warnings = append(slices.Clip(out.Warnings), fmt.Sprintf(
			"What is shorter than %v is left out, as -min says: %v of the %v that were waited. The totals are those of what is left.",
			d.least, whole-left, whole))
	}
	return out
}

// contentionSum is what the measures are made from.
type contentionSum struct {
	waited, handOff, unattributed, longest, duration time.Duration
	ready, readyIdle                                 time.Duration
	contentions, parks                               int64
}

var contentionMeasures = measures[*contention.Profile]{
	example: "waited>2s",
	whole: []measured[*contention.Profile]{
		measuring("waited", result.Duration, "what all goroutines waited together, as a duration: waited>2s", ofSum(func(s *contentionSum) float64 { return float64(s.waited) })),
		measuring("longest", result.Duration, "the longest wait, as a duration", ofSum(func(s *contentionSum) float64 { return float64(s.longest) })),
		measuring("ready", result.Duration, "for how long they were ready after that, until they had a processor", ofSum(func(s *contentionSum) float64 { return float64(s.ready) })),
		measuring("ready-idle", result.Duration, "the part of ready in which a processor was idle", ofSum(func(s *contentionSum) float64 { return float64(s.readyIdle) })),
		measuring("contentions", result.Number, "the number of waits", ofSum(func(s *contentionSum) float64 { return float64(s.contentions) })),
		measuring("parks", result.Number, "how often they blocked: a goroutine that is woken, loses the race for the lock and blocks again is one wait, but counts twice here", ofSum(func(s *contentionSum) float64 { return float64(s.parks) })),
		measuring("waiting", result.Number, "how many goroutines waited at a time, on average", ofSum(func(s *contentionSum) float64 { return percent(s.waited, s.duration) / 100 })),
		measuring("handoff-%", result.Ratio, "the part of the waiting in which the lock was on its way to its next owner", ofSum(func(s *contentionSum) float64 { return percent(s.handOff, s.waited) })),
		measuring("unattributed-%", result.Ratio, "the part for which it is not known who held the lock, or whether it was held", ofSum(func(s *contentionSum) float64 { return percent(s.unattributed, s.waited) })),
	},
	parts: "or waited, ready, contentions or parks of one lock, as lock(LOCK).waited, by its name or class.",
	part:  ofPart("lock", []measure{{name: "waited", unit: result.Duration}, {name: "ready", unit: result.Duration}, {name: "contentions", unit: result.Number}, {name: "parks", unit: result.Number}}, lockMeasure),
}

func ofSum(of func(*contentionSum) float64) func(*contention.Profile) (float64, error) {
	return always(func(p *contention.Profile) float64 { return of(sumContention(p)) })
}

func sumContention(p *contention.Profile) *contentionSum {
	sum := &contentionSum{duration: p.Duration}
	for i := range p.Waits {
		w := &p.Waits[i]
		sum.waited += w.Waited
		sum.handOff += w.HandOff
		sum.unattributed += w.Unattributed
		sum.longest = max(sum.longest, w.Longest)
		sum.ready += w.Ready
		sum.readyIdle += w.ReadyIdle
		sum.contentions += w.Contentions
		sum.parks += w.Parks
	}
	return sum
}

// lockMeasure is one of the locks of a name or class. A lock that is not in the profile is 0: that
// nobody waits for it is what one hopes for. But it is an error if there is one with nearly that
// name.
func lockMeasure(p *contention.Profile, lock string, m measure) (sum float64, _ error) {
	found := false
	for i := range p.Waits {
		w := &p.Waits[i]
		is := isLock(w.Lock, lock)
		found = found || is
		switch {
		case !is:
		case m.name == "ready":
			sum += float64(w.Ready)
		case m.name == "parks":
			sum += float64(w.Parks)
		case m.unit == result.Duration:
			sum += float64(w.Waited)
		default:
			sum += float64(w.Contentions)
		}
	}
	if near := mistyped(p, lock); !found && near != "" {
		return 0, fmt.Errorf("no goroutine waited for a lock %q; did you mean %q?", lock, near)
	}
	return sum, nil
}

// mistyped returns the lock that a name which is not in the profile may be meant to be, or "".
// Names that differ only in the number after # are those of two locks.
func mistyped(p *contention.Profile, lock string) string {
	word, _, _ := strings.Cut(lock, "#")
	var names []string
	for _, l := range p.Locks {
		for _, name := range lockNames(l) {
			if name, _, _ = strings.Cut(name, "#"); name == word {
				return ""
			}
			names = append(names, name)
		}
	}
	return spelling.Nearest(word, names)
}

// isLock reports whether a lock has that name or class, in full or short.
func isLock(l *contention.Lock, name string) bool {
	return slices.Contains(lockNames(l), name)
}

// lockNames are what a lock may be called.
func lockNames(l *contention.Lock) []string {
	return []string{l.Name, l.String(), format.Func(l.String()), l.Class, format.Func(l.Class)}
}
