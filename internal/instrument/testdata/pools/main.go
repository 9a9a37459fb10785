// Pools submits tasks to pools that mark no task.
package main

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/Jeffail/tunny"
	"github.com/alitto/pond/v2"
	"github.com/panjf2000/ants/v2"
	"github.com/sourcegraph/conc/pool"
	"github.com/sourcegraph/conc/stream"

	"example.com/pools/other"
)

var wg sync.WaitGroup

func antsTask()                               { wg.Done() }
func antsCall(any)                            { wg.Done() }
func tunnyCall(v any) any                     { return v }
func pondTask()                               { wg.Done() }
func pondGrouped()                            { wg.Done() }
func pondErr() error                          { wg.Done(); return nil }
func concTask()                               {}
func concResult(context.Context) (int, error) { return 1, nil }
func concStreamed() stream.Callback           { return func() {} }

// requests makes requests to an http.Handler, with the tag serve.
var requests = func() {}

func main() {
	requests()
	a, _ := ants.NewPool(2)
	calls, _ := ants.NewPoolWithFunc(2, antsCall)
	t := tunny.NewFunc(2, tunnyCall)
	p := pond.NewPool(2)
	c, r, s := pool.New(), pool.ResultContextPool[int]{}, stream.Stream{}
	for i := range 10 {
		wg.Add(7)
		a.Submit(antsTask)
		calls.Invoke(i)
		other.Submit(a, &wg)
		if t.Process(i) != i {
			panic("another result")
		}
		p.Submit(pondTask).Wait()
		pond.Submit(pondTask).Wait()
		pond.NewGroup().Submit(pondGrouped).SubmitErr(pondErr)
		c.Go(concTask)
		r.Go(concResult)
		s.Go(concStreamed)
	}
	var mu sync.Mutex
	mu.Lock()
	wg.Go(func() {
		mu.Lock()
		mu.Unlock()
	})
	time.Sleep(20 * time.Millisecond)
	mu.Unlock()
	other.Contend(&wg)
	c.Wait()
	s.Wait()
	wg.Wait()
	if len(r.Wait()) != 10 {
		os.Exit(1)
	}
}
