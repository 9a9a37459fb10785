package diagnose_test

import (
	"math"
	"slices"
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

// A goroutine that runs alone in C code, or in short system calls, is limited by these.
func TestAloneInCalls(t *testing.T) {
	at := timeline.Place{Func: "main.fetch", File: "/src/main.go", Line: 16}
	for _, tt := range []struct {
		ran   string
		kind  string
		title string
	}{
		{ledger.C, diagnose.Cgo, "C code at main.fetch main.go:16 left 50% of the capacity idle: no others ran beside main.main, which calls it."},
		{ledger.Syscall, diagnose.Syscalls, "System calls at main.fetch main.go:16 held processors for 40% of the capacity (40,000 calls of 20 µs); while main.main ran alone, the other processors had nothing to do for 50%."},
		{ledger.Code, diagnose.Serial, "While main.main ran alone, the other processors had nothing to do: 50% of the capacity."},
	} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.NoWork, Beside: "main.main", Time: time.Second, Count: 1},
			{Category: tt.ran, Group: "main.main", Site: at, Time: 800 * time.Millisecond, Count: 40_000},
			{Category: ledger.Code, Group: "main.main", Site: at, Time: 200 * time.Millisecond, Count: 40_000},
		}}
		if err := l.CheckValid(); err != nil {
			t.Fatal(err)
		}
		f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]
		if f.Kind != tt.kind || f.Title != tt.title || len(f.Where) == 0 || f.Where[0] != at {
			t.Errorf("%s: got %s: %s %v", tt.ran, f.Kind, f.Title, f.Where)
		}
		if tt.kind != diagnose.Serial && (f.Gain != 0 || !strings.Contains(f.Basis, "more")) {
			t.Errorf("%s: fewer calls gain more, and the gain is %v, %q", tt.ran, f.Gain, f.Basis)
		}
		if want := "5.00 times as fast without the calls"; tt.kind == diagnose.Syscalls && !strings.HasPrefix(f.Basis, want) { // it also runs 0.2 s of code
			t.Errorf("got %q, want %q", f.Basis, want)
		}
	}
}

// A consumer that runs most of the time causes the gaps that end when the producers it releases
// have woken up. No repair of the waits gains more than its running time leaves.
func TestSlowConsumerSetsThePace(t *testing.T) {
	receive := timeline.Place{Func: "main.consume", File: "/src/main.go", Line: 7}
	for _, tt := range []struct {
		ran  time.Duration // by the consumer, in 1 s
		n    int           // that are consumers
		kind string
		gain float64
	}{
		{890 * time.Millisecond, 1, diagnose.Serial, 1 / 0.6},
		{700 * time.Millisecond, 1, diagnose.Serial, 1 / 0.6},
		{640 * time.Millisecond, 1, diagnose.HandOver, 1 / 0.64},
		{200 * time.Millisecond, 1, diagnose.HandOver, 1 / 0.6},
		{1200 * time.Millisecond, 2, diagnose.HandOver, 1 / 0.6}, // whose work is divided
	} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.consume", Site: receive, Time: tt.ran, Count: 100},
			{Category: ledger.WakeUp, Group: "main.produce", Wait: "chan-send", Waker: "main.consume", Beside: "main.consume", Time: 800 * time.Millisecond, Count: 100},
			{Category: ledger.Code, Group: "main.produce", Time: 1200*time.Millisecond - tt.ran, Count: 100},
		}}
		if err := l.CheckValid(); err != nil {
			t.Fatal(err)
		}
		f := diagnose.New(diagnose.Results{Ledger: l, Graph: &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{
			{Kind: bottle.Application, Group: "main.consume", Goroutines: tt.n, Running: tt.ran, SelfParallelism: max(1, 0.8*float64(tt.n))},
			{Kind: bottle.Application, Group: "main.produce", Goroutines: 4, Running: 1200*time.Millisecond - tt.ran, SelfParallelism: 1},
		}}}).Findings[0]
		if f.Kind != tt.kind || math.Abs(f.Gain-tt.gain) > 1e-9 {
			t.Errorf("ran for %v: %s %s, a gain of %v, want %s, %v", tt.ran, f.Kind, f.Title, f.Gain, tt.kind, tt.gain)
		}
	}
}

// Little code around each call is a part of it, such as that of package fmt.
func TestCodeAroundCalls(t *testing.T) {
	const ms = time.Millisecond
	at := placeOf("main.log", 23)
	for n, want := range map[int64]string{100_000: diagnose.Syscalls, 1000: diagnose.Serial} {
		f := diagnose.New((&made{
			rows: []ledger.Row{{Category: ledger.NoWork, Beside: "main.log", Time: 900 * ms, Count: 1}, {Category: ledger.Code, Group: "main.main", Site: placeOf("main.main", 9), Time: 600 * ms, Count: 9},
				{Category: ledger.Syscall, Group: "main.log", Site: at, Time: 200 * ms, Count: 100_000}, {Category: ledger.Code, Group: "main.log", Site: at, Time: 300 * ms, Count: n}},
		}).results(t)).Findings[0]
		if f.Kind != want {
			t.Errorf("%d slices of code: %s: %s", n, f.Kind, f.Title)
		}
	}
}

// What else a goroutine does that makes system calls is named after those that took it longest. During
// a call that left processors idle, all of them were.
func TestAloneBesideTheLongestCalls(t *testing.T) {
	const ms = time.Millisecond
	stat, list := placeOf("main.stat", 7), placeOf("main.list", 9)
	f := diagnose.New((&made{
		rows: []ledger.Row{{Category: ledger.NoWork, Beside: "main.main", Time: 600 * ms, Count: 1},
			{Category: ledger.Syscall, Group: "main.main", Site: stat, Time: 250 * ms, Count: 300_000},
			{Category: ledger.Syscall, Group: "main.main", Site: list, Time: 50 * ms, Count: 100},
			{Category: ledger.Outside, Group: "main.main", Site: list, Wait: "syscall", Beside: "main.main", Time: 240 * ms, Count: 9},
			{Category: ledger.Code, Group: "main.main", Site: stat, Time: 150 * ms, Count: 9}},
		change: func(r *diagnose.Results) { r.Ledger.Procs, r.Ledger.Capacity = 2, 2*time.Second },
	}).results(t)).Findings[0]
	if f.Kind != diagnose.Syscalls || f.Where[0] != stat || f.Lost != 850*ms {
		t.Errorf("%s of %v at %v: %s", f.Kind, f.Lost, f.Where, f.Title)
	}
}

// Goroutines that are too short to show a call chain have the line that starts them.
func TestShortGoroutinesHaveTheirStartLine(t *testing.T) {
	start := timeline.Place{Func: "main.start", File: "/src/main.go", Line: 7}
	l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
		{Category: ledger.Code, Group: "main.start.func1", Time: time.Second, Count: 100},
		{Category: ledger.NoWork, Beside: "main.start.func1", Time: 900 * time.Millisecond, Count: 1},
		{Category: ledger.Idle, Group: "main.start.func1", Site: start, Wait: "created", Waker: "main.main", Beside: ledger.None, Time: 100 * time.Millisecond, Count: 100},
	}}
	if err := l.CheckValid(); err != nil {
		t.Fatal(err)
	}
	if f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]; f.Kind != diagnose.Serial || len(f.Where) == 0 || f.Where[0] != start {
		t.Errorf("got %s: %s %v", f.Kind, f.Title, f.Where)
	}
}

// A loop in the function that starts a goroutine has the function as its place: its frame is lost
// where the runtime interrupts it.
func TestPlaceOfALoop(t *testing.T) {
	start := placeOf("main.main", 38)
	v := diagnose.New((&made{rows: []ledger.Row{
		{Category: ledger.Code, Group: "main.produce", Site: timeline.Place{Func: "runtime.asyncPreempt2", File: "/go/src/runtime/preempt.go", Line: 320}, Time: 1900 * time.Millisecond, Count: 100},
		{Category: ledger.Scheduler, Group: "main.produce", Site: start, Wait: "created", Waker: "main.main", Time: time.Millisecond, Count: 1},
	}}).results(t))
	if f := v.Findings[0]; f.Kind != diagnose.Saturated || !slices.Equal(f.Where, []timeline.Place{{Func: "main.produce"}, start}) {
		t.Errorf("got %s: %s %v", f.Kind, f.Title, f.Where)
	}
}

// The goroutines of a server have the name of the handler that most of them are seen to run.
func TestServerIsNamedAfterItsHandler(t *testing.T) {
	const serve = "net/http.(*conn).serve"
	library := timeline.Place{Func: serve, File: "/go/src/net/http/server.go", Line: 9}
	handle := timeline.Place{Func: "main.handle", File: "/src/main.go", Line: 7}
	box := func(name string, ran time.Duration, starts ...string) bottle.Box {
		return bottle.Box{Kind: bottle.Application, Group: name, Starts: starts, Goroutines: 1, Running: ran, SelfParallelism: 1}
	}
	for _, tt := range []struct {
		name, want string
		other      time.Duration // that another handler ran
	}{
		{"one handler", "While main.handle ran alone, the other processors had nothing to do: 45% of the capacity.", 0},
		{"two handlers", "While http.(*conn).serve ran alone, the other processors had nothing to do: 45% of the capacity.", 100 * time.Millisecond},
	} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.Code, Group: serve, Site: library, Time: time.Second, Count: 100},
			{Category: ledger.Idle, Group: "main.main", Wait: "select", Beside: serve, Time: 900 * time.Millisecond, Count: 100},
			{Category: ledger.Code, Group: handle.Func, Site: handle, Time: 100 * time.Millisecond, Count: 10},
		}}
		if err := l.CheckValid(); err != nil {
			t.Fatal(err)
		}
		boxes := []bottle.Box{box(serve, time.Second), box(serve+" (reading)", 0, serve), box(handle.Func, 100*time.Millisecond, serve), box("main.other", tt.other, serve)}
		f := diagnose.New(diagnose.Results{Ledger: l, Graph: &bottle.Graph{Wall: time.Second, Boxes: boxes}}).Findings[0]
		if f.Title != tt.want || tt.other == 0 && (len(f.Where) == 0 || f.Where[0] != handle) {
			t.Errorf("%s: got %s %v", tt.name, f.Title, f.Where)
		}
	}
}

// On one processor a lock limits if its owners ran for most of the time and others waited for it.
func TestLockOnOneProcessor(t *testing.T) {
	frame := func(line int) *contention.Stack {
		return &contention.Stack{Frames: []contention.Frame{{Func: "main.add", File: "/src/main.go", Line: line}}}
	}
	place := func(line int) timeline.Place {
		return timeline.Place{Func: "main.add", File: "/src/main.go", Line: line}
	}
	for _, tt := range []struct {
		held time.Duration // of 1 s
		kind string
	}{{900 * time.Millisecond, diagnose.Lock}, {300 * time.Millisecond, diagnose.OneProc}} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 1, Capacity: time.Second, Queue: 3 * time.Second, Queued: time.Second, Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.add", Site: place(8), Time: tt.held, Count: 100},
			{Category: ledger.Code, Group: "main.add", Site: place(12), Time: time.Second - tt.held - time.Microsecond, Count: 100},
			{Category: ledger.WakeUp, Group: "main.add", Site: place(7), Wait: "mutex", Beside: ledger.None, Time: time.Microsecond, Count: 100},
		}}
		if err := l.CheckValid(); err != nil {
			t.Fatal(err)
		}
		lock := &contention.Lock{ID: 1, Class: "main.add"}
		waiter := contention.Party{Group: "main.add", Stack: frame(7)}
		f := diagnose.New(diagnose.Results{
			Ledger: l,
			Graph:  &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.add", Goroutines: 8, Running: time.Second, Runnable: 3 * time.Second, SelfParallelism: 1}}},
			Contention: &contention.Profile{
				Duration: time.Second,
				Waits:    []contention.Wait{{Kind: contention.MutexKind, Lock: lock, Waiter: waiter, Waited: 2 * time.Second, Contentions: 100, Parks: 100}},
				Pairs:    []contention.Wait{{Kind: contention.MutexKind, Lock: lock, Waiter: waiter, Owner: contention.Party{Group: "main.add", Stack: frame(9)}, Blamed: time.Second, Contentions: 100}},
				Locks:    []*contention.Lock{lock},
			},
		}).Findings[0]
		if f.Kind != tt.kind || len(f.Where) == 0 {
			t.Errorf("held for %v: got %s: %s %v", tt.held, f.Kind, f.Title, f.Where)
		}
	}
}

// Goroutines of 3 µs come before the collector, which they keep busy, if those of 7 µs beside them
// are too short as well: all run for as short as it takes to switch between them.
func TestShortGoroutinesComeFirst(t *testing.T) {
	const ms = time.Millisecond
	start := timeline.Place{Func: "main.publish", File: "/src/main.go", Line: 7}
	for slices, kind := range map[int64]string{400_000: diagnose.Tiny, 100_000: diagnose.Collector} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Born: 200_000, Slices: slices, Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.deliver", Time: 700 * ms, Count: 100_000},
			{Category: ledger.Code, Group: "main.publish", Time: 520 * ms, Count: 100},
			{Category: ledger.Code, Group: "main.send", Time: 300 * ms, Count: 100_000},
			{Category: ledger.GCWorker, Time: 400 * ms, Count: 9, Queue: 400 * time.Second},
			{Category: ledger.WakeUp, Group: "main.send", Site: start, Wait: "created", Waker: "main.publish", Beside: ledger.None, Time: 80 * ms, Count: 100_000},
		}}
		l.Queue, l.Queued = 2000*time.Second, time.Second
		found := diagnose.New(diagnose.Results{Ledger: l, Graph: &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{
			{Kind: bottle.Application, Group: "main.deliver", Goroutines: 100_000, Running: 700 * ms, SelfParallelism: 1},
			{Kind: bottle.Application, Group: "main.publish", Goroutines: 1, Running: 520 * ms, SelfParallelism: 1},
			{Kind: bottle.Application, Group: "main.send", Goroutines: 100_000, Running: 300 * ms, Runnable: 2000 * time.Second, SelfParallelism: 1},
		}}}).Findings
		if f := &found[0]; f.Kind != kind {
			t.Errorf("%d slices: %s: %s, want %s", slices, f.Kind, f.Title, kind)
		}
		for _, f := range found { // more processors would start them, and little else
			if f.Kind == diagnose.MoreProcs && kind == diagnose.Tiny {
				t.Error(f.Title)
			}
		}
	}
}

// Goroutines of half a microsecond come before the collector if the program switches between them all
// the time, though others run for longer.
func TestSwitchingToShortGoroutinesComesFirst(t *testing.T) {
	const ms = time.Millisecond
	for slices, kind := range map[int64]string{400_000: diagnose.Tiny, 100_000: diagnose.Collector} {
		found := diagnose.New((&made{
			rows: []ledger.Row{
				{Category: ledger.GCWorker, Time: 700 * ms, Count: 9, Queue: time.Second},
				{Category: ledger.Code, Group: "main.check", Time: 100 * ms, Count: 200_000},
				{Category: ledger.Scheduler, Group: "main.check", Site: placeOf("main.handle", 7), Wait: "created", Waker: "main.work", Time: 150 * ms, Count: 200_000},
			},
			boxes: []bottle.Box{
				{Kind: bottle.Application, Group: "main.check", Goroutines: 200_000, Running: 100 * ms, SelfParallelism: 1},
				{Kind: bottle.Application, Group: "main.work", Goroutines: 2, Running: 1050 * ms, SelfParallelism: 1.5},
			},
			change: func(r *diagnose.Results) { r.Ledger.Born, r.Ledger.Slices = 200_002, slices },
		}).results(t)).Findings
		if f := &found[0]; f.Kind != kind {
			t.Errorf("%d slices: %s: %s, want %s", slices, f.Kind, f.Title, kind)
		}
	}
}

// Few goroutines that run all the time are one cause, whether or not others run beside them.
func TestTooFewGoroutinesAreOneCause(t *testing.T) {
	const ms = time.Millisecond
	r := (&made{
		rows: []ledger.Row{
			{Category: ledger.NoWork, Beside: "main.loop", Time: 800 * ms, Count: 9},
			{Category: ledger.Idle, Group: "main.main", Site: placeOf("main.main", 7), Wait: "chan-send", Waker: "main.loop", Beside: ledger.Several, Time: 400 * ms, Count: 9},
		},
		boxes:  []bottle.Box{{Kind: bottle.Application, Group: "main.loop", Goroutines: 2, Running: 1960 * ms, SelfParallelism: 2}},
		change: func(r *diagnose.Results) { r.Ledger.Procs, r.Ledger.Capacity = 4, 4*time.Second },
	}).results(t)
	v := diagnose.New(r)
	if want := "Too few goroutines: while the 2 of main.loop ran, 2.00 at a time, other processors had nothing to do: 30% of the capacity."; len(v.Findings) != 1 || v.Findings[0].Title != want {
		t.Errorf("%d findings, the first: %s", len(v.Findings), v.Findings[0].Title)
	}
}

// Without a wait for something outside, goroutines run at the same time that it let run one by one.
// The processors that these left idle are used then, too.
func TestBoundIfGoroutinesThenOverlap(t *testing.T) {
	for idle, bound := range map[time.Duration]float64{0: 2, 200 * time.Millisecond: 2.5} {
		take := timeline.Place{Func: "main.take", File: "/src/main.go", Line: 7}
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.Outside, Group: "main.take", Site: take, Wait: "sleep", Beside: ledger.None, Time: time.Second, Count: 9},
			{Category: ledger.Code, Group: "main.take", Site: take, Time: time.Second - idle, Count: 9},
		}}
		if idle > 0 {
			l.Rows = append(l.Rows, ledger.Row{Category: ledger.Idle, Group: "main.main", Wait: "chan-send", Waker: "main.take", Beside: "main.take", Time: idle, Count: 9})
		}
		if err := l.CheckValid(); err != nil {
			t.Fatal(err)
		}
		f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]
		if f.Kind != diagnose.Sleep || math.Abs(f.Gain-bound) > 1e-9 || (idle > 0) != strings.Contains(f.Basis, "more goroutines may run at a time") {
			t.Errorf("%v idle: %s gains %v (%s), want %v", idle, f.Title, f.Gain, f.Basis, bound)
		}
	}
}

// A short wait of goroutines that mostly wait for something else is no bound for either of the
// two: one repair may let goroutines run at the same time, and so shorten both.
func TestNoBoundOfAShortWaitAmongOthers(t *testing.T) {
	l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
		{Category: ledger.Outside, Group: "main.take", Site: placeOf("main.take", 7), Wait: "sleep", Beside: ledger.None, Time: 1600 * time.Millisecond, Count: 9},
		{Category: ledger.Outside, Group: "main.take", Site: placeOf("main.take", 8), Wait: "network", Beside: ledger.None, Time: 100 * time.Millisecond, Count: 9},
		{Category: ledger.Code, Group: "main.take", Site: placeOf("main.take", 9), Time: 300 * time.Millisecond, Count: 9},
	}}
	if err := l.CheckValid(); err != nil {
		t.Fatal(err)
	}
	f := diagnose.New(diagnose.Results{Ledger: l}).Findings
	if len(f) != 2 || f[0].Gain < 6.66 || f[1].Gain != 0 || f[1].Basis != "1.05 times as fast without these waits; more if goroutines then run at the same time" {
		t.Errorf("%+v", f)
	}
}

// What stops the world may also take long while others run, as a profile of all goroutines does.
func TestBoundWithoutStops(t *testing.T) {
	stats := placeOf("main.stats", 3)
	for ran, bound := range map[time.Duration]bool{20 * time.Millisecond: true, 500 * time.Millisecond: false} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.Runtime, Site: stats, Time: time.Second, Count: 9},
			{Category: ledger.Code, Group: "main.main", Site: placeOf("main.main", 7), Time: time.Second - ran, Count: 9},
			{Category: ledger.Code, Group: "main.main", Site: stats, Time: ran, Count: 9},
		}}
		if err := l.CheckValid(); err != nil {
			t.Fatal(err)
		}
		if f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]; f.Kind != diagnose.Runtime || (f.Gain > 0) != bound || strings.HasSuffix(f.Basis, "without the code there") == bound {
			t.Errorf("ran for %v: %s gains %v (%s)", ran, f.Title, f.Gain, f.Basis)
		}
	}
}

// The runtime takes the processor from a long system call if another goroutine is ready, so the
// time of such calls is no part of a bound.
func TestNoBoundIfOthersRunDuringCalls(t *testing.T) {
	for length, want := range map[time.Duration]string{
		5 * time.Microsecond:   "more goroutines may run at a time",
		500 * time.Microsecond: "4.00 times as fast without idle processors; more if goroutines then run during the long system calls of others",
	} {
		take, start := timeline.Place{Func: "main.take", File: "/src/main.go", Line: 7}, timeline.Place{Func: "main.start", File: "/src/main.go", Line: 9}
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.Outside, Group: "main.take", Site: take, Wait: "sleep", Beside: ledger.None, Time: time.Second, Count: 9},
			{Category: ledger.Syscall, Group: "main.start", Site: start, Callee: "os/exec.(*Cmd).Start", Time: 400 * time.Millisecond, Count: int64(400 * time.Millisecond / length)},
			{Category: ledger.Code, Group: "main.take", Site: take, Time: 100 * time.Millisecond, Count: 9},
			{Category: ledger.Idle, Group: "main.main", Wait: "chan-send", Waker: "main.take", Beside: "main.take", Time: 500 * time.Millisecond, Count: 9},
		}}
		if err := l.CheckValid(); err != nil {
			t.Fatal(err)
		}
		if f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]; f.Kind != diagnose.Sleep || !strings.Contains(f.Basis, want) {
			t.Errorf("calls of %v: %s gains %v (%s), want %s", length, f.Title, f.Gain, f.Basis, want)
		}
	}
}

// Fewer messages also save the system calls that send and receive them.
func TestNoBoundOfMessages(t *testing.T) {
	for calls, bound := range map[time.Duration]bool{10 * time.Millisecond: true, 200 * time.Millisecond: false} {
		get := timeline.Place{Func: "main.get", File: "/src/main.go", Line: 7}
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.Outside, Group: "main.main", Site: get, Wait: "network", Beside: ledger.None, Time: time.Second, Count: 8000},
			{Category: ledger.Syscall, Group: "main.main", Site: get, Time: calls, Count: 40_000},
			{Category: ledger.Code, Group: "main.serve", Time: time.Second - calls, Count: 8000},
		}}
		if err := l.CheckValid(); err != nil {
			t.Fatal(err)
		}
		if f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]; f.Kind != diagnose.Network || (f.Gain > 0) != bound || strings.HasSuffix(f.Basis, "more with fewer, larger messages") == bound {
			t.Errorf("calls of %v: %s gains %v (%s)", calls, f.Title, f.Gain, f.Basis)
		}
	}
}

// A goroutine that runs all the time leaves no gain: what others wait for is no cause.
func TestNoCauseBesideOneThatRuns(t *testing.T) {
	const ms = time.Millisecond
	for ran, want := range map[time.Duration]bool{999 * ms: false, 950 * ms: true} {
		found := diagnose.New((&made{
			rows: []ledger.Row{{Category: ledger.Outside, Group: "main.take", Site: placeOf("main.take", 3), Wait: "sleep", Beside: ledger.None, Time: 900 * ms, Count: 9},
				{Category: ledger.C, Group: "main.work", Site: placeOf("main.work", 7), Time: 100 * ms, Count: 9}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.work", Goroutines: 1, Running: ran, Waiting: map[string]time.Duration{"select": ms}, SelfParallelism: 1}},
		}).results(t)).Findings
		if (found[0].Kind == diagnose.Sleep) != want {
			t.Errorf("one ran for %v: %s: %s", ran, found[0].Kind, found[0].Title)
		}
	}
}

// A wait and its end take some running time, at most 10 µs, which a repair saves, too.
func TestBoundOfManyWaits(t *testing.T) {
	for waits, bound := range map[int64]float64{
		9:      2,
		10_000: 2 / 0.9,
		50_001: 0, // half of what would be left
	} {
		take := timeline.Place{Func: "main.take", File: "/src/main.go", Line: 7}
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Slices: waits, Rows: []ledger.Row{
			{Category: ledger.Outside, Group: "main.take", Site: take, Wait: "sleep", Beside: ledger.None, Time: time.Second, Count: 2 * waits},
			{Category: ledger.Code, Group: "main.take", Site: take, Time: time.Second, Count: 9},
		}}
		f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]
		if f.Kind != diagnose.Sleep || math.Abs(f.Gain-bound) > 1e-9 || (bound == 0) != strings.Contains(f.Basis, "more because waiting") {
			t.Errorf("%d waits: %s gains %v (%s), want %v", waits, f.Title, f.Gain, f.Basis, bound)
		}
	}
}

// While one goroutine ran, the others of its group slept: the sleep is why no other ran beside it. If
// hardly any slept, it is not.
func TestSleepersRunNotBesideOthers(t *testing.T) {
	const ms = time.Millisecond
	nap := timeline.Place{Func: "main.nap", File: "/src/main.go", Line: 7}
	for slept, want := range map[time.Duration][]string{
		5 * time.Second: {diagnose.Sleep},
		500 * ms:        {diagnose.Sleep, diagnose.Serial},
	} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.Outside, Group: "main.client", Site: nap, Wait: "sleep", Beside: ledger.None, Time: 1500 * ms, Count: 9},
			{Category: ledger.Code, Group: "main.client", Site: nap, Time: 300 * ms, Count: 9},
			{Category: ledger.Idle, Group: "main.serve", Wait: "chan-receive", Waker: "main.client", Beside: "main.client", Time: 200 * ms, Count: 9},
		}}
		findings := diagnose.New(diagnose.Results{Ledger: l, Graph: &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{{
			Kind: bottle.Application, Group: "main.client", Goroutines: 8, Running: 300 * ms, SelfParallelism: 1.5,
			Sites: map[string][]bottle.Site{"sleep": {{Func: nap.Func, File: nap.File, Line: nap.Line, Time: slept}}},
		}}}}).Findings
		var got []string
		for _, f := range findings {
			got = append(got, f.Kind)
		}
		if !slices.Equal(got, want) || findings[0].Lost != 1500*ms+200*ms*time.Duration(2-len(want)) {
			t.Errorf("slept for %v: %v, %v lost first, want %v", slept, got, findings[0].Lost, want)
		}
	}
}

// Commands are started one at a time because of a semaphore: system calls wait for them, and
// processors are idle during these, and while the library waits in a goroutine of its own.
func TestCommandsPastALimit(t *testing.T) {
	const ms = time.Millisecond
	main, convert := placeOf("main.main", 5), placeOf("main.convert", 9)
	const read = "os/exec.(*Cmd).Start.func2"
	l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
		{Category: ledger.Outside, Group: read, Site: timeline.Place{Func: "os.(*File).read", File: "/go/src/os/file_posix.go", Line: 30}, Wait: "network", Beside: ledger.None, Time: 1000 * ms, Count: 40},
		{Category: ledger.Syscall, Group: "main.convert", Site: convert, Callee: "os/exec.(*Cmd).Run", Time: 450 * ms, Count: 1000},
		{Category: ledger.Idle, Beside: "main.convert", Time: 400 * ms, Count: 40},
		{Category: ledger.Idle, Group: "main.main", Site: main, Wait: "semaphore", Waker: "main.convert", Beside: "main.convert", Time: 60 * ms, Count: 40},
		{Category: ledger.Idle, Group: read, Site: convert, Wait: "created", Waker: "main.convert", Beside: "main.convert", Time: 50 * ms, Count: 40},
		{Category: ledger.Code, Group: "main.convert", Site: convert, Time: 40 * ms, Count: 40},
	}}
	if err := l.CheckValid(); err != nil {
		t.Fatal(err)
	}
	waits := func(kind, group string, s *contention.Stack, blamed time.Duration, owner *contention.Stack) contention.Wait {
		return contention.Wait{Kind: kind, Waiter: contention.Party{Group: group, Stack: s}, Owner: contention.Party{Group: "main.convert", Stack: owner}, Waited: blamed, Blamed: blamed, Contentions: 40}
	}
	graph := &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{
		{Kind: bottle.Application, Group: "main.main", Goroutines: 1, Sites: map[string][]bottle.Site{"semaphore": {{Func: main.Func, File: main.File, Line: main.Line, Time: 970 * ms}}}},
		{Kind: bottle.Application, Group: "main.convert", Goroutines: 40, Running: 490 * ms, SelfParallelism: 1},
	}}
	acquire := waits(contention.SemaphoreKind, "main.main", stackOf("main.main", 5), 970*ms, stackOf("golang.org/x/sync/errgroup.(*Group).done", 38))
	v := diagnose.New(diagnose.Results{Ledger: l, Graph: graph, Contention: &contention.Profile{
		Duration: time.Second, Pairs: []contention.Wait{acquire},
		Waits: []contention.Wait{acquire, waits(contention.NetworkKind, read, stackOf("os.(*File).read", 30, read, 757), 900*ms, nil)},
	}})
	if f := v.Findings[0]; f.Gain != 0 {
		t.Errorf("the trace does not show what the commands do, and the gain is %v, %s", f.Gain, f.Basis)
	}
	if f := v.Findings[0]; len(v.Findings) != 1 || f.Kind != diagnose.Limit || f.Lost != 1960*ms || f.Where[0] != main {
		t.Errorf("%d findings, the first a %s of %v: %s", len(v.Findings), f.Kind, f.Lost, f.Title)
	}
}

// A place where goroutines hardly wait for one another does not limit how many of them wait for
// something else.
func TestLimitIsWaitedFor(t *testing.T) {
	for waited, want := range map[time.Duration]string{10 * time.Millisecond: diagnose.Timer, 900 * time.Millisecond: diagnose.Limit} {
		get, next := placeOf("main.get", 9), stackOf("main.next", 5)
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.Outside, Group: "main.work", Site: get, Wait: "select", Beside: ledger.None, Time: 1500 * time.Millisecond, Count: 40},
			{Category: ledger.Code, Group: "main.work", Site: get, Time: 500 * time.Millisecond, Count: 40},
		}}
		pair := contention.Wait{Kind: contention.CondKind, Waiter: contention.Party{Group: "main.work", Stack: next}, Owner: contention.Party{Group: "main.work", Stack: stackOf("main.done", 7)}, Waited: waited, Blamed: waited, Contentions: 4}
		v := diagnose.New(diagnose.Results{Ledger: l, Contention: &contention.Profile{Duration: time.Second, Pairs: []contention.Wait{pair}, Waits: []contention.Wait{pair}}})
		if f := v.Findings[0]; f.Kind != want {
			t.Errorf("waited for %v: %s %s, want %s", waited, f.Kind, f.Title, want)
		}
	}
}

// While one goroutine ran, the others waited for one that waits for a ticker, or at a limit: that is
// why none ran beside it.
func TestOthersWaitedForATicker(t *testing.T) {
	const ms = time.Millisecond
	for waited, want := range map[time.Duration]int{5 * time.Second: 1, 500 * ms: 2} {
		tick, set := placeOf("main.commit", 9), placeOf("main.set", 5)
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.Outside, Group: "main.commit", Site: tick, Wait: "select", Beside: ledger.None, Time: 1400 * ms, Count: 40},
			{Category: ledger.Code, Group: "main.client", Site: set, Time: 400 * ms, Count: 40},
			{Category: ledger.Idle, Group: "main.commit", Site: tick, Wait: "select", Waker: "main.client", Beside: "main.client", Time: 200 * ms, Count: 40},
		}}
		if err := l.CheckValid(); err != nil {
			t.Fatal(err)
		}
		pair := contention.Wait{Kind: contention.ChanReceiveKind, Waiter: contention.Party{Group: "main.client", Stack: stackOf("main.set", 5)}, Owner: contention.Party{Group: "main.commit", Stack: stackOf("main.commit", 7)}, Waited: waited, Blamed: waited, Contentions: 40}
		v := diagnose.New(diagnose.Results{Ledger: l, Contention: &contention.Profile{Duration: time.Second, Pairs: []contention.Wait{pair}, Waits: []contention.Wait{pair}}, Graph: &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{
			{Kind: bottle.Application, Group: "main.client", Goroutines: 8, Running: 400 * ms, SelfParallelism: 1.5, Sites: map[string][]bottle.Site{"chan-receive": {{Func: set.Func, File: set.File, Line: set.Line, Time: waited}}}},
			{Kind: bottle.Application, Group: "main.commit", Goroutines: 1},
		}}})
		if len(v.Findings) != want || v.Findings[0].Kind != diagnose.Timer {
			t.Errorf("waited for %v: %d findings, the first %s", waited, len(v.Findings), v.Findings[0].Title)
		}
	}
}

// While one goroutine ran, the others waited for the same lock.
func TestOthersWaitedForTheLock(t *testing.T) {
	const ms = time.Millisecond
	for locked, want := range map[time.Duration]int{100 * ms: 1, 50 * ms: 2} {
		take := placeOf("main.take", 5)
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.client", Site: take, Time: 1250 * ms, Count: 40},
			{Category: ledger.Idle, Group: "main.client", Site: take, Wait: "rwmutex-writer", Waker: "main.client", WakerSite: take, Beside: "main.client", Time: 600 * ms, Count: 40},
			{Category: ledger.Idle, Group: "main.main", Site: placeOf("main.main", 9), Wait: "chan-send", Waker: "main.client", Beside: "main.client", Time: 150 * ms, Locked: locked, Count: 40},
		}}
		if err := l.CheckValid(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range diagnose.New(diagnose.Results{Ledger: l, Graph: &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{
			{Kind: bottle.Application, Group: "main.client", Goroutines: 8, Running: 1250 * ms, SelfParallelism: 1.5},
		}}}).Findings {
			got = append(got, f.Kind)
		}
		if len(got) != want || got[0] != diagnose.Lock {
			t.Errorf("waited for a lock for %v: %v", locked, got)
		}
	}
}

// Goroutines that wait for a lock would wait for the one that takes their messages instead, if that is
// busy all the time. One that only polls may end when they do.
func TestLockBesideABusyGoroutine(t *testing.T) {
	const ms = time.Millisecond
	for waiting, want := range map[time.Duration]string{0: diagnose.Lock, 40 * ms: diagnose.Serial} {
		send := placeOf("main.send", 3)
		f := diagnose.New((&made{
			rows: []ledger.Row{{Category: ledger.Idle, Group: "main.send", Site: send, Wait: "mutex", Waker: "main.send", WakerSite: send, Beside: "main.take", Time: 900 * ms, Count: 900},
				{Category: ledger.Code, Group: "main.take", Site: placeOf("main.take", 5), Time: 950 * ms, Count: 900}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.take", Goroutines: 1, Running: 950 * ms, SelfParallelism: 1, Waiting: map[string]time.Duration{"chan-receive": waiting}},
				{Kind: bottle.Application, Group: "main.send", Goroutines: 4, Running: 50 * ms, SelfParallelism: 1, Waiting: map[string]time.Duration{"mutex": 3 * time.Second}}},
		}).results(t)).Findings[0]
		if f.Kind != want {
			t.Errorf("waited for %v: %s %s", waiting, f.Kind, f.Title)
		}
	}
}

// That one goroutine polls, and that the others have nothing to do while it does, is one finding.
func TestPollsAlone(t *testing.T) {
	const ms = time.Millisecond
	found := diagnose.New((&made{
		rows: []ledger.Row{{Category: ledger.Code, Group: "main.poll", Site: placeOf("main.poll", 5), Callee: "runtime.selectnbrecv", Time: 900 * ms, Shared: 800 * ms, Count: 9},
			{Category: ledger.NoWork, Beside: "main.poll", Time: 900 * ms, Count: 1}},
		boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.poll", Goroutines: 1, Running: 900 * ms, SelfParallelism: 1}},
	}).results(t)).Findings
	if len(found) != 1 || found[0].Kind != diagnose.Saturated {
		t.Errorf("%d findings, the first a %s: %s", len(found), found[0].Kind, found[0].Title)
	}
}

// Of workers that wait for one piece of work after the other, all can do as much.
func TestEnoughForWorkers(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		kind  string
		waits int64
		want  string
	}{{contention.ChanReceiveKind, 0, "up to 2 processors"}, {contention.ChanReceiveKind, 400, "up to 4 processors"}, {contention.CondKind, 400, "up to 2 processors"}} { // a barrier divides no work
		kind, waits, want := c.kind, c.waits, c.want
		c := granularity.Class{Name: "main.work", Tasks: 4}
		c.RunningNS.Add(uint64(700 * ms))
		c.RunningNS.AddN(uint64(100*ms), 3)
		l := &ledger.Ledger{Wall: time.Second, Procs: 1, Capacity: time.Second, Queue: 3 * time.Second, Queued: time.Second, Offered: []time.Duration{0, 0, 0, 0, 0, 0, time.Second},
			Rows: []ledger.Row{{Category: ledger.Code, Group: "main.work", Site: placeOf("main.work", 9), Time: time.Second, Count: 400}}}
		f := diagnose.New(diagnose.Results{Ledger: l, Graph: &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.work", Goroutines: 4, Running: time.Second, Runnable: 3 * time.Second, SelfParallelism: 1}}},
			Tasks:      &granularity.Profile{Source: granularity.SourceTrace, Of: granularity.OfGoroutines, Classes: []granularity.Class{c}, Wall: time.Second, Procs: 1},
			Contention: &contention.Profile{Duration: time.Second, Waits: []contention.Wait{{Kind: kind, Waiter: contention.Party{Group: "main.work", Stack: stackOf("main.work", 3)}, Contentions: waits, Parks: waits}}},
		}).Findings[0]
		if f.Kind != diagnose.OneProc || !strings.Contains(f.Advice, want) {
			t.Errorf("%d waits (%s): %s %s", waits, kind, f.Title, f.Advice)
		}
	}
}

// Timers that processors wait for are more than the many goroutines that they start.
func TestTimersBeforeTinyGoroutines(t *testing.T) {
	const ms = time.Millisecond
	for outside, want := range map[time.Duration]string{300 * ms: diagnose.Tiny, 1200 * ms: diagnose.Timer} {
		r := (&made{
			rows: []ledger.Row{{Category: ledger.Outside, Group: "main.expire", Wait: "created", Beside: ledger.None, Time: outside, Count: 900},
				{Category: ledger.WakeUp, Group: "main.expire", Wait: "created", Beside: ledger.None, Time: 210 * ms, Count: 50_000}, {Category: ledger.Code, Group: "main.expire", Site: placeOf("main.expire", 9), Time: 350 * ms, Count: 100_000}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.expire", Goroutines: 100_000, Running: 350 * ms, SelfParallelism: 1}},
		}).results(t)
		r.Ledger.Born = 100_000
		if f := diagnose.New(r).Findings[0]; f.Kind != want {
			t.Errorf("timers for %v: %s %s", outside, f.Kind, f.Title)
		}
	}
}

// What others wait for is at the place where it is done, not where most of the same goroutines ran.
func TestPlacesOfWhatIsDoneOnce(t *testing.T) {
	get, build := placeOf("main.get", 3), placeOf("main.build", 5)
	f := diagnose.New((&made{rows: []ledger.Row{
		{Category: ledger.Idle, Group: "main.serve", Site: get, Wait: "once", Beside: "main.serve", Time: time.Second, Count: 9},
		{Category: ledger.Code, Group: "main.serve", Site: placeOf("main.serve", 9), Time: 800 * time.Millisecond, Count: 9},
		{Category: ledger.Code, Group: "main.serve", Site: build, Callers: []timeline.Place{get}, Time: 200 * time.Millisecond, Count: 9},
	}}).results(t)).Findings[0]
	if len(f.Where) < 2 || f.Where[0] != get || f.Where[1] != build {
		t.Errorf("%s %v", f.Title, f.Where)
	}
}

// More processors than a goroutine leaves work for do not help.
func TestEnoughBesideTheLongest(t *testing.T) {
	const ms = time.Millisecond
	fold := placeOf("main.fold", 9)
	l := &ledger.Ledger{Wall: time.Second, Procs: 1, Capacity: time.Second, Queue: 8 * time.Second, Queued: 990 * ms, Offered: []time.Duration{0, 10 * ms, 0, 0, 0, 0, 0, 0, 0, 990 * ms},
		Rows: []ledger.Row{{Category: ledger.Code, Group: "main.fold", Site: fold, Time: 740 * ms, Count: 400}, {Category: ledger.Code, Group: "main.send", Time: 260 * ms, Count: 400}}}
	f := diagnose.New(diagnose.Results{Ledger: l, Graph: &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{
		{Kind: bottle.Application, Group: "main.fold", Goroutines: 1, Running: 740 * ms, SelfParallelism: 1},
		{Kind: bottle.Application, Group: "main.send", Goroutines: 12, Running: 260 * ms, Runnable: 8 * time.Second, SelfParallelism: 1},
	}}}).Findings[0]
	if f.Kind != diagnose.OneProc || !strings.Contains(f.Advice, "up to 2 processors") {
		t.Errorf("%s %s", f.Title, f.Advice)
	}
}

// On one processor, a lock that is held for most of the time costs nothing, but bounds what more
// processors gain.
func TestGainOfALockOnOneProcessor(t *testing.T) {
	take := stackOf("main.take", 3)
	for held, want := range map[time.Duration]string{
		800 * time.Millisecond: "none with one processor; with more, at best 1.24 times as fast while the lock is held for as long",
		0:                      "none with one processor",
	} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 1, Capacity: time.Second, Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.loop", Site: placeOf("main.take", 3), Time: 990*time.Millisecond - held, Count: 9},
			{Category: ledger.Scheduler, Group: "main.loop", Site: placeOf("main.take", 3), Wait: "mutex", Waker: "main.loop", WakerSite: placeOf("main.take", 9), Time: 10 * time.Millisecond, Count: 9},
		}}
		if held > 0 {
			l.Rows = append(l.Rows, ledger.Row{Category: ledger.Code, Group: "main.loop", Site: placeOf("main.take", 6), Time: held, Count: 9})
		}
		if err := l.CheckValid(); err != nil {
			t.Fatal(err)
		}
		lock := &contention.Lock{ID: 1, Class: "main.table"}
		f := diagnose.New(diagnose.Results{Ledger: l, Graph: &bottle.Graph{Wall: time.Second}, Contention: &contention.Profile{Duration: time.Second, Locks: []*contention.Lock{lock},
			Waits: []contention.Wait{{Kind: contention.MutexKind, Lock: lock, Waiter: contention.Party{Group: "main.loop", Stack: take}, Waited: 2 * time.Second, Contentions: 9, Parks: 9}}}}).Findings[0]
		if f.Kind != diagnose.Lock || f.Gain != 0 || f.Basis != want {
			t.Errorf("held for %v: %s %s gains %v, %s, want %s", held, f.Kind, f.Title, f.Gain, f.Basis, want)
		}
	}
}

// Goroutines that others start in batches wait outside for different times: if most are done long
// before the last, the finding on that wait has the place where others wait for it.
func TestLastOfABatch(t *testing.T) {
	const ms = time.Millisecond
	fetch := timeline.Place{Func: "main.fetch", File: "/src/main.go", Line: 7}
	round := timeline.Place{Func: "main.round", File: "/src/main.go", Line: 17}
	for sleeping, told := range map[time.Duration]bool{1900 * ms: true, 7600 * ms: false} { // of 8 goroutines in 1 s
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Born: 240, Rows: []ledger.Row{
			{Category: ledger.Outside, Group: fetch.Func, Site: fetch, Wait: "sleep", Beside: ledger.None, Time: 1800 * ms, Count: 240},
			{Category: ledger.Code, Group: fetch.Func, Site: fetch, Time: 200 * ms, Count: 240},
		}}
		waiter := contention.Party{Group: "main.main", Stack: &contention.Stack{Frames: []contention.Frame{{Func: round.Func, File: round.File, Line: round.Line}}}}
		f := diagnose.New(diagnose.Results{
			Ledger: l,
			Graph:  &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{{Kind: bottle.Application, Group: fetch.Func, Goroutines: 240, Running: 200 * ms, Waiting: map[string]time.Duration{"sleep": sleeping}, SelfParallelism: 1}}},
			Contention: &contention.Profile{
				Duration: time.Second,
				Waits:    []contention.Wait{{Kind: contention.WaitGroupKind, Waiter: waiter, Waited: 990 * ms, Contentions: 30}},
				Pairs:    []contention.Wait{{Kind: contention.WaitGroupKind, Waiter: waiter, Owner: contention.Party{Group: fetch.Func}, Blamed: 990 * ms, Contentions: 30}},
			},
		}).Findings[0]
		want := "At main.round main.go:17, others wait for the last of 8 goroutines, of which only 2.12 are not done, on average: begin the next ones before the slowest is done. "
		if got := strings.HasPrefix(f.Advice, want); got != told || slices.Contains(f.Where, round) != told {
			t.Errorf("%v: %s %s %v", sleeping, f.Title, f.Advice, f.Where)
		}
	}
}

// The collector's workers take nothing from a program if they run on processors for which no
// goroutine was ready, so the goroutine that runs alone comes first.
func TestCollectorOnIdleProcessors(t *testing.T) {
	const ms = time.Millisecond
	at := timeline.Place{Func: "main.load", File: "/src/main.go", Line: 7}
	for queued, first := range map[time.Duration]string{0: diagnose.Serial, 500 * ms: diagnose.Collector} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Queued: queued, Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.main", Site: at, Time: 900 * ms, Count: 90},
			{Category: ledger.GCWorker, Group: "GC (dedicated)", Time: 600 * ms, Count: 90},
			{Category: ledger.NoWork, Beside: "main.main", Time: 400 * ms, Count: 90},
			{Category: ledger.GCAssist, Group: "main.main", Site: at, Time: 100 * ms, Count: 90},
		}}
		found := diagnose.New(diagnose.Results{Ledger: l}).Findings
		if found[0].Kind != first {
			t.Errorf("%v: %s", queued, found[0].Title)
		}
		for _, f := range found {
			// It may run beside others then: 2 s less what was idle, and the 0.6 s of its
			// workers.
			if want := 2 / (1.6 - 0.6); f.Kind == diagnose.Serial && queued == 0 && math.Abs(f.Gain-want) > 1e-9 {
				t.Errorf("a gain of %v, want %v", f.Gain, want)
			}
			if spare := strings.HasSuffix(f.Title, "; for 30%, processors had nothing else to run.") && strings.HasPrefix(f.Basis, "1.05 times"); f.Kind == diagnose.Collector && spare != (queued == 0) {
				t.Errorf("%v: %s %s", queued, f.Title, f.Basis)
			}
		}
	}
}

// Goroutines that were ready at other times do not wait for the processors of the collector.
func TestCollectorBesideOthersThatAreReady(t *testing.T) {
	const ms = time.Millisecond
	for queue, first := range map[time.Duration]string{200 * ms: diagnose.Serial, 1800 * ms: diagnose.Collector} { // of the 2 s
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Queued: 500 * ms, Queue: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.main", Site: placeOf("main.load", 7), Time: 900 * ms, Queue: 2*time.Second - queue, Count: 90},
			{Category: ledger.GCWorker, Group: "GC (dedicated)", Time: 700 * ms, Queue: queue, Count: 90},
			{Category: ledger.NoWork, Beside: "main.main", Time: 400 * ms, Count: 90},
		}}
		if err := l.CheckValid(); err != nil {
			t.Fatal(err)
		}
		if f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]; f.Kind != first {
			t.Errorf("%v: %s", queue, f.Title)
		}
	}
}

// The collector's workers have processors that a goroutine which runs alone leaves idle.
func TestCollectorBesideOneThatRunsAlone(t *testing.T) {
	const ms = time.Millisecond
	for group, first := range map[string]string{"GC (idle)": diagnose.Serial, "runtime.bgsweep": diagnose.Collector} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Queued: time.Second, Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.main", Site: placeOf("main.load", 7), Time: 1200 * ms, Count: 90},
			{Category: ledger.GCWorker, Group: group, Time: 300 * ms, Count: 90},
			{Category: ledger.GCAssist, Group: "main.main", Site: placeOf("main.load", 7), Time: 300 * ms, Count: 90},
			{Category: ledger.NoWork, Beside: "main.main", Time: 200 * ms, Count: 90},
		}}
		if f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]; f.Kind != first {
			t.Errorf("%s: %s", group, f.Title)
		}
	}
}

// Those that wait for a lock of a server's goroutines are not what these work for.
func TestOwnersOfALockDoNotServe(t *testing.T) {
	const serve = "net/http.(*conn).serve"
	for kind, want := range map[string]int{contention.MutexKind: 1, contention.ChanReceiveKind: 2} {
		w := contention.Wait{Kind: kind, Waiter: contention.Party{Group: "main.log", Stack: stackOf("main.log", 4)}, Owner: contention.Party{Group: serve, Stack: stackOf("main.log", 9)}, Waited: time.Second, Blamed: time.Second, Contentions: 99}
		f := diagnose.New((&made{
			rows:  []ledger.Row{{Category: ledger.Syscall, Group: serve, Site: timeline.Place{Func: serve, File: "/go/src/net/http/server.go", Line: 3}, Time: 600 * time.Millisecond, Count: 600_000}},
			waits: []contention.Wait{w}, pairs: []contention.Wait{w},
		}).results(t)).Findings[0]
		if f.Kind != diagnose.Syscalls || len(f.Where) != want {
			t.Errorf("%s: %s %v", kind, f.Title, f.Where)
		}
	}
}

// What a lock in the standard library guards is on the lines that call the library, the first
// one, too.
func TestCallsUnderALockOfTheLibrary(t *testing.T) {
	const ms = time.Millisecond
	at := func(line int) timeline.Place { return placeOf("main.step", line) }
	for _, in := range []string{"log/slog.(*commonHandler).handle", "main.write"} { // acquires the lock
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.main", Site: at(1), Time: 900 * ms, Count: 9},
			{Category: ledger.Syscall, Group: "main.main", Site: at(17), Time: 100 * ms, Count: 90_000}, // between the calls of a library
			{Category: ledger.Idle, Group: "main.main", Site: at(16), Wait: "mutex", Waker: "main.main", WakerSite: at(18), Beside: ledger.None, Time: 200 * ms, Count: 9},
			{Category: ledger.Idle, Group: "main.main", Site: at(18), Wait: "mutex", Waker: "main.main", WakerSite: at(18), Beside: ledger.None, Time: 200 * ms, Count: 9},
			{Category: ledger.Syscall, Group: "main.main", Site: at(16), Time: 300 * ms, Count: 90_000},
			{Category: ledger.Syscall, Group: "main.main", Site: at(18), Time: 300 * ms, Count: 90_000},
		}}
		if err := l.CheckValid(); err != nil {
			t.Fatal(err)
		}
		lock := &contention.Lock{ID: 1, Class: "log/slog.commonHandler"}
		var waits []contention.Wait
		for _, line := range []int{16, 18} {
			frames := []any{"sync.(*Mutex).Lock", 1, in, 2, "main.step", line}
			if in == "main.write" {
				frames = []any{"sync.(*Mutex).Lock", 1, "main.step", line}
			}
			waits = append(waits, contention.Wait{Kind: contention.MutexKind, Lock: lock, Waiter: contention.Party{Group: "main.main", Stack: stackOf(frames...)},
				Owner: contention.Party{Group: "main.main", Stack: stackOf("main.step", 18)}, Waited: 400 * ms, Blamed: 400 * ms, Running: 400 * ms, Contentions: 9})
		}
		for i := range waits {
			for k, f := range waits[i].Waiter.Stack.Frames {
				if !strings.HasPrefix(f.Func, "main.") {
					waits[i].Waiter.Stack.Frames[k].File = "/go/src/lib.go"
				}
			}
		}
		v := diagnose.New(diagnose.Results{Ledger: l, Contention: &contention.Profile{Duration: time.Second, Waits: waits, Pairs: waits, Locks: []*contention.Lock{lock}}})
		want := 1000 * ms
		if in == "main.write" { // line 16 calls Lock itself, so lines 17 and 18 hold the lock
			want = 800 * ms
		}
		if f := v.Findings[0]; f.Kind != diagnose.Lock || f.Lost != want {
			t.Errorf("%s: lost %v: %s", in, f.Lost, f.Title)
		}
	}
}

// A proxy of the standard library waits for a connection without a line of the program.
func TestLimitInALibrary(t *testing.T) {
	const ms = time.Millisecond
	l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
		{Category: ledger.Outside, Group: "main.answer", Site: placeOf("main.answer", 9), Wait: "sleep", Beside: ledger.None, Time: 1800 * ms, Count: 90},
		{Category: ledger.Code, Group: "main.answer", Site: placeOf("main.answer", 9), Time: 200 * ms, Count: 90},
	}}
	const serve = "net/http.(*conn).serve"
	serves := stackOf("net/http.(*conn).serve", 20)
	proxy := stackOf("net/http.(*Transport).getConn", 1, "net/http.(*Transport).RoundTrip", 2, "net/http/httputil.(*ReverseProxy).ServeHTTP", 3, serve, 4)
	for _, s := range []*contention.Stack{serves, proxy} {
		for i := range s.Frames {
			s.Frames[i].File = "/go/src/net/http/x.go"
		}
	}
	f := diagnose.New(diagnose.Results{Ledger: l, Contention: &contention.Profile{
		Duration: time.Second,
		Waits:    []contention.Wait{{Kind: contention.SleepKind, Waiter: contention.Party{Group: "main.answer", Stack: stackOf("main.answer", 9, serve, 20)}, Waited: time.Second, Contentions: 90}},
		Pairs: []contention.Wait{{Kind: contention.SelectKind, Waiter: contention.Party{Group: serve, Stack: proxy}, Owner: contention.Party{Group: "net/http.(*Transport).dialConnFor", Stack: serves},
			Waited: 20 * time.Second, Blamed: 20 * time.Second, Contentions: 90}},
	}}).Findings[0]
	if want := "The limit of the connections to a host, waited for at httputil.(*ReverseProxy).ServeHTTP x.go:3, kept 90% of the capacity idle: 20.0 waited on average while others slept at main.answer main.go:9."; f.Title != want {
		t.Errorf("got %s", f.Title)
	}
}

// Requests past a limit of connections wait at the same line as those that wait for a connection, and
// each connection of a server waits for its next request, too.
func TestRequestsPastALimitAreCounted(t *testing.T) {
	const ms, reads, serves = time.Millisecond, "net/http.(*persistConn).readLoop", "net/http.(*conn).serve"
	library := func(fn string) timeline.Place {
		return timeline.Place{Func: fn, File: "/go/src/net/http/x.go", Line: 1}
	}
	calls := func(fns ...string) *contention.Stack {
		s := stackOf("main.get", 9)
		for _, fn := range fns {
			s.Frames = append([]contention.Frame{{Func: fn, File: "/go/src/net/http/x.go", Line: 1}}, s.Frames...)
		}
		return s
	}
	wait := func(kind, group string, s *contention.Stack, owner string, waited time.Duration) contention.Wait {
		return contention.Wait{Kind: kind, Waiter: contention.Party{Group: group, Stack: s}, Owner: contention.Party{Group: owner, Stack: stackOf("main.other", 2)}, Waited: waited, Blamed: waited, Contentions: 500}
	}
	pairs := []contention.Wait{
		wait(contention.SelectKind, "main.get", calls("net/http.(*Transport).getConn"), reads, 13*time.Second),
		wait(contention.SelectKind, "main.get", calls("net/http.(*persistConn).roundTrip"), reads, 2*time.Second),
	}
	f := diagnose.New((&made{
		rows: []ledger.Row{
			{Category: ledger.Outside, Group: reads, Site: library(reads), Wait: "network", Beside: ledger.None, Time: 1600 * ms, Count: 500},
			{Category: ledger.Outside, Group: serves, Site: library("net/http.(*connReader).Read"), Wait: "network", Beside: ledger.None, Time: 200 * ms, Count: 500},
		},
		boxes: []bottle.Box{
			{Kind: bottle.Application, Group: "main.get", Goroutines: 16, Sites: map[string][]bottle.Site{"select": {{Func: "main.get", File: "/src/main.go", Line: 9, Time: 15 * time.Second}}}},
			{Kind: bottle.Application, Group: serves, Goroutines: 16, Sites: map[string][]bottle.Site{"network": {{Func: "net/http.(*connReader).Read", File: "/go/src/net/http/x.go", Line: 1, Time: 15 * time.Second}}}},
		},
		pairs: pairs, waits: pairs,
	}).results(t)).Findings[0]
	if want := "The limit of the connections to a host, waited for at main.get main.go:9, kept 90% of the capacity idle: 13.0 waited on average while 2.00 waited for the network at main.get main.go:9."; f.Title != want {
		t.Errorf("got %s", f.Title)
	}
}

// C code takes no processor for long, so more of it may run at a time than there are processors.
func TestNoBoundIfCCodeThenOverlaps(t *testing.T) {
	const ms = time.Millisecond
	at := placeOf("main.send", 9)
	l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
		{Category: ledger.Idle, Group: "main.send", Site: at, Wait: "mutex", Waker: "main.send", WakerSite: at, Beside: "main.send", Time: 1000 * ms, Count: 90},
		{Category: ledger.C, Group: "main.send", Site: at, Time: 1000 * ms, Count: 90},
	}}
	if f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]; f.Kind != diagnose.Lock || f.Gain != 0 {
		t.Errorf("%s: %s", f.Title, f.Bound())
	}
}

// Package testing waits for parallel tests as others do with a WaitGroup. The handler that
// records a trace waits for nothing in the program.
func TestWaitsOfTheLibrary(t *testing.T) {
	const ms = time.Millisecond
	runner := timeline.Place{Func: "testing.tRunner.func1", File: "/go/src/testing/testing.go", Line: 9}
	sleep := timeline.Place{Func: "net/http/pprof.sleep", File: "/go/src/net/http/pprof/pprof.go", Line: 9}
	for kind, row := range map[string]ledger.Row{
		diagnose.Imbalance: {Category: ledger.Idle, Group: "main.TestAll", Site: runner, Wait: "chan-receive", Beside: "main.TestAll.func1", Time: 800 * ms, Count: 1},
		diagnose.NoWork:    {Category: ledger.Outside, Group: "net/http.(*conn).serve", Site: sleep, Wait: "select", Beside: ledger.None, Time: 800 * ms, Count: 1},
	} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.TestAll.func1", Site: placeOf("main.check", 3), Time: 1100 * ms, Count: 90}, row,
			{Category: ledger.Idle, Group: "main.TestAll", Site: timeline.Place{Func: "testing.(*T).Run", File: "/go/src/testing/testing.go", Line: 3}, Wait: "chan-receive", Beside: "main.TestAll.func1", Time: 100 * ms, Count: 1}}}
		if err := l.CheckValid(); err != nil {
			t.Fatal(err)
		}
		findings := diagnose.New(diagnose.Results{Ledger: l, Graph: &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{
			{Kind: bottle.Application, Group: "main.TestAll.func1", Goroutines: 12, Running: 1100 * ms, SelfParallelism: 1.2}}}}).Findings
		if f := findings[0]; f.Kind != kind || kind == diagnose.Imbalance && len(findings) > 1 {
			t.Errorf("want %s, got %s: %s, and %d others", kind, f.Kind, f.Title, len(findings)-1)
		}
	}
}

// A pool whose Submit selects between starting a worker and sending the task to one limits, too.
// A worker that ends the wait where it waits to receive has received; where it sends, it sent.
func TestPoolThatSelects(t *testing.T) {
	const ms = time.Millisecond
	l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
		{Category: ledger.Outside, Group: "main.work", Site: placeOf("main.work", 9), Wait: "sleep", Beside: ledger.None, Time: 1800 * ms, Count: 90},
		{Category: ledger.Code, Group: "main.work", Site: placeOf("main.work", 9), Time: 200 * ms, Count: 90},
	}}
	wait := func(kind string, waiter string, line int) contention.Wait {
		return contention.Wait{Kind: kind, Waiter: contention.Party{Group: waiter, Stack: stackOf(waiter, line)}, Owner: contention.Party{Group: "main.work", Stack: stackOf("main.work", 7)}, Waited: 900 * ms, Blamed: 900 * ms, Contentions: 90}
	}
	for kind, want := range map[string]string{contention.ChanReceiveKind: diagnose.Limit, contention.ChanSendKind: diagnose.Sleep} {
		f := diagnose.New(diagnose.Results{
			Ledger: l,
			Graph:  &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.work", Goroutines: 2, Running: 200 * ms, SelfParallelism: 1}}},
			Contention: &contention.Profile{Duration: time.Second,
				Pairs: []contention.Wait{wait(contention.SelectKind, "main.main", 20)},
				Waits: []contention.Wait{wait(contention.SelectKind, "main.main", 20), {Kind: kind, Waiter: contention.Party{Group: "main.work", Stack: stackOf("main.work", 7)}, Contentions: 3}}},
		}).Findings[0]
		if f.Kind != want {
			t.Errorf("%s: got %s: %s", kind, f.Kind, f.Title)
		}
	}
}

// Workers that mostly wait to hand on their results are not too few: one goroutine that takes these
// sleeps. Nor are those too few that mostly wait for tasks.
func TestWorkersThatWaitAreNoLimit(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		waits []bottle.Site
		want  string
	}{
		{[]bottle.Site{{Func: "main.work", File: "/src/main.go", Line: 8, Time: 3000 * ms}}, diagnose.Sleep},
		{[]bottle.Site{{Func: "main.work", File: "/src/main.go", Line: 8, Time: 1700 * ms}}, diagnose.Sleep}, // of 4 s: clients that think between requests
		{[]bottle.Site{{Func: "main.work", File: "/src/main.go", Line: 8, Time: 100 * ms}}, diagnose.Limit},
	} {
		f := diagnose.New((&made{
			rows: []ledger.Row{{Category: ledger.Outside, Group: "main.work", Site: placeOf("main.store", 9), Wait: "sleep", Beside: ledger.None, Time: 1800 * ms, Count: 90}},
			boxes: []bottle.Box{
				{Kind: bottle.Application, Group: "main.main", Goroutines: 1, Sites: map[string][]bottle.Site{"chan-send": {{Func: "main.main", File: "/src/main.go", Line: 20, Time: 900 * ms}}}},
				{Kind: bottle.Application, Group: "main.work", Goroutines: 4, Running: 200 * ms, SelfParallelism: 1,
					Waiting: map[string]time.Duration{"chan-send": tt.waits[0].Time, "sleep": 3800*ms - tt.waits[0].Time}, Sites: map[string][]bottle.Site{"chan-send": tt.waits}},
			},
			pairs: []contention.Wait{{Kind: contention.ChanSendKind, Waiter: contention.Party{Group: "main.main", Stack: stackOf("main.main", 20)}, Owner: contention.Party{Group: "main.work", Stack: stackOf("main.work", 7)}, Waited: 900 * ms, Blamed: 900 * ms, Contentions: 90}},
		}).results(t)).Findings[0]
		if f.Kind != tt.want {
			t.Errorf("got %s: %s, want %s", f.Kind, f.Title, tt.want)
		}
	}
}

// The time that a goroutine ran up to a line which calls a library is not that of a lock which
// the library acquires.
func TestTimeBeforeALockOfTheLibrary(t *testing.T) {
	library := stackOf("sync.(*Mutex).Lock", 1, "log.(*Logger).output", 2, "main.step", 18)
	for i := range library.Frames[:2] {
		library.Frames[i].File = "/go/src/log/log.go"
	}
	for sampled, want := range map[bool]string{false: "The lock log.Logger may limit", true: "The lock log.Logger limits"} {
		lock := &contention.Lock{ID: 1, Class: "log.Logger"}
		wait := contention.Wait{Kind: contention.MutexKind, Lock: lock, Waiter: contention.Party{Group: "main.step", Stack: library}, Owner: contention.Party{Group: "main.step", Stack: stackOf("main.step", 18)},
			Waited: 2 * time.Second, Blamed: time.Second, Contentions: 100, Parks: 100}
		f := diagnose.New(diagnose.Results{
			Ledger: &ledger.Ledger{Wall: time.Second, Procs: 1, Capacity: time.Second, Queued: time.Second, Rows: []ledger.Row{
				{Category: ledger.Code, Group: "main.step", Site: placeOf("main.step", 18), Time: 999 * time.Millisecond, Count: 100, Sampled: sampled},
				{Category: ledger.WakeUp, Group: "main.step", Site: placeOf("main.step", 18), Wait: "mutex", Beside: ledger.None, Time: time.Millisecond, Count: 100},
			}},
			Graph:      &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.step", Goroutines: 8, Running: time.Second, Runnable: 3 * time.Second, SelfParallelism: 1}}},
			Contention: &contention.Profile{Duration: time.Second, Waits: []contention.Wait{wait}, Pairs: []contention.Wait{wait}, Locks: []*contention.Lock{lock}},
		}).Findings[0]
		if !strings.HasPrefix(f.Title, want) {
			t.Errorf("samples %v: %s", sampled, f.Title)
		}
	}
}

// A connection that no request uses waits for the network, too. How many requests wait at a time,
// and that they are batches, shows where the program waits for them.
func TestConnectionsInUse(t *testing.T) {
	const ms, read = time.Millisecond, "net/http.(*persistConn).readLoop"
	reads := timeline.Place{Func: read, File: "/go/src/net/http/transport.go", Line: 9}
	stack := stackOf(read, 9)
	stack.Frames[0].File = reads.File
	reader, asker := contention.Party{Group: read, Stack: stack}, contention.Party{Group: "main.ask", Stack: stackOf("main.ask", 7)}
	page := contention.Party{Group: "main.main", Stack: stackOf("main.page", 20)}
	l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Born: 300, Rows: []ledger.Row{
		{Category: ledger.Outside, Group: read, Site: reads, Wait: "network", Beside: ledger.None, Time: 1780 * ms, Count: 300},
		{Category: ledger.Idle, Group: read, Site: reads, Wait: "select", Waker: "main.ask", Beside: "main.ask", Time: 10 * ms, Count: 300},
		{Category: ledger.Idle, Group: "main.ask", Site: placeOf("main.ask", 7), Wait: "select", Waker: read, Beside: read, Time: 10 * ms, Count: 300},
		{Category: ledger.Code, Group: "main.ask", Site: placeOf("main.ask", 7), Time: 200 * ms, Count: 300},
	}}
	wait := func(kind string, by contention.Party, waited time.Duration, n int64) contention.Wait {
		return contention.Wait{Kind: kind, Waiter: by, Waited: waited, Blamed: waited, Contentions: n}
	}
	owned := func(w contention.Wait, by contention.Party) contention.Wait {
		w.Owner = by
		return w
	}
	asks, round := wait(contention.SelectKind, asker, 2400*ms, 300), wait(contention.WaitGroupKind, page, 990*ms, 50)
	f := diagnose.New(diagnose.Results{
		Ledger: l,
		Graph: &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{
			{Kind: bottle.Application, Group: read, Goroutines: 6, Sites: map[string][]bottle.Site{"network": {{Func: read, File: reads.File, Line: 9, Time: 5800 * ms}}}},
			{Kind: bottle.Application, Group: "main.ask", Goroutines: 300, Running: 200 * ms, SelfParallelism: 1, Waiting: map[string]time.Duration{"select": 2400 * ms},
				Sites: map[string][]bottle.Site{"select": {{Func: "main.ask", File: "/src/main.go", Line: 7, Time: 2400 * ms}}}},
		}},
		Contention: &contention.Profile{Duration: time.Second,
			Waits: []contention.Wait{wait(contention.NetworkKind, reader, 5800*ms, 300), asks, round},
			Pairs: []contention.Wait{owned(asks, reader), owned(round, contention.Party{Group: "main.ask"})}},
	}).Findings[0]
	if want := "Waiting for the network at main.ask main.go:7 left 90% of the capacity idle (300 times, 2.40 at a time)."; f.Title != want {
		t.Errorf("got %s\nwant %s", f.Title, want)
	}
	if want := "At main.page main.go:20, others wait for the last of 6 goroutines, of which only 2.63 are not done"; !strings.HasPrefix(f.Advice, want) {
		t.Error(f.Advice)
	}
}

// The owners of a lock that others wait for longest need not be those that wait longest under it.
func TestWaitUnderLockIsThatOfTheOwnersToBlame(t *testing.T) {
	const ms = time.Millisecond
	lock := &contention.Lock{ID: 1, Class: "main.config"}
	pair := func(acquires, releases *contention.Stack, blamed time.Duration) contention.Wait {
		return contention.Wait{Kind: contention.MutexKind, Lock: lock, Waiter: contention.Party{Group: "main.read", Stack: acquires}, Owner: contention.Party{Group: "main.read", Stack: releases},
			Waited: blamed, Blamed: blamed, Blocked: map[string]time.Duration{contention.SleepKind: blamed}, Contentions: 99}
	}
	sleep := func(at *contention.Stack, slept time.Duration) contention.Wait {
		return contention.Wait{Kind: contention.SleepKind, Waiter: contention.Party{Group: "main.read", Stack: at}, Waited: slept, Contentions: 99}
	}
	l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
		{Category: ledger.Idle, Group: "main.read", Site: placeOf("main.read", 3), Wait: "mutex", Waker: "main.load", WakerSite: placeOf("main.load", 19), Beside: ledger.None, Time: 1300 * ms, Count: 99},
		{Category: ledger.Idle, Group: "main.load", Site: placeOf("main.load", 12), Wait: "mutex", Waker: "main.read", WakerSite: placeOf("main.read", 5), Beside: ledger.None, Time: 100 * ms, Count: 99},
		{Category: ledger.Code, Group: "main.read", Site: placeOf("main.read", 8), Time: 600 * ms, Count: 99},
	}}
	for blamed, want := range map[time.Duration]string{900 * ms: "main.load main.go:15", 100 * ms: "main.read main.go:4"} { // by those of main.load
		f := diagnose.New(diagnose.Results{Ledger: l, Contention: &contention.Profile{
			Duration: time.Second, Locks: []*contention.Lock{lock},
			Waits: []contention.Wait{{Kind: contention.MutexKind, Lock: lock, Waiter: contention.Party{Group: "main.read", Stack: stackOf("main.read", 3)}, Waited: time.Second, Blamed: time.Second, Contentions: 99},
				{Kind: contention.MutexKind, Lock: lock, Waiter: contention.Party{Group: "main.load", Stack: stackOf("main.load", 12)}, Waited: 1, Contentions: 1}, sleep(stackOf("main.read", 4), 400*ms), sleep(stackOf("main.load", 15), 300*ms)},
			Pairs: []contention.Wait{pair(stackOf("main.read", 3), stackOf("main.load", 19), blamed), pair(stackOf("main.read", 3), stackOf("main.read", 5), time.Second-blamed), pair(stackOf("main.load", 12), stackOf("main.read", 5), 0)},
		}}).Findings[0]
		if !strings.Contains(f.Advice, "most at "+want+".") {
			t.Errorf("blamed for %v: %s", blamed, f.Advice)
		}
	}
}

// Goroutines that wait at a limit sleep without it, too.
func TestLimitIsBoundedBySleeps(t *testing.T) {
	slept := map[string]time.Duration{"sleep": 2 * time.Second} // of 10 goroutines
	r := (&made{
		rows:  []ledger.Row{{Category: ledger.Outside, Group: "main.serve", Site: placeOf("main.serve", 9), Wait: "sleep", Beside: ledger.None, Time: 1980 * time.Millisecond, Count: 9}},
		boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.serve", Goroutines: 10, Waiting: slept}},
		pairs: []contention.Wait{{Kind: contention.SemaphoreKind, Waiter: contention.Party{Group: "main.serve", Stack: stackOf("main.take", 3)}, Owner: contention.Party{Group: "main.serve", Stack: stackOf("main.take", 8)}, Blamed: 8 * time.Second, Contentions: 9}},
	}).results(t)
	if f := diagnose.New(r).Findings[0]; f.Kind != diagnose.Limit || f.Gain != 5 {
		t.Errorf("%s: %s at best %v times as fast (%s)", f.Kind, f.Title, f.Gain, f.Basis)
	}
	// The network, which 2 of the 10 wait for on average, is as slow for each without the limit.
	r.Ledger.Rows[0].Wait, r.Graph.Boxes[0].Waiting = "network", nil
	r.Graph.Boxes[0].Sites = map[string][]bottle.Site{"network": {{Func: "main.serve", File: "/src/main.go", Line: 9, Time: 2 * time.Second}}}
	if f := diagnose.New(r).Findings[0]; f.Kind != diagnose.Limit || f.Gain != 5 {
		t.Errorf("%s: %s at best %v times as fast (%s)", f.Kind, f.Title, f.Gain, f.Basis)
	}
}

// Goroutines that sleep while they have a lock sleep without it, too.
func TestLockIsBoundedBySleeps(t *testing.T) {
	row := ledger.Row{Category: ledger.Idle, Group: "main.take", Site: placeOf("main.take", 3), Wait: "mutex", Waker: "main.take", WakerSite: placeOf("main.take", 9), Beside: ledger.None, Time: 1900 * time.Millisecond, Count: 900}
	for slept, want := range map[time.Duration]float64{0: 20, 2300 * time.Millisecond: 5, 700 * time.Millisecond: 0} { // of 10 goroutines
		r := (&made{rows: []ledger.Row{row}, boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.take", Goroutines: 10, Waiting: map[string]time.Duration{"sleep": slept}}},
			waits: []contention.Wait{{Kind: contention.SleepKind, Waiter: contention.Party{Group: "main.take", Stack: stackOf("main.take", 5)}, Waited: slept, Contentions: 100}}}).results(t) // each may take some milliseconds longer
		if f := diagnose.New(r).Findings[0]; f.Kind != diagnose.Lock || f.Gain != want || strings.Contains(f.Basis, "some milliseconds longer") != (want == 0) {
			t.Errorf("slept for %v: %s %s at best %v times as fast (%s)", slept, f.Kind, f.Title, f.Gain, f.Basis)
		}
	}
}

// Clients in the same program that wait for a lock of the server send no requests.
func TestClientsOfALock(t *testing.T) {
	const ms = time.Millisecond
	for locked, want := range map[time.Duration]int{100 * ms: 1, 20 * ms: 2} {
		read := ledger.Row{Category: ledger.Outside, Group: "net/http.(*conn).serve", Site: timeline.Place{Func: "net/http.(*connReader).Read", File: "/go/server.go", Line: 7}, Wait: "network", Beside: ledger.Several, Time: 150 * ms, Locked: locked, Count: 99}
		found := diagnose.New((&made{rows: []ledger.Row{{Category: ledger.Idle, Group: "main.sum", Site: placeOf("main.sum", 3), Wait: "mutex", Waker: "main.sum", WakerSite: placeOf("main.sum", 9), Beside: "main.sum", Time: 600 * ms, Count: 99}, read}}).results(t)).Findings
		if n := len(found); n != want || found[0].Kind != diagnose.Lock {
			t.Errorf("others waited for the lock for %v: %d findings, the last: %s", locked, n, found[n-1].Title)
		}
		// Nor are these too few, while several groups run beside those that wait.
		few := ledger.Row{Category: ledger.Idle, Group: "main.client", Site: placeOf("main.client", 5), Wait: "select", Waker: "main.reader", Beside: ledger.Several, Time: 150 * ms, Locked: locked, Count: 99}
		found = diagnose.New((&made{rows: []ledger.Row{{Category: ledger.Idle, Group: "main.sum", Site: placeOf("main.sum", 3), Wait: "mutex", Waker: "main.sum", WakerSite: placeOf("main.sum", 9), Beside: "main.sum", Time: 600 * ms, Count: 99}, few}}).results(t)).Findings
		if n := len(found); n != want || found[0].Kind != diagnose.Lock {
			t.Errorf("others waited for the lock for %v: %d findings, the last: %s", locked, n, found[n-1].Title)
		}
	}
}

// The last of several workers is still at its last piece of work when the others have none, however
// many results were received before that. Workers that did as much as each other waited for more.
func TestLastPieceOfWork(t *testing.T) {
	const ms = time.Millisecond
	for longest, want := range map[time.Duration]string{900 * ms: diagnose.Imbalance, 320 * ms: diagnose.Serial} {
		result := ledger.Row{Category: ledger.Idle, Group: "main.main", Site: placeOf("main.main", 48), Wait: "chan-receive", Waker: "main.work", WakerSite: placeOf("main.work", 23), Beside: "main.work", Time: 500 * ms, Count: 40}
		r := (&made{
			rows: []ledger.Row{result, {Category: ledger.NoWork, Beside: "main.work", Time: 100 * ms, Count: 1},
				{Category: ledger.Scheduler, Group: "main.work", Site: placeOf("main.main", 41), Wait: "created", Waker: "main.main", Time: ms, Count: 4}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.work", Goroutines: 4, Running: 1200 * ms, SelfParallelism: 1.3}},
		}).results(t)
		c := granularity.Class{Name: "main.work", Tasks: 4}
		c.RunningNS.Add(uint64(longest))
		c.RunningNS.AddN(uint64((1200*ms-longest)/3), 3)
		r.Tasks = &granularity.Profile{Of: granularity.OfGoroutines, Classes: []granularity.Class{c}}
		if f := diagnose.New(r).Findings[0]; f.Kind != want {
			t.Errorf("the longest ran for %v: %s %s", longest, f.Kind, f.Title)
		}
		// A goroutine that was started beside them receives the results, and main.main waits
		// for all.
		rows := r.Ledger.Rows
		rows[0].Group, rows[0].Time = "main.collect", 300*ms
		rows = append(rows, ledger.Row{Category: ledger.Scheduler, Group: "main.collect", Site: placeOf("main.main", 42), Wait: "created", Waker: "main.main", Time: 1, Count: 1},
			ledger.Row{Category: ledger.Idle, Group: "main.main", Site: placeOf("main.main", 50), Wait: "waitgroup", Waker: "main.work", Beside: "main.work", Time: 200*ms - 1, Count: 1})
		r.Ledger.Rows = rows
		if found := diagnose.New(r).Findings; found[0].Kind != want || (len(found) == 1) != (want == diagnose.Imbalance) {
			t.Errorf("the longest ran for %v: %d findings: %s; %s", longest, len(found), found[0].Title, found[len(found)-1].Title)
		}
	}
}

// Package testing waits for the benchmark, which waits for its goroutines: that is one finding.
func TestUnevenBenchmark(t *testing.T) {
	const ms = time.Millisecond
	found := diagnose.New((&made{
		rows: []ledger.Row{{Category: ledger.Idle, Group: "main.BenchmarkX", Site: placeOf("main.BenchmarkX", 9), Wait: "waitgroup", Waker: "main.work", Beside: "main.work", Time: 300 * ms, Count: 1},
			{Category: ledger.Idle, Group: "main.main", Site: timeline.Place{Func: "testing.(*B).doBench", File: "/go/src/testing/benchmark.go", Line: 297}, Wait: "chan-receive", Waker: "main.BenchmarkX", Beside: "main.work", Time: 250 * ms, Count: 1}},
		boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.work", Goroutines: 4, Running: 1200 * ms, SelfParallelism: 1.4}},
	}).results(t)).Findings
	if len(found) != 1 || found[0].Kind != diagnose.Imbalance || found[0].Lost != 550*ms {
		t.Errorf("%d findings, the first lost %v: %s", len(found), found[0].Lost, found[0].Title)
	}
}

// If a function starts several groups of goroutines at different lines, those that ran for most of the
// time are named by theirs, also if several of them ran at a time.
func TestStageOfSeveral(t *testing.T) {
	const ms = time.Millisecond
	r := (&made{
		rows:  []ledger.Row{{Category: ledger.Idle, Group: "main.stage", Site: placeOf("main.stage", 9), Wait: "chan-receive", Waker: "main.stage", Beside: "main.stage", Time: 400 * ms, Count: 99}},
		boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.stage", Goroutines: 4, Running: 1600 * ms, SelfParallelism: 1.6, Waiting: map[string]time.Duration{"chan-receive": time.Second}}},
	}).results(t)
	c := granularity.Class{Name: "main.stage", Tasks: 4}
	for i, ran := range []time.Duration{200 * ms, 1400 * ms} {
		s := granularity.Site{Tasks: 2, Created: []granularity.Frame{{Func: "main.main", File: "/src/main.go", Line: 61 + i}}}
		s.RunningNS.Add(uint64(ran))
		c.Sites = append(c.Sites, s)
	}
	r.Tasks = &granularity.Profile{Of: granularity.OfGoroutines, Classes: []granularity.Class{c}}
	if f := diagnose.New(r).Findings[0]; !strings.Contains(f.Title, "1.60 at a time") || !strings.HasPrefix(f.Advice, "What main.main main.go:62 started took 88%") {
		t.Errorf("%s %s", f.Title, f.Advice)
	}
}

// What runs beside goroutines that are too short, and is short for that reason, is no second finding.
func TestOnlyTinyGoroutines(t *testing.T) {
	const ms = time.Millisecond
	for n, want := range map[int]int{100_000: 1, 10_000: 2} { // 7 µs each, or 70 µs
		r := (&made{
			rows: []ledger.Row{{Category: ledger.Scheduler, Group: "main.main", Site: placeOf("main.main", 9), Wait: "waitgroup", Waker: "main.work", Time: 70 * ms, Count: 50_000},
				{Category: ledger.Code, Group: "main.split", Site: placeOf("main.split", 9), Time: 1200 * ms, Count: 50_000}, {Category: ledger.Code, Group: "main.work", Site: placeOf("main.work", 9), Time: 730 * ms, Count: 500_000}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.work", Goroutines: n, Running: 730 * ms, SelfParallelism: 1.2}},
		}).results(t)
		r.Ledger.Born, r.Ledger.Slices = int64(n), 550_000
		if found := diagnose.New(r).Findings; len(found) != want || (found[0].Kind == diagnose.Tiny) != (want == 1) {
			t.Errorf("%d goroutines: %d findings, the first: %s", n, len(found), found[0].Title)
		}
	}
}

// A ticker whose goroutine does nothing for others sets no pace, though it ends most waits. A wait that
// began before the trace is like those that follow.
func TestTickerBesideASleep(t *testing.T) {
	const ms = time.Millisecond
	for slept, want := range map[time.Duration]string{700 * ms: "Sleeping at main.ask", 400 * ms: "Waiting for a timer at main.tick"} {
		row := func(group, wait, category string, t time.Duration) ledger.Row {
			r := ledger.Row{Category: category, Group: group, Wait: wait, Beside: ledger.None, Time: t, Count: 4}
			if wait != "other" {
				r.Site = placeOf(group, 9)
			}
			return r
		}
		wait := func(kind, group string) contention.Wait {
			return contention.Wait{Kind: kind, Waiter: contention.Party{Group: group, Stack: stackOf(group, 9)}, Contentions: 90, Parks: 90}
		}
		box := func(group, wait string, waited time.Duration) bottle.Box {
			return bottle.Box{Kind: bottle.Application, Group: group, Goroutines: 1, Running: ms, SelfParallelism: 1,
				Sites: map[string][]bottle.Site{wait: {{Func: group, File: "/src/main.go", Line: 9, Time: waited}}}}
		}
		asked := wait(contention.ChanReceiveKind, "main.read")
		asked.Owner = contention.Party{Group: "main.ask", Stack: stackOf("main.ask", 7)}
		found := diagnose.New((&made{
			rows:  []ledger.Row{row("main.tick", "chan-receive", ledger.Outside, 1400*ms), row("main.tick", "other", ledger.Idle, 300*ms), row("main.ask", "sleep", ledger.Outside, 100*ms)},
			boxes: []bottle.Box{box("main.tick", "chan-receive", 900*ms), box("main.ask", "sleep", slept)},
			waits: []contention.Wait{wait(contention.SleepKind, "main.ask"), wait(contention.ChanReceiveKind, "main.tick"), asked}, pairs: []contention.Wait{asked},
		}).results(t)).Findings
		if f := found[0]; !strings.HasPrefix(f.Title, want) || f.Lost < 1700*ms {
			t.Errorf("slept for %v: %v lost: %s", slept, f.Lost, f.Title)
		}
	}
}

// A short wait for a response is not why a goroutine sleeps that does nothing for others, and waits for
// no requests.
func TestSleepBesideAResponse(t *testing.T) {
	const ms = time.Millisecond
	wait := func(kind, group string) contention.Wait {
		return contention.Wait{Kind: kind, Waiter: contention.Party{Group: group, Stack: stackOf(group, 9)}, Contentions: 90, Parks: 90}
	}
	asked := wait(contention.SelectKind, "main.get")
	asked.Owner = contention.Party{Group: "main.read", Stack: stackOf("main.read", 7)}
	for response, want := range map[time.Duration]string{ms: "Sleeping at main.pump", 100 * ms: "Waiting for the network at main.read"} {
		f := diagnose.New((&made{
			rows: []ledger.Row{{Category: ledger.Outside, Group: "main.pump", Site: placeOf("main.pump", 9), Wait: "sleep", Beside: ledger.None, Time: 1400 * ms, Count: 90},
				{Category: ledger.Outside, Group: "main.read", Site: placeOf("main.read", 9), Wait: "network", Beside: ledger.None, Time: response, Count: 90}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.read", Goroutines: 1, Running: ms, SelfParallelism: 1,
				Sites: map[string][]bottle.Site{"network": {{Func: "main.read", File: "/src/main.go", Line: 9, Time: 900 * ms}}}}},
			waits: []contention.Wait{wait(contention.SleepKind, "main.pump"), wait(contention.NetworkKind, "main.read"), asked}, pairs: []contention.Wait{asked},
		}).results(t)).Findings[0]
		if !strings.HasPrefix(f.Title, want) {
			t.Errorf("waited %v for a response: %s", response, f.Title)
		}
	}
}

// A channel that is closed for each short message hands over; what others wait long for is done once.
func TestChannelForEachMessage(t *testing.T) {
	for n, want := range map[int64]string{9: "Processors had nothing to do", 50_000: "Handing over"} {
		pair := contention.Wait{Kind: contention.ChanReceiveKind, Waiter: contention.Party{Group: "main.serve", Stack: stackOf("main.get", 3)}, Owner: contention.Party{Group: "main.load", Stack: stackOf("main.load", 8)}, Flags: contention.Closer, Waited: time.Second, Blamed: time.Second, Contentions: n}
		f := diagnose.New((&made{
			rows:  []ledger.Row{{Category: ledger.Idle, Group: "main.serve", Site: placeOf("main.get", 3), Wait: "chan-receive", Waker: "main.load", Beside: "main.serve", Time: 900 * time.Millisecond, Count: n}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.serve", Goroutines: 4, Running: time.Second, SelfParallelism: 1}},
			waits: []contention.Wait{pair}, pairs: []contention.Wait{pair},
		}).results(t)).Findings[0]
		if !strings.HasPrefix(f.Title, want) {
			t.Errorf("%d waits: %s", n, f.Title)
		}
	}
}

// Of idle times that one wait ended, and as much that others ended, one bound would be that of both.
func TestWaitsBesideAsManyOthers(t *testing.T) {
	const ms = time.Millisecond
	for others, bound := range map[time.Duration]bool{300 * ms: true, 700 * ms: false} {
		f := diagnose.New((&made{rows: []ledger.Row{
			{Category: ledger.Outside, Group: "main.wait", Site: placeOf("main.wait", 9), Wait: "sleep", Beside: ledger.None, Time: 1000 * ms, Count: 9},
			{Category: ledger.Idle, Group: "main.other", Site: placeOf("main.other", 9), Wait: "chan-receive", Beside: "main.work", Waker: "main.work", Time: others, Count: 9},
		}}).results(t)).Findings[0]
		if f.Kind != diagnose.Sleep || (f.Gain > 0) != bound {
			t.Errorf("others for %v: %s at best %v times as fast (%s)", others, f.Title, f.Gain, f.Basis)
		}
	}
}

// That tasks are uneven or few is not said again, beside what the ledger shows.
func TestTasksBesideUnevenWork(t *testing.T) {
	const ms = time.Millisecond
	for large, want := range map[uint64]string{0: "Divide the work into more", 1: `The largest task of "load" ran for`} {
		joined := ledger.Row{Category: ledger.Idle, Group: "main.main", Site: placeOf("main.main", 30), Wait: "waitgroup", Waker: "main.work", Beside: "main.work", Time: 800 * ms, Count: 1}
		r := (&made{rows: []ledger.Row{joined}, boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.work", Goroutines: 8, Running: 1200 * ms, SelfParallelism: 1.2}}}).results(t)
		c := granularity.Class{Name: "load", ActiveShare: 1, Tasks: 1 + 100*large}
		c.RunningNS.Add(uint64(900 * ms))
		c.WallNS.Add(uint64(900 * ms))
		c.RunningNS.AddN(uint64(5*ms), 100*large)
		c.WallNS.AddN(uint64(5*ms), 100*large)
		r.Tasks = &granularity.Profile{Source: granularity.SourceTrace, Of: granularity.OfRegions, Classes: []granularity.Class{c}, Wall: time.Second, Procs: 2, Run: granularity.Sample{Wall: time.Second, Utilization: 0.6}}
		if found := diagnose.New(r).Findings; len(found) != 1 || found[0].Kind != diagnose.Imbalance || !strings.HasPrefix(found[0].Advice, want) {
			t.Errorf("%d large tasks: %d findings, the last: %s %s", large, len(found), found[len(found)-1].Title, found[0].Advice)
		}
	}
}

// A goroutine that waits at a semaphore until all that it started are done waits as for a
// sync.WaitGroup; one that needs a place for each of them waits as often as it starts one.
func TestSemaphoreThatJoins(t *testing.T) {
	const ms = time.Millisecond
	for waits, want := range map[int64]string{5: diagnose.Serial, 90: diagnose.Limit} {
		r := (&made{
			rows: []ledger.Row{{Category: ledger.Idle, Group: "main.main", Site: placeOf("main.main", 9), Wait: "semaphore", Waker: "main.work", WakerSite: placeOf("main.work", 5), Beside: "main.work", Time: 300 * ms, Count: waits},
				{Category: ledger.Idle, Group: "main.work", Site: placeOf("main.main", 8), Wait: "created", Waker: "main.main", WakerSite: placeOf("main.main", 8), Beside: "main.work", Time: 300 * ms, Count: 9}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.work", Goroutines: 100, Running: time.Second, SelfParallelism: 1}, {Kind: bottle.Application, Group: "main.main", Goroutines: 1}},
			pairs: []contention.Wait{{Kind: contention.SemaphoreKind, Waiter: contention.Party{Group: "main.main", Stack: stackOf("main.main", 9)}, Owner: contention.Party{Group: "main.work", Stack: stackOf("main.work", 5)}, Blamed: 300 * ms, Contentions: waits}},
		}).results(t)
		if f := diagnose.New(r).Findings[0]; f.Kind != want || f.Lost != 600*ms {
			t.Errorf("%d waits: %s, %s", waits, f.Kind, f.Title)
		}
	}
}

// Tiny pieces of work are one finding, with what the scheduler took to hand them over, and with the
// smaller time for which one goroutine ran alone because of them.
func TestTinyPiecesAreOneFinding(t *testing.T) {
	const ms = time.Millisecond
	for alone, times := range map[time.Duration]int64{0: 0, 100 * ms: 90_000, 120 * ms: 900} {
		wait := contention.Wait{Kind: contention.ChanReceiveKind, Waiter: contention.Party{Group: "main.filter", Stack: stackOf("main.filter", 3)}, Waited: time.Second, Contentions: 900_000, Parks: 900_000}
		m := &made{
			rows: []ledger.Row{{Category: ledger.Scheduler, Group: "main.filter", Site: placeOf("main.filter", 3), Wait: "chan-receive", Waker: "main.filter", Time: 600 * ms, Count: 900_000},
				{Category: ledger.Code, Group: "main.filter", Site: placeOf("main.filter", 3), Time: 1200 * ms, Count: 900_000}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.filter", Goroutines: 4, Running: 1200 * ms, SelfParallelism: 1.5}},
			waits: []contention.Wait{wait},
		}
		if alone > 0 {
			m.rows = append(m.rows, ledger.Row{Category: ledger.Idle, Group: "main.filter", Site: placeOf("main.filter", 3), Wait: "chan-receive", Waker: "main.filter", WakerSite: placeOf("main.filter", 4), Beside: "main.filter", Time: alone, Count: times})
		}
		found := diagnose.New(m.results(t)).Findings
		if lost := 600*ms + alone; len(found) != 1 || found[0].Kind != diagnose.Tiny || found[0].Lost != lost {
			t.Errorf("alone for %v: %d findings, the first a %s of %v, want one of %v: %s", alone, len(found), found[0].Kind, found[0].Lost, lost, found[0].Title)
		}
	}
}

// What short goroutines hand over is themselves: to start them and to hand over is one cause, at the
// go statement.
func TestTinyGoroutinesThatHandOver(t *testing.T) {
	const ms = time.Millisecond
	at := placeOf("main.start", 7)
	r := (&made{
		rows: []ledger.Row{{Category: ledger.Scheduler, Group: "main.sort", Site: placeOf("main.sort", 9), Wait: "chan-receive", Waker: "main.sort", Time: 300 * ms, Count: 90_000},
			{Category: ledger.Scheduler, Group: "main.sort", Site: at, Wait: "created", Waker: "main.start", WakerSite: at, Time: 200 * ms, Count: 100_000},
			{Category: ledger.Code, Group: "main.sort", Site: placeOf("main.sort", 9), Time: 500 * ms, Count: 190_000}, {Category: ledger.Code, Group: "main.start", Site: at, Time: 900 * ms, Count: 9}},
		boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.sort", Goroutines: 110_000, Running: 500 * ms, SelfParallelism: 1.5}},
		waits: []contention.Wait{{Kind: contention.ChanReceiveKind, Waiter: contention.Party{Group: "main.sort", Stack: stackOf("main.sort", 9)}, Waited: time.Second, Contentions: 110_000, Parks: 110_000}},
	}).results(t)
	r.Ledger.Born = 110_000
	found := diagnose.New(r).Findings
	if f := found[0]; len(found) != 1 || f.Kind != diagnose.Tiny || f.Lost != 500*ms || !strings.HasPrefix(f.Title, "Tiny goroutines: 110,000 of main.sort ran for 4.55 µs each") || f.Where[0] != at {
		t.Errorf("%d findings, the first a %s of %v at %v: %s", len(found), f.Kind, f.Lost, f.Where, f.Title)
	}
}

// The goroutine that starts them may wait for a place in a limit before each, or run alone for a moment.
func TestTinyGoroutinesWhoseStarterWaits(t *testing.T) {
	const ms = time.Millisecond
	at := placeOf("main.start", 7)
	for _, waited := range []time.Duration{200 * ms, 600 * ms} {
		r := (&made{
			rows: []ledger.Row{{Category: ledger.Scheduler, Group: "main.start", Site: placeOf("main.start", 6), Wait: "chan-send", Waker: "main.sort", Time: waited, Count: 90_000},
				{Category: ledger.Scheduler, Group: "main.sort", Site: at, Wait: "created", Waker: "main.start", WakerSite: at, Time: 300 * ms, Count: 100_000},
				{Category: ledger.Idle, Group: "main.sort", Site: at, Wait: "created", Waker: "main.start", WakerSite: at, Beside: "main.start", Time: 100 * ms, Count: 100},
				{Category: ledger.Code, Group: "main.sort", Site: placeOf("main.sort", 9), Time: 500 * ms, Count: 100_000}, {Category: ledger.Code, Group: "main.start", Site: at, Time: 500 * ms, Count: 90_000}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.sort", Goroutines: 110_000, Running: 500 * ms, SelfParallelism: 1}, {Kind: bottle.Application, Group: "main.start", Goroutines: 1, Running: 900 * ms, SelfParallelism: 1}},
		}).results(t)
		r.Ledger.Born = 110_000
		for _, f := range diagnose.New(r).Findings {
			if f.Kind == diagnose.HandOver || f.Kind == diagnose.Switching || f.Kind == diagnose.Serial || f.Kind == diagnose.Tiny && f.Lost != 400*ms+waited {
				t.Errorf("waited for %v: %s of %v: %s", waited, f.Kind, f.Lost, f.Title)
			}
		}
	}
}

// Each hand-over to a goroutine that is locked to a thread wakes that. It takes longer than others
// then, and so do the pieces of work.
func TestPiecesOnAThread(t *testing.T) {
	for pinned, want := range map[string]string{"main.gl": diagnose.HandOver, "main.other": diagnose.Serial} {
		r := (&made{
			rows:  []ledger.Row{{Category: ledger.Code, Group: "main.gl", Site: placeOf("main.gl", 7), Time: time.Second, Count: 100_000}, {Category: ledger.Idle, Group: "main.main", Wait: "chan-receive", Beside: "main.gl", Time: time.Second, Count: 100_000}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.gl", Goroutines: 1, Running: time.Second}},
			waits: []contention.Wait{{Kind: contention.ChanReceiveKind, Waiter: contention.Party{Group: "main.gl", Stack: stackOf("main.gl", 7)}, Contentions: 100_000, Parks: 100_000}},
		}).results(t)
		r.Ledger.Pinned = []string{pinned}
		if f := diagnose.New(r).Findings[0]; f.Kind != want {
			t.Errorf("%s is locked: %s: %s", pinned, f.Kind, f.Title)
		}
	}
}

// A handler that sleeps keeps its client waiting, though it wakes no goroutine.
func TestHandlerThatSleeps(t *testing.T) {
	const ms, serve = time.Millisecond, "net/http.(*conn).serve"
	for start, want := range map[string]string{serve: diagnose.Sleep, "main.main": diagnose.NoWork} {
		read := timeline.Place{Func: "net/http.(*connReader).Read", File: "/go/src/net/http/server.go", Line: 7}
		f := diagnose.New((&made{
			rows: []ledger.Row{{Category: ledger.Outside, Group: "main.handle", Site: placeOf("main.handle", 9), Wait: "sleep", Beside: ledger.None, Time: 1600 * ms, Count: 90},
				{Category: ledger.Outside, Group: serve + " (reading)", Site: read, Wait: "network", Beside: ledger.None, Time: 300 * ms, Count: 90}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: serve, Goroutines: 1}, {Kind: bottle.Application, Group: "main.handle", Starts: []string{start}, Goroutines: 1},
				{Kind: bottle.Application, Group: serve + " (reading)", Starts: []string{serve}, Goroutines: 1, Waiting: map[string]time.Duration{"network": 900 * ms}}},
			waits: []contention.Wait{{Kind: contention.SleepKind, Waiter: contention.Party{Group: "main.handle", Stack: stackOf("main.handle", 9)}, Contentions: 90}},
		}).results(t)).Findings[0]
		if f.Kind != want {
			t.Errorf("started by %s: %s: %s", start, f.Kind, f.Title)
		}
	}
}

// A lock lets goroutines run one at a time, so that the last of them runs alone at the end.
func TestLastOfThoseThatWaitForALock(t *testing.T) {
	const ms = time.Millisecond
	for atATime, want := range map[float64]time.Duration{1: 800 * ms, 1.2: 800 * ms, 1.4: 600 * ms} {
		f := diagnose.New((&made{
			rows: []ledger.Row{{Category: ledger.Idle, Group: "main.take", Site: placeOf("main.take", 3), Wait: "mutex", Waker: "main.take", WakerSite: placeOf("main.take", 9), Beside: "main.take", Time: 600 * ms, Locked: 600 * ms, Count: 9},
				{Category: ledger.Idle, Group: "main.main", Site: placeOf("main.main", 30), Wait: "waitgroup", Waker: "main.take", Beside: "main.take", Time: 200 * ms, Locked: 20 * ms, Count: 1}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.take", Goroutines: 4, Running: time.Second, SelfParallelism: atATime}},
		}).results(t)).Findings[0]
		if f.Kind != diagnose.Lock || f.Lost != want {
			t.Errorf("%v at a time: %s of %v: %s", atATime, f.Kind, f.Lost, f.Title)
		}
	}
}

// Those that wait for the goroutines of a server are workers that have no work.
func TestWorkersOfAServer(t *testing.T) {
	const ms = time.Millisecond
	for network, others := range map[time.Duration]bool{0: true, ms: false} {
		wait := contention.Wait{Kind: contention.SelectKind, Waiter: contention.Party{Group: "main.work", Stack: stackOf("main.work", 5)}, Owner: contention.Party{Group: "main.handle", Stack: stackOf("main.handle", 8)}, Blamed: time.Second, Contentions: 50}
		f := diagnose.New((&made{
			rows: []ledger.Row{{Category: ledger.Outside, Group: "main.handle", Site: placeOf("main.handle", 9), Wait: "sleep", Beside: ledger.None, Time: 1600 * ms, Count: 90}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.handle", Goroutines: 1, Waiting: map[string]time.Duration{"network": network}},
				{Kind: bottle.Application, Group: "main.work", Goroutines: 1, Sites: map[string][]bottle.Site{"select": {{Func: "main.work", File: "/src/main.go", Line: 5, Time: 900 * ms}}}}},
			pairs: []contention.Wait{wait},
		}).results(t)).Findings[0]
		if f.Kind != diagnose.Sleep || strings.HasPrefix(f.Advice, "Others wait") != others {
			t.Errorf("waited for the network for %v: %s: %s", network, f.Title, f.Advice)
		}
	}
}

// More goroutines sleep between the lines of a lock than wait for it if they have released it.
func TestMoreSleepThanWaitForTheLock(t *testing.T) {
	const ms = time.Millisecond
	for slept, want := range map[time.Duration]time.Duration{2 * time.Second: 1700 * ms, 9 * time.Second: 1300 * ms} {
		wait := contention.Wait{Kind: contention.MutexKind, Waiter: contention.Party{Group: "main.take", Stack: stackOf("main.take", 3)}, Owner: contention.Party{Group: "main.take", Stack: stackOf("main.take", 9)}, Waited: 3 * time.Second, Blamed: 3 * time.Second, Contentions: 9}
		f := diagnose.New((&made{
			rows: []ledger.Row{{Category: ledger.Idle, Group: "main.take", Site: placeOf("main.take", 3), Wait: "mutex", Waker: "main.take", WakerSite: placeOf("main.take", 9), Beside: "main.take", Time: 400 * ms, Count: 9},
				{Category: ledger.Outside, Group: "main.take", Site: placeOf("main.take", 5), Wait: "sleep", Beside: ledger.None, Time: 1300 * ms, Count: 9}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.take", Goroutines: 20, Running: 100 * ms, Sites: map[string][]bottle.Site{"sleep": {{Func: "main.take", File: "/src/main.go", Line: 5, Time: slept}}}}},
			waits: []contention.Wait{wait}, pairs: []contention.Wait{wait},
		}).results(t)).Findings[0]
		if f.Lost != want {
			t.Errorf("slept for %v: %s of %v: %s", slept, f.Kind, f.Lost, f.Title)
		}
	}
}

// Goroutines that wait until the one that does something closes a channel are not limited in number,
// as those are that wait for a value from another one of their group.
func TestWaitUntilClosed(t *testing.T) {
	const ms = time.Millisecond
	for flags, want := range map[uint32]string{0: diagnose.Limit, contention.Closer: diagnose.Sleep} {
		pair := contention.Wait{Kind: contention.ChanReceiveKind, Waiter: contention.Party{Group: "main.serve", Stack: stackOf("main.get", 3)}, Owner: contention.Party{Group: "main.serve", Stack: stackOf("main.get", 8)}, Flags: flags, Waited: 8 * time.Second, Blamed: 8 * time.Second, Contentions: 9}
		r := (&made{
			rows:  []ledger.Row{{Category: ledger.Outside, Group: "main.serve", Site: placeOf("main.fetch", 7), Wait: "sleep", Beside: ledger.None, Time: 1800 * ms, Count: 99}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.serve", Goroutines: 40, Waiting: map[string]time.Duration{"sleep": 8 * time.Second}}},
			waits: []contention.Wait{pair}, pairs: []contention.Wait{pair},
		}).results(t)
		if f := diagnose.New(r).Findings[0]; f.Kind != want {
			t.Errorf("flags %q: %s, %s", contention.FlagNames(flags), f.Kind, f.Title)
		}
	}
	// They wait for what is done once.
	pair := contention.Wait{Kind: contention.ChanReceiveKind, Waiter: contention.Party{Group: "main.serve", Stack: stackOf("main.get", 3)}, Owner: contention.Party{Group: "main.load", Stack: stackOf("main.load", 8)}, Flags: contention.Closer, Waited: 8 * time.Second, Blamed: 8 * time.Second, Contentions: 9}
	r := (&made{
		rows:  []ledger.Row{{Category: ledger.Idle, Group: "main.serve", Site: placeOf("main.get", 3), Wait: "chan-receive", Waker: "main.load", WakerSite: placeOf("main.load", 8), Beside: "main.load", Time: 800 * ms, Count: 9}},
		boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.serve", Goroutines: 40}, {Kind: bottle.Application, Group: "main.load", Goroutines: 1, Running: 900 * ms, SelfParallelism: 1}},
		waits: []contention.Wait{pair}, pairs: []contention.Wait{pair},
	}).results(t)
	if f := diagnose.New(r).Findings[0]; f.Title != "Processors had nothing to do for 40% of the capacity while main.load ran, which others waited for at main.get main.go:3." {
		t.Errorf("%s", f.Title)
	}
}

// A channel of places is a limit, too, for goroutines that start others of their group, as a walk
// over directories does. Where they also wait for what others send, it is their results.
func TestLimitOfGoroutinesThatStartOthers(t *testing.T) {
	const ms = time.Millisecond
	for received, want := range map[int64]string{0: diagnose.Limit, 9: diagnose.Sleep} {
		wait := contention.Wait{Kind: contention.ChanSendKind, Waiter: contention.Party{Group: "main.walk", Stack: stackOf("main.walk", 3)}, Owner: contention.Party{Group: "main.walk", Stack: stackOf("main.walk", 4)}, Waited: 8 * time.Second, Blamed: 8 * time.Second, Contentions: 99}
		receive := contention.Wait{Kind: contention.ChanReceiveKind, Waiter: contention.Party{Group: "main.walk", Stack: stackOf("main.walk", 4)}, Waited: ms, Contentions: received}
		r := (&made{
			rows: []ledger.Row{{Category: ledger.Outside, Group: "main.walk", Site: placeOf("main.walk", 7), Wait: "sleep", Beside: ledger.None, Time: 1800 * ms, Count: 99},
				{Category: ledger.Idle, Group: "main.walk", Site: placeOf("main.walk", 6), Wait: "created", Waker: "main.walk", WakerSite: placeOf("main.walk", 6), Beside: "main.walk", Time: ms, Count: 9}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.walk", Goroutines: 100, Waiting: map[string]time.Duration{"sleep": 2 * time.Second}}},
			waits: []contention.Wait{wait, receive}, pairs: []contention.Wait{wait},
		}).results(t)
		if f := diagnose.New(r).Findings[0]; f.Kind != want {
			t.Errorf("%d waits to receive: %s, %s", received, f.Kind, f.Title)
		}
	}
}

// What runs under a lock on behalf of others keeps their connections waiting, too.
func TestNetworkBehindLock(t *testing.T) {
	const ms = time.Millisecond
	for locked, want := range map[time.Duration]time.Duration{400 * ms: 900 * ms, 100 * ms: 600 * ms} { // that there were others who waited for the lock
		r := (&made{rows: []ledger.Row{
			{Category: ledger.Idle, Group: "main.sum", Site: placeOf("main.sum", 3), Wait: "mutex", Waker: "main.sum", WakerSite: placeOf("main.sum", 9), Beside: "main.sum", Time: 600 * ms, Count: 99},
			{Category: ledger.Outside, Group: "main.ask", Site: placeOf("main.ask", 3), Wait: "network", Beside: "main.sum", Time: 300 * ms, Locked: locked * 3 / 4, Count: 99},
			{Category: ledger.Outside, Group: "main.ask", Site: placeOf("main.ask", 3), Wait: "network", Beside: "main.work", Time: 100 * ms, Locked: 100 * ms, Count: 99},
		}}).results(t)
		if f := diagnose.New(r).Findings[0]; f.Kind != diagnose.Lock || f.Lost != want {
			t.Errorf("%s: %s lost %v, want %v", f.Kind, f.Title, f.Lost, want)
		}
	}
}

// A goroutine that sleeps does so for what is done once, not under the mutex of the same object.
func TestWhatIsDoneOnceIsNoLock(t *testing.T) {
	const ms = time.Millisecond
	wait := func(kind string, waited time.Duration) contention.Wait {
		return contention.Wait{Kind: kind, Waiter: contention.Party{Group: "main.take", Stack: stackOf("main.take", 3)}, Waited: waited, Blamed: waited, Contentions: 9}
	}
	m := &made{
		rows: []ledger.Row{{Category: ledger.Outside, Group: "main.take", Site: placeOf("main.load", 7), Wait: "sleep", Beside: ledger.None, Time: 1200 * ms, Count: 9},
			{Category: ledger.Idle, Group: "main.take", Site: placeOf("main.take", 3), Wait: "mutex", Waker: "main.take", WakerSite: placeOf("main.take", 3), Beside: "main.take", Time: ms, Count: 9}},
		boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.take", Goroutines: 8, Waiting: map[string]time.Duration{"sleep": 600 * ms}}},
		waits: []contention.Wait{wait(contention.MutexKind, ms), wait(contention.OnceKind, 4*time.Second)},
		pairs: []contention.Wait{{Kind: contention.OnceKind, Owner: contention.Party{Group: "main.take", Stack: stackOf("main.load", 7)}, Waiter: contention.Party{Group: "main.take", Stack: stackOf("main.take", 3)}, Blamed: 4 * time.Second, Blocked: map[string]time.Duration{contention.SleepKind: 4 * time.Second}}},
		change: func(r *diagnose.Results) {
			r.Contention.Waits[1].Lock, r.Contention.Pairs[0].Lock = r.Contention.Locks[0], r.Contention.Locks[0]
			r.Contention.Locks[0].Contended = 600 * ms
		},
	}
	if f := diagnose.New(m.results(t)).Findings[0]; f.Kind != diagnose.Sleep {
		t.Errorf("%s: %s", f.Kind, f.Title)
	}
}

// More processors gain little where one goroutine of many does nearly all of the work, however many
// others are ready for a moment after it.
func TestOneOfManyNeedsNoProcessors(t *testing.T) {
	for ready, want := range map[time.Duration]bool{100 * time.Millisecond: false, 3 * time.Second: true} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 1, Capacity: time.Second, Queue: 4 * time.Second, Queued: time.Second, Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.serve", Time: 950 * time.Millisecond, Count: 99}, {Category: ledger.Code, Group: "main.ask", Time: 50 * time.Millisecond, Count: 99},
		}}
		found := diagnose.New(diagnose.Results{Ledger: l, Graph: &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{
			{Kind: bottle.Application, Group: "main.serve", Goroutines: 9, Running: 950 * time.Millisecond, Runnable: ready, SelfParallelism: 1},
			{Kind: bottle.Application, Group: "main.ask", Goroutines: 9, Running: 50 * time.Millisecond, Runnable: 4*time.Second - ready, SelfParallelism: 1},
		}}}).Findings
		if got := has(found, diagnose.OneProc); got != want {
			t.Errorf("others of the group were ready for %v: %+v", ready, found)
		}
	}
}

// The goroutine that a server starts for each request to read ahead ends the time in which a processor
// was idle because no request came, unless few connections wait for one.
func TestHandlerRunsBetweenRequests(t *testing.T) {
	const ms, serve, handle = time.Millisecond, "net/http.(*conn).serve (reading)", "main.handle"
	library := func(fn string) timeline.Place {
		return timeline.Place{Func: fn, File: "/go/src/net/http/server.go", Line: 7}
	}
	for idle, want := range map[time.Duration]string{
		500 * ms:         "While main.handle ran, 1.60 at a time, the other processors had nothing to do or were waking up: 35% of the capacity.",
		14 * time.Second: "Waiting for requests from the network left 45% of the capacity idle.",
	} {
		f := diagnose.New((&made{
			rows: []ledger.Row{
				{Category: ledger.WakeUp, Group: "net/http.(*connReader).backgroundRead", Site: library("net/http.(*connReader).startBackgroundRead"), Wait: "created", Beside: handle, Time: 700 * ms, Count: 900},
				{Category: ledger.Outside, Group: serve, Site: library("net/http.(*connReader).Read"), Wait: "network", Beside: ledger.None, Time: 200 * ms, Count: 900},
			},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: handle, Goroutines: 16, Running: 1100 * ms, SelfParallelism: 1.6, Waiting: map[string]time.Duration{"network": time.Second}},
				{Kind: bottle.Application, Group: serve, Goroutines: 16, Sites: map[string][]bottle.Site{"network": {{Func: "net/http.(*connReader).Read", File: "/go/src/net/http/server.go", Line: 7, Time: idle}}}}},
		}).results(t)).Findings[0]
		if f.Title != want {
			t.Errorf("connections waited for %v: %s", idle, f.Title)
		}
	}
}

// A timer that ends idle times only because it comes more often than what the others wait for is no
// cause.
func TestTimerBesideTheCause(t *testing.T) {
	const ms = time.Millisecond
	for ran, want := range map[time.Duration]string{
		ms:      "Sleeping at main.send main.go:3 left 90% of the capacity idle (9 times).",
		30 * ms: "Sleeping at main.send main.go:3 left 60% of the capacity idle (9 times).",
	} {
		wait := func(kind, fn string, n int64) contention.Wait {
			return contention.Wait{Kind: kind, Waiter: contention.Party{Group: fn, Stack: stackOf(fn, 3)}, Contentions: n}
		}
		found := diagnose.New((&made{
			rows: []ledger.Row{
				{Category: ledger.Outside, Group: "main.send", Site: placeOf("main.send", 3), Wait: "sleep", Beside: ledger.None, Time: 1200 * ms, Count: 9},
				{Category: ledger.Outside, Group: "main.expire", Site: placeOf("main.expire", 3), Wait: "select", Beside: ledger.None, Time: 600 * ms, Count: 99},
				{Category: ledger.Code, Group: "main.expire", Site: placeOf("main.expire", 3), Time: ran, Count: 99},
			},
			waits: []contention.Wait{wait(contention.SleepKind, "main.send", 9), wait(contention.SelectKind, "main.expire", 99)},
		}).results(t)).Findings
		if found[0].Title != want || has(found, diagnose.Timer) == (ran == ms) {
			t.Errorf("ran for %v: %s, of %d", ran, found[0].Title, len(found))
		}
	}
	// If few requests come, it ends more of these times than they do. What handlers wait for then
	// slows down none of them.
	found := diagnose.New((&made{rows: []ledger.Row{
		{Category: ledger.Outside, Group: "net/http.(*conn).serve", Site: timeline.Place{Func: "net/http.(*connReader).Read", File: "/go/src/net/http/server.go", Line: 7}, Wait: "network", Beside: ledger.None, Time: 200 * ms, Count: 9},
		{Category: ledger.Outside, Group: "main.expire", Site: placeOf("main.expire", 3), Wait: "select", Beside: ledger.None, Time: 1500 * ms, Count: 99},
		{Category: ledger.Outside, Group: "main.handle", Site: placeOf("main.query", 5), Wait: "network", Beside: ledger.None, Time: 100 * ms, Count: 9},
	}, waits: []contention.Wait{{Kind: contention.SelectKind, Waiter: contention.Party{Group: "main.expire", Stack: stackOf("main.expire", 3)}, Contentions: 99}}}).results(t)).Findings
	if want := "Nothing to do for 85% of the capacity: processors were idle until requests came from the network."; found[0].Title != want || found[1].Bound() != "none while requests come no more often" {
		t.Errorf("%s, want %s; %v", found[0].Title, want, found[1])
	}
	// It is what the others sleep for if that is more.
	found = diagnose.New((&made{rows: []ledger.Row{
		{Category: ledger.Outside, Group: "net/http.(*conn).serve", Site: timeline.Place{Func: "net/http.(*connReader).Read", File: "/go/src/net/http/server.go", Line: 7}, Wait: "network", Beside: ledger.None, Time: 200 * ms, Count: 9},
		{Category: ledger.Outside, Group: "main.expire", Site: placeOf("main.expire", 3), Wait: "select", Beside: ledger.None, Time: 600 * ms, Count: 99},
		{Category: ledger.Outside, Group: "main.send", Site: placeOf("main.send", 5), Wait: "sleep", Beside: ledger.None, Time: 900 * ms, Count: 9},
	}, boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.send", Running: 50 * ms, Goroutines: 1}}, waits: []contention.Wait{
		{Kind: contention.SelectKind, Waiter: contention.Party{Group: "main.expire", Stack: stackOf("main.expire", 3)}, Contentions: 99}}}).results(t)).Findings
	if want := "Sleeping at main.send main.go:5 left 75% of the capacity idle."; found[0].Title != want {
		t.Errorf("%s, want %s", found[0].Title, want)
	}
}

// Of a server's waits, those for requests are of their own kind, and come after what its goroutines
// wait for in turn.
func TestRequestsAreNotWhatHandlersWaitFor(t *testing.T) {
	const ms, serve = time.Millisecond, "net/http.(*conn).serve"
	limited := contention.Wait{Kind: contention.ChanReceiveKind, Waiter: contention.Party{Group: serve, Stack: stackOf("main.limited", 4)}, Owner: contention.Party{Group: "main.refill", Stack: stackOf("main.refill", 9)}, Waited: 50 * time.Second, Blamed: 50 * time.Second, Contentions: 99}
	read := timeline.Place{Func: "net/http.(*connReader).Read", File: "/go/src/net/http/server.go", Line: 7}
	var got []string
	for _, f := range diagnose.New((&made{
		rows: []ledger.Row{
			{Category: ledger.Outside, Group: serve, Site: read, Wait: "network", Beside: ledger.None, Time: 700 * ms, Count: 9},
			{Category: ledger.Outside, Group: serve, Site: placeOf("main.query", 3), Wait: "network", Beside: ledger.None, Time: 600 * ms, Count: 9},
			{Category: ledger.Outside, Group: "main.refill", Site: placeOf("main.refill", 8), Wait: "select", Beside: ledger.None, Time: 500 * ms, Count: 99},
		},
		boxes: []bottle.Box{{Kind: bottle.Application, Group: serve, Goroutines: 64, Sites: map[string][]bottle.Site{
			"chan-receive": {{Func: "main.limited", File: "/src/main.go", Line: 4, Time: 50 * time.Second}},
			"network":      {{Func: read.Func, File: read.File, Line: 7, Time: 10 * time.Second}, {Func: "main.query", File: "/src/main.go", Line: 3, Time: 2 * time.Second}},
		}}},
		waits: []contention.Wait{limited}, pairs: []contention.Wait{limited},
	}).results(t)).Findings {
		got = append(got, f.Title)
	}
	want := []string{
		"Waiting for a timer at main.refill main.go:8 left 25% of the capacity idle.",
		"Waiting for requests from the network left 35% of the capacity idle.",
		"Waiting for the network at main.query main.go:3 left 30% of the capacity idle (2.00 at a time).",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// Goroutines that wait at two places in turn are limited where most of them wait, not where they wait
// most often.
func TestMostWaitForTheFirst(t *testing.T) {
	const ms = time.Millisecond
	for pauses, want := range map[time.Duration]string{11 * time.Second: diagnose.Sleep, time.Second: diagnose.Network} {
		f := diagnose.New((&made{
			rows: []ledger.Row{
				{Category: ledger.Outside, Group: "main.fetch", Site: placeOf("main.ask", 3), Wait: "network", Beside: ledger.None, Time: 1100 * ms, Count: 900},
				{Category: ledger.Outside, Group: "main.fetch", Site: placeOf("main.retry", 5), Wait: "sleep", Beside: ledger.None, Time: 500 * ms, Count: 90},
			},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.fetch", Goroutines: 16, Sites: map[string][]bottle.Site{
				"network": {{Func: "main.ask", File: "/src/main.go", Line: 3, Time: 4 * time.Second}},
				"sleep":   {{Func: "main.retry", File: "/src/main.go", Line: 5, Time: pauses}},
			}}},
		}).results(t)).Findings[0]
		if f.Kind != want {
			t.Errorf("%v of pauses: %s", pauses, f.Title)
		}
	}
}

// What writes to the disk under a lock is a place of the lock.
func TestSyncUnderALock(t *testing.T) {
	const ms = time.Millisecond
	lock := contention.Wait{Kind: contention.MutexKind, Waiter: contention.Party{Group: "main.log", Stack: stackOf("main.log", 3)}, Owner: contention.Party{Group: "main.log", Stack: stackOf("main.log", 9)}, Waited: time.Second, Blamed: time.Second, Contentions: 9}
	f := diagnose.New((&made{
		rows: []ledger.Row{
			{Category: ledger.Idle, Group: "main.log", Site: placeOf("main.log", 3), Wait: "mutex", Waker: "main.log", WakerSite: placeOf("main.log", 9), Beside: "main.log", Time: 600 * ms, Count: 9},
			{Category: ledger.Syscall, Group: "main.log", Site: placeOf("main.write", 21), Callers: []timeline.Place{placeOf("main.log", 5)}, Callee: "os.(*File).Sync", Call: "fsync", Time: 400 * ms, Count: 9},
		},
		waits: []contention.Wait{lock}, pairs: []contention.Wait{lock},
	}).results(t)).Findings[0]
	if f.Kind != diagnose.Lock || len(f.Where) < 2 || f.Where[1] != placeOf("main.write", 21) || !strings.HasSuffix(f.Advice, "Each waits until the disk has written: sync once for several changes, in batches or for all that wait at a time.") {
		t.Errorf("%s %v %s", f.Title, f.Where, f.Advice)
	}
}

// Goroutines that divide their work among others of the same function wait for these without any
// limit, also if no processor was idle until they started.
func TestRecursionIsNoLimit(t *testing.T) {
	sorter := contention.Party{Group: "main.sort.func1", Stack: stackOf("main.sort", 22)}
	for starts, want := range map[string]string{"main.main": diagnose.Limit, "main.sort.func1": diagnose.Serial} {
		r := (&made{
			rows:  []ledger.Row{{Category: ledger.Idle, Group: "main.sort.func1", Site: placeOf("main.sort", 22), Wait: "chan-receive", Waker: "main.sort.func1", Beside: "main.sort.func1", Time: time.Second, Count: 9}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.sort.func1", Goroutines: 9, Running: time.Second, SelfParallelism: 1}, {Kind: bottle.Application, Group: "main.main", Goroutines: 1}},
			pairs: []contention.Wait{{Kind: contention.ChanReceiveKind, Waiter: sorter, Owner: sorter, Blamed: 2 * time.Second, Contentions: 9}},
		}).results(t)
		r.Tasks = &granularity.Profile{Of: granularity.OfGoroutines, Classes: []granularity.Class{{Name: "main.sort.func1", Tasks: 9,
			Sites: []granularity.Site{{Tasks: 9, Created: []granularity.Frame{{Func: "main.sort", File: "/src/main.go", Line: 20}, {Func: starts, File: "/src/main.go", Line: 9}}}}}}}
		if f := diagnose.New(r).Findings[0]; f.Kind != want {
			t.Errorf("started by %s: %s: %s", starts, f.Kind, f.Title)
		}
	}
}

// Goroutines that look at an atomic variable again and again may wait for one that has no processor,
// and need no more of these.
func TestThoseThatMayPollNeedNoProcessors(t *testing.T) {
	for shared, want := range map[time.Duration]bool{0: true, 120 * time.Millisecond: false} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 1, Capacity: time.Second, Queue: 4 * time.Second, Queued: time.Second, Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.await", Shared: shared, Time: time.Second, Count: 99},
		}}
		found := diagnose.New(diagnose.Results{Ledger: l}).Findings
		if got := has(found, diagnose.OneProc); got != want {
			t.Errorf("in atomic operations for %v: %+v", shared, found)
		}
	}
}

// A goroutine that holds a lock most of the time may do so only until others are done.
func TestOwnerThatRunsAllTheTimeIsNoBound(t *testing.T) {
	const ms = time.Millisecond
	for ran, bound := range map[time.Duration]bool{960 * ms: false, 600 * ms: false, 400 * ms: true} {
		r := (&made{
			rows:  []ledger.Row{{Category: ledger.Idle, Group: "main.get", Site: placeOf("main.get", 3), Wait: "mutex", Waker: "main.sweep", WakerSite: placeOf("main.sweep", 9), Beside: "main.sweep", Time: 800 * ms, Count: 1}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.sweep", Goroutines: 1, Running: ran, SelfParallelism: 1}},
		}).results(t)
		r.Graph.Wall = time.Second
		if f := diagnose.New(r).Findings[0]; f.Kind != diagnose.Lock || (f.Gain > 0) != bound {
			t.Errorf("%s: %s at best %v times as fast (%s)", f.Kind, f.Title, f.Gain, f.Basis)
		}
	}
}

// A goroutine that runs all the time and never waits may poll until the others are done.
func TestGoroutineThatMayPollIsNoBound(t *testing.T) {
	const ms = time.Millisecond
	for blocked, gain := range map[time.Duration]float64{0: 2 / 1.2, ms: 1 / 0.99} {
		r := (&made{
			rows:  []ledger.Row{{Category: ledger.Outside, Group: "main.take", Site: placeOf("main.take", 3), Wait: "sleep", Beside: ledger.None, Time: 800 * ms, Count: 1}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.watch", Goroutines: 1, Running: 990 * ms, SelfParallelism: 1, Waiting: map[string]time.Duration{"chan-receive": blocked}}},
		}).results(t)
		if f := diagnose.New(r).Findings[0]; math.Abs(f.Gain-gain) > 1e-6 {
			t.Errorf("waited for %v: %s: %s, at best %v times as fast, want %v", blocked, f.Kind, f.Title, f.Gain, gain)
		}
	}
}

// A context that ends while a goroutine waits for a connection ends a wait at the limit, too.
func TestLimitWithDeadlines(t *testing.T) {
	const ms = time.Millisecond
	waits := func(owner string, flags uint8, waited time.Duration) contention.Wait {
		w := contention.Wait{Kind: contention.SelectKind, Waiter: contention.Party{Group: "main.work", Stack: stackOf("database/sql.(*DB).conn", 1, "main.work", 40)}, Owner: contention.Party{Group: owner, Stack: stackOf("main.done", 7)}, Waited: waited, Blamed: waited, Contentions: 90}
		if flags != 0 {
			w.Flags |= contention.Closer
		}
		return w
	}
	pairs := []contention.Wait{waits("main.work", 0, 4*time.Second), waits("context.WithDeadlineCause.func2", 1, 9*time.Second)}
	f := diagnose.New((&made{
		rows:  []ledger.Row{{Category: ledger.Outside, Group: "main.work", Site: placeOf("main.work", 47), Wait: "sleep", Beside: ledger.None, Time: 1800 * ms, Count: 90}},
		boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.work", Goroutines: 16, Running: 200 * ms, SelfParallelism: 1, Sites: map[string][]bottle.Site{"select": {{Func: "main.work", File: "/src/main.go", Line: 40, Time: 13 * time.Second}}}}},
		pairs: pairs, waits: pairs,
	}).results(t)).Findings[0]
	if want := "The limit of the connections to a database, waited for at main.work main.go:40, kept 90% of the capacity idle: 13.0 waited on average while others slept at main.work main.go:47."; f.Title != want {
		t.Errorf("got %s", f.Title)
	}
}

// A lock that was hardly waited for is not what others waited for while its owners ran.
func TestOthersWaitedForAnotherLock(t *testing.T) {
	const ms = time.Millisecond
	for waited, want := range map[time.Duration]time.Duration{time.Second: 580 * ms, ms: 80 * ms} {
		row := ledger.Row{Category: ledger.Idle, Group: "main.main", Site: placeOf("main.main", 30), Wait: "chan-receive", Waker: "main.take", Beside: "main.take", Time: 500 * ms, Locked: 500 * ms, Count: 9}
		found := diagnose.New((&made{
			rows:  []ledger.Row{row, {Category: ledger.Idle, Group: "main.take", Site: placeOf("main.take", 3), Wait: "mutex", Waker: "main.take", WakerSite: placeOf("main.take", 9), Beside: ledger.None, Time: 80 * ms, Count: 1}},
			waits: []contention.Wait{{Kind: contention.MutexKind, Waiter: contention.Party{Group: "main.take", Stack: stackOf("main.take", 3)}, Waited: waited, Contentions: 1}},
		}).results(t)).Findings
		if i := slices.IndexFunc(found, func(f verdict.Finding) bool { return f.Kind == diagnose.Lock }); i < 0 || found[i].Lost != want {
			t.Errorf("waited for %v: %d findings, the first: %s", waited, len(found), found[0].Title)
		}
	}
}

// Short goroutines that a channel lets run one at a time are limited by it, unless they are so
// short that starting them takes as long. A pool of few that receive at the same place is no such
// limit.
func TestChannelLimitsShortGoroutines(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		goroutines int
		ran        time.Duration
		want       string
	}{{10_000, 200 * ms, diagnose.Limit}, {10_000, 20 * ms, diagnose.Tiny}, {4, 200 * ms, diagnose.HandOver}} {
		pair := contention.Wait{Kind: contention.ChanSendKind, Waiter: contention.Party{Group: "main.main", Stack: stackOf("main.blur", 32)}, Owner: contention.Party{Group: "main.row", Stack: stackOf("main.row", 34)}, Waited: 790 * ms, Blamed: 790 * ms, Contentions: 10_000}
		found := diagnose.New((&made{
			rows: []ledger.Row{
				{Category: ledger.Idle, Group: "main.row", Site: placeOf("main.blur", 33), Wait: "created", Waker: "main.main", Beside: ledger.None, Time: 900 * ms, Count: 9999},
				{Category: ledger.Idle, Group: "main.main", Site: placeOf("main.blur", 32), Wait: "chan-send", Waker: "main.row", Beside: ledger.None, Time: 400 * ms, Count: 9999},
				{Category: ledger.Code, Group: "main.row", Site: placeOf("main.row", 35), Time: tt.ran, Count: 10_000},
			},
			boxes: []bottle.Box{
				{Kind: bottle.Application, Group: "main.row", Goroutines: tt.goroutines, Running: tt.ran, SelfParallelism: 1},
				{Kind: bottle.Application, Group: "main.main", Goroutines: 1, Sites: map[string][]bottle.Site{"chan-send": {{Func: "main.blur", File: "/src/main.go", Line: 32, Time: 790 * ms}}}},
			},
			pairs: []contention.Wait{pair}, waits: []contention.Wait{pair},
			change: func(r *diagnose.Results) { r.Ledger.Born = 10_000 },
		}).results(t)).Findings
		if f := found[0]; f.Kind != tt.want || tt.want == diagnose.Limit && f.Lost != 1300*ms {
			t.Errorf("%d of %v: %s: %s", tt.goroutines, tt.ran, f.Kind, f.Title)
		}
	}
}

// The larger part of a program comes before the tiny pieces of work of another one.
func TestTinyPiecesOfTheSmallerPart(t *testing.T) {
	const ms = time.Millisecond
	for ran, first := range map[time.Duration]string{10 * ms: diagnose.Serial, 300 * ms: diagnose.Tiny} {
		send := contention.Wait{Kind: contention.ChanSendKind, Waiter: contention.Party{Group: "main.produce", Stack: stackOf("main.produce", 20)}, Contentions: 100_000, Parks: 100_000}
		found := diagnose.New((&made{
			rows: []ledger.Row{
				{Category: ledger.Code, Group: "main.produce", Site: placeOf("main.produce", 20), Time: ran, Count: 100_000},
				{Category: ledger.Idle, Group: "main.main", Site: placeOf("main.main", 33), Wait: "chan-receive", Waker: "main.produce", Beside: "main.produce", Time: 300 * ms, Count: 100_000},
				{Category: ledger.Idle, Group: "main.produce", Site: placeOf("main.produce", 20), Wait: "chan-send", Waker: "main.main", Beside: "main.main", Time: 1200 * ms, Count: 1000},
				{Category: ledger.Code, Group: "main.main", Site: placeOf("main.main", 33), Time: 400*ms - ran, Count: 1000},
			},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.produce", Goroutines: 1, Running: ran, SelfParallelism: 1}, {Kind: bottle.Application, Group: "main.main", Goroutines: 1, Running: 400*ms - ran, SelfParallelism: 1}},
			waits: []contention.Wait{send},
		}).results(t)).Findings
		if f := found[0]; f.Kind != first {
			t.Errorf("ran for %v: %s: %s", ran, f.Kind, f.Title)
		}
	}
}

// Without the system calls under a lock, the goroutine that makes them runs for less time, too.
func TestCallsUnderALockAreNoBound(t *testing.T) {
	const ms = time.Millisecond
	r := (&made{
		rows: []ledger.Row{
			{Category: ledger.Idle, Group: "main.add", Site: placeOf("main.add", 3), Wait: "mutex", Waker: "main.add", WakerSite: placeOf("main.add", 9), Beside: "main.add", Time: 1000 * ms, Count: 9},
			{Category: ledger.Syscall, Group: "main.add", Site: placeOf("main.add", 5), Time: 900 * ms, Count: 90_000},
		},
		boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.add", Goroutines: 1, Running: 500 * ms, SelfParallelism: 1}},
		waits: []contention.Wait{{Kind: contention.MutexKind, Waiter: contention.Party{Group: "main.add", Stack: stackOf("main.add", 3)}, Waited: 5 * time.Second, Contentions: 9}},
	}).results(t)
	if f := diagnose.New(r).Findings[0]; f.Lost != 1900*ms || !strings.HasPrefix(f.Basis, "20.0 times as fast without the waits and the calls") {
		t.Errorf("%s: %s (%s)", f.Kind, f.Title, f.Basis)
	}
}

// The operating system may let the collector wait for the world to stop: the program does not.
func TestLateStopsComeLast(t *testing.T) {
	const ms = time.Millisecond
	for collections, first := range map[int64]string{10: diagnose.Serial, 500: diagnose.Collector} {
		r := (&made{rows: []ledger.Row{{Category: ledger.GCStop, Time: 500 * ms, Count: 9},
			{Category: ledger.Idle, Group: "main.take", Site: placeOf("main.take", 3), Wait: "chan-receive", Waker: "main.work", Beside: "main.work", Time: 400 * ms, Count: 9}}}).results(t)
		r.Ledger.Heap = &ledger.Heap{Collections: collections}
		if f := diagnose.New(r).Findings[0]; f.Kind != first {
			t.Errorf("%d collections: %s: %s", collections, f.Kind, f.Title)
		}
	}
}

// Code that ran for most of the capacity limits more than a collector that the operating system
// delays.
func TestCodeComesBeforeLateStops(t *testing.T) {
	const ms = time.Millisecond
	for collections, first := range map[int64]string{10: diagnose.Saturated, 500: diagnose.Collector} {
		r := (&made{rows: []ledger.Row{{Category: ledger.GCStop, Time: 400 * ms, Count: 9}}}).results(t)
		r.Ledger.Heap = &ledger.Heap{Collections: collections}
		if f := diagnose.New(r).Findings[0]; f.Kind != first {
			t.Errorf("%d collections: %s: %s", collections, f.Kind, f.Title)
		}
	}
}

// A call of a library holds the library's lock, and then waits for the network without it.
func TestReplyIsNotWaitedForUnderTheLockOfTheLibrary(t *testing.T) {
	const ms, input = time.Millisecond, "net/rpc.(*Client).input"
	chain := func(frames ...any) *contention.Stack {
		s := stackOf(append(frames, "main.ask", 9)...)
		for i := range len(s.Frames) - 1 {
			s.Frames[i].File = "/go/src/lib.go"
		}
		return s
	}
	asks := func(s *contention.Stack) contention.Party { return contention.Party{Group: "main.ask", Stack: s} }
	lock := contention.Wait{Kind: contention.MutexKind, Waiter: asks(chain("sync.(*Mutex).Lock", 1, "net/rpc.(*Client).send", 2)), Owner: asks(chain("net/rpc.(*Client).send", 5)), Waited: 2 * time.Second, Blamed: 2 * time.Second, Running: 2 * time.Second, Contentions: 99}
	reply := contention.Wait{Kind: contention.ChanReceiveKind, Waiter: asks(chain("net/rpc.(*Client).Call", 3)), Owner: contention.Party{Group: input, Stack: stackOf(input, 1)}, Waited: time.Second, Blamed: time.Second, Contentions: 99}
	found := diagnose.New((&made{
		rows: []ledger.Row{
			{Category: ledger.Idle, Group: "main.ask", Site: placeOf("main.ask", 9), Wait: "mutex", Waker: "main.ask", WakerSite: placeOf("main.ask", 9), Beside: "main.ask", Time: 400 * ms, Count: 9},
			{Category: ledger.Outside, Group: input, Site: timeline.Place{Func: input, File: "/go/src/lib.go", Line: 1}, Wait: "network", Beside: ledger.None, Time: 300 * ms, Count: 9},
		},
		waits: []contention.Wait{lock, reply}, pairs: []contention.Wait{lock, reply},
	}).results(t)).Findings
	if len(found) != 2 || found[0].Kind != diagnose.Lock || found[0].Lost != 400*ms || found[1].Kind != diagnose.Network {
		t.Errorf("%d findings, the first: %s: %s", len(found), found[0].Kind, found[0].Title)
	}
}

// A goroutine that stops the tracer runs alone to the end of the trace, without a call chain.
func TestStoppingTheTracerIsNoWork(t *testing.T) {
	const ms = time.Millisecond
	for nameless, first := range map[time.Duration]string{600 * ms: diagnose.Tracing, 601 * ms: diagnose.Serial, 100 * ms: diagnose.Serial} {
		ran := int64(9)
		if nameless == 601*ms { // one of a coroutine that switches
			ran = 9_000_000
		}
		found := diagnose.New((&made{
			rows: []ledger.Row{
				{Category: ledger.NoWork, Beside: "main.main", Time: 600 * ms, Count: 1},
				{Category: ledger.Code, Group: "main.main", Time: nameless, Count: ran},
				{Category: ledger.Code, Group: "main.main", Site: placeOf("main.main", 3), Time: 700*ms - nameless, Count: 9},
			},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.main", Goroutines: 1, Running: 700 * ms, SelfParallelism: 1}},
		}).results(t)).Findings
		if i := slices.IndexFunc(found, func(f verdict.Finding) bool { return f.Kind != diagnose.Saturated }); found[i].Kind != first {
			t.Errorf("%v without a place: %s: %s", nameless, found[i].Kind, found[i].Title)
		}
	}
}

// A goroutine of the tracer that runs alone is a cost of the measurement. Without it, the collector's
// workers have no less to do.
func TestTracerAlone(t *testing.T) {
	r := (&made{
		rows: []ledger.Row{{Category: ledger.Idle, Beside: "runtime/trace.write", Time: time.Second, Count: 1},
			{Category: ledger.GCWorker, Group: "GC (idle)", Time: 400 * time.Millisecond, Count: 9}},
		boxes: []bottle.Box{{Kind: bottle.Tracer, Group: "runtime/trace.write", Goroutines: 1}},
	}).results(t)
	if f := diagnose.New(r).Findings[0]; f.Kind != diagnose.Tracing || f.Gain != 2 {
		t.Errorf("%s: %s, a gain of %v", f.Kind, f.Title, f.Gain)
	}
}

// A lock that nothing waits for costs the time of its methods, but is not what limits.
func TestFreeLockIsNoCause(t *testing.T) {
	const ms = time.Millisecond
	lock := ledger.Row{Category: ledger.Code, Group: "main.sweep", Site: placeOf("main.sweep", 3), Wait: "mutex", Sampled: true, Time: 400 * ms, Count: 9}
	wait := ledger.Row{Category: ledger.Idle, Group: "main.take", Site: placeOf("main.sweep", 3), Wait: "mutex", Waker: "main.sweep", WakerSite: placeOf("main.sweep", 5), Beside: "main.sweep", Time: 50 * ms, Count: 9}
	for _, rows := range [][]ledger.Row{{lock}, {lock, wait}} {
		if f := diagnose.New((&made{rows: rows}).results(t)).Findings[0]; (f.Kind == diagnose.Lock) != (len(rows) == 2) {
			t.Errorf("%d rows: %s: %s", len(rows), f.Kind, f.Title)
		}
	}
}

// The goroutines that read from the connections which a server accepts wait for requests, unless
// they wait for others elsewhere.
func TestServerWaitsForRequests(t *testing.T) {
	const ms = time.Millisecond
	reads := bottle.Site{Func: "main.handle", Line: 20, Time: time.Second}
	for want, sites := range map[string][]bottle.Site{
		"Nothing to do for 75% of the capacity: processors were idle until requests came from the network.": {reads},
		"Waiting for the network at main.handle main.go:20 left 60% of the capacity idle (9 times).":        {reads, {Func: "main.ask", Line: 30, Time: time.Second}},
	} {
		network := func(group string, at timeline.Place, t time.Duration) ledger.Row {
			return ledger.Row{Category: ledger.Outside, Group: group, Site: at, Wait: "network", Beside: ledger.None, Time: t, Count: 9}
		}
		wait := func(group string, stack *contention.Stack) contention.Wait {
			return contention.Wait{Kind: contention.NetworkKind, Waiter: contention.Party{Group: group, Stack: stack}, Contentions: 9}
		}
		r := (&made{
			rows: []ledger.Row{network("main.handle", placeOf("main.handle", 20), 1200*ms), network("main.serve", placeOf("main.serve", 7), 300*ms),
				{Category: ledger.WakeUp, Group: "main.handle", Site: placeOf("main.serve", 9), Wait: "created", Waker: "main.serve", Beside: ledger.None, Time: ms, Count: 4}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.handle", Goroutines: 4, Sites: map[string][]bottle.Site{"network": sites}},
				{Kind: bottle.Application, Group: "main.serve", Goroutines: 1, Sites: map[string][]bottle.Site{"network": {{Func: "main.serve", Line: 7, Time: 500 * ms}}}}},
			waits: []contention.Wait{wait("main.handle", stackOf("net.(*conn).Read", 1, "main.handle", 20)), wait("main.serve", stackOf("net.(*netFD).accept", 1, "main.serve", 7))},
		}).results(t)
		if f := diagnose.New(r).Findings[0]; f.Title != want {
			t.Errorf("got  %s\nwant %s", f.Title, want)
		}
	}
}

// In a window, a server's goroutines and its wait for connections are older than the trace. Others may
// be clients, as those of a program that also serves metrics.
func TestServerOlderThanTheTrace(t *testing.T) {
	for _, tt := range []struct {
		n      int
		accept *contention.Stack
		want   string
	}{
		{12, stackOf("net.(*netFD).accept", 1, "main.main", 84), diagnose.NoWork},
		{1, stackOf("net.(*netFD).accept", 1, "main.main", 84), diagnose.Network},
		{12, stackOf("net.(*netFD).accept", 1, "net/http.(*Server).Serve", 2, "main.main", 84), diagnose.Network},
	} {
		r := (&made{
			rows:  []ledger.Row{{Category: ledger.Outside, Group: "main.handle", Site: placeOf("main.handle", 20), Wait: "network", Beside: ledger.None, Time: 1900 * time.Millisecond, Count: 9}},
			boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.handle", Goroutines: tt.n, Sites: map[string][]bottle.Site{"network": {{Func: "main.handle", File: "/src/main.go", Line: 20, Time: time.Second}}}}},
		}).results(t)
		r.Contention.Unfinished = []contention.Wait{{Kind: contention.NetworkKind, Waiter: contention.Party{Group: "main.main", Stack: tt.accept}, Contentions: 1}}
		if f := diagnose.New(r).Findings[0]; f.Kind != tt.want {
			t.Errorf("%d: %s", tt.n, f.Title)
		}
	}
}

// The place where most goroutines past a limit wait is the first of these.
func TestMostPastALimitComeFirst(t *testing.T) {
	const ms = time.Millisecond
	sleep := func(at timeline.Place, idle time.Duration) ledger.Row {
		return ledger.Row{Category: ledger.Outside, Group: "main.serve", Site: at, Wait: "sleep", Beside: ledger.None, Time: idle, Count: 9}
	}
	r := (&made{
		rows: []ledger.Row{sleep(placeOf("main.load", 9), 900*ms), sleep(placeOf("main.save", 7), 500*ms)},
		boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.serve", Goroutines: 10, Sites: map[string][]bottle.Site{"sleep": {
			{Func: "main.load", Line: 9, Time: 500 * ms}, {Func: "main.save", Line: 7, Time: 1500 * ms}}}}},
		pairs: []contention.Wait{{Kind: contention.SemaphoreKind, Waiter: contention.Party{Group: "main.serve", Stack: stackOf("main.take", 3)}, Owner: contention.Party{Group: "main.serve", Stack: stackOf("main.take", 8)}, Blamed: 8 * time.Second, Contentions: 9}},
	}).results(t)
	want := []timeline.Place{placeOf("main.take", 3), placeOf("main.save", 7), placeOf("main.load", 9)}
	if f := diagnose.New(r).Findings[0]; !slices.Equal(f.Where, want) {
		t.Errorf("%s: %v", f.Title, f.Where)
	}
}

// The collector takes from the program what its workers ran while others were ready, not while all
// others waited for a lock.
func TestCollectorBesideALock(t *testing.T) {
	const ms = time.Millisecond
	for queue, first := range map[time.Duration]string{20 * ms: diagnose.Lock, 600 * ms: diagnose.Collector} { // beside its workers
		r := (&made{rows: []ledger.Row{{Category: ledger.GCWorker, Time: 500 * ms, Count: 9, Queue: queue},
			{Category: ledger.Idle, Group: "main.add", Site: placeOf("main.add", 3), Wait: "mutex", Waker: "main.add", WakerSite: placeOf("main.add", 5), Beside: "main.add", Time: 300 * ms, Count: 9}}}).results(t)
		r.Ledger.Queue = 3 * time.Second
		if f := diagnose.New(r).Findings[0]; f.Kind != first {
			t.Errorf("%v: %s: %s", queue, f.Kind, f.Title)
		}
	}
}

func has(findings []verdict.Finding, kind string) bool {
	return slices.ContainsFunc(findings, func(f verdict.Finding) bool { return f.Kind == kind })
}
