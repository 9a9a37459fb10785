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
	for where, spent := range o.spent {
		s := &profile.Sample{Value: []int64{spent.count, int64(spent.time)}, Label: map[string][]string{"group": {where.group}, "state": {where.state}}}
		if where.stack != nil {
			for _, f := range where.stack.Frames {
				s.Location = append(s.Location, location(p, f.Func, f.File, f.Line))
			}
		} else {
			s.Location = []*profile.Location{location(p, noCalls, "", 0)}
		}
		p.Sample = append(p.Sample, s)
	}
	return p.Compact()
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

// location adds a location to a profile. [profile.Profile.Compact] joins equal ones.
func location(p *profile.Profile, name, file string, line int) *profile.Location {
	f := &profile.Function{ID: uint64(len(p.Function)) + 1, Name: name, SystemName: name, Filename: file}
	p.Function = append(p.Function, f)
	l := &profile.Location{ID: f.ID, Mapping: p.Mapping[0], Line: []profile.Line{{Function: f, Line: int64(line)}}}
	p.Location = append(p.Location, l)
	return l
}

// text writes the average number of goroutines of each group in the time d, and where they were.
func (o *wallTrace) text(w io.Writer, comment string, d time.Duration) error {
	groups, places := map[string]time.Duration{}, map[string]map[string]time.Duration{}
	for where, spent := range o.spent {
		if places[where.group] == nil {
			places[where.group] = map[string]time.Duration{}
		}
		groups[where.group] += spent.time
		places[where.group][whereabouts(where.stack)] += spent.time
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "Where goroutines were, running or not.\n%s\n\n%10s  group, and where in it\n", comment, "goroutines")
	largest := func(of map[string]time.Duration, most int) []string {
		names := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(a, b)) })
		return names[:min(len(names), most)]
	}
	line := func(spent time.Duration, name string) {
		fmt.Fprintf(&b, "%10.2f  %s\n", float64(spent)/float64(max(1, d)), name)
	}
	const groupsShown = 40
	for _, group := range largest(groups, groupsShown) {
		line(groups[group], format.Clean(format.Func(group)))
		for _, place := range largest(places[group], 5) {
			if spent := places[group][place]; spent >= d/200 { // others are shown as 0.00
				line(spent, "    "+format.Clean(format.Func(place)))
			}
		}
	}
	if n := len(groups) - groupsShown; n > 0 {
		fmt.Fprintf(&b, "%10s  and %s\n", "", format.Plural(n, "more group", "more groups"))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// whereabouts returns the innermost call outside the runtime.
func whereabouts(stack *timeline.Stack) string {
	if stack == nil || len(stack.Frames) == 0 {
		return noCalls
	}
	for _, f := range stack.Frames {
		if name := symbol.Unescape(f.Func); !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "internal/") {
			return name
		}
	}
	return stack.Frames[0].Func
}

const noCalls = "[no call chain]"
