package memory

import "golang.org/x/sys/unix"

// total returns the memory of the machine in bytes; 0 if it is not known.
func total() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}
