package granularity

import (
	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/cycles"
)

// A Task is a piece of work that is created in one place and submitted in
// another, or executed several times. Where it was created is part of what is
// recorded of each of its executions; two executions count as two tasks.
//
// A plain function that is given to [Pool.Submit] or [Group.Go] needs no Task:
// it is created where it is submitted.
type Task struct {
	rec     *Recorder
	f       func()
	key     siteKey
	creator uint64
	more    more  // what a pool's queue holds of the task
	at      int64 // tick of the creation, when there is a log
}

// New creates a task of the named class that executes f; an empty class is named after the
// function. It panics when f is nil.
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

// Run executes the task on the calling goroutine. Inside another task it is
// nested; inside its own execution it is part of that, however deep.
func (t *Task) Run() {
	g := goroutine()
	var x execution
	x.begin(t.rec.site(&t.key), t, g == t.creator && g != 0, t.entry())
	defer x.end()
	t.f()
}

// entry returns a place in the log for one execution; nil when there is none.
func (t *Task) entry() *pending {
	p := t.rec.logging(callstack.Goid)
	if p != nil {
		p.created, p.creator = t.at, named(t.creator)
	}
	return p
}

// named returns the goroutine's id; 0 if it is an address.
func named(goroutine uint64) uint64 {
	if goroutine&unnamed != 0 {
		return 0
	}
	return goroutine
}
