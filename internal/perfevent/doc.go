// Package perfevent is a thin layer over Linux's perf_event_open: it opens one
// counting event for one thread, reads it with read(2) or, where the kernel
// permits, with RDPMC in user mode, and finds the dynamic event sources that
// the kernel lists in sysfs (such as msr/tsc).
//
// It does not sample and does not multiplex: an event that had to share its
// counter with others shows Running < Enabled in its [Count], and the caller decides.
//
// That an event opens does not mean that it counts: virtual machines accept
// events that stay at zero. Callers probe by counting, see package
// github.com/bottleneck-go/bottleneck/internal/cycles.
//
// Costs (2-core virtual machine, Linux 6.18): opening and closing 2.4 µs, Read
// 0.34 µs, ReadUser 25–80 ns where the hardware permits it (not measured here:
// that machine has no hardware counters).
//
// On other systems than Linux everything fails with [errors.ErrUnsupported].
package perfevent
