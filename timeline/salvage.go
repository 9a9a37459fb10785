package timeline

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
)

// A generation that is cut off lacks what the runtime writes last: the call
// chains and strings that its events refer to. What is there can be had
// nevertheless, but for names and reasons:
//
//  1. Keep the whole batches and the whole events of the last one.
//  2. Add empty call chains and strings for every number that is referred to
//     and not defined, the clock's frequency if it is missing, and the end mark.
//  3. Find the horizon. The threads write their batches one by one, when 64 kB
//     are full, so the events of the threads end at different times, and any thread
//     may be missing altogether. What runs is known as long as it is known of every P
//     which thread has it; the numbers that events give to the changes of a P tell
//     whether one was missed. Nothing is known of the time after the first P is lost sight of.
//  4. Decode as usual, up to the horizon, or to the first event for which the
//     Reader waits in vain, because one of a thread that is missing must come before it.

// salvage is the state of mending one generation.
type salvage struct {
	version   int
	out       bytes.Buffer
	gen       uint64
	firstTime uint64
	frequency uint64
	assumed   bool // the frequency is not from the trace
	synced    bool
	defined   [2]map[uint64]bool // stacks, strings
	used      [2]map[uint64]bool
	threads   map[uint64]*salvagedThread
	procs     map[uint64]*salvagedProc
	maxProcs  uint64
}

// salvagedProc is what is known of who had a P: by the numbers that its
// changes have in the trace, from 0, its status.
type salvagedProc struct {
	tenures map[uint64]tenure
	stops   map[uint64]uint64 // when the thread of that tenure gave the P up
}

// tenure is a thread's having a P from a time on; or nobody's.
type tenure struct {
	m, time uint64
	idle    bool
	started bool // taken from idle: the one before must have given it up
}

const (
	stackIDs = iota
	stringIDs
)

// salvagedThread follows the P of one thread through its own events.
type salvagedThread struct {
	m      uint64
	last   uint64 // time of the last event, in units of the clock
	p, seq uint64 // the P, and the number of the change that gave it to the thread
	inCall bool   // in a system call since then
}

// salvage reads what a cut generation still tells. It returns nil if that is nothing.
func (p *pass) salvage(g *generation) *decoded {
	raw, err := io.ReadAll(g.open())
	if err != nil {
		return nil
	}
	s := &salvage{
		version: p.in.version, gen: g.number, frequency: g.frequency,
		defined: [2]map[uint64]bool{{0: true}, {0: true}},
		used:    [2]map[uint64]bool{{}, {}},
		threads: map[uint64]*salvagedThread{},
		procs:   map[uint64]*salvagedProc{},
	}
	for len(raw) > 0 {
		n := s.batch(raw)
		if n == 0 {
			break
		}
		raw = raw[n:]
	}
	if !s.synced && s.version >= 25 {
		return nil // it comes first: nothing else is there
	}
	horizon, ok := s.horizon(p.replay)
	if !ok {
		return nil
	}
	s.complete()
	mended := s.out.Bytes()
	dec := &readerDecoder{ctx: p.ctx, stacks: p.stacks}
	open := func() io.Reader { return io.MultiReader(bytes.NewReader(p.in.header), bytes.NewReader(mended)) }
	d := dec.decode(open)
	if stuck, ok := firstStuck(dec.broken); ok {
		horizon = min(horizon, stuck-1)
	}
	d.release()
	dec.limit = horizon
	d = dec.decode(open)
	d.err = nil // the Reader stumbles over the end, as it must
	if !d.hasReal || d.firstReal == d.lastReal {
		d.release()
		return nil
	}
	p.replay.info.Notes = append(p.replay.info.Notes, "Of the part that is cut off in the middle, the names of new goroutines and the reasons of waits are missing.")
	if s.assumed {
		p.replay.info.Notes = append(p.replay.info.Notes, fmt.Sprintf("The frequency of the trace's clock is missing; %d Hz was assumed, which is that of Go on all systems but Windows.", s.frequency))
	}
	return d
}

var frontierTime = regexp.MustCompile(`\[\w+ time=(\d+)`)

// firstStuck returns the time of the earliest event that the Reader waited for
// in vain, because an event of a missing thread must come before it. It has shown
// later ones of other threads. The Reader tells it only in the words of its error.
func firstStuck(err error) (first Time, ok bool) {
	if err == nil {
		return 0, false
	}
	for _, m := range frontierTime.FindAllStringSubmatch(err.Error(), -1) {
		if t, err := strconv.ParseInt(m[1], 10, 64); err == nil && (!ok || Time(t) < first) {
			first, ok = Time(t), true
		}
	}
	return first, ok
}

// batch takes one batch over and returns its length; 0 when nothing more can be used.
func (s *salvage) batch(raw []byte) int {
	h, err := parseBatchHead(raw[:min(len(raw), maxBatchHead)])
	if err != nil {
		return 0
	}
	whole := int(h.headLen + h.dataLen)
	data := raw[h.headLen:min(whole, len(raw))]
	if s.firstTime == 0 || h.time < s.firstTime {
		s.firstTime = h.time
	}
	if raw[0] == evEventBatch && len(data) > 0 {
		s.content(h, data, len(raw) >= whole)
	}
	if len(raw) < whole {
		return 0
	}
	return whole
}

func (s *salvage) content(h batchHead, data []byte, whole bool) {
	switch data[0] {
	case evStrings:
		if whole {
			s.strings(data[1:])
			s.emit(h.m, h.time, data)
		}
	case evStacks:
		if whole {
			s.stacks(data[1:])
			s.emit(h.m, h.time, data)
		}
	case evCPUSamples:
		// Samples refer to call chains and say nothing of states.
	case evSync, evFrequency:
		if whole {
			s.synced = true
			s.emit(h.m, h.time, data)
		}
	default:
		if n := s.events(h, data); n > 0 {
			s.emit(h.m, h.time, data[:n])
		}
	}
}

// events steps over the events of a batch and returns the length of the whole ones.
func (s *salvage) events(h batchHead, data []byte) int {
	t := s.threads[h.m]
	if t == nil {
		t = &salvagedThread{m: h.m}
		s.threads[h.m] = t
	}
	now, i := h.time, 0
	for i < len(data) {
		typ := data[i]
		args, n := readEvent(data[i:])
		if n == 0 {
			break
		}
		i += n
		now += args[0]
		t.last = max(t.last, now)
		s.refer(eventShapes[typ], args[1:])
		s.proc(typ, t, args[1:])
	}
	return i
}

func (s *salvage) refer(shape eventShape, args []uint64) {
	for a := range args {
		if shape.stacks>>a&1 != 0 {
			s.used[stackIDs][args[a]] = true
		}
		if shape.strings>>a&1 != 0 {
			s.used[stringIDs][args[a]] = true
		}
	}
}

func (s *salvage) proc(typ uint8, t *salvagedThread, args []uint64) {
	switch typ {
	case evProcsChange:
		s.maxProcs = args[0]
	case evProcStart:
		s.taken(t)
		t.p, t.seq = args[0], args[1]
		s.tenure(t.p, t.seq, tenure{m: t.m, time: t.last, started: true})
	case evSyscallBegin:
		t.seq, t.inCall = args[0], true
		s.tenure(t.p, t.seq, tenure{m: t.m, time: t.last})
	case evProcStop:
		if p := s.procs[t.p]; p != nil {
			p.stops[t.seq] = t.last
		}
		t.inCall = false
	case evSyscallEnd:
		t.inCall = false
	case evSyscallEndBlocked:
		s.taken(t)
	case evProcStatus:
		running := args[1] == 1 || args[1] == 3 // ProcRunning, ProcSyscall
		if running {
			t.p, t.seq, t.inCall = args[0], 0, args[1] == 3
		}
		s.tenure(args[0], 0, tenure{m: t.m, time: t.last, idle: !running})
	case evProcSteal:
		s.tenure(args[0], args[1], tenure{m: t.m, time: t.last, idle: true})
	}
}

// taken notes that a thread lost its P in a system call: at some time in the
// call; who took it may be missing.
func (s *salvage) taken(t *salvagedThread) {
	if p := s.procs[t.p]; p != nil && t.inCall {
		p.stops[t.seq] = p.tenures[t.seq].time
	}
	t.inCall = false
}

func (s *salvage) tenure(p, seq uint64, t tenure) {
	sp := s.procs[p]
	if sp == nil {
		sp = &salvagedProc{tenures: map[uint64]tenure{}, stops: map[uint64]uint64{}}
		s.procs[p] = sp
	}
	sp.tenures[seq] = t
}

// lost returns up to when it is known who has the P; false if it never is.
func (s *salvage) lost(p *salvagedProc) (uint64, bool) {
	last, ok := p.tenures[0]
	if !ok {
		return 0, false
	}
	seq := uint64(0)
	for {
		next, ok := p.tenures[seq+1]
		if !ok {
			break
		}
		if _, stopped := p.stops[seq]; next.started && !stopped && !last.idle {
			break // the end of what that thread did is missing
		}
		last, seq = next, seq+1
	}
	if last.idle {
		return last.time, true // perhaps a thread that is missing has it
	}
	if stop, ok := p.stops[seq]; ok {
		return stop, true
	}
	return s.threads[last.m].last, true
}

// horizon returns up to when it is known what runs; false if that is never known.
func (s *salvage) horizon(r *replay) (Time, bool) {
	maxProcs := max(s.maxProcs, r.gomaxprocs)
	if maxProcs == 0 {
		return 0, false
	}
	end := uint64(math.MaxUint64)
	for id := range maxProcs {
		p := s.procs[id]
		if p == nil {
			return 0, false // its thread is missing altogether
		}
		t, ok := s.lost(p)
		if !ok {
			return 0, false
		}
		end = min(end, t)
	}
	if s.frequency == 0 {
		s.frequency, s.assumed = defaultFrequency, true
	}
	return timeOf(end, s.frequency), true
}

// strings notes which strings a batch defines.
func (s *salvage) strings(data []byte) {
	for len(data) > 0 && data[0] == evString {
		id, n := binary.Uvarint(data[1:])
		if n <= 0 {
			return
		}
		size, m := binary.Uvarint(data[1+n:])
		if m <= 0 || size > uint64(len(data)-1-n-m) {
			return
		}
		s.defined[stringIDs][id] = true
		data = data[1+n+m+int(size):]
	}
}

// stacks notes which call chains a batch defines and which strings these use.
func (s *salvage) stacks(data []byte) {
	for len(data) > 0 && data[0] == evStack {
		data = data[1:]
		next := func() uint64 {
			v, n := binary.Uvarint(data)
			if n <= 0 {
				data = nil // rubbish: the Reader will say so
				return 0
			}
			data = data[n:]
			return v
		}
		s.defined[stackIDs][next()] = true
		for n := next(); n > 0 && len(data) > 0; n-- {
			next() // program counter
			s.used[stringIDs][next()] = true
			s.used[stringIDs][next()] = true
			next() // line
		}
	}
}

// complete adds what is missing from the end of the generation.
func (s *salvage) complete() {
	if !s.synced {
		s.emit(math.MaxUint64, s.firstTime, binary.AppendUvarint([]byte{evFrequency}, s.frequency))
	}
	s.define(evStacks, evStack, stackIDs)
	s.define(evStrings, evString, stringIDs)
	if s.version >= 26 {
		s.out.WriteByte(evEndOfGeneration)
	}
}

// define writes batches of empty call chains or strings.
func (s *salvage) define(batch, entry byte, which int) {
	data := []byte{batch}
	flush := func() {
		if len(data) > 1 {
			s.emit(math.MaxUint64, s.firstTime, data)
		}
		data = append(data[:0], batch)
	}
	for id := range s.used[which] {
		if s.defined[which][id] {
			continue
		}
		data = binary.AppendUvarint(append(data, entry), id)
		data = append(data, 0) // no frames, or no bytes
		if len(data) > maxBatchSize-2*binary.MaxVarintLen64 {
			flush()
		}
	}
	flush()
}

func (s *salvage) emit(m, time uint64, data []byte) {
	s.out.Write(appendBatch(nil, s.gen, m, time, data))
}
