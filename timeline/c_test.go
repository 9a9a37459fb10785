package timeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// cRule checks every instant of a pass against the rule of c.go, by looking at all goroutines:
// among those in C without a P, as many count as running as there are free processors, namely those
// that entered last.
type cRule struct {
	Base
	procs    uint64
	now      Time
	onProc   map[int64]bool
	detached []int64 // in order of entering
	state    map[int64]State
	seen     [numStates]int // transitions to each state
	failures []string
}

func (c *cRule) at(t Time) {
	if t == c.now {
		return // in the middle of the events of an instant
	}
	c.now = t
	want := min(len(c.detached), max(0, int(max(c.procs, 1))-len(c.onProc)))
	for i, id := range c.detached {
		if counts := i >= len(c.detached)-want; counts != (c.state[id] == InCDetached) {
			c.failures = append(c.failures, fmt.Sprintf("before %d, with GOMAXPROCS %d and %d on a P: goroutine %d, which is number %d of %d in C, is %v",
				t, c.procs, len(c.onProc), id, i+1, len(c.detached), c.state[id]))
		}
	}
}

func (c *cRule) Transition(tr *Transition) {
	c.at(tr.End)
	id := tr.G.ID
	if c.state == nil {
		c.onProc, c.state = map[int64]bool{}, map[int64]State{}
	}
	c.state[id] = tr.To
	c.seen[tr.To]++
	delete(c.onProc, id)
	if tr.To.OnProc() {
		c.onProc[id] = true
	}
	was, is := tr.State == InCDetached || tr.State == InCUncounted, tr.To == InCDetached || tr.To == InCUncounted
	if was && !is {
		c.detached = slices.DeleteFunc(c.detached, func(d int64) bool { return d == id })
	}
	if is && !was {
		c.detached = append(c.detached, id)
	}
	if tr.State.IsC() != (tr.Wait == WaitC) && tr.State != Runnable {
		c.failures = append(c.failures, fmt.Sprintf("goroutine %d: %v, waits for %v", id, tr.State, tr.Wait))
	}
}

func (c *cRule) Metric(t Time, name string, value uint64, _ bool) {
	c.at(t)
	if name == "/sched/gomaxprocs:threads" {
		c.procs = value
	}
}

func (c *cRule) report(t *testing.T) {
	t.Helper()
	for _, f := range c.failures[:min(5, len(c.failures))] {
		t.Error(f)
	}
}

// TestCCountsAsRunningWhereAProcessorIsFree replays random lives of goroutines.
func TestCCountsAsRunningWhereAProcessorIsFree(t *testing.T) {
	var seen [numStates]int
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0xc))
		rule := &cRule{}
		r := newReplay(26, newStackTable(), []Observer{rule})
		r.begin(0)
		live, ids := []*Goroutine{}, int64(0)
		for now := Time(0); now < 400; now += Time(rng.IntN(3)) {
			switch rng.IntN(8) {
			case 0:
				r.gomaxprocs = uint64(1 + rng.IntN(6))
				rule.Metric(now, "/sched/gomaxprocs:threads", r.gomaxprocs, false)
				r.balance(now)
			case 1:
				ids++
				g := r.add(ids)
				g.cur.state = NotExist
				live = append(live, g)
			}
			if len(live) == 0 {
				continue
			}
			i := rng.IntN(len(live))
			cur := interval{since: now, proc: -1, thread: -1}
			cur.state = []State{Running, Runnable, Waiting, Syscall, SyscallBlocked, InC, InCDetached, InCDetached, InCDetached, NotExist}[rng.IntN(10)]
			if live[i].cur.state.detached() && cur.state == InCDetached {
				continue
			}
			if cur.state.IsC() {
				cur.wait = WaitC
			}
			r.change(live[i], &cur, nil, nil)
			if cur.state == NotExist {
				r.gs.remove(live[i].ID)
				live = slices.Delete(live, i, i+1)
			}
		}
		r.now = 1000
		rule.at(1000)
		r.end()
		rule.report(t)
		if d := &r.detached; len(d.list) > 0 || d.counted != 0 || d.onProc != 0 {
			t.Errorf("seed %d: at the end the list is %+v", seed, r.detached)
		}
		for s, n := range rule.seen {
			seen[s] += n
		}
	}
	for _, s := range []State{InC, InCDetached, InCUncounted} {
		if seen[s] < 500 {
			t.Errorf("%v: only %d times", s, seen[s])
		}
	}
}

// TestTimeInCIsAState: system calls whose stack ends in a stub of cgo, in words.
func TestTimeInCIsAState(t *testing.T) {
	call := stk("main._Cfunc_compute", "main.work")
	for _, tt := range []struct {
		what  string
		trace func(w *wire)
		lives map[int64]string
	}{
		{"a short call keeps its P", func(w *wire) {
			w.generation(1, 1000).thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1).ev(1100, wSyscallBegin, 1, call).ev(1200, wSyscallEnd).ev(1300, wHeapAlloc, 1)
		}, map[int64]string{1: "running 1010-1100 P0; in-c 1100-1200 in-c P0 in main._Cfunc_compute; running 1200-1300 P0"}},

		{"a long one loses it, and goes on", func(w *wire) {
			w.generation(1, 1000).thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1).ev(1100, wSyscallBegin, 1, call).ev(1150, wProcStop).
				ev(1200, wProcStart, 0, 2).ev(1210, wSyscallEndBlocked).ev(1220, wGoStart, 1, 1).ev(1300, wHeapAlloc, 1)
		}, map[int64]string{1: "running 1010-1100 P0; in-c 1100-1150 in-c P0 in main._Cfunc_compute; in-c-detached 1150-1210 in-c in main._Cfunc_compute; runnable 1210-1220 in-c in main._Cfunc_compute; running 1220-1300 P0"}},

		{"with GOMAXPROCS 1, it does not count while another runs", func(w *wire) {
			g := w.generation(1, 1000)
			a := g.thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1).ev(1100, wSyscallBegin, 1, call)
			g.thread(2).ev(1150, wProcSteal, 0, 2, 1).ev(1160, wProcStart, 0, 3).ev(1161, wGoStatus, 2, noM, sRunnable).ev(1170, wGoStart, 2, 1).ev(1190, wGoBlock, "select", stk("main.other")).ev(1195, wProcStop)
			a.ev(1200, wSyscallEndBlocked).ev(1210, wProcStart, 0, 4).ev(1220, wGoStart, 1, 1).ev(1300, wHeapAlloc, 1)
		}, map[int64]string{1: "running 1010-1100 P0; in-c 1100-1150 in-c P0 in main._Cfunc_compute; in-c-detached 1150-1170 in-c in main._Cfunc_compute; in-c-uncounted 1170-1190 in-c in main._Cfunc_compute; " +
			"in-c-detached 1190-1200 in-c in main._Cfunc_compute; runnable 1200-1220 in-c in main._Cfunc_compute; running 1220-1300 P0"}},

		{"one that lasts longer than the trace is known by its status", func(w *wire) {
			g := w.generation(1, 1000)
			g.thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1).ev(1100, wGoBlock, "select", stk("main.main")).ev(1110, wProcStop)
			g.thread(noM).ev(1200, wGoStatusStack, 5, 9, sSyscall, stk("runtime.cgocall", "main._Cfunc_compute", "main.work"))
		}, map[int64]string{5: "in-c-uncounted 1010-1100 in-c in runtime.cgocall; in-c-detached 1100-1110 in-c in runtime.cgocall"}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			for _, version := range []int{23, 26} {
				w := newWire(version)
				tt.trace(w)
				fs := w.replay(t)
				for id, want := range tt.lives {
					if got := fs.life(id); got != want {
						t.Errorf("Go 1.%d: goroutine %d:\n got  %s\n want %s", version, id, got, want)
					}
				}
			}
		})
	}
}

// TestCOfRecordedTraces: the rule holds at every instant, and the pass reports that there was C.
func TestCOfRecordedTraces(t *testing.T) {
	for _, c := range corpus(t) {
		if c.real {
			continue
		}
		rule := &cRule{}
		info := mustRead(t, c.data, Options{Name: c.name}, rule)
		rule.report(t)
		inC := rule.seen[InC] > 0
		if inC != (info.InC > 0) || inC != (info.GoroutinesInC > 0) || inC != slices.Contains(info.Notes, info.NoteC()) || inC != slices.Contains([]string{"cgo-go1.26.8.trace", "cgocalls-go1.26.8.trace"}, c.name) {
			t.Errorf("%s: %v in C, seen: %v, notes: %q", c.name, info.InC, rule.seen, info.Notes)
		}
	}
}

func TestSite(t *testing.T) {
	frame := func(fn, file string) *Frame { return &Frame{Func: fn, File: file} }
	for _, tt := range []struct {
		want   string
		frames []*Frame
	}{
		{"main.work", []*Frame{frame("sync.(*Mutex).Lock", "/go/src/sync/mutex.go"), frame("main.work", "/home/x/main.go")}},
		{"main.work", []*Frame{frame("github.com/mattn/go-sqlite3._Cfunc_sqlite3_step", "_cgo_gotypes.go"), frame("main.work", "/home/x/main.go")}},
		{"example.com/db.(*Conn).Read", []*Frame{frame("syscall.read", ""), frame("os.(*File).Read", "/go/src/os/file.go"), frame("example.com/db.(*Conn).Read", "db.go"), frame("main.main", "")}},
		{"main.work", []*Frame{frame("internal/sync.(*Mutex).Lock", ""), frame("github.com/bottleneck-go/bottleneck/contention.(*Mutex).Lock", ""), frame("main.work", "")}},
		{"runtime.gopark", []*Frame{frame("runtime.gopark", ""), frame("runtime.bgsweep", "")}},
		// A worker of a launcher waits for tasks.
		{"github.com/sourcegraph/conc/pool.(*Pool).worker", []*Frame{frame("runtime.chanrecv2", ""), frame("github.com/sourcegraph/conc/pool.(*Pool).worker", ""), frame("github.com/sourcegraph/conc.(*WaitGroup).Go.func1", "")}},
		// A benchmark of a launcher is the program.
		{"github.com/sourcegraph/conc/stream.BenchmarkStream", []*Frame{frame("runtime.chansend1", ""), frame("github.com/sourcegraph/conc/stream.(*Stream).Go", "/src/conc/stream/stream.go"), frame("github.com/sourcegraph/conc/stream.BenchmarkStream", "/src/conc/stream/stream_test.go"), frame("testing.(*B).runN", "")}},
		// What marks the tasks of a pool is not the program.
		{"github.com/panjf2000/ants/v2.(*Pool).Submit", []*Frame{frame("runtime.mallocgc", ""), frame("github.com/panjf2000/ants/v2.bottleneckTask[...]", "/src/ants/bottleneck.go"), frame("github.com/panjf2000/ants/v2.(*Pool).Submit", "/src/ants/pool.go")}},
		// The benchmarks of the standard library count as the program.
		{"encoding/json.BenchmarkDecode", []*Frame{frame("encoding/json.(*Decoder).Decode", "/go/src/encoding/json/stream.go"), frame("encoding/json.BenchmarkDecode", "/go/src/encoding/json/bench_test.go"), frame("testing.(*B).runN", "/go/src/testing/benchmark.go")}},
	} {
		if got := siteOf(tt.frames).Func; got != tt.want {
			t.Errorf("%v: %s", tt.want, got)
		}
	}
	if (*Stack)(nil).Site() != nil {
		t.Error("nil has a site")
	}
}

func TestCallsC(t *testing.T) {
	for fn, want := range map[string]bool{
		"main._Cfunc_compute": true, "github.com/mattn/go-sqlite3._Cfunc_sqlite3_step": true, "net._C2func_getaddrinfo": true,
		"github.com/ebitengine/purego.SyscallN": true,
		"syscall.read":                          false, "main.Cfunc": false, "os.(*File).Read": false, "internal/runtime/syscall.Syscall6": false,
	} {
		for _, frames := range [][]*Frame{{{Func: fn}, {Func: "main.main"}}, {{Func: "runtime.cgocall"}, {Func: fn}}} {
			if callsC(frames) != want {
				t.Errorf("%s: %v", fn, !want)
			}
		}
	}
}

// TestSiteInTheStandardLibrary: a goroutine of net/http alone waits in net/http, not in the
// runtime.
func TestSiteInTheStandardLibrary(t *testing.T) {
	for _, c := range []struct {
		want  string
		chain []string
	}{
		{"net/http.(*persistConn).writeLoop", []string{"runtime.selectgo", "net/http.(*persistConn).writeLoop"}},
		{"net/http.(*connReader).Read", []string{"internal/poll.(*FD).Read", "net.(*netFD).Read", "net.(*conn).Read", "net/http.(*connReader).Read", "bufio.(*Reader).fill", "net/http.(*conn).serve"}},
		{"testing.(*B).run1", []string{"runtime.chanrecv1", "testing.(*B).run1", "testing.(*B).Run"}},
		{"testing.(*B).StopTimer", []string{"runtime.ReadMemStats", "testing.(*B).StopTimer", "testing.(*B).runN", "testing.(*M).Run", "main.TestMain"}},
		{"main.get", []string{"sync.(*Mutex).Lock", "encoding/json.(*Encoder).Encode", "main.get"}},
		{"runtime.gopark", []string{"runtime.gopark", "runtime.bgsweep"}},
	} {
		var frames []*Frame
		for _, f := range c.chain {
			frames = append(frames, &Frame{Func: f})
		}
		if got := siteOf(frames).Func; got != c.want {
			t.Errorf("%q: %s, want %s", c.chain, got, c.want)
		}
	}
}

// TestThreadsOfCAreNamedByWhatTheyCall: their name is the exported function, if there is one, and
// they belong to the program.
func TestThreadsOfCAreNamedByWhatTheyCall(t *testing.T) {
	calls := func(fn string) []string {
		return stk("time.Sleep", "main.work", fn, "_cgoexp_7607939f7577_"+fn, "runtime.cgocallbackg1", "runtime.cgocallbackg", "runtime.cgocallback")
	}
	for _, tt := range []struct {
		what, want string
		blocks     [][]string
	}{
		{"one function", "main.onEvent", [][]string{calls("main.onEvent"), calls("main.onEvent")}},
		{"two functions", "C thread", [][]string{calls("main.onEvent"), calls("main.onClose")}},
		{"a short call, which leaves no call chain", "C thread", nil},
	} {
		w := newWire(26)
		g := w.generation(1, 1000)
		g.thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1).ev(1100, wGoBlock, "select", stk("main.main")).ev(1110, wProcStop)
		m := g.thread(2).ev(1120, wGoCreateSyscall, 7).ev(1130, wProcStart, 0, 1).ev(1140, wSyscallEndBlocked).ev(1150, wGoStart, 7, 1)
		seq := 1
		for i, b := range tt.blocks {
			at := uint64(1200 + 100*i)
			m.ev(at, wGoBlock, "sleep", b).ev(at+10, wGoUnblock, 7, seq+1, stk()).ev(at+20, wGoStart, 7, seq+2)
			seq += 2
		}
		m.ev(1500, wSyscallBegin, 2, stk()).ev(1520, wGoDestroySyscall)
		fs := w.replay(t)
		if got := fs.born[7].Func; got != tt.want {
			t.Errorf("%s: born as %q, want %q", tt.what, got, tt.want)
		}
		if len(fs.named) > 0 {
			t.Errorf("%s: named later: %q", tt.what, fs.named)
		}
	}
	if k := kindOf("runtime.cgocallback"); k != Application {
		t.Errorf("a thread of C is of the kind %v", k)
	}
}

// TestCallsWithoutACallChainMayBeC: the uncertainty is reported, unless the program has no C.
func TestCallsWithoutACallChainMayBeC(t *testing.T) {
	for _, fn := range []string{"main._Cfunc_compute", "syscall.write"} {
		w := newWire(26)
		g := w.generation(1, 1000)
		g.thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1).ev(1100, wSyscallBegin, 1, stk(fn, "main.work")).ev(1200, wSyscallEnd)
		g.thread(2).ev(1150, wGoStatus, 5, 2, sSyscall).ev(1151, wSyscallEndBlocked)
		info := mustRead(t, w.bytes(), Options{}, newChecker())
		noted := slices.ContainsFunc(info.Notes, func(n string) bool { return strings.Contains(n, "in a system call or in C code for 14") })
		if noted != (info.InC > 0) || noted != strings.Contains(fn, "_Cfunc_") {
			t.Errorf("%s: %q", fn, info.Notes)
		}
	}
}
