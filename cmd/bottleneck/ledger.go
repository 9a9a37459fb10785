package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/artifact"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/measures"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// ledgerFlags holds the flags of ledger.
type ledgerFlags struct{ analysis }

func (a *app) ledger() *cobra.Command {
	f := &ledgerFlags{analysis{kinds: []*artifact.Kind{artifact.Ledger}}}
	f.check = f.regroup
	var texts strings.Builder
	for _, c := range ledger.Columns {
		if c.Unit.IsText() {
			fmt.Fprintf(&texts, "  %-17s %s\n", c.Name, output.Wrapped(20, c.Help))
		}
	}
	c := a.command("ledger [flags] [FILE | URL | -]", "list how the capacity of the processors was used", `
Ledger lists how the capacity of a program's processors, GOMAXPROCS × time, was
used. Every nanosecond is in exactly one row, so the rows sum to the capacity.
Time in which a processor had nothing to run is in the row of the goroutine that
ended the gap, and of what that goroutine had waited for.

The stacks of .pb.gz are those of the lost capacity: the call chain that waited
and the one that ended the wait. Columns of text, for -by, are

`+texts.String(), f.run)
	f.define(c, output.LedgerForms, &measures.Ledger)
	f.to.DefineTop("rows", "20 in text, all in other forms; the other rows are summed")
	opt := &f.opt.Bottle
	flags.Bounds(c.Flags(), &opt.From, &opt.To)
	flags.Group(c.Flags(), &opt.Group, "")
	f.to.DefineBy("sum the rows that are equal in `COLUMNS`, separated by commas; not for JSON")
	f.to.Only["by"] = []string{"text", "csv", "md", "html"}
	f.to.Only["top"] = f.to.Only["by"]
	c.Example = `  bottleneck ledger trace.out
  bottleneck ledger -by category trace.out
  bottleneck ledger -fail 'lost>30%, lost(mutex)>10%' trace.out
  bottleneck ledger -o lost.pb.gz trace.out && go tool pprof -http=: lost.pb.gz`
	return a.reads(c)
}

// groupOf returns the group of a goroutine of the program.
func (f *ledgerFlags) groupOf(g *timeline.Goroutine) string {
	group, kind := f.opt.Bottle.Group.BoxOf(g, "")
	if kind != bottle.Application { // assists of the collector, for example
		return g.Name()
	}
	return group
}

// regroup makes a ledger of its own for a grouping of -group.
func (f *ledgerFlags) regroup() error {
	if opt := &f.opt.Bottle; opt.Group.String() != bottle.ByFunction.String() {
		from, to := opt.Bounds()
		books := ledger.NewObserver(ledger.Options{From: from, To: to, Stacks: opt.Stacks, Group: f.groupOf})
		f.opt.Observers = []timeline.Observer{books}
		f.result = func(artifact.Artifact) (any, error) { return books.Ledger(), nil }
	}
	return nil
}
