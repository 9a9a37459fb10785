// Package bench reports in go test -bench what limits a benchmark's scaling: its parallelism, the
// share of processor time that its neck loses, the time that goroutines wait for locks, and the
// size of tasks.
//
//	package queue_test
//
//	import (
//		"testing"
//
//		"github.com/bottleneck-go/bottleneck/exporters/bench"
//	)
//
//	func BenchmarkQueue(b *testing.B) {
//		bench.Start(b, bench.Trace)
//		b.RunParallel(func(pb *testing.PB) {
//			for pb.Next() {
//				// …
//			}
//		})
//	}
//
// The metrics are for benchstat; docs/benchmarks.md describes them, what is measured, and what it
// costs. Importing the package adds flags to the test binary:
//
//	-bottle.out DIR      write the graph of each measured loop, as SVG and JSON; implies Trace
//	-contention.out DIR  write the waits for locks of each benchmark, as JSON
//	-tasks.out DIR       write the profile of tasks of each benchmark, as JSON
//
// File names contain the benchmark and the number of processors. The last run of -count counts.
package bench

import (
	"fmt"
	"io"
	"runtime"
	"runtime/trace"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/result"
)

// Trace makes [Start] record an execution trace of the benchmark and report parallelism and neck-%.
const Trace = true

// session is one of the runs of a benchmark function, with growing b.N.
type session struct {
	b        *testing.B
	procs    int
	trace    *recording // nil without Trace
	profiles profiles
	over     bool // superseded by another session
}

// active is the innermost benchmark that called Start and has not ended. Benchmarks run one at a
// time, but a benchmark with sub-benchmarks waits for them.
var active struct {
	sync.Mutex
	session *session
}

// Start begins to observe a benchmark. Call it once in the benchmark function, before the loop. As
// with b.ResetTimer, it excludes everything before the call. Start reports its metrics when the
// benchmark ends; there is nothing to stop.
//
// Start never fails the benchmark. It logs why something cannot be measured.
func Start(b *testing.B, trace ...bool) {
	b.Helper()
	s := &session{b: b, procs: runtime.GOMAXPROCS(0)}
	printUnits()
	active.Lock()
	if active.session != nil {
		active.session.supersede()
	}
	active.session = s
	active.Unlock()
	b.Cleanup(s.finish)
	s.profiles.start()
	if slices.Contains(trace, Trace) || *bottleOut != "" {
		var err error
		if s.trace, err = record(); err != nil {
			tellUntraced(b, err)
		}
	}
	host.Note() // appears in the trace of go test -trace, too
	b.ResetTimer()
}

// untraced is the last benchmark for which a conflicting trace was logged, in its first run.
var untraced string

// tellUntraced logs, once for each benchmark, why parallelism and neck are missing.
func tellUntraced(b *testing.B, err error) {
	b.Helper()
	switch {
	case b.Name() == untraced:
	case trace.IsEnabled():
		b.Logf("bench: no parallelism and neck-%%: a trace is being taken already, as by -trace; \"bottleneck graph\" reads them from it")
	default:
		b.Logf("bench: no parallelism and neck-%%: %v", err)
	}
	untraced = b.Name()
}

// supersede ends a session whose benchmark runs sub-benchmarks: its metrics would include theirs.
func (s *session) supersede() {
	s.over = true
	s.profiles.stop()
	if s.trace != nil {
		s.trace.stop()
	}
}

// finish reports the metrics. At this point, b.N and b.Elapsed are final and the timer is off.
func (s *session) finish() {
	active.Lock()
	defer active.Unlock()
	if s.over {
		return
	}
	active.session = nil
	s.profiles.stop()
	if s.trace != nil {
		s.trace.stop()
	}
	if s.b.Failed() || s.b.Skipped() || s.b.N < 1 {
		return
	}
	s.profiles.report(s)
	if s.trace == nil {
		return
	}
	g, err := s.trace.graph(s.b.Elapsed())
	if err != nil {
		s.b.Logf("bench: no graph: %v", err)
		return
	}
	for _, m := range graphMetrics(g) {
		s.b.ReportMetric(m.value, m.unit)
	}
	s.write(*bottleOut, ".svg", func(w io.Writer) error {
		return picture.SVG(w, g, picture.Options{Title: fileName(s.b.Name(), s.procs), Subtitle: fmt.Sprintf("the measured loop, %d iterations", s.b.N)})
	})
	s.write(*bottleOut, ".json", func(w io.Writer) error { return bottle.WriteJSON(w, g) })
}

type metric struct {
	unit  string
	value float64
}

// graphMetrics returns the metrics that a graph contributes.
func graphMetrics(g *bottle.Graph) []metric {
	names := []string{"parallelism", "neck-%"}
	if c, _ := g.InC(); c > 0 {
		names = append(names, "in-c-%")
	}
	return metricsOf(bottle.Summary(), g, names...)
}

// metricsOf returns the named columns that are known for a whole result.
func metricsOf[T any](columns []result.Column[T], whole *T, names ...string) (list []metric) {
	for _, c := range columns {
		v, known := c.Value(whole)
		if !known || !slices.Contains(names, c.Name) {
			continue
		}
		value := c.Unit.Number(v)
		if c.Unit == result.Ratio {
			value = max(leastPercent, 100*value)
		}
		list = append(list, metric{c.Name, value})
	}
	return list
}

// leastPercent replaces smaller percentages, because a geometric mean cannot include 0.
const leastPercent = 0.1

// profiles collects the locks of package contention and the tasks of package granularity.
type profiles struct {
	locks   bool // this session collects contention
	waits   *contention.Profile
	before  *granularity.Profile // the default recorder's profile at the start
	stopped bool
}

// start begins the collection. If the program already collects contention, start leaves that alone.
func (p *profiles) start() {
	p.before = granularity.Default().Profile()
	p.locks = contention.Start(contention.Options{}) == nil
}

// stop ends the collection and keeps the results.
func (p *profiles) stop() {
	if p.stopped {
		return
	}
	p.stopped = true
	if p.locks {
		_ = contention.Stop() // fails only with a stream of events, and there is none
		p.waits = contention.Snapshot()
	}
}

// leastPerOp replaces smaller values. Package testing writes seven decimals and would write 0,
// which a geometric mean cannot include.
const leastPerOp = 1e-7

// report reports the metrics that were collected.
func (p *profiles) report(s *session) {
	profile := granularity.Default().Profile().Since(p.before)
	if measured := metricsOf(granularity.Summary(), profile, "cycles/task", "fine-tasks-%", "coarse-tasks-%"); len(measured) == 3 {
		for _, m := range measured {
			s.b.ReportMetric(m.value, m.unit)
		}
		s.write(*tasksOut, ".tasks.json", func(w io.Writer) error { return granularity.WriteJSON(w, profile) })
	}
	if p.waits == nil {
		return
	}
	var waited time.Duration
	var contentions int64
	for i := range p.waits.Waits {
		waited += p.waits.Waits[i].Waited
		contentions += p.waits.Waits[i].Contentions
	}
	if contentions == 0 {
		return
	}
	s.b.ReportMetric(max(leastPerOp, float64(waited)/float64(s.b.N)), "blocked-ns/op")
	s.b.ReportMetric(max(leastPerOp, float64(contentions)/float64(s.b.N)), "contentions/op")
	s.write(*contentionOut, ".contention.json", func(w io.Writer) error { return contention.WriteJSON(w, p.waits) })
}
