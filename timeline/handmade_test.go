package timeline

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Hand-made traces and their contents. Times are nanoseconds. The statuses at the beginning of a
// generation are at 1001, and the first other event at 1010 unless a test requires another time.

func TestHandMade(t *testing.T) {
	lock := stk("sync.(*Mutex).Lock", "main.work")
	tests := []struct {
		what  string
		trace func(w *wire)
		lives map[int64]string // by goroutine: its intervals
	}{
		{"a system call that returns soon keeps its P", func(w *wire) {
			w.generation(1, 1000).thread(1).runs(1001, 0, 1).
				ev(1010, wHeapAlloc, 1).ev(1100, wSyscallBegin, 1, stk("syscall.read")).ev(1200, wSyscallEnd).ev(1300, wHeapAlloc, 1)
		}, map[int64]string{1: "running 1010-1100 P0; syscall 1100-1200 syscall P0 in syscall.read; running 1200-1300 P0"}},

		{"a system call whose P is stolen is blocked from then on", func(w *wire) {
			g := w.generation(1, 1000)
			a := g.thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1).ev(1100, wSyscallBegin, 1, stk("syscall.read"))
			g.thread(2).runs(1003, 1, 2).ev(1150, wProcSteal, 0, 2, 1).ev(1160, wHeapAlloc, 2)
			a.ev(1200, wSyscallEndBlocked).ev(1210, wProcStart, 0, 3).ev(1220, wGoStart, 1, 1).ev(1300, wHeapAlloc, 3)
		}, map[int64]string{
			1: "running 1010-1100 P0; syscall 1100-1150 syscall P0 in syscall.read; syscall-blocked 1150-1200 syscall in syscall.read; runnable 1200-1220 syscall in syscall.read; running 1220-1300 P0",
			2: "running 1010-1300 P1",
		}},

		{"so is one whose thread gives its P up", func(w *wire) {
			w.generation(1, 1000).thread(1).runs(1001, 0, 1).
				ev(1010, wHeapAlloc, 1).ev(1100, wSyscallBegin, 1, stk("syscall.read")).ev(1150, wProcStop).
				ev(1200, wProcStart, 0, 2).ev(1210, wSyscallEndBlocked).ev(1220, wGoStart, 1, 1).ev(1300, wHeapAlloc, 1)
		}, map[int64]string{1: "running 1010-1100 P0; syscall 1100-1150 syscall P0 in syscall.read; syscall-blocked 1150-1210 syscall in syscall.read; runnable 1210-1220 syscall in syscall.read; running 1220-1300 P0"}},

		{"a P that goes idle later is not that of the system call any more", func(w *wire) {
			g := w.generation(1, 1000)
			a := g.thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1).ev(1100, wSyscallBegin, 1, stk("syscall.read")).ev(1110, wSyscallEnd)
			a.ev(1200, wGoBlock, "select", stk("main.loop")).ev(1210, wProcStop)
			g.thread(2).runs(1003, 1, 2).ev(1300, wGoUnblock, 1, 1, stk("main.send")).ev(1400, wHeapAlloc, 2)
		}, map[int64]string{1: `running 1010-1100 P0; syscall 1100-1110 syscall P0 in syscall.read; running 1110-1200 P0; waiting 1200-1300 select "select" in main.loop woken by 2 in main.send; runnable 1300-1400 select in main.loop`}},

		{"a goroutine that sits in a system call from the beginning holds no P", func(w *wire) {
			g := w.generation(1, 1000)
			g.thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1).ev(1300, wHeapAlloc, 1)
			g.thread(noM).ev(1200, wGoStatusStack, 5, 9, sSyscall, stk("syscall.Read", "os/signal.loop"))
		}, map[int64]string{5: "syscall-blocked 1010-1300 syscall in syscall.Read"}},

		{"one that its thread reports itself holds the thread's", func(w *wire) {
			g := w.generation(1, 1000)
			g.thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1).ev(1300, wHeapAlloc, 1)
			g.thread(2).ev(1003, wProcStatus, 1, pSyscall).ev(1004, wGoStatus, 5, 2, sSyscall).ev(1200, wSyscallEnd)
		}, map[int64]string{5: "syscall 1010-1200 syscall P1; running 1200-1300 P1"}},

		{"a late status covers the time before it", func(w *wire) {
			g := w.generation(1, 1000)
			g.thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1).
				ev(1500, wGoStatusStack, 2, noM, sWaiting, stk("runtime.gopark", "runtime.chanrecv", "runtime.chanrecv1", "main.consumer")).ev(1501, wGoUnblock, 2, 1, stk("main.producer")).
				ev(1600, wGoStatus, 3, noM, sRunnable).ev(1700, wHeapAlloc, 1)
			g.thread(2).runs(1400, 1, 4).ev(1402, wGoBlock, "sync", lock).ev(1650, wGoStart, 3, 1)
		}, map[int64]string{
			1: "running 1010-1700 P0",
			2: "waiting 1010-1501 chan-receive in runtime.chanrecv1 woken by 1 in main.producer; runnable 1501-1700 chan-receive in runtime.chanrecv1",
			3: "runnable 1010-1650 other; running 1650-1700 P1",
			4: `running 1010-1402 P1; waiting 1402-1700 mutex "sync" in sync.(*Mutex).Lock`,
		}},

		{"statuses of the next generation repeat what is known, and forget why", func(w *wire) {
			g := w.generation(1, 1000)
			g.thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1).ev(1100, wHeapAlloc, 1).ev(1950, wHeapAlloc, 1)
			g.thread(2).runs(1003, 1, 2).ev(1200, wGoBlock, "sync", lock).ev(1210, wProcStop)
			g = w.generation(2, 2000)
			g.thread(1).runs(2001, 0, 1).ev(2003, wProcStatus, 1, pIdle).ev(2004, wGoStatus, 2, noM, sWaiting).
				ev(2100, wGoUnblock, 2, 1, stk("sync.(*Mutex).Unlock", "main.main")).ev(2200, wHeapAlloc, 1)
			g = w.generation(3, 3000)
			g.thread(1).runs(3001, 0, 1).ev(3003, wProcStatus, 1, pIdle).ev(3004, wGoStatus, 2, noM, sRunnable).ev(3200, wGoStop, "runtime.Gosched", stk("main.main")).ev(3210, wGoStart, 2, 1).ev(3300, wHeapAlloc, 1)
		}, map[int64]string{
			1: `running 1010-3200 P0; runnable 3200-3300 yield "runtime.Gosched" in main.main`,
			2: `running 1010-1200 P1; waiting 1200-2100 mutex "sync" in sync.(*Mutex).Lock woken by 1 in sync.(*Mutex).Unlock; runnable 2100-3210 mutex in sync.(*Mutex).Lock; running 3210-3300 P0`,
		}},

		{"a system call goes on over generations with its P, and loses it later", func(w *wire) {
			g := w.generation(1, 1000)
			g.thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1).ev(1900, wSyscallBegin, 1, stk("syscall.read"))
			g.thread(2).runs(1003, 1, 2).ev(1950, wHeapAlloc, 1)
			g = w.generation(2, 2000)
			g.thread(1).ev(2001, wProcStatus, 0, pSyscall).ev(2002, wGoStatus, 1, 1, sSyscall).ev(2200, wSyscallEndBlocked)
			g.thread(2).runs(2003, 1, 2).ev(2100, wProcSteal, 0, 1, 1).ev(2300, wHeapAlloc, 1)
		}, map[int64]string{1: "running 1010-1900 P0; syscall 1900-2100 syscall P0 in syscall.read; syscall-blocked 2100-2200 syscall in syscall.read; runnable 2200-2300 syscall in syscall.read"}},

		{"a wait for an unknown reason", func(w *wire) {
			w.generation(1, 1000).thread(1).runs(1001, 0, 1).ev(1010, wGoBlock, "quantum entanglement", stk("main.f")).ev(1100, wHeapAlloc, 1)
		}, map[int64]string{1: `waiting 1010-1100 other "quantum entanglement" in main.f`}},

		{"birth and death", func(w *wire) {
			w.generation(1, 1000).thread(1).runs(1001, 0, 1).
				ev(1010, wGoCreate, 7, stk("main.worker"), stk("main.spawn", "main.main")).
				ev(1020, wGoBlock, "chan receive", stk("main.main")).ev(1030, wGoStart, 7, 1).
				ev(1040, wGoUnblock, 1, 1, stk("main.done", "main.worker")).ev(1050, wGoDestroy).ev(1060, wGoStart, 1, 2).ev(1100, wHeapAlloc, 1)
		}, map[int64]string{
			1: `running 1010-1020 P0; waiting 1020-1040 chan-receive "chan receive" in main.main woken by 7 in main.done; runnable 1040-1060 chan-receive in main.main; running 1060-1100 P0`,
			7: "runnable 1010-1030 created; running 1030-1050 P0",
		}},

		{"a coroutine", func(w *wire) {
			w.generation(1, 1000).thread(1).runs(1001, 0, 1).
				ev(1010, wGoCreateBlocked, 7, stk("runtime.corostart"), stk("iter.Pull")).
				ev(1020, wGoSwitch, 7, 1).ev(1050, wGoSwitch, 1, 1).ev(1070, wGoSwitch, 7, 2).ev(1090, wGoSwitchDestroy, 1, 2).ev(1100, wHeapAlloc, 1)
		}, map[int64]string{
			// A switch is three simultaneous events, which the Reader moves apart.
			1: "running 1010-1021 P0; waiting 1021-1050 coroutine woken by 7; runnable 1050-1052 coroutine; running 1052-1071 P0; waiting 1071-1090 coroutine woken by 7; runnable 1090-1092 coroutine; running 1092-1100 P0",
			7: "waiting 1010-1020 coroutine woken by 1; runnable 1020-1022 coroutine; running 1022-1051 P0; waiting 1051-1070 coroutine woken by 1; runnable 1070-1072 coroutine; running 1072-1091 P0",
		}},

		{"a thread of C calls Go and goes", func(w *wire) {
			g := w.generation(1, 1000)
			g.thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1).ev(1100, wGoBlock, "select", stk("main.main")).ev(1110, wProcStop)
			g.thread(2).ev(1120, wGoCreateSyscall, 7).ev(1130, wProcStart, 0, 1).ev(1140, wSyscallEndBlocked).ev(1150, wGoStart, 7, 1).
				ev(1200, wSyscallBegin, 2, stk("main.callback")).ev(1220, wGoDestroySyscall)
			g.thread(3).ev(1300, wGoUnblock, 1, 1, stk())
		}, map[int64]string{
			1: `running 1010-1100 P0; waiting 1100-1300 select "select" in main.main`,
			// The call loses its P, which the thread gives back.
			7: "syscall-blocked 1120-1140 c-thread; runnable 1140-1150 c-thread; running 1150-1200 P0; syscall 1200-1220 syscall P0 in main.callback; syscall-blocked 1220-1221 syscall in main.callback",
		}},

		{"five seconds in which nothing happens", func(w *wire) {
			w.generation(1, 1000).thread(1).runs(1001, 0, 1).ev(1010, wGoBlock, "sleep", stk("time.Sleep", "main.main")).
				ev(5_000_001_010, wGoUnblock, 1, 1, stk()).ev(25_000_001_010, wGoStart, 1, 2).ev(25_000_001_020, wHeapAlloc, 1)
		}, map[int64]string{1: `waiting 1010-5000001010 sleep "sleep" in time.Sleep; runnable 5000001010-25000001010 sleep in time.Sleep; running 25000001010-25000001020 P0`}},

		{"a P with a large number, and goroutines with large ones", func(w *wire) {
			g := w.generation(1, 1000)
			for i, p := range []uint64{1023, 1024, 40000} {
				m := g.thread(uint64(i)+1).runs(1001+uint64(2*i), p, 1<<40+p)
				m.ev(1010+uint64(i), wHeapAlloc, 1).ev(1100+uint64(i), wSyscallBegin, 1, stk("syscall.read")).ev(1200+uint64(i), wProcStop)
			}
		}, map[int64]string{
			1<<40 + 1023:  "running 1010-1100 P1023; syscall 1100-1200 syscall P1023 in syscall.read; syscall-blocked 1200-1202 syscall in syscall.read",
			1<<40 + 1024:  "running 1010-1101 P1024; syscall 1101-1201 syscall P1024 in syscall.read; syscall-blocked 1201-1202 syscall in syscall.read",
			1<<40 + 40000: "running 1010-1102 P40000; syscall 1102-1202 syscall P40000 in syscall.read",
		}},
	}
	for _, tt := range tests {
		for _, version := range []int{22, 23, 25, 26} {
			if version == 22 && (tt.what == "a coroutine" || strings.Contains(fmt.Sprint(tt.lives), "syscall.Read") || tt.what == "a late status covers the time before it") {
				continue // Go 1.22 has no coroutines, and no call chains in statuses
			}
			t.Run(fmt.Sprintf("%s, 1.%d", tt.what, version), func(t *testing.T) {
				w := newWire(version)
				tt.trace(w)
				fs := w.replay(t)
				for id, want := range tt.lives {
					if got := fs.life(id); got != want {
						t.Errorf("goroutine %d:\n got  %s\n want %s", id, got, want)
					}
				}
			})
		}
	}
}

// TestHandMadeRich: the seed of the fuzz targets is a valid trace in all versions.
func TestHandMadeRich(t *testing.T) {
	for _, version := range []int{22, 23, 25, 26} {
		check := newChecker()
		info := mustRead(t, handMade(version), Options{}, check)
		check.verify(t, info)
		if info.Generations != 2 || info.Inconsistent != 0 || info.Goroutines != 3 {
			t.Errorf("Go 1.%d: %+v", version, info)
		}
	}
}

// TestManyEvents: more events than a chunk of records holds.
func TestManyEvents(t *testing.T) {
	w := newWire(26)
	var lives [3]Time
	for gen := range uint64(2) {
		g := w.generation(gen+1, 1000+gen*1_000_000)
		base := g.base
		m := g.thread(1)
		for i := range uint64(3 * recordsPerChunk) {
			at := base + 10 + 10*i
			if i%3000 == 0 { // batches are at most 64 kB
				m = g.thread(1)
				if i == 0 {
					m.runs(base+1, 0, 1)
				}
			}
			if i%2 == 0 {
				m.ev(at, wGoStop, "runtime.Gosched", stk("main.main"))
			} else {
				m.ev(at, wGoStart, 1, i/2+1)
			}
		}
	}
	ts := newTimes()
	info := mustRead(t, w.bytes(), Options{}, ts)
	lives[1], lives[2] = ts.of[1][Runnable], ts.of[1][Running]
	n := Time(3 * recordsPerChunk)
	gap := Time(1_000_000) - 10*(n-1)
	if want := 2*10*(n/2-1) + 20; info.Generations != 2 || lives[1] != want || lives[2] != 2*10*(n/2-1)+gap {
		t.Errorf("%+v: runnable %d, want %d; running %d, want %d", info, lives[1], want, lives[2], 2*10*(n/2-1)+gap)
	}
}

// TestGap: a generation is missing. The part before it is shown.
func TestGap(t *testing.T) {
	for _, version := range []int{22, 26} {
		w := newWire(version)
		for _, n := range []uint64{4, 5, 7} {
			w.generation(n, 1000*n).thread(1).runs(1000*n+1, 0, 1).ev(1000*n+10, wHeapAlloc, 1).ev(1000*n+500, wHeapAlloc, 2)
		}
		check := newChecker()
		info, err := Read(t.Context(), strings.NewReader(string(w.bytes())), Options{Name: "x"}, check)
		check.verify(t, info)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), "generation 7 follows generation 5") || e.Generation != 3 {
			t.Errorf("Go 1.%d: %v", version, err)
		}
		if info.Generations != 2 || info.End != 5500 {
			t.Errorf("Go 1.%d: %+v", version, info)
		}
	}
}
