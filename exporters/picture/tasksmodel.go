package picture

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// tasksModel is what pictures of tasks show, before anything has a place.
type tasksModel struct {
	p       *granularity.Profile
	opt     Options
	classes []taskClass // the largest first, the folded others last
	tasks   uint64      // of all
	sum     float64     // granularity of all
}

// taskClass is a class, or what is folded into one.
type taskClass struct {
	granularity.Class
	label string
	hist  *granularity.Histogram
	fill  color.RGBA
	title string // a tooltip
}

// lineColors are colours of Okabe and Ito that can be seen as thin lines on white and on dark
// paper, then others.
var lineColors = []color.RGBA{
	hex(0x0072b2), hex(0xd55e00), hex(0x009e73), hex(0xcc79a7), hex(0xb8860b), hex(0x3fa0d8),
	hex(0x8a4a78), hex(0x7a8fd6), hex(0xa84a00), hex(0x5fa052), hex(0x6a7480), hex(0xc94f6d),
}

// curves is how many classes have a curve of their own.
const curves = 8

func newTasksModel(p *granularity.Profile, opt Options) *tasksModel {
	m := &tasksModel{p: p, opt: opt}
	var measured []granularity.Class
	for i := range p.Classes {
		c := &p.Classes[i]
		if g := p.Granularity(c); g.Count() > 0 {
			measured = append(measured, *c)
			m.tasks += c.Tasks
			m.sum += g.Sum()
		}
	}
	order.Stable(measured, func(a, b granularity.Class) int {
		return cmp.Compare(p.Granularity(&b).Sum(), p.Granularity(&a).Sum())
	})
	top := opt.Top
	if top == 0 {
		top = curves
	}
	if top < 0 || top > len(lineColors) {
		top = len(lineColors)
	}
	if len(measured) == top+1 {
		top++ // "1 others" would take as much room
	}
	names := make([]string, 0, top)
	for i := range measured[:min(top, len(measured))] {
		names = append(names, measured[i].Name)
	}
	for i, name := range format.Funcs(names) {
		m.add(measured[i], label(name), lineColors[i%len(lineColors)])
	}
	if rest := measured[len(names):]; len(rest) > 0 {
		m.add(addUp(rest), format.Count(len(rest))+" others", othersColor)
	}
	return m
}

// addUp adds up classes: their distributions, and what was under way over time.
func addUp(rest []granularity.Class) granularity.Class {
	sum := granularity.Class{}
	series := map[int64]*granularity.Bin{}
	for i := range rest {
		c := &rest[i]
		sum.Tasks += c.Tasks
		sum.Cycles.Merge(&c.Cycles)
		sum.RunningNS.Merge(&c.RunningNS)
		for _, b := range c.Series {
			s := series[b.At]
			if s == nil {
				s = &granularity.Bin{At: b.At}
				series[b.At] = s
			}
			s.Ended += b.Ended
			s.Busy += b.Busy
			s.Active = max(s.Active, b.Active)
		}
	}
	for _, b := range series {
		sum.Series = append(sum.Series, *b)
	}
	order.Stable(sum.Series, func(a, b granularity.Bin) int { return cmp.Compare(a.At, b.At) })
	return sum
}

func (m *tasksModel) add(c granularity.Class, label string, fill color.RGBA) {
	t := taskClass{Class: c, label: label, fill: fill, hist: m.p.Granularity(&c)}
	name := clipName(format.Clean(c.Name))
	if c.Name == "" {
		name = label
	}
	t.title = fmt.Sprintf("%s: %s, median %s", name, tasksOf(c.Tasks), m.amount(t.hist.Quantile(.5)))
	if c.Diagnosis != "" {
		t.title += ", " + diagnosisWords(c.Diagnosis)
	}
	const most = 8
	for i, s := range slices.Concat(c.Reasons, c.Advice) {
		if i < most {
			t.title += "\n" + clipText(format.Clean(s), 300)
		}
	}
	m.classes = append(m.classes, t)
}

func clipText(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

func tasksOf(n uint64) string {
	return format.Plural(n, "task", "tasks")
}

// amount writes a granularity: cycles with the time they take, or time.
func (m *tasksModel) amount(v float64) string {
	d, known := m.p.Duration(v)
	switch {
	case m.p.ByTime():
		return format.Duration(d)
	case known:
		return format.Quantity(v) + " (" + format.Duration(d) + ")"
	}
	return format.Quantity(v)
}

func diagnosisWords(d granularity.Diagnosis) string {
	switch d {
	case granularity.Fine:
		return "fine-grained"
	case granularity.Coarse:
		return "coarse-grained"
	}
	return string(d.OrUnknown())
}

func (m *tasksModel) title(usual string) string {
	if t := strings.TrimSpace(format.Clean(m.opt.Title)); t != "" {
		return t
	}
	return usual
}

// sentence tells how many tasks there are, and what is wrong with how many classes.
func (m *tasksModel) sentence() string {
	if m.tasks == 0 {
		return "no tasks were measured"
	}
	n := map[granularity.Diagnosis]int{}
	classes := 0
	for i := range m.p.Classes {
		if c := &m.p.Classes[i]; c.Tasks > 0 {
			n[c.Diagnosis]++
			classes++
		}
	}
	s := tasksOf(m.tasks) + " of " + format.Plural(classes, "class", "classes")
	if m.p.Wall > 0 {
		s += " in " + format.Duration(m.p.Wall)
	}
	switch {
	case n[granularity.Fine]+n[granularity.Coarse] == 0:
		s += "; none is known to be too small or too large"
	case n[granularity.Coarse] == 0:
		s += fmt.Sprintf("; too small: %d", n[granularity.Fine])
	case n[granularity.Fine] == 0:
		s += fmt.Sprintf("; too large: %d", n[granularity.Coarse])
	default:
		s += fmt.Sprintf("; too small: %d, too large: %d", n[granularity.Fine], n[granularity.Coarse])
	}
	if n := n[granularity.Blocked]; n > 0 {
		s += fmt.Sprintf("; mostly blocked: %d", n)
	}
	return s
}

// notes are what limits the trust in the numbers.
func (m *tasksModel) notes() (out []string) {
	if m.p.Overhead > 0 && m.p.FineBelow() > 0 {
		out = append(out, fmt.Sprintf("Shaded: the overhead of a task, %s, is 5 %% or more of its cost. It is %s.", format.Duration(m.p.Overhead), strings.TrimSpace(format.Clean(m.p.OverheadOrigin))))
	}
	source := "Source: " + format.Clean(m.p.Source) + ", accuracy: " + format.Clean(m.p.Accuracy)
	if m.p.Hz > 0 {
		source += ", " + hertz(m.p.Hz)
	}
	if m.p.Source != "" {
		out = append(out, source+".")
	}
	return append(out, warningNotes(m.p.Warnings)...)
}

// describe tells the picture in words.
func (m *tasksModel) describe(what string) string {
	var b strings.Builder
	b.WriteString(what + " " + m.sentence() + ".")
	for i := range m.classes {
		b.WriteString(" " + clipName(m.classes[i].label) + ": " + tasksOf(m.classes[i].Tasks) + ", median " + m.amount(m.classes[i].hist.Quantile(.5)) + ".")
	}
	return b.String()
}

// head draws title and subtitles and returns where they end.
func (m *tasksModel) head(title string, x float64) (out []shape, bottom float64) {
	return heading(title, []string{m.sentence(), format.Clean(m.opt.Subtitle)}, x, m.opt.Width)
}

// ended is when the run ended, on the clock of the profile.
func ended(p *granularity.Profile) int64 {
	end := p.Start + int64(min(p.Wall, math.MaxInt64/4))
	for i := range p.Classes {
		if n := len(p.Classes[i].Series); n > 0 {
			end = max(end, p.Classes[i].Series[n-1].At)
		}
	}
	if n := len(p.Samples); n > 0 {
		end = max(end, p.Samples[n-1].At)
	}
	return max(end, p.Start+int64(time.Microsecond))
}

// hertz writes a frequency: "2.3 GHz".
func hertz(hz float64) string {
	s := format.Quantity(hz)
	digits := strings.TrimRight(s, "kMGTPE")
	return digits + " " + s[len(digits):] + "Hz"
}
