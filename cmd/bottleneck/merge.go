package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/result"
)

// mergeFlags holds the flags of merge.
type mergeFlags struct {
	name      string // of the kind
	kind      kind   // nil if not given
	seconds   float64
	filesFrom string
	partial   bool
	spread    outputs
	to        destination
}

func (a *app) merge() *cobra.Command {
	f := &mergeFlags{}
	c := a.command("merge [flags] FILE | URL...", "sum the graphs or profiles of many instances", `
Merge sums graphs or profiles of several instances of a program into one, with
one box or row for each group, and the number of instances.

It reads execution traces, and the JSON of graph, ledger, contention and tasks
and of package exporters/live. All must be of one kind. "go tool pprof -proto"
merges .pb.gz. A URL that ends in a slash is the place where a service has
mounted exporters/live: merge requests the -kind from there.

Times are sums over the instances; percentages, the parallelism and other means
are those of an instance on average. The number of processors is that of the
largest instance.

Text also shows the spread: for each group, lock or class the minimum, median
and maximum over the sources, and the source farthest from the median. Medians
are within 2 %.

Without -partial, a source that cannot be read is an error, and nothing is
written: an incomplete sum looks like a complete one.`, f.run)
	fs := c.Flags()
	fs.StringVar(&f.name, "kind", "", "request `KIND` from services, and make it of traces: graph (default), contention, tasks or, of traces only, ledger")
	fs.Float64Var(&f.seconds, "seconds", 5, "request `N` seconds from services")
	fs.StringVar(&f.filesFrom, "files-from", "", "read more files and URLs from `FILE`, one a line; \"-\" is standard input")
	fs.BoolVar(&f.partial, "partial", false, "leave out sources that cannot be read to the end, and list them on standard error and in the warnings of the result")
	fs.Func("spread", "write the spread of all groups to `FILE` as CSV", f.spread.add)
	f.to.define(c, formsIn(graphForms.has, contentionForms.has, ledgerForms.has))
	f.to.defineTop("groups", "as in the command of the kind")
	c.Example = `  bottleneck merge -o fleet.json -o fleet.svg a.json b.json c.json
  bottleneck merge http://10.0.0.1:6060/debug/bottleneck/ \
          http://10.0.0.2:6060/debug/bottleneck/
  bottleneck merge -kind contention -o fleet.pb.gz one.trace two.trace
  find . -name '*.json' | bottleneck merge -partial -files-from - -o fleet.svg`
	return a.reads(c)
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
	if err := f.spread.check(); err != nil {
		return err
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

// address returns the URL of the requested result, if the source is a service.
func (f *mergeFlags) address(source string) string {
	u, err := url.Parse(source)
	if !isURL(source) || err != nil {
		return source
	}
	switch q := u.Query(); {
	case strings.HasSuffix(u.Path, "/") || u.Path == "":
		return below(u, cmp.Or(f.name, "graph"), "format", "json", "seconds", formatSeconds(f.seconds)).String()
	case kindNamed(path.Base(u.Path)) != nil && !q.Has("format") && !q.Has("debug"):
		return below(u, "", "format", "json").String()
	}
	return source
}

// write writes the sum in the requested forms.
func (f *mergeFlags) write(std stdio, m artifact, sum *mergeSum) error {
	for _, form := range f.to.asked() {
		if !m.kind.forms().has(form) {
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
	spread := f.spread.write(std, func(w io.Writer, _ string) error { return sum.spread.writeCSV(w) })
	return errors.Join(spread, f.to.write(std, func(w io.Writer, form string, d drawing) error {
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
}

// read reads a file or a URL of any kind.
func (f *mergeFlags) read(ctx context.Context, std stdio, source string) (artifact, error) {
	part, err := readKind(ctx, std, source, f.kind, bn.Options{Bottle: bottle.Options{Stacks: slices.Contains(f.to.asked(), "pprof")}})
	if err == nil && !part.kind.about().merged {
		err = usagef("%s is a %s: there is no sum of them", part.name, part.what())
	}
	return part, err
}

// fits reports whether a part can be added to a sum that begins with first, or is the first itself.
func (a artifact) fits(first *artifact) error {
	if first.name == "" {
		return nil
	}
	if a.what() != first.what() {
		return usagef("%s is a %s, %s a %s: they cannot be merged; -kind chooses what is made of a trace", first.name, first.what(), a.name, a.what())
	}
	if g, ok := a.value.(*bottle.Graph); ok {
		switch f := first.value.(*bottle.Graph); {
		case g.GroupBy != f.GroupBy:
			return fmt.Errorf("%s is grouped by %s, %s by %s: they cannot be merged", first.name, f.GroupBy, a.name, g.GroupBy)
		case g.Offered != f.Offered:
			return fmt.Errorf("one of %s and %s is of offered parallelism, the other is not: they cannot be merged", first.name, a.name)
		}
	}
	return nil
}

// mergeParts adds up parts of the same kind.
func mergeParts(parts []artifact) (sum artifact, err error) {
	sum.kind = parts[0].kind
	if sum.value, err = sum.kind.sum(parts); err != nil || sum.kind != graphKind {
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
	sources int // on the command line, including missing ones
	missing []string
	sum     artifact
	pending []artifact
	spread  spread
	done    atomic.Int64 // sources that were read, or failed
}

// add takes the next part, if it is of the same kind as the previous ones.
func (s *mergeSum) add(p artifact) error {
	first := &s.sum
	if first.name == "" && len(s.pending) > 0 {
		first = &s.pending[0]
	}
	if err := p.fits(first); err != nil {
		return err
	}
	p.kind.spread(s.spread.of(p.name), p.value)
	s.pending = append(s.pending, p)
	if len(s.pending) == mergeBatch {
		return s.flush()
	}
	return nil
}

// flush adds up the pending parts.
func (s *mergeSum) flush() (err error) {
	all := s.pending
	if s.sum.name != "" {
		all = append([]artifact{s.sum}, all...)
	}
	s.sum, err = mergeParts(all)
	s.sum.name = all[0].name // of the first source, for messages
	clear(s.pending)
	s.pending = s.pending[:0]
	return err
}

// listed returns the sources including those of -files-from.
func (f *mergeFlags) listed(ctx context.Context, std stdio, sources []string) ([]string, error) {
	if f.filesFrom != "" {
		in, err := findInput(std, f.filesFrom)
		if err != nil {
			return nil, err
		}
		if isURL(f.filesFrom) {
			in = fileInput(f.filesFrom)
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		r, err := in.open(ctx, cancel)
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
			return nil, fmt.Errorf("-files-from: %w", fileError(in.label, err))
		}
		if len(sources) == 0 {
			return nil, fmt.Errorf("-files-from: %s names no file or URL", in.label)
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
		return nil, usagef("standard input is a source and the list of -files-from: it can be only one of them")
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
	for _, s := range sources {
		if isURL(s) {
			readers = mergeServices
			break
		}
	}
	defer startProgress(std.err, func(time.Duration) string {
		return fmt.Sprintf("merging: %d of %d", sum.done.Load(), len(sources))
	})()
	quiet := std
	if len(sources) > 1 {
		quiet.err = io.Discard // each would show its own progress
	}
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := make(chan chan read, readers-1)
	stopped := make(chan struct{})
	defer func() { cancel(); <-stopped }()
	go func() {
		defer close(stopped)
		defer close(queue)
		for _, source := range sources {
			slot := make(chan read, 1)
			select {
			case queue <- slot:
			case <-reading.Done():
				return
			}
			go func() {
				part, err := f.read(reading, quiet, f.address(source))
				slot <- read{part, err}
			}()
		}
	}()
	i := 0
	for slot := range queue {
		r := <-slot
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r.err == nil {
			r.err = sum.add(r.part)
		}
		sum.done.Add(1)
		if r.err == nil || f.partial {
			if r.err != nil {
				sum.missing = append(sum.missing, sources[i])
				fmt.Fprintf(std.err, "bottleneck: merge: left out: %s\n", oneLine(r.err.Error()))
			}
			i++
			continue
		}
		return r.err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(sum.missing) == len(sources) {
		return errors.New("none of the sources could be read")
	}
	return nil
}

// result returns the sum of all parts, with a warning if some are missing.
func (s *mergeSum) result() (artifact, error) {
	if err := s.flush(); err != nil {
		return artifact{}, err
	}
	if g, ok := s.sum.value.(*bottle.Graph); ok && s.sum.Report != nil { // of traces only
		g.Verdict = diagnose.New(diagnose.Results{Ledger: s.sum.Ledger, Graph: g, Contention: s.sum.Contention})
	}
	if len(s.missing) > 0 {
		const named = 20
		names := strings.Join(s.missing[:min(named, len(s.missing))], ", ")
		if more := len(s.missing) - named; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		s.sum.kind.warn(s.sum.value, fmt.Sprintf("%d of %s could not be read to the end and are in no number: %s.", len(s.missing), format.Plural(s.sources, "source", "sources"), names))
	}
	return s.sum, nil
}

// spread records how a number of each group differs among the sources of a merge, to find outliers.
// Its size does not depend on the number of sources: each group has the extremes and a histogram.
type spread struct {
	what    string // name of the number, for the title of the table
	unit    string // unit in CSV
	form    result.Unit
	mean    bool // a source that lacks a group has no number for it, rather than 0
	sources int
	source  string // source of the numbers being added
	first   string // name of the first source
	rows    map[string]*spreadRow
}

// maxSpread bounds the number of groups, of about 10 kB each; the first ones are kept.
const maxSpread = 2000

// spreadScale scales values to integers for the histogram, whose precision is 1.6 %.
const spreadScale = 1e6

// spreadRow is a group.
type spreadRow struct {
	name          string
	sources       int // sources with a value; it is 0 for the others
	values        granularity.Histogram
	low, high     float64
	lowAt, highAt string
}

// of returns the spread after setting the source of the next numbers.
func (s *spread) of(source string) *spread {
	s.source = source
	return s
}

func graphNumbers(s *spread, g *bottle.Graph) map[string]float64 {
	s.what, s.unit, s.form = "share of the time", "ratio", result.Ratio
	wall := float64(max(1, g.Wall))
	values := map[string]float64{"(idle)": float64(g.Idle) / wall}
	for i := range g.Boxes {
		values[g.Boxes[i].Group] += float64(g.Boxes[i].Share) / wall
	}
	return values
}

func ledgerNumbers(s *spread, l *ledger.Ledger) map[string]float64 {
	s.what, s.unit, s.form = "part of the capacity", "ratio", result.Ratio
	values := map[string]float64{}
	for i := range l.Rows {
		values[string(l.Rows[i].Category)] += float64(l.Rows[i].Time) / float64(max(1, l.Capacity))
	}
	return values
}

func contentionNumbers(s *spread, p *contention.Profile) map[string]float64 {
	s.what, s.unit, s.form = "goroutines that wait, on average", "goroutines", result.Number
	values := map[string]float64{}
	for i := range p.Waits {
		w := &p.Waits[i]
		name := string(w.Kind)
		if w.Lock != nil {
			name += " " + w.Lock.Title()
		}
		values[name] += float64(w.Waited) / float64(max(1, p.Duration))
	}
	return values
}

func taskNumbers(s *spread, p *granularity.Profile) map[string]float64 {
	s.what, s.unit, s.form, s.mean = "mean cycles of a task", "cycles", result.Count, true
	if p.ByTime() {
		s.what, s.unit, s.form = "mean running time of a task", "nanoseconds", result.Duration
	}
	values := map[string]float64{}
	for i := range p.Classes {
		if h := p.Granularity(&p.Classes[i]); h.Count() > 0 {
			values[p.Classes[i].Name] = h.Mean()
		}
	}
	return values
}

// add adds the numbers of a source.
func (s *spread) add(values map[string]float64) {
	if s.rows == nil {
		s.rows, s.first = map[string]*spreadRow{}, s.source
	}
	s.sources++
	for name, v := range values {
		r := s.rows[name]
		if r == nil {
			if len(s.rows) == maxSpread {
				continue
			}
			r = &spreadRow{name: name, low: math.Inf(1)}
			if s.sources > 1 && !s.mean {
				r.low, r.lowAt, r.highAt = 0, s.first, s.first
			}
			s.rows[name] = r
		}
		r.sources++
		r.values.Add(uint64(math.Round(v * spreadScale)))
	}
	for name, r := range s.rows {
		v, there := values[name]
		if !there && s.mean {
			continue
		}
		if v < r.low {
			r.low, r.lowAt = v, s.source
		}
		if v > r.high || r.highAt == "" {
			r.high, r.highAt = v, s.source
		}
	}
}

// median returns the median over all sources.
func (s *spread) median(r *spreadRow) float64 {
	lacking := s.sources - r.sources
	if s.mean {
		lacking = 0
	}
	at := float64(lacking+r.sources)/2 - float64(lacking) // index in the sorted values
	if at <= 0 {
		return 0
	}
	return min(max(r.values.Quantile(at/float64(r.sources))/spreadScale, r.low), r.high)
}

// oddity is a row with derived values.
type oddity struct {
	*spreadRow
	median, value, distance float64
	at                      string // source farthest from the median, with its value
}

// oddest returns the rows, largest distance from the median first; that of means is relative.
func (s *spread) oddest() (out []oddity) {
	for _, r := range s.rows {
		o := oddity{spreadRow: r, median: s.median(r), at: r.highAt, value: r.high}
		if o.median-r.low > r.high-o.median {
			o.at, o.value = r.lowAt, r.low
		}
		o.distance = math.Abs(o.value - o.median)
		if s.mean && o.median > 0 {
			o.distance /= o.median
		}
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b oddity) int {
		return cmp.Or(cmp.Compare(b.distance, a.distance), cmp.Compare(a.name, b.name))
	})
	return out
}

// spreadTop is the default number of rows in text.
const spreadTop = 10

// cell formats a number of a group for people.
func (s *spread) cell(v float64) result.Cell {
	if s.form.Whole() {
		return result.Cell{Value: result.Int(int64(math.Round(v))), Known: true}
	}
	return result.Cell{Value: result.Float(v), Known: true}
}

// writeText writes the table below that of the sum.
func (s *spread) writeText(w io.Writer, d drawing) error {
	if s.sources < 3 {
		return nil // two sources have no outlier
	}
	show := func(v float64) string { c := s.cell(v); return s.form.Format(c.Value) }
	rows := slices.DeleteFunc(s.oddest(), func(r oddity) bool { return show(r.value) == show(r.median) })
	if limit := cmp.Or(d.Top, spreadTop); limit > 0 {
		rows = rows[:min(limit, len(rows))]
	}
	title := fmt.Sprintf("Spread over %s: %s, the oddest first", format.Plural(s.sources, "source", "sources"), s.what)
	if len(rows) == 0 {
		_, err := fmt.Fprintf(w, "\n%s\n\nAll are alike.\n", title)
		return err
	}
	number := result.Head{Unit: s.form, Quotient: result.Single}
	table := &result.Table{Title: title, Columns: []result.Head{number, number, number,
		{Name: "group", Title: "group", Unit: result.Func}, {Name: "farthest", Title: "farthest from the median", Note: true}}}
	for i, name := range []string{"min", "median", "max"} {
		table.Columns[i].Name, table.Columns[i].Title = name, name
	}
	for _, r := range rows {
		table.Rows = append(table.Rows, []result.Cell{s.cell(r.low), s.cell(r.median), s.cell(r.high),
			{Value: result.Str(r.name), Known: true}, {Value: result.Str(show(r.value) + " in " + r.at), Known: true}})
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return text.WriteTable(w, table, d.Options)
}

// writeCSV writes all rows.
func (s *spread) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"group", "unit", "sources", "min", "median", "max", "min_source", "max_source"})
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	for _, r := range s.oddest() {
		out.Write([]string{r.name, s.unit, strconv.Itoa(r.sources), number(r.low), number(r.median), number(r.high), r.lowAt, r.highAt})
	}
	out.Flush()
	return out.Error()
}
