package main

import (
	"errors"
	"fmt"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/result"
)

var tasksMeasures = measures[*granularity.Profile]{
	example: "fine-tasks-%>10",
	whole: []measured[*granularity.Profile]{
		measuring("tasks", result.Number, "the number of tasks", always(func(p *granularity.Profile) float64 { return countTasks(p, "") })),
		measuring("fine-tasks-%", result.Ratio, "the share of tasks in classes that are too small", diagnosedShare(granularity.Fine)),
		measuring("coarse-tasks-%", result.Ratio, "the share in classes that are too large", diagnosedShare(granularity.Coarse)),
		measuring("blocked-tasks-%", result.Ratio, "the share in classes that are blocked for most of their time", diagnosedShare(granularity.Blocked)),
		measuring("unknown-tasks-%", result.Ratio, "the share in classes of which the numbers do not tell", diagnosedShare(granularity.Unknown)),
		measuring("cycles/task", result.Number, "mean cycles of a task", cyclesPerTask),
		measuring("running/task", result.Duration, "mean running time of a task, as a duration such as 20us", runningPerTask),
		measuring("wall/task", result.Duration, "mean time of a task from its begin to its end, as a duration", wallPerTask),
	},
	parts: "or p50, mean, p99, count or blocked-% of one class, as tasks(CLASS).p50.",
	part:  ofPart("tasks", []measure{{name: "p50", unit: result.Number}, {name: "mean", unit: result.Number}, {name: "p99", unit: result.Number}, {name: "count", unit: result.Number}, {name: "blocked-%", unit: result.Ratio}}, classMeasure),
}

var errNoTasks = errors.New("no task was measured")

// countTasks counts the tasks of all classes with a diagnosis, of all if it is "".
func countTasks(p *granularity.Profile, d granularity.Diagnosis) (n float64) {
	for i := range p.Classes {
		if d == "" || p.Classes[i].Diagnosis == d {
			n += float64(p.Classes[i].Tasks)
		}
	}
	return n
}

// diagnosedShare returns the share of tasks that are in classes with the diagnosis. Where
// there are no tasks, none are.
func diagnosedShare(d granularity.Diagnosis) func(*granularity.Profile) (float64, error) {
	return func(p *granularity.Profile) (float64, error) {
		all := countTasks(p, "")
		if all == 0 {
			return 0, nil
		}
		return 100 * countTasks(p, d) / all, nil
	}
}

// meanOfTasks returns the mean over all tasks of all classes.
func meanOfTasks(p *granularity.Profile, of func(*granularity.Class) *granularity.Histogram) (float64, error) {
	var sum, count float64
	for i := range p.Classes {
		h := of(&p.Classes[i])
		sum += h.Sum()
		count += float64(h.Count())
	}
	if count == 0 {
		return 0, errNoTasks
	}
	return sum / count, nil
}

func cyclesPerTask(p *granularity.Profile) (float64, error) {
	if p.ByTime() {
		return 0, errors.New("a trace does not tell cycles; give -hz, or compare running/task")
	}
	return meanOfTasks(p, func(c *granularity.Class) *granularity.Histogram { return &c.Cycles })
}

func runningPerTask(p *granularity.Profile) (float64, error) {
	granules, err := meanOfTasks(p, p.Granularity)
	if err != nil {
		return 0, err
	}
	d, ok := p.Duration(granules)
	if !ok {
		return 0, errors.New("the length of a cycle is not known; compare cycles/task")
	}
	return float64(d), nil
}

func wallPerTask(p *granularity.Profile) (float64, error) {
	return meanOfTasks(p, func(c *granularity.Class) *granularity.Histogram { return &c.WallNS })
}

// classMeasure is one of a class: granularity in cycles or, if they are not known, in nanoseconds.
func classMeasure(p *granularity.Profile, class string, m measure) (float64, error) {
	c, err := findNamed(p.Classes, func(c *granularity.Class) string { return c.Name }, "there are no tasks of class", class)
	if err != nil {
		return 0, err
	}
	h := p.Granularity(c)
	switch {
	case m.name == "count":
		return float64(c.Tasks), nil
	case m.name == "blocked-%":
		return 100 * c.BlockedNS.Sum() / max(1, c.WallNS.Sum()), nil
	case h.Count() == 0:
		return 0, fmt.Errorf("the granularity of %q is not known", c.Name)
	case m.name == "mean":
		return h.Mean(), nil
	case m.name == "p99":
		return h.Quantile(.99), nil
	}
	return h.Quantile(.5), nil
}
