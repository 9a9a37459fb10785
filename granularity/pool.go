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

// ErrClosed is returned by [Pool.Submit] after [Pool.Close]. [Pool.Go] panics with it.
var ErrClosed = errors.New("granularity: the pool is closed")

// PoolOptions configures a [Pool]. The zero value is ready to use.
type PoolOptions struct {
	// Name is the name of the pool in profiles and execution traces. Pools with the same name
	// are reported together.
	Name string
	// Workers is the number of goroutines that execute tasks; GOMAXPROCS if it is 0 or less.
	Workers int
	// Queue is the number of tasks that may wait for a worker before Submit blocks: 4 per
	// worker if 0, none if negative.
	Queue int
	// CatchPanics keeps a panic in a task from ending the program. Wait and Close raise the
	// first one again as a *[TaskPanic], like sourcegraph/conc. Otherwise a panic in a task
	// ends the program, as in errgroup.
	CatchPanics bool
	// Recorder records the tasks; nil means the default recorder.
	Recorder *Recorder
}

// A Pool executes tasks on a number of worker goroutines and measures the granularity of each.
// Create one with [NewPool] and close it when it is no longer needed.
//
// The class of a task is the name of its function. Its creation and submission site is the line
// that calls Submit or Go.
//
// If a task calls [runtime.Goexit], the worker is replaced and nothing else is lost.
//
// A task may submit to its own pool. But if the queue is full and all workers do so, they wait for
// each other forever, as with any bounded queue.
//
// Measuring costs about 0.1 µs per task (see docs/measurements.md) and does not allocate.
type Pool struct {
	opts  PoolOptions
	rec   *Recorder
	name  *poolName
	tasks chan job
	usual usualSite

	pending atomic.Int64 // tasks submitted but not finished
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

// more is the state of tasks made by [Recorder.New], or with a log.
type more struct {
	task *Task
	log  *pending
}

// A TaskPanic is the value that [Pool.Wait] panics with if a task panicked and
// [PoolOptions].CatchPanics is set.
type TaskPanic struct {
	Value any    // the value of the panic
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

// Submit hands a task to the pool. It blocks while the queue is full. After Close it returns
// ErrClosed and does not execute the task. It panics if f is nil.
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

// Go is Submit for a function with an error; Wait returns the first error. It panics with ErrClosed
// after Close, and if f is nil.
func (p *Pool) Go(f func() error) {
	if f == nil {
		panic("granularity: Go of a nil function")
	}
	if !p.enter() {
		panic(ErrClosed)
	}
	p.tasks <- job{fe: f, site: p.usual.site(p.rec, p.name, functionOf(f), chains.Capture()), more: p.log(nil)}
}

// SubmitTask is Submit for a task that was created earlier. A task may be submitted several times,
// and each submission counts. It panics if t is nil.
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

// SubmitContext is Submit, but if the context ends before there is room in the queue, it returns
// the context's error and does not execute the task. A task that has been queued executes even if
// the context ends afterwards.
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

// enter counts a task as pending, unless the pool is closed. The order matters: Close first closes
// the pool and then waits for pending tasks, so a task is either refused or waited for.
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

// log returns the additional state of a task: its [Task], if any, and its place in the log. The
// submitter is the calling goroutine.
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

// work executes tasks until the pool is closed. If a task ends the goroutine, a new one replaces
// it.
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

// execute executes one task and always counts it as finished, except for a panic that ends the
// program: no waiter may consider it finished before then.
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

// panicking reports whether the calling deferred function was called because of a panic, not
// [runtime.Goexit]. recover cannot distinguish these without stopping the panic.
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

// fail records a task's error; the first one counts.
func (p *Pool) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
}

// catch is deferred: it records a panic; the first one counts.
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

// Wait blocks until all submitted tasks have finished. It returns the first error of a function
// passed to Go since the last Wait. The pool can then be used again. A panic caught in a task is
// raised again here.
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

// Close makes the pool refuse further tasks, waits for its tasks like Wait, ends the workers and
// returns when they have exited. Closing again only waits.
func (p *Pool) Close() error {
	first := p.closed.CompareAndSwap(false, true)
	defer func() { // also if Wait panics
		if first {
			close(p.tasks)
		}
		p.stopped.Wait()
	}()
	return p.Wait()
}
