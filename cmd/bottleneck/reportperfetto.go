package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/bottleneck-go/bottleneck/exporters/perfetto"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// perfettoForm is the form of files for the viewer of Perfetto.
const perfettoForm = "perfetto-trace"

// perfetto writes a trace as Perfetto reads it, in a pass of its own. A trace that is cut off is written as far as it goes.
func (r *reportReading) perfetto(ctx context.Context, in *input, name string, open func() (io.Reader, error)) error {
	from, err := open()
	if err != nil {
		return fileError(in.label, err)
	}
	var broken error
	err = writeFile(name, func(w io.Writer) error {
		p := perfetto.NewWriter(w, perfetto.Options{Name: shownSource(in.label)})
		info, err := timeline.Read(ctx, from, timeline.Options{Name: in.label, Progress: in.decoded}, p.Observer())
		if info.Generations == 0 || ctx.Err() != nil {
			return errors.Join(err, p.Close())
		}
		broken = err
		return p.Close()
	})
	if err != nil {
		return err
	}
	if broken != nil && !r.flags.page() { // else the pass for the page tells it
		return &partialError{fmt.Errorf("%s: %w", in.label, broken)}
	}
	return nil
}
