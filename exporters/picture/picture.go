package picture

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
)

// Options configures a picture. The zero value is ready to use.
type Options struct {
	// Title stands above the picture; "" means a title that names the grouping.
	Title string
	// Subtitle is an additional line (a file, a date, a version) under the sentence about the neck.
	Subtitle string
	// Width is the width of the picture in units. A unit is one pixel of an SVG, and Scale pixels
	// of a PNG. 0 means a width between 900 and 1240 that depends on the names; the height always
	// follows from the content. Values below 400 and above 4000 are clamped.
	Width float64
	// Top is the number of groups that are drawn as separate boxes, those with the largest shares;
	// the others are folded into one box per kind. 0 means those that are visible, with at least a
	// thousandth of the time, but at most 15. A negative value means all.
	Top int
	// Min omits shorter flows between two groups in a picture of contention; a note in the picture
	// has their sum.
	Min time.Duration
	// Scale is the number of PNG pixels per unit; 0 means 2. An SVG ignores it.
	Scale float64

	// panels is the maximum number of windows that are drawn side by side. If there are more,
	// adjacent ones are merged, with a note. 0 means 48, or fewer in a narrow picture.
	panels int
}

// Limits of Options.Width.
const (
	minWidth = 400.0
	maxWidth = 4000.0
)

// errNoGraph is the error for a nil graph. An empty graph is not an error; it is drawn empty.
var errNoGraph = errors.New("picture: no graph")

// SVG writes a graph, or the row of its windows if it has some, as an SVG document.
//
// The document is self-contained: it has no scripts, no external fonts or style sheets, and no
// identifiers that could clash with those of another picture in the same page. Names from the trace
// are shortened, with the full names in tooltips; they cannot inject anything.
//
// SVG returns an error of the writer, or an error if the options are invalid.
func SVG(w io.Writer, g *bottle.Graph, opt Options) error {
	d, err := Draw(g, opt)
	if err != nil {
		return err
	}
	return d.SVG(w)
}

// Draw lays out a graph, or the row of its windows if it has some. It returns an error if the
// options are invalid.
func Draw(g *bottle.Graph, opt Options) (*Drawing, error) {
	s, err := layout(g, opt)
	return newDrawing(s, err, opt)
}

// layout returns the scene of a graph, from which both formats are written.
func layout(g *bottle.Graph, opt Options) (*scene, error) {
	if g == nil {
		return nil, errNoGraph
	}
	if err := opt.checkWidth(); err != nil {
		return nil, err
	}
	if opt.panels <= 0 {
		opt.panels = mostPanels(opt.Width)
	}
	m := newModel(g, opt)
	if len(m.windows) > 0 {
		return layoutWindows(m, opt), nil
	}
	return layoutSingle(m, opt), nil
}

// checkWidth clamps the width to its limits; 0 stays.
func (o *Options) checkWidth() error {
	if math.IsNaN(o.Width) || o.Width < 0 {
		return fmt.Errorf("picture: width %v is not a number of units", o.Width)
	}
	if o.Width > 0 {
		o.Width = min(maxWidth, max(minWidth, o.Width))
	}
	return nil
}
