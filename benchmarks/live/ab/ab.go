// Package ab compares what ways of watching a running program cost, on one workload in one process: it runs
// the workload without a pause, switches from one way to the next every few seconds, back and forth, and pairs
// neighbouring slices, so that a machine that drifts drifts for all of them.
package ab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Workload is something that a program does again and again.
type Workload struct {
	Name string
	// Clients is how many goroutines do it at the same time.
	Clients int
	// Start begins, and returns what client number i does once, and how to end.
	Start func() (op func(client int) error, stop func(), err error)
}

// Options are the choices of a comparison.
type Options struct {
	// Slice is how long one way runs at a time; 0 means 4 s.
	Slice time.Duration
	// Rounds is how often each way gets its turn; 0 means 10.
	Rounds int
	// Modes are the ways; nil means all.
	Modes []Mode
	// Reference is the mode that the others are compared to; "flight" if empty.
	Reference string
}

// slice is what one turn gave.
type slice struct {
	rate float64 // operations a second
	cpu  float64 // processor seconds for an operation
}

// Compare runs the workload in each mode in turn and prints the results to w.
func Compare(w io.Writer, load Workload, opt Options) error {
	if opt.Slice <= 0 {
		opt.Slice = 4 * time.Second
	}
	if opt.Rounds <= 0 {
		opt.Rounds = 10
	}
	if opt.Modes == nil {
		opt.Modes = Modes()
	}
	if opt.Reference == "" {
		opt.Reference = "flight"
	}
	op, stop, err := load.Start()
	if err != nil {
		return fmt.Errorf("%s: %w", load.Name, err)
	}
	defer stop()
	r := &runner{op: op}
	r.begin(load.Clients)
	defer r.end()
	time.Sleep(time.Second) // warm up
	results := map[string][]slice{}
	for round := range opt.Rounds {
		for i := range opt.Modes {
			m := opt.Modes[i]
			if round%2 == 1 {
				m = opt.Modes[len(opt.Modes)-1-i] // back and forth
			}
			s, err := r.turn(m, opt.Slice)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", load.Name, m.Name, err)
			}
			results[m.Name] = append(results[m.Name], s)
		}
	}
	report(w, load, opt, results)
	return r.failed()
}

// runner runs the clients.
type runner struct {
	op    func(int) error
	count atomic.Int64
	quit  chan struct{}
	wg    sync.WaitGroup
	err   atomic.Pointer[error]
}

func (r *runner) begin(clients int) {
	r.quit = make(chan struct{})
	for i := range clients {
		r.wg.Go(func() {
			for {
				select {
				case <-r.quit:
					return
				default:
				}
				if err := r.op(i); err != nil {
					r.err.CompareAndSwap(nil, &err)
					return
				}
				r.count.Add(1)
			}
		})
	}
}

func (r *runner) end() {
	close(r.quit)
	r.wg.Wait()
}

func (r *runner) failed() error {
	if err := r.err.Load(); err != nil {
		return *err
	}
	return nil
}

// turn measures one mode.
func (r *runner) turn(m Mode, length time.Duration) (slice, error) {
	stop, err := m.Start()
	if err != nil {
		return slice{}, err
	}
	defer stop()
	time.Sleep(length / 8) // what switching costs is not measured
	n, cpu, at := r.count.Load(), cpuTime(), time.Now()
	time.Sleep(length)
	ops := float64(r.count.Load() - n)
	return slice{rate: ops / time.Since(at).Seconds(), cpu: (cpuTime() - cpu).Seconds() / ops}, r.failed()
}

func report(w io.Writer, load Workload, opt Options, results map[string][]slice) {
	fmt.Fprintf(w, "%s: %d clients, %d slices of %v for each way, relative to %q in the same round (95 %% confidence)\n", load.Name, load.Clients, opt.Rounds, opt.Slice, opt.Reference)
	ref := results[opt.Reference]
	for _, m := range opt.Modes {
		var rate, cpu, rateRatio, cpuRatio, machine []float64
		for i, s := range results[m.Name] {
			rate, cpu = append(rate, s.rate), append(cpu, s.cpu)
			rateRatio = append(rateRatio, s.rate/ref[i].rate-1)
			cpuRatio = append(cpuRatio, s.cpu/ref[i].cpu-1)
			machine = append(machine, (s.cpu-ref[i].cpu)*s.rate/float64(runtime.GOMAXPROCS(0)))
		}
		fmt.Fprintf(w, "  %-11s %9.0f op/s  %7.2f µs CPU/op   throughput %s   CPU/op %s   CPU beyond, of the machine %s\n", m.Name,
			mean(rate), 1e6*mean(cpu), interval(rateRatio), interval(cpuRatio), interval(machine))
		if m.Report != nil {
			if s := m.Report(); s != "" {
				fmt.Fprintf(w, "  %-11s %s\n", "", s)
			}
		}
	}
}

// Main is the main function of a program for one workload: its arguments are the slice, the number of rounds, and what
// is measured.
func Main(load Workload) {
	slice, err := time.ParseDuration(os.Args[1])
	rounds, err2 := strconv.Atoi(os.Args[2])
	if err = errors.Join(err, err2); err == nil {
		load.Name += " (" + os.Args[3] + ")"
		err = Compare(os.Stdout, load, Options{Slice: slice, Rounds: rounds})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
