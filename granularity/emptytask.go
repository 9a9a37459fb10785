package granularity

import (
	"math"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/monotime"
)

// The cost of an empty task is the least overhead that a task can have: handing it to a worker over
// a channel, and counting it. It is measured in many short rounds when a recorder is made, or when
// a profile is made if that failed. Only rounds before and after which nothing else ran in the
// process count. The result is their lower quartile, because other programs disturb some.

// emptyTask measures the cost until that has succeeded once in the process.
type emptyTask struct {
	mu   sync.Mutex
	cost time.Duration
}

var empty emptyTask

// measured returns the cost, or 0 if the process was never quiet.
func (e *emptyTask) measured() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cost == 0 {
		e.cost = emptyTaskCost(quiet())
	}
	return e.cost
}

// known returns the cost, measuring it if it is unknown and the process is quiet.
func (e *emptyTask) known() time.Duration {
	e.mu.Lock()
	cost := e.cost
	e.mu.Unlock()
	if cost == 0 && quiet()() {
		return e.measured()
	}
	return cost
}

// emptyTaskCost measures for about 2 ms and tries for up to 20 ms. It returns 0 if fewer than ten
// rounds were quiet.
func emptyTaskCost(quiet func() bool) time.Duration {
	const rounds, tasks, enough = 100, 64, 10
	queue := make(chan func(), 8)
	ended := make(chan bool)
	background.Go(func() {
		for f := range queue {
			f()
		}
		close(ended)
	})
	var wg sync.WaitGroup
	var costs []time.Duration
	began := monotime.Now()
	for range rounds {
		if monotime.Now()-began > int64(20*time.Millisecond) {
			break
		}
		if !quiet() {
			continue
		}
		wg.Add(tasks)
		from := monotime.Now()
		for range tasks {
			queue <- wg.Done
		}
		wg.Wait()
		took := time.Duration(monotime.Now()-from) / tasks
		if quiet() {
			costs = append(costs, took)
		}
	}
	close(queue)
	<-ended
	if len(costs) < enough {
		return 0
	}
	slices.Sort(costs)
	return max(costs[len(costs)/4], 1)
}

// quiet returns a function that reports whether only its caller runs, or is ready to run, in the
// process. An idle processor that still looks for work counts as running for some µs, so the
// function looks again after a while.
func quiet() func() bool {
	s := []metrics.Sample{{Name: "/sched/goroutines/running:goroutines"}, {Name: "/sched/goroutines/runnable:goroutines"}}
	at := func(i int) uint64 {
		if s[i].Value.Kind() != metrics.KindUint64 {
			return math.MaxUint64 // a future release may lack these metrics
		}
		return s[i].Value.Uint64()
	}
	return func() bool {
		for range 4 {
			if metrics.Read(s); at(0) <= 1 && at(1) == 0 {
				return true
			}
			time.Sleep(20 * time.Microsecond)
		}
		return false
	}
}
