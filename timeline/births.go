package timeline

import (
	"io"
	"math"

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
	first   uint64                // the time of the first event that is not a status, in clock units
	running map[uint64]uint64     // by thread: the running goroutine
	born    map[uint64]birthStack // by goroutine
	gone    []uint64
	frameTable
}

// birthStack holds the call chains of a goroutine's start and of its go statement, by number; 0 is
// none.
type birthStack struct {
	start, site uint64
	rank        nameRank
}

// scan scans a generation. It skips data that it cannot read.
func scan(g *generation, version int, table *stackTable) *birthScan {
	s := &birthScan{first: math.MaxUint64, running: map[uint64]uint64{}, born: map[uint64]birthStack{}}
	raw, err := io.ReadAll(g.open())
	if err != nil {
		return s
	}
	gen, err := wireformat.Read(raw, wireformat.Options{Version: version, Cut: true, Frequency: g.frequency})
	if err != nil {
		return s
	}
	s.frameTable = newFrameTable(gen, table)
	for len(raw) > 0 && raw[0] != evEndOfGeneration {
		h, err := wireformat.ParseHead(raw[:min(len(raw), maxBatchHead)])
		end := int(h.HeadLen + h.DataLen)
		if err != nil || end > len(raw) {
			break
		}
		if data := raw[h.HeadLen:end]; raw[0] == evEventBatch && len(data) > 0 {
			s.events(h.M, h.Time, data) // none in a batch of a table
		}
		raw = raw[end:]
	}
	return s
}

// add adds the births of a generation.
func (b births) add(s *birthScan) {
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
func (s *birthScan) events(m, at uint64, data []byte) {
	for len(data) > 0 {
		args, n := wireformat.ReadEvent(data)
		if n == 0 {
			return
		}
		typ := wireformat.Type(data[0])
		if at += args[0]; at < s.first && !typ.IsStatus() {
			s.first = at
		}
		switch typ {
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

// stack returns the call chain with the given number, or nil if there is none.
func (s *birthScan) stack(id uint64) *Stack {
	i, _ := s.gen.StackIndex(id)
	return s.intern(s.gen.Stack(i))
}

// addTo adds the births of earlier generations to d.
func (b births) addTo(d *decoded) {
	names, sites := map[string]int32{}, map[*Stack]int32{}
	for i := range d.gs {
		l := &d.gs[i]
		known, ok := b[l.id]
		if !ok || l.source >= known.rank {
			continue
		}
		l.name, l.source = number(known.fn, names, &d.names), known.rank
		if known.site == nil {
			continue
		}
		at, ok := sites[known.site]
		if !ok {
			at = int32(len(d.stacks))
			sites[known.site] = at
			d.stacks = append(d.stacks, known.site)
		}
		l.site = at
	}
}
