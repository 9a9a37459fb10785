package live

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/starter"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
)

// The wall-clock profile samples all goroutines, running or not, for the next seconds. Its stacks
// show where the goroutines of a box of the bottle graph spent their time: the label "group" is the
// name of the box.

// minWall is long enough for a few samples even on a busy machine.
const minWall = 100 * time.Millisecond

// deepStack is the maximum number of calls per goroutine that the runtime lists. The root of a
// deeper stack is unknown.
const deepStack = 32

// wallProfile samples for the time d, or until the context ends.
func wallProfile(ctx context.Context, d time.Duration) (*profile.Profile, error) {
	s, start := newSampler(), time.Now()
	if err := s.run(ctx, d); err != nil {
		return nil, err
	}
	p := s.profile(start, time.Since(start))
	p.Sample = slices.DeleteFunc(p.Sample, ours)
	for _, s := range p.Sample {
		s.Label = map[string][]string{"group": {groupOf(s)}}
	}
	return p, nil
}

// ours reports whether a sample belongs to the sampling goroutine.
func ours(s *profile.Sample) bool {
	return slices.ContainsFunc(s.Location, func(l *profile.Location) bool {
		return slices.ContainsFunc(l.Line, func(l profile.Line) bool { return strings.HasSuffix(l.Function.Name, "/exporters/live.wallProfile") })
	})
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
	if len(s.Location) >= deepStack {
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

var wallEndpoint = endpoint{
	name:       "wall",
	title:      "Wall-clock profile",
	about:      "Where all goroutines are, running or not, sampled for the seconds to come: up to 99 times a second, and less often the more goroutines there are, so that it takes 1 % of one processor. The profile says how often. Samples carry the name of their box in the bottle graph as the label “group”.",
	forms:      []form{formPprof, formText},
	parameters: usual,
	takes:      func(_ *handler, seconds time.Duration) time.Duration { return seconds },
	missing:    func(*handler) string { return "" },
	collect: func(_ *handler, ctx context.Context, q query) (*shown, error) {
		d := q.orDefault()
		if d < minWall || d > maxWall {
			return nil, &problem{status: http.StatusBadRequest, text: fmt.Sprintf("seconds=%g: a wall-clock profile takes %g to %g", d.Seconds(), minWall.Seconds(), maxWall.Seconds())}
		}
		p, err := wallProfile(ctx, d)
		return &shown{
			text:    func(w io.Writer) error { return wallText(w, p) },
			profile: func() (*profile.Profile, error) { return p, nil },
		}, err
	},
}

// maxWall bounds the length of the wall-clock profile, because its stacks are in memory.
const maxWall = 5 * time.Minute
