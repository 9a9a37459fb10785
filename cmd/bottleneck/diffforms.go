package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/markdown"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/report"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// diffForms write a pair; pictures, of kinds that are drawn only.
var diffForms = map[string]func(w io.Writer, p diffPair, d drawing) error{
	"text": func(w io.Writer, p diffPair, d drawing) error {
		opt := d.terminal.textOptions()
		if err := text.VerdictDiff(w, p[0].verdict, p[1].verdict, opt); err != nil {
			return err
		}
		switch p[0].kind {
		case stackDiff:
			return text.WriteStackDiff(w, p[0].stack, p[1].stack, opt)
		case contentionDiff:
			return text.WriteContentionDiff(w, p[0].contention, p[1].contention, opt)
		case tasksDiff:
			return text.WriteTasksDiff(w, p[0].tasks, p[1].tasks, opt)
		case ledgerDiff:
			t, err := p.ledgers(d.by)
			if err != nil {
				return err
			}
			return text.WriteTable(w, t, d.textOfRows())
		}
		if err := text.WriteDiff(w, p[0].graph, p[1].graph, opt); err != nil || !p.booked() {
			return err
		}
		t, err := p.ledgers([]string{"category"})
		if err == nil {
			_, err = io.WriteString(w, "\n")
		}
		if err != nil {
			return err
		}
		return text.WriteTable(w, t, opt)
	},
	"json": writeDiffJSON,
	"md":   func(w io.Writer, p diffPair, d drawing) error { return p.table(w, d, markdown.Write) },
	"csv":  func(w io.Writer, p diffPair, d drawing) error { return p.table(w, d, text.TableCSV) },
	"html": func(w io.Writer, p diffPair, d drawing) error { return p.table(w, d, report.WriteTable) },
	"svg": func(w io.Writer, p diffPair, d drawing) error {
		if p[0].kind == graphDiff {
			return picture.DiffSVG(w, p[0].graph, p[1].graph, d.picture())
		}
		return picture.StacksSVG(w, p.stacks(), d.picture())
	},
	"png": func(w io.Writer, p diffPair, d drawing) error {
		if p[0].kind == graphDiff {
			return pixels(w)(picture.DrawDiff(p[0].graph, p[1].graph, d.picture()))
		}
		return pixels(w)(picture.DrawStacks(p.stacks(), d.picture()))
	},
}

var diffWritings = formsIn(diffForms, "text, json, csv, md, html, svg or png", ".svg, .png, .json, .csv, .md, .html or .txt")

// booked reports whether there are ledgers of both runs.
func (p diffPair) booked() bool { return p[0].ledger != nil && p[1].ledger != nil }

// ledgers compares the ledgers, whose rows some columns tell apart; by default without the lines,
// which each edit of a file moves.
func (p diffPair) ledgers(by []string) (*result.Table, error) {
	if by == nil {
		by = []string{"category", "wait", "function", "group"}
	}
	before, after := p[0].ledger, p[1].ledger
	t, err := result.Diff(before.Table(), after.Table(), append([]string{"time"}, by...)...)
	if err != nil {
		return nil, err
	}
	t.Title = fmt.Sprintf("What the capacity went to: %s before, %s after", before.Extent(), after.Extent())
	return t, nil
}

// table writes what changed with a writer of tables.
func (p diffPair) table(w io.Writer, d drawing, write func(io.Writer, *result.Table) error) error {
	if p[0].kind != ledgerDiff {
		return write(w, p.changes())
	}
	t, err := p.ledgers(d.by)
	if err != nil {
		return err
	}
	return write(w, t)
}

// stacks are the two stacks with labels.
func (p diffPair) stacks() []*speedup.Stack {
	before, after := *p[0].stack, *p[1].stack
	before.Label, after.Label = "before", "after"
	return []*speedup.Stack{&before, &after}
}

// measureJSON is a measure of both runs: times in nanoseconds; null where a run cannot tell.
type measureJSON struct {
	Name   string   `json:"name"`
	Before *float64 `json:"before"`
	After  *float64 `json:"after"`
}

// verdictsJSON are the verdicts on two runs.
type verdictsJSON struct {
	Before *verdict.Verdict `json:"before"`
	After  *verdict.Verdict `json:"after"`
}

// writeDiffJSON writes one object: {"what":"bottle graph", "measures":[…], "changes":[…],
// "capacity":[…], "verdicts":{"before":…, "after":…}}.
func writeDiffJSON(w io.Writer, p diffPair, d drawing) error {
	var out struct {
		What     string        `json:"what"`
		Measures []measureJSON `json:"measures"`
		Changes  *result.Table `json:"changes"`
		// Capacity is what the capacity went to.
		Capacity *result.Table `json:"capacity,omitempty"`
		// Verdicts are those of graphs and ledgers; null where there is none.
		Verdicts *verdictsJSON `json:"verdicts,omitempty"`
	}
	out.What = p[0].kind.what()
	out.Measures, out.Changes = p.measures(), p.changes()
	if p[0].verdict != nil || p[1].verdict != nil {
		out.Verdicts = &verdictsJSON{p[0].verdict, p[1].verdict}
	}
	if p.booked() {
		by := d.by
		if p[0].kind != ledgerDiff {
			by = []string{"category"}
		}
		var err error
		if out.Capacity, err = p.ledgers(by); err != nil {
			return err
		}
	}
	b, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(format.EscapeJSON(b), '\n'))
	return err
}

// changes are what changed, row by row; none of ledgers, whose are the capacity.
func (p diffPair) changes() *result.Table {
	switch p[0].kind {
	case graphDiff:
		return bottle.Changes(p[0].graph, p[1].graph)
	case stackDiff:
		return speedup.Changes(p[0].stack, p[1].stack)
	case contentionDiff:
		return contention.Changes(p[0].contention, p[1].contention)
	case tasksDiff:
		return granularity.Changes(p[0].tasks, p[1].tasks)
	}
	return &result.Table{}
}

// measures are the measures of the whole that -fail knows, of both runs; null where a run cannot
// tell.
func (p diffPair) measures() (out []measureJSON) {
	for _, m := range diffMeasures[p[0].kind].whole {
		value := func(s diffSide) *float64 {
			v, err := m.of(s)
			if err != nil {
				return nil
			}
			return &v
		}
		out = append(out, measureJSON{Name: m.name, Before: value(p[0]), After: value(p[1])})
	}
	return out
}
