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
// finds it by an inexpensive identity (identity_*.go) in an open-addressed table that is read
// without a lock. If a thread exits, another one may get its identity. The word `life` of the
// thread's area decides: the kernel zeroes it when the thread exits (rseq_linux.go).

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

// table is the registry. slots has a power-of-two length and is at most half full.
type table struct {
	slots atomic.Pointer[[]atomic.Pointer[Thread]]
	// recent finds most threads through fewer pointers than slots.
	recent [256]atomic.Pointer[Thread]

	mu    sync.Mutex // serializes the following
	count int        // occupied slots
	next  int        // the first unused Index
	free  []*Thread  // dead threads whose Index and area can be reused
}

var threads = newTable()

func newTable() *table {
	t := new(table)
	slots := make([]atomic.Pointer[Thread], 64)
	t.slots.Store(&slots)
	return t
}

// find returns the living thread with the identity, or nil.
func (t *table) find(id uintptr) *Thread {
	slots := *t.slots.Load()
	mask := uintptr(len(slots) - 1)
	for i := hash(id); ; i++ {
		th := slots[i&mask].Load()
		if th == nil {
			return nil
		}
		if th.id == id {
			if th.alive() {
				return th
			}
			return nil
		}
	}
}

// lately returns the thread registered last among those that share the identity's entry in recent,
// or nil. The caller must check that it has the identity and is alive.
func (t *table) lately(id uintptr) *Thread { return t.recent[hash(id)%uintptr(len(t.recent))].Load() }

// hash spreads identities, which are addresses or small numbers.
func hash(id uintptr) uintptr { return uintptr(uint64(id) * 0x9e3779b97f4a7c15 >> 40) }

// current returns the calling thread, registering it if it is new.
func (t *table) current() *Thread {
	id := identity()
	if th := t.find(id); th != nil {
		return th
	}
	return t.register(id)
}

// register registers the calling thread. If its identity belonged to a dead thread, it reuses the
// slot.
func (t *table) register(id uintptr) *Thread {
	t.mu.Lock()
	defer t.mu.Unlock()
	if 2*(t.count+1) > len(*t.slots.Load()) {
		t.rebuild()
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
	t.insert(th)
	return th
}

// insert puts the thread into its slot.
func (t *table) insert(th *Thread) {
	slots := *t.slots.Load()
	mask := uintptr(len(slots) - 1)
	for i := hash(th.id); ; i++ {
		slot := &slots[i&mask]
		old := slot.Load()
		if old != nil && old.id != th.id {
			continue
		}
		if old == nil {
			t.count++
		} else {
			t.bury(old)
		}
		slot.Store(th)
		t.recent[hash(th.id)%uintptr(len(t.recent))].Store(th)
		return
	}
}

// rebuild drops dead threads and doubles the table if that was not enough.
func (t *table) rebuild() {
	old := *t.slots.Load()
	var living []*Thread
	for i := range old {
		switch th := old[i].Load(); {
		case th == nil:
		case th.alive() && th.area.exists(th.TID):
			living = append(living, th)
		default:
			t.bury(th)
		}
	}
	size := len(old)
	for 4*(len(living)+1) > size {
		size *= 2
	}
	slots := make([]atomic.Pointer[Thread], size)
	mask := uintptr(size - 1)
	for _, th := range living {
		i := hash(th.id)
		for slots[i&mask].Load() != nil {
			i++
		}
		slots[i&mask].Store(th)
	}
	t.count = len(living)
	t.slots.Store(&slots)
}

// bury releases the state of a dead thread. The table's recent threads and callers may still refer
// to the Thread. It must not appear alive when the system gives its identity to another thread, as
// it would if its life was not zeroed.
func (t *table) bury(th *Thread) {
	atomic.StoreUint32(&th.area.life, 0)
	if e := th.event.Swap(nil); e != nil {
		e.Close()
	}
	t.free = append(t.free, th)
}
