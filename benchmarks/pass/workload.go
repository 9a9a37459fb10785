package main

import (
	"sync"
	"time"
)

// workloads are what the traces are recorded from.
var workloads = map[string]func(time.Duration){"mixed": mixed, "churn": churn}

var sink int

func spin(n int) {
	x := 0
	for i := range n {
		x += i * i
	}
	if x == -1 {
		sink = x
	}
}

// mixed is a service in small: a pool behind a channel with a lock inside,
// short goroutines by the hundred, and two goroutines that hand over to each other.
func mixed(d time.Duration) {
	end := time.Now().Add(d)
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
		for time.Now().Before(end) {
			for range 100 {
				work <- 20_000
			}
		}
	})
	wg.Go(func() { burst(end, 20_000) })
	ping, pong := make(chan int), make(chan int)
	wg.Go(func() {
		defer close(ping)
		for time.Now().Before(end) {
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

// burst starts a hundred goroutines at a time until the end.
func burst(end time.Time, work int) {
	for time.Now().Before(end) {
		var w sync.WaitGroup
		for range 100 {
			w.Go(func() { spin(work) })
		}
		w.Wait()
	}
}

// churn starts about 100,000 short goroutines a second.
func churn(d time.Duration) {
	end := time.Now().Add(d)
	for time.Now().Before(end) {
		begin := time.Now()
		var w sync.WaitGroup
		for range 1000 {
			w.Go(func() { spin(1000) })
		}
		w.Wait()
		time.Sleep(10*time.Millisecond - time.Since(begin))
	}
}
