package wireformat

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/order"
)

// Options configures the reading of a generation.
type Options struct {
	Version int // of the format: 22, 23, 25 or 26
	// Cut accepts a generation that ends early: tables may lack entries, and the last batch may
	// end in the middle of an event. Frequency is the frequency of the clock to use if it is
	// missing, in units per second.
	Cut       bool
	Frequency uint64
	// Room reports whether there is memory for a table of size bytes. If nil, there always is.
	Room func(size int64) bool
}

// Supports reports whether the package reads a version of the format.
func Supports(version int) bool {
	return version == 22 || version == 23 || version == 25 || version == 26
}

// Generation is the content of a generation other than its events, and where those are.
type Generation struct {
	Threads  []Thread // with batches of events, in order of appearance
	Samples  []Sample // in the order of time
	Frames   []Frame  // of all call chains, one for each program counter
	Clock    Clock
	HasClock bool

	data    []byte
	opt     Options
	gen     uint64
	minTime uint64 // of all batches
	threads Numbers

	stringIDs Numbers
	strings   []span
	texts     []string // cache of the strings that were requested
	stackIDs  Numbers
	stacks    []span  // ranges of refs
	refs      []int32 // indexes of frames
	pcs       Numbers // program counters, by frame

	perUnit     float64 // ns per clock unit
	whole       int64   // the same, if it is an integer; else 0
	exact       uint64  // for fewer units than this, whole · units equals perUnit · units
	clockUnits  uint64
	ended       bool
	frequencies int
}

// Thread is the events of a thread: see [Generation.Advance].
type Thread struct {
	ID       uint64  // that of the operating system; all ones for events without a thread
	batches  []batch // that Advance has not entered
	pos, end int     // the rest of the current one
	now      int64   // time of the latest event
}

// batch is the place of one batch of events in the data of the generation.
type batch struct {
	begin, end int
	time       uint64 // in clock units
}

// Sample is a sample of the CPU profiler.
type Sample struct {
	Time                   int64 // in clock units while the generation is read, then in ns
	Thread, Proc, G, Stack uint64
}

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

// Read reads everything except the events of the generation in data, which must not be modified.
// It scans the batches: it indexes batches of events by thread and reads the others.
func Read(data []byte, opt Options) (*Generation, error) {
	g := &Generation{data: data, opt: opt}
	return g, g.read()
}

// Begin returns the time at which the generation begins, before all events.
func (g *Generation) Begin() int64 { return max(1, g.Nanos(g.minTime)) }

// Nanos converts clock units to ns.
func (g *Generation) Nanos(units uint64) int64 {
	if units < g.exact {
		return int64(units) * g.whole
	}
	return int64(float64(units) * g.perUnit)
}

func (g *Generation) setFrequency(f uint64) {
	g.frequencies++
	g.perUnit = 1.0 / (float64(f) / 1e9)
	g.whole, g.exact = 0, 0
	if g.perUnit >= 1 && g.perUnit <= 1<<20 && g.perUnit == math.Trunc(g.perUnit) {
		g.whole = int64(g.perUnit)
		g.exact = 1 << 53 / uint64(g.whole) // the product is an exact float64
		if bits.OnesCount64(uint64(g.whole)) == 1 && g.whole <= 1<<10 {
			g.exact = 1 << 53 // only the exponent changes
		}
	}
}

// Broken returns an error at an offset of the generation.
func Broken(at int, format string, args ...any) error {
	return &Error{Offset: int64(at), What: fmt.Sprintf(format, args...)}
}

// Error describes an error in a generation and its place.
type Error struct {
	Offset int64 // in bytes from the beginning of the generation
	What   string
}

// Error returns What.
func (e *Error) Error() string { return e.What }

func (g *Generation) read() error {
	data := g.data
	for at := 0; at < len(data); {
		if data[at] == byte(EndOfGeneration) {
			if g.opt.Version < 26 {
				return Broken(at, "a mark of the end of a generation, which Go 1.%d does not write", g.opt.Version)
			}
			g.ended = true
			if at+1 != len(data) {
				return Broken(at, "%d bytes follow the end of the generation", len(data)-at-1)
			}
			break
		}
		h, err := ParseHead(data[at:min(len(data), at+MaxHead)])
		if err != nil {
			if g.opt.Cut {
				break
			}
			return Broken(at, "%v", err)
		}
		begin := at + int(h.HeadLen)
		end := begin + int(h.DataLen)
		cut := end > len(data)
		if cut {
			if !g.opt.Cut {
				return Broken(at, "%v", ErrCutOff)
			}
			end = len(data)
		}
		if g.gen == 0 {
			g.gen = h.Gen
		}
		if h.Gen != g.gen {
			return Broken(at, "a batch of generation %d in generation %d", h.Gen, g.gen)
		}
		if g.minTime == 0 || h.Time < g.minTime {
			g.minTime = h.Time
		}
		if h.Type == EventBatch || h.Experiment == 0 {
			if err := g.readBatch(h, begin, end, cut); err != nil {
				return err
			}
		}
		at = end
	}
	if g.opt.Cut {
		if g.frequencies == 0 {
			g.setFrequency(g.opt.Frequency)
		}
	} else if err := g.complete(); err != nil {
		return err
	}
	return g.finish()
}

// complete checks that no mandatory part is missing.
func (g *Generation) complete() error {
	switch end := len(g.data); {
	case g.opt.Version >= 26 && !g.ended:
		return Broken(end, "the generation has no end")
	case g.frequencies == 0:
		return Broken(end, "the frequency of the clock is missing")
	case g.opt.Version >= 25 && !g.HasClock:
		return Broken(end, "the clock snapshot is missing")
	}
	return nil
}

// readBatch reads a batch, or the available part of it if cut is true.
func (g *Generation) readBatch(h Head, begin, end int, cut bool) error {
	first := Type(0)
	if begin < end {
		first = Type(g.data[begin])
	}
	r := reader{data: g.data[:end], at: begin + 1}
	sync := first == Frequency && g.opt.Version < 25 || first == Sync && g.opt.Version >= 25
	if sync && first == Frequency {
		r.at--
	}
	if sync || first == Strings || first == Stacks || first == CPUSamples {
		switch {
		case cut, g.opt.Cut && first == CPUSamples: // samples contain no states
			return nil
		case !g.room():
			return ErrMemory
		case sync:
			return g.readSync(&r, h.Time)
		}
		return g.readTable(&r, first)
	}
	i, isNew := g.threads.Add(h.M)
	if isNew {
		g.Threads = append(g.Threads, Thread{ID: h.M})
	}
	t := &g.Threads[i]
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

// ErrMemory is the error for a generation whose tables exceed the memory allowed by Options.Room.
var ErrMemory = errors.New("no memory for the tables of a generation")

var errNumber = errors.New("a number is not whole, or too large")

func (r *reader) check(start int) error {
	if r.bad {
		return Broken(start, "%v", errNumber)
	}
	return nil
}

// room reports whether there is memory for the largest table to double, as it may while a batch is
// read.
func (g *Generation) room() bool {
	size := 2 * max(16*cap(g.strings), g.stringIDs.size(), 16*cap(g.stacks), g.stackIDs.size(), 4*cap(g.refs), 32*cap(g.Frames), g.pcs.size(), 40*cap(g.Samples))
	return size < 1<<16 || g.opt.Room == nil || g.opt.Room(int64(size))
}

// readTable reads a batch of a table. The type of its entries is the one after that of the table.
func (g *Generation) readTable(r *reader, table Type) error {
	for r.more() {
		start := r.at
		if got := Type(r.data[start]); got != table+1 {
			return Broken(start, "an entry of type %d in a table of type %d", got, table+1)
		}
		r.at++
		err := error(nil)
		switch table {
		case Strings:
			err = g.readString(r, start)
		case Stacks:
			err = g.readStack(r, start)
		default:
			g.Samples = append(g.Samples, Sample{int64(r.number()), r.number(), r.number(), r.number(), r.number()})
			err = r.check(start)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *Generation) readString(r *reader, start int) error {
	id, size := r.number(), r.number()
	if err := r.check(start); err != nil {
		return err
	}
	switch {
	case size > maxString:
		return Broken(start, "a string of %d bytes; the longest have %d", size, maxString)
	case size > uint64(len(r.data)-r.at):
		return Broken(start, "a string is cut off")
	}
	if _, isNew := g.stringIDs.Add(id); !isNew || id == 0 { // 0 always exists
		return Broken(start, "string %d is defined twice", id)
	}
	g.strings = append(g.strings, span{r.at, r.at + int(size)})
	r.at += int(size)
	return nil
}

// readStack reads a call chain. The strings of its frames may come later; see finish.
func (g *Generation) readStack(r *reader, start int) error {
	id, n := r.number(), r.number()
	if n > maxFrames {
		return Broken(start, "a call chain of %d functions; the longest have %d", n, maxFrames)
	}
	begin := len(g.refs)
	for range n {
		pc, fn, file, line := r.number(), r.number(), r.number(), r.number()
		frame, isNew := g.pcs.Add(pc)
		if isNew {
			g.Frames = append(g.Frames, Frame{pc, int64(fn), int64(file), line})
		}
		g.refs = append(g.refs, frame)
	}
	if err := r.check(start); err != nil {
		return err
	}
	if _, isNew := g.stackIDs.Add(id); !isNew || id == 0 {
		return Broken(start, "call chain %d is defined twice", id)
	}
	g.stacks = append(g.stacks, span{begin, len(g.refs)})
	return nil
}

func (g *Generation) readSync(r *reader, now uint64) error {
	for r.more() {
		start := r.at
		typ := Type(r.data[r.at])
		r.at++
		switch {
		case typ == Frequency:
			if g.frequencies > 0 {
				return Broken(start, "the frequency of the clock comes twice")
			}
			g.setFrequency(r.number())
		case typ == ClockSnapshot && g.opt.Version >= 25:
			if g.HasClock {
				return Broken(start, "the clock snapshot comes twice")
			}
			g.HasClock = true
			g.clockUnits = now + r.number()
			g.Clock.Mono = r.number()
			s, ns := r.number(), r.number()
			g.Clock.Wall = time.Unix(int64(s), int64(ns))
		default:
			return Broken(start, "type %d among the clocks", typ)
		}
		if err := r.check(start); err != nil {
			return err
		}
	}
	return nil
}

// finish resolves references to entries that came later in the generation.
func (g *Generation) finish() error {
	for i := range g.Frames {
		f := &g.Frames[i]
		fn, ok1 := g.StringIndex(uint64(f.Func))
		file, ok2 := g.StringIndex(uint64(f.File))
		if !g.opt.Cut && !(ok1 && ok2) {
			return Broken(len(g.data), "the name of the function or file at program counter %#x is missing", f.PC)
		}
		f.Func, f.File = int64(fn), int64(file)
	}
	if !g.room() {
		return ErrMemory
	}
	g.texts = make([]string, len(g.strings))
	for i := range g.Samples {
		s := &g.Samples[i]
		s.Time = g.Nanos(uint64(s.Time))
	}
	order.Stable(g.Samples, func(a, b Sample) int { return cmp.Compare(a.Time, b.Time) })
	g.Clock.Trace = g.Nanos(g.clockUnits)
	return nil
}

// StringIndex returns the index of a string by its number; −1 for 0. ok is false if there is none.
func (g *Generation) StringIndex(id uint64) (i int32, ok bool) {
	i = g.stringIDs.Find(id)
	return i, i >= 0 || id == 0
}

// StackIndex returns the index of a call chain by its number; −1 for 0. ok is false if there is
// none.
func (g *Generation) StackIndex(id uint64) (i int32, ok bool) {
	i = g.stackIDs.Find(id)
	return i, i >= 0 || id == 0
}

// Sizes returns bounds of the small numbers of strings and call chains, and the number of call
// chains. Only in a damaged generation, numbers are not small.
func (g *Generation) Sizes() (strings, chains, stacks int) {
	return len(g.stringIDs.dense), len(g.stackIDs.dense), len(g.stacks)
}

// Text returns a string by index, or "" for −1.
func (g *Generation) Text(i int32) string {
	if i < 0 {
		return ""
	}
	s := g.strings[i]
	if g.texts[i] == "" && s.end > s.begin {
		g.texts[i] = string(g.data[s.begin:s.end])
	}
	return g.texts[i]
}

// Stack returns the frames of a call chain by index, as indexes, innermost first.
func (g *Generation) Stack(i int32) []int32 {
	if i < 0 {
		return nil
	}
	s := g.stacks[i]
	return g.refs[s.begin:s.end]
}
