package ledger

import (
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// Heap is what the heap did, from the sizes that the runtime writes into the trace. It writes one
// when it gives a processor a new span of memory, so the sizes are right within a few spans for
// each processor.
type Heap struct {
	// Collections is the number of cycles of the collector that ended.
	Collections int64 `json:"collections"`
	// Allocated is by how many bytes the heap grew, an estimate.
	Allocated int64 `json:"allocated"`
	// Live and Peak are sizes in bytes, means over Collections: what lived after one, and the
	// heap when it ended.
	Live int64 `json:"live"`
	Peak int64 `json:"peak"`
}

// heap adds up the sizes of the heap. When marking ends, while the world is stopped, the runtime
// writes how much lives; all other changes are allocations, or parts of spans that are given back.
type heap struct {
	size, before uint64 // the latest sizes; 0: not known
	grown        int64  // by the latest one, as counted
	Heap                // Live and Peak are sums
}

// heapMetric is the name of the runtime for the size of the heap.
const heapMetric = "/memory/classes/heap/objects:bytes"

func (h *heap) metric(e *timeline.Metric, inside bool) {
	h.size, h.before, h.grown = e.Value, h.size, 0
	if inside && h.before > 0 {
		h.grown = int64(h.size - h.before)
		h.Allocated += h.grown
	}
}

// marked notes that marking has ended: the latest size is what lives.
func (h *heap) marked(inside bool) {
	if inside && h.before > 0 {
		h.Allocated -= h.grown
		h.Collections++
		h.Peak += int64(h.before)
		h.Live += int64(h.size)
		h.grown = 0
	}
}

// result returns the means; nil if the trace has no collection.
func (h *heap) result() *Heap {
	if h.Collections == 0 {
		return nil
	}
	out := h.Heap
	out.Live, out.Peak = out.Live/out.Collections, out.Peak/out.Collections
	out.Allocated = max(out.Allocated, 0)
	return &out
}

// Rate returns the bytes allocated a second.
func (h *Heap) Rate(wall time.Duration) float64 {
	if wall <= 0 {
		return 0
	}
	return float64(h.Allocated) / wall.Seconds()
}

// Growth returns by what part of what lives the heap grows until it is collected: what GOGC sets,
// divided by 100, unless the heap is tiny, GOMEMLIMIT is reached, or the program collects by
// itself.
func (h *Heap) Growth() float64 {
	if h.Live == 0 {
		return 0
	}
	return float64(h.Peak-h.Live) / float64(h.Live)
}
