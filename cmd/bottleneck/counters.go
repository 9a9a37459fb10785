package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bottleneck-go/bottleneck/counters"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
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
	f.to.Define(c, output.FormsIn(output.CountedForms))
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
	f.to.Draw.Source = input.Short(in.Label)
	written := f.to.Write(std.out, std.err, &output.Counted{Context: ctx, Explorer: e, Where: f.where, Sides: f.sides, Table: f.query, Lanes: f.lanes}, output.CountedForms)
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
	if err := f.to.Supports(output.CountersForms, "-list"); err != nil {
		return err
	}
	return f.to.Write(std.out, std.err, all, output.CountersForms)
}
