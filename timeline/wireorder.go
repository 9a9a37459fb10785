package timeline

import (
	"cmp"
	"io"
	"math"
	"slices"

	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/internal/wireformat"
)

// wireCursor is the state of decoding one generation of the wire format. It orders the events of
// the threads by the rules that package wireformat describes, and records each one as soon as it
// can come next.
type wireCursor struct {
	cursor
	frameTable
	size     int  // of the generation
	cut      bool // the generation ends early
	threads  []*thread
	byThread wireformat.Numbers
	heap     []waiting // threads with events left
	samples  []wireformat.Sample
	procs    []proc
	byProc   wireformat.Numbers
	extras   []extra
	tasks    map[uint64]task
	gcSeq    uint64
	gcState  uint8
	maxProcs uint64 // GOMAXPROCS, 0 if unknown

	// invalid is why the current event cannot be read although it can come next.
	invalid error
	isStuck bool // no thread can proceed
	left    int  // number of events until the limits of the pass are checked

	stackOf    []int32          // by index of wireformat: number of the call chain + 2, 0 = unknown
	chainOf    []int32          // the same, by number in the trace if that is small
	reasonOf   []int32          // by number of the string, if that is small: number of the reason + 1
	metricName [3]int32         // number of the name + 1
	stopNames  map[int32]string // by string index of the kind
}

// waiting is an entry of the heap.
type waiting struct {
	time int64 // of its next event
	t    int32 // index of the thread
}

// thread is a thread with its next events.
type thread struct {
	wireformat.Thread
	// events holds the current event, which has the index at, and those that follow: at least one,
	// unless the thread has no more. Of these, there are left. bad is the reason if there are no
	// more because the trace is damaged.
	events   []wireformat.Event
	at, left int
	last     int64 // time of the event before the current one
	bad      error

	none   bool  // it stands for events without a thread
	number int32 // local, −1 if none yet
	g      int32 // the executing goroutine, −1 if none
	p      int32 // its processor, −1 if none
	seen   bool  // one of its events was tried, or another thread referred to it
	bound  bool  // it had a goroutine
}

// ahead is the number of events of a thread that are read at once.
const ahead = 32

// ev returns the current event of a thread.
func (t *thread) ev() *wireformat.Event { return &t.events[t.at] }

// read reads more events of a thread, unless there are none.
func (c *wireCursor) read(t *thread) {
	if t.bad == nil {
		n, m := copy(t.events, t.events[t.at:t.at+t.left]), 0
		m, t.bad = c.gen.Next(&t.Thread, t.events[n:])
		t.at, t.left = 0, n+m
	}
}

// proc is the state of a processor.
type proc struct {
	id     int32 // −1 if too large
	seq    uint64
	since  int64 // time at which it got seq or became idle
	status uint8
	sweeps bool
}

// extra holds the state that few goroutines have: open ranges and regions.
type extra struct {
	ranges  []wireRange
	regions []wireRegion
}

type wireRange struct {
	typ  wireformat.Type // of its begin
	kind int32
}

type wireRegion struct {
	task uint64
	name int32
}

// task is an open task.
type task struct {
	name   int32
	parent uint64
}

// The states of the mark phase of the garbage collector.
const (
	gcUnknown = iota
	gcOff
	gcOn
)

// none is the ID that stands for no goroutine, processor or thread.
const none = math.MaxUint64

// begin reads the first event of each thread, and records the clock snapshot.
func (c *wireCursor) begin(of frameTable) error {
	c.frameTable, c.now, c.samples = of, Time(of.gen.Begin()), of.gen.Samples
	reasons, chains, stacks := c.gen.Sizes()
	c.stackOf, c.chainOf, c.reasonOf = make([]int32, stacks), make([]int32, chains), make([]int32, reasons)
	for i := range c.gen.Threads {
		t := c.thread(c.gen.Threads[i].ID)
		t.Thread = c.gen.Threads[i]
		t.events = make([]wireformat.Event, min(ahead, 2+t.Size()/2))
		if c.read(t); t.left > 0 {
			c.heap = append(c.heap, waiting{t.ev().Time, int32(i)})
			c.up(len(c.heap) - 1)
		} else if t.bad != nil {
			return t.bad
		}
	}
	if k := c.gen.Clock; c.gen.HasClock {
		c.tick(c.now)
		c.addAux(aux{kind: auxClock, id: uint64(k.Trace), parent: k.Mono, at: k.Wall.UnixNano(), by: -1, stack: -1})
	}
	return nil
}

// thread returns a thread, which it adds if it is new.
func (c *wireCursor) thread(id uint64) *thread {
	i, isNew := c.byThread.Add(id)
	if isNew {
		t := &thread{none: id == none, number: -1, g: -1, p: -1}
		t.ID = id
		c.threads = append(c.threads, t)
	}
	return c.threads[i]
}

// next records the next events: at least one, and at most c.left unless c.left is less. At the end,
// it returns io.EOF.
func (c *wireCursor) next() error {
	limit := int64(math.MaxInt64) // the time of the next event of another thread
	switch c.left--; {
	case len(c.samples) > 0 && (len(c.heap) == 0 || c.samples[0].Time < c.heap[0].time):
		c.sample(&c.samples[0])
		c.samples = c.samples[1:]
		return c.invalid
	case len(c.samples) > 0:
		limit = c.samples[0].Time
	case len(c.heap) == 0:
		return io.EOF
	}
	for _, w := range c.heap[1:min(3, len(c.heap))] {
		limit = min(limit, w.time)
	}
	// Mostly, the thread at the root of the heap can go on.
	t := c.threads[c.heap[0].t]
	for {
		ok, err := c.try(t)
		switch {
		case err != nil:
			return err
		case !ok:
			c.moved(0)
			return c.tryOthers()
		case t.left == 0 || t.ev().Time > limit || c.left <= 0 || !c.hasRoom():
			c.moved(0)
			return nil
		}
		c.left--
	}
}

// hasRoom reports whether there is room for the goroutines of another event.
func (c *wireCursor) hasRoom() bool { return c.d.gs.room() >= 4 }

// tryOthers records an event of another thread than the one at the root of the heap.
func (c *wireCursor) tryOthers() error {
	// A sorted heap is a heap.
	order.Stable(c.heap, func(a, b waiting) int { return cmp.Compare(a.time, b.time) })
	for i := 1; i < len(c.heap); i++ {
		ok, err := c.try(c.threads[c.heap[i].t])
		if ok {
			c.moved(i)
		}
		if ok || err != nil {
			return err
		}
	}
	w := c.heap[0]
	t := c.threads[w.t]
	c.isStuck = true
	return wireformat.Broken(t.ev().At, "no thread can go on: an event that must come before the one of type %d at %d ns on thread %d is missing", t.ev().Type, w.time, int64(t.ID))
}

// try records the next event of a thread and goes to the one after it, unless the event has to wait
// for one of another thread.
func (c *wireCursor) try(t *thread) (bool, error) {
	gs := c.d.gs.n
	switch {
	case t.left == 1:
		// The Reader reads the event after this one before it shows this one.
		c.invalid = t.bad
	case c.invalid != nil:
		c.invalid = nil
	}
	ok, err := c.take(t, t.ev())
	if ok && err == nil {
		err = c.invalid
	}
	if err != nil {
		c.d.gs.n = gs
		return false, err
	}
	if ok {
		t.last = t.ev().Time
		t.at++
		if t.left--; t.left == 1 {
			c.read(t)
		}
	}
	return ok, nil
}

// moved restores the order of the heap after the thread at index i has gone on.
func (c *wireCursor) moved(i int) {
	h := c.heap
	t := c.threads[h[i].t]
	if t.left == 0 {
		c.remove(i)
		return
	}
	h[i].time = t.ev().Time
	if i == 0 || c.up(i) == i {
		c.down(i)
	}
}

// The heap is binary. For equal times, the parent comes first, then the left child.

func (c *wireCursor) up(i int) int {
	h := c.heap
	for i > 0 && h[(i-1)/2].time > h[i].time {
		h[(i-1)/2], h[i] = h[i], h[(i-1)/2]
		i = (i - 1) / 2
	}
	return i
}

func (c *wireCursor) down(i int) {
	h := c.heap
	for {
		least := i
		if l := 2*i + 1; l < len(h) && h[l].time < h[least].time {
			least = l
		}
		if r := 2*i + 2; r < len(h) && h[r].time < h[least].time {
			least = r
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

func (c *wireCursor) remove(i int) {
	h := c.heap
	for ; i > 0; i = (i - 1) / 2 {
		h[(i-1)/2], h[i] = h[i], h[(i-1)/2]
	}
	last := len(h) - 1
	h[0], h[last] = h[last], h[0]
	c.heap = h[:last]
	c.down(0)
}

// horizon returns the time up to which a generation that ends early shows which goroutines run,
// after next has returned an error. It returns false if there is none.
//
// Each thread writes a batch when 64 kB are full, so the events of different threads end at
// different times, or are all missing. The running goroutines are known as long as it is known which
// thread holds each processor. Changes of a processor have sequence numbers, which reveal missing
// ones. The horizon is the time at which the holder of the first processor becomes unknown. procs is
// GOMAXPROCS if the generation does not have it.
func (c *wireCursor) horizon(procs uint64) (ns int64, ok bool) {
	procs = max(procs, c.maxProcs)
	next, ahead := c.changes()
	holder := make([]*thread, len(c.procs))
	for _, t := range c.threads {
		if t.p >= 0 {
			holder[t.p] = t
		}
	}
	ns = math.MaxInt64
	if c.isStuck {
		ns = c.heap[0].time - 1 // that of the earliest event
	}
	for id := range procs {
		i := c.byProc.Find(id)
		if i < 0 {
			if !next[change{id, 0}] {
				return 0, false // all events of its thread are missing
			}
			continue
		}
		p, t := &c.procs[i], holder[i]
		end, waits := ahead[t]
		switch {
		case p.status != wireformat.ProcRunning && next[change{id, p.seq + 1}]:
		case t == nil: // a missing thread may hold it
			ns = min(ns, p.since)
		case !waits: // it is the last event of the thread
			ns = min(ns, t.last)
		case p.status == wireformat.ProcSyscall && (end == wireformat.GoSyscallEndBlock || end == wireformat.ProcStart):
			ns = min(ns, p.since) // the thread lost it in the system call, at an unknown time
		}
	}
	return ns, procs > 0
}

// change is a change of a processor, by its sequence number; 0 is the status.
type change struct{ proc, seq uint64 }

// changes returns the changes of processors that no event has shown yet, and the threads that have
// events left, with the type of the event that ends the system call in which the thread is.
func (c *wireCursor) changes() (map[change]bool, map[*thread]wireformat.Type) {
	next, ends := map[change]bool{}, map[*thread]wireformat.Type{}
	for _, w := range c.heap {
		t := c.threads[w.t]
		ends[t] = 0
		see := func(ev *wireformat.Event) {
			switch ev.Type {
			case wireformat.ProcStart, wireformat.ProcSteal:
				next[change{ev.Args[0], ev.Args[1]}] = true
			case wireformat.ProcStatus:
				next[change{ev.Args[0], 0}] = true
			}
			switch ev.Type {
			case wireformat.ProcStart, wireformat.ProcStop, wireformat.GoSyscallEnd, wireformat.GoSyscallEndBlock, wireformat.GoDestroySyscall:
				ends[t] = cmp.Or(ends[t], ev.Type)
			}
		}
		for i := range t.left {
			see(&t.events[t.at+i])
		}
		c.gen.Rest(&t.Thread, see)
	}
	return next, ends
}

// Descriptions of violated conditions.
const (
	noG       = "the thread executes no goroutine"
	hasG      = "the thread executes another goroutine"
	notRuns   = "the goroutine does not run"
	notInCall = "the goroutine is not in a system call"
	isThere   = "the goroutine exists already"
	badStatus = "there is no such status"
	badNumber = "there is no such number"
	otherThan = "it is not the status that is known"
)

// contradicts returns the error for an event that contradicts the state.
func contradicts(t *thread, why string) error {
	return wireformat.Broken(t.ev().At, "an event of type %d at %d ns on thread %d: %s", t.ev().Type, t.ev().Time, int64(t.ID), why)
}

// need is what an event needs of its thread.
type need uint8

const (
	nothing need = iota
	aThread
	aProc
	aG       // and a processor
	aLivingG // one that exists
	aRunningG
)

// needs is what the events of each type need before anything else.
var needs = [256]need{
	wireformat.GoBlock: aRunningG, wireformat.GoStop: aRunningG, wireformat.GoDestroy: aRunningG, wireformat.GoSyscallBegin: aRunningG,
	wireformat.GoSyscallEnd: aG, wireformat.ProcsChange: aG, wireformat.GoLabel: aG, wireformat.UserLog: aG,
	wireformat.UserTaskBegin: aG, wireformat.UserTaskEnd: aG,
	wireformat.STWBegin: aLivingG, wireformat.STWEnd: aLivingG, wireformat.GCMarkAssistBegin: aLivingG, wireformat.GCMarkAssistEnd: aLivingG,
	wireformat.UserRegionBegin: aLivingG, wireformat.UserRegionEnd: aLivingG,
	wireformat.HeapAlloc: aProc, wireformat.HeapGoal: aProc, wireformat.GoCreate: aProc, wireformat.GoCreateBlocked: aProc,
	wireformat.ProcStop: aProc, wireformat.GCSweepBegin: aProc, wireformat.GCSweepEnd: aProc,
	wireformat.GoCreateSyscall: aThread, wireformat.GoDestroySyscall: aThread,
}

// has returns an error unless a thread has what an event needs.
func (c *wireCursor) has(t *thread, n need) error {
	switch {
	case n >= aThread && t.none:
		return contradicts(t, "it needs a thread")
	case n >= aProc && t.p < 0:
		return contradicts(t, "the thread has no processor")
	case n >= aG && t.g < 0:
		return contradicts(t, noG)
	case n == aLivingG && c.states[t.g].status == NotExist:
		return contradicts(t, "the goroutine does not exist")
	case n == aRunningG && c.states[t.g].status != Running:
		return contradicts(t, notRuns)
	}
	return nil
}

// bind sets the goroutine that a thread executes.
func (t *thread) bind(g int32) { t.g, t.bound = g, true }

// exit clears the state of a goroutine but keeps its number.
func (c *wireCursor) exit(g int32) {
	c.live--
	s := &c.states[g]
	s.status = NotExist
	if s.extra > 0 {
		x := &c.extras[s.extra-1]
		x.ranges, x.regions = x.ranges[:0], x.regions[:0]
	}
}

// extraOf returns the ranges and regions of a goroutine.
func (c *wireCursor) extraOf(g int32) *extra {
	s := &c.states[g]
	if s.extra == 0 {
		c.extras = append(c.extras, extra{})
		s.extra = int32(len(c.extras))
	}
	return &c.extras[s.extra-1]
}

// take processes the next event of a thread: it updates the state and records the event. If the
// event has to wait for an event of another thread, take returns false and changes nothing.
func (c *wireCursor) take(t *thread, ev *wireformat.Event) (bool, error) {
	t.seen = true
	args := &ev.Args
	if n := needs[ev.Type]; n != nothing && (t.g < 0 || t.p < 0 || t.none || c.states[t.g].status != Running) {
		if err := c.has(t, n); err != nil {
			return false, err
		}
	}
	switch ev.Type {
	case wireformat.GoStart:
		g := c.byG.Find(args[0])
		if g < 0 {
			return false, nil
		}
		s := &c.states[g]
		if s.status != Runnable || args[1] != uint64(s.seq)+1 {
			return false, nil
		}
		if err := c.has(t, aProc); err != nil {
			return false, err
		}
		if t.g >= 0 {
			return false, contradicts(t, hasG)
		}
		s.status, s.seq = Running, s.seq+1
		c.place(t, stepCode(Runnable, Running), g)
		t.bind(g)

	case wireformat.GoBlock:
		c.stop(t, Waiting, args[0], args[1])
		t.g = -1
	case wireformat.GoStop:
		c.stop(t, Runnable, args[0], args[1])
		t.g = -1

	case wireformat.GoUnblock:
		g := c.byG.Find(args[0])
		if g < 0 {
			return false, nil
		}
		s := &c.states[g]
		if s.status != Waiting || args[1] != uint64(s.seq)+1 {
			return false, nil
		}
		s.status, s.seq = Runnable, s.seq+1
		c.wake(t, g, args[2])

	case wireformat.GoSyscallBegin:
		p := &c.procs[t.p]
		if args[0] != p.seq+1 {
			return false, contradicts(t, "it is not the next one of the processor")
		}
		p.status, p.seq, p.since = wireformat.ProcSyscall, args[0], ev.Time
		c.stop(t, Syscall, 0, args[1])

	case wireformat.GoSyscallEnd:
		s, p := &c.states[t.g], &c.procs[t.p]
		switch {
		case s.status != Syscall:
			return false, contradicts(t, notInCall)
		case p.status != wireformat.ProcSyscall:
			return false, contradicts(t, "the processor is not in a system call")
		}
		s.status, p.status = Running, wireformat.ProcRunning
		c.place(t, stepCode(Syscall, Running), t.g)

	case wireformat.GoSyscallEndBlock:
		if t.p >= 0 && c.procs[t.p].status == wireformat.ProcSyscall {
			return false, nil // the thread has yet to lose it
		}
		switch {
		case t.none:
			return false, c.has(t, aThread)
		case t.g < 0:
			return false, contradicts(t, noG)
		case c.states[t.g].status != Syscall:
			return false, contradicts(t, notInCall)
		}
		c.states[t.g].status = Runnable
		c.leave(t, stepCode(Syscall, Runnable))

	case wireformat.GoDestroy:
		c.exit(t.g)
		c.leave(t, stepCode(Running, NotExist))

	case wireformat.GoCreate, wireformat.GoCreateBlocked:
		return c.takeCreate(t, args)
	case wireformat.GoSwitch, wireformat.GoSwitchDestroy:
		return c.takeSwitch(t, ev)
	case wireformat.GoStatus, wireformat.GoStatusStack:
		return c.takeStatus(t, ev)
	case wireformat.GoCreateSyscall, wireformat.GoDestroySyscall:
		return c.takeCallback(t, ev)
	case wireformat.ProcStart, wireformat.ProcStop, wireformat.ProcSteal, wireformat.ProcStatus:
		return c.takeProc(t, ev)
	case wireformat.GCActive, wireformat.GCBegin, wireformat.GCEnd:
		return c.takeMark(t, ev)
	case wireformat.STWBegin, wireformat.STWEnd, wireformat.GCMarkAssistBegin, wireformat.GCMarkAssistActive, wireformat.GCMarkAssistEnd:
		return c.takeRange(t, ev)
	case wireformat.GCSweepBegin, wireformat.GCSweepActive, wireformat.GCSweepEnd:
		return c.takeSweep(t, ev)
	case wireformat.UserTaskBegin, wireformat.UserTaskEnd:
		return c.takeTask(t, ev)
	case wireformat.UserRegionBegin, wireformat.UserRegionEnd:
		return c.takeRegion(t, ev)

	case wireformat.HeapAlloc, wireformat.HeapGoal:
		c.value(t, int(ev.Type-wireformat.HeapAlloc), args[0])
	case wireformat.ProcsChange:
		c.maxProcs = args[0]
		c.stackIndex(args[1])
		c.value(t, 2, args[0])
	case wireformat.GoLabel:
		c.note(t, aux{kind: auxLabel, at: int64(t.g)}, c.textIndex(args[0]), 0)
	case wireformat.UserLog:
		value := c.textIndex(args[2])
		c.note(t, aux{kind: auxLog, value: c.gen.Text(value), id: args[0]}, c.textIndex(args[1]), args[3])

	default: // an experimental event
		if ev.Type < wireformat.FirstExperimental {
			return false, contradicts(t, "it is none of a thread")
		}
		if err := c.has(t, aThread); err != nil {
			return false, err
		}
		if c.invalid == nil {
			c.now = max(Time(ev.Time), c.now+1)
		}
	}
	return true, nil
}

// create adds the goroutine of a creation event.
func (c *wireCursor) create(t *thread, id uint64, status State) (g int32, err error) {
	if id == none {
		return 0, contradicts(t, badNumber)
	}
	c.byG.Follow(id)
	g = c.goroutine(id)
	s := &c.states[g]
	if s.status != NotExist {
		return 0, contradicts(t, isThere)
	}
	s.status, s.seq = status, 0
	return g, nil
}

func (c *wireCursor) takeCreate(t *thread, args *[4]uint64) (bool, error) {
	if t.g >= 0 && c.states[t.g].status != NotExist && c.states[t.g].status != Running {
		return false, contradicts(t, notRuns)
	}
	status := Runnable
	if t.ev().Type == wireformat.GoCreateBlocked {
		status = Waiting
	}
	g, err := c.create(t, args[0], status)
	if err != nil {
		return false, err
	}
	c.stackIndex(args[1])
	by := c.chain(args[2])
	if !c.at(t) {
		return true, nil
	}
	c.does(t.g, by)
	c.created(g, c.chain(args[1]), by)
	c.real()
	c.put(stepCode(NotExist, status), g, t.g, by)
	return true, nil
}

// takeSwitch processes a coroutine switch: it unblocks the target, blocks or ends the executing
// goroutine, and starts the target.
func (c *wireCursor) takeSwitch(t *thread, ev *wireformat.Event) (bool, error) {
	if ev.Type == wireformat.GoSwitchDestroy && t.g < 0 && !t.bound && !t.none {
		c.lose(t)
	}
	if err := c.has(t, aRunningG); err != nil {
		return false, err
	}
	g := c.byG.Find(ev.Args[0])
	if g < 0 || c.states[g].status != Waiting || ev.Args[1] != uint64(c.states[g].seq)+1 {
		return false, nil
	}
	c.wake(t, g, 0)
	if ev.Type == wireformat.GoSwitch {
		c.stop(t, Waiting, 0, 0)
		t.g = -1
	} else {
		c.exit(t.g)
		c.leave(t, stepCode(Running, NotExist))
	}
	c.states[g].status = Running
	c.states[g].seq++
	c.place(t, stepCode(Runnable, Running), g)
	t.bind(g)
	return true, nil
}

// lose enters the coroutine that a thread runs at the beginning of the generation: its end is its
// only event in it. See lostG.
func (c *wireCursor) lose(t *thread) {
	g := c.goroutine(uint64(lostG(int64(t.ID))))
	c.d.lost = append(c.d.lost, g)
	c.states[g].status = Running
	c.status(g, Running, -1, c.numberOf(t), c.procOf(t))
	t.bind(g)
}

// goStates maps the statuses of the format to states.
var goStates = [...]State{Unknown, wireformat.GoRunnable: Runnable, wireformat.GoRunning: Running, wireformat.GoSyscall: Syscall, wireformat.GoWaiting: Waiting}

func (c *wireCursor) takeStatus(t *thread, ev *wireformat.Event) (bool, error) {
	// The status is a byte, even if its number is long.
	id, m, status := ev.Args[0], ev.Args[1], uint8(ev.Args[2])
	if status > wireformat.GoWaiting {
		return false, contradicts(t, badStatus)
	}
	if id == none {
		return false, contradicts(t, badNumber)
	}
	to := goStates[status]
	g := c.goroutine(id)
	s := &c.states[g]
	if s.status != NotExist && s.status != to {
		return false, contradicts(t, otherThan)
	}
	on := t
	switch {
	case to == Running:
		if !t.none {
			t.bind(g)
		}
	case to != Syscall:
	case m == none:
		return false, contradicts(t, "it needs a thread")
	case m == t.ID:
		t.bind(g)
	default: // the thread has been in a system call since before the generation
		on = c.thread(m)
		if !on.seen {
			on.seen = true
			on.bind(g)
		} else if on.g != g {
			return false, contradicts(t, hasG)
		}
	}
	s.status, s.seq = to, 0
	stack := int32(-1)
	if ev.Type == wireformat.GoStatusStack {
		stack = c.stackIndex(ev.Args[3])
	}
	if c.at(t) {
		c.status(g, to, c.stack(stack), c.numberOf(on), c.procOf(t))
	}
	return true, nil
}

// takeCallback processes the beginning or end of the goroutine of a C thread that calls Go.
func (c *wireCursor) takeCallback(t *thread, ev *wireformat.Event) (bool, error) {
	if ev.Type == wireformat.GoCreateSyscall {
		if t.g >= 0 {
			return false, contradicts(t, hasG)
		}
		g, err := c.create(t, ev.Args[0], Syscall)
		if err != nil {
			return false, err
		}
		if c.invalid == nil {
			c.createdInC(g)
		}
		c.place(t, stepCode(NotExist, Syscall), g)
		t.bind(g)
		return true, nil
	}
	if t.g < 0 {
		return false, contradicts(t, noG)
	}
	if c.states[t.g].status != Syscall {
		return false, contradicts(t, notInCall)
	}
	if t.p >= 0 {
		// The thread also loses its processor. The thread's ID may be reused.
		p := &c.procs[t.p]
		if p.status != wireformat.ProcSyscall {
			return false, contradicts(t, "the processor is not in a system call")
		}
		p.status, p.since = wireformat.ProcSyscallAbandoned, ev.Time
		c.change(t, p.id, true, false)
	}
	c.exit(t.g)
	c.leave(t, stepCode(Syscall, NotExist))
	t.p = -1
	return true, nil
}

func (c *wireCursor) takeProc(t *thread, ev *wireformat.Event) (bool, error) {
	args := &ev.Args
	switch ev.Type {
	case wireformat.ProcStart:
		i := c.byProc.Find(args[0])
		if i < 0 || t.p >= 0 {
			return false, nil // the thread may still have one in a system call
		}
		p := &c.procs[i]
		if p.status != wireformat.ProcIdle || args[1] != p.seq+1 {
			return false, nil
		}
		if err := c.has(t, aThread); err != nil {
			return false, err
		}
		p.status, p.seq, p.since = wireformat.ProcRunning, args[1], ev.Time
		c.change(t, p.id, false, false)
		t.p = i

	case wireformat.ProcStop:
		p := &c.procs[t.p]
		if p.status != wireformat.ProcRunning && p.status != wireformat.ProcSyscall {
			return false, contradicts(t, "the processor does not run")
		}
		p.status, p.since = wireformat.ProcIdle, ev.Time
		c.change(t, p.id, true, false)
		t.p = -1

	case wireformat.ProcSteal:
		i := c.byProc.Find(args[0])
		if i < 0 {
			return false, nil
		}
		p := &c.procs[i]
		if p.status != wireformat.ProcSyscall && p.status != wireformat.ProcSyscallAbandoned || args[1] != p.seq+1 {
			return false, nil
		}
		if err := c.has(t, aThread); err != nil {
			return false, err
		}
		if was := p.status; was == wireformat.ProcSyscall { // else the thread may have moved on by now
			from := t
			if args[2] != t.ID {
				j := c.byThread.Find(args[2])
				if j < 0 || !c.threads[j].seen {
					return false, contradicts(t, "the thread that has the processor is missing")
				}
				from = c.threads[j]
			}
			if from.p != i {
				return false, contradicts(t, "another thread has the processor")
			}
			from.p = -1
		}
		c.change(t, p.id, p.status == wireformat.ProcSyscall, false)
		p.status, p.seq, p.since = wireformat.ProcIdle, args[1], ev.Time

	case wireformat.ProcStatus:
		return c.takeProcStatus(t, ev)
	}
	return true, nil
}

func (c *wireCursor) takeProcStatus(t *thread, ev *wireformat.Event) (bool, error) {
	// The status is a byte, as in takeStatus.
	id, status := ev.Args[0], uint8(ev.Args[1])
	if status > wireformat.ProcSyscallAbandoned {
		return false, contradicts(t, badStatus)
	}
	if id == none {
		return false, contradicts(t, badNumber)
	}
	i, isNew := c.byProc.Add(id)
	toIdle := false
	if isNew {
		c.procs = append(c.procs, proc{id: narrowProc(int64(id)), status: status, since: ev.Time})
		toIdle = status == wireformat.ProcIdle || status == wireformat.ProcSyscallAbandoned
	} else {
		p := &c.procs[i]
		switch {
		case status == wireformat.ProcSyscallAbandoned && p.status == wireformat.ProcSyscall:
			// The thread is still known and is about to lose the processor.
			if !slices.ContainsFunc(c.threads, func(other *thread) bool { return other.p == i && !other.none }) {
				return false, contradicts(t, "no thread has the processor")
			}
		case p.status != status:
			return false, contradicts(t, otherThan)
		}
		p.seq, p.since = 0, ev.Time
	}
	c.change(t, c.procs[i].id, toIdle, isNew || status == 0)
	if (status == wireformat.ProcRunning || status == wireformat.ProcSyscall) && !t.none {
		t.p = i
	}
	return true, nil
}

func (c *wireCursor) takeMark(t *thread, ev *wireformat.Event) (bool, error) {
	seq := ev.Args[0]
	first := c.gcState == gcUnknown && ev.Type != wireformat.GCEnd
	switch {
	case ev.Type == wireformat.GCActive && !first:
		return false, contradicts(t, "the collector was active already")
	case !first && seq != c.gcSeq+1:
		return false, nil
	case ev.Type == wireformat.GCBegin && c.gcState == gcOn, ev.Type == wireformat.GCEnd && c.gcState != gcOn:
		return false, contradicts(t, "the mark phases do not alternate with pauses")
	}
	if !first {
		if err := c.has(t, aG); err != nil {
			return false, err
		}
	}
	c.gcSeq = seq
	code := codeRangeActive
	switch c.gcState = gcOn; ev.Type {
	case wireformat.GCBegin:
		code = codeRangeBegin
		c.stackIndex(ev.Args[1])
	case wireformat.GCEnd:
		code, c.gcState = codeRangeEnd, gcOff
	}
	c.ranges(t, code, MarkPhase, 0, -1, t.g)
	return true, nil
}

// takeRange processes a range of a goroutine.
func (c *wireCursor) takeRange(t *thread, ev *wireformat.Event) (bool, error) {
	g, code, typ, kind, stack := t.g, codeRangeBegin, wireformat.GCMarkAssistBegin, int32(-1), uint64(0)
	if ev.Type == wireformat.GCMarkAssistActive {
		if g = c.byG.Find(ev.Args[0]); g < 0 || c.states[g].status == NotExist {
			return false, contradicts(t, "the goroutine does not exist")
		}
		code = codeRangeActive
	}
	switch ev.Type {
	case wireformat.STWBegin:
		typ, kind, stack = wireformat.STWBegin, c.textIndex(ev.Args[0]), ev.Args[1]
	case wireformat.GCMarkAssistBegin:
		stack = ev.Args[0]
	case wireformat.STWEnd:
		code, typ = codeRangeEnd, wireformat.STWBegin
	case wireformat.GCMarkAssistEnd:
		code = codeRangeEnd
	}
	x := c.extraOf(g)
	i := slices.IndexFunc(x.ranges, func(r wireRange) bool { return r.typ == typ && (code == codeRangeEnd || r.kind == kind) })
	switch {
	case code != codeRangeEnd && i >= 0:
		return false, contradicts(t, "the range has begun already")
	case code != codeRangeEnd:
		x.ranges = append(x.ranges, wireRange{typ, kind})
	case i < 0:
		return false, contradicts(t, "the range has not begun")
	default:
		last := len(x.ranges) - 1
		kind, x.ranges[i] = x.ranges[i].kind, x.ranges[last]
		x.ranges = x.ranges[:last]
	}
	name := assistRange
	if typ == wireformat.STWBegin {
		name = c.stopName(kind)
	}
	c.ranges(t, code, name, 1, g, c.stackIndex(stack))
	return true, nil
}

// stopName returns the name of a stop-the-world range.
func (c *wireCursor) stopName(kind int32) string {
	name, ok := c.stopNames[kind]
	if !ok {
		name = "stop-the-world (" + c.gen.Text(kind) + ")"
		c.stopNames[kind] = name
	}
	return name
}

// takeSweep processes a range of a processor.
func (c *wireCursor) takeSweep(t *thread, ev *wireformat.Event) (bool, error) {
	i, code := t.p, codeRangeBegin
	if ev.Type == wireformat.GCSweepActive {
		if i, code = c.byProc.Find(ev.Args[0]), codeRangeActive; i < 0 {
			return false, contradicts(t, "the processor is not known")
		}
	}
	p := &c.procs[i]
	if p.sweeps == (ev.Type != wireformat.GCSweepEnd) {
		return false, contradicts(t, "the range has begun already, or not yet")
	}
	p.sweeps = !p.sweeps
	switch ev.Type {
	case wireformat.GCSweepBegin:
		c.stackIndex(ev.Args[0])
	case wireformat.GCSweepEnd:
		code = codeRangeEnd
	}
	c.ranges(t, code, "GC incremental sweep", 0, p.id, t.g)
	return true, nil
}

func (c *wireCursor) takeTask(t *thread, ev *wireformat.Event) (bool, error) {
	id := ev.Args[0]
	is, open := c.tasks[id]
	if ev.Type == wireformat.UserTaskBegin && open {
		return false, contradicts(t, "the task is open already")
	}
	if ev.Type == wireformat.UserTaskEnd {
		if !open {
			is.name = -1
		}
		delete(c.tasks, id)
		c.note(t, aux{kind: auxTaskEnd, id: id, parent: is.parent}, is.name, ev.Args[1])
		return true, nil
	}
	is = task{c.textIndex(ev.Args[2]), ev.Args[1]}
	if is.parent == none {
		is.parent = 0
	}
	c.tasks[id] = is
	c.note(t, aux{kind: auxTaskBegin, id: id, parent: is.parent}, is.name, ev.Args[3])
	return true, nil
}

func (c *wireCursor) takeRegion(t *thread, ev *wireformat.Event) (bool, error) {
	kind, is := auxRegionBegin, wireRegion{ev.Args[0], c.textIndex(ev.Args[1])}
	x := c.extraOf(t.g)
	if n := len(x.regions); ev.Type == wireformat.UserRegionBegin {
		x.regions = append(x.regions, is)
	} else if kind = auxRegionEnd; n > 0 { // else it began before the generation
		if top := x.regions[n-1]; top.task != is.task || top.name != is.name && c.gen.Text(top.name) != c.gen.Text(is.name) {
			return false, contradicts(t, "another region is the innermost")
		}
		x.regions = x.regions[:n-1]
	}
	c.note(t, aux{kind: kind, id: is.task}, is.name, ev.Args[2])
	return true, nil
}

// numberOf returns the local number of a thread, −1 if it stands for none.
func (c *wireCursor) numberOf(t *thread) int32 {
	if t.number < 0 && !t.none {
		t.number = int32(len(c.d.threads))
		c.d.threads = append(c.d.threads, int64(t.ID))
	}
	return t.number
}

// procOf returns the processor of a thread, −1 if there is none.
func (c *wireCursor) procOf(t *thread) int32 {
	if t.p < 0 {
		return -1
	}
	return c.procs[t.p].id
}

func (c *wireCursor) stackIndex(id uint64) int32 {
	i, ok := c.gen.StackIndex(id)
	if !ok {
		c.lacks("call chain", id)
	}
	return i
}

func (c *wireCursor) textIndex(id uint64) int32 {
	i, ok := c.gen.StringIndex(id)
	if !ok {
		c.lacks("string", id)
	}
	return i
}

// lacks notes that the current event refers to an entry of a table that is missing.
func (c *wireCursor) lacks(what string, id uint64) {
	if !c.cut && c.invalid == nil {
		c.invalid = wireformat.Broken(c.size, "%s %d is missing", what, id)
	}
}

// stack returns the local number of a call chain by its index, −1 if there is none.
func (c *wireCursor) stack(i int32) int32 {
	if i < 0 {
		return -1
	}
	if n := c.stackOf[i]; n != 0 {
		return n - 2
	}
	id := int32(-1)
	if s := c.intern(c.gen.Stack(i)); s != nil {
		id = int32(len(c.d.stacks))
		c.d.stacks = append(c.d.stacks, s)
	}
	c.stackOf[i] = id + 2
	return id
}

// chain returns the local number of a call chain by its number in the trace, −1 if there is none or
// c.invalid is set.
func (c *wireCursor) chain(id uint64) int32 {
	if id < uint64(len(c.chainOf)) && c.chainOf[id] != 0 {
		return c.chainOf[id] - 2
	}
	return c.newChain(id)
}

func (c *wireCursor) newChain(id uint64) int32 {
	at := c.stackIndex(id)
	if c.invalid != nil {
		return -1
	}
	n := c.stack(at)
	if id < uint64(len(c.chainOf)) {
		c.chainOf[id] = n + 2
	}
	return n
}

// why returns the local number of a reason by the number of its text. If the call chain of the event
// is missing, it adds none.
func (c *wireCursor) why(id, stack uint64) int32 {
	if id < uint64(len(c.reasonOf)) && c.reasonOf[id] != 0 {
		return c.reasonOf[id] - 1
	}
	return c.newReason(id, stack)
}

func (c *wireCursor) newReason(id, stack uint64) int32 {
	at := c.textIndex(id)
	c.stackIndex(stack)
	if c.invalid != nil {
		return -1
	}
	n := c.reason(c.gen.Text(at))
	if id < uint64(len(c.reasonOf)) {
		c.reasonOf[id] = n + 1
	}
	return n
}

// The functions below record what take has found, unless c.invalid is set.

// at moves the clock to the event of a thread. No two events have the same time: the second one is
// moved by one nanosecond.
func (c *wireCursor) at(t *thread) bool {
	if c.invalid != nil {
		return false
	}
	c.tick(max(Time(t.ev().Time), c.now+1))
	return true
}

// place records that a goroutine runs, or enters a system call, on a thread.
func (c *wireCursor) place(t *thread, code uint8, g int32) {
	if c.at(t) { // else the thread has no number yet
		c.real()
		c.put(code, g, c.numberOf(t), c.procOf(t))
	}
}

// stop records that the goroutine of a thread stops running.
func (c *wireCursor) stop(t *thread, to State, reason, stack uint64) {
	c.states[t.g].status = to
	r, s := c.why(reason, stack), c.chain(stack)
	if c.at(t) {
		if s >= 0 && c.states[t.g].last != s {
			c.shown(t.g, s, c.d.reasons[r] != "preempted")
		}
		c.real()
		c.put(stepCode(Running, to), t.g, r, s)
	}
}

// wake records that a goroutine is unblocked.
func (c *wireCursor) wake(t *thread, g int32, stack uint64) {
	s := c.chain(stack)
	if c.at(t) {
		c.does(t.g, s)
		c.real()
		c.put(stepCode(Waiting, Runnable), g, t.g, s)
	}
}

// leave records that a thread loses its goroutine.
func (c *wireCursor) leave(t *thread, code uint8) {
	if c.at(t) {
		c.real()
		c.put(code, t.g, -1, -1)
	}
	t.g = -1
}

// change records that a processor starts or stops. A status has no time of its own.
func (c *wireCursor) change(t *thread, p int32, idle, status bool) {
	if !c.at(t) {
		return
	}
	is := int32(1)
	if !status {
		c.real()
		is = 0
	}
	if idle {
		c.put(codeProcIdle, p, is, -1)
	}
}

// metricNames are the names of the values of HeapAlloc, HeapGoal and ProcsChange.
var metricNames = [3]string{heapMetric, goalMetric, procsMetric}

// value records the value of a metric.
func (c *wireCursor) value(t *thread, which int, value uint64) {
	if !c.at(t) {
		return
	}
	if c.metricName[which] == 0 {
		c.metricName[which] = c.nameID(metricNames[which]) + 1
	}
	c.metric(c.metricName[which]-1, value)
}

// ranges records a range of a goroutine (ofG is 1) with the call chain of an index, or one of a
// processor, −1 for the whole program, with the executing goroutine.
func (c *wireCursor) ranges(t *thread, code uint8, name string, ofG, of, at int32) {
	if !c.at(t) {
		return
	}
	if ofG != 0 {
		at = c.stack(at)
	}
	c.rangeOf(code, name, ofG, of, at)
}

// note records an event that is too rare or too large for a record.
func (c *wireCursor) note(t *thread, a aux, name int32, stack uint64) {
	at := c.stackIndex(stack)
	if c.at(t) {
		c.real()
		a.name = c.gen.Text(name)
		a.by, a.stack = t.g, c.stack(at)
		c.addAux(a)
	}
}

// sample records a sample of the CPU profiler.
func (c *wireCursor) sample(s *wireformat.Sample) {
	at := c.stackIndex(s.Stack)
	if c.invalid != nil {
		return
	}
	c.tick(max(Time(s.Time), c.now+1))
	a := aux{kind: auxSample, by: -1}
	if s.G != 0 && s.G != none {
		a.by = c.goroutine(s.G)
	}
	a.stack = c.stack(at)
	c.addAux(a)
}
