package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
)

const (
	goroutines = 8
	keys       = 1 << 12
)

// examples returns the workloads of examples/printlock and of a shared map, before and after the
// repair. Their locks are kept from round to round, as those of programs are. Collection is on all
// the time, which does not affect the locks of package sync.
func examples(length time.Duration) []subject {
	example := func(name string, work func(newLock func() sync.Locker) func(g, n int)) subject {
		return subject{name, func(context.Context, string) (func(context.Context, int) (float64, error), func(), error) {
			var of [variants]func(g, n int)
			for v := range of {
				of[v] = work(func() sync.Locker { return new(sync.Mutex) })
			}
			of[wrapped] = work(func() sync.Locker { return new(contention.Mutex) })
			run := func(_ context.Context, variant int) (float64, error) { return perSecond(of[variant], length), nil }
			return run, func() { contention.Stop() }, contention.Start(contention.Options{})
		}}
	}
	return []subject{example("sharedmap", sharedMap(1)), example("sharedmap, 64 shards", sharedMap(64)), example("printlock", printLock)}
}

// sharedMap has goroutines update maps with one lock each, and compute for 2 µs under the lock.
func sharedMap(shards int) func(newLock func() sync.Locker) func(g, n int) {
	return func(newLock func() sync.Locker) func(g, n int) {
		maps := make([]map[int]uint32, shards)
		locks := make([]sync.Locker, shards)
		for i := range maps {
			maps[i], locks[i] = map[int]uint32{}, newLock()
		}
		return func(g, n int) {
			key := (g*7919 + n*104729) % keys
			i := key % shards
			locks[i].Lock()
			maps[i][key] = compute(maps[i][key], 4000)
			locks[i].Unlock()
		}
	}
}

// printLock has goroutines compute for 5 µs and write a line under one lock.
func printLock(newLock func() sync.Locker) func(g, n int) {
	lock := newLock()
	return func(g, n int) {
		x := compute(uint32(n), 10_000)
		lock.Lock()
		fmt.Fprintf(io.Discard, "goroutine %d: step %d gave %d\n", g, n, x)
		lock.Unlock()
	}
}

func compute(x uint32, steps int) uint32 {
	for range steps {
		x = x*1664525 + 1013904223
	}
	return x
}

func perSecond(do func(g, n int), d time.Duration) float64 {
	var wg sync.WaitGroup
	var stop atomic.Bool
	var done atomic.Int64
	begin := time.Now()
	for g := range goroutines {
		wg.Go(func() {
			n := 0
			for ; !stop.Load(); n++ {
				do(g, n)
			}
			done.Add(int64(n))
		})
	}
	time.Sleep(d)
	stop.Store(true)
	wg.Wait()
	return float64(done.Load()) / time.Since(begin).Seconds()
}
