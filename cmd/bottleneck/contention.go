package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/contention/tracewaits"
	"github.com/bottleneck-go/bottleneck/internal/spelling"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func init() {
	register(&command{
		name:    "contention",
		rank:    3,
		args:    "[flags] [FILE | URL | -]",
		summary: "show who waited for locks and channels, and who is to blame",
		help:    contentionHelp,
		urls:    true,
		reads:   true,
		run:     runContention,
	})
}

const contentionHelp = `Contention shows who waited, for what, and which owner is to blame: the goroutine that held
the lock meanwhile, not the one that happened to let go of it last.

It reads execution traces of any program (a FILE, a URL, or standard input), event files and
JSON of package contention, whose wrapped locks know the owners exactly, and JSON that it wrote
itself. What a trace does not tell is "unattributed": nobody is blamed on suspicion.

What is shown:

    -by ASPECTS      the levels of the tree, separated by commas, in any order:
                       kind, class, lock, flags,
                       waiter-func, waiter-stack, waiter-group, waiter-goroutine,
                       owner-func, owner-stack, owner-group, owner-goroutine,
                       root-func, root-stack, root-group, root-goroutine
                     by default owner-func,lock,waiter-func, with waits for workers, for
                     work and for the network after all others. A func is the function that
                     locked or unlocked; a group is where goroutines began. The root is who
                     blocked the owner, if that was itself blocked, and so on: the end of
                     the chain of blame. Percentages behind a line tell what owners did
                     meanwhile: run, be ready to run, or be blocked
    -kind KINDS      only these kinds: mutex, rwmutex-writer, rwmutex-reader, waitgroup, cond,
                     once, chan-send, chan-receive, select, semaphore, network, sleep, gc,
                     other; "locks" are mutex, both of rwmutex, and once. Only if named:
                     syscall, the system calls of a trace that lost their processor, by call
                     chain
    -focus REGEXP    only what is found in a lock or its class, or in a function of the waiter,
                     the owner or the root
    -generations A:B read the generations of a trace (about a second each) from A to B only, counted
                     from 1; A: is to the end
    -min DURATION    leave out what is shorter: lines of the tree, edges of the graph, rows.
                     The totals in text and pictures stay those of all; those in JSON, CSV,
                     pprof and folded stacks are what is left
    -top N           show N lines below each line, N locks, N groups; 0 shows all

Where it goes:

    -o FILE          write a file; its form follows from the name: .svg or .png (a picture of
                     who waits for whom), .pb.gz (for go tool pprof), .json, .csv, .txt, .dot (for
                     Graphviz) or .folded (for flamegraph.pl). May be given several times
    -pprof VIEW      the stacks of .pb.gz and .folded: owner (default of .pb.gz), waiter, root, or
                     joined (default of .folded): the waiter's calls, the lock, the owner's calls
    -format FORM     what goes to standard output: text, svg, png, pprof, json, csv, dot or
                     folded; text if there is neither -format nor -o
    -title TEXT      the title of pictures

A check for continuous integration:

    -fail CONDITION  exit with status 1 and one line that says why if the condition holds.
                     Several are separated by commas; one is enough.

    CONDITION = NAME ( < | <= | > | >= ) VALUE, where NAME is one of

        waited           what all goroutines waited together, as a duration: waited>2s; in a
                         trace, for how long they were blocked
        ready            for how long they were ready after that, until they had a processor
        ready-idle       the part of ready in which a processor was idle
        longest          the longest wait, as a duration
        contentions      the number of waits
        parks            how often they blocked: a goroutine that is woken, loses the race for
                         the lock and blocks again is one wait, but counts twice here, as in
                         the runtime's block profile
        waiting          how many goroutines waited at a time, on average
        handoff-%        the part of the waiting in which the lock was on its way to its next
                         owner
        unattributed-%   the part for which it is not known who held the lock, or whether it
                         was held
        lock(LOCK).waited, lock(LOCK).ready, lock(LOCK).contentions, lock(LOCK).parks
                         those of one lock, by its name or class

Examples:

    bottleneck contention trace.out
    bottleneck contention -kind locks -by lock,waiter-func,owner-func trace.out
    bottleneck contention -by root-func,owner-func,lock trace.out
    bottleneck contention -o who.svg 'http://localhost:6060/debug/pprof/trace?seconds=5'
    bottleneck contention -o joined.pb.gz -pprof joined locks.events && go tool pprof -http=: joined.pb.gz
    bottleneck contention -format folded trace.out | flamegraph.pl > flame.svg
    bottleneck contention -kind locks -fail 'waiting>1.5' trace.out
`

// contentionFlags are the choices of the user.
type contentionFlags struct {
	analysis[contention.Profile]
	by, kinds, focus, view string
	filter                 contention.Filter
	draw                   contentionDrawing
}

func (f *contentionFlags) set() *flag.FlagSet {
	fs := f.analysis.set("contention", "lines", contentionWritings, contentionMeasures)
	fs.StringVar(&f.by, "by", "", "")
	fs.StringVar(&f.kinds, "kind", "", "")
	fs.StringVar(&f.focus, "focus", "", "")
	fs.StringVar(&f.view, "pprof", "", "")
	fs.DurationVar(&f.draw.least, "min", 0, "")
	f.to.only["pprof"] = []string{"pprof", "folded"}
	f.to.only["top"] = []string{"text", "svg", "png"}
	return fs
}

// parse reads the flags and rejects what cannot be right before anything is read.
func (f *contentionFlags) parse(std stdio, args []string) (source string, err error) {
	f.set()
	if source, err = f.analysis.parse(std, args, "input"); err != nil {
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

func runContention(ctx context.Context, std stdio, args []string) error {
	f := &contentionFlags{}
	source, err := f.parse(std, args)
	if err != nil {
		return err
	}
	read := func(ctx context.Context, std stdio, in *input) (*contention.Profile, error) {
		p, err := readContention(ctx, std, in, tracewaits.Options{Goroutines: f.draw.goroutines(), Syscalls: slices.Contains(f.filter.Kinds, contention.SyscallKind), Part: timeline.Part(f.part)})
		if p != nil {
			p = f.keep(p)
		}
		return p, err
	}
	write := func(w io.Writer, form string, p *contention.Profile, d drawing) error {
		f.draw.drawing = d
		return contentionForms[form](w, p, f.draw)
	}
	return f.run(ctx, std, source, read, write)
}

// keep leaves out what -kind and -focus do not name, and says so if that is all.
func (f *contentionFlags) keep(p *contention.Profile) *contention.Profile {
	kept := p.Filter(f.filter)
	if len(p.Waits) > 0 && len(kept.Waits) == 0 {
		kept.Warnings = append(slices.Clone(kept.Warnings), "Goroutines did wait, but for nothing that -kind and -focus keep.")
	}
	return kept
}

// eventMagic is what event files of package contention begin with.
var eventMagic = []byte("bnkevt")

// readContention reads a trace, an event file or JSON, whatever it is. The profile may be there
// even if there is an error: it is then that of what could be read.
func readContention(ctx context.Context, std stdio, in *input, opt tracewaits.Options) (*contention.Profile, error) {
	return resultFrom(ctx, std, in, bn.Options{Want: bn.WantContention, Contention: opt, Bottle: bottle.Options{Part: opt.Part}}, func(r *bn.Report) *contention.Profile { return r.Contention },
		func(r io.Reader, head []byte) (*contention.Profile, error) {
			switch {
			case opt.Part != timeline.Part{}:
				return nil, usagef("-generations is for traces; %s is none", in.label)
			case holdsJSON(head):
				return readSaved(r, in.label, contentionDiff, contention.ReadJSON)
			}
			p, err := readEvents(r, contention.Options{Goroutines: opt.Goroutines})
			if err != nil {
				err = fmt.Errorf("%s: %w", in.label, err)
			}
			return p, err
		})
}

// readEvents reads an event file. What could be read of one that is damaged or cut off says so in
// all forms, as that of a trace does.
func readEvents(r io.Reader, opt contention.Options) (*contention.Profile, error) {
	p, err := contention.ReadEvents(r, opt)
	if err != nil && p != nil {
		p.Warnings = append(p.Warnings, fmt.Sprintf("The event file could not be read to its end: %s.", strings.TrimPrefix(err.Error(), "contention: event file, ")))
	}
	return p, err
}
