package perfevent

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"golang.org/x/sys/unix"
)

// sampler records this process, or skips the test with the reason.
func sampler(t *testing.T, opt SamplerOptions) *Sampler {
	t.Helper()
	s, refused, err := NewSampler(opt)
	if err != nil {
		testenv.Missing(t, Reason(Spec{}, err))
	}
	t.Cleanup(func() { s.Close() })
	for _, r := range refused {
		t.Logf("%s: %s", r.Spec.Name, Reason(r.Spec, r.Err))
	}
	return s
}

func mustName(t testing.TB, name string) Spec {
	t.Helper()
	s, err := Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// touch makes the kernel create n pages, each with a minor fault.
func touch(t testing.TB, n int) {
	b, err := unix.Mmap(-1, 0, n*4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Error(err)
		return
	}
	unix.Madvise(b, unix.MADV_NOHUGEPAGE)
	for i := range n {
		b[i*4096] = 1
	}
	unix.Munmap(b)
}

// TestSamplerHits: the faults of each thread, one by one, of existing and of new threads.
func TestSamplerHits(t *testing.T) {
	s := sampler(t, SamplerOptions{Hits: []Spec{mustName(t, "minor-faults")}})
	if len(s.Hits()) != 1 {
		t.Skip("faults are refused")
	}
	const threads, pages = 5, 300
	tids := make(chan int, threads)
	for range threads {
		go func() {
			runtime.LockOSThread() // and never unlocks: the thread is new
			touch(t, pages)
			tids <- syscall.Gettid()
			time.Sleep(20 * time.Millisecond)
		}()
	}
	var want []int
	for range threads {
		want = append(want, <-tids)
	}
	s.Stop()
	faults, ins, outs, begun := map[int]int{}, map[int]int{}, map[int]int{}, 0
	s.Drain(func(r *Record) {
		switch r.Kind {
		case Hit:
			faults[r.Thread]++
		case SwitchIn:
			ins[r.Thread]++
		case SwitchOut, Preempted:
			outs[r.Thread]++
		case ThreadBegin:
			begun++
		case Lost, Broken:
			t.Errorf("%+v", r)
		}
	})
	all := 0
	for _, n := range faults {
		all += n
	}
	for _, tid := range want {
		if faults[tid] < pages || faults[tid] >= 2*pages { // the runtime has some, too
			t.Errorf("thread %d: %d faults of %d pages", tid, faults[tid], pages)
		}
		if d := ins[tid] - outs[tid]; d < -2 || d > 1 { // a processor after the other is recorded
			t.Errorf("thread %d came onto a processor %d times and left it %d times", tid, ins[tid], outs[tid])
		}
	}
	clock, hits, _, err := s.Totals()
	// Faults are counted shortly before they have a ring for records.
	if err != nil || hits[0].Value < uint64(all) || hits[0].Value > uint64(all+20) || clock.Value == 0 {
		t.Errorf("the kernel counted %+v, %+v, %v; %d records", hits, clock, err, all)
	}
}

var quotient = 1.0

// TestSamplerGroups: the readings of a thread sum to the counts of its events.
func TestSamplerGroups(t *testing.T) {
	specs := []Spec{mustName(t, "task-clock"), mustName(t, "minor-faults"), mustName(t, "cycles")}
	s := sampler(t, SamplerOptions{Group: specs})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	found := 0
	follow := func() {
		if err := s.Follow(func(int) { found++ }); err != nil {
			t.Fatal(err)
		}
	}
	follow()
	if len(s.Groups()) == 0 {
		t.Skip("groups are refused")
	}
	touch(t, 500)
	var ts unix.Timespec
	for from := int64(0); ts.Nano()-from < int64(30*time.Millisecond); unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) {
		if from == 0 {
			unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
			from = ts.Nano()
		}
		for range 10_000 { // without privileges there are no readings in kernel mode, in which the clock is read
			quotient /= 1.0000001
		}
	}
	time.Sleep(time.Millisecond)
	follow()
	s.Stop()
	readings, last := 0, uint64(0)
	self := syscall.Gettid()
	s.Drain(func(r *Record) {
		if r.Kind == Reading && r.Thread == self && r.Event == 0 {
			readings++
			if len(r.Values) != s.Extra()+len(s.Groups()[0]) {
				t.Fatalf("%d values", len(r.Values))
			}
			if v := r.Values[s.Extra()]; v < last {
				t.Errorf("the clock went back from %d to %d", last, v)
			} else {
				last = v
			}
		}
	})
	_, _, sums, err := s.Totals()
	if err != nil || found < 3 || readings < 10 || last < uint64(20*time.Millisecond) || sums[0].Value < last || sums[1].Value < 500 {
		t.Errorf("%d threads, %d readings of this one up to %d ns; sums %+v, %v", found, readings, last, sums, err)
	}
}
