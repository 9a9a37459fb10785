package main

import (
	"context"
	"fmt"
	"time"

	"github.com/bottleneck-go/bottleneck/counters"
)

// narrow takes the quanta that -from, -to and -only ask for, and says so in a warning.
func (r *reportReading) narrow(ctx context.Context) error {
	f, rec := r.flags, r.data.Counters
	if f.from > 0 || f.to > 0 {
		r.data.Warnings = append(r.data.Warnings, fmt.Sprintf("Graph and quanta are those %s; the speed-up is of the whole recording, and so is what was saved before.", stretch(f.from, f.to)))
		r.narrowWindows()
	}
	if rec == nil || f.only == "" && f.from == 0 && f.to == 0 {
		return nil
	}
	e, err := counters.NewExplorer(rec)
	if err != nil {
		return err
	}
	set, err := e.Select(ctx, f.filter)
	if err != nil {
		return usagef("-only: %v", err)
	}
	to := int64(f.to)
	inside := counters.RowsWhere(rec.Len(), func(row int) bool {
		return rec.Begin[row] >= int64(f.from) && (to == 0 || rec.Begin[row] < to)
	})
	kept := set.Intersect(inside)
	r.data.Counters = subset(rec, kept)
	if f.only != "" {
		r.data.Warnings = append(r.data.Warnings, fmt.Sprintf("Only the quanta with %s were kept: %d of %d.", f.filter, kept.Count(), rec.Len()))
	}
	return nil
}

func stretch(from, to time.Duration) string {
	if to == 0 {
		return "from " + from.String() + " on"
	}
	return "from " + from.String() + " to " + to.String()
}

// subset copies rows of a recording. Totals stay what they were: what the other rows counted is in
// the remainders then.
func subset(rec *counters.Recording, set *counters.Set) *counters.Recording {
	out := *rec
	out.Goroutine, out.Group, out.Thread, out.Proc = pick(rec.Goroutine, set), pick(rec.Group, set), pick(rec.Thread, set), pick(rec.Proc, set)
	out.Begin, out.Duration = pick(rec.Begin, set), pick(rec.Duration, set)
	out.Ending, out.Wait, out.Func = pick(rec.Ending, set), pick(rec.Wait, set), pick(rec.Func, set)
	out.Counters = nil
	for _, c := range rec.Counters {
		values := c.Values
		c.Values = pick(values, set)
		if !c.Level {
			c.Remainder += known(values) - known(c.Values)
		}
		out.Counters = append(out.Counters, c)
	}
	return &out
}

func pick[T any](column []T, set *counters.Set) []T {
	out := make([]T, 0, set.Count())
	for row := range set.Rows() {
		out = append(out, column[row])
	}
	return out
}

// known sums up the values that are known.
func known(values []int64) (sum int64) {
	for _, v := range values {
		if v != counters.Unknown {
			sum += v
		}
	}
	return sum
}
