package monotime

import (
	"cmp"
	"math/bits"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Source is what is read.
const Source = "QueryPerformanceCounter"

var (
	kernel32  = windows.NewLazySystemDLL("kernel32.dll")
	counter   = kernel32.NewProc("QueryPerformanceCounter")
	frequency = kernel32.NewProc("QueryPerformanceFrequency")
)

// perSecond is how often the performance counter counts in a second. Every Windows that Go runs on
// has one.
var perSecond = sync.OnceValue(func() uint64 { return cmp.Or(query(frequency), 1e7) })

func query(p *windows.LazyProc) uint64 {
	var n int64
	syscall.SyscallN(p.Addr(), uintptr(unsafe.Pointer(&n)))
	return uint64(n)
}

// Now returns nanoseconds since a moment in the past that is the same in the whole process; always
// positive. It is real time in a bubble of testing/synctest, too.
func Now() int64 {
	hi, lo := bits.Mul64(query(counter), 1e9)
	ns, _ := bits.Div64(hi, lo, perSecond())
	return int64(ns)
}

// Time returns the time of day of a reading, which is known to a step of package time.
func Time(ns int64) time.Time { return time.Now().Add(time.Duration(ns - Now())) }
