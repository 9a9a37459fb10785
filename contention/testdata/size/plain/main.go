// Plain is a program with one sync.Mutex that prints with fmt.
package main

import (
	"fmt"
	"sync"
	"time"
)

var mu sync.Mutex

func main() {
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
