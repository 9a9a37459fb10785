package granularity

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/cycles"
)

// What a task came to is first noted by its thread, in a ring that only the thread writes, and
// counted when the ring is full or somebody asks: a note takes no lock and touches one or two
// cache lines, where counting touches a dozen, in statistics that the tasks themselves may
// have driven from the cache.

// note is what one execution came to.
type note struct {
	site       *site
	first      int64 // tick at the start of the execution
	wall       int64 // ticks
	self       int64 // cycles
	off        int64 // ticks off the processor
	nested     bool  // in another task
	aggregated bool  // into that other task
}

const notesSize = 32 // a power of two

// notes are those of one thread.
type notes struct {
	noted   uint32        // so many; written by the thread alone, with publish
	counted atomic.Uint32 // so many of them; written under mu
	thread  int           // its index, which chooses the shards
	mu      sync.Mutex    // serialises counting
	ring    [notesSize]note
}

// full tells that there is no place for a note before some are counted.
//
//go:norace
func (n *notes) full() bool { return n.noted-n.counted.Load() == notesSize }

// next returns the place of the next note. The caller is on the thread.
//
//go:norace
func (n *notes) next() *note { return &n.ring[n.noted%notesSize] }

// publish makes what next returned a note.
//
//go:norace
func (n *notes) publish() { publish(&n.noted, n.noted+1) }

// count counts what was noted so far. Any goroutine may call it.
func (n *notes) count() {
	n.mu.Lock()
	from, to := n.counted.Load(), atomic.LoadUint32(&n.noted)
	var in *shard
	var c *cell
	for ; from != to; from++ {
		note := &n.ring[from%notesSize]
		if c == nil || c.site != note.site {
			if sh := &note.site.rec.shards[n.thread%shardCount]; sh != in {
				if in != nil {
					in.mu.Unlock()
				}
				in = sh
				in.mu.Lock()
			}
			c = in.cell(note.site)
		}
		c.add(note)
		note.site = nil // nor does it keep a recorder alive
	}
	if in != nil {
		in.mu.Unlock()
	}
	n.counted.Store(to)
	n.mu.Unlock()
}

// shadows has the shadow stack of every thread, by index, to find what the threads have noted.
var shadows struct {
	mu      sync.Mutex
	byIndex []*shadow
}

// newShadow gives the thread its shadow stack: that of the dead thread whose index it has, if there
// was one.
//
//go:norace
func newShadow(th *cycles.Thread) {
	shadows.mu.Lock()
	defer shadows.mu.Unlock()
	for th.Index >= len(shadows.byIndex) {
		shadows.byIndex = append(shadows.byIndex, nil)
	}
	sh := shadows.byIndex[th.Index]
	if sh == nil {
		sh = &shadow{frames: make([]frame, 0, 4)}
		sh.notes.thread = th.Index
		shadows.byIndex[th.Index] = sh
	}
	sh.drop()
	th.Local = unsafe.Pointer(sh)
}

// countNotes counts what all threads have noted so far.
func countNotes() {
	shadows.mu.Lock()
	all := shadows.byIndex[:len(shadows.byIndex):len(shadows.byIndex)]
	shadows.mu.Unlock()
	for _, sh := range all {
		if sh != nil {
			sh.notes.count()
		}
	}
}
