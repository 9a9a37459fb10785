package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/internal/trend"
)

// churn runs a continuous analysis while goroutines start and exit, prints the live heap, and
// reports at the end whether it is flat: an error if not. It returns the live heap at each print.
func churn(w io.Writer, length, every time.Duration, rate int, budget float64) ([]uint64, error) {
	c := bottleneck.NewContinuous(bottleneck.ContinuousOptions{Budget: budget})
	err := c.Start()
	if err != nil {
		return nil, err
	}
	defer c.Stop()
	quit, born := make(chan struct{}), make(chan int64, 1)
	go func() {
		var n int64
		defer func() { born <- n }()
		done := make(chan struct{}, 1000)
		start := time.Now()
		for {
			select {
			case <-quit:
				return
			default:
			}
			want := int64(time.Since(start).Seconds() * float64(rate))
			for ; n < want; n++ {
				go func() { done <- struct{}{} }()
				if n%1000 == 999 {
					for range 1000 {
						<-done
					}
				}
			}
			time.Sleep(time.Millisecond)
		}
	}()
	fmt.Fprintf(w, "churn: %d goroutines born and gone a second, for %v, budget %.3g of %d processors\n", rate, length, budget, runtime.GOMAXPROCS(0))
	fmt.Fprintf(w, "%10s %10s %9s %9s %9s %14s %7s %8s\n", "after", "live heap", "windows", "dropped", "events", "goroutines", "boxes", "CPU")
	var heaps []uint64
	begin := time.Now()
	for at := every; at <= length; at += every {
		time.Sleep(time.Until(begin.Add(at)))
		if err = keptUp(c); err != nil {
			break
		}
		heaps = append(heaps, churnLine(w, c, time.Since(begin)))
	}
	close(quit)
	n := <-born
	if err != nil {
		return heaps, err
	}
	fmt.Fprintf(w, "%d goroutines, %.0f a second\n", n, float64(n)/time.Since(begin).Seconds())
	live, verdict := trend.Of(heaps, every), "flat"
	if !live.Flat() {
		verdict, err = "NOT FLAT", errors.New("the live heap is not flat")
	}
	fmt.Fprintf(w, "live heap: %s: %s\n", verdict, live)
	return heaps, err
}

// errBehind means that the backlog only grows, and the memory with it.
var errBehind = errors.New("the machine is too slow to read the traces of so many goroutines: choose fewer")

// keptUp waits until there is no backlog.
func keptUp(c *bottleneck.Continuous) error {
	for range 3000 {
		if c.Read().Stream.Pending == 0 {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return errBehind
}

// churnLine reads the memory while there is no backlog, whose memory varies.
func churnLine(w io.Writer, c *bottleneck.Continuous, after time.Duration) (live uint64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	l := c.Read()
	goroutines := 0
	for i := range l.Bottle.Boxes {
		goroutines += l.Bottle.Boxes[i].Goroutines
	}
	s := &l.Stream
	share := 100 * float64(s.CPU) / float64(s.Elapsed) / float64(runtime.GOMAXPROCS(0))
	fmt.Fprintf(w, "%10v %7.1f MB %9d %9d %8.1fM %14d %7d %6.2f %%\n", after.Round(time.Second), float64(m.HeapAlloc)/1e6,
		l.Windows, s.Dropped.Generations, float64(s.Events)/1e6, goroutines, len(l.Bottle.Boxes), share)
	return m.HeapAlloc
}
