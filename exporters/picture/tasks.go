package picture

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// errNoTasks is the error of all forms without a profile.
var errNoTasks = errors.New("picture: no profile of tasks")

// TasksSVG writes the distributions of the tasks' granularity as an SVG document: for each class
// the part of its tasks (0 to 100 %) that is at most so large, over a logarithmic axis of cycles,
// or of running time where cycles are not known. Curves far to the left belong to small tasks;
// steep ones to similar tasks. The shaded area on the left is that in which the overhead of a task
// is 5 % or more of its cost.
//
// The classes with the largest sums have a curve each (Options.Top, 8 if 0, 12 at most); the
// others share one. The table below names them, with their diagnoses. The
// document is like that of [SVG]; of the options, Panels means nothing here. The error is that of
// the writer or about the options.
func TasksSVG(w io.Writer, p *granularity.Profile, opt Options) error {
	d, err := DrawTasks(p, opt)
	if err != nil {
		return err
	}
	return d.SVG(w)
}

// DrawTasks lays out the picture of [TasksSVG].
func DrawTasks(p *granularity.Profile, opt Options) (*Drawing, error) {
	return drawTasks(p, opt, layoutTasks)
}

// StripSVG writes what the tasks and the machine did over time as an SVG document: a row for each
// class that shows how many of its tasks were under way, and below, on the same axis, the context
// switches a second and how far the processors were used. Vertical lines are the garbage
// collector's pauses. It corresponds to figures 10, 11 and 13 of the paper on task granularity.
//
// The options mean what they mean to [TasksSVG].
func StripSVG(w io.Writer, p *granularity.Profile, opt Options) error {
	d, err := DrawStrip(p, opt)
	if err != nil {
		return err
	}
	return d.SVG(w)
}

// DrawStrip lays out the picture of [StripSVG].
func DrawStrip(p *granularity.Profile, opt Options) (*Drawing, error) {
	return drawTasks(p, opt, layoutStrip)
}

func drawTasks(p *granularity.Profile, opt Options, layout func(*granularity.Profile, Options) *scene) (*Drawing, error) {
	if p == nil {
		return nil, errNoTasks
	}
	if opt.Width == 0 {
		opt.Width = tasksWidth
	}
	if err := opt.checkWidth(); err != nil {
		return nil, err
	}
	return &Drawing{layout(p, opt), opt}, nil
}

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
			t.title += "\n" + clip(format.Clean(s), 300)
		}
	}
	m.classes = append(m.classes, t)
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

// sentence describes how many tasks there are, and how many classes have which fault.
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

// describe puts the picture into words.
func (m *tasksModel) describe(what string) string {
	var b strings.Builder
	b.WriteString(what + " " + m.sentence() + ".")
	for i := range m.classes {
		b.WriteString(" " + clipName(m.classes[i].label) + ": " + tasksOf(m.classes[i].Tasks) + ", median " + m.amount(m.classes[i].hist.Quantile(.5)) + ".")
	}
	return b.String()
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

// table is the legend: a row for each curve with its numbers. Columns that have no room are left
// out, from the least important.
func (m *tasksModel) table(width float64) *table {
	t := &table{header: cellsOf(false, "", "tasks", "median", "p99", "of all", "diagnosis"), gap: 14, rowHeight: 24}
	for i := range m.classes {
		c := &m.classes[i]
		share := ""
		if m.sum > 0 {
			share = format.Percent(part(c.hist.Sum()/m.sum), wholeParts)
		}
		diagnosis := ""
		if c.Diagnosis != "" {
			diagnosis = diagnosisWords(c.Diagnosis)
		}
		t.rows = append(t.rows, row{title: c.title, name: c.label, fill: ink, swatch: func(x, baseline float64) []shape {
			return []shape{rect{x: x, y: baseline - 9, w: swatchSide, h: 6, fill: rgb(c.fill)}}
		}, cells: append(cellsOf(false, format.Quantity(float64(c.Tasks)), m.amount(c.hist.Quantile(.5)), m.amount(c.hist.Quantile(.99)), share), cell{diagnosis, badly(c)})})
	}
	t.measure()
	longest := t.nameWidth
	t.wide = true
	t.measure()
	t.nameWidth = longest
	const leastName = 140.0
	for _, least := range []string{"p99", "of all", "tasks", "median", "diagnosis"} {
		if width-(t.width()-longest) >= min(longest, leastName) {
			break
		}
		t.drop(slices.IndexFunc(t.header, func(c cell) bool { return c.s == least }) - 1)
	}
	t.nameWidth = min(longest, width-(t.width()-longest))
	return t
}

// badly reports whether the diagnosis asks for a change.
func badly(c *taskClass) bool {
	return c.Diagnosis != granularity.OK && c.Diagnosis.OrUnknown() != granularity.Unknown
}

// wholeParts is a whole for format.Percent, which takes durations.
const wholeParts = 1_000_000_000

// part is a fraction of wholeParts.
func part(fraction float64) time.Duration { return time.Duration(fraction * wholeParts) }
