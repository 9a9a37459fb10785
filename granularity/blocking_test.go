package granularity

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bottleneck-go/bottleneck/internal/cycles"
)

// blockers are tasks that block, as programs with an errgroup have them.
var blockers = map[string]func() (task func() error, end func()){
	"http.Get": func() (func() error, func()) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") }))
		return func() error {
			answer, err := server.Client().Get(server.URL)
			if err == nil {
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
			return err
		}, server.Close
	},
	"lock and channel": func() (func() error, func()) {
		var mu sync.Mutex
		ask, answer := make(chan int), make(chan int)
		go func() {
			for n := range ask {
				answer <- n
			}
		}()
		return func() error {
			mu.Lock()
			ask <- 1
			<-answer
			mu.Unlock()
			return nil
		}, func() { close(ask) }
	},
}

// A task that blocks is not slowed down: the wall time of a group of them is that of an errgroup.
// Locked to their threads, such tasks took 3 to 30 times as long, which is what the bound is for;
// BenchmarkBlocking shows how little it is. Where each reading of the clock takes system calls,
// those come on top.
func TestBlockingCostsLittle(t *testing.T) {
	if cycles.Default(); !cycles.TurnsKnown() { // known once a clock is open
		t.Skip("on this processor it is not known which tasks have left their threads, and all are locked")
	}
	if slow > 1 || testing.Short() {
		t.Skip("takes its time")
	}
	for name, make := range blockers {
		task, end := make()
		bare, measured := blocking(9, 2000, task)
		end()
		readings := 3 * float64(cycles.Default().Info().Costs)
		if of, took := slices.Min(bare), slices.Min(measured); took > 2*of+readings {
			t.Errorf("%s: %.2f times the wall time of an errgroup, and %v of it for the clock", name, took/of, time.Duration(readings))
		}
	}
}

// BenchmarkBlocking prints the ratio of wall times: of the least of all rounds, and of their
// medians.
func BenchmarkBlocking(b *testing.B) {
	Default()
	for name, make := range blockers {
		b.Run(name, func(b *testing.B) {
			task, end := make()
			defer end()
			var bare, measured []float64
			for b.Loop() {
				bare, measured = blocking(25, 2000, task)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(bare), "bare-ns/task")
			b.ReportMetric(slices.Min(measured)/slices.Min(bare), "wall-ratio")
			b.ReportMetric(median(measured)/median(bare), "median-wall-ratio")
		})
	}
}

// blocking runs the tasks in an errgroup and in a Group, in turn, and returns the wall time of a
// task in each round.
func blocking(rounds, tasks int, task func() error) (bare, measured []float64) {
	type group interface {
		Go(func() error)
		SetLimit(int)
		Wait() error
	}
	run := func(g group) float64 {
		var r results
		g.SetLimit(4 * runtime.GOMAXPROCS(0))
		r.take(tasks, func() {
			for range tasks {
				g.Go(task)
			}
			g.Wait()
		})
		return r.wall[0]
	}
	for range rounds {
		bare = append(bare, run(new(errgroup.Group)))
		measured = append(measured, run(new(Group)))
	}
	return bare, measured
}
