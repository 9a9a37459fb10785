// Bound compares the estimate of a speed-up from one trace with the speed-up that was measured: a dozen of programs run with
// one worker on one processor and with N on N, interleaved; the fastest of several
// runs counts. The estimate claims to be an upper bound if one worker does the
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

// run is one run of a program.
type run struct {
	trace      []byte
	wall, lost time.Duration // lost to other programs
}

func (r *run) disturbed() bool { return float64(r.lost) > speedup.MaxDelay*float64(r.wall) }

// record runs a program under the tracer.
func record(p program, procs int) (r run) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	runtime.GC()
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		log.Fatal(err)
	}
	meter := schedstat.Watch(os.Getpid())
	begin := time.Now()
	p.run(procs)
	r.wall = time.Since(begin)
	times, _ := meter.Stop()
	trace.Stop()
	r.trace, r.lost = buf.Bytes(), times.Lost()
	return r
}

func main() {
	log.SetFlags(0)
	procs := flag.Int("n", runtime.GOMAXPROCS(0), "number of workers and processors")
	rounds := flag.Int("rounds", 5, "how often each program runs")
	flag.Parse()
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "program\tmeasured\tat most\tmeasured ÷ at most\t\t")
	for _, p := range programs {
		var best [2]run // with one worker, and with N
		for range *rounds {
			for i, n := range []int{1, *procs} {
				if r := record(p, n); best[i].wall == 0 || r.wall < best[i].wall {
					best[i] = r
				}
			}
		}
		measured := float64(best[0].wall) / float64(best[1].wall)
		disturbed := ""
		if best[0].disturbed() || best[1].disturbed() {
			disturbed = "disturbed"
		}
		s, err := speedup.Estimate(context.Background(), bytes.NewReader(best[1].trace), speedup.Options{N: *procs})
		if err != nil {
			fmt.Fprintf(t, "%s\t%.2f\tnot known\t\t%s\n", p.name, measured, disturbed)
			fmt.Fprintf(os.Stderr, "%s: %v\n", p.name, err)
			continue
		}
		fmt.Fprintf(t, "%s\t%.2f\t%s\t%.2f\t%s\n", p.name, measured, format.Parallelism(s.Speedup), measured/s.Speedup, disturbed)
	}
	t.Flush()
}
