package timeline

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
)

// A generation that is cut off lacks what the runtime writes last: the call
// chains and strings that its events refer to. What is there can be had
// nevertheless, but for names and reasons:
//
//  1. Keep the whole batches and the whole events of the last one.
//  2. Add empty call chains and strings for every number that is referred to
//     and not defined, the clock's frequency if it is missing, and the end mark.
//  3. Find the horizon. The threads write their batches one by one, when 64 kB
//     are full, so the events of the threads end at different times. A thread that holds
//     a P when its events end went on unseen: nothing is known of the time
//     after the earliest of these ends.
//  4. Decode as usual, up to the horizon.

// eventShape tells how an event is laid out after its type and time: the
// number of arguments, and which of them are numbers of stacks and strings (bit masks).
type eventShape struct {
	args, stacks, strings uint8
	timed                 bool
}

// eventShapes is the part of the format (internal/trace/tracev2) that has to
// be known to step over events. Only cut generations are read with it.
var eventShapes = func() (s [256]eventShape) {
	for typ, shape := range map[uint8]eventShape{
		evProcsChange: {args: 2, stacks: 1 << 1}, evProcStart: {args: 2}, evProcStop: {}, evProcSteal: {args: 3}, evProcStatus: {args: 2},
		14: {args: 3, stacks: 1<<1 | 1<<2}, // GoCreate
		15: {args: 1},                      // GoCreateSyscall
		16: {args: 2},                      // GoStart
		17: {}, 18: {},                     // GoDestroy, GoDestroySyscall
		19: {args: 2, strings: 1 << 0, stacks: 1 << 1}, // GoStop
		20: {args: 2, strings: 1 << 0, stacks: 1 << 1}, // GoBlock
		21: {args: 3, stacks: 1 << 2},                  // GoUnblock
		22: {args: 2, stacks: 1 << 1},                  // GoSyscallBegin
		23: {}, 24: {},                                 // GoSyscallEnd, GoSyscallEndBlocked
		25: {args: 3},                                  // GoStatus
		26: {args: 2, strings: 1 << 0, stacks: 1 << 1}, // STWBegin
		27: {}, 28: {args: 1},                          // STWEnd, GCActive
		29: {args: 2, stacks: 1 << 1}, // GCBegin
		30: {args: 1}, 31: {args: 1},  // GCEnd, GCSweepActive
		32: {args: 1, stacks: 1 << 0}, // GCSweepBegin
		33: {args: 2}, 34: {args: 1},  // GCSweepEnd, GCMarkAssistActive
		35: {args: 1, stacks: 1 << 0},        // GCMarkAssistBegin
		36: {}, 37: {args: 1}, 38: {args: 1}, // GCMarkAssistEnd, HeapAlloc, HeapGoal
		39: {args: 1, strings: 1 << 0},                      // GoLabel
		40: {args: 4, strings: 1 << 2, stacks: 1 << 3},      // UserTaskBegin
		41: {args: 2, stacks: 1 << 1},                       // UserTaskEnd
		42: {args: 3, strings: 1 << 1, stacks: 1 << 2},      // UserRegionBegin
		43: {args: 3, strings: 1 << 1, stacks: 1 << 2},      // UserRegionEnd
		44: {args: 4, strings: 1<<1 | 1<<2, stacks: 1 << 3}, // UserLog
		45: {args: 2}, 46: {args: 2},                        // GoSwitch, GoSwitchDestroy
		47:  {args: 3, stacks: 1<<1 | 1<<2},            // GoCreateBlocked
		48:  {args: 4, stacks: 1 << 3},                 // GoStatusStack
		128: {args: 3}, 129: {args: 3}, 130: {args: 1}, // spans
		131: {args: 2}, 132: {args: 2}, 133: {args: 1}, // heap objects
		134: {args: 2}, 135: {args: 2}, 136: {args: 1}, // goroutine stacks
	} {
		shape.timed = true
		s[typ] = shape
	}
	return s
}()

// The events that matter by themselves here.
const (
	evStacks      = 2
	evStack       = 3
	evStrings     = 4
	evString      = 5
	evCPUSamples  = 6
	evFrequency   = 8
	evProcsChange = 9
	evProcStart   = 10
	evProcStop    = 11
	evProcSteal   = 12
	evProcStatus  = 13
	evSync        = 50

	// defaultFrequency is the clock of every Go but on Windows: units of 64 ns.
	defaultFrequency = 1e9 / 64
)

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
	procs     map[uint64]bool // whose status was seen
	maxProcs  uint64
}

const (
	stackIDs = iota
	stringIDs
)

// salvagedThread follows the P of one thread through its own events.
type salvagedThread struct {
	last uint64 // time of the last event, in units of the clock
	p    uint64
	hasP bool
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
		procs:   map[uint64]bool{},
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
	dec := &readerDecoder{ctx: p.ctx, stacks: p.stacks, limit: horizon}
	d := dec.decode(io.MultiReader(strings.NewReader(string(p.in.header)), &s.out))
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
		t = &salvagedThread{}
		s.threads[h.m] = t
	}
	now, i := h.time, 0
	for i < len(data) {
		typ := data[i]
		shape := eventShapes[typ]
		if !shape.timed {
			break
		}
		var args [5]uint64 // the time first
		k := i + 1
		for a := 0; a <= int(shape.args); a++ {
			v, n := binary.Uvarint(data[k:])
			if n <= 0 {
				return i
			}
			args[a] = v
			k += n
		}
		i = k
		now += args[0]
		t.last = max(t.last, now)
		s.refer(shape, args[1:])
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
		t.p, t.hasP = args[0], true
		s.procs[args[0]] = true
	case evProcStop:
		t.hasP = false
	case evProcStatus:
		s.procs[args[0]] = true
		if running := args[1] == 1 || args[1] == 3; running { // ProcRunning, ProcSyscall
			t.p, t.hasP = args[0], true
		}
	case evProcSteal:
		if from := s.threads[args[2]]; from != nil && from.hasP && from.p == args[0] && from.last <= t.last {
			from.hasP = false
		}
	}
}

// horizon returns up to when the events of all threads are there; false if
// that cannot be known.
func (s *salvage) horizon(r *replay) (Time, bool) {
	if !r.begun && uint64(len(s.procs)) < s.maxProcs {
		return 0, false // some P's thread is missing altogether
	}
	for _, g := range r.gs {
		if g.cur.state.OnProc() && s.threads[uint64(g.cur.thread)] == nil {
			return 0, false
		}
	}
	end, bound := uint64(math.MaxUint64), false
	for _, t := range s.threads {
		if t.hasP {
			end, bound = min(end, t.last), true
		}
	}
	if !bound {
		return 0, false
	}
	if s.frequency == 0 {
		s.frequency, s.assumed = defaultFrequency, true
	}
	return Time(float64(end) * (1 / (float64(s.frequency) / 1e9))), true
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
	head := []byte{evEventBatch}
	for _, v := range [...]uint64{s.gen, m, time, uint64(len(data))} {
		head = binary.AppendUvarint(head, v)
	}
	s.out.Write(head)
	s.out.Write(data)
}
