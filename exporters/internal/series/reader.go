package series

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/bottleneck-go/bottleneck"
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
	// Lean limits the output to [MaxLean] series: shares and running times of up to 8 groups,
	// contention of 4 kinds, tasks as one class, and series that show whether these numbers can be
	// trusted. MaxGroups is ignored.
	Lean bool
	// Version is the version of the program; "" means the version of its module.
	Version string
}

// MaxLean is the maximum number of series of a lean reader, where each series of a histogram
// counts.
const MaxLean = 60

// The limits of a lean reader: with "(others)" of each of the four kinds of groups, 24 series of
// groups, and 20 of contention.
const (
	leanGroups = 8
	leanKinds  = 4
	maxKinds   = 100 // of contention, unless lean
)

// Reader produces counters. It is safe for concurrent use.
type Reader struct {
	source Source
	tasks  Tasker

	mu                       sync.Mutex
	groups, classes, kinds   names
	contended                ledger // keyed by kind of contention as the name
	build                    Build
	lean                     bool
	share, running, runnable ledger
	inC                      ledger
	blocked                  ledger
	whole                    ledger // values that have no groups
	sizes                    ledger
	procs                    int
	epoch                    int           // number of starts of the analysis
	from                     time.Time     // start of its first window; zero before it
	elapsed                  time.Duration // since its start
}

// NewReader returns a reader of a continuous analysis and a task recorder. Either may be nil.
func NewReader(source Source, tasks Tasker, opt Options) *Reader {
	if opt.MaxGroups <= 0 {
		opt.MaxGroups = 50
	}
	r := &Reader{source: source, tasks: tasks, groups: names{limit: opt.MaxGroups}, classes: names{limit: opt.MaxGroups}, kinds: names{limit: maxKinds}, build: theBuild(), lean: opt.Lean}
	if opt.Lean {
		r.groups.limit, r.classes.limit, r.kinds.limit = leanGroups, 0, leanKinds
	}
	if opt.Version != "" {
		r.build.Version = label(opt.Version)
	}
	return r
}

// Read returns the current counters.
func (r *Reader) Read() *Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &Snapshot{Build: r.build, Lean: r.lean}
	if r.source != nil {
		s.Live, s.Recording = true, r.source.Enabled()
		if live := r.source.Read(); live != nil {
			s.Panics = live.Panics
			r.notice(live)
			r.readGroups(live)
			r.readWhole(live)
			r.readContention(live)
			s.exemplars = exemplars(live)
		}
		r.showGroups(s)
		r.showWhole(s)
	}
	if r.tasks != nil {
		if p := r.tasks.Profile(); p != nil {
			r.readTasks(p)
		}
		r.showTasks(s)
	}
	return s
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

// readGroups updates the ledgers of groups from the boxes of the graph.
func (r *Reader) readGroups(live *bottleneck.Live) {
	g := live.Bottle
	if g == nil {
		return
	}
	r.procs = max(r.procs, g.Procs)
	n := len(g.Boxes)
	share, running, runnable, blocked := make(map[cell]int64, n), make(map[cell]int64, n), make(map[cell]int64, n), make(map[cell]int64, n)
	inC, sizes := make(map[cell]int64, n), make(map[cell]int64, n)
	for i := range g.Boxes {
		b := &g.Boxes[i]
		c := cell{name: label(b.Group), kind: label(string(b.Kind))}
		share[c] += int64(b.Share)
		running[c] += int64(b.Running)
		runnable[c] += int64(b.Runnable)
		inC[c] += int64(b.InC)
		sizes[c] += int64(b.Share)
		for reason, d := range b.Waiting {
			c.part = label(reason)
			blocked[c] += int64(d)
		}
	}
	r.groups.elect(sizes)
	r.share.update(r.epoch, share, r.groups.has)
	r.running.update(r.epoch, running, r.groups.has)
	r.runnable.update(r.epoch, runnable, r.groups.has)
	r.inC.update(r.epoch, inC, r.groups.has)
	r.blocked.update(r.epoch, blocked, r.groups.has)
}

// showGroups adds the counters of the groups to the snapshot.
func (r *Reader) showGroups(s *Snapshot) {
	index := map[cell]int{}
	group := func(c cell) *Group {
		c.part = ""
		i, ok := index[c]
		if !ok {
			i = len(s.Groups)
			index[c] = i
			s.Groups = append(s.Groups, Group{Name: c.name, Kind: c.kind})
		}
		return &s.Groups[i]
	}
	for _, e := range r.share.entries() {
		group(e.cell).Share = time.Duration(e.value)
	}
	for _, e := range r.running.entries() {
		group(e.cell).Running = time.Duration(e.value)
	}
	for _, e := range r.inC.entries() {
		group(e.cell).InC = time.Duration(e.value)
	}
	for _, e := range r.runnable.entries() {
		group(e.cell).Runnable = time.Duration(e.value)
	}
	for _, e := range r.blocked.entries() {
		g := group(e.cell)
		g.Blocked = append(g.Blocked, Part{e.part, time.Duration(e.value)})
	}
	order.Stable(s.Groups, func(a, b Group) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.Kind, b.Kind)
	})
}

// The cells of values without groups. A kind of contention, or a reason for dropping, is the kind.
const (
	wall, idle, seen, bursts                          = "wall", "idle", "seen", "bursts"
	contentions, blamed, handOff, unattributed, ready = "contentions", "blamed", "hand-off", "unattributed", "ready"
	generations, bytes, cpu                           = "generations", "bytes", "cpu"
	droppedGenerations, droppedBytes, droppedDuration = "dropped generations", "dropped bytes", "dropped time"
)

// droppedReasons are the label values of the reasons for dropping.
var droppedReasons = []string{"behind", "broken", "over-memory"}

func (r *Reader) readWhole(live *bottleneck.Live) {
	totals := map[cell]int64{}
	add := func(kind, part string, v int64) { totals[cell{kind: kind, part: part}] += v }
	if g := live.Bottle; g != nil {
		add("", wall, int64(g.Wall))
		add("", idle, int64(g.Idle))
		add("", seen, int64(live.Covered))
		add("", bursts, int64(live.Windows))
	}
	st := &live.Stream
	add("", generations, st.Generations)
	add("", bytes, st.Bytes)
	add("", cpu, int64(st.CPU))
	for i, d := range []timeline.Drop{st.Dropped.Behind, st.Dropped.Broken, st.Dropped.OverMemory} {
		add(droppedReasons[i], droppedGenerations, d.Generations)
		add(droppedReasons[i], droppedBytes, d.Bytes)
		add(droppedReasons[i], droppedDuration, int64(d.Duration))
	}
	r.whole.update(r.epoch, totals, func(cell) bool { return true })
}

// readContention updates the ledgers of contention.
func (r *Reader) readContention(live *bottleneck.Live) {
	p := live.Contention
	if p == nil {
		return
	}
	totals, sizes := map[cell]int64{}, map[cell]int64{}
	for i := range p.Waits {
		w := &p.Waits[i]
		c := cell{name: label(string(w.Kind))}
		sizes[c] += int64(w.Waited + 1)
		for _, part := range []struct {
			name  string
			value int64
		}{{contentions, w.Contentions}, {blamed, int64(w.Blamed)}, {handOff, int64(w.HandOff)}, {unattributed, int64(w.Unattributed)}, {ready, int64(w.Ready)}} {
			c.part = part.name
			totals[c] += part.value
		}
	}
	r.kinds.elect(sizes)
	r.contended.update(r.epoch, totals, r.kinds.has)
}

// showContention adds the counters of contention to the snapshot.
func (r *Reader) showContention(s *Snapshot) {
	for _, e := range r.contended.entries() { // sorted by name
		if n := len(s.Contention); n == 0 || s.Contention[n-1].Kind != e.name {
			s.Contention = append(s.Contention, Contention{Kind: e.name})
		}
		c := &s.Contention[len(s.Contention)-1]
		switch d := time.Duration(e.value); e.part {
		case contentions:
			c.Contentions = e.value
		case blamed:
			c.Blamed = d
		case handOff:
			c.HandOff = d
		case unattributed:
			c.Unattributed = d
		case ready:
			c.Ready = d
		}
	}
}

func (r *Reader) showWhole(s *Snapshot) {
	value := func(kind, part string) int64 { return r.whole.own[cell{kind: kind, part: part}] }
	s.Procs = r.procs
	s.Wall, s.Idle = time.Duration(value("", wall)), time.Duration(value("", idle))
	s.Seen, s.Bursts = time.Duration(value("", seen)), value("", bursts)
	r.showContention(s)
	s.Stream = Stream{Generations: value("", generations), Bytes: value("", bytes), CPU: time.Duration(value("", cpu))}
	for _, reason := range droppedReasons {
		s.Stream.Dropped = append(s.Stream.Dropped, Dropped{
			Reason: reason, Generations: value(reason, droppedGenerations), Bytes: value(reason, droppedBytes),
			Time: time.Duration(value(reason, droppedDuration)),
		})
	}
}

// sumPart is the part of a class that holds the sum of the cycles instead of a bucket.
const sumPart = "sum"

func (r *Reader) readTasks(p *granularity.Profile) {
	totals, sizes := map[cell]int64{}, map[cell]int64{}
	for i := range p.Classes {
		class := &p.Classes[i]
		c := cell{name: label(class.Name)}
		sizes[c] += int64(class.Cycles.Sum())
		for b := range class.Cycles.Buckets() {
			at, _ := slices.BinarySearch(TaskBounds, float64(b.High))
			c.part = strconv.Itoa(at)
			totals[c] += int64(b.Count)
		}
		c.part = sumPart
		totals[c] += int64(class.Cycles.Sum())
	}
	r.classes.elect(sizes)
	r.sizes.update(p.Time, totals, r.classes.has)
}

func (r *Reader) showTasks(s *Snapshot) {
	for _, e := range r.sizes.entries() {
		if n := len(s.Tasks); n == 0 || s.Tasks[n-1].Class != e.name {
			s.Tasks = append(s.Tasks, Tasks{Class: e.name, Buckets: make([]uint64, len(TaskBounds))})
		}
		t := &s.Tasks[len(s.Tasks)-1]
		if e.part == sumPart {
			t.Cycles = float64(e.value)
			continue
		}
		t.Count += uint64(e.value)
		at, _ := strconv.Atoi(e.part)
		for i := at; i < len(t.Buckets); i++ {
			t.Buckets[i] += uint64(e.value)
		}
	}
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
