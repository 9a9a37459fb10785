package contention

import (
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/klauspost/compress/s2"
)

// The event file, version 2
//
// A file is the 8 bytes "bnkevt" 0x00 0x02, of which the last is the version, followed
// by an S2 stream (the extension of Snappy's framing format, with checksums) of records.
// A record is one byte that tells its type, and fields. Numbers are unsigned varints,
// or, where marked ±, zigzag varints; times are in ns since the start of the process's
// clock, each as the ± difference from the time before it in the file, except where "0"
// is possible. A string is its length and its bytes. Strings, chains and locks are
// defined before their first use, and numbered 1, 2, 3, … in that order.
//
//	'S' unix-ns±, string            start: wall clock; Go version
//	's' string                      defines a string
//	'c' flags, n, n × (func, file, line, pc)
//	                                defines a call chain, leaf first; func and file are
//	                                strings by number; flag 1: the root is missing
//	'l' id, name, created, first    defines a lock: its number in the process, a string,
//	                                and two chains, each 0 if there is none
//	'n' lock, name, created, first  tells these again, if they have changed
//	'x' lock, number, flags, goroutine, chain, released±, held-back, acquired, gaps
//	                                an exit: flag 1: by a reader; flag 2: in Cond.Wait.
//	                                held-back and acquired are 0, or 1 + how long before
//	                                released; gaps are a part of the time since acquired.
//	                                The same number again replaces the earlier record.
//	'w' lock, kind, flags, goroutine, chain, start±, duration, first, exits, lost, weight, count, waiters
//	                                a wait: for a mutex (kind 0), rwmutex to write (1) or
//	                                to read (2); flag 1: at the end of Cond.Wait; behind
//	                                the exits first+1 … first+exits of this lock
//	                                weight is how often its time counts, count how many
//	                                waits it stands for
//	'u' lock, kind, count, ns       waits that were timed, and are represented by none
//	'k' lock, goroutine, chain, start±, duration, goroutine, chain, signalled
//	                                a Cond.Wait: the waiter; who signalled it, how long
//	                                after start; chain 0 if that is not known
//	'e' duration, in-flight, chains, locks, exits, records
//	                                the end: of the collection; what was in flight; and
//	                                what was dropped
//
// Exits are written when the first wait behind them is settled, so exits that delayed
// nobody's recorded wait are not in the file. A file without an end record was cut off.

const (
	eventMagic   = "bnkevt\x00"
	eventVersion = 2
	eventBuffer  = 64 << 10
	// eventBacklog bounds the records that wait to be written. Waits beyond it are not in the
	// file.
	eventBacklog = 16 << 20
)

// eventWriter writes an event file. The order of the records of one lock is kept by the
// mutex of its account, which is held around the calls.
//
// Options.Events may use locks of this package itself, and whoever has just released a lock may
// hold another one that it needs. So it is called by a goroutine that holds nothing but the mutex
// out, and nobody waits for that but Stop. The goroutine lives for as long as there is enough to
// write.
type eventWriter struct {
	dropped atomic.Uint64 // waits that are not in the file

	out sync.Mutex // taken before mu, and held while s2 is used
	s2  *s2.Writer

	mu      sync.Mutex
	buf     []byte
	spare   []byte // what buf was before it was written
	writing bool   // there is a goroutine that does
	err     error  // the first; nothing is written after it
	closed  bool
	at      int64 // the last time written
	strings map[string]uint64
	chains  map[*callstack.Chain]uint64
	locks   map[*lockInfo]*eventLock
}

// eventLock is what the file says about a lock.
type eventLock struct {
	n              uint64
	name           *string
	created, first *callstack.Chain
}

func newEventWriter(w io.Writer, start time.Time) (*eventWriter, error) {
	if _, err := w.Write(append([]byte(eventMagic), eventVersion)); err != nil {
		return nil, fmt.Errorf("contention: writing the event file: %w", err)
	}
	ev := &eventWriter{
		s2:      s2.NewWriter(w, s2.WriterConcurrency(1), s2.WriterBlockSize(eventBuffer)),
		strings: make(map[string]uint64),
		chains:  make(map[*callstack.Chain]uint64),
		locks:   make(map[*lockInfo]*eventLock),
	}
	ev.buf = append(ev.buf, 'S')
	ev.signed(start.UnixNano())
	ev.text(runtime.Version())
	return ev, nil
}

func (ev *eventWriter) number(v uint64) { ev.buf = binary.AppendUvarint(ev.buf, v) }
func (ev *eventWriter) signed(v int64)  { ev.buf = binary.AppendVarint(ev.buf, v) }

func (ev *eventWriter) text(s string) {
	s = s[:min(len(s), maxText)]
	ev.number(uint64(len(s)))
	ev.buf = append(ev.buf, s...)
}

func (ev *eventWriter) time(at int64) {
	ev.signed(at - ev.at)
	ev.at = at
}

// before writes a time as 1 + how long before at it was; 0 stays 0.
func (ev *eventWriter) before(t, at int64) {
	if t == 0 {
		ev.number(0)
		return
	}
	ev.number(1 + uint64(max(0, at-t)))
}

// stringID returns the number of a string, defining it if it is new.
func (ev *eventWriter) stringID(s string) uint64 {
	n := ev.strings[s]
	if n == 0 {
		n = uint64(len(ev.strings) + 1)
		ev.strings[s] = n
		ev.buf = append(ev.buf, 's')
		ev.text(s)
	}
	return n
}

// chainID returns the number of a call chain, defining it if it is new.
func (ev *eventWriter) chainID(c *callstack.Chain) uint64 {
	if c == nil {
		return 0
	}
	n := ev.chains[c]
	if n != 0 {
		return n
	}
	frames := c.Frames()
	for _, f := range frames {
		ev.stringID(f.Func)
		ev.stringID(f.File)
	}
	n = uint64(len(ev.chains) + 1)
	ev.chains[c] = n
	var flags uint64
	if c.Truncated() {
		flags = 1
	}
	ev.buf = append(ev.buf, 'c')
	ev.number(flags)
	ev.number(uint64(len(frames)))
	for _, f := range frames {
		ev.number(ev.stringID(f.Func))
		ev.number(ev.stringID(f.File))
		ev.number(uint64(f.Line))
		ev.number(uint64(f.PC))
	}
	return n
}

// lockID returns the number of a lock, defining it if it is new.
func (ev *eventWriter) lockID(info *lockInfo) uint64 {
	l := ev.locks[info]
	if l == nil {
		l = &eventLock{n: uint64(len(ev.locks) + 1)}
		ev.locks[info] = l
		ev.lock('l', info.id, l, info)
	}
	return l.n
}

func (ev *eventWriter) lock(record byte, n uint64, l *eventLock, info *lockInfo) {
	l.name, l.created, l.first = info.name.Load(), info.created.Load(), info.first.Load()
	var name uint64
	if l.name != nil {
		name = ev.stringID(*l.name)
	}
	created, first := ev.chainID(l.created), ev.chainID(l.first)
	ev.buf = append(ev.buf, record)
	ev.number(n)
	ev.number(name)
	ev.number(created)
	ev.number(first)
}

// wait writes a wait and those exits that the file does not have. The caller holds
// a.mu, and the exits are complete.
func (ev *eventWriter) wait(a *account, w *wait) {
	ev.mu.Lock()
	defer ev.mu.Unlock()
	if !ev.open() {
		return
	}
	lock := ev.lockID(a.info)
	w.exits(func(k uint64, e *exit) bool {
		if e.written.Load() != a || e.forward != nil {
			e.written.Store(a)
			var h holder
			e.holder(&h)
			ev.exit(lock, k, &h)
		}
		return true
	})
	chain := ev.chainID(w.chain)
	ev.buf = append(ev.buf, 'w')
	ev.number(lock)
	ev.number(uint64(w.kind))
	ev.number(uint64(w.flags & Reacquire))
	ev.number(w.g)
	ev.number(chain)
	ev.time(w.start)
	ev.number(uint64(w.end - w.start))
	ev.number(w.first)
	ev.number(w.last - w.first)
	ev.number(w.lost)
	ev.number(uint64(w.weight))
	ev.number(uint64(w.count))
	ev.number(uint64(w.waiters))
	ev.start()
}

func (ev *eventWriter) exit(lock, k uint64, h *holder) {
	chain := ev.chainID(h.chain)
	var flags uint64
	if h.shared {
		flags |= 1
	}
	if h.flags&InWait != 0 {
		flags |= 2
	}
	ev.buf = append(ev.buf, 'x')
	ev.number(lock)
	ev.number(k)
	ev.number(flags)
	ev.number(h.g)
	ev.number(chain)
	ev.time(h.released)
	ev.before(h.pending, h.released)
	ev.before(h.acquired, h.released)
	ev.number(uint64(h.gaps))
}

// timed writes waits that were timed only. The caller holds a.mu.
func (ev *eventWriter) timed(a *account, kind kindID, count, ns int64) {
	ev.mu.Lock()
	defer ev.mu.Unlock()
	if !ev.open() {
		return
	}
	lock := ev.lockID(a.info)
	ev.buf = append(ev.buf, 'u')
	ev.number(lock)
	ev.number(uint64(kind))
	ev.number(uint64(count))
	ev.number(uint64(ns))
	ev.start()
}

// cond writes a Cond.Wait. The caller holds a.mu.
func (ev *eventWriter) cond(a *account, w *condWait) {
	ev.mu.Lock()
	defer ev.mu.Unlock()
	if !ev.open() {
		return
	}
	lock, chain, signaller := ev.lockID(a.info), ev.chainID(w.chain), ev.chainID(w.signal.chain)
	ev.buf = append(ev.buf, 'k')
	ev.number(lock)
	ev.number(w.g)
	ev.number(chain)
	ev.time(w.start)
	ev.number(uint64(w.end - w.start))
	ev.number(w.signal.g)
	ev.number(signaller)
	ev.number(uint64(max(0, w.signal.released-w.start)))
	ev.start()
}

// open reports whether another wait can be recorded, and counts it if it cannot.
func (ev *eventWriter) open() bool {
	if ev.closed || ev.err != nil || len(ev.buf) > eventBacklog {
		ev.dropped.Add(1)
		return false
	}
	return true
}

// start sees to it that the buffer is written if there is enough in it.
func (ev *eventWriter) start() {
	if len(ev.buf) >= eventBuffer && !ev.writing {
		ev.writing = true
		background.Go(ev.write)
	}
}

// write writes until there is not enough in the buffer.
func (ev *eventWriter) write() {
	ev.out.Lock()
	defer ev.out.Unlock()
	ev.mu.Lock()
	defer ev.mu.Unlock()
	for len(ev.buf) >= eventBuffer {
		ev.flush()
	}
	ev.writing = false
}

// flush passes the buffer on. The caller holds out and mu; others may go on to fill the buffer
// meanwhile.
func (ev *eventWriter) flush() {
	full := ev.buf
	ev.buf, ev.spare = ev.spare[:0], nil
	if ev.err == nil {
		ev.unlocked(func() error { _, err := ev.s2.Write(full); return err })
	}
	ev.spare = full[:0]
}

// unlocked calls f without mu, and remembers the first error.
func (ev *eventWriter) unlocked(f func() error) {
	ev.mu.Unlock()
	var err error
	defer func() {
		ev.mu.Lock()
		if err != nil && ev.err == nil {
			ev.err = fmt.Errorf("contention: writing the event file: %w", err)
		}
	}()
	err = f()
}

// finishEvents ends the event file.
func (s *session) finishEvents() error {
	ev := s.events
	ev.out.Lock() // this may take long, and waits that end meanwhile are not in flight in the file
	defer ev.out.Unlock()
	p := s.snapshot() // settles what can be settled
	ev.mu.Lock()
	defer ev.mu.Unlock()
	ev.closed = true
	for info, l := range ev.locks {
		if info.name.Load() != l.name || info.first.Load() != l.first {
			ev.lock('n', l.n, l, info)
		}
	}
	ev.buf = append(ev.buf, 'e')
	ev.number(uint64(p.Duration))
	ev.number(uint64(p.InFlight))
	ev.number(p.Dropped.Chains)
	ev.number(p.Dropped.Locks)
	ev.number(p.Dropped.Exits)
	ev.number(p.Dropped.Events)
	ev.flush()
	ev.unlocked(ev.s2.Close)
	ev.s2, ev.buf, ev.spare, ev.strings, ev.chains, ev.locks = nil, nil, nil, nil, nil, nil
	return ev.err
}
