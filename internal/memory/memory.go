// Package memory keeps a pass over a trace, and the command, below a memory limit.
//
// A [Meter] watches the bytes of heap objects, including garbage. When they reach six tenths of the
// limit, it runs the garbage collector, and if the live objects still exceed that, it reports that
// the limit is exceeded. The rest of the limit is for allocations between two checks, tables that
// grow by being copied, results, and the overhead of the runtime. A check takes half a microsecond;
// callers check after every 64 kB of input and every few thousand events.
package memory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// ErrLimit is the error of an operation that would need more memory than the limit.
var ErrLimit = errors.New("memory limit exceeded")

// Least is the smallest accepted limit. Below it, very few traces can be read.
const Least = 32 << 20

// Default returns the limit if none is given: half of the memory of the machine, or of the cgroup
// if that is less; 2 GB if neither is known.
func Default() int64 { return defaultLimit() }

var defaultLimit = sync.OnceValue(func() int64 {
	limit := int64(2e9)
	if total := total(); total > 0 {
		limit = total / 2
	}
	if strconv.IntSize == 32 {
		limit = min(limit, 1e9) // of the address space
	}
	return max(limit, Least)
})

type limitKey struct{}

// WithLimit returns a context whose passes use the limit if their options have none.
func WithLimit(ctx context.Context, limit int64) context.Context {
	return context.WithValue(ctx, limitKey{}, limit)
}

// ForPass returns a meter for a pass. It counts allocations from now on, or the whole process if
// the limit is that of the context and not of the pass's options.
func ForPass(ctx context.Context, option int64) *Meter {
	m := NewMeter(Limit(ctx, option))
	if _, ok := ctx.Value(limitKey{}).(int64); ok && option == 0 && m != nil {
		m.base = 0
		m.next.Store(m.enough())
	}
	return m
}

// Limit returns the limit of a pass, given the limit in its options. 0 means that of the context,
// or else the default. A negative limit means no limit.
func Limit(ctx context.Context, option int64) int64 {
	if option != 0 {
		return option
	}
	if limit, ok := ctx.Value(limitKey{}).(int64); ok {
		return limit
	}
	return Default()
}

// Parse parses an amount of memory, such as 2GB, 512MB, 1.5GiB or 800000000.
func Parse(s string) (int64, error) {
	number := strings.TrimRight(s, "kKMGTiB")
	unit, ok := units[strings.ToLower(s[len(number):])]
	v, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || math.IsNaN(v) || v <= 0 || v*unit > math.MaxInt64/2 {
		return 0, fmt.Errorf("want an amount of memory such as 2GB, 512MB or 1GiB, not %q", s)
	}
	return int64(v * unit), nil
}

var units = map[string]float64{
	"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// Text formats an amount of memory with up to three digits: "2 GB", "512 MB", "1.07 GB".
func Text(n int64) string { return format.Of(float64(n), "B") }

// Meter watches the heap of the process for one pass, or for the whole process. Its methods are
// safe for concurrent use. A nil Meter never reports an excess.
type Meter struct {
	limit int64
	base  int64        // live bytes at the beginning
	next  atomic.Int64 // heap size at which to run the collector

	mu sync.Mutex // serializes collections

	ended int64 // number of completed collections at the end of the pass
}

// NewMeter returns a meter for allocations from now on, or nil if the limit is negative.
func NewMeter(limit int64) *Meter {
	if limit < 0 {
		return nil
	}
	m := &Meter{limit: max(limit, Least), base: min(heap(), lived())}
	m.next.Store(m.base + m.enough())
	return m
}

// End notes the end of the pass; see Next.
func (m *Meter) End() {
	if m != nil {
		m.ended = cycles()
	}
}

// Next returns a meter for another pass of the same process, after End of m. Until the collector
// has run again, its live heap may still contain objects of the pass that ended, so they are not
// counted as live before the new pass.
func (m *Meter) Next() *Meter {
	if m == nil {
		return nil
	}
	next := NewMeter(m.limit)
	if cycles() <= m.ended+1 { // one of them may have begun before the end
		next.base = min(next.base, m.base)
		next.next.Store(next.base + next.enough())
	}
	return next
}

// Limit returns the limit.
func (m *Meter) Limit() int64 { return m.limit }

// Exceeded reports whether live memory is too close to the limit.
func (m *Meter) Exceeded() bool {
	if m == nil {
		return false
	}
	return heap() >= m.next.Load() && m.lives()
}

// lives runs the collector and reports whether live memory is too close to the limit.
func (m *Meter) lives() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if heap() < m.next.Load() {
		return false // another goroutine has run the collector
	}
	runtime.GC()
	live := heap() - m.base
	m.next.Store(m.base + max(m.enough(), live+m.limit/10))
	return live > m.enough()
}

// enough returns the number of bytes that may be live.
func (m *Meter) enough() int64 { return m.limit / 10 * 6 }

// Room reports whether there is room for a table of size bytes in addition to live memory.
func (m *Meter) Room(size int64) bool {
	if m == nil || size < m.limit/20 || heap()-m.base+size < m.limit {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	runtime.GC()
	return heap()-m.base+size < m.limit
}

// heap returns the bytes of heap objects, including garbage that is not yet collected.
func heap() int64 { return metric("/memory/classes/heap/objects:bytes") }

// lived returns the bytes of objects that were live at the last garbage collection.
func lived() int64 { return metric("/gc/heap/live:bytes") }

// cycles returns the number of completed garbage collections.
func cycles() int64 { return metric("/gc/cycles/total:gc-cycles") }

func metric(name string) int64 {
	s := [1]metrics.Sample{{Name: name}}
	metrics.Read(s[:])
	return int64(s[0].Value.Uint64())
}

// pacedGarbage is the garbage of a large heap, in bytes; see Pace.
const pacedGarbage = 192 << 20

// Pace returns a function that adapts GOGC to the live heap when it is called. A heap of more than
// pacedGarbage then grows by that much between two collections, but at least by a quarter, where it
// would double. The function does nothing if GOGC is not the default.
func Pace() func() {
	percent := debug.SetGCPercent(100)
	if percent != 100 {
		debug.SetGCPercent(percent)
		return func() {}
	}
	return func() {
		want := pacedPercent(lived())
		if want < percent*9/10 || want > percent*11/10 {
			debug.SetGCPercent(want)
			percent = want
		}
	}
}

func pacedPercent(live int64) int { return int(min(100, max(25, 100*pacedGarbage/max(live, 1)))) }

// Resident returns the bytes that the Go runtime has obtained from the system.
func Resident() int64 {
	return metric("/memory/classes/total:bytes") - metric("/memory/classes/heap/released:bytes")
}

// Guard calls exceeded before the memory of the process exceeds a limit, from now on.
func Guard(limit int64, exceeded func()) {
	debug.SetMemoryLimit(limit / 10 * 9)
	pace := Pace()
	background.Go(func() {
		for ; ; time.Sleep(10 * time.Millisecond) {
			pace()
			if Resident() < limit/100*95 {
				continue
			}
			debug.FreeOSMemory()
			if Resident() >= limit/100*92 {
				exceeded()
			}
		}
	})
}
