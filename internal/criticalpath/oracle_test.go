package criticalpath

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"testing"
	"time"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/critical"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/internal/tracetasks"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// oracle keeps all events of a trace and walks back over them, as the definition says.
type oracle struct {
	timeline.Base
	seq     int
	begin   timeline.Time
	lives   map[*timeline.Goroutine]*life
	ends    []candidate
	stopper int64
	sums    map[string]map[critical.Row]time.Duration
	elapsed map[string]time.Duration
	longest map[string]time.Duration
	count   map[string]int64
}

// life is what happened to a goroutine, in order.
type life struct {
	group  string
	events []event
	ran    timeline.Time
}

// event ends a piece of a life. With jump, the goroutine was woken by another one or created; first
// is its first event.
type event struct {
	seq   int
	at    timeline.Time
	row   critical.Row
	jump  *life
	first bool
}

type candidate struct {
	*life
	seq              int
	at, ran          timeline.Time
	id               int64
	program, running bool
}

func newOracle() *oracle {
	return &oracle{lives: map[*timeline.Goroutine]*life{}, sums: map[string]map[critical.Row]time.Duration{}, elapsed: map[string]time.Duration{}, longest: map[string]time.Duration{}, count: map[string]int64{}}
}

func placeOf(s *timeline.Stack) (p timeline.Place) {
	if f := s.Site(); f != nil {
		p = timeline.Place{Func: f.Func, File: f.File, Line: f.Line}
	}
	return p
}

func (l *life) add(seq int, at timeline.Time, what string, s *timeline.Stack) {
	l.events = append(l.events, event{seq: seq, at: at, row: critical.Row{What: what, Group: l.group, Site: placeOf(s)}})
}

func (o *oracle) Begin(t timeline.Time, _ int) { o.begin = t }

func (o *oracle) Range(e *timeline.Span) {
	if e.Begin && e.Name == "stop-the-world (stop trace)" && e.G != nil {
		o.stopper = e.G.ID
	}
}

func (o *oracle) Named(g *timeline.Goroutine, t timeline.Time) {
	o.seq++
	if l := o.lives[g]; l != nil {
		if g.State() == timeline.Running {
			l.add(o.seq, t, critical.Running, nil)
		}
		l.group = g.Name()
	}
}

// waits are the kinds of waits that no goroutine of the program ends, and when the trace shows no
// waker.
var waits = map[timeline.Wait][2]string{
	timeline.WaitNetwork:     {critical.Network, critical.Network},
	timeline.WaitSleep:       {critical.Timer, critical.Timer},
	timeline.WaitGC:          {critical.Runtime, critical.Runtime},
	timeline.WaitRuntime:     {critical.Runtime, critical.Runtime},
	timeline.WaitSelect:      {"", critical.Timer},
	timeline.WaitChanReceive: {"", critical.Timer},
}

func (o *oracle) Transition(t *timeline.Transition) {
	o.seq++
	l := o.lives[t.G]
	now, what, stack, by := t.End, critical.Unattributed, t.Stack, (*life)(nil)
	if t.Waker != nil && t.Waker != t.G && t.Waker.State() == timeline.Running && t.Waker.Kind == timeline.Application {
		by = o.lives[t.Waker]
	}
	if l == nil {
		l = &life{group: t.G.Name()}
		o.lives[t.G] = l
		if t.State != timeline.NotExist || waits[t.Wait][0] != "" {
			by = nil
		}
		if by != nil {
			by.add(o.seq, now, critical.Running, t.WakerStack)
		}
		l.events = append(l.events, event{seq: o.seq, at: now, jump: by, first: true})
		o.leave(l, t)
		return
	}
	switch t.State {
	case timeline.Running:
		what, stack, l.ran = critical.Running, t.G.Stack(), now
	case timeline.Runnable:
		what = critical.Scheduling
		if t.Wait == timeline.WaitCreated {
			stack = t.G.Creator().Stack
		}
	case timeline.InC, timeline.InCDetached, timeline.InCUncounted:
		what = critical.C
	case timeline.Syscall, timeline.SyscallBlocked:
		if what = critical.Syscall; t.Wait == timeline.WaitCThread {
			what = critical.C
		}
	case timeline.Waiting:
		switch w := waits[t.Wait]; {
		case w[0] != "":
			what = w[0]
		case t.Waker != nil && t.Waker.Kind != timeline.Application:
			what = critical.Runtime
		case by != nil:
			by.add(o.seq, now, critical.Running, t.WakerStack)
			l.events = append(l.events, event{seq: o.seq, at: now, jump: by})
			o.leave(l, t)
			return
		case t.Waker == nil && t.To != timeline.Unknown && w[1] != "":
			what = w[1]
		}
	}
	l.add(o.seq, now, what, stack)
	o.leave(l, t)
}

func (o *oracle) leave(l *life, t *timeline.Transition) {
	if t.To == timeline.Unknown {
		o.ends = append(o.ends, candidate{l, o.seq, t.End, l.ran, t.G.ID, t.G.Kind == timeline.Application, t.State.Runs()})
	}
	if !t.To.Alive() {
		delete(o.lives, t.G)
	}
}

func (o *oracle) End(t timeline.Time) {
	sort.SliceStable(o.ends, func(i, k int) bool {
		a, b := &o.ends[i], &o.ends[k]
		no := func(b bool) int {
			if b {
				return 0
			}
			return 1
		}
		late := func(c *candidate) bool { return c.id == o.stopper && c.id != 1 }
		ran := 0
		if !a.running && !b.running {
			ran = cmp.Compare(b.ran, a.ran)
		}
		return cmp.Or(no(a.program)-no(b.program), no(!late(a))-no(!late(b)), no(a.running)-no(b.running), ran, cmp.Compare(a.id, b.id)) < 0
	})
	if len(o.ends) > 0 {
		o.walk(critical.Program, o.ends[0].life, o.ends[0].seq, o.begin, t)
	}
}

// taskEnds is Observer.TaskEnds.
func (o *oracle) taskEnds(g *timeline.Goroutine, class string, stack *timeline.Stack, begin, now timeline.Time) {
	o.seq++
	l := o.lives[g]
	if l == nil {
		return
	}
	var what string
	switch g.State() {
	case timeline.Running:
		what = critical.Running
	case timeline.Runnable:
		what = critical.Scheduling
	case timeline.Syscall, timeline.SyscallBlocked:
		what = critical.Syscall
	case timeline.Waiting:
		what = cmp.Or(waits[g.Wait()][0], critical.Unattributed)
	default:
		what = critical.C
	}
	if g.State() != timeline.Running {
		stack = g.Stack()
	}
	l.add(o.seq, now, what, stack)
	o.walk(class, l, o.seq, begin, now)
}

// walk adds up the path that ends with a life at an event.
func (o *oracle) walk(class string, l *life, seq int, begin, now timeline.Time) {
	if o.sums[class] == nil {
		o.sums[class] = map[critical.Row]time.Duration{}
	}
	o.elapsed[class] += time.Duration(now - begin)
	o.longest[class] = max(o.longest[class], time.Duration(now-begin))
	o.count[class]++
	add := func(r critical.Row, from timeline.Time) {
		if from = max(from, begin); now > from {
			o.sums[class][r] += time.Duration(now - from)
			now = from
		}
	}
	upTo := func(l *life) int {
		return sort.Search(len(l.events), func(i int) bool { return l.events[i].seq > seq }) - 1
	}
	for i := upTo(l); now > begin; {
		e := &l.events[i]
		if e.at != now {
			panic(fmt.Sprintf("an event at %d, the path is at %d", e.at, now))
		}
		switch {
		case e.jump != nil:
			l, seq = e.jump, e.seq
			i = upTo(l)
		case e.first:
			add(critical.Row{What: critical.Unattributed}, begin)
		default:
			add(e.row, l.events[i-1].at)
			i--
		}
	}
}

// compareWith compares a profile with what the oracle finds. If the profile has forgotten a part,
// it may have less time of each kind, but not more, except for what is unattributed.
func (o *oracle) compareWith(t *testing.T, p *critical.Profile) {
	t.Helper()
	if err := p.CheckValid(); err != nil {
		t.Error(err)
	}
	if len(p.Paths) != len(o.sums) {
		t.Errorf("%d classes, want %d", len(p.Paths), len(o.sums))
	}
	for i := range p.Paths {
		path := &p.Paths[i]
		if path.Elapsed != o.elapsed[path.Class] || path.Count != o.count[path.Class] || path.Longest != o.longest[path.Class] {
			t.Errorf("%s: %d in %v, longest %v, want %d in %v, longest %v", path.Class, path.Count, path.Elapsed, path.Longest, o.count[path.Class], o.elapsed[path.Class], o.longest[path.Class])
		}
		rows := o.sums[path.Class]
		if len(p.Warnings) == 0 && len(path.Rows) != len(rows) {
			t.Errorf("%s: %d rows, want %d", path.Class, len(path.Rows), len(rows))
		}
		for _, r := range path.Rows {
			got := r.Time
			r.Time = 0
			if want := rows[r]; got != want && !(len(p.Warnings) > 0 && (got < want || r.What == critical.Unattributed)) {
				t.Errorf("%s: %v of %+v, want %v", path.Class, got, r, want)
			}
		}
	}
}

// follow lets an observer and an oracle follow the tasks of a trace.
func follow(o *Observer, truth *oracle) tracetasks.Options {
	return tracetasks.Options{Begins: o.TaskBegins, Ends: func(g *timeline.Goroutine, class string, stack *timeline.Stack, begin, now timeline.Time) {
		o.TaskEnds(g, class, stack, begin, now)
		if g != nil {
			truth.taskEnds(g, class, stack, begin, now)
		}
	}}
}

// On all recorded traces, the paths are those of the backward walk, to the nanosecond, however
// often chains are folded, and sum to the elapsed time if a part of them is forgotten.
func TestRecordedTraces(t *testing.T) {
	var files []string
	for _, pattern := range testenv.Some([]string{"small/*.trace*", "real/*.trace*"}) {
		some, err := filepath.Glob(filepath.Join("..", "..", "testdata", pattern))
		if err != nil || len(some) < 6 {
			t.Fatalf("%s: %d traces, %v", pattern, len(some), err)
		}
		files = append(files, some...)
	}
	for _, file := range files {
		for _, limits := range [][2]int{{leastNodes, mostNodes}, {2, mostNodes}, {2, 64}} {
			t.Run(fmt.Sprint(filepath.Base(file), limits), func(t *testing.T) {
				o, truth := NewObserver(false), newOracle()
				o.least, o.limit, o.most = limits[0], limits[0], limits[1]
				if _, err := timeline.ReadFile(context.Background(), file, timeline.Options{}, tracetasks.NewObserver(follow(o, truth)), o, truth); err != nil {
					t.Fatal(err)
				}
				p := o.Profile()
				truth.compareWith(t, p)
				if n := len(o.nodes) - len(o.free); n != 1 || o.tasks != 0 {
					t.Errorf("%d nodes and %d tasks are left, want 1 and 0", n, o.tasks)
				}
				if n := len(o.nodes); limits[1] < mostNodes && n > limits[1]+2 {
					t.Errorf("%d nodes, want at most %d", n, limits[1]+2)
				}
			})
		}
	}
}

// schedule shows observers a random schedule with tasks that begin and end.
func schedule(seed uint64, o *Observer, truth *oracle) {
	r := rand.New(rand.NewPCG(seed, 2))
	both := func(f func(timeline.Observer)) { f(o); f(truth) }
	now := timeline.Time(1000)
	both(func(o timeline.Observer) { o.Begin(now, 26) })
	type actor struct {
		g     *timeline.Goroutine
		tasks []timeline.Time
	}
	var stacks []*timeline.Stack
	for i := range 5 {
		s := &timeline.Stack{Frames: []*timeline.Frame{{Func: fmt.Sprintf("main.at%d", i/2), Line: i}}}
		*field[*timeline.Frame](reflect.ValueOf(s).Elem(), "site") = s.Frames[0]
		stacks = append(stacks, s)
	}
	anyStack := func() *timeline.Stack {
		if i := r.IntN(len(stacks) + 1); i < len(stacks) {
			return stacks[i]
		}
		return nil
	}
	var actors []*actor
	free := []int{}
	for i := range 12 {
		free = append(free, i)
	}
	turn := func(a *actor, to timeline.State, wait timeline.Wait, waker *actor) {
		t := &timeline.Transition{To: to}
		t.G, t.State, t.Wait, t.Start, t.End, t.Stack = a.g, a.g.State(), a.g.Wait(), a.g.Since(), now, a.g.Stack()
		if waker != nil {
			t.Waker, t.WakerStack = waker.g, anyStack()
		}
		cur := reflect.ValueOf(a.g).Elem().FieldByName("cur")
		if t.State == timeline.NotExist && to == timeline.Runnable {
			wait = timeline.WaitCreated
		} else if t.State == timeline.Running {
			*field[*timeline.Stack](cur, "stack") = anyStack()
		} else if to == timeline.Runnable {
			wait = t.Wait
		}
		*field[timeline.State](cur, "state"), *field[timeline.Wait](cur, "wait"), *field[timeline.Time](cur, "since") = to, wait, now
		both(func(o timeline.Observer) { o.Transition(t) })
	}
	ids := int64(0)
	appear := func(from, to timeline.State, by *actor) {
		if len(free) == 0 {
			return
		}
		ids++
		g := &timeline.Goroutine{ID: ids, Index: free[0], Func: fmt.Sprintf("main.f%d", ids%3)}
		free = free[1:]
		if ids%9 == 8 {
			g.Func, g.Kind = "runtime.gcBgMarkWorker", timeline.GC
		}
		*field[timeline.State](reflect.ValueOf(g).Elem().FieldByName("cur"), "state") = from
		a := &actor{g: g}
		actors = append(actors, a)
		turn(a, to, timeline.WaitChanReceive, by)
	}
	kinds := slices.DeleteFunc(timeline.Waits(), func(w timeline.Wait) bool { return w == timeline.WaitCThread })
	for range 1 + r.IntN(6) {
		appear(timeline.Unknown, []timeline.State{timeline.Waiting, timeline.Running, timeline.Runnable}[r.IntN(3)], nil)
	}
	most := 1 + r.IntN(8)
	over := func(a *actor, i int) {
		begin := a.tasks[i]
		a.tasks = slices.Delete(a.tasks, i, i+1)
		class := fmt.Sprintf("class%d", begin%2)
		if r.IntN(8) == 0 {
			o.TaskEnds(nil, class, nil, begin, now)
			return
		}
		s := anyStack()
		o.TaskEnds(a.g, class, s, begin, now)
		truth.taskEnds(a.g, class, s, begin, now)
	}
	for range 20 + r.IntN(600) {
		now += timeline.Time(r.IntN(1000) * r.IntN(2))
		if len(actors) == 0 {
			appear(timeline.NotExist, timeline.Runnable, nil)
			continue
		}
		a := actors[r.IntN(len(actors))]
		switch to := r.IntN(16); a.g.State() {
		case timeline.Running:
			switch {
			case to == 0:
				turn(a, timeline.Runnable, timeline.WaitPreempted, nil)
			case to == 1:
				turn(a, timeline.Syscall, timeline.WaitSyscall, nil)
			case to == 2:
				a.g.Func = fmt.Sprintf("main.f%d", r.IntN(3))
				both(func(o timeline.Observer) { o.Named(a.g, now) })
			case to < 5 && len(a.tasks) < most:
				o.TaskBegins(now)
				a.tasks = append(a.tasks, now)
			case to < 8 && len(a.tasks) > 0:
				over(a, r.IntN(len(a.tasks)))
			case to == 8:
				appear(timeline.NotExist, timeline.Runnable, a)
			case to == 9:
				for len(a.tasks) > 0 {
					over(a, 0)
				}
				turn(a, timeline.NotExist, timeline.WaitNone, nil)
				free = append(free, a.g.Index)
				actors = slices.DeleteFunc(actors, func(b *actor) bool { return b == a })
			case to < 12:
				for _, b := range actors {
					if b.g.State() == timeline.Waiting && r.IntN(2) == 0 {
						turn(b, timeline.Runnable, 0, a)
					}
				}
			default:
				turn(a, timeline.Waiting, kinds[r.IntN(len(kinds))], nil)
			}
		case timeline.Runnable:
			turn(a, timeline.Running, timeline.WaitNone, nil)
		case timeline.Syscall:
			turn(a, []timeline.State{timeline.Running, timeline.SyscallBlocked}[r.IntN(2)], timeline.WaitSyscall, nil)
		case timeline.SyscallBlocked:
			turn(a, timeline.Runnable, timeline.WaitSyscall, nil)
		case timeline.Waiting:
			switch {
			case to < 4:
				turn(a, timeline.Runnable, 0, nil)
			case to == 4:
				turn(a, timeline.Runnable, 0, actors[r.IntN(len(actors))])
			case to == 5 && len(a.tasks) > 0:
				over(a, 0)
			}
		}
	}
	for _, a := range actors {
		for len(a.tasks) > 0 {
			over(a, 0)
		}
	}
	slices.SortFunc(actors, func(a, b *actor) int { return cmp.Compare(a.g.ID, b.g.ID) })
	for _, a := range actors {
		turn(a, timeline.Unknown, timeline.WaitNone, nil)
	}
	both(func(o timeline.Observer) { o.End(now) })
}

func field[T any](v reflect.Value, name string) *T {
	return (*T)(unsafe.Pointer(v.FieldByName(name).UnsafeAddr()))
}

// The paths of random schedules are those of the backward walk.
func TestRandomSchedules(t *testing.T) {
	forgot, rows := 0, 0
	for seed := range uint64(testenv.Rounds(3000)) {
		o, truth := NewObserver(false), newOracle()
		o.least = int(seed % 5)
		if o.limit = o.least; seed%3 == 0 {
			o.most = 4 + int(seed%16)
		}
		schedule(seed, o, truth)
		p := o.Profile()
		if len(truth.ends) == 0 {
			p.Paths = slices.DeleteFunc(p.Paths, func(p critical.Path) bool { return p.Class == critical.Program })
		}
		if o.forgot {
			forgot++
		}
		for i := range p.Paths {
			rows += len(p.Paths[i].Rows)
		}
		if truth.compareWith(t, p); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if forgot < testenv.Rounds(250) || rows < testenv.Rounds(30000) {
		t.Errorf("only %d schedules forget something, and all have %d rows", forgot, rows)
	}
}
