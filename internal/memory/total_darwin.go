package memory

import "golang.org/x/sys/unix"

// total returns the memory of the machine in bytes, or 0 if unknown.
func total() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}
