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
	"github.com/bottleneck-go/bottleneck/internal/artifact"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/input"
	"github.com/bottleneck-go/bottleneck/internal/output"
)

// mergeFlags holds the flags of merge.
type mergeFlags struct {
	kind      *artifact.Kind // nil if not given
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
	artifact.DefineKind(c, &f.kind, artifact.Summed, "request `KIND` from services, and make it of traces: graph (default), contention, tasks or, of traces only, ledger or critical")
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
	sum := &artifact.Sum{Sources: len(sources)}
	if err := f.readAll(ctx, std, sources, sum); err != nil {
		return err
	}
	if err := sum.Finish(); err != nil {
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
	asked := artifact.Graph
	if f.kind != nil {
		asked = f.kind
	}
	switch q := u.Query(); {
	case strings.HasSuffix(u.Path, "/") || u.Path == "":
		return input.Below(u, asked.Name, "format", "json", "seconds", input.FormatSeconds(f.seconds)).String()
	case artifact.KindNamed(path.Base(u.Path)) != nil && !q.Has("format") && !q.Has("debug"):
		return input.Below(u, "", "format", "json").String()
	}
	return source
}

// write writes the sum in the requested forms.
func (f *mergeFlags) write(std stdio, sum *artifact.Sum) error {
	if err := f.to.Supports(sum.Forms, "a merged "+sum.What); err != nil {
		return err
	}
	instances, _ := sum.Sums.About(sum.Value)
	n, read := max(1, instances), sum.Sources-len(sum.Missing)
	f.to.Draw.Source = format.Plural(n, "instance", "instances")
	if read != n {
		f.to.Draw.Source += " from " + format.Plural(read, "source", "sources")
	}
	if len(sum.Missing) > 0 {
		f.to.Draw.Source += fmt.Sprintf(", without %s that could not be read", format.Plural(len(sum.Missing), "source", "sources"))
	}
	all := maps.Clone(sum.Forms)
	all["text"] = func(w io.Writer, v any, d output.Drawing) error {
		if _, err := fmt.Fprintf(w, "Merged: %s. Times are sums over them.\n\n", d.Source); err != nil {
			return err
		}
		if err := sum.Forms["text"](w, v, d); err != nil {
			return err
		}
		return sum.Spread.WriteText(w, d.Options)
	}
	spread := f.spread.Write(std.err, func(w io.Writer, _ string) error { return sum.Spread.WriteCSV(w) })
	return errors.Join(spread, f.to.Write(std.out, std.err, sum.Value, all))
}

// read reads a file or a URL of any kind.
func (f *mergeFlags) read(ctx context.Context, std stdio, source string) (artifact.Artifact, error) {
	return artifact.ReadKind(ctx, std.in, std.progress, source, f.kind, artifact.Summed, bn.Options{Bottle: bottle.Options{Stacks: slices.Contains(f.to.Asked(), "pprof")}})
}

// Sources are read concurrently and added up in their order. The amount of data read but not yet
// added up is bounded: one part per reader, and one batch.

const mergeServices = 32 // concurrent requests, which mostly wait

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
			if name := lines.Text(); name != "" { // without "\r"
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
func (f *mergeFlags) readAll(ctx context.Context, std stdio, sources []string, sum *artifact.Sum) error {
	type read struct {
		part artifact.Artifact
		err  error
	}
	var done atomic.Int64 // sources that were read, or failed
	readers := min(8, runtime.GOMAXPROCS(0))
	if slices.ContainsFunc(sources, input.IsURL) {
		readers = mergeServices
	}
	defer output.Progress(std.err, func(time.Duration) string {
		return fmt.Sprintf("merging: %d of %d", done.Load(), len(sources))
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
			r.err = sum.Add(r.part)
		}
		done.Add(1)
		if r.err != nil && !f.partial {
			return r.err
		}
		if r.err != nil {
			sum.Missing = append(sum.Missing, source)
			fmt.Fprintf(std.err, "bottleneck: merge: left out: %s\n", oneLine(r.err.Error()))
		}
		start(i + readers)
	}
	if len(sum.Missing) == len(sources) {
		return errors.New("none of the sources could be read")
	}
	return nil
}
