package picture

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/bottleneck-go/bottleneck/speedup"
)

// errNoStack is what both forms say when there is nothing to draw from.
var errNoStack = errors.New("picture: no speedup stack")

// StacksSVG writes speedup stacks as an SVG document: bars side by side, as in figure 3 of the
// paper on them, with the speed-up at the bottom and what keeps it from being N above it.
// Components that are negative, which helped, hang below the zero line and are hatched; the others
// then rise above N by as much. Marks on both sides of a bar show N.
//
// Components that are too small to be seen are put together. The document is like that of [SVG]; of
// the options, Top and Panels mean nothing here. The error is that of the writer, or says what is
// wrong with the options.
func StacksSVG(w io.Writer, stacks []*speedup.Stack, opt Options) error {
	d, err := DrawStacks(stacks, opt)
	if err != nil {
		return err
	}
	return d.SVG(w)
}

// DrawStacks lays out the picture of [StacksSVG].
func DrawStacks(stacks []*speedup.Stack, opt Options) (*Drawing, error) {
	s, err := layoutStacks(stacks, opt)
	return newDrawing(s, err, opt)
}

// maxStacks bounds the bars that are drawn side by side.
const maxStacks = 64

func layoutStacks(stacks []*speedup.Stack, opt Options) (*scene, error) {
	switch {
	case len(stacks) == 0:
		return nil, errNoStack
	case len(stacks) > maxStacks:
		return nil, fmt.Errorf("picture: %d stacks are too many to draw side by side; at most %d are possible", len(stacks), maxStacks)
	case math.IsNaN(opt.Width) || opt.Width < 0:
		return nil, fmt.Errorf("picture: width %v is not a number of units", opt.Width)
	}
	for _, s := range stacks {
		if s == nil {
			return nil, errNoStack
		}
	}
	if opt.Width > 0 {
		opt.Width = min(maxWidth, max(minWidth, opt.Width))
	}
	return newStackModel(stacks, opt).layout(), nil
}
