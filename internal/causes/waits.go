package causes

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"runtime"
	"runtime/trace"
	"sync"
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
	Each(16, 6, func(int) { load(db) })
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
	Each(32, 4, func(int) { admit(sem) })
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
	Each(2*procs, 60, func(int) { pass(free) })
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

// steps has a barrier after each step. In each step, the last goroutine has a multiple of the work
// of the others.
func steps(procs, times int) {
	const all = 2_000_000
	part := all / (procs - 1 + times)
	for range 60 {
		Parallel(procs, func(i int) {
			if i == procs-1 {
				step(part * times)
			} else {
				step(part)
			}
		})
	}
}

func step(n int) { Spin(n) }

// hot has many goroutines that hold a lock for a microsecond each, so that they spin for it.
func hot(procs, locks int) {
	counters := make([]counter, locks)
	Each(16*procs, 10_000, func(i int) {
		counters[i%locks].add(func() { Spin(1_500) })
		Spin(300)
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
	read := stage(in, 5_000, 1)
	worked := stage(read, 300_000, workers)
	for range stage(worked, 5_000, 1) {
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

// exchanged has pairs of goroutines that exchange numbers, with some steps of work in between.
func exchanged(pairs, numbers, steps int) {
	channels := make([]chan int, pairs)
	for i := range channels {
		channels[i] = make(chan int)
	}
	Parallel(2*pairs, func(i int) { exchange(channels[i/2], i%2 == 0, numbers, steps) })
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
	Each(procs, tasks, func(int) { trace.WithRegion(context.Background(), "small", func() { Spin(1000 * steps) }) })
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
