// Bound compares the estimate of a speed-up from one trace with the speed-up that was measured: a dozen of programs run with
// one worker on one processor and with N on N, interleaved. The estimate claims to be an upper bound if one worker does the
// same work at the same speed; where the measured speed-up is larger, it did not, or other programs disturbed a round:
//
//	go run ./benchmarks/bound
package main

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"runtime/trace"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/speedup/schedstat"
)

// program does its work with a number of workers.
type program struct {
	name string
	run  func(workers int)
}

// items is how many pieces of work a program has.
const items = 240

var sink atomic.Uint64

func spin(steps int) {
	x := uint64(steps) | 1
	for range steps {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	sink.Store(x)
}

// each runs work for all items on the workers, by turns.
func each(workers int, work func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < items; i = next.Add(1) - 1 {
				work(int(i))
			}
		})
	}
	wg.Wait()
}

const unit = 500_000 // steps, about half a millisecond

var text = strings.Repeat("the quick brown fox jumps over the lazy dog; ", 2000)

var programs = []program{
	{"compute", func(n int) { each(n, func(int) { spin(unit) }) }},
	{"hash", func(n int) { each(n, func(int) { sha256.Sum256([]byte(text)) }) }},
	{"compress", func(n int) {
		each(n, func(i int) {
			if i%4 == 0 {
				w, _ := flate.NewWriter(io.Discard, 6)
				io.WriteString(w, text)
				w.Close()
			}
		})
	}},
	{"json", func(n int) {
		each(n, func(int) {
			var v any
			data, _ := json.Marshal(strings.Fields(text)[:2000])
			json.Unmarshal(data, &v)
		})
	}},
	{"sort", func(n int) {
		each(n, func(i int) {
			s := make([]int, 5000)
			for j := range s {
				s[j] = (j*7919 + i) % 5003
			}
			sort.Ints(s)
		})
	}},
	{"half sequential", func(n int) {
		for range items / 2 {
			spin(unit)
		}
		each(n, func(int) { spin(unit / 2) })
	}},
	{"one lock", func(n int) {
		var mu sync.Mutex
		each(n, func(int) {
			mu.Lock()
			spin(unit * 4 / 5)
			mu.Unlock()
			spin(unit / 5)
		})
	}},
	{"short lock", func(n int) {
		var mu sync.Mutex
		each(n, func(int) {
			for range 1000 {
				mu.Lock()
				spin(200)
				mu.Unlock()
				spin(300)
			}
		})
	}},
	{"one large item", func(n int) {
		each(n, func(i int) {
			if i == items-1 {
				spin(unit * items / 2)
			}
			spin(unit / 2)
		})
	}},
	{"one counter", func(n int) {
		var counter atomic.Int64
		each(n, func(int) {
			for range 20_000 {
				counter.Add(1)
			}
		})
	}},
	{"memory", func(n int) {
		large := make([]uint64, 4<<20)
		each(n, func(i int) {
			var sum uint64
			for j := range 40_000 {
				sum += large[(j*40_503+i*104_729)%len(large)]
			}
			sink.Add(sum)
		})
	}},
	{"maps, collected", func(n int) {
		each(n, func(i int) {
			m := map[int]string{}
			for j := range 3000 {
				m[j*i] = text[j : j+9]
			}
		})
	}},
	{"channel", func(n int) {
		work, done := make(chan int), make(chan int)
		for range n {
			go func() {
				for range work {
					spin(unit / 20)
					done <- 1
				}
			}()
		}
		go func() {
			for i := range items * 20 {
				work <- i
			}
			close(work)
		}()
		for range items * 20 {
			<-done
		}
	}},
	{"ping-pong", func(n int) {
		if n == 1 {
			for range items {
				spin(unit)
			}
			return
		}
		a, b := make(chan int), make(chan int)
		go pong(a, b)
		for range items / 2 {
			spin(unit)
			a <- 1
			<-b
		}
		close(a)
	}},
	{"files", func(n int) {
		data := []byte(text)
		each(n, func(i int) {
			f, err := os.CreateTemp("", "bound")
			if err != nil {
				log.Fatal(err)
			}
			defer os.Remove(f.Name())
			defer f.Close()
			for range 10 {
				f.Write(data)
			}
		})
	}},
	{"sleep", func(n int) { each(n, func(int) { time.Sleep(time.Millisecond / 2) }) }},
}

func pong(a, b chan int) {
	for range a {
		spin(unit)
		b <- 1
	}
}

// record runs a program under the tracer.
func record(p program, procs int) (trc []byte, wall, lost time.Duration) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	runtime.GC()
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		log.Fatal(err)
	}
	meter := schedstat.Watch(os.Getpid())
	begin := time.Now()
	p.run(procs)
	wall = time.Since(begin)
	times, _ := meter.Stop()
	trace.Stop()
	return buf.Bytes(), wall, times.Lost()
}

func main() {
	log.SetFlags(0)
	procs := flag.Int("n", runtime.GOMAXPROCS(0), "number of workers and processors")
	rounds := flag.Int("rounds", 5, "how often each program runs")
	flag.Parse()
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "program\tmeasured\tat most\tmeasured ÷ at most\tdisturbed rounds\t")
	for _, p := range programs {
		var measured, bound []float64
		why, disturbed := "", 0
		for range *rounds {
			_, one, lostOne := record(p, 1)
			trc, many, lost := record(p, *procs)
			if float64(lostOne) > speedup.MaxDelay*float64(one) || float64(lost) > speedup.MaxDelay*float64(many) {
				disturbed++
			}
			measured = append(measured, float64(one)/float64(many))
			s, err := speedup.Estimate(context.Background(), bytes.NewReader(trc), speedup.Options{N: *procs})
			if err != nil {
				why = err.Error()
				continue
			}
			bound = append(bound, s.Speedup)
		}
		slices.Sort(measured)
		slices.Sort(bound)
		m := measured[len(measured)/2]
		if len(bound) == 0 {
			fmt.Fprintf(t, "%s\t%.2f\t%s\t\t%d\t\n", p.name, m, "not known", disturbed)
			fmt.Fprintf(os.Stderr, "%s: %s\n", p.name, why)
			continue
		}
		b := bound[len(bound)/2]
		fmt.Fprintf(t, "%s\t%.2f\t%s\t%.2f\t%d\t\n", p.name, m, format.Parallelism(b), m/b, disturbed)
	}
	t.Flush()
}
