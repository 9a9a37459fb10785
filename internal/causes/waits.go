package causes

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"runtime"
	"runtime/trace"
	"sync"
	"sync/atomic"
	"time"
)

// work is the work of several programs: wait for something outside, and compute a little with it.
func work() {
	time.Sleep(2 * time.Millisecond)
	Spin(20_000)
}

// A database in which each query takes a millisecond.
type (
	database   struct{}
	connection struct{}
	statement  struct{}
	noRows     struct{}
)

func (database) Connect(context.Context) (driver.Conn, error) { return connection{}, nil }
func (database) Driver() driver.Driver                        { return nil }
func (connection) Prepare(string) (driver.Stmt, error)        { return statement{}, nil }
func (connection) Close() error                               { return nil }
func (connection) Begin() (driver.Tx, error)                  { return nil, driver.ErrSkip }
func (statement) Close() error                                { return nil }
func (statement) NumInput() int                               { return -1 }
func (statement) Exec([]driver.Value) (driver.Result, error)  { return nil, driver.ErrSkip }
func (noRows) Columns() []string                              { return []string{"id"} }
func (noRows) Close() error                                   { return nil }
func (noRows) Next([]driver.Value) error                      { return io.EOF }

func (statement) Query([]driver.Value) (driver.Rows, error) {
	time.Sleep(time.Millisecond)
	return noRows{}, nil
}

func queries(connections int) {
	db := sql.OpenDB(database{})
	defer db.Close()
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(64)
	parallel(16, func(int) {
		for range 6 {
			load(db)
		}
	})
}

func load(db *sql.DB) {
	rows, err := db.Query("select id from users")
	if err == nil {
		rows.Close()
	}
	Spin(20_000)
}

// admitted has a channel as a semaphore.
func admitted(places int) {
	sem := make(chan struct{}, places)
	parallel(32, func(int) {
		for range 4 {
			admit(sem)
		}
	})
}

func admit(sem chan struct{}) {
	sem <- struct{}{}
	work()
	<-sem
}

// passed has a channel with a token that goroutines pass to each other while they compute.
func passed(procs, tokens int) {
	free := make(chan struct{}, tokens)
	for range tokens {
		free <- struct{}{}
	}
	parallel(2*procs, func(int) {
		for range 60 {
			pass(free)
		}
	})
}

func pass(free chan struct{}) {
	<-free
	Spin(200_000)
	free <- struct{}{}
}

// pool has a number of workers that wait for something outside.
func pool(workers int) {
	jobs := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { serve(jobs) })
	}
	for i := range 120 {
		jobs <- i
	}
	close(jobs)
	wg.Wait()
}

func serve(jobs <-chan int) {
	for range jobs {
		work()
	}
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
				Spin(10_000)
			}
		})
	}
	fill(q)
	wg.Wait()
}

func fill(q *queue) {
	for i := range 200 {
		Spin(300_000)
		q.put(i == 199)
	}
}

// prepared has goroutines wait until the first of them has prepared shared data.
func prepared(procs int) {
	var once sync.Once
	parallel(2*procs, func(int) {
		need(&once)
		Spin(1_000_000)
	})
}

func need(once *sync.Once) {
	once.Do(func() { Spin(60_000_000) })
}

// steps has a barrier after each step. In each step, the last goroutine has a multiple of the work
// of the others.
func steps(procs, times int) {
	const all = 2_000_000
	part := all / (procs - 1 + times)
	for range 60 {
		parallel(procs, func(i int) {
			if i == procs-1 {
				step(part * times)
			} else {
				step(part)
			}
		})
	}
}

func step(n int) { Spin(n) }

// yielding has goroutines that poll whether it is their turn.
func yielding(procs int) {
	var turn atomic.Int64
	parallel(procs, func(i int) {
		for n := range 40 {
			for turn.Load() != int64(n*procs+i) {
				runtime.Gosched()
			}
			Spin(200_000)
			turn.Add(1)
		}
	})
}

// polling checks after each tick whether something has happened.
func polling() {
	var done atomic.Bool
	time.AfterFunc(100*time.Millisecond, func() { done.Store(true) })
	for !done.Load() {
		<-time.After(2 * time.Millisecond)
		Spin(20_000)
	}
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
	parallel(2*procs, func(int) {
		answers := make(chan int)
		for range 100 {
			questions <- answers
			<-answers
			Spin(10_000)
		}
	})
	close(questions)
}

func own(questions <-chan chan int) {
	n := 0
	for answers := range questions {
		Spin(150_000)
		n++
		answers <- n
	}
}

// few has fewer goroutines than processors.
func few() {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(6))
	parallel(2, func(int) { Spin(60_000_000) })
}

// alone has more goroutines than its one processor.
func alone() {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	parallel(4, func(int) { Spin(25_000_000) })
}

func deliver(late chan<- int) { late <- 1 }

// refreshed has readers of a table that is replaced repeatedly.
func refreshed(procs int) {
	d := &dictionary{words: map[int]int{1: 1}}
	var stop sync.WaitGroup
	end := time.Now().Add(250 * time.Millisecond)
	stop.Go(func() {
		for time.Now().Before(end) {
			refresh(d)
			Spin(100_000)
		}
	})
	parallel(4*procs, func(int) {
		for time.Now().Before(end) {
			read(d)
		}
	})
	stop.Wait()
}

func refresh(d *dictionary) {
	d.mu.Lock()
	defer d.mu.Unlock()
	Spin(5_000_000)
}

func read(d *dictionary) {
	d.mu.RLock()
	_ = d.words[1]
	d.mu.RUnlock()
	Spin(20_000)
}

// hot has many goroutines that hold a lock for a microsecond each, so that they spin for it.
func hot(procs, locks int) {
	counters := make([]counter, locks)
	parallel(16*procs, func(i int) {
		for range 10_000 {
			counters[i%locks].add(func() { Spin(1_500) })
			Spin(300)
		}
	})
}

// stages has a pipeline whose stages are all the same function. One takes most of the time.
func stages(workers int) {
	in := make(chan int, 2)
	go func() {
		for i := range 600 {
			in <- i
		}
		close(in)
	}()
	out := stage(stage(stage(in, 5_000, 1), 300_000, workers), 5_000, 1)
	for range out {
		Spin(1_000)
	}
}

func stage(in <-chan int, steps, workers int) <-chan int {
	out := make(chan int, 2)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range in {
				Spin(steps)
				out <- i
			}
		})
	}
	go func() {
		wg.Wait()
		close(out)
	}()
	return out
}

// beside has a goroutine that computes all the time, and one that polls occasionally.
func beside() {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond)
		}
	}()
	for ctx.Err() == nil {
		Spin(1_000_000)
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
		Spin(100_000)
	}
}

// register is read by goroutines that sleep while they hold it, and occasionally one changes it.
type register struct {
	mu sync.RWMutex
	n  int
}

func sleepers() {
	var r register
	parallel(24, func(i int) {
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
	parallel(procs, func(int) {
		for range 3000 {
			measure()
		}
	})
}

func measure() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	Spin(1_000)
}

// collected has one goroutine that requests collections while others work.
func collected(procs int) {
	parallel(procs, func(i int) {
		for range 150 {
			Spin(50_000)
			if i == 0 {
				collect()
			}
		}
	})
}

func collect() { runtime.GC() }

// exchanged has pairs of goroutines that exchange numbers, with some steps of work in between.
func exchanged(pairs, numbers, steps int) {
	channels := make([]chan int, pairs)
	for i := range channels {
		channels[i] = make(chan int)
	}
	parallel(2*pairs, func(i int) { exchange(channels[i/2], i%2 == 0, numbers, steps) })
}

func exchange(c chan int, sends bool, numbers, steps int) {
	for i := range numbers {
		Spin(100 * steps)
		if sends {
			c <- i
		} else {
			<-c
		}
	}
}

// small has goroutines work on tasks, which are user regions, of a given number of steps.
func small(procs, tasks, steps int) {
	parallel(procs, func(int) {
		for range tasks {
			trace.WithRegion(context.Background(), "small", func() { Spin(1000 * steps) })
		}
	})
}

type job struct {
	run  func()
	done chan struct{}
}

// mainThread has goroutines whose small jobs are done by a goroutine locked to its thread.
func mainThread(goroutines int, do func(jobs chan job, run func())) {
	jobs := make(chan job)
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range 2000 {
				Spin(3_000)
				do(jobs, func() { Spin(1_000) })
			}
		})
	}
	go func() {
		wg.Wait()
		close(jobs)
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for j := range jobs {
		j.run()
		close(j.done)
	}
}

func onMain(jobs chan job, run func()) {
	j := job{run, make(chan struct{})}
	jobs <- j
	<-j.done
}

func inPlace(_ chan job, run func()) { run() }

// awaited polls whether another goroutine is done.
func awaited() {
	var done atomic.Bool
	go func() {
		Spin(150_000_000)
		done.Store(true)
	}()
	for !done.Load() {
		runtime.Gosched()
	}
}

// relayed has goroutines whose small messages pass through one.
func relayed(messages, steps int) {
	in, out := make(chan int), make(chan int)
	var senders sync.WaitGroup
	for range 4 {
		senders.Go(func() {
			for range messages / 4 {
				in <- 1
			}
		})
	}
	go func() { senders.Wait(); close(in) }()
	go relay(in, out, steps)
	for range out {
	}
}

func relay(in <-chan int, out chan<- int, steps int) {
	for m := range in {
		Spin(steps)
		out <- m
	}
	close(out)
}

// fibonacci has a goroutine for each call.
func fibonacci(n, least int) int {
	if n < 2 {
		return n
	}
	if n <= least {
		return fibonacci(n-1, least) + fibonacci(n-2, least)
	}
	c := make(chan int, 1)
	go func() { c <- fibonacci(n-1, least) }()
	return fibonacci(n-2, least) + <-c
}

// oneProc runs a program on one processor.
func oneProc(run func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	run()
}

// locked has goroutines that hold a lock nearly all of the time.
func locked() {
	var c counter
	parallel(8, func(int) {
		for range 200 {
			c.hold()
		}
	})
}

//go:noinline
func (c *counter) hold() {
	c.mu.Lock()
	Spin(200_000)
	c.mu.Unlock()
}

// drained has goroutines that fill a queue, and one that empties it slowly.
func drained(sinks int) {
	queue := make(chan int, 4)
	var sources, ends sync.WaitGroup
	for range 4 {
		sources.Go(func() {
			for i := range 30 {
				Spin(20_000)
				queue <- i
			}
		})
	}
	for range sinks {
		ends.Go(func() { drain(queue) })
	}
	sources.Wait()
	close(queue)
	ends.Wait()
}

func drain(queue <-chan int) {
	for range queue {
		time.Sleep(2 * time.Millisecond)
	}
}

// reduced counts in parallel, and adds the counts up in one goroutine.
func reduced(procs int) {
	parts := make([]map[int]int, 4*procs)
	parallel(len(parts), func(i int) {
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
		t := time.NewTicker(10 * time.Millisecond)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				Spin(5_000)
			case <-stop:
				return
			}
		}
	}()
	serially()
	parallel(2*procs, func(int) { Spin(100_000_000 / procs) })
}

//go:noinline
func serially() { Spin(150_000_000) }
