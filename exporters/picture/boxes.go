package picture

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// placedBox is a box of a graph with its place.
type placedBox struct {
	box   *bottle.Box
	entry *entry
	rect  rect
}

// place stacks the boxes of a graph from the bottom of a plot. The idle time fills
// what is left: its rectangle has no width.
func (m *model) place(p plot, g *bottle.Graph) (boxes []placedBox, idle rect) {
	sum := 0.0
	for i := range g.Boxes {
		b := &g.Boxes[i]
		top := sum + float64(b.Share)
		r := rect{
			x: p.px(-b.Parallelism), w: p.px(b.Parallelism) - p.px(-b.Parallelism),
			y: p.py(top), h: p.py(sum) - p.py(top),
		}
		e := m.byKey[keyOf(b)]
		r.fill = rgb(e.fill)
		r.border = r.h >= 3 // a border would hide a thinner box
		boxes = append(boxes, placedBox{b, e, r})
		sum = top
	}
	top := max(sum+float64(max(0, g.Idle)), sum)
	return boxes, rect{x: p.px(0), y: p.py(top), h: p.py(sum) - p.py(top)}
}

// draw makes the shapes of a box, without its label.
func (b placedBox) draw(g *bottle.Graph) *group {
	out := &group{title: tooltip(b.box, g, b.entry.neck)}
	slope := kindHatch[b.box.Kind]
	if slope == 0 || b.rect.h < 2 {
		out.shapes = append(out.shapes, b.rect)
		return out
	}
	plain := b.rect
	plain.border = false
	inner := b.rect
	if b.rect.border {
		inner.x, inner.w = inner.x+borderWidth/2, max(0, inner.w-borderWidth)
		inner.y, inner.h = inner.y+borderWidth/2, max(0, inner.h-borderWidth)
	}
	out.shapes = append(out.shapes, b.rect, hatch(inner, slope, rgb(b.entry.hatch)))
	return out
}

// drawIdle draws the box of width 0: a dashed line as high as the idle time, between two caps.
func drawIdle(r rect, g *bottle.Graph, capWidth float64) *group {
	y2 := r.y + r.h
	out := &group{title: "idle: no goroutine ran for " + format.Duration(g.Idle) + " (" + format.Percent(g.Idle, g.Wall) + ")"}
	out.shapes = append(out.shapes,
		lines{segments: []segment{{r.x, y2, r.x, r.y}}, stroke: themed(muted), width: 1.6, dash: 3},
		lines{segments: []segment{{r.x - capWidth, r.y, r.x + capWidth, r.y}}, stroke: themed(muted), width: 1.6})
	return out
}

// tooltip says all that is known of a box.
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
		s.WriteString(", kind " + format.Clean(string(b.Kind)))
	}
	if neck {
		s.WriteString("\npart of the neck")
	}
	return s.String()
}

// fullName is a name as long as a tooltip can take.
func fullName(name string) string {
	const longest = 1000
	name = label(name)
	if r := []rune(name); len(r) > longest {
		name = string(r[:longest]) + "…"
	}
	return name
}

// wait is a reason to be blocked and its time.
type wait struct {
	reason string
	time   time.Duration
}

// waits are the reasons why a box was blocked, the longest first.
func waits(b *bottle.Box) []wait {
	var out []wait
	for _, reason := range slices.Sorted(maps.Keys(b.Waiting)) {
		if d := b.Waiting[reason]; d > 0 {
			out = append(out, wait{reason, d})
		}
	}
	order.Stable(out, func(a, b wait) int {
		switch {
		case a.time > b.time:
			return -1
		case a.time < b.time:
			return 1
		}
		return 0
	})
	return out
}

// inside is the label of a box if it has room in the middle of the box.
func (b placedBox) inside(size float64) (text, bool) {
	r := b.rect
	if r.h < size*1.25 {
		return text{}, false
	}
	s, bold := b.entry.label, b.entry.neck
	width := r.w - 12
	if short := shorten(s, size, bold, width); short != s {
		// Better most of a name in a roomy box than all of it far away.
		enough := float64(len([]rune(short))) >= 0.7*float64(len([]rune(s)))
		if width < 110 || !enough && width < 220 {
			return text{}, false
		}
		s = short
	}
	return text{x: r.x + r.w/2, y: r.y + r.h/2 + 0.35*size, s: s, size: size, bold: bold, anchor: middle, fill: rgb(b.entry.ink)}, true
}
