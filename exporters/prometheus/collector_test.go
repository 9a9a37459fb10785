package prometheus

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/internal/series"
	"github.com/bottleneck-go/bottleneck/granularity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type source struct {
	mu   sync.Mutex
	live bottleneck.Live
}

func (s *source) Enabled() bool { return true }
func (s *source) Read() *bottleneck.Live {
	s.mu.Lock()
	defer s.mu.Unlock()
	live := s.live
	return &live
}

func made() *source {
	s := &source{}
	s.live.Bottle = &bottle.Graph{Wall: 9 * time.Second, Idle: time.Second, Throttles: 7, Throttled: 3 * time.Second, Procs: 2, Boxes: []bottle.Box{
		{Group: "main.work", Kind: bottle.Application, Share: 5 * time.Second, Running: 8 * time.Second, Waiting: map[string]time.Duration{"mutex": 2 * time.Second}},
		{Group: "a\"b\\\n\xff", Kind: bottle.GC, Share: 3 * time.Second, Running: 3 * time.Second},
	}}
	s.live.Bottle.Latency = bottle.Latency{Count: 3, Total: 2 * time.Millisecond, Max: time.Millisecond, Cut: 4, Buckets: make([]int64, 150)}
	s.live.Bottle.Latency.Buckets[0], s.live.Bottle.Latency.Buckets[149] = 2, 1
	s.live.Contention = &contention.Profile{Waits: []contention.Wait{{Kind: contention.MutexKind, Contentions: 3, Waited: time.Second, Blamed: time.Second}}}
	return s
}

// The client library accepts all metrics, and they equal the numbers of the analysis.
func TestCollector(t *testing.T) {
	tasks := granularity.NewRecorder()
	for range 7 {
		granularity.Do(granularity.WithRecorder(t.Context(), tasks), "check", func(context.Context) error { return nil })
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(newCollector(made(), Options{Tasks: tasks}))
	for name, want := range map[string]string{
		"bottleneck_share_seconds_total": "# HELP bottleneck_share_seconds_total The group's share of the time: while r goroutines run, each is given 1/r of it.\n" +
			"# TYPE bottleneck_share_seconds_total counter\n" +
			`bottleneck_share_seconds_total{group="a\"b\\ ` + "\uFFFD" + `",kind="gc"} 3` + "\n" +
			`bottleneck_share_seconds_total{group="main.work",kind="application"} 5` + "\n",
		"bottleneck_throttled_seconds_total": "# HELP bottleneck_throttled_seconds_total Processor time that the quota of the control group took away (throttled_usec). Goroutines seem to run then.\n" +
			"# TYPE bottleneck_throttled_seconds_total counter\nbottleneck_throttled_seconds_total 3\n",
		"bottleneck_blocked_seconds_total": "# HELP bottleneck_blocked_seconds_total The time for which the group's goroutines were blocked, summed, by reason.\n" +
			"# TYPE bottleneck_blocked_seconds_total counter\n" +
			`bottleneck_blocked_seconds_total{group="main.work",kind="application",reason="mutex"} 2` + "\n",
	} {
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), name); err != nil {
			t.Error(err)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range families {
		switch h := f.Metric[0].GetHistogram(); f.GetName() {
		case "bottleneck_scheduling_latency_seconds":
			if h.GetSampleCount() != 3 || h.GetSampleSum() != 0.002 || h.Bucket[0].GetUpperBound() != 1.024e-6 || h.Bucket[0].GetCumulativeCount() != 2 || len(h.Bucket) != 13 {
				t.Errorf("%v", h)
			}
			found++
		case "bottleneck_goroutines":
			if len(f.Metric) != 4 {
				t.Errorf("goroutines in %d states", len(f.Metric))
			}
		case "bottleneck_task_cycles":
			if h.GetSampleCount() != 7 || len(h.Bucket) != len(series.TaskBounds) {
				t.Errorf("%v", h)
			}
			found++
		}
	}
	if found != 2 || len(families) < 16 {
		t.Errorf("%d families, %d histograms", len(families), found)
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// A lean collector has at most 60 series. One without pairs of groups and reasons has exemplars of
// what is blamed.
func TestLeanAndExemplars(t *testing.T) {
	src := made()
	src.live.To = time.Unix(1000, 0)
	src.live.Contention.Pairs = []contention.Wait{{Kind: contention.MutexKind, Lock: &contention.Lock{Name: "cache"}, Waiter: contention.Party{Group: "main.work"}, Blamed: time.Second}}
	for i := range 100 {
		src.live.Bottle.Boxes = append(src.live.Bottle.Boxes, bottle.Box{Group: fmt.Sprint("main.f", i), Kind: bottle.Application, Share: time.Second, Running: time.Second})
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(newCollector(src, Options{Lean: true, Version: "v1.2.3"}))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	n, exemplar, version := 0, "", ""
	for _, f := range families {
		for _, m := range f.Metric {
			n++
			if e := m.GetCounter().GetExemplar(); e != nil {
				exemplar += fmt.Sprint(f.GetName(), " ", e.GetValue(), " ", e.GetTimestamp().AsTime().Unix())
				for _, l := range e.Label {
					exemplar += " " + l.GetName() + "=" + l.GetValue()
				}
			}
			for _, l := range m.Label {
				if f.GetName() == "bottleneck_build_info" && l.GetName() == "version" {
					version = l.GetValue()
				}
			}
		}
	}
	if n > series.MaxLean || n < 20 || version != "v1.2.3" || exemplar != "bottleneck_contention_wait_seconds_total 1 1000 lock=cache waiter=main.work" && exemplar != "bottleneck_contention_wait_seconds_total 1 1000 waiter=main.work lock=cache" {
		t.Errorf("%d series, version %q, exemplars %q", n, version, exemplar)
	}
}

// Without a continuous analysis there are tasks only. Without any source there is nothing.
func TestNothingToCollect(t *testing.T) {
	if n := testutil.CollectAndCount(NewCollector(nil, Options{})); n != 0 {
		t.Errorf("%d metrics of nothing", n)
	}
}

// Concurrent scrapes agree, also while groups come and go.
func TestConcurrent(t *testing.T) {
	src := made()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(newCollector(src, Options{Lean: true}))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 50 {
				src.mu.Lock()
				g := *src.live.Bottle
				g.Boxes = append(g.Boxes[:len(g.Boxes):len(g.Boxes)], bottle.Box{Group: fmt.Sprint("main.f", i), Share: time.Second, Running: time.Second})
				src.live.Bottle = &g
				src.mu.Unlock()
				if _, err := registry.Gather(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// A real analysis of this process: two computing goroutines have a parallelism of at most their
// number and the number of processors.
func TestContinuous(t *testing.T) {
	c := bottleneck.NewContinuous(bottleneck.ContinuousOptions{Budget: 1})
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewCollector(c, Options{}))
	var stop atomic.Bool
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop.Store(true)
	for range 2 {
		wg.Go(func() { // calls nothing, so every stack of it has this function
			for !stop.Load() {
			}
		})
	}
	deadline := time.Now().Add(60 * time.Second)
	for {
		sums := totals(t, registry, "TestContinuous") // of one scrape: a second may have more in it
		share, running := sums["bottleneck_share_seconds_total"], sums["bottleneck_running_seconds_total"]
		if share > 0 {
			if p := running / share; p < 0.99 || p > float64(min(2, runtime.GOMAXPROCS(0)))+0.01 {
				t.Errorf("parallelism %g: ran for %g s, share %g s", p, running, share)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing of the goroutines in a minute")
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// totals sums each metric over the groups whose names contain a text.
func totals(t *testing.T, g prometheus.Gatherer, group string) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if l.GetName() == "group" && strings.Contains(l.GetValue(), group) {
					sums[f.GetName()] += m.GetCounter().GetValue()
				}
			}
		}
	}
	return sums
}

func BenchmarkCollect(b *testing.B) {
	src := made()
	g := src.live.Bottle
	for i := range 48 {
		box := g.Boxes[0]
		box.Group = fmt.Sprint("main.f", i)
		g.Boxes = append(g.Boxes, box)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(src, Options{}))
	for b.Loop() {
		if _, err := registry.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
