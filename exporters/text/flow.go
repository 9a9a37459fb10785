package text

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// DOT writes a contention profile as a graph for Graphviz: a node for each group of goroutines, and
// an edge from each waiter group to each owner group, whose width grows with the time. Hand-off and
// unattributed time are nodes with dashed borders. DOT omits edges shorter than least. The error is
// that of w.
//
//	bottleneck contention -o contention.dot trace.out && dot -Tsvg contention.dot
func DOT(w io.Writer, p *contention.Profile, least time.Duration) error {
	if p == nil {
		return errNoContention
	}
	t, err := p.Aggregate(contention.ByWaiterGroup, contention.ByOwnerGroup)
	if err != nil {
		return fmt.Errorf("text: %w", err)
	}
	g := &dotGraph{ids: map[string]int{}}
	for _, waiter := range t.Children {
		for _, owner := range waiter.Children {
			if owner.Waited > 0 && owner.Waited >= least {
				g.edge(waiter.Key, owner)
			}
		}
	}
	return emit(w, g.write(t.Waited))
}

type dotGraph struct {
	ids   map[string]int
	nodes []dotNode // by id
	edges []dotEdge
}

type dotNode struct {
	name           string
	waited, blamed time.Duration
}

type dotEdge struct {
	from, to int
	t        *contention.Tree
}

func (g *dotGraph) node(name string) int {
	id, ok := g.ids[name]
	if !ok {
		id = len(g.nodes)
		g.ids[name] = id
		g.nodes = append(g.nodes, dotNode{name: name})
	}
	return id
}

func (g *dotGraph) edge(from string, t *contention.Tree) {
	e := dotEdge{g.node(from), g.node(t.Key), t}
	g.nodes[e.from].waited += t.Waited
	g.nodes[e.to].blamed += t.Waited
	g.edges = append(g.edges, e)
}

func (g *dotGraph) write(whole time.Duration) string {
	var b strings.Builder
	b.WriteString("digraph contention {\n\trankdir=LR;\n")
	fmt.Fprintf(&b, "\tlabel=%s;\n", dotQuote("Who waited for whom: "+format.Duration(whole)+" in all"))
	b.WriteString("\tnode [shape=box, fontname=\"sans-serif\", style=filled, fillcolor=\"#d6e9f5\"];\n\tedge [fontname=\"sans-serif\", color=\"#545d6a\"];\n")
	names := make([]string, len(g.nodes))
	for i, n := range g.nodes {
		names[i] = format.Clean(n.name)
	}
	names = format.Funcs(names)
	for i, n := range g.nodes {
		label, look := names[i], ""
		if n.waited > 0 {
			label += "\nwaited " + format.Duration(n.waited)
		}
		switch {
		case n.name == contention.HandOffKey || n.name == contention.UnattributedKey:
			look, label = `, style="filled,dashed", fillcolor="#e3e7ea"`, label+"\n"+format.Duration(n.blamed)
		case n.blamed > 0:
			look, label = `, fillcolor="#f7c46c"`, label+"\nto blame for "+format.Duration(n.blamed)
		}
		fmt.Fprintf(&b, "\tn%d [label=%s, tooltip=%s%s];\n", i, dotQuote(label), dotQuote(n.name), look)
	}
	order.Stable(g.edges, func(x, y dotEdge) int { return cmp.Compare(y.t.Waited, x.t.Waited) })
	for _, e := range g.edges {
		tip := fmt.Sprintf("%s waited %s for %s", names[e.from], format.Duration(e.t.Waited), names[e.to])
		width := 1 + 7*math.Sqrt(float64(e.t.Waited)/float64(max(1, whole)))
		fmt.Fprintf(&b, "\tn%d -> n%d [label=%s, penwidth=%.2f, weight=%d, tooltip=%s];\n",
			e.from, e.to, dotQuote(format.Duration(e.t.Waited)), width, 1+int64(99*float64(e.t.Waited)/float64(max(1, whole))), dotQuote(tip))
	}
	b.WriteString("}\n")
	return b.String()
}

// dotQuote writes a text as a quoted Graphviz string and preserves line feeds.
func dotQuote(s string) string {
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		line = format.Clean(line)
		if r := []rune(line); len(r) > 200 {
			line = string(r[:100]) + "…" + string(r[len(r)-99:])
		}
		lines = append(lines, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(line))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}

// FoldedStacks writes a contention profile as folded stacks for flamegraph.pl and many viewers: one
// line per stack, with its frames from the root separated by semicolons, a blank, and the
// nanoseconds. Equal stacks are combined, in the order of their first row. It returns an error of
// w, or an error for an unknown view.
//
//	bottleneck contention -format folded trace.out | flamegraph.pl --countname ns > contention.svg
//
// Semicolons in names become colons, and control characters U+FFFD.
func FoldedStacks(w io.Writer, p *contention.Profile, view contention.View) error {
	if p == nil {
		return errNoContention
	}
	if _, err := contention.ParseView(string(view)); err != nil {
		return fmt.Errorf("text: %w", err)
	}
	sums := map[string]time.Duration{}
	var order []string
	for s := range p.Samples(view) {
		var b strings.Builder
		for i, f := range s.Stack {
			if i > 0 {
				b.WriteByte(';')
			}
			name := strings.TrimSpace(strings.ReplaceAll(format.Clean(f.Func), ";", ":"))
			if name == "" {
				name = contention.UnknownKey
			}
			b.WriteString(name)
		}
		stack := b.String()
		if _, ok := sums[stack]; !ok {
			order = append(order, stack)
		}
		sums[stack] += s.Delay
	}
	var b strings.Builder
	for _, stack := range order {
		if sums[stack] > 0 {
			b.WriteString(stack + " " + strconv.FormatInt(int64(sums[stack]), 10) + "\n")
		}
	}
	return emit(w, b.String())
}
