package bench

import (
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
)

// profiles observes the wrappers: locks of package contention, tasks of package granularity.
type profiles struct {
	locks   bool // this session collects
	waits   *contention.Profile
	tasks   float64 // of the default recorder, before
	cycles  float64
	stopped bool
}

// start begins to collect. If the program collects contention by itself, that is left alone.
func (p *profiles) start() {
	p.tasks, p.cycles = taskTotals()
	p.locks = contention.Start(contention.Options{}) == nil
}

// stop ends the collection and keeps what was found.
func (p *profiles) stop() {
	if p.stopped {
		return
	}
	p.stopped = true
	if p.locks {
		_ = contention.Stop() // its error is that of a stream of events, which there is none of
		p.waits = contention.Snapshot()
	}
}

// taskTotals sums up the tasks of the default recorder.
func taskTotals() (tasks, cycles float64) {
	for _, c := range granularity.Default().Profile().Classes {
		tasks += float64(c.Cycles.Count())
		cycles += c.Cycles.Sum()
	}
	return tasks, cycles
}

// report reports what there is.
func (p *profiles) report(s *session) {
	tasks, cycles := taskTotals()
	if n := tasks - p.tasks; n > 0 {
		s.b.ReportMetric((cycles-p.cycles)/n, "cycles/task")
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
	s.b.ReportMetric(float64(waited)/float64(s.b.N), "blocked-ns/op")
	s.b.ReportMetric(float64(contentions)/float64(s.b.N), "contentions/op")
	s.write(*contentionOut, ".contention.json", func(w file) error { return contention.WriteJSON(w, p.waits) })
}
