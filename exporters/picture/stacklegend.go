package picture

import (
	"math"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// stackLegend is the table beside the bars: a row for each part in the order of the bars, from the
// top, with its values, and for a single bar what the speed-up would be without it.
type stackLegend struct {
	header  []string
	rows    [][]string // name first, then numbers
	names   float64    // widths
	numbers []float64
	width   float64
	height  float64
}

// Sizes of the legend.
const (
	stackRow       = 24.0
	stackColumnGap = 14.0
	mostColumns    = 6 // of numbers; more bars have none
)

func (m *stackModel) legend() *stackLegend {
	l := &stackLegend{header: []string{""}}
	single := len(m.stacks) == 1
	columns := len(m.stacks)
	if columns > mostColumns {
		columns = 0
	}
	for _, s := range m.stacks[:columns] {
		if single {
			l.header = append(l.header, "part", "without it")
		} else {
			l.header = append(l.header, shorten(barLabel(s), tableSize, false, 90))
		}
	}
	for i := len(m.parts) - 1; i >= 0; i-- {
		p := m.parts[i]
		row := []string{shorten(p.name, tableSize, p.bold, 220)}
		for j := range columns {
			row = append(row, valueText(p.values[j]))
		}
		if single {
			row = append(row, m.without(p))
		}
		l.rows = append(l.rows, row)
	}
	if columns > 0 {
		sum := []string{"N"}
		for _, s := range m.stacks[:columns] {
			sum = append(sum, format.Count(s.N))
		}
		if single {
			sum = append(sum, "")
		}
		l.rows = append(l.rows, sum)
	}
	l.numbers = make([]float64, len(l.header)-1)
	for _, row := range append(l.rows, l.header) {
		l.names = max(l.names, room(row[0], tableSize, true))
		for i := range l.numbers {
			l.numbers[i] = max(l.numbers[i], room(row[i+1], tableSize, true))
		}
	}
	l.width = swatchSide + 8 + l.names
	for _, w := range l.numbers {
		l.width += stackColumnGap + w
	}
	l.height = stackRow*float64(len(l.rows)+1) + 6
	return l
}

// without is the speed-up of the single bar if a part were zero.
func (m *stackModel) without(p stackPart) string {
	if p.what < 0 || p.values[0] <= 0 {
		return ""
	}
	if v := m.stacks[0].WhatIf(speedup.Component(p.what)); !math.IsInf(v, 0) {
		return valueText(v)
	}
	return ""
}

func (l *stackLegend) draw(m *stackModel, x, y float64) (out []shape) {
	line := func(row []string, y float64, bold bool, r role) {
		out = append(out, legendRow(row, l.names, l.numbers, x, y, bold, r)...)
	}
	y += stackRow * 0.7
	if len(l.numbers) > 0 {
		line(l.header, y, false, muted)
	}
	for i, row := range l.rows {
		y += stackRow
		if i == len(m.parts) {
			rule := y - stackRow*0.66
			out = append(out, lines{segments: []segment{{x, rule, x + l.width, rule}}, stroke: themed(axis), width: 1})
			line(row, y, false, ink)
			break
		}
		p := m.parts[len(m.parts)-1-i]
		swatch := rect{x: x, y: y - swatchSide + 2, w: swatchSide, h: swatchSide, fill: rgb(p.fill), border: true}
		out = append(out, swatch)
		for _, v := range p.values {
			if v < 0 {
				out = append(out, hatch(swatch, 1, rgb(hatchColor(p.fill))))
				break
			}
		}
		line(row, y, p.bold, ink)
	}
	return out
}

// legendRow draws a name, beside the place for its colour, and numbers in columns of the given
// widths.
func legendRow(row []string, names float64, numbers []float64, x, y float64, bold bool, r role) (out []shape) {
	at := x + swatchSide + 8
	out = append(out, text{x: at, y: y, s: row[0], size: tableSize, bold: bold, fill: themed(r)})
	at += names
	for i, w := range numbers {
		at += stackColumnGap + w
		out = append(out, text{x: at, y: y, s: row[i+1], size: tableSize, bold: bold, anchor: end, fill: themed(r)})
	}
	return out
}
