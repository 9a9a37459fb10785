package timeline

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/bottleneck-go/bottleneck/internal/memory"
	"github.com/bottleneck-go/bottleneck/internal/wireformat"
)

// Package wireformat describes the format. A generation is self-contained: header + generation is a
// trace. To find the boundaries, only the heads of the batches need to be read.

const (
	headerSize   = wireformat.HeaderSize
	maxBatchHead = wireformat.MaxHead
	maxBatchSize = wireformat.MaxBatch

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
	// first and latest are the times of the first and of the last batch, in clock units.
	first, latest uint64
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
	scan    *birthScan
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

// scanner finds the boundaries of generations, given the heads of the batches in order.
type scanner struct {
	version int
	number  uint64 // of the current generation; 0 if none has begun
	last    uint64 // of the one before
}

// edge is where the current generation ends.
type edge uint8

const (
	within     edge = iota // the batch belongs to the generation
	endsBefore             // the generation ends before the batch
	endsAfter              // the batch is the mark of its end
)

// scan parses the head of the next batch.
func (s *scanner) scan(buf []byte) (h wireformat.Head, at edge, err error) {
	if buf[0] == evEndOfGeneration && s.version >= 26 {
		return wireformat.Head{HeadLen: 1}, endsAfter, nil
	}
	h, err = wireformat.ParseHead(buf)
	switch {
	case err != nil || h.Gen == s.number:
	case s.number == 0 && s.last != 0 && h.Gen != s.last+1:
		err = fmt.Errorf("generation %d follows generation %d: what is between them is missing", h.Gen, s.last)
	case s.number == 0:
	case s.version >= 26:
		err = fmt.Errorf("generation %d has no end before generation %d begins", s.number, h.Gen)
	default:
		at = endsBefore
	}
	return h, at, err
}

// pass ends the current generation.
func (s *scanner) pass() { s.last, s.number = s.number, 0 }

// cutter cuts a trace into generations.
type cutter struct {
	scanner
	src   source
	pos   int64
	index int
	freq  uint64 // of the clock, or 0 if not yet known
	done  bool
}

// next returns the next generation, or io.EOF. A generation whose cut is set is the last one.
func (c *cutter) next() (*generation, error) {
	if c.done {
		return nil, io.EOF
	}
	g := &generation{off: c.pos, index: c.index + 1}
	at, err := within, error(nil)
	for at == within && err == nil {
		at, err = c.batch(g)
	}
	switch {
	case err == errEnd && c.pos == g.off:
		c.done = true
		return nil, io.EOF
	case err == errEnd && c.version >= 26:
		err = errCutOff
	case err == errEnd:
		c.done, err = true, nil
	}
	if err != nil {
		c.done = true
		g.cut, g.at = err, c.pos
	}
	g.number, g.size = c.number, c.pos-g.off
	g.last, g.frequency = c.done, c.freq
	g.open = c.src.cut(g.off, g.size)
	c.index++
	c.pass()
	return g, nil
}

// errEnd reports that the input ended between two batches.
var errEnd = errors.New("end of the trace")

// errCutOff reports that the input ended where more data must follow.
var errCutOff = wireformat.ErrCutOff

// batch adds the next batch to the generation, unless it belongs to the next one.
func (c *cutter) batch(g *generation) (edge, error) {
	buf, err := c.src.head(c.pos)
	if err != nil {
		return within, err
	}
	if len(buf) == 0 {
		return within, errEnd
	}
	h, at, err := c.scan(buf)
	switch {
	case err == nil && at == endsBefore:
		return at, nil
	case err != nil && (len(buf) == maxBatchHead || !errors.Is(err, errCutOff)):
		return at, err
	case err != nil:
		n, terr := c.src.take(c.pos, int64(len(buf)))
		c.pos += n
		if terr == nil {
			_, terr = c.src.head(c.pos) // the end, or what keeps us from reading on
		}
		return at, cmp.Or(terr, err)
	case at == within:
		if c.number == 0 || h.Time < g.first {
			c.number, g.first = h.Gen, h.Time
		}
		g.latest = max(g.latest, h.Time)
		c.noteFrequency(buf[h.HeadLen:])
	}
	want := h.HeadLen + h.DataLen
	n, err := c.src.take(c.pos, want)
	if c.pos += n; err == nil && n < want {
		err = errCutOff
	}
	return at, err
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
	if raw.size < 64<<10 && raw.size > 0 {
		b := bytes.Clone(raw.chunks[0])
		raw.chunks.Release()
		return func() io.Reader { return bytes.NewReader(b) }
	}
	return raw.chunks.Reader
}
