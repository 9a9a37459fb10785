package timeline

import (
	"errors"
	"fmt"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/snapshot"
	"github.com/bottleneck-go/bottleneck/internal/wireformat"
)

// splitter cuts a trace that arrives in pieces of any size into generations.
type splitter struct {
	scanner
	stream *Stream
	header []byte
	head   []byte // the beginning of an incomplete batch head
	left   int64  // bytes of the current batch that have not arrived

	raw    *rawGeneration // the current generation, nil if it is dropped
	size   int64          // of the current generation
	why    dropReason     // why the current generation is dropped, if raw is nil
	broken bool
}

// rawGeneration holds the bytes of a generation.
type rawGeneration struct {
	number  uint64
	version int
	size    int64
	chunks  snapshot.Chunks
	took    time.Duration // time since the previous generation
	show    time.Duration // how much of its trace is shown, 0 for all
}

func (g *rawGeneration) append(p []byte) {
	g.size += int64(len(p))
	g.chunks.Append(p)
}

// write processes the next piece.
func (c *splitter) write(p []byte) {
	for len(p) > 0 {
		var n int
		switch {
		case c.broken:
			c.stream.stats.drop(dropBroken, Drop{Bytes: int64(len(p))})
			return
		case c.version == 0:
			n = c.takeHeader(p)
		case c.left > 0:
			n = int(min(c.left, int64(len(p))))
			c.left -= int64(n)
			c.take(p[:n])
		default:
			n = c.takeHead(p)
		}
		p = p[n:]
	}
}

// takeHeader consumes part of the header of the trace.
func (c *splitter) takeHeader(p []byte) int {
	n := min(headerSize-len(c.header), len(p))
	c.header = append(c.header, p[:n]...)
	if len(c.header) == headerSize {
		c.checkHeader()
	}
	return n
}

func (c *splitter) checkHeader() {
	v, err := parseHeader(c.header)
	if err == nil && v < firstGenerational {
		err = fmt.Errorf("a trace of Go 1.%d cannot be read while it is written: only those since Go 1.%d have generations", v, firstGenerational)
	}
	if err != nil {
		c.fail(err)
		return
	}
	c.version = v
}

// takeHead consumes the head of a batch, or part of it, and returns the number of bytes.
func (c *splitter) takeHead(p []byte) int {
	before := len(c.head)
	head := p[:min(len(p), maxBatchHead-before)]
	if before > 0 { // the head arrives in several pieces
		head = append(c.head, head...)
	}
	h, at, err := c.next(head)
	switch {
	case err == nil:
		c.head = c.head[:0]
		return c.begin(h, at, head[:h.HeadLen]) - before
	case !errors.Is(err, errCutOff) || len(head) == maxBatchHead:
		c.fail(err)
		return 0
	case before > 0:
		c.head = head
	default:
		c.head = append(c.head, head...)
	}
	return len(head) - before
}

// next parses the head of a batch. It ends the current generation if that ends before the batch.
func (c *splitter) next(p []byte) (wireformat.Head, edge, error) {
	h, at, err := c.scan(p)
	if err == nil && at == endsBefore {
		c.finish() // versions without an end-of-generation mark
		return c.scan(p)
	}
	return h, at, err
}

// begin begins a batch and returns the length of its head.
func (c *splitter) begin(h wireformat.Head, at edge, head []byte) int {
	if c.number == 0 && at == endsAfter { // an empty generation: there is nothing to read
		c.stream.stats.Bytes += int64(len(head))
		return len(head)
	}
	if c.number == 0 {
		c.number, c.size = h.Gen, 0
		c.raw = &rawGeneration{number: h.Gen, version: c.version, show: c.stream.opt.Show}
	}
	c.left = h.DataLen
	c.take(head)
	if at == endsAfter {
		c.finish()
	}
	return len(head)
}

// take adds bytes to the current generation.
func (c *splitter) take(p []byte) {
	c.size += int64(len(p))
	if c.raw == nil {
		return
	}
	if c.stream.pending+int64(len(p)) > c.stream.opt.MaxPending {
		c.stream.release(c.raw)
		c.raw, c.why = nil, dropBehind
		return
	}
	c.stream.pending += int64(len(p))
	c.raw.append(p)
}

// finish ends the current generation.
func (c *splitter) finish() {
	raw, why := c.raw, c.why
	c.pass()
	c.raw = nil
	c.stream.complete(raw, c.size, why)
}

// fail ends the stream, because the beginning of the next generation cannot be found.
func (c *splitter) fail(err error) {
	c.broken = true
	c.stream.fail(fmt.Errorf("timeline: the stream is broken in generation %d: %w", max(c.number, c.last+1), err))
	c.abandon()
	c.stream.stats.drop(dropBroken, Drop{Bytes: int64(len(c.head))})
	c.head = nil
}

// abandon drops the current generation.
func (c *splitter) abandon() {
	if c.number == 0 {
		return
	}
	if c.raw != nil {
		c.stream.release(c.raw)
		c.raw = nil
	}
	c.why = dropBroken
	c.finish()
}

// end marks the end of the input.
func (c *splitter) end() {
	switch {
	case c.broken:
	case c.version == 0 && len(c.header) > 0:
		_, err := parseHeader(c.header)
		c.fail(err)
	case c.number != 0 && c.version < 26 && c.left == 0 && len(c.head) == 0:
		c.finish() // these versions do not mark the end of a generation
	case c.number != 0 || len(c.head) > 0:
		c.fail(errCutOff)
	}
}
