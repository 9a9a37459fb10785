package contention

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// startDelay returns a function that returns for how many seconds the threads of the process have
// been waiting to run since then, from /proc/self/task/*/schedstat.
func startDelay() (since func() float64) {
	before := runDelay()
	return func() float64 { return runDelay() - before }
}

func runDelay() (seconds float64) {
	files, _ := filepath.Glob("/proc/self/task/*/schedstat")
	for _, f := range files {
		b, _ := os.ReadFile(f)
		if fields := strings.Fields(string(b)); len(fields) > 1 {
			ns, _ := strconv.ParseInt(fields[1], 10, 64)
			seconds += float64(ns) / 1e9
		}
	}
	return seconds
}
