package perfevent

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Where the reasons are found; tests point them elsewhere.
var (
	paranoidFile = "/proc/sys/kernel/perf_event_paranoid"
	statusFile   = "/proc/self/status"
)

// Reason says in a few words why the system refused an event, and what could be done about it.
func Reason(spec Spec, err error) string {
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return denied(err)
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.EOPNOTSUPP):
		if spec.Hardware() {
			return "the machine has no performance monitoring unit (most virtual machines have none), or one that does not count this"
		}
		return "the kernel has no such event"
	case errors.Is(err, os.ErrNotExist):
		return "the system lists no such event"
	case errors.Is(err, unix.ENOSYS):
		return "this kernel has no perf_event_open"
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return "too many open files: an event needs one for each thread and processor (see ulimit -n)"
	case errors.Is(err, unix.EBUSY):
		return "another program uses the counters"
	}
	return err.Error()
}

// denied tells a seccomp filter from a lack of permission: both answer EPERM.
func denied(err error) string {
	level := "unknown"
	if b, e := os.ReadFile(paranoidFile); e == nil {
		level = strings.TrimSpace(string(b))
	}
	if b, e := os.ReadFile(statusFile); e == nil && errors.Is(err, unix.EPERM) && strings.Contains(string(b), "\nSeccomp:\t2") {
		return fmt.Sprintf("a seccomp filter, such as a container's default one, forbids perf_event_open (kernel.perf_event_paranoid is %s)", level)
	}
	return fmt.Sprintf("not permitted: kernel.perf_event_paranoid is %s; lower it, or grant CAP_PERFMON", level)
}
