package text

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// maxLines is the maximum number of lines of the windows. More of them share lines.
const maxLines = 40

// span is one line of the list: one window, or several neighbors.
type span struct {
	wall    time.Duration
	running time.Duration
	lost    time.Duration            // in ns·processors
	of      time.Duration            // the capacity
	most    map[string]time.Duration // lost capacity by name
}

// mostly returns the name that lost most of the span, if that is worth a word.
func (s *span) mostly() string {
	name := ""
	for n, d := range s.most {
		if best := s.most[name]; s.lost >= s.of/100 && (d > best || d == best && n < name) {
			name = n
		}
	}
	return name
}

// windows lists the windows to show phases: the mean parallelism, and the lost capacity.
func windows(m *model, width int) string {
	graphs := slices.DeleteFunc(slices.Clone(m.graph.Windows), func(w *bottle.Graph) bool { return w == nil })
	if len(graphs) == 0 {
		return ""
	}
	perLine := (len(graphs) + maxLines - 1) / maxLines
	title, length := format.Plural(len(graphs), "window", "windows"), graphs[0].Wall
	if !slices.ContainsFunc(graphs[:len(graphs)-1], func(w *bottle.Graph) bool { return w.Wall != length }) { // the last may be shorter
		title += " of " + format.Duration(length)
	}
	if perLine > 1 {
		title += fmt.Sprintf(", %d a line", perLine)
	}
	of := "parallelism"
	if m.graph.Offered {
		of = "offered parallelism"
	}
	t := newColumns("start", of, "lost", "mostly")
	t[0].left, t[3].left = false, true
	for part := range slices.Chunk(graphs, perLine) {
		s := m.newSpan(part)
		t[0].add(strconv.FormatFloat(part[0].Start.Seconds(), 'f', decimals(graphs), 64) + " s")
		t[1].add(parallelism(float64(s.running) / float64(max(1, s.wall))))
		t[2].add(format.Percent(max(0, s.lost), s.of))
		t[3].add(s.mostly())
	}
	t[3].width = min(t[3].width, width-t[0].width-t[1].width-t[2].width-6)
	var b strings.Builder
	b.WriteString(m.style.paint(bold, title) + "\n")
	writeColumns(&b, t, m.style)
	return b.String()
}

func (m *model) newSpan(windows []*bottle.Graph) span {
	s := span{most: map[string]time.Duration{}}
	for _, w := range windows {
		s.wall += w.Wall
		s.lost += w.Lost()
		s.of += w.Capacity
		lost := map[string]time.Duration{"idle": w.IdleLost}
		for i := range w.Boxes {
			b, name := &w.Boxes[i], "garbage collector"
			if b.Kind != bottle.GC {
				name = m.name(b)
			}
			lost[name] += b.Lost
			s.running += b.Running
		}
		for name, d := range lost {
			if d > 0 {
				s.most[name] += d
			}
		}
	}
	return s
}

// bar returns a bar for a part of 1, with columns columns for 1.
func bar(part float64, columns int) string {
	n := int(math.Round(min(1, part) * float64(columns*8)))
	return strings.Repeat("█", n/8) + strings.TrimSpace(string([]rune(" ▏▎▍▌▋▊▉")[n%8]))
}

// decimals returns the number of decimals of a second that distinguish the starts of windows.
func decimals(graphs []*bottle.Graph) int {
	shortest := time.Duration(math.MaxInt64)
	for i, w := range graphs[1:] {
		if d := w.Start - graphs[i].Start; d > 0 {
			shortest = min(shortest, d)
		}
	}
	n, unit := 0, time.Second
	for unit > time.Nanosecond && (shortest < 10*unit && shortest%unit != 0 || shortest < unit) {
		unit /= 10
		n++
	}
	return n
}

// phase is a row of windows whose verdicts begin with the same kind of finding at the same place.
type phase struct {
	from, to         time.Duration
	windows          int
	*verdict.Finding // the most costly one
}

// maxPhases is the maximum number of phases that are written.
const maxPhases = 16

// phases returns the phases of a graph's windows.
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

// when returns the time of a phase, and the number of its windows.
func (p *phase) when() string {
	s := format.Duration(p.from) + " to " + format.Duration(p.to)
	if p.windows > 1 {
		s += fmt.Sprintf(" (%d windows, the worst)", p.windows)
	}
	return s
}

// Phases writes what limits a program over time, from the verdicts on the windows of a graph. It
// writes nothing if there are none. The error is that of w.
func Phases(w io.Writer, g *bottle.Graph, opt Options) error {
	opt, st := opt.withDefaults()
	return emit(w, phasesText(g, st, min(opt.Width, 80)))
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
		b.WriteString(p.when() + ":\n   " + indent(wrap(clean(p.Title), width-3, 0), 1) + "\n")
		if where := placesOf(p.Finding); where != "" {
			b.WriteString(labelled("where", clean(where), width))
		}
	}
	if more := len(all) - maxPhases; more > 0 {
		fmt.Fprintf(&b, "(%d more)\n", more)
	}
	return b.String()
}

// PhasesMarkdown writes the output of [Phases] as a table.
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
	return emit(w, b.String())
}
