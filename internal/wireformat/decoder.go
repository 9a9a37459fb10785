package wireformat

import (
	"cmp"
	"encoding/binary"
	"io"
	"math"
	"math/bits"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/order"
)

// Options configures a Decoder.
type Options struct {
	Version int // of the format: 22, 23, 25 or 26
	// Running maps threads to the goroutines that they ran at the end of the previous
	// generation, for coroutines. A thread that is missing gets a synthetic ID, LostGoroutine.
	Running map[int64]int64
	// Cut accepts a generation that ends early: tables may lack entries, and the last batch may
	// end in the middle of an event. Frequency is the frequency of the clock to use if it is
	// missing, in units per second.
	Cut       bool
	Frequency uint64
	// Room reports whether there is memory for a table of size bytes. If nil, there always is.
	Room func(size int64) bool
	// Expect is the number of goroutines to make room for, if there is memory.
	Expect int
}

// Supports reports whether the package decodes a version of the format.
func Supports(version int) bool {
	return version == 22 || version == 23 || version == 25 || version == 26
}

// LostGoroutine returns the synthetic ID of a goroutine whose end on thread is its only known
// event. The runtime counts goroutines from 1, and JavaScript numbers are exact up to twice the
// smallest synthetic ID.
func LostGoroutine(thread int64) int64 { return 1<<52 | thread&(1<<52-1) }

// Decoder decodes one generation.
type Decoder struct {
	opt  Options
	data []byte
	tables

	threads  []*thread
	byThread map[uint64]int32
	last     uint64    // the last thread that was looked up
	lastIs   int32     // its index, −1 if none
	order    []*thread // threads with batches of events, in order of appearance
	heap     []waiting // threads with events left
	gs       []goroutine
	byG      byID
	procs    []proc
	smallP   []int32 // by small processor number: index + 1
	byProc   map[uint64]int32
	extras   []extra
	tasks    map[uint64]task
	gcSeq    uint64
	gcState  uint8
	lost     []Lost
	maxProcs uint64 // GOMAXPROCS, 0 if unknown

	out     [3]Event // the events that an event of the trace yields
	n, next int      // of out
	time    int64    // of the last event
	invalid error    // an event refers to a missing table entry
	failed  error
	isStuck bool // failed is that no thread can proceed
}

// waiting is an entry of the heap.
type waiting struct {
	time int64 // of its next event
	t    *thread
}

// thread is a thread and its next event.
type thread struct {
	id      uint64
	index   int32 // −1 for events without a thread
	g       int32 // the executing goroutine, −1 if none
	p       int32 // its processor, −1 if none
	seen    bool  // one of its events was tried, or another thread referred to it
	bound   bool  // it had a goroutine
	listed  bool
	typ     Type
	procID  int64
	time    int64
	args    [maxArgs]uint64
	at      int // offset of the event
	pos     int // offset of the rest of the batch
	end     int
	base    uint64
	now     int64 // time of the previous event, 0 at the beginning of a batch
	batches []batch
}

// New returns a decoder of the generation in data, which must not be modified. New reads everything
// except the events.
func New(data []byte, opt Options) (*Decoder, error) {
	d := &Decoder{data: data, opt: opt, byThread: map[uint64]int32{}, lastIs: -1}
	if err := d.read(); err != nil {
		return d, err
	}
	d.time = d.Begin()
	if n := opt.Expect + opt.Expect/8; n > 0 && d.room(n*(int(unsafe.Sizeof(goroutine{}))+8)) {
		d.gs = make([]goroutine, 0, n)
		d.byG.grow(n)
	}
	for _, t := range d.order {
		ok, err := d.advance(t)
		if err != nil {
			return d, err
		}
		if ok {
			d.heap = append(d.heap, waiting{t.time, t})
			d.up(len(d.heap) - 1)
		}
	}
	return d, nil
}

// Begin returns the time at which the generation begins, before all events.
func (d *Decoder) Begin() int64 { return max(1, d.nanos(d.minTime)) }

// thread returns the index of a thread, which it adds if it is new.
func (d *Decoder) thread(id uint64) int32 {
	if d.lastIs >= 0 && d.last == id {
		return d.lastIs
	}
	i, ok := d.byThread[id]
	if !ok {
		i = int32(len(d.threads))
		d.byThread[id] = i
		t := &thread{id: id, index: i, g: -1, p: -1, procID: -1}
		if id == math.MaxUint64 {
			t.index = -1
		}
		d.threads = append(d.threads, t)
	}
	d.last, d.lastIs = id, i
	return i
}

// Next returns the next event, which is valid until the next call, or io.EOF.
func (d *Decoder) Next() (*Event, error) {
	if d.next >= d.n {
		if err := d.step(); err != nil {
			d.failed = err
			return nil, err
		}
	}
	ev := &d.out[d.next]
	d.next++
	if ev.Time <= d.time {
		ev.Time = d.time + 1
	}
	d.time = ev.Time
	return ev, nil
}

// step decodes one event of the trace.
func (d *Decoder) step() error {
	d.n, d.next = 0, 0
	switch {
	case d.failed != nil:
		return d.failed
	case len(d.samples) > 0 && (len(d.heap) == 0 || d.samples[0].time < d.heap[0].time):
		d.sample(&d.samples[0])
		d.samples = d.samples[1:]
		return d.invalid
	case len(d.heap) == 0:
		return io.EOF
	}
	t := d.heap[0].t
	ok, err := d.take(t)
	if err != nil {
		return err
	}
	if !ok {
		return d.others()
	}
	if err := d.goOn(t, 0); err != nil {
		return err
	}
	return d.invalid
}

// others takes the next event of the first thread, except for that at the root of the heap, whose
// event can come now.
func (d *Decoder) others() error {
	// A sorted heap is a heap.
	order.Stable(d.heap, func(a, b waiting) int { return cmp.Compare(a.time, b.time) })
	for i := 1; i < len(d.heap); i++ {
		t := d.heap[i].t
		ok, err := d.take(t)
		if err != nil {
			return err
		}
		if ok {
			if err := d.goOn(t, i); err != nil {
				return err
			}
			return d.invalid
		}
	}
	return d.stuck()
}

// stuck returns the error for the case that no thread can proceed.
func (d *Decoder) stuck() error {
	w := d.heap[0]
	d.isStuck = true
	return broken(w.t.at, "no thread can go on: an event that must come before the one of type %d at %d ns on thread %d is missing", w.t.typ, w.time, int64(w.t.id))
}

// Horizon returns the time up to which a generation that ends early shows which goroutines run,
// after Next has returned an error. It returns false if there is none.
//
// Each thread writes a batch when 64 kB are full, so the events of different threads end at
// different times, and all events of a thread may be missing. The running goroutines are known as
// long as it is known of every processor which thread holds it. Changes of a processor have
// sequence numbers, which reveal missing ones. The horizon is the time at which the holder of the
// first processor becomes unknown. procs is GOMAXPROCS if the generation does not have it.
func (d *Decoder) Horizon(procs uint64) (ns int64, ok bool) {
	procs = max(procs, d.maxProcs)
	next, ahead := d.ahead()
	holder := make([]*thread, len(d.procs))
	for _, t := range d.threads {
		if t.p >= 0 {
			holder[t.p] = t
		}
	}
	ns = math.MaxInt64
	if d.isStuck {
		ns = d.heap[0].time - 1 // that of the earliest event
	}
	for id := range procs {
		i := d.findProc(id)
		if i < 0 {
			if !next[change{id, 0}] {
				return 0, false // all events of its thread are missing
			}
			continue
		}
		p, t := &d.procs[i], holder[i]
		end, waits := ahead[t]
		switch {
		case p.status != ProcRunning && next[change{id, p.seq + 1}]:
		case t == nil: // a missing thread may hold it
			ns = min(ns, p.since)
		case !waits: // it is the last event of the thread
			ns = min(ns, t.time)
		case p.status == ProcSyscall && (end == GoSyscallEndBlock || end == ProcStart):
			ns = min(ns, p.since) // the thread lost it in the system call, at an unknown time
		}
	}
	return ns, procs > 0
}

// change is a change of a processor, by its sequence number; 0 is the status.
type change struct{ proc, seq uint64 }

// ahead returns the changes of processors that no event has shown yet, and the threads that have
// events left, with the type of the event that ends the system call in which the thread is.
func (d *Decoder) ahead() (map[change]bool, map[*thread]Type) {
	next, ends := map[change]bool{}, map[*thread]Type{}
	for _, w := range d.heap {
		t := w.t
		ends[t] = 0
		for rest := append([]batch{{begin: t.at, end: t.end}}, t.batches...); len(rest) > 0; rest = rest[1:] {
			for data := d.data[rest[0].begin:rest[0].end]; len(data) > 0; {
				args, n := ReadEvent(data)
				if n == 0 {
					break
				}
				typ := Type(data[0])
				switch typ {
				case ProcStart, ProcSteal:
					next[change{args[1], args[2]}] = true
				case ProcStatus:
					next[change{args[1], 0}] = true
				}
				switch typ {
				case ProcStart, ProcStop, GoSyscallEnd, GoSyscallEndBlock, GoDestroySyscall:
					if ends[t] == 0 {
						ends[t] = typ
					}
				}
				data = data[n:]
			}
		}
	}
	return next, ends
}

// goOn reads the next event of the thread at index i of the heap.
func (d *Decoder) goOn(t *thread, i int) error {
	more, err := d.advance(t)
	if err != nil {
		return err
	}
	if !more {
		d.remove(i)
		return nil
	}
	h := d.heap
	h[i].time = t.time
	if i == 0 || d.up(i) == i {
		if l := 2*i + 1; l < len(h) && (h[l].time < t.time || l+1 < len(h) && h[l+1].time < t.time) {
			d.down(i)
		}
	}
	return nil
}

// advance reads the next event of a thread. It returns false if there is none.
func (d *Decoder) advance(t *thread) (bool, error) {
	for {
		for t.pos == t.end {
			if len(t.batches) == 0 {
				return false, nil
			}
			b := t.batches[0]
			t.batches = t.batches[1:]
			t.pos, t.end, t.base, t.now = b.begin, b.end, b.time, 0
		}
		if t.now == 0 {
			t.now = d.nanos(t.base)
		}
		data, pos := d.data[:t.end], t.pos
		typ := Type(data[pos])
		if typ == GoSwitchDestroy && t.g < 0 && !t.bound && t.index >= 0 {
			d.lose(t)
			return true, nil
		}
		pos++
		n := int(timed[typ])
		var dt uint64
		if pos < len(data) && data[pos] < 0x80 {
			dt = uint64(data[pos])
			pos++
		} else if dt, pos = long(d.data, pos, len(data)); pos < 0 {
			n = min(n, 0)
		}
		for a := 0; a < n; a++ {
			if pos < len(data) && data[pos] < 0x80 {
				t.args[a&(maxArgs-1)] = uint64(data[pos])
				pos++
			} else if t.args[a&(maxArgs-1)], pos = long(d.data, pos, len(data)); pos < 0 {
				break
			}
		}
		switch {
		case n >= 0 && pos > 0:
			t.at, t.typ = t.pos, typ
			t.now += d.nanos(dt)
			t.time, t.pos = t.now, pos
			return true, nil
		case d.opt.Cut:
			t.pos = t.end
		case n < 0:
			return false, broken(t.pos, "type %d among the events of a thread", typ)
		default:
			return false, broken(t.pos, "%v", errNumber)
		}
	}
}

// long reads a varint of more than one byte, up to eight bytes at once, from data that ends at end.
// It returns the offset of the next number, or −1 if the varint is incomplete.
func long(data []byte, pos, end int) (uint64, int) {
	if pos+8 <= len(data) {
		w := binary.LittleEndian.Uint64(data[pos:])
		if stop := ^w & 0x8080808080808080; stop != 0 {
			w &= stop ^ (stop - 1) // up to the first byte without a continuation bit
			w &= 0x7f7f7f7f7f7f7f7f
			w = w&0x007f007f007f007f | w&0x7f007f007f007f00>>1
			w = w&0x00003fff00003fff | w&0x3fff00003fff0000>>2
			w = w&0x000000000fffffff | w&0x0fffffff00000000>>4
			if pos += bits.TrailingZeros64(stop)>>3 + 1; pos > end {
				return 0, -1
			}
			return w, pos
		}
	}
	v, n := binary.Uvarint(data[pos:end])
	if n <= 0 {
		return 0, -1
	}
	return v, pos + n
}

// lose makes the status of a coroutine the next event of its thread; see the package comment.
func (d *Decoder) lose(t *thread) {
	id, ok := d.opt.Running[int64(t.id)]
	if !ok {
		id = LostGoroutine(int64(t.id))
	}
	d.lost = append(d.lost, Lost{int64(t.id), id})
	t.bound = true
	t.at, t.typ, t.time = t.pos, GoStatus, t.now
	t.args = [maxArgs]uint64{uint64(id), t.id, GoRunning}
}

// The heap is binary. For equal times, the parent comes first, then the left child.

func (d *Decoder) up(i int) int {
	h := d.heap
	for i > 0 && h[(i-1)/2].time > h[i].time {
		h[(i-1)/2], h[i] = h[i], h[(i-1)/2]
		i = (i - 1) / 2
	}
	return i
}

func (d *Decoder) down(i int) {
	h := d.heap
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

func (d *Decoder) remove(i int) {
	h := d.heap
	for ; i > 0; i = (i - 1) / 2 {
		h[(i-1)/2], h[i] = h[i], h[(i-1)/2]
	}
	last := len(h) - 1
	h[0], h[last] = h[last], h[0]
	d.heap = h[:last]
	d.down(0)
}
