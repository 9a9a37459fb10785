package timeline

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/bottleneck-go/bottleneck/internal/wireformat"
)

// decode decodes with package wireformat. If that fails, because the generation is damaged or its
// version is unknown, and the Reader of x/exp/trace can read more, the result is that of the Reader,
// and a note of the pass states that.
func (wd *decoding) decode(open func() io.Reader) *decoded {
	if !wireformat.Supports(wd.version) {
		return wd.instead(&decoded{err: fmt.Errorf("traces of Go 1.%d are not known", wd.version)}, open)
	}
	in := &watched{r: open(), meter: wd.meter}
	data, err := wd.load(in)
	switch {
	case errors.Is(err, ErrMemory):
		return wd.overMemory(&decoded{}, in.n)
	case err != nil:
		return &decoded{err: readerError(err)}
	}
	d, _ := wd.decodeSafely(data.b, wireformat.Options{Version: wd.version})
	if cap(data.b) <= maxPooled {
		bufferPool.Put(data)
	}
	if d.err != nil && errors.As(d.err, new(*wireformat.Error)) {
		return wd.instead(d, open)
	}
	return d
}

// overMemory ends the decoding of a generation that exceeds the memory limit.
func (wd *decoding) overMemory(d *decoded, read int64) *decoded {
	d.err = &memoryError{limit: wd.meter.Limit(), read: read, holds: d.holds()}
	return d
}

// instead decodes with the Reader, and returns the larger of d and its result.
func (wd *decoding) instead(d *decoded, open func() io.Reader) *decoded {
	if wd.other == nil {
		return d
	}
	other := wd.other(wd, open)
	if other.err != nil && other.events <= d.events {
		other.release()
		return d
	}
	other.instead = d.err
	d.release()
	return other
}

// buffer holds the bytes of a generation during decoding.
type buffer struct{ b []byte }

var bufferPool = sync.Pool{New: func() any { return new(buffer) }}

// maxPooled bounds the size of buffers that are reused.
const maxPooled = 64 << 20

// load reads all bytes of the generation.
func (wd *decoding) load(r io.Reader) (*buffer, error) {
	b := bufferPool.Get().(*buffer)
	if want := wd.size + bytes.MinRead; int64(cap(b.b)) < want {
		if !wd.meter.Room(want) {
			return b, ErrMemory
		}
		b.b = make([]byte, 0, want)
	}
	all := bytes.NewBuffer(b.b[:0]) // grows only if the size is unknown, which it is in tests
	_, err := all.ReadFrom(r)
	b.b = all.Bytes()
	return b, err
}

// decodeSafely is like decodeBytes but turns a panic into an error. No input is known to cause a
// panic.
func (wd *decoding) decodeSafely(data []byte, opt wireformat.Options) (d *decoded, c *wireCursor) {
	defer func() {
		if p := recover(); p != nil {
			d, c = &decoded{err: &wireformat.Error{What: "the decoder failed: " + firstLine(fmt.Sprint(p))}}, nil
		}
	}()
	return wd.decodeBytes(data, opt)
}

// decodeBytes decodes a generation, without its header. It also returns the state at the end.
func (wd *decoding) decodeBytes(data []byte, opt wireformat.Options) (*decoded, *wireCursor) {
	d := &decoded{}
	opt.Room = func(size int64) bool { return !wd.meter.Exceeded() && wd.meter.Room(size) }
	gen, err := wireformat.Read(data, opt)
	c := &wireCursor{cursor: newCursor(d, wd), size: len(data), cut: opt.Cut, tasks: map[uint64]task{}, stopNames: map[int32]string{}}
	if err == nil {
		err = c.begin(newFrameTable(gen, wd.stacks))
	}
	for checks := 0; err == nil; {
		if !c.hasRoom() {
			c.roomForGs()
		}
		switch {
		case c.full, c.left <= 0 && checks&(1<<5-1) == 0 && wd.meter.Exceeded():
			err = wireformat.ErrMemory
		case c.left <= 0 && wd.ctx.Err() != nil:
			err = wd.ctx.Err()
		case c.left <= 0:
			c.left = 1 << 7
			checks++
		default:
			err = c.next()
		}
	}
	c.done()
	switch {
	case errors.Is(err, wireformat.ErrMemory):
		wd.overMemory(d, int64(len(data)))
	case err != io.EOF:
		d.err = err
	}
	return d, c
}

// frameTable finds the call chains of a generation in the table of the pass.
type frameTable struct {
	gen     *wireformat.Generation
	stacks  *stackTable
	frameOf []*Frame // by index of wireformat
}

func newFrameTable(gen *wireformat.Generation, stacks *stackTable) frameTable {
	return frameTable{gen, stacks, make([]*Frame, len(gen.Frames))}
}

// intern returns the canonical *Stack of frames of the generation.
func (c *frameTable) intern(refs []int32) *Stack {
	if len(refs) == 0 {
		return nil
	}
	t := c.stacks
	t.mu.Lock()
	defer t.mu.Unlock()
	frames := make([]*Frame, len(refs))
	for i, ref := range refs {
		if c.frameOf[ref] == nil {
			f := &c.gen.Frames[ref]
			c.frameOf[ref] = t.frame(Frame{PC: f.PC, Func: c.gen.Text(int32(f.Func)), File: c.gen.Text(int32(f.File)), Line: int(f.Line)})
		}
		frames[i] = c.frameOf[ref]
	}
	return t.internFrames(frames)
}

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
	dec := &decoding{ctx: p.ctx, stacks: p.stacks}
	opt := wireformat.Options{Version: p.in.version, Cut: true, Frequency: cmp.Or(g.frequency, defaultFrequency)}
	d, c := dec.decodeSafely(raw, opt)
	if c == nil {
		return nil
	}
	horizon, known := c.horizon(p.replay.gomaxprocs)
	if !known || !d.hasReal || Time(horizon) <= d.firstReal {
		d.release()
		return nil
	}
	d.err, d.until = nil, Time(horizon) // the error is the expected one, at the truncation
	p.replay.note("Of the part that is cut off in the middle, the names of new goroutines and the reasons of waits are missing.")
	if g.frequency == 0 {
		p.replay.note(fmt.Sprintf("The frequency of the trace's clock is missing; %d Hz was assumed, which is that of Go on all systems but Windows.", uint64(defaultFrequency)))
	}
	return d
}

// defaultFrequency is the frequency of the trace clock on all systems except Windows: units of 64
// ns.
const defaultFrequency = 1e9 / 64
