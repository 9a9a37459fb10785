package picture

import (
	"time"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// tasksRow is the height of a row of the table.
const tasksRow = 24.0

// table is the legend: a row for each curve with its numbers. Columns that have no room are left
// out, from the least important.
func (m *tasksModel) table(x, y float64) (out []shape, bottom float64) {
	if len(m.classes) == 0 {
		return nil, y - 8
	}
	names, columns := m.columns(m.opt.Width - x - margin)
	y += tasksRow * 0.2
	right := x + swatchSide + 8 + names
	for _, c := range columns {
		right += stackColumnGap + c.width
		out = append(out, text{x: right, y: y, s: c.head, size: tableSize, anchor: end, fill: themed(muted)})
	}
	for i := range m.classes {
		c := &m.classes[i]
		y += tasksRow
		g := &group{title: c.title}
		g.shapes = append(g.shapes, rect{x: x, y: y - 9, w: swatchSide, h: 6, fill: rgb(c.fill)})
		g.shapes = append(g.shapes, text{x: x + swatchSide + 8, y: y, s: shorten(c.label, tableSize, false, names), size: tableSize, fill: themed(ink)})
		right := x + swatchSide + 8 + names
		for _, column := range columns {
			right += stackColumnGap + column.width
			if s := column.cells[i]; s != "" {
				g.shapes = append(g.shapes, text{x: right, y: y, s: s, size: tableSize, bold: column.strong && badly(c), anchor: end, fill: themed(ink)})
			}
		}
		out = append(out, g)
	}
	return out, y + 12
}

// badly reports whether the diagnosis asks for a change.
func badly(c *taskClass) bool {
	return c.Diagnosis != granularity.OK && c.Diagnosis.OrUnknown() != granularity.Unknown
}

// tasksColumn is a column of the table.
type tasksColumn struct {
	head   string
	cells  []string
	width  float64
	rank   int // the largest are left out first
	strong bool
}

// columns are those for which there is room, and the width of the names.
func (m *tasksModel) columns(width float64) (names float64, out []tasksColumn) {
	all := []tasksColumn{{head: "tasks", rank: 2}, {head: "median", rank: 1}, {head: "p99", rank: 4}, {head: "of all", rank: 3}, {head: "diagnosis", strong: true}}
	longest := 0.0
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
		for j, s := range []string{format.Quantity(float64(c.Tasks)), m.amount(c.hist.Quantile(.5)), m.amount(c.hist.Quantile(.99)), share, diagnosis} {
			all[j].cells = append(all[j].cells, s)
		}
		longest = max(longest, room(c.label, tableSize, false))
	}
	for i := range all {
		all[i].width = room(all[i].head, tableSize, true)
		for _, s := range all[i].cells {
			all[i].width = max(all[i].width, room(s, tableSize, true))
		}
	}
	const leastName = 140.0
	for limit := len(all); ; limit-- {
		left := width - swatchSide - 8
		out = nil
		for _, c := range all {
			if c.rank < limit {
				out = append(out, c)
				left -= stackColumnGap + c.width
			}
		}
		if left >= min(longest, leastName) || limit == 0 {
			return min(longest, left), out
		}
	}
}

// wholeParts is a whole for format.Percent, which takes durations.
const wholeParts = 1_000_000_000

// part is a fraction of wholeParts.
func part(fraction float64) time.Duration { return time.Duration(fraction * wholeParts) }
