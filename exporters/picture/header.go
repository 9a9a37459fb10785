package picture

import (
	"fmt"
	"strings"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

const maxHeading = 400 // in bytes: some three lines

const axisRoom = 64.0 // left of a plot: title and labels of the time axis

// title is the first line of the picture.
func (m *model) title() string {
	if t := strings.TrimSpace(format.Clean(m.opt.Title)); t != "" {
		return t
	}
	t := "Bottle graph"
	if by := strings.TrimSpace(format.Clean(m.whole.GroupBy)); by != "" {
		t += " by " + by
	}
	if m.whole.Offered {
		t += ", offered parallelism"
	}
	return t
}

// sentence says how long it took, and as much of the verdict as there is room for.
func (m *model) sentence() string {
	g := m.whole
	if g.Wall <= 0 {
		return "no time passed: there is nothing to show"
	}
	s := format.Duration(g.Wall) + " in all"
	if m.count > 0 {
		s += " in " + format.Plural(m.count, "window", "windows")
	}
	if all, _ := g.InC(); all >= g.Wall/20 && all > 0 {
		s += ", " + format.Duration(all) + " of goroutines in C code"
	}
	s += "."
	for i, sentence := range g.Sentences() {
		if i > 0 && len(s)+len(sentence) > maxHeading {
			break
		}
		s += " " + format.Clean(sentence)
	}
	return s
}

// axisTitle names the axis of parallelism.
func (m *model) axisTitle() string {
	if m.whole.Offered {
		return "offered parallelism (goroutines running or ready to run)"
	}
	return "parallelism (goroutines running at once)"
}

// heading draws title and subtitle and returns where they end.
func (m *model) heading(x, width float64) (out []shape, bottom float64) {
	return heading(m.title(), []string{m.sentence(), format.Clean(m.opt.Subtitle)}, x, width)
}

// notes are the footnotes: what was changed for the picture, then the graph's warnings.
func (m *model) notes() (out []string) {
	g := m.whole
	if m.merged > 1 {
		out = append(out, fmt.Sprintf("Each chart puts %s together: one chart for each of the %s would be more than fit.", format.Plural(m.merged, "window", "windows"), format.Count(m.count)))
	}
	if g.Offered {
		out = append(out, "Offered parallelism: goroutines that were ready to run count as if they ran, as on a larger machine.")
	}
	graphs := m.windows
	if len(graphs) == 0 {
		graphs = []*bottle.Graph{g}
	}
	if _, _, drawn := scales(graphs...); drawn == 0 && g.Procs > 0 && len(m.entries) > 0 {
		out = append(out, fmt.Sprintf("GOMAXPROCS, %s, lies beyond the ends of the axis.", format.Count(g.Procs)))
	}
	return append(out, warningNotes(g.Warnings)...)
}

// describe tells the picture in words.
func (m *model) describe() string {
	var s strings.Builder
	s.WriteString("A bottle graph. Each box is a group of goroutines: its height is the group's share of the time, " +
		"its width how many goroutines ran while it did; tall and narrow boxes limit scaling. " + m.sentence())
	if m.whole.Idle > 0 && m.whole.Wall > m.whole.Idle {
		s.WriteString(" Idle: " + format.Duration(m.whole.Idle) + ".")
	}
	for i := len(m.entries) - 1; i >= 0; i-- {
		e := m.entries[i]
		s.WriteString(" " + clipName(e.label) + ": " + format.Duration(e.box.Share) + " at " + format.Parallelism(e.box.Parallelism) + ".")
	}
	return s.String()
}

// clipName keeps a name that is read aloud short.
func clipName(name string) string {
	if r := []rune(name); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return name
}
