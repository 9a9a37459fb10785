// Package other submits tasks, too.
package other

import (
	"sync"
	"time"

	"github.com/panjf2000/ants/v2"
)

// Submit submits a task to a pool.
func Submit(p *ants.Pool, wg *sync.WaitGroup) { p.Submit(func() { wg.Done() }) }

// Contend waits for a lock.
func Contend(wg *sync.WaitGroup) {
	var mu sync.Mutex
	mu.Lock()
	wg.Go(func() {
		mu.Lock()
		mu.Unlock()
	})
	time.Sleep(20 * time.Millisecond)
	mu.Unlock()
}
