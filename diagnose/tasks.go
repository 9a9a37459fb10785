package diagnose

import (
	"fmt"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// The ledger shows running goroutines, not the tasks that they work through. User regions and the
// tasks of measured pools show those. The cost of their sizes cannot be separated from other costs,
// so findings about tasks are listed beside those of the ledger. Goroutines as tasks add nothing,
// because the ledger and the graph already describe them.

// tasks returns findings about tasks that are too small, too large or too few.
func (d *diagnosis) tasks(costly []verdict.Finding) (out []verdict.Finding) {
	if d.Tasks == nil || d.Tasks.Of == granularity.OfGoroutines || d.Window || d.windowed() {
		return nil
	}
	profile := *d.Tasks
	profile.Classes = slices.Clone(profile.Classes)
	profile.Diagnose()
	for i := range profile.Classes {
		c := &profile.Classes[i]
		ran := c.RunningNS.Sum()
		if c.Tasks == 0 || ran < float64(d.l.Capacity)/10 {
			continue
		}
		mean := format.Duration(time.Duration(ran / float64(c.Tasks)))
		f := verdict.Finding{Where: d.placesOfTasks(c)}
		switch name, count := format.Clean(c.Name), format.Count(c.Tasks); c.Diagnosis {
		case granularity.Fine:
			f.Kind = Tiny
			f.Title = fmt.Sprintf("Tiny tasks: %s of %q ran for %s each, on average.", count, name, mean)
			f.Advice = fmt.Sprintf("To hand a task over costs some %s: make one of about %s.", format.Duration(profile.Overhead), format.Count(c.Merge))
		case granularity.Coarse:
			f.Kind = Starved
			f.Title = fmt.Sprintf("Too few tasks for %s: %s of %q, of %s on average.", format.Plural(d.l.Procs, "processor", "processors"), count, name, mean)
			f.Advice = fmt.Sprintf("Split them into %s or more, and begin with the largest.", format.Count(c.Split))
		case granularity.Straggler:
			f.Kind = Imbalance
			f.Title = fmt.Sprintf("The largest task of %q ran for %s, and the %s of them for %s each, on average: the others are done before it.", name, format.Duration(time.Duration(c.RunningNS.Max())), count, mean)
			f.Advice = fmt.Sprintf("Split it into %s or so, and begin with the largest.", format.Count(c.Split))
		default:
			continue
		}
		uneven := slices.IndexFunc(costly, func(f verdict.Finding) bool { return f.Kind == Imbalance })
		switch {
		case f.Kind == Imbalance && uneven >= 0: // the same, from the goroutines that work on them
			costly[uneven].Advice = f.Title + " " + f.Advice
		case f.Kind == Tiny && has(costly, Tiny), f.Kind == Starved && (uneven >= 0 || has(costly, Starved) || has(costly, Serial)):
		default:
			f.Basis = "cannot tell: it depends on how the tasks are divided"
			out = append(out, f)
		}
	}
	return out[:min(len(out), 2)]
}

// placesOfTasks returns the places that tasks come from.
func (d *diagnosis) placesOfTasks(c *granularity.Class) []timeline.Place {
	for _, s := range c.Sites {
		for _, f := range slices.Concat(s.Submitted, s.Created) {
			if p := (timeline.Place{Func: f.Func, File: f.File, Line: f.Line}); d.own(p) {
				return d.places(p)
			}
		}
	}
	return nil
}
