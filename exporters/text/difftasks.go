package text

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// TaskChange is a class of tasks in two profiles.
type TaskChange struct {
	Class string
	// Before and After are nil where there is no such class.
	Before, After *granularity.Class
}

// TaskChanges pairs the classes of two profiles, in the order of the later one; those which only
// the earlier one has follow.
func TaskChanges(before, after *granularity.Profile) []TaskChange {
	var out []TaskChange
	for i := range after.Classes {
		out = append(out, TaskChange{Class: after.Classes[i].Name, After: &after.Classes[i]})
	}
	for i := range before.Classes {
		c := &before.Classes[i]
		if at := slices.IndexFunc(out, func(o TaskChange) bool { return o.Class == c.Name && o.Before == nil }); at >= 0 {
			out[at].Before = c
		} else {
			out = append(out, TaskChange{Class: c.Name, Before: c})
		}
	}
	return out
}

// WriteTasksDiff writes what changed from one profile of tasks to another: for each class the
// number of tasks, their median granularity, what part of their time they were blocked, and the
// diagnosis. Granularity is in cycles, or in time unless both profiles have cycles. The error is
// that of w.
func WriteTasksDiff(w io.Writer, before, after *granularity.Profile, opt Options) error {
	if before == nil || after == nil {
		return errors.New("text: no profile of tasks")
	}
	opt = opt.withDefaults()
	d := &tasksDiff{before: before, after: after, byTime: before.ByTime() || after.ByTime(), style: style{colour: opt.Colour, ascii: opt.ASCII}}
	changes := TaskChanges(before, after)
	names := make([]string, len(changes))
	for i, c := range changes {
		names[i] = c.Class
	}
	t := &changeTable{style: d.style, head: []string{"class", "tasks before", "after", "p50 before", "after", "change", "blocked before", "after", "diagnosis"}}
	for i, name := range format.Funcs(names) {
		c := changes[i]
		row := []string{cmp.Or(strings.TrimSpace(d.style.clean(name)), "(no name)")}
		row = append(row, tasksOf(c.Before), tasksOf(c.After), d.median(before, c.Before), d.median(after, c.After), d.change(c))
		row = append(row, blockedOf(c.Before), blockedOf(c.After), d.diagnosis(c))
		t.row(row...)
	}
	var b strings.Builder
	if len(changes) == 0 {
		b.WriteString("No tasks were measured.\n")
	} else {
		t.write(&b, opt.Width)
		unit := "cycles"
		if d.byTime {
			unit = "time"
		}
		b.WriteString(d.style.paintLines(dim, wrap("p50: median granularity in "+unit+". Blocked: the part of their time off the processor.", opt.Width, 0)) + "\n")
	}
	warn := func(s string) {
		b.WriteString(d.style.paint(bold, "Warning:") + wrap(d.style.clean(s), opt.Width, len("Warning:")) + "\n")
	}
	if before.Source != after.Source {
		warn(fmt.Sprintf("the profiles are measured differently, by %s and by %s.", before.Source, after.Source))
	}
	for _, s := range before.Warnings {
		warn("before: " + s)
	}
	for _, s := range after.Warnings {
		warn("after: " + s)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("text: writing: %w", err)
	}
	return nil
}

// tasksDiff is a comparison under way.
type tasksDiff struct {
	before, after *granularity.Profile
	byTime        bool // one of them has no cycles
	style         style
}

// quantity is the median of a class, in nanoseconds if by time; ok is false where it is not known.
func (d *tasksDiff) quantity(p *granularity.Profile, c *granularity.Class) (v float64, ok bool) {
	if c == nil || p.Granularity(c).Count() == 0 {
		return 0, false
	}
	v = p.Granularity(c).Quantile(.5)
	if !d.byTime {
		return v, true
	}
	t, ok := p.Duration(v)
	return float64(t), ok
}

func (d *tasksDiff) median(p *granularity.Profile, c *granularity.Class) string {
	v, ok := d.quantity(p, c)
	switch {
	case !ok:
		return format.Unknown
	case d.byTime:
		return format.Duration(time.Duration(v))
	}
	return format.Quantity(v)
}

func (d *tasksDiff) change(c TaskChange) string {
	before, ok := d.quantity(d.before, c.Before)
	after, too := d.quantity(d.after, c.After)
	if !ok || !too {
		return format.Unknown
	}
	return ratioOf(before, after)
}

func tasksOf(c *granularity.Class) string {
	if c == nil {
		return format.Unknown
	}
	return format.Count(c.Tasks)
}

// blockedOf is the part of their time that tasks were off the processor. Where only pauses are
// known, it counts tasks that made one alone, and says nothing of the others.
func blockedOf(c *granularity.Class) string {
	if c == nil || c.WallNS.Sum() == 0 || c.BlockedNS.Count() < c.WallNS.Count() {
		return format.Unknown
	}
	return format.Percent(time.Duration(min(1, c.BlockedNS.Sum()/c.WallNS.Sum())*1e9), 1e9)
}

// diagnosis is that of before and after, or of both.
func (d *tasksDiff) diagnosis(c TaskChange) string {
	var of [2]string
	for i, class := range []*granularity.Class{c.Before, c.After} {
		if of[i] = "none"; class != nil {
			of[i] = string(class.Diagnosis.OrUnknown())
		}
	}
	if of[0] == of[1] {
		return of[0]
	}
	return of[0] + " to " + of[1]
}
