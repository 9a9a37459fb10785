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

// DrawTasks lays out the distributions of task granularity: for each class the part
// of its tasks (0 to 100 %) up to each size, over a logarithmic axis of cycles, or of running time
// if cycles are unknown. Curves far to the left belong to small tasks, steep ones to similar tasks.
// In the shaded area on the left, the overhead of a task is 5 % or more of its cost.
//
// The classes with the largest sums have separate curves (Options.Top, 8 if 0, at most 12); the
// others share one. The table below names them, with their diagnoses.
func DrawTasks(p *granularity.Profile, opt Options) (*Drawing, error) {
	if p == nil {
		return nil, errNothing
	}
	return newTasksModel(p, opt).drawCDF(), nil
}

// DrawStrip lays out the activity of tasks and machine over time: a row for each
// class with the number of its tasks in progress, and below, on the same axis, the context switches
// per second and the utilization of the processors. Vertical lines are the garbage collector's
// pauses. It corresponds to figures 10, 11 and 13 of the paper on task granularity.
//
// The options have the same meaning as for [DrawTasks].
func DrawStrip(p *granularity.Profile, opt Options) (*Drawing, error) {
	if p == nil {
		return nil, errNothing
	}
	return newTasksModel(p, opt).drawStrip(), nil
}

// tasksModel is the content of pictures of tasks, before layout.
type tasksModel struct {
	p       *granularity.Profile
	opt     Options
	classes []taskClass // largest first, the folded others last
	tasks   uint64      // of all classes
	sum     float64     // total granularity
}

// taskClass is a class, or several that are folded into one.
type taskClass struct {
	granularity.Class
	label string
	hist  *granularity.Histogram
	fill  color.RGBA
	title string // the tooltip
}

// lineColors are colors of Okabe and Ito that are visible as thin lines on white and on dark
// backgrounds, then others.
var lineColors = []color.RGBA{
	hex(0x0072b2), hex(0xd55e00), hex(0x009e73), hex(0xcc79a7), hex(0xb8860b), hex(0x3fa0d8),
	hex(0x8a4a78), hex(0x7a8fd6), hex(0xa84a00), hex(0x5fa052), hex(0x6a7480), hex(0xc94f6d),
}

// curves is the default number of classes with a separate curve.
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
	top := cmp.Or(opt.Top, curves)
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

// addUp adds up classes: their distributions, and their numbers of tasks in progress over time.
func addUp(rest []granularity.Class) granularity.Class {
	sum, bins := granularity.Class{}, []granularity.Bin(nil)
	for i := range rest {
		sum.Add(&rest[i])
		bins = append(bins, rest[i].Series...)
	}
	sum.Series = order.Merge(bins, func(a, b granularity.Bin) int { return cmp.Compare(a.At, b.At) }, func(sum, more *granularity.Bin) { sum.Busy += more.Busy })
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
		t.title += ", " + diagnosisWords(&c)
	}
	const most = 8
	for i, s := range slices.Concat(c.Reasons, c.Advice) {
		if i < most {
			t.title += "\n" + clip(format.Clean(s), 300)
		}
	}
	m.classes = append(m.classes, t)
}

func tasksOf(n uint64) string {
	return format.Plural(n, "task", "tasks")
}

// amount formats a granularity: cycles with the equivalent time, or time.
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

func diagnosisWords(c *granularity.Class) string {
	switch c.Diagnosis {
	case granularity.Fine:
		return "fine-grained"
	case granularity.Coarse:
		return "coarse-grained"
	}
	return c.DiagnosisOrUnknown()
}

// sentence describes the number of tasks, and the number of classes with each fault.
func (m *tasksModel) sentence() string {
	if m.tasks == 0 {
		return "no tasks were measured"
	}
	n := map[string]int{}
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
	if n[granularity.Fine]+n[granularity.Coarse] == 0 {
		s += "; none is known to be too small or too large"
	}
	for _, d := range []struct {
		diagnosis string
		words     string
	}{{granularity.Fine, "too small"}, {granularity.Coarse, "too large"}, {granularity.Blocked, "mostly blocked"}} {
		if n[d.diagnosis] > 0 {
			s += fmt.Sprintf("; %s: %d", d.words, n[d.diagnosis])
		}
	}
	return s
}

// notes returns notes on the reliability of the numbers.
func (m *tasksModel) notes() (out []string) {
	if m.p.Overhead > 0 && m.p.FineBelow() > 0 {
		out = append(out, fmt.Sprintf("Shaded: the overhead of a task, %s, is 5%% or more of its cost. It is %s.", format.Duration(m.p.Overhead), strings.TrimSpace(format.Clean(m.p.OverheadOrigin))))
	}
	source := "Source: " + format.Clean(m.p.Source) + ", accuracy: " + format.Clean(m.p.Accuracy)
	if m.p.Hz > 0 {
		source += ", " + format.Of(m.p.Hz, "Hz")
	}
	if m.p.Source != "" {
		out = append(out, source+".")
	}
	return append(out, warningNotes(m.p.Warnings)...)
}

// describe describes the picture in words.
func (m *tasksModel) describe(what string) string {
	var b strings.Builder
	b.WriteString(what + " " + m.sentence() + ".")
	for i := range m.classes {
		b.WriteString(" " + clipName(m.classes[i].label) + ": " + tasksOf(m.classes[i].Tasks) + ", median " + m.amount(m.classes[i].hist.Quantile(.5)) + ".")
	}
	return b.String()
}

// ended returns the end of the run, on the clock of the profile.
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

// table returns the legend: a row for each curve with its numbers.
func (m *tasksModel) table(width float64) *table {
	t := &table{header: cellsOf("", "tasks", "median", "p99", "of all", "diagnosis"), gap: 14, rowHeight: 24}
	for i := range m.classes {
		c := &m.classes[i]
		share := ""
		if m.sum > 0 {
			share = format.Percent(time.Duration(1e9*c.hist.Sum()/m.sum), 1e9)
		}
		diagnosis := ""
		if c.Diagnosis != "" {
			diagnosis = diagnosisWords(&c.Class)
		}
		t.rows = append(t.rows, row{title: c.title, name: c.label, fill: ink, swatch: func(x, baseline float64) []shape {
			return []shape{rect{x: x, y: baseline - 9, w: swatchSide, h: 6, fill: rgb(c.fill)}}
		}, cells: append(cellsOf(format.Quantity(float64(c.Tasks)), m.amount(c.hist.Quantile(.5)), m.amount(c.hist.Quantile(.99)), share), cell{diagnosis, badly(c)})})
	}
	t.measure()
	t.nameWidth = min(t.nameWidth, width-(t.width()-t.nameWidth))
	return t
}

// badly reports whether the diagnosis asks for a change.
func badly(c *taskClass) bool {
	return c.Diagnosis != granularity.OK && c.DiagnosisOrUnknown() != granularity.Unknown
}
