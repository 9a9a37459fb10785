//go:build unix

package usage

import (
	"os"
	"syscall"

	"github.com/bottleneck-go/bottleneck/speedup"
)

// addRusage adds the counts of getrusage.
func addRusage(c speedup.Counts, state *os.ProcessState) {
	if u, ok := state.SysUsage().(*syscall.Rusage); ok {
		c["page-faults"] = float64(u.Minflt) + float64(u.Majflt)
		c["voluntary-switches"], c["involuntary-switches"] = float64(u.Nvcsw), float64(u.Nivcsw)
	}
}
