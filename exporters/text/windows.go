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

// maxLines is the maximum number of lines of the windows. If there are more, neighbors share a
// line.
const maxLines = 40

// span is one line of the list: one window, or several neighbors.
type span struct {
	start   time.Duration
	wall    time.Duration
	running time.Duration
	each    []float64                // mean parallelism of each window
	lost    time.Duration            // in ns·processors
	of      time.Duration            // the capacity
	most    map[string]time.Duration // lost capacity by name
}

func (s *span) mean() float64 { return float64(s.running) / float64(max(1, s.wall)) }

// mostly returns the name that lost most of the span.
func (s *span) mostly() string {
	name := ""
	for n, d := range s.most {
		if best := s.most[name]; d > best || d == best && n < name {
			name = n
		}
	}
	return name
}

// windows lists the windows to show phases: the time, the mean parallelism as a bar (or a row of
// bars if windows share a line), and the lost capacity.
func windows(m *model, width int) string {
	graphs := slices.DeleteFunc(slices.Clone(m.graph.Windows), func(w *bottle.Graph) bool { return w == nil })
	if len(graphs) == 0 {
		return ""
	}
	perLine := (len(graphs) + maxLines - 1) / maxLines
	var spans []*span
	most := 1.0
	for part := range slices.Chunk(graphs, perLine) {
		s := m.newSpan(part)
		spans = append(spans, s)
		for _, p := range s.each {
			most = max(most, p)
		}
	}
	for _, g := range graphs {
		most = max(most, float64(min(g.Procs, 1e6)))
	}
	l := windowList{m: m, scale: most, bar: min(max(10, width/3-4), 40), perLine: perLine, decimals: decimals(graphs)}
	return l.write(spans, graphs, width)
}

func (m *model) newSpan(windows []*bottle.Graph) *span {
	s := &span{start: windows[0].Start, most: map[string]time.Duration{}}
	for _, w := range windows {
		s.wall += w.Wall
		var running time.Duration
		for i := range w.Boxes {
			running += w.Boxes[i].Running
		}
		s.running += running
		s.each = append(s.each, min(1e6, max(0, w.MeanParallelism())))
		s.lost += w.Lost()
		s.of += w.Capacity
		for _, l := range w.Losses() {
			switch {
			case l.Idle():
				s.most["idle"] += l.Lost
			case l.Boxes[0].Kind == bottle.GC:
				s.most["garbage collector"] += l.Lost
			default:
				s.most[m.name(l.Boxes[0])] += l.Lost
			}
		}
	}
	return s
}

// windowList is the layout of the list.
type windowList struct {
	m        *model
	scale    float64 // parallelism at the end of a bar
	bar      int     // columns of a bar
	perLine  int     // windows per line
	decimals int     // decimals of seconds in start times
}

func (l *windowList) write(spans []*span, graphs []*bottle.Graph, width int) string {
	st := l.m.style
	starts := make([]string, len(spans))
	startWidth := len("start")
	for i, s := range spans {
		starts[i] = strconv.FormatFloat(s.start.Seconds(), 'f', l.decimals, 64) + " s"
		startWidth = max(startWidth, columns(starts[i]))
	}
	of := "parallelism"
	if l.m.graph.Offered {
		of = "offered parallelism"
	}
	var b strings.Builder
	b.WriteString(st.paint(bold, l.title(graphs)) + "\n")
	end := strconv.FormatFloat(l.scale, 'f', -1, 64)
	if l.scale != math.Trunc(l.scale) {
		end = format.Parallelism(l.scale)
	}
	scale := "0" + spaces(l.bar-1-len(end)) + end
	if l.perLine > 1 { // the bars are vertical
		scale = left(of+" up to "+end, l.bar)
	} else if rest := l.bar - 1 - len(end) - len(of) - 2; rest >= 0 {
		scale = "0" + spaces(1+rest/2) + of + spaces(1+rest-rest/2) + end
	}
	b.WriteString(st.paint(dim, right("start", startWidth)+"  "+right("mean", 6)+"  "+scale+"  "+" lost"+"  "+"mostly") + "\n")
	for i, s := range spans {
		line := right(starts[i], startWidth) + "  " + right(parallelism(s.mean()), 6) + "  "
		bar := l.bars(s)
		color := coolColors[0]
		if s.lost > s.of/2 {
			color = warmColors[0]
		}
		line += st.paint(color, bar) + spaces(l.bar-columns(bar)) + "  "
		line += right(format.Percent(max(0, s.lost), s.of), 5)
		if s.lost > 0 && s.lost >= s.of/100 {
			room := max(4, width-startWidth-l.bar-6-5-4*2)
			line += "  " + fit(s.mostly(), room)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// title returns the number of windows, and their length.
func (l *windowList) title(graphs []*bottle.Graph) string {
	title := format.Plural(len(graphs), "window", "windows")
	length := graphs[0].Wall
	same := true
	for _, w := range graphs[:len(graphs)-1] { // the last may be shorter
		same = same && w.Wall == length
	}
	if same {
		title += " of " + format.Duration(length)
	}
	if l.perLine > 1 {
		title += fmt.Sprintf(", %d a line", l.perLine)
	}
	return title
}

// bars draws the mean parallelism of a span: one window as a bar from the left, to an eighth of a
// column; several as vertical bars side by side, each the maximum of the windows it stands for.
func (l *windowList) bars(s *span) string {
	if l.perLine == 1 {
		return bar(s.each[0]/l.scale, l.bar)
	}
	levels := []rune("▁▂▃▄▅▆▇█")
	each := (l.perLine + l.bar - 1) / l.bar // windows per column
	var b strings.Builder
	for part := range slices.Chunk(s.each, each) {
		level := int(math.Round(slices.Max(part) / l.scale * float64(len(levels)-1)))
		b.WriteRune(levels[min(len(levels)-1, level)])
	}
	return b.String()
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
	st := opt.style()
	return emit(w, phasesText(g, st, min(opt.withDefaults().Width, 80)))
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
