package timeline

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/wireformat"
)

// Part is a part of a trace, in whole generations of about a second each; the zero value is all of
// it. What comes before it is not decoded, but looked through for the births of goroutines, which
// takes a tenth of the time, and what comes after it is not read.
//
// The states of goroutines are exact from the beginning of the part on, as each generation tells
// them. Goroutines that began before it are named by their start and by their call chains since the
// beginning of the part, but have no creator, and their open regions, tasks and labels are not
// known. A note of the Info says so. Traces before Go 1.22 have no generations: all of them is
// decoded.
type Part struct {
	// From and To bound the part by time, from the beginning of the trace, which [Begin] tells
	// all the same. The part is the generations that have a time in between; 0 for To is the
	// end.
	From, To time.Duration
	// First and Last bound it by number, from 1; 0 for Last is the last one. Observers see a
	// trace that begins with the First.
	First, Last int
	// During is what to look at of the generations of the part, if not all of their time. It
	// cannot be combined with From and To.
	During During
}

// selector gives a pass the generations of a part.
type selector struct {
	part    Part
	cut     *cutter
	ahead   *generation // the next one, if it was looked at already
	err     error       // or why there is none
	origin  Time        // the first instant of the trace
	known   bool        // origin is
	skipped int
	births  births // in generations that were skipped
	stacks  *stackTable
}

// next returns the next generation of the part, or io.EOF.
func (s *selector) next() (*generation, error) {
	for {
		g, err := s.take()
		if err != nil {
			return nil, err
		}
		if s.part.Last > 0 && g.index > s.part.Last {
			return nil, io.EOF
		}
		if g.index == 1 && (s.part.From > 0 || s.part.To > 0) {
			s.origin, s.known = g.begin()
		}
		if s.known && s.part.To > 0 && g.index > 1 {
			if t, ok := g.begin(); ok && t >= s.origin+Time(s.part.To) {
				return nil, io.EOF
			}
		}
		if g.index < s.part.First || s.known && s.part.From > 0 && s.before() {
			s.skipped++
			s.births.scan(g, s.stacks)
			continue
		}
		if g.skipped = s.skipped; s.births != nil {
			g.births, s.births = s.births, nil
		}
		if s.known && s.part.From > 0 {
			g.origin = s.origin
		}
		return g, nil
	}
}

// take returns the next generation of the trace.
func (s *selector) take() (g *generation, err error) {
	if s.ahead != nil || s.err != nil {
		g, err, s.ahead = s.ahead, s.err, nil
		return g, err
	}
	return s.cut.next()
}

// before reports whether the part begins after the generation that was taken: in the next one,
// which is whole.
func (s *selector) before() bool {
	if s.ahead, s.err = s.cut.next(); s.err != nil || s.ahead.cut != nil {
		return false
	}
	t, ok := s.ahead.begin()
	return ok && t <= s.origin+Time(s.part.From)
}

// missing is the error of a part that has no generation.
func (s *selector) missing() error {
	if s.skipped == 0 {
		return nil
	}
	return fmt.Errorf("there is no generation %d: the trace has %s", s.part.First, format.Plural(s.skipped, "generation", "generations"))
}

// skip is told before the first generation that is replayed.
func (r *replay) skip(g *generation, d *decoded) {
	if r.begun || g.skipped == 0 {
		return
	}
	r.origin = g.origin
	g.births.tell(d)
	r.info.Skipped = g.skipped
	first := "The first generation of the trace was"
	if g.skipped > 1 {
		first = fmt.Sprintf("The first %d generations of the trace were", g.skipped)
	}
	r.note(first + " not decoded: goroutines that began there are named by their start and by what they did later; their creators, open regions and tasks are not known.")
}

// begin returns when the first event of the generation happened that is not a status. It reads the
// beginnings of the batches only.
func (g *generation) begin() (first Time, ok bool) {
	if g.frequency == 0 {
		return 0, false
	}
	from, random := g.open().(io.ReaderAt)
	if !random {
		data, err := io.ReadAll(g.open())
		if err != nil {
			return 0, false
		}
		from = bytes.NewReader(data)
	}
	seen := map[uint64]bool{} // threads whose first event is known
	buf := make([]byte, maxBatchHead+maxBatchSize)
	for off := int64(0); off < g.size; {
		n, _ := from.ReadAt(buf[:512], off)
		if n == 0 || buf[0] == evEndOfGeneration {
			break
		}
		h, err := wireformat.ParseHead(buf[:n])
		if err != nil {
			break
		}
		end := int(h.HeadLen + h.DataLen)
		if buf[0] == evEventBatch && !seen[h.M] {
			t, found := firstEvent(buf[h.HeadLen:min(n, end)], h.Time)
			if !found && n < end {
				n, _ = from.ReadAt(buf[:end], off)
				t, found = firstEvent(buf[h.HeadLen:n], h.Time)
			}
			if found {
				seen[h.M] = true
				if at := timeOf(t, g.frequency); !ok || at < first {
					first, ok = at, true
				}
			}
		}
		off += int64(end)
	}
	return first, ok
}

// timeOf converts units of the trace's clock as the Reader does.
func timeOf(units, frequency uint64) Time {
	return Time(float64(units) * (1 / (float64(frequency) / 1e9)))
}

// firstEvent returns the time, in units of the clock, of the first event of a batch that is not a
// status.
func firstEvent(data []byte, at uint64) (t uint64, found bool) {
	for len(data) > 0 {
		args, n := wireformat.ReadEvent(data)
		if n == 0 {
			return 0, false
		}
		at += args[0]
		switch typ := wireformat.Type(data[0]); typ {
		case wireformat.ProcStatus, wireformat.GoStatus, wireformat.GoStatusStack, wireformat.GCActive, wireformat.GCSweepActive, wireformat.GCMarkAssistActive:
		default:
			if typ < wireformat.FirstExperimental {
				return at, true
			}
		}
		data = data[n:]
	}
	return 0, false
}
