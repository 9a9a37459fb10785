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
)

// System calls at many places are one finding, unless one place of the program has two thirds of
// their time. A second place is listed if it has 1 % of the capacity.
func TestPlacesOfOneKindAreOneFinding(t *testing.T) {
	at := func(line int) timeline.Place { return timeline.Place{Func: "main.work", File: "main.go", Line: line} }
	for _, c := range []struct {
		name  string
		times []time.Duration // by line, of 100
		title string
		where []timeline.Place
	}{
		{"even", []time.Duration{14, 12, 10}, "System calls held processors for 36% of the capacity (3,000,000 calls of 12 ns), most at main.work main.go:0 (14%) and main.work main.go:1 (12%).", []timeline.Place{at(0), at(1)}},
		{"one has most", []time.Duration{24, 4, 2}, "System calls at main.work main.go:0 held processors for 24% of the capacity (1,000,000 calls of 24 ns).", []timeline.Place{at(0)}},
		{"a library has most", []time.Duration{24, 4, 1}, "System calls held processors for 29% of the capacity (3,000,000 calls of 9 ns), most at main.work main.go:1 (4%) and main.work main.go:2 (1%).", []timeline.Place{at(1), at(2)}},
		{"a library has most, and one place the rest", []time.Duration{24, 4, 0}, "System calls held processors for 28% of the capacity (3,000,000 calls of 9 ns), most at main.work main.go:1 (4%).", []timeline.Place{at(1)}},
		{"a library has nearly all", []time.Duration{28, 2}, "System calls in the standard library held processors for 28% of the capacity (1,000,000 calls of 28 ns), most in main.work (28%).", []timeline.Place{{Func: "net/rpc.serve", File: "server.go", Line: 7}}},
	} {
		l := &ledger.Ledger{Wall: 100 * time.Millisecond, Procs: 1, Capacity: 100 * time.Millisecond}
		var sum time.Duration
		for line, d := range c.times {
			l.Rows = append(l.Rows, ledger.Row{Category: ledger.Syscall, Group: "main.work", Site: at(line), Time: d * time.Millisecond, Count: 1_000_000})
			sum += d
		}
		if strings.HasPrefix(c.name, "a library") {
			l.Rows[0].Site = timeline.Place{Func: "net/rpc.serve", File: "server.go", Line: 7}
		}
		l.Rows = append(l.Rows, ledger.Row{Category: ledger.Code, Group: "main.work", Time: (100 - sum) * time.Millisecond, Count: 1})
		f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]
		if f.Title != c.title || !slices.Equal(f.Where, c.where) {
			t.Errorf("%s: %s %v", c.name, f.Title, f.Where)
		}
	}
}

// The runtime may lose the callers of the function that it interrupts. A line where the goroutine was
// seen again and again stands for them, one where it was seen once does not.
func TestPlaceSeenOnce(t *testing.T) {
	at := func(fn string, line int) timeline.Place { return timeline.Place{Func: fn, File: "main.go", Line: line} }
	for slices, where := range map[int64]timeline.Place{1: {Func: "main.main"}, 90: at("main.post", 30)} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.main", Site: at("main.compute", 9), Time: 999 * time.Millisecond, Count: 99},
			{Category: ledger.Code, Group: "main.main", Site: at("main.post", 30), Time: time.Millisecond, Count: slices},
			{Category: ledger.Idle, Group: "main.work", Wait: "created", Beside: "main.main", Time: time.Second, Count: 1},
		}}
		if f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]; len(f.Where) != 2 || f.Where[1] != where {
			t.Errorf("seen %d times: %s %v", slices, f.Title, f.Where)
		}
	}
}

// Time that ended with the goroutine has no place. What is known of the rest is the place, with the
// line of the program that called the library.
func TestPlaceOfTimeThatEndedWithItsGoroutine(t *testing.T) {
	at := func(fn string, line int) timeline.Place { return timeline.Place{Func: fn, File: "main.go", Line: line} }
	find := func(line int) timeline.Place {
		return timeline.Place{Func: "example.com/flate.find", File: "/go/pkg/mod/example.com/flate@v1.2.3/find.go", Line: line}
	}
	call := at("main.compress", 40)
	l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
		{Category: ledger.Code, Group: "main.compress", Time: 900 * time.Millisecond, Count: 90},
		{Category: ledger.Code, Group: "main.compress", Site: find(7), Callers: []timeline.Place{call}, Time: 700 * time.Millisecond, Count: 70},
		{Category: ledger.Code, Group: "main.compress", Site: find(8), Callers: []timeline.Place{call}, Time: 390 * time.Millisecond, Count: 70},
		{Category: ledger.Code, Group: "main.compress", Site: at("main.compress", 44), Time: 10 * time.Millisecond, Count: 2},
	}}
	if f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]; len(f.Where) == 0 || f.Where[0] != call || strings.Contains(f.Advice, "no line") {
		t.Errorf("%s %v %s", f.Title, f.Where, f.Advice)
	}
}

// A serial part that is spread over many places is named after their common caller.
func TestSerialPartIsNamedByItsCommonCaller(t *testing.T) {
	at := func(fn string, line int) timeline.Place { return timeline.Place{Func: fn, File: "main.go", Line: line} }
	root := at("main.main", 1)
	l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second}
	add := func(d time.Duration, places ...timeline.Place) {
		l.Rows = append(l.Rows, ledger.Row{Category: ledger.Code, Group: "main.main", Site: places[0], Callers: places[1:], Time: d * time.Millisecond, Count: 1})
	}
	add(200, at("main.scan", 10), at("main.parse", 20), at("main.load", 30), root)
	add(190, at("main.walk", 11), at("main.parse", 21), at("main.load", 30), root)
	add(180, at("main.check", 12), at("main.load", 31), root)
	add(190, at("main.emit", 13), at("main.write", 22), root)
	add(240, at("main.sort", 14), root)
	l.Rows = append(l.Rows, ledger.Row{Category: ledger.Idle, Group: "main.worker", Wait: "created", Beside: "main.main", Time: time.Second, Count: 1})
	f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]
	if f.Kind != diagnose.Serial || len(f.Where) == 0 || f.Where[0] != at("main.load", 30) {
		t.Errorf("%s %v", f.Title, f.Where)
	}
	l.Rows[4].Time = 500 * time.Millisecond // one place represents it
	l.Rows[2].Time -= 130 * time.Millisecond
	l.Rows[3].Time -= 130 * time.Millisecond
	f = diagnose.New(diagnose.Results{Ledger: l}).Findings[0]
	if len(f.Where) == 0 || f.Where[0] == at("main.load", 30) {
		t.Errorf("%s %v", f.Title, f.Where)
	}
}

// A pool of a library waits for tasks in its own code. A place in the program's own module
// represents the tasks if it has enough of their time.
func TestPlaceOfATaskIsNotThatOfItsPool(t *testing.T) {
	pool := timeline.Place{Func: "github.com/panjf2000/ants/v2.(*goWorker).run.func1", File: "/go/pkg/mod/github.com/panjf2000/ants/v2@v2.12.1/worker.go", Line: 68}
	task := timeline.Place{Func: "main.resize", File: "/src/main.go", Line: 28}
	name := timeline.Place{Func: "main.main.func1", File: "/src/main.go", Line: 20}
	launcher := timeline.Place{Func: "github.com/sourcegraph/conc/pool.(*Pool).worker", File: "/go/pkg/mod/github.com/sourcegraph/conc@v0.3.0/pool/pool.go", Line: 154}
	for _, c := range []struct {
		name  string
		times map[timeline.Place]time.Duration
		want  timeline.Place
	}{
		{"half as long as the pool", map[timeline.Place]time.Duration{pool: 60, task: 40}, task},
		{"rarely", map[timeline.Place]time.Duration{pool: 90, task: 10}, pool},
		{"rarely, but in the function of the name", map[timeline.Place]time.Duration{pool: 85, task: 10, name: 5}, name},
		{"a launcher", map[timeline.Place]time.Duration{launcher: 90, task: 10}, task},
	} {
		l := &ledger.Ledger{Wall: 100 * time.Millisecond, Procs: 1, Capacity: 100 * time.Millisecond}
		for _, p := range []timeline.Place{pool, launcher, task, name} {
			if d := c.times[p]; d > 0 {
				l.Rows = append(l.Rows, ledger.Row{Category: ledger.Code, Group: "main.main.func1", Site: p, Time: d * time.Millisecond, Count: 1})
			}
		}
		if f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]; len(f.Where) == 0 || f.Where[0] != c.want {
			t.Errorf("%s: %s %v", c.name, f.Title, f.Where)
		}
	}
}

// A line is one place, also in a function literal that is on it.
func TestLineIsOnePlace(t *testing.T) {
	f := diagnose.New((&made{rows: []ledger.Row{
		{Category: ledger.Outside, Group: "main.sort.func1", Site: placeOf("main.sort.func1", 25), Callers: []timeline.Place{placeOf("main.sort", 25), placeOf("main.main", 40)}, Wait: "sleep", Beside: ledger.None, Time: time.Second, Count: 9},
	}}).results(t)).Findings[0]
	for i, p := range f.Where {
		if slices.ContainsFunc(f.Where[:i], func(q timeline.Place) bool { return q.Line == p.Line }) {
			t.Errorf("%s: %v", f.Title, f.Where)
		}
	}
}

// Without samples, the code before a wait counts at the line of the wait. If enough of the same
// group ran elsewhere, until the scheduler preempted it, that is where it computes.
func TestCodeBeforeAWait(t *testing.T) {
	lock, hash := placeOf("main.add", 18), placeOf("main.hash", 44)
	for ran, want := range map[time.Duration]timeline.Place{500 * time.Millisecond: hash, 200 * time.Millisecond: lock} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.work", Site: lock, Time: 1980*time.Millisecond - ran, Count: 900},
			{Category: ledger.Code, Group: "main.work", Site: hash, Time: ran, Count: 50},
			{Category: ledger.WakeUp, Group: "main.work", Site: lock, Wait: "mutex", Waker: "main.work", Beside: "main.work", Time: 20 * time.Millisecond, Count: 90},
		}}
		if err := l.CheckValid(); err != nil {
			t.Fatal(err)
		}
		if f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]; f.Kind != diagnose.Saturated || f.Where[0] != want {
			t.Errorf("%v elsewhere: %s %v, want %v first", ran, f.Title, f.Where, want)
		}
	}
}

// The line of a small part of what a handler ran is not where it runs.
func TestPlaceOfAHandler(t *testing.T) {
	const serve, ms = "net/http.(*conn).serve", time.Millisecond
	handle := placeOf("main.handle", 31)
	writes := timeline.Place{Func: "net/http.checkConnErrorWriter.Write", File: "/go/src/net/http/server.go", Line: 7}
	for _, c := range []struct {
		ran      time.Duration
		at, want timeline.Place
	}{{20 * ms, writes, timeline.Place{Func: "main.handle"}}, {200 * ms, writes, handle}, {20 * ms, timeline.Place{}, handle}} { // the last one never waited
		ran, want := c.ran, c.want
		r := diagnose.Results{Graph: &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{
			{Kind: bottle.Application, Group: serve, Goroutines: 4, Running: 80 * ms, SelfParallelism: 2},
			{Kind: bottle.Application, Group: "main.handle", Goroutines: 4, Running: 1900 * ms, SelfParallelism: 2, Starts: []string{serve}}, // while it handles
		}}, Ledger: &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.Code, Group: serve, Site: c.at, Time: 2*time.Second - ran, Count: 900},
			{Category: ledger.Code, Group: "main.handle", Site: handle, Time: ran, Count: 9},
		}}}
		f := diagnose.New(r).Findings[0]
		if f.Kind != diagnose.Saturated || f.Where[0] != want || strings.Contains(f.Advice, "shows no line") != (want.Line == 0) {
			t.Errorf("%v in the handler: %s %v %s", ran, f.Title, f.Where, f.Advice)
		}
	}
}

// Finalizers are code of the program in a goroutine of the runtime. Those that wait for what they
// release show where.
func TestPlaceOfFinalizers(t *testing.T) {
	const finalizers = "runtime.runFinalizers"
	l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
		{Category: ledger.Runtime, Time: 900 * time.Millisecond, Count: 9},
		{Category: ledger.Code, Group: "main.main", Site: placeOf("main.main", 7), Time: 1100 * time.Millisecond, Count: 9},
	}}
	if err := l.CheckValid(); err != nil {
		t.Fatal(err)
	}
	release := contention.Party{Group: finalizers, Stack: stackOf("main.release", 36, "main.acquire.func1", 28)}
	f := diagnose.New(diagnose.Results{
		Ledger: l, Graph: &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{{Kind: bottle.Runtime, Group: finalizers, Running: 880 * time.Millisecond}}},
		Contention: &contention.Profile{Duration: time.Second, Pairs: []contention.Wait{
			{Kind: contention.ChanReceiveKind, Waiter: contention.Party{Group: "main.main", Stack: stackOf("main.acquire", 25)}, Owner: release, Blamed: time.Second, Contentions: 9}}},
	}).Findings[0]
	if f.Kind != diagnose.Runtime || len(f.Where) != 1 || f.Where[0] != placeOf("main.release", 36) {
		t.Errorf("%s: %s %v", f.Kind, f.Title, f.Where)
	}
	l.Rows[0].Group, l.Rows[0].Site, l.Rows[0].Callers = finalizers, placeOf("main.sum", 3), []timeline.Place{placeOf("main.(*file).close", 9)}
	f = diagnose.New(diagnose.Results{Ledger: l, Graph: &bottle.Graph{Wall: time.Second, Boxes: []bottle.Box{{Kind: bottle.Runtime, Group: finalizers, Running: 880 * time.Millisecond}}}}).Findings[0]
	if f.Kind != diagnose.Runtime || len(f.Where) != 2 || f.Where[0] != placeOf("main.sum", 3) || !strings.HasPrefix(f.Title, "Finalizers") {
		t.Errorf("%s: %s %v", f.Kind, f.Title, f.Where)
	}
}

// Long calls of one function at several places are one finding; those of different functions are
// not.
func TestCallsOfOneFunctionAreOneFinding(t *testing.T) {
	at := func(line int) timeline.Place { return timeline.Place{Func: "main.work", File: "main.go", Line: line} }
	const ms = time.Millisecond
	for _, c := range []struct {
		callees [2]string
		titles  []string
	}{
		{[2]string{"os.(*File).Read", "os.(*File).Read"}, []string{"Waiting for system calls, most at main.work main.go:1 (40%) and main.work main.go:2 (30%), left 70% of the capacity idle."}},
		{[2]string{"syscall.Flock", "syscall.Flock"}, []string{"The lock of a file, waited for at main.work main.go:1 (40%) and main.work main.go:2 (30%), left 70% of the capacity idle."}},
		{[2]string{"os.(*File).Read", "os.(*File).Sync"}, []string{"Waiting for system calls at main.work main.go:1 left 40% of the capacity idle.", "Waiting for system calls at main.work main.go:2 left 30% of the capacity idle."}},
	} {
		l := &ledger.Ledger{Wall: 100 * ms, Procs: 1, Capacity: 100 * ms, Rows: []ledger.Row{
			{Category: ledger.Outside, Group: "main.work", Site: at(1), Callee: c.callees[0], Wait: "syscall", Beside: ledger.None, Time: 40 * ms, Count: 9},
			{Category: ledger.Outside, Group: "main.work", Site: at(2), Callee: c.callees[1], Wait: "syscall", Beside: ledger.None, Time: 30 * ms, Count: 9},
			{Category: ledger.Code, Group: "main.work", Time: 30 * ms, Count: 1},
		}}
		found := diagnose.New(diagnose.Results{Ledger: l}).Findings
		for i, want := range c.titles {
			if i >= len(found) || found[i].Title != want {
				t.Errorf("%v: %+v", c.callees, found)
			}
		}
	}
}

// The runtime loses the caller of a function that it interrupts at its beginning. A place where
// the goroutines were seen in another function is listed then.
func TestPlaceWithoutCallers(t *testing.T) {
	at := func(fn string) timeline.Place { return timeline.Place{Func: fn, File: "/src/main.go", Line: 7} }
	l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
		{Category: ledger.Idle, Group: "main.main", Wait: "chan-receive", Beside: "main.start.func1", Time: time.Second, Count: 9},
		{Category: ledger.Code, Group: "main.start.func1", Site: at("main.hash"), Time: 900 * time.Millisecond, Count: 90},
		{Category: ledger.Code, Group: "main.start.func1", Site: at("main.transform"), Callers: []timeline.Place{at("main.start.func1")}, Time: 100 * time.Millisecond, Count: 90},
	}}
	f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]
	if !slices.Equal(f.Where, []timeline.Place{at("main.hash"), at("main.transform"), at("main.start.func1")}) {
		t.Errorf("%s %v", f.Title, f.Where)
	}
}

// A line of the program's own module is not in the sentence if only a small part of a wait in a
// dependency is reached from there.
func TestRarePlaceIsNotInTheSentence(t *testing.T) {
	const ms = time.Millisecond
	closes := timeline.Place{Func: "main.main", File: "/src/main.go", Line: 53}
	sync := timeline.Place{Func: "github.com/dgraph-io/badger/v4.sync", File: "/go/pkg/mod/github.com/dgraph-io/badger/v4@v4.9.6/x.go", Line: 62}
	writes := timeline.Place{Func: "github.com/dgraph-io/badger/v4.(*DB).doWrites", File: "/go/pkg/mod/github.com/dgraph-io/badger/v4@v4.9.6/db.go", Line: 976}
	for rare, led := range map[time.Duration]bool{100 * ms: false, 700 * ms: true} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 1, Capacity: time.Second, Rows: []ledger.Row{
			{Category: ledger.Outside, Group: writes.Func, Site: sync, Callers: []timeline.Place{writes}, Wait: "syscall", Beside: ledger.None, Time: 800*ms - rare, Count: 9},
			{Category: ledger.Outside, Group: "main.main", Site: sync, Callers: []timeline.Place{closes}, Wait: "syscall", Beside: ledger.None, Time: rare, Count: 1},
			{Category: ledger.Code, Group: "main.main", Site: closes, Time: 200 * ms, Count: 9},
		}}
		if f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]; strings.Contains(f.Title, closes.String()) != led || slices.Contains(f.Where, closes) != led {
			t.Errorf("%v: %s %v", rare, f.Title, f.Where)
		}
	}
}

// What ran while the processors of the rows that Top adds up were empty is not known.
func TestVerdictOnTheLargestRows(t *testing.T) {
	l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second}
	for i := range 20 {
		l.Rows = append(l.Rows, ledger.Row{Category: ledger.Idle, Group: "main.main", Wait: "waitgroup", Beside: fmt.Sprintf("main.work%d", i), Time: 100 * time.Millisecond, Count: 10})
	}
	f := diagnose.New(diagnose.Results{Ledger: l.Top(2)}).Findings[0]
	if want := "Too little parallel work: for 90% of the capacity, processors had nothing to run while others did."; f.Title != want {
		t.Errorf("%s, want %s", f.Title, want)
	}
}
