// Package causes holds small programs with a known cause of bad scaling, and their repairs.
package causes

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// Program is a program with a known cause.
type Program struct {
	Name string
	// Kind is the kind of the finding that names the cause, or several possible kinds. Func is
	// a part of the name of the function that has the cause, or of the goroutine.
	Kind, Func string
	// Run does the work. Repaired does the same work without the cause, if it is not nil. procs
	// is GOMAXPROCS.
	Run, Repaired func(procs int)
}

// Programs are all programs. They need at least two processors.
var Programs = []Program{
	{"serial part", "serial", "Spin", func(p int) { prepare(1, p); share(p) }, func(p int) { prepare(p, p); share(p) }},
	{"pipeline", "serial", "pipeline.func2", func(int) { pipeline(1) }, pipeline},
	{"lock, computing", "lock", "add", func(p int) { lock(p, 1, compute) }, func(p int) { lock(p, 2*p, compute) }},
	{"lock, sleeping", "lock", "add", func(p int) { lock(p, 1, nap) }, func(p int) { lock(p, 2*p, nap) }},
	{"lock, all read", "lock", "get", func(p int) { table(p, true) }, func(p int) { table(p, false) }},
	{"limit of an errgroup", "limit", "limited", func(p int) { limited(1) }, limited},
	{"semaphore", "limit", "weighted", func(p int) { weighted(p, 1) }, func(p int) { weighted(p, p) }},
	{"uneven work", "imbalance", "Parallel", func(p int) { uneven(p, 6) }, func(p int) { uneven(p, 1) }},
	{"tiny goroutines", "tiny", "tiny", func(int) { tiny(60000, 1) }, func(int) { tiny(60000, 1000) }},
	{"collector", "collector", "", func(p int) { allocate(p, 10) }, func(p int) { allocate(p, 800) }},
	{"small writes", "syscall", "write", func(p int) { write(p, 1) }, func(p int) { write(p, 1<<16) }},
	{"connections to a database", "limit", "load", func(int) { queries(2) }, func(int) { queries(64) }},
	{"a channel as a semaphore", "limit", "admit", func(int) { admitted(3) }, func(int) { admitted(32) }},
	{"a token that goroutines pass", "limit", "pass", func(p int) { passed(p, 1) }, func(p int) { passed(p, p) }},
	{"a pool of workers", "limit", "pool", func(int) { pool(3) }, func(int) { pool(30) }},
	{"a barrier after each step", "imbalance", "step", func(p int) { steps(p, 5) }, func(p int) { steps(p, 1) }},
	{"connections to a host", "limit", "Get", func(int) { requests(2) }, func(int) { requests(16) }},
	{"a short lock", "lock", "add", func(p int) { hot(p, 1) }, func(p int) { hot(p, 16*p) }},
	{"stages of one function", "serial", "stage", func(int) { stages(1) }, stages},
	{"calls on the main thread", "hand-over|serial", "mainThread", func(int) { mainThread(4, onMain) }, func(int) { mainThread(4, inPlace) }},
	{"requests past a limit", "limit", "limitedRequests", func(int) { limitedRequests(2) }, func(int) { limitedRequests(32) }},
	{"tiny tasks", "tiny", "", func(p int) { small(p, 20_000, 1) }, func(p int) { small(p, 200, 100) }},
	{"tiny pieces of work", "tiny", "exchange", func(p int) { exchanged(p, 30_000, 1) }, func(p int) { exchanged(p, 300, 100) }},
	{"tiny messages through one", "tiny|hand-over", "relay", func(int) { relayed(40_000, 700) }, func(int) { relayed(400, 70_000) }},
	{"a goroutine for each call", "tiny", "fibonacci", func(int) { fibonacci(22, 0) }, func(int) { fibonacci(22, 14) }},
	{"one request at a time", "serial", "render", func(int) { Served(http.HandlerFunc(render), 1, 120) }, func(p int) { Served(http.HandlerFunc(render), p, 120) }},
	{"writes under a lock", "lock", "note", func(p int) { written(p, 16) }, func(p int) { written(p, 1<<20) }},
	{"one sink is slow", "sleep", "drain", func(int) { drained(1) }, func(int) { drained(8) }},
}

var sink atomic.Uint64

// Spin computes for about a nanosecond per step.
func Spin(steps int) {
	x := uint64(steps) | 1
	for range steps {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	sink.Store(x)
}

func compute() { Spin(100_000) }
func nap()     { time.Sleep(200 * time.Microsecond) }

// prepare runs in the given number of goroutines.
func prepare(goroutines, procs int) {
	const steps = 60_000_000
	if goroutines == 1 {
		Spin(steps)
		return
	}
	Parallel(goroutines, func(int) { Spin(steps / goroutines) })
}

func share(procs int) { Parallel(procs, func(int) { Spin(60_000_000 / procs) }) }

// Parallel does the work in each of n goroutines, and waits for them.
func Parallel(n int, work func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { work(i) })
	}
	wg.Wait()
}

// Each does the work a number of times in each of n goroutines.
func Each(n, times int, work func(i int)) {
	Parallel(n, func(i int) {
		for range times {
			work(i)
		}
	})
}

// pipeline has three stages. The second one takes most of the time.
func pipeline(converters int) {
	in, out := make(chan int, 4), make(chan int, 4)
	go func() {
		for i := range 600 {
			Spin(10_000)
			in <- i
		}
		close(in)
	}()
	var wg sync.WaitGroup
	for range converters {
		wg.Go(func() { convert(in, out) })
	}
	go func() {
		wg.Wait()
		close(out)
	}()
	for range out {
		Spin(10_000)
	}
}

func convert(in <-chan int, out chan<- int) {
	for i := range in {
		Spin(150_000)
		out <- i
	}
}

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add(hold func()) {
	c.mu.Lock()
	hold()
	c.n++
	c.mu.Unlock()
}

func lock(procs, locks int, hold func()) {
	counters := make([]counter, locks)
	Each(2*procs, 200, func(i int) {
		counters[i%locks].add(hold)
		Spin(30_000)
	})
}

type dictionary struct {
	mu    sync.RWMutex
	words map[int]int
}

// Get looks up a word. Like a cache that counts its uses, it takes the lock for writing.
func (d *dictionary) get(i int, exclusive bool) {
	if exclusive {
		d.mu.Lock()
		defer d.mu.Unlock()
	} else {
		d.mu.RLock()
		defer d.mu.RUnlock()
	}
	_ = d.words[i]
	Spin(100_000)
}

func table(procs int, exclusive bool) {
	d := &dictionary{words: map[int]int{1: 1}}
	Each(2*procs, 200, func(i int) { d.get(i, exclusive) })
}

func limited(limit int) {
	var g errgroup.Group
	g.SetLimit(limit)
	for range 300 {
		g.Go(func() error {
			Spin(300_000)
			return nil
		})
	}
	g.Wait()
}

func weighted(procs, limit int) {
	sem := semaphore.NewWeighted(int64(limit))
	Each(2*procs, 60, func(int) {
		if sem.Acquire(context.Background(), 1) != nil {
			return
		}
		Spin(300_000)
		sem.Release(1)
	})
}

// uneven gives the first goroutine a multiple of the work of the others. The total stays the same.
func uneven(procs, times int) {
	const steps = 120_000_000
	part := steps / (procs - 1 + times)
	Parallel(procs, func(i int) {
		if i == 0 {
			Spin(part * times)
			return
		}
		Spin(part)
	})
}

func tiny(n, batch int) {
	var wg sync.WaitGroup
	for range n / batch {
		wg.Go(func() {
			for range batch {
				Spin(300)
			}
		})
	}
	wg.Wait()
}

type node struct{ left, right *node }

func grow(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{grow(depth - 1), grow(depth - 1)}
}

func allocate(procs, gogc int) {
	defer debug.SetGCPercent(debug.SetGCPercent(gogc))
	live := grow(17)
	Each(procs, 40, func(int) { grow(13) })
	runtime.KeepAlive(live)
}

func write(procs, buffer int) {
	Parallel(procs, func(int) {
		f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			return
		}
		defer f.Close()
		w := bufio.NewWriterSize(f, max(buffer, 16))
		for range 100_000 {
			w.WriteByte('x')
			if buffer == 1 {
				w.Flush()
			}
		}
		w.Flush()
	})
}
