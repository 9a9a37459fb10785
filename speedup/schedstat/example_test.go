package schedstat_test

import (
	"fmt"
	"os"
	"time"

	"github.com/bottleneck-go/bottleneck/speedup/schedstat"
)

// A measurement that other programs took more than 3 % of the time from is made again, a few times.
func ExampleWatch() {
	for range 5 {
		began := time.Now()
		m := schedstat.Watch(os.Getpid())
		measured()
		lost, known := m.Stop()
		if !known || lost.Lost() < time.Since(began)*3/100 {
			break // or the system does not tell
		}
		fmt.Println("disturbed")
	}
}

func measured() {}
