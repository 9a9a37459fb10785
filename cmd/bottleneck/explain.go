package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/exporters/text"
)

// explained is a finding with what is behind it.
type explained struct{ *diagnose.Evidence }

var explainForms = formsOf[*explained]{
	"text": func(w io.Writer, e *explained, d drawing) error {
		return text.Explanation(w, e.Evidence, d.text())
	},
	"json": func(w io.Writer, e *explained, d drawing) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		out := *e.Evidence
		if d.topSet && d.top > 0 {
			out.Rows, out.Blocked, out.Ran = out.Rows[:min(d.top, len(out.Rows))], out.Blocked[:min(d.top, len(out.Blocked))], out.Ran[:min(d.top, len(out.Ran))]
		}
		return enc.Encode(out)
	},
}

func (a *app) explain() *cobra.Command {
	f := &explainFlags{}
	c := a.command("explain [flags] FINDING [FILE | URL | -]", "show what is behind a finding of the verdict", `
Explain shows what is behind a finding of the verdict: the rows of the ledger
that it adds up, and the call chains that waited, or ran meanwhile.

FINDING is the number of the finding, as the verdict counts them, or its kind,
such as lock, serial or collector; of several of a kind, the first. The trace is
a FILE, a URL, or standard input ("-", or nothing at all in a pipe); packed with
gzip or zstd, or not. Of a ledger that was saved as JSON there are the rows but
no call chains, of a graph or a verdict the finding alone.`, f.run)
	f.to.define(c, formsIn(explainForms.has))
	f.to.defineTop("rows, and call chains of each sort", "10 and 3 in text, all in JSON")
	defineBounds(c.Flags(), &f.opt.Bottle)
	definePart(c.Flags(), &f.opt.Bottle.Part)
	c.Example = `  bottleneck explain 1 trace.out
  bottleneck explain lock trace.out
  bottleneck explain -format json collector trace.out`
	a.urls(c)
	a.limited(c)
	return c
}

// explainFlags are the choices of the user.
type explainFlags struct {
	to  destination
	opt bn.Options
}

func (f *explainFlags) run(ctx context.Context, std stdio, rest []string) error {
	to, opt := &f.to, f.opt
	opt.Want, opt.Bottle.Stacks = bn.WantVerdict, true
	if err := to.settle(std); err != nil {
		return err
	}
	if err := checkBounds(to.flags, opt.Bottle); err != nil {
		return err
	}
	if len(rest) == 0 || isInput(rest[0]) && findingNumber(rest[0]) == 0 {
		return usagef("which finding? Its number or kind comes first, such as: bottleneck explain 1 %s", strings.Join(append(rest, "trace.out")[:1], ""))
	}
	source, err := oneInput(rest[1:], "trace")
	if err != nil {
		return err
	}
	in, err := findInput(std, source)
	if err != nil {
		return err
	}
	if err := to.outputs.check(); err != nil {
		return err
	}
	report, broken := readJudged(ctx, std, in, opt)
	if report == nil || ctx.Err() != nil {
		return broken
	}
	n, err := findFinding(report.Verdict, rest[0])
	if err != nil {
		return err
	}
	e := &explained{diagnose.Explain(resultsOf(report), report.Verdict, n)}
	if err := to.write(std, func(w io.Writer, form string, d drawing) error { return explainForms[form](w, e, d) }); err != nil {
		return err
	}
	return broken
}

func resultsOf(r *bn.Report) diagnose.Results {
	return diagnose.Results{Ledger: r.Ledger, Graph: r.Bottle, Contention: r.Contention, Tasks: r.Tasks}
}

// findingNumber returns the number in a word, 0 if it is none.
func findingNumber(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil || n < 1 {
		return 0
	}
	return n
}

// findFinding returns the number of the finding that a word means.
func findFinding(v *diagnose.Verdict, word string) (int, error) {
	if n := findingNumber(word); n > 0 && n <= len(v.Findings) {
		return n, nil
	}
	var known []string
	for i := range v.Findings {
		if string(v.Findings[i].Kind) == word {
			return i + 1, nil
		}
		known = append(known, fmt.Sprintf("%d (%s)", i+1, v.Findings[i].Kind))
	}
	if len(known) == 0 {
		return 0, usagef("the verdict has no findings")
	}
	return 0, usagef("there is no finding %q; there are %s", word, strings.Join(known, ", "))
}
