package cycles

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// An exiting thread ends its registration. Later threads, perhaps at the same address, must be
// distinguishable.
func TestThreadsExit(t *testing.T) {
	c := Default()
	if c.Info().Accuracy == UpperBound {
		t.Skip("no thread clock")
	}
	// If the thread was disturbed while it spun, a few may be wrong: the hypervisor may take
	// the processor away between two readings.
	wrong, disturbedWrong := 0, 0
	for range 200 {
		done := make(chan bool)
		go func() {
			defer close(done)
			runtime.LockOSThread() // and never unlocks: the thread exits with the goroutine
			preempted := preemptions()
			before := threadNS()
			from := c.Start()
			kernel := threadNS()
			tr := &truth{base: c.base}
			tr.spin(20 * time.Microsecond)
			time.Sleep(200 * time.Microsecond)
			tr.spin(20 * time.Microsecond)
			// The kernel charges time stolen by the hypervisor to the thread that runs
			// when it notices.
			ran := c.base.FromNS(threadNS() - kernel)
			executed := min(tr.lo, ran)
			to := c.Stop(from.Thread)
			most := c.base.FromNS(threadNS() - before) // with the readings, which may be slow system calls
			cycles, wall, ok := c.elapsed(&from, &to)
			if !ok || cycles < executed*9/10 || wall < tr.lo+c.base.FromNS(200_000) {
				disturbed := tr.hi > tr.lo || preemptions() != preempted
				if disturbed {
					disturbedWrong++
				} else {
					wrong++
				}
				t.Logf("on a fresh thread: %d cycles of %d, ok %v, disturbed %v", cycles, executed, ok, disturbed)
			}
			// The scheduler may use part of the sleep to find that there is no other
			// work for the thread.
			if cycles > max(wall-c.base.FromNS(100_000), most+c.base.FromNS(20_000)) {
				t.Errorf("a sleep of 200 µs counted: %d cycles in %d ticks; the system counts %d", cycles, wall, most)
			}
		}()
		<-done
	}
	if wrong > 0 || disturbedWrong > 10 {
		t.Errorf("%d of 200 fresh threads were measured wrongly, and %d that were disturbed", wrong, disturbedWrong)
	}
}

// preemptions returns how often the calling thread was preempted.
func preemptions() int64 {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &usage) != nil {
		return 0
	}
	return int64(usage.Nivcsw)
}

// The memory of exited threads is reused: the registry grows with the number of live threads, not
// of all threads.
func TestDeadThreadsAreReused(t *testing.T) {
	if libcThreads {
		t.Skip("dead threads of a C library are found only by asking the system for each")
	}
	before, highest := threads.sweepAt, 0
	for range 3 * before {
		done := make(chan bool)
		go func() {
			defer close(done)
			runtime.LockOSThread()
			highest = max(highest, threads.current().Index)
		}()
		<-done
	}
	if highest >= before {
		t.Errorf("%d threads, one after the other, took indexes up to %d", 3*before, highest)
	}
}

// The kernel zeroes a thread's life when it exits.
func TestKernelZeroesLifeOfExitedThread(t *testing.T) {
	if libcThreads {
		t.Skip("a C library joins its threads by that mechanism")
	}
	found := make(chan *Thread)
	go func() {
		runtime.LockOSThread()
		found <- threads.current()
	}()
	th := <-found
	for end := time.Now().Add(10 * time.Second); th.alive(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the thread exited but counts as alive")
		}
	}
}

// A reused identity of an exited thread is another thread.
func TestReusedIdentityIsAnotherThread(t *testing.T) {
	done := make(chan bool)
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread exits at the end: its entries are invalid
		first := threads.current()
		atomic.StoreUint32(&first.area.life, 0) // as the kernel does
		second := threads.current()
		if second == first || second.area == first.area || !second.alive() {
			t.Error("a new thread got the dead one's entry")
		}
		if third := threads.current(); third != second {
			t.Error("the new thread's entry is not found")
		}
	}()
	<-done
}

// An exited thread stays dead when another one uses its area: a worker that kept a reference must
// not take the other's marker for its own.
func TestExitedThreadStaysDead(t *testing.T) {
	tab := newTable()
	end := make(chan bool)
	defer close(end)
	enter := func(id uintptr) *Thread {
		entered := make(chan *Thread)
		go func() {
			runtime.LockOSThread()                              // the thread exits at the end: its entries are invalid
			atomic.StoreUint32(&threads.current().area.life, 0) // the kernel will not: it has another area
			entered <- tab.register(id)
			<-end
		}()
		return <-entered
	}
	first := enter(1)
	atomic.StoreUint32(&first.area.life, 0) // as the kernel does
	tab.bury(first)
	second := enter(2)
	if second.area != first.area {
		t.Fatal("the dead thread's area was not used again")
	}
	if first.alive() || !second.alive() {
		t.Errorf("the dead thread is alive: %v, the living one: %v", first.alive(), second.alive())
	}
}

// If nothing prevents it, the rseq clock must be available. Otherwise these tests would be about
// another clock.
func TestRseqIsAvailable(t *testing.T) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Skip(err)
	}
	var major, minor int
	release := unix.ByteSliceToString(name.Release[:])
	fmt.Sscanf(release, "%d.%d", &major, &minor)
	switch version := 1000*major + minor; {
	case !haveTSC:
		t.Skip("no counter of constant rate")
	case libcThreads && runtime.GOARCH != "amd64":
		t.Skip("the area of a C library is used on amd64 only")
	case libcThreads && !glibcRegisters():
		t.Skip("no glibc 2.35 or newer")
	case version < 4018 || version >= 6019:
		t.Skip("Linux ", release)
	}
	if _, _, errno := unix.RawSyscall6(unix.SYS_RSEQ, 0, 0, 0, 0, 0, 0); errno != unix.EINVAL {
		t.Skip("rseq is not granted here: ", errno)
	}
	if _, err := Open(RseqClock); err != nil {
		t.Error(err)
	}
}

// glibcRegisters reports whether the C library has registered an area.
func glibcRegisters() bool {
	out, _ := exec.Command("getconf", "GNU_LIBC_VERSION").Output()
	var major, minor int
	fmt.Sscanf(string(out), "glibc %d.%d", &major, &minor)
	return major > 2 || major == 2 && minor >= 35
}

// Starting processes copies or shares memory. Neither may disturb the clock.
func TestForkExec(t *testing.T) {
	c := Default()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range 5 {
		from := c.Start()
		tr := &truth{base: c.base}
		if err := exec.Command("/bin/true").Run(); err != nil {
			t.Skip(err)
		}
		tr.spin(100 * time.Microsecond)
		to := c.Stop(from.Thread)
		cycles, wall, ok := c.elapsed(&from, &to)
		if !ok || cycles < tr.lo || cycles > wall {
			t.Errorf("around a child process: %d cycles, spun %d, wall %d, ok %v", cycles, tr.lo, wall, ok)
		}
	}
}

// The marker detects sleeping. It must also detect preemption and be set again.
func TestMarker(t *testing.T) {
	c, err := Open(RseqClock)
	if err != nil {
		t.Skip(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	a := c.Start().Thread.area
	for range 100 {
		before := Switches()
		time.Sleep(50 * time.Microsecond)
		if a.standing() && Switches() != before { // otherwise it ended before the thread had left its processor
			t.Fatal("the marker stands after a sleep")
		}
		if c.Stop(nil); !a.standing() {
			c.Stop(nil) // disturbed 32 times in a row?
		}
	}
	base := a.offset
	var moved bool
	for range 100 {
		time.Sleep(50 * time.Microsecond)
		c.Stop(nil)
		moved = moved || a.offset != base
	}
	if !moved {
		t.Error("sleeping never moved the offset between thread time and TSC")
	}
}

// A glance never asks for the time of a thread that has slept, but for one in mostGlances. Its count
// is a lower bound. So a measurement that it begins is exact if the thread stayed on its processor,
// and otherwise at least what the thread's clock shows.
func TestGlance(t *testing.T) {
	c, err := Open(RseqClock)
	if err != nil {
		t.Skip(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	limit, anchors := c.base.FromNS(100_000), 0
	slack := c.base.FromNS(2_000)
	for i := range 100 {
		sleepThread(time.Microsecond)
		start := c.Glance()
		a := start.Thread.area
		if a.glances == 0 {
			anchors++
		}
		before := c.base.FromNS(a.threadClock())
		if start.CPU > before+slack {
			t.Errorf("a glance shows %d cycles, which is %d too many", start.CPU, start.CPU-before)
		}
		if i%10 != 0 {
			if spinUntil(start.Wall + limit/50); c.Brief(&start, limit) && a.least < start.CPU+limit/50 && a.glances > 0 {
				t.Errorf("%d cycles are known after %d and a spin of %d", a.least, start.CPU, limit/50)
			}
			continue
		}
		for c.base.FromNS(a.threadClock()) < before+limit {
		}
		if c.Brief(&start, limit) {
			t.Errorf("%d ticks are brief", limit)
		}
		end := c.End(&start)
		if counted := min(end.CPU-start.CPU, end.Wall-start.Wall); !end.Stayed(&start) || counted < limit-slack {
			t.Errorf("%d cycles of %d executed; stayed: %v", counted, limit, end.Stayed(&start))
		}
	}
	if anchors > 100/mostGlances+10+5 { // after each long one the marker stands again
		t.Errorf("%d of 100 glances have asked the system", anchors)
	}
}

// The probe must be able to fail: a marker unknown to the kernel survives every sleep.
func TestProbeDetectsAMarkerThatSurvivesSleep(t *testing.T) {
	if libcThreads {
		t.Skip("the kernel has the area of the C library")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	a := newArea()
	a.state, a.kept = rseqRegistered, 1 // it is not
	if err := a.probeSleep(); err == nil || !strings.Contains(err.Error(), "left the marker") {
		t.Errorf("a marker that is never cleared passed: %v", err)
	}
}

// If the kernel does not zero the life of an exiting thread, a thread found dead counts as dead
// for everything that refers to it.
func TestThreadFoundDeadIsDeadForAll(t *testing.T) {
	const unused = 1 << 30
	tab := newTable()
	th := &Thread{id: unused, TID: unused, life: unused, area: &area{life: unused}}
	tab.all[unused] = th
	tab.entry(unused).Store(th)
	tab.sweep()
	if found := tab.all[unused]; found != nil || len(tab.free) != 1 {
		t.Fatalf("%d threads were found dead; still registered: %v", len(tab.free), found != nil)
	}
	if kept := tab.lately(unused); kept != nil && kept.alive() {
		t.Error("it seems to live: a thread that gets its number would share its area with the next one registered")
	}
}
