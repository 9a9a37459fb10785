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

// TasksSVG writes the distributions of the tasks' granularity as an SVG document: for each class the part of its
// tasks (0 to 100 %) that is at most so large, over a logarithmic axis of cycles, or of running time
// where cycles are not known. Curves far to the left belong to small tasks; steep ones to similar tasks. The
// shaded area on the left is that in which the overhead of a task is 5 % or more of its cost.
//
// The classes with the largest sums have a curve each (Options.Top, 8 if 0, 12 at most); the
// others share one. The table below names them, with their diagnoses. The
// document is like that of [SVG]; of the options, Panels means nothing here. The error is that of the writer, or says
// what is wrong with the options.
func TasksSVG(w io.Writer, p *granularity.Profile, opt Options) error {
	return tasksForm(w, p, opt, layoutTasks, svgForm)
}

// TasksPNG writes the same picture as [TasksSVG] as pixels. See [PNG].
func TasksPNG(w io.Writer, p *granularity.Profile, opt Options) error {
	return tasksForm(w, p, opt, layoutTasks, pngForm)
}

// StripSVG writes what the tasks and the machine did over time as an SVG document: a row for each class that
// shows how many of its tasks were under way, and below, on the same axis, the context switches a second and
// how far the processors were used. Vertical lines are the garbage collector's pauses. It corresponds
// to figures 10, 11 and 13 of the paper on task granularity.
//
// The options mean what they mean to [TasksSVG].
func StripSVG(w io.Writer, p *granularity.Profile, opt Options) error {
	return tasksForm(w, p, opt, layoutStrip, svgForm)
}

// StripPNG writes the same picture as [StripSVG] as pixels. See [PNG].
func StripPNG(w io.Writer, p *granularity.Profile, opt Options) error {
	return tasksForm(w, p, opt, layoutStrip, pngForm)
}

// tasksForm checks the options, lays a picture out and writes it in a form.
func tasksForm(w io.Writer, p *granularity.Profile, opt Options, layout func(*granularity.Profile, Options) *scene, write func(io.Writer, *scene, Options) error) error {
	if p == nil {
		return errNoTasks
	}
	if math.IsNaN(opt.Width) || opt.Width < 0 {
		return fmt.Errorf("picture: width %v is not a number of units", opt.Width)
	}
	if opt.Width == 0 {
		opt.Width = tasksWidth
	}
	opt.Width = min(maxWidth, max(minWidth, opt.Width))
	return write(w, layout(p, opt), opt)
}

func svgForm(w io.Writer, s *scene, _ Options) error {
	if err := writeSVG(w, s); err != nil {
		return fmt.Errorf("picture: writing SVG: %w", err)
	}
	return nil
}

func pngForm(w io.Writer, s *scene, opt Options) error {
	if opt.Scale == 0 {
		opt.Scale = 2
	}
	if !(opt.Scale >= 0.1 && opt.Scale <= 20) {
		return fmt.Errorf("picture: scale %v is not between 0.1 and 20", opt.Scale)
	}
	if px := s.width * s.height * opt.Scale * opt.Scale; px > maxPixels {
		return fmt.Errorf("picture: a PNG of %.0f × %.0f pixels is too large; lower the scale", s.width*opt.Scale, s.height*opt.Scale)
	}
	if err := writePNG(w, s, opt.Scale, opt.Dark); err != nil {
		return fmt.Errorf("picture: writing PNG: %w", err)
	}
	return nil
}
