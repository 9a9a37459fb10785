package proctime

import (
	"time"

	"golang.org/x/sys/windows"
)

// Self returns the processor time of this process so far, in user and in kernel mode.
func Self() time.Duration {
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user) != nil {
		return 0
	}
	hundreds := func(f windows.Filetime) int64 { return int64(f.HighDateTime)<<32 | int64(f.LowDateTime) }
	return time.Duration(100 * (hundreds(kernel) + hundreds(user)))
}

// Switches returns zeros: this system does not count the context switches of a process.
func Switches() (voluntary, involuntary uint64) { return 0, 0 }
