package timeline

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/bottleneck-go/bottleneck/internal/wireformat"
)

// A truncated generation lacks what the runtime writes last: the call chains and strings that its
// events refer to. The rest can still be read, except for names and reasons:
//
//  1. Find the horizon. Each thread writes a batch when 64 kB are full, so the events of different
//     threads end at different times, and all events of a thread may be missing. The running
//     goroutines are known as long as it is known of every P which thread holds it. Changes of a P
//     have sequence numbers, which reveal missing ones. The horizon is the time at which the holder
//     of the first P becomes unknown.
//  2. Decode the data (wireformat.Options.Cut) up to the horizon, or up to the first event that
//     depends on a missing thread.

// salvage is the state of the search for the horizon of one generation.
type salvage struct {
	version   int
	frequency uint64
	assumed   bool // the frequency is not that of the trace
	synced    bool
	threads   map[uint64]*salvagedThread
	procs     map[uint64]*salvagedProc
	maxProcs  uint64
}

// salvagedProc is the history of a P by the sequence numbers of its changes in the trace; number 0
// is its status.
type salvagedProc struct {
	tenures map[uint64]tenure
	stops   map[uint64]uint64 // when the thread of that tenure released the P
}

// tenure is the time from which a thread holds a P, or from which the P is idle.
type tenure struct {
	m, time uint64
	idle    bool
	started bool // started from idle: the previous thread must have released the P
}

// salvagedThread tracks the P of one thread by the thread's own events.
type salvagedThread struct {
	m      uint64
	last   uint64 // time of the last event, in clock units
	p, seq uint64 // the P, and the sequence number of the change by which the thread got it
	inCall bool   // in a system call since then
}

// salvage reads what it can from a truncated generation. It returns nil if that is nothing.
func (p *pass) salvage(g *generation) *decoded {
	raw, err := io.ReadAll(g.open())
	if err != nil || !wireformat.Supports(p.in.version) {
		return nil
	}
	s := &salvage{
		version: p.in.version, frequency: g.frequency,
		threads: map[uint64]*salvagedThread{},
		procs:   map[uint64]*salvagedProc{},
	}
	for rest := raw; len(rest) > 0; {
		n := s.batch(rest)
		if n == 0 {
			break
		}
		rest = rest[n:]
	}
	if !s.synced && s.version >= 25 {
		return nil // the sync batch comes first: there is nothing else
	}
	horizon, ok := s.horizon(p.replay)
	if !ok {
		return nil
	}
	dec := &wireDecoder{decoding: decoding{ctx: p.ctx, stacks: p.stacks}}
	opt := wireformat.Options{Version: s.version, Cut: true, Frequency: s.frequency, Running: p.replay.runners()}
	d := dec.decodeSafely(raw, opt)
	if broken := (*wireformat.Error)(nil); errors.As(d.err, &broken) && broken.Stuck {
		horizon = min(horizon, Time(broken.Earliest)-1)
	}
	d.release()
	dec.limit = horizon
	d = dec.decodeSafely(raw, opt)
	d.err = nil // it is the expected error at the truncation
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

// batch processes one batch and returns its length, or 0 if no more data is usable.
func (s *salvage) batch(raw []byte) int {
	h, err := wireformat.ParseHead(raw[:min(len(raw), maxBatchHead)])
	if err != nil {
		return 0
	}
	whole := int(h.HeadLen + h.DataLen)
	if data := raw[h.HeadLen:min(whole, len(raw))]; h.Type == wireformat.EventBatch && len(data) > 0 {
		switch wireformat.Type(data[0]) {
		case wireformat.Strings, wireformat.Stacks, wireformat.CPUSamples:
		case wireformat.Sync, wireformat.Frequency:
			s.synced = s.synced || len(raw) >= whole
		default:
			s.events(h, data)
		}
	}
	if len(raw) < whole {
		return 0
	}
	return whole
}

// events processes the complete events of a batch.
func (s *salvage) events(h wireformat.Head, data []byte) {
	t := s.threads[h.M]
	if t == nil {
		t = &salvagedThread{m: h.M}
		s.threads[h.M] = t
	}
	for now := h.Time; len(data) > 0; {
		args, n := wireformat.ReadEvent(data)
		if n == 0 {
			break
		}
		now += args[0]
		t.last = max(t.last, now)
		s.proc(wireformat.Type(data[0]), t, args[1:])
		data = data[n:]
	}
}

func (s *salvage) proc(typ wireformat.Type, t *salvagedThread, args []uint64) {
	switch typ {
	case wireformat.ProcsChange:
		s.maxProcs = args[0]
	case wireformat.ProcStart:
		s.taken(t)
		t.p, t.seq = args[0], args[1]
		s.tenure(t.p, t.seq, tenure{m: t.m, time: t.last, started: true})
	case wireformat.GoSyscallBegin:
		t.seq, t.inCall = args[0], true
		s.tenure(t.p, t.seq, tenure{m: t.m, time: t.last})
	case wireformat.ProcStop:
		if p := s.procs[t.p]; p != nil {
			p.stops[t.seq] = t.last
		}
		t.inCall = false
	case wireformat.GoSyscallEnd:
		t.inCall = false
	case wireformat.GoSyscallEndBlock:
		s.taken(t)
	case wireformat.ProcStatus:
		status := uint8(args[1])
		running := status == wireformat.ProcRunning || status == wireformat.ProcSyscall
		if running {
			t.p, t.seq, t.inCall = args[0], 0, status == wireformat.ProcSyscall
		}
		s.tenure(args[0], 0, tenure{m: t.m, time: t.last, idle: !running})
	case wireformat.ProcSteal:
		s.tenure(args[0], args[1], tenure{m: t.m, time: t.last, idle: true})
	}
}

// taken notes that a thread lost its P during a system call, at an unknown time. The events of the
// thread that took it may be missing.
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

// lost returns the time up to which the holder of the P is known. It returns false if the holder is
// never known.
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
			break // the last events of that thread are missing
		}
		last, seq = next, seq+1
	}
	if last.idle {
		return last.time, true // a missing thread may hold it
	}
	if stop, ok := p.stops[seq]; ok {
		return stop, true
	}
	return s.threads[last.m].last, true
}

// horizon returns the time up to which the running goroutines are known. It returns false if they
// are never known.
func (s *salvage) horizon(r *replay) (Time, bool) {
	maxProcs := max(s.maxProcs, r.gomaxprocs)
	if maxProcs == 0 {
		return 0, false
	}
	end := uint64(math.MaxUint64)
	for id := range maxProcs {
		p := s.procs[id]
		if p == nil {
			return 0, false // all events of its thread are missing
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

// defaultFrequency is the frequency of the trace clock on all systems except Windows: units of 64
// ns.
const defaultFrequency = 1e9 / 64
