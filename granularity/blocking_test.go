package granularity

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
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

// BenchmarkBlocking prints the ratio of wall times in many short rounds, with its 95 % interval. The
// rows "none" compare an errgroup with itself and show the error of the benchmark.
func BenchmarkBlocking(b *testing.B) {
	Default()
	for name, make := range blockers {
		task, end := make()
		defer end()
		run := func(g group, tasks int) {
			g.SetLimit(4 * runtime.GOMAXPROCS(0))
			for range tasks {
				g.Go(task)
			}
			g.Wait()
		}
		bare := func(n int, _ func()) { run(new(errgroup.Group), n) }
		c := contest{name, bare, func(n int, _ func()) { run(new(Group), n) }}
		for _, c := range []contest{c, {name + "/none", bare, bare}} {
			b.Run(c.name, func(b *testing.B) {
				var bare, measured results
				c.run(1, 10_000, nil) // connections, and the pace of the site
				tasks := int(15e6 / median(c.one(1000).wall))
				for b.Loop() {
					bare, measured = c.run(300, tasks, nil)
				}
				reportRatio(b, "wall-ratio", measured.wall, bare.wall)
				b.ReportMetric(median(bare.wall), "bare-ns/task")
			})
		}
	}
}

// group is an errgroup.Group or a Group.
type group interface {
	Go(func() error)
	SetLimit(int)
	Wait() error
}
