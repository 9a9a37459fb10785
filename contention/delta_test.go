package contention

import (
	"testing"
	"time"
)

// unlockHere and unlockThere have goroutines of which no call is shown.
//
//go:noinline
func unlockHere(m *Mutex) { go m.Unlock() }

//go:noinline
func unlockThere(m *Mutex) { go m.Unlock() }

// Rows that look alike do not mix up what is subtracted from them.
func TestSinceOfRowsThatLookAlike(t *testing.T) {
	collecting(t, Options{Exact: true})
	var m Mutex
	wait := func(unlock func(*Mutex), hold time.Duration) {
		done := make(chan bool)
		m.Lock()
		go func() { victim(&m); close(done) }()
		waitFor(t, "the victim", func() bool { return m.registered() == 1 })
		time.Sleep(hold)
		unlock(&m)
		<-done
	}
	settled := func() *Profile {
		waitFor(t, "the waits to be settled", func() bool { return Snapshot().InFlight == 0 })
		return Snapshot()
	}
	wait(unlockHere, 5*time.Millisecond)
	wait(unlockThere, 0)
	a := settled()
	wait(unlockThere, 0)
	b := settled()
	checkConservation(t, a)
	checkConservation(t, b)
	d := b.Since(a)
	checkConservation(t, d)
	if len(d.Pairs) != 1 || d.Pairs[0].Contentions != 1 {
		t.Errorf("pairs %+v", d.Pairs)
	}
	sum := func(p *Profile) (blamed time.Duration) {
		for _, q := range p.Pairs {
			blamed += q.Blamed
		}
		return blamed
	}
	if sum(d) != sum(b)-sum(a) {
		t.Errorf("%v blamed, then %v, %v since", sum(a), sum(b), sum(d))
	}
}
