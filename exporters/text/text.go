// Package text writes results for terminals and files: bottle graphs ([Write]), verdicts ([Verdict]),
// contention, tasks, paths and speedup stacks; a table also as comma-separated values ([TableCSV]).
//
// This program shows a saved graph in the terminal:
//
//	package main
//
//	import (
//		"log"
//		"os"
//
//		"github.com/bottleneck-go/bottleneck/bottle"
//		"github.com/bottleneck-go/bottleneck/exporters/text"
//	)
//
//	func main() {
//		g, err := bottle.ReadJSON(os.Stdin)
//		if err != nil {
//			log.Fatal(err)
//		}
//		if err := text.Write(os.Stdout, g, text.Options{Width: 120, Color: true}); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// Names in a graph come from the traced program and may be anything. The output contains no control
// characters except line feeds, and escape sequences only for requested colors.
//
// Writing a graph of 12 boxes takes 0.15 ms, one of 300 boxes 0.5 ms: see BenchmarkWrite.
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
	"github.com/bottleneck-go/bottleneck/internal/chart"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Options configures the text. The zero value is suitable for a file.
type Options struct {
	// Width is the number of columns; 0 means 100. Values below 48 and above 240 are clamped.
	// Narrower tables have fewer columns.
	Width int
	// Color writes escape sequences for the colors of the pictures: warm ones mark the neck.
	Color bool
	// Top is the number of groups that are shown separately, those with the largest shares; the
	// others are added up, one line per kind. 0 means up to 15, those with at least half a percent
	// of the wall time; a negative value means all.
	Top int
	// Judged omits the sentences of the verdict above a graph, if [Verdict] has written them.
	Judged bool

	// The other fields are for [WriteContention].

	// By are the aspects of the tree; none means owner-func, lock, waiter-func.
	By []string
	// Kinds are the kinds to which the profile was filtered, if any. Of the waits in progress at
	// the end of a trace, only those for locks and the like, and of these kinds, are shown.
	Kinds []string
	// Min omits shorter times. The omitted lines below a line are added up.
	Min time.Duration
	// Rates adds a sentence with the numbers of events per second, and of bytes per contention.
	Rates bool
}

// Write writes a graph: a sentence on the use of the capacity, the bottle, a table, the places
// where groups waited, at most one line per window, and the warnings. The error is that of w.
func Write(w io.Writer, g *bottle.Graph, opt Options) error {
	if g == nil {
		return errors.New("text: no graph")
	}
	opt, st := opt.withDefaults()
	m := newModel(g, opt.Top, st)
	var sections []string
	for _, s := range []string{
		headline(m, opt),
		drawBottle(m, opt.Width),
		table(m, opt.Width),
		sites(m, opt.Width),
		collector(g, opt.Width),
		windows(m, opt.Width),
		phasesText(g, st, opt.Width),
		st.warnings(g.Warnings, opt.Width),
	} {
		if s != "" {
			sections = append(sections, s)
		}
	}
	return emit(w, strings.Join(sections, "\n"))
}

// withDefaults returns the options with a valid width, and the style of the text.
func (opt Options) withDefaults() (Options, style) {
	opt.Width = cmp.Or(opt.Width, 100)
	opt.Width = min(240, max(48, opt.Width))
	return opt, style{color: opt.Color}
}

// top returns the number of things to show of n: as many as usual unless the options set it, and all
// if the line for the others would be for one.
func (opt Options) top(usual, n int) int {
	if top := cmp.Or(opt.Top, usual); top >= 0 && top < n-1 {
		return top
	}
	return n
}

// emit writes a text.
func emit(w io.Writer, s string) error {
	if _, err := io.WriteString(w, s); err != nil {
		return fmt.Errorf("text: writing: %w", err)
	}
	return nil
}

// headline returns what was measured, and the verdict.
func headline(m *model, opt Options) string {
	g, width := m.graph, opt.Width
	what := "Bottle graph"
	if g.GroupBy != "" {
		what += " by " + fit(clean(g.GroupBy), maxName)
	}
	parts := []string{format.Duration(g.Wall)}
	if g.Procs > 0 {
		parts = append(parts, "GOMAXPROCS "+strconv.Itoa(g.Procs))
	}
	kind := "mean parallelism "
	if g.Offered {
		kind = "mean offered parallelism (running + runnable) "
	}
	parts = append(parts, kind+parallelism(g.MeanParallelism()))
	first := wrap(what+": "+strings.Join(parts, ", "), width, 0)
	var b strings.Builder
	b.WriteString(m.style.paintLines(bold, first) + "\n")
	if !opt.Judged {
		b.WriteString(findings(g, m.style, width))
	}
	if all, _ := g.InC(); all > 0 && all >= g.Wall/20 {
		b.WriteString(wrap(fmt.Sprintf("Goroutines were in C code for %s, which the scheduler does not see.", format.Duration(all)), width, 0) + "\n")
	}
	return b.String()
}

// collector returns the totals of the collector and the scheduler, if the graph is by kind.
func collector(g *bottle.Graph, width int) (lines string) {
	for _, s := range []string{g.Collector.String(), g.Latency.String()} {
		if s != "" && g.GroupBy == bottle.ByKind.String() {
			lines += wrap(s, width, 0) + "\n"
		}
	}
	return lines
}

// maxName is the maximum number of columns of a name in running text.
const maxName = 60

// lost formats a part of the capacity.
func (m *model) lost(d time.Duration) string { return format.Percent(d, m.graph.Capacity) }

// percent formats a part of the wall time.
func (m *model) percent(d time.Duration) string { return format.Percent(d, m.graph.Wall) }

// paintLines paints each line separately, so that a pager can split them.
func (st style) paintLines(attribute, s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = st.paint(attribute, lines[i])
	}
	return strings.Join(lines, "\n")
}

// model holds the boxes that are left after folding, each with a safe, short name and a color.
type model struct {
	style style
	graph *bottle.Graph      // as passed in, for sums and the neck
	rows  []row              // bottom of the stack first, as in the graph
	necks map[chart.Key]bool // see chart.Neck
	names map[chart.Key]string
	never []string // names of groups that never ran
}

// row is a box as it is shown.
type row struct {
	box   bottle.Box
	name  string
	neck  bool
	color string
}

// attribute makes the names of the neck bold.
func (r *row) attribute() string {
	if r.neck {
		return bold
	}
	return ""
}

// newModel folds the graph to its top boxes and names them.
func newModel(g *bottle.Graph, top int, st style) *model {
	m := &model{style: st, graph: g, necks: chart.Neck(g), names: map[chart.Key]string{}}
	ran := *g
	ran.Boxes, ran.Windows = nil, nil
	for _, b := range g.Boxes {
		if b.Share > 0 || b.Running > 0 {
			ran.Boxes = append(ran.Boxes, b)
		}
	}
	m.addNames()
	for i := range g.Boxes {
		if b := &g.Boxes[i]; b.Share <= 0 && b.Running <= 0 {
			m.never = append(m.never, m.name(b))
		}
	}
	shown := &ran
	if top == 0 {
		top = worthALine(&ran)
	}
	if top > 0 && len(ran.Boxes) > top+1 { // a line for "1 other" would be no shorter
		shown = ran.Top(top)
	}
	colors := palette()
	for _, b := range shown.Boxes {
		r := row{box: b, neck: m.necks[chart.KeyOf(&b)]}
		var single bool
		if r.name, single = m.names[chart.KeyOf(&b)]; !single {
			r.name = clean(b.Group) // "12 others"
		}
		r.color = othersColor
		if single || b.Kind != bottle.Application {
			r.color = colors.Of(b.Kind, r.neck)
		}
		m.rows = append(m.rows, r)
	}
	return m
}

// worthALine returns the default number of boxes with their own line. Every trace has a dozen boxes
// of the runtime that ran for a few microseconds.
func worthALine(g *bottle.Graph) int {
	n := 0
	for i := range g.Boxes {
		if g.Boxes[i].Share >= g.Wall/200 {
			n++
		}
	}
	return min(15, max(1, n))
}

// addNames names each group, also of the windows. Functions are short while they stay distinct.
func (m *model) addNames() {
	var keys []chart.Key
	var names []string
	for _, g := range append([]*bottle.Graph{m.graph}, m.graph.Windows...) {
		if g == nil {
			continue
		}
		for i := range g.Boxes {
			k := chart.KeyOf(&g.Boxes[i])
			if _, known := m.names[k]; !known {
				m.names[k] = ""
				keys = append(keys, k)
				names = append(names, k.Group)
			}
		}
	}
	names = chart.Names(m.graph, names)
	for i, k := range keys {
		m.names[k] = label(names[i])
	}
}

// label makes a name safe to show.
func label(name string) string {
	return cmp.Or(strings.TrimSpace(clean(name)), "(no name)")
}

// name returns the name of a box of the graph or of one of its windows.
func (m *model) name(b *bottle.Box) string { return m.names[chart.KeyOf(b)] }

// parallelism formats a number of goroutines.
func parallelism(p float64) string {
	if p >= 1e6 {
		return ">1M" // impossible, but a file may contain it
	}
	return format.Parallelism(p)
}

// width returns a parallelism that can be drawn, even for a damaged file.
func width(b *bottle.Box) float64 {
	if math.IsNaN(b.Parallelism) || b.Parallelism < 0 {
		return 0
	}
	return min(b.Parallelism, 1e6)
}
