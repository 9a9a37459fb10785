package memory

import (
	"syscall"
	"unsafe"
)

// total returns the memory of the machine in bytes, or 0 if unknown.
func total() int64 {
	var status struct {
		length, load                                                             uint32
		total, available, totalPage, availablePage, virtual, availableVirtual, x uint64
	}
	status.length = uint32(unsafe.Sizeof(status))
	if ok, _, _ := syscall.NewLazyDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx").Call(uintptr(unsafe.Pointer(&status))); ok == 0 {
		return 0
	}
	return int64(status.total)
}
