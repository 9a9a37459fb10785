package cycles

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

var queryThreadCycleTime = windows.NewLazySystemDLL("kernel32.dll").NewProc("QueryThreadCycleTime")

// threadTime returns the calling thread's execution time in ticks. Windows counts the TSC while a
// thread runs; if it does not, GetThreadTimes is used, in steps of 15.6 ms.
func (c *Clock) threadTime(*Thread) int64 {
	thread := windows.CurrentThread()
	if queryThreadCycleTime.Find() == nil && haveTSC {
		var count uint64
		if ok, _, _ := queryThreadCycleTime.Call(uintptr(thread), uintptr(unsafe.Pointer(&count))); ok != 0 {
			return int64(count)
		}
	}
	var created, exited, kernel, user windows.Filetime
	if getThreadTimes(thread, &created, &exited, &kernel, &user) != nil {
		return 0
	}
	hundreds := func(f windows.Filetime) int64 { return int64(f.HighDateTime)<<32 | int64(f.LowDateTime) }
	return c.base.FromNS(100 * (hundreds(kernel) + hundreds(user)))
}

var procGetThreadTimes = windows.NewLazySystemDLL("kernel32.dll").NewProc("GetThreadTimes")

func getThreadTimes(thread windows.Handle, created, exited, kernel, user *windows.Filetime) error {
	ok, _, err := procGetThreadTimes.Call(uintptr(thread), uintptr(unsafe.Pointer(created)),
		uintptr(unsafe.Pointer(exited)), uintptr(unsafe.Pointer(kernel)), uintptr(unsafe.Pointer(user)))
	if ok == 0 {
		return err
	}
	return nil
}

const threadClockName = "QueryThreadCycleTime or GetThreadTimes"
