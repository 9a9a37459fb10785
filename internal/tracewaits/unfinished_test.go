package tracewaits

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
)

// toldUnfinished formats the waits in progress at the end.
func toldUnfinished(p *contention.Profile) string {
	var b strings.Builder
	for _, u := range p.Unfinished {
		holder := "not known"
		if u.Owner.Group != "" {
			holder = fmt.Sprintf("%s for %d", party(u.Owner), us(u.Held))
		}
		fmt.Fprintf(&b, "%s %s: %d for %d, longest %d; %s\n", u.Kind, party(u.Waiter), u.Contentions, us(u.Waited), us(u.Longest), holder)
	}
	return b.String()
}

// TestWaitsInProgressAtTheEndHaveTheCurrentOwner: 2 waits for the lock at main.f:10, and has it
// from its wake-up until it releases it at main.f:20. Its next event shows the owner at the end,
// or leaves it unknown.
func TestWaitsInProgressAtTheEndHaveTheCurrentOwner(t *testing.T) {
	const learned = `
		10 2 blocks mutex in L:f:10
		20 1 wakes 2 in U:a:3
		21 2 runs
		30 4 blocks mutex in L:f:10
		41 2 blocks sleep in time.Sleep < main.f:15
		60 0 wakes 2
		61 2 runs
		70 2 wakes 4 in U:f:20
		71 4 runs
		72 3 blocks mutex in L:f:10
		73 4 blocks sleep in time.Sleep < main.f:15
		80 0 wakes 4
		81 4 runs
		85 4 wakes 3 in U:f:20
		86 3 runs
		90 1 blocks sleep in time.Sleep < main.a:2
		91 0 wakes 1
		92 1 runs
		`
	for _, tt := range []struct{ what, script, want string }{
		{"a holder that never waited and never let go is not in the trace", `
			100 1 blocks sleep in time.Sleep < main.holder:5
			100 2 blocks mutex in L:f:10
			110 3 blocks mutex in L:f:10
			500 ends`, `
			mutex main.f:10: 2 for 790, longest 400; not known
			sleep time.Sleep: 1 for 400, longest 400; not known`},
		{"seen between Lock and Unlock, though it did not wait", learned + `
			100 5 blocks mutex in L:f:10
			120 6 blocks sleep in time.Sleep < main.f:15
			500 ends`, `
			mutex main.f:10: 1 for 400, longest 400; time.Sleep for 380
			sleep time.Sleep: 1 for 380, longest 380; not known`},
		{"behind the Unlock, it holds nothing", learned + `
			100 5 blocks mutex in L:f:10
			120 6 blocks sleep in time.Sleep < main.f:25
			500 ends`, `
			mutex main.f:10: 1 for 400, longest 400; not known
			sleep time.Sleep: 1 for 380, longest 380; not known`},
		{"woken last, and behind Lock while another waits", `
			100 2 blocks mutex in L:f:10
			110 3 blocks mutex in L:f:10
			200 1 wakes 2 in U:a:3
			201 2 runs
			210 2 blocks chan-receive in runtime.chanrecv1 < main.f:12
			500 ends`, `
			mutex main.f:10: 1 for 390, longest 390; main.f:12 for 299
			chan-receive main.f:12: 1 for 290, longest 290; not known`},
		{"the other came after it was woken: it may have let go of the lock before", `
			100 2 blocks mutex in L:f:10
			200 1 wakes 2 in U:a:3
			201 2 runs
			210 3 blocks mutex in L:f:10
			230 2 blocks chan-receive in runtime.chanrecv1 < main.f:12
			500 ends`, `
			mutex main.f:10: 1 for 290, longest 290; not known
			chan-receive main.f:12: 1 for 270, longest 270; not known`},
		{"in Cond.Wait it does not have the lock", `
			100 2 blocks mutex in L:f:10
			110 3 blocks mutex in L:f:10
			200 1 wakes 2 in U:a:3
			201 2 runs
			210 2 blocks cond in sync.(*Cond).Wait < main.f:12
			500 ends`, `
			mutex main.f:10: 1 for 390, longest 390; not known
			cond main.f:12: 1 for 290, longest 290; not known`},
		{"futile wake-up: another goroutine has the lock", `
			100 2 blocks mutex in L:f:10
			110 3 blocks mutex in L:f:10
			200 1 wakes 2 in U:a:3
			201 2 runs
			205 2 blocks mutex in L:f:10
			500 ends`, `
			mutex main.f:10: 2 for 685, longest 390; not known`},
	} {
		t.Run(tt.what, func(t *testing.T) {
			p := play(t, Options{}, short.Replace(tt.script))
			if got, want := toldUnfinished(p), lines(tt.want); got != want {
				t.Errorf("\n got\n%s\n want\n%s", got, want)
			}
			var waiting int64
			for _, u := range p.Unfinished {
				waiting += u.Contentions
			}
			if waiting != p.InFlight {
				t.Errorf("%d in rows, %d in flight", waiting, p.InFlight)
			}
			var b bytes.Buffer
			if err := contention.WriteJSON(&b, p); err != nil {
				t.Fatal(err)
			}
			q, err := contention.ReadJSON(&b)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := toldUnfinished(q), toldUnfinished(p); got != want {
				t.Errorf("read back from JSON:\n%s\n want\n%s", got, want)
			}
			if m := contention.Merge(p, q); len(m.Unfinished) != 2*len(p.Unfinished) {
				t.Errorf("%d rows of two profiles with %d each", len(m.Unfinished), len(p.Unfinished))
			}
			for _, u := range p.Filter([]string{contention.MutexKind}, nil, 300*time.Microsecond).Unfinished {
				if u.Kind != contention.MutexKind || u.Waited < 300*time.Microsecond {
					t.Errorf("the filter keeps %+v", u)
				}
			}
		})
	}
}

// TestOnlyTheLastPieceHasWaitsInProgress: only the last piece of a pass has waits in progress.
func TestOnlyTheLastPieceHasWaitsInProgress(t *testing.T) {
	s := newScript(t, Options{})
	s.play(short.Replace("100 2 blocks mutex in L:f:10"))
	first := s.o.Cut(200_000)
	s.play("300 ends")
	last := s.o.Profile()
	if m := contention.Merge(first, last); len(first.Unfinished) != 0 || len(m.Unfinished) != 1 || m.Unfinished[0].Waited != 100*time.Microsecond {
		t.Errorf("%+v, then %+v", first.Unfinished, m.Unfinished)
	}
}

// TestOwnerAtTheEndIsTrue: at any moment of a program with one mutex, the named owner holds it, and
// has held it for at least as long as the profile has it.
func TestOwnerAtTheEndIsTrue(t *testing.T) {
	named, random := 0, rand.New(rand.NewPCG(1, 2))
	for range 400 {
		const workers = 4
		s, at := newScript(t, Options{Goroutines: true}), 10
		event := func(format string, args ...any) {
			s.play(short.Replace(fmt.Sprintf("%d ", at) + fmt.Sprintf(format, args...)))
			at += 1 + random.IntN(40)
		}
		for g := 1; g <= workers; g++ {
			event("%d blocks sleep in time.Sleep < main.f:5", g)
		}
		var queue []int
		holder, since, state := 0, 0, map[int]string{1: "idle", 2: "idle", 3: "idle", 4: "idle"}
		for range random.IntN(60) {
			g := 1 + random.IntN(workers)
			switch state[g] {
			case "idle": // requests the lock
				event("0 wakes %d", g)
				event("%d runs", g)
				if holder != 0 {
					event("%d blocks mutex in L:f:10", g)
					queue = append(queue, g)
					state[g] = "waits"
					continue
				}
				holder, since = g, at
				event("%d blocks sleep in time.Sleep < main.f:15", g)
				state[g] = "holds"
			case "holds": // releases it to the first in the queue
				event("0 wakes %d", g)
				event("%d runs", g)
				holder = 0
				if len(queue) > 0 {
					holder, queue = queue[0], queue[1:]
					event("%d wakes %d in U:f:20", g, holder)
					since = at
					event("%d runs", holder)
					event("%d blocks sleep in time.Sleep < main.f:15", holder)
					state[holder] = "holds"
				}
				event("%d blocks sleep in time.Sleep < main.f:5", g)
				state[g] = "idle"
			}
		}
		end := at
		event("ends")
		for _, u := range s.o.Profile().Unfinished {
			if u.Kind != contention.MutexKind {
				continue
			}
			if g := int(u.Owner.Goroutine); g != 0 {
				if named++; g != holder {
					t.Errorf("%d is named as the owner of the lock that %d holds", g, holder)
				} else if held := int(us(u.Held)); held <= 0 || held > end-since {
					t.Errorf("held for at least %d, but it was %d", held, end-since)
				}
			}
		}
	}
	if named < 100 {
		t.Errorf("a holder was named only %d times", named)
	}
}
