package granularity

import (
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/cycles"
)

// RecorderOptions are the settings of a [Recorder]. The zero value is a good one.
type RecorderOptions struct {
	// MaxSites limits the places that tasks come from and are told apart, 2048
	// if 0: combinations of class, pool and the call chains that created and submitted the
	// task. Tasks from further places are counted in the class "(other)".
	MaxSites int
	// Log is the number of tasks to keep a record of each, in [Profile].Log. The
	// first so many are kept and the rest is counted. Each takes about 200 B
	// and one allocation. 0 keeps none.
	Log int
	// AggregateNested counts what a task executes inline (by [Do] or
	// [Task.Run], by the goroutine that created it) to that task, instead of as a task
	// of its own: it could not have run in parallel.
	AggregateNested bool
	// NoThreadState keeps this process, from then on, from giving the Linux kernel addresses to
	// write to for the threads that execute tasks (rseq and set_tid_address). The clock is then
	// the best one that needs neither, such as "thread-clock", whose reading takes some 0.3 µs
	// instead of 17 ns: see [Profile].Source. Tasks under way are not measured. The environment
	// variable BOTTLENECK_NO_THREAD_STATE=1 does the same from the start.
	NoThreadState bool
}

// A Recorder collects what [Pool], [Group], [Do] and [Task] measure. Its memory
// is bounded, see [Profile]. It is safe for concurrent use.
type Recorder struct {
	opts     RecorderOptions
	clock    *cycles.Clock
	base     *cycles.Timebase
	bias     int64         // cycles that an empty task seems to execute
	overhead time.Duration // that an empty task costs; 0: not known
	cache    siteCache

	shards   [shardCount]shard
	other    *site
	logged   atomic.Int64  // tasks that have a place in the log
	unlogged atomic.Int64  // tasks for which there was none
	logIDs   atomic.Uint64 // the last number given

	mu      sync.Mutex
	sites   map[siteKey]*site
	classes map[string]*class
	pools   map[string]*poolName
	began   moment
	waited  waits // before that
	machine machine
}

// moment is an instant on all our clocks, with what the process had used by then.
type moment struct {
	tick  int64
	at    time.Time
	usage usage

	collections int64         // that the garbage collector had ended
	paused      time.Duration // for which it had stopped the world
}

func (r *Recorder) now() moment {
	now := time.Now()
	m := moment{tick: cycles.Ticks(), at: now, usage: processUsage()}
	var stats debug.GCStats
	debug.ReadGCStats(&stats)
	m.collections, m.paused = stats.NumGC, stats.PauseTotal
	return m
}

// NewRecorder returns a recorder that records from now on. The first one in a
// process takes some 20 ms to choose and calibrate the cycle counter, and 2 ms to measure what an
// empty task costs: make it before the work begins, as a busy process shows no costs.
func NewRecorder(opts RecorderOptions) *Recorder {
	r := newRecorder(opts)
	if r.clock == cycles.Default() {
		r.bias = bias()
	} else {
		r.bias = secondBias()
	}
	r.overhead = empty.measured()
	return r
}

// bias measures what of our own work between the two readings of the clock is counted
// to a task: the least that any of several hundred empty tasks seems to execute, some 40 ns.
var bias = sync.OnceValue(func() int64 { return measureBias(RecorderOptions{}) })

// secondBias is the bias of the clock of recorders with NoThreadState, where it is not the default
// one.
var secondBias = sync.OnceValue(func() int64 { return measureBias(RecorderOptions{NoThreadState: true}) })

func measureBias(opts RecorderOptions) int64 {
	r := newRecorder(opts)
	empty := r.addSite(siteKey{})
	for range 500 {
		var x execution
		x.begin(empty, nil, nil, false, nil)
		x.end()
	}
	countNotes()
	least := uint64(math.MaxUint64)
	for i := range r.shards {
		for _, c := range r.shards[i].cells {
			if c != nil && c.cycles.Count() > 0 {
				least = min(least, c.cycles.Min())
			}
		}
	}
	return int64(least)
}

func newRecorder(opts RecorderOptions) *Recorder {
	if opts.MaxSites <= 0 {
		opts.MaxSites = 2048
	}
	opts.Log = max(opts.Log, 0)
	clock := cycles.Default
	if opts.NoThreadState {
		clock = cycles.WithoutThreadState
	}
	r := &Recorder{
		opts:    opts,
		clock:   clock(),
		base:    cycles.TimebaseOf(),
		sites:   make(map[siteKey]*site),
		classes: make(map[string]*class),
		pools:   make(map[string]*poolName),
	}
	r.began, r.waited = r.now(), processWaits()
	r.other = r.addSite(siteKey{name: "(other)"})
	return r
}

// Default returns the recorder that is used where none is given. It is made
// at the first call.
var defaultRecorder = sync.OnceValue(func() *Recorder { return NewRecorder(RecorderOptions{}) })

// Default returns the recorder that pools, groups and tasks use to which none
// was given. It keeps no log and does not aggregate.
func Default() *Recorder { return defaultRecorder() }

// or returns r, or the default recorder if it is nil.
func (r *Recorder) or() *Recorder {
	if r == nil {
		return Default()
	}
	return r
}

// Statistics are kept in shards, chosen by thread, so that threads hardly ever wait for
// each other.
const shardCount = 32

type shard struct {
	mu     sync.Mutex
	cells  []*cell   // by site
	series []*series // by class
	log    []entry
	_      [64]byte // keeps the next shard's lock off this one's cache line
}

// cell is the statistics of one site on the threads of one shard.
type cell struct {
	site       *site
	series     *series
	cycles     Histogram // self
	wall       Histogram // nanoseconds
	blocked    Histogram // nanoseconds, of those that were off the processor at all
	unmeasured uint64
	nested     uint64
	aggregated uint64
}

// cell returns the shard's statistics for the site. The caller holds sh.mu.
func (sh *shard) cell(s *site) *cell {
	if s.id < len(sh.cells) {
		if c := sh.cells[s.id]; c != nil {
			return c
		}
	}
	for len(sh.cells) <= s.id {
		sh.cells = append(sh.cells, nil)
	}
	for len(sh.series) <= s.class.id {
		sh.series = append(sh.series, nil)
	}
	if sh.series[s.class.id] == nil {
		sh.series[s.class.id] = &series{shift: seriesShift}
	}
	c := &cell{site: s, series: sh.series[s.class.id]}
	sh.cells[s.id] = c
	return c
}

// add counts an execution, about 10 ns. The caller holds the lock of the cell's shard.
func (c *cell) add(n *note) {
	if n.aggregated {
		c.aggregated++
		return
	}
	if n.nested {
		c.nested++
	}
	r := c.site.rec
	wall := max(n.wall, 0) // where the counter was set back meanwhile, as by a virtual machine that moves
	c.cycles.Add(uint64(n.self))
	c.wall.Add(uint64(r.base.NS(wall)))
	if n.off > 0 {
		c.blocked.Add(uint64(r.base.NS(n.off)))
	}
	start := n.first - r.began.tick
	c.series.add(start, start+wall)
}

// enter enters an execution into the log.
func (r *Recorder) enter(f *frame, mark *cycles.Mark, m *measurement) {
	sh := &r.shards[mark.Thread.Index%shardCount]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.log = append(sh.log, entry{pending: *f.log, site: f.site, start: f.first, end: mark.Wall, m: *m, goid: goroutine(), tid: mark.Thread.TID})
}

// lost counts an execution whose cycles are not known.
func (r *Recorder) lost(s *site, mark cycles.Mark) {
	sh := &r.shards[mark.Thread.Index%shardCount]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.cell(s).unmeasured++
}
