package speedup

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// A run in words: a line a goroutine, with what it does and since when, in nanoseconds.
//
//	w 0 run 10 mutex 20 ready 25 run 30 exit
//
// The first letter is the kind: w a worker, m another goroutine of the application (main), g
// the collector, r the runtime, t the tracer, and x is no goroutine but the world: "x 5 GC mark
// termination 7 go". States are run, assist, syscall, blocked, ready, exit, and the names of waits;
// "(type" begins a region, ")" ends one, at once. The last line is the end: "end 40".
type words struct {
	lives []life
	end   timeline.Time
}

type life struct {
	kind byte
	acts []act
}

type act struct {
	at   timeline.Time
	what string
}

func parseWords(t testing.TB, text string) (w words) {
	t.Helper()
	for line := range strings.Lines(strings.ReplaceAll(text, ";", "\n")) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if f[0] == "end" {
			n, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			w.end = timeline.Time(n)
			continue
		}
		l := life{kind: f[0][0]}
		for _, word := range f[1:] {
			if n, err := strconv.Atoi(word); err == nil {
				l.acts = append(l.acts, act{at: timeline.Time(n)})
			} else if a := &l.acts[len(l.acts)-1]; a.what == "" {
				a.what = word
			} else {
				a.what += " " + word
			}
		}
		w.lives = append(w.lives, l)
	}
	return w
}

var kinds = map[byte]struct {
	fn   string
	kind timeline.Kind
}{
	'w': {"main.work", timeline.Application},
	'm': {"main.other", timeline.Application},
	'g': {"runtime.gcBgMarkWorker", timeline.GC},
	'r': {"runtime.bgscavenge", timeline.Runtime},
	't': {"runtime/trace.Start.func1", timeline.Tracer},
}

func stateOf(t testing.TB, what string) (timeline.State, timeline.Wait) {
	switch what {
	case "run", "assist":
		return timeline.Running, timeline.WaitNone
	case "syscall":
		return timeline.Syscall, timeline.WaitSyscall
	case "blocked":
		return timeline.SyscallBlocked, timeline.WaitSyscall
	case "ready":
		return timeline.Runnable, timeline.WaitOther
	case "exit":
		return timeline.NotExist, timeline.WaitNone
	}
	for _, w := range timeline.Waits() {
		if w.String() == what {
			return timeline.Waiting, w
		}
	}
	t.Fatalf("no state %q", what)
	return 0, 0
}

// play shows a run to observers.
func (w words) play(t testing.TB, procs int, observers ...timeline.Observer) {
	for _, o := range observers {
		o.Begin(0, 26)
		if procs > 0 {
			o.Metric(0, "/sched/gomaxprocs:threads", uint64(procs), false)
		}
	}
	type event struct {
		act
		life int
	}
	var events []event
	for i, l := range w.lives {
		for _, a := range l.acts {
			events = append(events, event{a, i})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	p := &player{t: t, observers: observers, gs: make([]*timeline.Goroutine, len(w.lives)), world: map[int]string{}}
	for _, e := range events {
		p.act(e.life, w.lives[e.life].kind, e.act)
	}
	for i, g := range p.gs {
		if g != nil {
			p.step(i, w.end, timeline.Unknown, timeline.WaitNone)
		}
	}
	for _, o := range observers {
		o.End(w.end)
	}
}

type player struct {
	t         testing.TB
	observers []timeline.Observer
	gs        []*timeline.Goroutine
	world     map[int]string
}

func (p *player) act(i int, kind byte, a act) {
	if kind == 'x' {
		r := &timeline.Span{Time: a.at, OfG: true, G: &timeline.Goroutine{Index: 1000}, Proc: -1}
		if a.what == "go" {
			r.Name = p.world[i]
		} else {
			r.Name, r.Begin = "stop-the-world ("+a.what+")", true
			p.world[i] = r.Name
		}
		for _, o := range p.observers {
			o.Range(r)
		}
		return
	}
	g := p.gs[i]
	if g == nil {
		k := kinds[kind]
		g = &timeline.Goroutine{ID: int64(i + 1), Index: i, Func: k.fn, Kind: k.kind}
		setState(g, timeline.NotExist, timeline.WaitNone)
		p.gs[i] = g
	}
	if strings.HasPrefix(a.what, "(") || a.what == ")" {
		p.region(g, a)
		return
	}
	if assist := a.what == "assist"; assist != g.InRange(assistRange) {
		setAssist(g, assist)
		for _, o := range p.observers {
			o.Range(&timeline.Span{Time: a.at, Name: assistRange, Begin: assist, OfG: true, G: g})
		}
	}
	s, w := stateOf(p.t, a.what)
	p.step(i, a.at, s, w)
}

func (p *player) region(g *timeline.Goroutine, a act) {
	e := &timeline.Span{Time: a.at, G: g, Begin: a.what != ")"}
	if e.Begin {
		typ, task, _ := strings.Cut(a.what[1:], "@")
		e.Name, e.Task, e.Start = typ, task, a.at
		extend(g)
		g.Extra.Regions = append(g.Extra.Regions, *e)
	} else {
		last := len(g.Extra.Regions) - 1
		r := g.Extra.Regions[last]
		e.Name, e.Task, e.Start = r.Name, r.Task, r.Start
		g.Extra.Regions = g.Extra.Regions[:last]
	}
	for _, o := range p.observers {
		o.Region(e)
	}
}

func (p *player) step(i int, at timeline.Time, s timeline.State, w timeline.Wait) {
	g := p.gs[i]
	tr := &timeline.Transition{To: s}
	tr.G, tr.State, tr.Wait, tr.End = g, g.State(), g.Wait(), at
	setState(g, s, w)
	for _, o := range p.observers {
		o.Transition(tr)
	}
	if s == timeline.NotExist {
		p.gs[i] = nil
	}
}

// The replay owns the state and the ranges of a Goroutine; here the player replaces the replay.

func setState(g *timeline.Goroutine, s timeline.State, w timeline.Wait) {
	cur := reflect.ValueOf(g).Elem().FieldByName("cur")
	*(*timeline.State)(unsafe.Pointer(cur.FieldByName("state").UnsafeAddr())) = s
	*(*timeline.Wait)(unsafe.Pointer(cur.FieldByName("wait").UnsafeAddr())) = w
}

func setAssist(g *timeline.Goroutine, on bool) {
	extend(g)
	f := reflect.ValueOf(g.Extra).Elem().FieldByName("ranges")
	rs := reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
	n := 0
	if on {
		n = 1
	}
	rs.Set(reflect.MakeSlice(f.Type(), n, n))
	if on {
		*(*string)(unsafe.Pointer(rs.Index(0).FieldByName("name").UnsafeAddr())) = assistRange
	}
}

// workers selects the goroutines w of words.
var workers = byFunction("main.work")

// account plays a run in words.
func accountOf(t testing.TB, text string, procs int, cfg Options) *account {
	t.Helper()
	if cfg.by.match == nil {
		cfg.by = workers
	}
	o := newObserver(cfg)
	parseWords(t, text).play(t, procs, o)
	a := o.Account()
	checkSums(t, a)
	return a
}

// inWords formats the times of an account: "run 30, sync-mutex 10".
func inWords(a *account) string {
	var parts []string
	for c := range Component(NumComponents) {
		if d := a.Time[c]; d != 0 {
			parts = append(parts, fmt.Sprintf("%v %d", c, int64(d)))
		}
	}
	return strings.Join(parts, ", ")
}

// checkSums checks the integer identities that hold for every run.
func checkSums(t testing.TB, a *account) {
	t.Helper()
	sum := func(a *account) (d time.Duration) {
		for c, x := range a.Time {
			if x < 0 {
				t.Errorf("%v is negative: %d", Component(c), x)
			}
			d += x
		}
		return d
	}
	if got, want := sum(a), time.Duration(a.N)*a.Wall; got != want {
		t.Errorf("the lane times sum to %d, want %d · %d = %d", got, a.N, a.Wall, want)
	}
	var solo time.Duration
	for c, x := range a.Solo {
		if x < 0 {
			t.Errorf("%v alone is negative: %d", Component(c), x)
		}
		solo += x
	}
	if solo < a.Wall || a.Idle > a.Wall || a.Company > a.Wall {
		t.Errorf("alone %d, idle %d, company %d, wall %d", solo, a.Idle, a.Company, a.Wall)
	}
	var whole account
	at := time.Duration(0)
	for i, w := range a.Windows {
		if got, want := sum(w), time.Duration(w.N)*w.Wall; got != want || w.N != a.N || w.Start != at {
			t.Errorf("window %d from %d with %d lanes: the lane times sum to %d, want %d", i, w.Start, w.N, got, want)
		}
		at += w.Wall
		whole.add(w)
	}
	if len(a.Windows) > 0 && (whole.Time != a.Time || whole.Solo != a.Solo || whole.Wall != a.Wall || whole.Idle != a.Idle || whole.Company != a.Company) {
		t.Errorf("the windows sum to %v, the whole is %v", whole.Time, a.Time)
	}
}

// extend makes g.Extra if it is nil.
func extend(g *timeline.Goroutine) {
	if g.Extra == nil {
		f := reflect.ValueOf(&g.Extra).Elem()
		f.Set(reflect.New(f.Type().Elem()))
	}
}
