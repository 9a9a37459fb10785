// Package bottle computes bottle graphs of Go programs. They show which goroutines limit how well
// the program scales.
//
// A bottle graph (Du Bois, Sartor, Eyerman, Eeckhout, "Bottle graphs: visualizing scalable
// bottlenecks in multi-threaded applications", OOPSLA 2013) is a stack of boxes, one for each group of
// goroutines. The height of a box is its share of the wall time: while r goroutines run, each gets 1/r
// of the time. The width is the parallelism: the mean number of goroutines that ran while the box ran.
// A tall, narrow box is the neck of the bottle: [Box.Lost] is the capacity that was unused while it
// ran. docs/graph.md explains how to read a graph.
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//
//		"github.com/bottleneck-go/bottleneck/bottle"
//	)
//
//	func main() {
//		g, err := bottle.ReadFile(context.Background(), "trace.out", bottle.Options{})
//		if g == nil {
//			log.Fatal(err) // nothing could be read; else err is one of the graph's Warnings
//		}
//		for _, b := range g.Boxes {
//			fmt.Printf("%v × %.2f  %s\n", b.Share, b.Parallelism, b.Group)
//		}
//	}
//
// A [Recorder] keeps the last seconds of a running program and makes a graph of them on request. An
// [Observer] computes a graph in one pass with other analyses. [Merge] adds graphs.
//
// Shares and idle time sum to the wall time to the nanosecond, and the graphs of windows sum to that of
// the whole. A goroutine counts as running in its own code, in a system call that holds its processor,
// and in C while a processor is free ([Box.InC]). Running is not progress: a trace does not show
// spinning, or threads that the operating system preempted.
//
// The fold takes 10 ns per transition (BenchmarkFold); reading a trace takes ten times as long. A live
// goroutine takes about 100 bytes, a box 700. [Options.Stacks] adds 2 to 15 % (BenchmarkReadFile).
package bottle

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// The kinds of boxes are those of goroutines. Assists and stop-the-world phases of the collector are
// also GC.
const (
	Application = timeline.Application
	GC          = timeline.GC
	Runtime     = timeline.Runtime
	Tracer      = timeline.Tracer
)

// Graph is a bottle graph of a trace or of one window of it. The heights of the boxes and the idle
// time sum to the wall time exactly: Σ Share + Idle == Wall.
type Graph struct {
	// Wall is the time that the graph covers.
	Wall time.Duration `json:"wall_ns"`
	// Idle is the time in which no goroutine ran: goroutines waited, or were ready while the
	// scheduler woke them up or switched between them.
	Idle time.Duration `json:"idle_ns"`
	// Capacity is the integral of GOMAXPROCS over Wall, in ns·processors; 0 if the trace does
	// not show GOMAXPROCS. The unused part is divided exactly: Σ Lost + IdleLost == Capacity −
	// Σ Running.
	Capacity time.Duration `json:"capacity_ns"`
	// IdleLost is the capacity during the idle time, in ns·processors.
	IdleLost time.Duration `json:"idle_lost_ns"`
	// Procs is the largest GOMAXPROCS during the graph; 0 if the trace does not show it.
	Procs int `json:"gomaxprocs"`
	// CPUs is the number of processors that the machine and the cgroup provided to the process.
	// It is known for a process that records itself or was started by the command, and from
	// recordings of this module, which contain it. It is 0 if unknown, as for a file of
	// runtime/trace alone. See [Graph.Oversubscribed].
	CPUs float64 `json:"cpus,omitempty"`
	// Throttles is how often a cgroup of the process used up its quota during the graph
	// (nr_throttled), and Throttled is the processor time that it took away (throttled_usec). They
	// are known under the same conditions as CPUs, for recordings with a beginning and an end, and
	// else 0. See [Graph.Throttling].
	Throttles int64         `json:"throttles,omitempty"`
	Throttled time.Duration `json:"throttled_ns,omitempty"`
	// GoVersion is the version of the trace format, such as "go1.26".
	GoVersion string `json:"go_version"`
	// Start is the beginning of the graph, relative to the beginning of the trace.
	Start time.Duration `json:"start_ns"`
	// Offered means that runnable goroutines count as running: shares and parallelism are then
	// those that the program offers to a larger machine, not the actual ones. Boxes of the two
	// kinds must not be compared.
	Offered bool `json:"offered,omitempty"`
	// GroupBy is the name of the grouping, such as "function".
	GroupBy string `json:"group_by"`
	// Instances is the number of program instances in the graph if [Merge] has added several; 0
	// means one. Wall, Idle and all other times are then sums over the instances, and Procs is
	// the maximum.
	Instances int `json:"instances,omitempty"`
	// Warnings lists, in sentences, what limits the accuracy of the numbers.
	Warnings []string `json:"warnings"`
	// Boxes is sorted by parallelism, widest first. That is the order of the stack, from the
	// bottom.
	Boxes []Box `json:"boxes"`
	// Collector is the activity of the garbage collector, independent of the grouping.
	Collector Collector `json:"collector,omitzero"`
	// Latency is the histogram of scheduling latencies, independent of the grouping. Graphs of
	// windows have none.
	Latency Latency `json:"latency,omitzero"`
	// Verdict states what limits the program, if the graph was made together with a ledger, as
	// by bottleneck.Analyze. Otherwise, and for results of [Merge], it is nil. It covers the
	// time of the graph, independent of the grouping.
	Verdict *verdict.Verdict `json:"verdict,omitempty"`
	// Windows holds one graph for each window, in order, if windows were requested.
	Windows []*Graph `json:"-"`

	merged merged // additional data for Merge
}

// Collector is the total activity of the garbage collector in a graph. Its width, Work ÷ Time, is
// the number of processors that it used while it was active.
type Collector struct {
	// Work is the total running time of its workers, assists and pauses: the Running of all
	// boxes of the kind GC. Time is the time in which at least one of them ran; 0 if unknown,
	// as in older files. Share is the sum of the boxes' shares.
	Work  time.Duration `json:"work_ns"`
	Time  time.Duration `json:"time_ns"`
	Share time.Duration `json:"share_ns"`
	// Assists is the part of Work done by goroutines of the application. Paused is the part
	// during which the world was stopped.
	Assists time.Duration `json:"assists_ns"`
	Paused  time.Duration `json:"paused_ns"`
	// Cycles counts the collections whose mark phase began in the graph, or was in progress at
	// the beginning of the trace. Pauses counts how often the world was stopped for them.
	Cycles int `json:"cycles"`
	Pauses int `json:"pauses"`
}

// Width returns Work ÷ Time, or 0 if there was no work.
func (c *Collector) Width() float64 { return ratio(c.Work, c.Time) }

// String returns the totals as a sentence, or "" if there was no work.
func (c *Collector) String() string {
	if c.Work <= 0 {
		return ""
	}
	s := fmt.Sprintf("The garbage collector ran %s: %s of work", format.Plural(c.Cycles, "time", "times"), format.Duration(c.Work))
	if c.Time > 0 {
		s += fmt.Sprintf(" in %s, on %.2f processors on average", format.Duration(c.Time), c.Width())
	}
	return s + fmt.Sprintf("; assists %s, %s %s.", format.Duration(c.Assists), format.Plural(c.Pauses, "pause", "pauses"), format.Duration(c.Paused))
}

// add adds n times another activity.
func (c *Collector) add(o *Collector, n int) {
	k := time.Duration(n)
	c.Work += k * o.Work
	c.Time += k * o.Time
	c.Share += k * o.Share
	c.Assists += k * o.Assists
	c.Paused += k * o.Paused
	c.Cycles += n * o.Cycles
	c.Pauses += n * o.Pauses
}

// Box is one goroutine or group of goroutines in a bottle graph.
type Box struct {
	// Group is the name of the group, according to the grouping.
	Group string        `json:"group"`
	Kind  timeline.Kind `json:"kind"`
	// Starts lists the start functions of the application's goroutines in alphabetical order,
	// if they differ from the name of the box. (The name of a goroutine is the function that it
	// was started for; see timeline.Goroutine.) A box keeps at most 8.
	Starts []string `json:"starts,omitempty"`
	// Goroutines is the number of goroutines that belonged to the box at some time.
	Goroutines int `json:"goroutines"`
	// Share is the height: the box's share of the wall time (eq. 1), rounded to
	// nanoseconds so that all shares and the idle time sum to the wall time.
	Share time.Duration `json:"share_ns"`
	// ShareError is half the width of the 95 % confidence interval of Share if only a random
	// sample of the time was traced; 0 if all of it was. It is at most Wall, which means that
	// nothing is known. [Merge] does not preserve it.
	ShareError time.Duration `json:"share_error_ns,omitempty"`
	// Running is the area: the total running time of the members (eq. 2). A member runs while
	// it is in the state Running, in a system call that still holds its P, or in C code while a
	// processor is free for it.
	Running time.Duration `json:"running_ns"`
	// Lost is the capacity that was not used while the box ran, in ns·processors: Share ×
	// GOMAXPROCS − Running, or Share × (GOMAXPROCS − Parallelism). It is negative if more
	// goroutines ran than GOMAXPROCS, and 0 if GOMAXPROCS is unknown.
	Lost time.Duration `json:"lost_ns"`
	// Parallelism is the width, Running ÷ Share (eq. 2): the harmonic mean of the number of
	// running goroutines while the box ran. It is 0 if the box never ran.
	Parallelism float64 `json:"parallelism"`
	// SelfParallelism is Running ÷ the time in which at least one member ran; NaN if unknown,
	// as for a box of folded groups.
	SelfParallelism float64 `json:"self_parallelism"`
	// Runnable is the total time for which members were ready but had no processor.
	Runnable time.Duration `json:"runnable_ns"`
	// Waiting is the total time for which members were blocked, by reason (the names of
	// timeline.Wait, such as "mutex" or "chan-receive").
	Waiting map[string]time.Duration `json:"waiting_ns"`
	// InC is the total time of members in C code. It is part of Running, except for the time in
	// Waiting under InCode, during which no processor was free for them (see timeline.State).
	InC time.Duration `json:"in_c_ns,omitempty"`
	// Sites lists the places where members waited, by reason as in Waiting, largest first. They
	// sum to the times in Waiting; those of InCode sum to InC. Graphs of windows have no sites.
	Sites map[string][]Site `json:"waiting_sites,omitempty"`
	// Stacks lists the call chains of the members while they ran, largest share first, if
	// [Options.Stacks] is set. They sum to Share and to Running. Graphs of windows and JSON
	// have no stacks.
	Stacks []Stack `json:"-"`

	exact share         // before rounding
	room  area          // the integral of GOMAXPROCS / r
	busy  time.Duration // time in which at least one member ran; −1 if unknown
	// known is the number of Goroutines that were in an earlier piece of the pass, carried that
	// of those in the previous piece.
	known, carried int
	others         bool // consists of several groups
}

// MeanParallelism returns the average number of running goroutines over the wall time, including
// idle time. It returns 0 for an empty graph.
func (g *Graph) MeanParallelism() float64 {
	if g.Wall <= 0 {
		return 0
	}
	return float64(g.running()) / float64(g.Wall)
}

// Blocked returns the total time for which members were blocked, over all reasons.
func (b *Box) Blocked() time.Duration {
	var d time.Duration
	for _, w := range b.Waiting {
		d += w
	}
	return d
}

// Folded reports whether the box stands for several groups combined by [Graph.Top].
func (b *Box) Folded() bool { return b.others }

// width returns the parallelism of eq. 2. If the rounded share is 0, it uses the exact share.
func (b *Box) width() float64 {
	if b.Share == 0 && b.exact > 0 {
		return float64(b.Running) * (1 << fracBits) / float64(b.exact)
	}
	return ratio(b.Running, b.Share)
}

// compareStack orders boxes as they are stacked: widest first, and the taller one first if they are
// equally wide.
func compareStack(a, b Box) int {
	return cmp.Or(cmp.Compare(b.Parallelism, a.Parallelism), compareSize(a, b))
}

// compareSize orders boxes by share, then running time, runnable and blocked time and name.
func compareSize(a, b Box) int {
	return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(b.Running, a.Running), cmp.Compare(b.Runnable, a.Runnable),
		cmp.Compare(b.Blocked(), a.Blocked()), compareName(a, b))
}

func compareName(a, b Box) int {
	return cmp.Or(strings.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
}

func ratio(a, b time.Duration) float64 {
	if b <= 0 {
		return 0
	}
	return float64(a) / float64(b)
}
