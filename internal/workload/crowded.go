package workload

import (
	"fmt"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Crowded returns a warning if the process got clearly less processor time than the running time of
// its goroutines, or "". In an execution trace a goroutine runs even while its thread waits for a
// processor: on a crowded machine the graph is that of the goroutines, not of the processors.
func Crowded(cpu, running time.Duration) string {
	if cpu <= 0 || cpu >= running-running/20 {
		return ""
	}
	return fmt.Sprintf("The process got %s of processor time but its goroutines seem to have run for %s: "+
		"other programs used the processors during that time, and the boxes include the time for which goroutines waited for them.",
		format.Duration(cpu), format.Duration(running))
}
