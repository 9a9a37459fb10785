package tracewaits

import (
	"bytes"
	"fmt"
	"runtime"
	rtrace "runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/race"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/internal/waitlog"
	"github.com/bottleneck-go/bottleneck/timeline"
)

const (
	wLock   = "sync.(*Mutex).Lock < " + wrapperMethods + "Mutex).Lock < main."
	wUnlock = "sync.(*Mutex).Unlock < " + wrapperMethods + "Mutex).Unlock < main."
)

// told36 is the message about a wait in microseconds. The clock of the messages is a second ahead
// of that of the script.
func told36(g, start, waited, handOff, unattributed int64, parts ...waitlog.Part) string {
	w := waitlog.Wait{
		Lock: 5, Waiters: 2, Goroutine: uint64(g), Start: uint64(start)*1000 + 1e9, Waited: waited * 1000, HandOff: handOff * 1000,
		Unattributed: unattributed * 1000, Contended: waited * 1000, Name: `the "lock"`, Class: "main.T",
	}
	for _, p := range parts {
		p.From, p.Length, p.NS = p.From*1000, p.Length*1000, p.NS*1000
		w.Parts = append(w.Parts, p)
	}
	m := w.Messages()
	if len(m) != 1 {
		panic("too long")
	}
	return m[0]
}

func sent(at int64) string { return "1 w" + string(waitlog.AppendNumber(nil, uint64(at)*1000+1e9)) }

// Messages of wrapped locks replace what is inferred.
func TestTraceLogs(t *testing.T) {
	write := strings.NewReplacer("L:", wLock, "U:", wUnlock)
	// In the trace, 2 waits from 100 to 310, for 1 until 300. But 3 had the lock from 120 to
	// 180 without an event, and it was free from 180 to 190.
	const seen = `
		100 2 blocks mutex in L:f:10
		300 1 wakes 2 in U:h:12
		310 2 runs
		`
	parts := []waitlog.Part{
		{Number: 6, Goroutine: 1, From: 0, Length: 22, NS: 22}, {Number: 7, Goroutine: 3, From: 22, Length: 60, NS: 60},
		{Number: 8, Goroutine: 1, From: 92, Length: 110, NS: 110},
	}
	exact := told36(2, 98, 213, 21, 0, parts...)
	for _, tt := range []struct{ what, script, want string }{
		{"without messages", seen + "400 ends", `
			|mutex #1 main.f:10: 1 waited 200 = blamed 200 + hand-off 0 + unattributed 0; ready 10
			|  main.h:12: 200 of 1`},
		{"logged exactly, with a name, and once", seen + `
			120 1 logs 1 x SENT 5 6 in U:a:3
			180 3 logs 1 x SENT 5 7 in U:b:4
			301 1 logs 1 x SENT 5 8 in U:h:12
			330 2 logs ` + sent(330) + exact + `
			400 ends`, `
			|mutex [logged] #1 [the "lock"] main.f:10: 1 waited 213 = blamed 192 + hand-off 21 + unattributed 0; ready 0
			|  main.h:12: 110 of 1
			|  main.b:4: 60 of 1
			|  main.a:3: 22 of 1`},
		{"logged with the number of owners, whose messages have the times", seen + `
			121 1 logs 1 x SENT 5 6 rs n5c in U:a:3
			181 3 logs 1 x SENT 5 7 rs 1aao in U:b:4
			301 1 logs 1 x SENT 5 8 rs 2cvk in U:h:12
			330 2 logs ` + sent(330) + told36(2, 98, 213, 0, 0, waitlog.Part{Number: 8, Length: 213, NS: 213, Count: 3}) + `
			400 ends`, `
			|mutex [logged] #1 [the "lock"] main.f:10: 1 waited 213 = blamed 192 + hand-off 21 + unattributed 0; ready 0
			|  main.h:12: 110 of 1
			|  main.b:4: 60 of 1
			|  main.a:3: 22 of 1`},
		{"logged with the number of owners, one of which is missing", seen + `
			121 1 logs 1 x SENT 5 6 rs n5c in U:a:3
			301 1 logs 1 x SENT 5 8 rs 2cvk in U:h:12
			330 2 logs ` + sent(330) + told36(2, 98, 213, 0, 0, waitlog.Part{Number: 8, Length: 213, NS: 213, Count: 3}) + `
			400 ends`, `
			|mutex [logged] #1 [the "lock"] main.f:10: 1 waited 213 = blamed 132 + hand-off 0 + unattributed 81; ready 0
			|  main.h:12: 110 of 1
			|  main.a:3: 22 of 1`},
		{"logged by another goroutine, and late", seen + `
			301 1 logs 1 x SENT 5 8 in U:h:12
			320 2 blocks sleep in time.Sleep < main.z:1
			330 0 wakes 2
			331 2 runs
			390 3 logs ` + sent(389) + exact + `
			400 ends`, `
			|mutex [logged] #1 [the "lock"] main.f:10: 1 waited 213 = blamed 192 + hand-off 21 + unattributed 0; ready 0
			|  main.h:12: 110 of 1
			|  ?: 82 of 1
			|sleep #2 [timer] time.Sleep: 1 waited 10 = blamed 0 + hand-off 0 + unattributed 10; ready 1`},
		{"logged by another goroutine, before the waiter continues", seen + `
			301 1 logs 1 x SENT 5 8 in U:h:12
			330 3 logs ` + sent(330) + exact + `
			360 2 blocks sleep in time.Sleep < main.z:1
			370 0 wakes 2
			371 2 runs
			400 ends`, `
			|mutex [logged] #1 [the "lock"] main.f:10: 1 waited 213 = blamed 192 + hand-off 21 + unattributed 0; ready 0
			|  main.h:12: 110 of 1
			|  ?: 82 of 1
			|sleep #2 [timer] time.Sleep: 1 waited 10 = blamed 0 + hand-off 0 + unattributed 10; ready 1`},
		{"a message about another time changes nothing", seen + `
			330 2 logs ` + sent(330) + told36(2, 20, 50, 50, 0) + `
			400 ends`, `
			|mutex #1 main.f:10: 1 waited 200 = blamed 200 + hand-off 0 + unattributed 0; ready 10
			|  main.h:12: 200 of 1`},
		{"a message about another goroutine changes nothing", seen + `
			330 2 logs ` + sent(330) + told36(3, 98, 213, 213, 0) + `
			400 ends`, `
			|mutex #1 main.f:10: 1 waited 200 = blamed 200 + hand-off 0 + unattributed 0; ready 10
			|  main.h:12: 200 of 1`},
		{"a message about a lock of package sync changes nothing", strings.ReplaceAll(seen, "L:", mLock) + `
			330 2 logs ` + sent(330) + told36(2, 98, 213, 213, 0) + `
			400 ends`, `
			|mutex #1 main.f:10: 1 waited 200 = blamed 200 + hand-off 0 + unattributed 0; ready 10
			|  main.h:12: 200 of 1`},
		{"two blocks that are one wait", seen + `
			340 2 blocks mutex in L:f:10
			350 1 wakes 2 in U:h:12
			352 2 runs
			390 2 logs ` + sent(390) + told36(2, 98, 256, 0, 256) + `
			400 ends`, `
			|mutex [logged] #1 [the "lock"] main.f:10: 1 waited 256 = blamed 0 + hand-off 0 + unattributed 256; ready 0`},
		{"the message was held up for 600 µs after it was sent, one before it was not", seen + `
			180 3 logs 1 x SENT 5 7 in U:b:4
			930 2 logs ` + sent(330) + told36(2, 98, 213, 213, 0) + `
			999 ends`, `
			|mutex [logged] #1 [the "lock"] main.f:10: 1 waited 213 = blamed 0 + hand-off 213 + unattributed 0; ready 0`},
		{"a message about a wait that is not over changes nothing", seen + `
			330 2 logs ` + sent(330) + told36(2, 98, 1<<40, 1<<40, 0) + `
			400 ends`, `
			|mutex #1 main.f:10: 1 waited 200 = blamed 200 + hand-off 0 + unattributed 0; ready 10
			|  main.h:12: 200 of 1`},
		{"a wait that began before the trace", seen + `
			330 2 logs ` + sent(330) + told36(2, -5000, 5310, 5310, 0) + `
			400 ends`, `
			|mutex #1 main.f:10: 1 waited 200 = blamed 200 + hand-off 0 + unattributed 0; ready 10
			|  main.h:12: 200 of 1`},
		{"several waits, each with its message", seen + `
			340 2 blocks mutex in L:f:10
			350 1 wakes 2 in U:h:12
			352 2 runs
			360 2 logs ` + sent(360) + told36(2, 98, 213, 0, 213) + `
			390 2 logs ` + sent(390) + told36(2, 339, 13, 13, 0) + `
			400 ends`, `
			|mutex [logged] #1 [the "lock"] main.f:10: 2 waited 226 = blamed 0 + hand-off 13 + unattributed 213; ready 0`},
	} {
		t.Run(tt.what, func(t *testing.T) {
			p := play(t, Options{}, write.Replace(tt.script))
			if got, want := profileText(p), lines(tt.want); got != want {
				t.Errorf("\n got\n%s\n want\n%s", got, want)
			}
			logged := strings.Contains(tt.want, "logged")
			if warned := strings.Contains(strings.Join(p.Warnings, " "), "is exact"); warned != logged || p.Accuracy != contention.Inferred {
				t.Errorf("%s, %q", p.Accuracy, p.Warnings)
			}
			if l := p.Waits[0].Lock; logged && (l.Class != "main.T" || l.Waiters != 2 || l.Contended < 213*time.Microsecond || l.Longest < 213*time.Microsecond) {
				t.Errorf("%+v", l)
			}
		})
	}
}

// TestLoggedSplit: the owners of a part with several are split by the times of their messages.
func TestLoggedSplit(t *testing.T) {
	// A writer has an RWMutex from 0 to 1000. Then three readers hold it together, and leave at
	// 4600, 8200 and 11800. The next writer waits for them from 2000, and has it from 12000 to
	// 15000, and another one from 15100 to 19000. Nothing was logged about one after that.
	l := &traceLogs{exits: map[loggedExit]loggedOwner{}}
	for i, x := range []waitlog.Exit{
		{From: 0, To: 1000}, {From: 1000, To: 4600, Pending: 2000, Reader: true}, {From: 1000, To: 8200, Pending: 2000, Reader: true},
		{From: 1000, To: 11800, Pending: 2000, Reader: true}, {From: 12000, To: 15000, Pending: 2000}, {From: 15100, To: 19000},
	} {
		x.Number = uint64(i + 1)
		l.exits[loggedExit{5, x.Number}] = loggedOwner{Exit: x}
	}
	for _, tt := range []struct {
		what string
		w    waitlog.Wait
		part waitlog.Part
		want string // owner: ns, each
	}{
		{"a writer, behind all", waitlog.Wait{Kind: waitlog.Writer, Start: 500, Waited: 19500}, waitlog.Part{Number: 6, Count: 6},
			"1:500 2r:1200 3r:3000 4r:6600 5:3000 6:3900; 1300, 0"},
		{"a reader shares with the writer that waits, too", waitlog.Wait{Kind: waitlog.Reader, Start: 1000, Waited: 14100}, waitlog.Part{Number: 5, Count: 4},
			"2r:900 3r:2100 4r:3900 5p:3900 5:3000; 300, 0"},
		{"a reader, after one reader has left", waitlog.Wait{Kind: waitlog.Reader, Start: 4600, Waited: 10400}, waitlog.Part{Number: 5, Count: 3},
			"3r:1200 4r:3000 5p:3000 5:3000; 200, 0"},
		{"a message is missing", waitlog.Wait{Kind: waitlog.Mutex, Start: 15000, Waited: 5000}, waitlog.Part{Number: 7, Count: 2}, "6:3900; 0, 1100"},
		{"an owner was not seen", waitlog.Wait{Kind: waitlog.Mutex, Start: 15000, Waited: 5000}, waitlog.Part{Number: 6, Count: 1, Flags: waitlog.Missed}, "6:3900; 0, 1100"},
		{"shorter than its owners", waitlog.Wait{Kind: waitlog.Mutex, Start: 16000, Waited: 1000}, waitlog.Part{Number: 6, Count: 1}, "6:1000; 0, 0"},
	} {
		tt.w.Lock, tt.part.Length, tt.part.NS = 5, tt.w.Waited, tt.w.Waited
		tt.w.Parts = []waitlog.Part{tt.part}
		if err := tt.w.Check(); err != nil {
			t.Error(tt.what, err)
		}
		parts, handOff, unattributed := l.split(&tt.w)
		var got []string
		for _, p := range parts {
			got = append(got, fmt.Sprint(p.Number, map[waitlog.Flags]string{waitlog.ReadOwner: "r", waitlog.PendingWriter: "p"}[p.Flags], ":", p.NS))
		}
		if got := fmt.Sprintf("%s; %d, %d", strings.Join(got, " "), handOff, unattributed); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.what, got, tt.want)
		}
		tt.w.Parts, tt.w.HandOff, tt.w.Unattributed = parts, handOff, unattributed
		if err := tt.w.Check(); err != nil {
			t.Error(tt.what, err)
		}
	}
}

// TestTraceLogAfterCut: a message does not count time again that is in an earlier profile.
func TestTraceLogAfterCut(t *testing.T) {
	write := strings.NewReplacer("L:", wLock, "U:", wUnlock)
	s := newScript(t, Options{})
	s.play(write.Replace(`
		100 2 blocks mutex in L:f:10
		1000 1 wakes 2 in U:h:12
		1010 2 runs
		1020 2 stops
		1050 2 runs`))
	before := s.o.Cut(1060_000)
	s.play(write.Replace(`
		1070 2 blocks mutex in L:f:10
		1200 1 wakes 2 in U:h:12
		1210 2 runs
		1220 2 logs ` + sent(1220) + told36(2, 100, 1110, 1110, 0) + `
		1300 ends`))
	p := contention.Merge(before, s.o.Profile())
	checkRows(t, p)
	if waited, _, _, _ := totals(p); waited != 1030*time.Microsecond {
		t.Errorf("waited %v\n%s", waited, profileText(p))
	}
}

// TestTraceLogRoots: the activity of the owner is that of the time given in the message.
func TestTraceLogRoots(t *testing.T) {
	p := play(t, Options{}, strings.NewReplacer("L:", wLock, "U:", wUnlock).Replace(`
		100 2 blocks mutex in L:f:10
		150 1 blocks chan-receive in runtime.chanrecv1 < main.r:1
		200 3 wakes 1 in runtime.chansend1 < main.s:1
		200 1 runs
		300 1 wakes 2 in U:h:12
		301 1 logs 1 x SENT 5 6 in U:h:12
		310 2 runs
		330 2 logs `+sent(330)+told36(2, 100, 210, 30, 0, waitlog.Part{Number: 6, Goroutine: 1, From: 20, Length: 180, NS: 180})+`
		400 ends`))
	const want = `
		|mutex main.f:10 for main.h:12: 180 = running 130 chan-receive 50
		|  root main.h:12: 130 of 1
		|  root main.s:1: 50 of 1 via chan-receive, 1 links
		|chan-receive main.r:1 for main.s:1: 50 = running 50`
	if got := rootsText(p); got != lines(want) {
		t.Errorf("\n%s", got)
	}
}

// TestTraceLogsForeign: a message that no lock wrote is counted. Everything else is as if it did
// not exist.
func TestTraceLogsForeign(t *testing.T) {
	good := sent(330) + told36(2, 98, 213, 213, 0)
	texts := []string{
		"", "1", "2 w", "hello, world", "1 x", "1 x 5", "1 x 5 6", "1 x 5 6 7 8", "1 x 5 6 -7", "1 y 5", "1 w", "1 w a b c", good + " 1,2,3,4,5,6",
		strings.Replace(good, " 4kco ", " 4kcp ", 1), strings.Replace(good, `"main.T"`, `"main.T`, 1), good[:len(good)-1],
		strings.Replace(good, "1 w", "3 w", 1),
	}
	s := newScript(t, Options{})
	s.play(strings.NewReplacer("L:", wLock, "U:", wUnlock).Replace(`
		100 2 blocks mutex in L:f:10
		300 1 wakes 2 in U:h:12
		310 2 runs`))
	for _, m := range texts {
		s.o.Log(&timeline.Log{Time: 330_000, G: s.gs[2], Category: waitlog.Category, Message: m})
	}
	s.o.Log(&timeline.Log{Time: 330_000, G: s.gs[2], Category: "something else", Message: good})
	s.o.Log(&timeline.Log{Time: 330_000, Category: waitlog.Category, Message: good})
	s.play("400 ends")
	p := s.o.Profile()
	checkConservation(t, p)
	if len(p.Waits) != 1 || p.Waits[0].Flags != 0 || p.Waits[0].Waited != 200*time.Microsecond {
		t.Errorf("%s", profileText(p))
	}
	if want := fmt.Sprint(len(texts), " log messages of the category"); !strings.Contains(strings.Join(p.Warnings, " "), want) {
		t.Errorf("%q, want %s", p.Warnings, want)
	}
}

// TestTraceOfWrappers: the profile of a trace equals that of the wrappers, to the nanosecond.
func TestTraceOfWrappers(t *testing.T) {
	var buf bytes.Buffer
	if err := rtrace.Start(&buf); err != nil {
		t.Skip(err)
	}
	collecting(t, contention.Options{Exact: true, Goroutines: true})
	a, b := contention.NewMutex("a"), contention.NewMutex("b")
	rw := contention.NewRWMutex("rw")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 5 {
				switch {
				case i%2 == 0:
					ownerOne(a, 2*time.Millisecond)
				default:
					ownerTwo(b, time.Millisecond)
					ownerTwo(a, time.Millisecond)
				}
				if i == 3 {
					rw.Lock()
				} else {
					rw.RLock()
				}
				time.Sleep(time.Millisecond)
				if i == 3 {
					rw.Unlock()
				} else {
					rw.RUnlock()
				}
			}
		})
	}
	wg.Wait()
	live := contention.Snapshot()
	rtrace.Stop()
	if err := contention.Stop(); err != nil {
		t.Fatal(err)
	}
	p, err := readTrace(&buf, Options{Goroutines: true})
	if err != nil {
		t.Fatal(err)
	}
	checkConservation(t, p)
	if len(live.Waits) == 0 {
		t.Skip("no contention")
	}
	for i := range p.Pairs {
		if q := &p.Pairs[i]; q.Flags&contention.Logged != 0 && (q.Waiter.Goroutine == 0 || q.Owner.Goroutine == 0) {
			t.Errorf("a row of messages without goroutines: %+v", q)
		}
	}
	type key struct {
		kind                   string
		lock, waiter, owner    string
		waiterG, ownerG        uint64
		flags                  uint32
		contentions            int64
		blamed, wait, off, una time.Duration
	}
	rows := func(p *contention.Profile, flag uint32) map[key]int {
		out := map[key]int{}
		for _, w := range p.Waits {
			if w.Flags&contention.Logged == flag && w.Lock.Name != "" {
				out[key{w.Kind, w.Lock.Name + w.Lock.Class, w.Waiter.Stack.Frames[0].String(), "", w.Waiter.Goroutine, 0, w.Flags &^ contention.Logged, w.Contentions, w.Blamed, w.Waited, w.HandOff, w.Unattributed}]++
			}
		}
		for _, q := range p.Pairs {
			if callstack.Goid() == 0 {
				break // only the trace identifies owners: it has more rows
			}
			if q.Flags&contention.Logged == flag && q.Lock.Name != "" {
				out[key{q.Kind, q.Lock.Name + q.Lock.Class, q.Waiter.Stack.Frames[0].String(), q.Owner.Stack.Frames[0].String(), q.Waiter.Goroutine, q.Owner.Goroutine, q.Flags &^ contention.Logged, q.Contentions, q.Blamed, 0, 0, 0}]++
			}
		}
		return out
	}
	got, want := rows(p, contention.Logged), rows(live, 0)
	missing := 0
	for k := range want {
		if got[k] == 0 {
			missing++
			t.Logf("not in the trace: %+v", k)
		}
		delete(got, k)
	}
	for k := range got {
		t.Logf("only in the trace: %+v", k)
	}
	// A waiter may have acquired the lock while spinning, which is no wait in the trace.
	switch logged, all := waitedBy(p, contention.Logged), waitedBy(live, 0); {
	case callstack.Goid() != 0 && (missing*4 > len(want) || len(want) < 8):
		t.Errorf("%d of %d rows are not the same", missing, len(want))
	case logged > all || logged < all-all/4: // of the few rows without owners, one wait more or less changes many
		t.Errorf("%v of waiting is logged, want about %v", logged, all)
	}
	var inferred, logged int64
	for _, w := range p.Waits {
		switch {
		case !lockKind(w.Kind) || !strings.Contains(w.Waiter.Stack.String(), "TestTraceOfWrappers"):
		case w.Flags&contention.Logged != 0:
			logged += w.Contentions
		default:
			inferred += w.Contentions
		}
	}
	if inferred*5 > logged { // sometimes a goroutine waits for a lock of the wrappers
		t.Errorf("%d waits are inferred, %d are logged", inferred, logged)
	}
	if runtime.GOOS == "linux" && !strings.Contains(strings.Join(p.Warnings, " "), "is exact") {
		t.Errorf("%q", p.Warnings)
	}
}

// TestWaitingOfWrappersJoinsTheTrace: eight goroutines hold a lock in turn for 10 µs each. At
// least 95 % of the waiting in the profile of the trace is what the wrapper logged. Waiting for
// the profiler's own locks is less than a tenth of that, and has a row of its own.
func TestWaitingOfWrappersJoinsTheTrace(t *testing.T) {
	tries := ""
	for range 5 { // a preempted goroutine may delay messages for long
		var buf bytes.Buffer
		if err := rtrace.Start(&buf); err != nil {
			t.Skip(err)
		}
		if err := contention.Start(contention.Options{Exact: true}); err != nil {
			t.Fatal(err)
		}
		m := contention.NewMutex("busy")
		together(8, 100*time.Millisecond, func() int64 {
			m.Lock()
			spin(10 * time.Microsecond)
			m.Unlock()
			return 1
		})
		live := contention.Snapshot()
		contention.Stop()
		rtrace.Stop()
		p, err := readTrace(&buf, Options{})
		if err != nil {
			t.Fatal(err)
		}
		checkConservation(t, p)
		all := waitedBy(live, 0)
		if all == 0 {
			continue
		}
		var profilers time.Duration
		for _, w := range p.Waits {
			own := strings.Contains(w.Waiter.Stack.String(), wrapperMethods) || w.Lock.Class == profilerLock
			if lockKind(w.Kind) && own && w.Waiter.Stack.Frames[0].Func != profilerLock {
				t.Errorf("the profiler's own work is where the program waited: %s", w.Waiter.Stack)
			}
			if w.Lock.Class == profilerLock {
				profilers += w.Waited
			}
		}
		joined, own := float64(waitedBy(p, contention.Logged))/float64(all), float64(profilers)/float64(all)
		tries += fmt.Sprintf("%.1f %% of the waiting joins the trace, and the profiler's own is %.1f %% of it\n", 100*joined, 100*own)
		if joined >= 0.95 && (own < 0.1 || race.Enabled) { // the race detector slows the profiler most
			t.Log(tries)
			return
		}
	}
	if tries == "" {
		t.Skip("no goroutine waited")
	}
	t.Error(tries)
}

// waitedBy is the time of the waits for named locks with the given flag.
func waitedBy(p *contention.Profile, flag uint32) (d time.Duration) {
	for i := range p.Waits {
		if w := &p.Waits[i]; w.Flags&contention.Logged == flag && w.Lock.Name != "" {
			d += w.Waited
		}
	}
	return d
}

func lockKind(k string) bool {
	return k == contention.MutexKind || k == contention.RWMutexReaderKind || k == contention.RWMutexWriterKind
}

func FuzzLogMessages(f *testing.F) {
	testenv.BriefFuzzing(f)
	f.Add("1 x 9 5 6")
	f.Add(sent(330) + told36(2, 98, 213, 213, 0))
	f.Add(sent(330) + told36(2, 98, 213, 13, 0, waitlog.Part{Number: 6, Goroutine: 1, From: 20, Length: 200, NS: 200, Flags: waitlog.ReadOwner}))
	f.Add("1 p 1,2,3,4,5,6")
	f.Fuzz(func(t *testing.T, message string) {
		s := newScript(t, Options{})
		s.play(strings.NewReplacer("L:", wLock, "U:", wUnlock).Replace(`
			100 2 blocks mutex in L:f:10
			300 1 wakes 2 in U:h:12
			310 2 runs`))
		for _, at := range []timeline.Time{330_000, 331_000} {
			s.o.Log(&timeline.Log{Time: at, G: s.gs[2], Category: waitlog.Category, Message: message, Stack: s.stack("main.f:13")})
		}
		s.play("400 ends")
		p := s.o.Profile()
		checkConservation(t, p)
		if len(p.Waits) != 1 || p.Waits[0].Contentions != 1 {
			t.Errorf("%s", profileText(p))
		}
	})
}

// TestTieFindsTheClockOffset: the offset of the messages' clock is found even if single messages
// are delayed, and if that clock is one percent slower.
func TestTieFindsTheClockOffset(t *testing.T) {
	for _, slower := range []timeline.Time{0, 100} { // by one part in slower
		var l traceLogs
		for i := range timeline.Time(1000) {
			at := 1_000_000 + 20_000*i
			sent := 7_000_000_000 + at
			if slower != 0 {
				sent -= at / slower
			}
			late := 500 + 13*(i%7)
			if i%5 != 0 {
				late += 3_000_000
			}
			l.tie(&timeline.Log{Time: at + late}, uint64(sent))
			if off := at - sent - l.offset; i > 0 && (off > 15_000 || off < -1000) {
				t.Fatalf("slower by 1/%d: after %d messages the offset is wrong by %d ns", slower, i+1, off)
			}
		}
	}
}
