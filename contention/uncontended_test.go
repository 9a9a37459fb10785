//lint:file-ignore SA2001 empty critical sections are what is tested

package contention

import (
	"sync"
	"testing"
	"time"
)

// Loops of the same instructions differ by up to 20 % in speed for where in a cache line they
// happen to be. So each is here five times, at different places, and the sums of the least
// times are compared.

const (
	uncontended = 50_000
	copies      = 5
)

type leastTimes [copies]int64

// took notes the time since from for a place, and returns the present.
func (l *leastTimes) took(place int, from int64) int64 {
	at := now()
	if d := at - from; l[place] == 0 || d < l[place] {
		l[place] = d
	}
	return at
}

// perOp is the mean over the places, in ns.
func (l *leastTimes) perOp() (ns float64) {
	for _, d := range l {
		ns += float64(d) / (copies * uncontended)
	}
	return ns
}

//go:noinline
func lockPlain(l *sync.Mutex, t *leastTimes) {
	from := now()
	for range uncontended {
		l.Lock()
		l.Unlock()
	}
	from = t.took(0, from)
	for range uncontended {
		l.Lock()
		l.Unlock()
	}
	from = t.took(1, from)
	for range uncontended {
		l.Lock()
		l.Unlock()
	}
	from = t.took(2, from)
	for range uncontended {
		l.Lock()
		l.Unlock()
	}
	from = t.took(3, from)
	for range uncontended {
		l.Lock()
		l.Unlock()
	}
	t.took(4, from)
}

//go:noinline
func lockWrapped(l *Mutex, t *leastTimes) {
	from := now()
	for range uncontended {
		l.Lock()
		l.Unlock()
	}
	from = t.took(0, from)
	for range uncontended {
		l.Lock()
		l.Unlock()
	}
	from = t.took(1, from)
	for range uncontended {
		l.Lock()
		l.Unlock()
	}
	from = t.took(2, from)
	for range uncontended {
		l.Lock()
		l.Unlock()
	}
	from = t.took(3, from)
	for range uncontended {
		l.Lock()
		l.Unlock()
	}
	t.took(4, from)
}

//go:noinline
func writePlain(l *sync.RWMutex, t *leastTimes) {
	from := now()
	for range uncontended {
		l.Lock()
		l.Unlock()
	}
	from = t.took(0, from)
	for range uncontended {
		l.Lock()
		l.Unlock()
	}
	from = t.took(1, from)
	for range uncontended {
		l.Lock()
		l.Unlock()
	}
	from = t.took(2, from)
	for range uncontended {
		l.Lock()
		l.Unlock()
	}
	from = t.took(3, from)
	for range uncontended {
		l.Lock()
		l.Unlock()
	}
	t.took(4, from)
}

//go:noinline
func writeWrapped(l *RWMutex, t *leastTimes) {
	from := now()
	for range uncontended {
		l.Lock()
		l.Unlock()
	}
	from = t.took(0, from)
	for range uncontended {
		l.Lock()
		l.Unlock()
	}
	from = t.took(1, from)
	for range uncontended {
		l.Lock()
		l.Unlock()
	}
	from = t.took(2, from)
	for range uncontended {
		l.Lock()
		l.Unlock()
	}
	from = t.took(3, from)
	for range uncontended {
		l.Lock()
		l.Unlock()
	}
	t.took(4, from)
}

//go:noinline
func readPlain(l *sync.RWMutex, t *leastTimes) {
	from := now()
	for range uncontended {
		l.RLock()
		l.RUnlock()
	}
	from = t.took(0, from)
	for range uncontended {
		l.RLock()
		l.RUnlock()
	}
	from = t.took(1, from)
	for range uncontended {
		l.RLock()
		l.RUnlock()
	}
	from = t.took(2, from)
	for range uncontended {
		l.RLock()
		l.RUnlock()
	}
	from = t.took(3, from)
	for range uncontended {
		l.RLock()
		l.RUnlock()
	}
	t.took(4, from)
}

//go:noinline
func readWrapped(l *RWMutex, t *leastTimes) {
	from := now()
	for range uncontended {
		l.RLock()
		l.RUnlock()
	}
	from = t.took(0, from)
	for range uncontended {
		l.RLock()
		l.RUnlock()
	}
	from = t.took(1, from)
	for range uncontended {
		l.RLock()
		l.RUnlock()
	}
	from = t.took(2, from)
	for range uncontended {
		l.RLock()
		l.RUnlock()
	}
	from = t.took(3, from)
	for range uncontended {
		l.RLock()
		l.RUnlock()
	}
	t.took(4, from)
}

//go:noinline
func countPlain(l *sync.Mutex, t *leastTimes) {
	from := now()
	for range uncontended {
		l.Lock()
		counted++
		l.Unlock()
	}
	from = t.took(0, from)
	for range uncontended {
		l.Lock()
		counted++
		l.Unlock()
	}
	from = t.took(1, from)
	for range uncontended {
		l.Lock()
		counted++
		l.Unlock()
	}
	from = t.took(2, from)
	for range uncontended {
		l.Lock()
		counted++
		l.Unlock()
	}
	from = t.took(3, from)
	for range uncontended {
		l.Lock()
		counted++
		l.Unlock()
	}
	t.took(4, from)
}

//go:noinline
func countWrapped(l *Mutex, t *leastTimes) {
	from := now()
	for range uncontended {
		l.Lock()
		counted++
		l.Unlock()
	}
	from = t.took(0, from)
	for range uncontended {
		l.Lock()
		counted++
		l.Unlock()
	}
	from = t.took(1, from)
	for range uncontended {
		l.Lock()
		counted++
		l.Unlock()
	}
	from = t.took(2, from)
	for range uncontended {
		l.Lock()
		counted++
		l.Unlock()
	}
	from = t.took(3, from)
	for range uncontended {
		l.Lock()
		counted++
		l.Unlock()
	}
	t.took(4, from)
}

var counted int // what a critical section changes

func BenchmarkUncontended(b *testing.B) {
	for _, on := range []bool{false, true} {
		name := "off"
		if on {
			name = "on"
		}
		b.Run(name, func(b *testing.B) {
			if on {
				collect(b, Options{})
			}
			var pm sync.Mutex
			var wm Mutex
			var pr sync.RWMutex
			var wr RWMutex
			for _, c := range []struct {
				name           string
				plain, wrapped func(*leastTimes)
			}{
				{"Lock", func(t *leastTimes) { lockPlain(&pm, t) }, func(t *leastTimes) { lockWrapped(&wm, t) }},
				{"LockAndCount", func(t *leastTimes) { countPlain(&pm, t) }, func(t *leastTimes) { countWrapped(&wm, t) }},
				{"RWLock", func(t *leastTimes) { writePlain(&pr, t) }, func(t *leastTimes) { writeWrapped(&wr, t) }},
				{"RLock", func(t *leastTimes) { readPlain(&pr, t) }, func(t *leastTimes) { readWrapped(&wr, t) }},
			} {
				b.Run(c.name, func(b *testing.B) {
					b.ReportAllocs()
					for range b.N {
						var p, w leastTimes
						for from := time.Now(); time.Since(from) < time.Second; {
							c.plain(&p)
							c.wrapped(&w)
						}
						b.ReportMetric(p.perOp(), "plain-ns")
						b.ReportMetric(w.perOp(), "wrapped-ns")
						b.ReportMetric(w.perOp()/p.perOp(), "x-time")
					}
				})
			}
		})
	}
}
