package granularity

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/cycles"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/internal/lazy"
	"github.com/bottleneck-go/bottleneck/internal/proctime"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"github.com/bottleneck-go/bottleneck/internal/schedstat"
)

// A Recorder collects the measurements of [Pool], [Group] and [Do]. Create one with [NewRecorder].
// Its memory is bounded, see [Profile]: tasks from more than 2048 sites, combinations of a class, a
// pool and the call chains that created and submitted the task, are in the class "(other)". It is
// safe for concurrent use.
type Recorder struct {
	// Log is the number of tasks with an individual record in [Profile].Log. The first ones are
	// kept and the rest is counted. Each takes about 200 B and one allocation. 0 keeps none. The
	// exported fields must be set before the first task.
	Log int
	// AggregateNested counts what a task executes by [Do] as part of that task instead of as a
	// separate task, because it could not have run in parallel.
	AggregateNested bool

	once  sync.Once
	ready atomic.Bool // what follows is set

	clock    *cycles.Clock
	base     *cycles.Timebase
	bias     int64 // cycles that an empty task appears to execute
	locks    bool  // tasks may be locked to their threads
	anywhere bool  // the clock is the same on all threads: tasks may change threads

	sampleEach, longTask int64 // the constants in ticks

	began  moment
	waited waits // before that

	other *site
	cache siteCache

	nextSample atomic.Int64 // the tick from which a sample may be locked to its thread
	spent      atomic.Int64 // ticks that samples have cost
	locked     atomic.Int64 // current tasks locked as first or cheap ones of their sites
	blocking   atomic.Int64 // sites whose tasks have left their threads

	logMu    sync.Mutex
	log      []entry
	logged   atomic.Int64  // tasks that have a place in the log
	unlogged atomic.Int64  // tasks for which the log had no room
	logIDs   atomic.Uint64 // the last ID given

	mu      sync.Mutex
	sites   map[siteKey]*site
	classes map[string]*class
	pools   map[string]*poolName
	machine machine
}

// moment is an instant on all clocks, with the usage of the process until then.
type moment struct {
	tick int64
	at   time.Time
	// cpu is the processor time of the process, or 0 if the system does not report it.
	cpu                    time.Duration
	voluntary, involuntary uint64 // context switches

	collections int64         // completed garbage collections
	paused      time.Duration // total time for which the world was stopped
	throttling  host.Throttling

	cgroup, machine time.Duration // processor time used; 0 if it is not counted
	processors      int           // of the machine
}

func (r *Recorder) now() moment {
	now := time.Now()
	m := moment{tick: cycles.Ticks(), at: now, cpu: proctime.Self(), throttling: host.Throttled()}
	m.voluntary, m.involuntary = proctime.Switches()
	m.cgroup = host.GroupTime()
	m.machine, m.processors = schedstat.Machine()
	var stats debug.GCStats
	debug.ReadGCStats(&stats)
	m.collections, m.paused = stats.NumGC, stats.PauseTotal
	return m
}

// NewRecorder returns a recorder that records from now on. Create it before the work begins: the
// first one in a process takes 0.5 ms to calibrate the cycle counter, and 2 ms to measure the cost
// of an empty task, which is not possible in a busy process.
func NewRecorder() *Recorder {
	empty.measured() // before the run begins, of which it would be a part
	r := newRecorder()
	r.prepare()
	return r
}

// newRecorder returns a recorder that its first task prepares.
func newRecorder() *Recorder {
	r := &Recorder{
		sites:   make(map[siteKey]*site),
		classes: make(map[string]*class),
		pools:   make(map[string]*poolName),
	}
	r.other = r.addSite(siteKey{name: otherClass})
	return r
}

// prepare chooses the clock and begins the run, once.
func (r *Recorder) prepare() {
	r.once.Do(func() {
		waited := make(chan waits, 1)
		background.Go(func() {
			host.Throttled() // the first call looks for the control group
			waited <- processWaits()
		})
		r.open()
		r.bias = theBias.Get(measureBias)
		r.waited = <-waited
		r.began = r.now()
		r.ready.Store(true)
	})
}

// open chooses the clock.
func (r *Recorder) open() {
	r.clock = cycles.Default()
	r.base, r.locks = cycles.TimebaseOf(), !cycles.Coroutines()
	r.anywhere = r.clock.Info().Source == cycles.WallTSC
	r.sampleEach, r.longTask = r.base.FromNS(int64(sampleEach)), r.base.FromNS(int64(longTask))
	if shadows.table.Load() == nil {
		shadows.table.CompareAndSwap(nil, new([1 << shadowBits]shadow))
	}
}

// theBias is the part of the recorder's own work between the two readings of the clock that is
// charged to a task, about 40 ns.
var theBias lazy.Value[int64]

// measureBias returns the least that any of 20 to 200 empty tasks appears to execute.
func measureBias() int64 {
	r := newRecorder()
	r.open()
	r.began.tick = cycles.Ticks()
	r.ready.Store(true)
	empty := r.addSite(siteKey{})
	until := r.began.tick + r.base.FromNS(int64(time.Millisecond))
	for i := 0; i < 200 && (i < 20 || cycles.Ticks() < until); i++ { // some clocks take 10 µs
		var x execution
		x.begin(empty, nil)
		x.end()
	}
	countNotes()
	empty.cell.mu.Lock()
	defer empty.cell.mu.Unlock()
	return int64(empty.cell.cycles.Min())
}

// defaultRecorder returns the recorder used if none is given. It may be not prepared yet.
func defaultRecorder() *Recorder {
	return theRecorder.Get(newRecorder)
}

var theRecorder lazy.Value[*Recorder]

// Default returns the recorder of pools, groups and tasks without one of their own. The first call
// takes as long as that of [NewRecorder].
func Default() *Recorder {
	empty.measured()
	r := defaultRecorder()
	r.prepare()
	return r
}

// or returns r, or the default recorder if it is nil.
func (r *Recorder) or() *Recorder {
	if r == nil {
		return defaultRecorder()
	}
	return r
}

// cell holds the statistics of one site.
type cell struct {
	mu sync.Mutex
	counts
}

// counts are the executions at one site.
type counts struct {
	cycles     Histogram // self
	wall       Histogram // nanoseconds
	blocked    Histogram // nanoseconds, of tasks that were off the processor
	left       *left     // nil: no task has left its thread
	unmeasured uint64
	nested     uint64
	aggregated uint64
	skipped    uint64 // tasks that others represent
	rest       int64  // in a copy: tasks that no measured one represents yet; see unrepresented
}

// left holds the statistics of tasks that left their threads, or would have without a lock.
type left struct {
	wall    Histogram // nanoseconds, of unmeasured tasks
	cycles  Histogram // self, of measured tasks
	sampled Histogram // nanoseconds of wall time, of tasks whose measurement had a cost
}

// add counts an execution, in about 10 ns. The caller holds the locks of the cell and of the class.
func (c *cell) add(n *note) {
	if n.kind&noteAggregated != 0 {
		c.aggregated++
		return
	}
	if n.kind&noteNested != 0 {
		c.nested++
	}
	r := n.site.rec
	wall := max(n.wall, 0) // if the counter was set back, such as by a migration of the virtual machine
	start := n.first - r.began.tick
	tasks := 1 + uint64(n.others)
	n.site.class.series.Add(start, start+wall, tasks)
	c.skipped += tasks - 1
	if n.kind&(noteLeft|noteSample|noteTypical) != 0 {
		c.addLeft(n, uint64(r.base.NS(wall)))
	}
	if n.kind&(noteLeft|noteSample) != 0 {
		return
	}
	c.cycles.AddN(uint64(n.self), tasks)
	c.wall.AddN(uint64(r.base.NS(wall)), tasks)
	if n.off > 0 {
		c.blocked.AddN(uint64(r.base.NS(n.off)), tasks)
	}
}

// addLeft counts an execution that has left its thread, or would have if it had not been locked.
func (c *cell) addLeft(n *note, wall uint64) {
	if c.left == nil {
		c.left = new(left)
	}
	tasks := 1 + uint64(n.others)
	if n.kind&noteLeft == 0 {
		c.left.cycles.AddN(uint64(n.self), tasks)
		if n.kind&noteSample != 0 {
			c.left.sampled.AddN(wall, tasks)
		}
		return
	}
	c.left.wall.AddN(wall, tasks)
}

// entry is a task in the log. Until a profile is made, its times are in ticks, and what follows from
// its site is not set.
type entry struct {
	TaskRecord
	site *site
}

// enter adds an execution to the log.
func (r *Recorder) enter(f *frame, mark *cycles.Mark, m *measurement) {
	e := entry{*f.log, f.site}
	e.StartedAt, e.EndedAt, e.Executor, e.Thread = f.first, mark.Wall, callstack.Goid(), mark.Thread.TID
	e.Cycles, e.TotalCycles, e.Blocked = uint64(m.self), uint64(m.total), time.Duration(m.selfOff)
	r.logMu.Lock()
	defer r.logMu.Unlock()
	r.log = append(r.log, e)
}

// lose counts executions without any measurement.
func (c *cell) lose(n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unmeasured += n
}

// logging reserves a place in the log for a task that the caller creates now, or returns nil.
func (r *Recorder) logging() *TaskRecord {
	if r.Log <= 0 {
		return nil
	}
	full := r.logged.Load() >= int64(r.Log)
	if !full && r.logged.Add(1) > int64(r.Log) {
		r.logged.Add(-1)
		full = true
	}
	if full {
		r.unlogged.Add(1)
		return nil
	}
	return &TaskRecord{ID: r.logIDs.Add(1), CreatedAt: cycles.Ticks(), Creator: callstack.Goid()}
}

// unlog returns the place of a task that does not execute, or not as a separate measured task.
func (r *Recorder) unlog(p *TaskRecord) {
	switch {
	case r.Log <= 0:
	case p == nil:
		r.unlogged.Add(-1)
	default:
		r.logged.Add(-1)
	}
}

// submitting is logging for a task that the calling goroutine creates and submits now.
func (r *Recorder) submitting() *TaskRecord {
	p := r.logging()
	if p != nil {
		p.SubmittedAt, p.Submitter = p.CreatedAt, p.Creator
	}
	return p
}

// The result of a task is first noted. Notes are counted when there are many, or for a profile: a
// note touches one or two cache lines, counting a dozen. There are several places for notes, so that
// threads rarely compete for one.

// note is the result of one execution.
type note struct {
	site   *site
	first  int64 // tick at the start of the execution
	wall   int64 // ticks
	self   int64 // cycles
	off    int64 // ticks off the processor
	kind   noteKind
	turns  uint8  // how often it let others run, if it has left its thread
	others uint32 // the number of tasks that it represents besides itself
}

// noteKind is a set of the following bits.
type noteKind uint8

const (
	noteNested     noteKind = 1 << iota // in another task
	noteAggregated                      // counted as part of that other task
	noteLeft                            // it has left its thread: self and off are unknown
	noteSample                          // it has not left, because it was locked, which has cost it time
	noteTypical                         // it has not left, because it was locked, at almost no cost
	noteSkipped                         // it was not drawn, but took long
)

const notesSize = 32

// notes belong to the thread that has set busy.
type notes struct {
	busy uint32
	n    int
	list [notesSize]note
	_    [64]byte // keeps the next one's fields off this one's cache line
}

var allNotes [64]notes

// notesOf returns notes, preferably those last used on the thread. They must be released soon. If all
// are in use, those that use them may wait for a lock, and need the processor.
//
//go:norace
func notesOf(th *cycles.Thread, g uintptr) *notes {
	i := th.Index
	if th.TID == 0 { // all threads share one Thread
		i = int(uint64(g) * 0x9e3779b97f4a7c15 >> 58)
	}
	for tries := 1; ; tries++ {
		if n := &allNotes[i%len(allNotes)]; atomic.CompareAndSwapUint32(&n.busy, 0, 1) {
			return n
		}
		if i++; tries%len(allNotes) == 0 {
			runtime.Gosched()
		}
	}
}

// release lets others use the notes. On amd64 any store publishes all earlier ones, in a tenth of
// the time of an atomic one.
func (n *notes) release() {
	if runtime.GOARCH == "amd64" && !race.Enabled {
		n.busy = 0
	} else {
		atomic.StoreUint32(&n.busy, 0)
	}
}

func (n *notes) next() *note {
	if n.n == len(n.list) {
		n.count()
	}
	n.n++
	return &n.list[n.n-1]
}

// learn counts at once if the site must learn that its tasks may leave their threads.
func (n *notes) learn(s *site) {
	if s.mode.Load() == 0 {
		n.count()
	}
}

// count counts the notes so far.
func (n *notes) count() {
	for i := 0; i < n.n; {
		i += n.list[i].site.add(n.list[i:n.n])
	}
	n.n = 0
}

// add counts the first of the notes that are of the site and returns their number.
func (s *site) add(notes []note) (n int) {
	s.cell.mu.Lock()
	defer s.cell.mu.Unlock()
	s.class.mu.Lock()
	defer s.class.mu.Unlock()
	var left bool
	var longest int64
	var turns uint8
	for i := range notes {
		note := &notes[i]
		if note.site != s {
			break
		}
		n++
		s.cell.add(note)
		if note.kind&(noteLeft|noteSkipped) == noteLeft && note.kind&noteAggregated == 0 {
			left, longest, turns = true, max(longest, note.wall), max(turns, note.turns)
		}
	}
	s.judge(notes[:n])
	for i := range notes[:n] {
		notes[i].site = nil // releases the recorder, too
	}
	if left {
		s.learn(longest, turns)
	}
	return n
}

// countNotes counts the notes of all threads.
func countNotes() {
	for i := range allNotes {
		n := &allNotes[i]
		for !atomic.CompareAndSwapUint32(&n.busy, 0, 1) {
			runtime.Gosched()
		}
		n.count()
		n.release()
	}
}
