package picture

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/chart"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// DrawStacks lays out speedup stacks: bars side by side, as in figure 3 of the
// paper on them, with the speed-up at the bottom and the components that keep it below N above it.
// Negative components, which helped, hang below the zero line and are hatched; the others then rise
// above N by as much. Marks on both sides of a bar show N.
//
// Components that are too small to be seen are combined. Top is ignored.
func DrawStacks(stacks []*speedup.Stack, opt Options) (*Drawing, error) {
	if len(stacks) == 0 || slices.Contains(stacks, nil) {
		return nil, errNothing
	}
	if len(stacks) > maxStacks {
		return nil, fmt.Errorf("picture: %d stacks are too many to draw side by side; at most %d are possible", len(stacks), maxStacks)
	}
	return newStackModel(stacks, opt).draw(), nil
}

// maxStacks bounds the number of bars that are drawn side by side.
const maxStacks = 64

// stackModel is the content of a picture of speedup stacks, before layout: the visible parts, each
// with one color in all bars.
type stackModel struct {
	opt    Options
	stacks []*speedup.Stack
	parts  []stackPart // from the bottom: the speed-up first
}

// stackPart is one part of all bars.
type stackPart struct {
	chart.Part
	fill color.RGBA
}

// familyColors returns the colors of the components in the family of one: warm ones for waiting,
// as in the neck of a bottle graph. The first cool ones are those of the speed-up and the
// remainder.
func familyColors(c speedup.Component) []color.RGBA {
	switch c.Family() {
	case speedup.Synchronization, speedup.ImbalanceFamily, speedup.SpawnFamily, speedup.NoWorkerFamily:
		return warmColors
	case speedup.GarbageCollection:
		return gcColors
	case speedup.RuntimeFamily:
		return runtimeColors
	}
	return coolColors[2:]
}

// seen is the part of a bar's height below which a component is combined with others.
const seen = 0.01

func newStackModel(stacks []*speedup.Stack, opt Options) *stackModel {
	m := &stackModel{opt: opt, stacks: stacks}
	colors := palette()
	for _, p := range chart.Parts(stacks, seen) {
		fill := othersColor
		switch {
		case p.Speedup:
			fill = coolColors[0]
		case p.Remainder:
			fill = coolColors[1]
		case !p.Small:
			fill = colors.Next(familyColors(p.Component))
		}
		m.parts = append(m.parts, stackPart{p, fill})
	}
	return m
}

// span returns how far the bars extend from zero, up and down.
func (m *stackModel) span() (up, down float64) {
	for i, s := range m.stacks {
		u, d := 0.0, 0.0
		for _, p := range m.parts {
			u += max(0, p.Values[i])
			d += max(0, -p.Values[i])
		}
		up, down = max(up, u, float64(s.N)), max(down, d)
	}
	return max(up, 1), down
}

// barLabel returns the label below a bar.
func barLabel(s *speedup.Stack) string {
	if l := strings.TrimSpace(format.Clean(s.Label)); l != "" {
		return l
	}
	return strconv.Itoa(s.N)
}

// sentence returns the result of the bar with the largest N.
func (m *stackModel) sentence() string { return m.widest().Sentence() }

func (m *stackModel) widest() *speedup.Stack {
	return slices.MaxFunc(m.stacks, func(a, b *speedup.Stack) int { return a.N - b.N })
}

// describe describes the picture in words.
func (m *stackModel) describe() string {
	var b strings.Builder
	b.WriteString("Speedup stacks: each bar is as high as the number of workers; the part at its bottom is the speed-up, the others are what keeps it from being higher. " + m.sentence() + ".")
	for i, s := range m.stacks {
		b.WriteString(" " + barLabel(s) + ":")
		for _, p := range m.parts {
			if v := p.Values[i]; v != 0 {
				b.WriteString(" " + p.Name + " " + format.Parallelism(v) + ",")
			}
		}
	}
	return strings.TrimSuffix(b.String(), ",") + "."
}

// Sizes of pictures of stacks.
const (
	stackHeight = 420.0
	stackBar    = 84.0 // preferred width of a bar
	stackGap    = 56.0 // between two bars
	leastBar    = 8.0
	stackFoot   = 52.0 // labels and title of the axis
)

// draw lays out title, bars, legend and notes.
func (m *stackModel) draw() *Drawing {
	const left, gap = margin + axisRoom, 40.0
	legend := m.legend()
	most := 560.0
	if len(m.stacks) > mostColumns { // the legend is narrow
		most = 860
	}
	p := stackPlot{x: left, w: min(most, max(260, float64(len(m.stacks))*(stackBar+stackGap))), h: max(stackHeight, legend.height()-stackFoot)}
	width := max(640, left+p.w+gap+legend.width()+margin)
	if line := left + room(m.sentence(), subtitleSize, false) + margin; line < 900 {
		width = max(width, line) // avoid a single word on the last line
	}
	title := "Speedup stacks"
	if len(m.stacks) == 1 {
		title = "Speedup stack"
	}
	d, y := newPage(m.opt, title, m.sentence(), m.describe(), left, width)
	p.y = y + 14
	d.add(m.chart(&p)...)
	table, _ := legend.draw(p.x+p.w+gap, p.y-4+0.7*legend.rowHeight, width-margin)
	d.add(table...)
	notes := warningNotes(chart.Warnings(m.stacks))
	if next := format.Clean(m.widest().Next); next != "" {
		notes = append([]string{next}, notes...)
	}
	return d.finish(notes, left, max(p.y+p.h+stackFoot, p.y-4+legend.height()))
}

// stackPlot is the area of the bars.
type stackPlot struct {
	x, y, w, h float64
	up, down   float64 // range of the axis, from zero
}

func (p *stackPlot) py(v float64) float64 { return p.y + p.h*(p.up-v)/(p.up+p.down) }

// chart draws the axis and the bars.
func (m *stackModel) chart(p *stackPlot) (out []shape) {
	up, down := m.span()
	p.up, p.down = headroom*up, headroom*down
	rules := lines{stroke: themed(grid), width: 1}
	for _, t := range niceTicks(down, up, max(3, math.Floor(p.h/60))) {
		y := p.py(t.at)
		if t.at != 0 {
			rules.segments = append(rules.segments, segment{p.x - tickLength, y, p.x + p.w, y})
		}
		out = append(out, tickLabel(p.x, y, t.label))
	}
	out = append([]shape{rules}, out...)
	each := p.w / float64(len(m.stacks))
	bar := min(stackBar, max(leastBar, each*0.6))
	for i, s := range m.stacks {
		x := p.x + (float64(i)+0.5)*each
		out = append(out, m.bar(p, i, x-bar/2, bar))
		if l := shorten(barLabel(s), axisSize, false, each); l != "" {
			out = append(out, text{x: x, y: p.y + p.h + 19, s: l, size: axisSize, anchor: middle, fill: themed(muted)})
		}
	}
	zero := lines{segments: []segment{{p.x - tickLength, p.py(0), p.x + p.w, p.py(0)}}, stroke: themed(axis), width: 1}
	return append(out, zero,
		text{x: p.x - 50, y: p.y + p.h/2, s: "speed-up", size: labelSize, anchor: middle, fill: themed(ink), upright: true},
		text{x: p.x + p.w/2, y: p.y + p.h + 42, s: "workers", size: labelSize, anchor: middle, fill: themed(ink)})
}

// bar draws one stack: positive parts from zero up, negative parts from zero down.
func (m *stackModel) bar(p *stackPlot, i int, x, w float64) *group {
	s := m.stacks[i]
	out := &group{title: barLabel(s) + ": " + s.Sentence()}
	up, down := 0.0, 0.0
	for _, part := range m.parts {
		v := part.Values[i]
		if v == 0 {
			continue
		}
		from, to := up, up+v
		if v < 0 {
			from, to = -down+v, -down
			down -= v
		} else {
			up += v
		}
		r := rect{x: x, y: p.py(to), w: w, h: p.py(from) - p.py(to), fill: rgb(part.fill), border: true}
		g := &group{title: part.Name + ": " + format.Parallelism(v), shapes: []shape{r}}
		if faster := part.Without(s); faster > 0 {
			g.title += "; without it, " + format.Parallelism(faster) + " times faster"
		}
		stroke := part.fill
		if v < 0 {
			stroke = hatchColor(part.fill)
			g.shapes = append(g.shapes, hatch(r, 1, rgb(stroke)))
		}
		size := labelSize
		if t := valueText(v); r.h >= 15 && room(t, size, part.Speedup) <= w {
			g.shapes = append(g.shapes, text{x: x + w/2, y: r.y + r.h/2 + 0.35*size, s: t, size: size, bold: part.Speedup, anchor: middle, fill: rgb(labelColor(part.fill, stroke))})
		}
		out.shapes = append(out.shapes, g)
	}
	y := p.py(float64(s.N))
	out.shapes = append(out.shapes, lines{segments: []segment{{x - 12, y, x - 1, y}, {x + w + 1, y, x + w + 12, y}}, stroke: themed(axis), width: 1.4})
	return out
}

func valueText(v float64) string { return strings.Replace(format.Number(v), "-", minus, 1) }

// mostColumns is the maximum number of columns of numbers; with more bars, the legend has none.
const mostColumns = 6

// legend returns the table beside the bars: a row for each part in the order of the bars, from the
// top, with its values, and, for a single bar, the speed-up without it.
func (m *stackModel) legend() *table {
	t := &table{header: cellsOf(""), gap: 14, rowHeight: 24}
	single := len(m.stacks) == 1
	shown := m.stacks
	if len(shown) > mostColumns {
		shown = nil
	}
	sum := row{name: "N", fill: ink, rule: axis}
	for _, s := range shown {
		head := shorten(barLabel(s), tableSize, false, 90)
		if single {
			head = "part"
		}
		t.header = append(t.header, cell{s: head})
		sum.cells = append(sum.cells, cell{s: format.Count(s.N)})
	}
	if single {
		t.header = append(t.header, cell{s: "without it"})
	}
	for i := len(m.parts) - 1; i >= 0; i-- {
		p := m.parts[i]
		r := row{swatch: p.swatch, name: shorten(p.Name, tableSize, p.Speedup, 220), bold: p.Speedup, fill: ink}
		for j := range shown {
			r.cells = append(r.cells, cell{valueText(p.Values[j]), p.Speedup})
		}
		if single {
			r.cells = append(r.cells, cell{bold: p.Speedup})
			if faster := p.Without(m.stacks[0]); faster > 0 && p.Values[0] > 0 {
				r.cells[len(r.cells)-1].s = valueText(faster)
			}
		}
		t.rows = append(t.rows, r)
	}
	if len(shown) > 0 {
		t.rows = append(t.rows, sum)
	}
	t.measure()
	return t
}

func (p stackPart) swatch(x, baseline float64) []shape {
	r := swatchRect(x, baseline)
	r.fill, r.border = rgb(p.fill), true
	if slices.ContainsFunc(p.Values, func(v float64) bool { return v < 0 }) {
		return []shape{r, hatch(r, 1, rgb(hatchColor(p.fill)))}
	}
	return []shape{r}
}
