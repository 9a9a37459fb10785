package cycles

import (
	"os"
	"sync"
	"sync/atomic"

	"github.com/bottleneck-go/bottleneck/internal/perfevent"
)

// The registry of threads.
//
// Counters belong to threads, and so does their state: an rseq area and open perf events. A reading
// finds it by an inexpensive identity (identity_*.go). If a thread exits, another one may get its
// identity. The word `life` of the thread's area decides: the kernel zeroes it when the thread exits
// (rseq_linux.go).

// NoThreadState is an environment variable. If it is neither empty nor 0, the package does not
// register addresses with the kernel (set_tid_address and rseq), and the ladder skips the rseq
// clock.
const NoThreadState = "BOTTLENECK_NO_THREAD_STATE"

var noThreadState = os.Getenv(NoThreadState) != "" && os.Getenv(NoThreadState) != "0"

// A Thread is the state of one thread. The first reading on the thread creates it.
type Thread struct {
	// Index is a small number, unique among living threads.
	Index int
	// TID is the system's thread ID; 0 if unknown.
	TID   int
	id    uintptr
	life  uint32 // value of area.life while the thread lives
	area  *area
	event atomic.Pointer[perfevent.Event]
}

// alive reports whether the registered thread still lives. The area of a dead thread may belong to
// another.
func (th *Thread) alive() bool { return atomic.LoadUint32(&th.area.life) == th.life }

// table is the registry.
type table struct {
	// recent has the thread found last of those that share an entry, and so most threads.
	recent [256]atomic.Pointer[Thread]

	mu      sync.Mutex          // guards the following
	all     map[uintptr]*Thread // by identity
	sweepAt int                 // the size of all at which dead threads are removed
	next    int                 // the first unused Index
	free    []*Thread           // dead threads whose Index and area can be reused
}

var threads = newTable()

func newTable() *table { return &table{all: map[uintptr]*Thread{}, sweepAt: 32} }

// lately returns the thread in the identity's entry of recent, or nil. The caller must check that it
// has the identity and is alive.
func (t *table) lately(id uintptr) *Thread { return t.entry(id).Load() }

// entry spreads identities, which are addresses or small numbers.
func (t *table) entry(id uintptr) *atomic.Pointer[Thread] {
	return &t.recent[uint64(id)*0x9e3779b97f4a7c15>>40%uint64(len(t.recent))]
}

// current returns the calling thread, registering it if it is new.
func (t *table) current() *Thread {
	id := identity()
	if th := t.lately(id); th != nil && th.id == id && th.alive() {
		return th
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	th := t.all[id]
	if th == nil || !th.alive() {
		th = t.register(id)
	}
	t.entry(id).Store(th)
	return th
}

// register registers the calling thread. The caller holds t.mu.
func (t *table) register(id uintptr) *Thread {
	if len(t.all) >= t.sweepAt {
		t.sweep()
	}
	th := &Thread{id: id}
	if n := len(t.free); n > 0 {
		th.Index, th.area = t.free[n-1].Index, t.free[n-1].area
		t.free = t.free[:n-1]
		*th.area = area{}
	} else {
		th.Index, th.area = t.next, newArea()
		t.next++
	}
	th.TID = th.area.enter()
	th.life = th.area.life
	if dead := t.all[id]; dead != nil {
		t.bury(dead)
	}
	t.all[id] = th
	return th
}

// sweep removes dead threads.
func (t *table) sweep() {
	for _, th := range t.all {
		if !th.alive() || !th.area.exists(th.TID) {
			t.bury(th)
		}
	}
	t.sweepAt = max(32, 2*len(t.all))
}

// bury releases the state of a dead thread. The table's recent threads and callers may still refer
// to the Thread. It must not appear alive when the system gives its identity to another thread, as
// it would if its life was not zeroed.
func (t *table) bury(th *Thread) {
	atomic.StoreUint32(&th.area.life, 0)
	if e := th.event.Swap(nil); e != nil {
		e.Close()
	}
	delete(t.all, th.id)
	t.free = append(t.free, th)
}
