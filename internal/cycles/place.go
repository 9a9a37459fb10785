package cycles

import "runtime"

// place is where a goroutine is at an instant.
type place struct {
	thread uintptr // identity; 0: not known without a system call
	turn   Turn
	tick   int64  // of the time-stamp counter; 0 where thread is
	marker uint64 // the word rseq_cs of the C library's area; 0 without one
}

// lockHere locks the calling goroutine to its thread for a reading and returns where it is, in the
// turn that it had before.
func lockHere() (p place, unlock func()) {
	locked := here().turn & turnLocked
	runtime.LockOSThread()
	p = here()
	p.turn = p.turn&^turnLocked | locked
	return p, runtime.UnlockOSThread
}
