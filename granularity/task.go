package granularity

import (
	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/cycles"
)

// A Task is a piece of work that is created in one place and submitted in another, or executed
// several times. Each of its executions is recorded with the place where it was created; two
// executions count as two tasks.
//
// A plain function that is passed to [Pool.Submit] or [Group.Go] needs no Task: it is created where
// it is submitted.
type Task struct {
	rec     *Recorder
	f       func()
	key     siteKey
	creator uint64
	more    more  // the task's entry in a pool's queue
	at      int64 // tick of the creation, if there is a log
}

// New creates a task of the named class that executes f. An empty class is named after the
// function. It panics if f is nil.
func (r *Recorder) New(class string, f func()) *Task {
	r = r.or()
	if f == nil {
		panic("granularity: New with a nil function")
	}
	t := &Task{rec: r, f: f, key: siteKey{name: class, created: chains.Capture()}, creator: goroutine()}
	if class == "" {
		t.key.fn = functionOf(f)
	}
	t.more.task = t
	if r.opts.Log > 0 {
		t.at = cycles.Ticks()
	}
	return t
}

// Run executes the task on the calling goroutine. Inside another task it is nested; inside its own
// execution, at any depth, it is part of that.
func (t *Task) Run() {
	g := goroutine()
	var x execution
	x.begin(t.rec.site(&t.key), t, g == t.creator && g != 0, t.entry())
	defer x.end()
	t.f()
}

// entry returns a place in the log for one execution, or nil if there is none.
func (t *Task) entry() *pending {
	p := t.rec.logging(callstack.Goid)
	if p != nil {
		p.created, p.creator = t.at, named(t.creator)
	}
	return p
}

// named returns the goroutine's ID, or 0 if it is an address.
func named(goroutine uint64) uint64 {
	if goroutine&unnamed != 0 {
		return 0
	}
	return goroutine
}
