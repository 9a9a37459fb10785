package tracewaits

import (
	"math/rand/v2"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// TestRecentPast compares the answers about the recent past of a goroutine, brief or not, with a
// list of its state at each nanosecond.
func TestRecentPast(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	states := []timeline.State{timeline.Running, timeline.Runnable, timeline.Waiting, timeline.Syscall, timeline.SyscallBlocked}
	for round := range testenv.Rounds(300) {
		brief := round%2 == 0
		p := newPast()
		p.room = &pastRoom{brief: brief}
		p.transition(&timeline.Transition{State: timeline.Unknown, To: timeline.Running, Start: 100, End: 100})
		var was []timeline.State // by nanosecond since 100
		state := timeline.Running
		for range 1 + rng.IntN(120) {
			to := states[rng.IntN(len(states))]
			start := p.end
			end := start + 1 + timeline.Time(rng.Int64N(6))
			tr := &timeline.Transition{State: state, To: to, Start: start, End: end}
			if p.transition(tr); state == timeline.Waiting {
				p.finish(tr, false)
			}
			for range end - start {
				was = append(was, state)
			}
			state = to
		}
		now := p.end
		at := func(t timeline.Time) timeline.State { return was[t-100] }
		if brief && len(p.segs) > 2*briefPast {
			t.Fatalf("%d segments of a brief past", len(p.segs))
		}
		since := now
		for since > 100 && active(at(since-1)) {
			since--
		}
		if got := p.activeSince(); got != since && (!brief || got != p.start(0)) {
			t.Fatalf("active since %d, want %d", got, since)
		}
		for from := p.start(0); from <= now; from++ {
			first, ready, ran := now, timeline.Time(0), timeline.Time(0)
			for u := now - 1; u >= from; u-- {
				if active(at(u)) {
					first = u
				}
				if at(u) == timeline.Runnable {
					ready++
				}
				if at(u).Runs() {
					ran++
				}
			}
			if got := p.firstActive(from); got != first {
				t.Fatalf("from %d to %d: first active at %d, want %d", from, now, got, first)
			}
			held := now - from - ready
			if got := p.heldFor(from, now); got != held {
				t.Fatalf("from %d to %d: held for %d, want %d", from, now, got, held)
			}
			if got := p.heldSince(now, held); p.heldFor(max(got, p.start(0)), now) != held || got < from {
				t.Fatalf("held since %d for %d, asked for %d", got, p.heldFor(got, now), held)
			}
			if got := p.ranSince(from, 1<<40); got != ran {
				t.Fatalf("from %d to %d: ran for %d, want %d", from, now, got, ran)
			}
		}
		if first := p.firstActive(p.start(0) - 1); brief && p.start(0) > p.first && first != p.start(0)-1 {
			t.Fatalf("first active at %d, which is unknown", first)
		}
	}
}
