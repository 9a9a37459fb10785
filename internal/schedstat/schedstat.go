// Package schedstat measures on Linux how long the threads of a process were ready but waited for a
// core.
//
// An execution trace shows a goroutine as running even while the operating system has given the
// core to another program. The kernel counts that time for each thread, in
// /proc/PID/task/TID/schedstat: time on a core, time in the run queue (the delay), and time slices.
// A thread also waits for other threads of its own process: a thread that was just woken often
// waits behind the one that woke it, even on an idle machine. So the processor time of other
// processes, from /proc/stat, bounds what they can have taken from the process ([Times.Lost]). A
// run that lost more than a few percent of its wall time was disturbed: it measures the machine,
// not the program.
//
// A sample of a process with ten threads takes about 0.1 ms. [Watch] samples fifty times a second,
// because a thread's counters disappear when it exits. The last moments of a thread before its exit
// are therefore lost.
package schedstat

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/background"
)

// Times are what the kernel counted, summed over threads.
type Times struct {
	Running time.Duration // on a core
	Delay   time.Duration // ready, but waiting for a core
	// Others is the processor time of everything else on the machine during that time,
	// including time stolen by a hypervisor, in steps of 10 ms at best. It is −1 if the kernel
	// does not report it.
	Others time.Duration
}

// Lost returns the most that others can have taken from the process: the delay, but no more than
// the time for which they used the processors, if known.
func (t Times) Lost() time.Duration {
	if t.Others < 0 {
		return t.Delay
	}
	return min(t.Delay, t.Others)
}

// interval is the time between two samples.
const interval = 20 * time.Millisecond

// procRoot is where procfs is mounted; tests replace it.
var procRoot = "/proc"

// meter measures one or more processes until it is stopped. It is safe for concurrent use.
type meter struct {
	mu    sync.Mutex
	pids  func() []int
	first map[thread]Times // initial values of the threads
	last  map[thread]Times
	// busy is that of [Machine] at the first and the last sample that found the processes;
	// 0 if unknown.
	busy [2]time.Duration
	quit chan struct{}
	done chan struct{}
}

type thread struct{ pid, tid int }

// Read returns what the threads of a process did since each began, or false if the kernel does not
// report it. Others is unknown.
func Read(pid int) (Times, bool) {
	m := newMeter(func() []int { return []int{pid} })
	sum := Times{Others: -1}
	for _, x := range m.look() {
		sum.Running += x.Running
		sum.Delay += x.Delay
	}
	return sum, len(m.last) > 0
}

// Watch starts measuring a process. Earlier activity of its threads is not counted. The returned
// function ends the measurement and returns its counts, or false if the kernel does not report
// them. A second call returns the same.
func Watch(pid int) (stop func() (Times, bool)) {
	m := newMeter(func() []int { return []int{pid} })
	for t, x := range m.look() {
		m.first[t] = x
	}
	background.Go(m.loop)
	return sync.OnceValues(m.stop)
}

// WatchTree is [Watch] for a process and its descendants whose command (the first 15 bytes of the
// executable's name, as kept by the kernel) is accepted. Everything that they did counts.
func WatchTree(root int, accept func(command string) bool) (stop func() (Times, bool)) {
	m := newMeter(func() []int { return descendants(root, accept) })
	background.Go(m.loop)
	return sync.OnceValues(m.stop)
}

func newMeter(pids func() []int) *meter {
	return &meter{pids: pids, first: map[thread]Times{}, last: map[thread]Times{}, quit: make(chan struct{}), done: make(chan struct{})}
}

func (m *meter) loop() {
	defer close(m.done)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.look()
		case <-m.quit:
			return
		}
	}
}

func (m *meter) stop() (Times, bool) {
	close(m.quit)
	<-m.done
	m.look()
	sum := Times{Others: -1}
	for t, x := range m.last {
		sum.Running += x.Running - m.first[t].Running
		sum.Delay += x.Delay - m.first[t].Delay
	}
	if m.busy[0] > 0 {
		sum.Others = max(0, m.busy[1]-m.busy[0]-sum.Running)
	}
	return sum, len(m.last) > 0
}

// look reads the counters of all threads.
func (m *meter) look() map[thread]Times {
	m.mu.Lock()
	defer m.mu.Unlock()
	pids := m.pids()
	if len(pids) > 0 {
		busy, _ := Machine()
		m.busy = [2]time.Duration{cmp.Or(m.busy[0], busy), cmp.Or(busy, m.busy[1])}
	}
	for _, pid := range pids {
		tasks, _ := os.ReadDir(filepath.Join(procRoot, strconv.Itoa(pid), "task"))
		for _, task := range tasks {
			tid, err := strconv.Atoi(task.Name())
			if err != nil {
				continue
			}
			b, err := os.ReadFile(filepath.Join(procRoot, strconv.Itoa(pid), "task", task.Name(), "schedstat"))
			if err != nil {
				continue // it has exited
			}
			if t, ok := parseThread(b); ok {
				m.last[thread{pid, tid}] = t
			}
		}
	}
	return m.last
}

// parseThread reads "running delay slices", in nanoseconds.
func parseThread(b []byte) (Times, bool) {
	var t Times
	n, _ := fmt.Sscanf(string(b), "%d %d", &t.Running, &t.Delay)
	return t, n == 2 && t.Running >= 0 && t.Delay >= 0
}

// descendants returns the accepted processes from root on. The kernel's lists of children make that
// cheap. Reading the state of all processes fifty times a second would disturb the measurement.
func descendants(root int, accept func(string) bool) (out []int) {
	next := []int{root}
	for seen := 0; len(next) > 0 && seen < 1000; seen++ {
		pid := next[0]
		next = next[1:]
		dir := filepath.Join(procRoot, strconv.Itoa(pid))
		b, err := os.ReadFile(filepath.Join(dir, "comm"))
		if err != nil {
			continue // it has exited
		}
		if accept(string(bytes.TrimSuffix(b, []byte("\n")))) {
			out = append(out, pid)
		}
		tasks, _ := os.ReadDir(filepath.Join(dir, "task"))
		for _, task := range tasks {
			b, _ := os.ReadFile(filepath.Join(dir, "task", task.Name(), "children"))
			for _, f := range bytes.Fields(b) {
				if child, err := strconv.Atoi(string(f)); err == nil {
					next = append(next, child)
				}
			}
		}
	}
	return out
}

// tick is the unit of /proc/stat. USER_HZ is 100 on all architectures that Go supports, except one
// that Go no longer runs on.
const tick = 10 * time.Millisecond

// Machine returns the processor time that everything on the machine has used so far, including time
// stolen by a hypervisor, in steps of 10 ms at best, and the number of its processors. Both are 0 if
// the system does not count that.
func Machine() (busy time.Duration, processors int) {
	b, _ := os.ReadFile(filepath.Join(procRoot, "stat"))
	busy, ok := parseMachine(b)
	if !ok || busy == 0 { // some sandboxes have the file, without counts
		return 0, 0
	}
	return busy, bytes.Count(b, []byte("\ncpu"))
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
