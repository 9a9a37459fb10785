// Bound compares the estimate of a speed-up from one trace with the measured speed-up. Programs of
// internal/causes run under the tracer on one processor and on N, interleaved. The fastest
// undisturbed run of each counts:
//
//	go run ./benchmarks/bound
//
// Both columns are of the same two traces. "measured" is the wall time on one processor ÷ the wall
// time on N. "at most" is the bound from the latter trace alone. If their quotient is above 1, one
// processor took longer for the work than N took together: it did more, or it was slower, for example
// because the cache of a second core was missing.
//
// A run is disturbed if its threads, ready to run, waited for processors that other programs used
// for more than speedup.MaxDelay of its wall time, in sum. Only Linux reports that. If all runs of
// one kind were disturbed, the line is marked "disturbed", and it is no result.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"regexp"
	"runtime"
	"runtime/trace"
	"text/tabwriter"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/internal/causes"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/schedstat"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// usual are programs that do the same work on any number of processors.
const usual = "^(it scales|serial part|pipeline|lock, computing|lock, all read|limit of an errgroup|semaphore|uneven work|tiny goroutines|collector|small writes|a short lock|more goroutines than processors|ping-pong|sleep)$"

// run is one run of a program.
type run struct {
	trace      []byte
	wall, lost time.Duration // lost to other programs
}

func (r *run) disturbed() bool { return float64(r.lost) > speedup.MaxDelay*float64(r.wall) }

// better reports whether a run counts in place of another.
func (r *run) better(than *run) bool {
	if than == nil || r.disturbed() != than.disturbed() {
		return than == nil || !r.disturbed()
	}
	return r.wall < than.wall
}

// record runs a program for n processors on some of them, under the tracer.
func record(p *causes.Program, n, procs int) *run {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	runtime.GC()
	var buf bytes.Buffer
	stop := schedstat.Watch(os.Getpid())
	if err := trace.Start(&buf); err != nil {
		log.Fatal(err)
	}
	begin := time.Now()
	p.Run(n)
	wall := time.Since(begin)
	trace.Stop()
	times, _ := stop()
	return &run{buf.Bytes(), wall, times.Lost()}
}

func main() {
	log.SetFlags(0)
	n := flag.Int("n", runtime.GOMAXPROCS(0), "number of processors")
	rounds := flag.Int("rounds", 5, "how often each program runs")
	only := flag.String("run", usual, "regular expression of the programs' names")
	flag.Parse()
	name, err := regexp.Compile(*only)
	if err != nil {
		log.Fatal("-run: ", err)
	}
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "program\tmeasured\tat most\tmeasured ÷ at most\t")
	for i := range causes.Programs {
		p := &causes.Programs[i]
		if !name.MatchString(p.Name) {
			continue
		}
		var one, all *run
		for range *rounds {
			if r := record(p, *n, 1); r.better(one) {
				one = r
			}
			if r := record(p, *n, *n); r.better(all) {
				all = r
			}
		}
		measured, bound := compare(one, all, *n)
		note := ""
		if one.disturbed() || all.disturbed() {
			note = "disturbed"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", p.Name, format.Parallelism(measured), bound, note)
	}
	t.Flush()
}

// compare returns the speed-up of two runs, the bound from the second alone, and their quotient.
func compare(one, all *run, n int) (measured float64, bound string) {
	stack := func(single io.Reader) (*speedup.Stack, error) {
		r, err := bottleneck.Analyze(context.Background(), bytes.NewReader(all.trace), bottleneck.Options{
			Want: bottleneck.WantSpeedup, Single: single, Speedup: speedup.Options{N: n}})
		if err != nil {
			return nil, err
		}
		return r.Speedup, r.SpeedupErr
	}
	pair, err := stack(bytes.NewReader(one.trace))
	if err != nil {
		log.Fatal(err)
	}
	alone, err := stack(nil)
	if errors.Is(err, speedup.ErrOutside) {
		return pair.Speedup, "cannot tell\t"
	}
	if err != nil {
		log.Fatal(err)
	}
	return pair.Speedup, fmt.Sprintf("%s\t%.2f", format.Parallelism(alone.Speedup), pair.Speedup/alone.Speedup)
}
