package counters

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/perfevent"
	"github.com/bottleneck-go/bottleneck/internal/samplelog"
)

// samples are the records of a sampler, by thread.
type samples struct {
	threads map[int64]*thread
	lost    uint64
	broken  bool
	n       int
}

// thread is what is known of an operating system's thread. All is in the order of time.
type thread struct {
	on       []stretch // when it had a processor
	left     []leaving // when it left it
	moved    []int64   // when it came onto another processor than before
	hits     [][]int64 // by event
	readings [][]reading
	begun    bool // its beginning was seen
	still    bool // it was never switched: it slept, or ran, all the time

	switches []switching // as they came
}

// stretch is a time for which a thread had a processor.
type stretch struct{ from, to int64 }

type leaving struct {
	time      int64
	preempted bool
}

type switching struct {
	time int64
	cpu  int32
	kind perfevent.Kind
}

type reading struct {
	time             int64
	enabled, running uint64
	values           []uint64
}

// readSamples unpacks records. What comes before an error is returned with it.
func readSamples(r io.Reader, m *meta) (*samples, error) {
	s := &samples{threads: map[int64]*thread{}}
	d := samplelog.NewDecoder(r)
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
	for _, t := range s.threads {
		t.order(m)
	}
	return s, err
}

func (s *samples) thread(id int64, m *meta) *thread {
	t := s.threads[id]
	if t == nil {
		t = &thread{hits: make([][]int64, len(m.Hits)), readings: make([][]reading, len(m.Groups))}
		s.threads[id] = t
	}
	return t
}

func (s *samples) add(r *perfevent.Record, m *meta) {
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
			t.hits[r.Event] = append(t.hits[r.Event], r.Time)
		}
	case perfevent.Reading:
		if r.Event < len(m.Groups) && len(r.Values) == m.Extra+len(m.Groups[r.Event]) {
			t := s.thread(int64(r.Thread), m)
			t.readings[r.Event] = append(t.readings[r.Event], reading{r.Time, r.Enabled, r.Running, slices.Clone(r.Values[m.Extra:])})
		}
	}
}

// order sorts what came from several processors, and makes stretches of switches.
func (t *thread) order(m *meta) {
	slices.SortStableFunc(t.switches, func(a, b switching) int { return cmp.Compare(a.time, b.time) })
	for _, h := range t.hits {
		slices.Sort(h)
	}
	for _, r := range t.readings {
		slices.SortStableFunc(r, func(a, b reading) int { return cmp.Compare(a.time, b.time) })
	}
	if len(t.switches) == 0 {
		t.still = true
		return
	}
	const none = -1
	in, cpu := int64(none), int32(-1)
	if t.switches[0].kind != perfevent.SwitchIn && !t.begun {
		in = m.Begin // it had a processor when recording began: else it would have come onto one first
	}
	for _, s := range t.switches {
		if s.kind == perfevent.SwitchIn {
			in = s.time // after another one, a record was lost: when it left is not known
			if cpu >= 0 && s.cpu != cpu {
				t.moved = append(t.moved, s.time)
			}
			cpu = s.cpu
			continue
		}
		if in != none && in < s.time {
			t.on = append(t.on, stretch{in, s.time})
		}
		in = none
		if s.kind != perfevent.ThreadEnd {
			t.left = append(t.left, leaving{s.time, s.kind == perfevent.Preempted})
		}
		cpu = s.cpu
	}
	if in != none && in < m.End {
		t.on = append(t.on, stretch{in, m.End})
	}
	t.switches = nil
}

// warnings says what limits the trust in the samples.
func (s *samples) warnings() (out []string) {
	if s.lost > 0 {
		out = append(out, fmt.Sprintf("%d of %d records of events were lost, because the program made them faster than they could be taken away: what they counted is in no quantum.", s.lost, s.lost+uint64(s.n)))
	}
	if s.broken {
		out = append(out, "The kernel's records could not be read for a while: what they counted is in no quantum.")
	}
	return out
}

// threadTotals says what each thread of a program did, for a program that took no trace: then there
// are no quanta, but what was counted need not be lost. Threads with most processor time come
// first.
func threadTotals(r io.Reader, m *meta) ([]string, error) {
	s, err := readSamples(r, m)
	type total struct {
		id   int64
		time int64
		text string
	}
	var totals []total
	for _, id := range slices.Sorted(maps.Keys(s.threads)) {
		t := s.threads[id]
		var parts []string
		add := func(name string, n int64) { parts = append(parts, fmt.Sprintf("%s %d", name, n)) }
		var on int64
		for _, o := range t.on {
			on += o.to - o.from
		}
		for _, name := range m.Switched {
			switch name {
			case taskClock:
				parts = append(parts, fmt.Sprintf("%s %v", name, time.Duration(on)))
			case ctxSwitches:
				add(name, int64(len(t.left)))
			case preemptions:
				add(name, int64(len(leavings(t, true))))
			case migrations:
				add(name, int64(len(t.moved)))
			}
		}
		for i, e := range m.Hits {
			add(e.Name, int64(len(t.hits[i])))
		}
		for g, events := range m.Groups {
			if n := len(t.readings[g]); n > 0 {
				for i, e := range events {
					add(e.Name, clampInt(t.readings[g][n-1].values[i]))
				}
			}
		}
		totals = append(totals, total{id, on, fmt.Sprintf("thread %d: %s", id, strings.Join(parts, ", "))})
	}
	slices.SortStableFunc(totals, func(a, b total) int { return cmp.Compare(b.time, a.time) })
	var out []string
	for _, t := range totals {
		out = append(out, t.text)
	}
	return out, err
}
