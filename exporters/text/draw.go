package text

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/chart"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// This file draws a bottle. Each box starts on its own line, so that its label stands beside it and
// a gap above shows where it ends. Its height is proportional to its share, to an eighth of a line,
// and its width to its parallelism, to half a column:
//
//	        │         ┄┄┄┄┄┄ idle         500 ms   9%
//	      ▗▄▄▄▖
//	      ▐███▌ ┄┄┄┄┄┄┄┄┄┄┄┄ main.main     1.5 s  27%
//	▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂
//	█████████████████        main.worker     3 s  55%
//	┌───┬───┬───┬───┐
//	4   2   0   2   4
//
// The stack is taller than the wall time because of the gaps, but no box is too tall by more than
// half an eighth of a line. The exception is a box that is too low to see, which gets an eighth.

// plotRows is the height of the wall time in lines.
const plotRows = 16

// plot is the geometry of a bottle. Columns count from the left of the bottle.
type plot struct {
	style
	columns int           // odd: the middle column is that of 0
	step    float64       // parallelism between ticks
	perTick int           // columns between ticks
	wall    time.Duration // height of plotRows lines
}

// drawBottle draws the boxes with their labels, and the axis below them.
func drawBottle(m *model, width int) string {
	if len(m.rows) == 0 || m.graph.Wall <= 0 {
		return ""
	}
	label := newLabels(m)
	p := newPlot(m, min(width*11/20, max(width*2/5, width-len(gutter)-label.width()), maxColumns))
	label.name -= max(0, label.width()-(width-p.columns-len(gutter))) // longer names are truncated
	var lines []string
	if idle := m.graph.Idle; idle > 0 {
		lines = append(lines, p.column(idle, label.text("idle", idle, ""))...)
	}
	for i := len(m.rows) - 1; i >= 0; i-- {
		r := &m.rows[i]
		if r.box.Share > 0 {
			lines = append(lines, p.box(r, label.text(r.name, r.box.Share, r.attribute()))...)
		}
	}
	caption := "parallelism"
	if m.graph.Offered {
		caption = "offered parallelism (running + runnable)"
	}
	lines = append(lines, p.axis(caption)...)
	return strings.Join(lines, "\n") + "\n"
}

// gutter separates the bottle and the labels.
const gutter = "   "

// maxColumns limits the width of the bottle on wide terminals.
const maxColumns = 81

func newPlot(m *model, room int) *plot {
	p := &plot{style: m.style, wall: m.graph.Wall}
	most := 1.0
	for i := range m.rows {
		most = max(most, width(&m.rows[i].box))
	}
	half := (room - 1) / 2
	p.step = max(0.5, chart.NiceStep(most/float64(half/6))) // 6 columns between the numbers are comfortable
	if p.step > most {
		p.step = chart.NiceStep(max(0.6, most/float64(half/3))) // at least one number
	}
	if last := p.step * math.Ceil(most/p.step-1e-9); most >= 0.8*last {
		most = last // end the axis with a number if that wastes little
	}
	p.perTick = int(float64(half) * p.step / most)
	p.columns = (p.halves(most)+1)/2*2 + 1
	return p
}

// halves returns a parallelism in half columns on each side of 0.
func (p *plot) halves(parallelism float64) int {
	return max(1, int(math.Round(parallelism/p.step*float64(2*p.perTick))))
}

// eighths returns the height of a time in eighths of a line, at least one.
func (p *plot) eighths(d time.Duration) int {
	return max(1, int(math.Round(min(1, float64(d)/float64(p.wall))*plotRows*8)))
}

// box draws a box, top line first, with the label beside its middle.
func (p *plot) box(r *row, label string) []string {
	n := p.eighths(r.box.Share)
	if n%8 == 0 {
		n-- // leave a gap above
	}
	rows, top := (n+7)/8, n%8
	halves := p.halves(width(&r.box))
	lines := make([]string, rows)
	for i := range lines {
		cells := p.cells(halves, 8)
		if i == 0 {
			cells = p.cells(halves, top)
		}
		lines[i] = p.beside(cells, r.color, label, i == rows/2)
	}
	return lines
}

// column draws the idle time, which has no width because nothing ran.
func (p *plot) column(d time.Duration, label string) []string {
	rows := (p.eighths(d) + 4) / 8
	lines := make([]string, max(1, rows))
	for i := range lines {
		lines[i] = p.beside(spaces(p.columns/2)+"│", dim, label, i == len(lines)/2)
	}
	return lines
}

// cells returns one line of a box that is the given number of half columns wide on each side of 0,
// filled from below to the given eighths.
func (p *plot) cells(halves, eighths int) string {
	full := (halves - 1) | 1 // whole columns: the one of 0 has half a column on each side
	blocks := strings.Repeat(string([]rune(" ▁▂▃▄▅▆▇█")[eighths]), full)
	indent := p.columns/2 - full/2
	switch {
	case halves%2 == 1 || eighths < 3: // no half columns, or too low for half blocks
		return spaces(indent) + blocks
	case eighths < 6:
		return spaces(indent-1) + "▗" + blocks + "▖"
	default:
		return spaces(indent-1) + "▐" + blocks + "▌"
	}
}

// beside paints a line of a box and adds the label, with dots that lead to it.
func (p *plot) beside(cells, color, label string, labelled bool) string {
	drawn := strings.TrimLeft(cells, " ")
	line := cells[:len(cells)-len(drawn)] + p.paint(color, drawn)
	if !labelled {
		return line
	}
	gap := p.columns - columns(cells) + len(gutter)
	dots := strings.Repeat("┄", max(0, gap-2))
	if gap < 6 {
		dots = spaces(gap - 2)
	}
	return line + " " + p.paint(dim, dots) + " " + label
}

// axis draws the axis with its numbers, which increase from 0 to both sides, and a caption.
func (p *plot) axis(caption string) []string {
	middle := p.columns / 2
	line := []rune(strings.Repeat("─", p.columns))
	tick := []rune("┬")[0]
	numbers := []rune(spaces(p.columns + len(gutter)))
	ticks := middle / p.perTick
	for i := -ticks; i <= ticks; i++ {
		at := middle + i*p.perTick
		line[at] = tick
		number := strconv.FormatFloat(math.Abs(float64(i)*p.step), 'f', -1, 64)
		from := max(0, at-(len(number)-1)/2)
		copy(numbers[from:], []rune(number))
	}
	if ticks*p.perTick == middle {
		line[0], line[2*middle] = '┌', '┐'
	}
	return []string{
		p.paint(dim, string(line)),
		strings.TrimRight(string(numbers), " "),
		spaces((p.columns-len(caption))/2) + caption,
	}
}

// labels aligns the labels of boxes: name, share, percent.
type labels struct {
	m           *model
	name, share int // widths
}

func newLabels(m *model) *labels {
	l := &labels{m: m, name: columns("idle"), share: columns(format.Duration(m.graph.Idle))}
	for i := range m.rows {
		l.name = max(l.name, columns(m.rows[i].name))
		l.share = max(l.share, columns(format.Duration(m.rows[i].box.Share)))
	}
	return l
}

func (l *labels) width() int { return l.name + len("  ") + l.share + len(" 100%") }

func (l *labels) text(name string, share time.Duration, attribute string) string {
	name = left(fit(name, l.name), l.name)
	return l.m.style.paint(attribute, name) + "  " + right(format.Duration(share), l.share) + " " + right(l.m.percent(share), 4)
}
