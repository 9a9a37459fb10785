package granularity

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/cycles"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/monotime"
)

// The diagnosis, after section 5 of the paper, which calls tasks fine-grained when
// a large group of one class has a similarly low granularity while context switches
// rise, and coarse-grained when a few of one class have a similarly high one while the
// processors are under-used. The rules below put numbers to these words. A class is
//
//	unknown  if fewer than nine in ten executions were measured, or a rule below
//	         cannot be decided;
//	fine     if it has at least 16 tasks a processor and 100 in all, three quarters of
//	         them are so small that the overhead of a task is 5 % or more of what it costs, they are
//	         similar (p75 ≤ 10 × p25, or p75 below the overhead itself), and at least
//	         two can be merged into one so that 8 a processor remain;
//	coarse   if it has at most 8 tasks a processor, three quarters of them take at least
//	         100 times the overhead of a task, they were not blocked for most of their
//	         time, and the processors were used to less than 80 % while they were under way;
//	ok       otherwise.
//
// The overhead of a task is what the process used besides its tasks, divided by their number, but
// at least what an empty task costs on this machine and at most 20 times that,
// which is about a thread's wake-up: the program may do other things than tasks. A trace may be from
// another machine, where an empty task costs something else: this is an estimate then. The paper takes context
// switches as the sign of overhead; most of those of Go are the scheduler's own and do not
// show in the system's count, which is therefore reported but does not decide.

// Diagnosis says whether the tasks of a class have a sensible size.
type Diagnosis string

// The diagnoses.
const (
	Fine    Diagnosis = "fine"    // too small: overheads eat the gain
	Coarse  Diagnosis = "coarse"  // too large: processors idle
	OK      Diagnosis = "ok"      // neither
	Unknown Diagnosis = "unknown" // the numbers do not tell
)

// The thresholds of the rules.
const (
	manyPerProc     = 16
	manyTasks       = 100
	fineOverhead    = 0.05
	similarSpread   = 10
	fewPerProc      = 8
	coarseOverheads = 100
	fullUtilisation = 0.80
	targetOverhead  = 0.01 // what merging aims at
	measuredEnough  = 0.9
	overheadRange   = 20
)

// verdict is the diagnosis of one class under way.
type verdict struct {
	p *Profile
	c *Class

	overhead    time.Duration
	origin      string  // of the overhead
	mean        float64 // ns that a task executes
	p25, p75    float64
	utilisation float64 // NaN: not known
	switches    float64 // context switches a second while the class was active
}

// Diagnose sets the diagnosis, reasons and advice of each class from the profile's
// other fields. [Recorder.Profile] has done it already; it is for profiles from elsewhere.
func (p *Profile) Diagnose() {
	p.Overhead, p.OverheadOrigin = p.overhead()
	for i := range p.Classes {
		v := verdict{p: p, c: &p.Classes[i], overhead: p.Overhead, origin: p.OverheadOrigin}
		v.c.Diagnosis, v.c.Reasons, v.c.Advice = Unknown, nil, nil
		v.c.Merge, v.c.Split = 0, 0
		v.decide()
	}
}

// overhead returns what a task costs besides itself, and how that is known.
func (p *Profile) overhead() (time.Duration, string) {
	least, empty := emptyTaskCost(), "the cost of an empty task"
	if p.Source == SourceTrace {
		empty += " on the machine that read the trace, an estimate"
	}
	var tasks uint64
	var executed float64
	for i := range p.Classes {
		tasks += p.Classes[i].Tasks
		executed += p.Classes[i].executed().Seconds()
	}
	if p.Hz != 0 {
		executed = 0
		for i := range p.Classes {
			executed += p.Classes[i].Cycles.Sum() / p.Hz
		}
	} else if p.ByTime() {
		executed = 0
		for i := range p.Classes {
			executed += p.Classes[i].RunningNS.Sum() / 1e9
		}
	}
	if p.Run.Wall == 0 || tasks == 0 {
		return least, empty
	}
	besides := time.Duration(max(0, p.Run.CPU.Seconds()-executed) * 1e9 / float64(tasks))
	switch {
	case besides <= least:
		return least, empty
	case besides > overheadRange*least:
		return overheadRange * least, fmt.Sprintf("%d times %s", overheadRange, empty)
	}
	return besides, "what the process used besides its tasks"
}

// executed is the time for which the tasks were on a processor.
func (c *Class) executed() time.Duration {
	return time.Duration(max(0, c.WallNS.Sum()-c.BlockedNS.Sum()))
}

// ns converts the class's granularity to nanoseconds.
func (v *verdict) ns(cycles float64) float64 {
	if v.p.ByTime() {
		return cycles
	}
	if v.p.Hz == 0 { // cycles of varying length: go by the time on the processor
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
	v.utilisation, v.switches = v.p.during(c)
	if v.fine() {
		return
	}
	if v.coarse() {
		return
	}
	if c.Diagnosis == Unknown && len(c.Reasons) > 0 {
		return
	}
	c.Diagnosis = OK
	c.Reasons = nil
	v.because("%s on %s %s; the overhead of a task, %s (%s), is %s of its cost", tasks(c.Tasks), processors(v.p.allProcs()),
		one(c.Tasks, "executes "+duration(v.mean), "execute "+duration(v.mean)+" each on average"), v.overhead, v.origin, percent(v.overheadShare(v.mean)))
	if !math.IsNaN(v.utilisation) {
		v.because("the processors were used to %.0f %% while %s under way", 100*v.utilisation, one(c.Tasks, "it was", "they were"))
	}
	if blocked := c.blockedShare(); blocked > 0.5 && v.p.blockedKnown() {
		v.because("%s off the processor for %.0f %% of %s time: a matter of what %s for, not of %[3]s size",
			one(c.Tasks, "it was", "they were"), 100*blocked, one(c.Tasks, "its", "their"), one(c.Tasks, "it waits", "they wait"))
	}
}

// overheadShare is the part of a task's cost that is overhead, if it executes for ns.
func (v *verdict) overheadShare(ns float64) float64 {
	return float64(v.overhead) / (float64(v.overhead) + ns)
}

// blockedShare is the part of the tasks' time for which they were off the processor.
func (c *Class) blockedShare() float64 {
	if c.WallNS.Sum() == 0 {
		return 0
	}
	return c.BlockedNS.Sum() / c.WallNS.Sum()
}

// fine decides whether the class is fine-grained.
func (v *verdict) fine() bool {
	c, procs := v.c, v.p.allProcs()
	many := c.Tasks >= manyPerProc*procs && c.Tasks >= manyTasks
	small := v.overheadShare(v.p75) >= fineOverhead
	similar := v.p75 <= similarSpread*v.p25 || v.p75 <= float64(v.overhead)
	if !many || !small || !similar {
		return false
	}
	// So many together that overhead is 1 % of their cost, but 8 a processor must remain.
	wanted := math.Ceil(float64(v.overhead) * (1/targetOverhead - 1) / max(v.mean, 1))
	merge := uint64(min(wanted, float64(c.Tasks/(fewPerProc*procs))))
	if merge < 2 {
		return false
	}
	c.Diagnosis, c.Merge = Fine, merge
	v.because("%s on %s, three quarters of them execute %s or less (p25 %s): similar and small", tasks(c.Tasks), processors(procs), duration(v.p75), duration(v.p25))
	v.because("the overhead of a task, %s (%s), is %.0f %% of the cost of an average task of %s", v.overhead, v.origin, 100*v.overheadShare(v.mean), duration(v.mean))
	if v.switches > 0 {
		v.because("%.0f %s a second while they were under way", v.switches, v.p.SwitchesName())
	}
	v.advise("merge ~%d tasks into one: overhead falls from %.0f %% to %.1f %% of the cost, and %d tasks remain for %s",
		merge, 100*v.overheadShare(v.mean), 100*v.overheadShare(v.mean*float64(merge)), c.Tasks/merge, processors(procs))
	v.where()
	return true
}

// each says how many tasks there are, and how large they are on average.
func (v *verdict) each(limit string) string {
	return tasks(v.c.Tasks) + " of " + limit + duration(v.mean) + one(v.c.Tasks, "", " each")
}

// coarse decides whether the class is coarse-grained, or notes why that cannot be decided.
func (v *verdict) coarse() bool {
	c, procs := v.c, v.p.allProcs()
	few := c.Tasks <= fewPerProc*procs
	large := v.p25 >= coarseOverheads*float64(v.overhead)
	if procs == 1 || !few || !large || c.blockedShare() > 0.5 && v.p.blockedKnown() {
		return false
	}
	if !(v.utilisation > 0) { // 0 is a clock too coarse for so short a run: the tasks did execute
		v.because("%s %s few and large, but how far %s used the processors is not known: sample the machine (Recorder.Start)",
			v.each(""), one(c.Tasks, "is", "are"), one(c.Tasks, "it", "they"))
		return false
	}
	if v.utilisation >= fullUtilisation {
		return false
	}
	if !v.p.blockedKnown() {
		v.because("%s while the processors were used to %.0f %%: %s may have been blocked, the source %s does not tell",
			v.each("at most "), 100*v.utilisation, one(c.Tasks, "it", "they"), v.p.Source)
		return false
	}
	total := v.mean * float64(c.Tasks)
	// 8 a processor level out what the last one to finish leaves idle; but none so small that it is overhead.
	split := uint64(min(float64(fewPerProc*procs), total/(coarseOverheads*float64(v.overhead))))
	if split <= c.Tasks {
		return false
	}
	c.Diagnosis, c.Split = Coarse, split
	v.because("%s on %s%s: few and large", tasks(c.Tasks), processors(procs),
		one(c.Tasks, " executes "+duration(v.mean), fmt.Sprintf(", three quarters of them execute %s or more", duration(v.p25))))
	v.because("the processors were used to %.0f %% while %s under way: at most %.2f times faster if all were busy",
		100*v.utilisation, one(c.Tasks, "it was", "they were"), 1/v.utilisation)
	if g := v.p.Granularity(c); g.Mean() > 0 && c.Tasks > 1 {
		v.because("the largest task is %.1f times the average", float64(g.Max())/g.Mean())
	}
	v.advise("split into at least %d tasks of about %s each, the largest first", split, duration(total/float64(split)))
	v.where()
	return true
}

// where names the lines to change.
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

// one chooses the words for one or for many.
func one(n uint64, single, many string) string {
	if n == 1 {
		return single
	}
	return many
}

func processors[N int | uint64](n N) string { return format.Plural(n, "processor", "processors") }

// percent prints a share with two digits.
func percent(share float64) string {
	if share < 0.0001 {
		return "less than 0.01 %"
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

// blockedKnown tells whether blocked times are: the wall clock takes a blocked task for a running one, and cycles of
// varying length do not tell a slow core from one that does something else,
// but a trace shows how long a goroutine ran, if not for how much of that its thread had a processor.
func (p *Profile) blockedKnown() bool {
	return p.Accuracy != string(cycles.UpperBound) && p.Accuracy != string(cycles.CoreCycles) || p.Source == SourceTrace
}

// during returns how far the processors were used while the class was active, and the
// context switches a second then: from the samples, weighted by how active the class
// was in each; without samples from the whole run if the class was active for most of it.
func (p *Profile) during(c *Class) (utilisation, switches float64) {
	var weight, used, switched, seconds float64
	for i := range p.Samples {
		s := &p.Samples[i]
		if s.Excluded {
			continue
		}
		active := c.activeTime(p.Start, s.At-int64(s.Wall), s.At)
		weight += active
		used += active * s.Utilisation
		if active > 0 {
			switched += float64(s.Voluntary + s.Involuntary)
			seconds += s.Wall.Seconds()
		}
	}
	if weight > 0 {
		return used / weight, switched / seconds
	}
	if p.Run.Wall > 0 && c.ActiveShare >= 0.5 {
		return p.Run.Utilisation, float64(p.Run.Voluntary+p.Run.Involuntary) / p.Run.Wall.Seconds()
	}
	return math.NaN(), 0
}

// activeTime is the time within [from, to) in which the class was active, in nanoseconds. The series begins with the run.
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

// emptyTaskCost measures what an empty task costs on this machine in a plain
// pool of goroutines: handing it over a channel and counting it, a few times some
// hundred, about 1 ms once in a process.
var emptyTaskCost = sync.OnceValue(func() time.Duration {
	const rounds, tasks = 5, 400
	least := time.Duration(math.MaxInt64)
	for range rounds {
		queue := make(chan func(), 8)
		var worker, wg sync.WaitGroup
		worker.Go(func() {
			for f := range queue {
				f()
			}
		})
		wg.Add(tasks)
		from := monotime.Now()
		for range tasks {
			queue <- wg.Done
		}
		wg.Wait()
		least = min(least, time.Duration(monotime.Now()-from)/tasks)
		close(queue)
		worker.Wait()
	}
	return max(least, 1)
})
