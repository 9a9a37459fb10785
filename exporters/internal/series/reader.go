// Package series turns the results of a continuous analysis into counters for monitoring systems:
// few names, and numbers that only grow. All exporters of metrics use it and so export the same
// values.
//
//	r := series.NewReader(continuous, recorder, series.Options{})
//	for _, f := range r.Read() {
//		fmt.Println(f.Name, f.Points)
//	}
//
// The algorithm is described in ledger.go. A reading takes about 1 ms for 100 groups with two
// reasons each (BenchmarkRead), plus the time for summing up the analysis.
package series

import (
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Source is implemented by [bottleneck.Continuous].
type Source interface {
	Enabled() bool
	Read() *bottleneck.Live
}

// Tasker is implemented by [granularity.Recorder].
type Tasker interface {
	Profile() *granularity.Profile
}

// Capturer is implemented by *capture.Capturer.
type Capturer interface {
	Counts() (stored, suppressed, failed int64)
}

// Options configures a [Reader].
type Options struct {
	// Lean limits the output to [MaxLean] series, which docs/metrics.md lists.
	Lean bool
	// Version is the version of the program; "" means the version of its module.
	Version string
	// Captures, if not nil, has the counters of captures.
	Captures Capturer
}

// MaxLean is the maximum number of series of a lean reader, where each series of a histogram
// counts.
const MaxLean = 60

// Reader produces counters. It is safe for concurrent use.
type Reader struct {
	source Source
	tasks  Tasker
	opt    Options

	mu                     sync.Mutex
	groups, kinds, classes names
	live, sizes            ledger // of the analysis and of the tasks
	procs                  int64
	epoch                  int           // number of starts of the analysis
	from                   time.Time     // start of its first window; zero before it
	elapsed                time.Duration // since its start
}

// NewReader returns a reader of a continuous analysis and a task recorder. Either may be nil, or a
// nil pointer.
func NewReader(source Source, tasks Tasker, opt Options) *Reader {
	if c, is := source.(*bottleneck.Continuous); is && c == nil {
		source = nil
	}
	if t, is := tasks.(*granularity.Recorder); is && t == nil {
		tasks = nil
	}
	r := &Reader{source: source, tasks: tasks, opt: opt, groups: names{limit: maxGroups}, kinds: names{limit: maxKinds}, classes: names{limit: maxGroups}}
	if opt.Lean {
		r.groups.limit, r.kinds.limit, r.classes.limit = 8, 4, 0
	}
	return r
}

// has reports whether the reader has the numbers of a family.
func (r *Reader) has(metric string) bool {
	switch metric {
	case tasks:
		return true
	case stored, suppressed, failed:
		return r.opt.Captures != nil
	}
	return r.source != nil
}

// Families returns the families that the reader produces, without their points: always the same
// ones in the same order.
func (r *Reader) Families() (out []Family) {
	for _, f := range families {
		if r.has(f.name) && (f.lean > 0 || !r.opt.Lean) {
			family := Family{Name: f.name, Help: f.help, OTel: f.otel, Unit: f.unit, Type: f.typ, Labels: strings.Fields(string(f.by))}
			switch f.name {
			case tasks:
				family.Bounds, family.Counted = TaskBounds, "bottleneck.tasks"
			case latency:
				family.Bounds, family.Counted = latencyBounds, "bottleneck.scheduling.latencies"
			}
			out = append(out, family)
		}
	}
	return out
}

// Read returns the current counters. All except the gauges only grow from reading to reading.
func (r *Reader) Read() []Family {
	r.mu.Lock()
	defer r.mu.Unlock()
	values, named, exemplars := map[cell]int64{}, map[string][]cell{}, map[cell]*Exemplar(nil)
	if r.opt.Captures != nil {
		values[cell{metric: stored}], values[cell{metric: suppressed}], values[cell{metric: failed}] = r.opt.Captures.Counts()
	}
	if r.source != nil {
		if r.source.Enabled() {
			values[cell{metric: recording}] = 1
		}
		if live := r.source.Read(); live != nil {
			values[cell{metric: panics}] = int64(live.Panics)
			r.notice(live)
			r.live.update(r.epoch, r.totals(live), r.named)
			exemplars = exemplarsOf(live)
		}
		values[cell{metric: procs}] = r.procs
		readRuntime(values)
	}
	if r.tasks != nil {
		if p := r.tasks.Profile(); p != nil {
			r.sizes.update(p.Time, r.taskTotals(p), r.classes.has)
		}
	}
	for _, c := range append(r.live.counters(values), r.sizes.counters(values)...) {
		named[c.metric] = append(named[c.metric], c)
	}
	out := r.Families()
	for i := range out {
		r.addPoints(&out[i], values, named[out[i].Name], exemplars)
	}
	return out
}

var labelsOf = func() map[string]labels {
	of := map[string]labels{}
	for _, f := range families {
		of[f.name] = f.by
	}
	return of
}()

// contentionParts are the parts of waits, and droppedReasons the reasons for dropping data.
var (
	contentionParts = []string{"blamed", "hand-off", "unattributed"}
	droppedReasons  = []string{"behind", "broken", "over-memory"}
)

// addPoints adds the points of a family; named are its cells with names.
func (r *Reader) addPoints(f *Family, values map[cell]int64, named []cell, exemplars map[cell]*Exemplar) {
	add := func(c cell, of ...string) {
		c.metric = f.Name
		p := Point{Values: of, Value: float64(values[c]), Exemplar: exemplars[c]}
		if f.Unit == "s" {
			p.Value = time.Duration(values[c]).Seconds()
		}
		f.Points = append(f.Points, p)
	}
	by := labelsOf[f.Name]
	switch by {
	case none:
		_, known := values[cell{metric: f.Name}]
		switch {
		case f.Type == Histogram:
			f.Points = []Point{r.histogram(f, "", nil, values)}
		case known || f.Name != created:
			add(cell{})
		}
		return
	case states:
		for _, m := range runtimeMetrics {
			if _, known := values[m.cell]; known && m.metric == f.Name {
				add(m.cell, m.part)
			}
		}
	case program:
		of := build()
		if r.opt.Version != "" {
			of[0] = label(r.opt.Version)
		}
		f.Points = []Point{{Values: of[:], Value: 1}}
	case dropped:
		for _, reason := range droppedReasons {
			add(cell{part: reason}, reason)
		}
		return
	}
	for _, c := range named {
		switch by {
		case groups:
			add(c, c.name, c.kind)
		case reasons:
			add(c, c.name, c.kind, c.part)
		case kinds:
			add(c, c.name)
		case parts:
			add(c, c.name, c.part)
		case classes:
			if n := len(f.Points); n == 0 || f.Points[n-1].Values[0] != c.name {
				f.Points = append(f.Points, r.histogram(f, c.name, []string{c.name}, values))
			}
		}
	}
}

// notice detects a restart of the analysis, which resets its totals to 0. A restart changes the
// start time by more than clocks may differ, but there may be no start time yet, or none for a
// while.
func (r *Reader) notice(live *bottleneck.Live) {
	if live.Stream.Elapsed < r.elapsed || !live.From.IsZero() && !r.from.IsZero() && live.From.Sub(r.from).Abs() > time.Second {
		r.epoch++
		r.from = time.Time{}
	}
	if !live.From.IsZero() {
		r.from = live.From
	}
	r.elapsed = live.Stream.Elapsed
}

// named reports whether a cell has a counter of its own.
func (r *Reader) named(c cell) bool {
	switch labelsOf[c.metric] {
	case groups, reasons:
		return r.groups.has(c)
	case kinds, parts:
		return r.kinds.has(c)
	}
	return true
}

// totals returns the totals of an analysis, and elects the names with counters of their own.
func (r *Reader) totals(live *bottleneck.Live) map[cell]int64 {
	totals := map[cell]int64{}
	add := func(metric, name, kind, part string, v int64) { totals[cell{metric, name, kind, part}] += v }
	if g := live.Bottle; g != nil {
		r.procs = max(r.procs, int64(g.Procs))
		add("bottleneck_wall_seconds_total", "", "", "", int64(g.Wall))
		add("bottleneck_idle_seconds_total", "", "", "", int64(g.Idle))
		add("bottleneck_throttled_periods_total", "", "", "", g.Throttles)
		add("bottleneck_throttled_seconds_total", "", "", "", int64(g.Throttled))
		add("bottleneck_seen_seconds_total", "", "", "", int64(live.Covered))
		add("bottleneck_bursts_total", "", "", "", int64(live.Windows))
		sizes := map[cell]int64{}
		for i := range g.Boxes {
			b := &g.Boxes[i]
			name, kind := label(b.Group), label(b.Kind.String())
			sizes[cell{name: name, kind: kind}] += int64(b.Share)
			add("bottleneck_share_seconds_total", name, kind, "", int64(b.Share))
			add("bottleneck_running_seconds_total", name, kind, "", int64(b.Running))
			add("bottleneck_runnable_seconds_total", name, kind, "", int64(b.Runnable))
			add("bottleneck_c_seconds_total", name, kind, "", int64(b.InC))
			for reason, d := range b.Waiting {
				add(blocked, name, kind, label(reason), int64(d))
			}
		}
		add("bottleneck_scheduling_latency_cut_total", "", "", "", g.Latency.Cut)
		add(latency, "", "", sumPart, int64(g.Latency.Total))
		for i, n := range g.Latency.Buckets {
			add(latency, "", "", bucketPart(latencyBounds, bottle.LatencyBound(i).Seconds()), n)
		}
		r.groups.elect(sizes)
	}
	if p := live.Contention; p != nil {
		sizes := map[cell]int64{}
		for i := range p.Waits {
			w := &p.Waits[i]
			kind := label(string(w.Kind))
			sizes[cell{name: kind}] += int64(w.Waited + 1)
			add(contentions, kind, "", "", w.Contentions)
			add("bottleneck_contention_ready_seconds_total", kind, "", "", int64(w.Ready))
			for i, d := range []time.Duration{w.Blamed, w.HandOff, w.Unattributed} {
				add(waits, kind, "", contentionParts[i], int64(d))
			}
		}
		r.kinds.elect(sizes)
	}
	st := &live.Stream
	add("bottleneck_stream_generations_total", "", "", "", st.Generations)
	add("bottleneck_stream_bytes_total", "", "", "", st.Bytes)
	add("bottleneck_stream_cpu_seconds_total", "", "", "", int64(st.CPU))
	for i, d := range []timeline.Drop{st.Behind, st.Broken, st.OverMemory} {
		add("bottleneck_stream_dropped_generations_total", "", "", droppedReasons[i], d.Generations)
		add("bottleneck_stream_dropped_bytes_total", "", "", droppedReasons[i], d.Bytes)
		add("bottleneck_stream_dropped_seconds_total", "", "", droppedReasons[i], int64(d.Duration))
	}
	return totals
}

// sumPart is the part of a histogram that holds the sum of the values. Other parts are buckets.
const sumPart = "sum"

// bucketPart returns the part of a histogram that counts values up to v.
func bucketPart(bounds []float64, v float64) string {
	at, _ := slices.BinarySearch(bounds, v)
	return strconv.Itoa(at)
}

// readRuntime reads the metrics of the runtime.
func readRuntime(values map[cell]int64) {
	samples := make([]metrics.Sample, len(runtimeMetrics))
	for i, m := range runtimeMetrics {
		samples[i].Name = m.name
	}
	metrics.Read(samples)
	for i, m := range runtimeMetrics {
		if v := samples[i].Value; v.Kind() == metrics.KindUint64 { // a release may lack it
			values[m.cell] = int64(v.Uint64())
		}
	}
}

func (r *Reader) taskTotals(p *granularity.Profile) map[cell]int64 {
	totals, sizes := map[cell]int64{}, map[cell]int64{}
	for i := range p.Classes {
		class := &p.Classes[i]
		c := cell{name: label(class.Name)}
		sizes[c] += int64(class.Cycles.Sum())
		c.metric, c.part = tasks, sumPart
		totals[c] += int64(class.Cycles.Sum())
		for value, count := range class.Cycles.Buckets() {
			c.part = bucketPart(TaskBounds, float64(value))
			totals[c] += int64(count)
		}
	}
	r.classes.elect(sizes)
	return totals
}

// histogram returns the histogram of a name, with the given values of the family's labels.
func (r *Reader) histogram(f *Family, name string, of []string, values map[cell]int64) Point {
	c := cell{metric: f.Name, name: name, part: sumPart}
	p := Point{Values: of, Value: float64(values[c])}
	if f.Unit == "s" {
		p.Value = time.Duration(values[c]).Seconds()
	}
	for i := range len(f.Bounds) + 1 {
		c.part = strconv.Itoa(i)
		p.Count += uint64(values[c])
		if i < len(f.Bounds) && !r.opt.Lean {
			p.Buckets = append(p.Buckets, p.Count)
		}
	}
	return p
}

// maxLabel is the maximum length of a label value.
const maxLabel = 200

// label turns an arbitrary name into a label value.
func label(name string) string {
	name = format.Clean(name)
	if len(name) <= maxLabel {
		return name
	}
	return strings.ToValidUTF8(name[:maxLabel], "") + "…"
}
