package text

import (
	"cmp"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/chart"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// WriteStacks writes speedup stacks: a sentence about the one with the largest N, a table with a
// row for each component and a column for each stack, and the warnings. A single stack also has
// bars, and the speed-up without each component. Components below a two-hundredth of N in all
// stacks are added up. The error is that of w.
func WriteStacks(w io.Writer, stacks []*speedup.Stack, opt Options) error {
	if len(stacks) == 0 || slices.Contains(stacks, nil) {
		return errors.New("text: no speedup stack")
	}
	opt, st := opt.withDefaults()
	t := &stackTable{stacks: stacks, style: st, width: opt.Width}
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
		workers := "Workers: " + most.Workers.String() + ". Parts are in units of the speed-up; they sum to N."
		b.WriteString("\n" + t.style.paintLines(dim, wrap(clean(workers), opt.Width, 0)) + "\n")
	}
	return emit(w, b.String()+t.style.warnings(chart.Warnings(stacks), opt.Width))
}

// stackTable is the table of the components.
type stackTable struct {
	stacks []*speedup.Stack
	style  style
	width  int
}

// smallPart is the part of N above which a component has a line of its own.
const smallPart = 0.005

// write writes the table. Stacks that do not fit side by side follow below.
func (t *stackTable) write(b *strings.Builder) {
	rows, cell := chart.Parts(t.stacks, smallPart), 5
	slices.Reverse(rows) // the top of the bars first
	name := newColumns("workers")[0]
	name.paint = func(i int, s string) string {
		if i > 0 && rows[i-1].Speedup {
			return t.style.paint(bold, s)
		}
		return s
	}
	var columns []*columnText
	for k, s := range t.stacks {
		c := newColumns(fit(cmp.Or(clean(s.Label), strconv.Itoa(s.N)), 16))[0]
		c.left, c.paint = false, name.paint
		for _, r := range rows {
			c.add(format.Parallelism(r.Values[k]))
		}
		columns, cell = append(columns, c), max(cell, c.width)
	}
	for _, r := range rows {
		name.add(r.Name)
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
			for i := range rows {
				without := ""
				if faster := rows[i].Without(t.stacks[0]); faster > 0 && rows[i].Values[0] > 0 {
					without = format.Parallelism(faster)
				}
				table[1].add(without)
				table[2].add(t.bar(&rows[i], name.width+cell+14))
			}
			shown = append(shown, table[1:]...)
		}
		writeColumns(b, shown, t.style)
	}
}

// bar draws a part of a single stack to scale in the remaining columns.
func (t *stackTable) bar(p *chart.Part, used int) string {
	room := min(50, t.width-used-2)
	n := t.stacks[0].N
	if room < 10 || n < 1 {
		return ""
	}
	mark, color := bar(math.Abs(p.Values[0])/float64(n), room), coolColors[0]
	switch {
	case p.Values[0] < 0:
		mark, color = strings.Repeat("-", columns(mark)), dim
	case !p.Speedup:
		color = warmColors[0]
	}
	return t.style.paint(color, mark)
}
