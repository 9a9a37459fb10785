package timeline

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// CheckDuring returns an error if text has none of the forms of [Options].During.
func CheckDuring(text string) error {
	_, err := newGate(&Options{During: text})
	return err
}

// selector yields the generations of the part that the options select.
type selector struct {
	opt     *Options
	cut     *cutter
	ahead   *generation // the next generation, if it was already read
	err     error       // why there is none
	origin  Time        // the first instant of the trace
	known   bool        // origin is known
	skipped int
	births  births // in generations that were skipped
	stacks  *stackTable
}

// next returns the next generation of the part, or io.EOF.
func (s *selector) next() (*generation, error) {
	for {
		g, err := s.ahead, s.err
		if s.ahead = nil; g == nil && err == nil {
			g, err = s.cut.next()
		}
		if err != nil {
			return nil, err
		}
		if s.opt.Last > 0 && g.index > s.opt.Last {
			return nil, io.EOF
		}
		if g.index == 1 && (s.opt.From > 0 || s.opt.To > 0) {
			s.origin, s.known = s.begin(g)
		}
		// The first batch is not later than the first event.
		if s.known && s.opt.To > 0 && g.index > 1 && timeOf(g.first, g.frequency) >= s.origin+Time(s.opt.To) {
			return nil, io.EOF
		}
		if s.births != nil && (g.index < s.opt.First || s.known && s.opt.From > 0 && s.before()) {
			s.skipped++
			s.births.add(s.scan(g))
			continue
		}
		g.skipped, g.births, s.births = s.skipped, s.births, nil
		if s.known && s.opt.From > 0 {
			g.origin = s.origin
		}
		g.scan = nil
		return g, nil
	}
}

// before reports whether the part begins after the current generation: in the next one, which must
// be complete.
func (s *selector) before() bool {
	if s.ahead, s.err = s.cut.next(); s.err != nil || s.ahead.cut != nil {
		return false
	}
	t, ok := s.begin(s.ahead)
	return ok && t <= s.origin+Time(s.opt.From)
}

// scan scans a generation, once.
func (s *selector) scan(g *generation) *birthScan {
	if g.scan == nil {
		g.scan = scan(g, s.cut.version, s.stacks)
	}
	return g.scan
}

// begin returns the time of the first event of the generation that is not a status.
func (s *selector) begin(g *generation) (first Time, ok bool) {
	first = s.scan(g).first
	return first, first != never && g.frequency != 0
}

// timeOf converts clock units of the trace in the same way as the Reader.
func timeOf(units, frequency uint64) Time {
	return Time(float64(units) * (1 / (float64(frequency) / 1e9)))
}

// skip accounts for skipped generations before the first one is replayed.
func (r *replay) skip(g *generation, d *decoded) {
	if r.begun || g.skipped == 0 {
		return
	}
	r.origin = g.origin
	g.births.addTo(d)
	r.info.Skipped = g.skipped
	first := "The first generation of the trace was"
	if g.skipped > 1 {
		first = fmt.Sprintf("The first %d generations of the trace were", g.skipped)
	}
	r.note(first + " not decoded: goroutines that began there are named by their start and by what they did later; their creators, open regions and tasks are not known.")
}

// during is a parsed Options.During.
type during struct {
	kind        duringKind
	name, until string
	cycle       int
	outside     bool
}

type duringKind int

const (
	duringRegion duringKind = iota
	duringTask
	duringMarkers
	duringMark
	duringSpans // of Options.Spans
)

// duringKinds holds, for each kind of During, its prefix, and in words one of what it selects and
// all of them.
var duringKinds = [...][3]string{
	duringRegion: {"region", "region", "regions"}, duringTask: {"task", "task", "tasks"},
	duringMarkers: {"marker", "message", "messages of trace.Log"}, duringMark: {"gc", "cycle", "cycles"},
}

// parseDuring parses Options.During.
func parseDuring(s string) (d during, err error) {
	kind, name, named := strings.Cut(s, ":")
	d.name, d.kind = name, duringKind(slices.IndexFunc(duringKinds[:], func(k [3]string) bool { return k[0] == kind }))
	switch {
	case d.kind < 0:
		return d, fmt.Errorf("want region:NAME, task:TYPE, gc, gc:N or marker:A..B, not %q", s)
	case d.kind == duringMark && named:
		if d.cycle, err = strconv.Atoi(name); err != nil || d.cycle < 1 {
			return d, fmt.Errorf("want gc or gc:N, with N from 1, not %q", s)
		}
	case d.kind == duringMarkers:
		d.name, d.until, _ = strings.Cut(name, "..")
	}
	if d.name == "" && d.kind != duringMark {
		return d, fmt.Errorf("%q names no %s", s, kind)
	}
	return d, nil
}

// String describes d in words, such as "during region checkout".
func (d during) String() string {
	what := "the marking of the collector"
	switch {
	case d.kind == duringMarkers:
		if what = "the time from marker " + d.name + " on"; d.until != "" {
			what = "the time from marker " + d.name + " to marker " + d.until
		}
	case d.kind != duringMark:
		what = duringKinds[d.kind][1] + " " + d.name
	case d.cycle > 0:
		what = fmt.Sprintf("cycle %d of the collector", d.cycle)
	}
	if d.outside {
		return "outside of " + what
	}
	return "during " + what
}

// gate stops the clock of a replay outside Options.During, From and To. It records what was seen. A
// nil gate never stops the clock.
type gate struct {
	during
	opt       *Options
	from, to  Time // of the trace; a to of 0 is the end
	early     bool // the clock has not reached from
	late      bool // the clock has reached to
	open      int  // number of open regions, tasks or phases
	found     bool // one of them was open at some time
	stretches int
	cycles    int
	unknown   int // regions that began before the trace
	seen      []string
	ahead     [][2]Time // the Options.Spans that have not ended
}

// newGate returns the gate of a pass, nil if the clock does not stop.
func newGate(opt *Options) (*gate, error) {
	if opt.Spans != nil {
		return &gate{opt: opt, ahead: opt.Spans, during: during{kind: duringSpans}}, nil
	}
	if opt.During == "" {
		return nil, nil
	}
	d, err := parseDuring(opt.During)
	d.outside = opt.Outside
	return &gate{during: d, opt: opt}, err
}

// again returns a gate for another replay of the same trace.
func (g *gate) again() *gate {
	if g == nil {
		return nil
	}
	fresh, _ := newGate(g.opt)
	return fresh
}

// is reports whether the gate depends on events of a kind.
func (g *gate) is(kind duringKind) bool { return g != nil && g.kind == kind }

// begin is called with the beginning of the trace.
func (g *gate) begin(t Time) {
	if g == nil {
		return
	}
	g.from, g.early = t+Time(g.opt.From), g.opt.From > 0
	if g.opt.To > 0 {
		g.to = t + Time(g.opt.To)
	}
}

// stopped reports whether the clock is stopped.
func (g *gate) stopped() bool {
	return g != nil && (g.early || g.late || (g.open > 0) == g.outside)
}

// pass returns the selected part of the time from a to b, in which no event is.
func (g *gate) pass(a, b Time) Time {
	if g == nil {
		return b - a
	}
	if g.is(duringSpans) {
		return g.within(a, b)
	}
	if g.early && b >= g.from {
		if g.early = false; g.open > 0 {
			g.stretches++
		}
	}
	g.late = g.to > 0 && b >= g.to
	if g.to > 0 {
		b = min(b, g.to)
	}
	if a = max(a, g.from); b <= a || (g.open > 0) == g.outside {
		return 0
	}
	return b - a
}

// within returns the part of the time from a to b that is in the requested spans.
func (g *gate) within(a, b Time) (sum Time) {
	g.open = 0
	for len(g.ahead) > 0 && g.ahead[0][0] <= b {
		s := g.ahead[0]
		sum += max(0, min(b, s[1])-max(a, s[0]))
		if b < s[1] {
			g.open = 1
			break
		}
		g.ahead = g.ahead[1:]
	}
	return sum
}

func (g *gate) turn(on bool) {
	switch {
	case on:
		g.found = true
		if g.open++; g.open == 1 && !g.early && !g.late {
			g.stretches++
		}
	case g.open > 0:
		g.open--
	}
}

// mostSeen bounds the number of names in an error.
const mostSeen = 8

// sees records a name of the requested kind. "" is the name of a task that began before the trace.
func (g *gate) sees(name string) {
	if name != "" && len(g.seen) <= mostSeen && !slices.Contains(g.seen, name) {
		g.seen = append(g.seen, name)
	}
}

// spans opens or closes a region or task.
func (g *gate) spans(kind duringKind, e *Span) {
	if !g.is(kind) {
		return
	}
	switch g.sees(e.Name); {
	case e.Name != g.name:
	case e.Begin || e.Start != 0:
		g.turn(e.Begin)
	default:
		g.unknown++
	}
}

// exits closes the regions of a goroutine that exits, which does not end them itself.
func (g *gate) exits(of *Goroutine) {
	if !g.is(duringRegion) {
		return
	}
	for _, region := range of.Regions() {
		if region.Name == g.name && region.Start != 0 {
			g.turn(false)
		}
	}
}

func (g *gate) phase(e *Span) {
	if !g.is(duringMark) || e.Name != MarkPhase {
		return
	}
	if e.Begin {
		g.cycles++
	}
	if g.cycle == 0 || g.cycle == g.cycles {
		g.turn(e.Begin)
	}
}

func (g *gate) log(e *Log) {
	if !g.is(duringMarkers) {
		return
	}
	g.sees(e.Message)
	if g.open == 0 && e.Message == g.name {
		g.turn(true)
	} else if g.open > 0 && g.until != "" && e.Message == g.until {
		g.turn(false)
	}
}

// missing returns an error if the trace has nothing of the requested kind, or nothing in the
// requested time.
func (g *gate) missing() error {
	switch {
	case g == nil || g.opt.Spans != nil:
		return nil
	case g.early:
		return fmt.Errorf("the trace ends before %v", g.opt.From)
	case g.stretches > 0 || g.found && g.outside:
		return nil
	case g.found:
		return fmt.Errorf("nothing is left: no time %s is in the requested time", g.during)
	case g.kind == duringMark && g.cycles > 0:
		return fmt.Errorf("the trace has no cycle %d of the collector, but %s", g.cycle, format.Plural(g.cycles, "cycle", "cycles"))
	case g.kind == duringMark:
		return errors.New("the collector does not mark in the trace")
	}
	what, all := duringKinds[g.kind][1]+" "+strconv.Quote(g.name), duringKinds[g.kind][2]
	switch {
	case g.unknown > 0:
		return fmt.Errorf("the trace has only the end of %s, so it is not known when it began", what)
	case len(g.seen) == 0:
		return fmt.Errorf("the trace has no %s, and no other %s", what, all)
	}
	var names []string
	for _, name := range g.seen[:min(len(g.seen), mostSeen)] {
		names = append(names, strconv.Quote(name))
	}
	more := ""
	if len(g.seen) > mostSeen {
		more = " and others"
	}
	return fmt.Errorf("the trace has no %s; its %s are %s%s", what, all, strings.Join(names, ", "), more)
}

// note describes the selected part: its duration and that of the excluded time.
func (g *gate) note(within, left Time) string {
	in := "in "
	if g.outside {
		in = "without "
	}
	s := fmt.Sprintf("All of this is about the time %s: %s of %s, %s%s.", g.during,
		format.Duration(time.Duration(within)), format.Duration(time.Duration(within+left)), in, format.Plural(g.stretches, "stretch", "stretches"))
	if g.unknown > 0 {
		s += fmt.Sprintf(" Not included: %d more that began before the trace.", g.unknown)
	}
	return s
}
