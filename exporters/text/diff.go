package text

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// WriteDiff writes what changed from one bottle graph to another: the whole, then a line for each
// group with its share, what it lost of the capacity, and its parallelism in both, those whose
// share changed most first. Groups that changed by less than a thousandth of the longer run are
// only counted. The error is that of w.
func WriteDiff(w io.Writer, before, after *bottle.Graph, opt Options) error {
	if before == nil || after == nil {
		return errors.New("text: no graph")
	}
	opt = opt.withDefaults()
	st := style{colour: opt.Colour, ascii: opt.ASCII}
	var b strings.Builder
	t := &changeTable{style: st, head: []string{"", "before", "after", "change"}}
	t.row("wall time", format.Duration(before.Wall), format.Duration(after.Wall), ratioOf(float64(before.Wall), float64(after.Wall)))
	t.row("parallelism", format.Parallelism(before.MeanParallelism()), format.Parallelism(after.MeanParallelism()), ratioOf(before.MeanParallelism(), after.MeanParallelism()))
	t.row("lost capacity", format.Percent(before.Lost(), before.Capacity), format.Percent(after.Lost(), after.Capacity), ratioOf(part(before.Lost(), before.Capacity), part(after.Lost(), after.Capacity)))
	t.row("idle", format.Duration(before.Idle), format.Duration(after.Idle), ratioOf(float64(before.Idle), float64(after.Idle)))
	if c, d := inC(before), inC(after); c+d > 0 {
		t.row("in C code", format.Duration(c), format.Duration(d), ratioOf(float64(c), float64(d)))
	}
	t.write(&b, opt.Width)
	b.WriteByte('\n')

	changes := Changes(before, after)
	t = &changeTable{style: st, head: []string{"group", "share before", "after", "change", "lost", "after", "parallelism", "after"}}
	least, same := max(before.Wall, after.Wall)/1000, 0
	for _, c := range changes {
		if (c.After.Share-c.Before.Share).Abs() < least && len(changes) > 1 {
			same++
			continue
		}
		share := func(x bottle.Box, there bool) string {
			if !there {
				return format.Unknown
			}
			return format.Duration(x.Share)
		}
		width := func(x bottle.Box, there bool) string {
			if !there {
				return format.Unknown
			}
			return format.Parallelism(x.Parallelism)
		}
		lost := func(g *bottle.Graph, x bottle.Box, there bool) string {
			if !there {
				return format.Unknown
			}
			return format.Percent(x.Lost, g.Capacity)
		}
		delta := format.Duration(c.After.Share - c.Before.Share)
		if c.After.Share > c.Before.Share {
			delta = "+" + delta
		}
		t.row(format.Func(st.clean(c.Group)), share(c.Before, c.InBefore), share(c.After, c.InAfter), delta, lost(before, c.Before, c.InBefore), lost(after, c.After, c.InAfter), width(c.Before, c.InBefore), width(c.After, c.InAfter))
	}
	t.write(&b, opt.Width)
	if same > 0 {
		b.WriteString(st.paintLines(dim, wrap(format.Plural(same, "group", "groups")+" changed by less than "+st.plain(format.Duration(least))+".", opt.Width, 0)) + "\n")
	}
	if before.GroupBy != after.GroupBy {
		b.WriteString(st.paint(bold, "Warning:") + wrap(st.clean(fmt.Sprintf("the graphs are grouped differently, by %s and by %s.", before.GroupBy, after.GroupBy)), opt.Width, len("Warning:")) + "\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("text: writing: %w", err)
	}
	return nil
}

// VerdictDiff writes the first sentence of the verdicts on two runs, with a line between them and
// what follows; nothing if there is no verdict. The error is that of w.
func VerdictDiff(w io.Writer, before, after *verdict.Verdict, opt Options) error {
	if before == nil && after == nil {
		return nil
	}
	opt = opt.withDefaults()
	st := style{colour: opt.Colour, ascii: opt.ASCII}
	const column = len("before: ")
	var b strings.Builder
	for i, v := range []*verdict.Verdict{before, after} {
		s := "(no verdict: it is a sum of several recordings)"
		if v != nil && len(v.Findings) > 0 {
			s = st.clean(v.Findings[0].Title)
		}
		name := [2]string{"before: ", "after:  "}[i]
		b.WriteString(st.paintLines(bold, name+indent(wrap(s, opt.Width-column, 0), column-2)) + "\n")
	}
	if _, err := io.WriteString(w, b.String()+"\n"); err != nil {
		return fmt.Errorf("text: writing: %w", err)
	}
	return nil
}

func inC(g *bottle.Graph) time.Duration {
	all, _ := g.InC()
	return all
}

// Change is a group in two graphs.
type Change struct {
	Group string
	Kind  bottle.Kind
	// Before and After are the group's boxes; zero where it is not in the graph.
	Before, After     bottle.Box
	InBefore, InAfter bool
}

// Changes pairs the groups of two graphs, those whose share changed most first.
func Changes(before, after *bottle.Graph) []Change {
	type key struct {
		group string
		kind  bottle.Kind
	}
	at := map[key]int{}
	var out []Change
	find := func(b *bottle.Box) *Change {
		k := key{b.Group, b.Kind}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, Change{Group: b.Group, Kind: b.Kind})
		}
		return &out[i]
	}
	for i := range before.Boxes {
		c := find(&before.Boxes[i])
		c.Before, c.InBefore = before.Boxes[i], true
	}
	for i := range after.Boxes {
		c := find(&after.Boxes[i])
		c.After, c.InAfter = after.Boxes[i], true
	}
	order.Stable(out, func(a, b Change) int {
		return cmp.Or(cmp.Compare((b.After.Share-b.Before.Share).Abs(), (a.After.Share-a.Before.Share).Abs()), strings.Compare(a.Group, b.Group))
	})
	return out
}

func part(d, whole time.Duration) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(d) / float64(whole)
}

// ratioOf writes after ÷ before as "1.25x".
func ratioOf(before, after float64) string {
	switch {
	case before == after:
		return "="
	case before == 0 || math.IsNaN(after/before):
		return format.Unknown
	}
	return strconv.FormatFloat(after/before, 'f', 2, 64) + "x"
}

// WriteStackDiff writes two speedup stacks side by side with the difference of each part. The error
// is that of w.
func WriteStackDiff(w io.Writer, before, after *speedup.Stack, opt Options) error {
	if before == nil || after == nil {
		return errors.New("text: no speedup stack")
	}
	opt = opt.withDefaults()
	st := style{colour: opt.Colour, ascii: opt.ASCII}
	table := &stackTable{stacks: []*speedup.Stack{before, after}, style: st, width: opt.Width}
	t := &changeTable{style: st, head: []string{"", "before", "after", "change"}}
	for _, r := range table.rows() {
		delta := number(r.values[1] - r.values[0])
		if r.values[1] > r.values[0] {
			delta = "+" + delta
		}
		t.row(r.name, number(r.values[0]), number(r.values[1]), delta)
	}
	t.row("workers", strconv.Itoa(before.N), strconv.Itoa(after.N), "")
	var b strings.Builder
	t.write(&b, opt.Width)
	for i, s := range table.stacks {
		for _, warning := range s.Warnings {
			which := [2]string{"before: ", "after: "}[i]
			b.WriteString(st.paint(bold, "Warning:") + wrap(st.clean(which+warning), opt.Width, len("Warning:")) + "\n")
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("text: writing: %w", err)
	}
	return nil
}

// changeTable is a table whose first column is of words and whose others are of numbers.
type changeTable struct {
	style style
	head  []string
	rows  [][]string
}

func (t *changeTable) row(cells ...string) {
	for i := range cells[1:] {
		cells[i+1] = t.style.plain(cells[i+1])
	}
	t.rows = append(t.rows, cells)
}

func (t *changeTable) write(b *strings.Builder, width int) {
	widths := make([]int, len(t.head))
	for _, row := range append(t.rows, t.head) {
		for i, cell := range row {
			widths[i] = max(widths[i], columns(cell))
		}
	}
	rest := 0
	for _, w := range widths[1:] {
		rest += 2 + w
	}
	widths[0] = min(widths[0], max(12, width-rest))
	line := func(name string, cells []string) string {
		s := left(name, widths[0])
		for i, cell := range cells {
			s += "  " + right(cell, widths[i+1])
		}
		return strings.TrimRight(s, " ")
	}
	head := t.head[0]
	if columns(head) > widths[0] {
		b.WriteString(t.style.paint(dim, t.style.fit(head+":", width)) + "\n")
		head = ""
	}
	b.WriteString(t.style.paint(dim, line(head, t.head[1:])) + "\n")
	for _, row := range t.rows {
		name := row[0]
		if columns(name) > widths[0] { // it has a line of its own
			b.WriteString(t.style.fit(name, width) + "\n")
			name = ""
		}
		b.WriteString(line(name, row[1:]) + "\n")
	}
}
