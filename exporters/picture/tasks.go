package picture

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/bottleneck-go/bottleneck/granularity"
)

// errNoTasks is what all forms say when there is nothing to draw from.
var errNoTasks = errors.New("picture: no profile of tasks")

// TasksSVG writes the distributions of the tasks' granularity as an SVG document: for each class
// the part of its tasks (0 to 100 %) that is at most so large, over a logarithmic axis of cycles,
// or of running time where cycles are not known. Curves far to the left belong to small tasks;
// steep ones to similar tasks. The shaded area on the left is that in which the overhead of a task
// is 5 % or more of its cost.
//
// The classes with the largest sums have a curve each (Options.Top, 8 if 0, 12 at most); the
// others share one. The table below names them, with their diagnoses. The
// document is like that of [SVG]; of the options, Panels means nothing here. The error is that of
// the writer, or says what is wrong with the options.
func TasksSVG(w io.Writer, p *granularity.Profile, opt Options) error {
	d, err := DrawTasks(p, opt)
	if err != nil {
		return err
	}
	return d.SVG(w)
}

// DrawTasks lays out the picture of [TasksSVG].
func DrawTasks(p *granularity.Profile, opt Options) (*Drawing, error) {
	return drawTasks(p, opt, layoutTasks)
}

// StripSVG writes what the tasks and the machine did over time as an SVG document: a row for each
// class that shows how many of its tasks were under way, and below, on the same axis, the context
// switches a second and how far the processors were used. Vertical lines are the garbage
// collector's pauses. It corresponds to figures 10, 11 and 13 of the paper on task granularity.
//
// The options mean what they mean to [TasksSVG].
func StripSVG(w io.Writer, p *granularity.Profile, opt Options) error {
	d, err := DrawStrip(p, opt)
	if err != nil {
		return err
	}
	return d.SVG(w)
}

// DrawStrip lays out the picture of [StripSVG].
func DrawStrip(p *granularity.Profile, opt Options) (*Drawing, error) {
	return drawTasks(p, opt, layoutStrip)
}

func drawTasks(p *granularity.Profile, opt Options, layout func(*granularity.Profile, Options) *scene) (*Drawing, error) {
	if p == nil {
		return nil, errNoTasks
	}
	if math.IsNaN(opt.Width) || opt.Width < 0 {
		return nil, fmt.Errorf("picture: width %v is not a number of units", opt.Width)
	}
	if opt.Width == 0 {
		opt.Width = tasksWidth
	}
	opt.Width = min(maxWidth, max(minWidth, opt.Width))
	return &Drawing{layout(p, opt), opt}, nil
}
