package schedstat

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// tick is the unit of /proc/stat. USER_HZ is 100 on all architectures that Go supports, except one
// that Go no longer runs on.
const tick = 10 * time.Millisecond

// span is the busy time of the machine's processors, since some time in the past, at two instants.
type span struct {
	first, last time.Duration
	known       bool
}

func (s *span) look() {
	busy, _, ok := machine()
	if !ok {
		return
	}
	if !s.known {
		s.first, s.known = busy, true
	}
	s.last = busy
}

// Machine returns the processor time that everything on the machine has used so far, including time
// stolen by a hypervisor, in steps of 10 ms at best, and the number of its processors. It returns 0
// processors if the system does not count that.
func Machine() (busy time.Duration, processors int) {
	busy, processors, _ = machine()
	if busy == 0 {
		return 0, 0 // some sandboxes have the file, without counts
	}
	return busy, processors
}

func machine() (busy time.Duration, processors int, ok bool) {
	b, err := os.ReadFile(filepath.Join(procRoot, "stat"))
	if err != nil {
		return 0, 0, false
	}
	busy, ok = parseMachine(b)
	return busy, bytes.Count(b, []byte("\ncpu")), ok
}

// parseMachine sums the columns of the first line of /proc/stat in which a processor was not
// available to the program: "cpu user nice system idle iowait irq softirq steal guest guest_nice".
// Guest time is part of user and nice.
func parseMachine(b []byte) (time.Duration, bool) {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	f := bytes.Fields(line)
	if len(f) < 5 || string(f[0]) != "cpu" {
		return 0, false
	}
	const idle, iowait, guest = 4, 5, 9
	var sum time.Duration
	for i, x := range f[1:min(len(f), guest)] {
		n, err := strconv.ParseInt(string(x), 10, 64)
		if err != nil || n < 0 {
			return 0, false
		}
		if i+1 != idle && i+1 != iowait {
			sum += time.Duration(n) * tick
		}
	}
	return sum, true
}
