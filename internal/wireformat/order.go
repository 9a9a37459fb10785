package wireformat

import (
	"math"
	"math/bits"
)

// gone is the status of a goroutine that does not exist, or was only mentioned.
const gone = 255

// none is the ID that stands for no goroutine, processor or thread.
const none = math.MaxUint64

// goroutine is the state of a goroutine.
type goroutine struct {
	id     int64
	seq    uint64
	extra  int32 // index + 1
	status uint8
}

// proc is the state of a processor.
type proc struct {
	id     int64
	seq    uint64
	since  int64 // time at which it got seq or became idle
	status uint8
	sweeps bool
}

// extra holds the state that few goroutines have: open ranges and regions.
type extra struct {
	ranges  []openRange
	regions []region
}

type openRange struct {
	typ  Type // of its begin
	kind int32
}

type region struct {
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

// find returns the index of an existing goroutine, or −1.
func (d *Decoder) find(id uint64) int32 {
	g := d.byG.find(id, d.gs)
	if g >= 0 && d.gs[g].status == gone {
		return -1
	}
	return g
}

// enter returns the index of a goroutine, which it adds if it is new.
func (d *Decoder) enter(id uint64) int32 {
	if g := d.byG.find(id, d.gs); g >= 0 {
		return g
	}
	if len(d.gs) == cap(d.gs) {
		// append would copy three times as much; slices.Grow takes twice as much with the
		// race detector.
		d.gs = append(make([]goroutine, 0, 2*len(d.gs)+64), d.gs...)
	}
	d.gs = append(d.gs, goroutine{id: int64(id), status: gone})
	d.byG.add(d.gs)
	return int32(len(d.gs) - 1)
}

// byID is a hash table like Numbers, with the goroutines as keys.
type byID struct {
	slots []int32 // index of a goroutine + 1; 0 = empty
	shift uint
}

// find returns the index of the goroutine with the ID, or −1.
func (t *byID) find(id uint64, gs []goroutine) int32 {
	if len(t.slots) == 0 {
		return -1
	}
	mask := uint64(len(t.slots) - 1)
	for h := id * golden >> t.shift; ; h++ {
		g := t.slots[h&mask] - 1
		if g < 0 || uint64(gs[g].id) == id {
			return g
		}
	}
}

// add adds the last goroutine.
func (t *byID) add(gs []goroutine) {
	last := len(gs) - 1
	if 4*len(gs) > 3*len(t.slots) {
		t.grow(len(gs))
		last = 0
	}
	mask := uint64(len(t.slots) - 1)
	for ; last < len(gs); last++ {
		h := uint64(gs[last].id) * golden >> t.shift
		for t.slots[h&mask] != 0 {
			h++
		}
		t.slots[h&mask] = int32(last) + 1
	}
}

// grow makes an empty table with room for n goroutines.
func (t *byID) grow(n int) {
	size := 1 << max(8, bits.Len(uint(4*n/3)))
	t.slots, t.shift = make([]int32, size), uint(64-bits.TrailingZeros(uint(size)))
}

// exit clears the state of a goroutine but keeps its index.
func (d *Decoder) exit(g int32) {
	s := &d.gs[g]
	s.status = gone
	if s.extra > 0 {
		x := &d.extras[s.extra-1]
		x.ranges, x.regions = x.ranges[:0], x.regions[:0]
	}
}

// extraOf returns the ranges and regions of a goroutine.
func (d *Decoder) extraOf(g int32) *extra {
	s := &d.gs[g]
	if s.extra == 0 {
		d.extras = append(d.extras, extra{})
		s.extra = int32(len(d.extras))
	}
	return &d.extras[s.extra-1]
}

const smallProcs = 1 << 12

// findProc returns the index of a processor, or −1 if it is unknown.
func (d *Decoder) findProc(id uint64) int32 {
	if id < uint64(len(d.smallP)) {
		return d.smallP[id] - 1
	}
	if p, ok := d.byProc[id]; ok {
		return p
	}
	return -1
}

func (d *Decoder) addProc(id uint64, status uint8, since int64) int32 {
	d.procs = append(d.procs, proc{id: int64(id), status: status, since: since})
	p := int32(len(d.procs) - 1)
	if id < smallProcs {
		for id >= uint64(len(d.smallP)) {
			d.smallP = append(d.smallP, 0)
		}
		d.smallP[id] = p + 1
		return p
	}
	if d.byProc == nil {
		d.byProc = map[uint64]int32{}
	}
	d.byProc[id] = p
	return p
}

// bind sets the goroutine that a thread executes.
func (t *thread) bind(g int32) { t.g, t.bound = g, true }

// hold sets the processor of a thread.
func (d *Decoder) hold(t *thread, p int32) { t.p, t.procID = p, d.procs[p].id }

func (t *thread) drop() { t.p, t.procID = -1, -1 }

// contradicts returns the error for an event that contradicts the state.
func contradicts(t *thread, why string) error {
	return broken(t.at, "an event of type %d at %d ns on thread %d: %s", t.typ, t.time, int64(t.id), why)
}

// put adds the event of a thread to the output of the decoder.
func (d *Decoder) put(t *thread) *Event {
	ev := &d.out[d.n]
	d.n++
	// Assign field by field: a composite literal is built elsewhere and copied, which takes
	// five times as long.
	ev.Type, ev.Thread, ev.Time = t.typ, t.index, t.time
	ev.G, ev.Target, ev.Proc = t.g, -1, t.procID
	ev.Stack, ev.Text = -1, -1
	return ev
}

func (d *Decoder) stackIndex(id uint64) int32 {
	i, ok := d.stackIDs.index(id)
	if !ok && !d.opt.Cut {
		d.invalid = broken(len(d.data), "call chain %d is missing", id)
	}
	return i
}

func (d *Decoder) textIndex(id uint64) int32 {
	i, ok := d.stringIDs.index(id)
	if !ok && !d.opt.Cut {
		d.invalid = broken(len(d.data), "string %d is missing", id)
	}
	return i
}

// sample makes a sample of the CPU profiler the next event.
func (d *Decoder) sample(s *sample) {
	d.n = 1
	d.out[0] = Event{Type: CPUSample, Time: s.time, G: -1, Target: -1, Proc: int64(s.proc), Thread: -1, Stack: d.stackIndex(s.stack), Start: -1, Text: -1, Text2: -1}
	if s.thread != none {
		d.out[0].Thread = d.thread(s.thread)
	}
	if s.g != 0 && s.g != none {
		d.out[0].G = d.enter(s.g)
	}
}

// Descriptions of violated conditions.
const (
	noThread  = "it needs a thread"
	noProc    = "the thread has no processor"
	hasProc   = "the thread has a processor already"
	noG       = "the thread executes no goroutine"
	hasG      = "the thread executes another goroutine"
	notRuns   = "the goroutine does not run"
	notInCall = "the goroutine is not in a system call"
	isThere   = "the goroutine exists already"
	badStatus = "there is no such status"
	badNumber = "there is no such number"
	otherThan = "it is not the status that is known"
)

// onProc returns an error unless the thread has a processor.
func onProc(t *thread) error {
	switch {
	case t.index < 0:
		return contradicts(t, noThread)
	case t.p < 0:
		return contradicts(t, noProc)
	}
	return nil
}

// onG returns an error unless the thread has a processor and a goroutine.
func onG(t *thread) error {
	if err := onProc(t); err != nil {
		return err
	}
	if t.g < 0 {
		return contradicts(t, noG)
	}
	return nil
}

// running returns an error unless the thread executes a running goroutine.
func (d *Decoder) running(t *thread) error {
	if t.index < 0 || t.p < 0 || t.g < 0 {
		return onG(t)
	}
	if d.gs[t.g].status != GoRunning {
		return contradicts(t, notRuns)
	}
	return nil
}

// alive returns an error unless the goroutine of the thread exists.
func (d *Decoder) alive(t *thread) error {
	if err := onG(t); err != nil {
		return err
	}
	if d.gs[t.g].status == gone {
		return contradicts(t, "the goroutine does not exist")
	}
	return nil
}

// take processes the next event of a thread: it updates the state and puts events into the output.
// If the event has to wait for an event of another thread, take returns false and changes nothing.
func (d *Decoder) take(t *thread) (bool, error) {
	t.seen = true
	args := &t.args
	switch t.typ {
	case GoStart:
		g := d.byG.find(args[0], d.gs)
		if g < 0 {
			return false, nil
		}
		s := &d.gs[g]
		if s.status != GoRunnable || args[1] != s.seq+1 {
			return false, nil
		}
		if err := onProc(t); err != nil {
			return false, err
		}
		if t.g >= 0 {
			return false, contradicts(t, hasG)
		}
		s.status, s.seq = GoRunning, args[1]
		d.put(t).Target = g
		t.bind(g)

	case GoBlock, GoStop:
		if err := d.running(t); err != nil {
			return false, err
		}
		ev := d.put(t)
		ev.Text, ev.Stack = d.textIndex(args[0]), d.stackIndex(args[1])
		s := &d.gs[t.g]
		if s.status = GoWaiting; t.typ == GoStop {
			s.status = GoRunnable
		}
		t.g = -1

	case GoUnblock:
		g := d.byG.find(args[0], d.gs)
		if g < 0 {
			return false, nil
		}
		s := &d.gs[g]
		if s.status != GoWaiting || args[1] != s.seq+1 {
			return false, nil
		}
		s.status, s.seq = GoRunnable, args[1]
		ev := d.put(t)
		ev.Target, ev.Stack = g, d.stackIndex(args[2])

	case GoSyscallBegin:
		if err := d.running(t); err != nil {
			return false, err
		}
		p := &d.procs[t.p]
		if args[0] != p.seq+1 {
			return false, contradicts(t, "it is not the next one of the processor")
		}
		d.gs[t.g].status = GoSyscall
		p.status, p.seq, p.since = ProcSyscall, args[0], t.time
		d.put(t).Stack = d.stackIndex(args[1])

	case GoSyscallEnd:
		if err := onG(t); err != nil {
			return false, err
		}
		s, p := &d.gs[t.g], &d.procs[t.p]
		switch {
		case s.status != GoSyscall:
			return false, contradicts(t, notInCall)
		case p.status != ProcSyscall:
			return false, contradicts(t, "the processor is not in a system call")
		}
		s.status, p.status = GoRunning, ProcRunning
		d.put(t)

	case GoSyscallEndBlock:
		if t.p >= 0 && d.procs[t.p].status == ProcSyscall {
			return false, nil // the thread has yet to lose it
		}
		switch {
		case t.index < 0:
			return false, contradicts(t, noThread)
		case t.g < 0:
			return false, contradicts(t, noG)
		case d.gs[t.g].status != GoSyscall:
			return false, contradicts(t, notInCall)
		}
		d.gs[t.g].status = GoRunnable
		d.put(t)
		t.g = -1

	case HeapAlloc, HeapGoal:
		if err := onProc(t); err != nil {
			return false, err
		}
		d.put(t).Value = args[0]

	case GoCreate, GoCreateBlocked:
		return d.takeCreate(t)
	case GoDestroy:
		if err := d.running(t); err != nil {
			return false, err
		}
		d.put(t)
		d.exit(t.g)
		t.g = -1
	case GoSwitch, GoSwitchDestroy:
		return d.takeSwitch(t)
	case GoStatus, GoStatusStack:
		return d.takeStatus(t)
	case GoCreateSyscall, GoDestroySyscall:
		return d.takeCallback(t)
	case ProcStart, ProcStop, ProcSteal, ProcStatus:
		return d.takeProc(t)
	case GCActive, GCBegin, GCEnd:
		return d.takeMark(t)
	case STWBegin, STWEnd, GCMarkAssistBegin, GCMarkAssistActive, GCMarkAssistEnd:
		return d.takeRange(t)
	case GCSweepBegin, GCSweepActive, GCSweepEnd:
		return d.takeSweep(t)
	case UserTaskBegin, UserTaskEnd:
		return d.takeTask(t)
	case UserRegionBegin, UserRegionEnd:
		return d.takeRegion(t)

	case ProcsChange, GoLabel, UserLog:
		if err := onG(t); err != nil {
			return false, err
		}
		ev := d.put(t)
		switch t.typ {
		case ProcsChange:
			ev.Value, ev.Stack = args[0], d.stackIndex(args[1])
			d.maxProcs = args[0]
		case GoLabel:
			ev.Text = d.textIndex(args[0])
		default:
			ev.Value, ev.Text, ev.Text2, ev.Stack = args[0], d.textIndex(args[1]), d.textIndex(args[2]), d.stackIndex(args[3])
		}

	default: // an experimental event
		if t.typ < FirstExperimental {
			return false, contradicts(t, "it is none of a thread")
		}
		if t.index < 0 {
			return false, contradicts(t, noThread)
		}
		d.put(t)
	}
	return true, nil
}

// create adds the goroutine of a creation event.
func (d *Decoder) create(t *thread, status uint8) (g int32, err error) {
	if t.args[0] == none {
		return 0, contradicts(t, badNumber)
	}
	g = d.enter(t.args[0])
	s := &d.gs[g]
	if s.status != gone {
		return 0, contradicts(t, isThere)
	}
	s.status, s.seq = status, 0
	return g, nil
}

func (d *Decoder) takeCreate(t *thread) (bool, error) {
	if err := onProc(t); err != nil {
		return false, err
	}
	if t.g >= 0 && d.gs[t.g].status != gone && d.gs[t.g].status != GoRunning {
		return false, contradicts(t, notRuns)
	}
	status := uint8(GoRunnable)
	if t.typ == GoCreateBlocked {
		status = GoWaiting
	}
	g, err := d.create(t, status)
	if err != nil {
		return false, err
	}
	ev := d.put(t)
	ev.Target, ev.Start, ev.Stack = g, d.stackIndex(t.args[1]), d.stackIndex(t.args[2])
	return true, nil
}

// takeSwitch processes a coroutine switch: it unblocks the target, blocks or ends the executing
// goroutine, and starts the target.
func (d *Decoder) takeSwitch(t *thread) (bool, error) {
	if err := d.running(t); err != nil {
		return false, err
	}
	g := d.find(t.args[0])
	if g < 0 || d.gs[g].status != GoWaiting || t.args[1] != d.gs[g].seq+1 {
		return false, nil
	}
	d.put(t).Target = g
	stop := d.put(t)
	if t.typ == GoSwitch {
		stop.Type = GoBlock
		d.gs[t.g].status = GoWaiting
	} else {
		stop.Type = GoDestroy
		d.exit(t.g)
	}
	d.gs[g].status, d.gs[g].seq = GoRunning, t.args[1]
	start := d.put(t)
	start.Type, start.G, start.Target = GoStart, -1, g
	t.bind(g)
	return true, nil
}

func (d *Decoder) takeStatus(t *thread) (bool, error) {
	id, m, status := t.args[0], t.args[1], uint8(t.args[2])
	if status > GoWaiting {
		return false, contradicts(t, badStatus)
	}
	if id == none {
		return false, contradicts(t, badNumber)
	}
	g := d.enter(id)
	s := &d.gs[g]
	from := status
	switch s.status {
	case gone:
		s.status, from = status, 0
	case status:
	default:
		return false, contradicts(t, otherThan)
	}
	s.seq = 0
	ev := d.put(t)
	ev.From, ev.To, ev.Target = from, status, g
	if t.typ == GoStatusStack {
		ev.Stack = d.stackIndex(t.args[3])
	}
	switch {
	case status == GoRunning:
		if t.index >= 0 {
			t.bind(g)
		}
	case status != GoSyscall:
	case m == none:
		return false, contradicts(t, noThread)
	case m == t.id:
		t.bind(g)
	default: // the thread has been in a system call since before the generation
		ev.Thread = d.thread(m)
		other := d.threads[ev.Thread]
		if !other.seen {
			other.seen = true
			other.bind(g)
			break
		}
		if other.g != g {
			return false, contradicts(t, hasG)
		}
		ev.G = g
	}
	return true, nil
}

// takeCallback processes the beginning or end of the goroutine of a C thread that calls Go.
func (d *Decoder) takeCallback(t *thread) (bool, error) {
	if t.index < 0 {
		return false, contradicts(t, noThread)
	}
	if t.typ == GoCreateSyscall {
		if t.g >= 0 {
			return false, contradicts(t, hasG)
		}
		g, err := d.create(t, GoSyscall)
		if err != nil {
			return false, err
		}
		d.put(t).Target = g
		t.bind(g)
		return true, nil
	}
	if t.g < 0 {
		return false, contradicts(t, noG)
	}
	if d.gs[t.g].status != GoSyscall {
		return false, contradicts(t, notInCall)
	}
	if t.p >= 0 {
		// The thread also loses its processor. The thread's ID may be reused.
		p := &d.procs[t.p]
		if p.status != ProcSyscall {
			return false, contradicts(t, "the processor is not in a system call")
		}
		p.status, p.since = ProcSyscallAbandoned, t.time
		ev := d.put(t)
		ev.Type, ev.From, ev.To, ev.Value = ProcSteal, ProcRunning, ProcIdle, uint64(p.id)
	}
	d.put(t)
	d.exit(t.g)
	t.g = -1
	t.drop()
	return true, nil
}

func (d *Decoder) takeProc(t *thread) (bool, error) {
	args := &t.args
	switch t.typ {
	case ProcStart:
		i := d.findProc(args[0])
		if i < 0 || t.p >= 0 {
			return false, nil // the thread may still have one in a system call
		}
		p := &d.procs[i]
		if p.status != ProcIdle || args[1] != p.seq+1 {
			return false, nil
		}
		if t.index < 0 {
			return false, contradicts(t, noThread)
		}
		p.status, p.seq, p.since = ProcRunning, args[1], t.time
		ev := d.put(t)
		ev.From, ev.To, ev.Value = ProcIdle, ProcRunning, args[0]
		d.hold(t, i)

	case ProcStop:
		if err := onProc(t); err != nil {
			return false, err
		}
		p := &d.procs[t.p]
		if p.status != ProcRunning && p.status != ProcSyscall {
			return false, contradicts(t, "the processor does not run")
		}
		p.status, p.since = ProcIdle, t.time
		ev := d.put(t)
		ev.From, ev.To, ev.Value = ProcRunning, ProcIdle, uint64(p.id)
		t.drop()

	case ProcSteal:
		i := d.findProc(args[0])
		if i < 0 {
			return false, nil
		}
		p := &d.procs[i]
		if p.status != ProcSyscall && p.status != ProcSyscallAbandoned || args[1] != p.seq+1 {
			return false, nil
		}
		if t.index < 0 {
			return false, contradicts(t, noThread)
		}
		ev := d.put(t)
		ev.From, ev.To, ev.Value = ProcRunning, ProcIdle, args[0]
		was := p.status
		p.status, p.seq, p.since = ProcIdle, args[1], t.time
		if was == ProcSyscallAbandoned {
			ev.From = ProcIdle // the thread may have moved on by now
			return true, nil
		}
		from := t
		if args[2] != t.id {
			j, ok := d.byThread[args[2]]
			if !ok || !d.threads[j].seen {
				return false, contradicts(t, "the thread that has the processor is missing")
			}
			from = d.threads[j]
		}
		if from.p != i {
			return false, contradicts(t, "another thread has the processor")
		}
		from.drop()

	case ProcStatus:
		return d.takeProcStatus(t)
	}
	return true, nil
}

// seenAs maps the statuses of processors to those that events show.
var seenAs = [...]uint8{0, ProcRunning, ProcIdle, ProcRunning, ProcIdle}

func (d *Decoder) takeProcStatus(t *thread) (bool, error) {
	// The status is a byte, as in takeStatus, even if its number is long.
	id, status := t.args[0], uint8(t.args[1])
	if status > ProcSyscallAbandoned {
		return false, contradicts(t, badStatus)
	}
	if id == none {
		return false, contradicts(t, badNumber)
	}
	ev := d.put(t)
	ev.From, ev.To, ev.Value = 0, seenAs[status], id
	i := d.findProc(id)
	if i < 0 {
		i = d.addProc(id, status, t.time)
	} else {
		p := &d.procs[i]
		ev.From = seenAs[status]
		switch {
		case status == ProcSyscallAbandoned && p.status == ProcSyscall:
			// The thread is still known and is about to lose the processor.
			ev.From, ev.To = ProcRunning, ProcRunning
			owner := -1
			for j, other := range d.threads {
				if other.p == i && other.index >= 0 {
					owner = j
				}
			}
			if owner < 0 {
				return false, contradicts(t, "no thread has the processor")
			}
			ev.Thread, ev.Proc, ev.G = int32(owner), int64(id), d.threads[owner].g
		case p.status != status:
			return false, contradicts(t, otherThan)
		}
		p.seq, p.since = 0, t.time
	}
	if (status == ProcRunning || status == ProcSyscall) && t.index >= 0 {
		d.hold(t, i)
	}
	return true, nil
}

func (d *Decoder) takeMark(t *thread) (bool, error) {
	seq := t.args[0]
	first := d.gcState == gcUnknown && t.typ != GCEnd
	switch {
	case t.typ == GCActive && !first:
		return false, contradicts(t, "the collector was active already")
	case !first && seq != d.gcSeq+1:
		return false, nil
	case t.typ == GCBegin && d.gcState == gcOn, t.typ == GCEnd && d.gcState != gcOn:
		return false, contradicts(t, "the mark phases do not alternate with pauses")
	}
	if !first {
		if err := onG(t); err != nil {
			return false, err
		}
	}
	d.gcSeq = seq
	if d.gcState = gcOn; t.typ == GCEnd {
		d.gcState = gcOff
	}
	ev := d.put(t)
	if t.typ == GCBegin {
		ev.Stack = d.stackIndex(t.args[1])
	}
	return true, nil
}

// takeRange processes a range of a goroutine.
func (d *Decoder) takeRange(t *thread) (bool, error) {
	if t.typ == GCMarkAssistActive {
		g := d.find(t.args[0])
		if g < 0 {
			return false, contradicts(t, "the goroutine does not exist")
		}
		if !d.extraOf(g).begin(GCMarkAssistBegin, -1) {
			return false, contradicts(t, "the range has begun already")
		}
		d.put(t).Target = g
		return true, nil
	}
	if err := d.alive(t); err != nil {
		return false, err
	}
	x := d.extraOf(t.g)
	ev := d.put(t)
	began := true
	switch t.typ {
	case STWBegin:
		ev.Text, ev.Stack = d.textIndex(t.args[0]), d.stackIndex(t.args[1])
		began = x.begin(STWBegin, ev.Text)
	case GCMarkAssistBegin:
		ev.Stack = d.stackIndex(t.args[0])
		began = x.begin(GCMarkAssistBegin, -1)
	case STWEnd:
		if ev.Text, began = x.end(STWBegin); !began {
			return false, contradicts(t, "the range has not begun")
		}
	case GCMarkAssistEnd:
		if _, began = x.end(GCMarkAssistBegin); !began {
			return false, contradicts(t, "the range has not begun")
		}
	}
	if !began {
		return false, contradicts(t, "the range has begun already")
	}
	return true, nil
}

// begin adds a range. It returns false if the range is already open.
func (x *extra) begin(typ Type, kind int32) bool {
	for _, r := range x.ranges {
		if r.typ == typ && r.kind == kind {
			return false
		}
	}
	x.ranges = append(x.ranges, openRange{typ, kind})
	return true
}

// end removes the first range of a type. It returns false if there is none.
func (x *extra) end(typ Type) (kind int32, ok bool) {
	for i, r := range x.ranges {
		if r.typ == typ {
			last := len(x.ranges) - 1
			x.ranges[i] = x.ranges[last]
			x.ranges = x.ranges[:last]
			return r.kind, true
		}
	}
	return -1, false
}

// takeSweep processes a range of a processor.
func (d *Decoder) takeSweep(t *thread) (bool, error) {
	i := t.p
	if t.typ == GCSweepActive {
		if i = d.findProc(t.args[0]); i < 0 {
			return false, contradicts(t, "the processor is not known")
		}
	} else if err := onProc(t); err != nil {
		return false, err
	}
	p := &d.procs[i]
	if p.sweeps == (t.typ != GCSweepEnd) {
		return false, contradicts(t, "the range has begun already, or not yet")
	}
	p.sweeps = !p.sweeps
	ev := d.put(t)
	ev.Value = uint64(p.id)
	if t.typ == GCSweepBegin {
		ev.Stack = d.stackIndex(t.args[0])
	}
	return true, nil
}

func (d *Decoder) takeTask(t *thread) (bool, error) {
	id := t.args[0]
	was, open := d.tasks[id]
	if t.typ == UserTaskBegin && open {
		return false, contradicts(t, "the task is open already")
	}
	if err := onG(t); err != nil {
		return false, err
	}
	ev := d.put(t)
	ev.Value = id
	if t.typ == UserTaskEnd {
		ev.Stack, ev.Value2 = d.stackIndex(t.args[1]), 0
		if open {
			ev.Value2, ev.Text = was.parent, was.name
			delete(d.tasks, id)
		}
		return true, nil
	}
	ev.Value2, ev.Text, ev.Stack = t.args[1], d.textIndex(t.args[2]), d.stackIndex(t.args[3])
	if ev.Value2 == none {
		ev.Value2 = 0
	}
	if d.tasks == nil {
		d.tasks = map[uint64]task{}
	}
	d.tasks[id] = task{ev.Text, ev.Value2}
	return true, nil
}

func (d *Decoder) takeRegion(t *thread) (bool, error) {
	if err := d.alive(t); err != nil {
		return false, err
	}
	ev := d.put(t)
	ev.Value, ev.Text, ev.Stack = t.args[0], d.textIndex(t.args[1]), d.stackIndex(t.args[2])
	x := d.extraOf(t.g)
	if t.typ == UserRegionBegin {
		x.regions = append(x.regions, region{ev.Value, ev.Text})
		return true, nil
	}
	if n := len(x.regions); n > 0 { // else it began before the generation
		if top := x.regions[n-1]; top.task != ev.Value || top.name != ev.Text && d.Text(top.name) != d.Text(ev.Text) {
			return false, contradicts(t, "another region is the innermost")
		}
		x.regions = x.regions[:n-1]
	}
	return true, nil
}
