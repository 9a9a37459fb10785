package picture

import (
	"bytes"
	"github.com/bottleneck-go/bottleneck/internal/chart"
	"math"
	"slices"
	"strings"
	"testing"
)

// Spans are as wide as they are long and as tall as they are busy; each ending has its glyph, at
// the end of its span.
func TestLanes(t *testing.T) {
	list := []chart.Series{
		{Name: hostileNames[0], End: 1000, Values: []float64{1, .5, .5, 0, 0, 1, 1, 1, 1, 1}, Ended: []string{"preempted", "", "yielded", "", "", "", "", "", "", "blocked"}},
		{Name: strings.Repeat("long ", 50), End: 1000, Values: slices.Repeat([]float64{2}, 10), Ended: []string{9: "exited"}},
	}
	d, err := DrawLanes(list, hostileNames[0], Options{})
	if err != nil {
		t.Fatal(err)
	}
	var rects []rect
	var glyphs []segment
	walk(d.shapes, func(s shape) {
		switch s := s.(type) {
		case rect:
			rects = append(rects, s)
		case lines:
			if len(glyphs) == 0 {
				glyphs = s.segments
			}
		}
	})
	if len(rects) != 4 || len(glyphs) != 3+4+4 {
		t.Fatalf("%d spans, %d strokes", len(rects), len(glyphs))
	}
	whole := rects[3].w
	for i, want := range []float64{.1, .2, .5, 1} {
		if math.Abs(rects[i].w-want*whole) > .01 {
			t.Errorf("span %d is %v wide, want %v of %v", i, rects[i].w, want, whole)
		}
	}
	if rects[1].h*2 != rects[0].h || rects[3].h != rects[0].h {
		t.Errorf("heights %v, %v, %v", rects[0].h, rects[1].h, rects[3].h)
	}
	for i, first := range []int{0, 3, 7} {
		if x := glyphs[first].x1; x < rects[i].x || x > rects[i].x+rects[i].w {
			t.Errorf("glyph %d is at %v, its span at %v to %v", i, x, rects[i].x, rects[i].x+rects[i].w)
		}
	}
	if err := d.SVG(&bytes.Buffer{}); err != nil {
		t.Error(err)
	}
	if _, err := DrawLanes(nil, "", Options{}); err == nil {
		t.Error("nothing was drawn")
	}
}
