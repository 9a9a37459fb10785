package main

import (
	"context"
	"fmt"
	"time"

	"github.com/bottleneck-go/bottleneck/counters/query"
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
	e, err := query.NewExplorer(rec)
	if err != nil {
		return err
	}
	set, err := e.Select(ctx, f.filter)
	if err != nil {
		return usagef("-only: %v", err)
	}
	to := int64(f.to)
	inside := query.RowsWhere(rec.Len(), func(row int) bool {
		return rec.Begin[row] >= int64(f.from) && (to == 0 || rec.Begin[row] < to)
	})
	kept := set.Intersect(inside)
	r.data.Counters = rec.Only(kept.Rows())
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
