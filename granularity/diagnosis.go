package granularity

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/cycles"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// The diagnosis, after section 5 of the paper. The paper calls tasks fine-grained when a large
// group of one class has a similarly low granularity while context switches rise, and
// coarse-grained when a few of one class have a similarly high one while the processors are
// under-used. The rules below quantify these terms. The first rule that holds decides. A class is
//
//	unknown    if fewer than nine in ten executions were measured;
//	blocked    if its tasks were blocked for more than half of their time;
//	too many   workers: if they have more workers than there are processors, all of these
//	           are used, and each task waits for a processor for a third of its time, since
//	           many are under way at a time, unless tasks of less than a time slice of
//	           the scheduler wait: they do not wait for a processor alone;
//	fine       if it has at least 16 tasks a processor and 100 in all, the overhead of
//	           a task is 5 % or more of what an average one costs, and at
//	           least two can be merged into one so that 8 a processor remain;
//	too few    workers: if they have fewer workers than there are processors, these were used
//	           to less than 80 %, and the workers were nearly always busy;
//	coarse     if it has at most 8 tasks a processor, three quarters of them take at least
//	           100 times the overhead of a task, and the processors were used to less than
//	           80 % while they were under way; unknown if they were blocked for about as
//	           long as processors idled;
//	straggler  if under such use the largest task alone takes longer than all would on all
//	           processors, or at least half as long, and if it came last that would be
//	           why processors idled. One that was not measured because it was preempted
//	           counts as executing for its wall time, but at most for what the process
//	           used besides its tasks; unknown if it may have waited for other programs;
//	unknown    if a rule cannot be decided;
//	ok         otherwise.
//
// The overhead of a task is the cost of an empty one in a quiet process ([emptyTask]). It is up
// to 10 times as much if goroutines wait for the queue or its lock, and about 20 times as much if
// a worker's thread has to be woken up. That shows in the CPU time besides the tasks and in
// context switches, like everything else that the process does. So a class that is small only if
// all of that is overhead is unknown. While threads waited for other programs, processors would
// have been used, or would have idled: a rule holds only if it holds for both.

// The values of [Class].Diagnosis.
const (
	Fine    = "fine"    // too small: overhead outweighs the gain
	Coarse  = "coarse"  // too large: processors idle
	Blocked = "blocked" // mostly blocked: the size matters little
	OK      = "ok"      // none of these
	Unknown = "unknown" // insufficient data

	Straggler      = "straggler"        // one task is so large that processors idle until it ends
	TooFewWorkers  = "too-few-workers"  // processors idle although tasks wait
	TooManyWorkers = "too-many-workers" // tasks wait for processors that other tasks use
)

// DiagnosisOrUnknown returns the Diagnosis if it is one of the constants, otherwise Unknown.
func (c *Class) DiagnosisOrUnknown() string {
	switch c.Diagnosis {
	case Fine, Coarse, Blocked, OK, Straggler, TooFewWorkers, TooManyWorkers:
		return c.Diagnosis
	}
	return Unknown
}

// The thresholds of the rules.
const (
	manyPerProc     = 16
	manyTasks       = 100
	fineOverhead    = 0.05
	fewPerProc      = 8
	coarseOverheads = 100
	fullUtilization = 0.80
	targetOverhead  = 0.01 // the goal of merging
	measuredEnough  = 0.9
	mostlyBlocked   = 0.5
	worthBlocked    = 0.1
	busyWorkers     = 0.8 // of the workers' time: tasks wait for them
	crowded         = 1.5 // tasks under way for each processor
	dominant        = 1.1 // times the time of all tasks on all processors
	explained       = 0.6 // of the processors' idle time
	parking         = 10  // most that a task costs if goroutines wait for the queue, in overheads
	wakeUp          = 20  // cost of waking up a thread, in overheads
	leastWakeUp     = 3 * time.Microsecond
	noOverhead      = 50 * time.Microsecond // an empty task costs less on any machine
	leastBlocked    = time.Microsecond      // per task on average: the accuracy of clocks
	timeSlice       = 10 * time.Millisecond // a shorter task leaves its processor only to wait for something else
)

// verdict is the state of the diagnosis of one class.
type verdict struct {
	p *Profile
	c *Class

	overhead    time.Duration // 0: unknown
	most        time.Duration // upper bound of the overhead
	besides     time.Duration // what the process used per task besides its tasks
	rest        time.Duration // what the process used in total besides its tasks
	delayed     time.Duration // what threads waited for processors while they executed tasks
	mean        float64       // mean execution time of a task, in ns
	p25, p75    float64
	lost        float64 // part of the processors' time for which threads waited for other programs
	utilization float64 // of the rest; NaN: unknown
	used        float64 // of all of it
}

// Diagnose sets the diagnosis, reasons and advice of each class from the profile's other fields.
// Use it for profiles from other sources; [Recorder.Profile] calls it itself. A profile without
// Overhead and OverheadOrigin gets a typical overhead, labeled as such in OverheadOrigin.
func (p *Profile) Diagnose() {
	if p.Overhead == 0 && p.OverheadOrigin == "" {
		p.Overhead, p.OverheadOrigin = typicalOverhead, "measured with empty goroutines on a quiet machine, not in this program"
	}
	besides, rest := p.besides()
	delayed := p.delayed(rest)
	for i := range p.Classes {
		v := verdict{p: p, c: &p.Classes[i], overhead: p.Overhead, most: p.Overhead, besides: besides, rest: rest, delayed: delayed}
		switch {
		case v.overhead == 0:
			v.most = noOverhead
		case besides <= parking*v.overhead:
			v.most = max(v.overhead, besides)
		default:
			v.most = min(besides, v.overhead+time.Duration(min(1, p.switchesPerTask())*wakeUp*float64(v.overhead)))
		}
		v.c.Diagnosis, v.c.Reasons, v.c.Advice = Unknown, nil, nil
		v.c.Merge, v.c.Split = 0, 0
		v.decide()
	}
}

// typicalOverhead is the cost of an empty goroutine on a quiet machine (BenchmarkOverhead: 290 ns).
// It is used for profiles without a measurement, such as those of traces.
const typicalOverhead = 300 * time.Nanosecond

// besides returns the CPU time that the process used outside its tasks, per task and in total; 0 if
// unknown.
func (p *Profile) besides() (each, all time.Duration) {
	tasks, executed := uint64(0), 0.0
	for i := range p.Classes {
		c := &p.Classes[i]
		tasks += c.Tasks
		switch {
		case p.Hz != 0:
			executed += c.Cycles.Sum() / p.Hz * 1e9
		case p.ByTime():
			executed += c.RunningNS.Sum()
		default:
			executed += float64(c.executed())
		}
	}
	if p.Run.Wall == 0 || tasks == 0 {
		return 0, 0
	}
	rest := max(0, float64(p.Run.CPU)-executed)
	return time.Duration(rest / float64(tasks)), time.Duration(rest)
}

// delayed returns the time for which threads waited for processors while they executed tasks, if
// the process used rest besides those that were measured. Threads that wake up only to look for
// work, such as the runtime's monitor, also wait, but that keeps no processor from a task.
func (p *Profile) delayed(rest time.Duration) time.Duration {
	if !p.blockedKnown() {
		return p.Run.Delayed
	}
	off, left := 0.0, false
	for i := range p.Classes {
		c := &p.Classes[i]
		off += c.BlockedNS.Sum() + float64(c.Unmeasured)*float64(c.Longest)
		left = left || c.Longest > 0
	}
	if left { // what those tasks executed is a part of the rest
		off = max(0, off-float64(rest))
	}
	return time.Duration(min(float64(p.Run.Delayed), off))
}

// switchesPerTask returns the number of context switches of the process per task, in tasks and
// outside them; 1 if the system does not count them.
func (p *Profile) switchesPerTask() float64 {
	tasks := uint64(0)
	for i := range p.Classes {
		tasks += p.Classes[i].Tasks
	}
	if n := p.Run.Voluntary + p.Run.Involuntary; n > 0 && tasks > 0 {
		return float64(n) / float64(tasks)
	}
	return 1
}

// executed returns the time for which the tasks were on a processor.
func (c *Class) executed() time.Duration {
	return time.Duration(max(0, c.WallNS.Sum()-c.BlockedNS.Sum()))
}

// ns converts the class's granularity to nanoseconds.
func (v *verdict) ns(cycles float64) float64 {
	if v.p.ByTime() {
		return cycles
	}
	if v.p.Hz == 0 { // of unknown length: use the time on the processor
		if sum := v.c.Cycles.Sum(); sum > 0 {
			return cycles * float64(v.c.executed()) / sum
		}
		return 0
	}
	return cycles / v.p.Hz * 1e9
}

func (v *verdict) decide() {
	c := v.c
	switch {
	case c.Tasks+c.Unmeasured > 0:
	case c.Aggregated > 0:
		v.because("%s part of the %s nested in", one(c.Aggregated, "its only execution is", fmt.Sprintf("all of %d executions are", c.Aggregated)),
			one(c.Aggregated, "task that it was", "tasks that they were"))
		return
	default:
		v.because("no execution has ended")
		return
	}
	if c.Tasks == 0 || float64(c.Tasks) < measuredEnough*float64(c.Tasks+c.Unmeasured) {
		v.because("only %d of %d %s measured", c.Tasks, c.Tasks+c.Unmeasured, one(c.Tasks+c.Unmeasured, "execution was", "executions were"))
		return
	}
	g := v.p.Granularity(c)
	v.mean, v.p25, v.p75 = v.ns(g.Mean()), v.ns(g.Quantile(.25)), v.ns(g.Quantile(.75))
	if all := float64(v.p.Run.Wall) * float64(max(v.p.Procs, 1)); all > 0 {
		v.lost = min(float64(v.delayed)/all, 1)
	}
	v.used = v.p.during(c)
	if v.lost+v.used > 1 { // threads waited for others of the process as well
		v.lost = 1 - v.used
	}
	v.utilization = min(1, v.used/(1-min(v.lost, 0.99)))
	if v.blocked() || v.tooManyWorkers() || v.fine() || v.tooFewWorkers() || v.coarse() || v.straggler() || len(c.Reasons) > 0 {
		return
	}
	c.Diagnosis = OK
	v.because("%s on %s %s; %s", tasks(c.Tasks), processors(v.p.allProcs()),
		one(c.Tasks, "executes "+duration(v.mean), "execute "+duration(v.mean)+" each on average"), v.cost(v.mean))
	if !math.IsNaN(v.utilization) {
		v.because("the processors were %s while %s under way", v.usage(), one(c.Tasks, "it was", "they were"))
	}
	v.occupation()
	if off := c.BlockedNS.Sum() / max(1, c.WallNS.Sum()); (off > mostlyBlocked || off > worthBlocked && v.utilization < fullUtilization) && v.p.blockedKnown() {
		why := "blocked, or waiting for a processor"
		if ready, exact, _ := v.ready(); exact && c.ReadyNS.Count() == c.BlockedNS.Count() {
			why = fmt.Sprintf("%.0f %% waiting for a processor, and the rest blocked", 100*ready/max(1, c.WallNS.Sum()))
			if ready >= 0.99*c.BlockedNS.Sum() {
				why = "waiting for a processor"
			}
		}
		v.because("%s off the processor for %.0f %% of %s time: %s", one(c.Tasks, "it was", "they were"), 100*off, one(c.Tasks, "its", "their"), why)
	}
}

// idled reports whether the processors were used to less than 80 %. It adds a reason if that cannot
// be decided: other programs that use the processors leave them less time to idle.
func (v *verdict) idled() bool {
	switch {
	case !(v.utilization > 0): // 0: the clock is too coarse for so short a run
		v.because("%s, but how far %s used the processors is not known: sample the machine (Recorder.Start)", v.each(""), one(v.c.Tasks, "it", "they"))
		return false
	case v.utilization >= fullUtilization && v.used < fullUtilization:
		v.because("%s, but cannot tell whether processors idled: the process used %.0f %% of their time, and its threads waited for other threads for another %.0f %%; measure while no other program runs",
			v.each(""), 100*v.used, 100*v.lost)
	}
	return v.utilization < fullUtilization
}

// usage describes how far the processors were used.
func (v *verdict) usage() string {
	left := ""
	if v.lost >= 0.05 {
		left = fmt.Sprintf(" of the %.0f %% of their time that other threads left", 100*(1-v.lost))
	}
	return fmt.Sprintf("used to %.0f %%", 100*v.utilization) + left
}

// cost describes the overhead of a task that executes for ns.
func (v *verdict) cost(ns float64) string {
	if v.overhead == 0 {
		return "the overhead of a task is " + v.p.OverheadOrigin
	}
	return fmt.Sprintf("the overhead of a task, %s (%s), is %s of its cost", v.overhead, v.p.OverheadOrigin, percent(share(v.overhead, ns)))
}

// share returns the part of a task's cost that is overhead, if it executes for ns.
func share(overhead time.Duration, ns float64) float64 {
	return float64(overhead) / (float64(overhead) + ns)
}

// mostlyOff reports whether the tasks were off the processor for most of their time, besides what
// the threads of the process waited for others.
func (v *verdict) mostlyOff() bool {
	off, wall := v.off(), v.c.WallNS.Sum()
	waited := min(off, float64(v.delayed))
	return off-waited > mostlyBlocked*(wall-waited) && v.p.blockedKnown()
}

// off returns the time for which the tasks were off the processor. A large task that was preempted
// may be known only from a sample of small ones. It then counts as executing, as for straggler,
// unless most tasks of the class were off the processor as well.
func (v *verdict) off() float64 {
	off := v.c.BlockedNS.Sum()
	if v.c.Estimated > 0 && !v.medianOff() {
		off = max(0, off-float64(min(v.c.Longest, v.rest)))
	}
	return off
}

// medianOff reports whether the median task was off the processor for most of its time. A few tasks
// that waited for a processor can make up the sum of many that did not.
func (v *verdict) medianOff() bool {
	return v.c.BlockedNS.Quantile(.5) > mostlyBlocked*v.c.WallNS.Quantile(.5)
}

// ready returns the maximum part of the class's time off the processor for which it waited for a
// processor; whether that is exact; and whether it includes time in which other programs had the
// processor.
func (v *verdict) ready() (ns float64, exact, others bool) {
	if v.p.Source == SourceTrace { // a trace counts the time of other programs as running
		return v.c.ReadyNS.Sum(), true, true
	}
	return float64(v.p.Run.Ready + v.delayed), false, v.delayed > 0
}

// blocked decides whether the class is blocked for most of its time, or adds a reason why that
// cannot be decided.
func (v *verdict) blocked() bool {
	c := v.c
	off, wall := v.off(), c.WallNS.Sum()
	if v.alone() || !v.p.blockedKnown() || off <= mostlyBlocked*wall || off < float64(c.Tasks)*float64(max(v.overhead, leastBlocked)) {
		return false
	}
	if v.p.Source == SourceTrace && c.ReadyNS.Count() != c.BlockedNS.Count() {
		return false // a file from before this was measured
	}
	ready, exact, others := v.ready()
	they, were, their := one(c.Tasks, "it", "they"), one(c.Tasks, "it was", "they were"), one(c.Tasks, "its", "their")
	most := v.medianOff()
	if !most && (!others || v.overhead > 0 && share(v.overhead, v.mean) >= fineOverhead) {
		return false // a few waited for long; of small ones, that does not make the others larger
	}
	if off-ready <= mostlyBlocked*wall {
		if most && !exact && !(v.utilization >= fullUtilization) {
			v.because("cannot tell whether %s blocked: %s off the processor for %s of %s time, but goroutines and threads of the process waited for processors for %s",
				were, were, percent(off/wall), their, duration(ready))
		}
		return false
	}
	c.Diagnosis = Blocked
	least, said := "at least ", ""
	if exact {
		least = ""
	}
	if !others {
		said = " (or waited while other programs had the processors, which this system does not show)"
	}
	v.because("%s on %s %s, but %s blocked for %s%.0f %% of %s time%s", tasks(c.Tasks), processors(v.p.allProcs()),
		one(c.Tasks, "executes "+duration(v.mean), "execute "+duration(v.mean)+" each on average"), were, least, math.Floor(100*(off-ready)/wall), their, said)
	if v.overhead > 0 && share(v.overhead, v.mean) >= fineOverhead {
		v.because("%s small as well: %s; judge the size again when %s no longer blocked", one(c.Tasks, "it is", "they are"), v.cost(v.mean), one(c.Tasks, "it is", "they are"))
	}
	v.advise("find what %s: bottleneck contention shows the locks and channels, and which goroutines held them; another size of task does not shorten the waits",
		one(c.Tasks, they+" waits for", they+" wait for"))
	if workers := c.Workers; workers > 0 && c.Tasks >= 2*uint64(workers) && v.underWay() >= busyWorkers*float64(workers) {
		v.advise("more workers than the %d, which had a task for %.0f %% of the time, let more tasks wait at once: that helps unless they wait for each other, or for what serves one at a time",
			workers, min(100, 100*v.underWay()/float64(workers)))
	}
	return true
}

// fine decides whether the class is fine-grained, or adds a reason why that cannot be decided.
func (v *verdict) fine() bool {
	c, procs := v.c, v.p.allProcs()
	if !v.many() || share(v.most, v.mean) < fineOverhead {
		return false
	}
	room := c.Tasks / (fewPerProc * procs) // with this many merged into one, 8 per processor remain
	if room < 2 || len(c.Reasons) > 0 {
		return false
	}
	if !v.small() {
		v.because("%s on %s, three quarters of them execute %s or less", tasks(c.Tasks), processors(procs), duration(v.p75))
		if v.overhead == 0 {
			v.because("cannot tell whether %s too small: the overhead of a task is %s", one(c.Tasks, "it is", "they are"), v.p.OverheadOrigin)
		} else {
			v.because("cannot tell whether %s too small: the process used %s a task besides its tasks; as their overhead that is up to %s of their cost, but it may be other work; an empty task costs %s (%s)",
				one(c.Tasks, "it is", "they are"), duration(float64(v.besides)), percent(share(v.most, v.mean)), v.overhead, v.p.OverheadOrigin)
			v.occupation()
			v.advise("try larger ones: bottleneck tasks -sweep compares the times of a program for several sizes")
		}
		return false
	}
	// The tasks that remain take long enough for processors to idle before them, so each may
	// wake up a thread. Merge enough that this is 1 % of their cost, but keep 8 per processor,
	// or as many as have the least sum of wake-ups, n·each/procs, and of the wait for the last
	// of them, total/n.
	each, total := float64(max(v.most, (1+wakeUp)*v.overhead, leastWakeUp)), v.mean*float64(c.Tasks)
	perProc := max(1, math.Floor(math.Sqrt(total/float64(procs)/each))) // one more than a multiple would be late
	remain := float64(procs) * min(fewPerProc, perProc)
	merge := uint64(min(math.Ceil(each*(1/targetOverhead-1)/max(v.mean, 1)), float64(c.Tasks)/remain))
	if merge < 2 {
		return false
	}
	c.Diagnosis, c.Merge = Fine, merge
	v.because("%s on %s, three quarters of them execute %s or less (p25 %s)", tasks(c.Tasks), processors(procs), duration(v.p75), duration(v.p25))
	v.because("the overhead of a task, %s (%s), is %s of the cost of an average task of %s", v.overhead, v.p.OverheadOrigin, percent(share(v.overhead, v.mean)), duration(v.mean))
	merged := v.mean * float64(merge)
	v.advise("merge ~%d tasks into one: overhead falls from %s to %s of the cost, or %s if each of them wakes up a thread, and %d tasks remain for %s",
		merge, percent(share(v.overhead, v.mean)), percent(share(v.overhead, merged)), percent(share(time.Duration(each), merged)), c.Tasks/merge, processors(procs))
	if v.largest(merge) > total/float64(2*procs) {
		v.advise("put tasks from different places into each, such as every %d-th, and begin with those that have the largest: otherwise others may wait for them in the end", c.Tasks/merge)
	}
	if v.utilization < fullUtilization {
		v.idleWorkers()
	}
	v.where()
	return true
}

// many and small report what a fine-grained class is.
func (v *verdict) many() bool {
	return v.c.Tasks >= manyPerProc*v.p.allProcs() && v.c.Tasks >= manyTasks
}

func (v *verdict) small() bool { return v.overhead > 0 && share(v.overhead, v.mean) >= fineOverhead }

// largest returns the time for which the n largest tasks execute.
func (v *verdict) largest(n uint64) (ns float64) {
	g := v.p.Granularity(v.c)
	smaller := g.Count() - min(n, g.Count())
	for value, count := range g.Buckets() {
		few := min(count, smaller)
		smaller -= few
		ns += v.ns(float64(value)) * float64(count-few)
	}
	return ns
}

// each describes the number of tasks and their average size.
func (v *verdict) each(limit string) string {
	return tasks(v.c.Tasks) + " of " + limit + duration(v.mean) + one(v.c.Tasks, "", " each")
}

// coarse decides whether the class is coarse-grained, or adds a reason why that cannot be decided.
func (v *verdict) coarse() bool {
	c, procs := v.c, v.p.allProcs()
	few := c.Tasks <= fewPerProc*procs
	large := v.p25 >= coarseOverheads*float64(v.most)
	if procs == 1 || c.Workers == 1 || !few || !large || v.mostlyOff() || len(c.Reasons) > 0 {
		return false
	}
	total := v.mean * float64(c.Tasks)
	split := v.pieces(total)
	if v.p.blockedKnown() && split <= c.Tasks || !v.idled() {
		return false
	}
	if !v.p.blockedKnown() {
		v.because("%s while the processors were %s: %s may have been blocked, the source %s does not tell",
			v.each("at most "), v.usage(), one(c.Tasks, "it", "they"), v.p.Source)
		return false
	}
	if waited := v.waited(); waited >= explained*v.idle() {
		v.because("%s while the processors were %s, but %s blocked for at least %s%s, which no other size of task shortens: find what %s for (bottleneck contention)",
			v.each(""), v.usage(), one(c.Tasks, "it was", "they were"), duration(waited), one(c.Tasks, "", " in all"), one(c.Tasks, "it waits", "they wait"))
		return false
	}
	c.Diagnosis, c.Split = Coarse, split
	v.because("%s on %s%s: few and large", tasks(c.Tasks), processors(procs),
		one(c.Tasks, " executes "+duration(v.mean), fmt.Sprintf(", three quarters of them execute %s or more", duration(v.p25))))
	v.because("the processors were %s while %s under way: at most %.2f times faster if all were busy",
		v.usage(), one(c.Tasks, "it was", "they were"), 1/v.utilization)
	if g := v.p.Granularity(c); g.Mean() > 0 && c.Tasks > 1 {
		v.because("the largest task is %.1f times the average", float64(g.Max())/g.Mean())
	}
	v.advise("split into at least %d tasks of about %s each, the largest first", split, duration(total/float64(split)))
	v.where()
	return true
}

// pieces returns the number of tasks for work that takes total: 8 per processor even out the idle time
// at the end, but none should be so small that it is overhead.
func (v *verdict) pieces(total float64) uint64 {
	return uint64(min(float64(fewPerProc*v.p.allProcs()), total/(coarseOverheads*float64(v.most))))
}

// straggler decides whether one task keeps the processors of the others idle.
func (v *verdict) straggler() bool {
	c, procs := v.c, v.p.allProcs()
	measured, largest := v.mean*float64(c.Tasks), v.ns(float64(v.p.Granularity(c).Max()))
	total, unmeasured := measured, ""
	if preempted := float64(min(c.Longest, v.rest)); preempted > largest {
		total, largest, unmeasured = measured+preempted, preempted, ", by what the process used besides those that were measured"
	}
	if cpu := float64(v.p.Run.CPU); cpu > 0 {
		total = min(total, cpu) // estimated tasks may appear to have executed more
	}
	if procs == 1 || c.Workers == 1 || c.Tasks < 2 || v.instances() > 1 || !v.dominates(largest, total) ||
		!v.alone() && v.mostlyOff() || len(c.Reasons) > 0 || !v.idled() {
		return false
	}
	least := float64(min(c.Longest-min(c.Longest, v.p.Run.Delayed), v.rest))
	if unmeasured != "" && !v.dominates(least, measured+least) {
		v.because("the longest of %s took %s, but cannot tell whether it executes for as long: it was preempted, and threads of the process waited for others for %s; measure while no other program runs",
			tasks(c.Executions()), duration(float64(c.Longest)), duration(float64(v.p.Run.Delayed)))
		return false
	}
	pieces := uint64(math.Ceil(largest / (total / float64(fewPerProc*procs))))
	c.Diagnosis, c.Split = Straggler, pieces
	consequence := "they cannot end before it does, and"
	if largest < dominant*total/float64(procs) {
		consequence = "if it comes late, others idle until it ends, and all"
	}
	v.because("the largest of %s executes %s%s, %s of all: on %s %s would take %s if it were not for that",
		tasks(c.Executions()), duration(largest), unmeasured, percent(largest/total), processors(procs), consequence, duration(total/float64(procs)))
	v.because("the processors were %s while they were under way", v.usage())
	v.advise("split the largest tasks into pieces of about %s, the largest one into %d, and begin with the largest", duration(largest/float64(pieces)), pieces)
	v.where()
	return true
}

// alone reports whether one task executed for most of the time in which any was under way, much
// more than its share, and processors idled. Others that waited then, such as workers without
// work, do not explain that.
func (v *verdict) alone() bool {
	largest, all := v.ns(float64(v.p.Granularity(v.c).Max())), v.c.ActiveShare*float64(v.p.Wall)
	return v.c.Tasks > 1 && v.utilization < fullUtilization && all > 0 && largest >= explained*all &&
		largest >= dominant*v.mean*float64(v.c.Tasks)/float64(v.p.allProcs())
}

// dominates reports whether a task of that size may be why processors idled.
func (v *verdict) dominates(largest, total float64) bool {
	return largest >= coarseOverheads*float64(v.most) && (largest >= dominant*total/float64(v.p.allProcs()) || v.late(largest, total))
}

// late reports whether the largest task is large enough to matter and processors idled for about as
// long as they would if it came last. It took longer if other programs ran at the same time.
func (v *verdict) late(largest, total float64) bool {
	procs := float64(v.p.allProcs())
	took := largest
	if run := &v.p.Run; run.CPU > 0 {
		took *= 1 + float64(v.delayed)/float64(run.CPU)
	}
	took = max(largest, min(took, max(float64(v.c.WallNS.Max()), float64(v.c.Longest))))
	return largest >= total/procs/2 && took*(procs-1) >= explained*v.idle()
}

// idle returns the time for which processors idled while the class was under way, summed over them.
func (v *verdict) idle() float64 {
	return v.c.ActiveShare * float64(v.p.Wall) * float64(v.p.allProcs()) * (1 - v.lost) * (1 - v.utilization)
}

// waited returns the least time for which the tasks waited for something else than a processor. If each
// can have a processor, one that is ready has waited for the wake-up.
func (v *verdict) waited() float64 {
	ready, _, _ := v.ready()
	if v.c.Tasks <= v.p.allProcs() {
		ready = float64(v.delayed)
	}
	return max(0, v.off()-ready)
}

// instances returns the number of programs in the profile.
func (v *verdict) instances() int { return max(1, v.p.Instances) }

// underWay returns the average number of tasks of the class that were under way while any was; NaN
// if unknown.
func (v *verdict) underWay() float64 {
	if v.c.ActiveShare == 0 || v.p.Wall == 0 || v.instances() > 1 {
		return math.NaN()
	}
	return v.c.WallNS.Sum() / (v.c.ActiveShare * float64(v.p.Wall))
}

// occupation adds how many of the workers had a task, if these are few, or one was blocked nearly
// always.
func (v *verdict) occupation() {
	c := v.c
	workers, all := min(uint64(c.Workers), v.p.allProcs()), c.ActiveShare*float64(v.p.Wall)
	if workers == 0 && v.utilization < fullUtilization && v.underWay() > 0 && c.Tasks > 1 {
		v.because("on average %.2g under way at a time, while any was", v.underWay())
	}
	if workers < 2 || v.instances() > 1 || v.lost > 1-busyWorkers {
		return
	}
	if blocked := float64(max(c.BlockedNS.Max(), uint64(c.Longest))); blocked >= explained*all && c.Tasks > v.p.allProcs() {
		v.because("one of them was off the processor for %s, and its worker had no other in that time", duration(blocked))
	}
	if !(v.underWay() < busyWorkers*float64(workers)) {
		return
	}
	why := "more have to be submitted at a time, or faster"
	switch {
	case v.utilization >= fullUtilization:
		why = "other goroutines of the process used processors, such as what submits them"
	case slices.ContainsFunc(v.p.Classes, func(o Class) bool { return o.Workers > 0 && o.Name != c.Name }):
		why = "the others had other tasks, or none"
	}
	v.because("of its %s, %.2g had one of them on average while any had: %s", format.Plural(c.Workers, "worker", "workers"), v.underWay(), why)
}

// tooFewWorkers decides whether tasks wait for workers while processors idle.
func (v *verdict) tooFewWorkers() bool {
	if v.mostlyOff() || !v.idleWorkers() {
		return false
	}
	c, procs := v.c, v.p.allProcs()
	c.Diagnosis = TooFewWorkers
	total := v.mean * float64(c.Tasks)
	least := max(v.largest(1), math.Ceil(float64(c.Tasks)/float64(procs))*v.mean)
	if split := v.pieces(total); c.Tasks < split && least > dominant*total/float64(procs) {
		c.Split = split
		v.advise("split them as well, into at least %d tasks of about %s each: %d are too few for %s", split, duration(total/float64(split)), c.Tasks, processors(procs))
	}
	v.where()
	return true
}

// idleWorkers reports whether processors idle because there are fewer workers, which are busy.
func (v *verdict) idleWorkers() bool {
	c, procs := v.c, v.p.allProcs()
	workers, busy := uint64(c.Workers), v.underWay()/float64(c.Workers)/(1-share(v.overhead, v.mean))
	if workers == 0 || workers >= procs || c.Tasks < 2*workers || !(busy >= busyWorkers) || !v.idled() {
		return false
	}
	v.because("%s have %s on %s, which were %s, and the workers were busy for %.0f %% of the time",
		tasks(c.Tasks), format.Plural(workers, "worker", "workers"), processors(procs), v.usage(), min(100, 100*busy))
	total := v.mean * float64(c.Tasks)
	v.advise("use %d workers, one for each processor: %.2g times faster at most", procs, total/float64(workers)/max(total/float64(procs), v.largest(1)))
	return true
}

// tooManyWorkers decides whether tasks wait for processors because there are more workers than
// processors.
func (v *verdict) tooManyWorkers() bool {
	c, procs := v.c, v.p.allProcs()
	if uint64(c.Workers) <= procs || !(v.utilization >= fullUtilization) || !(v.underWay() >= crowded*float64(procs)) || len(c.Reasons) > 0 ||
		v.many() && v.small() || v.mean < float64(v.most) || v.medianOff() && v.mean < float64(timeSlice) || v.mean*float64(c.Tasks) < 0.5*v.c.ActiveShare*float64(v.p.Wall)*float64(procs) {
		return false
	}
	c.Diagnosis = TooManyWorkers
	v.because("%s have %d workers on %s: %.1f are under way at a time, and each executes for %s of the %s that it takes on average",
		tasks(c.Tasks), c.Workers, processors(procs), v.underWay(), duration(v.mean), duration(c.WallNS.Mean()))
	v.advise("use %s, one for each processor: the tasks take no longer together, and each a shorter time", format.Plural(procs, "worker", "workers"))
	v.where()
	return true
}

// where adds the lines to change to the advice.
func (v *verdict) where() {
	var lines []string // of the largest sites
	from := map[string]uint64{}
	c := v.c
	for i := range c.Sites {
		s := &c.Sites[i]
		line := at(s.Created)
		if sub := at(s.Submitted); sub != "" && sub != line {
			line += ", submitted at " + sub
		}
		if _, seen := from[line]; !seen && line != "" && len(lines) < 3 {
			lines = append(lines, line)
		}
		from[line] += s.Tasks // sites may differ further up in their call chains
	}
	for _, line := range lines {
		if from[line] == c.Tasks {
			v.advise("created at %s", line)
		} else {
			v.advise("%d of %d %s created at %s", from[line], c.Tasks, one(from[line], "is", "are"), line)
		}
	}
}

func (v *verdict) because(format string, args ...any) {
	v.c.Reasons = append(v.c.Reasons, fmt.Sprintf(format, args...))
}

func (v *verdict) advise(format string, args ...any) {
	v.c.Advice = append(v.c.Advice, fmt.Sprintf(format, args...))
}

func tasks(n uint64) string { return format.Plural(n, "task", "tasks") }

// one returns the word for one or for many.
func one(n uint64, single, many string) string {
	if n == 1 {
		return single
	}
	return many
}

func processors[N int | uint64](n N) string { return format.Plural(n, "processor", "processors") }

// percent prints a share with two digits.
func percent(share float64) string {
	switch {
	case share < 0.0001:
		return "less than 0.01 %"
	case share > 0.995 && share < 1:
		return "more than 99 %"
	}
	if share >= 0.1 { // %g would print 99.6 as 1e+02
		return fmt.Sprintf("%.0f %%", 100*share)
	}
	return fmt.Sprintf("%.2g %%", 100*share)
}

// duration prints nanoseconds with three digits.
func duration(ns float64) string {
	d := time.Duration(min(ns, 1<<62))
	unit := time.Duration(1)
	for d/1000 >= unit {
		unit *= 10
	}
	return d.Round(unit).String()
}

// blockedKnown reports whether blocked times are known. The wall clock cannot distinguish a blocked
// task from a running one. A trace shows how long a goroutine ran, but not for how much of that its
// thread had a processor.
func (p *Profile) blockedKnown() bool {
	return p.Accuracy != string(cycles.UpperBound) || p.Source == SourceTrace
}

// during returns the utilization of the processors while the class was active. It weights the
// samples by how active the class was in each. Without series, a sum of profiles has the mean of
// theirs. Otherwise it uses the whole run if the class was active for most of it, or returns NaN.
func (p *Profile) during(c *Class) float64 {
	var weight, used float64
	for i := range p.Samples {
		s := &p.Samples[i]
		if s.Excluded {
			continue
		}
		active := c.activeTime(p.Start, s.At-int64(s.Wall), s.At)
		weight += active
		used += active * s.Utilization
	}
	switch {
	case weight > 0:
		return used / weight
	case c.used > 0:
		return c.used
	case p.Run.Wall > 0 && c.ActiveShare >= 0.5:
		return p.Run.Utilization
	}
	return math.NaN()
}

// activeTime returns the time within [from, to) in which the class was active, in nanoseconds. The
// series begins with the run.
func (c *Class) activeTime(begin, from, to int64) (active float64) {
	for i := range c.Series {
		b := &c.Series[i]
		if overlap := min(to, b.At) - max(from, begin); overlap > 0 {
			active += float64(overlap) * b.Active
		}
		begin = b.At
	}
	return active
}
