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
	full := r.logged.Load() >= int64(r.opts.Log)
	if !full && r.logged.Add(1) > int64(r.opts.Log) {
		r.logged.Add(-1)
		full = true
	}
	if full {
		r.unlogged.Add(1)
		return nil
	}
	return &pending{id: r.logIDs.Add(1), created: cycles.Ticks(), creator: goid()}
}

// unlog gives back what logging returned for a task that will not be in the log although there may
// be room: it does not execute, or not as a task of its own, or is not measured.
func (r *Recorder) unlog(p *pending) {
	switch {
	case r.opts.Log == 0:
	case p == nil:
		r.unlogged.Add(-1)
	default:
		r.logged.Add(-1)
	}
}

// submit notes the submission.
func (p *pending) submit(goid func() uint64) {
	if p != nil {
		p.submitted, p.submitter = cycles.Ticks(), goid()
	}
}
