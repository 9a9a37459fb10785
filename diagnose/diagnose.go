// Package diagnose finds what limits a program, where in its code, and what that costs.
//
// It ranks causes by the capacity that they cost, as booked by the ledger. Details of locks and
// goroutines come from the other results of the same pass. bottleneck.Analyze computes all of them:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//		"os"
//
//		"github.com/bottleneck-go/bottleneck"
//	)
//
//	func main() {
//		r, err := bottleneck.Analyze(context.Background(), os.Stdin, bottleneck.Options{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		for _, f := range r.Verdict.Findings {
//			fmt.Println(f.Title, f.Where)
//		}
//	}
//
// A finding's gain is a bound: without the cost of the cause, everything else being equal, the
// program would have taken at least (capacity − lost) ÷ GOMAXPROCS. There is no bound if a repair
// also saves some of the running time. Causes that cost less than 3 % of the capacity are not
// reported.
//
// The speed-up stack is not used, because it counts gaps between slices as progress.
package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// Results are the results of the analyses of one pass. All but Ledger may be nil.
type Results struct {
	Ledger     *ledger.Ledger
	Graph      *bottle.Graph
	Contention *contention.Profile
	Tasks      *granularity.Profile
	// Focus, if not "", is a group of goroutines, as named in the ledger. The verdict is then
	// about the capacity that is lost in rows that the group is part of. See [Group].
	Focus string
	// Window reports whether the results are those of a window of a trace. Activity at its end
	// continues beyond it, and the verdict refers to no rows, because the ledgers of windows
	// are not kept.
	Window bool
}

// The kinds.
const (
	Serial       = "serial"        // one goroutine, or one group, ran while the others had nothing to do
	Imbalance    = "imbalance"     // the last ones of a group ran while others waited for them to finish
	Starved      = "starved"       // too few goroutines had work
	Lock         = "lock"          // a mutex or RWMutex
	Limit        = "limit"         // a semaphore, SetLimit, or a pool
	HandOver     = "hand-over"     // goroutines pass work on, and nothing runs during that time
	Collector    = "collector"     // garbage collection
	Syscalls     = "syscall"       // system calls that held the processor
	Blocking     = "blocking-call" // system calls that blocked while there was nothing else to do
	Sleep        = "sleep"         // time.Sleep
	Timer        = "timer"         // tickers, timers, rate limiters
	Network      = "network"       // other processes
	Cgo          = "cgo"           // C code
	Tiny         = "tiny"          // goroutines too short to be worthwhile
	Leak         = "leak"          // goroutines that are started and never end
	Tracing      = "tracer"        // the cost of the measurement
	Runtime      = "runtime"       // other work of the runtime
	Switching    = "scheduler"     // the scheduler
	NoWork       = "no-work"       // no work
	Oversized    = "oversized"     // GOMAXPROCS above the number of available processors
	Throttled    = "throttled"     // the control group took processors away
	OneProc      = "one-processor" // GOMAXPROCS 1
	MoreProcs    = "more-procs"    // goroutines were ready without a processor
	Saturated    = "saturated"     // the program's code used the processors
	CannotTell   = "cannot-tell"   // the trace does not show it
	once         = "once"          // becomes serial: others waited for the result of a sync.Once
	pieces       = "pieces"        // becomes tiny: goroutines hand over too little work at a time
	worthTelling = 0.03
	maxFindings  = 5
)

// Kinds returns all kinds.
func Kinds() []string {
	return []string{
		Serial, Imbalance, Starved, Lock, Limit, HandOver, Collector, Syscalls, Blocking, Sleep, Timer, Network, Cgo, Tiny, Leak,
		Tracing, Runtime, Switching, NoWork, Oversized, Throttled, OneProc, MoreProcs, Saturated, CannotTell,
	}
}

// New returns the verdict on the results.
func New(r Results) *verdict.Verdict {
	d := &diagnosis{Results: r, l: r.Ledger}
	v := &verdict.Verdict{Start: d.l.Start, Wall: d.l.Wall, Procs: d.l.Procs, Capacity: d.l.Capacity, Warnings: slices.Clone(d.l.Warnings)}
	if r.Graph != nil {
		for i := range r.Graph.Boxes {
			if b := &r.Graph.Boxes[i]; b.Kind == bottle.Application {
				v.Goroutines += b.Goroutines
			}
		}
	}
	v.Focus = r.Focus
	d.index()
	if v.Parts = d.parts(); r.Focus != "" {
		v.Parts = d.partsOfFocus()
	}
	if d.l.Capacity <= 0 {
		v.Findings = []verdict.Finding{{Kind: CannotTell, Title: "The trace covers no time."}}
		return v
	}
	// Most of what ran may have neither names nor places. All goroutines are then one group.
	if d.nameless > d.of[ledger.Code]/2 {
		v.Findings = append(d.before(), verdict.Finding{Kind: CannotTell, Title: "The trace does not show which functions ran, so it does not show what limits the program. It may be truncated."})
		return v
	}
	if d.l.Wall < shortest && !d.Window {
		v.Findings = append(d.before(), verdict.Finding{Kind: CannotTell, Title: fmt.Sprintf("The trace covers only %s, which is too short to show what limits the program.", format.Duration(d.l.Wall)),
			Advice: "Starting the tracer, threads and goroutines takes a good part of that: record more work, such as many runs."})
		return v
	}
	d.collect()
	v.Findings = d.findings()
	if i := slices.IndexFunc(v.Findings, func(f verdict.Finding) bool { return d.dials(&f) }); i >= 0 {
		v.Findings[i].Advice = d.opened() + v.Findings[i].Advice
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		if d.ownFirst(f); (f.Kind == Serial || f.Kind == Saturated) && !slices.ContainsFunc(f.Where, func(p timeline.Place) bool { return d.own(p) && p.Line > 0 }) {
			f.Advice += " The trace shows no line outside the standard library for it: a CPU profile at the same time adds samples to the trace, which do."
		}
		if r.Window {
			f.Rows = nil
		}
	}
	return v
}

// shortest is the shortest time of a trace that shows what limits a program. The scheduler takes up
// to 100 µs to have all processors run, and divides time into slices of 10 ms.
const shortest = 2 * time.Millisecond

// parts returns the sums of the ledger for the bar.
func (d *diagnosis) parts() (parts []verdict.Part) {
	for _, p := range []verdict.Part{
		{Name: "your code", Time: d.of[ledger.Code]},
		{Name: "C code", Time: d.of[ledger.C]},
		{Name: "system calls", Time: d.of[ledger.Syscall]},
		{Name: "collector", Time: d.of[ledger.GCWorker] + d.of[ledger.GCAssist] + d.of[ledger.GCSweep] + d.of[ledger.GCStop]},
		{Name: "tracer and runtime", Time: d.of[ledger.Tracer] + d.of[ledger.Runtime]},
		{Name: "scheduler", Time: d.of[ledger.Scheduler]},
		{Name: "waking up", Time: d.of[ledger.WakeUp]},
		{Name: "idle", Time: d.of[ledger.Idle] + d.of[ledger.NoWork]},
		{Name: "idle, waiting for outside", Time: d.of[ledger.Outside]},
	} {
		if p.Time > 0 {
			p.Share = ratio(p.Time, d.l.Capacity)
			parts = append(parts, p)
		}
	}
	return parts
}

func ratio(a, b time.Duration) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// weight returns the time by which findings are ranked.
//
// Goroutines that are too short come before the findings on the collector, the scheduler and
// those that wait for them, which they cause. If goroutines run for as short as it takes to
// switch between them, or yield, most of their running is switching, too. A lock with a queue
// costs more than the processors that it kept idle. Waits of a server for requests, unless it had
// nothing else to do, come after what the program can change. The collector takes nothing from the program
// on processors that are idle, nor while the operating system lets it wait for the world to stop.
// What package testing and the tracer do comes last.
func (d *diagnosis) weight(f *verdict.Finding, c *cause) time.Duration {
	switch {
	case c.kind == pieces && d.ran[c.name].code < d.of[ledger.Code]/2:
		return f.Lost + d.ran[c.name].code
	case f.Kind == Tiny && slices.ContainsFunc(f.Where, d.own) && (f.Share >= 0.1 || d.tiny[c.name] && d.mostAreTiny(f.Lost)) && f.Lost+sum(d.ranTiny()) >= d.of[ledger.Outside]:
		return 1<<62 + f.Lost
	case c.queue:
		return f.Lost + d.l.Capacity/5
	case c.spun:
		return f.Lost + min(2*f.Lost, d.l.Capacity/5)
	case f.Kind == Switching && c.kind == Switching:
		if f.Lost+d.at[visited{ledger.Code, c.place}].time >= d.l.Capacity/8 {
			return 1 << 61
		}
	case c.kind == HandOver && f.Share >= 0.1:
		if _, short := d.shortSlices(); short {
			return f.Lost + d.of[ledger.Code]/4
		}
	case f.Kind == Network && d.forRequests(c): // not the program's
		return d.byWaits(c) / 2
	case c.kind == Sleep, c.kind == Timer, c.kind == Network:
		return d.byWaits(c)
	case c.kind == Tracing, c.kind == Collector && d.asksInTests(), c.kind == Runtime && !slices.ContainsFunc(f.Where, d.own) && !d.runsFinalizers(c):
		return 0
	}
	if f.Kind == Serial { // the collector used part of what it left idle
		return f.Lost + time.Duration(float64(d.idleCollector())*ratio(f.Lost, d.of[ledger.Idle]+d.of[ledger.Outside]+d.of[ledger.WakeUp]+d.of[ledger.NoWork]))
	}
	return f.Lost - d.spare(c) - d.late(c)
}

// byWaits returns the weight of a wait outside the program. Goroutines that wait at several places in
// turn do so for most of the time where most of them wait, not where they wait most often, which ends
// most idle times.
func (d *diagnosis) byWaits(c *cause) time.Duration {
	group := func(c *cause) (name string, number float64) {
		top := d.l.Rows[c.rows[0]].Group
		by := d.servedBy(top)
		switch n := d.waitedFrom(by.place); {
		case d.forRequests(c):
			return d.starts(d.called(top)), d.idleConns()
		case c.kind != Network && d.own(by.place) && n >= 0.5:
			return d.starts(d.called(by.group)), n
		}
		return d.starts(d.called(top)), d.atATime(c)
	}
	name, number := group(c)
	var all time.Duration
	var waiting float64
	for _, other := range d.causes {
		if other.kind != Sleep && other.kind != Timer && other.kind != Network || other.lost < d.l.Capacity/100 {
			continue
		}
		if its, n := group(other); its == name && n > 0 {
			all, waiting = all+other.lost, waiting+n
		} else if its == name {
			return c.lost // unknown
		}
	}
	return time.Duration(float64(all) * number / waiting)
}

// split moves findings that cost nothing but are certain to the front: goroutines that never end,
// and processors for which others wait, if nothing else was lost. A single processor is moved unless
// more than half of it is lost, or goroutines do too little at a time.
func (d *diagnosis) split(costly, first, last []verdict.Finding) (before, after []verdict.Finding) {
	tiny := has(last, Tiny)
	for _, f := range last {
		switch {
		case f.Kind == Leak:
			first = slices.Insert(first, 0, f)
		case f.Kind == OneProc && !tiny && (len(costly) == 0 || costly[0].Kind != Tiny && costly[0].Share <= 0.5):
			first = append(first, f)
		case f.Kind == MoreProcs && !tiny && len(costly) == 0:
			first = append(first, f)
		default:
			after = append(after, f)
		}
	}
	return first, after
}

// weighed is a finding with its weight.
type weighed struct {
	verdict.Finding
	weight time.Duration
}

// findings ranks the collected findings.
func (d *diagnosis) findings() []verdict.Finding {
	first := d.before()
	var ranked []weighed
	for _, c := range d.causes {
		if c.kind == Serial && d.fights() && d.mostlyPolls(c.name) && !d.areFew(c.name) {
			continue // that is the finding
		}
		if d.stays(c) > d.l.Wall*99/100 {
			continue // one goroutine runs all the time, whatever others wait for
		}
		if share := ratio(c.lost-d.spare(c), d.l.Capacity); share >= worthTelling && (c.kind != Tracing || share >= 0.05) || c.queue {
			f := d.finding(c)
			ranked = append(ranked, weighed{f, d.weight(&f, c)})
		}
	}
	if slices.ContainsFunc(ranked, func(f weighed) bool {
		return f.Kind == NoWork && len(f.Rows) > 0 && d.l.Rows[f.Rows[0]].Wait == timeline.WaitNetwork.String()
	}) {
		for i := range ranked { // a server without requests gets no faster
			switch f := &ranked[i]; f.Kind {
			case Network, Sleep, Timer, Blocking, HandOver:
				f.Gain, f.Basis = 0, "none while requests come no more often"
			}
		}
	}
	order.Stable(ranked, func(a, b weighed) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Title, b.Title))
	})
	costly, largest := make([]verdict.Finding, len(ranked)), time.Duration(0)
	for i := range ranked {
		costly[i] = ranked[i].Finding
		largest = max(largest, min(costly[i].Lost, ranked[i].weight))
	}
	if d.Focus != "" {
		return d.focused(costly)
	}
	last := d.after(costly, largest)
	if has(last, Tiny) { // that is why others wait for the next one so often
		follows := func(f *verdict.Finding) bool { return (f.Kind == Switching || f.Kind == HandOver) && f.Share < 0.1 }
		ranked = slices.DeleteFunc(ranked, func(f weighed) bool { return follows(&f.Finding) })
		costly = slices.DeleteFunc(costly, func(f verdict.Finding) bool { return follows(&f) })
	}
	first, last = d.split(costly, first, last)
	room := max(maxFindings-len(first)-len(last), 0)
	costly = costly[:min(len(costly), room)]
	// If little is lost, what ran matters more; but goroutines that wait for a lock may have
	// spun for it.
	if len(costly) == 0 || (ranked[0].weight < d.little() || d.fights() && ranked[0].weight < d.shared) && !(costly[0].Kind == Lock && costly[0].Share >= 0.05) {
		for _, kind := range []string{Tiny, Saturated} {
			if i := slices.IndexFunc(last, func(f verdict.Finding) bool { return f.Kind == kind }); i >= 0 {
				first, last = append(first, last[i]), slices.Delete(last, i, i+1)
			}
		}
	}
	return slices.Concat(first, costly, last)
}

// little is what a cause may cost beside what ran, which then limits the program more.
func (d *diagnosis) little() time.Duration { return d.l.Capacity / 8 }

// fights reports whether much of the running time passed in atomic operations and RWMutexes, or in
// selects that did not wait: a quarter, less what was interrupted between two of them. Goroutines that
// fight for memory, or poll, run, but do not get on.
func (d *diagnosis) fights() bool { return ratio(d.shared, d.l.Capacity) >= 0.22 }

// mayPoll reports whether the goroutines of a group were often interrupted there. A loop that waits
// for an atomic variable is as often between two looks at it.
func (d *diagnosis) mayPoll(group string) bool {
	return d.ran[group].shared > d.ran[group].code/10
}

// mostlyPolls reports whether a group of goroutines was there for most of its running time.
func (d *diagnosis) mostlyPolls(group string) bool {
	return d.ran[group].shared > d.ran[group].code/2
}

// mostlyYields reports whether most slices of running began after a yield. Goroutines that yield are
// ready, but may only wait for others: that they are many does not show that there is work for more
// processors.
func (d *diagnosis) mostlyYields() bool { return d.yields >= 1000 && d.yields > d.l.Slices/2 }

// mostAreTiny reports whether goroutines that are too short are what the program does, or what it
// switches between.
func (d *diagnosis) mostAreTiny(lost time.Duration) bool {
	ran := sum(d.ranTiny())
	_, switching := d.shortSlices()
	return ran >= d.manyTiny() || switching && lost+ran >= d.l.Capacity/8
}

// manyTiny is the running time of goroutines that are too short from which they are what the
// program does.
func (d *diagnosis) manyTiny() time.Duration {
	return max(min(d.l.Capacity/4, d.of[ledger.Code]/2), d.l.Capacity/10)
}
