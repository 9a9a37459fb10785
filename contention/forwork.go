package contention

import "strings"

// ForWork reports whether goroutines waited for others to finish, for the network, for a time, or
// for something to do. Most of such waits cost nothing, however long they are: a main goroutine
// waits for its workers, and a connection that is kept open for the next request. They come after
// what costs in tables.
func (w *Wait) ForWork() bool { return forWork(w.Kind, w.Waiter.Stack) }

// ForWork reports the same as [Wait.ForWork] of the wait that the pair is a part of.
func (q *Pair) ForWork() bool { return forWork(q.Kind, q.Waiter.Stack) }

// ForWork reports the same as [Wait.ForWork] of a wait that went on at the end of the trace.
func (u *Unfinished) ForWork() bool { return forWork(u.Kind, u.Waiter.Stack) }

func forWork(kind Kind, waiter *Stack) bool {
	switch kind {
	case WaitGroupKind, NetworkKind, SleepKind:
		return true
	case ChanReceiveKind, SelectKind, CondKind:
	default:
		return false
	}
	if waiter == nil || len(waiter.Frames) == 0 {
		return false
	}
	// Benchmarks and tests wait for those that they run; connections for requests, answers and
	// their ends.
	for _, of := range []string{"testing.(*", "net/http.(*persistConn).", "net/http.(*conn).", "net/http.(*connReader).", "net/http.(*http2", "os/signal."} {
		if strings.HasPrefix(waiter.Frames[0].Func, of) {
			return true
		}
	}
	return false
}

// OfLock reports whether the wait was for a lock, which another goroutine held: a Mutex, an RWMutex
// or a Once.
func (u *Unfinished) OfLock() bool {
	switch u.Kind {
	case MutexKind, RWMutexWriterKind, RWMutexReaderKind, OnceKind:
		return true
	}
	return false
}
