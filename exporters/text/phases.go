package text

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// phase is a row of windows whose verdicts begin with the same kind of finding at the same place.
type phase struct {
	from, to         time.Duration
	windows          int
	*verdict.Finding // the most costly one
}

// maxPhases is how many are written.
const maxPhases = 16

// phases returns those of the windows of a graph.
func phases(g *bottle.Graph) (all []phase) {
	for _, w := range g.Windows {
		if w == nil || w.Verdict == nil || len(w.Verdict.Findings) == 0 {
			continue
		}
		f := &w.Verdict.Findings[0]
		if n := len(all); n > 0 && all[n-1].to == w.Start && sameCause(all[n-1].Finding, f) {
			last := &all[n-1]
			last.to, last.windows = w.Start+w.Wall, last.windows+1
			if f.Lost > last.Lost {
				last.Finding = f
			}
			continue
		}
		all = append(all, phase{w.Start, w.Start + w.Wall, 1, f})
	}
	return all
}

func sameCause(a, b *verdict.Finding) bool {
	return a.Kind == b.Kind && (len(a.Where) == 0) == (len(b.Where) == 0) && (len(a.Where) == 0 || a.Where[0].Func == b.Where[0].Func)
}

// when says which time a phase is, and of how many windows.
func (p *phase) when() string {
	s := format.Duration(p.from) + " to " + format.Duration(p.to)
	if p.windows > 1 {
		s += fmt.Sprintf(" (%d windows, the worst)", p.windows)
	}
	return s
}

// Phases writes what limits a program by time, as the verdicts on the windows of a graph say. It
// writes nothing if there are none. The error is that of w.
func Phases(w io.Writer, g *bottle.Graph, opt Options) error {
	st := style{colour: opt.Colour, ascii: opt.ASCII}
	if _, err := io.WriteString(w, phasesText(g, st, min(opt.withDefaults().Width, 80))); err != nil {
		return fmt.Errorf("text: writing: %w", err)
	}
	return nil
}

func phasesText(g *bottle.Graph, st style, width int) string {
	all := phases(g)
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(st.paint(bold, "By time:") + "\n")
	for i := range all[:min(len(all), maxPhases)] {
		p := &all[i]
		b.WriteString(p.when() + ":\n   " + indent(wrap(st.clean(p.Title), width-3, 0), 1) + "\n")
		if where := placesOf(p.Finding); where != "" {
			b.WriteString(labelled("where", st.clean(where), width))
		}
	}
	if more := len(all) - maxPhases; more > 0 {
		fmt.Fprintf(&b, "(%d more)\n", more)
	}
	return b.String()
}

// PhasesMarkdown writes what [Phases] writes as a table.
func PhasesMarkdown(w io.Writer, g *bottle.Graph) error {
	all := phases(g)
	if len(all) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("\n| time | what limits it | where |\n|---|---|---|\n")
	for i := range all[:min(len(all), maxPhases)] {
		p := &all[i]
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.when(), markdown(p.Title), markdown(placesOf(p.Finding)))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("text: writing: %w", err)
	}
	return nil
}
