package timeline

import (
	"fmt"
	"testing"
	"time"
)

// checker is an Observer that checks every call against the guarantees of a pass. It is independent
// of the implementation.
type checker struct {
	strict bool // the trace is well formed: processors are exclusive

	failures []string
	begun    bool
	ended    bool
	start    Time
	now      Time
	gs       map[int64]*checkedG
	indexes  map[int]int64 // Index → ID of the live goroutine that has it
	onProc   map[int32]int64
	left     map[int64]bool // for Unknown, since the latest gap
	away     map[int64]bool // before that gap
	running  int            // goroutines on a P, with or without a known one

	// GOMAXPROCS may become known only after the first goroutines have run, so each interval
	// between two values of the metric is checked at its end.
	gomaxprocs uint64
	peak       int // most goroutines on a P at once since the metric's last value
	known      bool

	transitions int
	goroutines  int
	maxLive     int
	maxIndex    int
	calls       int
}

type checkedG struct {
	state State
	index int
	proc  int32
	since Time
	born  Time   // first seen
	lived Time   // sum of the intervals
	name  string // the latest one
}

func newChecker() *checker {
	return &checker{strict: true, gs: map[int64]*checkedG{}, indexes: map[int]int64{}, onProc: map[int32]int64{}, left: map[int64]bool{}}
}

func (c *checker) failf(format string, args ...any) {
	if len(c.failures) < 10 {
		c.failures = append(c.failures, fmt.Sprintf(format, args...))
	}
}

// call checks the guarantees of every call.
func (c *checker) call(what string, t Time) {
	c.calls++
	switch {
	case !c.begun:
		c.failf("%s before Begin", what)
	case c.ended:
		c.failf("%s after End", what)
	case t < c.now:
		c.failf("%s: time goes back from %d to %d", what, c.now, t)
	}
	c.now = max(c.now, t)
}

func (c *checker) Begin(t Time, _ int) {
	if c.begun {
		c.failf("Begin a second time")
	}
	c.begun, c.start, c.now = true, t, t
}

func (c *checker) Transition(tr *Transition) {
	c.call("Transition", tr.End)
	c.transitions++
	id := tr.G.ID
	g := c.gs[id]
	if tr.End < tr.Start {
		c.failf("goroutine %d: an interval of %d ns", id, tr.End-tr.Start)
	}
	if tr.To != tr.G.State() {
		c.failf("goroutine %d: goes to %v, but is in %v", id, tr.To, tr.G.State())
	}
	if tr.State >= numStates || tr.To >= numStates || tr.Wait >= numWaits {
		c.failf("goroutine %d: state %d to %d, wait %d", id, tr.State, tr.To, tr.Wait)
	}
	if g == nil {
		if tr.State != Unknown && tr.State != NotExist {
			c.failf("goroutine %d: first seen leaving %v", id, tr.State)
		}
		if tr.Start != tr.End {
			c.failf("goroutine %d: %d ns pass before it is seen", id, tr.End-tr.Start)
		}
		g = &checkedG{state: tr.State, index: tr.G.Index, since: tr.Start, born: tr.End, proc: -1}
		c.gs[id] = g
		if !c.away[id] {
			c.goroutines++ // otherwise it was counted before the gap
		}
		c.maxLive = max(c.maxLive, len(c.gs))
		if other, ok := c.indexes[g.index]; ok {
			c.failf("goroutines %d and %d have the index %d", id, other, g.index)
		}
		c.indexes[g.index] = id
		c.maxIndex = max(c.maxIndex, g.index)
	}
	if tr.State != g.state {
		c.failf("goroutine %d: leaves %v, but had gone to %v", id, tr.State, g.state)
	}
	if tr.Start != g.since {
		c.failf("goroutine %d: an interval begins at %d; the one before ended at %d", id, tr.Start, g.since)
	}
	if tr.G.Index != g.index {
		c.failf("goroutine %d: its index changed from %d to %d", id, g.index, tr.G.Index)
	}
	if (tr.Waker != nil || tr.WakerStack != nil) && tr.State != Waiting && tr.State != NotExist {
		c.failf("goroutine %d: another goroutine ends its state %v", id, tr.State)
	}
	if tr.Wait == WaitNone && (tr.State == Waiting || tr.State.inSyscall()) {
		c.failf("goroutine %d: %v for nothing", id, tr.State)
	}
	if (tr.State == SyscallBlocked || tr.State.detached()) && tr.Proc >= 0 {
		c.failf("goroutine %d: lost its P, but has P %d", id, tr.Proc)
	}
	if tr.State.IsC() && (tr.Wait != WaitC || !callsC(tr.Stack.Frames)) {
		c.failf("goroutine %d: %v, waits for %v in %v", id, tr.State, tr.Wait, tr.Stack)
	}
	if tr.State == Running && tr.Wait != WaitNone {
		c.failf("goroutine %d: waits for %v while running", id, tr.Wait)
	}
	if tr.State.OnProc() && tr.Proc < 0 && c.strict {
		c.failf("goroutine %d: %v on an unknown P", id, tr.State)
	}
	if tr.State.Alive() {
		g.lived += tr.End - tr.Start
	}
	c.occupy(g, id, tr)
	g.state, g.since = tr.To, tr.End
	if tr.To == NotExist || tr.To == Unknown {
		if g.lived != tr.End-g.born {
			c.failf("goroutine %d: intervals of %d ns in a life of %d", id, g.lived, tr.End-g.born)
		}
		delete(c.gs, id)
		delete(c.indexes, g.index)
		if tr.To == Unknown {
			c.left[id] = true
		}
	}
}

// occupy follows which goroutine is on which P.
func (c *checker) occupy(g *checkedG, id int64, tr *Transition) {
	if g.state.OnProc() {
		c.running--
		if g.proc >= 0 && c.onProc[g.proc] == id {
			delete(c.onProc, g.proc)
		}
		g.proc = -1
	}
	if tr.To.OnProc() {
		c.running++
		c.peak = max(c.peak, c.running)
		g.proc = tr.G.cur.proc
		if g.proc >= 0 {
			if other, ok := c.onProc[g.proc]; ok && c.strict {
				c.failf("at %d goroutines %d and %d are both on P %d", tr.End, other, id, g.proc)
			}
			c.onProc[g.proc] = id
		}
	}
}

func (c *checker) Named(g *Goroutine, t Time) {
	c.call("Named", t)
	known := c.gs[g.ID]
	if known == nil {
		c.failf("goroutine %d gets a name before it is seen", g.ID)
		return
	}
	if known.name == g.Func || g.Func == "" {
		c.failf("goroutine %d gets the name %q again", g.ID, g.Func)
	}
	known.name = g.Func
}

func (c *checker) Label(g *Goroutine, t Time) { c.call("Label", t); c.alive("Label", g) }

func (c *checker) Range(r *Span) {
	c.call("Range", r.Time)
	if r.Start > r.Time {
		c.failf("range %s ends at %d before its beginning %d", r.Name, r.Time, r.Start)
	}
	if r.OfG {
		if c.alive("Range", r.G); r.G != nil && r.G.InRange(r.Name) != r.Begin {
			c.failf("range %s of goroutine %d: begin %v, open %v", r.Name, r.G.ID, r.Begin, r.G.InRange(r.Name))
		}
	}
}

func (c *checker) Region(r *Span)                        { c.call("Region", r.Time); c.alive("Region", r.G) }
func (c *checker) Task(k *Span)                          { c.call("Task", k.Time) }
func (c *checker) Log(l *Log)                            { c.call("Log", l.Time) }
func (c *checker) Sample(t Time, _ *Goroutine, _ *Stack) { c.call("Sample", t) }

// Clock records clocks, whose readings may be slightly earlier than the calls around them.
func (c *checker) Clock(Time, uint64, time.Time) { c.call("Clock", c.now) }

func (c *checker) Metric(t Time, name string, value uint64, _ bool) {
	c.call("Metric", t)
	if name != "/sched/gomaxprocs:threads" {
		return
	}
	if !c.known {
		c.known, c.gomaxprocs = true, value
	}
	c.judgeProcs()
	c.gomaxprocs, c.peak = value, c.running
}

func (c *checker) judgeProcs() {
	if c.known && c.strict && uint64(c.peak) > c.gomaxprocs {
		c.failf("%d goroutines on a P at once with GOMAXPROCS %d", c.peak, c.gomaxprocs)
	}
}

func (c *checker) alive(what string, g *Goroutine) {
	if g == nil || c.gs[g.ID] == nil {
		c.failf("%s of a goroutine that does not live", what)
	}
}

// Gap checks that no goroutine lives during a gap.
func (c *checker) Gap(from, to Time) {
	c.call("Gap", to)
	if to < from {
		c.failf("a gap from %d to %d", from, to)
	}
	for id := range c.gs {
		c.failf("goroutine %d lives in a gap", id)
	}
	c.away, c.left = c.left, map[int64]bool{}
}

func (c *checker) End(t Time) {
	c.call("End", t)
	c.judgeProcs()
	if t != c.now {
		c.failf("the end is %d, but the last call was at %d", t, c.now)
	}
	for id := range c.gs {
		c.failf("goroutine %d is left in state %v", id, c.gs[id].state)
	}
	c.ended = true
}

// verify reports errors in the calls, and differences to the Info.
func (c *checker) verify(t testing.TB, info *Info) {
	t.Helper()
	for _, f := range c.failures {
		t.Error(f)
	}
	if c.begun != c.ended {
		t.Errorf("begun %v, ended %v", c.begun, c.ended)
	}
	if !c.begun {
		if c.calls > 0 || info.Generations > 0 {
			t.Errorf("nothing begun, but %d calls and %d generations", c.calls, info.Generations)
		}
		return
	}
	if info.Start != c.start || info.End != c.now {
		t.Errorf("Info: from %d to %d; calls: from %d to %d", info.Start, info.End, c.start, c.now)
	}
	if c.maxLive > 0 && c.maxIndex >= c.maxLive {
		t.Errorf("an index of %d with %d goroutines at once", c.maxIndex, c.maxLive)
	}
	if info.Goroutines != c.goroutines || info.MaxLive != c.maxLive {
		t.Errorf("Info: %d goroutines, %d at once; calls: %d, %d", info.Goroutines, info.MaxLive, c.goroutines, c.maxLive)
	}
}
