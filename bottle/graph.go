package bottle

import (
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/verdict"
)

// Kind is the sort of goroutines that a [Box] stands for.
type Kind string

// The kinds of boxes.
const (
	Application Kind = "application" // the program's own goroutines
	GC          Kind = "gc"          // the garbage collector: workers, assists, its stop-the-world phases
	Runtime     Kind = "runtime"     // other goroutines of the runtime and the standard library's background
	Tracer      Kind = "tracer"      // the execution tracer's own goroutines, and those of this module
)

// Graph is a bottle graph (Du Bois, Sartor, Eyerman, Eeckhout, "Bottle graphs:
// visualizing scalable bottlenecks in multi-threaded applications", OOPSLA 2013)
// of a trace or of one window of it.
//
// The heights of the boxes and the idle time sum to the wall time exactly:
// Σ Share + Idle == Wall.
type Graph struct {
	// Wall is the time that the graph covers.
	Wall time.Duration `json:"wall_ns"`
	// Idle is the time in which no goroutine ran: they waited, or were ready and the scheduler
	// woke them up or switched between them.
	Idle time.Duration `json:"idle_ns"`
	// Capacity is the integral of GOMAXPROCS over Wall, in ns·processors; 0 where the trace
	// does not tell. What was not used of it is split exactly: Σ Lost + IdleLost == Capacity −
	// Σ Running.
	Capacity time.Duration `json:"capacity_ns"`
	// IdleLost is what of the capacity fell into the idle time, in ns·processors.
	IdleLost time.Duration `json:"idle_lost_ns"`
	// Procs is the largest GOMAXPROCS during the graph; 0 where the trace does not tell.
	Procs int `json:"gomaxprocs"`
	// CPUs is how many processors the machine and its control group gave the process: known for
	// a process that records itself, or that the command has started, and from a recording of
	// this module, which notes it; 0 where it is not known, as for a file of runtime/trace
	// alone. See [Graph.Oversubscribed].
	CPUs float64 `json:"cpus,omitempty"`
	// GoVersion is the version of the trace format, such as "go1.26".
	GoVersion string `json:"go_version"`
	// Start is where the graph begins, from the beginning of the trace.
	Start time.Duration `json:"start_ns"`
	// Offered means that runnable goroutines count as if they ran: shares and
	// parallelism are then those that the program offers to a larger machine,
	// not those that it had. The two must not be compared box by box.
	Offered bool `json:"offered,omitempty"`
	// GroupBy names the grouping, such as "function".
	GroupBy string `json:"group_by"`
	// Instances is the number of programs that the graph is about, if [Merge] has added
	// several; 0 is one. Wall, Idle and all other times are then sums over them, Procs is that
	// of the largest.
	Instances int `json:"instances,omitempty"`
	// Warnings lists in full sentences what limits the trust in the numbers.
	Warnings []string `json:"warnings"`
	// Boxes is sorted by parallelism, widest first: the order in which the
	// boxes are stacked, from the bottom.
	Boxes []Box `json:"boxes"`
	// Collector is what the garbage collector did, whatever the grouping.
	Collector Collector `json:"collector,omitzero"`
	// Verdict is what limits the program, if the graph was made together with a ledger, as
	// bottleneck.Analyze does; nil else, as for what [Merge] has added up. It is about the time
	// of the graph, whatever the grouping.
	Verdict *verdict.Verdict `json:"verdict,omitempty"`
	// Windows holds one graph for each window, in order, when windows were asked for.
	Windows []*Graph `json:"-"`

	merged merged // what Merge has to know besides
}

// Collector is the sum of what the garbage collector did in a graph. Its width, Work ÷ Time, is the
// number of processors that it used while it worked.
type Collector struct {
	// Work is the time for which its workers, assists and pauses ran, summed: the Running of
	// all boxes of the kind GC. Time is that in which at least one of them did; 0 where it is
	// not known, as from older files. Share is the sum of the boxes' shares.
	Work  time.Duration `json:"work_ns"`
	Time  time.Duration `json:"time_ns"`
	Share time.Duration `json:"share_ns"`
	// Assists is the part of Work that goroutines of the application did, Paused that in which
	// it had stopped the world.
	Assists time.Duration `json:"assists_ns"`
	Paused  time.Duration `json:"paused_ns"`
	// Cycles counts the collections of which the mark phase began, or went on at the beginning
	// of the trace, and Pauses how often the world was stopped for them.
	Cycles int `json:"cycles"`
	Pauses int `json:"pauses"`
}

// Width is Work ÷ Time; 0 if there was none.
func (c *Collector) Width() float64 { return ratio(c.Work, c.Time) }

func (c *Collector) add(o *Collector) {
	c.Work += o.Work
	c.Time += o.Time
	c.Share += o.Share
	c.Assists += o.Assists
	c.Paused += o.Paused
	c.Cycles += o.Cycles
	c.Pauses += o.Pauses
}

// Box is one goroutine or group of goroutines in a bottle graph.
type Box struct {
	// Group is the name of the goroutines, according to the grouping.
	Group string `json:"group"`
	Kind  Kind   `json:"kind"`
	// Starts are the start functions of the application's goroutines, in the order of the
	// alphabet, where they are not the name of the box: that of a goroutine is the function
	// that it was started for (see timeline.Goroutine). At most 8 of a box are kept.
	Starts []string `json:"starts,omitempty"`
	// Goroutines is the number of goroutines that belonged to the box at any time.
	Goroutines int `json:"goroutines"`
	// Share is the height: the box's share of the wall time (eq. 1), rounded to
	// nanoseconds so that all shares and the idle time sum to the wall time.
	Share time.Duration `json:"share_ns"`
	// ShareError is half the width of the 95 % confidence interval of Share, where only a part
	// of the time was seen, drawn at random; 0 where all of it was. It is at most Wall, which
	// means that nothing is known. [Merge] does not keep it.
	ShareError time.Duration `json:"share_error_ns,omitempty"`
	// Running is the area: the time for which the members ran, summed (eq. 2).
	// A member runs while it is in the state Running, in a system call that still holds its P,
	// or in C code while there is a processor for it.
	Running time.Duration `json:"running_ns"`
	// Lost is what of the capacity was not used while the box ran, in ns·processors: Share ×
	// GOMAXPROCS − Running, or Share × (GOMAXPROCS − Parallelism). It is negative if more ran
	// than GOMAXPROCS, and 0 where GOMAXPROCS is not known.
	Lost time.Duration `json:"lost_ns"`
	// Parallelism is the width, Running ÷ Share (eq. 2): how many goroutines ran, on
	// (harmonic) average, while the box ran. 0 when the box never ran.
	Parallelism float64 `json:"parallelism"`
	// SelfParallelism is Running ÷ the time in which at least one member ran;
	// NaN where it is not known, as for a box of folded groups.
	SelfParallelism float64 `json:"self_parallelism"`
	// Runnable is the time for which members were ready but had no processor, summed.
	Runnable time.Duration `json:"runnable_ns"`
	// Waiting is the time for which members were blocked, summed, by reason
	// (the names of timeline.Wait, such as "mutex" or "chan-receive").
	Waiting map[string]time.Duration `json:"waiting_ns"`
	// InC is the time for which members were in C code, summed. It is part of Running, but for
	// what is in Waiting under InCode: then no processor was free for them (see
	// timeline.State).
	InC time.Duration `json:"in_c_ns,omitempty"`
	// Sites are the places where members waited, by reason as in Waiting, largest first. They
	// sum to what Waiting holds; those of InCode to InC. Graphs of windows have none.
	Sites map[string][]Site `json:"waiting_sites,omitempty"`
	// Stacks are the call chains of the members while they ran, largest share first, with
	// [Options.Stacks]: they sum to Share and to Running. Graphs of windows have none, nor does
	// JSON.
	Stacks []Stack `json:"-"`

	exact share         // before rounding
	room  area          // the integral of GOMAXPROCS / r
	busy  time.Duration // in which at least one member ran; −1 where it is not known
	// known of the Goroutines were in an earlier piece of the pass, carried in the one directly
	// before.
	known, carried int
	others         bool // of several groups
}

// MeanParallelism is the number of goroutines that ran on average over the
// wall time, idle time included; 0 for an empty graph.
func (g *Graph) MeanParallelism() float64 {
	if g.Wall <= 0 {
		return 0
	}
	return float64(g.running()) / float64(g.Wall)
}

// Blocked is the time for which members were blocked, summed over all reasons.
func (b *Box) Blocked() time.Duration {
	var d time.Duration
	for _, w := range b.Waiting {
		d += w
	}
	return d
}

// Folded reports whether the box stands for several groups, since [Graph.Top] has put them
// together.
func (b *Box) Folded() bool { return b.others }

// width is eq. 2, with the share as it was before rounding where that is nothing.
func (b *Box) width() float64 {
	if b.Share == 0 && b.exact > 0 {
		return float64(b.Running) * (1 << fracBits) / float64(b.exact)
	}
	return ratio(b.Running, b.Share)
}

// compareStack orders boxes as they are stacked: widest first, and of two
// equally wide boxes the taller one first.
func compareStack(a, b Box) int {
	switch {
	case a.Parallelism > b.Parallelism:
		return -1
	case a.Parallelism < b.Parallelism:
		return 1
	}
	return compareSize(a, b)
}

// compareSize orders boxes by share, then running time, runnable and blocked time and name.
func compareSize(a, b Box) int {
	for _, d := range [...]time.Duration{b.Share - a.Share, b.Running - a.Running, b.Runnable - a.Runnable, b.Blocked() - a.Blocked()} {
		if d != 0 {
			return int(min(1, max(-1, d)))
		}
	}
	return compareName(a, b)
}

func compareName(a, b Box) int {
	if c := strings.Compare(a.Group, b.Group); c != 0 {
		return c
	}
	return strings.Compare(string(a.Kind), string(b.Kind))
}

func ratio(a, b time.Duration) float64 {
	if b <= 0 {
		return 0
	}
	return float64(a) / float64(b)
}
