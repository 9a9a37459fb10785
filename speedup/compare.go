package speedup

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/host"
)

// describe sets Workers to the goroutines whose lanes the stack shows.
func (s *Stack) describe(m *run) {
	_, n := m.survey.Peak(m.workers)
	s.Workers = laneWorkers{Selector: m.workers.String(), Count: n}
}

// judge marks the stack as disturbed if a run lost much processor time to other programs.
func (s *Stack) judge(r *run, delay time.Duration) {
	if wall := r.account.Wall; float64(delay) > MaxDelay*float64(wall) {
		s.Disturbed = true
		s.Warnings = append(s.Warnings, fmt.Sprintf("Disturbed: in %s, threads that were ready waited for up to %s in %s while other programs used the processors: discard this measurement.",
			r.name, format.Duration(delay), format.Duration(wall)))
	}
}

// MaxSpread is the largest ratio of the largest to the smallest speed-up of repeated runs before
// the stack counts as disturbed.
const MaxSpread = 1.25

// Repeat records the speed-ups of repeated pairs of runs, in any order.
func (s *Stack) Repeat(speedups []float64) {
	if s.Runs = slices.Sorted(slices.Values(speedups)); len(s.Runs) == 0 {
		return
	}
	if least, most := s.Runs[0], s.Runs[len(s.Runs)-1]; most > MaxSpread*least {
		s.Disturbed = true
		s.Warnings = append(s.Warnings, fmt.Sprintf("Disturbed: over %s the speed-up is from %s to %s. Repeat it on a quiet machine, or with more work in each run.",
			format.Plural(len(s.Runs), "pair of runs", "pairs of runs"), format.Parallelism(least), format.Parallelism(most)))
	}
}

// compare returns warnings about why the two runs may not be a pair.
func compare(single, multi *run) (w []string) {
	peakOne, _ := single.survey.Peak(multi.workers)
	peak, _ := multi.survey.Peak(multi.workers)
	procsOne, procs := single.survey.procs, multi.survey.procs
	switch {
	case procsOne > procs && (procs == 1 || procs > 0 && peakOne >= peak), procsOne == procs && peakOne > peak && !apart(single, multi):
		w = append(w, fmt.Sprintf("%s has %s%s, %s has %d%s: are the traces swapped?", single.name,
			format.Plural(peakOne, "worker", "workers"), known(procsOne, " on "+format.Plural(procsOne, "processor", "processors")), multi.name, peak, known(procs, fmt.Sprint(" on ", procs))))
	case peakOne > 1 && procsOne != 1 && !alone(single):
		w = append(w, fmt.Sprintf("%s is not single-threaded: %d workers lived at the same time%s. The speed-up is relative to that.", single.name, peakOne, known(procsOne, fmt.Sprintf(", on %d processors", procsOne))))
	}
	if c, wall := single.account.Company, single.account.Wall; procsOne != 1 && !alone(single) {
		w = append(w, fmt.Sprintf("%s did not run alone: for %s of its time more than one goroutine of the program ran. The speed-up is relative to that, not to a single-threaded run.",
			single.name, format.Percent(c, wall)))
	}
	if f := foreign(single, multi); f != "" {
		return append(w, f)
	}
	return append(append(w, differentWork(single, multi)...), limits(multi)...)
}

// alone reports whether at most one goroutine of the program ran for nearly all of the time.
func alone(r *run) bool { return float64(r.account.Company) <= mostCompany*float64(r.account.Wall) }

// apart reports whether the runs are in the right order, judged by how much ran at the same time.
// Numbers of workers do not show that if each worker lives for one item only.
func apart(single, multi *run) bool {
	one, many := single.account, multi.account
	return float64(one.Company)*float64(many.Wall) < float64(many.Company)*float64(one.Wall)
}

// mostCompany is the part of the time in which a single-threaded run may run two goroutines at
// once, such as one that hands over to another.
const mostCompany = 0.05

// known returns words about a number of processors, or "" if the trace does not contain it.
func known(procs int, words string) string {
	if procs == 0 {
		return ""
	}
	return words
}

// foreign returns a warning if the traces are of different programs: no start function is in both.
func foreign(single, multi *run) string {
	a, b := single.survey.functions(), multi.survey.functions()
	if len(a) == 0 || len(b) == 0 || slices.ContainsFunc(a, func(f string) bool { return slices.Contains(b, f) }) {
		return ""
	}
	return fmt.Sprintf("%s and %s have no start function in common: they seem to be runs of different programs, and the stack means nothing.", single.name, multi.name)
}

// differentWork returns warnings about differences in the work of the two runs.
func differentWork(single, multi *run) (w []string) {
	types := maps.Clone(single.survey.regions)
	maps.Copy(types, multi.survey.regions)
	if max(len(single.survey.regions), len(multi.survey.regions)) == maxTypes { // others may exist that were not counted
		maps.DeleteFunc(types, func(t string, _ int) bool { return single.survey.regions[t] == 0 || multi.survey.regions[t] == 0 })
	}
	for _, t := range slices.Sorted(maps.Keys(types)) {
		if a, b := single.survey.regions[t], multi.survey.regions[t]; a != b {
			w = append(w, fmt.Sprintf("The two runs did different work: %s regions of type %q against %s.", format.Count(a), format.Clean(t), format.Count(b)))
			if len(w) == 3 {
				break
			}
		}
	}
	if len(w) > 0 {
		return w
	}
	one, many := time.Duration(single.survey.all.running), time.Duration(multi.survey.all.running)
	if r := float64(many) / float64(max(1, one)); one > 0 && (r < leastWork || r > mostWork) && (ran(single, one) || ran(multi, many)) {
		why := "the two runs may have done different work, and the stack then means nothing"
		if many > one {
			why = "goroutines may have slowed each other down, such as by writing to the same cache lines. Otherwise the two runs did different work, or the other had fewer processors of the machine than GOMAXPROCS, and the stack means nothing"
		}
		w = append(w, fmt.Sprintf("The program's goroutines ran for %s in one run and for %s in the other: %s.",
			format.Duration(one), format.Duration(many), why))
	}
	for _, f := range different(single, multi) {
		w = append(w, fmt.Sprintf("Only one of the two runs ran %s for long: they may have done different work.", f))
	}
	return w
}

// The running times of two runs of the same work differ because of caches and parallel overhead,
// but mostly by no more than these factors. Those of a program that mostly waits do not matter.
const (
	leastWork    = 0.7
	mostWork     = 2
	mostlyWaited = 0.1 // of the run
)

// ran reports whether the goroutines of the run ran for a part of it that matters.
func ran(r *run, running time.Duration) bool {
	return float64(running) >= mostlyWaited*float64(r.account.Wall)
}

// different returns up to three start functions that ran for at least a tenth of the running time
// in one run and are missing in the other. Workers may be missing in a single-threaded run, where
// main does their work.
func different(single, multi *run) (out []string) {
	seen := func(a, b *run) {
		for _, f := range a.survey.functions() {
			g := a.survey.groups[f]
			if len(out) == 3 || b.survey.groups[f] != nil || g.running*10 < a.survey.all.running || a == multi && (slices.Contains(multi.workers.functions, f) || g.peak > 1) {
				continue
			}
			out = append(out, format.Func(f))
		}
	}
	seen(single, multi)
	seen(multi, single)
	return out
}

// limits returns warnings about what the run with many workers could not show.
func limits(m *run) (w []string) {
	n := m.account.N
	peak, _ := m.survey.Peak(m.workers)
	if peak < n {
		w = append(w, fmt.Sprintf("The run never reached %s: at most %d lived at the same time.", format.Plural(n, "worker", "workers"), peak))
	}
	if p := m.survey.procs; p > 0 && p < n {
		w = append(w, fmt.Sprintf("GOMAXPROCS was %d: no more than that of the %d workers could run at the same time.", p, n))
	}
	if over := host.Oversubscribed(m.survey.procs, m.survey.cpus); over != "" {
		w = append(w, over)
	}
	if m.info.Inconsistent > 0 {
		w = append(w, fmt.Sprintf("%s: %d of %d events contradict what was known before them: the trace may be damaged.", m.name, m.info.Inconsistent, m.info.Events))
	}
	return append(w, m.info.Notes...)
}
