package perfevent

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReason: each refusal states what can be done about it.
func TestReason(t *testing.T) {
	oldParanoid, oldStatus := paranoidFile, statusFile
	defer func() { paranoidFile, statusFile = oldParanoid, oldStatus }()
	paranoidFile, statusFile = writeFile(t, "3\n"), writeFile(t, "Name:\tx\nSeccomp:\t0\n")
	cycles, faults := mustName(t, "cycles"), mustName(t, "minor-faults")
	because := func(err error) error { return fmt.Errorf("perfevent: open x: %w", err) }
	contains(t, Reason(cycles, because(unix.EACCES)), "perf_event_paranoid is 3", "CAP_PERFMON")
	contains(t, Reason(cycles, because(unix.EPERM)), "perf_event_paranoid is 3", "CAP_PERFMON")
	contains(t, Reason(cycles, because(unix.ENOENT)), "no performance monitoring unit")
	contains(t, Reason(faults, because(unix.ENOENT)), "kernel has no such")
	contains(t, Reason(faults, because(unix.EMFILE)), "ulimit")
	contains(t, Reason(faults, because(unix.ENOSYS)), "no perf_event_open")
	statusFile = writeFile(t, "Name:\tx\nSeccomp:\t2\n")
	contains(t, Reason(faults, because(unix.EPERM)), "seccomp")
	contains(t, Reason(faults, because(unix.EACCES)), "perf_event_paranoid is 3")
}
