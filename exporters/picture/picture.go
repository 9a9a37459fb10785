package picture

import (
	"errors"
	"io"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
)

// Options configures a picture. The zero value is ready to use.
type Options struct {
	// Title stands above the picture; "" means a title that names the grouping.
	Title string
	// Subtitle is an additional line (a file, a date, a version) under the sentence about the neck.
	Subtitle string
	// Top is the number of groups that are drawn as separate boxes, those with the largest shares;
	// the others are folded into one box per kind. 0 means those that are visible, with at least a
	// thousandth of the time, but at most 15. A negative value means all.
	Top int
	// Min omits shorter flows between two groups in a picture of contention; a note in the picture
	// has their sum.
	Min time.Duration
}

// errNothing is the error for a missing result. An empty result is not an error; it is drawn empty.
var errNothing = errors.New("picture: nothing to draw")

// SVG writes a graph, or the row of its windows if it has some, as an SVG document.
//
// The document is self-contained: it has no scripts, no external fonts or style sheets, and no
// identifiers that could clash with those of another picture in the same page. Names from the trace
// are shortened, with the full names in tooltips; they cannot inject anything.
func SVG(w io.Writer, g *bottle.Graph, opt Options) error {
	d, err := Draw(g, opt)
	if err != nil {
		return err
	}
	return d.SVG(w)
}

// Draw lays out a graph, or the row of its windows if it has some. Windows that would be more than
// fit are merged, with a note.
func Draw(g *bottle.Graph, opt Options) (*Drawing, error) {
	if g == nil {
		return nil, errNothing
	}
	m, err := newModel(g, g.Windows, opt)
	if err != nil {
		return nil, err
	}
	if len(m.charts) > 0 {
		return m.drawCharts(m.sentence(), m.describe()), nil
	}
	return m.drawSingle(), nil
}
