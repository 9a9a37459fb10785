package full

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/starter"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// wallTrace makes a wall-clock profile, which shows where the goroutines of a box of the bottle graph
// spent their time, running or not: the label "group" is the name of the box. While a goroutine
// waits, its call chain is where it began to wait; while it runs, where it stopped.
type wallTrace struct {
	timeline.Base
	spent map[wallPlace]*spent
}

// spent is the number and the sum of intervals.
type spent struct {
	count int64
	time  time.Duration
}

type wallPlace struct {
	group string
	state string
	stack *timeline.Stack
}

func (o *wallTrace) Transition(t *timeline.Transition) {
	if !t.State.Alive() || t.End == t.Start || t.G.Kind != timeline.Application {
		return
	}
	at := wallPlace{t.G.Name(), t.State.String(), t.Stack}
	if next := t.G.Stack(); t.State == timeline.Running && next != nil {
		at.stack = next
	}
	if o.spent[at] == nil {
		o.spent[at] = &spent{}
	}
	o.spent[at].count++
	o.spent[at].time += time.Duration(t.End - t.Start)
}

// profile returns the sums, from start on for d, as a profile.
func (o *wallTrace) profile(start time.Time, d time.Duration) *profile.Profile {
	p := newWallProfile(start, d, "All intervals of the goroutines of the program in "+format.Duration(d)+", from the execution trace.")
	at := newPlaces(p)
	for where, spent := range o.spent {
		s := &profile.Sample{Value: []int64{spent.count, int64(spent.time)}, Label: map[string][]string{"group": {where.group}, "state": {where.state}}}
		if where.stack != nil {
			for _, f := range where.stack.Frames {
				s.Location = append(s.Location, at.location(f.Func, f.File, f.Line))
			}
		} else {
			s.Location = []*profile.Location{at.location("[no call chain]", "", 0)}
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// newWallProfile returns a profile without samples.
func newWallProfile(start time.Time, d time.Duration, comment string) *profile.Profile {
	return &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "time", Unit: "nanoseconds"}},
		DefaultSampleType: "time",
		PeriodType:        &profile.ValueType{Type: "wallclock", Unit: "nanoseconds"},
		Period:            1,
		TimeNanos:         start.UnixNano(),
		DurationNanos:     int64(d),
		Mapping:           []*profile.Mapping{{ID: 1, HasFunctions: true}},
		Comments:          []string{comment},
	}
}

// places has the locations of a profile.
type places struct {
	p         *profile.Profile
	functions map[[2]string]*profile.Function
	locations map[place]*profile.Location
}

// place is a line of a function.
type place struct {
	function *profile.Function
	line     int
}

func newPlaces(p *profile.Profile) *places {
	return &places{p, map[[2]string]*profile.Function{}, map[place]*profile.Location{}}
}

func (a *places) location(name, file string, line int) *profile.Location {
	function := a.functions[[2]string{name, file}]
	if function == nil {
		function = &profile.Function{ID: uint64(len(a.p.Function)) + 1, Name: name, SystemName: name, Filename: file}
		a.functions[[2]string{name, file}] = function
		a.p.Function = append(a.p.Function, function)
	}
	location := a.locations[place{function, line}]
	if location == nil {
		location = &profile.Location{ID: uint64(len(a.p.Location)) + 1, Mapping: a.p.Mapping[0], Line: []profile.Line{{Function: function, Line: int64(line)}}}
		a.locations[place{function, line}] = location
		a.p.Location = append(a.p.Location, location)
	}
	return location
}

// linesOf returns the calls of a sample, leaf first.
func linesOf(s *profile.Sample) (lines []profile.Line) {
	for _, l := range s.Location {
		lines = append(lines, l.Line...)
	}
	return lines
}

// callsOf returns the functions of a sample, root first, without those of the runtime below it.
func callsOf(s *profile.Sample) (calls []string) {
	for _, line := range slices.Backward(linesOf(s)) {
		calls = append(calls, symbol.Unescape(line.Function.Name))
	}
	if len(calls) > 1 && calls[0] == "runtime.goexit" {
		calls = calls[1:]
	}
	if len(calls) > 1 && calls[0] == "runtime.main" && strings.HasPrefix(calls[1], "main.") {
		calls = calls[1:]
	}
	return calls
}

// groupOf returns the group of a goroutine in the bottle graph by the rules of package timeline,
// except for the program's own launchers, which a single sample does not show.
func groupOf(s *profile.Sample) string {
	const deep = 32 // the runtime lists no more calls
	if len(s.Location) >= deep {
		return "(unknown: deep call chain)"
	}
	lines := linesOf(s)
	if len(lines) == 0 {
		return "(unnamed)"
	}
	i := starter.Name(len(lines), func(i int) (string, string) {
		return symbol.Unescape(lines[i].Function.Name), lines[i].Function.Filename
	})
	return symbol.Unescape(lines[i].Function.Name)
}

// wallText writes the average number of goroutines of each group, and where they were.
func wallText(w io.Writer, p *profile.Profile) error {
	type group struct {
		name  string
		nanos int64
		at    map[string]int64
	}
	groups := map[string]*group{}
	for _, s := range p.Sample {
		name, nanos := s.Label["group"][0], s.Value[1]
		g := groups[name]
		if g == nil {
			g = &group{name: name, at: map[string]int64{}}
			groups[name] = g
		}
		g.nanos += nanos
		g.at[whereabouts(s)] += nanos
	}
	sorted := slices.SortedFunc(maps.Values(groups), func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.nanos, a.nanos), cmp.Compare(a.name, b.name))
	})
	var b bytes.Buffer
	fmt.Fprintf(&b, "Where goroutines were, running or not.\n%s\n\n%10s  group, and where in it\n", strings.Join(p.Comments, "\n"), "goroutines")
	const groupsShown, placesShown = 40, 5
	for i, g := range sorted {
		if i == groupsShown {
			fmt.Fprintf(&b, "%10s  and %s\n", "", format.Plural(len(sorted)-i, "more group", "more groups"))
			break
		}
		line := func(nanos int64, indent, name string) {
			fmt.Fprintf(&b, "%10.2f  %s%s\n", float64(nanos)/float64(max(1, p.DurationNanos)), indent, format.Clean(name))
		}
		line(g.nanos, "", g.name)
		places := slices.SortedFunc(maps.Keys(g.at), func(a, b string) int { return cmp.Or(cmp.Compare(g.at[b], g.at[a]), cmp.Compare(a, b)) })
		for _, place := range places[:min(len(places), placesShown)] {
			line(g.at[place], "    ", place)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// whereabouts returns the innermost call of a sample outside the runtime.
func whereabouts(s *profile.Sample) string {
	calls := callsOf(s)
	for _, call := range slices.Backward(calls) {
		if !strings.HasPrefix(call, "runtime.") && !strings.HasPrefix(call, "internal/") {
			return call
		}
	}
	if len(calls) == 0 {
		return "(unknown)"
	}
	return calls[len(calls)-1]
}
