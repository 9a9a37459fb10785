package picture

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// DrawContention lays out the waits of goroutines for each other. The waiting groups of goroutines
// are on the left and the owners on the right, as tall as their time. Between them are flows in the
// color of the owner. A group that waits for itself is on both sides. Hand-off, waits for the
// network or a time, and unattributed time are on the right, too, in gray. Options.Top is the number
// of groups on either side; the rest is folded into one. 0 means those with at least a hundredth of
// the time, but at most 15.
func DrawContention(p *contention.Profile, opt Options) (*Drawing, error) {
	if p == nil {
		return nil, errNothing
	}
	m, err := newFlowModel(p, opt)
	if err != nil {
		return nil, fmt.Errorf("picture: %w", err)
	}
	return m.draw(), nil
}

// flowModel is the content of a picture of contention, before layout.
type flowModel struct {
	opt     Options
	p       *contention.Profile
	whole   time.Duration // total wait time
	short   time.Duration // part of whole in flows that are too short to be drawn
	waiters []*flowNode   // top first
	owners  []*flowNode
	flows   []*flow
}

// flowNode is a group of goroutines on one side.
type flowNode struct {
	name, full string
	time       time.Duration
	fill       color.RGBA
	last       bool // stays at the bottom: not a group, or several
	hatched    bool
	y, h       float64
	next       float64 // start of the next flow during layout
}

// flow is the time that one group waited for another.
type flow struct {
	from, to    *flowNode
	time        time.Duration
	contentions int64
	did         contention.Wait // of the owners during the waits
}

// mostGroups is the default maximum number of groups on either side.
const mostGroups = 15

func newFlowModel(p *contention.Profile, opt Options) (*flowModel, error) {
	p = withOutside(p)
	byWaiter, err := p.Aggregate(contention.ByWaiterGroup, contention.ByOwnerGroup)
	if err != nil {
		return nil, err
	}
	byOwner, err := p.Aggregate(contention.ByOwnerGroup)
	if err != nil {
		return nil, err
	}
	m := &flowModel{opt: opt, p: p, whole: byWaiter.Waited}
	names := shortGroups(byWaiter, byOwner)
	left, right := m.fold(byWaiter, names), m.fold(byOwner, names)
	flows := map[[2]*flowNode]*flow{}
	for _, w := range byWaiter.Children {
		for _, o := range w.Children {
			if o.Waited == 0 {
				continue
			}
			k := [2]*flowNode{left[w.Key], right[o.Key]}
			f := flows[k]
			if f == nil {
				f = &flow{from: k[0], to: k[1]}
				flows[k] = f
				m.flows = append(m.flows, f)
			}
			f.time += o.Waited
			f.contentions += o.Contentions
			f.did.Add(&o.Wait)
		}
	}
	m.flows = slices.DeleteFunc(m.flows, func(f *flow) bool {
		if f.time > 0 && f.time >= opt.Min {
			return false
		}
		m.short += f.time
		return true
	})
	for _, f := range m.flows {
		f.from.time += f.time
		f.to.time += f.time
	}
	m.waiters, m.owners = present(left), present(right)
	for i, n := range m.waiters {
		if !n.last {
			n.fill = coolColors[i%len(coolColors)]
		}
	}
	for i, n := range m.owners {
		if !n.last {
			n.fill = warmColors[i%len(warmColors)]
		}
	}
	return m, nil
}

// withOutside returns a profile whose waits for the network and for a time have an owner.
func withOutside(p *contention.Profile) *contention.Profile {
	out := *p
	out.Waits, out.Pairs = slices.Clone(p.Waits), slices.Clone(p.Pairs)
	for i := range out.Waits {
		if w := &out.Waits[i]; w.Kind == contention.NetworkKind || w.Kind == contention.SleepKind {
			pair := *w
			pair.Owner, pair.Blamed = contention.Party{Group: "[" + w.Kind + "]"}, w.Unattributed
			out.Pairs, w.Unattributed = append(out.Pairs, pair), 0
		}
	}
	return &out
}

// shortGroups shortens the names of groups while they stay distinct.
func shortGroups(trees ...*contention.Tree) map[string]string {
	short := map[string]string{}
	for _, t := range trees {
		for _, c := range t.Children {
			short[c.Key] = ""
		}
	}
	names := slices.Sorted(maps.Keys(short))
	for i, s := range format.Funcs(names) {
		short[names[i]] = label(s)
	}
	return short
}

// fold assigns a node to each group of a side: its own, or the one of the others.
func (m *flowModel) fold(t *contention.Tree, names map[string]string) map[string]*flowNode {
	nodes := map[string]*flowNode{}
	top, least := m.opt.Top, time.Duration(0)
	switch {
	case top < 0:
		top = len(t.Children)
	case top == 0:
		top, least = mostGroups, m.whole/100
	}
	var folded []string
	single := 0
	for _, c := range t.Children {
		switch {
		case c.Waited == 0: // ready for a processor, after a wait
		case strings.HasPrefix(c.Key, "["): // not a group
			fill := tracerColors[0]
			if c.Key == contention.HandOffKey {
				fill = runtimeColors[0]
			}
			nodes[c.Key] = &flowNode{name: strings.Trim(c.Key, "[]"), full: c.Key, last: true, hatched: true, fill: fill}
		case single < top && c.Waited >= least:
			single++
			nodes[c.Key] = &flowNode{name: names[c.Key], full: format.Clean(c.Key)}
		default:
			folded = append(folded, c.Key)
		}
	}
	others := &flowNode{name: format.Plural(len(folded), "other", "others"), last: true, fill: othersColor}
	others.full = others.name
	if len(folded) == 1 { // takes no more room
		others = &flowNode{name: names[folded[0]], full: format.Clean(folded[0])}
	}
	for _, key := range folded {
		nodes[key] = others
	}
	return nodes
}

// present lists the nodes with flows, largest first; nodes that are not a single group come last.
func present(nodes map[string]*flowNode) []*flowNode {
	out := slices.Collect(maps.Values(nodes))
	slices.SortFunc(out, func(a, b *flowNode) int {
		switch {
		case a.last != b.last && a.last:
			return 1
		case a.last != b.last:
			return -1
		}
		return cmp.Or(cmp.Compare(b.time, a.time), strings.Compare(a.full, b.full))
	})
	return slices.DeleteFunc(slices.Compact(out), func(n *flowNode) bool { return n.time == 0 })
}

// sentence returns the total wait time, and the main owner.
func (m *flowModel) sentence() string {
	if m.whole == 0 {
		return "no goroutine waited"
	}
	s := format.Duration(m.whole) + " " + m.waited()
	if d := m.p.Duration; d > 0 {
		s += " in " + format.Duration(d)
	}
	var most *flowNode
	for _, n := range m.owners {
		if !n.last && (most == nil || n.time > most.time) {
			most = n
		}
	}
	if most != nil {
		s += fmt.Sprintf("; most for %s: %s (%s)", clipName(most.name), format.Duration(most.time), format.Percent(most.time, m.whole))
	}
	return s
}

// waited returns the verb for the time in which groups waited: in a trace, they were blocked.
func (m *flowModel) waited() string {
	if m.p.HasReady() {
		return "blocked"
	}
	return "waited"
}

// notes returns what the picture omits, and the warnings of the profile.
func (m *flowModel) notes() (out []string) {
	if m.short > 0 {
		out = append(out, fmt.Sprintf("Not drawn: %s in flows that are shorter than %s.", format.Duration(m.short), format.Duration(m.opt.Min)))
	}
	return append(out, warningNotes(m.p.Warnings)...)
}

// sentenceOf describes a flow in words.
func (m *flowModel) sentenceOf(f *flow) string {
	verb := "waited"
	if m.p.HasReady() {
		verb = "was blocked"
	}
	s := fmt.Sprintf("%s %s %s (%s) for %s", f.from.full, verb, format.Duration(f.time), format.Percent(f.time, m.whole), f.to.full)
	if f.contentions > 0 {
		s += ", in " + format.Plural(f.contentions, "contention", "contentions")
	}
	if of := f.did.Blamed; f.did.Unknown() < of {
		s += fmt.Sprintf("; during the waits it ran %s, was ready to run %s, was itself blocked %s",
			format.Percent(f.did.Running, of), format.Percent(f.did.Runnable, of), format.Percent(f.did.BlockedTotal(), of))
	}
	return s
}

// describe describes the picture in words.
func (m *flowModel) describe() string {
	var b strings.Builder
	b.WriteString("Groups of goroutines that waited, on the left, and those that are to blame for it, on the right, as tall as the time. " + m.sentence() + ".")
	flows := slices.Clone(m.flows)
	slices.SortStableFunc(flows, func(a, b *flow) int { return cmp.Compare(b.time, a.time) })
	for _, f := range flows[:min(len(flows), 20)] {
		b.WriteString(" " + clipName(f.from.name) + " for " + clipName(f.to.name) + ": " + format.Duration(f.time) + ".")
	}
	return b.String()
}

// The layout has two layers, waiters and owners. The height of a node is its time, but at least a
// line. Groups are sorted by time, largest at the top.

// Sizes of pictures of flows.
const (
	flowHeight = 380.0 // of the whole time
	flowBar    = 16.0
	flowLine   = 21.0 // minimum height of a node
	flowGap    = 7.0
	flowSpan   = 330.0 // between the bars
	flowName   = 300.0 // maximum width of a name
	flowPad    = 8.0
	leastFlow  = 0.6 // thinner ones would be invisible
)

// flowColumn holds the widths of the texts of a side.
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

// ownersHeading is the heading of the right side; the left one has the verb for the wait.
const ownersHeading = "to blame"

// draw lays out the picture.
func (m *flowModel) draw() *Drawing {
	left, right := m.column(m.waiters, m.waited()), m.column(m.owners, ownersHeading)
	fixed := 2*margin + left.width() + right.width() + 2*flowBar
	width := max(640, fixed+flowSpan)
	d, y := newPage(m.opt, "Who waited for whom", m.sentence(), m.describe(), margin, width)
	y += 28
	x1 := margin + left.width()
	x2 := x1 + flowBar + width - fixed
	if len(m.flows) > 0 {
		d.add(text{x: x1 + flowBar, y: y - 8, s: m.waited(), size: axisSize, anchor: end, fill: themed(muted)},
			text{x: x2, y: y - 8, s: ownersHeading, size: axisSize, fill: themed(muted)})
		y = m.place(y)
		d.add(m.ribbons(x1+flowBar, x2)...)
		for _, n := range m.waiters {
			d.add(m.node(n, x1, x1-flowPad, end, left))
		}
		for _, n := range m.owners {
			d.add(m.node(n, x2, x2+flowBar+flowPad, start, right))
		}
	}
	return d.finish(m.notes(), margin, y)
}

// place stacks the nodes of both sides from y down and returns the end of the taller side. The
// other side is spread over the same height; otherwise all flows would lead upwards.
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

// ribbons lays out the flows. Flows of a node are sorted by their other ends, so that they do not
// cross.
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
	// Small ones stay on top.
	slices.SortStableFunc(flows, func(a, b *flow) int { return cmp.Compare(b.time, a.time) })
	for _, f := range flows {
		r := ribbon{x1: x1, top1: from[f], x2: x2, top2: to[f], h: max(leastFlow, m.thickness(f)), fill: f.to.fill}
		out = append(out, &group{title: m.sentenceOf(f), shapes: []shape{r}})
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
	// Numbers are aligned at their right ends on both sides.
	timeAt, percentAt, nameAt := x+c.time, x+c.time+flowPad+c.part, x+c.time+c.part+2*flowPad
	if a == end {
		timeAt, percentAt, nameAt = x-c.part-flowPad, x, x-c.part-c.time-2*flowPad
	}
	g.shapes = append(g.shapes, text{x: timeAt, y: y, s: format.Duration(n.time), size: tableSize, anchor: end, fill: themed(ink)},
		text{x: percentAt, y: y, s: format.Percent(n.time, m.whole), size: tableSize, anchor: end, fill: themed(muted)})
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
