package picture

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/chart"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// placedBox is a box of a graph with its position.
type placedBox struct {
	box   *bottle.Box
	entry *entry
	neck  bool
	rect  rect
}

// place stacks the boxes of a chart from the bottom of a plot. The idle time fills the rest; its
// rectangle has no width. A group that the whole graph does not have is omitted.
func (m *model) place(p plot, c oneGraph) (boxes []placedBox, idle rect) {
	sum := 0.0
	g := c.graph
	for i := range g.Boxes {
		b := &g.Boxes[i]
		e := m.byKey[chart.KeyOf(b)]
		if e == nil {
			continue
		}
		top := sum + float64(b.Share)
		r := rect{
			x: p.px(-b.Parallelism), w: p.px(b.Parallelism) - p.px(-b.Parallelism),
			y: p.py(top), h: p.py(sum) - p.py(top),
		}
		r.fill = rgb(e.fill)
		r.border = r.h >= 3 // a border would hide a thinner box
		boxes = append(boxes, placedBox{b, e, c.necks[chart.KeyOf(b)], r})
		sum = top
	}
	top := max(sum+float64(max(0, g.Idle)), sum)
	return boxes, rect{x: p.px(0), y: p.py(top), h: p.py(sum) - p.py(top)}
}

// boxes draws the boxes of a chart, with labels of the given size in those with enough room, and its
// idle time.
func (m *model) boxes(p plot, c oneGraph, label, capWidth float64) (out []shape) {
	boxes, idle := m.place(p, c)
	for _, b := range boxes {
		one := b.draw(c.graph)
		if t, ok := b.inside(label); ok {
			one.shapes = append(one.shapes, t)
		}
		out = append(out, one)
	}
	if g := c.graph; g.Idle > 0 {
		title := "idle: no goroutine ran for " + format.Duration(g.Idle) + " (" + format.Percent(g.Idle, g.Wall) + ")"
		out = append(out, &group{title: title, shapes: idleShapes(idle, capWidth)})
	}
	return out
}

// draw returns the shapes of a box, without its label.
func (b placedBox) draw(g *bottle.Graph) *group {
	out := &group{title: tooltip(b.box, g, b.neck), shapes: []shape{b.rect}}
	if slope := kindHatch[b.box.Kind]; slope != 0 && b.rect.h >= 2 {
		out.shapes = append(out.shapes, hatch(b.rect, slope, rgb(b.entry.hatch)))
	}
	return out
}

// idleShapes draws the box of width 0: a dashed line as high as a rectangle, with a cap.
func idleShapes(r rect, capWidth float64) []shape {
	return []shape{lines{segments: []segment{{r.x, r.y + r.h, r.x, r.y}}, stroke: themed(muted), width: 1.6, dash: 3},
		lines{segments: []segment{{r.x - capWidth, r.y, r.x + capWidth, r.y}}, stroke: themed(muted), width: 1.6}}
}

// tooltip returns everything that is known about a box.
func tooltip(b *bottle.Box, g *bottle.Graph, neck bool) string {
	var s strings.Builder
	s.WriteString(fullName(b.Group))
	for _, fn := range b.Starts {
		s.WriteString("\nstarted as " + fullName(fn))
	}
	fmt.Fprintf(&s, "\nshare %s (%s)\nparallelism %s", format.Duration(b.Share), format.Percent(b.Share, g.Wall), format.Parallelism(b.Parallelism))
	if !math.IsNaN(b.SelfParallelism) {
		fmt.Fprintf(&s, ", of itself %s", format.Parallelism(b.SelfParallelism))
	}
	fmt.Fprintf(&s, "\n%s %s", runningHeader(g), format.Duration(b.Running))
	if g.Capacity > 0 {
		fmt.Fprintf(&s, "\nlost %s of the capacity", format.Percent(b.Lost, g.Capacity))
	}
	if b.Runnable > 0 {
		fmt.Fprintf(&s, "\nready without a processor %s", format.Duration(b.Runnable))
	}
	for i, w := range waits(b) {
		if i == 5 {
			s.WriteString("\n…")
			break
		}
		fmt.Fprintf(&s, "\nblocked on %s %s", format.Clean(w.reason), format.Duration(w.time))
		if site := b.TopSite(w.reason); site != nil {
			fmt.Fprintf(&s, ", mostly at %s", site)
		}
	}
	if b.InC > 0 {
		fmt.Fprintf(&s, "\nin C code %s", format.Duration(b.InC))
		if site := b.TopSite(bottle.InCode); site != nil {
			fmt.Fprintf(&s, ", mostly at %s", site)
		}
	}
	if b.Goroutines > 0 {
		s.WriteString("\n" + format.Plural(b.Goroutines, "goroutine", "goroutines"))
	}
	if b.Kind != bottle.Application {
		s.WriteString(", kind " + b.Kind.String())
	}
	if neck {
		s.WriteString("\npart of the neck")
	}
	return s.String()
}

// fullName returns a name, truncated to the length of a tooltip.
func fullName(name string) string { return clip(label(name), 1000) }

// wait is a reason for being blocked, with its time.
type wait struct {
	reason string
	time   time.Duration
}

// waits returns the reasons why a box was blocked, longest first.
func waits(b *bottle.Box) []wait {
	var out []wait
	for _, reason := range slices.Sorted(maps.Keys(b.Waiting)) {
		if d := b.Waiting[reason]; d > 0 {
			out = append(out, wait{reason, d})
		}
	}
	order.Stable(out, func(a, b wait) int { return cmp.Compare(b.time, a.time) })
	return out
}

// inside returns the label of a box if it fits into the middle of the box.
func (b placedBox) inside(size float64) (text, bool) {
	r := b.rect
	if r.h < size*1.25 {
		return text{}, false
	}
	s, bold := b.entry.label, b.neck
	width := r.w - 12
	if short := shorten(s, size, bold, width); short != s {
		// Most of a name in a roomy box is better than all of it far away.
		enough := float64(len([]rune(short))) >= 0.7*float64(len([]rune(s)))
		if width < 110 || !enough && width < 150 {
			return text{}, false
		}
		s = short
	}
	return text{x: r.x + r.w/2, y: r.y + r.h/2 + 0.35*size, s: s, size: size, bold: bold, anchor: middle, fill: rgb(b.entry.ink)}, true
}

// Labels of boxes that are too thin for them stand to the right of the boxes.
//
// Boxes get narrower from the bottom to the top. So the area to the right of a box and above its
// lower edge is free: a label that has no room beside its box may move up, and no label ever needs
// to move down. Going up, each label takes the lowest position that is free and not below its box.
// Labels that touch form a cluster with one left edge and lines to their boxes. If a cluster would
// leave the plot at the top, its least important label is dropped: the legend and the tooltip still
// name that box.

// outside is a label beside a box.
type outside struct {
	s      string
	bold   bool
	weight time.Duration // the smallest is dropped first
	edge   float64       // right edge of the box
	mid    float64       // middle of the box
	lowest float64       // upper limit of y
	y      float64       // y of the label's middle
	pushed bool          // touches the label below
	x      float64       // left end
	lined  bool          // a line leads to its box
}

// newOutside returns a label for a box that spans y0 to y1 and ends at edge.
func newOutside(s string, bold bool, weight time.Duration, edge, y0, y1 float64) *outside {
	mid := (y0 + y1) / 2
	return &outside{s: s, bold: bold, weight: weight, edge: edge, mid: mid, lowest: min(mid, y1-lineHeight/2)}
}

// settle positions labels, given from the bottom to the top, below the line top. It returns those
// that it did not drop.
func settle(labels []*outside, top float64) []*outside {
	labels = slices.Clone(labels)
	for {
		over := false
		first := 0 // first label of the cluster
		last := 0
		for i, l := range labels {
			l.y, l.pushed = l.lowest, false
			if i > 0 && labels[i-1].y-lineHeight < l.lowest {
				l.y, l.pushed = labels[i-1].y-lineHeight, true
			} else {
				first = i
			}
			if last = i; l.y-lineHeight/2 < top {
				over = true
				break
			}
		}
		if !over {
			begin(labels)
			return labels
		}
		least := first
		for i := first; i <= last; i++ {
			if labels[i].weight < labels[least].weight {
				least = i
			}
		}
		labels = slices.Delete(labels, least, least+1)
	}
}

// backdrop hides the lines of the grid behind a label.
func backdrop(t text) rect {
	w := advance(t.s, t.size, t.bold)
	return rect{x: t.x - 2, y: t.y - 0.8*t.size, w: w + 4, h: 1.04 * t.size, fill: themed(paper)}
}

// begin sets the left ends of labels; labels of a cluster share one.
func begin(labels []*outside) {
	for i := 0; i < len(labels); {
		next := i + 1
		edge := labels[i].edge
		for next < len(labels) && labels[next].pushed {
			edge = max(edge, labels[next].edge)
			next++
		}
		several := next-i > 1
		for ; i < next; i++ {
			l := labels[i]
			l.x, l.lined = edge+9, several || l.mid-l.y > lineHeight
			if several {
				l.x = edge + 24
			}
		}
	}
}

// drawOutside draws settled labels, shortened to end left of right.
func drawOutside(labels []*outside, right float64) (out []shape) {
	for _, l := range labels {
		s := shorten(l.s, labelSize, l.bold, right-l.x)
		if s == "" {
			continue
		}
		if l.lined {
			out = append(out, lines{
				segments: []segment{{l.edge + 2, l.mid, l.x - 12, l.y}, {l.x - 12, l.y, l.x - 4, l.y}},
				stroke:   themed(limit), width: 1,
			})
		}
		t := text{x: l.x, y: l.y + 0.35*labelSize, s: s, size: labelSize, bold: l.bold, fill: themed(ink)}
		out = append(out, backdrop(t), t)
	}
	return out
}
