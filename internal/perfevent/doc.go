// Package perfevent is a thin layer over Linux's perf_event_open. It opens one counting event for
// one thread and reads it with read(2) or, where the kernel permits it, with RDPMC in user mode. It
// also finds the dynamic event sources that the kernel lists in sysfs (such as msr/tsc).
//
// An [Event] only counts. A [Sampler] records events of all threads of a process, including threads
// created later: when they get and lose a processor, each occurrence of rare events such as page
// faults, and readings of groups of counters. (ring.go takes what the kernel writes, record.go
// parses it.)
//
// Counts are not scaled. An event that shared its counter with others has Running < Enabled in its
// [Count], and the caller decides what to do.
//
// An event that opens does not necessarily count: virtual machines accept events that stay at zero.
// Callers must probe by counting; see package github.com/bottleneck-go/bottleneck/internal/cycles.
//
// A Sampler takes 1.2 µs per thread switch plus 0.4 µs per event of its Hits (BenchmarkSwitch), a
// Read 0.34 µs.
//
// On systems other than Linux, everything fails with [errors.ErrUnsupported].
package perfevent
