package granularity_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bottleneck-go/bottleneck/granularity"
)

func ExamplePool() {
	pool := &granularity.Pool{Name: "squares", Workers: 4}
	var sum atomic.Int64
	for i := range 10 {
		pool.Submit(func() { sum.Add(int64(i * i)) })
	}
	pool.Go(func() error { return fmt.Errorf("one task failed") })
	err := pool.Close() // waits for the tasks
	fmt.Println(sum.Load(), err)
	// Output: 285 one task failed
}

func ExampleGroup() {
	group, ctx := granularity.WithContext(context.Background())
	group.Name = "fetch"
	group.SetLimit(2)
	for i := range 5 {
		group.Go(func() error {
			if i == 3 {
				return fmt.Errorf("page %d is missing", i)
			}
			return nil
		})
	}
	fmt.Println(group.Wait(), ctx.Err())
	// Output: page 3 is missing context canceled
}

// In your own pool, call Do around each piece of work.
func ExampleDo() {
	rec := granularity.NewRecorder()
	ctx := granularity.WithRecorder(context.Background(), rec)
	requests := make(chan string, 3)
	for _, name := range []string{"a", "b", "c"} {
		requests <- name
	}
	close(requests)
	for range requests {
		granularity.Do(ctx, "request", func(ctx context.Context) error {
			return granularity.Do(ctx, "query", func(context.Context) error { return nil }) // nested
		})
	}
	for _, c := range rec.Profile().Classes {
		fmt.Println(c.Name, c.Executions(), "tasks,", c.Nested, "nested")
	}
	// Unordered output:
	// request 3 tasks, 0 nested
	// query 3 tasks, 3 nested
}

func ExamplePause() {
	replies := make(chan string)
	go func() {
		time.Sleep(time.Millisecond)
		replies <- "done"
	}()
	granularity.Do(context.Background(), "call", func(context.Context) error {
		resume := granularity.Pause() // the wait is not part of the task's work
		reply := <-replies
		resume()
		fmt.Println(reply)
		return nil
	})
	// Output: done
}

// A recorder with a log keeps a record of each task.
func ExampleRecorder() {
	rec := granularity.NewRecorder()
	rec.Log = 100
	rec.Start() // sample the machine every 100 ms
	defer rec.Stop()
	ctx := granularity.WithRecorder(context.Background(), rec)
	granularity.Do(ctx, "outer", func(ctx context.Context) error {
		return granularity.Do(ctx, "inner", func(context.Context) error { return nil })
	})
	for _, t := range rec.Profile().Log { // ordered by their ends
		fmt.Println(t.Class, t.Cycles <= t.TotalCycles, t.Outer)
	}
	// Output:
	// inner true 1
	// outer true 0
}

// A profile from another source can be diagnosed and written, too.
func ExampleProfile() {
	p := &granularity.Profile{Source: "trace-running", Accuracy: "upper-bound", Hz: 1e9, Procs: 4}
	c := granularity.Class{Name: "parse", Tasks: 50_000}
	c.Cycles.AddN(40, c.Tasks)
	c.WallNS.AddN(40, c.Tasks)
	p.Classes = append(p.Classes, c)
	p.Diagnose()
	text, _ := json.Marshal(p)
	fmt.Println(p.Classes[0].Diagnosis, strings.Contains(string(text), `"diagnosis":"fine"`))
	// Output: fine true
}

func ExampleHistogram() {
	var h granularity.Histogram
	for v := range uint64(1000) {
		h.Add(v)
	}
	fmt.Println(h.Count(), h.Mean(), h.Quantile(1))
	for value, fraction := range h.CDF() {
		if value < 2 {
			fmt.Printf("%.3f of the values are at most %g\n", fraction, value)
		}
	}
	// Output:
	// 1000 499.5 999
	// 0.001 of the values are at most 0
	// 0.002 of the values are at most 1
}
