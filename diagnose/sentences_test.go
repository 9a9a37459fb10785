package diagnose_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

func placeOf(fn string, line int) timeline.Place {
	return timeline.Place{Func: fn, File: "/src/main.go", Line: line}
}

func stackOf(frames ...any) *contention.Stack { // functions and their lines, innermost first
	s := &contention.Stack{}
	for i := 0; i < len(frames); i += 2 {
		s.Frames = append(s.Frames, contention.Frame{Func: frames[i].(string), File: "/src/main.go", Line: frames[i+1].(int)})
	}
	return s
}

// made is a ledger of two processors and one second. Code of main.work fills what its rows leave.
type made struct {
	rows     []ledger.Row
	change   func(*diagnose.Results)
	boxes    []bottle.Box
	waits    []contention.Wait
	pairs    []contention.Wait
	sentence string
	advice   string // if several cases have the sentence; else that of adviceOf
}

func (m *made) results(t *testing.T) diagnose.Results {
	l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Queued: time.Second}
	lock := &contention.Lock{ID: 1, Class: "main.table"}
	for i := range m.waits {
		if m.waits[i].Kind == contention.MutexKind {
			m.waits[i].Lock = lock
		}
	}
	for i := range m.pairs {
		if m.pairs[i].Kind == contention.MutexKind {
			m.pairs[i].Lock = lock
		}
	}
	r := diagnose.Results{
		Ledger: l, Graph: &bottle.Graph{Wall: l.Wall, Boxes: m.boxes},
		Contention: &contention.Profile{Duration: l.Wall, Waits: m.waits, Pairs: m.pairs, Locks: []*contention.Lock{lock}},
	}
	if m.change != nil {
		m.change(&r)
	}
	rest := l.Capacity
	for _, row := range m.rows {
		rest -= row.Time
	}
	if l.Rows = m.rows; rest > 0 {
		l.Rows = append(l.Rows, ledger.Row{Category: ledger.Code, Group: "main.work", Site: placeOf("main.work", 7), Time: rest, Count: 9})
	}
	if err := l.CheckValid(); err != nil {
		t.Fatal(m.sentence, err)
	}
	return r
}

// Every sentence of a finding, and every advice, appears here in full.
func TestSentences(t *testing.T) {
	const ms = time.Millisecond
	idle := func(c string, wait, beside string, t time.Duration) ledger.Row {
		return ledger.Row{Category: c, Group: "main.take", Site: placeOf("main.take", 3), Wait: wait, Beside: beside, Time: t, Count: 9}
	}
	called := func(r ledger.Row, call string) ledger.Row {
		r.Call = call
		return r
	}
	calls := func(site timeline.Place, t time.Duration) ledger.Row {
		return ledger.Row{Category: ledger.Syscall, Group: "main.serve", Site: site, Time: t, Count: int64(t / time.Microsecond)}
	}
	one := func(r *diagnose.Results) { // processor, that many wait for
		r.Ledger.Procs, r.Ledger.Capacity, r.Ledger.Queue, r.Ledger.Queued = 1, time.Second, 2*time.Second, time.Second
		r.Ledger.Offered = []time.Duration{0, 0, 0, time.Second}
	}
	queue := func(r *diagnose.Results) {
		r.Ledger.Queue, r.Ledger.Queued, r.Ledger.Offered = 3*time.Second, time.Second, []time.Duration{0, 0, 0, 0, 0, time.Second}
	}
	box := func(group string, n int, ran time.Duration, parallel float64) bottle.Box {
		return bottle.Box{Kind: bottle.Application, Group: group, Goroutines: n, Running: ran, Runnable: 3 * time.Second, SelfParallelism: parallel}
	}
	wait := func(kind string, stack *contention.Stack) contention.Wait {
		return contention.Wait{Kind: kind, Waiter: contention.Party{Group: "main.take", Stack: stack}, Contentions: 9, Parks: 9}
	}
	locked := func(waited, ready time.Duration) []contention.Wait {
		w := wait(contention.MutexKind, stackOf("main.take", 3, "main.loop", 20))
		w.Waited, w.Ready = waited, ready
		return []contention.Wait{w}
	}
	code := func(fn string, line int, t time.Duration, callers ...timeline.Place) ledger.Row {
		return ledger.Row{Category: ledger.Code, Group: "main.loop", Site: placeOf(fn, line), Callers: callers, Time: t, Count: 9}
	}
	alone := func(fn string, t time.Duration) ledger.Row {
		return ledger.Row{Category: ledger.Idle, Group: "main.main", Site: placeOf("main.main", 30), Wait: "waitgroup", Waker: fn, Beside: fn, Time: t, Count: 9}
	}
	besideLock := alone("main.take", 400*ms)
	besideLock.Locked = 300 * ms // others of main.take wait for a lock while one runs
	lockRow := func(c string, t time.Duration) ledger.Row {
		r := idle(c, "mutex", ledger.None, t)
		r.Waker, r.WakerSite = "main.take", placeOf("main.take", 9)
		return r
	}
	turn := func(waits, runs string, t time.Duration) ledger.Row {
		return ledger.Row{Category: ledger.Idle, Group: waits, Site: placeOf(waits, 3), Wait: "cond", Waker: runs, WakerSite: placeOf(runs, 5), Beside: runs, Time: t, Count: 9}
	}
	often := func(r ledger.Row, n int64) ledger.Row {
		r.Count = n
		return r
	}
	pulls := func(waits, runs string) ledger.Row {
		r := turn(waits, runs, 450*ms)
		r.Wait = "coroutine"
		return r
	}
	broadcast := func(t time.Duration) ledger.Row {
		r := turn("main.take", "main.work", t)
		r.All = true
		return r
	}
	sender := contention.Party{Group: "main.take", Stack: stackOf("main.take", 3)}
	ticks := ledger.Row{Category: ledger.Idle, Beside: "main.work", Time: 300 * ms, Count: 9}
	fileLock := []ledger.Row{{Category: ledger.Syscall, Group: "main.serve", Site: placeOf("main.take", 3), Callee: "syscall.Flock", Time: 200 * ms, Count: 9},
		{Category: ledger.Outside, Group: "main.serve", Site: placeOf("main.save", 6), Wait: "sleep", Beside: ledger.None, Time: 1200 * ms, Count: 99}}
	asks := idle(ledger.Scheduler, "yield", "", ms)
	asks.Callee = "runtime.GC"
	handOver := "Handing over: processors were idle for 50% of the capacity until goroutines ran that others had woken (9 times), most for main.take (50%)"
	tasks := func(sizes ...uint64) func(r *diagnose.Results) {
		return func(r *diagnose.Results) {
			c := granularity.Class{Name: "load", ActiveShare: 1}
			for i := 0; i < len(sizes); i += 2 {
				c.Tasks += sizes[i]
				c.RunningNS.AddN(sizes[i+1], sizes[i])
				c.WallNS.AddN(sizes[i+1], sizes[i])
			}
			r.Tasks = &granularity.Profile{Source: granularity.SourceTrace, Of: granularity.OfRegions, Classes: []granularity.Class{c}, Wall: time.Second, Procs: 2, Run: granularity.Sample{Wall: time.Second, Utilization: 0.6}}
		}
	}
	stages := func(slow time.Duration) func(r *diagnose.Results) { // of one function, started at lines 61 to 63
		return func(r *diagnose.Results) {
			c := granularity.Class{Name: "main.work", Tasks: 3}
			for i, ran := range []time.Duration{(time.Second - slow) / 2, slow, (time.Second - slow) / 2} {
				s := granularity.Site{Tasks: 1, Created: []granularity.Frame{{Func: "main.stage", File: "/src/main.go", Line: 23}, {Func: "main.main", File: "/src/main.go", Line: 61 + i}}}
				s.RunningNS.Add(uint64(ran))
				c.Sites = append(c.Sites, s)
			}
			r.Tasks = &granularity.Profile{Source: granularity.SourceTrace, Of: granularity.OfGoroutines, Classes: []granularity.Class{c}, Wall: time.Second, Procs: 2}
		}
	}
	goroutines := func(group string, n int, each time.Duration) func(r *diagnose.Results) { // that main.main starts
		return func(r *diagnose.Results) {
			c := granularity.Class{Name: group, Tasks: uint64(n), Sites: []granularity.Site{{Created: []granularity.Frame{{Func: "main.main", File: "/src/main.go", Line: 25}}}}}
			c.RunningNS.AddN(uint64(each), uint64(n))
			r.Tasks = &granularity.Profile{Source: granularity.SourceTrace, Of: granularity.OfGoroutines, Classes: []granularity.Class{c}, Wall: time.Second, Procs: 2}
		}
	}
	none := func(beside string, t time.Duration) ledger.Row {
		return ledger.Row{Category: ledger.NoWork, Beside: beside, Time: t, Count: 1}
	}
	ran := func(group string, t time.Duration, n int64) ledger.Row {
		return ledger.Row{Category: ledger.Code, Group: group, Site: placeOf(group, 4), Time: t, Count: n}
	}
	joined := turn("main.main", "main.work", time.Second)
	joined.Wait = "waitgroup"
	asked := often(turn("main.main", "main.work", time.Second), 10_000)
	noGraph := func(r *diagnose.Results) { r.Graph = nil }
	past := func(wait string) ledger.Row { // a limit
		return ledger.Row{Category: ledger.Outside, Group: "main.serve", Site: placeOf("main.serve", 9), Wait: wait, Beside: ledger.None, Time: time.Second, Count: 9}
	}
	pair := func(kind string, waiter *contention.Stack, owner string) []contention.Wait {
		return []contention.Wait{{Kind: kind, Waiter: contention.Party{Group: "main.take", Stack: waiter}, Owner: contention.Party{Group: owner, Stack: stackOf("main.take", 8)}, Blamed: 3 * time.Second, Contentions: 9}}
	}
	blamed := func(of time.Duration) []contention.Wait {
		w := locked(3*time.Second, 0)
		w[0].Blamed = of
		return w
	}
	owned := func(blamed time.Duration, did contention.Wait) []contention.Wait {
		p := pair(contention.MutexKind, stackOf("main.take", 3, "main.loop", 20), "main.take")
		p[0].Blamed = blamed
		p[0].Add(&did)
		return p
	}
	once := []contention.Wait{{Kind: contention.SelectKind, Waiter: contention.Party{Group: "main.take", Stack: stackOf("main.take", 3)}, Waited: 500 * ms, Contentions: 1}}
	stuck := func(kind string, longest time.Duration) func(r *diagnose.Results) {
		return func(r *diagnose.Results) {
			r.Contention.Unfinished = []contention.Wait{{Kind: kind, Waiter: contention.Party{Group: "main.work", Stack: stackOf("main.work", 8)}, Waited: 4 * longest, Longest: longest, Contentions: 4}}
		}
	}
	const less = "llocate less (go tool pprof -sample_index=alloc_space)"
	heap := func(h *ledger.Heap) func(*diagnose.Results) { return func(r *diagnose.Results) { r.Ledger.Heap = h } }
	yields := ledger.Row{Category: ledger.Scheduler, Group: "main.take", Site: placeOf("testing.(*B).runN", 3), Callee: "runtime.GC", Wait: "yield", Time: ms, Count: 9}
	cases := []made{
		{rows: []ledger.Row{{Category: ledger.Code, Group: "(unnamed)", Site: placeOf("main.load", 3), Callers: []timeline.Place{placeOf("main.serve", 9)}, Time: 2 * time.Second, Count: 9}},
			sentence: "It uses its processors: the program's own code ran for 100% of the capacity, most of it in main.serve (100%).",
			advice:   "The trace shows nothing to repair. A trace does not show progress: the code may spin, or wait for memory because of false sharing, atomics or bandwidth. \"bottleneck scale\" measures it."},
		{sentence: "It uses its processors: the program's own code ran for 100% of the capacity, most of it in main.work (100%)."},
		// A stage that waits at times does not poll.
		{boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.work", Goroutines: 2, Running: 1950 * ms, SelfParallelism: 2, Waiting: map[string]time.Duration{"chan-receive": 9 * ms}}, {Kind: bottle.Application, Group: "main.main", Goroutines: 1, Running: 50 * ms, Runnable: 900 * ms}},
			sentence: "It uses its processors: the program's own code ran for 100% of the capacity, most of it in main.work (100%)."},
		{boxes: []bottle.Box{box("main.work", 2, 1950*ms, 2), {Kind: bottle.Application, Group: "main.main", Goroutines: 1, Running: 50 * ms, Runnable: 900 * ms}},
			sentence: "It uses its processors: the program's own code ran for 100% of the capacity, most of it in main.work (100%); main.main was ready for 90% of the time, but had no processor.",
			advice:   "If main.work polls, have it wait instead: it took the processors from main.main. A trace does not show progress: the code may spin, or wait for memory because of false sharing, atomics or bandwidth. \"bottleneck scale\" measures it."},
		{rows: []ledger.Row{code("main.a", 1, 700*ms), {Category: ledger.Code, Group: "main.b", Site: placeOf("main.b", 1), Time: 650 * ms, Count: 9}},
			sentence: "It uses its processors: the program's own code ran for 100% of the capacity, the largest part of it in main.loop (35%)."},
		{rows: []ledger.Row{{Category: ledger.Code, Group: "main.await", Site: placeOf("main.await", 5), Shared: 200 * ms, Time: 1900 * ms, Count: 99}},
			sentence: "It uses its processors: the program's own code ran for 100% of the capacity, most of it in main.await (95%).",
			advice:   "If main.await polls an atomic variable, have it wait instead (a channel, a sync.Cond). A trace does not show progress: the code may spin, or wait for memory because of false sharing, atomics or bandwidth. \"bottleneck scale\" measures it."},
		{rows: []ledger.Row{{Category: ledger.Code, Group: "main.loop", Site: placeOf("main.count", 5), Shared: time.Second, Time: time.Second, Count: 99}, idle(ledger.Idle, "waitgroup", ledger.Several, 480*ms)},
			sentence: "It uses its processors, but may not progress: 50% of the capacity passed in atomic operations or in read locks of an RWMutex, most at main.count main.go:5."},
		{rows: []ledger.Row{{Category: ledger.Code, Group: "main.work", Site: placeOf("main.poll", 5), Callee: "runtime.selectgo", Shared: time.Second, Time: time.Second, Count: 99}},
			boxes:    []bottle.Box{box("main.work", 2, 1950*ms, 2), {Kind: bottle.Application, Group: "main.main", Goroutines: 1, Running: 50 * ms, Runnable: 900 * ms}},
			sentence: "It uses its processors, but may not progress: 50% of the capacity passed in select statements that did not wait, most at main.poll main.go:5; main.main was ready for 90% of the time, but had no processor.",
			advice:   "A select with a default case goes on at once if no other case is ready. If it polls for something, have it wait for that, without the default case; else do more for each message."},
		{rows: []ledger.Row{{Category: ledger.Code, Group: "main.poll", Site: placeOf("main.poll", 5), Callee: "runtime.selectgo", Shared: 1200 * ms, Time: 1300 * ms, Count: 99}, {Category: ledger.Code, Group: "main.main", Site: placeOf("main.main", 5), Time: 600 * ms, Count: 9}, {Category: ledger.NoWork, Beside: "main.poll", Time: 1100 * ms, Count: 9}},
			boxes:    []bottle.Box{box("main.poll", 2, 1300*ms, 1.6)},
			change:   func(r *diagnose.Results) { r.Ledger.Procs, r.Ledger.Capacity = 3, 3*time.Second },
			sentence: "What runs may not progress: 40% of the capacity passed in select statements that did not wait, most at main.poll main.go:5.",
			advice:   "A select with a default case goes on at once if no other case is ready. If it polls for something, have it wait for that, without the default case; else do more for each message."},
		{rows: []ledger.Row{{Category: ledger.Code, Group: "main.poll", Site: placeOf("main.poll", 5), Callee: "runtime.selectgo", Shared: 1200 * ms, Time: 1300 * ms, Count: 99}, {Category: ledger.Code, Group: "main.main", Site: placeOf("main.main", 5), Time: 600 * ms, Count: 9}, {Category: ledger.NoWork, Beside: "main.poll", Time: 1100 * ms, Count: 9}},
			boxes:    []bottle.Box{box("main.poll", 2, 1300*ms, 1.6)},
			change:   func(r *diagnose.Results) { r.Ledger.Procs, r.Ledger.Capacity = 3, 3*time.Second },
			sentence: "Too few goroutines: while the 2 of main.poll ran, 1.60 at a time, other processors had nothing to do: 37% of the capacity.",
			advice:   "Divide the work among more goroutines (there are 3 processors)."},
		{rows: []ledger.Row{{Category: ledger.GCWorker, Group: "GC (idle)", Time: 1200 * ms, Count: 9}},
			sentence: "No single cause cost 3% of the capacity: the program's own code ran for 40% of it."},
		{change: func(r *diagnose.Results) { r.Ledger.Capacity = 0 }, sentence: "The trace covers no time."},
		{change: func(r *diagnose.Results) { r.Ledger.Wall, r.Ledger.Capacity = 500_000, 1_000_000 },
			sentence: "The trace covers only 500 µs, which is too short to show what limits the program."},
		{rows: []ledger.Row{{Category: ledger.Code, Group: "(unnamed)", Time: 2 * time.Second, Count: 9}},
			sentence: "The trace does not show which functions ran, so it does not show what limits the program. It may be truncated."},
		{change: func(r *diagnose.Results) { r.Focus = "main.look" }, sentence: "Nothing that main.look is part of cost 3% of the capacity."},
		{change: queue, boxes: []bottle.Box{box("main.work", 4, time.Second, 1)}, sentence: "For 100% of the time all processors were in use and other goroutines were ready: 3.00 on average."},
		{change: one, boxes: []bottle.Box{box("main.work", 4, time.Second, 1)},
			pairs:    []contention.Wait{{Kind: contention.ChanSendKind, Waiter: contention.Party{Group: "main.work", Stack: stackOf("main.resize", 17)}, Owner: contention.Party{Group: "main.work", Stack: stackOf("main.resize", 19)}, Blamed: 6 * time.Second, Contentions: 9}},
			sentence: "GOMAXPROCS is 1: for 100% of the time the processor was in use and other goroutines were ready: 2.00 on average.",
			advice:   "There is work for up to 3 processors, unless goroutines then wait for each other, or for memory that they share. More of them do not change that 6.00 goroutines wait for one another at main.resize main.go:17, on average."},
		{change: one, boxes: []bottle.Box{box("main.work", 4, time.Second, 1)}, sentence: "GOMAXPROCS is 1: for 100% of the time the processor was in use and other goroutines were ready: 2.00 on average."},

		{rows: []ledger.Row{idle(ledger.Idle, "chan-receive", ledger.Several, time.Second)},
			sentence: "Too little parallel work: for 50% of the capacity, processors had nothing to run while others did."},
		{rows: []ledger.Row{idle(ledger.Idle, "chan-receive", "main.work", time.Second)},
			sentence: "While main.work ran alone, the other processors had nothing to do: 50% of the capacity."},
		{rows: []ledger.Row{idle(ledger.Idle, "chan-receive", "main.work", 600*ms), idle(ledger.WakeUp, "chan-receive", "main.work", 400*ms)}, boxes: []bottle.Box{box("main.work", 1, time.Second, 1)},
			sentence: "While main.work ran alone, the other processors had nothing to do or were waking up: 50% of the capacity."},
		{rows: []ledger.Row{turn("main.take", "main.work", time.Second)}, boxes: []bottle.Box{box("main.work", 3, time.Second, 1.8)},
			sentence: "While main.work ran, 1.80 at a time, the other processors had nothing to do: 50% of the capacity."},
		{rows: []ledger.Row{idle(ledger.Idle, "chan-receive", "main.work", time.Second)}, boxes: []bottle.Box{box("main.work", 3, time.Second, 1)},
			sentence: "While main.work ran, and no others, the other processors had nothing to do: 50% of the capacity."},
		// Which of several stages is slow is known by the call that started it.
		{rows: []ledger.Row{idle(ledger.Idle, "chan-receive", "main.work", time.Second)}, boxes: []bottle.Box{box("main.work", 3, time.Second, 1)}, change: stages(720 * ms),
			sentence: "While main.work ran, and no others, the other processors had nothing to do: 50% of the capacity.",
			advice:   "What main.main main.go:62 started took 72% of the time for which they ran. Divide its work among goroutines, let the others begin before it is done, or make it faster, which can gain more."},
		{rows: []ledger.Row{idle(ledger.Idle, "chan-receive", "main.work", time.Second)}, boxes: []bottle.Box{box("main.work", 3, time.Second, 1)}, change: stages(400 * ms),
			sentence: "While main.work ran, and no others, the other processors had nothing to do: 50% of the capacity."},
		{rows: []ledger.Row{idle(ledger.Idle, "chan-receive", "main.work", 2*time.Second)}, boxes: []bottle.Box{box("main.work", 2, 2*time.Second, 2)},
			change:   func(r *diagnose.Results) { r.Ledger.Procs, r.Ledger.Capacity = 4, 4*time.Second },
			sentence: "Too few goroutines: while the 2 of main.work ran, 2.00 at a time, other processors had nothing to do: 50% of the capacity."},
		{rows: []ledger.Row{{Category: ledger.Code, Group: "(unnamed)", Site: placeOf("main.load", 3), Time: time.Second, Count: 9}, {Category: ledger.NoWork, Beside: "(unnamed)", Time: time.Second, Count: 1}},
			sentence: "While a goroutine in main.load ran alone, the other processors had nothing to do: 50% of the capacity."},
		{rows: []ledger.Row{idle(ledger.Idle, "once", "main.work", time.Second)},
			sentence: "Done once: processors had nothing to do for 50% of the capacity while main.work ran, which others waited for at main.take main.go:3."},
		{rows: []ledger.Row{{Category: ledger.Idle, Group: "main.work", Site: placeOf("main.share", 3), Wait: "waitgroup", Beside: "main.work", Time: time.Second, Count: 9}},
			sentence: "Processors had nothing to do for 50% of the capacity while main.work ran, which others waited for at main.share main.go:3."},
		{rows: []ledger.Row{idle(ledger.Idle, "waitgroup", "main.work", time.Second)}, boxes: []bottle.Box{box("main.work", 8, time.Second, 1.5)},
			sentence: "Uneven work: 50% of the capacity was idle while the last of the 8 main.work ran."},
		// A ticker ran next, but did not wait for them.
		{rows: []ledger.Row{idle(ledger.Idle, "waitgroup", "main.work", 100*ms), ticks}, boxes: []bottle.Box{box("main.work", 8, time.Second, 1.9)},
			sentence: "Uneven work: 20% of the capacity was idle while the last of the 8 main.work ran.",
			advice:   "Divide the work into more, smaller pieces, or let goroutines that are done take over."},
		{rows: []ledger.Row{ticks}, boxes: []bottle.Box{box("main.work", 8, time.Second, 1.9)},
			sentence: "Uneven work: 15% of the capacity was idle while the last of the 8 main.work ran.",
			advice:   "Divide the work into more, smaller pieces, or let goroutines that are done take over."},
		{rows: []ledger.Row{ticks}, boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.work", Goroutines: 8, Running: time.Second, SelfParallelism: 1.9, Waiting: map[string]time.Duration{"chan-receive": time.Second}}}, // they may have had too little to do
			sentence: "While main.work ran, 1.90 at a time, the other processors had nothing to do: 15% of the capacity.",
			advice:   "Divide its work among goroutines, let the others begin before it is done, or make it faster, which can gain more."},
		{rows: []ledger.Row{idle(ledger.Idle, "semaphore", ledger.None, time.Second)}, sentence: "A limit at main.take main.go:3 kept 50% of the capacity idle."},

		{rows: []ledger.Row{calls(placeOf("main.read", 3), 300*ms), calls(placeOf("main.write", 4), 300*ms), idle(ledger.Idle, "chan-receive", ledger.Several, 10*ms)},
			sentence: "System calls held processors for 30% of the capacity (600,000 calls of 1 µs), most at main.read main.go:3 (15%) and main.write main.go:4 (15%)."},
		{rows: []ledger.Row{calls(placeOf("main.read", 3), 600*ms), {Category: ledger.NoWork, Beside: "main.serve", Time: time.Second, Count: 1}},
			sentence: "System calls at main.read main.go:3 held processors for 30% of the capacity (600,000 calls of 1 µs); while main.serve ran alone, the other processors had nothing to do for 50%."},
		// A buffer does not help if each call is for another file.
		{rows: []ledger.Row{called(calls(placeOf("main.read", 3), 600*ms), "getdents"), {Category: ledger.NoWork, Beside: "main.serve", Time: time.Second, Count: 1}},
			sentence: "System calls at main.read main.go:3 held processors for 30% of the capacity (600,000 calls of 1 µs); while main.serve ran alone, the other processors had nothing to do for 50%.",
			advice:   "Each file or directory has its own calls (getdents): have several goroutines make them at a time, or make fewer."},
		{rows: []ledger.Row{called(calls(placeOf("main.read", 3), 600*ms), "openat")},
			sentence: "System calls at main.read main.go:3 held processors for 30% of the capacity (600,000 calls of 1 µs).",
			advice:   "Each file or directory has its own calls (openat): make fewer."},
		{rows: []ledger.Row{called(ledger.Row{Category: ledger.Syscall, Group: "main.take", Site: placeOf("main.take", 3), Time: 180 * ms, Count: 9000}, "stat"), idle(ledger.Outside, "syscall", ledger.None, 400*ms)},
			sentence: "System calls at main.take main.go:3 held processors for 9% of the capacity, and left 20% idle (9,000 calls of 20 µs).",
			advice:   "Each file or directory has its own calls (stat): have several goroutines make them at a time, or make fewer."},
		{rows: []ledger.Row{called(calls(placeOf("main.read", 3), 600*ms), "pread")},
			sentence: "System calls at main.read main.go:3 held processors for 30% of the capacity (600,000 calls of 1 µs).",
			advice:   "Make fewer, larger calls: a buffer does that for writes and reads."},
		{rows: []ledger.Row{{Category: ledger.Syscall, Group: "main.serve", Site: placeOf("main.read", 3), Callee: "os.ReadFile", Call: "read", Time: 600 * ms, Count: 600_000}},
			sentence: "System calls at main.read main.go:3 held processors for 30% of the capacity (600,000 calls of 1 µs).",
			advice:   "Each file or directory has its own calls (read): make fewer."},
		{rows: []ledger.Row{calls(placeOf("net/http.(*persistConn).writeLoop", 3), 600*ms)}, boxes: []bottle.Box{box("net/http.(*Transport).startDialConnForLocked.func1", 1000, 0, 1)},
			waits:    []contention.Wait{wait(contention.SelectKind, stackOf("net/http.(*persistConn).roundTrip", 9, "main.take", 3))},
			sentence: "System calls in the standard library held processors for 30% of the capacity (600,000 calls of 1 µs), most in main.serve (30%).",
			advice:   "The program opened 1,000 connections: have net/http use them again (one Client for all; read each response to its end and close it; raise MaxIdleConnsPerHost of the Transport). Each request takes some: send fewer that do more each."},
		{rows: []ledger.Row{{Category: ledger.Code, Group: "net/http.(*conn).serve", Site: timeline.Place{Func: "crypto/tls.(*Conn).flush", File: "/go/src/crypto/tls/conn.go", Line: 3}, Time: 1700 * ms, Count: 9}}, boxes: []bottle.Box{box("net/http.(*Transport).startDialConnForLocked.func1", 1000, 0, 1)},
			waits:    []contention.Wait{wait(contention.SelectKind, stackOf("net/http.(*persistConn).roundTrip", 9, "main.take", 3))},
			sentence: "It uses its processors: the program's own code ran for 100% of the capacity, most of it in http.(*conn).serve (85%).",
			advice:   "The program opened 1,000 connections: have net/http use them again (one Client for all; read each response to its end and close it; raise MaxIdleConnsPerHost of the Transport). A trace does not show progress: the code may spin, or wait for memory because of false sharing, atomics or bandwidth. \"bottleneck scale\" measures it. The trace shows no line outside the standard library for it: a CPU profile at the same time adds samples to the trace, which do."},
		{rows: []ledger.Row{calls(placeOf("main.read", 3), 600*ms)}, sentence: "System calls at main.read main.go:3 held processors for 30% of the capacity (600,000 calls of 1 µs)."},
		{rows: []ledger.Row{{Category: ledger.Syscall, Group: "main.serve", Site: placeOf("main.run", 3), Callee: "os/exec.(*Cmd).Run", Time: 600 * ms, Count: 30_000}, {Category: ledger.NoWork, Beside: "main.serve", Time: time.Second, Count: 1}},
			sentence: "Starting commands (os/exec) at main.run main.go:3 held processors for 30% of the capacity (30,000 calls of 20 µs); while main.serve ran alone, the other processors had nothing to do for 50%."},
		// A command that is waited for where it is started is one cause, whatever waits for it.
		{rows: []ledger.Row{{Category: ledger.Syscall, Group: "main.serve", Site: placeOf("main.take", 3), Callee: "os/exec.(*Cmd).Run", Time: 100 * ms, Count: 500},
			{Category: ledger.Outside, Group: "main.serve", Site: placeOf("main.take", 3), Callee: "os/exec.(*Cmd).Run", Wait: "syscall", Beside: ledger.None, Time: 300 * ms, Count: 9}, idle(ledger.Outside, "network", ledger.None, 600*ms)},
			waits:    []contention.Wait{wait(contention.NetworkKind, stackOf("os.(*File).Read", 9, "main.take", 3))},
			sentence: "Starting commands and waiting for them (os/exec) at main.take main.go:3 held processors for 5% of the capacity, and left 45% idle (500 calls of 200 µs)."},
		// The long system calls of a place are one cause with those that are short.
		{rows: []ledger.Row{{Category: ledger.Syscall, Group: "main.take", Site: placeOf("main.take", 3), Time: 180 * ms, Count: 2000}, idle(ledger.Outside, "syscall", ledger.None, 400*ms)},
			sentence: "Long system calls at main.take main.go:3 held processors for 9% of the capacity, and left 20% idle (2,000 calls)."},
		{rows: []ledger.Row{{Category: ledger.Syscall, Group: "main.take", Site: placeOf("main.take", 3), Time: 180 * ms, Count: 900}, idle(ledger.Outside, "syscall", ledger.None, 40*ms)},
			sentence: "Long system calls at main.take main.go:3 held processors for 9% of the capacity, and left 2% idle (900 calls)."},
		{rows: []ledger.Row{{Category: ledger.Syscall, Group: "main.take", Site: placeOf("main.take", 3), Time: 180 * ms, Count: 9000}, idle(ledger.Outside, "syscall", ledger.None, 400*ms)},
			sentence: "System calls at main.take main.go:3 held processors for 9% of the capacity, and left 20% idle (9,000 calls of 20 µs).",
			advice:   "Have more of them under way at a time, or fewer (fsync, small reads)."},
		{rows: []ledger.Row{called(ledger.Row{Category: ledger.Syscall, Group: "main.take", Site: placeOf("main.take", 3), Time: 180 * ms, Count: 900}, "fdatasync"), idle(ledger.Outside, "syscall", ledger.None, 40*ms)},
			sentence: "Long system calls at main.take main.go:3 held processors for 9% of the capacity, and left 2% idle (900 calls).",
			advice:   "Each waits until the disk has written: sync once for several changes, in batches or for all that wait at a time."},
		{rows: []ledger.Row{{Category: ledger.Syscall, Group: "main.take", Site: placeOf("main.take", 3), Time: 180 * ms, Count: 9}, idle(ledger.Outside, "syscall", ledger.None, 20*ms), {Category: ledger.NoWork, Beside: "main.take", Time: 200 * ms, Count: 1}},
			sentence: "Long system calls at main.take main.go:3 held processors for 9% of the capacity, and left 1% idle (9 calls); while main.take ran alone, the other processors had nothing to do for 10%.",
			advice:   "Make fewer, larger calls, or have several goroutines make them. If they usually take less time, other programs may have used the processors."},
		// While one goroutine does what is done once, others of its group wait for it,
		// which would run beside it.
		{rows: []ledger.Row{idle(ledger.Idle, "once", "main.take", 600*ms), alone("main.take", 100*ms)}, boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.take", Goroutines: 4, Running: 100 * ms, SelfParallelism: 1, Sites: map[string][]bottle.Site{"once": {{Func: "main.take", File: "/src/main.go", Line: 3, Time: 2 * time.Second}}}}},
			sentence: "Done once: processors had nothing to do for 35% of the capacity while main.take ran, which others waited for at main.take main.go:3."},
		// A goroutine that sleeps between where it acquires and releases a lock has the lock.
		{rows: []ledger.Row{{Category: ledger.Outside, Group: "main.take", Site: placeOf("main.take", 5), Wait: "sleep", Beside: ledger.None, Time: 600 * ms, Count: 9}, lockRow(ledger.Idle, 400*ms)},
			waits: locked(3*time.Second, 0), sentence: "The lock main.table kept 50% of the capacity idle (9 waits, blocked for 3 s in all).",
			advice: "Its owners waited themselves (sleep) at main.take main.go:5. Hold it for less time, or divide what it guards among several locks."},
		// So does one that waits for a goroutine of the standard library, which reads from a
		// connection.
		{rows: []ledger.Row{{Category: ledger.Outside, Group: "net/http.(*persistConn).readLoop", Site: timeline.Place{Func: "net.(*conn).Read", File: "/go/src/net/net.go", Line: 3}, Wait: "network", Beside: ledger.None, Time: 600 * ms, Count: 9}, lockRow(ledger.Idle, 400*ms)},
			waits: locked(3*time.Second, 0), pairs: pair(contention.SelectKind, stackOf("net/http.(*Client).do", 1, "main.fetch", 30, "main.take", 5, "main.loop", 20), "net/http.(*persistConn).readLoop"),
			sentence: "The lock main.table kept 50% of the capacity idle (9 waits, blocked for 3 s in all).",
			advice:   "Its owners waited themselves (network) at main.fetch main.go:30. Hold it for less time, or divide what it guards among several locks."},
		{rows: []ledger.Row{idle(ledger.Idle, "once", "main.work", time.Second)}, waits: []contention.Wait{wait(contention.OnceKind, stackOf("golang.org/x/sync/singleflight.(*Group).Do", 90, "main.take", 3))},
			sentence: "Done once for all that ask at a time (singleflight): processors had nothing to do for 50% of the capacity while main.work ran, which others waited for at main.take main.go:3."},
		// The last one to arrive at a barrier wakes all others.
		{rows: []ledger.Row{{Category: ledger.Idle, Group: "main.work", Site: placeOf("main.arrive", 3), Wait: "cond", Waker: "main.work", WakerSite: placeOf("main.arrive", 5), All: true, Beside: "main.work", Time: time.Second, Count: 9}}, boxes: []bottle.Box{box("main.work", 8, time.Second, 1.5)},
			pairs:    []contention.Wait{{Kind: contention.CondKind, Waiter: contention.Party{Group: "main.work", Stack: stackOf("main.arrive", 3)}, Owner: contention.Party{Group: "main.work", Stack: stackOf("main.arrive", 5)}, Blamed: 3 * time.Second, Contentions: 9}},
			sentence: "Uneven work: 50% of the capacity was idle while the last of the 8 main.work ran."},
		// A ticker ran next, but did not wait for them.
		{rows: []ledger.Row{idle(ledger.Idle, "waitgroup", "main.work", 100*ms), ticks}, boxes: []bottle.Box{box("main.work", 8, time.Second, 1.9)},
			sentence: "Uneven work: 20% of the capacity was idle while the last of the 8 main.work ran.",
			advice:   "Divide the work into more, smaller pieces, or let goroutines that are done take over."},
		{rows: []ledger.Row{ticks}, boxes: []bottle.Box{box("main.work", 8, time.Second, 1.9)},
			sentence: "Uneven work: 15% of the capacity was idle while the last of the 8 main.work ran.",
			advice:   "Divide the work into more, smaller pieces, or let goroutines that are done take over."},
		{rows: []ledger.Row{ticks}, boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.work", Goroutines: 8, Running: time.Second, SelfParallelism: 1.9, Waiting: map[string]time.Duration{"chan-receive": time.Second}}}, // they may have had too little to do
			sentence: "While main.work ran, 1.90 at a time, the other processors had nothing to do: 15% of the capacity.",
			advice:   "Divide its work among goroutines, let the others begin before it is done, or make it faster, which can gain more."},
		// One that is done with a limit may wake all others, too, but does so elsewhere.
		{rows: []ledger.Row{{Category: ledger.Idle, Group: "main.work", Site: placeOf("main.acquire", 3), Wait: "cond", Waker: "main.work", WakerSite: placeOf("main.release", 5), All: true, Beside: "main.work", Time: time.Second, Count: 9}}, boxes: []bottle.Box{box("main.work", 8, time.Second, 1.5)},
			pairs:    []contention.Wait{{Kind: contention.CondKind, Waiter: contention.Party{Group: "main.work", Stack: stackOf("main.acquire", 3)}, Owner: contention.Party{Group: "main.work", Stack: stackOf("main.release", 5)}, Blamed: 3 * time.Second, Contentions: 9}},
			sentence: "Goroutines of main.work wait for one another at main.acquire main.go:3, which kept 50% of the capacity idle: 3.00 waited on average.",
			advice:   "If that bounds how many go on at a time, raise the bound; if each needs what the one before it did, shorten that chain, or have each do more in its turn."},
		// A switch between goroutines is no limit, though they wait for one another.
		{rows: []ledger.Row{{Category: ledger.Scheduler, Group: "main.take", Site: placeOf("main.take", 3), Wait: "chan-receive", Time: time.Second, Count: 9}},
			pairs:    []contention.Wait{{Kind: contention.ChanReceiveKind, Waiter: sender, Owner: sender, Blamed: 3 * time.Second, Contentions: 9}},
			sentence: "The scheduler took 50% of the capacity, from one goroutine to the next (9 times)."},
		{rows: []ledger.Row{calls(timeline.Place{Func: "net/http.(*conn).serve", File: "/go/src/net/http/server.go", Line: 3}, 600*ms)},
			sentence: "System calls in the standard library held processors for 30% of the capacity (600,000 calls of 1 µs), most in main.serve (30%)."},
		{rows: []ledger.Row{idle(ledger.Outside, "syscall", ledger.None, time.Second)}, sentence: "Waiting for system calls at main.take main.go:3 left 50% of the capacity idle."},
		{rows: []ledger.Row{idle(ledger.Outside, "sleep", ledger.None, time.Second)}, sentence: "Sleeping at main.take main.go:3 left 50% of the capacity idle."},
		{rows: []ledger.Row{idle(ledger.Outside, "select", ledger.None, time.Second)}, sentence: "Waiting for a timer at main.take main.go:3 left 50% of the capacity idle."},
		{rows: []ledger.Row{idle(ledger.Outside, "select", ledger.None, time.Second)}, waits: once,
			sentence: "Waiting for a timer at main.take main.go:3 left 50% of the capacity idle (1 time).",
			advice:   "A deadline or a timer ended it, not the program."},
		{rows: []ledger.Row{idle(ledger.Outside, "select", ledger.None, time.Second)}, waits: once, change: stuck(contention.ChanSendKind, 400*ms),
			sentence: "Waiting for a timer at main.take main.go:3 left 50% of the capacity idle (1 time).",
			advice:   "A deadline or a timer ended it, not the program."},
		{rows: []ledger.Row{idle(ledger.Outside, "select", ledger.None, time.Second)}, waits: once, change: stuck(contention.ChanReceiveKind, 500*ms),
			sentence: "Waiting for a timer at main.take main.go:3 left 50% of the capacity idle (1 time).",
			advice:   "A deadline or a timer ended it, not the program."},
		{rows: []ledger.Row{idle(ledger.Outside, "select", ledger.None, time.Second)}, waits: once, change: stuck(contention.ChanSendKind, 500*ms),
			sentence: "Waiting for a timer at main.take main.go:3 left 50% of the capacity idle (1 time).",
			advice:   "A deadline or a timer ended it, not the program. All that time, 4 goroutines of main.work waited at main.work main.go:8 (chan-send), to the end: what should let them go on may never happen."},
		{rows: []ledger.Row{{Category: ledger.Outside, Group: "main.take", Site: placeOf("main.take", 3), Callee: "os/exec.(*Cmd).Run", Wait: "syscall", Beside: ledger.None, Time: time.Second, Count: 9}},
			sentence: "Waiting for a command (os/exec) at main.take main.go:3 left 50% of the capacity idle."},
		{rows: []ledger.Row{{Category: ledger.Outside, Group: "main.take", Site: placeOf("main.take", 3), Callee: "syscall.Flock", Wait: "syscall", Beside: "main.take", Time: time.Second, Count: 9}},
			sentence: "The lock of a file, waited for at main.take main.go:3, left 50% of the capacity idle.",
			advice:   "It lets one of them in at a time: hold it for less time."},
		// What those do that have the lock of a file is the same cause.
		{rows: fileLock, boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.serve", Sites: map[string][]bottle.Site{"sleep": {{Func: "main.save", Line: 6, Time: 900 * ms}}, "syscall": {{Func: "main.take", Line: 3, Time: 4 * time.Second}}}}},
			sentence: "The lock of a file, waited for at main.take main.go:3, held processors for 10% of the capacity, and left 60% idle (9 calls, 4.00 at a time) while 0.90 slept at main.save main.go:6.",
			advice:   "It lets one of them in at a time: hold it for less time."},
		{rows: fileLock, boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.serve", Sites: map[string][]bottle.Site{"sleep": {{Func: "main.save", Line: 6, Time: 3 * time.Second}}, "syscall": {{Func: "main.take", Line: 3, Time: 4 * time.Second}}}}}, // several sleep at a time
			sentence: "Sleeping at main.save main.go:6 left 60% of the capacity idle (3.00 at a time).",
			advice:   "Wait for what is expected instead of sleeping, or have more of it under way at a time."},
		{rows: []ledger.Row{idle(ledger.Outside, "network", ledger.None, time.Second)}, sentence: "Waiting for the network at main.take main.go:3 left 50% of the capacity idle."},
		{rows: []ledger.Row{idle(ledger.Outside, "network", ledger.None, time.Second)}, waits: []contention.Wait{wait(contention.NetworkKind, stackOf("os.(*File).Read", 9, "main.take", 3))},
			sentence: "Waiting for a pipe or a device at main.take main.go:3 left 50% of the capacity idle (9 times)."},
		{rows: []ledger.Row{{Category: ledger.Outside, Group: "os/exec.(*Cmd).Start.func2", Site: timeline.Place{Func: "os.(*File).read", File: "/go/src/os/file_posix.go", Line: 30}, Wait: "network", Beside: ledger.None, Time: time.Second, Count: 9}},
			waits:    []contention.Wait{wait(contention.NetworkKind, stackOf("os.(*File).read", 30, "os/exec.(*Cmd).Start.func2", 757))},
			sentence: "Waiting for a command (os/exec) left 50% of the capacity idle.",
			advice:   "The trace does not cover what the command does: make it faster, or run several at a time."},
		{rows: []ledger.Row{{Category: ledger.Outside, Group: "main.take.func1", Site: placeOf("main.take.func1", 5), Wait: "syscall", Callee: "os/exec.(*Cmd).Wait", Beside: ledger.None, Time: 700 * ms, Count: 9}, idle(ledger.Outside, "network", ledger.None, 300*ms)},
			waits:    []contention.Wait{wait(contention.NetworkKind, stackOf("os.(*File).Read", 9, "main.take", 3))},
			sentence: "Waiting for a command (os/exec) at main.take.func1 main.go:5 left 50% of the capacity idle.",
			advice:   "The trace does not cover what the command does: make it faster, or run several at a time."},
		{rows: []ledger.Row{idle(ledger.Outside, "network", ledger.None, 700*ms), {Category: ledger.Outside, Group: "main.take.func1", Site: placeOf("main.take.func1", 5), Wait: "syscall", Callee: "os/exec.(*Cmd).Wait", Beside: ledger.None, Time: 300 * ms, Count: 9}},
			waits:    []contention.Wait{wait(contention.NetworkKind, stackOf("os.(*File).Read", 9, "main.take", 3))},
			sentence: "Waiting for a command (os/exec) at main.take main.go:3 left 50% of the capacity idle.",
			advice:   "The trace does not cover what the command does: make it faster, or run several at a time."},
		{rows: []ledger.Row{idle(ledger.Outside, "network", ledger.None, time.Second), {Category: ledger.Syscall, Group: "main.take.func1", Site: placeOf("main.take.func1", 5), Callee: "os/exec.(*Cmd).Wait", Time: ms, Count: 9}},
			waits:    []contention.Wait{wait(contention.NetworkKind, stackOf("os.(*File).Read", 9, "main.take", 3))},
			sentence: "Waiting for a command (os/exec) at main.take main.go:3 left 50% of the capacity idle.",
			advice:   "The trace does not cover what the command does: make it faster, or run several at a time."},
		{rows: []ledger.Row{idle(ledger.Outside, "network", ledger.None, 600*ms), {Category: ledger.Outside, Group: "main.ask", Site: placeOf("main.ask", 4), Wait: "network", Beside: ledger.None, Time: 600 * ms, Count: 9}},
			sentence: "Waiting for the network left 60% of the capacity idle, most at main.ask main.go:4 (30%) and main.take main.go:3 (30%)."},
		{rows: []ledger.Row{idle(ledger.Outside, "network", ledger.None, 600*ms), {Category: ledger.Outside, Group: "main.ask", Site: placeOf("main.ask", 4), Wait: "network", Beside: ledger.None, Time: 600 * ms, Count: 9}},
			waits:    []contention.Wait{wait(contention.NetworkKind, stackOf("main.take", 3))},
			sentence: "Waiting for the network left 60% of the capacity idle (9 times), most at main.ask main.go:4 (30%) and main.take main.go:3 (30%)."},
		{rows: []ledger.Row{idle(ledger.Outside, "network", ledger.None, 600*ms), {Category: ledger.Outside, Group: "net/http.(*conn).serve", Site: timeline.Place{Func: "crypto/tls.(*Conn).Read", File: "/go/src/crypto/tls/conn.go", Line: 4}, Wait: "network", Beside: ledger.None, Time: 800 * ms, Count: 9}},
			sentence: "Waiting for the network left 70% of the capacity idle, most at main.take main.go:3 (30%)."},
		{rows: []ledger.Row{{Category: ledger.Outside, Group: "net/http.(*persistConn).readLoop", Wait: "network", Beside: ledger.None, Time: time.Second, Count: 9}},
			sentence: "Waiting for the network left 50% of the capacity idle."},
		{rows: []ledger.Row{{Category: ledger.Outside, Group: "net/http.(*conn).serve", Wait: "network", Site: timeline.Place{Func: "net/http.(*connReader).Read", File: "/go/src/net/http/server.go", Line: 1}, Beside: ledger.None, Time: 1500 * ms, Count: 9}},
			sentence: "Nothing to do for 75% of the capacity: processors were idle until requests came from the network."},

		{rows: []ledger.Row{idle(ledger.Idle, "in-c", ledger.None, time.Second)}, sentence: "Waiting for C code left 50% of the capacity idle."},
		{rows: []ledger.Row{{Category: ledger.C, Group: "main.work", Site: placeOf("main.call", 3), Time: time.Second, Count: 9}, {Category: ledger.NoWork, Beside: "main.work", Time: time.Second, Count: 1}},
			sentence: "C code at main.call main.go:3 left 50% of the capacity idle: no others ran beside main.work, which calls it."},
		{rows: []ledger.Row{{Category: ledger.C, Group: "main.work", Site: placeOf("main.call", 3), Time: time.Second, Count: 9}},
			sentence: "C code ran for 50% of the capacity. The scheduler does not see it, so a trace does not show whether it computes or waits."},
		{rows: []ledger.Row{{Category: ledger.Tracer, Group: "runtime.traceAdvancer", Time: 800 * ms, Count: 9}},
			sentence: "Tracing itself took 40% of the capacity: the other numbers are those of a program that is slower than usual."},
		// main.take stops the tracer, which no other goroutine runs beside.
		{rows: []ledger.Row{{Category: ledger.NoWork, Beside: "main.take", Time: 300 * ms, Count: 1}, {Category: ledger.Code, Group: "main.take", Time: 300 * ms, Count: 1}, {Category: ledger.Code, Group: "main.take", Site: placeOf("main.take", 3), Time: 20 * ms, Count: 1}},
			boxes:    []bottle.Box{{Kind: bottle.Application, Group: "main.take", Goroutines: 1, Running: 320 * ms}},
			sentence: "Stopping the tracer left 15% of the capacity idle at the end: a longer recording has less of that."},
		{rows: []ledger.Row{{Category: ledger.Runtime, Time: time.Second, Count: 9}}, sentence: "The runtime took 50% of the capacity besides the collector."},
		{rows: []ledger.Row{{Category: ledger.Runtime, Time: 900 * ms, Count: 9}, none("runtime.runFinalizers", 700*ms)}, boxes: []bottle.Box{{Kind: bottle.Runtime, Group: "runtime.runFinalizers", Running: 900 * ms}},
			sentence: "Finalizers and cleanups (runtime.SetFinalizer, AddCleanup) ran for 45% of the capacity; while they ran alone, the other processors had nothing to do for 35%.",
			advice:   "Do that where the program is done with an object, such as in Close: the runtime runs them only after a collection, and finalizers one after the other."},
		{rows: []ledger.Row{{Category: ledger.Runtime, Time: time.Second, Count: 9}}, boxes: []bottle.Box{{Kind: bottle.Runtime, Group: "runtime.runFinalizers", Running: 900 * ms}},
			sentence: "Finalizers and cleanups (runtime.SetFinalizer, AddCleanup) ran for 45% of the capacity."},
		{rows: []ledger.Row{{Category: ledger.Runtime, Site: placeOf("main.stats", 3), Time: time.Second, Count: 9}},
			sentence: "The world was stopped, but not for the collector: that took 50% of the capacity, most at main.stats main.go:3."},
		{rows: []ledger.Row{{Category: ledger.Runtime, Site: placeOf("testing.(*B).StartTimer", 3), Time: time.Second, Count: 9}},
			sentence: "The world was stopped, but not for the collector: that took 50% of the capacity, most at testing.(*B).StartTimer main.go:3."},
		{rows: []ledger.Row{{Category: ledger.GCWorker, Time: 600 * ms, Count: 9}, {Category: ledger.GCAssist, Group: "main.work", Time: 400 * ms, Count: 9}},
			sentence: "The garbage collector took 50% of the capacity: workers 30%, assists 20%, world stopped 0%, waits for it 0%."},
		{rows: []ledger.Row{{Category: ledger.NoWork, Beside: ledger.None, Time: time.Second, Count: 1}}, sentence: "Nothing ran for 50% of the capacity, to the end of the trace."},
		{rows: []ledger.Row{{Category: ledger.NoWork, Beside: ledger.None, Time: time.Second, Count: 1}}, change: func(r *diagnose.Results) { r.Window = true },
			sentence: "Nothing ran for 50% of the capacity, to the end of the window and for long after it."},

		// The goroutine that records sleeps until it stops the tracer.
		{rows: []ledger.Row{idle(ledger.Outside, "sleep", ledger.None, time.Second), {Category: ledger.Tracer, Group: "main.take", Time: ms, Count: 1}},
			boxes:    []bottle.Box{{Kind: bottle.Application, Group: "main.take", Goroutines: 1, Waiting: map[string]time.Duration{"sleep": 990 * ms}}},
			waits:    []contention.Wait{{Kind: contention.SleepKind, Waiter: contention.Party{Group: "main.take", Stack: stackOf("main.take", 3)}, Waited: 990 * ms, Contentions: 1}},
			sentence: "Nothing ran for 50% of the capacity, to the end of the recording.",
			advice:   "What the program waited for shows in a longer one."},

		{rows: []ledger.Row{idle(ledger.WakeUp, "chan-receive", ledger.None, time.Second)}, sentence: handOver + "."},
		// The work of a group is divided already if another one of the group was ready.
		{rows: []ledger.Row{idle(ledger.WakeUp, "created", "main.take", time.Second)}, boxes: []bottle.Box{box("main.take", 8, time.Second, 1)}, sentence: handOver + ".",
			advice: "They ran 111 ms after they were woken, on average: longer than it takes to wake a thread, so other programs may have used the processors, or there are fewer than GOMAXPROCS. Hand over less often: do more for each message, or let one goroutine do both parts."},
		{rows: []ledger.Row{idle(ledger.WakeUp, "chan-receive", ledger.None, time.Second)}, change: func(r *diagnose.Results) { r.Ledger.Pinned = []string{"main.take"} },
			sentence: handOver + "; main.take always ran on a thread of its own (runtime.LockOSThread), which each hand-over has to wake."},
		{rows: []ledger.Row{idle(ledger.WakeUp, "chan-receive", ledger.None, 900*ms), often(turn("main.main", "main.take", 100*ms), 9000)}, boxes: []bottle.Box{box("main.take", 1, 20*ms, 1)}, // for some of these
			waits:    []contention.Wait{{Kind: contention.ChanReceiveKind, Waiter: contention.Party{Group: "main.take", Stack: stackOf("main.take", 3)}, Contentions: 9000, Parks: 9000}},
			change:   func(r *diagnose.Results) { r.Ledger.Pinned = []string{"main.take"} },
			sentence: "Handing over: processors were idle for 50% of the capacity until goroutines ran that others had woken (9,009 times), most for main.take (45%) and main.main (5%); main.take always ran on a thread of its own (runtime.LockOSThread), which each hand-over has to wake.",
			advice:   "They ran 50 ms after they were woken, on average. Do without LockOSThread where no C library needs it, or do more for each message."},
		{rows: []ledger.Row{idle(ledger.WakeUp, "chan-receive", ledger.None, time.Second)}, change: func(r *diagnose.Results) { r.Ledger.Slices = 500_000 },
			sentence: handOver + "; goroutines ran for only 2 µs at a time."},
		{rows: []ledger.Row{idle(ledger.Scheduler, "chan-receive", "", 900*ms), idle(ledger.WakeUp, "chan-receive", ledger.None, 100*ms)},
			sentence: "The scheduler took 45% of the capacity, from one goroutine to the next (9 times), and processors were idle for 5% until goroutines ran that others had woken."},
		{rows: []ledger.Row{idle(ledger.Scheduler, "chan-receive", "", time.Second)}, change: func(r *diagnose.Results) { r.Ledger.Pinned = []string{"main.take"} },
			sentence: "The scheduler took 50% of the capacity, from one goroutine to the next (9 times); main.take always ran on a thread of its own (runtime.LockOSThread), which each hand-over has to wake.",
			advice:   "Do without LockOSThread where no C library needs it, or do more for each message."},
		// Of stages of one function, which wake each other, the slow one sets the pace.
		{rows: []ledger.Row{idle(ledger.WakeUp, "chan-receive", "main.take", time.Second)}, boxes: []bottle.Box{box("main.take", 8, time.Second, 1)},
			sentence: "While main.take ran, and no others, the other processors had nothing to do or were waking up: 50% of the capacity.",
			advice:   "Divide its work among goroutines, let the others begin before it is done, or make it faster, which can gain more."},
		// Goroutines of one function, none of which takes most of the time, run one at a time.
		{rows: []ledger.Row{joined}, boxes: []bottle.Box{box("main.work", 9, time.Second, 1), box("main.main", 1, 0, 1)}, change: goroutines("main.work", 9, 111*ms),
			sentence: "The 9 goroutines of main.work ran one at a time, and the other processors had nothing to do: 50% of the capacity.",
			advice:   "Each is waited for there before the next one has work: give work to several, then wait for them."},
		{rows: []ledger.Row{joined, none("main.work", 2*time.Second)}, boxes: []bottle.Box{box("main.work", 9, time.Second, 1), box("main.main", 1, 0, 1)},
			change: func(r *diagnose.Results) {
				goroutines("main.work", 9, 111*ms)(r)
				r.Ledger.Procs, r.Ledger.Capacity = 4, 4*time.Second
			},
			sentence: "The 9 goroutines of main.work ran one at a time, and the other processors had nothing to do: 75% of the capacity.",
			advice:   "Each is waited for there before the next one has work: give work to several, then wait for them."},
		{rows: []ledger.Row{joined}, boxes: []bottle.Box{box("main.work", 90, time.Second, 1), box("main.main", 1, 0, 1)}, change: goroutines("main.work", 90, 11*ms), // ten for each wait
			sentence: "While main.work ran, and no others, the other processors had nothing to do: 50% of the capacity."},
		{rows: []ledger.Row{asked}, boxes: []bottle.Box{box("main.work", 4, time.Second, 1), box("main.main", 1, 0, 1)}, change: goroutines("main.work", 4, 250*ms),
			sentence: "The 4 goroutines of main.work ran one at a time, and the other processors had nothing to do: 50% of the capacity.",
			advice:   "Each is waited for there before the next one has work: give work to several, then wait for them."},
		// Three functions with one item in flight.
		{rows: []ledger.Row{often(turn("main.take", "main.work", 400*ms), 100), often(turn("main.send", "main.take", 320*ms), 100), often(turn("main.work", "main.send", 280*ms), 100), ran("main.take", 320*ms, 100), ran("main.work", 400*ms, 100), ran("main.send", 280*ms, 100)},
			boxes:    []bottle.Box{box("main.take", 1, 320*ms, 1), box("main.work", 1, 400*ms, 1), box("main.send", 1, 280*ms, 1)},
			sentence: "Taking turns: main.work, main.take and main.send wait for each other, which leaves 50% of the capacity idle (300 turns of 3.33 ms).",
			advice:   "Let each begin its next part while the other still has the last one: have two or more messages, buffers or requests under way."},
		{rows: []ledger.Row{often(turn("main.take", "main.work", 400*ms), 100), often(turn("main.send", "main.take", 320*ms), 100), often(turn("main.work", "main.send", 280*ms), 100), none("main.work", 800*ms), none("main.take", 640*ms), none("main.send", 560*ms), ran("main.take", 320*ms, 100), ran("main.work", 400*ms, 100), ran("main.send", 280*ms, 100)},
			boxes:    []bottle.Box{box("main.take", 1, 320*ms, 1), box("main.work", 1, 400*ms, 1), box("main.send", 1, 280*ms, 1)},
			change:   func(r *diagnose.Results) { r.Ledger.Procs, r.Ledger.Capacity = 4, 4*time.Second },
			sentence: "Taking turns: main.work, main.take and main.send wait for each other, which leaves 75% of the capacity idle (300 turns of 3.33 ms).",
			advice:   "Let each begin its next part while the other still has the last one: have two or more messages, buffers or requests under way."},
		{rows: []ledger.Row{often(turn("main.take", "main.work", 640*ms), 100), often(turn("main.send", "main.take", 120*ms), 100), often(turn("main.work", "main.send", 240*ms), 100)},
			boxes:    []bottle.Box{box("main.take", 1, 120*ms, 1), box("main.work", 1, 640*ms, 1), box("main.send", 1, 240*ms, 1)}, // one of them sets the pace
			sentence: "While main.work ran alone, the other processors had nothing to do: 32% of the capacity.",
			advice:   "Divide its work among goroutines, let the others begin before it is done, or make it faster, which can gain more."},
		{rows: []ledger.Row{turn("main.take", "main.take", time.Second)}, boxes: []bottle.Box{box("main.take", 3, time.Second, 1)}, change: goroutines("main.take", 3, 333*ms),
			sentence: "The 3 goroutines of main.take ran one at a time, and the other processors had nothing to do: 50% of the capacity.",
			advice:   "They wait for each other: have more items or requests under way at a time, so that each works on another one."},
		// Two goroutines that take turns, and a third processor. Long turns are work, and short
		// ones are waking.
		{rows: []ledger.Row{turn("main.take", "main.work", 300*ms), turn("main.work", "main.take", 280*ms), {Category: ledger.NoWork, Beside: "main.take", Time: 400 * ms, Count: 1}, {Category: ledger.NoWork, Beside: "main.work", Time: 400 * ms, Count: 1}, ran("main.take", 280*ms, 9), ran("main.work", 300*ms, 9)},
			boxes:    []bottle.Box{box("main.take", 1, 280*ms, 1), box("main.work", 1, 300*ms, 1)},
			change:   func(r *diagnose.Results) { r.Ledger.Procs, r.Ledger.Capacity = 3, 3*time.Second },
			sentence: "Taking turns: main.work and main.take wait for each other, which leaves 46% of the capacity idle (27 turns of 21.5 ms).",
			advice:   "Let each begin its next part while the other still has the last one: have two or more messages, buffers or requests under way."},
		{rows: []ledger.Row{often(turn("main.take", "main.work", 300*ms), 10_000), often(turn("main.work", "main.take", 280*ms), 10_000), {Category: ledger.NoWork, Beside: "main.take", Time: 400 * ms, Count: 1}, {Category: ledger.NoWork, Beside: "main.work", Time: 400 * ms, Count: 1}},
			change:   func(r *diagnose.Results) { r.Ledger.Procs, r.Ledger.Capacity = 3, 3*time.Second },
			sentence: "Handing over: processors were idle for 46% of the capacity until goroutines ran that others had woken, or had none to run (20,002 times), most for main.take (10%) and main.work (9%)."},
		// Two phases of a program are no turns.
		{rows: []ledger.Row{often(turn("main.take", "main.work", 300*ms), 2), often(turn("main.work", "main.take", 280*ms), 2), ran("main.take", 280*ms, 30), ran("main.work", 300*ms, 30)},
			boxes:    []bottle.Box{box("main.take", 1, 280*ms, 1), box("main.work", 1, 300*ms, 1)},
			sentence: "While main.work ran alone, the other processors had nothing to do: 15% of the capacity.",
			advice:   "Divide its work among goroutines, let the others begin before it is done, or make it faster, which can gain more."},
		// Each of a few goroutines sends one result to the one that started them.
		{rows: []ledger.Row{often(turn("main.main", "main.work", 300*ms), 2)}, boxes: []bottle.Box{box("main.work", 2, 1700*ms, 1.4), box("main.main", 1, 0, 1)}, change: goroutines("main.work", 2, 850*ms),
			sentence: "Uneven work: 15% of the capacity was idle while the last of the 2 main.work ran.",
			advice:   "Divide the work into more, smaller pieces, or let goroutines that are done take over."},
		{rows: []ledger.Row{often(turn("main.main", "main.work", 300*ms), 200)}, boxes: []bottle.Box{box("main.work", 2, 1700*ms, 1.4), box("main.main", 1, 0, 1)}, change: goroutines("main.work", 2, 850*ms), // many results
			sentence: "While main.work ran, and no others, the other processors had nothing to do: 15% of the capacity.",
			advice:   "Divide its work among goroutines, let the others begin before it is done, or make it faster, which can gain more."},
		// While one goroutine ran all the time, others wait for it, also while some ran beside it.
		{rows: []ledger.Row{idle(ledger.Idle, "chan-receive", "main.work", 900*ms), idle(ledger.Idle, "chan-receive", ledger.Several, 100*ms)}, boxes: []bottle.Box{box("main.work", 1, 950*ms, 1)},
			sentence: "While main.work ran, alone or beside too few others, the other processors had nothing to do: 50% of the capacity.",
			advice:   "Divide its work among goroutines, let the others begin before it is done, or make it faster, which can gain more."},
		{rows: []ledger.Row{idle(ledger.Idle, "chan-receive", "main.work", 900*ms), idle(ledger.Idle, "chan-receive", ledger.Several, 100*ms)}, boxes: []bottle.Box{box("main.work", 1, 800*ms, 1)},
			sentence: "While main.work ran alone, the other processors had nothing to do: 45% of the capacity.",
			advice:   "Divide its work among goroutines, let the others begin before it is done, or make it faster, which can gain more."},
		// One of several goroutines has most of the work, such as that of a popular key.
		{rows: []ledger.Row{idle(ledger.Idle, "chan-receive", "main.work", time.Second)}, boxes: []bottle.Box{box("main.work", 4, time.Second, 1.2)}, change: func(r *diagnose.Results) {
			goroutines("main.work", 3, 50*ms)(r)
			r.Tasks.Classes[0].RunningNS.AddN(uint64(850*ms), 1)
		},
			sentence: "While main.work ran, and no others, the other processors had nothing to do: 50% of the capacity.",
			advice:   "One of the 4 took 85% of the time for which they ran. Divide its work among goroutines, let the others begin before it is done, or make it faster, which can gain more."},
		// Of many goroutines that Broadcast wakes, few have anything to do.
		{rows: []ledger.Row{broadcast(time.Second), {Category: ledger.Code, Group: "main.take", Site: placeOf("main.take", 3), Time: 900 * ms, Count: 600_000}},
			sentence: "While main.work ran alone, the other processors had nothing to do: 50% of the capacity.",
			advice:   "Broadcast wakes all that wait at main.take main.go:3, which ran for 1.5 µs until they waited again, on average: if one is enough, use Signal. Divide its work among goroutines, let the others begin before it is done, or make it faster, which can gain more."},
		{rows: []ledger.Row{broadcast(time.Second), {Category: ledger.Code, Group: "main.take", Site: placeOf("main.take", 3), Time: 900 * ms, Count: 30_000}}, // they have something to do
			sentence: "While main.work ran alone, the other processors had nothing to do: 50% of the capacity."},
		{rows: []ledger.Row{idle(ledger.WakeUp, "coroutine", ledger.None, time.Second), {Category: ledger.Code, Group: "main.take", Time: 999 * ms, Count: 9}},
			sentence: "Taking turns: an iterator of iter.Pull and the goroutine that pulls never run at the same time, and the processor that this leaves idle is 50% of the capacity (9 turns), most for main.take (50%)."},
		// Processors that had none to run to the end waited for them, too.
		{rows: []ledger.Row{pulls("main.take", "main.work"), pulls("main.work", "main.take"), {Category: ledger.NoWork, Beside: "main.take", Time: time.Second, Count: 1}, {Category: ledger.NoWork, Beside: "main.work", Time: time.Second, Count: 1}, {Category: ledger.Code, Group: "main.take", Time: 400 * ms, Count: 100}},
			change:   func(r *diagnose.Results) { r.Ledger.Procs, r.Ledger.Capacity = 4, 4*time.Second },
			sentence: "Taking turns: an iterator of iter.Pull and the goroutine that pulls never run at the same time, and the processor that this leaves idle is 73% of the capacity (109 turns), most for main.take (11%) and main.work (11%).",
			advice:   "If both parts take long, have a goroutine send batches through a channel; else range over the iterator itself."},
		{rows: []ledger.Row{{Category: ledger.Scheduler, Group: "google.golang.org/grpc.run", Site: timeline.Place{Func: "google.golang.org/grpc.run", File: "/go/pkg/mod/google.golang.org/grpc@v1.83.2/run.go", Line: 7}, Wait: "yield", Time: time.Second, Count: 9}},
			sentence: "Yielding at grpc.run run.go:7 took 50% of the capacity, from one goroutine to the next (9 times).",
			advice:   "A library does that for the program: call it less often, for more at a time."},
		{rows: []ledger.Row{idle(ledger.Scheduler, "yield", "", time.Second)}, sentence: "Yielding at main.take main.go:3 took 50% of the capacity, from one goroutine to the next (9 times)."},

		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second)}, sentence: "The lock at main.take main.go:3 kept 50% of the capacity idle."},
		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second)}, waits: locked(3*time.Second, 0), sentence: "The lock main.table kept 50% of the capacity idle (9 waits, blocked for 3 s in all)."},
		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second)}, waits: locked(3*time.Second, 2*time.Second),
			sentence: "The lock main.table kept 50% of the capacity idle (9 waits, blocked for 3 s and then ready for 2 s in all)."},
		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second), {Category: ledger.Code, Group: "main.take", Site: placeOf("main.take", 3), Wait: "mutex", Sampled: true, Time: 200 * ms, Count: 9}}, waits: locked(3*time.Second, 0),
			sentence: "The lock main.table cost 60% of the capacity: processors were idle for 50% and ran in its own methods for 10% (9 waits, blocked for 3 s in all)."},
		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second), calls(placeOf("main.take", 6), 200*ms)}, waits: locked(3*time.Second, 0),
			sentence: "The lock main.table cost 60% of the capacity: processors were idle for 50% and were in system calls under it for 10% (9 waits, blocked for 3 s in all)."},
		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second), calls(placeOf("main.take", 6), ms)}, waits: locked(3*time.Second, 0), // too little to mention
			sentence: "The lock main.table kept 50% of the capacity idle (9 waits, blocked for 3 s in all)."},
		{rows: []ledger.Row{code("main.take", 6, 990*ms), lockRow(ledger.Scheduler, 10*ms)}, waits: locked(2*time.Second, 0), change: one,
			sentence: "The lock main.table limits, not the number of processors: its owners ran for some 100% of the time, and 2.00 goroutines waited for it on average (9 waits, blocked for 2 s in all)."},
		// main.add has no caller that calls the lock's function: the runtime may have
		// lost main.take.
		{rows: []ledger.Row{code("main.add", 30, 990*ms, placeOf("main.loop", 20)), lockRow(ledger.Scheduler, 10*ms)}, waits: locked(2*time.Second, 0), change: one,
			sentence: "The lock main.table may limit, not the number of processors: 2.00 goroutines on average waited for it, or after that for the processor (9 waits, blocked for 2 s in all)."},

		{rows: []ledger.Row{idle(ledger.Idle, "chan-send", ledger.None, time.Second)}, waits: []contention.Wait{{Kind: contention.ChanSendKind, Waiter: sender, Waited: 3 * time.Second, Contentions: 9}},
			pairs:    []contention.Wait{{Kind: contention.ChanSendKind, Waiter: sender, Owner: contention.Party{Group: "main.take", Stack: stackOf("main.take", 8)}, Blamed: 3 * time.Second, Contentions: 9}},
			change:   func(r *diagnose.Results) { r.Graph = nil },
			sentence: "A limit at main.take main.go:3 kept 50% of the capacity idle: 3.00 waited on average."},
		{rows: []ledger.Row{{Category: ledger.GCWorker, Time: time.Second, Count: 9}, asks}, change: heap(&ledger.Heap{Collections: 9}),
			waits:    []contention.Wait{wait(contention.GCKind, stackOf("runtime.GC", 1, "main.take", 3))},
			sentence: "The garbage collector took 50% of the capacity: workers 50%, assists 0%, world stopped 0%, waits for it <1%; at main.take main.go:3 the program asks for it."},
		// The collector's workers take processors that are idle because goroutines wait until it
		// is done.
		{rows: []ledger.Row{{Category: ledger.GCWorker, Group: "GC (idle)", Time: time.Second, Count: 9}, asks}, change: heap(&ledger.Heap{Collections: 9}),
			waits:    []contention.Wait{wait(contention.GCKind, stackOf("runtime.GC", 1, "main.take", 3))},
			sentence: "The garbage collector took 50% of the capacity: workers 50%, assists 0%, world stopped 0%, waits for it <1%; at main.take main.go:3 the program asks for it."},
		// A large allocation starts a collection, and yields.
		{rows: []ledger.Row{{Category: ledger.GCWorker, Time: time.Second, Count: 9}, idle(ledger.Scheduler, "yield", "", ms)}, change: heap(&ledger.Heap{Collections: 2, Allocated: 3e6, Live: 1e6, Peak: 2e6}),
			waits:    []contention.Wait{wait(contention.GCKind, stackOf("main.take", 3))},
			sentence: "The garbage collector took 50% of the capacity: workers 50%, assists 0%, world stopped 0%, waits for it 0%.",
			advice:   "It ran 2 times: the program allocated 3 MB a second. A" + less + ", or give it more memory (GOGC, GOMEMLIMIT)."},
		{rows: []ledger.Row{code("main.loop", 1, 1900*ms)}, boxes: []bottle.Box{box("main.loop", 1_900_000, 1900*ms, 2)}, change: func(r *diagnose.Results) { r.Ledger.Born = 1_900_000 },
			sentence: "Tiny goroutines: 1,900,000 of main.loop ran for 1 µs each, on average."},
		{rows: []ledger.Row{{Category: ledger.WakeUp, Group: "main.loop", Wait: "created", Beside: ledger.None, Time: 200 * ms, Count: 99}, code("main.loop", 1, 99*ms)}, boxes: []bottle.Box{box("main.loop", 99_000, 99*ms, 2)}, change: func(r *diagnose.Results) { r.Ledger.Born = 99_000 },
			sentence: "Tiny goroutines: 99,000 of main.loop ran for 1 µs each, on average; 10% of the capacity went to starting them and waiting for them.",
			advice:   "Timers start them (time.AfterFunc): use fewer timers that do more each."},
		{rows: []ledger.Row{{Category: ledger.Code, Group: "net/http.(*connReader).backgroundRead", Time: 1900 * ms, Count: 9}}, boxes: []bottle.Box{box("net/http.(*connReader).backgroundRead", 1_900_000, 1900*ms, 2)}, change: func(r *diagnose.Results) { r.Ledger.Born = 1_900_000 },
			sentence: "Tiny goroutines: 1,900,000 of http.(*connReader).backgroundRead ran for 1 µs each, on average.",
			advice:   "A library starts them for the program: have it do so less often."},
		{rows: []ledger.Row{code("main.loop", 1, 1900*ms)}, boxes: []bottle.Box{box("main.loop", 4, 1900*ms, 2)},
			waits:    []contention.Wait{{Kind: contention.ChanSendKind, Waiter: contention.Party{Group: "main.loop", Stack: stackOf("main.loop", 3)}, Contentions: 1_900_000, Parks: 1_900_000}},
			sentence: "Tiny pieces of work: main.loop ran for 1 µs between one wait for others and the next, on average (1,900,000 times, most at main.loop main.go:3)."},
		{rows: []ledger.Row{{Category: ledger.Scheduler, Group: "main.loop", Site: placeOf("main.loop", 3), Wait: "cond", All: true, Time: 200 * ms, Count: 1_800_000},
			{Category: ledger.Code, Group: "main.loop", Site: placeOf("main.loop", 3), Time: 1800 * ms, Count: 1_800_000}}, boxes: []bottle.Box{box("main.loop", 64, 1800*ms, 2)},
			waits:    []contention.Wait{{Kind: contention.CondKind, Waiter: contention.Party{Group: "main.loop", Stack: stackOf("main.loop", 3)}, Contentions: 1_800_000, Parks: 1_800_000}},
			sentence: "Tiny pieces of work: main.loop ran for 1 µs between one wait for others and the next, on average (1,800,000 times, most at main.loop main.go:3); 10% of the capacity went to handing over.",
			advice:   "Broadcast wakes all that wait at main.loop main.go:3, which ran for 1 µs until they waited again, on average: if one is enough, use Signal. To wait and be woken takes about as long: hand over several pieces at a time, or let each goroutine take a range of the work."},
		{boxes: []bottle.Box{box("main.take", 200, time.Second, 1)}, change: func(r *diagnose.Results) {
			r.Ledger.Born = 200
			r.Contention.Unfinished = []contention.Wait{{Kind: contention.ChanSendKind, Waiter: sender, Contentions: 200, Waited: 200 * 500 * ms, Longest: time.Second}}
		}, sentence: "Goroutines are started and do not end: at the end, 200 of 200 main.take waited at main.take main.go:3."},
		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second)}, waits: locked(3*time.Second, 0), change: func(r *diagnose.Results) { r.Contention.Locks[0].Name = contention.SeveralLocks },
			sentence: "The lock main.table kept 50% of the capacity idle (9 waits, blocked for 3 s in all).",
			advice:   "Hold it for less time. It may be several locks of the same code: a trace does not distinguish them."},
		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second)}, waits: []contention.Wait{{Kind: contention.MutexKind, Waiter: contention.Party{Group: "main.take", Stack: stackOf("sync.(*Mutex).Lock", 1, "log.(*Logger).output", 2, "main.take", 3)}, Waited: 3 * time.Second, Contentions: 9, Parks: 9}},
			sentence: "The lock main.table kept 50% of the capacity idle (9 waits, blocked for 3 s in all).",
			advice:   "The standard library holds it for the program: call that less often, for more at a time."},
		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second)}, waits: []contention.Wait{{Kind: contention.MutexKind, Waiter: contention.Party{Group: "main.take", Stack: stackOf("sync.(*Mutex).Lock", 1, "internal/sync.(*HashTrieMap[...]).Swap", 2, "sync.(*Map).Store", 2, "main.take", 3)}, Waited: 3 * time.Second, Contentions: 9, Parks: 9}},
			change:   func(r *diagnose.Results) { r.Contention.Locks[0].Name = contention.SeveralLocks },
			sentence: "The lock main.table kept 50% of the capacity idle (9 waits, blocked for 3 s in all).",
			advice:   "The standard library holds it for the program: call that less often, for more at a time."},
		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second)}, waits: []contention.Wait{{Kind: contention.MutexKind, Waiter: contention.Party{Group: "main.take", Stack: stackOf("sync.(*Mutex).Lock", 1, "sync.(*Cond).Wait", 2, "main.take", 3)}, Waited: 3 * time.Second, Contentions: 9, Parks: 9}},
			sentence: "The lock main.table kept 50% of the capacity idle (9 waits, blocked for 3 s in all).",
			advice:   "Hold it for less time, or divide what it guards among several locks."},
		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second)}, waits: blamed(3 * time.Second), pairs: owned(3*time.Second, contention.Wait{Running: 2 * time.Second}),
			sentence: "The lock main.table kept 50% of the capacity idle (9 waits, blocked for 3 s in all).",
			advice:   "While others waited, its owners were running for 67%. Hold it for less time, or divide what it guards among several locks."},
		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second)}, waits: blamed(3 * time.Second), pairs: owned(3*time.Second, contention.Wait{Running: 2 * time.Second}),
			change:   func(r *diagnose.Results) { r.Contention.Pairs[0].Owner.Stack = stackOf("main.sweep", 9) },
			sentence: "The lock main.table kept 50% of the capacity idle (9 waits, blocked for 3 s in all).",
			advice:   "While others waited, its owners (most in main.sweep) were running for 67%. Hold it for less time, or divide what it guards among several locks."},
		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second)}, waits: blamed(time.Second), pairs: owned(time.Second, contention.Wait{Runnable: time.Second}),
			sentence: "The lock main.table kept 50% of the capacity idle (9 waits, blocked for 3 s in all).",
			advice:   "While others waited, its owners were ready to run and had no processor for 100% of the 33% in which they are known. Hold it for less time, or divide what it guards among several locks."},
		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second)}, waits: blamed(3 * time.Second), pairs: owned(3*time.Second, contention.Wait{Blocked: map[string]time.Duration{contention.SleepKind: 3 * time.Second}}),
			sentence: "The lock main.table kept 50% of the capacity idle (9 waits, blocked for 3 s in all).",
			advice:   "While others waited, its owners waited themselves (sleep) for 100%. Hold it for less time, or divide what it guards among several locks."},
		{rows: []ledger.Row{lockRow(ledger.Idle, 500*ms), besideLock}, waits: blamed(3 * time.Second), pairs: owned(3*time.Second, contention.Wait{Blocked: map[string]time.Duration{contention.SleepKind: 3 * time.Second}}),
			sentence: "The lock main.table kept 45% of the capacity idle (9 waits, blocked for 3 s in all).",
			advice:   "While others waited, its owners waited themselves (sleep) for 100%. Hold it for less time, or divide what it guards among several locks."},
		{rows: []ledger.Row{idle(ledger.Idle, "select", ledger.None, time.Second)}, pairs: pair(contention.SelectKind, stackOf("database/sql.(*DB).conn", 1, "main.take", 3), "main.take"), change: noGraph,
			sentence: "The limit of the connections to a database, waited for at main.take main.go:3, kept 50% of the capacity idle: 3.00 waited on average."},
		{rows: []ledger.Row{idle(ledger.Idle, "select", ledger.None, time.Second)}, pairs: pair(contention.SelectKind, stackOf("net/http.(*Transport).getConn", 1, "main.take", 3), "net/http.(*persistConn).readLoop"), change: noGraph,
			sentence: "The limit of the connections to a host, waited for at main.take main.go:3, kept 50% of the capacity idle: 3.00 waited on average."},
		{rows: []ledger.Row{idle(ledger.Idle, "chan-receive", ledger.None, time.Second)}, pairs: pair(contention.ChanReceiveKind, stackOf("testing.(*T).Parallel", 1, "main.take", 3), "main.take"), change: noGraph,
			sentence: "The limit of tests that run in parallel, waited for at main.take main.go:3, kept 50% of the capacity idle: 3.00 waited on average."},
		{rows: []ledger.Row{idle(ledger.Idle, "chan-receive", ledger.None, time.Second)}, pairs: pair(contention.ChanReceiveKind, stackOf("main.take", 3), "main.take"), change: noGraph,
			sentence: "Goroutines of main.take wait for one another at main.take main.go:3, which kept 50% of the capacity idle: 3.00 waited on average."},
		{rows: []ledger.Row{past("sleep")}, pairs: pair(contention.ChanSendKind, stackOf("main.take", 3), "main.serve"), change: noGraph,
			sentence: "The limit of how many main.serve work at a time, waited for at main.take main.go:3, kept 50% of the capacity idle: 3.00 waited on average while others slept at main.serve main.go:9."},
		{rows: []ledger.Row{{Category: ledger.Syscall, Group: "main.serve", Site: placeOf("main.run", 3), Callee: "os/exec.(*Cmd).Run", Time: 600 * ms, Count: 3000}, {Category: ledger.NoWork, Beside: "main.serve", Time: time.Second, Count: 1}}, pairs: pair(contention.ChanSendKind, stackOf("main.take", 3), "main.serve"), change: noGraph,
			sentence: "The limit of how many main.serve work at a time, waited for at main.take main.go:3, kept 80% of the capacity idle: 3.00 waited on average while others started commands and waited for them at main.run main.go:3.",
			advice:   "Have more of them work at a time, if what they wait for can bear it."},
		// A server's goroutines have several names.
		{rows: []ledger.Row{past("sleep")}, pairs: pair(contention.ChanSendKind, stackOf("main.accept", 3), "main.close"),
			boxes: []bottle.Box{box("http.serve", 9, 0, 1), {Kind: bottle.Application, Group: "main.close", Starts: []string{"http.serve"}}, {Kind: bottle.Application, Group: "main.serve", Starts: []string{"http.serve"}},
				{Kind: bottle.Application, Group: "main.take", Sites: map[string][]bottle.Site{"chan-send": {{Func: "main.accept", Line: 3, Time: 900 * ms}}}}},
			sentence: "The limit of how many http.serve work at a time, waited for at main.accept main.go:3, kept 50% of the capacity idle: 0.90 waited on average while others slept at main.serve main.go:9."},
		// Those past a limit sleep at several places.
		{rows: []ledger.Row{past("sleep"), {Category: ledger.Outside, Group: "main.serve", Site: placeOf("main.save", 7), Wait: "sleep", Beside: ledger.None, Time: 200 * ms, Count: 9}}, pairs: pair(contention.SemaphoreKind, stackOf("main.take", 3), "main.serve"),
			boxes:    []bottle.Box{{Kind: bottle.Application, Group: "main.serve", Sites: map[string][]bottle.Site{"sleep": {{Func: "main.serve", Line: 9, Time: 1500 * ms}, {Func: "main.save", Line: 7, Time: 1800 * ms}}}}},
			sentence: "A limit at main.take main.go:3 kept 60% of the capacity idle: 3.00 waited on average while 3.30 slept, most at main.save main.go:7.",
			advice:   "Raise the limit, if what those past it wait for can bear it."},
		{rows: []ledger.Row{past("sleep")}, pairs: pair(contention.SemaphoreKind, stackOf("main.take", 3), "main.serve"), change: noGraph,
			sentence: "A limit at main.take main.go:3 kept 50% of the capacity idle: 3.00 waited on average while others slept at main.serve main.go:9."},
		{rows: []ledger.Row{idle(ledger.WakeUp, "chan-receive", ledger.None, 10*time.Microsecond*9), idle(ledger.Idle, "chan-receive", ledger.None, time.Second)}, sentence: strings.Replace(handOver, "9 times", "18 times", 1) + ".",
			advice: "They ran 5 µs after they were woken, on average: as long as it takes to wake a thread. Hand over less often: do more for each message, or let one goroutine do both parts."},
		{change: func(r *diagnose.Results) { r.Graph.Procs, r.Graph.CPUs = 8, 2 }, sentence: "GOMAXPROCS is 8, but the machine or its control group gives the process 2 processors: goroutines that count as running may have waited for one."},
		{change: func(r *diagnose.Results) {
			r.Graph.Throttles, r.Graph.Throttled, r.Graph.Capacity = 3, 500*ms, 2*time.Second
		},
			sentence: "The control group of the process used up its quota of processor time 3 times and took away 25% of the capacity: goroutines that count as running did not run then."},
		{rows: []ledger.Row{{Category: ledger.GCWorker, Time: time.Second, Count: 9}, yields}, change: heap(&ledger.Heap{Collections: 9}),
			waits:    []contention.Wait{wait(contention.GCKind, stackOf("runtime.GC", 1, "testing.(*B).runN", 3, "main.take", 3))},
			sentence: "The garbage collector took 50% of the capacity: workers 50%, assists 0%, world stopped 0%, waits for it <1%; package testing asks for it."},
		{rows: []ledger.Row{{Category: ledger.GCWorker, Time: time.Second, Count: 9}}, change: heap(nil), boxes: []bottle.Box{box("net/http.(*Transport).startDialConnForLocked.func1", 1000, 0, 1)},
			waits:    []contention.Wait{wait(contention.SelectKind, stackOf("net/http.(*persistConn).roundTrip", 9, "main.take", 3))},
			sentence: "The garbage collector took 50% of the capacity: workers 50%, assists 0%, world stopped 0%, waits for it 0%.",
			advice:   "The program opened 1,000 connections: have net/http use them again (one Client for all; read each response to its end and close it; raise MaxIdleConnsPerHost of the Transport). A" + less + ", or give it more memory (GOGC, GOMEMLIMIT)."},
		{rows: []ledger.Row{{Category: ledger.GCWorker, Time: time.Second, Count: 9}}, change: heap(nil),
			sentence: "The garbage collector took 50% of the capacity: workers 50%, assists 0%, world stopped 0%, waits for it 0%.",
			advice:   "A" + less + ", or give it more memory (GOGC, GOMEMLIMIT)."},
		{rows: []ledger.Row{{Category: ledger.GCWorker, Time: time.Second, Count: 9}}, change: heap(&ledger.Heap{Collections: 1, Allocated: 3e6, Live: 1e6, Peak: 2e6}),
			sentence: "The garbage collector took 50% of the capacity: workers 50%, assists 0%, world stopped 0%, waits for it 0%.",
			advice:   "It ran 1 time: the program allocated 3 MB a second. A" + less + ", or give it more memory (GOGC, GOMEMLIMIT)."},
		{rows: []ledger.Row{{Category: ledger.GCWorker, Time: time.Second, Count: 9}}, change: heap(&ledger.Heap{Collections: 90, Allocated: 400e6, Live: 10e6, Peak: 12e6}),
			sentence: "The garbage collector took 50% of the capacity: workers 50%, assists 0%, world stopped 0%, waits for it 0%.",
			advice:   "It ran 90 times: the program allocated 400 MB a second, and the live heap of 10 MB grew by 20% until the next collection. That is little: raise GOGC or GOMEMLIMIT, or a" + less + "."},
		{rows: []ledger.Row{{Category: ledger.GCWorker, Time: time.Second, Count: 9}}, change: heap(&ledger.Heap{Collections: 90, Allocated: 400e6, Live: 10e6, Peak: 20e6}),
			sentence: "The garbage collector took 50% of the capacity: workers 50%, assists 0%, world stopped 0%, waits for it 0%.",
			advice:   "It ran 90 times: the program allocated 400 MB a second, and the live heap of 10 MB grew by 100% until the next collection. GOGC=400 would take some 30 MB more memory, and a quarter of the collections; or a" + less + "."},
		{rows: []ledger.Row{{Category: ledger.GCWorker, Time: time.Second, Count: 9}}, change: heap(&ledger.Heap{Collections: 9, Allocated: 8e9, Live: 1e9, Peak: 2e9}),
			sentence: "The garbage collector took 50% of the capacity: workers 50%, assists 0%, world stopped 0%, waits for it 0%.",
			advice:   "It ran 9 times: the program allocated 8 GB a second, and the live heap of 1 GB grew by 100% until the next collection. A" + less + ", or give it more memory (GOGC, GOMEMLIMIT)."},
		{rows: []ledger.Row{{Category: ledger.GCStop, Time: 300 * ms, Count: 2}, {Category: ledger.GCWorker, Time: 100 * ms, Count: 2}}, change: heap(&ledger.Heap{Collections: 1, Allocated: 4e6, Live: 4e6, Peak: 8e6}),
			sentence: "The garbage collector took 20% of the capacity: workers 5%, assists 0%, world stopped 15%, waits for it 0%.",
			advice:   "It ran 1 time, and stopped the world for 150 ms each time, on average: longer than that takes, so other programs may have used the processors."},
		{rows: []ledger.Row{past("network")}, pairs: pair(contention.SemaphoreKind, stackOf("main.take", 3), "main.serve"), change: noGraph,
			sentence: "A limit at main.take main.go:3 kept 50% of the capacity idle: 3.00 waited on average while others waited for the network at main.serve main.go:9."},
		{rows: []ledger.Row{past("network")}, pairs: pair(contention.SemaphoreKind, stackOf("main.take", 3), "main.serve"), change: noGraph,
			waits:    []contention.Wait{wait(contention.NetworkKind, stackOf("os.(*File).Read", 9, "main.serve", 9))},
			sentence: "A limit at main.take main.go:3 kept 50% of the capacity idle: 3.00 waited on average while others waited for a pipe or a device at main.serve main.go:9.",
			advice:   "Raise the limit, if what those past it wait for can bear it."},
		{rows: []ledger.Row{past("syscall")}, pairs: pair(contention.SemaphoreKind, stackOf("main.take", 3), "main.serve"), change: noGraph,
			sentence: "A limit at main.take main.go:3 kept 50% of the capacity idle: 3.00 waited on average while others were in system calls at main.serve main.go:9."},
		// Calls that hold processors do so without the limit, too.
		{rows: []ledger.Row{{Category: ledger.Syscall, Group: "main.serve", Site: placeOf("main.serve", 9), Time: 900 * ms, Count: 900}, {Category: ledger.Outside, Group: "main.serve", Site: placeOf("main.serve", 9), Wait: "syscall", Beside: ledger.None, Time: 100 * ms, Count: 9}},
			pairs: pair(contention.SemaphoreKind, stackOf("main.take", 3), "main.serve"), change: noGraph,
			sentence: "Long system calls at main.serve main.go:9 held processors for 45% of the capacity, and left 5% idle (900 calls).",
			advice:   "Make fewer, larger calls, or have several goroutines make them. If they usually take less time, other programs may have used the processors."},
		{rows: []ledger.Row{past("select")}, pairs: pair(contention.SemaphoreKind, stackOf("main.take", 3), "main.serve"), change: noGraph,
			sentence: "A limit at main.take main.go:3 kept 50% of the capacity idle: 3.00 waited on average while others waited for a timer at main.serve main.go:9."},
		// One goroutine stores what others send to it.
		{rows: []ledger.Row{idle(ledger.Outside, "sleep", ledger.None, 1100*ms)},
			pairs:    []contention.Wait{{Kind: contention.ChanSendKind, Waiter: contention.Party{Group: "main.work", Stack: stackOf("main.send", 8)}, Owner: contention.Party{Group: "main.take", Stack: stackOf("main.take", 2)}, Blamed: 3 * time.Second, Contentions: 9}},
			boxes:    []bottle.Box{box("main.take", 1, 0, 1), {Kind: bottle.Application, Group: "main.work", Goroutines: 4, Sites: map[string][]bottle.Site{"chan-send": {{Func: "main.send", File: "/src/main.go", Line: 8, Time: 3 * time.Second}}}}},
			sentence: "Sleeping at main.take main.go:3 left 55% of the capacity idle.",
			advice:   "Others wait for that at main.send main.go:8 (3.00 on average): have more of it under way at a time, or shorten it."},
		// Of many goroutines that wait for messages, one sleeps, for which the sender waits.
		{rows: []ledger.Row{idle(ledger.Outside, "sleep", ledger.None, 1300*ms)},
			waits:    []contention.Wait{{Kind: contention.ChanReceiveKind, Waiter: contention.Party{Group: "main.take", Stack: stackOf("main.take", 2)}, Contentions: 8000}},
			pairs:    []contention.Wait{{Kind: contention.ChanSendKind, Waiter: contention.Party{Group: "main.work", Stack: stackOf("main.send", 8)}, Owner: contention.Party{Group: "main.take", Stack: stackOf("main.take", 2)}, Blamed: time.Second, Contentions: 400}},
			boxes:    []bottle.Box{{Kind: bottle.Application, Group: "main.take", Goroutines: 20, Waiting: map[string]time.Duration{"chan-receive": 19 * time.Second}, Sites: map[string][]bottle.Site{"chan-receive": {{Func: "main.take", File: "/src/main.go", Line: 2, Time: 19 * time.Second}}}}, {Kind: bottle.Application, Group: "main.work", Goroutines: 1, Sites: map[string][]bottle.Site{"chan-send": {{Func: "main.send", File: "/src/main.go", Line: 8, Time: time.Second}}}}},
			sentence: "Sleeping at main.take main.go:3 left 65% of the capacity idle.",
			advice:   "Others wait for that at main.send main.go:8 (1.00 on average): have more of it under way at a time, or shorten it."},
		{rows: []ledger.Row{idle(ledger.Outside, "select", ledger.None, 1100*ms)},
			pairs:    []contention.Wait{{Kind: contention.ChanSendKind, Waiter: contention.Party{Group: "main.work", Stack: stackOf("main.send", 8)}, Owner: contention.Party{Group: "main.take", Stack: stackOf("main.take", 2)}, Blamed: 3 * time.Second, Contentions: 9}},
			boxes:    []bottle.Box{box("main.take", 1, 0, 1), {Kind: bottle.Application, Group: "main.work", Goroutines: 4, Sites: map[string][]bottle.Site{"chan-send": {{Func: "main.send", File: "/src/main.go", Line: 8, Time: 3 * time.Second}}}}},
			sentence: "Waiting for a timer at main.take main.go:3 left 55% of the capacity idle.",
			advice:   "Others wait for that at main.send main.go:8 (3.00 on average): if it is not meant to set their pace, have more of it under way at a time, or shorten it."},
		// What others wait for is not where they wait, such as for an answer or a deadline.
		{rows: []ledger.Row{idle(ledger.Outside, "select", ledger.None, 1100*ms)},
			pairs:    []contention.Wait{{Kind: contention.SelectKind, Waiter: contention.Party{Group: "main.work", Stack: stackOf("main.take", 3)}, Owner: contention.Party{Group: "main.take", Stack: stackOf("main.take", 2)}, Blamed: 3 * time.Second, Contentions: 9}},
			boxes:    []bottle.Box{box("main.take", 1, 0, 1), {Kind: bottle.Application, Group: "main.work", Goroutines: 4, Sites: map[string][]bottle.Site{"select": {{Func: "main.take", File: "/src/main.go", Line: 3, Time: 3 * time.Second}}}}},
			sentence: "Waiting for a timer at main.take main.go:3 left 55% of the capacity idle (3.00 at a time).",
			advice:   "A timer sets the pace there (a ticker, a rate limiter, time.After, a deadline), not the processors: shorten it, do more each time or, if it polls, wait for what is expected instead."},
		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second)}, waits: locked(3*time.Second, 0), change: func(r *diagnose.Results) { r.Contention.Locks[0].Class = "net/rpc.Server" },
			sentence: "The lock rpc.Server kept 50% of the capacity idle (9 waits, blocked for 3 s in all).",
			advice:   "The standard library holds it for the program: call that less often, for more at a time."},
		// In a part of a recording, whose waits are known only for all of it.
		{rows: []ledger.Row{lockRow(ledger.Idle, 600*ms), {Category: ledger.Syscall, Group: "main.take", Site: placeOf("main.take", 6), Call: "fsync", Time: 600 * ms, Count: 30}},
			waits: blamed(3 * time.Second), pairs: owned(3*time.Second, contention.Wait{Running: time.Second, Blocked: map[string]time.Duration{"syscall": 2 * time.Second}}),
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.take", Goroutines: 6, Waiting: map[string]time.Duration{"syscall": 600 * ms}}},
			change: func(r *diagnose.Results) {
				r.Contention.Duration, r.Contention.Locks[0].Contended = 2*time.Second, 2*time.Second
			},
			sentence: "The lock main.table cost 60% of the capacity: processors were idle for 30% and were in system calls under it for 30%.",
			advice:   "While others waited, its owners waited themselves (syscall) for 67%, most at main.take main.go:6. Hold it for less time, or divide what it guards among several locks. Each waits until the disk has written: sync once for several changes, in batches or for all that wait at a time."},
		// The largest row may be no call.
		{rows: []ledger.Row{alone("main.take", 900*ms), {Category: ledger.Syscall, Group: "main.take", Site: placeOf("main.take", 6), Call: "fsync", Time: 500 * ms, Count: 20}}, boxes: []bottle.Box{box("main.take", 1, 500*ms, 1)},
			sentence: "Long system calls at main.take main.go:6 held processors for 25% of the capacity (20 calls); while main.take ran alone, the other processors had nothing to do for 45%.",
			advice:   "Each waits until the disk has written: sync once for several changes, in batches or for all that wait at a time."},
		// A single goroutine that has waited for others runs after them.
		{rows: []ledger.Row{{Category: ledger.Idle, Group: "main.main", Site: placeOf("main.main", 30), Wait: "waitgroup", Beside: "main.main", Time: 700 * ms, Count: 9}, ran("main.main", 900*ms, 9)}, boxes: []bottle.Box{box("main.main", 1, 900*ms, 1)},
			sentence: "While main.main ran alone, the other processors had nothing to do: 35% of the capacity.",
			advice:   "Divide its work among goroutines, let the others begin before it is done, or make it faster, which can gain more."},
		{rows: []ledger.Row{{Category: ledger.Code, Group: "main.poll", Site: placeOf("main.poll", 5), Callee: "runtime.selectnbrecv", Time: 900 * ms, Shared: 800 * ms, Count: 9}, none("main.poll", 2700*ms)},
			boxes:    []bottle.Box{box("main.poll", 1, 900*ms, 1)},
			change:   func(r *diagnose.Results) { r.Ledger.Procs, r.Ledger.Capacity = 4, 4*time.Second },
			sentence: "While main.poll ran alone, the other processors had nothing to do: 68% of the capacity.",
			advice:   "Most of that passed in atomic operations or in select statements that did not wait: if it polls for something, have it wait for that instead."},
		// Under the lock, its owners wait for one that sleeps.
		{rows: []ledger.Row{lockRow(ledger.Idle, 500*ms), {Category: ledger.Outside, Group: "main.archive", Site: placeOf("main.archive", 17), Wait: "sleep", Beside: ledger.None, Time: 900 * ms, Count: 9}},
			waits:    append(blamed(3*time.Second), contention.Wait{Kind: contention.ChanSendKind, Waiter: contention.Party{Group: "main.take", Stack: stackOf("main.take", 6)}, Waited: time.Second, Contentions: 9}),
			pairs:    owned(3*time.Second, contention.Wait{Blocked: map[string]time.Duration{contention.ChanSendKind: 3 * time.Second}}),
			change:   func(r *diagnose.Results) { r.Contention.Locks[0].Contended = 900 * ms },
			sentence: "The lock main.table kept 70% of the capacity idle (9 waits, blocked for 3 s in all).",
			advice:   "While others waited, its owners waited themselves (chan-send) for 100%, most at main.take main.go:6, for one that waits (sleep) at main.archive main.go:17. Hold it for less time, or divide what it guards among several locks."},
		{rows: []ledger.Row{{Category: ledger.Outside, Group: "main.take", Wait: "sleep", Beside: ledger.None, Time: time.Second, Count: 9}},
			sentence: "Sleeping at a place that the trace does not show left 50% of the capacity idle."},
		{rows: []ledger.Row{calls(placeOf("main.read", 3), 400*ms), calls(placeOf("main.write", 4), 420*ms), {Category: ledger.NoWork, Beside: "main.serve", Time: 60 * ms, Count: 1}},
			sentence: "System calls held processors for 41% of the capacity (820,000 calls of 1 µs), most at main.write main.go:4 (21%) and main.read main.go:3 (20%); while goroutines that make them ran alone, the other processors had nothing to do for 3%."},
		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second), calls(placeOf("main.take", 6), 200*ms)}, waits: blamed(3 * time.Second), pairs: owned(3*time.Second, contention.Wait{Running: 3 * time.Second}),
			sentence: "The lock main.table cost 60% of the capacity: processors were idle for 50% and were in system calls under it for 10% (9 waits, blocked for 3 s in all).",
			advice:   "While others waited, its owners were running or in system calls for 100%. Hold it for less time, or divide what it guards among several locks. Make fewer, larger calls: a buffer does that for writes and reads."},
		{rows: []ledger.Row{{Category: ledger.Code, Group: "net/http.(*conn).serve", Site: timeline.Place{Func: "net/http.(*conn).serve", File: "/go/src/net/http/server.go", Line: 3}, Time: time.Second, Count: 9},
			{Category: ledger.NoWork, Beside: "net/http.(*conn).serve", Time: time.Second, Count: 1}},
			sentence: "While http.(*conn).serve ran alone, the other processors had nothing to do: 50% of the capacity.",
			advice:   "Divide its work among goroutines, let the others begin before it is done, or make it faster, which can gain more. The trace shows no line outside the standard library for it: a CPU profile at the same time adds samples to the trace, which do."},
		{rows: []ledger.Row{{Category: ledger.Scheduler, Group: "main.take", Site: placeOf("main.take", 3), Wait: "yield", Time: 20 * ms, Count: 88_000}}, change: func(r *diagnose.Results) { r.Ledger.Slices = 90_000 },
			sentence: "It uses its processors, but may not progress: goroutines yielded 88,000 times, most at main.take main.go:3.",
			advice:   "A goroutine that yields is ready at once, whether or not it has anything to do. If it yields until something has happened, wait for that instead (a channel, a sync.Cond)."},
		{rows: []ledger.Row{{Category: ledger.Outside, Group: "main.take", Wait: "created", Beside: ledger.None, Time: time.Second, Count: 9}},
			sentence: "Waiting for timers that start goroutines (time.AfterFunc) left 50% of the capacity idle, most for main.take (50%).",
			advice:   "A timer sets the pace there (a ticker, a rate limiter, time.After, a deadline), not the processors: shorten it, do more each time or, if it polls, wait for what is expected instead."},
		// A timer that cancels a context does so for those that wait for it.
		{rows: []ledger.Row{{Category: ledger.Outside, Group: "context.WithDeadlineCause.func2", Wait: "created", Beside: ledger.None, Time: 1200 * ms, Count: 9}},
			pairs:    pair(contention.SelectKind, stackOf("main.take", 3), "context.WithDeadlineCause.func2"),
			boxes:    []bottle.Box{{Kind: bottle.Application, Group: "main.take", Goroutines: 1, Sites: map[string][]bottle.Site{"select": {{Func: "main.take", File: "/src/main.go", Line: 3, Time: time.Second}}}}},
			sentence: "Waiting for a timer at main.take main.go:3 left 60% of the capacity idle."},
		{rows: []ledger.Row{idle(ledger.Outside, "created", ledger.None, 1200*ms)}, // for which others wait
			sentence: "Waiting for timers that start goroutines (time.AfterFunc) left 60% of the capacity idle, most for main.take (60%).",
			advice:   "A timer sets the pace there (a ticker, a rate limiter, time.After, a deadline), not the processors: shorten it, do more each time or, if it polls, wait for what is expected instead."},
		// The threads of short calls had no processor for a while.
		{rows: []ledger.Row{calls(placeOf("main.read", 3), 600*ms), {Category: ledger.Outside, Group: "main.serve", Site: placeOf("main.read", 3), Wait: "syscall", Beside: ledger.None, Time: 400 * ms, Count: 20}},
			sentence: "System calls at main.read main.go:3 held processors for 30% of the capacity, and left 20% idle (600,000 calls of 1 µs).",
			advice:   "Make fewer, larger calls: a buffer does that for writes and reads."},
		// A server beside a program that mostly computes.
		{rows: []ledger.Row{{Category: ledger.Outside, Group: "net/http.(*conn).serve", Site: placeOf("net/http.(*connReader).Read", 3), Wait: "network", Beside: ledger.None, Time: 200 * ms, Count: 9}},
			sentence: "Waiting for requests from the network left 10% of the capacity idle."},
		{rows: []ledger.Row{{Category: ledger.GCWorker, Time: 600 * ms, Count: 9}}, change: func(r *diagnose.Results) { r.Ledger.Queued = 100 * ms },
			sentence: "The garbage collector took 30% of the capacity: workers 30%, assists 0%, world stopped 0%, waits for it 0%; for 20%, processors had nothing else to run."},
		{rows: []ledger.Row{idle(ledger.Outside, "sleep", ledger.None, 1200*ms)}, boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.take", Goroutines: 80, Waiting: map[string]time.Duration{"sleep": 2 * time.Second}}},
			waits:    []contention.Wait{{Kind: contention.WaitGroupKind, Waiter: contention.Party{Group: "main.main", Stack: stackOf("main.round", 20)}, Waited: time.Second, Contentions: 10}},
			pairs:    []contention.Wait{{Kind: contention.WaitGroupKind, Waiter: contention.Party{Group: "main.main", Stack: stackOf("main.round", 20)}, Owner: contention.Party{Group: "main.take"}, Blamed: time.Second, Contentions: 10}},
			sentence: "Sleeping at main.take main.go:3 left 60% of the capacity idle.",
			advice:   "At main.round main.go:20, others wait for the last of 8 goroutines, of which only 2.00 are not done, on average: begin the next ones before the slowest is done. Wait for what is expected instead of sleeping, or have more of it under way at a time."},
		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second), {Category: ledger.C, Group: "main.take", Site: placeOf("main.take", 6), Time: 900 * ms, Count: 9}},
			waits: blamed(3 * time.Second), pairs: owned(3*time.Second, contention.Wait{Running: 3 * time.Second}),
			sentence: "The lock main.table kept 50% of the capacity idle (9 waits, blocked for 3 s in all).",
			advice:   "While others waited, its owners were in C code, running or waiting, for 100%. Hold it for less time, or divide what it guards among several locks."},
		{change: tasks(2_000_000, 800), sentence: `Tiny tasks: 2,000,000 of "load" ran for 800 ns each, on average.`},
		{change: tasks(1, 900_000_000), sentence: `Too few tasks for 2 processors: 1 of "load", of 900 ms on average.`},
		{change: tasks(100, 5_000_000, 1, 900_000_000), sentence: `The largest task of "load" ran for 900 ms, and the 101 of them for 13.9 ms each, on average: the others are done before it.`},
	}
	titles, advice := []string{}, []string{}
	for i := range cases {
		c := &cases[i]
		findings := diagnose.New(c.results(t)).Findings
		at := slices.IndexFunc(findings, func(f verdict.Finding) bool { return f.Title == c.sentence })
		if at < 0 {
			t.Errorf("want %s\n got %s: %s %v", c.sentence, findings[0].Kind, findings[0].Title, findings[0].Where)
			continue
		}
		want := cmp.Or(c.advice, adviceOf[c.sentence])
		if strings.HasSuffix(want, "may never happen.") && findings[at].Gain != 0 {
			t.Errorf("%s: a program that does not go on gains %v", c.sentence, findings[at].Gain)
		}
		if got := findings[at].Advice; got != want {
			t.Errorf("%s\nwants the advice %q\n and has the advice %q", c.sentence, want, got)
		}
		titles, advice = append(titles, c.sentence), append(advice, want)
	}
	for field, texts := range map[string][]string{"Title": titles, "Advice": advice} {
		for _, part := range textsOf(t, field) {
			if !slices.ContainsFunc(texts, part.MatchString) {
				t.Errorf("no case has the text, or part of one, of %s: %s", field, part)
			}
		}
	}
}

// textsOf returns the strings in the source that a field of a finding may consist of: those in what
// is assigned to it, in what is assigned to the variables and constants there, and in what the
// functions return that are called there.
func textsOf(t *testing.T, field string) (parts []*regexp.Regexp) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	verbs := regexp.MustCompile(`%(s|d|q|\\\.[0-9]f(%%)?)`)
	sources := map[string][]ast.Expr{} // by function, constant, or function and variable
	var seeds []ast.Expr
	within := map[ast.Expr]string{} // its function
	assigned := func(fn string, to, from ast.Expr) {
		within[from] = fn
		switch to := to.(type) {
		case *ast.SelectorExpr:
			if to.Sel.Name == field {
				seeds = append(seeds, from)
			}
		case *ast.Ident:
			sources[fn+"."+to.Name] = append(sources[fn+"."+to.Name], from)
		}
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			fn := ""
			if d, ok := decl.(*ast.FuncDecl); ok {
				fn = d.Name.Name
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					for i, to := range n.Lhs {
						assigned(fn, to, n.Rhs[min(i, len(n.Rhs)-1)])
					}
				case *ast.KeyValueExpr:
					if name, ok := n.Key.(*ast.Ident); ok && name.Name == field {
						seeds, within[n.Value] = append(seeds, n.Value), fn
					}
				case *ast.ValueSpec:
					for i, value := range n.Values {
						assigned(fn, n.Names[i], value)
					}
				case *ast.ReturnStmt:
					for _, value := range n.Results {
						sources[fn], within[value] = append(sources[fn], value), fn
					}
				}
				return true
			})
		}
	}
	seen := map[string]bool{}
	var add func(fn string, e ast.Expr)
	follow := func(name string) {
		if !seen[name] {
			seen[name] = true
			for _, from := range sources[name] {
				add(within[from], from)
			}
		}
	}
	add = func(fn string, e ast.Expr) {
		ast.Inspect(e, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && len(s) >= 12 && strings.Contains(s, " ") {
					parts = append(parts, regexp.MustCompile(verbs.ReplaceAllString(regexp.QuoteMeta(strings.TrimSuffix(s, ".")), ".+")))
				}
			case *ast.CallExpr:
				switch called := n.Fun.(type) {
				case *ast.Ident:
					follow(called.Name)
				case *ast.SelectorExpr:
					follow(called.Sel.Name)
				}
			case *ast.Ident:
				follow("." + n.Name)
				follow(fn + "." + n.Name)
			}
			return true
		})
	}
	for _, e := range seeds {
		add(within[e], e)
	}
	return parts
}

// adviceOf is the advice that goes with each sentence.
var adviceOf = map[string]string{
	"Finalizers and cleanups (runtime.SetFinalizer, AddCleanup) ran for 45% of the capacity.":                                                                                                                                                          "Do that where the program is done with an object, such as in Close: the runtime runs them only after a collection, and finalizers one after the other.",
	"Waiting for a timer at main.take main.go:3 left 60% of the capacity idle.":                                                                                                                                                                        "A timer sets the pace there (a ticker, a rate limiter, time.After, a deadline), not the processors: shorten it, do more each time or, if it polls, wait for what is expected instead.",
	"Handing over: processors were idle for 46% of the capacity until goroutines ran that others had woken, or had none to run (20,002 times), most for main.take (10%) and main.work (9%).":                                                           "Hand over less often: do more for each message, or let one goroutine do both parts.",
	"Long system calls at main.take main.go:3 held processors for 9% of the capacity, and left 2% idle (900 calls).":                                                                                                                                   "Make fewer, larger calls, or have several goroutines make them. If they usually take less time, other programs may have used the processors.",
	"Done once: processors had nothing to do for 35% of the capacity while main.take ran, which others waited for at main.take main.go:3.":                                                                                                             "Divide that among goroutines, begin it earlier, or let the others do other work until it is done.",
	"While main.work ran alone, the other processors had nothing to do or were waking up: 50% of the capacity.":                                                                                                                                        "Divide its work among goroutines, let the others begin before it is done, or make it faster, which can gain more.",
	"Starting commands and waiting for them (os/exec) at main.take main.go:3 held processors for 5% of the capacity, and left 45% idle (500 calls of 200 µs).":                                                                                         "Run several at a time, or start fewer that do more each. A processor is held until the system has loaded a command; the trace does not cover what commands do after that.",
	"Long system calls at main.take main.go:3 held processors for 9% of the capacity, and left 20% idle (2,000 calls).":                                                                                                                                "Have more of them under way at a time, or fewer (fsync, small reads).",
	"The limit of how many http.serve work at a time, waited for at main.accept main.go:3, kept 50% of the capacity idle: 0.90 waited on average while others slept at main.serve main.go:9.":                                                          "Have more of them work at a time, if what they wait for can bear it.",
	"Starting commands (os/exec) at main.run main.go:3 held processors for 30% of the capacity (30,000 calls of 20 µs); while main.serve ran alone, the other processors had nothing to do for 50%.":                                                   "A processor is held until the system has loaded the command. Start fewer commands that do more each, or do their work in the program.",
	"Done once for all that ask at a time (singleflight): processors had nothing to do for 50% of the capacity while main.work ran, which others waited for at main.take main.go:3.":                                                                   "Divide that among goroutines, begin it earlier, or let the others do other work until it is done.",
	"The scheduler took 50% of the capacity, from one goroutine to the next (9 times).":                                                                                                                                                                "Have goroutines do more before they wait.",
	"It uses its processors: the program's own code ran for 100% of the capacity, most of it in main.work (100%).":                                                                                                                                     "The trace shows nothing to repair. A trace does not show progress: the code may spin, or wait for memory because of false sharing, atomics or bandwidth. \"bottleneck scale\" measures it.",
	"It uses its processors: the program's own code ran for 100% of the capacity, the largest part of it in main.loop (35%).":                                                                                                                          "The trace shows nothing to repair. A trace does not show progress: the code may spin, or wait for memory because of false sharing, atomics or bandwidth. \"bottleneck scale\" measures it.",
	"It uses its processors, but may not progress: 50% of the capacity passed in atomic operations or in read locks of an RWMutex, most at main.count main.go:5.":                                                                                      "Goroutines that change the same memory wait for it while they run, which a trace does not show. \"bottleneck scale\" measures whether several are faster than one. If not, give each its own part of the data.",
	"The trace covers only 500 µs, which is too short to show what limits the program.":                                                                                                                                                                "Starting the tracer, threads and goroutines takes a good part of that: record more work, such as many runs.",
	"For 100% of the time all processors were in use and other goroutines were ready: 3.00 on average.":                                                                                                                                                "There is work for up to 5 processors, unless goroutines then wait for each other, or for memory that they share.",
	"GOMAXPROCS is 1: for 100% of the time the processor was in use and other goroutines were ready: 2.00 on average.":                                                                                                                                 "There is work for up to 3 processors, unless goroutines then wait for each other, or for memory that they share.",
	"Too little parallel work: for 50% of the capacity, processors had nothing to run while others did.":                                                                                                                                               "Offer more work at a time: more goroutines, or larger batches, before the program waits for them.",
	"While main.work ran alone, the other processors had nothing to do: 50% of the capacity.":                                                                                                                                                          "Divide its work among goroutines, let the others begin before it is done, or make it faster, which can gain more.",
	"While main.work ran, 1.80 at a time, the other processors had nothing to do: 50% of the capacity.":                                                                                                                                                "Divide its work among goroutines, let the others begin before it is done, or make it faster, which can gain more.",
	"While main.work ran, and no others, the other processors had nothing to do: 50% of the capacity.":                                                                                                                                                 "Divide its work among goroutines, let the others begin before it is done, or make it faster, which can gain more.",
	"Too few goroutines: while the 2 of main.work ran, 2.00 at a time, other processors had nothing to do: 50% of the capacity.":                                                                                                                       "Divide the work among more goroutines (there are 4 processors).",
	"While a goroutine in main.load ran alone, the other processors had nothing to do: 50% of the capacity.":                                                                                                                                           "Divide its work among goroutines, let the others begin before it is done, or make it faster, which can gain more.",
	"Done once: processors had nothing to do for 50% of the capacity while main.work ran, which others waited for at main.take main.go:3.":                                                                                                             "Divide that among goroutines, begin it earlier, or let the others do other work until it is done.",
	"Processors had nothing to do for 50% of the capacity while main.work ran, which others waited for at main.share main.go:3.":                                                                                                                       "Divide that among goroutines, begin it earlier, or let the others do other work until it is done.",
	"Uneven work: 50% of the capacity was idle while the last of the 8 main.work ran.":                                                                                                                                                                 "Divide the work into more, smaller pieces, or let goroutines that are done take over.",
	"A limit at main.take main.go:3 kept 50% of the capacity idle.":                                                                                                                                                                                    "Raise the limit (there are 2 processors).",
	"System calls held processors for 30% of the capacity (600,000 calls of 1 µs), most at main.read main.go:3 (15%) and main.write main.go:4 (15%).":                                                                                                  "Make fewer, larger calls: a buffer does that for writes and reads.",
	"System calls at main.read main.go:3 held processors for 30% of the capacity (600,000 calls of 1 µs); while main.serve ran alone, the other processors had nothing to do for 50%.":                                                                 "Make fewer, larger calls: a buffer does that for writes and reads.",
	"System calls at main.read main.go:3 held processors for 30% of the capacity (600,000 calls of 1 µs).":                                                                                                                                             "Make fewer, larger calls: a buffer does that for writes and reads.",
	"System calls in the standard library held processors for 30% of the capacity (600,000 calls of 1 µs), most in main.serve (30%).":                                                                                                                  "Each request takes some: send fewer that do more each.",
	"Waiting for system calls at main.take main.go:3 left 50% of the capacity idle.":                                                                                                                                                                   "Have more of them under way at a time, or fewer (fsync, small reads).",
	"Sleeping at main.take main.go:3 left 50% of the capacity idle.":                                                                                                                                                                                   "Wait for what is expected instead of sleeping, or have more of it under way at a time.",
	"Waiting for a timer at main.take main.go:3 left 50% of the capacity idle.":                                                                                                                                                                        "A timer sets the pace there (a ticker, a rate limiter, time.After, a deadline), not the processors: shorten it, do more each time or, if it polls, wait for what is expected instead.",
	"Waiting for a command (os/exec) at main.take main.go:3 left 50% of the capacity idle.":                                                                                                                                                            "The trace does not cover what the command does: make it faster, or run several at a time.",
	"Waiting for the network at main.take main.go:3 left 50% of the capacity idle.":                                                                                                                                                                    "The other end sets the pace: have more requests under way at a time, or make it faster.",
	"Waiting for a pipe or a device at main.take main.go:3 left 50% of the capacity idle (9 times).":                                                                                                                                                   "The other end sets the pace. If that is a command: the trace does not cover what the command does: make it faster, or run several at a time.",
	"Waiting for the network left 60% of the capacity idle, most at main.ask main.go:4 (30%) and main.take main.go:3 (30%).":                                                                                                                           "The other end sets the pace: have more requests under way at a time, or make it faster.",
	"Waiting for the network left 60% of the capacity idle (9 times), most at main.ask main.go:4 (30%) and main.take main.go:3 (30%).":                                                                                                                 "The other end sets the pace: have more requests under way at a time, or make it faster.",
	"Waiting for the network left 70% of the capacity idle, most at main.take main.go:3 (30%).":                                                                                                                                                        "The other end sets the pace: have more requests under way at a time, or make it faster.",
	"Waiting for requests from the network left 10% of the capacity idle.":                                                                                                                                                                             "The clients set the pace there: with more requests at a time, it would be less.",
	"The garbage collector took 30% of the capacity: workers 30%, assists 0%, world stopped 0%, waits for it 0%; for 20%, processors had nothing else to run.":                                                                                         "Allocate less (go tool pprof -sample_index=alloc_space), or give it more memory (GOGC, GOMEMLIMIT).",
	"Waiting for the network left 50% of the capacity idle.":                                                                                                                                                                                           "The other end sets the pace: have more requests under way at a time, or make it faster.",
	"C code at main.call main.go:3 left 50% of the capacity idle: no others ran beside main.work, which calls it.":                                                                                                                                     "Have several goroutines call it at a time, or make fewer calls. A trace does not show whether it computes or waits.",
	"The world was stopped, but not for the collector: that took 50% of the capacity, most at main.stats main.go:3.":                                                                                                                                   "Stop all goroutines less often: runtime.ReadMemStats, goroutine profiles and changes of GOMAXPROCS do. Package runtime/metrics does not.",
	"The world was stopped, but not for the collector: that took 50% of the capacity, most at testing.(*B).StartTimer main.go:3.":                                                                                                                      "Package testing does that when it starts and stops its timer: have a benchmark run for longer (-benchtime), and stop the timer less often.",
	"The garbage collector took 50% of the capacity: workers 30%, assists 20%, world stopped 0%, waits for it 0%.":                                                                                                                                     "Allocate less (go tool pprof -sample_index=alloc_space), or give it more memory (GOGC, GOMEMLIMIT).",
	"Nothing ran for 50% of the capacity, to the end of the trace.":                                                                                                                                                                                    "The program had no work, or all of its goroutines wait for ever.",
	"Nothing ran for 50% of the capacity, to the end of the window and for long after it.":                                                                                                                                                             "What the program waited for shows in a larger window.",
	"Handing over: processors were idle for 50% of the capacity until goroutines ran that others had woken (9 times), most for main.take (50%).":                                                                                                       "They ran 55.6 ms after they were woken, on average: longer than it takes to wake a thread, so other programs may have used the processors, or there are fewer than GOMAXPROCS. Hand over less often: do more for each message, or let one goroutine do both parts.",
	"Handing over: processors were idle for 50% of the capacity until goroutines ran that others had woken (9 times), most for main.take (50%); main.take always ran on a thread of its own (runtime.LockOSThread), which each hand-over has to wake.": "They ran 55.6 ms after they were woken, on average. Do without LockOSThread where no C library needs it, or do more for each message.",
	"Handing over: processors were idle for 50% of the capacity until goroutines ran that others had woken (9 times), most for main.take (50%); goroutines ran for only 2 µs at a time.":                                                               "They ran 55.6 ms after they were woken, on average: longer than it takes to wake a thread, so other programs may have used the processors, or there are fewer than GOMAXPROCS. Hand over less often: do more for each message, or let one goroutine do both parts.",
	"The scheduler took 45% of the capacity, from one goroutine to the next (9 times), and processors were idle for 5% until goroutines ran that others had woken.":                                                                                    "Have goroutines do more before they wait.",
	"Taking turns: an iterator of iter.Pull and the goroutine that pulls never run at the same time, and the processor that this leaves idle is 50% of the capacity (9 turns), most for main.take (50%).":                                              "If both parts take long, have a goroutine send batches through a channel; else range over the iterator itself.",
	"Yielding at main.take main.go:3 took 50% of the capacity, from one goroutine to the next (9 times).":                                                                                                                                              "If it yields until something has happened, wait for that instead (a channel, a sync.Cond).",
	"The lock at main.take main.go:3 kept 50% of the capacity idle.":                                                                                                                                                                                   "Hold it for less time, or divide what it guards among several locks.",
	"The lock main.table kept 50% of the capacity idle (9 waits, blocked for 3 s in all).":                                                                                                                                                             "Hold it for less time, or divide what it guards among several locks.",
	"The lock main.table kept 50% of the capacity idle (9 waits, blocked for 3 s and then ready for 2 s in all).":                                                                                                                                      "Hold it for less time, or divide what it guards among several locks.",
	"The lock main.table cost 60% of the capacity: processors were idle for 50% and ran in its own methods for 10% (9 waits, blocked for 3 s in all).":                                                                                                 "Hold it for less time, or divide what it guards among several locks.",
	"The lock main.table cost 60% of the capacity: processors were idle for 50% and were in system calls under it for 10% (9 waits, blocked for 3 s in all).":                                                                                          "Hold it for less time, or divide what it guards among several locks. Make fewer, larger calls: a buffer does that for writes and reads.",
	"The lock main.table limits, not the number of processors: its owners ran for at least 90% of the time while others waited for it, 2.00 on average (9 waits, blocked for 2 s in all).":                                                             "Hold it for less time, or divide what it guards among several locks.",
	"A limit at main.take main.go:3 kept 50% of the capacity idle: 3.00 waited on average.":                                                                                                                                                            "Raise the limit (there are 2 processors); if it is 1 because it guards data, as a lock does, hold it for less time, or divide what it guards.",
	"The garbage collector took 50% of the capacity: workers 50%, assists 0%, world stopped 0%, waits for it <1%; at main.take main.go:3 the program asks for it.":                                                                                     "It ran 9 times, at least 9 of them because of runtime.GC or debug.FreeOSMemory: leave that to the runtime, or do it less often.",
	"Tiny goroutines: 1,900,000 of main.loop ran for 1 µs each, on average.":                                                                                                                                                                           "Give each goroutine more to do: a range of the work, or a pool of workers.",
	"Tiny pieces of work: main.loop ran for 1 µs between one wait for others and the next, on average (1,900,000 times, most at main.loop main.go:3).":                                                                                                 "To wait and be woken takes about as long: hand over several pieces at a time, or let each goroutine take a range of the work.",
	"Goroutines are started and do not end: at the end, 200 of 200 main.take waited at main.take main.go:3.":                                                                                                                                           "Find out what they wait for, and who should end it (a context, a closed channel).",
	"The limit of the connections to a database, waited for at main.take main.go:3, kept 50% of the capacity idle: 3.00 waited on average.":                                                                                                            "Raise it (SetMaxOpenConns) if the database can bear it, or hold connections for less time.",
	"The limit of the connections to a host, waited for at main.take main.go:3, kept 50% of the capacity idle: 3.00 waited on average.":                                                                                                                "Raise it (MaxConnsPerHost) if the other side can bear it.",
	"The limit of tests that run in parallel, waited for at main.take main.go:3, kept 50% of the capacity idle: 3.00 waited on average.":                                                                                                               "Raise it (go test -parallel): by default it is GOMAXPROCS, also for tests that only wait.",
	"Goroutines of main.take wait for one another at main.take main.go:3, which kept 50% of the capacity idle: 3.00 waited on average.":                                                                                                                "If that bounds how many go on at a time, raise the bound; if each needs what the one before it did, shorten that chain, or have each do more in its turn.",
	"The limit of how many main.serve work at a time, waited for at main.take main.go:3, kept 50% of the capacity idle: 3.00 waited on average while others slept at main.serve main.go:9.":                                                            "Have more of them work at a time, if what they wait for can bear it.",
	"A limit at main.take main.go:3 kept 50% of the capacity idle: 3.00 waited on average while others slept at main.serve main.go:9.":                                                                                                                 "Raise the limit, if what those past it wait for can bear it.",
	"GOMAXPROCS is 8, but the machine or its control group gives the process 2 processors: goroutines that count as running may have waited for one.":                                                                                                  "Leave GOMAXPROCS to the runtime, which sets it to what the machine and its control group allow.",
	"The control group of the process used up its quota of processor time 3 times and took away 25% of the capacity: goroutines that count as running did not run then.":                                                                               "Raise the CPU limit of the container, or lower GOMAXPROCS, so that bursts do not use up the quota.",
	"The garbage collector took 50% of the capacity: workers 50%, assists 0%, world stopped 0%, waits for it <1%; package testing asks for it.":                                                                                                        "It ran 9 times, at least 9 of them because of runtime.GC or debug.FreeOSMemory: package testing does that before each run, so have a benchmark run for longer (-benchtime).",
	"A limit at main.take main.go:3 kept 50% of the capacity idle: 3.00 waited on average while others waited for the network at main.serve main.go:9.":                                                                                                "Raise the limit, if what those past it wait for can bear it.",
	"A limit at main.take main.go:3 kept 50% of the capacity idle: 3.00 waited on average while others were in system calls at main.serve main.go:9.":                                                                                                  "Raise the limit, if what those past it wait for can bear it.",
	"A limit at main.take main.go:3 kept 50% of the capacity idle: 3.00 waited on average while others waited for a timer at main.serve main.go:9.":                                                                                                    "Raise the limit, if what those past it wait for can bear it.",
	"Sleeping at a place that the trace does not show left 50% of the capacity idle.":                                                                                                                                                                  "Wait for what is expected instead of sleeping, or have more of it under way at a time.",
	"Tiny tasks: 2,000,000 of \"load\" ran for 800 ns each, on average.":                                                                                                                                                                               "To hand a task over costs some 300 ns: make one of about 780.",
	"Too few tasks for 2 processors: 1 of \"load\", of 900 ms on average.":                                                                                                                                                                             "Split them into 16 or more, and begin with the largest.",
	"The largest task of \"load\" ran for 900 ms, and the 101 of them for 13.9 ms each, on average: the others are done before it.":                                                                                                                    "Split it into 11 or so, and begin with the largest.",
	"System calls held processors for 41% of the capacity (820,000 calls of 1 µs), most at main.write main.go:4 (21%) and main.read main.go:3 (20%); while goroutines that make them ran alone, the other processors had nothing to do for 3%.":        "Make fewer, larger calls: a buffer does that for writes and reads.",
	"The lock main.table limits, not the number of processors: its owners ran for some 100% of the time, and 2.00 goroutines waited for it on average (9 waits, blocked for 2 s in all).":                                                              "Hold it for less time, or divide what it guards among several locks.",
	"The lock main.table may limit, not the number of processors: 2.00 goroutines on average waited for it, or after that for the processor (9 waits, blocked for 2 s in all).":                                                                        "Hold it for less time, or divide what it guards among several locks. The trace does not show for how long its owners ran, which bounds what more processors gain.",
}
