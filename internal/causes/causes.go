// Package causes holds small programs with a known cause of bad scaling, and their repairs.
package causes

import (
	"bufio"
	"context"
	"net"
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
	{"uneven work", "imbalance", "parallel", func(p int) { uneven(p, 6) }, func(p int) { uneven(p, 1) }},
	{"tiny goroutines", "tiny", "tiny", func(int) { tiny(60000, 1) }, func(int) { tiny(60000, 1000) }},
	{"collector", "collector", "", func(p int) { allocate(p, 10) }, func(p int) { allocate(p, 800) }},
	{"small writes", "syscall", "write", func(p int) { write(p, 1) }, func(p int) { write(p, 1<<16) }},
	{"blocking calls", "blocking-call", "block", func(p int) { calls() }, nil},
	{"sleep", "sleep", "sleeper", func(int) { sleeper() }, nil},
	{"ticker", "timer", "ticking", func(int) { ticking() }, nil},
	{"network", "network", "listen", func(int) { listen() }, nil},
	{"ping-pong", "hand-over", "", func(int) { pingPong(false) }, nil},
	{"ping-pong of threads", "hand-over", "", func(int) { pingPong(true) }, nil},
	{"goroutines that never end", "leak", "forget.func1", func(int) { forget() }, nil},
	{"it scales", "saturated", "Spin", func(p int) { share(p) }, nil},
	{"more goroutines than processors", "more-procs", "", func(p int) { crowd(p) }, nil},
	{"connections to a database", "limit", "load", func(int) { queries(2) }, func(int) { queries(64) }},
	{"a channel as a semaphore", "limit", "admit", func(int) { admitted(3) }, func(int) { admitted(32) }},
	{"a token that goroutines pass", "limit", "pass", func(p int) { passed(p, 1) }, func(p int) { passed(p, p) }},
	{"a pool of workers", "limit", "pool", func(int) { pool(3) }, func(int) { pool(30) }},
	{"a queue with a condition", "serial", "fill", queued, nil},
	{"done once", "serial", "need", prepared, nil},
	{"a barrier after each step", "imbalance", "step", func(p int) { steps(p, 5) }, func(p int) { steps(p, 1) }},
	{"yielding", "scheduler", "yielding.func1", yielding, nil},
	{"polling", "timer", "polling", func(int) { polling() }, nil},
	{"deadlines", "timer", "answer", func(int) { timeouts() }, nil},
	{"one goroutine owns the data", "serial", "own", asked, nil},
	{"too few goroutines", "starved", "few", func(int) { few() }, nil},
	{"one processor", "one-processor", "", func(int) { alone() }, nil},
	{"connections to a host", "limit", "get", func(int) { requests(2) }, func(int) { requests(16) }},
	{"an idle server", "no-work", "serveOne", func(int) { idle() }, nil},
	{"a journal", "blocking-call|syscall", "enter", func(int) { journal() }, nil},
	{"a library's lock", "lock", "note", logged, nil},
	{"a rate", "timer", "(*bucket).wait", func(int) { rated() }, nil},
	{"a writer among readers", "lock", "read", refreshed, nil},
	{"a short lock", "lock", "add", func(p int) { hot(p, 1) }, func(p int) { hot(p, 16*p) }},
	{"pulling from an iterator", "hand-over", "pulled", func(int) { pulled() }, nil},
	{"the same asked at once", "serial", "lookUp", shared, nil},
	{"stages of one function", "serial", "stage", func(int) { stages(1) }, stages},
	{"one computes, one looks", "serial", "beside", func(int) { beside() }, nil},
	{"results that come too late", "leak", "deliver", func(int) { partly() }, nil},
	{"readers that sleep", "lock", "(*register)", func(int) { sleepers() }, nil},
	{"one connection for all", "lock", "(*peer).ask", func(int) { oneConnection() }, nil},
	{"the world stopped", "runtime", "measure", measured, nil},
	{"collections asked for", "collector", "collect", collected, nil},
	{"calls on the main thread", "hand-over|serial", "mainThread", func(int) { mainThread(4, onMain) }, func(int) { mainThread(4, inPlace) }},
	{"calls one after the other", "network", "(*peer).ask", func(int) { oneByOne() }, nil},
	{"a request under a lock", "lock", "(*client).fetch", func(int) { lockedRequests() }, nil},
	{"requests past a limit", "limit", "limitedRequests", func(int) { limitedRequests(2) }, func(int) { limitedRequests(32) }},
	{"asking whether it is done", "scheduler", "awaited", func(int) { awaited() }, nil},
	{"tiny tasks", "tiny", "", func(p int) { small(p, 20_000, 1) }, func(p int) { small(p, 200, 100) }},
	{"tiny pieces of work", "tiny", "exchange", func(p int) { exchanged(p, 30_000, 1) }, func(p int) { exchanged(p, 300, 100) }},
	{"tiny messages through one", "tiny|hand-over", "relay", func(int) { relayed(40_000, 700) }, func(int) { relayed(400, 70_000) }},
	{"a goroutine for each call", "tiny", "fibonacci", func(int) { fibonacci(22, 0) }, func(int) { fibonacci(22, 14) }},
	{"a lock on one processor", "lock", "(*counter).hold", func(int) { oneProc(locked) }, nil},
	{"one request at a time", "serial", "render", func(int) { served(http.HandlerFunc(render), 1, 120) }, func(p int) { served(http.HandlerFunc(render), p, 120) }},
	{"a lock in a handler", "lock", "(*visits)", func(int) { served(&visits{n: map[string]int{}}, 16, 480) }, nil},
	{"a handler's lock on four processors", "lock", "(*visits)", func(int) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
		served(&visits{n: map[string]int{}}, 16, 480)
	}, nil},
	{"writes under a lock", "lock", "note", func(p int) { written(p, 16) }, func(p int) { written(p, 1<<20) }},
	{"one sink is slow", "sleep", "drain", func(int) { drained(1) }, func(int) { drained(8) }},
	{"a serial part beside a ticker", "serial", "serially", func(p int) { besideTicker(p) }, nil},
	{"a serial sum of parallel counts", "serial", "join", reduced, nil},
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
	parallel(goroutines, func(int) { Spin(steps / goroutines) })
}

func share(procs int) { parallel(procs, func(int) { Spin(60_000_000 / procs) }) }

func parallel(n int, work func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { work(i) })
	}
	wg.Wait()
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
	parallel(2*procs, func(i int) {
		for range 200 {
			counters[i%locks].add(hold)
			Spin(30_000)
		}
	})
}

type dictionary struct {
	mu    sync.RWMutex
	words map[int]int
}

// get looks up a word. Like a cache that counts its uses, it takes the lock for writing.
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
	parallel(2*procs, func(i int) {
		for range 200 {
			d.get(i, exclusive)
		}
	})
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
	parallel(2*procs, func(int) {
		for range 60 {
			if sem.Acquire(context.Background(), 1) != nil {
				return
			}
			Spin(300_000)
			sem.Release(1)
		}
	})
}

// uneven gives the first goroutine a multiple of the work of the others. The total stays the same.
func uneven(procs, times int) {
	const steps = 120_000_000
	part := steps / (procs - 1 + times)
	parallel(procs, func(i int) {
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
	parallel(procs, func(int) {
		for range 40 {
			grow(13)
		}
	})
	runtime.KeepAlive(live)
}

func write(procs, buffer int) {
	parallel(procs, func(int) {
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

func calls() {
	parallel(2, func(int) {
		for range 40 {
			block()
			Spin(100_000)
		}
	})
}

func sleeper() {
	for range 40 {
		time.Sleep(2 * time.Millisecond)
		Spin(100_000)
	}
}

func ticking() {
	t := time.NewTicker(3 * time.Millisecond)
	defer t.Stop()
	for range 30 {
		<-t.C
		Spin(100_000)
	}
}

// listen waits for datagrams that are never sent.
func listen() {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return
	}
	defer conn.Close()
	var b [1]byte
	for range 40 {
		conn.SetReadDeadline(time.Now().Add(2 * time.Millisecond))
		conn.ReadFrom(b[:])
		Spin(100_000)
	}
}

func pingPong(threads bool) {
	hops := 40_000
	if threads { // each takes ten times as long
		hops = 6_000
	}
	ping, pong := make(chan int), make(chan int)
	var wg sync.WaitGroup
	wg.Go(func() {
		if threads {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
		}
		for i := range ping {
			pong <- i
		}
		close(pong)
	})
	wg.Go(func() {
		if threads {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
		}
		for i := range hops {
			ping <- i
			<-pong
		}
		close(ping)
	})
	wg.Wait()
}

var never = make(chan int)

func forget() {
	for range 400 {
		go func() { <-never }()
		Spin(100_000)
	}
}

func crowd(procs int) { parallel(6*procs, func(int) { Spin(30_000_000 / procs) }) }
