package granularity

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

// ErrClosed is returned by [Pool.Submit] after [Pool.Close]. [Pool.Go] panics with it.
var ErrClosed = errors.New("granularity: the pool is closed")

// A Pool executes tasks on worker goroutines and measures them. A zero Pool is valid; the first use
// starts its workers. Close it when it is no longer needed. The class of a task is the name of its
// function, its site the line that calls Submit or Go.
//
// A panic in a task ends the program, as in errgroup. If a task calls [runtime.Goexit], the worker
// is replaced. A task may submit to its own pool, but if the queue is full and all workers do so,
// they wait for each other forever.
//
// Measuring a task takes about 0.1 µs and does not allocate. Of tasks of less than 70 µs, only a
// random sample is measured: see [Class].Skipped.
type Pool struct {
	// Name is the name of the pool in profiles and execution traces. Pools with the same name
	// are reported together. The exported fields must be set before the first use.
	Name string
	// Workers is the number of goroutines that execute tasks; GOMAXPROCS if it is 0 or less.
	Workers int
	// Queue is the number of tasks that may wait for a worker before Submit blocks: 4 per
	// worker if 0, none if negative.
	Queue int
	// Recorder records the tasks; nil means the default recorder.
	Recorder *Recorder

	ready atomic.Bool // the following are set
	rec   *Recorder
	name  *poolName
	tasks chan job
	usual usualSite

	_       [64]byte     // what follows changes with each task
	pending atomic.Int64 // tasks submitted but not finished
	waiting atomic.Int64 // goroutines in Wait
	closed  atomic.Bool
	stopped sync.WaitGroup

	mu   sync.Mutex
	idle sync.Cond // pending reached 0
	err  error
}

// job is a submitted task.
type job struct {
	f    func()
	fe   func() error // instead of f
	site *site
	log  *TaskRecord // nil for most

	others  uint32 // tasks that it represents besides itself
	skipped bool   // it is not measured
}

// settle applies the settings made before the first use, and starts the workers. It is not called
// by a sync.Once, which a trace would show as what created the workers.
func (p *Pool) settle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ready.Load() {
		return
	}
	workers := p.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	p.rec, p.tasks = p.Recorder.or(), make(chan job, max(0, cmp.Or(p.Queue, 4*workers)))
	p.name = p.rec.poolName(p.Name)
	p.name.limit(workers)
	p.idle.L = &p.mu
	for range workers {
		p.start()
	}
	p.ready.Store(true)
}

// Submit hands a task to the pool. It blocks while the queue is full. After Close it returns
// ErrClosed and does not execute the task. It panics if f is nil.
func (p *Pool) Submit(f func()) error {
	if err := p.enter(f == nil); err != nil {
		return err
	}
	j := p.usual.next(p.rec, p.name, functionOf(f))
	j.f = f
	p.tasks <- j
	return nil
}

// Go is Submit for a function with an error; Wait returns the first error. It panics with ErrClosed
// after Close, and if f is nil.
func (p *Pool) Go(f func() error) {
	if err := p.enter(f == nil); err != nil {
		panic(err)
	}
	j := p.usual.next(p.rec, p.name, functionOf(f))
	j.fe = f
	p.tasks <- j
}

// SubmitContext is Submit, but if the context ends before there is room in the queue, it returns
// the context's error and does not execute the task.
func (p *Pool) SubmitContext(ctx context.Context, f func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := p.enter(f == nil); err != nil {
		return err
	}
	j := p.usual.next(p.rec, p.name, functionOf(f))
	j.f = f
	select {
	case p.tasks <- j:
		return nil
	case <-ctx.Done():
		p.rec.unlog(j.log)
		j.withdraw()
		p.leave()
		return ctx.Err()
	}
}

// enter counts a task as pending, unless the pool is closed. Close closes the pool before it waits
// for pending tasks, so a task is either refused or waited for.
func (p *Pool) enter(none bool) error {
	if none {
		panic("granularity: a nil function was submitted")
	}
	if !p.ready.Load() {
		p.settle()
	}
	p.pending.Add(1)
	if p.closed.Load() {
		p.leave()
		return ErrClosed
	}
	return nil
}

// leave counts a task as finished.
func (p *Pool) leave() {
	if p.pending.Add(-1) == 0 && p.waiting.Load() > 0 {
		p.mu.Lock()
		p.idle.Broadcast()
		p.mu.Unlock()
	}
}

func (p *Pool) start() {
	p.stopped.Add(1)
	go p.work()
}

// work executes tasks until the pool is closed. If a task ends the goroutine, another replaces it.
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

// execute executes one task and counts it as finished, unless a panic ends the program: Wait must
// not return before that.
func (p *Pool) execute(j *job) {
	defer func() {
		if value := recover(); value != nil {
			panic(value)
		}
		p.leave()
	}()
	if j.skipped {
		if err := j.site.execute(j.call); err != nil {
			p.fail(err)
		}
		return
	}
	x := execution{others: j.others}
	x.begin(j.site, j.log)
	defer x.end()
	if err := j.call(); err != nil {
		p.fail(err)
	}
}

// call calls the function.
func (j *job) call() error {
	if j.f != nil {
		j.f()
		return nil
	}
	return j.fe()
}

// withdraw takes back the part of the job in the sample.
func (j *job) withdraw() {
	if j.skipped {
		j.site.pace.owed.Add(-1)
	} else {
		j.site.pace.owed.Add(int64(j.others))
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

// Wait blocks until all submitted tasks have finished. It returns the first error of a function
// passed to Go since the last Wait. The pool can then be used again.
func (p *Pool) Wait() error {
	p.settle()
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	p.mu.Lock()
	for p.pending.Load() > 0 {
		p.idle.Wait()
	}
	defer p.mu.Unlock()
	err := p.err
	p.err = nil
	return err
}

// Close makes the pool refuse further tasks, waits for its tasks like Wait, ends the workers and
// returns when they have exited. Closing again only waits.
func (p *Pool) Close() error {
	first := p.closed.CompareAndSwap(false, true)
	err := p.Wait()
	if first {
		close(p.tasks)
	}
	p.stopped.Wait()
	return err
}
