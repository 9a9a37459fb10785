package ledger

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// stacksHold returns an error of the stacks of a ledger: those of a lost row must sum to it, and no
// other row may have any.
func stacksHold(l *Ledger) string {
	left := map[string]time.Duration{}
	key := func(r *Row) string {
		return fmt.Sprintf("%q", []any{r.Category, r.Group, r.Site, r.Wait, r.Waker, r.WakerSite, r.Beside})
	}
	for i := range l.Rows {
		if r := &l.Rows[i]; !r.Used() && r.Time != 0 {
			left[key(r)] = r.Time
		}
	}
	for i := range l.Stacks {
		s := &l.Stacks[i]
		if s.Calls != nil && placeOf(s.Calls.Site()) != s.Site || s.WakerCalls != nil && s.Waker != "" && placeOf(s.WakerCalls.Site()) != s.WakerSite {
			return fmt.Sprintf("stack %+v is of another place", s)
		}
		k := key(s)
		if left[k] -= s.Time; left[k] == 0 {
			delete(left, k)
		}
	}
	for k, d := range left {
		return fmt.Sprintf("%s: the stacks lack %v", k, d)
	}
	return ""
}

func TestStacksSumToRows(t *testing.T) {
	for seed := range uint64(testenv.Rounds(300)) {
		opt := Options{Stacks: true}
		if seed%3 == 1 {
			opt.From, opt.To = 5*time.Millisecond, 40*time.Millisecond
		}
		l, _, _, _ := play(seed, opt)
		if wrong := stacksHold(l); wrong != "" {
			t.Fatalf("seed %d: %s", seed, wrong)
		}
	}
	traces(t, func(t *testing.T, file string) {
		with, without := NewObserver(Options{Stacks: true}), NewObserver(Options{})
		part := NewObserver(Options{Stacks: true, From: 10 * time.Millisecond, To: 100 * time.Millisecond})
		read(t, file, with, without, part)
		l := with.Ledger()
		for _, l := range []*Ledger{l, part.Ledger()} {
			if wrong := stacksHold(l); wrong != "" {
				t.Error(wrong)
			}
		}
		if len(l.Stacks) == 0 {
			t.Error("nothing was lost")
		}
		l.Stacks = nil
		plain := without.Ledger()
		for _, l := range []*Ledger{l, plain} {
			for i := range l.Rows {
				l.Rows[i].Callers = nil // those of a joined row are the last ones
			}
		}
		if !reflect.DeepEqual(l, plain) {
			t.Error("with stacks, the ledger is another than without")
		}
	})
}

// player shows an observer what goroutines do, from the beginning of a trace at 1000.
func player(o *Observer, procs uint64) func(at timeline.Time, g *timeline.Goroutine, to timeline.State, change func(*timeline.Transition)) {
	o.Begin(1000, 26)
	o.Metric(1000, procsMetric, procs, false)
	return func(at timeline.Time, g *timeline.Goroutine, to timeline.State, change func(*timeline.Transition)) {
		tr := &timeline.Transition{To: to}
		tr.G, tr.State, tr.Wait, tr.End, tr.Stack = g, g.State(), g.Wait(), at, g.Stack()
		cur := reflect.ValueOf(g).Elem().FieldByName("cur")
		*field[timeline.State](cur, "state") = to
		if change != nil {
			change(tr)
			*field[timeline.Wait](cur, "wait"), *field[*timeline.Stack](cur, "stack") = tr.Wait, tr.Stack
		}
		o.Transition(tr)
	}
}

func chain(functions ...string) *timeline.Stack {
	s := &timeline.Stack{}
	for i, fn := range functions {
		s.Frames = append(s.Frames, &timeline.Frame{Func: fn, Line: i + 1})
	}
	return s
}

// A loop that looks at an atomic variable is as often between two looks. Only what was preempted in one
// is shared, in whatever order the rows of the line are joined.
func TestPartlySharedCode(t *testing.T) {
	loop, other := chain("main.loop"), chain("sync/atomic.(*Int64).Load", "main.loop")
	loop.Frames[0].Line = 2
	for _, s := range []*timeline.Stack{loop, other} {
		*field[*timeline.Frame](reflect.ValueOf(s).Elem(), "site") = s.Root()
	}
	for range 9 {
		o := NewObserver(Options{})
		show := player(o, 1)
		g := &timeline.Goroutine{ID: 1, Index: 0, Func: "main.loop"}
		for i, stack := range []*timeline.Stack{loop, other} {
			show(timeline.Time(1000+100_000*i), g, timeline.Running, nil)
			*field[*timeline.Stack](reflect.ValueOf(g).Elem().FieldByName("cur"), "stack") = stack
			show(timeline.Time(51_000+100_000*i), g, timeline.Runnable, nil)
		}
		o.End(201_000)
		rows := o.Ledger().Rows
		r := rows[slices.IndexFunc(rows, func(r Row) bool { return r.Category == Code })]
		if r.Site.Line != 2 || r.Time != 100_000 || r.Shared != 50_000 || r.Callee != "sync/atomic.(*Int64).Load" {
			t.Fatalf("%v: %v of %v shared, calls %q", r.Site, r.Shared, r.Time, r.Callee)
		}
	}
}

// Code counts as shared if it was preempted in an atomic operation or in a reader's method of an
// RWMutex. A wait for a lock does not show where the goroutine ran before.
func TestSharedCode(t *testing.T) {
	for _, tt := range []struct {
		to     timeline.State
		stack  *timeline.Stack
		shared bool
	}{
		{timeline.Runnable, chain("sync/atomic.(*Int64).Add", "main.record", "main.loop"), true},
		{timeline.Runnable, chain("runtime.asyncPreempt2", "runtime.asyncPreempt", "sync.(*RWMutex).RLock", "main.get", "main.loop"), true},
		{timeline.Runnable, chain("runtime.lock2", "runtime.sellock", "runtime.selectgo", "main.poll", "main.loop"), true},
		{timeline.Waiting, chain("runtime.selectgo", "main.poll", "main.loop"), false},
		{timeline.Runnable, chain("runtime.memmove", "main.copy", "runtime.selectgo", "main.loop"), false},
		{timeline.Waiting, chain("sync.(*RWMutex).RLock", "main.get", "main.loop"), false},
		{timeline.Runnable, chain("sync.(*Mutex).Unlock", "main.get", "main.loop"), false},
		{timeline.Runnable, chain("main.get", "main.loop"), false},
	} {
		o := NewObserver(Options{})
		show := player(o, 1)
		g := &timeline.Goroutine{ID: 1, Index: 0, Func: "main.loop"}
		show(1000, g, timeline.Running, nil)
		// A goroutine's own stack is that of the transition.
		*field[*timeline.Stack](reflect.ValueOf(g).Elem().FieldByName("cur"), "stack") = tt.stack
		show(51_000, g, tt.to, nil)
		o.End(101_000)
		l := o.Ledger()
		shared := time.Duration(0)
		for _, r := range l.Rows {
			shared += r.Shared
		}
		if err := l.CheckValid(); err != nil || (shared == 50_000) != tt.shared || !tt.shared && shared != 0 {
			t.Errorf("%s to %v: shared for %v, want %v; %v", tt.stack, tt.to, shared, tt.shared, err)
		}
	}
}

func TestSystemCall(t *testing.T) {
	for want, s := range map[string]*timeline.Stack{
		"read":       chain("syscall.Syscall", "syscall.read", "syscall.Read", "internal/poll.(*FD).Read", "main.get"),
		"fstatat":    chain("syscall.RawSyscall6", "internal/syscall/unix.Fstatat", "os.(*File).Stat", "main.get"),
		"flock":      chain("internal/runtime/syscall.Syscall6", "golang.org/x/sys/unix.Syscall", "golang.org/x/sys/unix.Flock", "main.get"),
		"createfile": chain("runtime.syscall_syscalln", "syscall.SyscallN", "syscall.CreateFile", "main.get"),
		"":           chain("main.get", "syscall.read"),
	} {
		if got := systemCall(s); got != want {
			t.Errorf("%v: %q, want %q", s, got, want)
		}
	}
	if systemCall(nil) != "" {
		t.Error("no call chain has a system call")
	}
}

// What runs up to the end of a fork is the system call that forks, and not code. A goroutine that all
// others are woken with waited for the last one to arrive.
func TestForkAndBroadcast(t *testing.T) {
	o := NewObserver(Options{})
	show := player(o, 1)
	g, h := &timeline.Goroutine{ID: 1, Index: 0, Func: "main.run"}, &timeline.Goroutine{ID: 2, Index: 1, Func: "main.run"}
	fork := chain("syscall.read", "syscall.forkExec", "os.StartProcess", "main.start", "main.run")
	all := chain("sync.(*Cond).Broadcast", "main.arrive", "main.run")
	for s, name := range map[*timeline.Stack]string{fork: "forks", all: "wakes"} {
		*field[bool](reflect.ValueOf(s).Elem(), name) = true
		*field[*timeline.Frame](reflect.ValueOf(s).Elem(), "site") = s.Frames[len(s.Frames)-2]
	}
	show(1000, g, timeline.Running, nil)
	*field[*timeline.Stack](reflect.ValueOf(g).Elem().FieldByName("cur"), "stack") = fork
	show(51_000, g, timeline.Waiting, nil)
	show(71_000, h, timeline.Runnable, func(tr *timeline.Transition) {
		tr.State, tr.Wait, tr.Waker, tr.WakerStack = timeline.Waiting, timeline.WaitCond, g, all
	})
	show(71_000, h, timeline.Running, nil)
	o.End(101_000)
	l := o.Ledger()
	var forked, woken time.Duration
	for _, r := range l.Rows {
		if r.Category == Syscall && r.Site.Func == "main.start" && r.Callee == "os.StartProcess" {
			forked += r.Time
		}
		if r.All && r.Waker == "main.run" && r.WakerSite.Func == "main.arrive" {
			woken += r.Time
		}
	}
	if forked != 50_000 || woken != 20_000 {
		t.Errorf("forked for %d ns, want 50,000; idle until all were woken for %d ns, want 20,000: %+v", forked, woken, l.Rows)
	}
}

// What the runtime's goroutines run of the program, its finalizers, has a place; the rest has none.
func TestFinalizersHaveAPlace(t *testing.T) {
	for site, want := range map[int]string{0: "runtime.runFinalizers main.close", 1: " "} {
		o := NewObserver(Options{})
		show := player(o, 1)
		g := &timeline.Goroutine{ID: 1, Index: 0, Kind: timeline.Runtime, Func: "runtime.runFinalizers"}
		calls := chain("main.close", "runtime.runFinalizers")
		*field[*timeline.Frame](reflect.ValueOf(calls).Elem(), "site") = calls.Frames[site]
		show(1000, g, timeline.Running, nil)
		*field[*timeline.Stack](reflect.ValueOf(g).Elem().FieldByName("cur"), "stack") = calls
		show(51_000, g, timeline.Runnable, nil)
		o.End(101_000)
		l := o.Ledger()
		i := slices.IndexFunc(l.Rows, func(r Row) bool { return r.Category == Runtime })
		if i < 0 || l.Rows[i].Time != 50_000 || l.Rows[i].Group+" "+l.Rows[i].Site.Func != want {
			t.Errorf("want a row of %q: %+v", want, l.Rows)
		}
	}
}

// One goroutine computes, then wakes another one that is missing on the second processor.
func TestStacksOfWait(t *testing.T) {
	o := NewObserver(Options{Stacks: true})
	show := player(o, 2)
	sender, receiver := &timeline.Goroutine{ID: 1, Index: 0, Func: "main.send"}, &timeline.Goroutine{ID: 2, Index: 1, Func: "main.receive"}
	waited, woke := chain("runtime.chanrecv1", "main.get", "main.receive"), chain("main.put", "main.send")
	show(1000, sender, timeline.Running, nil)
	show(1000, receiver, timeline.Waiting, func(t *timeline.Transition) { t.Wait, t.Stack = timeline.WaitChanReceive, waited })
	show(51_000, receiver, timeline.Runnable, func(t *timeline.Transition) {
		t.Wait, t.Stack, t.Waker, t.WakerStack = timeline.WaitChanReceive, waited, sender, woke
	})
	show(81_000, receiver, timeline.Running, nil)
	show(101_000, sender, timeline.Unknown, nil)
	show(101_000, receiver, timeline.Unknown, nil)
	o.End(101_000)
	l := o.Ledger()
	if wrong := stacksHold(l); wrong != "" {
		t.Error(wrong)
	}
	got := map[string]time.Duration{}
	for _, s := range l.Stacks {
		got[fmt.Sprintf("%s: %s, woken by %s", s.Category, s.Calls, s.WakerCalls)] += s.Time
	}
	want := map[string]time.Duration{
		"idle: " + waited.String() + ", woken by " + woke.String(): 50_000,
		"wake-up: " + waited.String() + ", woken by ":              30_000,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// A processor that is empty beside a goroutine that runs does not wait for one that has little to
// do.
func TestSpareProcessors(t *testing.T) {
	const ms = timeline.Time(time.Millisecond)
	for _, tt := range []struct {
		ran, sleeps timeline.Time
		want        string
	}{
		{ms / 10, 10 * ms, Idle},    // it looks at something at times
		{5 * ms, 10 * ms, Outside},  // it works
		{45 * ms, 50 * ms, Outside}, // it works
		{90 * ms, 500 * ms, Idle},   // it sleeps once for long
	} {
		o := NewObserver(Options{Stacks: true})
		show := player(o, 2)
		main, tick := &timeline.Goroutine{ID: 1, Index: 0, Func: "main.main"}, &timeline.Goroutine{ID: 2, Index: 1, Func: "main.tick"}
		sleeps := func(t *timeline.Transition) { t.Wait = timeline.WaitSleep }
		show(1000, main, timeline.Running, nil)
		show(1000, tick, timeline.Waiting, sleeps)
		now := timeline.Time(1000)
		for range 5 {
			now += tt.sleeps
			show(now, tick, timeline.Runnable, sleeps)
			show(now, tick, timeline.Running, nil)
			now += tt.ran
			show(now, tick, timeline.Waiting, sleeps)
			if tt.sleeps > 100*ms {
				break
			}
		}
		show(now, main, timeline.Unknown, nil)
		show(now, tick, timeline.Unknown, nil)
		o.End(now)
		l := o.Ledger()
		if wrong := stacksHold(l); wrong != "" || l.CheckValid() != nil {
			t.Error(wrong, l.CheckValid())
		}
		empty := l.Sum(func(r *Row) bool {
			return r.Category == tt.want && r.Beside == "main.main" && (r.Group == "") == (tt.want == Idle)
		})
		if want := time.Duration(now-1000) - l.Sum(func(r *Row) bool { return r.Group == "main.tick" && r.Category == Code }); empty != want {
			t.Errorf("%v of %v: %s for %v, want %v; %v", tt.ran, tt.sleeps, tt.want, empty, want, l.Rows)
		}
	}
}

// A gap that the collector interrupted, and that is far longer than the wait at its end, is not
// explained by that wait.
func TestShortWaitDoesNotExplainLongGap(t *testing.T) {
	const ms = timeline.Time(time.Millisecond)
	o := NewObserver(Options{})
	show := player(o, 3)
	g := func(i int, name string, kind timeline.Kind) *timeline.Goroutine {
		return &timeline.Goroutine{ID: int64(i + 1), Index: i, Func: name, Kind: kind}
	}
	main, work := g(0, "main.main", timeline.Application), g(1, "main.work", timeline.Application)
	sweep, mark := g(2, "runtime.bgsweep", timeline.GC), g(3, "runtime.gcBgMarkWorker", timeline.GC)
	waits := func(t *timeline.Transition) { t.Wait = timeline.WaitGC }
	at := func(now timeline.Time, g *timeline.Goroutine, to timeline.State) {
		change := waits
		if to == timeline.Running || to == timeline.Unknown {
			change = nil
		}
		show(1000+now, g, to, change)
	}
	at(0, main, timeline.Running)
	at(0, work, timeline.Running)
	at(50*ms, sweep, timeline.Running) // on the third processor
	at(51*ms, sweep, timeline.Waiting)
	at(100*ms, work, timeline.Waiting)
	at(100*ms+1000, sweep, timeline.Running)
	at(100*ms+2000, sweep, timeline.Waiting)
	at(100*ms+3000, mark, timeline.Running) // where work had run
	at(100*ms+50_000, work, timeline.Runnable)
	at(100*ms+50_000, work, timeline.Running)
	for _, g := range []*timeline.Goroutine{main, work, mark} {
		at(101*ms, g, timeline.Unknown)
	}
	o.End(1000 + 101*ms)
	l := o.Ledger()
	if err := l.CheckValid(); err != nil {
		t.Fatal(err)
	}
	spare := l.Sum(func(r *Row) bool { return r.Category == Idle && r.Group == "" })
	if waited := l.Sum(func(r *Row) bool { return r.Empty() && r.Group == "main.work" }); spare < 95*time.Millisecond || waited > time.Millisecond {
		t.Errorf("%v without a group, %v for the wait; %v", spare, waited, l.Rows)
	}
}
