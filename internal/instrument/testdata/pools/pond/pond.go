// Package pond has the methods of the module of that name.
package pond

import "sync"

type Pool interface {
	Submit(task func()) Task
	Go(task func()) error
}

type Task interface{ Wait() error }

type TaskGroup interface {
	Submit(tasks ...func()) TaskGroup
	SubmitErr(tasks ...func() error) TaskGroup
}

type pool struct{ tasks chan func() }

type done chan error

func (d done) Wait() error { return <-d }

func (p *pool) Go(task func()) error {
	p.tasks <- task
	return nil
}

func (p *pool) Submit(task func()) Task {
	d := make(done, 1)
	p.Go(func() {
		task()
		d <- nil
	})
	return d
}

func NewPool(n int) Pool {
	p := &pool{make(chan func())}
	for i := 0; i < n; i++ {
		go func() {
			for task := range p.tasks {
				task()
			}
		}()
	}
	return p
}

var defaultPool = sync.OnceValue(func() Pool { return NewPool(1) })

func Submit(task func()) Task { return defaultPool().Submit(task) }

type taskGroup struct{ pool Pool }

func NewGroup() TaskGroup { return &taskGroup{defaultPool()} }

func (g *taskGroup) Submit(tasks ...func()) TaskGroup {
	for _, task := range tasks {
		g.pool.Submit(task)
	}
	return g
}

func (g *taskGroup) SubmitErr(tasks ...func() error) TaskGroup {
	for _, task := range tasks {
		g.pool.Submit(func() { task() })
	}
	return g
}
