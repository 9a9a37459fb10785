package bottle

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// ReadTrace returns the bottle graph of the execution trace in r: a file, a
// stream, the bytes of a flight recorder, packed with gzip or zstd or not.
//
// A trace that is cut off or broken gives the graph of what could be read, with
// a warning, and an error (a *[timeline.Error]) with the place of the trouble and what is missing.
// The graph is nil only if nothing could be read, or nothing that a graph can hold: shares are
// exact up to 39 hours.
func ReadTrace(ctx context.Context, r io.Reader, opt Options) (*Graph, error) {
	o := NewObserver(opt)
	info, err := timeline.Read(ctx, r, timeline.Options{Name: opt.Name, Progress: opt.Progress, MaxMemory: opt.MaxMemory, Part: opt.Reads()}, o)
	return o.Result(info, err)
}

// ReadFile returns the bottle graph of the execution trace in a file. See [ReadTrace].
func ReadFile(ctx context.Context, name string, opt Options) (*Graph, error) {
	if opt.Name == "" {
		opt.Name = name
	}
	o := NewObserver(opt)
	info, err := timeline.ReadFile(ctx, name, timeline.Options{Name: opt.Name, Progress: opt.Progress, MaxMemory: opt.MaxMemory, Part: opt.Reads()}, o)
	return o.Result(info, err)
}

// Result returns the graph of a pass that gave info and err, with warnings of what is missing in
// the trace; nil and an error if there is none.
func (o *Observer) Result(info *timeline.Info, err error) (*Graph, error) {
	if info.Generations == 0 {
		return nil, err
	}
	if d := info.Duration(); d < 0 || d > maxWall {
		const why = "the trace covers %v; graphs are exact up to 39 hours only"
		if err != nil {
			return nil, fmt.Errorf("%w; "+why, err, d)
		}
		return nil, fmt.Errorf("%s"+why, o.prefix(), d)
	}
	if rerr := o.rangeError(info); rerr != nil && err == nil {
		return nil, rerr
	}
	g := o.Graph()
	withoutC := *info
	withoutC.Notes = slices.DeleteFunc(slices.Clone(info.Notes), func(n string) bool { return n == info.NoteC() }) // the graph says more
	g.Warnings = append(g.Warnings, withoutC.Warnings(err)...)
	return g, err
}

// Reads returns what of the trace has to be decoded. Where the grouping depends on more than names,
// what came before From counts, too.
func (opt *Options) Reads() timeline.Part {
	p := timeline.Part{From: opt.From, To: opt.To, First: opt.Part.First, Last: opt.Part.Last, During: opt.Part.During}
	if p.During.All() && (p.First > 1 || opt.Group.group != nil && !opt.Group.byName) {
		p.From = 0 // and times are from the beginning of generation First
	}
	if p.During.All() && p.First > 1 {
		p.To = 0
	}
	return p
}

// maxWall is the longest time whose shares fit into 64 bits, with room for a sign.
const maxWall = math.MaxInt64 >> fracBits

// rangeError returns why there is no graph for the options.
func (o *Observer) rangeError(info *timeline.Info) error {
	d := info.Duration()
	switch {
	case o.opt.From > 0 && o.opt.From >= d:
		return fmt.Errorf("%sthe trace covers %v, so nothing is left from %v", o.prefix(), d, o.opt.From)
	case o.opt.To > 0 && o.opt.To <= o.opt.From:
		return fmt.Errorf("%sthe graph would end (%v) before it begins (%v)", o.prefix(), o.opt.To, o.opt.From)
	}
	return nil
}

// prefix names the trace at the beginning of an error.
func (o *Observer) prefix() string {
	if o.opt.Name == "" {
		return ""
	}
	return o.opt.Name + ": "
}
