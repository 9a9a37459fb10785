package speedup

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/byindex"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// survey is an observer that collects what an account needs before it begins: the workers and the
// number of lanes. It also collects evidence of whether two runs did the same work.
type survey struct {
	timeline.Base
	workers selector
	wrong   error // of the text of the selector

	begin, end timeline.Time
	cpus       float64 // processors available to the process, if the trace contains it
	now        timeline.Time
	procs      int
	members    byindex.Table[surveyed]
	groups     map[string]*surveyGroup
	chosen     surveyGroup // of an explicit selector
	all        surveyGroup // of the application
	regions    map[string]int
}

type surveyed struct {
	g        *timeline.Goroutine
	state    timeline.State
	since    timeline.Time
	selected bool // the result of the selector
	// in are its groups now: its start function, all, and chosen; nil if it is not in it. counted: it
	// was in it before.
	in      [3]*surveyGroup
	counted [3]bool
}

// surveyGroup is a start function, all goroutines of the application, or the selected ones.
type surveyGroup struct {
	goroutines, live, peak int
	running                timeline.Time
	first, last            timeline.Time // when the first goroutine came, and when one last ended
}

// maxTypes bounds the types of regions that are compared between runs.
const maxTypes = 1000

func newSurvey(workers selector) *survey {
	return &survey{workers: workers, groups: map[string]*surveyGroup{}, regions: map[string]int{}}
}

func (s *survey) Begin(t timeline.Time, _ int) { s.begin = t }

func (s *survey) Transition(t *timeline.Transition) {
	s.now = t.End
	m := s.members.At(t.G.Index)
	if m.g != t.G {
		*m = surveyed{g: t.G, selected: s.workers.selects(t.G)}
	}
	s.settle(m)
	before := m.state
	if m.state = t.To; before.Alive() != t.To.Alive() {
		s.place(m)
	}
	if !t.To.Alive() {
		m.g = nil
	}
}

// Log implements [timeline.Observer]. Recordings of this module log the processors of their
// machine.
func (s *survey) Log(l *timeline.Log) {
	if m, ok := host.ReadNote(l.Category, l.Message); ok {
		s.cpus = m.Processors
	}
}

// settle accounts for the time that a goroutine ran until now.
func (s *survey) settle(m *surveyed) {
	if m.state.Runs() {
		for _, group := range m.in {
			if group != nil {
				group.running += s.now - m.since
			}
		}
	}
	m.since = s.now
}

// place adds a goroutine to its groups or removes it from them.
func (s *survey) place(m *surveyed) {
	var in [3]*surveyGroup
	if m.state.Alive() {
		name := m.g.Func
		if m.g.Kind != timeline.Application {
			name = "" // one group for all that cannot be workers and for those without a name
		}
		if in[0] = s.groups[name]; in[0] == nil {
			in[0] = &surveyGroup{}
			s.groups[name] = in[0]
		}
		if everyWorker.selects(m.g) {
			in[1] = &s.all
		}
		if m.selected || m.in[2] != nil && s.workers.stays {
			in[2] = &s.chosen
		}
	}
	for i, group := range in {
		before := m.in[i]
		if group == before {
			continue
		}
		if before != nil {
			before.live--
			before.last = s.now
		}
		if m.in[i] = group; group == nil {
			continue
		}
		if group.goroutines == 0 {
			group.first = s.now
		}
		if i == 0 || !m.counted[i] {
			group.goroutines++
		}
		m.counted[i] = true
		group.live++
		group.peak = max(group.peak, group.live)
	}
}

func (s *survey) again(g *timeline.Goroutine, t timeline.Time) {
	if g == nil {
		return
	}
	m := s.members.At(g.Index)
	if m.g != g {
		return
	}
	s.now = t
	s.settle(m)
	m.selected = s.workers.selects(g)
	s.place(m)
}

func (s *survey) Named(g *timeline.Goroutine, t timeline.Time) { s.again(g, t) }

func (s *survey) Region(e *timeline.Span) {
	if e.Begin && (s.regions[e.Name] > 0 || len(s.regions) < maxTypes) {
		s.regions[e.Name]++
	}
	s.again(e.G, e.Time)
}

func (s *survey) Metric(t timeline.Time, name string, value uint64, _ bool) {
	if name == "/sched/gomaxprocs:threads" {
		s.procs = max(s.procs, int(min(value, 1<<31)))
	}
}

func (s *survey) End(t timeline.Time) { s.end = t }

// Workers returns the given selector, or the automatic choice if none was given. It fails if no
// choice is possible: no start function has two goroutines that lived at the same time.
func (s *survey) Workers() (selector, error) {
	if s.wrong != nil || s.workers.match != nil {
		return s.workers, s.wrong
	}
	best := ""
	for _, name := range slices.Sorted(maps.Keys(s.groups)) {
		g := s.groups[name]
		if name != "" && g.peak > 1 && (best == "" || g.running > s.groups[best].running) {
			best = name
		}
	}
	if best != "" {
		return byExactFunctions(best), nil
	}
	if s.all.peak == 0 {
		return selector{}, errors.New("no goroutine of the program has a name: name the workers")
	}
	// The stages of a pipeline have one goroutine each. The lane of main would wait for them.
	stages := s.names(func(name string, g *surveyGroup) bool { return name != "" && g.running*20 >= s.all.running })
	if len(stages) > 0 {
		return byExactFunctions(stages...), nil
	}
	return everyWorker, nil
}

// names returns the start functions that are chosen, in alphabetical order.
func (s *survey) names(choose func(name string, g *surveyGroup) bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.groups)), func(name string) bool { return !choose(name, s.groups[name]) })
}

// together returns how many of the start functions, each with one goroutine at a time, had a
// goroutine at the same time.
func (s *survey) together(names []string) (peak int) {
	for _, at := range names {
		n := 0
		for _, name := range names {
			if g, then := s.groups[name], s.groups[at]; g != nil && then != nil && g.first <= then.first && (g.live > 0 || g.last > then.first) {
				n++
			}
		}
		peak = max(peak, n)
	}
	return peak
}

// Peak returns the largest number of workers that lived at the same time, and the number of
// workers.
func (s *survey) Peak(workers selector) (peak, goroutines int) {
	if s.workers.match != nil {
		return s.chosen.peak, s.chosen.goroutines
	}
	if workers.name == everyone {
		return s.all.peak, s.all.goroutines
	}
	for _, name := range workers.functions {
		if g := s.groups[name]; g != nil {
			peak, goroutines = max(peak, g.peak), goroutines+g.goroutines
		}
	}
	return max(peak, s.together(workers.functions)), goroutines
}

// Lanes returns the number of lanes: the largest number of workers that lived at the same time, but
// at most GOMAXPROCS.
func (s *survey) Lanes(workers selector) int {
	peak, _ := s.Peak(workers)
	if s.procs > 0 {
		peak = min(peak, s.procs)
	}
	return max(1, peak)
}

// functions returns the start functions of the application, except those in every program.
func (s *survey) functions() []string {
	return s.names(func(name string, _ *surveyGroup) bool {
		return name != "" && name != "runtime.main" && name != "main.main"
	})
}

// candidates lists the start functions with the largest areas, for errors.
func (s *survey) candidates() string {
	names := s.functions()
	if len(names) == 0 {
		return "no start functions but that of main"
	}
	order.Stable(names, func(a, b string) int { return cmp.Compare(s.groups[b].running, s.groups[a].running) })
	names = names[:min(len(names), 5)]
	for i, n := range names {
		names[i] = fmt.Sprintf("%s (%s)", format.Func(n), format.Plural(s.groups[n].goroutines, "goroutine", "goroutines"))
	}
	return strings.Join(names, ", ")
}
