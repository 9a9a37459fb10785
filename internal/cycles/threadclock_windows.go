package cycles

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

var queryThreadCycleTime = windows.NewLazySystemDLL("kernel32.dll").NewProc("QueryThreadCycleTime")

// threadTime returns the calling thread's execution time in ticks: Windows counts the TSC while a
// thread runs. It returns 0 without a TSC of constant rate.
func (c *Clock) threadTime(*Thread) int64 {
	var count uint64
	if haveTSC {
		queryThreadCycleTime.Call(uintptr(windows.CurrentThread()), uintptr(unsafe.Pointer(&count)))
	}
	return int64(count)
}

const threadClockName = "QueryThreadCycleTime"
