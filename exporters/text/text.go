// Package text writes bottle graphs for terminals and files: a sentence that
// says where the capacity went, a bottle of block characters and a table ([Write]), or
// comma-separated values ([TableCSV]).
//
// A small program that shows a graph as JSON in the terminal:
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
//		if err := text.Write(os.Stdout, g, text.Options{Width: 120, Colour: true}); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// Names in a graph come from the traced program and may be anything. What is written
// holds no control character but the line feed, and escape sequences only for the
// colours that were asked for.
//
// Writing a graph of 12 boxes takes 0.15 ms, one of 300 boxes 0.5 ms: see BenchmarkWrite.
package text

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Options says how the text looks. The zero value is right for a file.
type Options struct {
	// Width is the number of columns; 0 means 100. Less than 48 is written as
	// 48, more than 240 as 240. The narrower, the fewer columns the table has.
	Width int
	// Colour writes escape sequences of the 256-colour terminals. The colours
	// are those of the pictures: warm ones are the neck's.
	Colour bool
	// ASCII keeps to ASCII where a terminal cannot do better: coarser, and other
	// characters in names become question marks.
	ASCII bool
	// Top is the number of groups that are shown by themselves, those with the
	// largest shares; the others are added up, one line a kind. 0 means up to 15, as many
	// as have half a percent of the wall time; negative, all.
	Top int
	// Judged leaves out the sentences of the verdict above a graph: [Verdict] has written them.
	Judged bool
}

// Write writes a graph: where the capacity went, in a sentence, the bottle, a table, the places
// where groups waited, a line or less for each window when it has windows, and the warnings. The
// error is that of w.
func Write(w io.Writer, g *bottle.Graph, opt Options) error {
	if g == nil {
		return errors.New("text: no graph")
	}
	opt = opt.withDefaults()
	st := style{colour: opt.Colour, ascii: opt.ASCII}
	m := newModel(g, opt.Top, st)
	var sections []string
	for _, s := range []string{
		headline(m, opt),
		drawBottle(m, opt.Width),
		table(m, opt.Width),
		sites(m, opt.Width),
		windows(m, opt.Width),
		phasesText(g, st, opt.Width),
		warnings(m, opt.Width),
	} {
		if s != "" {
			sections = append(sections, s)
		}
	}
	if _, err := io.WriteString(w, strings.Join(sections, "\n")); err != nil {
		return fmt.Errorf("text: writing: %w", err)
	}
	return nil
}

func (opt Options) withDefaults() Options {
	if opt.Width == 0 {
		opt.Width = 100
	}
	opt.Width = min(240, max(48, opt.Width))
	return opt
}

// warnings lists the graph's warnings, each as a paragraph of its own.
func warnings(m *model, width int) string {
	var b strings.Builder
	for _, w := range m.graph.Warnings {
		b.WriteString(m.style.paint(bold, "Warning:") + wrap(m.style.clean(w), width, len("Warning:")) + "\n")
	}
	return b.String()
}

// headline says what was measured, and the verdict.
func headline(m *model, opt Options) string {
	g, width := m.graph, opt.Width
	what := "Bottle graph"
	if g.GroupBy != "" {
		what += " by " + m.style.fit(m.style.clean(g.GroupBy), maxName)
	}
	parts := []string{m.duration(g.Wall)}
	if g.Procs > 0 {
		parts = append(parts, "GOMAXPROCS "+strconv.Itoa(g.Procs))
	}
	kind := "mean parallelism "
	if g.Offered {
		kind = "mean offered parallelism (running + runnable) "
	}
	parts = append(parts, kind+m.parallelism(g.MeanParallelism()))
	first := wrap(what+": "+strings.Join(parts, ", "), width, 0)
	var b strings.Builder
	b.WriteString(m.style.paintLines(bold, first) + "\n")
	if !opt.Judged {
		b.WriteString(findings(g, m.style, width))
	}
	if all, _ := g.InC(); all > 0 && all >= g.Wall/20 {
		b.WriteString(wrap(fmt.Sprintf("Goroutines were in C code for %s, which the scheduler does not see.", m.duration(all)), width, 0) + "\n")
	}
	return b.String()
}

// maxName is how many columns a name may take in running text.
const maxName = 60

func (m *model) duration(d time.Duration) string { return m.style.plain(format.Duration(d)) }

// lost is a part of the capacity.
func (m *model) lost(d time.Duration) string {
	return m.style.plain(format.Percent(d, m.graph.Capacity))
}

// percent is a part of the wall time.
func (m *model) percent(d time.Duration) string {
	return m.style.plain(format.Percent(d, m.graph.Wall))
}

// paintLines paints each line by itself, so that a pager may cut between them.
func (st style) paintLines(attribute, s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = st.paint(attribute, lines[i])
	}
	return strings.Join(lines, "\n")
}
