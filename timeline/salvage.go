package timeline

import (
	"cmp"
	"fmt"
	"io"

	"github.com/bottleneck-go/bottleneck/internal/wireformat"
)

// salvage reads what it can from a truncated generation. It returns nil if that is nothing.
//
// The generation lacks what the runtime writes last: the call chains and strings that its events
// refer to. The rest can still be read, except for names and reasons, up to the horizon: see
// wireformat.Decoder.Horizon.
func (p *pass) salvage(g *generation) *decoded {
	raw, err := io.ReadAll(g.open())
	if err != nil || !wireformat.Supports(p.in.version) {
		return nil
	}
	dec := &wireDecoder{decoding: decoding{ctx: p.ctx, stacks: p.stacks}}
	opt := wireformat.Options{Version: p.in.version, Cut: true, Frequency: cmp.Or(g.frequency, defaultFrequency), Running: p.replay.runners()}
	known := false
	dec.ended = func(d *wireformat.Decoder) {
		var horizon int64
		horizon, known = d.Horizon(p.replay.gomaxprocs)
		known = known && horizon > 0
		dec.limit = Time(horizon)
	}
	dec.decodeSafely(raw, opt).release()
	if !known {
		return nil
	}
	dec.ended = nil
	d := dec.decodeSafely(raw, opt)
	d.err = nil // it is the expected error at the truncation
	if !d.hasReal || d.firstReal == d.lastReal {
		d.release()
		return nil
	}
	p.replay.info.Notes = append(p.replay.info.Notes, "Of the part that is cut off in the middle, the names of new goroutines and the reasons of waits are missing.")
	if g.frequency == 0 {
		p.replay.info.Notes = append(p.replay.info.Notes, fmt.Sprintf("The frequency of the trace's clock is missing; %d Hz was assumed, which is that of Go on all systems but Windows.", uint64(defaultFrequency)))
	}
	return d
}

// defaultFrequency is the frequency of the trace clock on all systems except Windows: units of 64
// ns.
const defaultFrequency = 1e9 / 64
