package tracewaits

import "testing"

// The rules of observer.go for waits other than for a sync.Mutex.

func TestTraceKinds(t *testing.T) {
	checkRules(t, []traceRule{
		{"once: the others wait for the one who does it", Options{}, `
			100 2 blocks once in sync.(*Mutex).Lock < sync.(*Once).doSlow < sync.(*Once).Do < main.f:10
			200 1 wakes 2 in sync.(*Mutex).Unlock < sync.(*Once).doSlow < sync.(*Once).Do < main.f:10
			210 2 runs
			300 ends`, `
			|once #1 main.f:10: 1 waited 100 = blamed 100 + hand-off 0 + unattributed 0; ready 10
			|  main.f:10: 100 of 1`},

		// Only closing a channel leaves no frame of package runtime.
		{"who closes a channel, and who sends", Options{}, `
			100 2 blocks chan-receive in runtime.chanrecv1 < main.get:10
			110 3 blocks chan-receive in runtime.chanrecv1 < main.get:10
			120 4 blocks select in runtime.selectgo < main.ask:20
			200 1 wakes 2 in runtime.chansend1 < main.put:11
			210 2 runs
			300 1 wakes 3 in main.stop:12
			300 1 wakes 4 in main.stop:12
			310 3 runs
			310 4 runs
			400 ends`, `
			|chan-receive #1 main.get:10: 2 waited 290 = blamed 290 + hand-off 0 + unattributed 0; ready 20
			|  main.stop:12: 190 of 1 [closer]
			|  main.put:11: 100 of 1
			|select #2 main.ask:20: 1 waited 180 = blamed 180 + hand-off 0 + unattributed 0; ready 10
			|  main.stop:12: 180 of 1 [closer]`},

		// From 100 on 2 is pending and holds back 3, although 1 reads until 200.
		{"readers and writers; a pending writer has half of the blame", Options{Goroutines: true}, `
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
			|rwmutex-reader #1 g3 main.r:20: 1 waited 180 = blamed 175 + hand-off 5 + unattributed 0; ready 10
			|  g2 main.w:12: 95 of 1
			|  g1 main.r:22: 40 of 1 [read-owner]
			|  g2 main.w:12: 40 of 1 [pending-writer]
			|rwmutex-reader #1 g4 main.r:20: 1 waited 180 = blamed 175 + hand-off 5 + unattributed 0; ready 10
			|  g2 main.w:12: 96 of 1
			|  g1 main.r:22: 39 of 1 [read-owner]
			|  g2 main.w:12: 39 of 1 [pending-writer]
			|rwmutex-writer #1 g2 main.w:10: 1 waited 100 = blamed 100 + hand-off 0 + unattributed 0; ready 5
			|  g1 main.r:22: 100 of 1 [read-owner]`},

		// 5 usually reads for 10 µs, but 2 had to wait for 100: the reader was there all
		// the time.
		{"a writer waits for readers that were there when it came", Options{Goroutines: true}, `
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
			|rwmutex-writer #1 g2 main.w:10: 2 waited 105 = blamed 105 + hand-off 0 + unattributed 0; ready 0
			|  g5 main.r:22: 105 of 2 [read-owner]
			|rwmutex-reader #1 g5 main.r:20: 1 waited 10 = blamed 10 + hand-off 0 + unattributed 0; ready 0
			|  g1 main.w:12: 10 of 1`},

		// 2 runs for 5 µs only; a woken waiter for a Mutex may have found the lock held.
		{"who was woken as the writer that is next, or as a reader, has the lock: no such wake is futile", Options{}, `
			100 2 blocks rwmutex-writer in sync.(*RWMutex).Lock < main.w:10
			200 1 wakes 2 in sync.(*RWMutex).RUnlock < main.r:22
			201 2 runs
			206 2 blocks rwmutex-writer in sync.(*RWMutex).Lock < main.w:10
			250 3 blocks rwmutex-reader in sync.(*RWMutex).RLock < main.r:20
			300 1 wakes 2 in sync.(*RWMutex).RUnlock < main.r:22
			301 2 runs
			310 2 wakes 3 in sync.(*RWMutex).Unlock < main.w:12
			310 3 runs
			312 3 blocks rwmutex-reader in sync.(*RWMutex).RLock < main.r:20
			320 4 wakes 3 in sync.(*RWMutex).Unlock < main.w:12
			321 3 runs
			400 ends`, `
			|rwmutex-writer #1 main.w:10: 2 waited 194 = blamed 194 + hand-off 0 + unattributed 0; ready 2
			|  main.r:22: 194 of 2 [read-owner]
			|rwmutex-reader #1 main.r:20: 2 waited 68 = blamed 67 + hand-off 1 + unattributed 0; ready 1
			|  main.r:22: 25 of 1 [read-owner]
			|  main.w:12: 25 of 1 [pending-writer]
			|  main.w:12: 17 of 2`},

		// Lock waits for the mutex of the writers first, then for the readers.
		{"a writer behind a writer and a reader waits once", Options{Goroutines: true}, `
			100 2 blocks rwmutex-writer in sync.(*Mutex).Lock < sync.(*RWMutex).Lock < main.w:10
			200 1 wakes 2 in sync.(*Mutex).Unlock < sync.(*RWMutex).Unlock < main.w:12
			201 2 runs
			202 2 blocks rwmutex-writer in sync.(*RWMutex).Lock < main.w:10
			300 3 wakes 2 in sync.(*RWMutex).RUnlock < main.r:22
			305 2 runs
			400 ends`, `
			|rwmutex-writer #1 g2 main.w:10: 1 waited 198 = blamed 198 + hand-off 0 + unattributed 0; ready 6
			|  g1 main.w:12: 100 of 1
			|  g3 main.r:22: 98 of 1 [read-owner]`},

		{"cond: the signaler, then the lock again; it is let go of in Wait", Options{}, `
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
			|cond #1 main.c:5: 1 waited 100 = blamed 100 + hand-off 0 + unattributed 0; ready 5
			|  main.s:8: 100 of 1 [signaler]
			|mutex [reacquire] #2 main.c:5: 1 waited 44 = blamed 44 + hand-off 0 + unattributed 0; ready 5
			|  main.f:12: 44 of 1
			|mutex #2 main.f:10: 1 waited 10 = blamed 10 + hand-off 0 + unattributed 0; ready 0
			|  main.c:5: 10 of 1 [in-wait]`},

		{"other waits are blamed on the goroutine that ended them, or are unattributed", Options{}, `
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
			|sleep #1 [timer] time.Sleep: 1 waited 70 = blamed 0 + hand-off 0 + unattributed 70; ready 5
			|network #2 [network] internal/poll.(*FD).Read: 1 waited 60 = blamed 0 + hand-off 0 + unattributed 60; ready 5
			|gc #3 [gc] main.e:1: 1 waited 50 = blamed 50 + hand-off 0 + unattributed 0; ready 0
			|  runtime.gcWakeAllAssists: 50 of 1
			|semaphore #4 golang.org/x/sync/semaphore.(*Weighted).Acquire: 1 waited 40 = blamed 40 + hand-off 0 + unattributed 0; ready 0
			|  golang.org/x/sync/semaphore.(*Weighted).Release: 40 of 1
			|waitgroup #5 main.c:1: 1 waited 30 = blamed 30 + hand-off 0 + unattributed 0; ready 0
			|  main.z:3: 30 of 1
			|select #6 main.b:1: 1 waited 20 = blamed 20 + hand-off 0 + unattributed 0; ready 0
			|  main.z:2: 20 of 1
			|chan-send #7 main.a:1: 1 waited 10 = blamed 10 + hand-off 0 + unattributed 0; ready 0
			|  main.z:1: 10 of 1
			|other #8 ?: 1 waited 8 = blamed 8 + hand-off 0 + unattributed 0; ready 0
			|  ?: 8 of 1`},
	})
}
