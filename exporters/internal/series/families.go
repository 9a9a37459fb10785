package series

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// Type is the type of a metric.
type Type string

// The types of metrics, by their Prometheus names.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Family holds all metrics with the same name.
type Family struct {
	// Name and Help are the Prometheus name and help text.
	Name, Help string
	// OTel and Unit are the name and unit in OpenTelemetry, where names do not include units.
	OTel, Unit string
	Type       Type
	Labels     []string
	// Bounds are the upper bounds of the buckets of a histogram, in its unit, and Counted is the
	// OpenTelemetry name of the number of its values.
	Bounds  []float64
	Counted string
	Points  []Point
}

// Point is one metric of a family, or one histogram.
type Point struct {
	// Values are the values of the family's Labels.
	Values []string
	// Value is the number, or the sum of a histogram.
	Value float64
	// Exemplar is the exemplar of a counter, or nil.
	Exemplar *Exemplar
	// Buckets and Count describe a histogram: the cumulative counts for the family's Bounds (nil
	// if lean), and the total.
	Buckets []uint64
	Count   uint64
}

// labels are what distinguishes the points of a family.
type labels string

const (
	none    labels = ""
	program labels = "version revision goversion bottleneck"
	groups  labels = "group kind"
	reasons labels = "group kind reason" // for which a group was blocked
	kinds   labels = "kind"              // of contention
	parts   labels = "kind part"         // of waits
	dropped labels = "reason"            // for dropping data
	classes labels = "class"             // of tasks
	states  labels = "state"             // of goroutines

	// The numbers of groups of goroutines and classes of tasks, and of kinds of contention, that have
	// their own counters, unless lean. The rest is summed up as [Others].
	maxGroups, maxKinds = 50, 100
)

// The names to which the reader refers.
const (
	recording   = "bottleneck_recording"
	panics      = "bottleneck_panics_total"
	procs       = "bottleneck_gomaxprocs"
	blocked     = "bottleneck_blocked_seconds_total"
	waits       = "bottleneck_contention_wait_seconds_total"
	contentions = "bottleneck_contentions_total"
	tasks       = "bottleneck_task_cycles"
	latency     = "bottleneck_scheduling_latency_seconds"
	goroutines  = "bottleneck_goroutines"
	created     = "bottleneck_goroutines_created_total"
	stored      = "bottleneck_captures_total"
	suppressed  = "bottleneck_captures_suppressed_total"
	failed      = "bottleneck_captures_failed_total"
)

// runtimeMetrics are the metrics of the runtime that are exported, where it has them.
var runtimeMetrics = []struct {
	cell
	name string
}{
	{cell{metric: goroutines, part: "not-in-go"}, "/sched/goroutines/not-in-go:goroutines"},
	{cell{metric: goroutines, part: "runnable"}, "/sched/goroutines/runnable:goroutines"},
	{cell{metric: goroutines, part: "running"}, "/sched/goroutines/running:goroutines"},
	{cell{metric: goroutines, part: "waiting"}, "/sched/goroutines/waiting:goroutines"},
	{cell{metric: created}, "/sched/goroutines-created:goroutines"},
}

// families lists all families. A lean reader has those with a number, which is the maximum number
// of their series: with "(others)", there are up to 12 groups and 5 kinds.
var families = []struct {
	name, otel, unit string
	typ              Type
	by               labels
	lean             int
	help             string
}{
	{"bottleneck_build_info", "bottleneck.build", "1", Gauge, program, 1, "1, with the version of the program, the commit that it was built from, the version of Go and that of bottleneck."},
	{recording, "bottleneck.recording", "1", Gauge, none, 1, "Whether the continuous analysis goes on."},
	{panics, "bottleneck.panics", "{panic}", Counter, none, 1, "How often an observer or a grouping of the continuous analysis has panicked. The analysis rests after each panic, and ends after ten."},
	{procs, "bottleneck.gomaxprocs", "{processor}", Gauge, none, 1, "The largest GOMAXPROCS so far; 0 if it is not known yet."},
	{"bottleneck_wall_seconds_total", "bottleneck.wall", "s", Counter, none, 1, "The time of the analysis, estimated from what was seen, as are all times and numbers of groups and contention. The shares of all groups and the idle time sum to it."},
	{"bottleneck_idle_seconds_total", "bottleneck.idle", "s", Counter, none, 1, "The time in which no goroutine ran."},
	{"bottleneck_throttled_periods_total", "bottleneck.throttled.periods", "{period}", Counter, none, 0, "Periods in which the control group of the process had used up its quota of processor time (nr_throttled)."},
	{"bottleneck_throttled_seconds_total", "bottleneck.throttled.time", "s", Counter, none, 1, "Processor time that the quota of the control group took away (throttled_usec). Goroutines seem to run then."},
	{"bottleneck_seen_seconds_total", "bottleneck.seen", "s", Counter, none, 1, "The time that was seen, in bursts of tracing. Divided by the wall time, it is the coverage."},
	{"bottleneck_bursts_total", "bottleneck.bursts", "{burst}", Counter, none, 1, "Bursts of tracing that were analyzed. Shares of a time with few of them are not known well."},
	{"bottleneck_share_seconds_total", "bottleneck.share", "s", Counter, groups, 12, "The group's share of the time: while r goroutines run, each is given 1/r of it."},
	{"bottleneck_running_seconds_total", "bottleneck.running", "s", Counter, groups, 12, "The time for which the group's goroutines ran, summed. Divided by the share, it is the group's parallelism."},
	{"bottleneck_runnable_seconds_total", "bottleneck.runnable", "s", Counter, groups, 0, "The time for which the group's goroutines were ready, but had no processor, summed."},
	{"bottleneck_c_seconds_total", "bottleneck.c", "s", Counter, groups, 0, "The time for which the group's goroutines were in C code, summed. It is part of the running time while a processor was free for it; whether C computes or waits is unknown."},
	{blocked, "bottleneck.blocked", "s", Counter, reasons, 0, "The time for which the group's goroutines were blocked, summed, by reason."},
	{contentions, "bottleneck.contentions", "{contention}", Counter, kinds, 5, "How often goroutines waited for each other, by what they waited for."},
	{waits, "bottleneck.contention.wait", "s", Counter, parts, 15, "How long they were blocked: while a known owner was to blame, while the lock was on its way to its next owner (hand-off), and unattributed."},
	{"bottleneck_contention_ready_seconds_total", "bottleneck.contention.ready", "s", Counter, kinds, 0, "How long they were ready after that, until they had a processor."},
	{latency, "bottleneck.scheduling.latency", "s", Histogram, none, 0, "For how long goroutines of the application were ready each time until they ran. A time that the bursts do not show from its beginning to its end is missing, so long ones are underestimated."},
	{"bottleneck_scheduling_latency_cut_total", "bottleneck.scheduling.latency.cut", "{latency}", Counter, none, 0, "Scheduling latencies that are not in the histogram, because a burst showed only a part."},
	{goroutines, "bottleneck.goroutines", "{goroutine}", Gauge, states, 0, "Goroutines by state, approximately, as the runtime counts them: running, runnable, waiting, and in a system call or C (not-in-go)."},
	{created, "bottleneck.goroutines.created", "{goroutine}", Counter, none, 0, "Goroutines that the runtime has created since the program started."},
	{"bottleneck_stream_generations_total", "bottleneck.stream.generations", "{generation}", Counter, none, 0, "Generations of the execution trace that were analyzed, one a burst or two."},
	{"bottleneck_stream_bytes_total", "bottleneck.stream.size", "By", Counter, none, 0, "Bytes of the execution trace that were analyzed."},
	{"bottleneck_stream_cpu_seconds_total", "bottleneck.stream.cpu", "s", Counter, none, 1, "Processor time that the analysis took."},
	{"bottleneck_stream_dropped_generations_total", "bottleneck.stream.dropped.generations", "{generation}", Counter, dropped, 0, "Generations that were dropped, and are in no other number: they did not fit into memory, or were broken."},
	{"bottleneck_stream_dropped_bytes_total", "bottleneck.stream.dropped.size", "By", Counter, dropped, 0, "Bytes of dropped generations."},
	{"bottleneck_stream_dropped_seconds_total", "bottleneck.stream.dropped.time", "s", Counter, dropped, 3, "The time that dropped generations were about."},
	{stored, "bottleneck.captures", "{capture}", Counter, none, 0, "Captures that were stored."},
	{suppressed, "bottleneck.captures.suppressed", "{trigger}", Counter, none, 0, "Triggers that took no capture, because it was too early for the next one."},
	{failed, "bottleneck.captures.failed", "{capture}", Counter, none, 0, "Captures that could not be taken or stored."},
	{tasks, "bottleneck.task.cycles", "{cycle}", Histogram, classes, 3, "Reference cycles that tasks execute."}, // one class with one bucket
}

// TaskBounds are the upper bounds of the buckets of task sizes, in cycles: powers of 4, from 0.1 µs
// to half a minute at 2 GHz. A bucket of a [granularity.Histogram] that straddles a bound, 1.6 %
// wide, counts as above it.
var TaskBounds = powersOf4(256, 1<<36, 1)

// latencyBounds are those of scheduling latencies, in seconds: from 1 µs to 17 s. Each is the end
// of a bucket of a [bottle.Latency].
var latencyBounds = powersOf4(1<<10, 1<<34, 1e9)

func powersOf4(from, to, unit float64) (bounds []float64) {
	for b := from; b <= to; b *= 4 {
		bounds = append(bounds, b/unit)
	}
	return bounds
}

// build returns the values of the labels of the running program, so that series of a fleet can be
// compared by version: the version of its module, the commit of the build, and the versions of Go
// and of this module. Each is "" if unknown.
var build = sync.OnceValue(func() (b [4]string) {
	b[2] = runtime.Version()
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b[0] = info.Main.Version
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == "github.com/bottleneck-go/bottleneck" {
			b[3] = m.Version
		}
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b[1] = s.Value
		}
	}
	return b
})
