package main

import (
	"runtime"
	"sync"
	"time"
)

// workloads are the programs whose traces are recorded. They end when more reports false; they may
// call it often.
var workloads = map[string]func(more func() bool){"mixed": mixed, "churn": churn, "crowd": crowd, "queues": queues}

// spin computes for a time proportional to n.
func spin(n int) {
	x := 0
	for i := range n {
		x += i * i
	}
	runtime.KeepAlive(x)
}

// mixed is a small service: a pool behind a channel with a lock inside, hundreds of short
// goroutines, and two goroutines that hand over to each other.
func mixed(more func() bool) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	work := make(chan int)
	for range 8 {
		wg.Go(func() {
			for n := range work {
				spin(n)
				mu.Lock()
				spin(200)
				mu.Unlock()
			}
		})
	}
	wg.Go(func() {
		defer close(work)
		for more() {
			for range 100 {
				work <- 20_000
			}
		}
	})
	wg.Go(func() { burst(more, 20_000) })
	ping, pong := make(chan int), make(chan int)
	wg.Go(func() {
		defer close(ping)
		for more() {
			ping <- 1
			<-pong
			spin(3_000)
		}
	})
	wg.Go(func() {
		for range ping {
			pong <- 1
		}
	})
	wg.Wait()
}

// burst starts a hundred goroutines at a time.
func burst(more func() bool, work int) {
	for more() {
		var w sync.WaitGroup
		for range 100 {
			w.Go(func() { spin(work) })
		}
		w.Wait()
	}
}

// churn starts at most 100,000 short goroutines a second, a thousand for each call of more.
func churn(more func() bool) {
	for more() {
		begin := time.Now()
		var w sync.WaitGroup
		for range 1000 {
			w.Go(func() { spin(1000) })
		}
		w.Wait()
		time.Sleep(10*time.Millisecond - time.Since(begin))
	}
}

// crowd starts a thousand goroutines for each call of more. All of them live until the end.
func crowd(more func() bool) {
	var wg sync.WaitGroup
	end := make(chan struct{})
	for more() {
		for range 1000 {
			wg.Go(func() { <-end })
		}
	}
	close(end)
	wg.Wait()
}

// queues has a thousand goroutines wait for eight locks.
func queues(more func() bool) {
	var wg sync.WaitGroup
	var locks [8]sync.Mutex
	for i := range 1000 {
		wg.Go(func() {
			for more() {
				mu := &locks[i%len(locks)]
				mu.Lock()
				spin(2_000)
				runtime.Gosched() // otherwise a goroutine seldom finds the lock held
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}
