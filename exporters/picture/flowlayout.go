package picture

import (
	"cmp"
	"slices"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// The layout has two layers, waiters and owners. A node is as tall as its time, but has
// at least a line of room. Groups stand in the order of their time, the largest at the top, unless
// another order has less crossing: then each is put where its flows come from, on average
// (barycentres).

// Lengths of a picture of flows.
const (
	flowHeight = 380.0 // of the whole time
	flowBar    = 16.0
	flowLine   = 21.0 // the least room of a node
	flowGap    = 7.0
	flowSpan   = 330.0 // between the bars
	leastSpan  = 80.0
	flowName   = 300.0 // most room of a name
	flowPad    = 8.0
	leastFlow  = 0.6 // thinner could not be seen
)

// order reduces crossings.
func (m *flowModel) order() {
	const most = 3000 // flows for which it is worth the time
	if len(m.flows) > most {
		return
	}
	best, waiters, owners := m.crossings(), slices.Clone(m.waiters), slices.Clone(m.owners)
	for range 4 {
		m.sweep(m.owners, m.waiters, func(f *flow) (*flowNode, *flowNode) { return f.to, f.from })
		m.sweep(m.waiters, m.owners, func(f *flow) (*flowNode, *flowNode) { return f.from, f.to })
		// Sorted by time is easier to read: a little less crossing is not worth it.
		if c := m.crossings(); c < 0.7*best {
			best, waiters, owners = c, slices.Clone(m.waiters), slices.Clone(m.owners)
		}
	}
	m.waiters, m.owners = waiters, owners
}

// sweep sorts the nodes of a side by the mean place of those at the other ends of their flows.
func (m *flowModel) sweep(side, other []*flowNode, ends func(*flow) (here, there *flowNode)) {
	place := map[*flowNode]float64{}
	for i, n := range other {
		place[n] = float64(i)
	}
	sum, weight := map[*flowNode]float64{}, map[*flowNode]float64{}
	for _, f := range m.flows {
		here, there := ends(f)
		sum[here] += place[there] * float64(f.time)
		weight[here] += float64(f.time)
	}
	slices.SortStableFunc(side, func(a, b *flowNode) int {
		return cmp.Or(compareBool(a.last, b.last), cmp.Compare(sum[a]/weight[a], sum[b]/weight[b]))
	})
}

// crossings sums, over all pairs of flows that cross, the time of the smaller one.
func (m *flowModel) crossings() (sum float64) {
	place := map[*flowNode]int{}
	for i, n := range m.waiters {
		place[n] = i
	}
	for i, n := range m.owners {
		place[n] = i
	}
	type ends struct{ from, to int }
	at := make([]ends, len(m.flows))
	for i, f := range m.flows {
		at[i] = ends{place[f.from], place[f.to]}
	}
	for i, a := range at {
		for j, b := range at[:i] {
			if (a.from-b.from)*(a.to-b.to) < 0 {
				sum += float64(min(m.flows[i].time, m.flows[j].time))
			}
		}
	}
	return sum
}

// flowColumn is how wide the texts of a side are.
type flowColumn struct{ name, time, part float64 }

func (c flowColumn) width() float64 { return c.name + c.time + c.part + 3*flowPad }

func (m *flowModel) column(nodes []*flowNode, heading string) flowColumn {
	c := flowColumn{name: room(heading, tableSize, false)}
	for _, n := range nodes {
		c.name = max(c.name, room(n.name, tableSize, true))
		c.time = max(c.time, room(format.Duration(n.time), tableSize, false))
		c.part = max(c.part, room(format.Percent(n.time, m.whole), tableSize, false))
	}
	c.name = min(c.name, flowName)
	return c
}

// ownersHeading stands above the right side; above the left one stands what the waiters did.
const ownersHeading = "to blame"

// layout places everything.
func (m *flowModel) layout() *scene {
	left, right := m.column(m.waiters, m.waited()), m.column(m.owners, ownersHeading)
	fixed := func() float64 { return 2*margin + left.width() + right.width() + 2*flowBar }
	width := m.opt.Width
	if width == 0 {
		width = max(640, fixed()+flowSpan)
	}
	if fixed()+leastSpan > width { // the parts can be seen, and are in the tooltips
		left.part, right.part = -flowPad, -flowPad
	}
	if over := fixed() + leastSpan - width; over > 0 { // names give way
		left.name = max(30, left.name-over/2)
		right.name = max(30, right.name-over/2)
	}
	span := max(40, width-fixed())
	s := &scene{width: width, title: m.title(), desc: m.describe()}
	head, y := heading(m.title(), []string{m.sentence(), format.Clean(m.opt.Subtitle)}, margin, width)
	s.shapes = head
	y += 28
	x1 := margin + left.width()
	x2 := x1 + flowBar + span
	if len(m.flows) > 0 {
		s.shapes = append(s.shapes,
			text{x: x1 + flowBar, y: y - 8, s: m.waited(), size: axisSize, anchor: end, fill: themed(muted)},
			text{x: x2, y: y - 8, s: ownersHeading, size: axisSize, fill: themed(muted)})
		y = m.place(y)
		s.shapes = append(s.shapes, m.ribbons(x1+flowBar, x2)...)
		for _, n := range m.waiters {
			s.shapes = append(s.shapes, m.node(n, x1, x1-flowPad, end, left))
		}
		for _, n := range m.owners {
			s.shapes = append(s.shapes, m.node(n, x2, x2+flowBar+flowPad, start, right))
		}
	}
	notes, bottom := footnotes(m.notes(), margin, y, width)
	s.shapes = append(s.shapes, notes...)
	s.height = bottom + margin
	return s
}

// place stacks the nodes of both sides from the top y down and returns where the taller one
// ends. The other is spread over the same height, or flows would all lead upwards.
func (m *flowModel) place(y float64) float64 {
	sides := [][]*flowNode{m.waiters, m.owners}
	var heights [2]float64
	for i, side := range sides {
		for _, n := range side {
			n.h = max(1.5, flowHeight*float64(n.time)/float64(m.whole))
			heights[i] += max(n.h, flowLine) + flowGap
		}
	}
	tallest := max(heights[0], heights[1])
	for i, side := range sides {
		spread := (tallest - heights[i]) / float64(len(side)+1)
		at := y + spread
		for _, n := range side {
			slot := max(n.h, flowLine)
			n.y = at + (slot-n.h)/2
			n.next = n.y
			at += slot + flowGap + spread
		}
	}
	return y + tallest
}

// ribbons lays the flows. On each side they leave a node in the order of where they go, so that
// those of one node do not cross.
func (m *flowModel) ribbons(x1, x2 float64) (out []shape) {
	flows := slices.Clone(m.flows)
	from := map[*flow]float64{}
	slices.SortStableFunc(flows, func(a, b *flow) int { return cmp.Compare(a.to.y, b.to.y) })
	for _, f := range flows {
		from[f] = f.from.next
		f.from.next += m.thickness(f)
	}
	slices.SortStableFunc(flows, func(a, b *flow) int { return cmp.Compare(a.from.y, b.from.y) })
	to := map[*flow]float64{}
	for _, f := range flows {
		to[f] = f.to.next
		f.to.next += m.thickness(f)
	}
	slices.SortStableFunc(flows, func(a, b *flow) int { return cmp.Compare(b.time, a.time) }) // small ones stay on top
	for _, f := range flows {
		r := ribbon{x1: x1, top1: from[f], x2: x2, top2: to[f], h: max(leastFlow, m.thickness(f)), fill: f.to.fill}
		out = append(out, &group{title: m.say(f), shapes: []shape{r}})
	}
	return out
}

func (m *flowModel) thickness(f *flow) float64 {
	return flowHeight * float64(f.time) / float64(m.whole)
}

// node draws a group: its bar, and its texts on the outside, the numbers next to the bar.
func (m *flowModel) node(n *flowNode, bar, x float64, a anchor, c flowColumn) shape {
	box := rect{x: bar, y: n.y, w: flowBar, h: n.h, fill: rgb(n.fill)}
	g := &group{title: n.full + ": " + format.Duration(n.time) + " (" + format.Percent(n.time, m.whole) + ")", shapes: []shape{box}}
	if n.hatched && n.h > 3 {
		g.shapes = append(g.shapes, hatch(box, -1, rgb(hatchColor(n.fill))))
	}
	y := n.y + n.h/2 + 0.35*tableSize
	dir := 1.0
	if a == end {
		dir = -1
	}
	// Numbers are aligned at their right ends on both sides.
	percentAt, timeAt := x, x-c.part-flowPad
	nameAt := timeAt - c.time - flowPad
	if dir > 0 {
		timeAt = x + c.time
		percentAt = timeAt + flowPad + c.part
		nameAt = percentAt + flowPad
	}
	g.shapes = append(g.shapes, text{x: timeAt, y: y, s: format.Duration(n.time), size: tableSize, anchor: end, fill: themed(ink)})
	if c.part > 0 {
		g.shapes = append(g.shapes, text{x: percentAt, y: y, s: format.Percent(n.time, m.whole), size: tableSize, anchor: end, fill: themed(muted)})
	}
	look := text{x: nameAt, y: y, size: tableSize, anchor: a, fill: themed(ink)}
	if n.last {
		look.fill = themed(muted)
	} else if float64(n.time) >= 0.1*float64(m.whole) {
		look.bold = true
	}
	if look.s = shorten(n.name, tableSize, look.bold, c.name); look.s != "" {
		g.shapes = append(g.shapes, look)
	}
	return g
}
