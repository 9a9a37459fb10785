package diagnose_test

// Programs with a known cause that have no repair to measure.

import (
	"context"
	"io"
	"iter"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/bottleneck-go/bottleneck/internal/causes"
)

func program(name, kind, fn string, run func(procs int)) causes.Program {
	return causes.Program{Name: name, Kind: kind, Func: fn, Run: run}
}

var programs = []causes.Program{
	program("blocking calls", "blocking-call", "block", func(p int) { calls() }),
	program("sleep", "sleep", "sleeper", func(int) { sleeper() }),
	program("ticker", "timer", "ticking", func(int) { ticking() }),
	program("polling", "timer", "polling", func(int) { polling() }),
	program("network", "network", "listen", func(int) { listen() }),
	program("ping-pong", "hand-over", "", func(int) { pingPong(false) }),
	program("ping-pong of threads", "hand-over", "", func(int) { pingPong(true) }),
	program("goroutines that never end", "leak", "forget.func1", func(int) { forget() }),
	program("it scales", "saturated", "Spin", func(p int) { share(p) }),
	program("more goroutines than processors", "more-procs", "", func(p int) { crowd(p) }),
	program("a queue with a condition", "serial", "fill", queued),
	program("done once", "serial", "need", prepared),
	program("yielding", "scheduler", "yielding.func1", yielding),
	program("deadlines", "timer", "answer", func(int) { timeouts() }),
	program("one goroutine owns the data", "serial", "own", asked),
	program("too few goroutines", "starved", "few", func(int) { few() }),
	program("one processor", "one-processor", "", func(int) { alone() }),
	program("an idle server", "no-work", "serveOne", func(int) { idle() }),
	program("a journal", "blocking-call|syscall", "enter", func(int) { journal() }),
	program("a library's lock", "lock", "note", logged),
	program("a rate", "timer", "(*bucket).wait", func(int) { rated() }),
	program("a writer among readers", "lock", "read", refreshed),
	program("pulling from an iterator", "hand-over", "pulled", func(int) { pulled() }),
	program("the same asked at once", "serial", "lookUp", shared),
	program("one computes, one looks", "serial", "beside", func(int) { beside() }),
	program("results that come too late", "leak", "deliver", func(int) { partly() }),
	program("readers that sleep", "lock", "(*register)", func(int) { sleepers() }),
	program("one connection for all", "lock", "(*peer).ask", func(int) { oneConnection() }),
	program("the world stopped", "runtime", "measure", measured),
	program("collections asked for", "collector", "collect", collected),
	program("calls one after the other", "network", "(*peer).ask", func(int) { oneByOne() }),
	program("a request under a lock", "lock", "(*client).fetch", func(int) { lockedRequests() }),
	program("asking whether it is done", "scheduler", "awaited", func(int) { awaited() }),
	program("a lock on one processor", "lock", "(*counter).hold", func(int) { oneProc(locked) }),
	program("a lock in a handler", "lock", "(*visits)", func(int) { causes.Served(&visits{n: map[string]int{}}, 16, 160) }),
	program("a handler's lock on four processors", "lock", "(*visits)", func(int) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
		causes.Served(&visits{n: map[string]int{}}, 16, 160)
	}),
	program("a serial part beside a ticker", "serial", "serially", func(p int) { besideTicker(p) }),
	program("a serial sum of parallel counts", "serial", "join", reduced),
	program("a cache that one goroutine fills", "lock", "(*filled).get", filling),
	program("short commands", "syscall", "convert", func(int) { convert() }),
	program("a barrier with a condition", "imbalance", "(*barrier).arrive", inStep),
	program("the same asked on one processor", "one-processor|saturated", "", func(int) { oneProc(sharedOften) }),
}

func share(procs int) { causes.Parallel(procs, func(int) { causes.Spin(60_000_000 / procs) }) }

type dictionary struct {
	mu    sync.RWMutex
	words map[int]int
}

func calls() {
	causes.Each(2, 20, func(int) {
		block()
		causes.Spin(100_000)
	})
}

func sleeper() {
	for range 20 {
		time.Sleep(2 * time.Millisecond)
		causes.Spin(100_000)
	}
}

func ticking() {
	t := time.NewTicker(3 * time.Millisecond)
	defer t.Stop()
	for range 20 {
		<-t.C
		causes.Spin(100_000)
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
	for range 20 {
		conn.SetReadDeadline(time.Now().Add(2 * time.Millisecond))
		conn.ReadFrom(b[:])
		causes.Spin(100_000)
	}
}

func pingPong(threads bool) {
	hops := 15_000
	if threads { // each takes ten times as long
		hops = 2_000
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
		causes.Spin(100_000)
	}
}

func crowd(procs int) { causes.Parallel(6*procs, func(int) { causes.Spin(15_000_000 / procs) }) }

// idle has a server that gets no requests.
func idle() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return
	}
	defer listener.Close()
	for range 4 {
		listener.(*net.TCPListener).SetDeadline(time.Now().Add(40 * time.Millisecond))
		serveOne(listener)
	}
}

func serveOne(listener net.Listener) {
	if c, err := listener.Accept(); err == nil {
		c.Close()
	}
}

// journal writes each entry to the disk before the next.
func journal() {
	f, err := os.CreateTemp("", "journal")
	if err != nil {
		return
	}
	defer os.Remove(f.Name())
	defer f.Close()
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
		enter(f)
	}
}

func enter(f *os.File) {
	f.WriteString("entry\n")
	f.Sync()
}

// logged has goroutines that log with one Logger, whose lock is held while it writes slowly.
func logged(procs int) {
	l := log.New(slow{}, "", 0)
	causes.Each(2*procs, 60, func(int) {
		note(l)
		causes.Spin(30_000)
	})
}

type slow struct{}

func (slow) Write(b []byte) (int, error) {
	causes.Spin(200_000)
	return len(b), nil
}

func note(l *log.Logger) { l.Print("done") }

// bucket releases goroutines at a rate, as a rate limiter does: one that is early sleeps until it
// is due.
type bucket struct {
	mu   sync.Mutex
	next time.Time
}

func (b *bucket) wait(every time.Duration) {
	b.mu.Lock()
	now := time.Now()
	if b.next.Before(now) {
		b.next = now
	}
	due := b.next.Sub(now)
	b.next = b.next.Add(every)
	b.mu.Unlock()
	if due > 0 {
		t := time.NewTimer(due)
		<-t.C
	}
}

func rated() {
	b := &bucket{}
	causes.Each(4, 15, func(int) {
		b.wait(2 * time.Millisecond)
		causes.Spin(20_000)
	})
}

// pulled has an iterator that a goroutine pulls from.
func pulled() {
	next, stop := iter.Pull(pulledValues)
	defer stop()
	for {
		if _, more := next(); !more {
			return
		}
		causes.Spin(5_000)
	}
}

func pulledValues(yield func(int) bool) {
	for i := range 20_000 {
		causes.Spin(5_000)
		if !yield(i) {
			return
		}
	}
}

// shared has goroutines request the same value at the same time.
func shared(procs int) {
	var group singleflight.Group
	causes.Each(4*procs, 4, func(int) { lookUp(&group, 15_000_000) })
}

// sharedOften does so with less work, so that goroutines also wait for the lock of the group, which
// is not held during the work.
func sharedOften() {
	var group singleflight.Group
	causes.Each(16, 20, func(int) {
		lookUp(&group, 3_000_000)
		causes.Spin(20_000)
	})
}

func lookUp(group *singleflight.Group, steps int) {
	group.Do("key", func() (any, error) {
		causes.Spin(steps)
		return nil, nil
	})
}

// filled is a cache that loads a value with its lock, while others wait for the same value.
type filled struct {
	mu sync.Mutex
	of map[int]bool
}

func (f *filled) get(key int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of[key] {
		return
	}
	time.Sleep(2 * time.Millisecond)
	f.of[key] = true
}

func filling(procs int) {
	f := &filled{of: map[int]bool{}}
	causes.Parallel(4*procs, func(int) {
		for key := range 50 {
			f.get(key)
			causes.Spin(20_000)
		}
	})
}

// convert runs one short command after the other.
func convert() {
	for range 60 {
		exec.Command("true").Run()
	}
}

// barrier makes goroutines wait until all have arrived.
type barrier struct {
	mu      sync.Mutex
	all     *sync.Cond
	here, n int
	round   int
}

func (b *barrier) arrive() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.here++; b.here == b.n {
		b.here = 0
		b.round++
		b.all.Broadcast()
		return
	}
	for round := b.round; round == b.round; {
		b.all.Wait()
	}
}

// inStep has a barrier after each step, of which one goroutine has more to do.
func inStep(procs int) {
	b := &barrier{n: procs}
	b.all = sync.NewCond(&b.mu)
	causes.Parallel(procs, func(i int) {
		for range 40 {
			if i == 0 {
				causes.Spin(2_000_000)
			} else {
				causes.Spin(200_000)
			}
			b.arrive()
		}
	})
}

// late answers after a delay.
func late(http.ResponseWriter, *http.Request) { time.Sleep(3 * time.Millisecond) }

// client requests one page at a time from one server.
type client struct {
	mu  sync.Mutex
	url string
}

func (c *client) fetch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	causes.Get(http.DefaultClient, c.url)
}

func lockedRequests() {
	server := httptest.NewServer(http.HandlerFunc(late))
	defer server.Close()
	c := &client{url: server.URL}
	causes.Each(8, 5, func(int) {
		c.fetch()
		causes.Spin(20_000)
	})
}

// dial connects to a server of its own that echoes what it reads, after a while.
func dial(after time.Duration) (p *peer, hangUp func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for b := make([]byte, 8); ; {
			if _, err := io.ReadFull(conn, b); err != nil {
				return
			}
			if after > 0 {
				time.Sleep(after)
			}
			conn.Write(b)
		}
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		listener.Close()
		return nil, nil, err
	}
	return &peer{conn: conn}, func() { conn.Close(); listener.Close() }, nil
}

// oneByOne has a goroutine that sends many small requests to a server.
func oneByOne() {
	p, hangUp, err := dial(0)
	if err != nil {
		return
	}
	defer hangUp()
	for range 1500 {
		if p.ask() != nil {
			return
		}
	}
}

// oneConnection has goroutines that share a connection to a slow server.
func oneConnection() {
	p, hangUp, err := dial(time.Millisecond)
	if err != nil {
		return
	}
	defer hangUp()
	causes.Each(12, 10, func(int) {
		if p.ask() != nil {
			return
		}
		causes.Spin(100_000)
	})
}

// peer is a connection with one request in progress at a time.
type peer struct {
	mu   sync.Mutex
	conn net.Conn
}

func (p *peer) ask() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := make([]byte, 8)
	if _, err := p.conn.Write(b); err != nil {
		return err
	}
	_, err := io.ReadFull(p.conn, b)
	return err
}

// visits counts requests under a lock that it holds for too long.
type visits struct {
	mu sync.Mutex
	n  map[string]int
}

func (v *visits) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.n[r.URL.Path]++
	causes.Spin(400_000)
}

type queue struct {
	mu    sync.Mutex
	more  sync.Cond
	items int
	done  bool
}

func (q *queue) put(done bool) {
	q.mu.Lock()
	q.items++
	q.done = done
	q.mu.Unlock()
	q.more.Broadcast()
}

func (q *queue) take() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.items == 0 && !q.done {
		q.more.Wait()
	}
	q.items--
	return !q.done
}

// queued has a producer whose consumers wait on a sync.Cond.
func queued(procs int) {
	q := &queue{}
	q.more.L = &q.mu
	var wg sync.WaitGroup
	for range 2 * procs {
		wg.Go(func() {
			for q.take() {
				causes.Spin(10_000)
			}
		})
	}
	fill(q)
	wg.Wait()
}

func fill(q *queue) {
	for i := range 200 {
		causes.Spin(300_000)
		q.put(i == 199)
	}
}

// prepared has goroutines wait until the first of them has prepared shared data.
func prepared(procs int) {
	var once sync.Once
	causes.Parallel(2*procs, func(int) {
		need(&once)
		causes.Spin(1_000_000)
	})
}

func need(once *sync.Once) {
	once.Do(func() { causes.Spin(60_000_000) })
}

// yielding has goroutines that poll whether it is their turn.
func yielding(procs int) {
	var turn atomic.Int64
	causes.Parallel(procs, func(i int) {
		for n := range 20 {
			for turn.Load() != int64(n*procs+i) {
				runtime.Gosched()
			}
			causes.Spin(200_000)
			turn.Add(1)
		}
	})
}

// timeouts waits for answers that never come, until the deadline of a context.
func timeouts() {
	for range 20 {
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Millisecond)
		answer(ctx)
		cancel()
	}
}

func answer(ctx context.Context) {
	select {
	case <-never:
	case <-ctx.Done():
	}
}

// asked has a goroutine that owns the data, and others that ask it through a channel.
func asked(procs int) {
	questions := make(chan chan int)
	go own(questions)
	causes.Parallel(2*procs, func(int) {
		answers := make(chan int)
		for range 60 {
			questions <- answers
			<-answers
			causes.Spin(10_000)
		}
	})
	close(questions)
}

func own(questions <-chan chan int) {
	n := 0
	for answers := range questions {
		causes.Spin(150_000)
		n++
		answers <- n
	}
}

// few has fewer goroutines than processors.
func few() {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(6))
	causes.Parallel(2, func(int) { causes.Spin(30_000_000) })
}

// alone has more goroutines than its one processor.
func alone() {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	causes.Parallel(4, func(int) { causes.Spin(15_000_000) })
}

func deliver(late chan<- int) { late <- 1 }

// refreshed has readers of a table that is replaced repeatedly.
func refreshed(procs int) {
	d := &dictionary{words: map[int]int{1: 1}}
	var stop sync.WaitGroup
	end := time.Now().Add(150 * time.Millisecond)
	stop.Go(func() {
		for time.Now().Before(end) {
			refresh(d)
			causes.Spin(100_000)
		}
	})
	causes.Parallel(4*procs, func(int) {
		for time.Now().Before(end) {
			read(d)
		}
	})
	stop.Wait()
}

func refresh(d *dictionary) {
	d.mu.Lock()
	defer d.mu.Unlock()
	causes.Spin(5_000_000)
}

func read(d *dictionary) {
	d.mu.RLock()
	_ = d.words[1]
	d.mu.RUnlock()
	causes.Spin(20_000)
}

// beside has a goroutine that computes all the time, and one that polls occasionally.
func beside() {
	ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond)
		}
	}()
	for ctx.Err() == nil {
		causes.Spin(1_000_000)
	}
}

// partly abandons two of three goroutines.
func partly() {
	for i := range 600 {
		result := make(chan int)
		go deliver(result)
		if i%3 == 0 {
			<-result
		}
		causes.Spin(100_000)
	}
}

// register is read by goroutines that sleep while they hold it, and occasionally one changes it.
type register struct {
	mu sync.RWMutex
	n  int
}

func sleepers() {
	var r register
	causes.Parallel(24, func(i int) {
		for k := range 12 {
			if (i+k)%8 == 0 {
				r.change()
			} else {
				r.read()
			}
		}
	})
}

func (r *register) change() {
	r.mu.Lock()
	r.n++
	r.mu.Unlock()
}

func (r *register) read() {
	r.mu.RLock()
	defer r.mu.RUnlock()
	time.Sleep(3 * time.Millisecond)
}

// measured has goroutines that read the sizes of the heap all the time.
func measured(procs int) {
	causes.Each(procs, 1000, func(int) { measure() })
}

func measure() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	causes.Spin(1_000)
}

// collected has one goroutine that requests collections while others work.
func collected(procs int) {
	causes.Each(procs, 40, func(i int) {
		causes.Spin(50_000)
		if i == 0 {
			collect()
		}
	})
}

func collect() { runtime.GC() }

// awaited polls whether another goroutine is done.
func awaited() {
	var done atomic.Bool
	go func() {
		causes.Spin(30_000_000)
		done.Store(true)
	}()
	for !done.Load() {
		runtime.Gosched()
	}
}

// oneProc runs a program on one processor.
func oneProc(run func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	run()
}

// locked has goroutines that hold a lock nearly all of the time.
func locked() {
	var c counter
	causes.Each(8, 100, func(int) { c.hold() })
}

type counter struct{ mu sync.Mutex }

//go:noinline
func (c *counter) hold() {
	c.mu.Lock()
	causes.Spin(200_000)
	c.mu.Unlock()
}

// reduced counts in parallel, and adds the counts up in one goroutine.
func reduced(procs int) {
	parts := make([]map[int]int, 4*procs)
	causes.Parallel(len(parts), func(i int) {
		parts[i] = map[int]int{}
		for k := range 40_000 {
			parts[i][k*len(parts)+i]++
		}
	})
	join(parts)
}

//go:noinline
func join(parts []map[int]int) {
	all := map[int]int{}
	for _, p := range parts {
		for k, n := range p {
			all[k] += n
		}
	}
}

// besideTicker has a serial part, a parallel one, and a goroutine that does little, again and
// again.
func besideTicker(procs int) {
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		t := time.NewTicker(4 * time.Millisecond)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				causes.Spin(5_000)
			case <-stop:
				return
			}
		}
	}()
	serially()
	causes.Parallel(2*procs, func(int) { causes.Spin(40_000_000 / procs) })
}

//go:noinline
func serially() { causes.Spin(60_000_000) }

// polling checks after each tick whether something has happened.
func polling() {
	var done atomic.Bool
	time.AfterFunc(100*time.Millisecond, func() { done.Store(true) })
	for !done.Load() {
		<-time.After(2 * time.Millisecond)
		causes.Spin(20_000)
	}
}
