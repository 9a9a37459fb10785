package contention

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

// Waits in progress
//
// A wait is booked when it is over. To show those in progress, each recorded waiter takes a place
// at its lock while it waits: by the number of its goroutine, or one of the next three. A
// lock has 128 places. A waiter that finds its places taken is in InFlight, but in no row of
// Profile.Unfinished.
//
// The holder of the lock, and since when it has held it, is known if it has waited for the lock
// itself and that wait was recorded. An owner that got the lock at once leaves no trace.

const (
	flightBlock  = 16
	flightBlocks = 8
	// leastFlight is the minimum length of a wait in Profile.Unfinished, in ns. Shorter ones end
	// soon.
	leastFlight = int64(10 * time.Millisecond)
)

// flight is a wait in progress.
type flight struct {
	_ incomparable

	since atomic.Int64 // 0: the place is free; -1: it is being filled
	chain atomic.Pointer[callstack.Chain]
	g     atomic.Uint64
	kind  atomic.Uint32
}

// flights has the waits in progress for a lock, and its holder.
type flights struct {
	blocks  [flightBlocks]atomic.Pointer[[flightBlock]flight]
	holder  atomic.Pointer[callstack.Chain] // of since
	holderG atomic.Uint64
	since   atomic.Int64 // when the holder got the lock; 0 if it is unknown
}

// begin gives w a place, if one is free.
func (f *flights) begin(w *wait) {
	n := w.g
	if n == 0 { // it is unknown here: w is on the goroutine's own stack
		n = uint64(uintptr(unsafe.Pointer(w))) >> 8
	}
	for try := range uint64(4) {
		n := (n + try) % (flightBlock * flightBlocks)
		block := f.blocks[n/flightBlock].Load()
		if block == nil {
			f.blocks[n/flightBlock].CompareAndSwap(nil, new([flightBlock]flight))
			block = f.blocks[n/flightBlock].Load()
		}
		place := &block[n%flightBlock]
		if !place.since.CompareAndSwap(0, -1) {
			continue
		}
		place.chain.Store(w.chain)
		place.g.Store(w.g)
		place.kind.Store(uint32(w.kind))
		place.since.Store(w.start)
		w.flight = place
		return
	}
}

// over frees the place of w.
func (w *wait) over() {
	if w.flight != nil {
		w.flight.since.Store(0)
		w.flight = nil
	}
}

// holds notes that w is over and that its goroutine now has the lock. The caller sets since.
func (f *flights) holds(w *wait) {
	f.holderG.Store(w.g)
	f.holder.Store(w.chain)
}

// unfinished adds the waits in progress to the profile.
func (a *account) unfinished(p *Profile, lock *Lock) {
	s, at, f := a.session, now(), &a.info.flights
	s.mu.Lock()
	until := s.stop // 0 unless the session is over
	s.mu.Unlock()
	name, rows := &Lock{Name: lock.String()}, sumRows{}
	for i := range f.blocks {
		block := f.blocks[i].Load()
		if block == nil {
			continue
		}
		for j := range block {
			place := &block[j]
			since := place.since.Load()
			chain, g, kind := place.chain.Load(), place.g.Load(), kindID(place.kind.Load())
			if since < s.start || at-since < leastFlight || place.since.Load() != since || until != 0 && since > until {
				continue
			}
			waited := time.Duration(at - since)
			rows.row(rowKey{kind: kinds[kind], lock: name, waiter: s.party(chain, a.idOf(g))}).Add(&Wait{Contentions: 1, Waited: waited, Longest: waited})
		}
	}
	for i := range rows.list {
		a.holder(&rows.list[i], at)
	}
	p.Unfinished = append(p.Unfinished, rows.list...)
}

// holder sets the holder of the lock, and for how long it has held it at an instant, if they are
// known.
func (a *account) holder(u *Wait, at int64) {
	f := &a.info.flights
	since := f.since.Load()
	chain, g := f.holder.Load(), f.holderG.Load()
	if since != 0 && f.since.Load() == since { // the lock has not changed hands in between
		u.Owner, u.Held = a.session.party(chain, a.idOf(g)), time.Duration(max(0, at-since))
	}
}
