package timeline

import (
	"fmt"
	"strings"
	"time"
)

// facts is an Observer that keeps the content of a trace in plain values that outlive the pass.
type facts struct {
	Base
	begin, end Time
	intervals  []fact
	ranges     []Span
	logs       []Log
	metrics    []metricFact
	samples    []Time
	clocks     []clockFact
	labels     []string
	named      []string
	born       map[int64]birthFact
}

// fact is one interval.
type fact struct {
	G           int64
	Func        string // as known at the end of the interval
	Kind        Kind
	State, To   State
	Start, End  Time
	Wait        Wait
	Reason      string
	Stack       string // "leaf < caller < … < root"
	Leaf, Root  string
	Waker       string // start function of the waker, "" if none
	WakerID     int64
	WakerLeaf   string
	Thread      int64
	Proc        int32
	Task        string
	CreatorFunc string
}

type metricFact struct {
	at    Time
	name  string
	value uint64
}

type clockFact struct {
	at   Time
	mono uint64
	wall time.Time
}

type birthFact struct {
	Func, CreatorFunc, CreatorLeaf, Task string
	CreatorID                            int64
}

// String formats a fact as "state from start to end", as hand-made traces expect it, with the other
// properties of the interval.
func (f fact) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %d-%d", f.State, f.Start, f.End)
	if f.Wait != WaitNone {
		fmt.Fprintf(&b, " %v", f.Wait)
	}
	if f.Reason != "" {
		fmt.Fprintf(&b, " %q", f.Reason)
	}
	if f.State.OnProc() {
		fmt.Fprintf(&b, " P%d", f.Proc)
	}
	if f.Leaf != "" {
		fmt.Fprintf(&b, " in %s", f.Leaf)
	}
	if f.WakerID != 0 {
		fmt.Fprintf(&b, " woken by %d", f.WakerID)
		if f.WakerLeaf != "" {
			fmt.Fprintf(&b, " in %s", f.WakerLeaf)
		}
	}
	return b.String()
}

// life returns the intervals of a goroutine in which it was part of the trace, without empty ones.
func (fs *facts) life(id int64) string {
	var s []string
	for _, f := range fs.intervals {
		if f.G == id && f.State.Alive() && f.Start < f.End {
			s = append(s, f.String())
		}
	}
	return strings.Join(s, "; ")
}

func frameFunc(f *Frame) string {
	if f == nil {
		return ""
	}
	return f.Func
}

func (fs *facts) Begin(t Time, _ int) { fs.begin, fs.born = t, map[int64]birthFact{} }
func (fs *facts) End(t Time)          { fs.end = t }

func (fs *facts) Transition(tr *Transition) {
	f := fact{
		G: tr.G.ID, Func: tr.G.Func, Kind: tr.G.Kind, State: tr.State, To: tr.To, Start: tr.Start, End: tr.End,
		Wait: tr.Wait, Reason: tr.Reason, Stack: tr.Stack.String(), Leaf: frameFunc(leafOf(tr.Stack)), Root: frameFunc(tr.Stack.Root()),
		WakerLeaf: frameFunc(leafOf(tr.WakerStack)), Thread: tr.Thread, Proc: tr.Proc, Task: tr.G.UserTask(), CreatorFunc: tr.G.Creator().Func,
	}
	if tr.Waker != nil {
		f.Waker, f.WakerID = tr.Waker.Name(), tr.Waker.ID
	}
	if tr.State == NotExist || tr.State == Unknown {
		fs.born[tr.G.ID] = birthFact{tr.G.Func, tr.G.Creator().Func, frameFunc(leafOf(tr.G.Creator().Stack)), tr.G.Creator().Task, tr.G.Creator().ID}
	}
	fs.intervals = append(fs.intervals, f)
}

func (fs *facts) Named(g *Goroutine, t Time) {
	fs.named = append(fs.named, fmt.Sprintf("%d %s at %d", g.ID, g.Func, t))
}
func (fs *facts) Label(g *Goroutine, t Time) {
	fs.labels = append(fs.labels, fmt.Sprintf("%d %q at %d", g.ID, g.Label(), t))
}
func (fs *facts) Range(r *Span)                         { fs.ranges = append(fs.ranges, *r) }
func (fs *facts) Log(l *Log)                            { fs.logs = append(fs.logs, *l) }
func (fs *facts) Sample(t Time, _ *Goroutine, _ *Stack) { fs.samples = append(fs.samples, t) }
func (fs *facts) Metric(t Time, name string, value uint64, _ bool) {
	fs.metrics = append(fs.metrics, metricFact{t, name, value})
}
func (fs *facts) Clock(t Time, mono uint64, wall time.Time) {
	fs.clocks = append(fs.clocks, clockFact{t, mono, wall})
}

// leafOf returns the innermost frame, or nil if there is none.
func leafOf(s *Stack) *Frame {
	if s == nil || len(s.Frames) == 0 {
		return nil
	}
	return s.Frames[0]
}
