package contention

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync/atomic"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/klauspost/compress/s2"
)

// ReadEvents reads an event file, which Options.Events describes how to write, and
// aggregates it as a running program would. Of the options, Goroutines and MaxPairs
// matter.
//
// If the file was cut off, damaged, or made by something else, the error tells where,
// as the offset in the uncompressed records; the profile is then of the records before
// it, and nil only if the file does not begin like an event file.
//
// It takes about 1 µs a record, and memory in proportion to the number of exits.
func ReadEvents(r io.Reader, o Options) (*Profile, error) {
	var head [len(eventMagic) + 1]byte
	if n, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("contention: not an event file: it ends at offset %d: %w", n, noEOF(err))
	}
	if string(head[:len(eventMagic)]) != eventMagic {
		return nil, fmt.Errorf("contention: not an event file: at offset 0 is %q, not %q", head[:len(eventMagic)], eventMagic)
	}
	if v := head[len(eventMagic)]; v != eventVersion {
		return nil, fmt.Errorf("contention: event file of version %d, at offset %d; this package reads version %d", v, len(eventMagic), eventVersion)
	}
	o.MaxLocks = math.MaxInt // the file says which locks were put together
	src := &source{r: r}
	in := &counter{r: bufio.NewReaderSize(s2.NewReader(src), eventBuffer)}
	er := &eventReader{in: in, s: newSession(o), strings: []string{""}, chains: []*callstack.Chain{nil}, locks: []*eventAccount{nil}}
	err := er.records()
	p := er.s.snapshot()
	p.Source = FromEvents
	p.Start, p.Duration = er.start, er.duration
	p.InFlight = er.inFlight
	p.Dropped.Chains, p.Dropped.Locks = er.dropped.Chains, er.dropped.Locks
	p.Dropped.Exits, p.Dropped.Events = er.dropped.Exits, er.dropped.Events
	p.Warnings = nil
	p.finish()
	if err == s2.ErrCorrupt && src.ended {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return p, fmt.Errorf("contention: event file, offset %d: %w", in.offset, noEOF(err))
	}
	return p, nil
}

// noEOF makes the end of the file where more must come an error that says so.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// source notes whether it was read beyond its end, as s2 does not tell a stream that
// is cut off from one that is damaged.
type source struct {
	r     io.Reader
	ended bool
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if n == 0 && err == io.EOF {
		s.ended = true
	}
	return n, err
}

// counter counts the bytes read.
type counter struct {
	r      *bufio.Reader
	offset int64
}

func (c *counter) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.offset++
	}
	return b, err
}

// eventReader turns records into the accounts of a session that never ran.
type eventReader struct {
	in  *counter
	s   *session
	err error // the first in a record

	start    time.Time
	duration time.Duration
	inFlight int64
	dropped  Dropped
	at       int64
	waited   int64 // by all

	strings []string
	chains  []*callstack.Chain
	locks   []*eventAccount
}

type eventAccount struct {
	*account
	exits map[uint64]holder
}

var errDamaged = errors.New("damaged record")

// records reads until the end record. The loop ends early only with an error.
func (er *eventReader) records() error {
	for first := true; ; first = false {
		t, err := er.in.ReadByte()
		if err != nil {
			return err
		}
		if first != (t == 'S') {
			return fmt.Errorf("record %q out of place", t)
		}
		switch t {
		case 'S':
			er.start = time.Unix(0, er.signed())
			er.text()
		case 's':
			er.strings = append(er.strings, er.text())
		case 'c':
			er.chain()
		case 'l':
			er.lock()
		case 'n':
			er.lockNamed()
		case 'x':
			er.exit()
		case 'w':
			er.wait()
		case 'u':
			er.timed()
		case 'k':
			er.cond()
		case 'e':
			er.end()
			return er.err
		default:
			return fmt.Errorf("unknown record %q", t)
		}
		if er.err != nil {
			return er.err
		}
	}
}

func (er *eventReader) fail(err error) {
	if er.err == nil {
		er.err = err
	}
}

func (er *eventReader) number() uint64 {
	if er.err != nil {
		return 0
	}
	v, err := binary.ReadUvarint(er.in)
	if err != nil {
		er.fail(noEOF(err))
		return 0
	}
	return v
}

func (er *eventReader) signed() int64 {
	if er.err != nil {
		return 0
	}
	v, err := binary.ReadVarint(er.in)
	if err != nil {
		er.fail(noEOF(err))
		return 0
	}
	return v
}

// span reads a length of time that leaves room for sums of it.
func (er *eventReader) span() int64 {
	v := er.number()
	if v > math.MaxInt64/4 {
		er.fail(fmt.Errorf("%w: a time of %d ns", errDamaged, v))
		return 0
	}
	return int64(v)
}

func (er *eventReader) time() int64 {
	er.at += er.signed()
	if er.at < 0 || er.at > math.MaxInt64/4 {
		er.fail(fmt.Errorf("%w: a clock of %d ns", errDamaged, er.at))
		er.at = 0
	}
	return er.at
}

// before is the inverse of eventWriter.before.
func (er *eventReader) before(at int64) int64 {
	v := er.span()
	if v == 0 {
		return 0
	}
	return max(1, at-(v-1))
}

// maxText is the length of a string, in bytes; the writer cuts off what is longer.
const maxText = 1 << 16

func (er *eventReader) text() string {
	n := er.number()
	if n > maxText {
		er.fail(fmt.Errorf("%w: a string of %d bytes", errDamaged, n))
		return ""
	}
	b := make([]byte, n)
	for i := range b {
		var err error
		if b[i], err = er.in.ReadByte(); err != nil {
			er.fail(noEOF(err))
			return ""
		}
	}
	return string(b)
}

// index reads the number of something that must have been defined.
func (er *eventReader) index(defined int, what string, least uint64) int {
	n := er.number()
	if er.err == nil && (n < least || n >= uint64(defined)) {
		er.fail(fmt.Errorf("%w: %s %d is not defined", errDamaged, what, n))
	}
	if er.err != nil {
		return 0
	}
	return int(n)
}

func (er *eventReader) stringID() string { return er.strings[er.index(len(er.strings), "string", 0)] }

func (er *eventReader) chainID(least uint64) *callstack.Chain {
	return er.chains[er.index(len(er.chains), "call chain", least)]
}

func (er *eventReader) lockID() *eventAccount {
	return er.locks[er.index(len(er.locks), "lock", 1)]
}

func (er *eventReader) chain() {
	flags, n := er.number(), er.number()
	if n > callstack.MaxDepth {
		er.fail(fmt.Errorf("%w: a call chain of %d calls", errDamaged, n))
		return
	}
	frames := make([]callstack.Frame, n)
	for i := range frames {
		frames[i] = callstack.Frame{Func: er.stringID(), File: er.stringID(), Line: int(er.number()), PC: uintptr(er.number())}
	}
	er.chains = append(er.chains, callstack.NewChain(frames, flags&1 != 0))
}

func (er *eventReader) lock() {
	info := &lockInfo{id: er.number()}
	er.names(info)
	er.locks = append(er.locks, &eventAccount{er.s.open(info, false), make(map[uint64]holder)})
}

func (er *eventReader) lockNamed() {
	if l := er.lockID(); l != nil {
		er.names(l.info)
	}
}

func (er *eventReader) names(info *lockInfo) {
	if name := er.stringID(); name != "" {
		info.name.Store(&name)
	}
	info.created.Store(er.chainID(0))
	info.first.Store(er.chainID(0))
}

func (er *eventReader) exit() {
	l, k, flags := er.lockID(), er.number(), er.number()
	h := holder{shared: flags&1 != 0, g: er.number(), chain: er.chainID(0), contended: new(atomic.Int64)}
	if flags&2 != 0 {
		h.flags = InWait
	}
	h.released = er.time()
	h.pending = er.before(h.released)
	h.acquired = er.before(h.released)
	h.gaps = er.span()
	if er.err == nil {
		if before, ok := l.exits[k]; ok {
			h.contended = before.contended
		}
		l.exits[k] = h
	}
}

func (er *eventReader) wait() {
	l := er.lockID()
	w := wait{kind: kindID(er.index(int(kindCond), "kind", 0)), flags: Flags(er.number()) & Reacquire}
	w.g, w.chain = er.number(), er.chainID(1)
	w.start = er.time()
	w.end = w.start + er.span()
	w.first = er.number()
	w.last = w.first + er.number()
	w.lost = er.number()
	w.weight, w.count = er.span(), er.span()
	w.waiters = int32(er.number())
	if er.err == nil && (w.weight < 1 || w.weight > maxWeight || w.count < 1 || w.count > maxCount || w.end-w.start > math.MaxInt64/4/w.weight ||
		w.last-w.first > chunkExits*maxChunks) {
		er.fail(fmt.Errorf("%w: a wait of weight %d behind %d exits", errDamaged, w.weight, w.last-w.first))
	}
	er.addWaited(&w)
	if er.err != nil {
		return
	}
	l.holders = l.holders[:0]
	for k := w.first + 1; k <= w.last && k != 0; k++ {
		if h, ok := l.exits[k]; ok && h.released > w.start {
			l.holders = append(l.holders, h)
		}
	}
	l.book(&w)
}

// addWaited sees to it that the sum over all waits is a number.
func (er *eventReader) addWaited(w *wait) {
	if er.err != nil {
		return
	}
	d := (w.end - w.start) * w.weight
	if er.waited > math.MaxInt64-d {
		er.fail(fmt.Errorf("%w: with it, the waits sum to more than 292 years", errDamaged))
		return
	}
	er.waited += d
}

// maxCount is how many waits one stands for at most.
const maxCount = 1 << 40

func (er *eventReader) timed() {
	l := er.lockID()
	kind := kindID(er.index(int(kindCond), "kind", 0))
	count := er.span()
	w := wait{end: er.span(), weight: 1}
	if er.err == nil && count > maxCount {
		er.fail(fmt.Errorf("%w: %d timed waits", errDamaged, count))
	}
	er.addWaited(&w)
	if er.err == nil {
		l.bookTimed(kind, count, w.end)
	}
}

func (er *eventReader) cond() {
	l := er.lockID()
	w := wait{kind: kindCond, weight: 1, count: 1, g: er.number(), chain: er.chainID(1)}
	w.start = er.time()
	w.end = w.start + er.span()
	h := holder{flags: Signaller, g: er.number(), chain: er.chainID(0)}
	h.released = w.start + er.span()
	er.addWaited(&w)
	if er.err != nil {
		return
	}
	l.holders = l.holders[:0]
	if h.chain != nil {
		l.holders = append(l.holders, h)
	}
	l.book(&w)
}

func (er *eventReader) end() {
	er.duration = time.Duration(er.span())
	er.inFlight = er.span()
	er.dropped.Chains = er.number()
	er.dropped.Locks = er.number()
	er.dropped.Exits = er.number()
	er.dropped.Events = er.number()
}
