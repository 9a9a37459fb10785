package perfevent

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

const defaultRing = 2 << 20

// mapRing maps the ring of an event with the given size, or a smaller one if the limits on locked
// memory require it.
func mapRing(fd, size int) (*ring, error) {
	page := unix.Getpagesize()
	for {
		b, err := unix.Mmap(fd, 0, page+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			return newRing(b, page), nil
		}
		if size /= 2; size < page || !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOMEM) {
			return nil, fmt.Errorf("perfevent: map a ring: %w", err)
		}
	}
}

func (r *ring) unmap() error { return unix.Munmap(r.page) }

// online returns the processors that are online.
func online() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, err
	}
	cpus, err := onlineList()
	if err != nil { // without sysfs: the processors that this process may use
		for i := range len(set) * 64 {
			if set.IsSet(i) {
				cpus = append(cpus, i)
			}
		}
	}
	slices.Sort(cpus)
	return cpus, nil
}

// openEvent opens one event of a thread, on one processor or on any (cpu −1).
func openEvent(attr *unix.PerfEventAttr, tid, cpu, group int) (int, error) {
	attr.Size = uint32(unsafe.Sizeof(*attr))
	return unix.PerfEventOpen(attr, tid, cpu, group, unix.PERF_FLAG_FD_CLOEXEC)
}

// eventID returns the number that identifies an event in records.
func eventID(fd int) (id uint64, err error) {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_ID, uintptr(unsafe.Pointer(&id))); errno != 0 {
		return 0, fmt.Errorf("perfevent: number of an event: %w", errno)
	}
	return id, nil
}
