package live

import (
	"fmt"
	"net/http"
	"time"
)

// A server's WriteTimeout bounds the time from the end of a request's header to the end of the answer. It is chosen
// for answers that are at hand; a collection takes longer, so the deadline is moved.

// writeTime is how long a client may take for a part of an answer, once it is there.
const (
	writeTime = 30 * time.Second
	writePart = 1 << 20
)

// extend makes room for an answer that takes the time d until it begins. Where the deadline cannot be moved, because something
// around the ResponseWriter hides it, left is how much time there is, and the answer must do with it.
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

// writeTimeout is the WriteTimeout of the server that a request came to; 0 if it has none.
func writeTimeout(r *http.Request) time.Duration {
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
		return s.WriteTimeout
	}
	return 0
}

// send writes an answer. Where the server bounds the time to write, each part of it has its own.
func send(w http.ResponseWriter, r *http.Request, body []byte) {
	bounded := writeTimeout(r) > 0
	control := http.NewResponseController(w)
	for len(body) > 0 {
		n := min(len(body), writePart)
		if bounded {
			control.SetWriteDeadline(time.Now().Add(writeTime)) // if not, the server's own holds
		}
		if _, err := w.Write(body[:n]); err != nil {
			return // the client has gone
		}
		body = body[n:]
	}
}

// timeoutError tells that there is no time to collect for so long.
func timeoutError(seconds, timeout time.Duration) *problem {
	return &problem{status: http.StatusBadRequest, text: fmt.Sprintf(
		"collecting for %v takes longer than the server's WriteTimeout of %v, and the deadline cannot be moved: a ResponseWriter that wraps another one needs a method Unwrap for that (see http.ResponseController)",
		seconds, timeout)}
}
