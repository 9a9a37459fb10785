package query

import (
	"cmp"
	"context"
	"fmt"
	"math"
)

// density holds the numbers of quanta by the values of two metrics, a binned scatter plot. A
// [Query] has the first six fields; the answer has all. The counts, Unknown and Outside sum to the
// number of rows of the set.
type density struct {
	X      string `json:"x"`
	Y      string `json:"y"`
	Width  int    `json:"width"`  // bins; 0 means 200
	Height int    `json:"height"` // 0 means 100; at most a million bins
	// LogX and LogY use bins of the decimal logarithms. Values of 0 and less are then outside.
	LogX bool `json:"log_x,omitempty"`
	LogY bool `json:"log_y,omitempty"`

	XUnit string `json:"x_unit"`
	YUnit string `json:"y_unit"`
	// XRange and YRange are the smallest and the largest value that is not outside; nil if there is
	// none. They are not logarithms.
	XRange  *[2]float64 `json:"x_range"`
	YRange  *[2]float64 `json:"y_range"`
	Counts  []int32     `json:"counts,omitzero"` // Height rows of Width bins, smallest y first
	Most    int32       `json:"most"`            // the largest of the counts
	Known   int         `json:"known"`           // quanta for which both values are known
	Unknown int         `json:"unknown"`         // the other quanta of the set
	Outside int         `json:"outside"`         // known ones that no bin has
}

// axis maps values to bins.
type axis struct {
	log         bool
	bins        int
	least, most float64 // smallest and largest value that can be shown
	low, high   float64 // of the logarithms, if log
}

// density answers the question of a density for a set. It takes about 15 ns per row.
func (e *Explorer) density(ctx context.Context, q density, rows []int) (*density, error) {
	metrics, err := e.compileAll(2, q.X, q.Y)
	if err != nil {
		return nil, err
	}
	d := &density{
		X: metrics[0].name, Y: metrics[1].name, XUnit: metrics[0].unit.String(), YUnit: metrics[1].unit.String(),
		Width: cmp.Or(q.Width, 200), Height: cmp.Or(q.Height, 100), LogX: q.LogX, LogY: q.LogY,
	}
	if d.Width < 0 || d.Height < 0 || d.Width > 1<<20 || int64(d.Width)*int64(d.Height) > 1<<20 {
		return nil, fmt.Errorf("want 1 to 1048576 bins, got %d × %d", d.Width, d.Height)
	}
	d.Counts = make([]int32, d.Width*d.Height)
	x, y := axis{q.LogX, d.Width, math.Inf(1), math.Inf(-1), 0, 0}, axis{q.LogY, d.Height, math.Inf(1), math.Inf(-1), 0, 0}
	columns := []column{metrics[0].of, metrics[1].of}
	err = visit(ctx, rows, columns, func(_ int, v []float64) {
		if v[0] == v[0] && v[1] == v[1] {
			x.see(v[0])
			y.see(v[1])
		}
	})
	if err != nil {
		return nil, err
	}
	d.XRange, d.YRange = x.settle(), y.settle()
	return d, visit(ctx, rows, columns, func(_ int, v []float64) {
		if v[0] != v[0] || v[1] != v[1] {
			d.Unknown++
			return
		}
		d.Known++
		i, j := x.bin(v[0]), y.bin(v[1])
		if i < 0 || j < 0 {
			d.Outside++
			return
		}
		n := &d.Counts[j*d.Width+i]
		*n++
		d.Most = max(d.Most, *n)
	})
}

func (a *axis) see(v float64) {
	if v > 0 || !a.log {
		a.least, a.most = min(a.least, v), max(a.most, v)
	}
}

// settle sets the bins once the range is known, and returns the range.
func (a *axis) settle() *[2]float64 {
	if a.least > a.most {
		return nil // no values: bin returns −1
	}
	a.low, a.high = a.least, a.most
	if a.log {
		a.low, a.high = math.Log10(a.least), math.Log10(a.most)
	}
	return &[2]float64{a.least, a.most}
}

// bin returns the bin of a value, or −1 if it is outside.
func (a *axis) bin(v float64) int {
	if !(v >= a.least && v <= a.most) {
		return -1
	}
	if a.log {
		v = math.Log10(v)
	}
	if a.high <= a.low || math.IsInf(a.high-a.low, 0) {
		return 0
	}
	return max(0, min(a.bins-1, int((v-a.low)/(a.high-a.low)*float64(a.bins))))
}
