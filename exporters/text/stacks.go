package text

import (
	"cmp"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// WriteStacks writes speedup stacks: a sentence about the one with the largest N, a table with a
// row for each component and a column for each stack, and the warnings. A single stack also has
// bars, and the speed-up without each component. Components below a two-hundredth of N in all
// stacks are added up. The error is that of w.
func WriteStacks(w io.Writer, stacks []*speedup.Stack, opt Options) error {
	if len(stacks) == 0 {
		return errors.New("text: no speedup stack")
	}
	for _, s := range stacks {
		if s == nil {
			return errors.New("text: no speedup stack")
		}
	}
	opt = opt.withDefaults()
	t := &stackTable{stacks: stacks, style: opt.style(), width: opt.Width}
	var b strings.Builder
	most := slices.MaxFunc(stacks, func(a, b *speedup.Stack) int { return a.N - b.N })
	b.WriteString(t.style.paintLines(bold, wrap(clean(most.Sentence()), opt.Width, 0)) + "\n\n")
	if most.Next != "" {
		b.WriteString(wrap(clean(most.Next), opt.Width, 0) + "\n\n")
	}
	t.write(&b)
	if rows := speedup.UsageTable(stacks...); rows != nil {
		b.WriteByte('\n')
		shown := newColumns(rows[0]...)
		for _, row := range rows[1:] {
			for i, cell := range row {
				shown[i].add(cell)
			}
		}
		writeColumns(&b, shown, t.style)
	}
	if stacks[0].Workers.Selector != "" {
		b.WriteString("\n" + t.style.paintLines(dim, wrap(clean(workersLine(most)), opt.Width, 0)) + "\n")
	}
	var warnings []string
	for _, s := range stacks {
		for _, warning := range s.Warnings {
			if !slices.Contains(warnings, warning) {
				warnings = append(warnings, warning)
			}
		}
	}
	return emit(w, b.String()+t.style.warnings(warnings, opt.Width))
}

func workersLine(s *speedup.Stack) string {
	return "Workers: " + s.Workers.String() + ". Parts are in units of the speed-up; they sum to N."
}

// stackTable is the table of the components.
type stackTable struct {
	stacks []*speedup.Stack
	style  style
	width  int
}

// stackRow is a line of the table, with a value for each stack.
type stackRow struct {
	name      string
	values    []float64
	without   string
	attribute string
}

const smallPart = 0.005

// rows returns the lines from the top of the bars to the bottom.
func (t *stackTable) rows() (rows []stackRow) {
	row := func(name string, of func(*speedup.Stack) float64) stackRow {
		r := stackRow{name: name}
		for _, s := range t.stacks {
			r.values = append(r.values, of(s))
		}
		return r
	}
	if r := row("remainder", func(s *speedup.Stack) float64 { return s.Remainder }); t.shows(r, 0) {
		rows = append(rows, r)
	}
	small, folded := stackRow{values: make([]float64, len(t.stacks))}, 0
	all := speedup.Delimiters()
	for i := len(all) - 1; i >= 0; i-- {
		c := all[i]
		r := row(c.Words(), func(s *speedup.Stack) float64 { return s.Components[c] })
		switch {
		case t.shows(r, smallPart):
			if s := t.stacks[0]; r.values[0] > 0 && !math.IsInf(s.WhatIf(c), 0) {
				r.without = number(s.WhatIf(c))
			}
			rows = append(rows, r)
		case t.shows(r, 0):
			folded++
			for i, v := range r.values {
				small.values[i] += v
			}
		}
	}
	if folded > 0 {
		small.name = format.Plural(folded, "small component", "small components")
		rows = append(rows, small)
	}
	name := "speed-up"
	for _, s := range t.stacks {
		if s.Estimate {
			name = "speed-up (at most)"
		}
	}
	r := row(name, func(s *speedup.Stack) float64 { return s.Speedup })
	r.attribute = bold
	return append(rows, r)
}

// shows reports whether the row exceeds the given part of N in some stack.
func (t *stackTable) shows(r stackRow, part float64) bool {
	for i, v := range r.values {
		if math.Abs(v) > part*float64(t.stacks[i].N) {
			return true
		}
	}
	return false
}

func number(v float64) string { return strconv.FormatFloat(v+0, 'f', 2, 64) }

// write writes the table. Stacks that do not fit side by side follow below.
func (t *stackTable) write(b *strings.Builder) {
	rows, cell := t.rows(), 5
	name := newColumns("workers")[0]
	name.paint = func(i int, s string) string {
		if i == 0 {
			return s
		}
		return t.style.paint(rows[i-1].attribute, s)
	}
	var columns []*columnText
	for k, s := range t.stacks {
		c := newColumns(fit(cmp.Or(clean(s.Label), strconv.Itoa(s.N)), 16))[0]
		c.left, c.paint = false, name.paint
		for _, r := range rows {
			c.add(number(r.values[k]))
		}
		columns, cell = append(columns, c), max(cell, c.width)
	}
	for _, r := range rows {
		name.add(r.name)
	}
	for i, part := range slices.Collect(slices.Chunk(columns, max(1, (t.width-name.width)/(cell+2)))) {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, c := range part {
			c.width = cell
		}
		shown := append([]*columnText{name}, part...)
		if len(t.stacks) == 1 {
			table := newColumns("", "without it", "")
			table[2].left, table[2].paint = true, func(i int, s string) string { return s }
			for _, r := range rows {
				table[1].add(r.without)
				table[2].add(t.bar(r, name.width+cell+14))
			}
			shown = append(shown, table[1:]...)
		}
		writeColumns(b, shown, t.style)
	}
}

// bar draws a part of a single stack to scale in the remaining columns.
func (t *stackTable) bar(r stackRow, used int) string {
	room := min(50, t.width-used-2)
	n := t.stacks[0].N
	if room < 10 || n < 1 {
		return ""
	}
	mark, color := bar(math.Abs(r.values[0])/float64(n), room), coolColors[0]
	switch {
	case r.values[0] < 0:
		mark, color = strings.Repeat("-", columns(mark)), dim
	case r.attribute == "":
		color = warmColors[0]
	}
	return t.style.paint(color, mark)
}
