package granularity

import (
	"time"

	"golang.org/x/sys/windows"
)

// processUsage returns the processor time that the process has used so far.
// Windows does not count a process's context switches.
func processUsage() usage {
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user) != nil {
		return usage{}
	}
	hundreds := func(f windows.Filetime) int64 { return int64(f.HighDateTime)<<32 | int64(f.LowDateTime) }
	return usage{known: true, cpu: time.Duration(100 * (hundreds(kernel) + hundreds(user)))}
}

// threadSwitches returns 0: this system has no counts for threads.
func threadSwitches() int64 { return 0 }
