package tracewaits

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// clipper cuts the observer's profile repeatedly, and sums the waiting time of goroutines
// independently.
type clipper struct {
	*Observer
	every, next timeline.Time
	cuts        []*contention.Profile
	ended       bool
	waited      time.Duration
	woken       map[int64]bool // goroutines that wait to run after a wait
}

func (c *clipper) Begin(t timeline.Time, version int) {
	c.next = t + c.every
	c.woken = map[int64]bool{}
	c.Observer.Begin(t, version)
}

func (c *clipper) Transition(t *timeline.Transition) {
	if t.To == timeline.Unknown && !c.ended {
		c.ended = true
		c.cuts = append(c.cuts, c.Cut(t.End))
	}
	for !c.ended && t.End >= c.next {
		c.cuts = append(c.cuts, c.Cut(c.next))
		c.next += c.every
	}
	switch waiting := t.State == timeline.Waiting && t.G.Kind == timeline.Application; {
	case waiting:
		c.waited += time.Duration(t.End - t.Start)
		c.woken[t.G.ID] = t.To == timeline.Runnable
	case t.State == timeline.Runnable && c.woken[t.G.ID]:
		c.waited += time.Duration(t.End - t.Start)
		delete(c.woken, t.G.ID)
	}
	c.Observer.Transition(t)
}

func smallTraces(t *testing.T) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("../../testdata/small/*.trace")
	if err != nil || len(names) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	out := map[string][]byte{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(name)] = data
	}
	return out
}

// TestCutCountsAllTime: wherever a pass is cut, the profiles contain all waiting time, and the
// contentions are those of the whole.
func TestCutCountsAllTime(t *testing.T) {
	read := 0
	for name, data := range smallTraces(t) {
		whole, err := readTrace(bytes.NewReader(data), Options{})
		if err != nil {
			continue // cut off
		}
		read++
		var contentions, inFlight int64
		for i := range whole.Waits {
			contentions += whole.Waits[i].Contentions
		}
		inFlight = whole.InFlight
		for _, every := range []time.Duration{137 * time.Microsecond, 10 * time.Millisecond, 400 * time.Millisecond, time.Hour} {
			if every < time.Millisecond && whole.Duration > 500*time.Millisecond {
				every *= 20
			}
			c := &clipper{Observer: NewObserver(Options{}), every: timeline.Time(every)}
			if _, err := timeline.Read(context.Background(), bytes.NewReader(data), timeline.Options{}, c); err != nil {
				t.Fatal(err)
			}
			var waited, wall time.Duration
			for _, p := range c.cuts {
				checkRows(t, p)
				wall += p.Duration
				for i := range p.Waits {
					waited += p.Waits[i].Waited + p.Waits[i].Ready
				}
			}
			if waited != c.waited {
				t.Errorf("%s, every %v: %v waited in %d profiles, %v in the trace", name, every, waited, len(c.cuts), c.waited)
			}
			m := contention.Merge(c.cuts...)
			checkRows(t, m)
			var n int64
			for i := range m.Waits {
				n += m.Waits[i].Contentions
			}
			if a, b := longest(m), longest(whole); a > b || every == time.Hour && a != b {
				t.Errorf("%s, every %v: the longest wait is %v, as a whole %v", name, every, a, b)
			}
			// A contention that ended just before a cut may count as two, because it is
			// unknown whether its wake-up was futile.
			if n < contentions || n > contentions+int64(len(c.cuts))+inFlight {
				t.Errorf("%s, every %v: %d contentions, as a whole %d", name, every, n, contentions)
			}
			if m.Duration != wall || m.Instances != 0 || wall != whole.Duration {
				t.Errorf("%s: merged %v of %v, %d instances; the whole %v", name, m.Duration, wall, m.Instances, whole.Duration)
			}
		}
	}
	if read < fewTraces {
		t.Errorf("only %d traces can be read", read)
	}
}

// fewTraces is the minimum number of complete small traces.
const fewTraces = 5

func longest(p *contention.Profile) (d time.Duration) {
	for i := range p.Waits {
		d = max(d, p.Waits[i].Longest)
	}
	for _, l := range p.Locks {
		d = max(d, l.Longest)
	}
	return d
}

// TestQuickFindsTheSamePairs: a quick analysis finds the same waits and pairs, without activities
// and roots.
func TestQuickFindsTheSamePairs(t *testing.T) {
	pairs := 0
	for name, data := range smallTraces(t) {
		full, err := readTrace(bytes.NewReader(data), Options{})
		if err != nil {
			continue
		}
		quick, err := readTrace(bytes.NewReader(data), Options{Quick: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(full.Waits) != len(quick.Waits) || len(full.Pairs) != len(quick.Pairs) {
			t.Fatalf("%s: %d waits, %d pairs; quick %d, %d", name, len(full.Waits), len(full.Pairs), len(quick.Waits), len(quick.Pairs))
		}
		for i := range full.Waits {
			a, b := full.Waits[i], quick.Waits[i]
			if a.Waited != b.Waited || a.Blamed != b.Blamed || a.HandOff != b.HandOff || a.Contentions != b.Contentions {
				t.Errorf("%s: %+v, quick %+v", name, a, b)
			}
		}
		pairs += len(quick.Pairs)
		for i := range quick.Pairs {
			q := &quick.Pairs[i]
			if q.Blamed != full.Pairs[i].Blamed || q.Contentions != full.Pairs[i].Contentions || len(q.Roots) != 0 || q.Running != 0 {
				t.Errorf("%s: %+v, quick %+v", name, full.Pairs[i], q)
			}
		}
	}
	if pairs < 5 {
		t.Errorf("only %d pairs in all traces", pairs)
	}
}

// TestJSONOfTraces: a profile of a trace is unchanged after writing and reading.
func TestJSONOfTraces(t *testing.T) {
	for _, name := range []string{"mutex-go1.26.8.trace", "phases-go1.26.8.trace"} {
		p, err := readFile(filepath.Join("..", "..", "testdata", "small", name), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := contention.WriteJSON(&b, p); err != nil {
			t.Fatal(name, err)
		}
		q, err := contention.ReadJSON(&b)
		if err != nil {
			t.Fatal(name, err)
		}
		if !q.Start.Equal(p.Start) {
			t.Error(name, q.Start, p.Start)
		}
		q.Start = p.Start // times have more than one form
		got, want := reflect.ValueOf(*q), reflect.ValueOf(*p)
		for i := range got.NumField() {
			if f := got.Type().Field(i); f.IsExported() && !reflect.DeepEqual(got.Field(i).Interface(), want.Field(i).Interface()) {
				t.Errorf("%s: %s is %v, want %v", name, f.Name, got.Field(i), want.Field(i))
			}
		}
		if len(q.Waits) == 0 {
			t.Errorf("%s: no waits", name)
		}
	}
}
