// Package ants has the methods of the module of that name.
package ants

type Options struct{}

type Option func(opts *Options)

type Pool struct{ tasks chan func() }

func NewPool(size int, options ...Option) (*Pool, error) {
	p := &Pool{make(chan func())}
	for i := 0; i < size; i++ {
		go func() {
			for task := range p.tasks {
				task()
			}
		}()
	}
	return p, nil
}

func (p *Pool) Submit(task func()) error {
	p.tasks <- task
	return nil
}

type PoolWithFunc struct {
	pool *Pool
	f    func(any)
}

func NewPoolWithFunc(size int, pf func(any), options ...Option) (*PoolWithFunc, error) {
	p, err := NewPool(size, options...)
	return &PoolWithFunc{p, pf}, err
}

func (p *PoolWithFunc) Invoke(arg any) error {
	p.pool.tasks <- func() { p.f(arg) }
	return nil
}
