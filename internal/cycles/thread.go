package cycles

import (
	"os"
	"sync"
	"sync/atomic"

	"github.com/bottleneck-go/bottleneck/internal/perfevent"
)

// The registry of threads.
//
// Counters belong to threads, and so does what we keep for them: an rseq area,
// and open perf events. A reading must
// find all that in a few nanoseconds, so threads are found by an identity that costs little
// (identity.go for each platform) in an open-addressed table that is read without a lock.
//
// A thread can die without our knowledge: when a goroutine exits while locked
// to it. Its identity may then come again with another thread. The word `life`
// of the thread's area decides: it is not zero while the thread lives,
// and the kernel zeroes it when the thread exits (thread_linux.go). Where an identity is
// a goroutine's (no system call, other systems), it never dies.

// NoThreadState is the environment variable that keeps the package from giving the kernel addresses
// to write to (set_tid_address and rseq), when it is neither empty nor 0. See [WithoutThreadState].
const NoThreadState = "BOTTLENECK_NO_THREAD_STATE"

// noThreadState: threads are registered with the registry only, not with the kernel.
var noThreadState = func() *atomic.Bool {
	v := os.Getenv(NoThreadState)
	off := new(atomic.Bool)
	off.Store(v != "" && v != "0")
	return off
}()

// WithoutThreadState keeps the package from then on from giving the kernel addresses to write to,
// and returns a clock that does without: the best source of the ladder but for the rseq clock.
// Threads that have measured something before keep theirs. An earlier [Default] that is the rseq
// clock goes on, at the price of the thread clock.
func WithoutThreadState() *Clock {
	threads.mu.Lock()
	noThreadState.Store(true)
	identifyByNumber()
	threads.mu.Unlock()
	if c := Default(); !c.rseq {
		return c
	}
	return second()
}

// second is the clock beside a [Default] that is the rseq clock.
func second() *Clock { return theSecond.Get(open) }

// A Thread is the state of one thread. It is made by the first
// reading on the thread.
type Thread struct {
	// Index is a small number of its own for each living thread.
	Index int
	// TID is the system's number of the thread; 0 where it is not known.
	TID   int
	id    uintptr
	life  uint32 // what area.life is while the thread lives
	area  *area
	event atomic.Pointer[perfevent.Event]
}

// alive reports whether the thread that was registered still lives.
// The area of a dead one may have gone to another.
func (th *Thread) alive() bool { return atomic.LoadUint32(&th.area.life) == th.life }

// table is the registry; slots holds a power of two of threads, at most half full.
type table struct {
	slots atomic.Pointer[[]atomic.Pointer[Thread]]
	// recent finds most threads by following fewer pointers than slots.
	recent [256]atomic.Pointer[Thread]

	mu    sync.Mutex // serialises all that follows
	count int        // occupied slots
	next  int        // the first Index never given
	free  []*Thread  // dead threads whose Index and area can be used again
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

// lately returns the thread that was registered last of those that share the identity's place among
// the recent; nil when there is none. Whether it has the identity, and lives, is for the caller to
// see.
func (t *table) lately(id uintptr) *Thread { return t.recent[hash(id)%uintptr(len(t.recent))].Load() }

// hash spreads identities, which are addresses or small numbers.
func hash(id uintptr) uintptr { return uintptr(uint64(id) * 0x9e3779b97f4a7c15 >> 40) }

// current returns the calling thread, and registers it when it is new.
func (t *table) current() *Thread {
	id := identity()
	if th := t.find(id); th != nil {
		return th
	}
	return t.register(id)
}

// register makes the calling thread known. If its identity belonged to a dead
// thread, it takes over the slot.
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

// rebuild drops the dead and doubles the table if that was not enough.
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

// bury gives back what a dead thread held. The table's recent threads and callers may have kept the
// Thread: it must not seem to live, as it would where its life was not zeroed, when the system
// gives its identity to another thread.
func (t *table) bury(th *Thread) {
	atomic.StoreUint32(&th.area.life, 0)
	if e := th.event.Swap(nil); e != nil {
		e.Close()
	}
	t.free = append(t.free, th)
}
