package timeline

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// spent sums the times of goroutines, by goroutine and state, and keeps intervals, regions and mark
// phases with their times.
type spent struct {
	Base
	sums      map[[2]int64]Time
	intervals []Transition
	open      map[string]int
	opened    map[string]Time
	stretches map[string][][2]Time
	end       Time
}

func newSpent() *spent {
	return &spent{sums: map[[2]int64]Time{}, open: map[string]int{}, opened: map[string]Time{}, stretches: map[string][][2]Time{}}
}

func (s *spent) Transition(t *Transition) {
	if t.State.Alive() && t.End > t.Start {
		s.sums[[2]int64{t.G.ID, int64(t.State)}] += t.End - t.Start
		s.intervals = append(s.intervals, *t)
	}
}

func (s *spent) turn(what string, begin bool, at Time) {
	if begin {
		if s.open[what]++; s.open[what] == 1 {
			s.opened[what] = at
		}
	} else if s.open[what]--; s.open[what] == 0 {
		s.stretches[what] = append(s.stretches[what], [2]Time{s.opened[what], at})
	}
}

func (s *spent) Region(e *Span) {
	if e.Begin || e.Start != 0 {
		s.turn("region:"+e.Name, e.Begin, e.Time)
	}
}

func (s *spent) Task(e *Span) {
	if e.Begin || e.Start != 0 {
		s.turn("task:"+e.Name, e.Begin, e.Time)
	}
}

func (s *spent) Range(e *Span) {
	if e.Name == "GC concurrent mark phase" && (e.Begin || s.open["gc"] > 0) {
		s.turn("gc", e.Begin, e.Time)
	}
}

func (s *spent) End(t Time) {
	s.end = t
	for what, n := range s.open {
		if n > 0 {
			s.stretches[what] = append(s.stretches[what], [2]Time{s.opened[what], t})
		}
	}
}

// TestDuringIsTheOverlap: the times during a part are the overlap of that part with all intervals,
// to the nanosecond. The rest is outside. The same holds between From and To.
func TestDuringIsTheOverlap(t *testing.T) {
	parts, bounded := 0, 0
	for _, c := range corpus(t) {
		if race.Enabled && len(c.data) > 400_000 && c.real {
			continue
		}
		all := newSpent()
		info := mustRead(t, c.data, Options{}, all)
		exits := goroutinesThatEndInRegions(t, c.data)
		third := info.Duration() / 3
		bounds := 4
		if len(c.data) > 400_000 && c.real {
			bounds = 2
		}
		for what, stretches := range all.stretches {
			if region, is := strings.CutPrefix(what, "region:"); is && exits[region] {
				continue // they end with the goroutine, which this count ignores
			}
			d, err := parseDuring(what)
			if err != nil {
				t.Fatal(err)
			}
			for _, bounds := range [][2]time.Duration{{}, {third, 2 * third}, {third, 0}, {0, third}}[:bounds] {
				from, to := info.Start+Time(bounds[0]), info.End
				if bounds[1] > 0 {
					to = info.Start + Time(bounds[1])
				}
				window := [][2]Time{{from, to}}
				var selected [][2]Time
				for _, s := range stretches {
					if s[0] < to && s[1] > from {
						selected = append(selected, [2]Time{max(s[0], from), min(s[1], to)})
					}
				}
				if len(selected) == 0 {
					continue
				}
				if parts++; bounds != [2]time.Duration{} {
					bounded++
				}
				name := fmt.Sprintf("%s, %v, %v", c.name, d, bounds)
				part := Options{From: bounds[0], To: bounds[1], During: what}
				within, outside := newSpent(), newSpent()
				in := mustRead(t, c.data, part, within)
				part.Outside = true
				out := mustRead(t, c.data, part, outside)
				if want := all.overlap(selected); !maps.Equal(within.sums, want) {
					t.Errorf("%s: %v, want %v", name, within.sums, want)
				}
				if bounds != [2]time.Duration{} { // no event is at a bound
					same := newSpent()
					mustRead(t, c.data, Options{Spans: selected}, same)
					if !maps.Equal(same.sums, within.sums) {
						t.Errorf("%s as %d spans: %v, want %v", name, len(selected), same.sums, within.sums)
					}
				}
				for key, sum := range all.overlap(window) {
					if within.sums[key]+outside.sums[key] != sum {
						t.Errorf("%s: goroutine %d was in state %v for %v + %v outside, but %v of all", name, key[0], State(key[1]), within.sums[key], outside.sums[key], sum)
					}
				}
				if Time(in.Duration()+out.Duration()) != to-from {
					t.Errorf("%s: %v + %v outside, but %v of all", name, in.Duration(), out.Duration(), to-from)
				}
				if !slices.ContainsFunc(in.Notes, func(s string) bool { return strings.Contains(s, d.String()) }) {
					t.Errorf("%s: no note names it: %q", name, in.Notes)
				}
			}
		}
	}
	if t.Logf("%d parts, %d of them with bounds", parts, bounded); parts < 5 || bounded < 5 {
		t.Errorf("%d parts were tried, %d with bounds", parts, bounded)
	}
}

// overlap returns the time of each goroutine in each state within disjoint ranges.
func (s *spent) overlap(stretches [][2]Time) map[[2]int64]Time {
	sums := map[[2]int64]Time{}
	for i := range s.intervals {
		in := &s.intervals[i]
		first, _ := slices.BinarySearchFunc(stretches, in.Start, func(s [2]Time, t Time) int { return cmp.Compare(s[1], t) })
		for _, s := range stretches[first:] {
			if s[0] >= in.End {
				break
			}
			if d := min(s[1], in.End) - max(s[0], in.Start); d > 0 {
				sums[[2]int64{in.G.ID, int64(in.State)}] += d
			}
		}
	}
	return sums
}

// goroutinesThatEndInRegions returns the types of regions in which a goroutine ended.
func goroutinesThatEndInRegions(t *testing.T, data []byte) map[string]bool {
	var o endsInRegion
	o.types = map[string]bool{}
	mustRead(t, data, Options{}, &o)
	return o.types
}

type endsInRegion struct {
	Base
	types map[string]bool
}

func (o *endsInRegion) Transition(t *Transition) {
	if !t.To.Alive() {
		for _, r := range t.G.Regions() {
			o.types[r.Name] = true
		}
	}
}

// TestDuringMarkers: from one message to the next other one, each time, in a trace with known
// times.
func TestDuringMarkers(t *testing.T) {
	w := newWire(26)
	f := stk("main.f")
	w.generation(1, 1000).thread(1).runs(1001, 0, 1).
		ev(1100, wLog, 0, "", "begin", f).ev(1150, wLog, 0, "", "begin", f).ev(1200, wLog, 0, "", "end", f).
		ev(1250, wLog, 0, "", "end", f).ev(1300, wLog, 0, "", "begin", f).ev(1600, wHeapAlloc, 1)
	for part, want := range map[string]Time{
		"marker:begin..end": 100 + 300, "marker:begin": 500, "marker:begin..": 500, "marker:end..begin": 100,
	} {
		if info := mustRead(t, w.bytes(), Options{During: part}, Base{}); Time(info.Duration()) != want {
			t.Errorf("%s: %d ns, want %d", part, info.Duration(), want)
		}
	}
}

// TestDuringEndsWithTheGoroutine: a goroutine that ends in a region ends the region.
func TestDuringEndsWithTheGoroutine(t *testing.T) {
	w := newWire(26)
	f := stk("main.f")
	w.generation(1, 1000).thread(1).runs(1001, 0, 1).ev(1100, wRegionBegin, 0, "r", f).ev(1200, wGoDestroy).ev(1600, wHeapAlloc, 1)
	if info := mustRead(t, w.bytes(), Options{During: "region:r"}, Base{}); info.Duration() != 100 {
		t.Errorf("%d ns, want 100", info.Duration())
	}
}

// TestDuringOfMissingNamesIsAnError: a name that is not in the trace is an error that lists what
// there is. There is no result.
func TestDuringOfMissingNamesIsAnError(t *testing.T) {
	w := newWire(26)
	f := stk("main.f")
	w.generation(1, 1000).thread(1).runs(1001, 0, 1).ev(1020, wRegionBegin, 0, "checkout", f).ev(1100, wRegionEnd, 0, "checkout", f)
	for part, want := range map[string]string{
		"region:check": `the trace has no region "check"; its regions are "checkout"`,
		"task:x":       `the trace has no task "x", and no other tasks`,
		"marker:x":     `the trace has no message "x", and no other messages of trace.Log`,
		"gc":           "the collector does not mark in the trace",
	} {
		info, err := Read(context.Background(), bytes.NewReader(w.bytes()), Options{During: part}, Base{})
		if err == nil || !strings.Contains(err.Error(), want) || info.Generations != 0 {
			t.Errorf("%s: %v, with %d generations, want %s", part, err, info.Generations, want)
		}
	}
	late := newWire(26)
	late.generation(1, 1000).thread(1).runs(1001, 0, 1).ev(1100, wRegionEnd, 0, "checkout", f).ev(1110, wTaskEnd, 8, f)
	for part, want := range map[string]string{
		"region:checkout": `the trace has only the end of region "checkout"`,
		"task:request":    `the trace has no task "request", and no other tasks`,
	} {
		if _, err := Read(context.Background(), bytes.NewReader(late.bytes()), Options{During: part}, Base{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", part, err, want)
		}
	}
	for _, bad := range []string{" ", "gcx", "gc:0", "gc:x", "region:", "region", "task:", "marker:", "marker:..b", "checkout"} {
		if err := CheckDuring(bad); err == nil {
			t.Errorf("%q is valid", bad)
		}
		if _, err := Read(context.Background(), bytes.NewReader(w.bytes()), Options{During: bad}, Base{}); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
	bounded := newWire(26)
	bounded.generation(1, 1000).thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1).ev(1100, wRegionBegin, 0, "checkout", f).ev(1200, wRegionEnd, 0, "checkout", f)
	for want, part := range map[string]Options{
		"the trace ends before 1s": {From: time.Second, During: "region:checkout"},
		"nothing is left: no time during region checkout is in the requested time": {To: 50, During: "region:checkout"},
	} {
		if info, err := Read(context.Background(), bytes.NewReader(bounded.bytes()), part, Base{}); err == nil || !strings.Contains(err.Error(), want) || info.Generations != 0 {
			t.Errorf("%v: %v, want %s", part, err, want)
		}
	}
}
