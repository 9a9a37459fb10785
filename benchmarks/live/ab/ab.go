// Package ab compares the costs of ways of observing a running program, on one workload in one
// process. It switches from one way to the next every few seconds, back and forth, and pairs
// neighboring slices. In one half of a slice the clients work as fast as they can, which gives the
// throughput; in the other they use a third of the processors, at random times: the latency.
package ab

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aclements/go-moremath/stats"

	"github.com/bottleneck-go/bottleneck/benchmarks/internal/median"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/proctime"
)

// Workload is a repeated operation of a program.
type Workload struct {
	Name string
	// Clients is the number of concurrent goroutines.
	Clients int
	// Start begins, and returns one operation of client number i and a function that ends.
	Start func() (op func(client int) error, stop func(), err error)
	// Full is set if latency at a third of the load cannot be measured: it is taken from the
	// other half.
	Full bool
}

// Options configures a comparison.
type Options struct {
	// Slice is the time for which one way runs.
	Slice time.Duration
	// Rounds is the number of slices of each way.
	Rounds int
	// Ways are the names of the ways, separated by commas; "" means all. The others are compared
	// with the first one.
	Ways string
	// Heap is the number of bytes that the program keeps besides. If it kept almost nothing, the
	// memory of a flight recorder would make collections rarer, and hide the cost.
	Heap int
}

// slice is the result of one slice.
type slice struct {
	rate float64 // operations a second
	cpu  float64 // processor seconds per operation
	p99  float64 // latency, in s
}

// load is the part of the processors that the workload takes while latencies are measured.
const load = 0.34

// Compare runs the workload in each way in turn and prints the results to w.
func Compare(w io.Writer, work Workload, opt Options) error {
	modes, err := choose(opt.Ways)
	if err != nil {
		return err
	}
	r, err := start(work, opt.Heap)
	if err != nil {
		return err
	}
	defer r.end()
	rate := r.third
	if work.Full {
		rate = 0
	}
	fmt.Fprintf(w, "%s: %d clients, %d slices of %v for each way, %d MB kept besides\n", work.Name, work.Clients, opt.Rounds, opt.Slice, opt.Heap>>20)
	results := map[string][]slice{}
	for round := range opt.Rounds {
		for i := range modes {
			m := modes[i]
			if round%2 == 1 {
				m = modes[len(modes)-1-i] // back and forth
			}
			s, err := r.turn(m, opt.Slice, rate)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", work.Name, m.Name, err)
			}
			results[m.Name] = append(results[m.Name], s)
		}
		fmt.Fprintf(w, "  round %d of %d\n", round+1, opt.Rounds)
	}
	report(w, modes, results)
	return r.failed()
}

// runner runs the clients.
type runner struct {
	op      func(int) error
	clients []client
	rate    atomic.Uint64 // bits of a client's operations per second; 0 means as many as it can
	count   atomic.Int64
	quit    chan struct{}
	wg      sync.WaitGroup
	err     atomic.Pointer[error]
	third   float64 // the rate at which all clients together take the part load of the processors
	stop    func()  // of the workload
	kept    []byte
}

// start starts a workload and its clients, which work as fast as they can.
func start(work Workload, heap int) (*runner, error) {
	op, stop, err := work.Start()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", work.Name, err)
	}
	r := &runner{op: op, clients: make([]client, work.Clients), stop: stop, kept: make([]byte, heap)}
	r.begin()
	time.Sleep(time.Second) // warm up
	n, cpu := r.count.Load(), proctime.Self()
	time.Sleep(time.Second)
	each := (proctime.Self() - cpu).Seconds() / float64(max(1, r.count.Load()-n)) // processor time
	r.third = load * float64(runtime.GOMAXPROCS(0)) / each / float64(work.Clients)
	return r, nil
}

// client is the state of a client.
type client struct {
	mu   sync.Mutex
	took granularity.Histogram // ns
}

func (r *runner) begin() {
	r.quit = make(chan struct{})
	for i := range r.clients {
		r.wg.Go(func() {
			var due time.Time
			for {
				select {
				case <-r.quit:
					return
				default:
				}
				if rate := math.Float64frombits(r.rate.Load()); rate == 0 {
					due = time.Now()
				} else { // a client that is behind does not wait, and its delay counts
					if due = due.Add(time.Duration(rand.ExpFloat64() / rate * 1e9)); time.Since(due) > time.Second {
						due = time.Now()
					}
					time.Sleep(time.Until(due))
				}
				if err := r.op(i); err != nil {
					r.err.CompareAndSwap(nil, &err)
					return
				}
				r.count.Add(1)
				c := &r.clients[i]
				c.mu.Lock()
				c.took.Add(uint64(time.Since(due)))
				c.mu.Unlock()
			}
		})
	}
}

// latencies returns the durations of operations since the last call, in ns.
func (r *runner) latencies() *granularity.Histogram {
	var all granularity.Histogram
	for i := range r.clients {
		c := &r.clients[i]
		c.mu.Lock()
		all.Merge(&c.took)
		c.took = granularity.Histogram{}
		c.mu.Unlock()
	}
	return &all
}

func (r *runner) end() {
	close(r.quit)
	r.wg.Wait()
	r.stop()
	runtime.KeepAlive(r.kept)
}

func (r *runner) failed() error {
	if err := r.err.Load(); err != nil {
		return *err
	}
	return nil
}

// turn measures one way, and the latency at the given rate of each client unless that is 0.
func (r *runner) turn(m Mode, length time.Duration, rate float64) (slice, error) {
	stop, err := m.Start()
	if err != nil {
		return slice{}, err
	}
	defer stop()
	time.Sleep(length / 8) // the cost of switching is not measured
	r.latencies()
	n, cpu, at := r.count.Load(), proctime.Self(), time.Now()
	time.Sleep(length)
	took, ops := time.Since(at).Seconds(), float64(r.count.Load()-n)
	s := slice{rate: ops / took, cpu: (proctime.Self() - cpu).Seconds() / ops}
	if rate > 0 {
		r.rate.Store(math.Float64bits(rate))
		time.Sleep(length / 4)
		r.latencies()
		time.Sleep(length)
	}
	s.p99 = r.latencies().Quantile(0.99) / 1e9
	r.rate.Store(0)
	return s, r.failed()
}

func report(w io.Writer, modes []Mode, results map[string][]slice) {
	reference := modes[0].Name
	fmt.Fprintf(w, "  relative to %q in the same round, with 95 %% confidence:\n", reference)
	ref, refRate := results[reference], 0.0
	for i, m := range modes {
		var rate, cpu, rateRatio, cpuRatio, machine, p99, p99Ratio []float64
		for i, s := range results[m.Name] {
			rate, cpu = append(rate, s.rate), append(cpu, s.cpu)
			rateRatio = append(rateRatio, s.rate/ref[i].rate-1)
			cpuRatio = append(cpuRatio, s.cpu/ref[i].cpu-1)
			machine = append(machine, (s.cpu-ref[i].cpu)*s.rate/float64(runtime.GOMAXPROCS(0)))
			p99 = append(p99, s.p99)
			p99Ratio = append(p99Ratio, s.p99/ref[i].p99-1)
		}
		if i == 0 {
			refRate = stats.Mean(rate)
		}
		fmt.Fprintf(w, "  %-11s %9.0f op/s  %7.2f µs CPU/op   throughput %s   CPU/op %s   CPU beyond, of the machine %s\n", m.Name,
			stats.Mean(rate), 1e6*stats.Mean(cpu), interval(rateRatio), interval(cpuRatio), interval(machine))
		fmt.Fprintf(w, "  %-11s p99 %7.3f ms %s   throughput of %s ÷ this %.3f\n", "", 1e3*stats.Mean(p99), interval(p99Ratio), reference, refRate/stats.Mean(rate))
		if m.Report != nil {
			fmt.Fprintf(w, "  %-11s %s\n", "", m.Report())
		}
	}
}

// interval formats the mean of relative differences with its 95 % confidence interval by Student's
// t, and the median with its own, which a few disturbed slices do not change.
func interval(v []float64) string {
	m, _, high := stats.MeanCI(v, 0.95)
	percent := make([]float64, len(v))
	for i := range v {
		percent[i] = 100 * v[i]
	}
	return fmt.Sprintf("%+6.2f %% ± %5.2f, median %s", 100*m, 100*(high-m), median.Of(percent).Text("%+6.2f"))
}

// Main is the main function of a program for one workload: its arguments are Options in JSON, and
// what is measured.
func Main(load Workload) {
	var opt Options
	err := json.Unmarshal([]byte(os.Args[1]), &opt)
	if err == nil {
		load.Name += " (" + os.Args[2] + ")"
		err = Compare(os.Stdout, load, opt)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
