package bench

import (
	"io"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
)

// profiles collects what the wrappers measure: locks of package contention and tasks of package
// granularity.
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
