package picture

import (
	"slices"
	"time"
)

// Labels of boxes that are too thin for them stand to the right of the boxes.
//
// Boxes get narrower from the bottom to the top. So the area to the right of a box and
// above its lower edge is free: a label that has no room beside its box may move up, and
// none ever needs to move down. Going up, each label takes the lowest place that is free and not
// below its box. Labels that touch form a cluster, get one left edge and lines to their boxes. If a
// cluster would leave the plot at the top, its least important label is dropped: the
// legend and the tooltip still name that box.

// outside is a label beside a box.
type outside struct {
	s      string
	bold   bool
	weight time.Duration // what is dropped first
	edge   float64       // right edge of the box
	mid    float64       // middle of the box
	lowest float64       // where the label's middle may be at most
	y      float64       // where it is
	pushed bool          // it touches the label below it
}

// newOutside makes a label for a box that spans y0 to y1 and ends at edge.
func newOutside(s string, bold bool, weight time.Duration, edge, y0, y1 float64) *outside {
	mid := (y0 + y1) / 2
	return &outside{s: s, bold: bold, weight: weight, edge: edge, mid: mid, lowest: min(mid, y1-lineHeight/2)}
}

// settle finds the places of labels, given from the bottom to the top, below the line top.
func settle(labels []*outside, top float64) []*outside {
	labels = slices.Clone(labels)
	for {
		over := false
		first := 0 // of the cluster
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

// backdrop keeps the lines of the grid from crossing a label.
func backdrop(t text) rect {
	w := advance(t.s, t.size, t.bold)
	return rect{x: t.x - 2, y: t.y - 0.8*t.size, w: w + 4, h: 1.04 * t.size, fill: themed(paper)}
}

// drawOutside draws labels that were settled, as far as they fit to the left of right.
func drawOutside(labels []*outside, right float64) (out []shape) {
	for i := 0; i < len(labels); {
		next := i + 1
		edge := labels[i].edge
		for next < len(labels) && labels[next].pushed {
			edge = max(edge, labels[next].edge)
			next++
		}
		cluster := labels[i:next]
		i = next
		x := edge + 9
		if len(cluster) > 1 {
			x = edge + 24
		}
		for _, l := range cluster {
			s := shorten(l.s, labelSize, l.bold, right-x)
			if s == "" {
				continue
			}
			if len(cluster) > 1 || l.mid-l.y > lineHeight {
				out = append(out, lines{
					segments: []segment{{l.edge + 2, l.mid, x - 12, l.y}, {x - 12, l.y, x - 4, l.y}},
					stroke:   themed(limit), width: 1,
				})
			}
			t := text{x: x, y: l.y + 0.35*labelSize, s: s, size: labelSize, bold: l.bold, fill: themed(ink)}
			out = append(out, backdrop(t), t)
		}
	}
	return out
}
