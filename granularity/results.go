package granularity

import "sync"

// Results collects what tasks return, in the order in which they were
// submitted, whatever the order in which they finish. Make one with [NewResults]
// for each batch; several may share a pool.
type Results[T any] struct {
	pool *Pool

	mu     sync.Mutex
	done   sync.Cond
	open   int
	values []T
	failed []bool
	err    error
}

// NewResults returns an empty collection whose tasks are executed by the pool.
func NewResults[T any](p *Pool) *Results[T] {
	r := &Results[T]{pool: p}
	r.done.L = &r.mu
	return r
}

// Go submits a task that returns a value or an error. It panics with
// [ErrClosed] after the pool was closed, and when f is nil.
//
// It allocates for the value and for one function a task.
func (r *Results[T]) Go(f func() (T, error)) {
	if f == nil {
		panic("granularity: Go of a nil function")
	}
	if !r.pool.enter() {
		panic(ErrClosed)
	}
	r.mu.Lock()
	i := len(r.values)
	var zero T
	r.values, r.failed = append(r.values, zero), append(r.failed, true)
	r.open++
	r.mu.Unlock()

	p := r.pool
	s := p.usual.site(p.rec, p.name, functionOfResult(f), chains.Capture())
	p.send(job{f: func() { r.execute(i, f) }, site: s, more: p.log(nil)})
}

func (r *Results[T]) execute(i int, f func() (T, error)) {
	var value T
	var err error
	returned := false
	defer func() { // also when f panics or calls Goexit
		r.mu.Lock()
		defer r.mu.Unlock()
		if returned && err == nil {
			r.values[i], r.failed[i] = value, false
		}
		if err != nil && r.err == nil {
			r.err = err
		}
		if r.open--; r.open == 0 {
			r.done.Broadcast()
		}
	}()
	value, err = f()
	returned = true
}

// Wait blocks until the tasks of this collection have finished and returns the
// values of those that returned no error, in the order of submission, and the
// first error. A task that panicked or called Goexit has no value.
func (r *Results[T]) Wait() ([]T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.open > 0 {
		r.done.Wait()
	}
	var values []T
	for i, v := range r.values {
		if !r.failed[i] {
			values = append(values, v)
		}
	}
	return values, r.err
}
