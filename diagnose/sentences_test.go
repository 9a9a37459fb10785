package diagnose_test

import (
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
)

func placeOf(fn string, line int) ledger.Place {
	return ledger.Place{Func: fn, File: "/src/main.go", Line: line}
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
	pairs    []contention.Pair
	sentence string
}

func (m *made) results(t *testing.T) diagnose.Results {
	l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second}
	lock := &contention.Lock{ID: 1, Class: "main.table"}
	for i := range m.waits {
		if m.waits[i].Kind == contention.MutexKind {
			m.waits[i].Lock = lock
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

// Every sentence of a finding appears here or in another table of this package, in full.
func TestSentences(t *testing.T) {
	const ms = time.Millisecond
	idle := func(c ledger.Category, wait, beside string, t time.Duration) ledger.Row {
		return ledger.Row{Category: c, Group: "main.take", Site: placeOf("main.take", 3), Wait: wait, Beside: beside, Time: t, Count: 9}
	}
	calls := func(site ledger.Place, t time.Duration) ledger.Row {
		return ledger.Row{Category: ledger.Syscall, Group: "main.serve", Site: site, Time: t, Count: int64(t / time.Microsecond)}
	}
	one := func(r *diagnose.Results) { // processor, that many wait for
		r.Ledger.Procs, r.Ledger.Capacity, r.Ledger.Queue, r.Ledger.Queued = 1, time.Second, 2*time.Second, time.Second
	}
	queue := func(r *diagnose.Results) { r.Ledger.Queue, r.Ledger.Queued = 3*time.Second, time.Second }
	box := func(group string, n int, ran time.Duration, parallel float64) bottle.Box {
		return bottle.Box{Kind: bottle.Application, Group: group, Goroutines: n, Running: ran, Runnable: 3 * time.Second, SelfParallelism: parallel}
	}
	wait := func(kind contention.Kind, stack *contention.Stack) contention.Wait {
		return contention.Wait{Kind: kind, Waiter: contention.Party{Group: "main.take", Stack: stack}, Contentions: 9, Parks: 9}
	}
	locked := func(waited, ready time.Duration) []contention.Wait {
		w := wait(contention.MutexKind, stackOf("main.take", 3, "main.loop", 20))
		w.Waited, w.Ready = waited, ready
		return []contention.Wait{w}
	}
	code := func(fn string, line int, t time.Duration, callers ...ledger.Place) ledger.Row {
		return ledger.Row{Category: ledger.Code, Group: "main.loop", Site: placeOf(fn, line), Callers: callers, Time: t, Count: 9}
	}
	lockRow := func(c ledger.Category, t time.Duration) ledger.Row {
		r := idle(c, "mutex", ledger.None, t)
		r.Waker, r.WakerSite = "main.take", placeOf("main.take", 9)
		return r
	}
	sender := contention.Party{Group: "main.take", Stack: stackOf("main.take", 3)}
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
	cases := []made{
		{sentence: "It uses its processors: the program's own code ran for 100% of the capacity, most of it in main.work (100%)."},
		{rows: []ledger.Row{code("main.a", 1, 700*ms), {Category: ledger.Code, Group: "main.b", Site: placeOf("main.b", 1), Time: 650 * ms, Count: 9}},
			sentence: "It uses its processors: the program's own code ran for 100% of the capacity, the largest part of it in main.loop (35%)."},
		{rows: []ledger.Row{{Category: ledger.Code, Group: "main.loop", Site: placeOf("main.count", 5), Shared: time.Second, Time: time.Second, Count: 99}, idle(ledger.Idle, "waitgroup", ledger.Several, 480*ms)},
			sentence: "It uses its processors, but may not progress: 50% of the capacity passed in atomic operations or in read locks of an RWMutex, most at main.count main.go:5."},
		{rows: []ledger.Row{{Category: ledger.GCWorker, Group: "GC (idle)", Time: 1200 * ms, Count: 9}},
			sentence: "No single cause cost 3% of the capacity: the program's own code ran for 40% of it."},
		{change: func(r *diagnose.Results) { r.Ledger.Capacity = 0 }, sentence: "The trace covers no time."},
		{change: func(r *diagnose.Results) { r.Ledger.Wall, r.Ledger.Capacity = 500_000, 1_000_000 },
			sentence: "The trace covers only 500 µs, which is too short to show what limits the program."},
		{rows: []ledger.Row{{Category: ledger.Code, Group: "(unnamed)", Time: 2 * time.Second, Count: 9}},
			sentence: "The trace does not show which functions ran, so it does not show what limits the program. It may be truncated."},
		{change: func(r *diagnose.Results) { r.Focus = "main.look" }, sentence: "Nothing that main.look is part of cost 3% of the capacity."},
		{change: queue, boxes: []bottle.Box{box("main.work", 4, time.Second, 1)}, sentence: "For 100% of the time all processors were in use and other goroutines were ready: 3.00 on average."},
		{change: one, boxes: []bottle.Box{box("main.work", 4, time.Second, 1)}, sentence: "GOMAXPROCS is 1: for 100% of the time the processor was in use and other goroutines were ready: 2.00 on average."},

		{rows: []ledger.Row{idle(ledger.Idle, "chan-receive", ledger.Several, time.Second)},
			sentence: "Too little parallel work: for 50% of the capacity, processors had nothing to run while others did."},
		{rows: []ledger.Row{idle(ledger.Idle, "chan-receive", "main.work", time.Second)},
			sentence: "While main.work ran alone, the other processors had nothing to do: 50% of the capacity."},
		{rows: []ledger.Row{idle(ledger.Idle, "chan-receive", "main.work", time.Second)}, boxes: []bottle.Box{box("main.work", 3, time.Second, 1.8)},
			sentence: "While main.work ran, 1.80 at a time, the other processors had nothing to do: 50% of the capacity."},
		{rows: []ledger.Row{idle(ledger.Idle, "chan-receive", "main.work", time.Second)}, boxes: []bottle.Box{box("main.work", 3, time.Second, 1)},
			sentence: "While main.work ran, and no others, the other processors had nothing to do: 50% of the capacity."},
		{rows: []ledger.Row{idle(ledger.Idle, "chan-receive", "main.work", 2*time.Second)}, boxes: []bottle.Box{box("main.work", 2, 2*time.Second, 2)},
			change:   func(r *diagnose.Results) { r.Ledger.Procs, r.Ledger.Capacity = 4, 4*time.Second },
			sentence: "Too few goroutines: while the 2 of main.work ran, 2.00 at a time, other processors had nothing to do: 50% of the capacity."},
		{rows: []ledger.Row{{Category: ledger.Code, Group: "(unnamed)", Site: placeOf("main.load", 3), Time: time.Second, Count: 9}, {Category: ledger.NoWork, Beside: "(unnamed)", Time: time.Second, Count: 1}},
			sentence: "While a goroutine in main.load ran alone, the other processors had nothing to do: 50% of the capacity."},
		{rows: []ledger.Row{idle(ledger.Idle, "once", "main.work", time.Second)},
			sentence: "Done once: processors had nothing to do for 50% of the capacity, while one of main.work did at main.take main.go:3 what the others waited for."},
		{rows: []ledger.Row{{Category: ledger.Idle, Group: "main.work", Site: placeOf("main.share", 3), Wait: "waitgroup", Beside: "main.work", Time: time.Second, Count: 9}},
			sentence: "Processors had nothing to do for 50% of the capacity, while one of main.work did at main.share main.go:3 what the others waited for."},
		{rows: []ledger.Row{idle(ledger.Idle, "waitgroup", "main.work", time.Second)}, boxes: []bottle.Box{box("main.work", 8, time.Second, 1.5)},
			sentence: "Uneven work: 50% of the capacity was idle while the last of the 8 main.work ran."},
		{rows: []ledger.Row{idle(ledger.Idle, "semaphore", ledger.None, time.Second)}, sentence: "A limit at main.take main.go:3 kept 50% of the capacity idle."},

		{rows: []ledger.Row{calls(placeOf("main.read", 3), 300*ms), calls(placeOf("main.write", 4), 300*ms), idle(ledger.Idle, "chan-receive", ledger.Several, 10*ms)},
			sentence: "System calls held processors for 30% of the capacity (600,000 calls of 1 µs), most at main.read main.go:3 (15%) and main.write main.go:4 (15%)."},
		{rows: []ledger.Row{calls(placeOf("main.read", 3), 600*ms), {Category: ledger.NoWork, Beside: "main.serve", Time: time.Second, Count: 1}},
			sentence: "System calls at main.read main.go:3 held processors for 30% of the capacity (600,000 calls of 1 µs); while main.serve ran alone, the other processors had nothing to do for 50%."},
		{rows: []ledger.Row{calls(placeOf("main.read", 3), 600*ms)}, sentence: "System calls at main.read main.go:3 held processors for 30% of the capacity (600,000 calls of 1 µs)."},
		{rows: []ledger.Row{calls(ledger.Place{Func: "net/http.(*conn).serve", File: "/go/src/net/http/server.go", Line: 3}, 600*ms)},
			sentence: "System calls in the standard library held processors for 30% of the capacity (600,000 calls of 1 µs), most in main.serve (30%)."},
		{rows: []ledger.Row{idle(ledger.Outside, "syscall", ledger.None, time.Second)}, sentence: "Waiting for system calls at main.take main.go:3 left 50% of the capacity idle."},
		{rows: []ledger.Row{idle(ledger.Outside, "sleep", ledger.None, time.Second)}, sentence: "Sleeping at main.take main.go:3 left 50% of the capacity idle."},
		{rows: []ledger.Row{idle(ledger.Outside, "select", ledger.None, time.Second)}, sentence: "Waiting for a timer at main.take main.go:3 left 50% of the capacity idle."},
		{rows: []ledger.Row{idle(ledger.Outside, "syscall", ledger.None, time.Second)}, waits: []contention.Wait{wait(contention.SyscallKind, stackOf("os.(*Process).pidfdWait", 9, "os.(*Process).Wait", 8, "main.take", 3))},
			sentence: "Waiting for a command (os/exec) at main.take main.go:3 left 50% of the capacity idle."},
		{rows: []ledger.Row{idle(ledger.Outside, "network", ledger.None, time.Second)}, sentence: "Waiting for the network at main.take main.go:3 left 50% of the capacity idle."},
		{rows: []ledger.Row{idle(ledger.Outside, "network", ledger.None, time.Second)}, waits: []contention.Wait{wait(contention.NetworkKind, stackOf("os.(*File).Read", 9, "main.take", 3))},
			sentence: "Waiting for a pipe or a device at main.take main.go:3 left 50% of the capacity idle (9 times)."},
		{rows: []ledger.Row{idle(ledger.Outside, "network", ledger.None, 600*ms), {Category: ledger.Outside, Group: "main.ask", Site: placeOf("main.ask", 4), Wait: "network", Beside: ledger.None, Time: 600 * ms, Count: 9}},
			sentence: "Waiting for the network left 60% of the capacity idle, most at main.ask main.go:4 (30%) and main.take main.go:3 (30%)."},
		{rows: []ledger.Row{idle(ledger.Outside, "network", ledger.None, 600*ms), {Category: ledger.Outside, Group: "main.ask", Site: placeOf("main.ask", 4), Wait: "network", Beside: ledger.None, Time: 600 * ms, Count: 9}},
			waits:    []contention.Wait{wait(contention.NetworkKind, stackOf("main.take", 3))},
			sentence: "Waiting for the network left 60% of the capacity idle (9 times), most at main.ask main.go:4 (30%) and main.take main.go:3 (30%)."},
		{rows: []ledger.Row{{Category: ledger.Outside, Group: "net/http.(*persistConn).readLoop", Wait: "network", Beside: ledger.None, Time: time.Second, Count: 9}},
			sentence: "Waiting for the network left 50% of the capacity idle."},
		{rows: []ledger.Row{{Category: ledger.Outside, Group: "net/http.(*conn).serve", Wait: "network", Site: ledger.Place{Func: "net/http.(*connReader).Read", File: "/go/src/net/http/server.go", Line: 1}, Beside: ledger.None, Time: 1500 * ms, Count: 9}},
			sentence: "Nothing to do for 75% of the capacity: all waited until requests came from the network."},

		{rows: []ledger.Row{idle(ledger.Idle, "in-c", ledger.None, time.Second)}, sentence: "Waiting for C code left 50% of the capacity idle."},
		{rows: []ledger.Row{{Category: ledger.C, Group: "main.work", Site: placeOf("main.call", 3), Time: time.Second, Count: 9}, {Category: ledger.NoWork, Beside: "main.work", Time: time.Second, Count: 1}},
			sentence: "C code at main.call main.go:3 left 50% of the capacity idle: no others ran beside main.work, which calls it."},
		{rows: []ledger.Row{{Category: ledger.C, Group: "main.work", Site: placeOf("main.call", 3), Time: time.Second, Count: 9}},
			sentence: "C code ran for 50% of the capacity. The scheduler does not see it, so a trace does not show whether it computes or waits."},
		{rows: []ledger.Row{{Category: ledger.Tracer, Group: "runtime.traceAdvancer", Time: 800 * ms, Count: 9}},
			sentence: "Tracing itself took 40% of the capacity: the other numbers are those of a program that is slower than usual."},
		{rows: []ledger.Row{{Category: ledger.Runtime, Time: time.Second, Count: 9}}, sentence: "The runtime took 50% of the capacity besides the collector."},
		{rows: []ledger.Row{{Category: ledger.Runtime, Site: placeOf("main.stats", 3), Time: time.Second, Count: 9}},
			sentence: "The world was stopped, but not for the collector: that took 50% of the capacity, most at main.stats main.go:3."},
		{rows: []ledger.Row{{Category: ledger.GCWorker, Time: 600 * ms, Count: 9}, {Category: ledger.GCAssist, Group: "main.work", Time: 400 * ms, Count: 9}},
			sentence: "The garbage collector took 50% of the capacity: workers 30%, assists 20%, world stopped 0%, waits for it 0%."},
		{rows: []ledger.Row{{Category: ledger.NoWork, Beside: ledger.None, Time: time.Second, Count: 1}}, sentence: "Nothing ran for 50% of the capacity, to the end of the trace."},
		{rows: []ledger.Row{{Category: ledger.NoWork, Beside: ledger.None, Time: time.Second, Count: 1}}, change: func(r *diagnose.Results) { r.Window = true },
			sentence: "Nothing ran for 50% of the capacity, to the end of the window and for long after it."},

		{rows: []ledger.Row{idle(ledger.WakeUp, "chan-receive", ledger.None, time.Second)}, sentence: handOver + "."},
		{rows: []ledger.Row{idle(ledger.WakeUp, "chan-receive", ledger.None, time.Second)}, change: func(r *diagnose.Results) { r.Ledger.Pinned = []string{"main.take"} },
			sentence: handOver + "; main.take always ran on a thread of its own (runtime.LockOSThread), which each hand-over has to wake."},
		{rows: []ledger.Row{idle(ledger.WakeUp, "chan-receive", ledger.None, time.Second)}, change: func(r *diagnose.Results) { r.Ledger.Slices = 500_000 },
			sentence: handOver + "; goroutines ran for only 2 µs at a time."},
		{rows: []ledger.Row{idle(ledger.Scheduler, "chan-receive", "", 900*ms), idle(ledger.WakeUp, "chan-receive", ledger.None, 100*ms)},
			sentence: "The scheduler took 45% of the capacity, from one goroutine to the next (9 times), and processors were idle for 5% until goroutines ran that others had woken."},
		{rows: []ledger.Row{idle(ledger.WakeUp, "coroutine", ledger.None, time.Second)},
			sentence: "Taking turns: an iterator of iter.Pull and the goroutine that pulls never run at the same time, and the processor that this leaves idle is 50% of the capacity (9 turns), most for main.take (50%)."},
		{rows: []ledger.Row{idle(ledger.Scheduler, "yield", "", time.Second)}, sentence: "Yielding at main.take main.go:3 took 50% of the capacity, from one goroutine to the next (9 times)."},

		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second)}, sentence: "The lock at main.take main.go:3 kept 50% of the capacity idle."},
		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second)}, waits: locked(3*time.Second, 0), sentence: "The lock main.table kept 50% of the capacity idle (9 waits, blocked for 3 s in all)."},
		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second)}, waits: locked(3*time.Second, 2*time.Second),
			sentence: "The lock main.table kept 50% of the capacity idle (9 waits, blocked for 3 s and then ready for 2 s in all)."},
		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second), {Category: ledger.Code, Group: "main.take", Site: placeOf("main.take", 3), Wait: "mutex", Sampled: true, Time: 200 * ms, Count: 9}}, waits: locked(3*time.Second, 0),
			sentence: "The lock main.table cost 60% of the capacity: processors were idle for 50% and ran in its own methods for 10% (9 waits, blocked for 3 s in all)."},
		{rows: []ledger.Row{lockRow(ledger.Idle, time.Second), calls(placeOf("main.take", 6), 200*ms)}, waits: locked(3*time.Second, 0),
			sentence: "The lock main.table cost 60% of the capacity: processors were idle for 50% and were in system calls under it for 10% (9 waits, blocked for 3 s in all)."},
		{rows: []ledger.Row{{Category: ledger.Code, Group: "main.take", Site: placeOf("main.take", 6), Time: 1990 * ms, Count: 99}, lockRow(ledger.Scheduler, 10*ms)}, waits: locked(3*time.Second, 0),
			sentence: "The lock main.table limits, not the number of processors: 3.00 goroutines waited for it on average, and 0.00 for a processor (9 waits, blocked for 3 s in all)."},
		{rows: []ledger.Row{code("main.take", 6, 990*ms), lockRow(ledger.Scheduler, 10*ms)}, waits: locked(2*time.Second, 0), change: one,
			sentence: "The lock main.table limits, not the number of processors: its owners ran for some 100% of the time, and 2.00 goroutines waited for it on average (9 waits, blocked for 2 s in all)."},
		// main.add has no caller that calls the lock's function: the runtime may have lost main.take.
		{rows: []ledger.Row{code("main.add", 30, 990*ms, placeOf("main.loop", 20)), lockRow(ledger.Scheduler, 10*ms)}, waits: locked(2*time.Second, 0), change: one,
			sentence: "The lock main.table may limit, not the number of processors: 2.00 goroutines on average waited for it, or after that for the processor (9 waits, blocked for 2 s in all)."},

		{rows: []ledger.Row{idle(ledger.Idle, "chan-send", ledger.None, time.Second)}, waits: []contention.Wait{{Kind: contention.ChanSendKind, Waiter: sender, Waited: 3 * time.Second, Contentions: 9}},
			pairs:    []contention.Pair{{Kind: contention.ChanSendKind, Waiter: sender, Owner: contention.Party{Group: "main.take", Stack: stackOf("main.take", 8)}, Blamed: 3 * time.Second, Contentions: 9}},
			change:   func(r *diagnose.Results) { r.Graph = nil },
			sentence: "A limit at main.take main.go:3 kept 50% of the capacity idle: 3.00 waited on average."},
		{rows: []ledger.Row{{Category: ledger.GCWorker, Time: time.Second, Count: 9}, idle(ledger.Scheduler, "yield", "", ms)}, change: func(r *diagnose.Results) { r.Ledger.Heap = &ledger.Heap{Collections: 9} },
			waits:    []contention.Wait{wait(contention.GCKind, stackOf("runtime.GC", 1, "main.take", 3))},
			sentence: "The garbage collector took 50% of the capacity: workers 50%, assists 0%, world stopped 0%, waits for it <1%; at main.take main.go:3 the program asks for it."},
		{rows: []ledger.Row{code("main.loop", 1, 1900*ms)}, boxes: []bottle.Box{box("main.loop", 1_900_000, 1900*ms, 2)}, change: func(r *diagnose.Results) { r.Ledger.Born = 1_900_000 },
			sentence: "Tiny goroutines: 1,900,000 of main.loop ran for 1 µs each, on average."},
		{rows: []ledger.Row{code("main.loop", 1, 1900*ms)}, boxes: []bottle.Box{box("main.loop", 4, 1900*ms, 2)},
			waits:    []contention.Wait{{Kind: contention.ChanSendKind, Waiter: contention.Party{Group: "main.loop", Stack: stackOf("main.loop", 3)}, Contentions: 1_900_000, Parks: 1_900_000}},
			sentence: "Tiny pieces of work: main.loop ran for 1 µs between one wait for others and the next, on average (1,900,000 times, most at main.loop main.go:3)."},
		{boxes: []bottle.Box{box("main.take", 200, time.Second, 1)}, change: func(r *diagnose.Results) {
			r.Ledger.Born = 200
			r.Contention.Unfinished = []contention.Unfinished{{Kind: contention.ChanSendKind, Waiter: sender, Count: 200, Waited: 200 * 500 * ms, Longest: time.Second}}
		}, sentence: "Goroutines are started and do not end: at the end, 200 of 200 main.take waited at main.take main.go:3."},
		{change: tasks(2_000_000, 800), sentence: `Tiny tasks: 2,000,000 of "load" ran for 800 ns each, on average.`},
		{change: tasks(1, 900_000_000), sentence: `Too few tasks for 2 processors: 1 of "load", of 900 ms on average.`},
		{change: tasks(100, 5_000_000, 1, 900_000_000), sentence: `The largest task of "load" ran for 900 ms, and the 101 of them for 13.9 ms each, on average: the others are done before it.`},
	}
	var all []string
	for i := range cases {
		findings := diagnose.New(cases[i].results(t)).Findings
		if !slices.ContainsFunc(findings, func(f diagnose.Finding) bool { return f.Title == cases[i].sentence }) {
			t.Errorf("want %s\n got %s: %s %v", cases[i].sentence, findings[0].Kind, findings[0].Title, findings[0].Where)
		}
		all = append(all, cases[i].sentence)
	}
	for _, part := range partsOfSentences(t) {
		if !slices.ContainsFunc(all, part.MatchString) {
			t.Errorf("no case has the sentence, or part of one, %s", part)
		}
	}
}

// partsOfSentences returns the strings in the source that are assigned to titles of findings.
func partsOfSentences(t *testing.T) (parts []*regexp.Regexp) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	verbs := regexp.MustCompile(`%(s|d|q|\\\.0f%%)`)
	add := func(e ast.Expr) {
		ast.Inspect(e, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil && len(s) >= 12 {
					parts = append(parts, regexp.MustCompile(verbs.ReplaceAllString(regexp.QuoteMeta(strings.TrimSuffix(s, ".")), ".+")))
				}
			}
			return true
		})
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, to := range n.Lhs {
					if field, ok := to.(*ast.SelectorExpr); ok && field.Sel.Name == "Title" {
						add(n.Rhs[min(i, len(n.Rhs)-1)])
					}
				}
			case *ast.KeyValueExpr:
				if name, ok := n.Key.(*ast.Ident); ok && name.Name == "Title" {
					add(n.Value)
				}
			}
			return true
		})
	}
	return parts
}
