package tracewaits

import (
	"fmt"
	"testing"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Data of a lock before a gap is not combined with data after it.
func TestGapSeparatesLocks(t *testing.T) {
	s := newScript(t, Options{})
	const n = 12 // goroutines; all but one queue
	next := 1
	handOver := func(from, times int) {
		for i := range times {
			at, a := from+100*i, next
			next = 1 + next%n
			s.play(fmt.Sprintf(`
				%d %d wakes %d in sync.(*Mutex).Unlock < main.f:12
				%d %[3]d runs
				%d %[2]d blocks mutex in sync.(*Mutex).Lock < main.f:10`, at, a, next, at+5, at+10))
		}
	}
	for g := 2; g <= n; g++ {
		s.play(fmt.Sprintf("%d %d blocks mutex in sync.(*Mutex).Lock < main.f:10", 10*g, g))
	}
	handOver(1000, 4)
	first := s.o.Cut(9_000_000)
	s.o.Gap(9_000_000, 9_500_000)
	handOver(10_000, 5*n)
	second := s.o.Cut(18_000_000)
	for i, p := range []*contention.Profile{first, second} {
		found := false
		for j := range p.Waits {
			w := &p.Waits[j]
			found = found || w.Kind == contention.MutexKind && w.Contentions == []int64{4, 5 * n}[i]
			if w.Waited != w.Blamed+w.HandOff+w.Unattributed {
				t.Errorf("profile %d: waited %v, but %v blamed, %v hand-off, %v unattributed", i, w.Waited, w.Blamed, w.HandOff, w.Unattributed)
			}
		}
		if !found {
			t.Errorf("profile %d: %+v", i, p.Waits)
		}
	}
}

// Messages of wrapped locks before a gap are dropped, so a pass with many gaps needs no more
// memory than its longest part.
func TestGapDropsMessages(t *testing.T) {
	s := newScript(t, Options{})
	for i := range 3 {
		at := 1000 * i
		for number := range 5 {
			s.play(fmt.Sprintf("%d 1 logs 1 x %[1]d 5 %d in main.f:13", at+number, 10*i+number))
		}
		if n := len(s.o.logs.exits); n != 5 || len(s.o.logs.ring) != n {
			t.Errorf("after %d gaps, %d exits are remembered, want 5", i, n)
		}
		s.o.Cut(timeline.Time(at+500) * 1000)
		s.o.Gap(timeline.Time(at+500)*1000, timeline.Time(at+1000)*1000)
	}
	if s.o.logs.bad > 0 {
		t.Errorf("%d messages are not understood", s.o.logs.bad)
	}
}
