package picture

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/chart"
	"github.com/bottleneck-go/bottleneck/result"
)

// The bars of all series on one scale have the heights of their values in every panel, names are
// harmless, and everything is inside the picture.
func TestSeries(t *testing.T) {
	list := []chart.Series{
		{Name: "faults of a", Scale: "faults", Unit: result.Number, End: 4e9, Values: []float64{1, 2, math.NaN(), 8}},
		{Name: hostileNames[0], Scale: "faults", Unit: result.Number, End: 4e9, Values: []float64{4, 0, math.Inf(1), -3}},
		{Name: strings.Repeat("long ", 100), Scale: "duration", Unit: result.Duration, End: 4e9, Values: []float64{2e6, 1e6, 5e5, 0}},
		{Name: "heap", Scale: "heap", Unit: result.Bytes, End: 4e9},
	}
	d, err := DrawSeries(list, hostileNames[0], Options{})
	if err != nil {
		t.Fatal(err)
	}
	var heights [][]float64
	for _, s := range d.shapes {
		if g, ok := s.(*group); ok {
			var of []float64
			for _, s := range g.shapes {
				of = append(of, s.(rect).h)
			}
			heights = append(heights, of)
		}
	}
	unit := heights[0][0]
	for i, want := range [][]float64{{1, 2, 8}, {4}} {
		for j, w := range want {
			if len(heights[i]) != len(want) || math.Abs(heights[i][j]-w*unit) > 0.01 {
				t.Errorf("panel %d: heights %v, want %v times %v", i, heights[i], want, unit)
			}
		}
	}
	if h := heights[2]; len(h) != 3 || math.Abs(h[0]-2*h[1]) > 0.01 || math.Abs(h[1]-2*h[2]) > 0.01 {
		t.Errorf("heights of durations: %v", h)
	}
	walk(d.shapes, func(s shape) {
		if t0, ok := s.(text); ok {
			if x0, y0, x1, y1 := t0.bounds(); x0 < 0 || y0 < 0 || x1 > d.width || y1 > d.height {
				t.Errorf("%q leaves the picture: %v to %v of %v", t0.s, x0, x1, d.width)
			}
		}
	})
	var svg bytes.Buffer
	if err := d.SVG(&svg); err != nil || strings.Contains(svg.String(), "<script") {
		t.Errorf("%v", err)
	}
	if _, err := DrawSeries(nil, "", Options{}); err == nil {
		t.Error("nothing was drawn")
	}
}
