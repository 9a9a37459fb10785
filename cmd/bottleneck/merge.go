package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/input"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/internal/spread"
	"github.com/bottleneck-go/bottleneck/ledger"
)

// mergeFlags holds the flags of merge.
type mergeFlags struct {
	kind      *kind // nil if not given
	seconds   float64
	filesFrom string
	partial   bool
	spread    output.Files
	to        output.Destination
}

func (a *app) merge() *cobra.Command {
	f := &mergeFlags{}
	c := a.command("merge [flags] FILE | URL...", "sum the graphs or profiles of many instances", `
Merge sums graphs or profiles of several instances of a program into one, with
one box or row for each group, and the number of instances.

It reads execution traces, and the JSON of graph, ledger, contention, tasks,
critical and of package exporters/live. All must be of one kind. "go tool pprof
-proto" merges .pb.gz. A URL that ends in a slash is the place where a service
has mounted exporters/live: merge requests the -kind from there.

Times are sums over the instances; percentages, the parallelism and other means
are those of an instance on average. The number of processors is that of the
largest instance.

Text also shows the spread: for each group, lock or class the minimum, median
and maximum over the sources, and the source farthest from the median. Medians
are within 2 %.

Without -partial, a source that cannot be read is an error, and nothing is
written: an incomplete sum looks like a complete one.`, f.run)
	fs := c.Flags()
	defineKind(c, &f.kind, summed, "request `KIND` from services, and make it of traces: graph (default), contention, tasks or, of traces only, ledger or critical")
	flags.Seconds(fs, &f.seconds, 5, "request `N` seconds from services; default 5")
	fs.StringVar(&f.filesFrom, "files-from", "", "read more files and URLs from `FILE`, one a line; \"-\" is standard input")
	fs.BoolVar(&f.partial, "partial", false, "leave out sources that cannot be read to the end, and list them on standard error and in the warnings of the result")
	fs.Func("spread", "write the spread of all groups to `FILE` as CSV", f.spread.Add)
	f.to.Define(c, output.FormsIn(output.GraphForms, output.ContentionForms, output.LedgerForms))
	f.to.DefineTop("groups", "as in the command of the kind")
	c.Example = `  bottleneck merge -o fleet.json -o fleet.svg a.json b.json c.json
  bottleneck merge http://10.0.0.1:6060/debug/bottleneck/ \
          http://10.0.0.2:6060/debug/bottleneck/
  bottleneck merge -kind contention -o fleet.pb.gz one.trace two.trace
  find . -name '*.json' | bottleneck merge -partial -files-from - -o fleet.svg`
	return a.reads(c)
}

func (f *mergeFlags) parse(std stdio, sources []string) error {
	if len(sources) == 0 && f.filesFrom == "" {
		return usagef("nothing to merge: name files or URLs")
	}
	for _, name := range f.spread {
		if !strings.HasSuffix(name, ".csv") {
			return usagef("-spread %s: want a file ending in .csv", name)
		}
		if slices.Contains(f.to.Files, name) {
			return usagef("-spread %s: -o writes the same file", name)
		}
	}
	return cmp.Or(f.spread.Check(), f.to.Settle(std.out))
}

func (f *mergeFlags) run(ctx context.Context, std stdio, args []string) error {
	if err := f.parse(std, args); err != nil {
		return err
	}
	sources, err := f.listed(ctx, std, args)
	if err != nil {
		return err
	}
	sum := &mergeSum{sources: len(sources)}
	if err := f.readAll(ctx, std, sources, sum); err != nil {
		return err
	}
	if err := sum.finish(); err != nil {
		return err
	}
	return f.write(std, sum)
}

// address returns the URL of the requested result, if the source is a service.
func (f *mergeFlags) address(source string) string {
	u, err := url.Parse(source)
	if !input.IsURL(source) || err != nil {
		return source
	}
	asked := graphKind
	if f.kind != nil {
		asked = f.kind
	}
	switch q := u.Query(); {
	case strings.HasSuffix(u.Path, "/") || u.Path == "":
		return input.Below(u, asked.name, "format", "json", "seconds", input.FormatSeconds(f.seconds)).String()
	case kindNamed(path.Base(u.Path)) != nil && !q.Has("format") && !q.Has("debug"):
		return input.Below(u, "", "format", "json").String()
	}
	return source
}

// write writes the sum in the requested forms.
func (f *mergeFlags) write(std stdio, sum *mergeSum) error {
	if err := f.to.Supports(sum.forms, "a merged "+sum.what); err != nil {
		return err
	}
	instances, _ := sum.sums.about(sum.value)
	n, read := max(1, instances), sum.sources-len(sum.missing)
	f.to.Draw.Source = format.Plural(n, "instance", "instances")
	if read != n {
		f.to.Draw.Source += " from " + format.Plural(read, "source", "sources")
	}
	if len(sum.missing) > 0 {
		f.to.Draw.Source += fmt.Sprintf(", without %s that could not be read", format.Plural(len(sum.missing), "source", "sources"))
	}
	all := maps.Clone(sum.forms)
	all["text"] = func(w io.Writer, v any, d output.Drawing) error {
		if _, err := fmt.Fprintf(w, "Merged: %s. Times are sums over them.\n\n", d.Source); err != nil {
			return err
		}
		if err := sum.forms["text"](w, v, d); err != nil {
			return err
		}
		return sum.spread.WriteText(w, d.Options)
	}
	spread := f.spread.Write(std.err, func(w io.Writer, _ string) error { return sum.spread.WriteCSV(w) })
	return errors.Join(spread, f.to.Write(std.out, std.err, sum.value, all))
}

// read reads a file or a URL of any kind.
func (f *mergeFlags) read(ctx context.Context, std stdio, source string) (artifact, error) {
	return readKind(ctx, std, source, f.kind, summed, bn.Options{Bottle: bottle.Options{Stacks: slices.Contains(f.to.Asked(), "pprof")}})
}

// alike returns an error if an artifact and the first one are of different kinds.
func (a artifact) alike(first artifact, done string) error {
	if a.kind != first.kind {
		return usagef("%s is a %s, %s a %s: they cannot be %s; -kind chooses what is made of a trace", first.label, first.what, a.label, a.what, done)
	}
	return nil
}

// adder adds up results of a kind.
type adder struct {
	add     func(parts []artifact) (any, error)
	numbers func(v any) spread.Numbers
	about   func(v any) (instances int, warnings *[]string)
}

// summing returns the adder of results of one type.
func summing[T any](add func(...T) (T, error), of func(T) spread.Numbers, about func(T) (int, *[]string)) *adder {
	return &adder{numbers: func(v any) spread.Numbers { return of(v.(T)) }, about: func(v any) (int, *[]string) { return about(v.(T)) },
		add: func(parts []artifact) (any, error) {
			var values []T
			for _, p := range parts {
				values = append(values, p.value.(T))
			}
			return add(values...)
		}}
}

// mergeParts adds up parts of the same kind.
func mergeParts(parts []artifact) (sum artifact, err error) {
	sum.kind, sum.label = parts[0].kind, parts[0].label // for messages
	if sum.value, err = sum.sums.add(parts); err != nil || sum.kind != graphKind {
		return sum, err
	}
	var ledgers []*ledger.Ledger
	var waits []*contention.Profile
	for _, p := range parts {
		if p.Report == nil || p.Ledger == nil {
			return sum, nil
		}
		ledgers, waits = append(ledgers, p.Ledger), append(waits, p.Contention)
	}
	sum.Report = &bn.Report{Contention: contention.Merge(waits...)}
	sum.Ledger, err = ledger.Merge(ledgers...)
	return sum, err
}

// Sources are read concurrently and added up in their order. The amount of data read but not yet
// added up is bounded: one part per reader, and one batch.

const (
	mergeServices = 32 // concurrent requests, which mostly wait
	mergeBatch    = 16 // parts per addition, because each addition copies the sum
)

// mergeSum is the sum of the parts so far.
type mergeSum struct {
	artifact
	sources int // on the command line, including missing ones
	missing []string
	pending []artifact
	spread  spread.Spread
	done    atomic.Int64 // sources that were read, or failed
}

// add takes the next part, if it can be added to the previous ones.
func (s *mergeSum) add(p artifact) error {
	first := p
	if s.kind != nil {
		first = s.artifact
	} else if len(s.pending) > 0 {
		first = s.pending[0]
	}
	if err := p.alike(first, "merged"); err != nil {
		return err
	}
	if g, ok := p.value.(*bottle.Graph); ok {
		switch f := first.value.(*bottle.Graph); {
		case g.GroupBy != f.GroupBy:
			return fmt.Errorf("%s is grouped by %s, %s by %s: they cannot be merged", first.label, f.GroupBy, p.label, g.GroupBy)
		case g.Offered != f.Offered:
			return fmt.Errorf("one of %s and %s is of offered parallelism, the other is not: they cannot be merged", first.label, p.label)
		}
	}
	s.spread.Add(p.label, p.sums.numbers(p.value))
	s.pending = append(s.pending, p)
	if len(s.pending) == mergeBatch {
		return s.flush()
	}
	return nil
}

// flush adds up the pending parts.
func (s *mergeSum) flush() (err error) {
	all := s.pending
	if s.kind != nil {
		all = append([]artifact{s.artifact}, all...)
	}
	s.artifact, err = mergeParts(all)
	clear(s.pending)
	s.pending = s.pending[:0]
	return err
}

// finish adds up the last parts, and a warning if some are missing.
func (s *mergeSum) finish() error {
	if err := s.flush(); err != nil {
		return err
	}
	if g, ok := s.value.(*bottle.Graph); ok && s.Report != nil { // of traces only
		g.Verdict = diagnose.New(diagnose.Results{Ledger: s.Ledger, Graph: g, Contention: s.Contention})
	}
	if len(s.missing) > 0 {
		const named = 20
		names := strings.Join(s.missing[:min(named, len(s.missing))], ", ")
		if more := len(s.missing) - named; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		_, warnings := s.sums.about(s.value)
		*warnings = append(*warnings, fmt.Sprintf("%d of %s could not be read to the end and are in no number: %s.", len(s.missing), format.Plural(s.sources, "source", "sources"), names))
	}
	return nil
}

var errTwoLists = usagef("standard input is a source and the list of -files-from: it can be only one of them")

// listed returns the sources including those of -files-from.
func (f *mergeFlags) listed(ctx context.Context, std stdio, sources []string) ([]string, error) {
	if f.filesFrom != "" {
		in := input.File(f.filesFrom)
		if f.filesFrom == "-" {
			in = input.Stdin(std.in)
		}
		if f.filesFrom == "-" && slices.Contains(sources, "-") {
			return nil, errTwoLists
		}
		r, err := in.Open(ctx, nil)
		if err != nil {
			return nil, fmt.Errorf("-files-from: %w", err)
		}
		defer r.Close()
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			if name := strings.TrimSuffix(lines.Text(), "\r"); name != "" {
				sources = append(sources, name)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("-files-from: %w", input.FileError(in.Label, err))
		}
		if len(sources) == 0 {
			return nil, fmt.Errorf("-files-from: %s names no file or URL", in.Label)
		}
	}
	seen := make(map[string]bool, len(sources))
	for _, s := range sources {
		if seen[s] {
			return nil, usagef("%q is given twice", s)
		}
		seen[s] = true
	}
	if f.filesFrom == "-" && seen["-"] {
		return nil, errTwoLists
	}
	return sources, nil
}

// readAll reads all sources, and adds them to the sum in order.
func (f *mergeFlags) readAll(ctx context.Context, std stdio, sources []string, sum *mergeSum) error {
	type read struct {
		part artifact
		err  error
	}
	readers := min(8, runtime.GOMAXPROCS(0))
	if slices.ContainsFunc(sources, input.IsURL) {
		readers = mergeServices
	}
	defer output.Progress(std.err, func(time.Duration) string {
		return fmt.Sprintf("merging: %d of %d", sum.done.Load(), len(sources))
	})()
	quiet := std
	if len(sources) > 1 {
		quiet.err = io.Discard // each would show its own progress
	}
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	slots := make([]chan read, readers) // source i is in slot i % readers
	start := func(i int) {
		if i < len(sources) {
			go func() {
				part, err := f.read(reading, quiet, f.address(sources[i]))
				slots[i%readers] <- read{part, err}
			}()
		}
	}
	for i := range slots {
		slots[i] = make(chan read, 1)
		start(i)
	}
	for i, source := range sources {
		r := <-slots[i%readers]
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r.err == nil {
			r.err = sum.add(r.part)
		}
		sum.done.Add(1)
		if r.err != nil && !f.partial {
			return r.err
		}
		if r.err != nil {
			sum.missing = append(sum.missing, source)
			fmt.Fprintf(std.err, "bottleneck: merge: left out: %s\n", oneLine(r.err.Error()))
		}
		start(i + readers)
	}
	if len(sum.missing) == len(sources) {
		return errors.New("none of the sources could be read")
	}
	return nil
}
