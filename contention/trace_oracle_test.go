package contention

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	rtrace "runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// The oracle of oracle_test.go, for locks of package sync and a trace: the workload logs every
// operation from outside, and runs under runtime/trace.

// tracedWorkload is a row of the error table for traces.
type tracedWorkload struct {
	workload
	sleep bool // holds and pauses are slept, so that there are processors to spare
}

var tracedWorkloads = []tracedWorkload{
	{workload{name: "spare 200µs", workers: 4, locks: 1, hold: 200 * time.Microsecond, think: 1500 * time.Microsecond}, true},
	{workload{name: "spare 1ms", workers: 6, locks: 1, hold: time.Millisecond, think: 1500 * time.Microsecond}, true},
	{workload{name: "spare 4ms", workers: 4, locks: 1, hold: 4 * time.Millisecond, think: 5 * time.Millisecond}, true},
	{workload{name: "spare heavy owner", workers: 6, locks: 1, hold: 200 * time.Microsecond, heavy: 4 * time.Millisecond, think: 3 * time.Millisecond}, true},
	{workload{name: "spare 16 goroutines", workers: 16, locks: 1, hold: 500 * time.Microsecond, think: 2 * time.Millisecond}, true},
	{workload{name: "spare 4 shards", workers: 12, locks: 4, hold: time.Millisecond, heavy: 5 * time.Millisecond, think: 1500 * time.Microsecond}, true},
	{workload{name: "spare rw 20% writes", workers: 6, locks: 1, hold: time.Millisecond, think: 1500 * time.Microsecond, rw: 0.2}, true},
	{workload{name: "spare rw 50% writes", workers: 6, locks: 1, hold: time.Millisecond, think: 1500 * time.Microsecond, rw: 0.5}, true},
	{workload{name: "2µs", workers: 4, locks: 1, hold: 2 * time.Microsecond, think: 5 * time.Microsecond}, false},
	{workload{name: "10µs", workers: 4, locks: 1, hold: 10 * time.Microsecond, think: 10 * time.Microsecond}, false},
	{workload{name: "50µs", workers: 4, locks: 1, hold: 50 * time.Microsecond, think: 50 * time.Microsecond}, false},
	{workload{name: "500µs", workers: 4, locks: 1, hold: 500 * time.Microsecond, think: 500 * time.Microsecond}, false},
	{workload{name: "4ms", workers: 3, locks: 1, hold: 4 * time.Millisecond, think: 2 * time.Millisecond}, false},
	{workload{name: "one heavy owner", workers: 6, locks: 1, hold: 20 * time.Microsecond, heavy: time.Millisecond, think: 100 * time.Microsecond}, false},
	{workload{name: "16 goroutines", workers: 16, locks: 1, hold: 50 * time.Microsecond, think: 20 * time.Microsecond}, false},
	{workload{name: "64 goroutines", workers: 64, locks: 1, hold: 50 * time.Microsecond, think: 20 * time.Microsecond}, false},
	{workload{name: "4 shards", workers: 8, locks: 4, hold: 50 * time.Microsecond, heavy: 400 * time.Microsecond, think: 10 * time.Microsecond}, false},
	{workload{name: "nested", workers: 4, locks: 2, hold: 60 * time.Microsecond, think: 50 * time.Microsecond, nested: true}, false},
	{workload{name: "rw 10% writes", workers: 6, locks: 1, hold: 60 * time.Microsecond, think: 50 * time.Microsecond, rw: 0.1}, false},
	{workload{name: "rw 50% writes", workers: 6, locks: 1, hold: 60 * time.Microsecond, think: 20 * time.Microsecond, rw: 0.5}, false},
}

// locks returns the locks of the workload, for reading and for writing.
func (wl tracedWorkload) locks() (read, write []anyLock) {
	for i := range wl.workload.locks {
		if wl.rw > 0 {
			rw := new(sync.RWMutex)
			write = append(write, anyLock{i, true, rw.Lock, rw.Unlock})
			read = append(read, anyLock{i, false, rw.RLock, rw.RUnlock})
		} else {
			m := new(sync.Mutex)
			write = append(write, anyLock{i, true, m.Lock, m.Unlock})
		}
	}
	return read, write
}

// run does the workload for d and returns the log.
func (wl tracedWorkload) run(d time.Duration) []op {
	read, write := wl.locks()
	workers := make([]*worker, wl.workers)
	var wg sync.WaitGroup
	end := time.Now().Add(d)
	for i := range workers {
		w := &worker{hold: wl.hold, log: make([]op, 0, 1<<15)}
		if i == 0 && wl.heavy > 0 {
			w.hold = wl.heavy
		}
		if wl.sleep {
			hold := w.hold
			w.hold, w.inner = 0, func(*worker) { time.Sleep(hold) }
		}
		if wl.nested {
			w.inner = func(w *worker) { sites[(i+1)%len(sites)](w, write[1]) }
		}
		workers[i] = w
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 7))
			for time.Now().Before(end) && len(w.log) < cap(w.log)-2 {
				wl.step(w, i, rng, read, write)
			}
		})
	}
	wg.Wait()
	var log []op
	for _, w := range workers {
		for _, o := range w.log {
			o.site = fmt.Sprint(o.lock) + o.site
			log = append(log, o)
		}
	}
	return log
}

func (wl tracedWorkload) step(w *worker, i int, rng *rand.Rand, read, write []anyLock) {
	l := write[rng.IntN(len(write))]
	if wl.nested {
		l = write[0]
	}
	if wl.rw > 0 && rng.Float64() >= wl.rw {
		l = read[l.id]
	}
	sites[i%len(sites)](w, l)
	if think := time.Duration(rng.Int64N(int64(2*wl.think) + 1)); wl.sleep {
		time.Sleep(think)
	} else {
		spin(think)
		runtime.Gosched()
	}
}

// naiveObserver blames the goroutine that ended a wait for all of it.
type naiveObserver struct {
	timeline.Base
	table blameTable
}

func (o *naiveObserver) Transition(t *timeline.Transition) {
	if t.State == timeline.Waiting && lockWait(t.Wait) && t.Waker != nil {
		o.table[blameKey{0, siteOfFrames(t.Stack), siteOfFrames(t.WakerStack)}] += float64(t.End - t.Start)
	}
}

func siteOfFrames(s *timeline.Stack) string {
	if s != nil {
		for _, f := range s.Frames {
			if i := strings.LastIndex(f.Func, ".site"); i >= 0 {
				return f.Func[i+1:]
			}
		}
	}
	return "?"
}

// verdict compares an estimate with the truth.
type verdict struct {
	err       float64 // Σ|estimate − truth| / truth
	precision float64 // how much of what is blamed is blamed rightly
	recall    float64 // how much of the truth is told
}

func judge(truth, est blameTable) verdict {
	var right float64
	for k, v := range est {
		right += min(v, truth[k])
	}
	return verdict{truth.errorOf(est), right / est.sum(), right / truth.sum()}
}

// withoutLocks puts the pairs of all locks together: a trace does not number them.
func (t blameTable) withoutLocks() blameTable {
	u := blameTable{}
	for k, v := range t {
		// the log's sites are numbered by lock
		u[blameKey{0, k.waiter[1:], k.owner[1:]}] += v
	}
	return u
}

func traceEstimate(p *Profile) blameTable {
	t := blameTable{}
	for _, q := range p.Pairs {
		switch q.Kind {
		case MutexKind, RWMutexReaderKind, RWMutexWriterKind:
			t[blameKey{0, siteOf(q.Waiter.Stack), siteOf(q.Owner.Stack)}] += float64(q.Blamed)
		}
	}
	return t
}

// traceWorkload runs a workload under the tracer.
func traceWorkload(t testing.TB, wl tracedWorkload, d time.Duration) (ours, naive verdict, p *Profile) {
	t.Helper()
	var buf bytes.Buffer
	if err := rtrace.Start(&buf); err != nil {
		t.Skip(err)
	}
	log := wl.run(d)
	rtrace.Stop()
	o, n := NewTraceObserver(TraceOptions{}), &naiveObserver{table: blameTable{}}
	if _, err := timeline.Read(context.Background(), bytes.NewReader(buf.Bytes()), timeline.Options{}, o, n); err != nil {
		t.Fatal(err)
	}
	p = o.Profile()
	checkConservation(t, p)
	pairs, _, _ := truth(log)
	pairs = pairs.withoutLocks()
	return judge(pairs, traceEstimate(p)), judge(pairs, n.table), p
}

// BenchmarkTraceOracle prints the error table of the package documentation.
func BenchmarkTraceOracle(b *testing.B) {
	for _, wl := range tracedWorkloads {
		b.Run(strings.ReplaceAll(wl.name, " ", "-"), func(b *testing.B) {
			var ours, naive verdict
			for range b.N {
				v, n, p := traceWorkload(b, wl, 500*time.Millisecond)
				ours.err += v.err
				ours.precision += v.precision
				ours.recall += v.recall
				naive.err += n.err
				naive.precision += n.precision
				if testing.Verbose() {
					b.Log(p.Warnings, len(p.Locks))
					for _, l := range p.Locks {
						if l.Class != "" {
							b.Log(*l)
						}
					}
				}
			}
			n := float64(b.N) / 100
			b.ReportMetric(ours.err/n, "error-%")
			b.ReportMetric(ours.precision/n, "precision-%")
			b.ReportMetric(ours.recall/n, "recall-%")
			b.ReportMetric(naive.err/n, "naive-error-%")
			b.ReportMetric(naive.precision/n, "naive-precision-%")
			b.ReportMetric(0, "ns/op")
		})
	}
}
