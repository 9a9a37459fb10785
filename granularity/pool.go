package granularity

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

// ErrClosed is what [Pool.Submit] returns, and [Pool.Go] panics with, after [Pool.Close].
var ErrClosed = errors.New("granularity: the pool is closed")

// PoolOptions are the settings of a [Pool]. The zero value is a good one.
type PoolOptions struct {
	// Name names the pool in profiles and execution traces. Pools of the same
	// name are reported together.
	Name string
	// Workers is the number of goroutines that execute tasks, GOMAXPROCS if it is 0 or less.
	Workers int
	// Queue is the number of tasks that may wait for a worker before Submit
	// blocks: 4 for each worker if 0, none if negative.
	Queue int
	// CatchPanics keeps a panic in a task from ending the program: the first one
	// is raised again by Wait and Close, as a *[TaskPanic], in the way of
	// sourcegraph/conc. Otherwise a panic in a task ends the program, as in errgroup.
	CatchPanics bool
	// Recorder records the tasks; the default recorder if nil.
	Recorder *Recorder
}

// A Pool executes tasks on a number of worker goroutines and measures the
// granularity of each. Make one with [NewPool] and close it when it is not needed any more.
//
// What a task is called: its class is the name of its function. Where it is
// created and submitted: the line that calls Submit or Go.
//
// If a task calls [runtime.Goexit], the worker is replaced and nothing else is lost.
//
// A task may submit to its own pool, but when the queue is full and all
// workers do so they wait for each other for ever, as with any bounded queue.
//
// Measuring costs about 0.1 µs a task (see docs/measurements.md) and allocates nothing.
type Pool struct {
	opts  PoolOptions
	rec   *Recorder
	name  *poolName
	tasks chan job
	usual usualSite

	pending atomic.Int64 // tasks submitted and not finished
	waiting atomic.Int64 // goroutines in Wait
	closed  atomic.Bool
	stopped sync.WaitGroup

	mu   sync.Mutex
	idle sync.Cond // pending reached 0
	err  error
	bad  *TaskPanic
}

// job is a submitted task.
type job struct {
	f    func()
	fe   func() error // instead of f
	site *site
	more *more // nil for most
}

// more is what only tasks made by [Recorder.New], or with a log, have.
type more struct {
	task *Task
	log  *pending
}

// A TaskPanic is what [Pool.Wait] panics with when a task panicked and
// [PoolOptions].CatchPanics is set.
type TaskPanic struct {
	Value any    // what the task panicked with
	Stack []byte // the call chain of the panic
}

// Error returns the value and the call chain of the panic.
func (p *TaskPanic) Error() string {
	return fmt.Sprintf("panic in a task: %v\n\n%s", p.Value, p.Stack)
}

// Unwrap returns the value of the panic if that is an error.
func (p *TaskPanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// NewPool returns a pool that is ready for tasks.
func NewPool(opts PoolOptions) *Pool {
	if opts.Workers <= 0 {
		opts.Workers = runtime.GOMAXPROCS(0)
	}
	if opts.Queue == 0 {
		opts.Queue = 4 * opts.Workers
	}
	p := &Pool{
		opts:  opts,
		rec:   opts.Recorder.or(),
		tasks: make(chan job, max(opts.Queue, 0)),
	}
	p.name = p.rec.poolName(opts.Name)
	p.name.limit(opts.Workers)
	p.idle.L = &p.mu
	for range opts.Workers {
		p.start()
	}
	return p
}

// Submit hands a task to the pool, and blocks while the queue is full. After
// Close it returns ErrClosed and does not execute the task. It panics when f is nil.
func (p *Pool) Submit(f func()) error {
	if f == nil {
		panic("granularity: Submit of a nil function")
	}
	if !p.enter() {
		return ErrClosed
	}
	p.tasks <- job{f: f, site: p.usual.site(p.rec, p.name, functionOf(f), chains.Capture()), more: p.log(nil)}
	return nil
}

// Go is Submit for a function with an error: the first error is the result of
// Wait. It panics with ErrClosed after Close, and when f is nil.
func (p *Pool) Go(f func() error) {
	if f == nil {
		panic("granularity: Go of a nil function")
	}
	if !p.enter() {
		panic(ErrClosed)
	}
	p.tasks <- job{fe: f, site: p.usual.site(p.rec, p.name, functionOf(f), chains.Capture()), more: p.log(nil)}
}

// SubmitTask is Submit for a task that was created before. A task may be
// submitted several times; each time counts. It panics when t is nil.
func (p *Pool) SubmitTask(t *Task) error {
	if t == nil {
		panic("granularity: SubmitTask of a nil task")
	}
	if !p.enter() {
		return ErrClosed
	}
	key := t.key
	key.submitted, key.pool = chains.Capture(), p.name
	p.tasks <- job{f: t.f, site: p.rec.site(&key), more: p.log(t)}
	return nil
}

// SubmitContext is Submit that gives up when the context ends before there is
// room in the queue: it then returns the context's error and does not execute the
// task. A task that was handed over executes even if the context ends afterwards.
func (p *Pool) SubmitContext(ctx context.Context, f func()) error {
	if f == nil {
		panic("granularity: SubmitContext of a nil function")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !p.enter() {
		return ErrClosed
	}
	j := job{f: f, site: p.usual.site(p.rec, p.name, functionOf(f), chains.Capture()), more: p.log(nil)}
	select {
	case p.tasks <- j:
		return nil
	case <-ctx.Done():
		if j.more != nil {
			p.rec.unlog(j.more.log)
		}
		p.leave()
		return ctx.Err()
	}
}

// enter counts a task as pending, unless the pool is closed. The order matters:
// Close closes first and then waits for what is pending, so that a task is
// either refused or waited for.
func (p *Pool) enter() bool {
	p.pending.Add(1)
	if p.closed.Load() {
		p.leave()
		return false
	}
	return true
}

// leave counts a task as finished.
func (p *Pool) leave() {
	if p.pending.Add(-1) == 0 && p.waiting.Load() > 0 {
		p.mu.Lock()
		p.idle.Broadcast()
		p.mu.Unlock()
	}
}

// log returns what a task has besides its site: the [Task] that it is, if it
// is one, and its place in the log. The submitter is the calling goroutine.
func (p *Pool) log(t *Task) *more {
	if p.rec.opts.Log == 0 {
		if t == nil {
			return nil
		}
		return &t.more
	}
	m := &more{task: t, log: p.rec.logging(callstack.Goid)}
	if m.log != nil && t != nil && t.at != 0 {
		m.log.created, m.log.creator = t.at, named(t.creator)
	}
	m.log.submit(callstack.Goid)
	return m
}

func (p *Pool) start() {
	p.stopped.Add(1)
	go p.work()
}

// work executes tasks until the pool is closed. If a task ends the goroutine,
// another takes its place.
func (p *Pool) work() {
	finished := false
	defer func() {
		if !finished {
			p.start()
		}
		p.stopped.Done()
	}()
	for j := range p.tasks {
		p.execute(&j)
	}
	finished = true
}

// execute executes one task. Whatever it does, it is counted as finished, but for a panic that ends
// the program: until then no waiter may take it for finished.
func (p *Pool) execute(j *job) {
	returned := false
	defer func() {
		if returned || !panicking() {
			p.leave()
		}
	}()
	if p.opts.CatchPanics {
		defer p.catch()
	}
	var task *Task
	var log *pending
	if j.more != nil {
		task, log = j.more.task, j.more.log
	}
	var x execution
	x.begin(j.site, task, false, log)
	defer x.end()
	if j.f != nil {
		j.f()
	} else if err := j.fe(); err != nil {
		p.fail(err)
	}
	returned = true
}

// panicking reports whether the calling deferred function was called by a panic,
// and not by [runtime.Goexit], which recover cannot show without stopping the panic.
func panicking() bool {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if f.Function == "runtime.gopanic" {
			return true
		}
		if f.Function == "runtime.Goexit" || !more {
			return false
		}
	}
}

// fail notes a task's error; the first one counts.
func (p *Pool) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
}

// catch is deferred: it notes a panic; the first one counts.
func (p *Pool) catch() {
	value := recover()
	if value == nil {
		return
	}
	stack := debug.Stack()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bad == nil {
		p.bad = &TaskPanic{Value: value, Stack: stack}
	}
}

// Wait blocks until all tasks that were submitted have finished, and returns the first
// error of a function given to Go since the last Wait. The pool can be used
// again. A panic caught in a task is raised again here.
func (p *Pool) Wait() error {
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	p.mu.Lock()
	for p.pending.Load() > 0 {
		p.idle.Wait()
	}
	err, bad := p.err, p.bad
	p.err, p.bad = nil, nil
	p.mu.Unlock()
	if bad != nil {
		panic(bad)
	}
	return err
}

// Close makes the pool refuse further tasks, waits like Wait for those it has, ends
// the workers and returns when they are gone. Closing again only waits.
func (p *Pool) Close() error {
	first := p.closed.CompareAndSwap(false, true)
	defer func() { // also when Wait panics
		if first {
			close(p.tasks)
		}
		p.stopped.Wait()
	}()
	return p.Wait()
}
