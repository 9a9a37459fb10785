package granularity

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/bottleneck-go/bottleneck/internal/cycles"
)

// blockers are tasks that block, as in programs with an errgroup.
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

// Tasks that block are not locked to their threads, but for the first ones of a site and a few
// samples: locked, they took 3 to 30 times as long. The first line of a stack shows it. On a busy
// machine each takes so long that locks are within the budget of 1 to 2 %, which is fine as well.
// BenchmarkBlocking shows what measuring costs them.
func TestBlockingTasksAreNotLockedToTheirThreads(t *testing.T) {
	if cycles.Default(); !cycles.TurnsKnown() { // known after a clock was opened
		t.Skip("on this processor it is not known which tasks have left their threads, and all are locked")
	}
	for name, make := range blockers {
		task, end := make()
		var locked, ran atomic.Int64
		look := func() {
			var stack [128]byte
			first, _, _ := strings.Cut(string(stack[:runtime.Stack(stack[:], false)]), "\n")
			if strings.Contains(first, "locked to thread") {
				locked.Add(1)
			}
			ran.Add(1)
		}
		rec := NewRecorder()
		g := Group{Recorder: rec}
		g.SetLimit(4 * runtime.GOMAXPROCS(0))
		for range 500 {
			g.Go(func() error {
				look()
				defer look()
				return task()
			})
		}
		if err := g.Wait(); err != nil {
			t.Error(name, err)
		}
		end()
		countNotes()
		for _, s := range rec.sites {
			if costs, walls := lockBudget*s.costs.Load(), s.walls.Load(); locked.Load() > 100 && costs > 5*walls || ran.Load() != 1000 {
				t.Errorf("%s: locked to its thread at %d of %d looks, want at most 100 of 1000: it costs %d %% of the time",
					name, locked.Load(), ran.Load(), costs/max(1, walls))
			}
		}
	}
}

// BenchmarkBlocking prints the ratios of wall times: of the minimum of all rounds, and of their
// medians.
func BenchmarkBlocking(b *testing.B) {
	Default()
	for name, make := range blockers {
		b.Run(name, func(b *testing.B) {
			task, end := make()
			defer end()
			var bare, measured []float64
			for b.Loop() {
				bare, measured = blocking(25, 20_000, task)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(bare), "bare-ns/task")
			b.ReportMetric(slices.Min(measured)/slices.Min(bare), "wall-ratio")
			b.ReportMetric(median(measured)/median(bare), "median-wall-ratio")
		})
	}
}

// blocking runs the tasks in an errgroup and in a Group, alternately, and returns the wall time of
// a task in each round.
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
