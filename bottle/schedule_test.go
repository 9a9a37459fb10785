package bottle

import (
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// schedule is a random history of goroutines: the calls that show it to an
// observer, and the segments that an oracle reads.
type schedule struct {
	begin, end timeline.Time
	segments   []segment
	procs      []procsFrom
	calls      []func(*driver)
}

// procsFrom is a value of GOMAXPROCS and its first time.
type procsFrom struct {
	from timeline.Time
	n    int64
}

// play shows the schedule to an observer. It can be repeated: goroutines are created again.
func (s *schedule) play(opt Options) (*Graph, *Observer) {
	d := drive(opt, s.begin)
	for _, call := range s.calls {
		call(d)
	}
	g := d.end()
	return g, d.o
}

// wantGroups determines the group of an application's goroutine independently of the groupings.
var wantGroups = map[string]func(a *actor) string{
	"function": func(a *actor) string { return a.fn },
	"creator": func(a *actor) string {
		if a.creator == "" {
			return "(creator not known)"
		}
		return a.creator
	},
	"goroutine": func(a *actor) string { return a.fn + " #" + strconv.FormatInt(a.id, 10) },
	"region": func(a *actor) string {
		if len(a.regions) == 0 {
			return "(no region)"
		}
		return a.regions[len(a.regions)-1]
	},
	"/main.(.)/": func(a *actor) string {
		if a.fn == "(unnamed)" {
			return "(no match)"
		}
		return a.fn[len("main."):]
	},
}

func groupingNamed(t testing.TB, name string) Grouping {
	t.Helper()
	if name == "/main.(.)/" {
		return ByRegexp(regexp.MustCompile("main.(.)"))
	}
	g, err := ParseGrouping(name)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// actor is a goroutine of the generator.
type actor struct {
	id          int64
	fn, creator string
	kind        timeline.Kind
	label       string
	assist      bool
	world       string
	regions     []string
	open        segment
	inRange     int                  // the call chain with which the current range began
	g           **timeline.Goroutine // of the current play
}

func (a *actor) key(how string) boxKey {
	switch {
	case a.world == "stop-the-world (GC mark termination)":
		return boxKey{a.world, GC}
	case a.world == "stop-the-world (start trace)":
		return boxKey{a.world, Tracer}
	case a.world != "":
		return boxKey{a.world, Runtime}
	case a.assist:
		return boxKey{"GC assist", GC}
	case a.label != "":
		return boxKey{a.label, GC}
	case a.kind == timeline.GC:
		return boxKey{a.fn, GC}
	case a.kind == timeline.Tracer:
		return boxKey{a.fn, Tracer}
	}
	return boxKey{wantGroups[how](a), Application}
}

func (a *actor) rangeNames() (ns []string) {
	if a.assist {
		ns = append(ns, "GC mark assist")
	}
	if a.world != "" {
		ns = append(ns, a.world)
	}
	return ns
}

// generator writes a schedule.
type generator struct {
	*schedule
	rng  *rand.Rand
	how  string
	now  timeline.Time
	ids  int64
	live []*actor
	// events counts, for the numbers of call chains
	events int
}

var functions = []string{"main.a", "main.b", "main.c", "main.d"}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

func randomSchedule(rng *rand.Rand, how string) *schedule {
	begin := timeline.Time(rng.Int64N(1 << 40))
	changes := rng.IntN(2) == 0
	g := &generator{schedule: &schedule{begin: begin}, rng: rng, how: how, now: begin}
	g.setProcs()
	for range rng.IntN(5) {
		g.enter(timeline.Unknown, g.state())
	}
	for range 20 + rng.IntN(150) {
		g.step()
		g.act()
		if changes && rng.IntN(20) == 0 {
			g.setProcs()
		}
	}
	g.now += 1 + timeline.Time(rng.Int64N(1000))
	now := g.now
	g.calls = append(g.calls, func(d *driver) { d.at(now) })
	for _, a := range g.live {
		g.close(a, 0, true)
	}
	g.end = g.now
	return g.schedule
}

// step lets time pass, or not.
func (g *generator) step() {
	switch g.rng.IntN(12) {
	case 0, 1, 2:
		return
	case 3:
		g.now += timeline.Time(g.rng.Int64N(1 << 30))
	case 4:
		g.now += 1
	case 5:
		if g.now < g.begin+1<<46 && g.rng.IntN(30) == 0 {
			g.now += 1<<46 + timeline.Time(g.rng.Int64N(1<<44)) // several hours
		}
	default:
		g.now += 64 * timeline.Time(g.rng.Int64N(1000))
	}
	now := g.now
	g.calls = append(g.calls, func(d *driver) { d.at(now) })
}

type stateWait struct {
	state timeline.State
	wait  timeline.Wait
}

func (g *generator) state() stateWait {
	waits := timeline.Waits()
	return pick(g.rng, []stateWait{
		{timeline.Runnable, timeline.WaitOther},
		{timeline.Running, timeline.WaitNone},
		{timeline.Running, timeline.WaitNone},
		{timeline.Running, timeline.WaitNone},
		{timeline.Syscall, timeline.WaitSyscall},
		{timeline.SyscallBlocked, timeline.WaitSyscall},
		{timeline.InC, timeline.WaitC},
		{timeline.InCDetached, timeline.WaitC},
		{timeline.InCUncounted, timeline.WaitC},
		{timeline.Waiting, pick(g.rng, waits)},
		{timeline.Waiting, timeline.WaitMutex},
	})
}

// callChain numbers the call chain of an event; 0 means none.
func (g *generator) callChain() int {
	g.events++
	return g.events * 7 % 11 % 6
}

// close ends the current segment of the actor, at an event with a call chain. left means that its
// state ends, too.
func (g *generator) close(a *actor, ended int, left bool) {
	s := a.open
	s.end, s.ended, s.left = g.now, ended, left
	g.segments = append(g.segments, s)
}

// changed ends a segment and begins the next one, in the same state.
func (g *generator) changed(a *actor, ended int) {
	s := a.open
	g.close(a, ended, false)
	a.open = segment{g: a.id, key: a.key(g.how), state: s.state, wait: s.wait, start: g.now, entered: s.entered}
}

// enters begins a segment in another state.
func (g *generator) enters(a *actor, to stateWait, calls int) {
	if a.open.g != 0 {
		g.close(a, calls, true)
	}
	a.open = segment{g: a.id, key: a.key(g.how), state: to.state, wait: to.wait, start: g.now, entered: calls}
}

func (g *generator) enter(from timeline.State, to stateWait) {
	g.ids++
	a := &actor{id: g.ids, fn: pick(g.rng, functions), creator: pick(g.rng, []string{"", "main.main", "main.a"}), g: new(*timeline.Goroutine)}
	switch g.rng.IntN(8) {
	case 0:
		a.fn, a.kind = "runtime.gcBgMarkWorker", timeline.GC
	case 1:
		a.fn, a.kind = "runtime/trace.Start.func1", timeline.Tracer
	case 2:
		a.fn = "(unnamed)"
	}
	fn := a.fn
	if fn == "(unnamed)" {
		fn = ""
	}
	calls := g.callChain()
	g.enters(a, to, calls)
	g.live = append(g.live, a)
	id, kind, creator := a.id, a.kind, a.creator
	g.calls = append(g.calls, func(d *driver) {
		*a.g = &timeline.Goroutine{ID: id, Func: fn, Kind: kind, By: &timeline.Creator{Func: creator}}
		d.calls = callChains[calls]
		d.enter(*a.g, from, to.state, to.wait)
	})
}

// act makes a random event.
func (g *generator) act() {
	if len(g.live) == 0 || g.rng.IntN(10) == 0 {
		g.enter(timeline.NotExist, stateWait{timeline.Runnable, timeline.WaitCreated})
		return
	}
	i := g.rng.IntN(len(g.live))
	a := g.live[i]
	calls := g.callChain()
	switch g.rng.IntN(14) {
	case 0:
		g.close(a, 0, true)
		g.live = append(g.live[:i], g.live[i+1:]...)
		g.calls = append(g.calls, func(d *driver) { d.exit(*a.g) })
	case 1, 2:
		if len(a.regions) > 0 && g.rng.IntN(2) == 0 {
			a.regions = a.regions[:len(a.regions)-1]
			g.calls = append(g.calls, func(d *driver) { d.calls = callChains[calls]; d.region(*a.g, "", "") })
		} else {
			r := pick(g.rng, []string{"parse", "write"})
			a.regions = append(a.regions, r)
			g.calls = append(g.calls, func(d *driver) { d.calls = callChains[calls]; d.region(*a.g, r, "") })
		}
		g.changed(a, calls)
	case 3:
		a.label = pick(g.rng, []string{"", "GC (dedicated)", "GC (idle)"})
		l := a.label
		g.calls = append(g.calls, func(d *driver) { d.label(*a.g, l) })
		g.changed(a, 0)
	case 4:
		begins := true
		switch {
		case g.rng.IntN(2) == 0:
			a.assist = !a.assist
			begins = a.assist
		case a.world != "":
			a.world = ""
			begins = false
		default:
			a.world = pick(g.rng, []string{"stop-the-world (GC mark termination)", "stop-the-world (start trace)", "stop-the-world (read mem stats)"})
		}
		ns := a.rangeNames()
		g.calls = append(g.calls, func(d *driver) { d.calls = callChains[calls]; d.ranges(*a.g, ns...); d.calls = nil })
		if begins {
			a.inRange = calls
		} else {
			calls, a.inRange = a.inRange, 0
		}
		g.changed(a, calls)
	case 5:
		if a.fn != "(unnamed)" {
			return
		}
		a.fn = pick(g.rng, functions)
		fn := a.fn
		g.calls = append(g.calls, func(d *driver) { d.name(*a.g, fn, timeline.Application) })
		g.changed(a, 0)
	default:
		to := g.state()
		g.enters(a, to, calls)
		g.calls = append(g.calls, func(d *driver) { d.calls = callChains[calls]; d.to(*a.g, to.state, to.wait) })
	}
}

// setProcs changes GOMAXPROCS, or repeats its value.
func (g *generator) setProcs() {
	n, now := 1+g.rng.Int64N(9), g.now
	g.procs = append(g.procs, procsFrom{now, n})
	g.calls = append(g.calls, func(d *driver) { d.at(now).gomaxprocs(int(n)) })
}
