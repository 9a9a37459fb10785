package picture

import (
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// diffLegend is the table of two graphs: a row for each group with its shares in both and the
// difference.
type diffLegend struct {
	rows   [][]string
	names  float64 // widths
	cells  [3]float64
	width  float64
	height float64
}

var diffColumns = []string{"group", "before", "after", "change"}

func (m *model) diffLegend() *diffLegend {
	l := &diffLegend{}
	for i := len(m.entries) - 1; i >= 0; i-- {
		e := m.entries[i]
		l.add(shorten(e.label, tableSize, e.neck, 240), m.shareOf(0, e), m.shareOf(1, e))
	}
	l.add("idle", m.windows[0].Idle, m.windows[1].Idle)
	l.add("all", m.windows[0].Wall, m.windows[1].Wall)
	for _, row := range append(l.rows, diffColumns) {
		l.names = max(l.names, room(row[0], tableSize, true))
		for i, cell := range row[1:] {
			l.cells[i] = max(l.cells[i], room(cell, tableSize, true))
		}
	}
	l.width = swatchSide + 8 + l.names
	for _, w := range l.cells {
		l.width += stackColumnGap + w
	}
	l.height = stackRow*float64(len(l.rows)+1) + 6
	return l
}

func (l *diffLegend) add(name string, before, after time.Duration) {
	change := format.Duration(after - before)
	if after > before {
		change = "+" + change
	}
	l.rows = append(l.rows, []string{name, format.Duration(before), format.Duration(after), change})
}

// shareOf is the share of a group in one of the two graphs.
func (m *model) shareOf(i int, e *entry) time.Duration {
	for j := range m.windows[i].Boxes {
		if b := &m.windows[i].Boxes[j]; keyOf(b) == keyOf(&e.box) {
			return b.Share
		}
	}
	return 0
}

func (l *diffLegend) draw(m *model, x, y float64) (out []shape) {
	line := func(row []string, y float64, bold bool, r role) {
		out = append(out, legendRow(row, l.names, l.cells[:], x, y, bold, r)...)
	}
	y += stackRow * 0.7
	line(diffColumns, y, false, muted)
	for i, row := range l.rows {
		y += stackRow
		if i >= len(m.entries) {
			line(row, y, false, ink)
			continue
		}
		e := m.entries[len(m.entries)-1-i]
		swatch := rect{x: x, y: y - swatchSide + 2, w: swatchSide, h: swatchSide, fill: rgb(e.fill), border: true}
		out = append(out, swatch)
		if e.box.Kind != bottle.Application {
			out = append(out, hatch(swatch, kindHatch[e.box.Kind], rgb(e.hatch)))
		}
		line(row, y, e.neck, ink)
	}
	return out
}
