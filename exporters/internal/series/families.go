package series

import (
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"
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
	Points     []Point
}

// Point is one metric of a family, or one histogram.
type Point struct {
	// Values are the values of the family's Labels.
	Values []string
	// Value is the number, or the sum of a histogram.
	Value float64
	// Exemplar is the exemplar of a counter, or nil.
	Exemplar *Exemplar
	// Buckets and Count describe a histogram: the cumulative counts for TaskBounds (nil if lean),
	// and the total.
	Buckets []uint64
	Count   uint64
}

// Families returns the counters of a snapshot as families: always the same ones in the same order.
func (s *Snapshot) Families() []Family {
	var out []Family
	if s.Live {
		out = append(out, s.buildFamily())
		out = append(out, s.whole()...)
		out = append(out, s.groupFamilies()...)
		out = append(out, s.contention()...)
		out = append(out, s.stream()...)
	}
	out = append(out, s.taskFamily())
	if s.Lean {
		out = slices.DeleteFunc(out, func(f Family) bool { return !slices.Contains(leanFamilies, f.Name) })
	}
	return out
}

// leanFamilies are the families of a lean reader, with their number of series.
var leanFamilies = []string{
	"bottleneck_build_info", "bottleneck_recording", "bottleneck_panics_total", "bottleneck_gomaxprocs", "bottleneck_wall_seconds_total", "bottleneck_idle_seconds_total",
	"bottleneck_seen_seconds_total", "bottleneck_bursts_total", // 8
	"bottleneck_share_seconds_total", "bottleneck_running_seconds_total", // 2 × (8 groups + 4 kinds of others)
	"bottleneck_contentions_total", "bottleneck_contention_wait_seconds_total", // (1 + 3 parts) × (4 kinds + others)
	"bottleneck_stream_cpu_seconds_total", "bottleneck_stream_dropped_seconds_total", // 1 + 4 reasons
	"bottleneck_task_cycles", // 3: one class with one bucket
}

func (s *Snapshot) buildFamily() Family {
	b := &s.Build
	return Family{Name: "bottleneck_build_info", OTel: "bottleneck.build", Unit: "1", Type: Gauge, Labels: []string{"version", "revision", "goversion", "bottleneck"},
		Points: []Point{{Values: []string{b.Version, b.Revision, b.GoVersion, b.Bottleneck}, Value: 1}},
		Help:   "1, with the version of the program, the commit that it was built from, the version of Go and that of bottleneck."}
}

func one(v float64) []Point { return []Point{{Value: v}} }

func (s *Snapshot) whole() []Family {
	recording := 0.0
	if s.Recording {
		recording = 1
	}
	return []Family{
		{Name: "bottleneck_recording", OTel: "bottleneck.recording", Unit: "1", Type: Gauge, Points: one(recording),
			Help: "Whether the continuous analysis goes on."},
		{Name: "bottleneck_panics_total", OTel: "bottleneck.panics", Unit: "{panic}", Type: Counter, Points: one(float64(s.Panics)),
			Help: "How often an observer or a grouping of the continuous analysis has panicked. The analysis rests after each panic, and ends after ten."},
		{Name: "bottleneck_gomaxprocs", OTel: "bottleneck.gomaxprocs", Unit: "{processor}", Type: Gauge, Points: one(float64(s.Procs)),
			Help: "The largest GOMAXPROCS so far; 0 if it is not known yet."},
		{Name: "bottleneck_wall_seconds_total", OTel: "bottleneck.wall", Unit: "s", Type: Counter, Points: one(s.Wall.Seconds()),
			Help: "The time of the analysis, estimated from what was seen, as are all times and numbers of groups and contention. The shares of all groups and the idle time sum to it."},
		{Name: "bottleneck_idle_seconds_total", OTel: "bottleneck.idle", Unit: "s", Type: Counter, Points: one(s.Idle.Seconds()),
			Help: "The time in which no goroutine ran."},
		{Name: "bottleneck_seen_seconds_total", OTel: "bottleneck.seen", Unit: "s", Type: Counter, Points: one(s.Seen.Seconds()),
			Help: "The time that was seen, in bursts of tracing. Divided by the wall time, it is the coverage."},
		{Name: "bottleneck_bursts_total", OTel: "bottleneck.bursts", Unit: "{burst}", Type: Counter, Points: one(float64(s.Bursts)),
			Help: "Bursts of tracing that were analyzed. Shares of a time with few of them are not known well."},
	}
}

func (s *Snapshot) groupFamilies() []Family {
	by := []string{"group", "kind"}
	each := func(of func(*Group) time.Duration) (points []Point) {
		for i := range s.Groups {
			g := &s.Groups[i]
			points = append(points, Point{Values: []string{g.Name, g.Kind}, Value: of(g).Seconds()})
		}
		return points
	}
	blocked := Family{Name: "bottleneck_blocked_seconds_total", OTel: "bottleneck.blocked", Unit: "s", Type: Counter, Labels: []string{"group", "kind", "reason"},
		Help: "The time for which the group's goroutines were blocked, summed, by reason."}
	for _, g := range s.Groups {
		for _, b := range g.Blocked {
			blocked.Points = append(blocked.Points, Point{Values: []string{g.Name, g.Kind, b.Name}, Value: b.Time.Seconds(), Exemplar: s.exemplars[exemplarKey{g.Name, g.Kind, b.Name}]})
		}
	}
	return []Family{
		{Name: "bottleneck_share_seconds_total", OTel: "bottleneck.share", Unit: "s", Type: Counter, Labels: by,
			Points: each(func(g *Group) time.Duration { return g.Share }),
			Help:   "The group's share of the time: while r goroutines run, each is given 1/r of it."},
		{Name: "bottleneck_running_seconds_total", OTel: "bottleneck.running", Unit: "s", Type: Counter, Labels: by,
			Points: each(func(g *Group) time.Duration { return g.Running }),
			Help:   "The time for which the group's goroutines ran, summed. Divided by the share, it is the group's parallelism."},
		{Name: "bottleneck_runnable_seconds_total", OTel: "bottleneck.runnable", Unit: "s", Type: Counter, Labels: by,
			Points: each(func(g *Group) time.Duration { return g.Runnable }),
			Help:   "The time for which the group's goroutines were ready, but had no processor, summed."},
		{Name: "bottleneck_c_seconds_total", OTel: "bottleneck.c", Unit: "s", Type: Counter, Labels: by,
			Points: each(func(g *Group) time.Duration { return g.InC }),
			Help:   "The time for which the group's goroutines were in C code, summed. It is part of the running time while a processor was free for it; whether C computes or waits is unknown."},
		blocked,
	}
}

func (s *Snapshot) contention() []Family {
	times := Family{Name: "bottleneck_contentions_total", OTel: "bottleneck.contentions", Unit: "{contention}", Type: Counter, Labels: []string{"kind"},
		Help: "How often goroutines waited for each other, by what they waited for."}
	wait := Family{Name: "bottleneck_contention_wait_seconds_total", OTel: "bottleneck.contention.wait", Unit: "s", Type: Counter, Labels: []string{"kind", "part"},
		Help: "How long they were blocked: while a known owner was to blame, while the lock was on its way to its next owner (hand-off), and unattributed."}
	after := Family{Name: "bottleneck_contention_ready_seconds_total", OTel: "bottleneck.contention.ready", Unit: "s", Type: Counter, Labels: []string{"kind"},
		Help: "How long they were ready after that, until they had a processor."}
	for _, c := range s.Contention {
		times.Points = append(times.Points, Point{Values: []string{c.Kind}, Value: float64(c.Contentions)})
		for _, p := range []Part{{blamed, c.Blamed}, {handOff, c.HandOff}, {unattributed, c.Unattributed}} {
			wait.Points = append(wait.Points, Point{Values: []string{c.Kind, p.Name}, Value: p.Time.Seconds(), Exemplar: s.exemplars[exemplarKey{"", c.Kind, p.Name}]})
		}
		after.Points = append(after.Points, Point{Values: []string{c.Kind}, Value: c.Ready.Seconds()})
	}
	return []Family{times, wait, after}
}

func (s *Snapshot) stream() []Family {
	by := []string{"reason"}
	each := func(of func(*Dropped) float64) (points []Point) {
		for i := range s.Stream.Dropped {
			d := &s.Stream.Dropped[i]
			points = append(points, Point{Values: []string{d.Reason}, Value: of(d)})
		}
		return points
	}
	return []Family{
		{Name: "bottleneck_stream_generations_total", OTel: "bottleneck.stream.generations", Unit: "{generation}", Type: Counter, Points: one(float64(s.Stream.Generations)),
			Help: "Generations of the execution trace that were analyzed, one a burst or two."},
		{Name: "bottleneck_stream_bytes_total", OTel: "bottleneck.stream.size", Unit: "By", Type: Counter, Points: one(float64(s.Stream.Bytes)),
			Help: "Bytes of the execution trace that were analyzed."},
		{Name: "bottleneck_stream_cpu_seconds_total", OTel: "bottleneck.stream.cpu", Unit: "s", Type: Counter, Points: one(s.Stream.CPU.Seconds()),
			Help: "Processor time that the analysis took."},
		{Name: "bottleneck_stream_dropped_generations_total", OTel: "bottleneck.stream.dropped.generations", Unit: "{generation}", Type: Counter, Labels: by,
			Points: each(func(d *Dropped) float64 { return float64(d.Generations) }),
			Help:   "Generations that were dropped, and are in no other number: they did not fit into memory, or were broken."},
		{Name: "bottleneck_stream_dropped_bytes_total", OTel: "bottleneck.stream.dropped.size", Unit: "By", Type: Counter, Labels: by,
			Points: each(func(d *Dropped) float64 { return float64(d.Bytes) }),
			Help:   "Bytes of dropped generations."},
		{Name: "bottleneck_stream_dropped_seconds_total", OTel: "bottleneck.stream.dropped.time", Unit: "s", Type: Counter, Labels: by,
			Points: each(func(d *Dropped) float64 { return d.Time.Seconds() }),
			Help:   "The time that dropped generations were about."},
	}
}

func (s *Snapshot) taskFamily() Family {
	f := Family{Name: "bottleneck_task_cycles", OTel: "bottleneck.task.cycles", Unit: "{cycle}", Type: Histogram, Labels: []string{"class"},
		Help: "Reference cycles that tasks execute."}
	for _, t := range s.Tasks {
		if s.Lean {
			t.Buckets = nil
		}
		f.Points = append(f.Points, Point{Values: []string{t.Class}, Value: t.Cycles, Buckets: t.Buckets, Count: t.Count})
	}
	return f
}

// Build identifies the running program, so that series of a fleet can be compared by version.
type Build struct {
	// Version is the version of the program's module, or the one that the program sets. Revision is
	// the commit of the build. Bottleneck is the version of this module. Each is "" if unknown.
	Version, Revision, GoVersion, Bottleneck string
}

// theBuild returns the build information of the running program.
var theBuild = sync.OnceValue(func() Build {
	b := Build{GoVersion: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	const module = "github.com/bottleneck-go/bottleneck"
	b.Version = info.Main.Version
	if info.Main.Path == module {
		b.Bottleneck = info.Main.Version
	}
	for _, d := range info.Deps {
		if d.Path == module {
			b.Bottleneck = d.Version
		}
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Revision = s.Value
		}
	}
	return b
})
