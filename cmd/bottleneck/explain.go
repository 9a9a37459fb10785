package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func init() {
	register(&command{
		name:    "explain",
		rank:    1,
		args:    "[flags] FINDING [FILE | URL | -]",
		summary: "show what is behind a finding of the verdict",
		help:    explainHelp,
		urls:    true,
		reads:   true,
		run:     runExplain,
	})
}

const explainHelp = `Explain shows what is behind a finding of the verdict: the rows of the ledger that it adds up,
and the call chains that waited, or ran meanwhile.

FINDING is the number of the finding, as the verdict counts them, or its kind, such as lock,
serial or collector; of several of a kind, the first. The trace is a FILE, a URL, or standard
input ("-", or nothing at all in a pipe); packed with gzip or zstd, or not. Of a ledger that was
saved as JSON there are the rows but no call chains, of a graph or a verdict the finding alone.

    -from DURATION   leave out what comes before, from the beginning of the trace
    -to DURATION     leave out what comes after
    -generations A:B read the generations of the trace (about a second each) from A to B only,
                     counted from 1; A: is to the end. -from and -to then count from the
                     beginning of A
    -top N           show N rows, and N call chains of each sort; 0 shows all. Text shows 10 and 3
                     if not told otherwise, JSON all
    -o FILE          write a file; its form follows from the name: .txt or .json. May be given
                     several times
    -format FORM     what goes to standard output: text or json; text if there is neither
                     -format nor -o

Examples:

    bottleneck explain 1 trace.out
    bottleneck explain lock trace.out
    bottleneck explain -format json collector trace.out
`

// explained is a finding with what is behind it.
type explained struct{ *diagnose.Evidence }

var explainForms = map[string]func(w io.Writer, e *explained, d drawing) error{
	"text": func(w io.Writer, e *explained, d drawing) error {
		return text.Explanation(w, e.Evidence, d.evidence())
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

func (d drawing) evidence() text.Options {
	opt := d.terminal.textOptions()
	opt.Top = d.exporterTop()
	return opt
}

var explainWritings = formsIn(explainForms, "text or json", ".txt or .json")

func runExplain(ctx context.Context, std stdio, args []string) error {
	var to destination
	var part generations
	opt := bn.Options{Want: bn.WantVerdict}
	opt.Bottle.Stacks = true
	fs := flag.NewFlagSet("explain", flag.ContinueOnError)
	to.define(fs, explainWritings)
	to.defineTop(fs)
	fs.DurationVar(&opt.Bottle.From, "from", 0, "")
	fs.DurationVar(&opt.Bottle.To, "to", 0, "")
	fs.Var(&part, "generations", "")
	rest, err := parseFlags(fs, args)
	if err != nil {
		return err
	}
	if err := to.settle(std, "rows and call chains"); err != nil {
		return err
	}
	if err := checkBounds(fs, opt.Bottle); err != nil {
		return err
	}
	opt.Bottle.Part = timeline.Part(part)
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
	return diagnose.Results{Ledger: r.Ledger, Graph: r.Bottle, Contention: r.Contention}
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
