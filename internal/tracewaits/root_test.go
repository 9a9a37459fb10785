package tracewaits

import "testing"

// Chains of blame in traces, computed by hand.
func TestTraceRoots(t *testing.T) {
	for _, tt := range []struct{ what, script, want string }{
		{"an owner that runs is the root; so it is while it is runnable, or sleeps", `
			100 2 blocks mutex in L:f:10
			120 1 stops
			130 1 runs
			140 1 blocks sleep in time.Sleep < main.hold:2
			170 0 wakes 1
			175 1 runs
			200 1 wakes 2 in U:hold:3
			210 2 runs
			300 ends`, `
			|mutex main.f:10 for main.hold:3: 100 = running 55 runnable 15 sleep 30`},

		// 2 waits for 1 from 100 to 200. From 120 to 170, 1 waits for the channel that 3
		// sends on.
		{"the owner waits for a channel: its sender is the root for so long", `
			100 2 blocks mutex in L:f:10
			120 1 blocks chan-receive in runtime.chanrecv1 < main.hold:2
			170 3 wakes 1 in runtime.chansend1 < main.send:7
			175 1 runs
			200 1 wakes 2 in U:hold:3
			210 2 runs
			300 ends`, `
			|mutex main.f:10 for main.hold:3: 100 = running 45 runnable 5 chan-receive 50
			|  root main.send:7: 50 of 1 via chan-receive, 1 links
			|  root main.hold:3: 50 of 1
			|chan-receive main.hold:2 for main.send:7: 50 = running 50`},

		// 1 is blocked from 60 on; the wait begins at 100, in the middle of it.
		{"only what falls into the wait counts", `
			60 1 blocks chan-receive in runtime.chanrecv1 < main.hold:2
			100 2 blocks mutex in L:f:10
			170 3 wakes 1 in runtime.chansend1 < main.send:7
			175 1 runs
			200 1 wakes 2 in U:hold:3
			210 2 runs
			300 ends`, `
			|chan-receive main.hold:2 for main.send:7: 110 = running 110
			|mutex main.f:10 for main.hold:3: 100 = running 25 runnable 5 chan-receive 70
			|  root main.send:7: 70 of 1 via chan-receive, 1 links
			|  root main.hold:3: 30 of 1`},

		// 4 waits for 3, 3 for 2, and 2 for 1: each from a later time, and up to an earlier
		// one.
		{"a chain of three locks", `
			10 4 blocks mutex in L:a:1
			20 3 blocks mutex in L:b:1 < main.y:2
			30 2 blocks mutex in L:c:1 < main.z:2
			50 1 wakes 2 in U:c:3 < main.w:3
			52 2 runs
			60 2 wakes 3 in U:b:3 < main.z:3
			63 3 runs
			70 3 wakes 4 in U:a:3 < main.y:3
			74 4 runs
			100 ends`, `
			|mutex main.a:1 for main.a:3: 60 = running 17 runnable 3 mutex 40
			|  root main.b:3: 20 of 1 via mutex, 1 links
			|  root main.c:3: 20 of 1 via mutex, 2 links
			|  root main.a:3: 20 of 1
			|mutex main.b:1 for main.b:3: 40 = running 18 runnable 2 mutex 20
			|  root main.c:3: 20 of 1 via mutex, 1 links
			|  root main.b:3: 20 of 1
			|mutex main.c:1 for main.c:3: 20 = running 20`},

		// The owner 1 waits twice: for 3 up to 130, and for the timer of a network call up
		// to 180.
		{"the chain ends without an owner to blame", `
			100 2 blocks mutex in L:f:10
			110 1 blocks chan-send in runtime.chansend1 < main.hold:1
			130 3 wakes 1 in runtime.chanrecv1 < main.take:5
			130 1 runs
			140 1 blocks network in internal/poll.runtime_pollWait < main.hold:2
			180 0 wakes 1
			180 1 runs
			200 1 wakes 2 in U:hold:3
			200 2 runs
			300 ends`, `
			|mutex main.f:10 for main.hold:3: 100 = running 40 network 40 chan-send 20
			|  root main.hold:3: 80 of 1
			|  root main.take:5: 20 of 1 via chan-send, 1 links
			|chan-send main.hold:1 for main.take:5: 20 = running 20`},

		// 1 is not seen to be woken from its wait for a lock: an unknown goroutine held it.
		{"an unknown root is not the owner", `
			100 2 blocks mutex in L:f:10
			120 1 blocks mutex in L:g:10
			150 0 wakes 1
			150 1 runs
			200 1 wakes 2 in U:hold:3
			200 2 runs
			300 ends`, `
			|mutex main.f:10 for main.hold:3: 100 = running 70 mutex 30
			|  root main.hold:3: 70 of 1
			|  root ?: 30 of 1 via mutex, 1 links`},

		// While 1 waits for 3 until 140, then for 4 until 160 (3 had released the lock, 4
		// came next), 2 waits for 1.
		{"the owner waits behind two owners: two roots", `
			100 2 blocks mutex in L:f:10
			110 4 blocks mutex in L:g:20
			120 1 blocks mutex in L:g:20 < main.hold:1
			140 3 wakes 4 in U:g:22 < main.p:1
			143 4 runs
			160 4 wakes 1 in U:g:22
			164 1 runs
			200 1 wakes 2 in U:f:12 < main.hold:9
			205 2 runs
			300 ends`, `
			|mutex main.f:10 for main.f:12: 100 = running 56 runnable 4 mutex 40
			|  root main.f:12: 60 of 1
			|  root main.g:22: 20 of 1 via mutex, 1 links
			|  root main.g:22: 17 of 1 via mutex, 1 links
			|  root ?: 3 of 1 via mutex, 1 links
			|mutex main.g:20 for main.g:22: 30 = running 30
			|mutex main.g:20 for main.g:22: 20 = running 20
			|mutex main.g:20 for main.g:22: 17 = running 17`},

		{"the owner was born late, and was in a system call", `
			100 2 blocks chan-receive in runtime.chanrecv1 < main.f:1
			150 7 begins
			155 7 runs
			160 7 calls
			162 7 hangs
			180 7 runs
			200 7 wakes 2 in runtime.chansend1 < main.g:2
			200 2 runs
			300 ends`, `
			|chan-receive main.f:1 for main.g:2: 100 = running 27 runnable 5 syscall 18 unknown 50`},
	} {
		t.Run(tt.what, func(t *testing.T) {
			p := play(t, Options{}, short.Replace(tt.script))
			if got, want := rootsText(p), lines(tt.want); got != want {
				t.Errorf("\n got\n%s\n want\n%s", got, want)
			}
		})
	}
}
