package contention

import (
	"context"
	rtrace "runtime/trace"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

// logQueue holds messages for the execution trace until no lock is held any more that somebody
// waits for.
type logQueue struct {
	n       atomic.Int32
	mu      sync.Mutex
	waiting [][]string // each the messages of one wait
}

// maxLogQueue bounds the waits that wait to be written. More are left out: a reader of the trace
// has to infer them.
const maxLogQueue = 256

// tracing reports whether waits are to be written to an execution trace.
func (s *session) tracing() bool { return s.live && rtrace.IsEnabled() }

// goid returns the id of the calling goroutine, which waits. Without it, its messages would tell
// nothing; so it may take 5 to 15 µs where there is no assembly, if there is to be a message.
func (s *session) goid() uint64 {
	if s.tracing() {
		return callstack.GoidSlowly()
	}
	return callstack.Goid()
}

// logExit writes who has let go of a lock: the trace has the goroutine and the call chain.
func (s *session) logExit(r *release) {
	for i := range r.chunk.exits {
		if &r.chunk.exits[i] == r.exit {
			b := append(make([]byte, 0, 64), logVersion+" x"...)
			lock, number := r.st.info.id, r.chunk.first+uint64(i)
			b = appendLog(appendLog(appendLog(b, uint64(now())), lock), number)
			rtrace.Log(context.Background(), LogCategory, string(b))
			return
		}
	}
}

// logWait prepares the messages about a wait that was split into parts. The caller holds a.mu.
func (a *account) logWait(w *wait, parts []part, handOff, unattributed, contended int64) {
	if w.kind == kindCond || w.g == 0 || len(parts) > maxLogParts || len(a.logClass) == 0 && !a.classify() {
		return
	}
	m := loggedWait{
		lock: a.info.id, kind: w.kind, flags: w.flags, waiters: uint64(max(0, w.waiters)), goroutine: w.g, start: uint64(w.start),
		waited: w.end - w.start, handOff: handOff, unattributed: unattributed, contended: contended, class: a.logClass,
	}
	if name := a.info.name.Load(); name != nil {
		m.name = *name
	}
	for i := range parts {
		p, h := &parts[i], &a.holders[parts[i].holder]
		if h.chain != nil {
			m.parts = append(m.parts, loggedPart{
				number: h.number, goroutine: h.g, from: p.from - w.start, length: p.to - p.from, ns: p.ns, flags: p.flags | h.flags,
			})
		}
	}
	q := &a.session.logs
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) < maxLogQueue {
		q.waiting = append(q.waiting, m.messages())
		q.n.Store(int32(len(q.waiting)))
	}
}

// classify finds out the class of the lock, once. It returns false if it is not known yet.
func (a *account) classify() bool {
	var l Lock
	a.describe(&l)
	a.logClass = l.Class
	return l.Class != "" // locks that are put together have none
}

// flushLogs writes the messages that wait.
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
			head := logVersion + " p"
			if i == 0 {
				head = logVersion + " w " + sent
			}
			rtrace.Log(ctx, LogCategory, head+m)
		}
	}
}
