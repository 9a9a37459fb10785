package tracewaits

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
)

// Locks of the same code: what distinguishes them, and what does not.

// TestTraceSeveralLocks: 1 holds a lock, and 3 another one of the same code. 2 waits for the
// first, then 4 for the second, and 4 is woken earlier.
func TestTraceSeveralLocks(t *testing.T) {
	s := newScript(t, Options{})
	round := func(i int) {
		var b strings.Builder
		for _, l := range []string{"10 2 blocks mutex in L:f:10", "20 4 blocks mutex in L:f:10", "50 3 wakes 4 in U:f:12", "52 4 runs",
			"100 1 wakes 2 in U:f:13", "101 2 runs"} {
			at, rest, _ := strings.Cut(l, " ")
			fmt.Fprintf(&b, "%d %s\n", s.number(at)+int64(1000*i), rest)
		}
		s.play(short.Replace(b.String()))
	}
	for i := range 6 {
		round(i)
	}
	p := s.o.Profile()
	if len(p.Locks) != 1 || p.Locks[0].Name != contention.SeveralLocks || !strings.Contains(strings.Join(p.Warnings, " "), "several locks each") {
		t.Fatalf("%v %q", *p.Locks[0], p.Warnings)
	}
	before := profileText(p)
	round(6)
	s.play("9000 ends")
	p = s.o.Profile()
	checkConservation(t, p)
	// Now 2 waits for 90 µs because of 1, which released the lock in line 13, and of no other
	// goroutine.
	diff := func(line int) time.Duration {
		var d time.Duration
		for _, q := range p.Pairs {
			if q.Owner.Stack.Frames[0].Line == line {
				d += q.Blamed
			}
		}
		return d - blamedIn(before, line)
	}
	if a, b := diff(13), diff(12); a != 90*time.Microsecond || b != 30*time.Microsecond {
		t.Errorf("blamed %v on line 13, %v on line 12; want 90µs and 30µs", a, b)
	}
}

// TestTraceHoldsAtTheSameTime: 2 and 4 wait for 1 and 3, and then hold a lock at the same time, so
// there are two locks. 5 waits behind 2, and 6 behind 4.
func TestTraceHoldsAtTheSameTime(t *testing.T) {
	s := newScript(t, Options{Goroutines: true})
	for i := range 8 {
		for _, l := range []string{"10 2 blocks mutex in L:f:10", "11 4 blocks mutex in L:f:10", "20 1 wakes 2 in U:f:12", "20 2 runs",
			"30 3 wakes 4 in U:f:12", "30 4 runs", "40 5 blocks mutex in L:f:10", "41 6 blocks mutex in L:f:10",
			"200 2 wakes 5 in U:f:12", "200 5 runs", "300 4 wakes 6 in U:f:12", "300 6 runs"} {
			at, rest, _ := strings.Cut(l, " ")
			s.play(short.Replace(fmt.Sprintf("%d %s\n", s.number(at)+int64(1000*i), rest)))
		}
	}
	s.play("9000 ends")
	p := s.o.Profile()
	checkConservation(t, p)
	if len(p.Locks) != 1 || p.Locks[0].Name != contention.SeveralLocks {
		t.Errorf("%+v", *p.Locks[0])
	}
	found := false
	for _, q := range p.Pairs {
		if q.Waiter.Goroutine == 6 && q.Owner.Goroutine == 4 {
			found = true
			// At first, 4 seems to have held the lock only since 2 released it.
			if q.Blamed < 4*259*time.Microsecond || q.Longest != 259*time.Microsecond {
				t.Errorf("%v, at most %v", q.Blamed, q.Longest)
			}
		}
	}
	if !found {
		t.Errorf("6 does not wait for 4:\n%s", profileText(p))
	}
}

// blamedIn returns the blamed time of an owner in the text of a profile.
func blamedIn(text string, line int) (sum time.Duration) {
	for _, l := range strings.Split(text, "\n") {
		var us, n int64
		if _, err := fmt.Sscanf(strings.TrimSpace(l), fmt.Sprintf("main.f:%d: %%d of %%d", line), &us, &n); err == nil {
			sum += time.Duration(us) * time.Microsecond
		}
	}
	return sum
}

// TestTraceTwoWritersPending: only one writer of an RWMutex at a time waits for readers. The
// others wait for that writer.
func TestTraceTwoWritersPending(t *testing.T) {
	const before = `
		10 2 blocks rwmutex-writer in WL:w:10
		11 4 wakes 2 in RU:r:30
		12 2 runs`
	for script, several := range map[string]bool{`
		20 2 blocks rwmutex-writer in WL:w:10
		30 3 blocks rwmutex-writer in WL:w:10
		40 1 wakes 2 in RU:r:30
		41 2 runs
		50 4 wakes 3 in RU:r:30
		51 3 runs
		90 ends`: true, `
		20 2 blocks rwmutex-writer in WL:w:10
		40 1 wakes 2 in RU:r:30
		41 2 runs
		45 3 blocks rwmutex-writer in WL:w:10
		50 4 wakes 3 in RU:r:30
		51 3 runs
		90 ends`: false} {
		p := play(t, Options{}, reads.Replace(before+script))
		if got := p.Locks[0].Name == contention.SeveralLocks; len(p.Locks) != 1 || got != several {
			t.Errorf("%+v for%s", *p.Locks[0], script)
		}
	}
}

// TestTraceHeadOfQueue: a single lock may wake a late arrival first, if that one entered at the
// head of the queue: its wake-up had been futile, or it had taken the token of a waiter that was
// woken and did not run yet.
func TestTraceHeadOfQueue(t *testing.T) {
	for _, script := range []string{`
		10 2 blocks mutex in L:f:10
		12 5 blocks mutex in L:f:10
		15 1 wakes 5 in U:f:12
		20 4 blocks mutex in L:f:10
		25 5 runs
		50 3 wakes 4 in U:f:12
		52 4 runs
		100 1 wakes 2 in U:f:12
		101 2 runs`, `
		8 4 blocks mutex in L:f:10
		10 2 blocks mutex in L:f:10
		20 1 wakes 4 in U:f:12
		25 4 runs
		35 4 blocks mutex in L:f:10
		50 3 wakes 4 in U:f:12
		52 4 runs
		100 1 wakes 2 in U:f:12
		101 2 runs`} {
		s := newScript(t, Options{})
		for i := range 8 {
			for _, l := range strings.Split(strings.TrimSpace(short.Replace(script)), "\n") {
				at, rest, _ := strings.Cut(strings.TrimSpace(l), " ")
				s.play(fmt.Sprintf("%d %s\n", s.number(at)+int64(1000*i), rest))
			}
		}
		s.play("9000 ends")
		p := s.o.Profile()
		checkConservation(t, p)
		if len(p.Locks) != 1 || p.Locks[0].Name != "" || p.Locks[0].Waiters != 2 || p.Locks[0].Longest != 90*time.Microsecond {
			t.Errorf("%+v", *p.Locks[0])
		}
	}
}

// TestTraceDoubt: the first time that two goroutines hold what seems to be one lock, a waiter for
// the second one is not blamed on the first.
func TestTraceDoubt(t *testing.T) {
	p := play(t, Options{Goroutines: true}, short.Replace(`
		10 2 blocks mutex in L:f:10
		11 4 blocks mutex in L:f:10
		20 1 wakes 2 in U:f:12
		20 2 runs
		30 3 wakes 4 in U:f:12
		30 4 runs
		40 5 blocks mutex in L:f:10
		41 6 blocks mutex in L:f:10
		200 2 wakes 5 in U:f:12
		200 5 runs
		300 4 wakes 6 in U:f:12
		300 6 runs
		400 ends`))
	for _, q := range p.Pairs {
		if q.Waiter.Goroutine == 6 && (q.Owner.Goroutine != 4 || q.Blamed != 259*time.Microsecond) {
			t.Errorf("6 waits for %d: %v", q.Owner.Goroutine, q.Blamed)
		}
	}
	if name := p.Locks[0].Name; name != "" {
		t.Errorf("it is named %s after two holds", name)
	}
}
