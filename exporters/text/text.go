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
	"strings"

	"github.com/bottleneck-go/bottleneck/bottle"
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
