package speedup

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// Every component and every precedence between two of them, by hand, with two lanes and two
// processors unless stated otherwise.
func TestComponents(t *testing.T) {
	for _, tt := range []struct {
		what, run, want string
		n, procs        int
	}{
		{what: "perfect", run: "w 0 run; w 0 run; end 10", want: "run 20"},
		{what: "a mark assist", run: "w 0 run 4 assist 7 run; w 0 run; end 10", want: "run 17, gc-assist 3"},
		{what: "the collector stops the world, all lanes stand", run: "w 0 run; w 0 run; x 4 GC mark termination 6 go; end 10", want: "run 16, gc-stop-the-world 4"},
		{what: "the runtime stops the world", run: "w 0 run; w 0 run; x 4 read mem stats 7 go; end 10", want: "run 14, runtime-stop-the-world 6"},
		{what: "the collector's stop comes before the runtime's", run: "w 0 run; w 0 run; x 2 start trace 8 go; x 4 GC sweep termination 6 go; end 10", want: "run 8, gc-stop-the-world 4, runtime-stop-the-world 8"},
		{what: "a stopped world comes before a sequential part", run: "m 0 run; x 0 GC mark termination 4 go; end 10", want: "gc-stop-the-world 8, sequential 12"},
		{what: "a stopped world comes before waits", run: "w 0 run; w 0 mutex; x 2 GC mark termination 3 go; end 10", want: "run 9, gc-stop-the-world 2, sync-mutex 9"},
		{what: "a stopped world comes before lanes without workers", run: "w 0 run; w 0 run 5 exit; x 6 GC mark termination 8 go; end 10", want: "run 13, gc-stop-the-world 4, imbalance 3"},
		{what: "the range of a stopped world that began before the trace", run: "w 0 run; w 0 run; x 4 go; end 10", want: "run 20"},

		{what: "no worker lives", run: "m 0 run; w 6 run; w 6 run; end 10", want: "run 8, sequential 12"},
		{what: "no worker lives and nothing runs", run: "m 0 sleep; end 10", want: "sequential 20"},
		{what: "workers wait while main runs", run: "m 0 run 4 chan-send; w 0 chan-receive 4 run; w 0 chan-receive 4 run; end 10", want: "run 12, sequential 8"},
		{what: "workers wait while main is in a system call", run: "m 0 syscall 4 blocked; w 0 chan-receive 4 run; w 0 run 2 chan-receive 4 run; end 10", want: "run 14, sequential 4, sync-chan-receive 2"},
		{what: "workers wait while main waits, too", run: "m 0 sleep; w 0 chan-receive; w 0 mutex; end 10", want: "sync-mutex 10, sync-chan-receive 10"},
		{what: "workers wait while the collector runs: not sequential", run: "g 0 run; w 0 gc; w 0 gc; end 10", want: "gc-wait 20"},
		{what: "a worker that is ready is no sequential part", run: "m 0 run; w 0 ready; w 0 mutex; end 10", procs: 1, want: "sync-mutex 10, sched-application 10"},
		{what: "a worker in a system call with its P is no sequential part", run: "m 0 run; w 0 syscall; w 0 mutex; end 10", want: "sync-mutex 10, syscall 10"},
		{what: "one in a system call without is", run: "m 0 run; w 0 blocked; w 0 mutex; end 10", want: "sequential 20"},

		{what: "locks", run: "w 0 run; w 0 run 2 mutex 4 rwmutex-writer 6 rwmutex-reader 7 once 8 run; end 10", want: "run 14, sync-mutex 2, sync-rwmutex 3, sync-once 1"},
		{what: "other synchronization", run: "w 0 run; w 0 waitgroup 1 cond 3 chan-send 4 chan-receive 5 select 7 semaphore 8 coroutine 9 forever; end 10",
			want: "run 10, sync-waitgroup 1, sync-cond 2, sync-chan-send 1, sync-chan-receive 1, sync-select 2, sync-semaphore 1, sync-other 2"},
		{what: "a wait for an unknown reason", run: "w 0 run; w 0 other; end 10", want: "run 10, sync-other 10"},
		{what: "network, sleep, system calls", run: "w 0 run; w 0 network 3 sleep 5 blocked 6 syscall; end 10", want: "run 10, io-network 3, io-sleep 2, io-syscall 1, syscall 4"},
		{what: "the collector makes a worker wait", run: "w 0 run; w 0 gc; end 10", want: "run 10, gc-wait 10"},
		{what: "the runtime suspends a worker", run: "w 0 run; w 0 runtime; end 10", want: "run 10, runtime-wait 10"},

		{what: "imbalance: a lane is done while the other goes on", run: "w 0 run 4 exit; w 0 run; end 10", want: "run 14, imbalance 6"},
		{what: "spawn: a lane begins late", run: "w 0 run; w 3 run; end 10", want: "run 17, spawn 3"},
		{what: "a worker between two generations of them: after the peak, it is imbalance", run: "w 0 run 4 exit; w 0 run; w 6 run; end 10", want: "run 18, imbalance 2"},
		{what: "a goroutine an item: neither spawn nor imbalance", run: "w 0 run 4 exit; w 1 run 3 exit; w 4 run 8 exit; w 5 run 9 exit; w 9 run; end 10",
			want: "run 15, no-worker 5"},
		{what: "the run never has as many workers as lanes: after its own peak", n: 4, run: "w 0 run; w 2 run; w 4 run 8 exit; end 10", procs: 4, want: "run 22, imbalance 8, spawn 10"},
		{what: "a sequential part in the middle is neither", run: "w 0 run 3 exit; w 0 run 3 exit; m 3 run 5 waitgroup; w 5 run; w 5 run; end 10", want: "run 16, sequential 4"},

		{what: "ready after a wait, and a processor is free: the wait's", run: "w 0 run; w 0 mutex 3 ready 6 run; end 10", want: "run 14, sync-mutex 6"},
		{what: "ready after a wait, and others run", run: "w 0 run; w 0 mutex 2 ready 8 run; m 0 run 8 sleep; end 10", want: "run 12, sync-mutex 2, sched-application 6"},
		{what: "ready after it was preempted", run: "w 0 run; w 0 run 3 ready 6 run; end 10", want: "run 17, sched-wakeup 3"},
		{what: "ready, and a processor is free", run: "w 0 run; w 0 ready 3 run; end 10", want: "run 17, sched-wakeup 3"},
		{what: "ready, but the collector has the processor", run: "g 0 run 3 gc; w 0 run; w 0 ready 3 run; end 10", want: "run 17, gc-workers 3"},
		{what: "ready, but the tracer has the processor", run: "t 0 run 3 runtime; w 0 run; w 0 ready 3 run; end 10", want: "run 17, sched-runtime 3"},
		{what: "ready, but the runtime has the processor", run: "r 0 run 3 runtime; w 0 run; w 0 ready 3 run; end 10", want: "run 17, sched-runtime 3"},
		{what: "ready, but main has the processor", run: "m 0 run 3 sleep; w 0 run; w 0 ready 3 run; end 10", want: "run 17, sched-application 3"},
		{what: "ready, but another worker has the processor", run: "w 0 run; w 0 ready 5 run; end 10", procs: 1, want: "run 15, sched-workers 5"},
		{what: "two are ready, one processor is free", n: 3, procs: 3, run: "w 0 run; w 0 ready; w 0 ready; m 0 run; end 10", want: "run 10, sched-application 10, sched-wakeup 10"},
		{what: "three are ready: the collector, the runtime and main have a processor each", n: 4, procs: 4, run: "w 0 run; w 0 ready; w 0 ready; w 0 ready; g 0 run; t 0 run; m 0 run; end 10",
			want: "run 10, gc-workers 10, sched-application 10, sched-runtime 10"},
		{what: "one is ready: the collector comes before the runtime and main", n: 2, procs: 4, run: "w 0 run; w 0 ready; g 0 run; t 0 run; m 0 run; end 10", want: "run 10, gc-workers 10"},
		{what: "one is ready: the runtime comes before main", n: 2, procs: 3, run: "w 0 run; w 0 ready; t 0 run; m 0 run; end 10", want: "run 10, sched-runtime 10"},
		{what: "GOMAXPROCS is not known, and something runs", procs: -1, run: "w 0 run; w 0 ready; end 10", want: "run 10, sched-workers 10"},
		{what: "GOMAXPROCS is not known, and nothing runs", procs: -1, run: "w 0 ready; w 0 ready; end 10", want: "sched-wakeup 20"},

		{what: "more workers than lanes and processors: those that run fill the lanes", run: "w 0 run; w 0 run; w 0 ready; w 0 mutex; end 10", want: "run 20"},
		{what: "more workers than lanes: the waiting ones share what is left", run: "w 0 run; w 0 mutex; w 0 network; end 10", want: "run 10, sync-mutex 5, io-network 5"},
		{what: "more workers on processors than lanes: they share the lanes", n: 2, procs: 4, run: "w 0 run; w 0 run; w 0 run; w 0 syscall; w 0 mutex; end 10", want: "run 15, syscall 5"},
		{what: "three share a lane for a time that three does not divide", run: "w 0 run; w 0 mutex; w 0 network; w 0 select; end 10", want: "run 10, sync-mutex 4, sync-select 3, io-network 3"},
		{what: "one processor, which the collector has: not other workers", n: 1, procs: 1, run: "g 0 run; w 0 ready; w 0 ready; w 0 mutex; end 10", want: "gc-workers 10"},
		{what: "one processor, which main has: neither other workers nor locks", n: 1, procs: 1, run: "m 0 run; w 0 ready; w 0 ready; w 0 mutex; end 10", want: "sched-application 10"},
		{what: "one of two processors is free: wake-ups, not other workers", run: "w 0 run; w 0 ready; w 0 ready; w 0 ready; end 10", want: "run 10, sched-wakeup 10"},
		{what: "more lanes than processors: other workers keep one", n: 3, run: "w 0 run; w 0 ready; w 0 ready; w 0 ready; end 12", want: "run 12, sched-workers 12, sched-wakeup 12"},
		{what: "one lane, as in a single-threaded run", n: 1, procs: 1, run: "w 0 run 5 ready; w 0 ready 5 run; end 10", want: "run 10"},
	} {
		if tt.n == 0 {
			tt.n = 2
		}
		if tt.procs == 0 {
			tt.procs = 2
		}
		a := accountOf(t, tt.run, max(0, tt.procs), Options{N: tt.n})
		if got := inWords(a); got != tt.want {
			t.Errorf("%s:\n\t%s\n\t got %s\n\twant %s", tt.what, tt.run, got, tt.want)
		}
		for _, window := range []time.Duration{1, 3, 7, 100} { // cutting only changes which lane gets a rounded nanosecond
			b := accountOf(t, tt.run, max(0, tt.procs), Options{N: tt.n, Window: window})
			if len(b.Windows) != int((a.Wall+window-1)/window) {
				t.Errorf("%s: %d windows of %d ns in %d", tt.what, len(b.Windows), window, a.Wall)
			}
			for c := range a.Time {
				if d := a.Time[c] - b.Time[c]; d.Abs() > time.Duration(len(b.Windows)) || d != 0 && tt.what[:4] != "thre" && tt.what[:4] != "more" {
					t.Errorf("%s: windows of %d: %v is %d, without windows %d", tt.what, window, Component(c), b.Time[c], a.Time[c])
				}
			}
		}
	}
}

// Equation 7 of the paper: without synchronization, and without exits in the single-threaded run,
// imbalance is Σ (T_p − exit_i) / T_p, and the speed-up is N minus imbalance minus
// synchronization.
func TestEquation7(t *testing.T) {
	const tp = 100
	for _, exits := range [][]int{{100, 25}, {100, 75, 50, 25}, {100, 100, 1}, {100}} {
		run, work, missing := "", 0, 0
		for _, e := range exits {
			run += fmt.Sprintf("w 0 run %d exit;", e)
			work += e
			missing += tp - e
		}
		n := len(exits)
		multi := accountOf(t, run+fmt.Sprintf("end %d", tp), n, Options{N: n})
		single := accountOf(t, fmt.Sprintf("w 0 run; end %d", work), 1, Options{N: 1})
		s := newStack(single, multi)
		checkStack(t, s)
		if want := float64(missing) / tp; s.Components[Imbalance] != want || s.Remainder != 0 {
			t.Errorf("exits at %v: imbalance %v, remainder %v, want %v and 0", exits, s.Components[Imbalance], s.Remainder, want)
		}
		if want := float64(work) / tp; s.Speedup != want {
			t.Errorf("exits at %v: speed-up %v, want %v", exits, s.Speedup, want)
		}
	}
}

// The known answers of programs with one delimiter each.
func TestKnownAnswers(t *testing.T) {
	for _, tt := range []struct {
		what, single, multi string
		component           Component
		want                string
	}{
		{"half is sequential", "m 0 run 60 waitgroup; w 60 run; end 120", "m 0 run 60 waitgroup; w 60 run; w 60 run; end 90", Sequential, "1.333 0.667"},
		{"a 3:1 split", "w 0 run; end 400", "w 0 run; w 0 run 100 exit; end 300", Imbalance, "1.333 0.667"},
		{"80 % under one mutex", "w 0 run; end 100", "w 0 run 80 mutex; w 0 mutex 20 run 80 mutex; end 80", SyncMutex, "1.250 0.250"},
		{"the collector stops the world as long for both", "w 0 run 90 run; x 90 GC mark termination 100 go; end 100", "w 0 run; w 0 run; x 45 GC mark termination 55 go; end 55", GCStopTheWorld, "1.818 0.182"},
		{"the single-threaded run waits for the network, too", "w 0 run 50 network; end 100", "w 0 run 25 network; w 0 run 25 network; end 75", IONetwork, "1.333 0.667"},
		{"waiting for the network at the same time helps", "w 0 run 50 network; end 100", "w 0 run 25 network; w 0 run 25 network; end 50", IONetwork, "2.000 0.000"},
		{"a component that was there only for one: negative", "w 0 run 60 mutex; end 100", "w 0 run; w 0 run; end 40", SyncMutex, "2.500 -1.000"},
	} {
		single := accountOf(t, tt.single, 1, Options{N: 1})
		multi := accountOf(t, tt.multi, 2, Options{N: 2})
		s := newStack(single, multi)
		checkStack(t, s)
		if got := fmt.Sprintf("%.3f %.3f", s.Speedup, s.Components[tt.component]); got != tt.want {
			t.Errorf("%s: speed-up and %v are %s, want %s", tt.what, tt.component, got, tt.want)
		}
	}
}

// Sharing lanes loses no time, however often the shares change.
func TestSharingLanesLosesNoTime(t *testing.T) {
	var p purse
	var carry int64
	const times = 200_000
	for i := range int64(times) {
		k := 2 + i%5
		p.share(&carry, 1, 1, k, []part{{SyncMutex, 1}, {IONetwork, k - 1}})
	}
	sum := carry
	for c := range p.ns {
		sum += p.ns[c]<<fracBits + p.frac[c]
	}
	if sum != times<<fracBits {
		t.Errorf("%d nanoseconds in 2^-16, want %d", sum, int64(times)<<fracBits)
	}
	var a account
	p.empty(&a.Time, times)
	if got := inWords(&a); got != "sync-mutex 58000, io-network 142000" { // a fifth each of 1/2, 1/3, 1/4, 1/5, 1/6
		t.Error(got)
	}
}

// With windows longer than any trace, there is one.
func TestVeryLongWindows(t *testing.T) {
	for _, window := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1000, math.MaxInt64 / 2} {
		o := newObserver(Options{N: 1, Window: window})
		o.Begin(5000, 0)
		o.End(6000)
		if a := o.Account(); a.Wall != 1000 || len(a.Windows) != 1 || a.Windows[0].Wall != 1000 {
			t.Errorf("%v: %d windows of %v", window, len(a.Windows), a.Wall)
		}
	}
}
