package live

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/memory"
)

// A client that reads slowly keeps its answer in memory. So the bytes of all answers that are
// collected or sent have a limit together, and the time to send one has one, too: those who come
// when there is no room are told when to come again.

// room is the memory for snapshots and answers.
type room struct {
	limit int64
	mu    sync.Mutex
	used  int64
}

// defaultMemory is the limit where Options have none.
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

// take takes n bytes, if there are so many. Where nothing is taken, one answer of up to the limit
// can be had.
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
