package series

import (
	"cmp"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
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

// Options configures a [Reader].
type Options struct {
	// MaxGroups is the maximum number of groups of goroutines, and of classes of tasks, that have
	// their own counters. The rest is summed up as [Others]. 0 means 50.
	MaxGroups int
	// Lean limits the output to [MaxLean] series, which docs/metrics.md lists; MaxGroups is ignored.
	Lean bool
	// Version is the version of the program; "" means the version of its module.
	Version string
}

// MaxLean is the maximum number of series of a lean reader, where each series of a histogram
// counts.
const MaxLean = 60

// Reader produces counters. It is safe for concurrent use.
type Reader struct {
	source Source
	tasks  Tasker
	build  [4]string
	lean   bool

	mu                     sync.Mutex
	groups, kinds, classes names
	live, sizes            ledger // of the analysis and of the tasks
	procs                  int64
	epoch                  int           // number of starts of the analysis
	from                   time.Time     // start of its first window; zero before it
	elapsed                time.Duration // since its start
}

// NewReader returns a reader of a continuous analysis and a task recorder. Either may be nil.
func NewReader(source Source, tasks Tasker, opt Options) *Reader {
	n := cmp.Or(max(opt.MaxGroups, 0), 50)
	r := &Reader{source: source, tasks: tasks, build: build(), lean: opt.Lean, groups: names{limit: n}, kinds: names{limit: maxKinds}, classes: names{limit: n}}
	if opt.Lean {
		r.groups.limit, r.kinds.limit, r.classes.limit = 8, 4, 0
	}
	if opt.Version != "" {
		r.build[0] = label(opt.Version)
	}
	return r
}

// Families returns the families that the reader produces, without their points: always the same
// ones in the same order.
func (r *Reader) Families() (out []Family) {
	for _, f := range families {
		if (r.source != nil || f.name == tasks) && (f.lean > 0 || !r.lean) {
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
	values, rows, exemplars := map[cell]int64{}, map[labels][]cell{}, map[cell]*Exemplar(nil)
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
	for _, e := range append(r.live.entries(), r.sizes.entries()...) {
		values[e.cell] = e.value
		by := labelsOf[e.metric]
		row := cell{name: e.name, kind: e.kind}
		switch by {
		case reasons:
			rows[by] = append(rows[by], cell{name: e.name, kind: e.kind, part: e.part})
			by = groups
		case parts:
			by = kinds
		}
		rows[by] = append(rows[by], row)
	}
	for by := range rows {
		order.Stable(rows[by], compareCells)
		rows[by] = slices.Compact(rows[by])
	}
	out := r.Families()
	for i := range out {
		r.addPoints(&out[i], values, rows, exemplars)
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

// addPoints adds the points of a family.
func (r *Reader) addPoints(f *Family, values map[cell]int64, rows map[labels][]cell, exemplars map[cell]*Exemplar) {
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
	case states:
		for _, m := range runtimeMetrics {
			if _, known := values[m.cell]; known && m.metric == f.Name {
				add(m.cell, m.part)
			}
		}
	case program:
		f.Points = []Point{{Values: r.build[:], Value: 1}}
	case dropped:
		for _, reason := range droppedReasons {
			add(cell{part: reason}, reason)
		}
	case parts:
		for _, c := range rows[kinds] {
			for _, part := range contentionParts {
				add(cell{name: c.name, part: part}, c.name, part)
			}
		}
	}
	for _, c := range rows[by] {
		switch by {
		case groups:
			add(c, c.name, c.kind)
		case reasons:
			add(c, c.name, c.kind, c.part)
		case kinds:
			add(c, c.name)
		case classes:
			f.Points = append(f.Points, r.histogram(f, c.name, []string{c.name}, values))
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
			name, kind := label(b.Group), label(string(b.Kind))
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
		if i < len(f.Bounds) && !r.lean {
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
	end := maxLabel
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + "…"
}
