// Package tunny has the methods of the module of that name.
package tunny

type Pool struct {
	in, out chan interface{}
}

func NewFunc(n int, f func(interface{}) interface{}) *Pool {
	p := &Pool{make(chan interface{}), make(chan interface{})}
	for i := 0; i < n; i++ {
		go func() {
			for payload := range p.in {
				p.out <- f(payload)
			}
		}()
	}
	return p
}

func (p *Pool) Process(payload interface{}) interface{} {
	p.in <- payload
	return <-p.out
}
