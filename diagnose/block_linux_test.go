package diagnose_test

import "syscall"

// block makes a system call that takes 2 ms.
func block() {
	t := syscall.NsecToTimespec(2_000_000)
	syscall.Nanosleep(&t, nil)
}
