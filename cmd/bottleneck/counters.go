package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bottleneck-go/bottleneck/counters"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/report"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/chart"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/input"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/internal/query"
	"github.com/bottleneck-go/bottleneck/result"
)

// countersFlags holds the flags of counters.
type countersFlags struct {
	to      output.Destination
	options quanta.Options
	list    bool
	stats   string
	compare string
	sides   []string // of -compare
	where   string
	query   query.Table
	lanes   string // -timeline
}

func (a *app) counters() *cobra.Command {
	f := &countersFlags{}
	c := a.command("counters [flags] [FILE | URL | -]", "statistics of what was counted in each scheduling quantum", `
Counters sums up what was counted in the scheduling quanta of a program, the
stretches for which a goroutine ran without a break.

It reads an archive of "bottleneck record -counters", or any execution trace,
which has the scheduling delay, system calls, the collector and the heap.

A condition such as 'group =~ "worker" && duration > 100us' selects quanta, and
arithmetic such as '1000 * minor_faults / duration' is a metric. The page
https://pkg.go.dev/github.com/bottleneck-go/bottleneck/internal/query describes
both. What is not known of a quantum is left out, and counted.`, f.run)
	f.to.Define(c, output.FormsIn(countersForms))
	f.to.DefineTop("parts", "10 in text, 4 in pictures, else all; the others are one part")
	fs := c.Flags()
	fs.StringVar(&f.where, "where", "", "only quanta for which `CONDITION` holds")
	fs.StringVar(&f.query.By, "by", "", "a row for each `KEY`: group, func, caller, proc, how-ended, goroutine, kind, thread or wait")
	fs.StringArrayVar(&f.query.Metrics, "metric", nil, "statistics of `METRIC`, a counter or arithmetic; may be given several times; if not, of the duration and all counters")
	fs.StringVar(&f.stats, "stat", "mean,p50,p99", "`STATISTICS`: mean, sum, min, max, deviation, ratio (of the sums of a quotient), or quantiles such as p99.9")
	fs.StringVar(&f.compare, "compare", "", "compare the quanta of two conditions: `A,B`")
	fs.StringVar(&f.lanes, "timeline", "", "draw when each `KEY` ran, and how long quanta ended: goroutine, proc, thread or group")
	flags.Group(fs, &f.options.Group, "")
	fs.BoolVar(&f.list, "list", false, "list what this machine can count, and why not the rest")
	f.to.Only["timeline"] = []string{"text", "json", "svg", "png"}
	f.to.Only["list"] = []string{"text", "csv", "json", "md", "html"}
	f.to.Only["top"] = []string{"text", "csv", "json", "md", "html", "svg", "png"}
	c.Example = `  bottleneck record -counters default -o a.zip -- ./program
  bottleneck counters a.zip
  bottleneck counters -by group -metric duration -stat mean,p99 a.zip
  bottleneck counters -compare 'first(20, gc, goroutine),all' a.zip
  bottleneck counters -timeline goroutine -o lanes.svg a.zip
  bottleneck counters -list`
	return a.reads(c)
}

// parse rejects invalid flags before anything is read.
func (f *countersFlags) parse(std stdio) (err error) {
	if err := f.to.Settle(std.out); err != nil {
		return err
	}
	if f.query.By == "how-ended" {
		f.query.By = "ended"
	}
	if f.query.Stats = strings.Split(f.stats, ","); query.CheckStats(f.query.Stats) != nil {
		return usagef("-stat: %v", query.CheckStats(f.query.Stats))
	}
	if f.compare != "" {
		if f.sides, err = query.SplitFilters(f.compare); err != nil {
			return wrongExpression("-compare", err)
		}
		if len(f.sides) != 2 {
			return usagef("-compare: want two conditions, with a comma between them; got %d", len(f.sides))
		}
		if f.query.By != "" {
			return usagef("-compare and -by: a comparison has no parts")
		}
	}
	if err := query.CheckFilter(f.where); err != nil {
		return wrongExpression("-where", err)
	}
	if f.lanes != "" && (f.query.By != "" || f.compare != "") {
		return usagef("-timeline: without -by and -compare, which are for tables")
	}
	if err := query.CheckBy(f.query.By); err != nil {
		return usagef("-by: %v", err)
	}
	return nil
}

// wrongExpression returns the error of a flag with the expression that it is about.
func wrongExpression(flag string, err error) error {
	var syntax *query.Error
	if errors.As(err, &syntax) && syntax.Input != "" {
		flag += " " + format.Clean(syntax.Input)
	}
	return usagef("%s: %v", flag, err)
}

func (f *countersFlags) run(ctx context.Context, std stdio, args []string) error {
	if err := f.parse(std); err != nil {
		return err
	}
	if f.list {
		return f.listCounters(std, args)
	}
	in, err := oneInput(std, args)
	if err != nil {
		return err
	}
	in.Archives = true
	rec, broken := input.Read(ctx, std.progress, in, func(ctx context.Context, r io.Reader, head []byte) (*quanta.Recording, error) {
		f.options.Name, f.options.Progress = in.Label, in.Decoded
		switch {
		case input.HoldsJSON(head):
			return nil, usagef("%s is JSON: want a trace or an archive", in.Label)
		case !quanta.IsArchive(head):
			return quanta.Read(ctx, r, f.options)
		}
		from, size, err := input.Seekable(r)
		if err != nil {
			return nil, input.FileError(in.Label, err)
		}
		return quanta.ReadArchiveAt(ctx, from, size, f.options)
	})
	if rec == nil || ctx.Err() != nil {
		return broken
	}
	e, err := query.NewExplorer(rec)
	if err != nil {
		return err
	}
	f.to.Draw.Source = shownSource(in.Label)
	written := f.to.Write(std.out, std.err, &counted{ctx, f, e}, countersForms)
	var part *query.Error
	if errors.As(written, &part) {
		flag := map[string]string{"filter": "-where", "lanes": "-timeline", "table": "-metric", "compare": "-metric"}[part.Part]
		if f.compare != "" && flag == "-where" || part.Part == "against" {
			flag = "-compare"
		}
		plain := *part
		plain.Part = ""
		written = wrongExpression(cmp.Or(flag, "-"+part.Part), &plain)
	}
	return errors.Join(broken, written)
}

// counted is a recording with the queries about it.
type counted struct {
	ctx context.Context
	*countersFlags
	e *query.Explorer
}

// tables returns tables for people, or one for programs, and notes for people.
func (c *counted) tables(top int, people bool) (tables []*result.Table, notes []string, err error) {
	q := query.Query{Filter: c.where}
	if c.compare != "" {
		and := func(side string) string {
			if c.where == "" {
				return side
			}
			return "(" + c.where + ") && (" + side + ")"
		}
		q = query.Query{Filter: and(c.sides[0]), Against: and(c.sides[1]), Compare: append([]string{}, c.query.Metrics...)}
	} else {
		table := c.query
		table.Limit = max(0, top)
		q.Table = &table
	}
	a, err := c.e.Answer(c.ctx, q)
	if err != nil {
		return nil, nil, err
	}
	none := func(n int, filter string) {
		if n == 0 && a.Of > 0 {
			notes = append(notes, fmt.Sprintf("None of the %s fulfills %s.", format.Plural(a.Of, "quantum", "quanta"), filter))
		}
	}
	if a.Of == 0 {
		notes = []string{"The recording has no quanta."}
	}
	none(a.Count, a.Filter)
	if c.compare == "" {
		return a.Tables(people), notes, nil
	}
	none(a.AgainstCount, a.Against)
	if top > 0 {
		a.Comparison = a.Comparison[:min(top, len(a.Comparison))]
	}
	tables = a.Tables(people)
	for _, t := range tables {
		if people {
			t.Title += ". "
		}
		t.Title += "A is " + a.Filter + ", B is " + a.Against
	}
	return tables, notes, nil
}

// table returns the table for programs.
func (c *counted) table(d output.Drawing) (*result.Table, error) {
	tables, _, err := c.tables(d.Top, false)
	if err != nil {
		return nil, err
	}
	return tables[0], nil
}

var countersForms = output.FormsOf((*counted).table, (*counted).picture, output.Writers[*counted]{
	"text": writeCountersText,
	"json": func(w io.Writer, c *counted, d output.Drawing) error {
		if c.lanes != "" {
			l, err := c.timeline(1000, 0, d)
			if err != nil {
				return err
			}
			return json.NewEncoder(w).Encode(l)
		}
		return output.Via((*counted).table, output.TableJSON)(w, c, d)
	},
	"html": output.Via((*counted).table, report.WriteTable), // the picture has no comparison
	"pprof": func(w io.Writer, c *counted, _ output.Drawing) error {
		set, err := c.e.Select(c.ctx, c.where)
		if err != nil {
			return query.InPart("filter", err)
		}
		return c.e.WriteProfile(w, set)
	},
})

// picture draws the means over time.
func (c *counted) picture(d output.Drawing) (*picture.Drawing, error) {
	if c.lanes != "" {
		return c.drawLanes(d)
	}
	const parts, bins = 4, 240
	q := c.query
	q.Stats, q.Bins, q.Limit = nil, bins, max(0, cmp.Or(d.Top, parts))
	a, err := c.e.Answer(c.ctx, query.Query{Filter: c.where, Table: &q})
	if err != nil {
		return nil, err
	}
	if a.Count == 0 {
		return nil, fmt.Errorf("no quantum fulfills %s", a.Filter)
	}
	t := a.Table
	rows := t.Rows
	if t.Others != nil {
		rows = append(rows, *t.Others)
	}
	var list []chart.Series
	for i, metric := range t.Metrics {
		for _, row := range rows {
			l := chart.Series{Name: metric, Scale: metric, Unit: query.UnitOf(t.Units[i]), Begin: t.From, End: t.To}
			if q.By != "" {
				l.Name += " of " + row.Key
			}
			for _, mean := range row.Cells[i].Means {
				l.Values = append(l.Values, float64(mean))
			}
			list = append(list, l)
		}
	}
	sentence := "All quanta of " + d.Source
	if c.where != "" {
		sentence = "Quanta of " + d.Source + " with " + c.where
	}
	return picture.DrawSeries(list, sentence, picture.Options{Title: d.Title})
}

// timeline returns when the lanes of -timeline ran.
func (c *counted) timeline(width, long int, d output.Drawing) (*query.Lanes, error) {
	a, err := c.e.Answer(c.ctx, query.Query{Filter: c.where, Lanes: &query.Lanes{By: c.lanes, Width: width, Long: long, Limit: max(0, cmp.Or(d.Top, 40))}})
	if err != nil {
		return nil, err
	}
	if len(a.Lanes.Lanes) == 0 {
		return nil, fmt.Errorf("no quantum fulfills %s", a.Filter)
	}
	return a.Lanes, nil
}

// laneName returns the name of a timeline.
func laneName(key, group string) string {
	if group != "" {
		return key + " " + format.Func(group)
	}
	return format.Func(key)
}

func (c *counted) drawLanes(d output.Drawing) (*picture.Drawing, error) {
	l, err := c.timeline(1000, 0, d)
	if err != nil {
		return nil, err
	}
	per := float64(l.To-l.From) / float64(l.Width)
	var list []chart.Series
	for i := range l.Lanes {
		lane := chart.Series{Name: laneName(l.Lanes[i].Key, l.Lanes[i].Group), Begin: l.From, End: l.To, Values: make([]float64, l.Width), Ended: make([]string, l.Width)}
		for _, x := range l.Lanes[i].Cells {
			for at := range x.Width {
				lane.Values[x.X+at] = float64(x.Busy) / per / float64(x.Width)
			}
			lane.Ended[x.X+x.Width-1] = x.Ended.String()
		}
		list = append(list, lane)
	}
	return picture.DrawLanes(list, fmt.Sprintf("When each %s ran, of %s", c.lanes, d.Source), picture.Options{Title: d.Title})
}

// laneGlyphs show in text how quanta ended.
var laneGlyphs = map[quanta.Ending]rune{quanta.Preempted: '▸', quanta.Yielded: '◇', quanta.Blocked: '□'}

// writeLanes draws timelines in text: a column for each part of the time.
func writeLanes(w io.Writer, c *counted, d output.Drawing) error {
	const names = 26
	width := max(20, cmp.Or(d.Width, 100)-names-1)
	l, err := c.timeline(width, 3, d)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "When each %s ran, in %s: █ at least three quarters of a column, ▒ a quarter, ░ less.\nEnd of a long quantum: ▸ preempted, ◇ yielded, □ blocked.\n\n", c.lanes, format.Duration(time.Duration(l.To-l.From)))
	per := float64(l.To-l.From) / float64(width)
	for i := range l.Lanes {
		line := []rune(strings.Repeat(" ", width))
		for _, x := range l.Lanes[i].Cells {
			full := '░'
			if busy := float64(x.Busy) / per / float64(x.Width); busy >= .75 {
				full = '█'
			} else if busy >= .25 {
				full = '▒'
			}
			for at := x.X; at < x.X+x.Width; at++ {
				line[at] = full
			}
			if g, ok := laneGlyphs[x.Ended]; ok {
				line[x.X+x.Width-1] = g
			}
		}
		name := []rune(format.Clean(laneName(l.Lanes[i].Key, l.Lanes[i].Group)))
		fmt.Fprintf(w, "%-*s %s\n", names, string(name[:min(len(name), names)]), strings.TrimRight(string(line), " "))
	}
	if l.Omitted > 0 {
		fmt.Fprintf(w, "(%s more, which ran for %s)\n", format.Count(l.Omitted), format.Duration(time.Duration(l.OmittedBusy)))
	}
	return nil
}

func writeCountersText(w io.Writer, c *counted, d output.Drawing) error {
	if c.lanes != "" {
		return writeLanes(w, c, d)
	}
	const parts = 10
	tables, notes, err := c.tables(cmp.Or(d.Top, parts), true)
	if err != nil {
		return err
	}
	for i, t := range tables {
		if i > 0 {
			io.WriteString(w, "\n")
		}
		if err := text.WriteTable(w, t, d.Options); err != nil {
			return err
		}
	}
	for _, warning := range c.e.Recording().Warnings {
		notes = append(notes, "Warning: "+warning)
	}
	if len(tables) > 0 && len(notes) > 0 {
		io.WriteString(w, "\n")
	}
	for _, note := range notes {
		if _, err := io.WriteString(w, wrapped(2, format.Clean(note))+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// listCounters lists the counters that are available, and why the others are not.
func (f *countersFlags) listCounters(std stdio, args []string) error {
	if len(args) > 0 {
		return usagef("-list is about this machine: leave %s out", args[0])
	}
	all := counters.List()
	own, err := quanta.NewObserver(quanta.Options{}).Recording()
	if err != nil {
		return err
	}
	for _, c := range own.Counters {
		row := []result.Value{}
		for _, text := range []string{c.Name, c.Source + ", always", ""} {
			row = append(row, result.Value{Text: text, Known: text != ""})
		}
		all.Rows = append(all.Rows, row)
	}
	if err := f.to.Supports(listForms, "-list"); err != nil {
		return err
	}
	return f.to.Write(std.out, std.err, all, listForms)
}

var listForms = output.FormsOf(func(all *result.Table, d output.Drawing) (*result.Table, error) { return all, nil }, nil, output.Writers[*result.Table]{
	"text": func(w io.Writer, all *result.Table, d output.Drawing) error {
		refused := map[string][]string{} // by reason
		has, err := all.Pick("counter", "how")
		if err != nil {
			return err
		}
		has.Rows = nil
		for _, row := range all.Rows {
			if reason := row[2].Text; reason != "" {
				refused[reason] = append(refused[reason], row[0].Text)
			} else {
				has.Rows = append(has.Rows, row[:2])
			}
		}
		if err := text.WriteTable(w, has, d.Options); err != nil {
			return err
		}
		for _, reason := range slices.Sorted(maps.Keys(refused)) {
			if _, err := fmt.Fprintf(w, "\n%s\n  %s\n", wrapped(0, "Not counted here, because "+reason+":"), wrapped(2, strings.Join(refused[reason], ", "))); err != nil {
				return err
			}
		}
		return nil
	},
})
