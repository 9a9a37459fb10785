package tracewaits

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

// The oracle for a queue: producers and consumers share a lock, which consumers release and
// reacquire in Cond.Wait.

// loggedQueue is a queue whose lock logs the operations of the workers, also inside Wait.
type loggedQueue struct {
	mu      sync.Mutex
	notFull *sync.Cond
	filled  *sync.Cond
	n       int
	over    bool
	workers map[uint64]*queueWorker // by goroutine; complete before they start to work
}

type queueWorker struct {
	worker
	q  *loggedQueue
	at string // its current site
}

func (q *loggedQueue) Lock() {
	w := q.workers[callstack.Goid()]
	w.log = append(w.log, op{site: w.at, write: true, request: now()})
	q.mu.Lock()
	w.log[len(w.log)-1].got = now()
}

func (q *loggedQueue) Unlock() {
	w := q.workers[callstack.Goid()]
	o := &w.log[len(w.log)-1]
	o.left = now()
	q.mu.Unlock()
	o.gone = now()
}

// work is the work of a worker while it has the lock.
func (w *queueWorker) work() {
	if w.inner != nil {
		w.inner(&w.worker)
	}
	spin(w.hold)
}

//go:noinline
func sitePut(w *queueWorker) {
	w.at = "sitePut"
	w.q.Lock()
	for w.q.n >= 8 && !w.q.over {
		w.q.notFull.Wait()
	}
	w.work()
	w.q.n++
	w.q.filled.Signal()
	w.q.Unlock()
}

//go:noinline
func siteTake(w *queueWorker) {
	w.at = "siteTake"
	w.q.Lock()
	for w.q.n == 0 && !w.q.over {
		w.q.filled.Wait()
	}
	w.work()
	w.q.n--
	w.q.notFull.Signal()
	w.q.Unlock()
}

//go:noinline
func siteLook(w *queueWorker) {
	w.at = "siteLook"
	w.q.Lock()
	w.work()
	w.q.Unlock()
}

//go:noinline
func siteEnd(w *queueWorker) {
	w.at = "siteEnd"
	w.q.Lock()
	w.q.over = true
	w.q.Unlock()
}

// runQueue runs the workload for d and returns the log. Of three workers, one produces, one
// consumes, and one only looks.
func (wl tracedWorkload) runQueue(d time.Duration) []op {
	q := &loggedQueue{workers: map[uint64]*queueWorker{}}
	q.notFull, q.filled = sync.NewCond(q), sync.NewCond(q)
	var mu sync.Mutex // of workers
	var wg, ready sync.WaitGroup
	ready.Add(wl.workers)
	end := time.Now().Add(d)
	for i := range wl.workers {
		w := &queueWorker{q: q, worker: worker{hold: wl.hold, log: make([]op, 0, 1<<15)}}
		site := []func(*queueWorker){sitePut, siteTake, siteLook}[i%3]
		if i%3 == 1 && wl.heavy > 0 {
			w.hold = wl.heavy
		}
		if wl.sleep {
			hold := w.hold
			w.hold, w.inner = 0, func(*worker) { time.Sleep(hold) }
		}
		wg.Go(func() {
			mu.Lock()
			q.workers[callstack.Goid()] = w
			mu.Unlock()
			ready.Done()
			ready.Wait()
			rng := rand.New(rand.NewPCG(uint64(i), 7))
			for time.Now().Before(end) && len(w.log) < cap(w.log)-8 {
				site(w)
				if think := time.Duration(rng.Int64N(int64(2*wl.think) + 1)); wl.sleep {
					time.Sleep(think)
				} else {
					spin(think)
					runtime.Gosched()
				}
			}
			siteEnd(w)
			q.filled.Broadcast()
			q.notFull.Broadcast()
		})
	}
	wg.Wait()
	var log []op
	for id, w := range q.workers {
		for _, o := range w.log {
			o.site = fmt.Sprintf("%d:%s@%d", o.lock, o.site, id)
			log = append(log, o)
		}
	}
	return log
}
