package timeline

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"runtime/trace"
	"sync"
	"testing"
	"time"
)

// recordTrace runs f under the execution tracer and returns the trace.
func recordTrace(t testing.TB, f func()) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Fatal(err)
	}
	f()
	trace.Stop()
	return buf.Bytes()
}

// recordLive records some of everything: tasks, regions, locks, system calls, collections with
// assists, goroutines that start and exit.
func recordLive(t testing.TB) []byte {
	t.Helper()
	older := make(chan int)
	go func() {
		for range older {
		}
	}()
	defer close(older)
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pr.Close()
	defer pw.Close()
	return recordTrace(t, func() {
		ctx, task := trace.NewTask(context.Background(), "live")
		defer task.End()
		var wg sync.WaitGroup
		var mu sync.Mutex
		for range 4 {
			wg.Go(func() {
				defer trace.StartRegion(ctx, "worker").End()
				for i := range 50 {
					mu.Lock()
					runtime.Gosched()
					mu.Unlock()
					older <- i
					pw.Write([]byte{1})
					trace.Log(ctx, "step", "done")
				}
				ballast(1 << 14)
			})
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			b := make([]byte, 1)
			for range 200 {
				pr.Read(b)
			}
		}()
		wg.Wait()
		time.Sleep(time.Millisecond)
	})
}

// ballast allocates n blocks of a kilobyte that hold pointers.
func ballast(n int) {
	var keep []*[128]*int
	for range n {
		keep = append(keep, new([128]*int))
	}
	runtime.KeepAlive(keep)
}
