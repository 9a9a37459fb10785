package bottle

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// ReadTrace returns the bottle graph of the execution trace in r: a file, a stream, or the bytes of
// a flight recorder, which may be compressed with gzip or zstd.
//
// If a trace is truncated or damaged, ReadTrace returns the graph of what could be read, with a
// warning, and an error (a *[timeline.Error]) that describes the place and what is missing. The
// graph is nil only if nothing could be read, or if the trace is too long for a graph: shares are
// exact up to 39 hours.
func ReadTrace(ctx context.Context, r io.Reader, opt Options) (*Graph, error) {
	o := NewObserver(opt)
	return o.Result(timeline.Read(ctx, r, opt.pass(), o))
}

// ReadFile returns the bottle graph of the execution trace in a file; see [ReadTrace].
func ReadFile(ctx context.Context, name string, opt Options) (*Graph, error) {
	opt.Name = cmp.Or(opt.Name, name)
	o := NewObserver(opt)
	return o.Result(timeline.ReadFile(ctx, name, opt.pass(), o))
}

func (opt *Options) pass() timeline.Options {
	pass := timeline.Options{Name: opt.Name}
	opt.Reads(&pass)
	return pass
}

// Result returns the graph of a pass that returned info and err, with warnings about missing data.
// If there is no graph, it returns nil and an error.
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
	// The graph has a more precise warning.
	withoutC.Notes = slices.DeleteFunc(slices.Clone(info.Notes), func(n string) bool { return n == info.NoteC() })
	g.Warnings = append(g.Warnings, withoutC.Warnings(err)...)
	return g, err
}

// Reads restricts a pass to what has to be decoded. If the grouping depends on more than names,
// that includes the time before From.
func (opt *Options) Reads(pass *timeline.Options) {
	pass.From, pass.To, pass.First, pass.Last, pass.During, pass.Outside = opt.From, opt.To, opt.First, opt.Last, opt.During, opt.Outside
	if opt.During != "" {
		return
	}
	if opt.First > 1 || opt.Group.group != nil && !opt.Group.byName {
		pass.From = 0 // times are relative to the beginning of generation First
	}
	if opt.First > 1 {
		pass.To = 0
	}
}

// Bounds returns the bounds for observers of such a pass: From and To or, with During, none,
// because the pass itself stops the clock outside of them.
func (opt *Options) Bounds() (from, to time.Duration) {
	if opt.During != "" {
		return 0, 0
	}
	return opt.From, opt.To
}

// maxWall is the longest time whose shares fit into 64 bits, with room for a sign.
const maxWall = math.MaxInt64 >> fracBits

// rangeError returns the reason why there is no graph for the options.
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

// prefix returns the name of the trace for the beginning of an error.
func (o *Observer) prefix() string {
	if o.opt.Name == "" {
		return ""
	}
	return o.opt.Name + ": "
}
