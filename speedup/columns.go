package speedup

import (
	"math"
	"slices"
	"strconv"

	"github.com/bottleneck-go/bottleneck/result"
)

// stackPart is a part of a stack: the speed-up, a component or the remainder.
type stackPart struct {
	stack          *Stack
	family, name   string
	value, without float64
	component      bool
	count          *growth // instead of a value
}

func columns(counts bool) []result.Column[stackPart] {
	columns := []result.Column[stackPart]{
		{Name: "label", Title: "stack", Help: "the name of the stack among others", Value: result.Texts(func(p *stackPart) string { return p.stack.Label })},
		{Name: "n", Title: "N", Unit: result.Count, Quotient: result.Single, Help: "workers", Value: result.Ints(func(p *stackPart) int { return p.stack.N })},
		{Name: "estimate", Title: "estimate", Note: true, Help: "whether there was no single-threaded run", Value: result.Texts(func(p *stackPart) string { return strconv.FormatBool(p.stack.Estimate) })},
		{Name: "disturbed", Title: "disturbed", Note: true, Help: "whether other programs took processors away", Value: result.Texts(func(p *stackPart) string { return strconv.FormatBool(p.stack.Disturbed) })},
		{Name: "family", Title: "family", Help: "what is repaired in the same way", Value: result.Texts(func(p *stackPart) string { return p.family })},
		{Name: "part", Title: "component", Help: "the component", Value: result.Texts(func(p *stackPart) string { return p.name })},
		{Name: "value", Title: "part of N", Unit: result.Number, Quotient: result.Single, Help: "in units of the speed-up: the parts sum to N",
			Value: func(p *stackPart) (result.Value, bool) { return result.Float(p.value), p.count == nil }},
		{Name: "without", Title: "without it", Unit: result.Number, Quotient: result.Single, Help: "the speed-up if the component were zero",
			Value: func(p *stackPart) (result.Value, bool) {
				return result.Float(p.without), p.component && !math.IsNaN(p.without)
			}},
	}
	counted := func(name, title, help string, of func(*growth) float64) {
		columns = append(columns, result.Column[stackPart]{Name: name, Title: title, Unit: result.Number, Quotient: result.Single, Help: help, Value: func(p *stackPart) (v result.Value, known bool) {
			if p.count == nil {
				return v, false
			}
			return result.Floats(of)(p.count)
		}})
	}
	if counts {
		counted("single", "with one", "a count of a unit of work with one worker; times in ns", func(g *growth) float64 { return g.Single })
		counted("multi", "with N", "the same with N workers", func(g *growth) float64 { return g.Multi })
		counted("growth", "growth", "their quotient", (*growth).Ratio)
		counted("lost", "goes with it", "the part of N that goes with the growth, an estimate", func(g *growth) float64 { return g.Lost })
	}
	return columns
}

// Table returns the parts of stacks: for each stack its speed-up, the nonzero components and the
// remainder, and then the counters of the system.
func Table(stacks ...*Stack) *result.Table { return table(true, stacks...) }

func table(counts bool, stacks ...*Stack) *result.Table {
	var rows []stackPart
	counts = counts && slices.ContainsFunc(stacks, func(s *Stack) bool { return s.Usage != nil })
	for _, s := range stacks {
		rows = append(rows, stackPart{stack: s, family: "speedup", name: "speedup", value: s.Speedup})
		for _, c := range Delimiters() {
			if v := s.Components[c]; v != 0 {
				rows = append(rows, stackPart{s, c.Family(), c.String(), v, s.WhatIf(c), true, nil})
			}
		}
		rows = append(rows, stackPart{stack: s, family: "remainder", name: "remainder", value: s.Remainder})
		for _, g := range s.Growth() {
			if counts {
				rows = append(rows, stackPart{stack: s, family: "per " + s.Usage.Per, name: g.Name, count: &g})
			}
		}
	}
	t := result.New(columns(counts), rows, 0)
	t.Title, t.SortedBy = "Parts of the speed-up", "value"
	return t
}

// Summary returns the columns of a stack as a whole.
func Summary() []result.Column[Stack] {
	return []result.Column[Stack]{
		{Name: "speedup", Title: "speed-up", Unit: result.Number, Help: "how many times faster the run with N workers is", Value: result.Floats(func(s *Stack) float64 { return s.Speedup })},
		{Name: "remainder", Title: "remainder", Unit: result.Number, Help: "what the components do not explain", Value: result.Floats(func(s *Stack) float64 { return s.Remainder })},
		{Name: "workers", Title: "workers", Unit: result.Count, Help: "N", Value: result.Ints(func(s *Stack) int { return s.N })},
	}
}

// Changes returns what changed from one stack to another, part by part: see [result.Diff].
func Changes(before, after *Stack) *result.Table {
	return result.Changes(table(false, before), table(false, after), "value", "part")
}
