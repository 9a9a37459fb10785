package picture

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
)

// ContentionOptions says how a picture of contention looks. The zero value is right for most.
// Of the [Options] in it, Top is the number of groups on either side, the others of which are
// folded into one; 0 means those with at least a hundredth of the time, but 15 at most, and
// negative all. Panels means nothing here.
type ContentionOptions struct {
	Options
	// Min leaves out the flows between two groups that are shorter; the picture says how much
	// that is.
	Min time.Duration
}

var errNoContention = errors.New("picture: no contention profile")

// ContentionSVG writes who waited for whom as an SVG document: the groups of goroutines that waited
// on the left, those that are to blame on the right, as tall as the time, and between them flows in
// the colour of the owner. Who waits for its own kind stands on both sides. Hand-off and
// unattributed time are on the right, too, in grey.
//
// The document is like that of [SVG]. The error is that of the writer, or says what is wrong with
// the options.
func ContentionSVG(w io.Writer, p *contention.Profile, opt ContentionOptions) error {
	d, err := DrawContention(p, opt)
	if err != nil {
		return err
	}
	return d.SVG(w)
}

// DrawContention lays out the picture of [ContentionSVG].
func DrawContention(p *contention.Profile, opt ContentionOptions) (*Drawing, error) {
	s, err := layoutFlows(p, opt)
	return newDrawing(s, err, opt.Options)
}

func layoutFlows(p *contention.Profile, opt ContentionOptions) (*scene, error) {
	switch {
	case p == nil:
		return nil, errNoContention
	case math.IsNaN(opt.Width) || opt.Width < 0:
		return nil, fmt.Errorf("picture: width %v is not a number of units", opt.Width)
	}
	if opt.Width > 0 {
		opt.Width = min(maxWidth, max(minWidth, opt.Width))
	}
	m, err := newFlowModel(p, opt)
	if err != nil {
		return nil, fmt.Errorf("picture: %w", err)
	}
	return m.layout(), nil
}
