package main

import (
	"context"
	"errors"
	"io"

	"github.com/bottleneck-go/bottleneck/exporters/perfetto"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// perfettoForm is the form of files for the viewer of Perfetto.
const perfettoForm = "perfetto-trace"

// perfetto writes a trace as Perfetto reads it, in a pass of its own. A trace that is cut off is
// written as far as it goes.
func (r *reportReading) perfetto(ctx context.Context, in *input, name string, open func() (io.Reader, error)) error {
	from, err := open()
	if err != nil {
		return fileError(in.label, err)
	}
	var unread, broken error
	err = writeFile(name, func(w io.Writer) error {
		p := perfetto.NewWriter(w, perfetto.Options{Name: shownSource(in.label)})
		info, err := timeline.Read(ctx, from, timeline.Options{Name: in.label, Progress: in.decoded}, p.Observer())
		if info.Generations == 0 || ctx.Err() != nil {
			unread = errors.Join(err, p.Close())
			return unread
		}
		broken = err
		return p.Close()
	})
	if unread != nil {
		return unread // not the fault of the file that was to be written
	}
	if err != nil {
		return err
	}
	if broken != nil && !r.flags.page() { // else the pass for the page tells it
		return &partialError{broken}
	}
	return nil
}
