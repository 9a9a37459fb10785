package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

func init() {
	register(&command{
		name:    "merge",
		rank:    11,
		args:    "[flags] FILE | URL...",
		summary: "add the graphs or profiles of many instances up into one",
		help:    mergeHelp,
		urls:    true,
		reads:   true,
		run:     runMerge,
	})
}

const mergeHelp = `Merge adds graphs or profiles of several instances of a program up into one, with one box or
row for each group, and says how many instances it is about.

It reads what the other commands and package exporters/live write: bottle graphs, contention
profiles and profiles of tasks as JSON, the same as .pb.gz, and execution traces. All
have to be of the same kind. A URL that ends in a slash is where a service has mounted
exporters/live: merge asks there for what -kind says.

Times are sums over the instances, shares and idle time too: they sum to the sum of the wall times.
So parts in percent, the parallelism and other means are those of an instance on average.
The number of processors is that of the largest instance.

    -kind KIND       what to ask services for, and what to make of traces: graph (default),
                     contention or tasks
    -seconds N       how many seconds to ask services for, 5 by default
    -o FILE          write a file; its form follows from the name: .json, .svg, .png, .pb.gz (for go
                     tool pprof), .csv, .txt; of contention also .dot and .folded.
                     Profiles in .pb.gz can only be merged into .pb.gz. May be given several times
    -format FORM     what goes to standard output: text, json, csv, svg, png, pprof, dot or
                     folded; text if there is neither -format nor -o
    -top N           show the N largest groups, as in the command of the kind
    -title TEXT      the title of pictures

An instance that does not answer, or a file that cannot be read, is an error, and nothing is
written: a sum that lacks some of its parts looks like one that has them all.

Examples:

    bottleneck merge -o fleet.json -o fleet.svg a.json b.json c.json
    bottleneck merge http://10.0.0.1:6060/debug/bottleneck/ http://10.0.0.2:6060/debug/bottleneck/
    bottleneck merge -kind contention -o fleet.pb.gz one.trace two.trace
    bottleneck merge -o day.pb.gz morning.pb.gz evening.pb.gz
`

// mergeFlags are the choices of the user.
type mergeFlags struct {
	kind    diffKind
	seconds float64
	to      destination
}

// mergeWritings are the forms of any kind; those of the kind at hand are known when it has been read.
var mergeWritings = &writings{
	forms:   "text, json, csv, svg, png, pprof, dot or folded",
	endings: ".svg, .png, .pb.gz, .json, .csv, .txt, .dot or .folded",
	has:     func(form string) bool { return forms[form] != nil || contentionForms[form] != nil },
	formOf: func(name string) string {
		if form := formOf(name); form != "" {
			return form
		}
		return contentionFormOf(name)
	},
}

func (f *mergeFlags) set() *flag.FlagSet {
	fs := flag.NewFlagSet("merge", flag.ContinueOnError)
	fs.StringVar((*string)(&f.kind), "kind", "", "")
	fs.Float64Var(&f.seconds, "seconds", 5, "")
	f.to.define(fs, mergeWritings)
	f.to.defineTop(fs)
	return fs
}

func (f *mergeFlags) parse(std stdio, args []string) (sources []string, err error) {
	if sources, err = parseFlags(f.set(), args); err != nil {
		return nil, err
	}
	switch {
	case f.kind != "" && f.kind != graphDiff && f.kind != contentionDiff && f.kind != tasksDiff:
		return nil, usagef("-kind: want graph, contention or tasks, not %q", f.kind)
	case !(f.seconds >= 0.001 && f.seconds <= mostSeconds):
		return nil, usagef("-seconds %v: want from 0.001 to %d", f.seconds, mostSeconds)
	case len(sources) == 0:
		return nil, usagef("nothing to merge: name files or URLs")
	}
	for i, s := range sources {
		if slices.Contains(sources[:i], s) {
			return nil, usagef("%q is given twice", s)
		}
	}
	return sources, f.to.settle(std, "groups")
}

func runMerge(ctx context.Context, std stdio, args []string) error {
	f := &mergeFlags{}
	sources, err := f.parse(std, args)
	if err != nil {
		return err
	}
	if err := f.to.outputs.check(); err != nil {
		return err
	}
	var parts []mergePart
	for _, s := range sources {
		p, err := f.read(ctx, std, f.address(s))
		if err != nil {
			return err
		}
		if len(parts) > 0 && p.what() != parts[0].what() {
			return usagef("%s is a %s, %s a %s: they cannot be merged; -kind says what to make of a trace", parts[0].name, parts[0].what(), p.name, p.what())
		}
		parts = append(parts, p)
	}
	merged, err := mergeParts(parts)
	if err != nil {
		return err
	}
	return f.write(std, merged, len(sources))
}

// address is where a service has what is wanted, if it is a service that is named.
func (f *mergeFlags) address(source string) string {
	u, err := url.Parse(source)
	if !isURL(source) || err != nil {
		return source
	}
	kind := path.Base(u.Path)
	switch q := u.Query(); {
	case strings.HasSuffix(u.Path, "/") || u.Path == "":
		kind = string(graphDiff)
		if f.kind != "" {
			kind = string(f.kind)
		}
		return below(u, kind, "format", "json", "seconds", strconv.FormatFloat(f.seconds, 'f', -1, 64)).String()
	case slices.Contains(diffKinds, diffKind(kind)) && !q.Has("format") && !q.Has("debug"):
		return below(u, "", "format", "json").String()
	}
	return source
}

// write writes the sum in the forms that were asked for.
func (f *mergeFlags) write(std stdio, m mergePart, sources int) error {
	defaulted := f.to.format == "text" && len(f.to.outputs) == 0
	for _, form := range f.to.asked() {
		switch {
		case m.writes(form):
		case defaulted:
			return usagef("profiles of pprof can only be merged into a file of that kind: say -o FILE.pb.gz")
		default:
			return usagef("there is no %s of a merged %s", form, m.what())
		}
	}
	n := m.instances()
	f.to.draw.source = format.Plural(n, "instance", "instances")
	if sources != n {
		f.to.draw.source += " from " + format.Plural(sources, "source", "sources")
	}
	return f.to.write(std, func(w io.Writer, form string, d drawing) error {
		if form == "text" {
			if _, err := fmt.Fprintf(w, "Merged: %s. Times are sums over them.\n\n", f.to.draw.source); err != nil {
				return err
			}
		}
		return m.write(w, form, d)
	})
}

// errNothing cannot happen unless a kind is added and not handled.
var errNothing = errors.New("there is nothing to merge")
