// Advice applies the advice on the size of tasks to real programs and compares the result with the
// best of all sizes and numbers of workers:
//
//	go run ./benchmarks/advice
//
// The tasks compute for a known number of steps in a granularity.Pool. "before" is the original
// program; its profile gives the diagnosis and the advice. "advised" is the program with as many
// tasks merged or split, or with as many workers, as advised. "best" is the minimum over all
// merges, all splits and both numbers of workers. "ratio" is advised ÷ best. The runs are
// interleaved, and the minimum of the rounds counts.
//
// A time is what the program would take if no other program used the processors: its processor
// time, multiplied by the part of the work that the worker with the most work has. That part follows
// from the times of the tasks: it was measured once, but which worker takes a task depends on the
// load. The load does affect the diagnosis, which depends on the utilization of the processors: the
// quickest of many runs is diagnosed.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/bottleneck-go/bottleneck/granularity"
)

// near is the largest accepted ratio of the advised program to the best.
const near = 1.15

// program is a set of tasks, given by the time of their parts, and the number of workers.
type program struct {
	name    string
	workers int
	tasks   [][]time.Duration // each executes its parts in order
}

// plain returns the tasks of one part each.
func plain(n int, each func(i int) time.Duration) (tasks [][]time.Duration) {
	for i := range n {
		tasks = append(tasks, []time.Duration{each(i)})
	}
	return tasks
}

// merged returns the program with n tasks in one.
func (p program) merged(n int) program {
	var tasks [][]time.Duration
	for some := range slices.Chunk(p.tasks, n) {
		tasks = append(tasks, slices.Concat(some...))
	}
	p.tasks = tasks
	return p
}

// split returns the program with tasks of at most the given time, the largest first.
func (p program) split(most time.Duration) program {
	var tasks [][]time.Duration
	for _, t := range p.tasks {
		d := sum(t)
		n := max(1, (d+most-1)/most)
		for range n {
			tasks = append(tasks, []time.Duration{d / n})
		}
	}
	slices.SortFunc(tasks, func(a, b []time.Duration) int { return cmp.Compare(b[0], a[0]) })
	p.tasks = tasks
	return p
}

func sum(parts []time.Duration) (all time.Duration) {
	for _, d := range parts {
		all += d
	}
	return all
}

func (p program) total() time.Duration { return sum(slices.Concat(p.tasks...)) }

// largest returns the time of the largest task.
func (p program) largest() (most time.Duration) {
	for _, t := range p.tasks {
		most = max(most, sum(t))
	}
	return most
}

// all returns the program in all sizes, with its own number of workers and with one per processor.
func (p program) all() (out []program) {
	procs := runtime.GOMAXPROCS(0)
	for _, p.workers = range slices.Compact([]int{p.workers, procs}) {
		for n := 1; len(p.tasks)/n >= procs || n == 1; n *= 2 {
			out = append(out, p.merged(n))
		}
		if p.largest() > 100*time.Microsecond {
			for pieces := time.Duration(procs); pieces <= 256; pieces *= 2 {
				out = append(out, p.split(p.total()/pieces))
			}
		}
	}
	return out
}

// advised returns the program as the class's advice asks.
func (p program) advised(c *granularity.Class) program {
	switch c.Diagnosis {
	case granularity.Fine:
		return p.merged(int(c.Merge))
	case granularity.Coarse:
		return p.split(p.total() / time.Duration(c.Split))
	case granularity.Straggler:
		return p.split(p.largest() / time.Duration(c.Split))
	case granularity.TooFewWorkers, granularity.TooManyWorkers:
		p.workers = runtime.GOMAXPROCS(0)
	}
	return p
}

// run executes the program, and returns its time and the profile of its tasks.
func (p program) run() (time.Duration, *granularity.Profile) {
	runtime.GC() // a collection would be a large part of the time
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	rec := granularity.NewRecorder(granularity.RecorderOptions{})
	pool := granularity.NewPool(granularity.PoolOptions{Workers: p.workers, Recorder: rec})
	for _, parts := range p.tasks {
		pool.Submit(func() {
			for _, d := range parts {
				compute(d)
			}
		})
	}
	pool.Close()
	profile := rec.Profile()
	return time.Duration(float64(profile.Run.CPU) * p.mostWork()), profile
}

// mostWork returns the part of the work that the worker with the most of it has if the workers take
// the tasks in order.
func (p program) mostWork() float64 {
	lanes := make([]time.Duration, min(p.workers, runtime.GOMAXPROCS(0)))
	for _, parts := range p.tasks {
		lanes[slices.Index(lanes, slices.Min(lanes))] += sum(parts)
	}
	return float64(slices.Max(lanes)) / float64(p.total())
}

// diagnosed returns the diagnosis of the quickest of some runs, which was disturbed least.
func (p program) diagnosed(runs int) *granularity.Class {
	_, quickest := p.run()
	for range runs {
		if _, profile := p.run(); profile.Run.Wall < quickest.Run.Wall {
			quickest = profile
		}
	}
	return &quickest.Classes[0]
}

// perNS is the number of steps per nanosecond.
var perNS = func() float64 {
	const steps = 1_000_000
	least := time.Duration(math.MaxInt64)
	for range 20 {
		from := time.Now()
		spin(steps)
		least = min(least, time.Since(from))
	}
	return steps / float64(least)
}()

func compute(d time.Duration) { spin(int(float64(d) * perNS)) }

var sink atomic.Uint64

//go:noinline
func spin(steps int) {
	x := uint64(steps)
	for i := range steps {
		x = x*6364136223846793005 + uint64(i)
	}
	sink.Store(x)
}

// quicksort returns the tasks of sorting n numbers: one for each part, with a time proportional to
// its length.
func quicksort(n int, rng *rand.Rand) [][]time.Duration {
	if n <= 1 {
		return nil
	}
	left := rng.IntN(n)
	return slices.Concat([][]time.Duration{{time.Duration(n)}}, quicksort(left, rng), quicksort(n-1-left, rng))
}

// programs returns programs that are too fine, too coarse or well sized, with the right and the
// wrong number of workers.
func programs() []program {
	const us, ms = time.Microsecond, time.Millisecond
	procs := runtime.GOMAXPROCS(0)
	rng := rand.New(rand.NewPCG(1, 2))
	equal := func(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }
	return []program{
		{"tiny tasks", procs, plain(20_000, equal(281))},
		{"nearly empty ones", procs, plain(50_000, equal(20))},
		{"quicksort with cut-off 1", procs, quicksort(200_000, rng)},
		{"tiles of 1×1", procs, plain(40_000, func(int) time.Duration { return 100 + time.Duration(rng.IntN(100)) })},
		{"tiny ones of very different sizes", procs, plain(20_000, func(int) time.Duration { return time.Duration(math.Exp(rng.Float64() * 9)) })},
		{"every hundredth is large", procs, plain(20_000, func(i int) time.Duration { return time.Duration(50 + 20_000*(1-min(1, i%100))) })},
		{"many workers and tiny tasks", 8 * procs, plain(20_000, equal(500))},
		{"one large and many small", procs, append(plain(19, equal(ms)), []time.Duration{20 * ms * time.Duration(procs)})},
		{"a large one among very many", procs, append(plain(1000, equal(20*us)), []time.Duration{20 * ms})},
		{"two uneven ones", procs, plain(2, func(i int) time.Duration { return time.Duration(36-32*i) * ms })},
		{"one more than processors", procs, plain(procs+1, equal(10*ms))},
		{"one worker", 1, plain(100, equal(400*us))},
		{"a few large ones of one worker", 1, plain(3*procs, equal(7*ms))},
		{"many workers", 16 * procs, plain(200*procs, equal(200*us))},
		{"a sensible size", procs, plain(400, equal(100*us))},
		{"a sensible size, uneven", procs, plain(1000, func(int) time.Duration { return time.Duration(rng.IntN(int(100 * us))) })},
	}
}

func main() {
	log.SetFlags(0)
	rounds := flag.Int("rounds", 5, "run each `N` times")
	only := flag.String("only", "", "run programs whose names contain `TEXT`")
	flag.Parse()
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "program\tdiagnosis\tbefore\tadvised\ttasks\tbest\ttasks\tratio")
	far := 0
	for _, p := range programs() {
		if !strings.Contains(p.name, *only) {
			continue
		}
		class := p.diagnosed(10 * *rounds)
		candidates := append([]program{p, p.advised(class)}, p.all()...)
		least := slices.Repeat([]time.Duration{math.MaxInt64}, len(candidates))
		for range *rounds {
			for i, c := range candidates {
				took, _ := c.run()
				least[i] = min(least[i], took)
			}
		}
		best := slices.Min(least)
		bestTasks := len(candidates[slices.Index(least, best)].tasks)
		ratio := float64(least[1]) / float64(best)
		if ratio > near {
			far++
		}
		fmt.Fprintf(table, "%s\t%s\t%v\t%v\t%d\t%v\t%d\t%.2f\n", p.name, class.Diagnosis, least[0].Round(10*time.Microsecond),
			least[1].Round(10*time.Microsecond), len(candidates[1].tasks), best.Round(10*time.Microsecond), bestTasks, ratio)
	}
	table.Flush()
	if far > 0 {
		log.Fatalf("%d programs are more than %.0f %% from the best", far, 100*(near-1))
	}
}
