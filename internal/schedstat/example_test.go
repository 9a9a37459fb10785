package schedstat_test

import (
	"fmt"
	"os"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/schedstat"
)

// If other programs took more than 3 % of the time, the measurement is repeated, a few times.
func ExampleWatch() {
	for range 5 {
		began := time.Now()
		stop := schedstat.Watch(os.Getpid())
		measured()
		lost, known := stop()
		if !known || lost.Lost() < time.Since(began)*3/100 {
			break // or the system does not report it
		}
		fmt.Println("disturbed")
	}
}

func measured() {}
