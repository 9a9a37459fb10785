package archive

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/bottleneck-go/bottleneck/internal/perfevent"
)

// Samples holds the records of a sampler, by thread.
type Samples struct {
	Threads map[int64]*Thread
	lost    uint64
	broken  bool
	n       int
}

// Thread holds the records of an operating system thread, in the order of time.
type Thread struct {
	On       []Stretch // when it had a processor
	Left     []leaving // when it left the processor
	Moved    []int64   // when it moved to another processor
	Hits     [][]int64 // by event
	Readings [][]Reading
	Still    bool // never switched: it slept, or ran, all the time

	begun bool // its start was recorded

	switches []switching // in the order of the records
}

// Stretch is an interval in which a thread had a processor.
type Stretch struct{ From, To int64 }

// Leavings returns the times at which the thread left its processor; with preempted, only those at
// which it was preempted.
func (t *Thread) Leavings(preempted bool) (times []int64) {
	for _, l := range t.Left {
		if l.preempted || !preempted {
			times = append(times, l.time)
		}
	}
	return times
}

type leaving struct {
	time      int64
	preempted bool
}

type switching struct {
	time int64
	cpu  int32
	kind perfevent.Kind
}

// Reading is the count of a group of counters at a time.
type Reading struct {
	Time             int64
	Enabled, Running uint64
	Values           []uint64
}

// ReadSamples unpacks records. If it returns an error, it also returns the records before it.
func ReadSamples(r io.Reader, m *Meta) (*Samples, error) {
	s := &Samples{Threads: map[int64]*Thread{}}
	d := NewDecoder(r)
	var rec perfevent.Record
	var err error
	for {
		if err = d.Next(&rec); err != nil {
			break
		}
		s.add(&rec, m)
	}
	if err == io.EOF {
		err = nil
	}
	for _, t := range s.Threads {
		t.order(m)
	}
	return s, err
}

func (s *Samples) thread(id int64, m *Meta) *Thread {
	t := s.Threads[id]
	if t == nil {
		t = &Thread{Hits: make([][]int64, len(m.Hits)), Readings: make([][]Reading, len(m.Groups))}
		s.Threads[id] = t
	}
	return t
}

func (s *Samples) add(r *perfevent.Record, m *Meta) {
	s.n++
	switch r.Kind {
	case perfevent.Lost:
		s.lost += r.Value
	case perfevent.Broken:
		s.broken = true
	case perfevent.SwitchIn, perfevent.SwitchOut, perfevent.Preempted, perfevent.ThreadEnd:
		t := s.thread(int64(r.Thread), m)
		t.switches = append(t.switches, switching{r.Time, int32(r.CPU), r.Kind})
	case perfevent.ThreadBegin:
		s.thread(int64(r.Thread), m).begun = true
	case perfevent.Hit:
		if r.Event < len(m.Hits) {
			t := s.thread(int64(r.Thread), m)
			t.Hits[r.Event] = append(t.Hits[r.Event], r.Time)
		}
	case perfevent.Reading:
		if r.Event < len(m.Groups) && len(r.Values) == m.Extra+len(m.Groups[r.Event]) {
			t := s.thread(int64(r.Thread), m)
			t.Readings[r.Event] = append(t.Readings[r.Event], Reading{r.Time, r.Enabled, r.Running, slices.Clone(r.Values[m.Extra:])})
		}
	}
}

// order sorts the records of several processors, and turns switches into stretches.
func (t *Thread) order(m *Meta) {
	slices.SortStableFunc(t.switches, func(a, b switching) int { return cmp.Compare(a.time, b.time) })
	for _, h := range t.Hits {
		slices.Sort(h)
	}
	for _, r := range t.Readings {
		slices.SortStableFunc(r, func(a, b Reading) int { return cmp.Compare(a.Time, b.Time) })
	}
	if len(t.switches) == 0 {
		t.Still = true
		return
	}
	const none = -1
	in, cpu := int64(none), int32(-1)
	if t.switches[0].kind != perfevent.SwitchIn && !t.begun {
		// It had a processor when recording began: a switch onto one would come first otherwise.
		in = m.Begin
	}
	for _, s := range t.switches {
		if s.kind == perfevent.SwitchIn {
			in = s.time // two in a row: a record was lost, and the time of leaving is unknown
			if cpu >= 0 && s.cpu != cpu {
				t.Moved = append(t.Moved, s.time)
			}
			cpu = s.cpu
			continue
		}
		if in != none && in < s.time {
			t.On = append(t.On, Stretch{in, s.time})
		}
		in = none
		if s.kind != perfevent.ThreadEnd {
			t.Left = append(t.Left, leaving{s.time, s.kind == perfevent.Preempted})
		}
		cpu = s.cpu
	}
	if in != none && in < m.End {
		t.On = append(t.On, Stretch{in, m.End})
	}
	t.switches = nil
}

// Warnings returns sentences about the reliability of the samples.
func (s *Samples) Warnings() (out []string) {
	if s.lost > 0 {
		out = append(out, fmt.Sprintf("%d of %d records of events were lost, because the program made them faster than they could be taken away: what they counted is in no quantum.", s.lost, s.lost+uint64(s.n)))
	}
	if s.broken {
		out = append(out, "The kernel's records could not be read for a while: what they counted is in no quantum.")
	}
	return out
}
