package live

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/memory"
	"github.com/bottleneck-go/bottleneck/internal/snapshot"
)

// A server's WriteTimeout bounds the time from the end of a request's header to the end of the
// answer. It is chosen for short answers; a collection takes longer, so it extends the deadline.

// An answer may take writeTime plus its size at leastRate bytes per second: four minutes for a
// trace of 50 MB. A client that reads more slowly is cut off.
const (
	writeTime = 30 * time.Second
	leastRate = 256 << 10
)

// extend extends the deadline for an answer that begins after the time d. If a wrapper of the
// ResponseWriter prevents that, left is the remaining time, and the answer must fit into it.
func extend(w http.ResponseWriter, r *http.Request, d time.Duration) (left time.Duration, bounded bool) {
	timeout := writeTimeout(r)
	if timeout <= 0 {
		return 0, false
	}
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(d + writeTime)); err != nil {
		return timeout, true
	}
	return 0, false
}

// writeTimeout returns the WriteTimeout of the request's server, or 0.
func writeTimeout(r *http.Request) time.Duration {
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
		return s.WriteTimeout
	}
	return 0
}

// sendTime returns the maximum time for sending an answer of n bytes.
func sendTime(n int64) time.Duration { return writeTime + time.Duration(n)*time.Second/leastRate }

// send writes an answer and frees its memory as it proceeds.
func (h *handler) send(w http.ResponseWriter, a content) {
	left := a.size()
	defer func() { h.room.give(left) }()
	w.Header().Set("Content-Length", strconv.FormatInt(left, 10))
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(h.sendTime(left))) // net/http resets it when the answer is complete
	out := writerFunc(func(p []byte) (int, error) {
		n, err := w.Write(p)
		h.room.give(int64(n))
		left -= int64(n)
		return n, err
	})
	if a.trace != nil {
		a.trace.WriteTo(out) // an error means that the client is gone
		return
	}
	out.Write(a.data)
}

// writerFunc is an io.Writer.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// content is the body of an answer: a trace, or data in another format.
type content struct {
	data  []byte
	trace *snapshot.Buffer
}

func (c *content) size() int64 {
	if c.trace != nil {
		return c.trace.Size()
	}
	return int64(len(c.data))
}

// timeoutError returns the error for a collection that exceeds the server's timeout.
func timeoutError(seconds, timeout time.Duration) *problem {
	return &problem{status: http.StatusBadRequest, text: fmt.Sprintf(
		"collecting for %v takes longer than the server's WriteTimeout of %v, and the deadline cannot be moved: a ResponseWriter that wraps another one needs a method Unwrap for that (see http.ResponseController)",
		seconds, timeout)}
}

// A client that reads slowly keeps its answer in memory. So all answers that are being collected or
// sent share a limit on bytes, and each has a time limit. A request that does not fit gets 503 with
// Retry-After.

// room is the memory for snapshots and answers.
type room struct {
	limit int64
	mu    sync.Mutex
	used  int64
}

// defaultMemory is the default limit.
const defaultMemory = 256 << 20

func (opt *Options) memory() int64 {
	switch {
	case opt.MaxMemory > 0:
		return max(opt.MaxMemory, memory.Least)
	case opt.MaxMemory < 0:
		return 1 << 62
	}
	return min(defaultMemory, memory.Default()/2)
}

// take reserves n bytes, or returns an error.
func (r *room) take(n int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n > r.limit && r.limit > 0 {
		return &problem{status: http.StatusServiceUnavailable, retry: time.Minute, text: fmt.Sprintf("the answer takes %s of memory, more than the limit of %s (live.Options.MaxMemory): ask for fewer seconds, or let the recorder keep less", memory.Text(n), memory.Text(r.limit))}
	}
	if r.used > 0 && r.used+n > r.limit {
		return &problem{status: http.StatusServiceUnavailable, retry: 5 * time.Second, text: fmt.Sprintf("answers that are being sent hold %s, and the limit is %s (live.Options.MaxMemory)", memory.Text(r.used), memory.Text(r.limit))}
	}
	r.used += n
	return nil
}

func (r *room) give(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= n
}
