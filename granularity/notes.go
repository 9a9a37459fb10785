package granularity

import (
	"runtime"
	"sync/atomic"

	"github.com/bottleneck-go/bottleneck/internal/cycles"
)

// What a task came to is first noted, and counted when there are many notes or somebody asks: a
// note touches one or two cache lines, where counting touches a dozen, in statistics that the tasks
// themselves may have driven from the cache. There are several places for notes, so that threads
// hardly ever want the same one at the same time.

// note is what one execution came to.
type note struct {
	site  *site
	first int64 // tick at the start of the execution
	wall  int64 // ticks
	self  int64 // cycles
	off   int64 // ticks off the processor
	kind  noteKind
	turns uint8 // how often it let others run, if it has left its thread
}

// noteKind has a bit for each of what follows.
type noteKind uint8

const (
	noteNested     noteKind = 1 << iota // in another task
	noteAggregated                      // into that other task
	noteLeft                            // it has left its thread: self and off are not known
	noteSample                          // it has not, because it was locked, which has cost it time
	noteTypical                         // it has not, because it was locked, at hardly any cost
)

const notesSize = 32

// notes belong to whoever has made them busy.
type notes struct {
	busy uint32
	n    int
	list [notesSize]note
	_    [64]byte // keeps the next one's words off this one's cache line
}

var allNotes [64]notes

// notesOf returns notes, preferably those last used on the thread. They must be released soon.
//
//go:norace
func notesOf(th *cycles.Thread, g uintptr) *notes {
	i := th.Index
	if th.TID == 0 { // all threads are the same one
		i = int(uint64(g) * 0x9e3779b97f4a7c15 >> 58)
	}
	for ; ; i++ {
		if n := &allNotes[i%len(allNotes)]; atomic.CompareAndSwapUint32(&n.busy, 0, 1) {
			return n
		}
	}
}

func (n *notes) release() { publish(&n.busy, 0) }

// next returns a new note.
func (n *notes) next() *note {
	if n.n == len(n.list) {
		n.count()
	}
	n.n++
	return &n.list[n.n-1]
}

// learn counts at once if the site has to learn that its tasks may leave their threads.
func (n *notes) learn(s *site) {
	if s.mode.Load() == 0 {
		n.count()
	}
}

// count counts what was noted so far.
func (n *notes) count() {
	var in *cell
	for i := range n.list[:n.n] {
		note := &n.list[i]
		if c := &note.site.cell; c != in {
			if in != nil {
				in.mu.Unlock()
			}
			in = c
			in.mu.Lock()
		}
		in.add(note)
		note.site = nil // nor does it keep a recorder alive
	}
	if in != nil {
		in.mu.Unlock()
	}
	n.n = 0
}

// countNotes counts what all have noted so far.
func countNotes() {
	for i := range allNotes {
		n := &allNotes[i]
		for !atomic.CompareAndSwapUint32(&n.busy, 0, 1) {
			runtime.Gosched()
		}
		n.count()
		n.release()
	}
}
