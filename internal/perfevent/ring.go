package perfevent

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// ring is the buffer that the kernel writes records into: a control page followed by a power of two
// of bytes. The kernel advances the head, the reader the tail; both only grow.
type ring struct {
	page []byte // the control page and the data
	data []byte
	tail uint64
	buf  []byte // for records that wrap around the end of the ring
}

// Offsets of head and tail in the control page: data_head and data_tail of struct
// perf_event_mmap_page.
const (
	headOffset = 1024
	tailOffset = 1032
)

func newRing(page []byte, pageSize int) *ring {
	r := &ring{page: page, data: page[pageSize:]}
	r.tail = atomic.LoadUint64(r.word(tailOffset))
	return r
}

func (r *ring) word(offset int) *uint64 { return (*uint64)(unsafe.Pointer(&r.page[offset])) }

// drain calls f with each complete record and then frees its space.
func (r *ring) drain(f func(record []byte) error) error {
	head := atomic.LoadUint64(r.word(headOffset))
	var err error
	for r.tail < head && err == nil {
		b := r.at(headerBytes)
		size := uint64(binary.NativeEndian.Uint16(b[6:]))
		if size < headerBytes || size > head-r.tail {
			err = fmt.Errorf("perfevent: a record of %d bytes where %d are left", size, head-r.tail)
			break
		}
		err = f(r.at(int(size)))
		r.tail += size
	}
	if err != nil {
		r.tail = head // the rest cannot be parsed
	}
	atomic.StoreUint64(r.word(tailOffset), r.tail)
	return err
}

// at returns the next n bytes.
func (r *ring) at(n int) []byte {
	from := int(r.tail & uint64(len(r.data)-1))
	if from+n <= len(r.data) {
		return r.data[from : from+n]
	}
	r.buf = append(append(r.buf[:0], r.data[from:]...), r.data[:from+n-len(r.data)]...)
	return r.buf
}

// fill returns the part of the ring in use.
func (r *ring) fill() float64 {
	return float64(atomic.LoadUint64(r.word(headOffset))-r.tail) / float64(len(r.data))
}
