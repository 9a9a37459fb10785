// Package page defines what a page of package live can show.
package page

import (
	"io"
	"time"

	"github.com/bottleneck-go/bottleneck/exporters/picture"
)

// Shown is the data of a page, with a function for each available format.
type Shown struct {
	Draw func() (*picture.Drawing, error)
	Text func(io.Writer) error
	JSON func(io.Writer) error
	// Profile writes the data for pprof.
	Profile func(io.Writer) error
}

// Naming returns the name of the source file of a function in profiles.
type Naming func(function, file string) string

// Invalid is the error of a request that cannot be answered as it is.
type Invalid string

func (e Invalid) Error() string { return string(e) }

// MinWall and MaxWall bound the length of a wall-clock profile. MinWall is long enough for a few
// samples even on a busy machine; the stacks of MaxWall are in memory.
const (
	MinWall = 100 * time.Millisecond
	MaxWall = 5 * time.Minute
)
