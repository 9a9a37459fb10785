// App contends for locks, measures by itself who waited for whom, and prints that.
package main

import (
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"example.com/app/store"
)

type span struct {
	where    string
	from, to time.Duration
}

var (
	began = time.Now()
	mu    sync.Mutex // a lock of its own, never contended for long
	waits []span
	holds []span
)

func note(to *[]span, s span) {
	mu.Lock()
	*to = append(*to, s)
	mu.Unlock()
}

// work calls do, which calls its argument while it holds a lock, and holds it for some time.
func work(where string, hold time.Duration, do func(func())) {
	asked := time.Since(began)
	var got, end time.Duration
	do(func() {
		got = time.Since(began)
		time.Sleep(hold)
		end = time.Since(began)
	})
	note(&waits, span{where, asked, got})
	note(&holds, span{where, got, end})
}

var shared = store.Copy(&store.Locked[int]{})

//go:noinline
func quick() { work("main.quick", time.Millisecond, func(f func()) { shared.Do(func(*int) { f() }) }) }

//go:noinline
func slow() { work("main.slow", 4*time.Millisecond, func(f func()) { shared.Do(func(*int) { f() }) }) }

// spin contends for a lock that is held for so short a time that owners barge in.
func spin(l *store.Locked[int], n int) {
	for range n {
		l.Do(func(v *int) {
			for range 200 {
				*v++
			}
		})
	}
}

func main() {
	runtime.SetBlockProfileRate(1)
	runtime.SetMutexProfileFraction(1)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 30 {
				if i == 0 {
					slow()
				} else {
					quick()
				}
			}
		})
	}
	wg.Wait()
	var table store.Table
	logger := store.Logger(&store.Slow{Hold: time.Sleep})
	hot := &store.Locked[int]{}
	for i := range 4 {
		wg.Go(func() {
			for j := range 20 {
				logger.Print(i)
				table.Put(j, func() { time.Sleep(100 * time.Microsecond) })
				table.Get(j)
			}
			spin(hot, 20000)
		})
	}
	wg.Wait()
	truth := map[string]any{"Blamed": blamed(), "Parks": parks()}
	if err := json.NewEncoder(os.Stdout).Encode(truth); err != nil {
		panic(err)
	}
	switch strings.Join(os.Args[1:], " ") {
	case "exit":
		os.Exit(3)
	case "panic":
		go panic("the end")
		select {}
	case "hang":
		time.Sleep(time.Minute)
	}
}

// blamed returns for how many nanoseconds those at one place waited for those at another.
func blamed() map[string]time.Duration {
	sum := map[string]time.Duration{}
	for _, w := range waits {
		for _, h := range holds {
			if d := min(w.to, h.to) - max(w.from, h.from); d > 0 {
				sum[w.where+" for "+h.where] += d
			}
		}
	}
	return sum
}

// parks returns how often goroutines blocked for locks, by the function that asked for it.
func parks() map[string]int64 {
	records := make([]runtime.BlockProfileRecord, 1000)
	n, ok := runtime.BlockProfile(records)
	if !ok {
		panic("too many records")
	}
	sum := map[string]int64{}
	for _, r := range records[:n] {
		frames := runtime.CallersFrames(r.Stack())
		for lock := false; ; {
			f, more := frames.Next()
			if lock = lock || strings.Contains(f.Function, "Mutex)."); !strings.Contains(f.Function, "sync.(*") {
				if lock {
					sum[f.Function] += r.Count
				}
				break
			}
			if !more {
				break
			}
		}
	}
	return sum
}
