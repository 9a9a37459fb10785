package timeline

import (
	"io"

	"github.com/bottleneck-go/bottleneck/internal/wireformat"
)

// The best evidence for the name of a goroutine is its creation event, and for a goroutine that
// only computes it is the only evidence. A generation that is not decoded is therefore scanned for
// creations. The scan reads the events of each thread and does not order those of different threads,
// which is most of the cost of decoding.

// births maps the ID of each goroutine that is alive at the end of a generation to its start, if a
// creation or a status showed it.
type births map[int64]birth

// birth is the start of a goroutine.
type birth struct {
	fn   string   // the start function
	site *Stack   // the call chain of the go statement; nil if older than the trace
	rank nameRank // the evidence for fn
}

// birthScan is what the scan of one generation has found.
type birthScan struct {
	first Time                  // of the first event that is not a status; never if there is none
	born  map[uint64]birthStack // by goroutine
	gone  []uint64
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
	s := &birthScan{first: never, born: map[uint64]birthStack{}}
	raw, err := io.ReadAll(g.open())
	if err != nil {
		return s
	}
	gen, err := wireformat.Read(raw, wireformat.Options{Version: version, Cut: true, Frequency: g.frequency})
	if err != nil {
		return s
	}
	s.frameTable = newFrameTable(gen, table)
	for i := range gen.Threads {
		s.thread(&gen.Threads[i])
	}
	return s
}

// thread follows the goroutines that run on a thread.
func (s *birthScan) thread(t *wireformat.Thread) {
	running := uint64(none)
	s.gen.Rest(t, func(ev *wireformat.Event) {
		if Time(ev.Time) < s.first && !ev.Type.IsStatus() {
			s.first = Time(ev.Time)
		}
		g, args := ev.Args[0], &ev.Args
		switch ev.Type {
		case wireformat.GoCreate, wireformat.GoCreateBlocked:
			s.born[g] = birthStack{args[1], args[2], fromCreation}
		case wireformat.GoStatus, wireformat.GoStatusStack:
			if ev.Type == wireformat.GoStatusStack && args[3] != 0 && s.born[g].rank < fromStatus {
				s.born[g] = birthStack{args[3], 0, fromStatus}
			}
			if status := uint8(args[2]); args[1] == t.ID && (status == wireformat.GoRunning || status == wireformat.GoSyscall) {
				running = g
			}
		case wireformat.GoStart, wireformat.GoCreateSyscall, wireformat.GoSwitch:
			running = g
		case wireformat.GoDestroy, wireformat.GoDestroySyscall, wireformat.GoSwitchDestroy:
			if running != none {
				s.gone = append(s.gone, running)
			}
			if running = none; ev.Type == wireformat.GoSwitchDestroy {
				running = g
			}
		}
	})
}

// add adds the births of a generation.
func (b births) add(s *birthScan) {
	for id, at := range s.born {
		if old, ok := b[int64(id)]; ok && old.rank >= at.rank {
			continue
		}
		if root := s.stack(at.start).Root(); root != nil {
			b[int64(id)] = birth{startOf(root.Func), s.stack(at.site), at.rank}
		}
	}
	for _, id := range s.gone {
		delete(b, int64(id)) // goroutine IDs are not reused
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
	for i := range int32(d.gs.n) {
		l := d.gs.at(i)
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
