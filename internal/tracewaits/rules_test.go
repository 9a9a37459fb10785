package tracewaits

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
)

// Traces in words and the results, computed by hand. Every rule of observer.go is here.

const (
	mLock   = "sync.(*Mutex).Lock < main."
	mUnlock = "sync.(*Mutex).Unlock < main."
)

// short expands Lock and Unlock.
var short = strings.NewReplacer("L:", mLock, "U:", mUnlock)

// queueOfThree: three goroutines queue at a lock, behind three owners.
const queueOfThree = `
	100 2 blocks mutex in L:f:10
	110 3 blocks mutex in L:f:10
	120 4 blocks mutex in L:f:10
	200 1 wakes 2 in U:hold:3
	205 2 runs
	300 2 wakes 3 in U:f:12
	310 3 runs
	400 3 wakes 4 in U:f:12
	405 4 runs`

func TestTraceRules(t *testing.T) {
	checkRules(t, []traceRule{
		{"one owner; the time from the wake on is hand-off", Options{}, `
			100 2 blocks mutex in L:f:10
			200 1 wakes 2 in U:f:12
			210 2 runs
			300 ends`, `
			|mutex #1 main.f:10: 1 waited 100 = blamed 100 + hand-off 0 + unattributed 0; ready 10
			|  main.f:12: 100 of 1`},

		{"a futile wake: blocked again after 5 µs, so it is one wait", Options{}, `
			100 2 blocks mutex in L:f:10
			150 1 wakes 2 in U:f:12
			160 2 runs
			165 2 blocks mutex in L:f:10
			200 1 wakes 2 in U:f:12
			205 2 runs
			300 ends`, `
			|mutex #1 main.f:10: 1 waited 85 = blamed 85 + hand-off 0 + unattributed 0; ready 15
			|  main.f:12: 85 of 1`},

		{"not futile: it ran for 30 µs, so it may have had the lock", Options{}, `
			100 2 blocks mutex in L:f:10
			150 1 wakes 2 in U:f:12
			160 2 runs
			190 2 blocks mutex in L:f:10
			200 1 wakes 2 in U:f:12
			205 2 runs
			300 ends`, `
			|mutex #1 main.f:10: 2 waited 60 = blamed 60 + hand-off 0 + unattributed 0; ready 15
			|  main.f:12: 60 of 2`},

		{"not futile: it was stopped during that time, but woke a goroutine", Options{}, `
			100 2 blocks mutex in L:f:10
			120 3 blocks chan-receive in runtime.chanrecv1 < main.c:1
			150 1 wakes 2 in U:f:12
			160 2 runs
			162 2 wakes 3 in runtime.chansend1 < main.d:1
			163 3 runs
			165 2 blocks mutex in L:f:10
			200 1 wakes 2 in U:f:12
			205 2 runs
			300 ends`, `
			|mutex #1 main.f:10: 2 waited 85 = blamed 85 + hand-off 0 + unattributed 0; ready 15
			|  main.f:12: 85 of 2
			|chan-receive #2 main.c:1: 1 waited 42 = blamed 42 + hand-off 0 + unattributed 0; ready 1
			|  main.d:1: 42 of 1`},

		{"futile, though it was preempted for long: the processor time counts", Options{}, `
			100 2 blocks mutex in L:f:10
			150 1 wakes 2 in U:f:12
			160 2 runs
			165 2 stops
			965 2 runs
			970 2 blocks mutex in L:f:10
			980 1 wakes 2 in U:f:12
			985 2 runs
			999 ends`, `
			|mutex #1 main.f:10: 1 waited 60 = blamed 60 + hand-off 0 + unattributed 0; ready 15
			|  main.f:12: 60 of 1`},

		{"a wait behind three owners is split among them; who held the lock in between is not known", Options{Goroutines: true}, queueOfThree + `
			500 ends`, `
			|mutex #1 g4 main.f:10: 1 waited 280 = blamed 265 + hand-off 0 + unattributed 15; ready 5
			|  g2 main.f:12: 95 of 1
			|  g3 main.f:12: 90 of 1
			|  g1 main.hold:3: 80 of 1
			|mutex #1 g3 main.f:10: 1 waited 190 = blamed 185 + hand-off 0 + unattributed 5; ready 10
			|  g2 main.f:12: 95 of 1
			|  g1 main.hold:3: 90 of 1
			|mutex #1 g2 main.f:10: 1 waited 100 = blamed 100 + hand-off 0 + unattributed 0; ready 5
			|  g1 main.hold:3: 100 of 1`},

		// 2 waits in f and releases there, waking 3, which waits in g: one lock. In h there
		// is another.
		{"waits and releases are linked into locks", Options{}, `
			100 2 blocks mutex in L:f:10
			101 3 blocks mutex in L:g:20
			102 5 blocks mutex in L:h:30
			110 4 wakes 5 in U:h:32
			111 5 runs
			120 1 wakes 2 in U:a:3
			121 2 runs
			140 2 wakes 3 in U:f:12
			141 3 runs
			200 ends`, `
			|mutex #1 main.g:20: 1 waited 39 = blamed 38 + hand-off 0 + unattributed 1; ready 1
			|  main.a:3: 19 of 1
			|  main.f:12: 19 of 1
			|mutex #1 main.f:10: 1 waited 20 = blamed 20 + hand-off 0 + unattributed 0; ready 1
			|  main.a:3: 20 of 1
			|mutex #2 main.h:30: 1 waited 8 = blamed 8 + hand-off 0 + unattributed 0; ready 1
			|  main.h:32: 8 of 1`},

		// 5 has never waited. 2 was woken and ran: others may have acquired and released
		// the lock unseen before 5 did.
		{"unknown beginning of a hold: not known after a waiter was woken", Options{Goroutines: true}, `
			100 2 blocks mutex in L:f:10
			110 3 blocks mutex in L:f:10
			200 1 wakes 2 in U:a:3
			205 2 runs
			300 5 wakes 3 in U:b:7
			301 3 runs
			400 ends`, `
			|mutex #1 g3 main.f:10: 1 waited 190 = blamed 90 + hand-off 0 + unattributed 100; ready 1
			|  g1 main.a:3: 90 of 1
			|mutex #1 g2 main.f:10: 1 waited 100 = blamed 100 + hand-off 0 + unattributed 0; ready 5
			|  g1 main.a:3: 100 of 1`},

		// The same, but 5 first ran at 250.
		{"unknown beginning of a hold: the owner came after the release", Options{Goroutines: true}, `
			90 5 stops
			100 2 blocks mutex in L:f:10
			110 3 blocks mutex in L:f:10
			200 1 wakes 2 in U:a:3
			205 2 runs
			250 5 runs
			300 5 wakes 3 in U:b:7
			301 3 runs
			400 ends`, `
			|mutex #1 g3 main.f:10: 1 waited 190 = blamed 90 + hand-off 0 + unattributed 100; ready 1
			|  g1 main.a:3: 90 of 1
			|mutex #1 g2 main.f:10: 1 waited 100 = blamed 100 + hand-off 0 + unattributed 0; ready 5
			|  g1 main.a:3: 100 of 1`},

		// 5 once held the lock for 30 µs. When 3 blocks, no waiter is woken: the owner at
		// that time is the one whose Unlock wakes 3.
		{"unknown beginning of a hold: since a goroutine blocked, however long known ones are", Options{}, `
			10 5 blocks mutex in L:b:5
			12 4 blocks mutex in L:f:10
			20 1 wakes 5 in U:a:3
			20 5 runs
			50 5 wakes 4 in U:b:7
			50 4 runs
			100 3 blocks mutex in L:f:10
			300 5 wakes 3 in U:b:7
			301 3 runs
			400 ends`, `
			|mutex #1 main.f:10: 2 waited 238 = blamed 238 + hand-off 0 + unattributed 0; ready 1
			|  main.b:7: 230 of 2
			|  main.a:3: 8 of 1
			|mutex #1 main.b:5: 1 waited 10 = blamed 10 + hand-off 0 + unattributed 0; ready 0
			|  main.a:3: 10 of 1`},

		// As before, but 5 was off the processor from 285 to 295.
		{"an owner that is stopped holds the lock", Options{}, `
			10 5 blocks mutex in L:b:5
			12 4 blocks mutex in L:f:10
			20 1 wakes 5 in U:a:3
			20 5 runs
			50 5 wakes 4 in U:b:7
			50 4 runs
			100 3 blocks mutex in L:f:10
			285 5 stops
			295 5 runs
			300 5 wakes 3 in U:b:7
			301 3 runs
			400 ends`, `
			|mutex #1 main.f:10: 2 waited 238 = blamed 238 + hand-off 0 + unattributed 0; ready 1
			|  main.b:7: 230 of 2
			|  main.a:3: 8 of 1
			|mutex #1 main.b:5: 1 waited 10 = blamed 10 + hand-off 0 + unattributed 0; ready 0
			|  main.a:3: 10 of 1`},

		// 2 acquires the lock at 205 with 3 and 4 in the queue: the next Unlock, by 9, ends
		// the hold of 2. In u, that is always so.
		{"who unlocks for another goroutine is not to blame", Options{}, `
			100 2 blocks mutex in L:f:10
			110 3 blocks mutex in L:f:10
			120 4 blocks mutex in L:f:10
			200 9 wakes 2 in U:u:3
			205 2 runs
			300 9 wakes 3 in U:u:3
			305 3 runs
			400 9 wakes 4 in U:u:3
			405 4 runs
			410 5 blocks mutex in L:f:10
			500 9 wakes 5 in U:u:3
			505 5 runs
			600 ends`, `
			|mutex #1 main.f:10: 4 waited 660 = blamed 270 + hand-off 0 + unattributed 390; ready 20
			|  main.u:3: 270 of 3`},

		// After its first hold, 2 is elsewhere: its release is not in the trace. It
		// acquires the lock again unseen while 5 has been woken, but does not run yet.
		{"a call that has returned holds no lock", Options{Goroutines: true}, `
			100 2 blocks mutex in L:f:10 < main.loop:1
			150 1 wakes 2 in U:a:3
			150 2 runs
			160 2 blocks sleep in time.Sleep < main.loop:2
			170 0 wakes 2
			170 2 runs
			180 5 blocks mutex in L:f:10 < main.loop:1
			181 6 blocks mutex in L:f:10 < main.loop:1
			190 1 wakes 5 in U:a:3
			250 2 wakes 6 in U:f:12 < main.loop:1
			260 5 runs
			260 6 runs
			300 ends`, `
			|mutex #1 g6 main.f:10: 1 waited 69 = blamed 9 + hand-off 0 + unattributed 60; ready 10
			|  g1 main.a:3: 9 of 1
			|mutex #1 g2 main.f:10: 1 waited 50 = blamed 50 + hand-off 0 + unattributed 0; ready 0
			|  g1 main.a:3: 50 of 1
			|mutex #1 g5 main.f:10: 1 waited 10 = blamed 9 + hand-off 0 + unattributed 1; ready 70
			|  g1 main.a:3: 9 of 1
			|sleep #2 [timer] g2 time.Sleep: 1 waited 10 = blamed 0 + hand-off 0 + unattributed 10; ready 0`},

		// The same, all in one function.
		{"who was seen behind the Unlock has let go of the lock", Options{Goroutines: true}, `
			100 2 blocks mutex in L:f:10
			150 1 wakes 2 in U:a:3
			150 2 runs
			160 2 blocks sleep in time.Sleep < main.f:15
			170 0 wakes 2
			170 2 runs
			180 5 blocks mutex in L:f:10
			181 6 blocks mutex in L:f:10
			190 1 wakes 5 in U:a:3
			250 2 wakes 6 in U:f:12
			260 5 runs
			260 6 runs
			300 ends`, `
			|mutex #1 g6 main.f:10: 1 waited 69 = blamed 9 + hand-off 0 + unattributed 60; ready 10
			|  g1 main.a:3: 9 of 1
			|mutex #1 g2 main.f:10: 1 waited 50 = blamed 50 + hand-off 0 + unattributed 0; ready 0
			|  g1 main.a:3: 50 of 1
			|mutex #1 g5 main.f:10: 1 waited 10 = blamed 9 + hand-off 0 + unattributed 1; ready 70
			|  g1 main.a:3: 9 of 1
			|sleep #2 [timer] g2 time.Sleep: 1 waited 10 = blamed 0 + hand-off 0 + unattributed 10; ready 0`},

		{"no waker is seen: unattributed", Options{}, `
			100 2 blocks mutex in L:f:10
			150 0 wakes 2
			160 2 runs
			200 ends`, `
			|mutex #1 main.f:10: 1 waited 50 = blamed 0 + hand-off 0 + unattributed 50; ready 10`},

		{"it runs without having been woken, as in old traces: unattributed", Options{}, `
			100 2 blocks mutex in L:f:10
			160 2 runs
			200 ends`, `
			|mutex #1 main.f:10: 1 waited 60 = blamed 0 + hand-off 0 + unattributed 60; ready 0`},

		{"a deferred Unlock, and methods that lock for others, are the same call", Options{Goroutines: true}, `
			100 2 blocks mutex in L:f:10
			110 3 blocks mutex in sync.(*Mutex).Lock < main.(*T).lock:1 < main.g:5
			200 1 wakes 2 in U:a:3
			210 2 runs
			300 2 wakes 3 in U:f.func1:12 < main.f:14
			320 3 runs
			330 4 blocks mutex in L:f:10
			400 3 wakes 4 in sync.(*Mutex).Unlock < main.(*T).unlock:2 < main.g:9
			400 4 runs
			500 ends`, `
			|mutex #1 g3 main.(*T).lock:1: 1 waited 190 = blamed 180 + hand-off 0 + unattributed 10; ready 20
			|  g1 main.a:3: 90 of 1
			|  g2 main.f.func1:12: 90 of 1
			|mutex #1 g2 main.f:10: 1 waited 100 = blamed 100 + hand-off 0 + unattributed 0; ready 10
			|  g1 main.a:3: 100 of 1
			|mutex #1 g4 main.f:10: 1 waited 70 = blamed 70 + hand-off 0 + unattributed 0; ready 0
			|  g3 main.(*T).unlock:2: 70 of 1`},

		// 2 holds the lock of f and waits for that of g: it releases each where it acquired
		// it.
		{"nested locks", Options{}, `
			100 2 blocks mutex in L:f:10
			150 1 wakes 2 in U:a:3
			150 2 runs
			160 4 blocks mutex in L:f:10
			170 2 blocks mutex in L:g:20 < main.f:11
			180 5 blocks mutex in L:g:20 < main.f:11
			200 3 wakes 2 in U:b:4
			200 2 runs
			220 2 wakes 5 in U:g:22 < main.f:11
			220 5 runs
			230 2 wakes 4 in U:f:12
			230 4 runs
			300 ends`, `
			|mutex #1 main.f:10: 2 waited 120 = blamed 120 + hand-off 0 + unattributed 0; ready 0
			|  main.f:12: 70 of 1
			|  main.a:3: 50 of 1
			|mutex #2 main.g:20: 2 waited 70 = blamed 70 + hand-off 0 + unattributed 0; ready 0
			|  main.b:4: 50 of 2
			|  main.g:22: 20 of 1`},

		// 4 came later than 2 but was woken earlier: 3 released another lock. It is unknown
		// whether 1 had the lock of 2 before it released it, if it was the same lock at
		// all.
		{"the overtaken goroutine waits for another lock", Options{Goroutines: true}, `
			10 2 blocks mutex in L:f:10
			20 4 blocks mutex in L:f:10
			50 3 wakes 4 in U:f:12
			52 4 runs
			100 1 wakes 2 in U:f:12
			101 2 runs
			200 ends`, `
			|mutex #1 g2 main.f:10: 1 waited 90 = blamed 0 + hand-off 0 + unattributed 90; ready 1
			|mutex #1 g4 main.f:10: 1 waited 30 = blamed 30 + hand-off 0 + unattributed 0; ready 2
			|  g3 main.f:12: 30 of 1`},
	})
}

type traceRule struct {
	what   string
	opt    Options
	script string
	want   string
}

// checkRules plays scripts and compares their profiles.
func checkRules(t *testing.T, rules []traceRule) {
	for _, tt := range rules {
		t.Run(tt.what, func(t *testing.T) {
			p := play(t, tt.opt, short.Replace(tt.script))
			if got, want := profileText(p), lines(tt.want); got != want {
				t.Errorf("\n got\n%s\n want\n%s", got, want)
			}
			if p.Source != contention.FromTrace || p.Accuracy != contention.Inferred || p.InFlight != 0 {
				t.Errorf("%s, %s, %d in flight", p.Source, p.Accuracy, p.InFlight)
			}
		})
	}
}

// TestTraceFarLongerHold: owners hold the lock for 10 µs after waiting, then one appears to hold
// it for a millisecond. Spinning goroutines may have had it in between, so only three times the
// usual duration is certain.
func TestTraceFarLongerHold(t *testing.T) {
	s := newScript(t, Options{})
	at := 0
	step := func(hold, wait int) {
		s.play(short.Replace(fmt.Sprintf(`
			%d 2 blocks mutex in L:f:10
			%d 1 wakes 2 in U:a:3
			%d 2 runs
			%d 3 blocks mutex in L:g:10
			%d 2 wakes 3 in U:f:12
			%d 3 runs`, at, at+5, at+5, at+5+wait, at+5+hold, at+5+hold)))
		at += hold + 1000
	}
	for range 10 {
		step(10, 0)
	}
	step(1000, 500)
	s.play(fmt.Sprint(at, " ends"))
	p := s.o.Profile()
	checkConservation(t, p)
	found := false
	for _, w := range p.Waits {
		if w.Waiter.Stack.Frames[0].Func != "main.g" {
			continue
		}
		if found = true; w.Waited != 600*time.Microsecond || w.Blamed != 130*time.Microsecond || w.Unattributed != 470*time.Microsecond {
			t.Errorf("%+v", w)
		}
	}
	if !found {
		t.Errorf("g does not wait:\n%s", profileText(p))
	}
}

func TestTraceInFlight(t *testing.T) {
	p := play(t, Options{}, short.Replace(`
		100 2 blocks mutex in L:f:10
		110 3 blocks mutex in L:f:10
		120 4 blocks sleep in time.Sleep < main.g:1
		200 1 wakes 2 in U:f:12
		300 ends`))
	if p.InFlight != 3 || len(p.Waits) != 0 || len(p.Pairs) != 0 || len(p.Locks) != 0 {
		t.Errorf("%d in flight, %d rows", p.InFlight, len(p.Waits))
	}
	if w := strings.Join(p.Warnings, " "); !strings.Contains(w, "still waited for locks when the trace ended, one of them for 190µs") {
		t.Errorf("%q", w)
	}
}

// TestTraceGoroutinesComeAndGo: an index is reused, and an exit ends a wait.
func TestTraceGoroutinesComeAndGo(t *testing.T) {
	s := newScript(t, Options{Goroutines: true})
	s.play(short.Replace(`
		100 2 blocks mutex in L:f:10
		200 1 wakes 2 in U:f:12
		210 2 runs
		220 2 exits`))
	s.g(7)
	s.gs[8] = nil
	delete(s.gs, 8)
	s.gs[7].Index = s.gs[2].Index
	s.play(short.Replace(`
		300 7 blocks mutex in L:f:10
		400 1 wakes 7 in U:f:12
		410 7 runs
		500 ends`))
	p := s.o.Profile()
	checkConservation(t, p)
	if len(p.Waits) != 2 || p.InFlight != 0 {
		t.Errorf("\n%s", profileText(p))
	}
	for _, w := range p.Waits {
		if w.Waited != 100*time.Microsecond || w.Ready != 10*time.Microsecond || w.Contentions != 1 {
			t.Errorf("%+v", w)
		}
	}
}

// TestWaitsThatTakeNoTimeAreNotCounted: the clock stands still outside of the observed time, so
// waits there take no time.
func TestWaitsThatTakeNoTimeAreNotCounted(t *testing.T) {
	p := play(t, Options{}, `
		100 2 blocks mutex in sync.(*Mutex).Lock < main.f:10
		100 1 wakes 2 in sync.(*Mutex).Unlock < main.f:12
		100 2 runs
		200 2 blocks mutex in sync.(*Mutex).Lock < main.f:10
		300 1 wakes 2 in sync.(*Mutex).Unlock < main.f:12
		310 2 runs
		400 ends`)
	if len(p.Waits) != 1 || p.Waits[0].Contentions != 1 || p.Waits[0].Waited != 100*time.Microsecond {
		t.Errorf("%+v, want one wait of 100µs", p.Waits)
	}
}
