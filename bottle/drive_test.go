package bottle

import (
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// driver replaces the replay: it shows an Observer a hand-written schedule, with the goroutines'
// fields as they are at each call.
type driver struct {
	o    *Observer
	now  timeline.Time
	free []int // indexes of exited goroutines
	next int
	live map[*timeline.Goroutine]bool
	// calls is the call chain of the next event, which resets it.
	calls *timeline.Stack
}

func (d *driver) takeCalls() *timeline.Stack {
	calls := d.calls
	d.calls = nil
	return calls
}

// drive begins a trace of Go 1.26 at time t.
func drive(opt Options, t timeline.Time) *driver {
	d := &driver{o: NewObserver(opt), now: t, live: map[*timeline.Goroutine]bool{}}
	d.o.Begin(t, 26)
	return d
}

// at advances the time.
func (d *driver) at(t timeline.Time) *driver {
	if t < d.now {
		panic("the schedule goes back in time")
	}
	d.now = t
	return d
}

// appear shows a goroutine that is older than the trace.
func (d *driver) appear(g *timeline.Goroutine, to timeline.State, w timeline.Wait) *timeline.Goroutine {
	return d.enter(g, timeline.Unknown, to, w)
}

// born shows the start of a goroutine.
func (d *driver) born(g *timeline.Goroutine) *timeline.Goroutine {
	return d.enter(g, timeline.NotExist, timeline.Runnable, timeline.WaitCreated)
}

func (d *driver) enter(g *timeline.Goroutine, from, to timeline.State, w timeline.Wait) *timeline.Goroutine {
	g.Index = d.next
	if n := len(d.free); n > 0 {
		g.Index, d.free = d.free[n-1], d.free[:n-1]
	} else {
		d.next++
	}
	setState(g, from, timeline.WaitNone)
	d.live[g] = true
	d.to(g, to, w)
	return g
}

// to shows a transition.
func (d *driver) to(g *timeline.Goroutine, to timeline.State, w timeline.Wait) {
	tr := &timeline.Transition{To: to}
	tr.G, tr.State, tr.Wait, tr.End = g, g.State(), g.Wait(), d.now
	setState(g, to, w)
	setCalls(g, d.takeCalls())
	d.o.Transition(tr)
	if !to.Alive() {
		delete(d.live, g)
		d.free = append(d.free, g.Index)
	}
}

func (d *driver) run(g *timeline.Goroutine)                    { d.to(g, timeline.Running, timeline.WaitNone) }
func (d *driver) ready(g *timeline.Goroutine)                  { d.to(g, timeline.Runnable, g.Wait()) }
func (d *driver) block(g *timeline.Goroutine, w timeline.Wait) { d.to(g, timeline.Waiting, w) }
func (d *driver) exit(g *timeline.Goroutine)                   { d.to(g, timeline.NotExist, timeline.WaitNone) }

// region opens a user region, or closes the innermost one if typ is "".
func (d *driver) region(g *timeline.Goroutine, typ, task string) {
	e := &timeline.Span{Time: d.now, G: g, Begin: typ != "", Stack: d.takeCalls()}
	if e.Begin {
		e.Name, e.Task, e.Start = typ, task, d.now
		extend(g)
		g.Extra.Regions = append(g.Extra.Regions, *e)
	} else {
		last := len(g.Extra.Regions) - 1
		r := g.Extra.Regions[last]
		e.Name, e.Task, e.Start = r.Name, r.Task, r.Start
		g.Extra.Regions = g.Extra.Regions[:last]
	}
	d.o.Region(e)
}

func (d *driver) label(g *timeline.Goroutine, l string) {
	extend(g)
	g.Extra.Label = l
	d.o.Label(g, d.now)
}

func (d *driver) name(g *timeline.Goroutine, fn string, k timeline.Kind) {
	g.Func, g.Kind = fn, k
	d.o.Named(g, d.now)
}

// ranges sets the open ranges of the runtime on a goroutine.
func (d *driver) ranges(g *timeline.Goroutine, names ...string) {
	old := openRanges(g)
	setRanges(g, names)
	for _, n := range old {
		if !slices.Contains(names, n) {
			d.o.Range(&timeline.Span{Time: d.now, Name: n, OfG: true, G: g})
		}
	}
	for _, n := range names {
		if !slices.Contains(old, n) {
			d.o.Range(&timeline.Span{Time: d.now, Name: n, Begin: true, OfG: true, G: g, Stack: d.takeCalls()})
		}
	}
}

func (d *driver) gomaxprocs(n int) {
	d.o.Metric(d.now, "/sched/gomaxprocs:threads", uint64(n), false)
}

// end ends the trace and returns its graph.
func (d *driver) end() *Graph {
	for g := range d.live {
		d.to(g, timeline.Unknown, timeline.WaitNone)
	}
	d.o.End(d.now)
	return d.o.Graph()
}

// boxNamed finds a box by name. The test fails unless there is exactly one.
func boxNamed(t testing.TB, g *Graph, name string) *Box {
	t.Helper()
	var found *Box
	for i := range g.Boxes {
		if g.Boxes[i].Group == name {
			if found != nil {
				t.Fatalf("two boxes %q: %v", name, names(g))
			}
			found = &g.Boxes[i]
		}
	}
	if found == nil {
		t.Fatalf("no box %q: %v", name, names(g))
	}
	return found
}

func names(g *Graph) (ns []string) {
	for i := range g.Boxes {
		ns = append(ns, g.Boxes[i].Group)
	}
	slices.Sort(ns)
	return ns
}

// The replay owns the state, the wait and the ranges of a Goroutine; here the driver replaces the
// replay.

func hidden[T any](v reflect.Value, field string) *T {
	return (*T)(unsafe.Pointer(v.FieldByName(field).UnsafeAddr()))
}

func setState(g *timeline.Goroutine, s timeline.State, w timeline.Wait) {
	cur := reflect.ValueOf(g).Elem().FieldByName("cur")
	*hidden[timeline.State](cur, "state") = s
	*hidden[timeline.Wait](cur, "wait") = w
}

func setCalls(g *timeline.Goroutine, calls *timeline.Stack) {
	cur := reflect.ValueOf(g).Elem().FieldByName("cur")
	*hidden[*timeline.Stack](cur, "stack") = calls
}

func openRanges(g *timeline.Goroutine) (names []string) {
	if g.Extra == nil {
		return nil
	}
	rs := reflect.ValueOf(g.Extra).Elem().FieldByName("ranges")
	for i := range rs.Len() {
		names = append(names, rs.Index(i).FieldByName("name").String())
	}
	return names
}

func setRanges(g *timeline.Goroutine, names []string) {
	extend(g)
	f := reflect.ValueOf(g.Extra).Elem().FieldByName("ranges")
	rs := reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
	rs.Set(reflect.MakeSlice(f.Type(), len(names), len(names)))
	for i, n := range names {
		*hidden[string](rs.Index(i), "name") = n
	}
}

// extend makes g.Extra if it is nil.
func extend(g *timeline.Goroutine) {
	if g.Extra == nil {
		f := reflect.ValueOf(&g.Extra).Elem()
		f.Set(reflect.New(f.Type().Elem()))
	}
}
