package granularity

import "github.com/bottleneck-go/bottleneck/internal/cycles"

// pending is what the log knows of a task before it executes.
type pending struct {
	id        uint64
	outer     uint64 // the task in which it executes
	created   int64  // ticks
	submitted int64  // 0: never
	creator   uint64 // goroutine
	submitter uint64
}

// entry is a finished task in the log.
type entry struct {
	pending
	site       *site
	start, end int64
	m          measurement
	goid       uint64
	tid        int
}

// logging reserves a place in the log for a task that is created now by the
// goroutine; nil when there is no log, or it is full.
func (r *Recorder) logging(goid func() uint64) *pending {
	if r.opts.Log == 0 {
		return nil
	}
	n := r.logged.Add(1)
	if n > int64(r.opts.Log) {
		return nil
	}
	p := &pending{id: uint64(n), created: cycles.Ticks(), creator: goid()}
	return p
}

// submit notes the submission.
func (p *pending) submit(goid func() uint64) {
	if p != nil {
		p.submitted, p.submitter = cycles.Ticks(), goid()
	}
}
