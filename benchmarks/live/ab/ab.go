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
	// Ways are the names of the ways, separated by commas; "" means all, and "flight" must be among them: the
	// others are compared to it.
	Ways string
	// Heap is how many bytes the program keeps besides what the workload does. What a program allocates costs it the
	// more, the less it keeps: a workload that keeps next to nothing gains by the memory of a flight
	// recorder, since the collector then runs less often, and that would hide what is measured.
	Heap int
}

// slice is what one turn gave.
type slice struct {
	rate   float64 // operations a second
	cpu    float64 // processor seconds for an operation
	cycles float64 // of the garbage collector, a second
}

// Compare runs the workload in each mode in turn and prints the results to w.
func Compare(w io.Writer, load Workload, opt Options) error {
	if opt.Slice <= 0 {
		opt.Slice = 4 * time.Second
	}
	if opt.Rounds <= 0 {
		opt.Rounds = 10
	}
	modes, err := choose(opt.Ways)
	if err != nil {
		return err
	}
	kept := make([]byte, opt.Heap)
	defer runtime.KeepAlive(kept)
	op, stop, err := load.Start()
	if err != nil {
		return fmt.Errorf("%s: %w", load.Name, err)
	}
	defer stop()
	r := &runner{op: op}
	r.begin(load.Clients)
	defer r.end()
	time.Sleep(time.Second) // warm up
	fmt.Fprintf(w, "%s: %d clients, %d slices of %v for each way, %d MB kept besides\n", load.Name, load.Clients, opt.Rounds, opt.Slice, opt.Heap>>20)
	results := map[string][]slice{}
	for round := range opt.Rounds {
		for i := range modes {
			m := modes[i]
			if round%2 == 1 {
				m = modes[len(modes)-1-i] // back and forth
			}
			s, err := r.turn(m, opt.Slice)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", load.Name, m.Name, err)
			}
			results[m.Name] = append(results[m.Name], s)
		}
		progress(w, round, opt.Rounds, modes, results)
	}
	report(w, modes, results)
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
	n, cpu, at, cycles := r.count.Load(), cpuTime(), time.Now(), collections()
	time.Sleep(length)
	took, ops := time.Since(at).Seconds(), float64(r.count.Load()-n)
	return slice{rate: ops / took, cpu: (cpuTime() - cpu).Seconds() / ops, cycles: float64(collections()-cycles) / took}, r.failed()
}

// collections is how often the garbage collector has run.
func collections() uint32 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.NumGC
}

// reference is the way that the others are compared to.
const reference = "flight"

// progress prints what a round gave.
func progress(w io.Writer, round, rounds int, modes []Mode, results map[string][]slice) {
	ref := results[reference][round]
	fmt.Fprintf(w, "  round %2d of %d:", round+1, rounds)
	for i, m := range modes {
		s := results[m.Name][round]
		fmt.Fprintf(w, "%s %s %.0f op/s", []string{"", ";"}[min(i, 1)], m.Name, s.rate)
		if m.Name != reference {
			fmt.Fprintf(w, " (%+.1f %%, CPU %+.1f %% of the machine)", 100*(s.rate/ref.rate-1), 100*s.beyond(ref))
		}
	}
	fmt.Fprintln(w)
}

// beyond is how much more processor time the work took than it would have taken in ref, as a part of the machine.
func (s slice) beyond(ref slice) float64 {
	return (s.cpu - ref.cpu) * s.rate / float64(runtime.GOMAXPROCS(0))
}

func report(w io.Writer, modes []Mode, results map[string][]slice) {
	fmt.Fprintf(w, "  relative to %q in the same round, with 95 %% confidence:\n", reference)
	ref := results[reference]
	for _, m := range modes {
		var rate, cpu, cycles, rateRatio, cpuRatio, machine []float64
		for i, s := range results[m.Name] {
			rate, cpu, cycles = append(rate, s.rate), append(cpu, s.cpu), append(cycles, s.cycles)
			rateRatio = append(rateRatio, s.rate/ref[i].rate-1)
			cpuRatio = append(cpuRatio, s.cpu/ref[i].cpu-1)
			machine = append(machine, s.beyond(ref[i]))
		}
		fmt.Fprintf(w, "  %-11s %9.0f op/s  %7.2f µs CPU/op  %5.1f GC/s   throughput %s   CPU/op %s   CPU beyond, of the machine %s\n", m.Name,
			mean(rate), 1e6*mean(cpu), mean(cycles), interval(rateRatio), interval(cpuRatio), interval(machine))
		if m.Report != nil {
			if s := m.Report(); s != "" {
				fmt.Fprintf(w, "  %-11s %s\n", "", s)
			}
		}
	}
}

// Main is the main function of a program for one workload: its arguments are Options as [Options.Args] gives them, and
// what is measured.
func Main(load Workload) {
	opt, err := parseArgs(os.Args[1:])
	if err == nil {
		load.Name += " (" + os.Args[len(os.Args)-1] + ")"
		err = Compare(os.Stdout, load, opt)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Args are the options for [Main].
func (o *Options) Args() []string {
	return []string{o.Slice.String(), strconv.Itoa(o.Rounds), o.Ways, strconv.Itoa(o.Heap)}
}

func parseArgs(args []string) (o Options, err error) {
	if len(args) != 5 {
		return o, fmt.Errorf("%d arguments, not 5", len(args))
	}
	var errs [3]error
	o.Slice, errs[0] = time.ParseDuration(args[0])
	o.Rounds, errs[1] = strconv.Atoi(args[1])
	o.Ways = args[2]
	o.Heap, errs[2] = strconv.Atoi(args[3])
	return o, errors.Join(errs[:]...)
}
