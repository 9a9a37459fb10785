package contention

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Traces in words, and what is true of them, worked out by hand. Every rule of trace.go is here.

const (
	mLock   = "sync.(*Mutex).Lock < main."
	mUnlock = "sync.(*Mutex).Unlock < main."
)

// short writes Lock and Unlock out.
var short = strings.NewReplacer("L:", mLock, "U:", mUnlock)

func TestTraceRules(t *testing.T) {
	tests := []struct {
		what   string
		opt    TraceOptions
		script string
		want   string
	}{
		{"one owner; the time from the wake on is hand-off", TraceOptions{}, `
			100 2 blocks mutex in L:f:10
			200 1 wakes 2 in U:f:12
			210 2 runs
			300 ends`, `
			|mutex #1 main.f:10: 1 waited 110 = blamed 100 + hand-off 10 + unattributed 0
			|  main.f:12: 100 of 1`},

		{"a futile wake: blocked again after 5 µs, so it is one wait", TraceOptions{}, `
			100 2 blocks mutex in L:f:10
			150 1 wakes 2 in U:f:12
			160 2 runs
			165 2 blocks mutex in L:f:10
			200 1 wakes 2 in U:f:12
			205 2 runs
			300 ends`, `
			|mutex #1 main.f:10: 1 waited 100 = blamed 85 + hand-off 15 + unattributed 0
			|  main.f:12: 85 of 1`},

		{"not futile: it ran for 30 µs, so it may have had the lock", TraceOptions{}, `
			100 2 blocks mutex in L:f:10
			150 1 wakes 2 in U:f:12
			160 2 runs
			190 2 blocks mutex in L:f:10
			200 1 wakes 2 in U:f:12
			205 2 runs
			300 ends`, `
			|mutex #1 main.f:10: 2 waited 75 = blamed 60 + hand-off 15 + unattributed 0
			|  main.f:12: 60 of 2`},

		{"not futile: it was stopped meanwhile, but woke somebody", TraceOptions{}, `
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
			|mutex #1 main.f:10: 2 waited 100 = blamed 85 + hand-off 15 + unattributed 0
			|  main.f:12: 85 of 2
			|chan-receive #2 main.c:1: 1 waited 43 = blamed 42 + hand-off 1 + unattributed 0
			|  main.d:1: 42 of 1`},

		{"futile, though it was preempted for long: the processor time counts", TraceOptions{}, `
			100 2 blocks mutex in L:f:10
			150 1 wakes 2 in U:f:12
			160 2 runs
			165 2 stops
			965 2 runs
			970 2 blocks mutex in L:f:10
			980 1 wakes 2 in U:f:12
			985 2 runs
			999 ends`, `
			|mutex #1 main.f:10: 1 waited 75 = blamed 60 + hand-off 15 + unattributed 0
			|  main.f:12: 60 of 1`},

		{"a wait behind three owners is split among them; what is between is hand-off", TraceOptions{Goroutines: true}, `
			100 2 blocks mutex in L:f:10
			110 3 blocks mutex in L:f:10
			120 4 blocks mutex in L:f:10
			200 1 wakes 2 in U:hold:3
			205 2 runs
			300 2 wakes 3 in U:f:12
			310 3 runs
			400 3 wakes 4 in U:f:12
			405 4 runs
			500 ends`, `
			|mutex #1 g4 main.f:10: 1 waited 285 = blamed 265 + hand-off 20 + unattributed 0
			|  g2 main.f:12: 95 of 1
			|  g3 main.f:12: 90 of 1
			|  g1 main.hold:3: 80 of 1
			|mutex #1 g3 main.f:10: 1 waited 200 = blamed 185 + hand-off 15 + unattributed 0
			|  g2 main.f:12: 95 of 1
			|  g1 main.hold:3: 90 of 1
			|mutex #1 g2 main.f:10: 1 waited 105 = blamed 100 + hand-off 5 + unattributed 0
			|  g1 main.hold:3: 100 of 1`},

		// 2 waits in f and lets go there, waking 3, who waits in g: one lock. In h there is another.
		{"waits and releases are linked into locks", TraceOptions{}, `
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
			|mutex #1 main.g:20: 1 waited 40 = blamed 38 + hand-off 2 + unattributed 0
			|  main.a:3: 19 of 1
			|  main.f:12: 19 of 1
			|mutex #1 main.f:10: 1 waited 21 = blamed 20 + hand-off 1 + unattributed 0
			|  main.a:3: 20 of 1
			|mutex #2 main.h:30: 1 waited 9 = blamed 8 + hand-off 1 + unattributed 0
			|  main.h:32: 8 of 1`},

		// 5 has never waited. It did not hold the lock before 1 let go of it.
		{"unknown beginning of a hold: not before the release before", TraceOptions{Goroutines: true}, `
			100 2 blocks mutex in L:f:10
			110 3 blocks mutex in L:f:10
			200 1 wakes 2 in U:a:3
			205 2 runs
			300 5 wakes 3 in U:b:7
			301 3 runs
			400 ends`, `
			|mutex #1 g3 main.f:10: 1 waited 191 = blamed 190 + hand-off 1 + unattributed 0
			|  g5 main.b:7: 100 of 1
			|  g1 main.a:3: 90 of 1
			|mutex #1 g2 main.f:10: 1 waited 105 = blamed 100 + hand-off 5 + unattributed 0
			|  g1 main.a:3: 100 of 1`},

		// 5 first ran at 250 after the release at 200. From 205, when 2 ran, to 250 somebody held the lock: nobody knows who.
		{"unknown beginning of a hold: not before the owner ran", TraceOptions{Goroutines: true}, `
			90 5 stops
			100 2 blocks mutex in L:f:10
			110 3 blocks mutex in L:f:10
			200 1 wakes 2 in U:a:3
			205 2 runs
			250 5 runs
			300 5 wakes 3 in U:b:7
			301 3 runs
			400 ends`, `
			|mutex #1 g3 main.f:10: 1 waited 191 = blamed 140 + hand-off 6 + unattributed 45
			|  g1 main.a:3: 90 of 1
			|  g5 main.b:7: 50 of 1
			|mutex #1 g2 main.f:10: 1 waited 105 = blamed 100 + hand-off 5 + unattributed 0
			|  g1 main.a:3: 100 of 1`},

		// 5 once held the lock for 30 µs after it had waited for it, as far as its release in b shows.
		{"unknown beginning of a hold: not longer than known ones", TraceOptions{}, `
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
			|mutex #1 main.f:10: 2 waited 239 = blamed 68 + hand-off 1 + unattributed 170
			|  main.b:7: 60 of 2
			|  main.a:3: 8 of 1
			|mutex #1 main.b:5: 1 waited 10 = blamed 10 + hand-off 0 + unattributed 0
			|  main.a:3: 10 of 1`},

		// As before, but 5 was off the processor from 285 to 295: its 30 µs began at 260.
		{"what an owner is runnable for does not count as holding", TraceOptions{}, `
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
			|mutex #1 main.f:10: 2 waited 239 = blamed 78 + hand-off 1 + unattributed 160
			|  main.b:7: 70 of 2
			|  main.a:3: 8 of 1
			|mutex #1 main.b:5: 1 waited 10 = blamed 10 + hand-off 0 + unattributed 0
			|  main.a:3: 10 of 1`},

		{"nobody is seen to wake it: unattributed", TraceOptions{}, `
			100 2 blocks mutex in L:f:10
			150 0 wakes 2
			160 2 runs
			200 ends`, `
			|mutex #1 main.f:10: 1 waited 60 = blamed 0 + hand-off 10 + unattributed 50`},

		{"a deferred Unlock, and methods that lock for others, are the same call", TraceOptions{Goroutines: true}, `
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
			|mutex #1 g3 main.(*T).lock:1: 1 waited 210 = blamed 180 + hand-off 30 + unattributed 0
			|  g1 main.a:3: 90 of 1
			|  g2 main.f.func1:12: 90 of 1
			|mutex #1 g2 main.f:10: 1 waited 110 = blamed 100 + hand-off 10 + unattributed 0
			|  g1 main.a:3: 100 of 1
			|mutex #1 g4 main.f:10: 1 waited 70 = blamed 70 + hand-off 0 + unattributed 0
			|  g3 main.(*T).unlock:2: 70 of 1`},

		// 2 holds the lock of f and waits for that of g: it lets go of each where it took it.
		{"nested locks", TraceOptions{}, `
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
			|mutex #1 main.f:10: 2 waited 120 = blamed 120 + hand-off 0 + unattributed 0
			|  main.f:12: 70 of 1
			|  main.a:3: 50 of 1
			|mutex #2 main.g:20: 2 waited 70 = blamed 70 + hand-off 0 + unattributed 0
			|  main.b:4: 50 of 2
			|  main.g:22: 20 of 1`},

		// 4 came later than 2 but was woken earlier: 3 let go of another lock. Since 1 may have got the lock of
		// 2 when 3 let go of that one, if it was the same lock after all, only the time after it is certain.
		{"whoever was overtaken waits for another lock", TraceOptions{Goroutines: true}, `
			10 2 blocks mutex in L:f:10
			20 4 blocks mutex in L:f:10
			50 3 wakes 4 in U:f:12
			52 4 runs
			100 1 wakes 2 in U:f:12
			101 2 runs
			200 ends`, `
			|mutex #1 g2 main.f:10: 1 waited 91 = blamed 50 + hand-off 1 + unattributed 40
			|  g1 main.f:12: 50 of 1
			|mutex #1 g4 main.f:10: 1 waited 32 = blamed 30 + hand-off 2 + unattributed 0
			|  g3 main.f:12: 30 of 1`},

		{"once: the others wait for the one who does it", TraceOptions{}, `
			100 2 blocks once in sync.(*Mutex).Lock < sync.(*Once).doSlow < sync.(*Once).Do < main.f:10
			200 1 wakes 2 in sync.(*Mutex).Unlock < sync.(*Once).doSlow < sync.(*Once).Do < main.f:10
			210 2 runs
			300 ends`, `
			|once #1 main.f:10: 1 waited 110 = blamed 100 + hand-off 10 + unattributed 0
			|  main.f:10: 100 of 1`},

		// From 100 on 2 is pending and holds back 3, though 1 reads until 200.
		{"readers and writers; a pending writer has half of the blame", TraceOptions{Goroutines: true}, `
			100 2 blocks rwmutex-writer in sync.(*RWMutex).Lock < main.w:10
			120 3 blocks rwmutex-reader in sync.(*RWMutex).RLock < main.r:20
			121 4 blocks rwmutex-reader in sync.(*RWMutex).RLock < main.r:20
			200 1 wakes 2 in sync.(*RWMutex).RUnlock < main.r:22
			205 2 runs
			300 2 wakes 3 in sync.(*RWMutex).Unlock < main.w:12
			301 2 wakes 4 in sync.(*RWMutex).Unlock < main.w:12
			310 3 runs
			311 4 runs
			400 ends`, `
			|rwmutex-reader #1 g3 main.r:20: 1 waited 190 = blamed 175 + hand-off 15 + unattributed 0
			|  g2 main.w:12: 95 of 1
			|  g1 main.r:22: 40 of 1 [read-owner]
			|  g2 main.w:12: 40 of 1 [pending-writer]
			|rwmutex-reader #1 g4 main.r:20: 1 waited 190 = blamed 175 + hand-off 15 + unattributed 0
			|  g2 main.w:12: 96 of 1
			|  g1 main.r:22: 39 of 1 [read-owner]
			|  g2 main.w:12: 39 of 1 [pending-writer]
			|rwmutex-writer #1 g2 main.w:10: 1 waited 105 = blamed 100 + hand-off 5 + unattributed 0
			|  g1 main.r:22: 100 of 1 [read-owner]`},

		// 5 is known to read for 10 µs, but 2 had to wait for 100: the reader was there all the time.
		{"a writer waits for readers that were there when it came", TraceOptions{Goroutines: true}, `
			10 5 blocks rwmutex-reader in sync.(*RWMutex).RLock < main.r:20
			20 1 wakes 5 in sync.(*RWMutex).Unlock < main.w:12
			20 5 runs
			25 2 blocks rwmutex-writer in sync.(*RWMutex).Lock < main.w:10
			30 5 wakes 2 in sync.(*RWMutex).RUnlock < main.r:22
			30 2 runs
			100 2 blocks rwmutex-writer in sync.(*RWMutex).Lock < main.w:10
			200 5 wakes 2 in sync.(*RWMutex).RUnlock < main.r:22
			200 2 runs
			300 ends`, `
			|rwmutex-writer #1 g2 main.w:10: 2 waited 105 = blamed 105 + hand-off 0 + unattributed 0
			|  g5 main.r:22: 105 of 2 [read-owner]
			|rwmutex-reader #1 g5 main.r:20: 1 waited 10 = blamed 10 + hand-off 0 + unattributed 0
			|  g1 main.w:12: 10 of 1`},

		// Lock waits for the mutex of the writers first, then for the readers.
		{"a writer behind a writer and a reader waits once", TraceOptions{Goroutines: true}, `
			100 2 blocks rwmutex-writer in sync.(*Mutex).Lock < sync.(*RWMutex).Lock < main.w:10
			200 1 wakes 2 in sync.(*Mutex).Unlock < sync.(*RWMutex).Unlock < main.w:12
			201 2 runs
			202 2 blocks rwmutex-writer in sync.(*RWMutex).Lock < main.w:10
			300 3 wakes 2 in sync.(*RWMutex).RUnlock < main.r:22
			305 2 runs
			400 ends`, `
			|rwmutex-writer #1 g2 main.w:10: 1 waited 204 = blamed 198 + hand-off 6 + unattributed 0
			|  g1 main.w:12: 100 of 1
			|  g3 main.r:22: 98 of 1 [read-owner]`},

		{"cond: the signaller, then the lock again; it is let go of in Wait", TraceOptions{}, `
			100 1 blocks cond in sync.(*Cond).Wait < main.c:5
			150 3 blocks mutex in L:f:10
			160 2 wakes 3 in sync.(*Mutex).Unlock < sync.(*Cond).Wait < main.c:5
			160 3 runs
			200 2 wakes 1 in sync.(*Cond).Signal < main.s:8
			205 1 runs
			206 1 blocks mutex in sync.(*Mutex).Lock < sync.(*Cond).Wait < main.c:5
			250 3 wakes 1 in U:f:12
			255 1 runs
			300 ends`, `
			|cond #1 main.c:5: 1 waited 105 = blamed 100 + hand-off 5 + unattributed 0
			|  main.s:8: 100 of 1 [signaller]
			|mutex [reacquire] #2 main.c:5: 1 waited 49 = blamed 44 + hand-off 5 + unattributed 0
			|  main.f:12: 44 of 1
			|mutex #2 main.f:10: 1 waited 10 = blamed 10 + hand-off 0 + unattributed 0
			|  main.c:5: 10 of 1 [in-wait]`},

		{"other waits are blamed on who ended them, or on nobody", TraceOptions{}, `
			100 2 blocks chan-send in runtime.chansend1 < main.a:1
			110 1 wakes 2 in runtime.chanrecv1 < main.z:1
			110 2 runs
			200 2 blocks select in runtime.selectgo < main.b:1
			220 1 wakes 2 in runtime.closechan < main.z:2
			220 2 runs
			300 2 blocks waitgroup in sync.(*WaitGroup).Wait < main.c:1
			330 1 wakes 2 in sync.(*WaitGroup).Add < sync.(*WaitGroup).Done < main.z:3
			330 2 runs
			400 2 blocks semaphore in runtime.selectgo < golang.org/x/sync/semaphore.(*Weighted).Acquire < main.d:1
			440 1 wakes 2 in runtime.closechan < golang.org/x/sync/semaphore.(*Weighted).Release < main.z:4
			440 2 runs
			500 2 blocks gc in runtime.gcParkAssist < runtime.mallocgc < main.e:1
			550 1 wakes 2 in runtime.gcWakeAllAssists < runtime.gcBgMarkWorker
			550 2 runs
			600 2 blocks network in internal/poll.(*FD).Read < main.f:1
			660 0 wakes 2
			665 2 runs
			700 2 blocks sleep in time.Sleep < main.g:1
			770 0 wakes 2
			775 2 runs
			800 2 blocks coroutine
			808 1 wakes 2
			808 2 runs
			900 ends`, `
			|sleep #1 [timer] time.Sleep: 1 waited 75 = blamed 0 + hand-off 5 + unattributed 70
			|network #2 [network] internal/poll.(*FD).Read: 1 waited 65 = blamed 0 + hand-off 5 + unattributed 60
			|gc #3 [gc] main.e:1: 1 waited 50 = blamed 50 + hand-off 0 + unattributed 0
			|  runtime.gcWakeAllAssists: 50 of 1
			|semaphore #4 golang.org/x/sync/semaphore.(*Weighted).Acquire: 1 waited 40 = blamed 40 + hand-off 0 + unattributed 0
			|  golang.org/x/sync/semaphore.(*Weighted).Release: 40 of 1
			|waitgroup #5 main.c:1: 1 waited 30 = blamed 30 + hand-off 0 + unattributed 0
			|  main.z:3: 30 of 1
			|select #6 main.b:1: 1 waited 20 = blamed 20 + hand-off 0 + unattributed 0
			|  main.z:2: 20 of 1
			|chan-send #7 main.a:1: 1 waited 10 = blamed 10 + hand-off 0 + unattributed 0
			|  main.z:1: 10 of 1
			|other #8 ?: 1 waited 8 = blamed 8 + hand-off 0 + unattributed 0
			|  ?: 8 of 1`},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			p := play(t, tt.opt, short.Replace(tt.script))
			if got, want := told(p), lines(tt.want); got != want {
				t.Errorf("\n got\n%s\n want\n%s", got, want)
			}
			if p.Source != FromTrace || p.Accuracy != Inferred || p.InFlight != 0 {
				t.Errorf("%s, %s, %d in flight", p.Source, p.Accuracy, p.InFlight)
			}
		})
	}
}

// TestTraceSeveralLocks: 1 holds a lock and 3 another of the same code. 2 waits for the first
// when 4 comes and waits for the second, and is woken earlier.
func TestTraceSeveralLocks(t *testing.T) {
	s := newScript(t, TraceOptions{})
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
	if len(p.Locks) != 1 || p.Locks[0].Name != SeveralLocks || !strings.Contains(strings.Join(p.Warnings, " "), "several locks each") {
		t.Fatalf("%v %q", *p.Locks[0], p.Warnings)
	}
	before := told(p)
	round(6)
	s.play("9000 ends")
	p = s.o.Profile()
	checkConservation(t, p)
	// Now 2 waits for 90 µs because of 1, which let go of the lock in line 13, and of nobody else.
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

// TestTraceHoldsAtTheSameTime: 2 and 4 wait for 1 and 3, and then hold the lock at the same time: these are
// two. 5 waits behind 2, 6 behind 4.
func TestTraceHoldsAtTheSameTime(t *testing.T) {
	s := newScript(t, TraceOptions{Goroutines: true})
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
	if len(p.Locks) != 1 || p.Locks[0].Name != SeveralLocks {
		t.Errorf("%+v", *p.Locks[0])
	}
	for _, q := range p.Pairs {
		if q.Waiter.Goroutine == 6 && q.Owner.Goroutine == 4 {
			// At first, 4 seems to have held the lock only since 2 let go of it.
			if q.Blamed < 4*259*time.Microsecond || q.Longest != 259*time.Microsecond {
				t.Errorf("%v, at most %v", q.Blamed, q.Longest)
			}
		}
	}
}

// blamedIn reads what told has told of an owner.
func blamedIn(told string, line int) (sum time.Duration) {
	for _, l := range strings.Split(told, "\n") {
		var us, n int64
		if _, err := fmt.Sscanf(strings.TrimSpace(l), fmt.Sprintf("main.f:%d: %%d of %%d", line), &us, &n); err == nil {
			sum += time.Duration(us) * time.Microsecond
		}
	}
	return sum
}

// TestTraceHeadOfQueue: a single lock may wake a late comer first, if that one came to the head of the
// queue: it had been woken in vain, or had taken the token of a waiter that was woken and did not run yet.
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
		s := newScript(t, TraceOptions{})
		for i := range 8 {
			for _, l := range strings.Split(strings.TrimSpace(short.Replace(script)), "\n") {
				at, rest, _ := strings.Cut(strings.TrimSpace(l), " ")
				s.play(fmt.Sprintf("%d %s\n", s.number(at)+int64(1000*i), rest))
			}
		}
		s.play("9000 ends")
		p := s.o.Profile()
		checkConservation(t, p)
		if len(p.Locks) != 1 || p.Locks[0].Name != "" || p.Locks[0].Waiters != 2 || p.Locks[0].Longest != 91*time.Microsecond {
			t.Errorf("%+v", *p.Locks[0])
		}
	}
}

// TestTraceFarLongerHold: owners hold the lock for 10 µs after they have waited; then one seems
// to for a millisecond. It has let go of it unseen in between, so only 10 µs of that are certain.
func TestTraceFarLongerHold(t *testing.T) {
	s := newScript(t, TraceOptions{})
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
	for _, w := range p.Waits {
		if w.Waiter.Stack.Frames[0].Func == "main.g" && (w.Waited != 600*time.Microsecond || w.Blamed != 110*time.Microsecond || w.Unattributed != 490*time.Microsecond) {
			t.Errorf("%+v", w)
		}
	}
}

func TestTraceInFlight(t *testing.T) {
	p := play(t, TraceOptions{}, short.Replace(`
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

// TestTraceGoroutinesComeAndGo: an index is used again, and an exit ends a wait.
func TestTraceGoroutinesComeAndGo(t *testing.T) {
	s := newScript(t, TraceOptions{Goroutines: true})
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
		t.Errorf("\n%s", told(p))
	}
	for _, w := range p.Waits {
		if w.Waited != 110*time.Microsecond || w.Contentions != 1 {
			t.Errorf("%+v", w)
		}
	}
}
