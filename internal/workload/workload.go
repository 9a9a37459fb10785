// Package workload is a program with a known neck, for the demo of the command: a queue of files,
// one much larger than the others, as in the paper's pmd (Du Bois, Sartor, Eyerman, Eeckhout,
// OOPSLA 2013, section 5).
//
// Workers take files from the queue until it is empty. The large file is the last one, so its
// worker continues alone when the others have no work left. There are two repairs: start with the
// largest file, or split it into pieces of the size of the others.
//
// A file is a number of dependent units of computation that touch no memory and end in a checksum,
// which shows that the work is the same in every order. In an execution trace every worker has a
// user region of its own, "worker 1", "worker 2" and so on.
package workload

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/trace"
	"slices"
	"sync"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/monotime"
	"github.com/bottleneck-go/bottleneck/internal/proctime"
)

// File is an item of the queue.
type File struct {
	Size int // in units; the ordinary file has 1
	from int // its first unit: pieces of one file continue it
}

// Config describes the queue and the workers.
type Config struct {
	Workers int
	// Small is the number of files of one unit. One large file follows them.
	Small int
	// Factor is the size of the large file, in small files.
	Factor int
	// Unit is the number of steps of computation in a unit: see [StepsFor].
	Unit int
}

// Repair is what is done about the large file. The zero value does nothing.
type Repair struct {
	LargestFirst bool // sort the queue by size, so that the large file does not begin last
	Split        bool // cut the large file into pieces of one unit
}

// Result is the result of a run.
type Result struct {
	Wall time.Duration
	// CPU is the processor time of the process during the run; 0 if unknown. See [Crowded].
	CPU time.Duration
	// Sum is the checksum of all files: the same for every order and number of workers.
	Sum uint64
	// Workers has the results of the workers; worker number n is Workers[n-1].
	Workers []Worker
}

// Worker is the result of one worker.
type Worker struct {
	Name  string // of its region, such as "worker 3"
	Files int    // files or pieces that it processed
	Units int
	Large bool // whether it processed the whole large file
}

// Large returns the worker that processed the large file, or nil if the file was split.
func (r *Result) Large() *Worker {
	for i := range r.Workers {
		if r.Workers[i].Large {
			return &r.Workers[i]
		}
	}
	return nil
}

// Queue returns the files in the order in which workers take them.
func (c Config) Queue(r Repair) []File {
	q := slices.Repeat([]File{{Size: 1}}, c.Small)
	if r.Split {
		for i := range c.Factor {
			q = append(q, File{Size: 1, from: i})
		}
	} else {
		q = append(q, File{Size: c.Factor})
	}
	if r.LargestFirst {
		slices.SortStableFunc(q, func(a, b File) int { return cmp.Compare(b.Size, a.Size) })
	}
	return q
}

// Run processes the queue with the workers. It returns when the queue is empty, or the error of ctx
// when that is done.
func (c Config) Run(ctx context.Context, r Repair) (*Result, error) {
	files := c.Queue(r)
	queue := make(chan File, len(files))
	for _, f := range files {
		queue <- f
	}
	close(queue)

	res := &Result{Workers: make([]Worker, c.Workers)}
	sums := make([]uint64, c.Workers)
	begin, cpu := time.Now(), proctime.Self()
	var wg sync.WaitGroup
	for i := range res.Workers {
		wg.Go(func() {
			w := Worker{Name: fmt.Sprintf("worker %d", i+1)}
			defer trace.StartRegion(ctx, w.Name).End()
			for f := range queue {
				sums[i] += c.process(ctx, f)
				w.Files++
				w.Units += f.Size
				w.Large = w.Large || f.Size > 1
			}
			res.Workers[i] = w
		})
	}
	wg.Wait()
	res.Wall, res.CPU = time.Since(begin), proctime.Self()-cpu
	for _, s := range sums {
		res.Sum += s
	}
	return res, ctx.Err()
}

// process computes a file and returns its checksum: the sum of the checksums of its units, so that
// the pieces of a file sum to the file.
func (c Config) process(ctx context.Context, f File) (sum uint64) {
	for i := range f.Size {
		if ctx.Err() != nil {
			break
		}
		sum += compute(uint64(f.from+i), c.Unit)
	}
	return sum
}

// compute is the work: a chain of dependent steps, so that no processor can overlap them. It
// allocates nothing and touches no memory, so only the queue limits the workload.
func compute(seed uint64, steps int) uint64 {
	x := seed*0x9e3779b97f4a7c15 + 1
	for range steps {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// StepsFor returns the number of steps of a unit with which a run of the configuration without
// repairs takes about d on the given number of processors. It measures this processor for some
// milliseconds.
func (c Config) StepsFor(d time.Duration, procs int) int {
	// The small files go through all processors or workers at once, whichever are fewer; the
	// large one through one.
	wide := max(1, min(procs, c.Workers))
	units := float64(c.Small)/float64(wide) + float64(c.Factor)
	return max(1, int(float64(d)/units/stepTime()))
}

// stepTime is the duration of a step in nanoseconds: the minimum of several short measurements,
// because a disturbance only makes one slower.
func stepTime() float64 {
	const rounds, steps = 8, 1 << 20
	best := time.Duration(1 << 62)
	for i := range rounds {
		begin := monotime.Now()
		runtime.KeepAlive(compute(uint64(i), steps)) // prevents the compiler from removing it
		best = min(best, time.Duration(monotime.Now()-begin))
	}
	return max(0.01, float64(best)/steps)
}

// Crowded returns a warning if the process got clearly less processor time than the running time of
// its goroutines, or "". In an execution trace a goroutine runs even while its thread waits for a
// processor: on a crowded machine the graph is that of the goroutines, not of the processors.
func Crowded(cpu, running time.Duration) string {
	if cpu <= 0 || cpu >= running-running/20 {
		return ""
	}
	return fmt.Sprintf("The process got %s of processor time but its goroutines seem to have run for %s: "+
		"other programs used the processors during that time, and the boxes include the time for which goroutines waited for them.",
		format.Duration(cpu), format.Duration(running))
}
