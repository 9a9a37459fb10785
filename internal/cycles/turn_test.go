package cycles

import (
	"context"
	"iter"
	"runtime"
	"sync"
	"testing"
	"time"
)

// known skips the test if the count of a goroutine's turns is not found. It must exist on supported
// systems.
func known(t *testing.T) {
	t.Helper()
	Default()
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" && runtime.GOARCH != "386" {
		t.Skip("the count is read on amd64, arm64 and 386 only")
	}
	if !TurnsKnown() || turn()&turnKnown == 0 {
		t.Fatal("the count of a goroutine's turns was not found in the runtime's structure")
	}
}

// A goroutine that yields its thread in any way has not stayed. One that computes or makes system
// calls has.
func TestStayed(t *testing.T) {
	known(t)
	c := Default()
	stayed := func(f func()) bool {
		result := make(chan bool)
		go func() {
			from := c.Start()
			f()
			to := c.Stop(from.Thread)
			result <- to.Stayed(&from)
		}()
		return <-result
	}
	often := func(f func()) (n int) {
		for range 50 { // the system or the collector may preempt it
			if stayed(f) {
				n++
			}
		}
		return n
	}
	var mu sync.Mutex
	for name, f := range map[string]func(){
		"nothing":          func() {},
		"a larger stack":   func() { deep(8) },
		"a huge stack":     func() { deep(100) },
		"computing":        func() { busy(10_000) },
		"a system call":    callSystem,
		"an idle lock":     func() { mu.Lock(); defer mu.Unlock() },
		"another function": func() { context.Background().Err() },
	} {
		if n := often(f); n < 10 {
			t.Errorf("%s: stayed in %d of 50 cases", name, n)
		}
	}
	if !lockedStays(c, func() { time.Sleep(time.Microsecond); runtime.Gosched() }) {
		t.Error("a goroutine that is locked to its thread has not stayed")
	}
	if lockedStays(c, func() { runtime.UnlockOSThread(); time.Sleep(time.Microsecond) }) {
		t.Error("a goroutine that has unlocked itself has stayed")
	}
	// With one processor, the goroutine that ends a wait runs only after the wait has begun.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for name, f := range map[string]func(){
		"Gosched":   runtime.Gosched,
		"a sleep":   func() { time.Sleep(time.Microsecond) },
		"a channel": func() { <-later() },
		"a select": func() {
			select {
			case <-later():
			case <-time.After(time.Hour):
			}
		},
		"a lock": func() {
			mu.Lock()
			go func() { time.Sleep(10 * time.Microsecond); mu.Unlock() }()
			mu.Lock()
			defer mu.Unlock()
		},
		"a larger stack and Gosched": func() { deep(8); runtime.Gosched() },
		"a larger stack and a sleep": func() { deep(100); time.Sleep(time.Microsecond) },
		"a wait group":               func() { var wg sync.WaitGroup; wg.Go(func() { time.Sleep(time.Microsecond) }); wg.Wait() },
		"an iterator":                func() { iterate() },
		"an iterator and more":       func() { time.Sleep(time.Nanosecond); iterate(); runtime.Gosched() },
	} {
		if n := often(f); n > 0 {
			t.Errorf("%s: stayed in %d of 50 cases", name, n)
		}
	}
}

// deep needs 1 kB of stack a level.
//
//go:noinline
func deep(n int) byte {
	var frame [1024]byte
	frame[n] = 1
	if n > 0 {
		frame[0] = deep(n - 1)
	}
	return frame[0] + frame[n]
}

func callSystem() { pair(); _ = time.Now() }

// lockedStays reports whether a goroutine that is locked to its thread counts as having stayed.
func lockedStays(c *Clock, f func()) bool {
	result := make(chan bool)
	go func() {
		runtime.LockOSThread()
		from := c.Start()
		f()
		to := c.Stop(from.Thread)
		runtime.UnlockOSThread()
		result <- to.Stayed(&from)
	}()
	return <-result
}

// later returns a channel that receives a value after the caller has waited.
func later() chan int {
	c := make(chan int)
	go func() { time.Sleep(100 * time.Microsecond); c <- 1 }()
	return c
}

// iterate advances a coroutine that blocks.
func iterate() {
	next, stop := iter.Pull(func(yield func(int) bool) {
		for i := range 3 {
			time.Sleep(time.Microsecond)
			if !yield(i) {
				return
			}
		}
	})
	defer stop()
	next()
	next()
}

// The test contains coroutines, so the check must report them, and not because it fails.
func TestCoroutinesAreDetected(t *testing.T) {
	if !Coroutines() {
		t.Error("iter.Pull is not seen in a program that contains it")
	}
	if len(functionNames()) == 0 {
		t.Error("the names of the functions are not found")
	}
}
