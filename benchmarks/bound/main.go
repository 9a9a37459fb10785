// Bound compares the estimate of a speed-up from one trace with the measured speed-up. Programs run
// under the tracer with one worker on one processor and with N workers on N processors,
// interleaved. The fastest undisturbed run of each counts:
//
//	go run ./benchmarks/bound
//
// Both columns are of the same two traces. "measured" is the wall time with one worker ÷ the wall
// time with N (speedup.FromTraces). "at most" is the bound from the latter trace alone
// (speedup.Estimate). The estimate is an upper bound if one worker does the same work at the same
// speed. The last column is measured ÷ at most, which is exactly
//
//	wall time with one worker ÷ (Σ running or in a system call with a processor, + idle, with N)
//
// If it is above 1, one worker took longer for the work than N took together: it did more, or it
// was slower, for example because the cache of a second core was missing. The programs do the same
// work with any number of workers: their memory is allocated and touched before any run.
//
// A run is disturbed if its threads, ready to run, waited for processors that other programs used
// for more than speedup.MaxDelay (3 %) of its wall time, in sum. Only Linux reports that. If all
// runs of one kind were disturbed, the fastest of them counts, the line is marked "disturbed", and
// it is no result.
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

	"github.com/bottleneck-go/bottleneck/internal/causes"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/speedup/schedstat"
)

// program works with a given number of workers.
type program struct {
	name string
	run  func(workers int)
}

// items is the number of pieces of work of a program.
const items = 240

var sink atomic.Uint64

// each does the work for all items on the workers, in alternation.
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

// large exceeds the caches of a core. It is filled in advance, so that no run has to get its pages
// from the system.
var large = func() []uint64 {
	s := make([]uint64, 4<<20)
	for i := range s {
		s[i] = uint64(i)
	}
	return s
}()

var text = strings.Repeat("the quick brown fox jumps over the lazy dog; ", 2000)

var programs = []program{
	{"compute", func(n int) { each(n, func(int) { causes.Spin(unit) }) }},
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
			causes.Spin(unit)
		}
		each(n, func(int) { causes.Spin(unit / 2) })
	}},
	{"one lock", func(n int) {
		var mu sync.Mutex
		each(n, func(int) {
			mu.Lock()
			causes.Spin(unit * 4 / 5)
			mu.Unlock()
			causes.Spin(unit / 5)
		})
	}},
	{"short lock", func(n int) {
		var mu sync.Mutex
		each(n, func(int) {
			for range 1000 {
				mu.Lock()
				causes.Spin(200)
				mu.Unlock()
				causes.Spin(300)
			}
		})
	}},
	{"one large item", func(n int) {
		each(n, func(i int) {
			if i == items-1 {
				causes.Spin(unit * items / 2)
			}
			causes.Spin(unit / 2)
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
					causes.Spin(unit / 20)
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
	{"ping-pong", func(int) {
		a, b := make(chan int), make(chan int)
		go pong(a, b)
		for range items / 2 {
			causes.Spin(unit)
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
		causes.Spin(unit)
		b <- 1
	}
}

// run is one run of a program.
type run struct {
	trace      []byte
	wall, lost time.Duration // lost to other programs
}

func (r *run) disturbed() bool { return float64(r.lost) > speedup.MaxDelay*float64(r.wall) }

// better reports whether a run counts in place of another.
func (r *run) better(than *run) bool {
	if d := r.disturbed(); than == nil || d != than.disturbed() {
		return than == nil || !d
	}
	return r.wall < than.wall
}

// record runs a program under the tracer.
func record(p program, procs int) *run {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	runtime.GC()
	var buf bytes.Buffer
	meter := schedstat.Watch(os.Getpid())
	if err := trace.Start(&buf); err != nil {
		log.Fatal(err)
	}
	begin := time.Now()
	p.run(procs)
	wall := time.Since(begin)
	trace.Stop()
	times, _ := meter.Stop()
	return &run{buf.Bytes(), wall, times.Lost()}
}

func main() {
	log.SetFlags(0)
	procs := flag.Int("n", runtime.GOMAXPROCS(0), "number of workers and processors")
	rounds := flag.Int("rounds", 5, "how often each program runs")
	flag.Parse()
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "program\tmeasured\tat most\tmeasured ÷ at most\tundisturbed of runs with 1\twith N\t")
	for _, p := range programs {
		var best [2]*run // with one worker, and with N
		var calm [2]int
		for round := range *rounds {
			for i := range best {
				i = (i + round) % len(best) // neither is always the first
				r := record(p, []int{1, *procs}[i])
				if !r.disturbed() {
					calm[i]++
				}
				if r.better(best[i]) {
					best[i] = r
				}
			}
		}
		measured, atMost, err := compare(best, *procs)
		switch {
		case err != nil && measured == 0:
			log.Fatalf("%s: %v", p.name, err)
		case err != nil:
			fmt.Fprintf(os.Stderr, "%s: %v\n", p.name, err)
			fmt.Fprintf(t, "%s\t%s\tnot known\t\t", p.name, format.Parallelism(measured))
		default:
			fmt.Fprintf(t, "%s\t%s\t%s\t%.2f\t", p.name, format.Parallelism(measured), format.Parallelism(atMost), measured/atMost)
		}
		fmt.Fprintf(t, "%d\t%d\t", calm[0], calm[1])
		if best[0].disturbed() || best[1].disturbed() {
			fmt.Fprint(t, "disturbed")
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

// compare returns the speed-up of two runs, and the bound from the second alone. The error is that
// of the bound unless the speed-up is 0.
func compare(runs [2]*run, procs int) (measured, atMost float64, err error) {
	opt := speedup.Options{N: procs}
	pair, err := speedup.FromTraces(context.Background(), bytes.NewReader(runs[0].trace), bytes.NewReader(runs[1].trace), opt)
	if err != nil {
		return 0, 0, err
	}
	alone, err := speedup.Estimate(context.Background(), bytes.NewReader(runs[1].trace), opt)
	if err != nil {
		return pair.Speedup, 0, err
	}
	return pair.Speedup, alone.Speedup, nil
}
