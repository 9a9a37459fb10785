package picture

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/bottleneck-go/bottleneck/bottle"
)

// Options says how a picture looks. The zero value is right for most.
type Options struct {
	// Title stands above the picture; empty means one that names the grouping.
	Title string
	// Subtitle is a line of the caller's own (a file, a date, a version) under
	// the sentence about the neck, which is always there.
	Subtitle string
	// Width is the width of the picture in units of which an SVG has one, and a
	// PNG Scale, for a pixel. 0 means as wide as the names need, between 900 and 1240; the
	// height always follows from the content. Less than 480 is drawn as 480, more than 4000 as
	// 4000.
	Width float64
	// Top is the number of groups that are drawn as boxes of their own, those with
	// the largest shares; the others are folded into one box for each kind. 0 means those that
	// can be seen, with at least a thousandth of the time, but 15 at most. Negative means all.
	Top int
	// Panels is the largest number of windows that are drawn side by side; if there
	// are more, neighbours are drawn as one and the picture says so. 0 means 48, or fewer in a
	// narrow picture.
	Panels int
	// Scale is the number of a PNG's pixels for a unit; 0 means 2. An SVG has no use for it.
	Scale float64
	// Dark draws a PNG in light ink on dark paper. An SVG follows its reader's preference by
	// itself.
	Dark bool
}

// Limits of what is drawn.
const (
	minWidth = 480.0
	maxWidth = 4000.0
)

// errNoGraph is what both forms say when there is nothing to draw from; an
// empty graph is not an error, it is drawn as one.
var errNoGraph = errors.New("picture: no graph")

// SVG writes a graph, or the row of its windows if it has some, as an SVG document.
//
// The document is self-contained: no scripts, no external fonts or style
// sheets, no identifiers that could clash with another picture's in the same page. Names from
// the trace are shown shortened and in full in tooltips; they cannot inject anything.
//
// The error is that of the writer, or says what is wrong with the options.
func SVG(w io.Writer, g *bottle.Graph, opt Options) error {
	d, err := Draw(g, opt)
	if err != nil {
		return err
	}
	return d.SVG(w)
}

// Draw lays out a graph, or the row of its windows if it has some. The error says what is wrong
// with the options.
func Draw(g *bottle.Graph, opt Options) (*Drawing, error) {
	s, err := layout(g, opt)
	return newDrawing(s, err, opt)
}

// layout decides where everything stands. Both forms are written from its scene.
func layout(g *bottle.Graph, opt Options) (*scene, error) {
	if g == nil {
		return nil, errNoGraph
	}
	if err := opt.checkWidth(); err != nil {
		return nil, err
	}
	if opt.Panels <= 0 {
		opt.Panels = mostPanels(opt.Width)
	}
	m := newModel(g, opt)
	if len(m.windows) > 0 {
		return layoutWindows(m, opt), nil
	}
	return layoutSingle(m, opt), nil
}

// checkWidth keeps the width in its limits; 0 stays.
func (o *Options) checkWidth() error {
	if math.IsNaN(o.Width) || o.Width < 0 {
		return fmt.Errorf("picture: width %v is not a number of units", o.Width)
	}
	if o.Width > 0 {
		o.Width = min(maxWidth, max(minWidth, o.Width))
	}
	return nil
}
