// Package snapshot keeps an execution trace in memory. The trace grows without copying, and memory
// is released as the trace is sent.
package snapshot

import (
	"bytes"
	"context"
	"io"
	"sync"
)

// chunkSize is the allocation unit.
const chunkSize = 128 << 10

var pool = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// Chunks holds data in pieces of a pool: it grows without being copied.
type Chunks [][]byte

// Append appends a copy of p.
func (c *Chunks) Append(p []byte) {
	for len(p) > 0 {
		last := len(*c) - 1
		if last < 0 || len((*c)[last]) == chunkSize {
			*c = append(*c, pool.Get().(*[chunkSize]byte)[:0])
			last++
		}
		piece := (*c)[last]
		k := copy(piece[len(piece):chunkSize], p)
		(*c)[last] = piece[:len(piece)+k]
		p = p[k:]
	}
}

// Reader returns a reader of the data, which must not be released before.
func (c Chunks) Reader() io.Reader {
	readers := make([]io.Reader, len(c))
	for i, piece := range c {
		readers[i] = bytes.NewReader(piece)
	}
	return io.MultiReader(readers...)
}

// Release returns the data to the pool.
func (c *Chunks) Release() {
	for i := range *c {
		c.free(int64(i))
	}
	*c = nil
}

func (c Chunks) free(i int64) {
	if c[i] != nil {
		pool.Put((*[chunkSize]byte)(c[i][:chunkSize]))
		c[i] = nil
	}
}

// headerSize is the length of the header of a trace, which is kept when the beginning of the trace
// is dropped.
const headerSize = 16

// Buffer is a trace in memory. A bottle.Recorder writes to it without a separate copy. Only one
// goroutine may write to it; after that, any number may read.
type Buffer struct {
	ctx    context.Context
	chunks Chunks
	size   int64 // written
	drop   int64 // bytes after the header that are omitted
}

// New returns an empty buffer. Writing fails once ctx is done.
func New(ctx context.Context) *Buffer { return &Buffer{ctx: ctx} }

// Write appends p. It fails with the error of the context.
func (b *Buffer) Write(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	b.chunks.Append(p)
	b.size += int64(len(p))
	return len(p), nil
}

// Size returns the number of bytes.
func (b *Buffer) Size() int64 { return b.size - b.drop }

// DropTo drops the bytes between the header and the offset off.
func (b *Buffer) DropTo(off int64) {
	if off <= headerSize || off > b.Size() {
		return
	}
	b.drop += off - headerSize
	for i := int64(1); (i+1)*chunkSize <= headerSize+b.drop; i++ { // the first holds the header
		b.chunks.free(i)
	}
}

// ReadAt implements io.ReaderAt.
func (b *Buffer) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		part := b.at(off + int64(n))
		if len(part) == 0 {
			return n, io.EOF
		}
		n += copy(p[n:], part)
	}
	return n, nil
}

// at returns some of the bytes at an offset, or none at the end.
func (b *Buffer) at(off int64) []byte {
	if off >= b.Size() {
		return nil
	}
	end := b.size
	if off < headerSize {
		end = headerSize
	} else {
		off += b.drop
	}
	c := b.chunks[off/chunkSize]
	c = c[off%chunkSize:]
	return c[:min(int64(len(c)), end-off)]
}

// Reader returns a random-access reader of the whole trace.
func (b *Buffer) Reader() *io.SectionReader { return io.NewSectionReader(b, 0, b.Size()) }

// WriteTo writes the trace to w and releases memory as it proceeds. Afterward the buffer is empty,
// even after an error.
func (b *Buffer) WriteTo(w io.Writer) (n int64, err error) {
	for off, size := int64(0), b.Size(); off < size && err == nil; {
		part := b.at(off)
		var k int
		k, err = w.Write(part)
		n += int64(k)
		off += int64(len(part))
		if i := (off + b.drop) / chunkSize; off > headerSize && i > 0 {
			b.chunks.free(i - 1)
		}
	}
	*b = Buffer{ctx: b.ctx}
	return n, err
}
