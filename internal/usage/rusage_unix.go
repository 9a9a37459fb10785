//go:build unix

package usage

import (
	"os"
	"syscall"
)

// addRusage adds the counts of getrusage.
func addRusage(c map[string]float64, state *os.ProcessState) {
	if u, ok := state.SysUsage().(*syscall.Rusage); ok {
		c["page-faults"] = float64(u.Minflt) + float64(u.Majflt)
		c["voluntary-switches"], c["involuntary-switches"] = float64(u.Nvcsw), float64(u.Nivcsw)
	}
}
