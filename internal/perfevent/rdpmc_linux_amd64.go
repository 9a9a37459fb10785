package perfevent

import "unsafe"

// readPage reads a counter in user mode as linux/perf_event.h specifies for struct
// perf_event_mmap_page: repeat until the sequence lock did not change
//
//	seq = page.lock
//	if !cap_user_rdpmc or page.index == 0: the event is not on a counter
//	value = page.offset + sign-extended(rdpmc(page.index-1), page.pmc_width)
//
// It is entirely in assembly, so that the scheduler cannot preempt the goroutine between reading
// the index and reading that counter.
//
//go:noescape
func readPage(page unsafe.Pointer) (value uint64, ok bool)
