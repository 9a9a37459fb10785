package diagnose_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// One wait leaves several processors idle. Sentences count waits, not gaps.
func TestSentencesCountWaitsNotGaps(t *testing.T) {
	at := timeline.Place{Func: "main.poll", File: "/src/main.go", Line: 7}
	stack := &contention.Stack{Frames: []contention.Frame{{Func: "runtime.park"}, {Func: at.Func, File: at.File, Line: at.Line}}}
	party := contention.Party{Group: "main.poll", Stack: stack}
	owned := contention.Wait{Kind: contention.SelectKind, Waiter: party, Owner: contention.Party{Group: "main.main", Stack: stack}, Contentions: 3}
	for _, tt := range []struct {
		name, wait string
		category   string
		waits      []contention.Wait
		pairs      []contention.Wait
		want       string
	}{
		{"sleeps", "sleep", ledger.Outside, []contention.Wait{{Kind: contention.SleepKind, Waiter: party, Contentions: 60}}, nil,
			"Sleeping at main.poll main.go:7 left 90% of the capacity idle (60 times)."},
		{"a ticker", "select", ledger.Outside, []contention.Wait{{Kind: contention.SelectKind, Waiter: party, Contentions: 60}}, nil,
			"Waiting for a timer at main.poll main.go:7 left 90% of the capacity idle (60 times)."},
		{"a timer, or another goroutine", "select", ledger.Outside, []contention.Wait{{Kind: contention.SelectKind, Waiter: party, Contentions: 60}}, []contention.Wait{owned},
			"Waiting for a timer at main.poll main.go:7 left 90% of the capacity idle."},
		{"another kind of wait", "sleep", ledger.Outside, []contention.Wait{{Kind: contention.SelectKind, Waiter: party, Contentions: 60}}, nil,
			"Sleeping at main.poll main.go:7 left 90% of the capacity idle."},
		{"the network", "network", ledger.Outside, []contention.Wait{{Kind: contention.NetworkKind, Waiter: party, Contentions: 1}}, nil,
			"Waiting for the network at main.poll main.go:7 left 90% of the capacity idle (1 time)."},
		{"calls", "syscall", ledger.Outside, nil, nil,
			"Waiting for system calls at main.poll main.go:7 left 90% of the capacity idle (40 calls)."},
	} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: tt.category, Group: "main.poll", Site: at, Wait: tt.wait, Beside: ledger.None, Time: 1800 * time.Millisecond, Count: 120},
			{Category: ledger.Code, Group: "main.poll", Site: at, Time: 199 * time.Millisecond, Count: 60},
			{Category: ledger.Syscall, Group: "main.poll", Site: at, Time: time.Millisecond, Count: 40},
		}}
		f := diagnose.New(diagnose.Results{Ledger: l, Contention: &contention.Profile{Duration: time.Second, Waits: tt.waits, Pairs: tt.pairs}}).Findings[0]
		if f.Title != tt.want {
			t.Errorf("%s:\n got  %s\n want %s", tt.name, f.Title, tt.want)
		}
	}
}

// The finding on GOMAXPROCS = 1 does not come before a single cause that takes most of the
// processor's time.
func TestOneProcessorIsNotFirstIfMostOfItIsLost(t *testing.T) {
	at := timeline.Place{Func: "main.save", File: "/src/main.go", Line: 7}
	for _, tt := range []struct {
		calls time.Duration
		first string
	}{{600 * time.Millisecond, diagnose.Syscalls}, {400 * time.Millisecond, diagnose.OneProc}} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 1, Capacity: time.Second, Queue: 2 * time.Second, Queued: time.Second, Rows: []ledger.Row{
			{Category: ledger.Syscall, Group: "main.save", Site: at, Time: tt.calls, Count: 10_000},
			{Category: ledger.Code, Group: "main.save", Site: at, Time: time.Second - tt.calls, Count: 10_000},
		}}
		v := diagnose.New(diagnose.Results{Ledger: l})
		if len(v.Findings) < 2 || v.Findings[0].Kind != tt.first {
			t.Errorf("%v in calls: %+v", tt.calls, v.Findings)
		}
	}
}

// More processors come first if nothing else limits a program that uses all of them.
func TestMoreProcessorsAreFirstIfNothingIsLost(t *testing.T) {
	at := timeline.Place{Func: "main.work", File: "/src/main.go", Line: 7}
	for _, tt := range []struct {
		calls time.Duration
		first string
	}{{10 * time.Millisecond, diagnose.MoreProcs}, {100 * time.Millisecond, diagnose.Saturated}} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Queue: 2 * time.Second, Queued: time.Second, Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.work", Site: at, Time: 2*time.Second - tt.calls, Count: 10},
			{Category: ledger.Syscall, Group: "main.work", Site: at, Time: tt.calls, Count: 10_000},
		}}
		if v := diagnose.New(diagnose.Results{Ledger: l}); len(v.Findings) < 2 || v.Findings[0].Kind != tt.first {
			t.Errorf("%v in calls: %+v", tt.calls, v.Findings)
		}
	}
}

// Many groups that each run alone for a little are too little work at a time, which is one cause.
// One that ran alone for much of the time is another.
func TestManyThatRanAloneAreOneCause(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		groups int
		each   time.Duration
		want   string
	}{
		{10, 80 * ms, "Too little parallel work: for 40% of the capacity, processors had nothing to run while others did."},
		{4, 210 * ms, "While main.f0 ran alone, the other processors had nothing to do: 11% of the capacity."},
	} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second}
		for i := range tt.groups {
			at := timeline.Place{Func: fmt.Sprint("main.f", i), File: "/src/main.go", Line: 7 + i}
			l.Rows = append(l.Rows,
				ledger.Row{Category: ledger.Code, Group: at.Func, Site: at, Time: tt.each, Count: 10},
				ledger.Row{Category: ledger.Idle, Group: "main.main", Site: at, Wait: "chan-receive", Beside: at.Func, Time: tt.each, Count: 10})
		}
		if f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]; f.Title != tt.want {
			t.Errorf("%v each: %s", tt.each, f.Title)
		}
	}
}

// Goroutines that only yield until something has happened are ready, but have no work.
func TestYieldingNeedsNoProcessors(t *testing.T) {
	at := timeline.Place{Func: "main.await", File: "/src/main.go", Line: 7}
	const ms = time.Millisecond
	l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Queue: 200 * time.Second, Queued: time.Second, Slices: 90_000, Rows: []ledger.Row{
		{Category: ledger.Code, Group: "main.compute", Time: 1960 * ms, Count: 400},
		{Category: ledger.Scheduler, Group: "main.compute", Site: at, Wait: "yield", Time: 40 * ms, Count: 88_000},
	}}
	v := diagnose.New(diagnose.Results{Ledger: l})
	if f := &v.Findings[0]; f.Kind != diagnose.Saturated || f.Title != "It uses its processors, but may not progress: goroutines yielded 88,000 times, most at main.await main.go:7." {
		t.Error(f.Title)
	}
	if slices.ContainsFunc(v.Findings, func(f verdict.Finding) bool { return f.Kind == diagnose.MoreProcs }) {
		t.Error("more processors")
	}
}

// A goroutine that asks for a collection yields until that has swept, as package testing does
// before each run of a benchmark.
func TestYieldingForACollectionIsNoWait(t *testing.T) {
	at := timeline.Place{Func: "testing.(*B).runN", File: "/go/src/testing/benchmark.go", Line: 207}
	const ms = time.Millisecond
	l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Slices: 90_000, Rows: []ledger.Row{
		{Category: ledger.Code, Group: "main.compute", Time: 1960 * ms, Count: 400},
		{Category: ledger.Scheduler, Group: "main.compute", Site: at, Callee: "runtime.GC", Wait: "yield", Time: 40 * ms, Count: 88_000},
	}}
	waits := &contention.Profile{Waits: []contention.Wait{{Kind: contention.GCKind, Contentions: 10,
		Waiter: contention.Party{Stack: &contention.Stack{Frames: []contention.Frame{{Func: at.Func, File: at.File, Line: at.Line}}}}}}}
	if f := &diagnose.New(diagnose.Results{Ledger: l, Contention: waits}).Findings[0]; !strings.HasPrefix(f.Title, "It uses its processors: the program's own code ran for 98%") {
		t.Error(f.Title)
	}
}

// A goroutine that time.AfterFunc starts has waited nowhere, however little it does.
func TestTimersThatStartGoroutines(t *testing.T) {
	for _, count := range []int64{400, 100_000} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.Outside, Group: "main.step", Wait: "created", Beside: ledger.None, Time: 1500 * time.Millisecond, Count: count},
			{Category: ledger.Code, Group: "main.step", Site: timeline.Place{Func: "main.step", File: "/src/main.go", Line: 7}, Time: 500 * time.Millisecond, Count: count},
		}}
		graph := &bottle.Graph{Boxes: []bottle.Box{{Group: "main.step", Goroutines: int(count), Running: 500 * time.Millisecond}}}
		f := diagnose.New(diagnose.Results{Ledger: l, Graph: graph}).Findings[0]
		if f.Title != "Waiting for timers that start goroutines (time.AfterFunc) left 75% of the capacity idle, most for main.step (75%)." || len(f.Where) == 0 || f.Where[0].Line != 7 {
			t.Errorf("%s %v", f.Title, f.Where)
		}
	}
}

// The program waits for requests, not the package of this module that serves the pages for it.
func TestOwnPagesAreNoPlace(t *testing.T) {
	serve := timeline.Place{Func: "github.com/bottleneck-go/bottleneck/exporters/live.Serve", File: "/src/live/access.go", Line: 145}
	calls := timeline.Place{Func: "main.main", File: "/src/main.go", Line: 7}
	l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
		{Category: ledger.Outside, Group: "main.main", Site: serve, Callers: []timeline.Place{calls}, Wait: "network", Beside: ledger.None, Time: 2 * time.Second, Count: 9},
	}}
	for _, p := range diagnose.New(diagnose.Results{Ledger: l}).Findings[0].Where {
		if p == serve {
			t.Errorf("the place is %v", p)
		}
	}
}

// Places of the program come before those of the standard library. If there are only the latter,
// the one for which the goroutines work comes first.
func TestPlacesOfTheProgramAreFirst(t *testing.T) {
	library := timeline.Place{Func: "net/http.(*persistConn).writeLoop", File: "/go/src/net/http/transport.go", Line: 9}
	asks := contention.Frame{Func: "main.ask", File: "/src/main.go", Line: 7}
	waiter := contention.Party{Group: "main.main", Stack: &contention.Stack{Frames: []contention.Frame{asks}}}
	owner := contention.Party{Group: library.Func, Stack: &contention.Stack{Frames: []contention.Frame{{Func: library.Func}}}}
	l := &ledger.Ledger{Wall: time.Second, Procs: 1, Capacity: time.Second, Rows: []ledger.Row{
		{Category: ledger.Syscall, Group: library.Func, Site: library, Time: 600 * time.Millisecond, Count: 30_000},
		{Category: ledger.Code, Group: library.Func, Site: library, Time: 400 * time.Millisecond, Count: 1},
	}}
	f := diagnose.New(diagnose.Results{Ledger: l, Contention: &contention.Profile{Duration: time.Second, Pairs: []contention.Wait{
		{Kind: contention.SelectKind, Waiter: waiter, Owner: owner, Contentions: 1, Blamed: time.Millisecond},
		// The goroutines of a handler also wait for one another.
		{Kind: contention.MutexKind, Waiter: contention.Party{Group: library.Func, Stack: stackOf("main.handle", 3)}, Owner: owner, Contentions: 9, Blamed: time.Second},
	}}}).Findings[0]
	if len(f.Where) != 2 || f.Where[0].Func != asks.Func || f.Where[1] != library {
		t.Errorf("%s %v", f.Title, f.Where)
	}
}

// A goroutine that waits once, until a server has ended, is not the one that the server works for.
func TestServedPlaceWaitsOften(t *testing.T) {
	library := timeline.Place{Func: "net/http.(*conn).serve", File: "/go/src/net/http/server.go", Line: 9}
	frames := func(fn string) *contention.Stack {
		return &contention.Stack{Frames: []contention.Frame{{Func: fn, File: "/src/main.go", Line: 7}}}
	}
	for _, tt := range []struct {
		waits int64
		place string
	}{{1, library.Func}, {500, "main.closes"}} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 1, Capacity: time.Second, Rows: []ledger.Row{
			{Category: ledger.Syscall, Group: library.Func, Site: library, Time: 600 * time.Millisecond, Count: 30_000},
			{Category: ledger.Code, Group: "main.main", Site: timeline.Place{Func: "main.main", File: "/src/main.go", Line: 1}, Time: 400 * time.Millisecond, Count: 1},
		}}
		server := contention.Party{Group: library.Func, Stack: frames(library.Func)}
		f := diagnose.New(diagnose.Results{Ledger: l, Contention: &contention.Profile{
			Duration: time.Second, Waits: []contention.Wait{{Kind: contention.NetworkKind, Waiter: server, Contentions: 1000}},
			Pairs: []contention.Wait{{Kind: contention.CondKind, Waiter: contention.Party{Group: "main.main", Stack: frames("main.closes")}, Owner: server, Contentions: tt.waits, Blamed: time.Second}},
		}}).Findings[0]
		if len(f.Where) == 0 || f.Where[0].Func != tt.place {
			t.Errorf("%d waits: %s %v", tt.waits, f.Title, f.Where)
		}
	}
}

// Short goroutines that the standard library starts for itself are no finding: nothing of the program
// starts them, so nothing can start fewer.
func TestTinyGoroutinesOfTheLibrary(t *testing.T) {
	for _, tt := range []struct {
		place timeline.Place
		first string
	}{
		{timeline.Place{Func: "net/http.(*connReader).startBackgroundRead", File: "/go/src/net/http/server.go", Line: 698}, diagnose.Serial},
		{timeline.Place{Func: "main.start", File: "/src/main.go", Line: 7}, diagnose.Tiny},
	} {
		const group = "net/http.(*connReader).backgroundRead"
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Born: 5000, Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.work", Site: timeline.Place{Func: "main.work", File: "/src/main.go", Line: 9}, Time: time.Second, Count: 9},
			{Category: ledger.NoWork, Beside: "main.work", Time: 700 * time.Millisecond, Count: 1},
			{Category: ledger.WakeUp, Group: group, Site: tt.place, Wait: "created", Beside: ledger.None, Time: 300 * time.Millisecond, Count: 5000},
		}}
		boxes := []bottle.Box{{Kind: bottle.Application, Group: group, Goroutines: 5000, Running: 5 * time.Millisecond}}
		found := diagnose.New(diagnose.Results{Ledger: l, Graph: &bottle.Graph{Wall: time.Second, Boxes: boxes}}).Findings
		if f := found[0]; f.Kind != tt.first || f.Kind != diagnose.Tiny && slices.ContainsFunc(found, func(f verdict.Finding) bool { return f.Kind == diagnose.Tiny }) {
			t.Errorf("started by %v: %s %s, of %d", tt.place, f.Kind, f.Title, len(found))
		}
	}
}

// Dividing pieces among goroutines gains nothing if a piece takes as long as handing it over.
func TestTinyPiecesAreNotDivided(t *testing.T) {
	at := timeline.Place{Func: "main.stage", File: "/src/main.go", Line: 7}
	stack := &contention.Stack{Frames: []contention.Frame{{Func: at.Func, File: at.File, Line: at.Line}}}
	for _, tt := range []struct {
		name  string
		parks int64
		gaps  int64
		kind  string
		want  string
	}{
		{"pieces of 1 µs", 1_000_000, 1_000_000, diagnose.Tiny, "hand over several pieces at a time"},
		{"pieces of 1 ms", 1_000, 1_000, diagnose.Serial, "Divide its work"},
		{"a long part beside them", 1_000_000, 1, diagnose.Serial, "Divide its work"},
		{"the scheduler takes as long", 1_000_000, 0, diagnose.Tiny, "hand over several pieces at a time"},
	} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.stage", Site: at, Time: time.Second, Count: tt.parks},
			{Category: ledger.Idle, Group: "main.main", Wait: "chan-receive", Beside: "main.stage", Time: time.Second, Count: tt.gaps},
		}}
		if tt.gaps == 0 {
			l.Rows[1] = ledger.Row{Category: ledger.Scheduler, Group: "main.main", Wait: "chan-receive", Time: time.Second, Count: tt.parks}
		}
		f := diagnose.New(diagnose.Results{
			Ledger:     l,
			Graph:      &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{{Kind: bottle.Application, Group: "main.stage", Goroutines: 1, Running: time.Second}}},
			Contention: &contention.Profile{Duration: time.Second, Waits: []contention.Wait{{Kind: contention.ChanSendKind, Waiter: contention.Party{Group: "main.stage", Stack: stack}, Contentions: tt.parks, Parks: tt.parks}}},
		}).Findings[0]
		if f.Kind != tt.kind || !strings.Contains(f.Advice, tt.want) || (f.Gain == 0) != (tt.kind == diagnose.Tiny) {
			t.Errorf("%s: %s %s %v", tt.name, f.Title, f.Advice, f.Gain)
		}
	}
}

// If most owners of a lock are unknown, goroutines may acquire it by spinning. Then the gain is
// not a bound, and the activity of the owners is stated for part of the time only.
func TestMostlyUnknownOwners(t *testing.T) {
	at := timeline.Place{Func: "main.add", File: "/src/main.go", Line: 7}
	party := contention.Party{Group: "main.add", Stack: &contention.Stack{Frames: []contention.Frame{{Func: at.Func, File: at.File, Line: at.Line}}}}
	const all = 4 * time.Second
	for _, tt := range []struct {
		known time.Duration
		part  string
		bound bool
	}{
		{all, "", true},
		{all * 4 / 10, " of the 40% in which they are known", true},
		{all * 2 / 10, " of the 20% in which they are known", false},
	} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.add", Site: at, Time: 1600 * time.Millisecond, Count: 10},
			{Category: ledger.Idle, Group: "main.add", Site: at, Wait: "mutex", Waker: "main.add", WakerSite: at, Beside: "main.add", Time: 400 * time.Millisecond, Count: 10},
		}}
		lock := &contention.Lock{ID: 1, Hold: 100 * time.Microsecond}
		f := diagnose.New(diagnose.Results{Ledger: l, Contention: &contention.Profile{
			Duration: time.Second, Locks: []*contention.Lock{lock},
			Waits: []contention.Wait{{Kind: contention.MutexKind, Lock: lock, Waiter: party, Contentions: 10, Parks: 10, Waited: all, Blamed: tt.known, Unattributed: all - tt.known}},
			Pairs: []contention.Wait{{Kind: contention.MutexKind, Lock: lock, Waiter: party, Owner: party, Contentions: 10, Blamed: tt.known, Running: tt.known}},
		}}).Findings[0]
		want := "While others waited, its owners were running for 100%" + tt.part + ". "
		if f.Kind != diagnose.Lock || !strings.HasPrefix(f.Advice, want) || (f.Gain > 0) != tt.bound {
			t.Errorf("%v known: %s %s, a gain of %v", tt.known, f.Title, f.Advice, f.Gain)
		}
	}
}

// Goroutines may have spun for a lock at whose places most of the code ended, but not if that ended in
// system calls there. It then costs no more than it left idle, or at most three times as much.
func TestWhatSpinningForALockMayCost(t *testing.T) {
	at := timeline.Place{Func: "main.note", File: "/src/main.go", Line: 7}
	party := contention.Party{Group: "main.note", Stack: stackOf(at.Func, at.Line)}
	lock := &contention.Lock{ID: 1, Hold: 10 * time.Microsecond}
	const ms = time.Millisecond
	for _, tt := range []struct {
		calls int64
		idle  time.Duration
		want  string
	}{{10, 300 * ms, diagnose.Lock}, {9_000, 300 * ms, diagnose.Collector}, {10, 60 * ms, diagnose.Collector}} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.note", Site: at, Time: 1380*ms - tt.idle, Count: 10_000},
			{Category: ledger.GCAssist, Group: "main.note", Site: at, Time: 520 * ms, Count: 100},
			{Category: ledger.Idle, Group: "main.note", Site: at, Wait: "mutex", Waker: "main.note", WakerSite: at, Beside: "main.note", Time: tt.idle, Count: 10},
			{Category: ledger.Syscall, Group: "main.note", Site: at, Time: 100 * ms, Count: tt.calls},
		}}
		f := diagnose.New(diagnose.Results{Ledger: l, Contention: &contention.Profile{
			Duration: time.Second, Locks: []*contention.Lock{lock},
			Waits: []contention.Wait{{Kind: contention.MutexKind, Lock: lock, Waiter: party, Contentions: 1000, Parks: 1000, Waited: time.Second}},
		}}).Findings[0]
		if f.Kind != tt.want {
			t.Errorf("%d calls, %v idle: %s %s", tt.calls, tt.idle, f.Kind, f.Title)
		}
	}
}

// A bound that allows for more than what was lost says little about that.
func TestBoundOfSmallLosses(t *testing.T) {
	at := timeline.Place{Func: "main.work", File: "/src/main.go", Line: 7}
	const ms = time.Millisecond
	for _, tt := range []struct {
		waits int64
		idle  time.Duration // of the collector, on processors that had nothing else to do
		basis string
	}{
		{100, 100 * ms, "the capacity without"},
		{80_000, 100 * ms, "1.04 times as fast without these waits; more because waiting and waking take running time, too"},
		{100, 900 * ms, "1.04 times as fast without this; more if the program then uses the processors that only the collector used"},
	} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Slices: 200_000, Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.work", Site: at, Time: 1920*ms - tt.idle, Count: 200_000},
			{Category: ledger.GCWorker, Group: "GC (idle)", Time: tt.idle, Count: 9},
			{Category: ledger.Idle, Group: "main.work", Site: at, Wait: "chan-receive", Beside: ledger.Several, Time: 80 * ms, Count: tt.waits},
		}}
		v := diagnose.New(diagnose.Results{Ledger: l})
		i := slices.IndexFunc(v.Findings, func(f verdict.Finding) bool { return f.Kind == diagnose.Starved })
		if i < 0 || !strings.HasPrefix(v.Findings[i].Basis, tt.basis) {
			t.Errorf("%d waits, %v: %+v", tt.waits, tt.idle, v.Findings)
		}
	}
}

// Rows as in traces of public modules. Each was reported as something else before.
func TestRowsOfPublicModules(t *testing.T) {
	place := func(fn string) timeline.Place { return timeline.Place{Func: fn, File: "/src/main.go", Line: 7} }
	const half = 500 * time.Millisecond
	code := func(group string, count int64) ledger.Row {
		return ledger.Row{Category: ledger.Code, Group: group, Site: place(group), Time: half, Count: count}
	}
	runN := timeline.Place{Func: "testing.(*B).runN", File: "/go/src/testing/benchmark.go", Line: 207}
	many := func(group string) bottle.Box {
		return bottle.Box{Kind: bottle.Application, Group: group, Goroutines: 200_000, Running: half, SelfParallelism: 1}
	}
	for _, tt := range []struct {
		name       string
		rows       []ledger.Row
		heap       *ledger.Heap
		boxes      []bottle.Box
		waits      []contention.Wait
		kind       string
		title, has string // the title begins with title; the advice contains has
	}{
		{
			"benchmarks that wait for each other are serial, not uneven",
			[]ledger.Row{code("main.bench", 8), {Category: ledger.Idle, Group: "main.main", Site: place("main.main"), Wait: "waitgroup", Beside: "main.bench", Time: half, Count: 8}}, nil,
			[]bottle.Box{{Kind: bottle.Application, Group: "main.bench", Goroutines: 8, Running: half, SelfParallelism: 1}}, nil,
			diagnose.Serial, "While main.bench ran, and no others, the other processors had nothing to do: 50% of the capacity.", "",
		}, {
			"goroutines that wait for one of their own group share its work",
			[]ledger.Row{code("main.serve", 40), {Category: ledger.Idle, Group: "main.serve", Site: place("main.share"), Wait: "waitgroup", Waker: "main.serve", Beside: "main.serve", Time: half, Count: 40}}, nil,
			[]bottle.Box{{Kind: bottle.Application, Group: "main.serve", Goroutines: 8, Running: half, SelfParallelism: 1.3}}, nil,
			diagnose.Serial, "Processors had nothing to do for 50% of the capacity while main.serve ran, which others waited for at main.share main.go:7.", "",
		}, {
			"the way from one goroutine to the next costs more than the sleep",
			[]ledger.Row{
				code("main.task", 200_000),
				{Category: ledger.Outside, Group: "main.task", Site: place("main.task"), Wait: "sleep", Beside: ledger.None, Time: half * 41 / 100, Count: 1000},
				{Category: ledger.Scheduler, Group: "main.task", Site: place("main.task"), Wait: "sleep", Time: half * 35 / 100, Count: 100_000},
				{Category: ledger.WakeUp, Group: "main.next", Site: place("main.next"), Wait: "chan-receive", Beside: ledger.Several, Time: half * 24 / 100, Count: 1000},
			}, nil, nil, nil,
			diagnose.Switching, "The scheduler took 18% of the capacity, from one goroutine to the next (100,000 times), and processors were idle for 12% until goroutines ran that others had woken.", "",
		}, {
			"what ran outweighs small causes",
			[]ledger.Row{
				{Category: ledger.Code, Group: "main.add", Site: place("main.add"), Time: half * 128 / 100, Count: 100},
				{Category: ledger.GCWorker, Time: half * 22 / 100, Count: 10},
				{Category: ledger.Idle, Group: "main.main", Site: place("main.main"), Wait: "chan-receive", Beside: ledger.Several, Time: half * 2 / 10, Count: 10},
				{Category: ledger.Runtime, Time: half * 3 / 10, Count: 100},
			}, nil, nil, nil,
			diagnose.Saturated, "It uses its processors: the program's own code ran for 64% of the capacity", "",
		}, {
			"what waits for the caller does not wait for its calls",
			[]ledger.Row{
				{Category: ledger.Outside, Group: "main.save", Site: place("main.sync"), Wait: "syscall", Beside: ledger.None, Time: half / 2, Count: 100},
				{Category: ledger.Idle, Group: "main.send", Site: place("main.send"), Wait: "chan-receive", Waker: "main.save", Beside: "main.save", Time: half / 2, Count: 100},
				{Category: ledger.Syscall, Group: "main.save", Site: place("main.sync"), Time: half, Count: 1000},
			}, nil,
			[]bottle.Box{{Kind: bottle.Application, Group: "main.send", Goroutines: 600, Sites: map[string][]bottle.Site{"chan-receive": {{Func: "main.send", File: "/src/main.go", Line: 7, Time: 600 * time.Second}}}}}, nil,
			diagnose.Blocking, "Long system calls at main.sync main.go:7 held processors for 50% of the capacity, and left 25% idle (1,000 calls); while main.save ran alone, the other processors had nothing to do for 25%.", "",
		}, {
			"long calls that leave nothing idle",
			[]ledger.Row{
				{Category: ledger.Outside, Group: "main.save", Site: place("main.sync"), Wait: "syscall", Beside: ledger.None, Time: half / 1000, Count: 10},
				{Category: ledger.Code, Group: "main.save", Site: place("main.save"), Time: half - half/1000, Count: 10},
				{Category: ledger.Syscall, Group: "main.save", Site: place("main.sync"), Time: half, Count: 1000},
			}, nil, nil, nil,
			diagnose.Blocking, "Long system calls at main.sync main.go:7 held processors for 50% of the capacity (", "",
		}, {
			"package testing collects before each run",
			[]ledger.Row{code("main.bench", 8), {Category: ledger.Scheduler, Group: "main.bench", Site: runN, Callee: "runtime.GC", Wait: "yield", Time: half, Count: 100_000}},
			&ledger.Heap{Collections: 10}, nil,
			[]contention.Wait{{Kind: contention.GCKind, Contentions: 20, Waiter: contention.Party{Group: "main.bench", Stack: &contention.Stack{Frames: []contention.Frame{
				{Func: "runtime.GC"}, {Func: runN.Func, File: runN.File, Line: runN.Line}, {Func: "main.bench", File: "/src/main.go", Line: 7},
			}}}}},
			diagnose.Collector, "The garbage collector took 50% of the capacity", "package testing does that before each run",
		}, {
			"goroutines of two groups are tiny together",
			[]ledger.Row{
				{Category: ledger.Code, Group: "main.send", Site: place("main.send"), Time: half * 8 / 25, Count: 200_000},
				{Category: ledger.Code, Group: "main.send.func1", Site: place("main.send"), Time: half * 8 / 25, Count: 200_000},
				{Category: ledger.WakeUp, Group: "main.send", Site: place("main.publish"), Wait: "created", Beside: ledger.None, Time: half * 9 / 50, Count: 200_000},
				{Category: ledger.GCWorker, Time: half / 2, Count: 10},
				{Category: ledger.Code, Group: "main.main", Site: place("main.main"), Time: half * 17 / 25, Count: 100},
			}, nil, []bottle.Box{many("main.send"), many("main.send.func1")}, nil,
			diagnose.Tiny, "Tiny goroutines: 200,000 of main.send ran for 2.5 µs each", "",
		}, {
			"a switch to a goroutine that had slept is not a sleep",
			[]ledger.Row{code("main.nap", 1_000_000), {Category: ledger.Scheduler, Group: "main.nap", Site: place("main.nap"), Wait: "sleep", Time: half, Count: 1_000_000}}, nil, nil, nil,
			diagnose.Switching, "The scheduler took 50% of the capacity, from one goroutine to the next (1,000,000 times).", "",
		}, {
			"an empty processor took 5 µs, whatever the queue of ready goroutines",
			[]ledger.Row{code("main.work", 100_000), {Category: ledger.WakeUp, Group: "main.work", Site: place("main.work"), Wait: "chan-receive", Beside: ledger.None, Time: half, Count: 100_000}}, nil, nil,
			[]contention.Wait{{Kind: contention.ChanReceiveKind, Contentions: 100, Ready: time.Hour, ReadyIdle: time.Hour, Waiter: contention.Party{Group: "main.work"}}},
			diagnose.HandOver, "Handing over", "They ran 5 µs after they were woken, on average: as long as it takes to wake a thread.",
		}, {
			"several small causes beside what uses the processors",
			[]ledger.Row{
				{Category: ledger.Code, Group: "main.read", Site: place("main.read"), Time: half * 8 / 5, Count: 100},
				{Category: ledger.GCWorker, Time: half * 9 / 50, Count: 10},
				{Category: ledger.Idle, Group: "main.read", Site: place("main.read"), Wait: "chan-receive", Beside: ledger.Several, Time: half / 10, Count: 100},
				{Category: ledger.Runtime, Time: half * 6 / 50, Count: 100},
			}, nil, nil, nil,
			diagnose.Saturated, "It uses its processors: the program's own code ran for 80% of the capacity", "",
		}, {
			"one wait of many is no place",
			[]ledger.Row{
				code("main.work", 100),
				{Category: ledger.Idle, Group: "main.main", Site: place("main.TestMain"), Wait: "chan-receive", Beside: ledger.Several, Time: half * 3 / 5, Count: 1},
				{Category: ledger.Idle, Group: "main.work", Site: place("main.receive"), Wait: "chan-receive", Beside: ledger.Several, Time: half * 2 / 5, Count: 100},
			}, nil, nil, nil,
			diagnose.Starved, "Too little parallel work: for 50% of the capacity", "",
		},
	} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 1, Capacity: time.Second, Born: 400_000, Rows: tt.rows, Heap: tt.heap}
		if err := l.CheckValid(); err != nil {
			t.Fatal(tt.name, err)
		}
		f := diagnose.New(diagnose.Results{Ledger: l, Graph: &bottle.Graph{Wall: l.Wall, Boxes: tt.boxes}, Contention: &contention.Profile{Duration: l.Wall, Waits: tt.waits}}).Findings[0]
		if f.Kind != tt.kind || !strings.HasPrefix(f.Title, tt.title) || !strings.Contains(f.Advice, tt.has) {
			t.Errorf("%s:\n got  %s: %s %s\n want %s: %s %s", tt.name, f.Kind, f.Title, f.Advice, tt.kind, tt.title, tt.has)
		}
		if tt.kind == diagnose.Starved && f.Where[0] != place("main.receive") {
			t.Errorf("%s: %v", tt.name, f.Where)
		}
	}
}
