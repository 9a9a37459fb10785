// Wrapped is program plain with a contention.Mutex that records.
package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
)

var mu contention.Mutex

func main() {
	contention.Start(contention.Options{})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			mu.Lock()
			fmt.Printf("%s worker %d\n", time.Now().Format(time.TimeOnly), i)
			mu.Unlock()
		})
	}
	wg.Wait()
}
