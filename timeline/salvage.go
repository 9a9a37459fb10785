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
// wireCursor.horizon.
func (p *pass) salvage(g *generation) *decoded {
	raw, err := io.ReadAll(g.open())
	if err != nil || !wireformat.Supports(p.in.version) {
		return nil
	}
	dec := &wireDecoder{decoding: decoding{ctx: p.ctx, stacks: p.stacks}}
	opt := wireformat.Options{Version: p.in.version, Cut: true, Frequency: cmp.Or(g.frequency, defaultFrequency)}
	d, c := dec.decodeSafely(raw, opt)
	d.release()
	if c == nil {
		return nil
	}
	horizon, known := c.horizon(p.replay.gomaxprocs)
	if !known || horizon <= 0 {
		return nil
	}
	dec.limit = Time(horizon)
	d, _ = dec.decodeSafely(raw, opt)
	d.err = nil // it is the expected error at the truncation
	if !d.hasReal || d.firstReal == d.lastReal {
		d.release()
		return nil
	}
	p.replay.note("Of the part that is cut off in the middle, the names of new goroutines and the reasons of waits are missing.")
	if g.frequency == 0 {
		p.replay.note(fmt.Sprintf("The frequency of the trace's clock is missing; %d Hz was assumed, which is that of Go on all systems but Windows.", uint64(defaultFrequency)))
	}
	return d
}

// defaultFrequency is the frequency of the trace clock on all systems except Windows: units of 64
// ns.
const defaultFrequency = 1e9 / 64
