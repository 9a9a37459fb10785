package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/artifact"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/input"
	"github.com/bottleneck-go/bottleneck/internal/measures"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/verdict"
)

func (a *app) verdict() *cobra.Command {
	f := newVerdict()
	c := a.command("verdict [flags] [FILE | URL | -]", "print what limits a program, where, and what to do", `
Verdict prints what limits a program: how the capacity of its processors was
used, and up to five findings, the most costly first. Each has the place in the
code, advice, and an upper bound of the gain. "bottleneck FILE" and "bottleneck
-format md FILE" are short for it. It also reads ledgers, graphs and verdicts
saved as JSON. The verdict on one group of a saved ledger does not include what
the owners of locks did.`, f.run)
	f.define(c, verdictForms, &verdictMeasures)
	flags.Bounds(c.Flags(), &f.opt.Bottle.From, &f.opt.Bottle.To)
	flags.Window(c.Flags(), &f.opt.Bottle.Window, "print the verdict on each `DURATION` as well; JSON is then one object a line")
	c.Flags().StringVar(&f.focus, "focus", "", "print the verdict on the goroutines of one `GROUP`, by its name in the graph: what is lost because of it, or while it waits")
	c.Flags().BoolVarP(&f.opt.Bottle.Stacks, "verbose", "v", false, "show the rows of the ledger and the call chains of each finding")
	c.Example = `  bottleneck trace.out
  bottleneck 'http://localhost:6060/debug/pprof/trace?seconds=5'
  bottleneck verdict -fail 'lost>30%, lost(lock)>10%' trace.out
  bottleneck verdict -format md trace.out >> "$GITHUB_STEP_SUMMARY"`
	return a.reads(c)
}

// verdictFlags holds the flags of verdict.
type verdictFlags struct {
	analysis
	focus string
}

func newVerdict() *verdictFlags {
	f := &verdictFlags{analysis: analysis{kinds: judged}}
	f.result = f.judged
	f.check = func() error {
		if f.opt.Bottle.Window > 0 && f.focus != "" {
			return usagef("-window and -focus exclude each other")
		}
		return nil
	}
	return f
}

var verdictForms = output.FormsOf(nil, nil, output.Writers[*diagnosis]{
	"text": func(w io.Writer, v *diagnosis, d output.Drawing) error {
		if err := text.Verdict(w, v.Verdict, d.Options); err != nil {
			return err
		}
		if v.windows() != nil {
			fmt.Fprintln(w)
			if err := text.Phases(w, v.report.Bottle, d.Options); err != nil {
				return err
			}
		}
		if v.verbose {
			return v.explain(w, d)
		}
		_, err := fmt.Fprintf(w, "\n%s\n", text.VerdictNext(v.Verdict, v.file, v.part...))
		return err
	},
	"md": func(w io.Writer, v *diagnosis, _ output.Drawing) error {
		if err := text.VerdictMarkdown(w, v.Verdict); err != nil || v.windows() == nil {
			return err
		}
		return text.PhasesMarkdown(w, v.report.Bottle)
	},
	"json": func(w io.Writer, v *diagnosis, _ output.Drawing) error {
		if windows := v.windows(); windows != nil {
			for _, g := range windows {
				if err := json.NewEncoder(w).Encode(g.Verdict); err != nil {
					return err
				}
			}
			return nil
		}
		return output.JSON(w, v.Verdict)
	},
})

// diagnosis is the result of the command.
type diagnosis struct {
	*verdict.Verdict
	report  *bn.Report
	verbose bool
	file    string   // name of the trace; "" if it is not a file
	part    []string // flags that select the part, if not the whole trace
}

var verdictMeasures = measures.Verdict(func(v any) (*verdict.Verdict, *ledger.Ledger) {
	d := v.(*diagnosis)
	return d.Verdict, d.report.Ledger
})

// windows returns the graphs of the windows, with their verdicts; none if there are no windows.
func (v *diagnosis) windows() []*bottle.Graph {
	if v.report == nil || v.report.Bottle == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.report.Bottle.Windows), func(g *bottle.Graph) bool { return g == nil || g.Verdict == nil })
}

// explain shows the evidence for each finding.
func (v *diagnosis) explain(w io.Writer, d output.Drawing) error {
	for i := range v.Findings {
		if len(v.Findings[i].Rows) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "\nBehind finding %d:\n\n", i+1); err != nil {
			return err
		}
		if err := text.Evidence(w, diagnose.Explain(resultsOf(v.report), v.Verdict, i+1), d.Options); err != nil {
			return err
		}
	}
	return nil
}

// partFlags returns the flags that select the part of the trace that the verdict covers.
func partFlags(fs *pflag.FlagSet) (flags []string) {
	fs.Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "from", "to", "generations", "during", "outside":
			flags = append(flags, "-"+f.Name, f.Value.String())
		}
	})
	return flags
}

// focusOn replaces the verdict by one on a single group.
func focusOn(report *bn.Report, label, name string) error {
	r := resultsOf(report)
	if r.Ledger == nil {
		return usagef("-focus: %s has no ledger: the verdict on one group needs the trace, or what \"bottleneck ledger -o ledger.json\" saves", label)
	}
	group, err := diagnose.Group(r.Ledger, name)
	if err != nil {
		return usagef("-focus: %v", err)
	}
	r.Focus = group
	report.Verdict = diagnose.New(r)
	return nil
}

// judged are the kinds that have a verdict.
var judged = []*artifact.Kind{artifact.Graph, artifact.Ledger, artifact.Verdict}

// judged returns the verdict on a trace or a saved ledger, or that of a saved graph.
func (f *verdictFlags) judged(a artifact.Artifact) (any, error) {
	v := &diagnosis{report: a.Report, verbose: f.opt.Bottle.Stacks, part: partFlags(f.flags)}
	if a.Ledger == nil && !f.fail.Empty() {
		return nil, usagef("-fail: %s has no ledger: conditions need the trace, or what \"bottleneck ledger -o ledger.json\" saves", a.Label)
	}
	if f.focus != "" {
		if err := focusOn(a.Report, a.Label, f.focus); err != nil {
			return nil, err
		}
	}
	if a.Info != nil && a.Label != "-" && !input.IsURL(a.Label) { // a trace
		v.file = a.Label
	}
	v.Verdict = a.Verdict
	return v, hasVerdict(a)
}

func hasVerdict(a artifact.Artifact) error {
	if a.Verdict == nil {
		return fmt.Errorf("reading %s: the graph has no verdict: it is a sum of several recordings, or was not made of a trace by this program", a.Label)
	}
	return nil
}

var explainForms = output.FormsOf(nil, nil, output.Writers[*diagnose.Evidence]{
	"text": func(w io.Writer, e *diagnose.Evidence, d output.Drawing) error {
		return text.Explanation(w, e, d.Options)
	},
	"json": func(w io.Writer, e *diagnose.Evidence, d output.Drawing) error {
		out := *e
		if n := d.Top; n > 0 {
			out.Rows, out.Blocked, out.Ran = out.Rows[:min(n, len(out.Rows))], out.Blocked[:min(n, len(out.Blocked))], out.Ran[:min(n, len(out.Ran))]
		}
		return output.JSON(w, out)
	},
})

func (a *app) explain() *cobra.Command {
	f := &analysis{kinds: judged}
	c := a.command("explain [flags] FINDING [FILE | URL | -]", "show the evidence of a finding of the verdict", `
Explain shows the evidence of a finding of the verdict: the rows of the ledger
that it sums, and the call chains that waited, or ran during the wait.

FINDING is the number of the finding in the verdict, or its kind, such as lock,
serial or collector, which means the first of that kind. A saved ledger has rows
but no call chains; a saved graph or verdict has only the finding.`, func(ctx context.Context, std stdio, args []string) error {
		f.opt.Bottle.Stacks = true
		if len(args) == 0 || isInput(args[0]) && findingNumber(args[0]) == 0 {
			return usagef("which finding? Its number or kind comes first, such as: bottleneck explain 1 %s", append(args, "trace.out")[0])
		}
		f.result = func(a artifact.Artifact) (any, error) {
			if err := hasVerdict(a); err != nil {
				return nil, err
			}
			n, err := findFinding(a.Verdict, args[0])
			if err != nil {
				return nil, err
			}
			return diagnose.Explain(resultsOf(a.Report), a.Verdict, n), nil
		}
		return f.run(ctx, std, args[1:])
	})
	f.define(c, explainForms, nil)
	f.to.DefineTop("rows, and call chains of each sort", "10 rows and 3 call chains in text, all in JSON")
	flags.Bounds(c.Flags(), &f.opt.Bottle.From, &f.opt.Bottle.To)
	c.Example = `  bottleneck explain 1 trace.out
  bottleneck explain lock trace.out
  bottleneck explain -format json collector trace.out`
	return a.reads(c)
}

func resultsOf(r *bn.Report) diagnose.Results {
	return diagnose.Results{Ledger: r.Ledger, Graph: r.Bottle, Contention: r.Contention, Tasks: r.Tasks}
}

// findingNumber parses the number of a finding; 0 if the word is not a number.
func findingNumber(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil || n < 1 {
		return 0
	}
	return n
}

// findFinding returns the number of the finding that a word refers to.
func findFinding(v *verdict.Verdict, word string) (int, error) {
	if n := findingNumber(word); n > 0 && n <= len(v.Findings) {
		return n, nil
	}
	var known []string
	for i := range v.Findings {
		if v.Findings[i].Kind == word {
			return i + 1, nil
		}
		known = append(known, fmt.Sprintf("%d (%s)", i+1, v.Findings[i].Kind))
	}
	if len(known) == 0 {
		return 0, usagef("the verdict has no findings")
	}
	return 0, usagef("there is no finding %q: want %s", word, strings.Join(known, ", "))
}
