package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// mergeFlags are the choices of the user.
type mergeFlags struct {
	name      string // of the kind
	kind      kind   // nil: not given
	seconds   float64
	filesFrom string
	partial   bool
	spread    outputs
	to        destination
}

func (a *app) merge() *cobra.Command {
	f := &mergeFlags{}
	c := a.command("merge [flags] FILE | URL...", "add the graphs or profiles of many instances up into one", `
Merge adds graphs or profiles of several instances of a program up into one,
with one box or row for each group, and says how many instances it is about.

It reads what the other commands and package exporters/live write: bottle
graphs, ledgers, contention profiles and profiles of tasks as JSON, the same as
.pb.gz, and execution traces. All have to be of the same kind; profiles in
.pb.gz can only be merged into .pb.gz. A URL that ends in a slash is where a
service has mounted exporters/live: merge asks there for what -kind says.

Times are sums over the instances, shares and idle time too: they sum to the sum
of the wall times. So parts in percent, the parallelism and other means are
those of an instance on average. The number of processors is that of the largest
instance.

Text also shows the spread: for each group, lock or class the smallest, the
median and the largest number among the sources, each for itself, and the source
that is farthest from the median. Medians are within 2 %.

Without -partial, an instance that does not answer, or a file that cannot be
read, is an error, and nothing is written: a sum that lacks some of its parts
looks like one that has them all. Sources are read side by side, files as many
as there are processors, services 32 at a time, and added up as they come:
memory grows with the number of groups, not with that of sources.`, f.run)
	fs := c.Flags()
	fs.StringVar(&f.name, "kind", "", "ask services for `KIND`, and make it of traces: graph (if not given), contention, tasks or, of traces only, ledger")
	fs.Float64Var(&f.seconds, "seconds", 5, "ask services for `N` seconds")
	fs.StringVar(&f.filesFrom, "files-from", "", "read further names of files and URLs from `FILE`, one a line; \"-\" is standard input")
	fs.BoolVar(&f.partial, "partial", false, "leave out what cannot be read to its end, and name it on standard error and among the warnings of the result; exit status 0 if something is left")
	fs.Func("spread", "write the spread of all groups to `FILE`, as CSV", f.spread.add)
	f.to.define(c, formsIn(graphForms.has, contentionForms.has, ledgerForms.has))
	f.to.defineTop("groups", "as in the command of the kind")
	c.Example = `  bottleneck merge -o fleet.json -o fleet.svg a.json b.json c.json
  bottleneck merge http://10.0.0.1:6060/debug/bottleneck/ \
          http://10.0.0.2:6060/debug/bottleneck/
  bottleneck merge -kind contention -o fleet.pb.gz one.trace two.trace
  bottleneck merge -o day.pb.gz morning.pb.gz evening.pb.gz
  find . -name '*.json' | bottleneck merge -partial -files-from - -o fleet.svg`
	a.urls(c)
	a.limited(c)
	return c
}

func (f *mergeFlags) parse(std stdio, sources []string) error {
	f.kind = kindNamed(f.name)
	switch {
	case f.name != "" && (f.kind == nil || !f.kind.about().merged):
		return usagef("-kind: want graph, ledger, contention or tasks, not %q", f.name)
	case !(f.seconds >= 0.001 && f.seconds <= mostSeconds):
		return usagef("-seconds %v: want from 0.001 to %d", f.seconds, mostSeconds)
	case f.filesFrom == "-" && slices.Contains(sources, "-"):
		return usagef("standard input is a source and the list of -files-from: it can be only one of them")
	case len(sources) == 0 && f.filesFrom == "":
		return usagef("nothing to merge: name files or URLs")
	}
	for _, name := range f.spread {
		if !strings.HasSuffix(name, ".csv") {
			return usagef("-spread %s: want a file ending in .csv", name)
		}
		if slices.Contains(f.to.outputs, name) {
			return usagef("-spread %s: -o writes the same file", name)
		}
	}
	return f.to.settle(std)
}

func (f *mergeFlags) run(ctx context.Context, std stdio, args []string) error {
	if err := f.parse(std, args); err != nil {
		return err
	}
	sources, err := f.listed(ctx, std, args)
	if err != nil {
		return err
	}
	for _, o := range []outputs{f.to.outputs, f.spread} {
		if err := o.check(); err != nil {
			return err
		}
	}
	sum := &mergeSum{sources: len(sources)}
	if err := f.readAll(ctx, std, sources, sum); err != nil {
		return err
	}
	merged, err := sum.result()
	if err != nil {
		return err
	}
	return f.write(std, merged, sum)
}

// address is where a service has what is wanted, if it is a service that is named.
func (f *mergeFlags) address(source string) string {
	u, err := url.Parse(source)
	if !isURL(source) || err != nil {
		return source
	}
	switch q := u.Query(); {
	case strings.HasSuffix(u.Path, "/") || u.Path == "":
		return below(u, cmp.Or(f.name, "graph"), "format", "json", "seconds", strconv.FormatFloat(f.seconds, 'f', -1, 64)).String()
	case kindNamed(path.Base(u.Path)) != nil && !q.Has("format") && !q.Has("debug"):
		return below(u, "", "format", "json").String()
	}
	return source
}

// write writes the sum in the forms that were asked for.
func (f *mergeFlags) write(std stdio, m artifact, sum *mergeSum) error {
	defaulted := f.to.format == "text" && len(f.to.outputs) == 0
	for _, form := range f.to.asked() {
		switch {
		case m.kind.forms().has(form):
		case defaulted:
			return usagef("profiles of pprof can only be merged into a file of that kind: say -o FILE.pb.gz")
		default:
			return usagef("there is no %s of a merged %s", form, m.what())
		}
	}
	n, read := m.kind.instances(m.value), sum.sources-len(sum.missing)
	f.to.draw.source = format.Plural(n, "instance", "instances")
	if read != n {
		f.to.draw.source += " from " + format.Plural(read, "source", "sources")
	}
	if len(sum.missing) > 0 {
		f.to.draw.source += fmt.Sprintf(", without %s that could not be read", format.Plural(len(sum.missing), "source", "sources"))
	}
	var errs []error
	for _, name := range f.spread {
		err := writeFile(name, sum.spread.writeCSV)
		tellWritten(std, name, err)
		errs = append(errs, err)
	}
	errs = append(errs, f.to.write(std, func(w io.Writer, form string, d drawing) error {
		if form != "text" {
			return m.kind.write(w, form, m.value, d)
		}
		if _, err := fmt.Fprintf(w, "Merged: %s. Times are sums over them.\n\n", f.to.draw.source); err != nil {
			return err
		}
		if err := m.kind.write(w, form, m.value, d); err != nil {
			return err
		}
		return sum.spread.writeText(w, d)
	}))
	return errors.Join(errs...)
}
