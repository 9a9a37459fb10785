package granularity

import (
	"fmt"
	"time"

	"github.com/bottleneck-go/bottleneck/result"
)

// classOf is a class of tasks in its profile.
type classOf struct {
	*Class
	profile *Profile
}

// blockedPart returns the part of their time that tasks were off the processor. If only pauses are
// known, BlockedNS counts only the tasks that paused, and the value is unknown.
func (c *Class) blockedPart() (result.Value, bool) {
	if c.WallNS.Sum() == 0 || c.BlockedNS.Count() < c.WallNS.Count() {
		return result.Value{}, false
	}
	return result.Float(min(1, c.BlockedNS.Sum()/c.WallNS.Sum())), true
}

// quantile returns a column of the granularity of classes, in cycles or, if byTime is set, in
// nanoseconds.
func quantile(name string, byTime bool, of func(*Histogram) float64) result.Column[classOf] {
	c := result.Column[classOf]{Name: name, Title: name, Unit: result.Cycles, Quotient: result.Single, Help: name + " of the granularity, in cycles"}
	if byTime {
		c.Unit, c.Help = result.Duration, name+" of the granularity, in time"
	}
	c.Value = func(k *classOf) (result.Value, bool) {
		h := k.profile.Granularity(k.Class)
		v := of(h)
		if !byTime {
			return result.Int(int64(v)), h.Count() > 0
		}
		d, known := k.profile.Duration(v)
		return result.Int(d), known && h.Count() > 0
	}
	return c
}

// ClassTable returns the classes with quantiles of their granularity, in cycles or in time.
func (p *Profile) ClassTable(byTime bool) *result.Table {
	columns := []result.Column[classOf]{
		{Name: "class", Title: "class", Unit: result.Func, Help: "the function that the tasks execute, or the name that they were given", Value: result.Texts(func(c *classOf) string { return c.Name })},
		{Name: "tasks", Title: "tasks", Unit: result.Count, Help: "how many were measured", Value: result.Ints(func(c *classOf) int64 { return int64(c.Tasks) })},
	}
	for _, q := range []float64{.01, .25, .5, .75, .99} {
		columns = append(columns, quantile(fmt.Sprintf("p%.0f", 100*q), byTime, func(h *Histogram) float64 { return h.Quantile(q) }))
	}
	columns = append(columns, quantile("mean", byTime, (*Histogram).Mean),
		result.Column[classOf]{Name: "blocked-%", Title: "blocked", Unit: result.Ratio, Quotient: result.Single, Help: "part of their time off the processor", Value: func(c *classOf) (result.Value, bool) { return c.blockedPart() }},
		result.Column[classOf]{Name: "diagnosis", Title: "diagnosis", Note: true, Help: "whether they are too small or too large", Value: result.Texts(func(c *classOf) string { return c.DiagnosisOrUnknown() })})
	rows := make([]classOf, len(p.Classes))
	for i := range p.Classes {
		rows[i] = classOf{&p.Classes[i], p}
	}
	t := result.New(columns, rows, 0)
	t.Title = "Classes of tasks"
	return t
}

// Changes returns the changes from one profile to another, by class: see [result.Diff]. Granularity
// is in cycles, or in time unless both profiles have cycles.
func Changes(before, after *Profile) *result.Table {
	byTime := before.ByTime() || after.ByTime()
	return result.Changes(before.ClassTable(byTime), after.ClassTable(byTime), "tasks", "p50", "blocked-%", "class", "diagnosis")
}

// siteOf is a place that tasks of a class come from.
type siteOf struct {
	Site
	class *Class
}

// Table returns the places that the tasks of each class come from, with quantiles of the cycles and
// of the running, wall and blocked time of each task. A class without known places has one row.
func (p *Profile) Table() *result.Table {
	columns := []result.Column[siteOf]{
		{Name: "class", Title: "class", Unit: result.Func, Help: "the function that the tasks execute, or the name that they were given", Value: result.Texts(func(s *siteOf) string { return s.class.Name })},
		{Name: "diagnosis", Title: "diagnosis", Note: true, Help: "whether the tasks of the class are too small or too large", Value: result.Texts(func(s *siteOf) string { return s.class.DiagnosisOrUnknown() })},
		{Name: "pool", Title: "pool", Help: "the pool or group that they were submitted to", Value: result.Texts(func(s *siteOf) string { return s.Pool })},
		{Name: "created_at", Title: "created at", Help: "where they were created", Value: result.Texts(func(s *siteOf) string { return at(s.Created) })},
		{Name: "submitted_at", Title: "submitted at", Help: "where they were submitted", Value: result.Texts(func(s *siteOf) string { return at(s.Submitted) })},
		{Name: "tasks", Title: "tasks", Unit: result.Count, Help: "how many were measured", Value: result.Ints(func(s *siteOf) int64 { return int64(s.Tasks) })},
	}
	for _, what := range []struct {
		name, help string
		of         func(*siteOf) *Histogram
	}{
		{"cycles", "cycles of a task", func(s *siteOf) *Histogram { return &s.Cycles }},
		{"running_ns", "ns for which a task ran", func(s *siteOf) *Histogram { return &s.RunningNS }},
		{"wall_ns", "ns from the start of a task to its end", func(s *siteOf) *Histogram { return &s.WallNS }},
		{"blocked_ns", "ns for which a task was off the processor", func(s *siteOf) *Histogram { return &s.BlockedNS }},
	} {
		add := func(name string, of func(*Histogram) float64) {
			columns = append(columns, result.Column[siteOf]{Name: what.name + "_" + name, Title: what.name + " " + name, Unit: result.Number, Quotient: result.Single, Help: name + " of " + what.help,
				Value: func(s *siteOf) (result.Value, bool) {
					h := what.of(s)
					return result.Float(of(h)), h.Count() > 0
				}})
		}
		for _, q := range []float64{.01, .25, .5, .75, .99} {
			add(fmt.Sprintf("p%.0f", 100*q), func(h *Histogram) float64 { return h.Quantile(q) })
		}
		add("mean", (*Histogram).Mean)
		add("sum", (*Histogram).Sum)
	}
	var rows []siteOf
	for i := range p.Classes {
		c := &p.Classes[i]
		for _, s := range c.Sites {
			rows = append(rows, siteOf{s, c})
		}
		if len(c.Sites) == 0 {
			rows = append(rows, siteOf{Site{Tasks: c.Tasks, Cycles: c.Cycles, RunningNS: c.RunningNS, WallNS: c.WallNS, BlockedNS: c.BlockedNS}, c})
		}
	}
	t := result.New(columns, rows, 0)
	t.Title, t.SortedBy = "Tasks by the places that they come from", "tasks"
	return t
}

// Summary returns the columns of a profile as a whole. Conditions and benchmarks use the same
// names.
func Summary() []result.Column[Profile] {
	return []result.Column[Profile]{
		{Name: "tasks", Title: "tasks", Unit: result.Count, Help: "how many were measured", Value: result.Ints(func(p *Profile) int64 { return int64(p.countTasks("")) })},
		{Name: "fine-tasks-%", Title: "too small", Unit: result.Ratio, Help: "part of the tasks that are too small", Value: diagnosed(Fine)},
		{Name: "coarse-tasks-%", Title: "too large", Unit: result.Ratio, Help: "part of the tasks that are too large", Value: diagnosed(Coarse)},
		{Name: "blocked-tasks-%", Title: "mostly blocked", Unit: result.Ratio, Help: "part of the tasks that are mostly blocked", Value: diagnosed(Blocked)},
		{Name: "unknown-tasks-%", Title: "unknown", Unit: result.Ratio, Help: "part of the tasks whose diagnosis is unknown", Value: diagnosed(Unknown)},
		{Name: "cycles/task", Title: "cycles a task", Unit: result.Number, Help: "mean cycles of a task", Value: func(p *Profile) (result.Value, bool) {
			v, known := p.meanOf(func(c *Class) *Histogram { return &c.Cycles })
			return result.Float(v), known && !p.ByTime()
		}},
		{Name: "running/task", Title: "running time a task", Unit: result.Duration, Help: "mean running time of a task", Value: func(p *Profile) (result.Value, bool) {
			v, known := p.meanOf(p.Granularity)
			d, timed := p.Duration(v)
			return result.Int(d), known && timed
		}},
		{Name: "wall/task", Title: "time a task", Unit: result.Duration, Help: "mean time from the start of a task to its end", Value: func(p *Profile) (result.Value, bool) {
			v, known := p.meanOf(func(c *Class) *Histogram { return &c.WallNS })
			return result.Int(time.Duration(v)), known
		}},
	}
}

// countTasks counts the tasks of all classes with a diagnosis, or of all classes if it is "".
func (p *Profile) countTasks(d string) (n float64) {
	for i := range p.Classes {
		if d == "" || p.Classes[i].Diagnosis == d {
			n += float64(p.Classes[i].Tasks)
		}
	}
	return n
}

// diagnosed returns the part of tasks in classes with the diagnosis; 0 if there are no tasks.
func diagnosed(d string) func(*Profile) (result.Value, bool) {
	return func(p *Profile) (result.Value, bool) {
		return result.Float(p.countTasks(d) / max(1, p.countTasks(""))), true
	}
}

// meanOf returns the mean over all tasks of all classes.
func (p *Profile) meanOf(of func(*Class) *Histogram) (mean float64, known bool) {
	var sum, count float64
	for i := range p.Classes {
		h := of(&p.Classes[i])
		sum += h.Sum()
		count += float64(h.Count())
	}
	return sum / max(1, count), count > 0
}
