package timeline

import (
	"encoding/binary"
	"io"

	"golang.org/x/exp/trace"

	"github.com/bottleneck-go/bottleneck/internal/wireformat"
)

// The best evidence for the name of a goroutine is its creation event, and for a goroutine that
// only computes it is the only evidence. A generation that is not decoded is therefore scanned for
// creations. The scan reads its batches event by event and does not order the events of different
// threads, which is most of the cost of decoding.

// births maps the ID of each goroutine that is alive at the end of a generation to its start, if a
// creation or a status showed it.
type births map[int64]birth

// birth is the start of a goroutine.
type birth struct {
	fn   string   // the start function
	site *Stack   // the call chain of the go statement; nil if older than the trace
	rank nameRank // the evidence for fn
}

// birthScan is the state of a scan of one generation.
type birthScan struct {
	running map[uint64]uint64     // by thread: the running goroutine
	born    map[uint64]birthStack // by goroutine
	gone    []uint64
	stacks  map[uint64][]byte // by number: the encoded frames
	strings map[uint64]string
	table   *stackTable
}

// birthStack holds the call chains of a goroutine's start and of its go statement, by number; 0 is
// none.
type birthStack struct {
	start, site uint64
	rank        nameRank
}

// scan adds the births of a generation. It skips data that it cannot read.
func (b births) scan(g *generation, table *stackTable) {
	raw, err := io.ReadAll(g.open())
	if err != nil {
		return
	}
	s := &birthScan{running: map[uint64]uint64{}, born: map[uint64]birthStack{}, stacks: map[uint64][]byte{}, strings: map[uint64]string{}, table: table}
	for len(raw) > 0 && raw[0] != evEndOfGeneration {
		h, err := wireformat.ParseHead(raw[:min(len(raw), maxBatchHead)])
		end := int(h.HeadLen + h.DataLen)
		if err != nil || end > len(raw) {
			break
		}
		if data := raw[h.HeadLen:end]; raw[0] == evEventBatch && len(data) > 0 {
			switch wireformat.Type(data[0]) {
			case wireformat.Stacks:
				s.stackBatch(data[1:])
			case wireformat.Strings:
				s.stringBatch(data[1:])
			default:
				s.events(h.M, data)
			}
		}
		raw = raw[end:]
	}
	for id, at := range s.born {
		if old, ok := b[int64(id)]; ok && old.rank >= at.rank {
			continue
		}
		if root := s.stack(at.start).Root(); root != nil {
			b[int64(id)] = birth{root.Func, s.stack(at.site), at.rank}
		}
	}
	for _, id := range s.gone {
		delete(b, int64(id)) // goroutine IDs are not reused
	}
}

// events follows the goroutines that run on a thread.
func (s *birthScan) events(m uint64, data []byte) {
	for len(data) > 0 {
		args, n := wireformat.ReadEvent(data)
		if n == 0 {
			return
		}
		switch typ := wireformat.Type(data[0]); typ {
		case wireformat.GoCreate, wireformat.GoCreateBlocked:
			s.born[args[1]] = birthStack{args[2], args[3], fromCreation}
		case wireformat.GoStatusStack:
			if old := s.born[args[1]]; args[4] != 0 && old.rank < fromStatus {
				s.born[args[1]] = birthStack{args[4], 0, fromStatus}
			}
			s.status(m, args)
		case wireformat.GoStatus:
			s.status(m, args)
		case wireformat.GoStart, wireformat.GoCreateSyscall, wireformat.GoSwitch:
			s.running[m] = args[1]
		case wireformat.GoDestroy, wireformat.GoDestroySyscall, wireformat.GoSwitchDestroy:
			if g, ok := s.running[m]; ok {
				s.gone = append(s.gone, g)
			}
			delete(s.running, m)
			if typ == wireformat.GoSwitchDestroy {
				s.running[m] = args[1]
			}
		}
		data = data[n:]
	}
}

// status notes the goroutine that a thread had when the generation began.
func (s *birthScan) status(m uint64, args [5]uint64) {
	if status := uint8(args[3]); args[2] == m && (status == wireformat.GoRunning || status == wireformat.GoSyscall) {
		s.running[m] = args[1]
	}
}

func (s *birthScan) stackBatch(data []byte) {
	for len(data) > 0 && data[0] == byte(wireformat.Stack) {
		var id, frames uint64
		rest := data[1:]
		if !numbers(&rest, &id, &frames) {
			return
		}
		begin := rest
		var skip uint64
		for range 4 * frames {
			if !numbers(&rest, &skip) {
				return
			}
		}
		s.stacks[id] = begin[:len(begin)-len(rest)]
		data = rest
	}
}

func (s *birthScan) stringBatch(data []byte) {
	for len(data) > 0 && data[0] == byte(wireformat.String) {
		var id, size uint64
		rest := data[1:]
		if !numbers(&rest, &id, &size) || size > uint64(len(rest)) {
			return
		}
		s.strings[id] = string(rest[:size])
		data = rest[size:]
	}
}

// stack returns the call chain with the given number, or nil if there is none.
func (s *birthScan) stack(id uint64) *Stack {
	data := s.stacks[id]
	if len(data) == 0 {
		return nil
	}
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	var frames []*Frame
	for len(data) > 0 {
		var pc, fn, file, line uint64
		if !numbers(&data, &pc, &fn, &file, &line) {
			return nil
		}
		frames = append(frames, s.table.frame(trace.StackFrame{PC: pc, Func: s.strings[fn], File: s.strings[file], Line: line}))
	}
	return s.table.internFrames(frames)
}

// numbers reads varints from the beginning of data. It returns false if data ends early.
func numbers(data *[]byte, to ...*uint64) bool {
	for _, p := range to {
		v, n := binary.Uvarint(*data)
		if n <= 0 {
			return false
		}
		*p, *data = v, (*data)[n:]
	}
	return true
}

// tell adds the births of earlier generations to d.
func (b births) tell(d *decoded) {
	names, sites := map[string]int32{}, map[*Stack]int32{}
	for i := range d.gs {
		l := &d.gs[i]
		known, ok := b[l.id]
		if !ok || l.source >= known.rank {
			continue
		}
		at, ok := names[known.fn]
		if !ok {
			at = int32(len(d.names))
			names[known.fn] = at
			d.names = append(d.names, known.fn)
		}
		l.name, l.source = at, known.rank
		if known.site == nil {
			continue
		}
		if at, ok = sites[known.site]; !ok {
			at = int32(len(d.stacks))
			sites[known.site] = at
			d.stacks = append(d.stacks, known.site)
		}
		l.site = at
	}
}
