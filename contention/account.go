package contention

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
	"github.com/bottleneck-go/bottleneck/internal/waitlog"
)

// kindID is a Kind in a form that is cheap to copy and compare.
type kindID uint8

const (
	kindMutex  kindID = waitlog.Mutex
	kindWriter kindID = waitlog.Writer
	kindReader kindID = waitlog.Reader
	kindCond   kindID = kindReader + 1
)

var kinds = [...]string{kindMutex: MutexKind, kindWriter: RWMutexWriterKind, kindReader: RWMutexReaderKind, kindCond: CondKind}

// account is the data that one session has recorded for one lock. It is used only after locks are
// released, so its mutex prolongs no critical section of the program.
type account struct {
	session *session
	info    *lockInfo
	begun   atomic.Int64 // number of waits that were registered
	rw      bool         // of an RWMutex

	unrecorded atomic.Pointer[timedWaits] // see sampling.go

	mu        sync.Mutex
	settled   int64
	waits     map[waitKey]*waitCell
	pairs     map[pairKey]*pairCell
	missed    uint64 // exits that happened during waits and were not recorded
	waiters   int32  // maximum number of simultaneous waiters
	longest   int64
	contended int64 // the time in which the lock was held while a goroutine waited

	deferred []wait // the waits behind an owner whose call chain is not yet known
	oldest   uint64 // the exits that they may need come after this one
	sums     sums
	lost     []part // this and the next two are scratch memory
	found    []waitedPiece
	pieces   []waitedPiece
	logClass string // see logwrite.go

	forgotten bool // nothing is booked anymore
}

const (
	// maxDeferred bounds the deferred waits. Beyond it, time with an unknown owner is
	// unattributed.
	maxDeferred = 1 << 14
	// maxDeferredExits bounds the exits that they pin. An owner may be in Cond.Wait for hours,
	// and may never unlock after it.
	maxDeferredExits = chunkExits * maxChunks / 2
)

type waitKey struct {
	chain *callstack.Chain
	g     uint64
	kind  kindID
	flags uint32
}

type pairKey struct {
	waiter, owner   *callstack.Chain
	waiterG, ownerG uint64
	kind            kindID
	flags           uint32
}

type waitCell struct {
	count, observed                       int64
	waited, blamed, handOff, unattributed int64
	longest                               int64
	variance                              float64 // of waited, in ns²
	long                                  unowned

	latest []latestPair // some of its pairs, to save map lookups
	next   int          // index of the next one to replace
}

const mostLatest = 8

type latestPair struct {
	owner  *callstack.Chain
	ownerG uint64
	flags  uint32
	pair   *pairCell
}

// stdErr returns the standard error of waited. It is 0 for waits that were only timed: their total
// is exact.
func (c *waitCell) stdErr(k waitKey, missing time.Duration) time.Duration {
	if k.chain == unsampled {
		return 0
	}
	return rowError(k.flags, c.variance, missing)
}

type pairCell struct {
	_ incomparable

	count, blamed, longest int64
	// wait is the number of the latest wait, and inWait the time that it lost to the owner.
	wait, inWait int64
	variance     float64    // of blamed, in ns²
	unsure       int64      // time that may be the owner's
	roots        *pairRoots // nil if the owner was never seen to be blocked
}

// add settles a finished wait, at once or when all its owners are known.
func (a *account) add(w *wait) {
	a.mu.Lock()
	a.represent(w)
	if len(a.deferred) > 0 && w.last > a.oldest+maxDeferredExits {
		a.settleDeferred(true)
	}
	if a.forgotten {
		w.pinned.pins.Add(-1)
	} else if !a.settle(w, len(a.deferred) >= maxDeferred) {
		a.putAside(w)
	}
	a.mu.Unlock()
	// Otherwise the caller holds a lock that others wait for.
	if w.kind != kindReader || w.waiters <= 1 {
		a.session.flushLogs()
	}
}

// forget drops everything except what other goroutines may read.
func (a *account) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.deferred {
		a.deferred[i].pinned.pins.Add(-1)
	}
	a.forgotten = true
	a.deferred, a.waits, a.pairs = nil, nil, nil
	a.sums, a.lost, a.found, a.pieces = sums{}, nil, nil, nil
}

// putAside defers a wait.
func (a *account) putAside(w *wait) {
	if len(a.deferred) == 0 || w.first < a.oldest {
		a.oldest = w.first
	}
	a.deferred = append(a.deferred, *w)
}

// retry is settleDeferred for callers that do not hold a.mu. It returns the number of waits left.
func (a *account) retry(final bool) (left int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.settleDeferred(final)
	return len(a.deferred)
}

// settleDeferred settles the deferred waits whose owners are known. If final is set, it also
// settles those for which only the Unlock after a Cond.Wait is missing.
func (a *account) settleDeferred(final bool) {
	all := a.deferred
	a.deferred = all[:0]
	for i := range all {
		w := &all[i]
		force := final && w.missing.chain.Load() != nil
		if !(force || w.missing.known()) || !a.settle(w, force) {
			a.putAside(w)
		}
	}
	clear(all[len(a.deferred):])
}

// settle divides w among its owners and books the parts. If the call chain of an owner is still
// missing, it returns false and requests a call of retry once it is set, unless force is set.
func (a *account) settle(w *wait, force bool) bool {
	if w.missing = a.sums.extend(a, w, force); w.missing != nil {
		return false
	}
	a.book(w)
	w.pinned.pins.Add(-1)
	return true
}

// book adds what w has lost, by the sums, to the cells.
func (a *account) book(w *wait) {
	a.settled++
	if w.weight > 1 || w.count > 1 {
		w.flags |= Estimated
	}
	var contended int64
	a.lost, contended = a.sums.lost(w, a.lost[:0])
	// The other waits that it represents may have been for the same holds.
	a.contended += contended * max(1, w.weight/max(1, int64(w.waiters)))
	for i := range a.lost {
		if a.lost[i].variance != 0 {
			w.flags |= Estimated
			a.session.markSampled()
			break
		}
	}
	k, c := a.cellOf(a.keyOf(w))
	free := w.end - w.start
	var blamed, unknown int64
	for i := range a.lost {
		l := &a.lost[i]
		free -= l.held
		unknown += l.unknown
		if l.owner == nil {
			unknown += l.held
		} else {
			a.blame(w, k, c, l)
			blamed += l.held
		}
		a.piece(w, l.root, l.rootG, l.links+1, l.from, l.to, l.held)
	}
	rest := w.end - w.start - blamed
	unattributed := min(unknown, rest)
	if len(a.lost) == 0 || w.lost > 0 {
		// An owner held the lock and left no exit.
		unattributed = rest
		a.missed += w.lost
	}
	if a.session.tracing() {
		a.logWait(w, unattributed, contended)
	}
	a.remember(w, free, len(a.lost) == 0 || w.lost > 0)
	c.count += w.count
	handOff := rest - unattributed
	c.observed++
	c.waited += w.took() * w.weight
	c.variance += variance(w.weight-w.long, 0, w.took())
	c.blamed += blamed * w.weight
	c.handOff += handOff * w.weight
	c.unattributed += unattributed * w.weight
	c.longest = max(c.longest, w.took())
	a.longest = max(a.longest, w.took())
	a.waiters = max(a.waiters, w.waiters)
}

// blame adds what w has lost to the cell of the pair.
func (a *account) blame(w *wait, k waitKey, c *waitCell, l *part) {
	if l.held == 0 && l.variance == 0 {
		return
	}
	pair := a.pairOf(c, pairKey{waiter: k.chain, waiterG: k.g, owner: l.owner, ownerG: l.ownerG, kind: k.kind, flags: k.flags | l.flags})
	if pair.wait != a.settled {
		pair.wait, pair.inWait = a.settled, 0
		pair.count += w.count
	}
	pair.variance += variance(w.weight, pair.inWait, pair.inWait+l.held)
	pair.inWait += l.held
	pair.blamed += l.held * w.weight
	pair.longest = max(pair.longest, pair.inWait)
	if l.variance != 0 {
		// All waits behind those holds share this error. There are at most as many as waiters, and
		// all may be in this row: then this sums to the square of their number.
		pair.variance += l.variance * float64(w.weight) * float64(2*max(w.weight, int64(w.waiters))-1)
		pair.unsure += l.unsure * w.weight
	}
	if !l.blocked || l.held == 0 {
		return
	}
	if pair.roots == nil {
		pair.roots = new(pairRoots)
	}
	pair.roots.blocked[l.via] += l.held * w.weight
	if l.links > 0 {
		pair.roots.add(pairCause{chain: l.root, g: l.rootG, via: l.via, links: l.links, count: w.count, ns: l.held * w.weight, wait: a.settled})
	}
}

// idOf returns the ID of a goroutine if rows are separated by it.
func (a *account) idOf(g uint64) uint64 {
	if a.session.options.Goroutines {
		return g
	}
	return 0
}

// keyOf returns the key of the row of w.
func (a *account) keyOf(w *wait) waitKey {
	return waitKey{chain: w.chain, g: a.idOf(w.g), kind: w.kind, flags: w.flags}
}

// cellOf returns the cell of a row and its key. If there is no room for a new cell, it returns the
// cell of the dropped.
func (a *account) cellOf(k waitKey) (waitKey, *waitCell) {
	c := a.waits[k]
	if c == nil && !a.session.room() {
		k.chain, k.g = a.session.chains().Rest(), 0
		c = a.waits[k]
	}
	if c == nil {
		c = new(waitCell)
		a.waits[k] = c
	}
	return k, c
}

// pairOf returns the cell of a pair of the waiter's cell c. If there is no room for a new cell, it
// returns the cell of the waiter and the dropped owners. Thus the pairs of a waiter still sum to
// what it lost, and there is at most one such cell per waiter's cell.
func (a *account) pairOf(c *waitCell, k pairKey) *pairCell {
	for i := range c.latest {
		if l := &c.latest[i]; l.owner == k.owner && l.flags == k.flags && l.ownerG == k.ownerG {
			return l.pair
		}
	}
	if len(c.latest) < mostLatest {
		c.latest = append(c.latest, latestPair{})
		c.next = len(c.latest) - 1
	}
	latest := &c.latest[c.next]
	c.next = (c.next + 1) % mostLatest
	latest.owner, latest.ownerG, latest.flags = k.owner, k.ownerG, k.flags
	latest.pair = a.pairs[k]
	if latest.pair == nil && !a.session.room() {
		k.owner, k.ownerG = a.session.chains().Rest(), 0
		latest.pair = a.pairs[k]
	}
	if latest.pair == nil {
		latest.pair = new(pairCell)
		a.pairs[k] = latest.pair
	}
	return latest.pair
}

// The name and the ID of the entry for all locks beyond Options.MaxLocks, or beyond those that
// [Profile.Top] keeps. The ID is larger than those of locks, and an exact integer in JavaScript.
const (
	otherLocks   = "[other locks]"
	otherLocksID = 1<<53 - 1
)

// SeveralLocks is the name of an entry of Profile.Locks that combines several locks which a trace
// does not distinguish.
const SeveralLocks = "[several locks]"

// lockInfo identifies a lock. The accounts of a session keep it longer than the lock exists.
type lockInfo struct {
	_ incomparable

	id      uint64
	name    atomic.Pointer[string]
	created atomic.Pointer[callstack.Chain]
	first   atomic.Pointer[callstack.Chain] // the first waiter's
	flights flights
}

var lockIDs atomic.Uint64

func newLockInfo() *lockInfo { return &lockInfo{id: lockIDs.Add(1)} }

// lasting has the call chains of the New functions, which may be called before Start. It is a small
// table that is made at first use; sync.OnceValue takes 1 kB more code.
var lasting struct {
	once sync.Once
	t    *callstack.Table
}

func lastingChains() *callstack.Table {
	lasting.once.Do(func() { lasting.t = callstack.NewTable(1 << 12) })
	return lasting.t
}

// firstSeen records the call chain of the lock's first waiter, which is above frame.
func (a *account) firstSeen(chain *callstack.Chain, frame unsafe.Pointer) {
	if a.info.first.Load() == nil {
		if chain == noChain {
			chain = lastingChains().CaptureAbove(frame)
		}
		a.info.first.CompareAndSwap(nil, chain)
	}
}

// class returns the type whose method first waited for the lock, and the place where a New function
// made it, as in "example.com/lru.Cache (New:12)". If no function made it, that is the type alone,
// or the function that waited if it is not a method; if a function waited, the place alone.
func (i *lockInfo) class() string {
	waiter, made := "", ""
	if c := i.first.Load(); c != nil && i.id != otherLocksID {
		if f := c.Frames(); len(f) > 0 {
			waiter = f[0].Func
		}
	}
	if c := i.created.Load(); c != nil {
		if f := c.Frames(); len(f) > 0 {
			made = f[0].Func + ":" + strconv.Itoa(f[0].Line)
		}
	}
	switch {
	case waiter != "" && made == "":
		return symbol.Receiver(waiter)
	case strings.Contains(waiter, ".(*"):
		return symbol.Receiver(waiter) + " (" + strings.TrimPrefix(made, symbol.Package(waiter)+".") + ")"
	}
	return made
}
