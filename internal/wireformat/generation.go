package wireformat

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/order"
)

// Frame is one frame of a call chain.
type Frame struct {
	PC         uint64
	Func, File int64 // string indexes; while the generation is read, string numbers of the trace
	Line       uint64
}

// Clock is a reading of all clocks at one time of the generation.
type Clock struct {
	Trace int64 // ns on the clock of the trace
	Mono  uint64
	Wall  time.Time
}

// span is a range of the generation's data, or of a list.
type span struct{ begin, end int }

// batch is the data of one batch of events.
type batch struct {
	begin, end int
	time       uint64 // in clock units
}

// sample is a sample of the CPU profiler.
type sample struct {
	time                   int64 // in clock units while the generation is read, then in ns
	thread, proc, g, stack uint64
}

// tables is the content of a generation other than its events.
type tables struct {
	gen     uint64
	minTime uint64 // of all batches

	stringIDs ids
	strings   []span
	texts     []string // cache of the strings that were requested
	stackIDs  ids
	stacks    []span  // ranges of refs
	refs      []int32 // indexes of frames
	pcs       Numbers // program counters, by frame
	frames    []Frame
	samples   []sample

	perUnit     float64 // ns per clock unit
	whole       int64   // the same, if it is an integer; else 0
	exact       uint64  // for fewer units than this, whole · units equals perUnit · units
	hasClock    bool
	clock       Clock
	clockUnits  uint64
	ended       bool
	frequencies int
}

// nanos converts clock units to ns.
func (t *tables) nanos(units uint64) int64 {
	if units < t.exact {
		return int64(units) * t.whole
	}
	return int64(float64(units) * t.perUnit)
}

func (t *tables) setFrequency(f uint64) {
	t.frequencies++
	t.perUnit = 1.0 / (float64(f) / 1e9)
	t.whole, t.exact = 0, 0
	if t.perUnit >= 1 && t.perUnit <= 1<<20 && t.perUnit == math.Trunc(t.perUnit) {
		t.whole = int64(t.perUnit)
		t.exact = 1 << 53 / uint64(t.whole) // the product is an exact float64
		if bits.OnesCount64(uint64(t.whole)) == 1 && t.whole <= 1<<10 {
			t.exact = 1 << 53 // only the exponent changes
		}
	}
}

// broken returns an error at an offset of the generation.
func broken(at int, format string, args ...any) error {
	return &Error{Offset: int64(at), What: fmt.Sprintf(format, args...)}
}

// Error describes an error in a generation and its place.
type Error struct {
	Offset int64 // in bytes from the beginning of the generation
	What   string
}

// Error returns What.
func (e *Error) Error() string { return e.What }

// read scans the batches: it indexes batches of events by thread and reads the others.
func (d *Decoder) read() error {
	data := d.data
	for at := 0; at < len(data); {
		if data[at] == byte(EndOfGeneration) {
			if d.opt.Version < 26 {
				return broken(at, "a mark of the end of a generation, which Go 1.%d does not write", d.opt.Version)
			}
			d.ended = true
			if at+1 != len(data) {
				return broken(at, "%d bytes follow the end of the generation", len(data)-at-1)
			}
			break
		}
		h, err := ParseHead(data[at:min(len(data), at+MaxHead)])
		if err != nil {
			if d.opt.Cut {
				break
			}
			return broken(at, "%v", err)
		}
		begin := at + int(h.HeadLen)
		end := begin + int(h.DataLen)
		cut := end > len(data)
		if cut {
			if !d.opt.Cut {
				return broken(at, "%v", ErrCutOff)
			}
			end = len(data)
		}
		if d.gen == 0 {
			d.gen = h.Gen
		}
		if h.Gen != d.gen {
			return broken(at, "a batch of generation %d in generation %d", h.Gen, d.gen)
		}
		if d.minTime == 0 || h.Time < d.minTime {
			d.minTime = h.Time
		}
		if h.Type == EventBatch || h.Experiment == 0 {
			if err := d.readBatch(h, begin, end, cut); err != nil {
				return err
			}
		}
		at = end
	}
	if d.opt.Cut {
		if d.frequencies == 0 {
			d.setFrequency(d.opt.Frequency)
		}
	} else if err := d.complete(); err != nil {
		return err
	}
	return d.finish()
}

// complete checks that no mandatory part is missing.
func (d *Decoder) complete() error {
	switch end := len(d.data); {
	case d.opt.Version >= 26 && !d.ended:
		return broken(end, "the generation has no end")
	case d.frequencies == 0:
		return broken(end, "the frequency of the clock is missing")
	case d.opt.Version >= 25 && !d.hasClock:
		return broken(end, "the clock snapshot is missing")
	}
	return nil
}

// readBatch reads a batch, or the available part of it if cut is true.
func (d *Decoder) readBatch(h Head, begin, end int, cut bool) error {
	first := Type(0)
	if begin < end {
		first = Type(d.data[begin])
	}
	r := reader{data: d.data[:end], at: begin + 1}
	sync := first == Frequency && d.opt.Version < 25 || first == Sync && d.opt.Version >= 25
	if sync && first == Frequency {
		r.at--
	}
	switch {
	case sync || first == Strings || first == Stacks || first == CPUSamples:
		if cut {
			return nil
		}
	}
	switch {
	case sync:
		return d.readSync(&r, h.Time)
	case first == Strings:
		return d.readStrings(&r)
	case first == Stacks:
		return d.readStacks(&r)
	case first == CPUSamples:
		if d.opt.Cut {
			return nil // samples refer to call chains and contain no states
		}
		return d.readSamples(&r)
	}
	t := d.threads[d.thread(h.M)]
	if !t.listed {
		t.listed = true
		d.order = append(d.order, t)
	}
	t.batches = append(t.batches, batch{begin, end, h.Time})
	return nil
}

// reader reads the numbers of a batch. It stops at the end of the batch or at an incomplete number.
type reader struct {
	data []byte
	at   int
	bad  bool
}

func (r *reader) more() bool { return r.at < len(r.data) && !r.bad }

func (r *reader) number() uint64 {
	if r.at < len(r.data) && r.data[r.at] < 0x80 {
		r.at++
		return uint64(r.data[r.at-1])
	}
	v, n := binary.Uvarint(r.data[r.at:])
	if n <= 0 {
		r.bad, r.at = true, len(r.data)
		return 0
	}
	r.at += n
	return v
}

// entry reads the type of an entry of a table.
func (r *reader) entry(want Type) error {
	if got := Type(r.data[r.at]); got != want {
		return broken(r.at, "an entry of type %d in a table of type %d", got, want)
	}
	r.at++
	return nil
}

// ErrMemory is the error for a generation whose tables exceed the memory allowed by Options.Room.
var ErrMemory = errors.New("no memory for the tables of a generation")

var errNumber = errors.New("a number is not whole, or too large")

func (r *reader) check(start int) error {
	if r.bad {
		return broken(start, "%v", errNumber)
	}
	return nil
}

// room reports whether there is memory for a table of size bytes.
func (d *Decoder) room(size int) bool {
	return size < 1<<16 || d.opt.Room == nil || d.opt.Room(int64(size))
}

// reserve makes room for n more elements of a table. It returns false if there is no memory.
func reserve[T any](d *Decoder, table *[]T, n int) bool {
	if cap(*table)-len(*table) >= n {
		return true
	}
	want := max(len(*table)+n, 2*cap(*table))
	var element T
	if !d.room(want * int(unsafe.Sizeof(element))) {
		return false
	}
	*table = append(make([]T, 0, want), *table...)
	return true
}

// The minimum size of an entry of the tables, in bytes.
const (
	leastString = 3
	leastStack  = 3
	leastFrame  = 4
	leastSample = 6
)

func (d *Decoder) readStrings(r *reader) error {
	if n := (len(r.data) - r.at) / leastString; !reserve(d, &d.strings, n) || !d.room(d.stringIDs.growth(n)) {
		return ErrMemory
	}
	for r.more() {
		start := r.at
		if err := r.entry(String); err != nil {
			return err
		}
		id, size := r.number(), r.number()
		if err := r.check(start); err != nil {
			return err
		}
		if size > maxString {
			return broken(start, "a string of %d bytes; the longest have %d", size, maxString)
		}
		if size > uint64(len(r.data)-r.at) {
			return broken(start, "a string is cut off")
		}
		if !d.stringIDs.add(id) {
			return broken(start, "string %d is defined twice", id)
		}
		d.strings = append(d.strings, span{r.at, r.at + int(size)})
		r.at += int(size)
	}
	return nil
}

// readStacks reads call chains. The strings of their frames may come later; see finish.
func (d *Decoder) readStacks(r *reader) error {
	n, frames := (len(r.data)-r.at)/leastStack, (len(r.data)-r.at)/leastFrame
	if !reserve(d, &d.stacks, n) || !reserve(d, &d.refs, frames) || !reserve(d, &d.frames, frames) ||
		!d.room(d.stackIDs.growth(n)) || !d.room(d.pcs.growth(frames)) {
		return ErrMemory
	}
	for r.more() {
		start := r.at
		if err := r.entry(Stack); err != nil {
			return err
		}
		id, n := r.number(), r.number()
		if n > maxFrames {
			return broken(start, "a call chain of %d functions; the longest have %d", n, maxFrames)
		}
		begin := len(d.refs)
		for range n {
			pc, fn, file, line := r.number(), r.number(), r.number(), r.number()
			frame, isNew := d.pcs.Add(pc)
			if isNew {
				d.frames = append(d.frames, Frame{pc, int64(fn), int64(file), line})
			}
			d.refs = append(d.refs, frame)
		}
		if err := r.check(start); err != nil {
			return err
		}
		if !d.stackIDs.add(id) {
			return broken(start, "call chain %d is defined twice", id)
		}
		d.stacks = append(d.stacks, span{begin, len(d.refs)})
	}
	return nil
}

func (d *Decoder) readSamples(r *reader) error {
	if !reserve(d, &d.samples, (len(r.data)-r.at)/leastSample) {
		return ErrMemory
	}
	for r.more() {
		start := r.at
		if err := r.entry(CPUSample); err != nil {
			return err
		}
		s := sample{time: int64(r.number()), thread: r.number(), proc: r.number(), g: r.number(), stack: r.number()}
		if err := r.check(start); err != nil {
			return err
		}
		d.samples = append(d.samples, s)
	}
	return nil
}

func (d *Decoder) readSync(r *reader, now uint64) error {
	for r.more() {
		start := r.at
		typ := Type(r.data[r.at])
		r.at++
		switch {
		case typ == Frequency:
			if d.frequencies > 0 {
				return broken(start, "the frequency of the clock comes twice")
			}
			d.setFrequency(r.number())
		case typ == ClockSnapshot && d.opt.Version >= 25:
			if d.hasClock {
				return broken(start, "the clock snapshot comes twice")
			}
			d.hasClock = true
			d.clockUnits = now + r.number()
			d.clock.Mono = r.number()
			s, ns := r.number(), r.number()
			d.clock.Wall = time.Unix(int64(s), int64(ns))
		default:
			return broken(start, "type %d among the clocks", typ)
		}
		if err := r.check(start); err != nil {
			return err
		}
	}
	return nil
}

// finish resolves references to entries that came later in the generation.
func (d *Decoder) finish() error {
	for i := range d.frames {
		f := &d.frames[i]
		fn, ok1 := d.stringIDs.index(uint64(f.Func))
		file, ok2 := d.stringIDs.index(uint64(f.File))
		if !d.opt.Cut && !(ok1 && ok2) {
			return broken(len(d.data), "the name of the function or file at program counter %#x is missing", f.PC)
		}
		f.Func, f.File = int64(fn), int64(file)
	}
	if !d.room(16 * len(d.strings)) {
		return ErrMemory
	}
	d.texts = make([]string, len(d.strings))
	for i := range d.samples {
		s := &d.samples[i]
		s.time = d.nanos(uint64(s.time))
	}
	order.Stable(d.samples, func(a, b sample) int { return cmp.Compare(a.time, b.time) })
	d.clock.Trace = d.nanos(d.clockUnits)
	return nil
}

// Text returns a string by index, or "" for −1.
func (d *Decoder) Text(i int32) string { return d.text(int(i)) }

func (d *Decoder) text(i int) string {
	if i < 0 {
		return ""
	}
	s := d.strings[i]
	if d.texts[i] == "" && s.end > s.begin {
		d.texts[i] = string(d.data[s.begin:s.end])
	}
	return d.texts[i]
}

// Stacks returns the number of call chains.
func (d *Decoder) Stacks() int { return len(d.stacks) }

// Strings returns the number of strings.
func (d *Decoder) Strings() int { return len(d.strings) }

// Stack returns the frames of a call chain as indexes, innermost first.
func (d *Decoder) Stack(i int32) []int32 {
	s := d.stacks[i]
	return d.refs[s.begin:s.end]
}

// StackNumbered is Stack by the number in the trace. It returns nil if there is none.
func (d *Decoder) StackNumbered(id uint64) []int32 {
	if i, ok := d.stackIDs.index(id); ok && i >= 0 {
		return d.Stack(i)
	}
	return nil
}

// Frames returns the frames of all call chains, one for each program counter.
func (d *Decoder) Frames() []Frame { return d.frames }

// Clock returns the clock snapshot, if there is one.
func (d *Decoder) Clock() (Clock, bool) { return d.clock, d.hasClock }

// Goroutine returns the ID of a goroutine by index.
func (d *Decoder) Goroutine(i int32) int64 { return d.gs[i].id }

// Thread returns the operating system's ID of a thread by index.
func (d *Decoder) Thread(i int32) int64 { return int64(d.threads[i].id) }

// Lost returns the goroutines whose status was added by the decoder, and their threads.
func (d *Decoder) Lost() []Lost { return d.lost }

// Lost is a coroutine whose end is its only event in the generation.
type Lost struct{ Thread, G int64 }
