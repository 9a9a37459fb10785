package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bottleneck-go/bottleneck/granularity"
)

// tasksMeasure is something about a profile of tasks that -fail can compare. It is an error
// if the profile cannot tell.
type tasksMeasure struct {
	measure
	of func(*granularity.Profile) (float64, error)
}

var tasksMeasures = []tasksMeasure{
	{measure{name: "fine-tasks-%", percent: true}, diagnosedShare(granularity.Fine)},
	{measure{name: "coarse-tasks-%", percent: true}, diagnosedShare(granularity.Coarse)},
	{measure{name: "unknown-tasks-%", percent: true}, diagnosedShare(granularity.Unknown)},
	{measure{name: "tasks"}, func(p *granularity.Profile) (float64, error) { return countTasks(p, ""), nil }},
	{measure{name: "cycles/task"}, cyclesPerTask},
	{measure{name: "running/task", wall: true}, runningPerTask},
	{measure{name: "wall/task", wall: true}, wallPerTask},
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

// tasksConditions is the value of -fail.
type tasksConditions []tasksCondition

type tasksCondition struct {
	condition
	of func(*granularity.Profile) (float64, error)
}

// String implements flag.Value.
func (c *tasksConditions) String() string {
	var texts []string
	for _, one := range *c {
		texts = append(texts, one.text)
	}
	return strings.Join(texts, ",")
}

// Set implements flag.Value: it adds conditions.
func (c *tasksConditions) Set(s string) error {
	for one := range strings.SplitSeq(s, ",") {
		one = strings.TrimSpace(one)
		at := strings.IndexAny(one, "<>")
		if at < 0 {
			return fmt.Errorf("%q is not a condition: want a name, one of < <= > >=, and a value, as in fine-tasks-%%>10", one)
		}
		name, op, value := strings.TrimSpace(one[:at]), one[at:at+1], one[at+1:]
		if v, ok := strings.CutPrefix(value, "="); ok {
			op, value = op+"=", v
		}
		i := slices.IndexFunc(tasksMeasures, func(m tasksMeasure) bool { return m.name == name })
		if i < 0 {
			var known []measure
			for _, m := range tasksMeasures {
				known = append(known, m.measure)
			}
			return unknownMeasure(name, known)
		}
		m := tasksMeasures[i]
		limit, err := m.parse(strings.TrimSpace(value))
		if err != nil {
			return err
		}
		*c = append(*c, tasksCondition{condition{text: one, measure: m.measure, op: op, limit: limit}, m.of})
	}
	return nil
}

// check returns an error of one line that tells all conditions that hold, with their values,
// or nil when none does.
func (c tasksConditions) check(p *granularity.Profile) error {
	var held []string
	for _, one := range c {
		v, err := one.of(p)
		if err != nil {
			return fmt.Errorf("-fail %s: %w", one.text, err)
		}
		if one.holds(v) {
			held = append(held, fmt.Sprintf("%s (it is %s)", one.text, one.format(v)))
		}
	}
	if held == nil {
		return nil
	}
	return fmt.Errorf("failed, as -fail says: %s", strings.Join(held, ", "))
}
