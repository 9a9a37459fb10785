package ledger

import "time"

// Heap summarizes the heap from the sizes that the runtime writes into the trace. The runtime
// writes a size when it gives a processor a new span of memory, so sizes are accurate to within a
// few spans per processor.
type Heap struct {
	// Collections is the number of garbage collection cycles that ended.
	Collections int64 `json:"collections"`
	// Allocated is an estimate of the bytes by which the heap grew.
	Allocated int64 `json:"allocated"`
	// Live and Peak are sizes in bytes, averaged over Collections: the live heap after a
	// collection, and the heap when it ended.
	Live int64 `json:"live"`
	Peak int64 `json:"peak"`
}

// heap adds up the sizes of the heap. When marking ends, while the world is stopped, the runtime
// writes the size of the live heap. All other changes are allocations or returned parts of spans.
type heap struct {
	size, before uint64 // the latest sizes; 0: not known
	grown        int64  // by the latest one, as counted
	Heap                // Live and Peak are sums
}

// heapMetric is the runtime's name for the size of the heap.
const heapMetric = "/memory/classes/heap/objects:bytes"

func (h *heap) metric(size uint64, inside bool) {
	h.size, h.before, h.grown = size, h.size, 0
	if inside && h.before > 0 {
		h.grown = int64(h.size - h.before)
		h.Allocated += h.grown
	}
}

// marked records the end of marking: the latest size is the live heap.
func (h *heap) marked(inside bool) {
	if inside && h.before > 0 {
		h.Allocated -= h.grown
		h.Collections++
		h.Peak += int64(h.before)
		h.Live += int64(h.size)
		h.grown = 0
	}
}

// result returns the means, or nil if the trace has no collection.
func (h *heap) result() *Heap {
	if h.Collections == 0 {
		return nil
	}
	out := h.Heap
	out.Live, out.Peak = out.Live/out.Collections, out.Peak/out.Collections
	out.Allocated = max(out.Allocated, 0)
	return &out
}

// Rate returns the bytes allocated per second.
func (h *Heap) Rate(wall time.Duration) float64 {
	if wall <= 0 {
		return 0
	}
	return float64(h.Allocated) / wall.Seconds()
}

// Growth returns the growth of the heap until its next collection, relative to the live heap. It
// equals GOGC/100, unless the heap is tiny, GOMEMLIMIT is reached, or the program calls for
// collections itself.
func (h *Heap) Growth() float64 {
	if h.Live == 0 {
		return 0
	}
	return float64(h.Peak-h.Live) / float64(h.Live)
}
