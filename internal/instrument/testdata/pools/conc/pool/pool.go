// Package pool has the methods of the package of that name.
package pool

import (
	"context"
	"sync"
)

type Pool struct{ wg sync.WaitGroup }

func New() *Pool { return &Pool{} }

func (p *Pool) Go(f func()) { p.wg.Go(f) }
func (p *Pool) Wait()       { p.wg.Wait() }

type ResultContextPool[T any] struct {
	pool Pool
	mu   sync.Mutex
	all  []T
}

func (p *ResultContextPool[T]) Go(f func(context.Context) (T, error)) {
	p.pool.Go(func() {
		v, _ := f(context.Background())
		p.mu.Lock()
		defer p.mu.Unlock()
		p.all = append(p.all, v)
	})
}

func (p *ResultContextPool[T]) Wait() []T {
	p.pool.Wait()
	return p.all
}
