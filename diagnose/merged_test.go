package diagnose_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Rows with a common cause form one finding.
func TestRowsOfOneCauseAreOneFinding(t *testing.T) {
	const ms = time.Millisecond
	main, worker := "main.main", "main.worker"
	at := func(fn string, line int) timeline.Place { return timeline.Place{Func: fn, File: "main.go", Line: line} }
	graph := &bottle.Graph{Wall: 100 * ms, Boxes: []bottle.Box{
		{Group: main, Kind: bottle.Application, Goroutines: 1, Waiting: map[string]time.Duration{"chan-send": 90 * ms},
			Sites: map[string][]bottle.Site{"chan-send": {{Func: main, File: "main.go", Line: 5, Time: 90 * ms}}}},
		{Group: worker, Kind: bottle.Application, Goroutines: 3, Waiting: map[string]time.Duration{"sleep": 300 * ms},
			Sites: map[string][]bottle.Site{"sleep": {{Func: worker, File: "main.go", Line: 9, Time: 300 * ms}}}},
	}}
	stack := func(fn string, line int) *contention.Stack {
		return &contention.Stack{Frames: []contention.Frame{{Func: fn, File: "main.go", Line: line}}}
	}
	for _, c := range []struct {
		name  string
		rows  []ledger.Row
		waits *contention.Profile
		title string // of the first finding
		lost  time.Duration
	}{
		{"the next step of a barrier", []ledger.Row{
			{Category: ledger.Idle, Group: main, Wait: "waitgroup", Site: at(main, 3), Waker: worker, Beside: worker, Time: 30, Count: 1},
			{Category: ledger.Idle, Group: worker, Wait: "created", Site: at(main, 4), Waker: main, Beside: worker, Time: 20, Count: 1},
		}, nil, "Uneven work: 25% of the capacity was idle while the last of the 3 main.worker ran.", 50},
		{"the first step is no barrier's", []ledger.Row{
			{Category: ledger.Idle, Group: main, Wait: "waitgroup", Site: at(main, 3), Waker: worker, Beside: worker, Time: 30, Count: 1},
			{Category: ledger.Idle, Group: worker, Wait: "created", Site: at(main, 4), Waker: "main.other", Beside: worker, Time: 20, Count: 1},
		}, nil, "Uneven work: 15% of the capacity was idle while the last of the 3 main.worker ran.", 30},
		{"workers that sleep, and others that wait for them", []ledger.Row{
			{Category: ledger.Outside, Group: worker, Wait: "sleep", Site: at(worker, 9), Beside: ledger.None, Time: 150, Count: 9},
		}, &contention.Profile{Duration: 100 * ms, Pairs: []contention.Wait{{Kind: contention.ChanSendKind, Blamed: 90 * ms, Contentions: 9,
			Waiter: contention.Party{Group: main, Stack: stack(main, 5)}, Owner: contention.Party{Group: worker, Stack: stack(worker, 8)}}}},
			"The limit of how many main.worker work at a time, waited for at main.main main.go:5, kept 75% of the capacity idle: 0.90 waited on average while 3.00 slept at main.worker main.go:9.", 150},
		{"a server without requests", []ledger.Row{
			{Category: ledger.Outside, Group: "net/http.(*conn).serve", Wait: "network", Site: timeline.Place{Func: "net/http.(*connReader).Read", File: "server.go", Line: 1}, Beside: ledger.None, Time: 150, Count: 9},
		}, nil, "Nothing to do for 75% of the capacity: processors were idle until requests came from the network.", 150},
		{"a server that is not all that waits", []ledger.Row{
			{Category: ledger.Outside, Group: "net/http.(*conn).serve", Wait: "network", Site: timeline.Place{Func: "net/http.(*connReader).Read", File: "server.go", Line: 1}, Beside: ledger.None, Time: 60, Count: 9},
			{Category: ledger.Outside, Group: worker, Wait: "sleep", Site: at(worker, 9), Beside: ledger.None, Time: 29, Count: 9},
			{Category: ledger.Outside, Group: worker, Wait: "sleep", Site: at(worker, 19), Beside: ledger.None, Time: 29, Count: 9},
			{Category: ledger.Outside, Group: worker, Wait: "sleep", Site: at(worker, 29), Beside: ledger.None, Time: 29, Count: 9},
		}, nil, "Waiting for requests from the network left 30% of the capacity idle.", 60},
	} {
		l := &ledger.Ledger{Wall: 100 * ms, Procs: 2, Capacity: 200 * ms}
		rest := l.Capacity
		for i := range c.rows {
			c.rows[i].Time *= ms
			rest -= c.rows[i].Time
		}
		l.Rows = append(c.rows, ledger.Row{Category: ledger.Code, Group: worker, Time: rest, Count: 1})
		f := diagnose.New(diagnose.Results{Ledger: l, Graph: graph, Contention: c.waits}).Findings[0]
		if f.Title != c.title || f.Lost != c.lost*ms {
			t.Errorf("%s: %v, %s", c.name, f.Lost, f.Title)
		}
		if strings.Contains(f.Title, "requests") && f.Bound() != "" { // the program cannot have more
			t.Errorf("%s: %s", f.Title, f.Bound())
		}
	}
}

// Two goroutines spin for a lock in turn, and hardly ever wait: they run where it is released,
// which is not the place that names it, and a repair saves running time.
func TestSpinningForALockHasNoBound(t *testing.T) {
	const ms = time.Millisecond
	acquire, release := timeline.Place{Func: "main.draw", File: "main.go", Line: 3}, timeline.Place{Func: "main.draw", File: "main.go", Line: 9}
	l := &ledger.Ledger{Wall: 100 * ms, Procs: 2, Capacity: 200 * ms, Rows: []ledger.Row{
		{Category: ledger.Code, Group: "main.work", Time: 150 * ms, Count: 9},
		{Category: ledger.Code, Group: "main.work", Site: release, Wait: "mutex", Time: 40 * ms, Count: 20_000},
		{Category: ledger.Idle, Group: "main.work", Site: acquire, Wait: "mutex", Waker: "main.work", WakerSite: release, Beside: ledger.None, Time: 10 * ms, Count: 9},
	}}
	if err := l.CheckValid(); err != nil {
		t.Fatal(err)
	}
	f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]
	if f.Kind != diagnose.Lock || f.Lost != 50*ms || f.Where[0] != acquire || f.Gain != 0 || !strings.Contains(f.Basis, "spinning") {
		t.Errorf("%s of %v at %v, gain %v (%s)", f.Kind, f.Lost, f.Where, f.Gain, f.Basis)
	}
}

// The places of one lock are one finding, and so are the goroutines that one function starts.
func TestPlacesOfOneLockAreOneFinding(t *testing.T) {
	const ms = time.Millisecond
	push, pop := timeline.Place{Func: "main.push", File: "main.go", Line: 3}, timeline.Place{Func: "main.pop", File: "main.go", Line: 9}
	lock := &contention.Lock{ID: 1, Class: "main.queue"}
	p := &contention.Profile{Duration: 100 * ms, Locks: []*contention.Lock{lock}}
	l := &ledger.Ledger{Wall: 100 * ms, Procs: 2, Capacity: 200 * ms, Born: 4000, Rows: []ledger.Row{{Category: ledger.Code, Group: "main.work", Time: 80 * ms, Count: 9}}}
	for _, at := range []timeline.Place{push, pop} {
		l.Rows = append(l.Rows, ledger.Row{Category: ledger.Idle, Group: "main.work", Site: at, Wait: "mutex", Beside: ledger.None, Time: 30 * ms, Count: 9})
		p.Waits = append(p.Waits, contention.Wait{Kind: contention.MutexKind, Lock: lock, Contentions: 9, Waited: 50 * ms,
			Waiter: contention.Party{Group: "main.work", Stack: &contention.Stack{Frames: []contention.Frame{{Func: at.Func, File: at.File, Line: at.Line}}}}})
	}
	g := &bottle.Graph{Wall: 100 * ms, Boxes: []bottle.Box{{Group: "main.work", Kind: bottle.Application, Goroutines: 3, Running: 80 * ms}}}
	for _, group := range []string{"main.sort.func1", "main.sort.func2"} {
		l.Rows = append(l.Rows, ledger.Row{Category: ledger.WakeUp, Group: group, Wait: "created", Site: timeline.Place{Func: "main.sort", File: "main.go", Line: 20}, Waker: "main.work", Beside: ledger.None, Time: 30 * ms, Count: 2000})
		g.Boxes = append(g.Boxes, bottle.Box{Group: group, Kind: bottle.Application, Goroutines: 2000, Running: 4 * ms})
	}
	if err := l.CheckValid(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range diagnose.New(diagnose.Results{Ledger: l, Graph: g, Contention: p}).Findings {
		got = append(got, f.Title)
	}
	want := []string{
		"Tiny goroutines: 4,000 of main.sort.func1 and main.sort.func2 ran for 2 µs each, on average; 30% of the capacity went to starting them and waiting for them.",
		"The lock main.queue kept 30% of the capacity idle (18 waits, blocked for 100 ms in all).",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A goroutine that starts tiny ones runs alone again and again until the next one is there, which
// belongs to them. If it runs alone for long, it does more than that.
func TestStartingTinyGoroutinesIsOneFinding(t *testing.T) {
	const ms = time.Millisecond
	starts := timeline.Place{Func: "main.each", File: "main.go", Line: 3}
	g := &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{
		{Group: "main.main", Kind: bottle.Application, Goroutines: 1, Running: 800 * ms, SelfParallelism: 1},
		{Group: "main.each.func1", Kind: bottle.Application, Goroutines: 200_000, Running: 200 * ms, SelfParallelism: 1},
	}}
	for gaps, findings := range map[int64]int{150: 1, 3: 2} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Born: 200_000, Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.main", Site: starts, Time: 800 * ms, Count: 9000},
			{Category: ledger.Code, Group: "main.each.func1", Site: starts, Time: 200 * ms, Count: 200_000},
			{Category: ledger.WakeUp, Group: "main.each.func1", Wait: "created", Site: starts, Waker: "main.main", Beside: ledger.None, Time: 600 * ms, Count: 90_000},
			{Category: ledger.Idle, Group: "main.each.func1", Wait: "created", Site: starts, Waker: "main.main", Beside: "main.main", Time: 400 * ms, Count: gaps},
		}}
		if err := l.CheckValid(); err != nil {
			t.Fatal(err)
		}
		if f := diagnose.New(diagnose.Results{Ledger: l, Graph: g}).Findings; len(f) != findings || f[0].Kind != diagnose.Tiny {
			t.Errorf("%d gaps: %+v", gaps, f)
		}
	}
}

// Who starts goroutines past a limit may run alone before it starts them, which is not the limit.
// Goroutines wait for a limit because those past it wait for a lock, which is the lock, or because one
// of them runs alone, which is the limit.
func TestLimitOrWhatIsBesideIt(t *testing.T) {
	const ms = time.Millisecond
	starts, lock, query := placeOf("main.main", 60), &contention.Lock{ID: 1}, placeOf("main.query", 3)
	created := func(count int64) ledger.Row {
		return ledger.Row{Category: ledger.Idle, Group: "main.main.func1", Wait: "created", Site: starts, Waker: "main.main", Beside: "main.main", Time: 600 * ms, Count: count}
	}
	waits := func(group, kind string, at *contention.Stack) contention.Wait {
		party := contention.Party{Group: group, Stack: at}
		return contention.Wait{Kind: kind, Lock: lock, Waiter: party, Owner: party, Contentions: 9, Waited: 3 * time.Second, Blamed: 3 * time.Second}
	}
	past := ledger.Row{Category: ledger.Idle, Group: "main.main", Wait: "semaphore", Site: starts, Beside: ledger.None, Time: 100 * ms, Count: 9, Locked: 100 * ms}
	for _, tt := range []struct {
		name  string
		rows  []ledger.Row
		waits contention.Wait
		kinds []string
	}{
		{"ran alone", []ledger.Row{created(3), past}, contention.Wait{}, []string{diagnose.Serial, diagnose.Limit}},
		{"starts them at once", []ledger.Row{created(30_000), past}, contention.Wait{}, []string{diagnose.Limit}},
		{"wait for a lock", []ledger.Row{{Category: ledger.Idle, Group: "main.add", Wait: "mutex", Site: query, Waker: "main.add", WakerSite: query, Beside: ledger.None, Time: 500 * ms, Count: 9}, past},
			waits("main.add", contention.MutexKind, stackOf("main.query", 3)), []string{diagnose.Lock}},
		{"one connection", []ledger.Row{{Category: ledger.Idle, Group: "main.other", Wait: "waitgroup", Site: starts, Waker: "main.ask", Beside: "main.ask", Time: 600 * ms, Count: 9}},
			waits("main.ask", contention.SelectKind, stackOf("database/sql.(*DB).conn", 1, "main.query", 3)), []string{diagnose.Limit}},
	} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: append(tt.rows, ledger.Row{Category: ledger.Code, Group: "main.ask", Site: query, Time: 1300 * ms, Count: 9})}
		p := &contention.Profile{Duration: time.Second, Locks: []*contention.Lock{lock}, Waits: []contention.Wait{tt.waits}, Pairs: []contention.Wait{tt.waits}}
		var kinds []string
		for _, f := range diagnose.New(diagnose.Results{Ledger: l, Contention: p}).Findings {
			if f.Kind != diagnose.CannotTell && f.Kind != diagnose.Saturated {
				kinds = append(kinds, f.Kind)
			}
		}
		if !slices.Equal(kinds, tt.kinds) {
			t.Errorf("%s: %q", tt.name, kinds)
		}
	}
}

// What is done once sleeps for most of the time, and runs for some: that is one cause.
func TestSleepOfWhatIsDoneOnce(t *testing.T) {
	const ms = time.Millisecond
	at := func(fn string) timeline.Place { return timeline.Place{Func: fn, File: "main.go", Line: 3} }
	for group, want := range map[string]int{"main.load": 1, "main.tick": 2} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.Outside, Group: group, Wait: "sleep", Site: at("main.fetch"), Beside: ledger.None, Time: 1400 * ms, Count: 9},
			{Category: ledger.Code, Group: "main.load", Site: at("main.load"), Time: 300 * ms, Count: 9},
			{Category: ledger.Idle, Group: "main.get", Wait: "once", Site: at("main.get"), Waker: "main.load", Beside: "main.load", Time: 300 * ms, Count: 9},
		}}
		if err := l.CheckValid(); err != nil {
			t.Fatal(err)
		}
		if f := diagnose.New(diagnose.Results{Ledger: l}).Findings; len(f) != want || f[0].Kind != diagnose.Sleep {
			t.Errorf("%s sleeps: %+v", group, f)
		}
	}
}

// Goroutines leak if all of them still wait at the end and their waits began gradually.
func TestLeaks(t *testing.T) {
	place := &contention.Stack{Frames: []contention.Frame{{Func: "main.deliver", File: "main.go", Line: 7}}}
	deliver := contention.Party{Group: "main.deliver", Stack: place}
	for _, c := range []struct {
		name            string
		kind            string
		waited, longest time.Duration // of 200
		went            int64
		goroutines      int
		leaks           bool
	}{
		{"a leak", contention.ChanSendKind, 200 * 500, 1000, 0, 200, true},
		{"all began together", contention.ChanSendKind, 200 * 990, 1000, 0, 200, false},
		{"connections", contention.NetworkKind, 200 * 500, 1000, 0, 200, false},
		{"a pool", contention.ChanReceiveKind, 200 * 500, 1000, 5000, 200, false},
		{"one of six does not end", contention.ChanSendKind, 200 * 500, 1000, 0, 1200, true},
		{"most have ended", contention.ChanSendKind, 200 * 500, 1000, 0, 4000, false},
	} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Born: 1000, Rows: []ledger.Row{{Category: ledger.Code, Group: "main.main", Time: 2 * time.Second, Count: 1}}}
		graph := &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{{Group: "main.deliver", Kind: bottle.Application, Goroutines: c.goroutines}}}
		p := &contention.Profile{Duration: time.Second, Unfinished: []contention.Wait{{Kind: c.kind, Waiter: deliver, Contentions: 200, Waited: c.waited, Longest: c.longest}}}
		if c.went > 0 {
			p.Waits = []contention.Wait{{Kind: c.kind, Waiter: deliver, Contentions: c.went}}
		}
		f := diagnose.New(diagnose.Results{Ledger: l, Graph: graph, Contention: p}).Findings[0]
		if leaks := f.Kind == diagnose.Leak; leaks != c.leaks {
			t.Errorf("%s: %s", c.name, f.Title)
		}
	}
}

// Goroutines of net/http that do not end have a connection each, which the program opens.
func TestLeakOfConnections(t *testing.T) {
	const writes = "net/http.(*persistConn).writeLoop"
	writer := contention.Party{Group: writes, Stack: &contention.Stack{Frames: []contention.Frame{{Func: writes, File: "/go/src/net/http/transport.go", Line: 7}}}}
	get := contention.Party{Group: "main.main", Stack: stackOf("net/http.(*persistConn).roundTrip", 9, "main.get", 3)}
	get.Stack.Frames[0].File = "/go/src/net/http/transport.go"
	l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Born: 600, Rows: []ledger.Row{{Category: ledger.Code, Group: "main.main", Time: 2 * time.Second, Count: 1}}}
	graph := &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{{Group: writes, Kind: bottle.Application, Goroutines: 200}, {Group: "net/http.(*Transport).startDialConnForLocked.func1", Kind: bottle.Application, Goroutines: 200}}}
	f := diagnose.New(diagnose.Results{Ledger: l, Graph: graph, Contention: &contention.Profile{
		Duration:   time.Second,
		Unfinished: []contention.Wait{{Kind: contention.SelectKind, Waiter: writer, Contentions: 200, Waited: 200 * 500, Longest: 1000}},
		Waits:      []contention.Wait{{Kind: contention.SelectKind, Waiter: get, Contentions: 200}},
		Pairs:      []contention.Wait{{Kind: contention.SelectKind, Waiter: get, Owner: writer, Contentions: 200, Blamed: time.Second}},
	}}).Findings[0]
	if f.Kind != diagnose.Leak || len(f.Where) == 0 || f.Where[0] != placeOf("main.get", 3) || !strings.HasPrefix(f.Advice, "The program opened 200 connections: ") {
		t.Errorf("%s: %s %v %s", f.Kind, f.Title, f.Where, f.Advice)
	}
}

// A row is not always about the goroutine that it names.
func TestRowsMayConcernOtherGoroutines(t *testing.T) {
	at := timeline.Place{Func: "main.work", File: "/src/main.go", Line: 7}
	const ms = time.Millisecond
	for _, c := range []struct {
		name  string
		rows  []ledger.Row // of 2 s on two processors of 1 s
		kind  string
		title string // of the first finding, or part of it
		lost  time.Duration
	}{
		{"processors that nothing needed", []ledger.Row{
			{Category: ledger.Code, Group: "main.work", Site: at, Time: 1100 * ms, Count: 9},
			{Category: ledger.Idle, Beside: "main.work", Time: 900 * ms, Count: 1},
		}, diagnose.Serial, "While main.work ran alone", 900 * ms},
		{"connections that come again and again", []ledger.Row{
			{Category: ledger.Code, Group: "main.work", Site: at, Time: 1100 * ms, Count: 9},
			{Category: ledger.Outside, Group: "main.accept", Wait: "network", Beside: "main.work", Time: 900 * ms, Count: 20},
		}, diagnose.Network, "Waiting for the network", 900 * ms},
		{"the collector ran, and nothing waited for it", []ledger.Row{
			{Category: ledger.Code, Group: "main.work", Site: at, Time: 600 * ms, Count: 9},
			{Category: ledger.GCWorker, Group: "GC (dedicated)", Time: 800 * ms, Count: 9},
			{Category: ledger.NoWork, Beside: "GC (dedicated)", Time: 600 * ms, Count: 1},
		}, diagnose.Collector, "workers 40%, assists 0%, world stopped 0%, waits for it 0%", 800 * ms},
		{"the collector ran alone, until nothing waited for it", []ledger.Row{
			{Category: ledger.Code, Group: "main.work", Site: at, Time: 600 * ms, Count: 9},
			{Category: ledger.GCWorker, Group: "GC (dedicated)", Time: 800 * ms, Count: 9},
			{Category: ledger.Idle, Beside: "GC (dedicated)", Time: 600 * ms, Count: 9},
		}, diagnose.Collector, "workers 40%, assists 0%, world stopped 0%, waits for it 30%", 1400 * ms},
		{"short calls, some of them long", []ledger.Row{
			{Category: ledger.Code, Group: "main.work", Site: at, Time: 1100 * ms, Count: 9},
			{Category: ledger.Syscall, Group: "main.work", Site: at, Time: 500 * ms, Count: 500_000},
			{Category: ledger.Outside, Group: "main.work", Site: at, Wait: "syscall", Beside: ledger.None, Time: 400 * ms, Count: 20},
		}, diagnose.Syscalls, "System calls at main.work main.go:7 held processors for 25% of the capacity, and left 20% idle (500,000 calls of 1 µs).", 900 * ms},
		{"a goroutine that yields all the time", []ledger.Row{
			{Category: ledger.NoWork, Beside: "main.main", Time: 900 * ms, Count: 1},
			{Category: ledger.Code, Group: "main.main", Time: 700 * ms, Count: 9},
			{Category: ledger.Scheduler, Group: "main.work", Site: at, Wait: "yield", Time: 200 * ms, Count: 100_000},
			{Category: ledger.Code, Group: "main.work", Site: at, Time: 200 * ms, Count: 100_000},
		}, diagnose.Switching, "Yielding at main.work", 200 * ms},
		{"no names", []ledger.Row{
			{Category: ledger.Code, Group: "(unnamed)", Time: 1100 * ms, Count: 9},
			{Category: ledger.Idle, Group: "(unnamed)", Wait: "coroutine", Beside: "(unnamed)", Time: 900 * ms, Count: 9},
		}, diagnose.CannotTell, "The trace does not show which functions ran", 0},
	} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Queued: time.Second, Rows: c.rows}
		if err := l.CheckValid(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]
		if f.Kind != c.kind || !strings.Contains(f.Title, c.title) || f.Lost != c.lost {
			t.Errorf("%s: %s %v: %s", c.name, f.Kind, f.Lost, f.Title)
		}
	}
}
