package contention

import (
	"context"
	rtrace "runtime/trace"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/waitlog"
)

// logQueue holds messages for the execution trace until the lock is released.
type logQueue struct {
	n       atomic.Int32
	mu      sync.Mutex
	waiting [][]string // each element has the messages of one wait
}

// maxLogQueue bounds the waits in the queue. More are dropped: the analysis of the trace infers
// them.
const maxLogQueue = 256

// tracing reports whether an execution trace is being recorded. If so, waits are logged in it.
func (s *session) tracing() bool { return rtrace.IsEnabled() }

// goid returns the ID of the calling goroutine, which waits. Messages are useless without it, so
// while a trace is recorded, it may take 5 to 15 µs on platforms without assembly.
func (s *session) goid() uint64 {
	if s.tracing() {
		return callstack.GoidSlowly()
	}
	return callstack.Goid()
}

// logExit logs that the caller has released a lock: the trace has its goroutine and call chain.
func (s *session) logExit(r *release) {
	b := append(make([]byte, 0, 64), waitlog.Version+" x"...)
	for _, v := range [...]uint64{uint64(now()), r.st.info.id, r.number} {
		b = waitlog.AppendNumber(b, v)
	}
	rtrace.Log(context.Background(), waitlog.Category, string(b))
}

// logWait prepares the messages about a wait that has been settled. The caller holds a.mu.
func (a *account) logWait(w *wait, unattributed, contended int64) {
	if w.kind == kindCond || w.g == 0 || w.last-w.first > waitlog.MaxOwners || len(a.logClass) == 0 && !a.classify() {
		return
	}
	m := waitlog.Wait{
		Lock: a.info.id, Kind: uint8(w.kind), Reacquire: w.flags&Reacquire != 0, Waiters: uint64(max(0, w.waiters)), Goroutine: w.g, Start: uint64(w.start),
		Waited: w.end - w.start, Unattributed: unattributed, Contended: contended, Class: a.logClass,
	}
	if name := a.info.name.Load(); name != nil {
		m.Name = *name
	}
	exclusiveTo := int64(0)
	for e, c, k := (*exit)(nil), w.pinned, w.first+1; k <= w.last; k++ {
		e, c = a.sums.exit(c, k)
		m.Parts, exclusiveTo = a.sums.appendLog(m.Parts, w, e, k, exclusiveTo)
	}
	// Parts of holds during which the owner waited are rounded, and if exits are missing, the parts of
	// others may be more than is known of the wait.
	m.HandOff = m.Waited - m.Unattributed
	for i := range m.Parts {
		p := &m.Parts[i]
		p.NS = min(p.NS, m.HandOff)
		m.HandOff -= p.NS
	}
	q := &a.session.logs
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) < maxLogQueue {
		q.waiting = append(q.waiting, m.Messages())
		q.n.Store(int32(len(q.waiting)))
	}
}

// logFlags returns the flags of an owner in the form of messages.
func logFlags(f uint32) (out waitlog.Flags) {
	for bit, flag := range [...]uint32{ReadOwner, PendingWriter, InWait} {
		if f&flag != 0 {
			out |= 1 << bit
		}
	}
	return out
}

// classify sets logClass to the class of the lock. It returns false if the class is not yet known.
func (a *account) classify() bool {
	a.logClass = a.info.class()
	return a.logClass != "" // combined locks have none
}

// flushLogs writes the queued messages.
func (s *session) flushLogs() {
	q := &s.logs
	if q.n.Load() == 0 {
		return
	}
	q.mu.Lock()
	waiting := q.waiting
	q.waiting = nil
	q.n.Store(0)
	q.mu.Unlock()
	ctx := context.Background()
	for _, messages := range waiting {
		sent := strconv.FormatUint(uint64(now()), 36)
		for i, m := range messages {
			head := waitlog.Version + " p"
			if i == 0 {
				head = waitlog.Version + " w " + sent
			}
			rtrace.Log(ctx, waitlog.Category, head+m)
		}
	}
}
