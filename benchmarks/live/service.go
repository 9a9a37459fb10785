package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/bottleneck-go/bottleneck/benchmarks/live/ab"
)

// service is an HTTP service with a pool of workers, a cache under a lock and a log under another.
func service() ab.Workload {
	return ab.Workload{Name: "service (net/http, worker pool, cache and log under locks)", Clients: 16, Start: func() (func(int) error, func(), error) {
		jobs := make(chan *job)
		var workers sync.WaitGroup
		for range 4 {
			workers.Go(func() { work(jobs) })
		}
		cache := map[int][32]byte{}
		var cacheMu, logMu sync.Mutex
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id, _ := strconv.Atoi(r.URL.Query().Get("id"))
			cacheMu.Lock()
			sum, ok := cache[id]
			cacheMu.Unlock()
			if !ok {
				j := &job{id: id, done: make(chan [32]byte, 1)}
				jobs <- j
				sum = <-j.done
				cacheMu.Lock()
				if len(cache) > 1000 {
					clear(cache)
				}
				cache[id] = sum
				cacheMu.Unlock()
			}
			logMu.Lock()
			fmt.Fprintf(io.Discard, "%s %d %x\n", r.URL.Path, id, sum)
			logMu.Unlock()
			fmt.Fprintf(w, "%x\n", sum)
		})
		op, stop, err := serve(handler, func(client, n int) string { return "/?id=" + strconv.Itoa((client*7919+n*31)%5000) })
		return op, func() { stop(); close(jobs); workers.Wait() }, err
	}}
}

type job struct {
	id   int
	done chan [32]byte
}

func work(jobs <-chan *job) {
	for j := range jobs {
		sum := sha256.Sum256([]byte(strconv.Itoa(j.id)))
		for range 60 {
			sum = sha256.Sum256(sum[:])
		}
		j.done <- sum
	}
}

// serve starts a server on the loopback and returns a client's operation.
func serve(h http.Handler, path func(client, n int) string) (func(int) error, func(), error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	s := &http.Server{Handler: h}
	go s.Serve(l)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	var n [64]int
	op := func(i int) error {
		n[i]++
		r, err := client.Get("http://" + l.Addr().String() + path(i, n[i]))
		if err != nil {
			return err
		}
		defer r.Body.Close()
		_, err = io.Copy(io.Discard, r.Body)
		return err
	}
	return op, func() { s.Close(); client.CloseIdleConnections() }, nil
}

// waiters is a workload of goroutines that wait for one mutex; each holder works for 20 µs.
func waiters(n int) ab.Workload {
	return ab.Workload{Name: fmt.Sprintf("%d waiters (one mutex, held for 20 µs at a time)", n), Clients: n, Full: true, Start: func() (func(int) error, func(), error) {
		var mu sync.Mutex
		op := func(int) error {
			mu.Lock()
			for start := time.Now(); time.Since(start) < 20*time.Microsecond; {
			}
			mu.Unlock()
			return nil
		}
		return op, func() {}, nil
	}}
}

// pingPong hands values over on unbuffered channels and does nothing else: the worst case of
// tracing.
func pingPong() ab.Workload {
	return ab.Workload{Name: "pingpong (unbuffered channels, nothing else)", Clients: 2, Start: func() (func(int) error, func(), error) {
		type pair struct{ there, back chan int }
		var pairs [2]pair
		for i := range pairs {
			pairs[i] = pair{make(chan int), make(chan int)}
			go func() {
				for v := range pairs[i].there {
					pairs[i].back <- v
				}
			}()
		}
		op := func(i int) error {
			for v := range 100 {
				pairs[i].there <- v
				<-pairs[i].back
			}
			return nil
		}
		return op, func() {
			for _, p := range pairs {
				close(p.there)
			}
		}, nil
	}}
}
