package counters

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bottleneck-go/bottleneck/counters/internal/archive"
	"github.com/bottleneck-go/bottleneck/internal/perfevent"
	"github.com/bottleneck-go/bottleneck/result"
)

// DefaultCounters returns the counters that are recorded by default, in addition to those of the
// trace. If the machine refuses one of them, a warning of the recording has the reason.
func DefaultCounters() []string {
	return []string{"task-clock", "context-switches", "preemptions", "migrations", "minor-faults", "major-faults", "goroutines", "heap-allocs", "cycles", "instructions"}
}

// KnownCounters returns the names that [Options].Counters and the command's -counters accept.
// They also accept rNNN, a raw hardware event in hexadecimal, and device/event, an event that the
// system lists, such as msr/tsc.
func KnownCounters() []string {
	names := append(perfevent.Names(), "preemptions", "faults", "switches", "goroutines", "heap-allocs", "heap-alloc-objects")
	slices.Sort(names)
	return names
}

// CheckNames returns an error if one of the names is not that of a counter; the error lists the
// known ones. A counter that only this machine lacks is not an error.
func CheckNames(names []string) error {
	_, _, err := newPlan(names)
	return err
}

// plan is how the requested counters are counted.
type plan struct {
	switched []string         // from the records of switches: task-clock and so on
	hits     []perfevent.Spec // recorded event by event
	group    []perfevent.Spec // read periodically
	metrics  []string         // runtime/metrics
}

var aliases = map[string][]string{
	"faults":         {"minor-faults", "major-faults"},
	"switches":       {archive.CtxSwitches, archive.Preemptions},
	"cpu-migrations": {archive.Migrations},
	"tsc":            {"msr/tsc"},
}

// newPlan returns how to count the named counters. An unknown name is an error; a counter that this
// machine does not have is a warning.
func newPlan(names []string) (p plan, warnings []string, err error) {
	if names == nil {
		names = DefaultCounters()
	}
	seen := map[string]bool{}
	for _, asked := range names {
		of, ok := aliases[strings.TrimSpace(asked)]
		if !ok {
			of = []string{strings.TrimSpace(asked)}
		}
		for _, name := range of {
			if name == "" || seen[name] {
				continue
			}
			seen[name] = true
			switch name {
			case archive.TaskClock, archive.CtxSwitches, archive.Preemptions, archive.Migrations:
				p.switched = append(p.switched, name)
				continue
			}
			if _, ok := archive.Metrics[name]; ok {
				p.metrics = append(p.metrics, name)
				continue
			}
			spec, err := perfevent.Named(name)
			switch {
			case err != nil && strings.Contains(name, "/"):
				warnings = append(warnings, fmt.Sprintf("%s: not counted: %s.", name, perfevent.Reason(spec, err)))
			case err != nil:
				return p, nil, fmt.Errorf("counters: unknown counter %q; want one of %s", name, strings.Join(KnownCounters(), ", "))
			case spec.Hits():
				p.hits = append(p.hits, spec)
			default:
				p.group = append(p.group, spec)
			}
		}
	}
	return p, warnings, nil
}

// sampled reports whether the plan needs more than the trace and the runtime's metrics.
func (p plan) sampled() bool { return len(p.switched)+len(p.hits)+len(p.group) > 0 }

// names returns the names of all counters that need the kernel.
func (p plan) names() []string {
	names := slices.Clone(p.switched)
	for _, s := range slices.Concat(p.hits, p.group) {
		names = append(names, s.Name)
	}
	return names
}

// available is a counter, with its availability on this machine.
type available struct {
	name   string // as in [Options].Counters
	source string
	reason string
}

// List tries all counters on the calling process, and returns them in the order of their names. The
// columns are the counter, how it is counted, and why this machine does not count it, or "".
func List() *result.Table {
	return result.New([]result.Column[available]{
		{Name: "counter", Title: "counter", Help: "as -counters of record has it", Value: result.Texts(func(a *available) string { return a.name })},
		{Name: "how", Title: "how", Help: "how it is counted", Note: true, Value: result.Texts(func(a *available) string { return a.source })},
		{Name: "reason", Title: "not counted because", Help: "why it is not counted here", Note: true, Value: result.Texts(func(a *available) string { return a.reason })},
	}, list(), 0)
}

func list() (out []available) {
	for name, m := range archive.Metrics {
		out = append(out, available{name: name, source: "runtime/metrics " + m.Name})
	}
	p, _, err := newPlan(KnownCounters())
	if err != nil {
		return out // no name is unknown
	}
	refused := map[string]string{}
	s, some, err := perfevent.NewSampler(perfevent.SamplerOptions{Hits: p.hits, Group: p.group})
	if err == nil {
		s.Close()
	}
	for _, r := range some {
		refused[r.Spec.Name] = perfevent.Reason(r.Spec, r.Err)
	}
	add := func(spec perfevent.Spec, source string) {
		a := available{name: spec.Name, source: source, reason: refused[spec.Name]}
		if err != nil {
			a.reason = perfevent.Reason(spec, err)
		}
		out = append(out, a)
	}
	for _, name := range p.switched {
		add(perfevent.Spec{Name: name}, "switches of threads")
	}
	for _, spec := range p.hits {
		add(spec, "every single event")
	}
	for _, spec := range p.group {
		add(spec, "readings of threads' counters")
	}
	slices.SortFunc(out, func(a, b available) int { return strings.Compare(a.name, b.name) })
	return out
}
