package timeline

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/bottleneck-go/bottleneck/internal/memory"
	"github.com/bottleneck-go/bottleneck/internal/wireformat"
)

// A trace of Go 1.22 or later is a 16-byte header followed by generations of about a second. A
// generation is a sequence of batches,
//
//	type(1) gen m time size data[size]              or
//	type(49) experiment gen m time size data[size]  (experimental),
//
// with all fields encoded as varints and the same gen. Go 1.26 and later end a generation with a
// single byte 52; before Go 1.26, a generation ends where gen changes. A generation is
// self-contained: header + generation is a trace. To find the boundaries, only the heads of the
// batches need to be read.

const (
	headerSize   = wireformat.HeaderSize
	maxBatchHead = wireformat.MaxHead
	maxBatchSize = wireformat.MaxBatch

	evEventBatch      = byte(wireformat.EventBatch)
	evEndOfGeneration = byte(wireformat.EndOfGeneration)
)

// generation is a run of batches of a trace.
type generation struct {
	number uint64 // the runtime's number
	index  int    // our number, from 1
	off    int64  // offset in the trace
	size   int64
	last   bool             // nothing follows
	open   func() io.Reader // returns a reader of the bytes, without a header
	// frequency of the clock in Hz, from this generation or the latest one before it that has
	// it; 0 if unknown.
	frequency uint64
	// cut is set if the generation does not end properly: the file was truncated, or the
	// following data cannot be read.
	cut error
	// at is the offset of the error if cut is set.
	at int64

	skipped int    // number of generations before it that are not decoded
	births  births // of those generations
	origin  Time   // the first instant of the trace, or 0 to use that of the first generation
}

// source provides the bytes of a trace to a cutter, in order.
type source interface {
	// head returns up to maxBatchHead bytes at the offset: fewer near the end, none at or after
	// it. An error is one of the input, never io.EOF.
	head(off int64) ([]byte, error)
	// take skips n bytes from the offset, keeps them for the generation, and returns how many
	// there were.
	take(off, n int64) (int64, error)
	// cut returns a function that opens the bytes taken since the last cut.
	cut(off, size int64) func() io.Reader
}

// cutter cuts a trace into generations.
type cutter struct {
	src     source
	version int
	pos     int64
	index   int
	last    uint64 // number of the previous generation
	freq    uint64 // of the clock, or 0 if not yet known
	done    bool
}

// next returns the next generation, or io.EOF. A generation whose cut is set is the last one.
func (c *cutter) next() (*generation, error) {
	if c.done {
		return nil, io.EOF
	}
	g := &generation{off: c.pos, index: c.index + 1}
	for {
		h, err := c.batch(g)
		if err == nil && h.endsBefore {
			break
		}
		if err == errEnd {
			c.done = true
			if c.pos == g.off {
				return nil, io.EOF
			}
			if c.version >= 26 {
				g.cut, g.at = errCutOff, c.pos
			}
			break
		}
		if err != nil {
			c.done = true
			g.cut, g.at = err, c.pos
			break
		}
		if h.endsAfter {
			break
		}
	}
	g.size = c.pos - g.off
	g.last, g.frequency = c.done, c.freq
	g.open = c.src.cut(g.off, g.size)
	c.index++
	c.last = g.number
	return g, nil
}

// errEnd reports that the input ended between two batches.
var errEnd = errors.New("end of the trace")

// errCutOff reports that the input ended where more data must follow.
var errCutOff = wireformat.ErrCutOff

// batchHead is the head of a batch.
type batchHead struct {
	wireformat.Head
	endsBefore bool // the batch belongs to the next generation
	endsAfter  bool // the batch is the end-of-generation mark
}

// batch adds the next batch to the generation, unless it belongs to the next one.
func (c *cutter) batch(g *generation) (batchHead, error) {
	buf, err := c.src.head(c.pos)
	if err != nil {
		return batchHead{}, err
	}
	if len(buf) == 0 {
		return batchHead{}, errEnd
	}
	if buf[0] == evEndOfGeneration && c.version >= 26 {
		_, err := c.src.take(c.pos, 1)
		c.pos++
		return batchHead{endsAfter: true}, err
	}
	head, err := wireformat.ParseHead(buf)
	h := batchHead{Head: head}
	if err != nil {
		if len(buf) == maxBatchHead || !errors.Is(err, errCutOff) {
			return h, err
		}
		n, terr := c.src.take(c.pos, int64(len(buf)))
		c.pos += n
		if terr == nil {
			_, terr = c.src.head(c.pos) // the end, or what keeps us from reading on
		}
		if terr != nil {
			return h, terr
		}
		return h, errCutOff
	}
	if g.number == 0 {
		if c.last != 0 && h.Gen != c.last+1 {
			return h, fmt.Errorf("generation %d follows generation %d: what is between them is missing", h.Gen, c.last)
		}
		g.number = h.Gen
	}
	if h.Gen != g.number {
		if c.version >= 26 {
			return h, fmt.Errorf("generation %d has no end before generation %d begins", g.number, h.Gen)
		}
		h.endsBefore = true
		return h, nil
	}
	c.noteFrequency(buf[h.HeadLen:])
	want := h.HeadLen + h.DataLen
	n, err := c.src.take(c.pos, want)
	if err != nil {
		c.pos += n
		return h, err
	}
	c.pos += n
	if n < want {
		return h, errCutOff
	}
	return h, nil
}

// noteFrequency records the frequency of the clock if the batch begins with it.
func (c *cutter) noteFrequency(data []byte) {
	if len(data) > 0 && data[0] == byte(wireformat.Sync) && c.version >= 25 {
		data = data[1:]
	}
	if len(data) > 1 && data[0] == byte(wireformat.Frequency) {
		if f, n := binary.Uvarint(data[1:]); n > 0 {
			c.freq = f
		}
	}
}

// fileSource reads a trace by random access. It reads only the heads of the batches; the decoders
// read the rest.
type fileSource struct {
	r    io.ReaderAt
	size int64
	buf  [maxBatchHead]byte
}

func (s *fileSource) head(off int64) ([]byte, error) {
	n, err := s.r.ReadAt(s.buf[:], off)
	if err == io.EOF {
		err = nil
	}
	return s.buf[:n], err
}

func (s *fileSource) take(off, n int64) (int64, error) {
	return max(0, min(n, s.size-off)), nil
}

func (s *fileSource) cut(off, size int64) func() io.Reader {
	return func() io.Reader { return io.NewSectionReader(s.r, off, size) }
}

// streamSource reads a trace from a stream and keeps the bytes of the current generation.
type streamSource struct {
	r     *bufio.Reader
	raw   rawGeneration
	piece [8 << 10]byte
	err   error // why the stream ended prematurely
	meter *memory.Meter
}

func (s *streamSource) head(int64) ([]byte, error) {
	b, err := s.r.Peek(maxBatchHead)
	if err != nil && err != io.EOF && s.err == nil {
		s.err = err
	}
	if len(b) > 0 {
		return b, nil // return data first, and the error when no data is left
	}
	return nil, inputError(s.err)
}

func (s *streamSource) take(_, n int64) (int64, error) {
	if s.meter.Exceeded() {
		return 0, &memoryError{limit: s.meter.Limit(), read: s.raw.size, holds: "one generation of a trace that cannot be read twice is too large"}
	}
	got := int64(0)
	for got < n {
		k, err := s.r.Read(s.piece[:min(n-got, int64(len(s.piece)))])
		s.raw.append(s.piece[:k])
		got += int64(k)
		if err == io.EOF {
			return got, inputError(s.err)
		}
		if err != nil {
			return got, inputError(err)
		}
	}
	return got, nil
}

func (s *streamSource) cut(int64, int64) func() io.Reader {
	raw := s.raw
	s.raw = rawGeneration{}
	// A small generation needs no chunk of its own.
	if len(raw.chunks) == 1 && raw.size < streamChunk/2 {
		b := bytes.Clone(raw.chunks[0])
		raw.release()
		return func() io.Reader { return bytes.NewReader(b) }
	}
	return raw.open
}
