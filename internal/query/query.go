// Package query answers questions about a recording of package counters: the number of scheduling
// quanta that a filter selects, the statistics of a metric over them, its development over time,
// its correlations, and the counters that distinguish two sets of quanta.
//
// [CheckFilter] defines the language of filters and metrics. A filter over two million quanta takes
// 10 to 120 ms on one core, the statistics of a metric 70 to 240 ms (BenchmarkSelect,
// BenchmarkStatistics).
package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Query selects a set of quanta of a recording, and lists what to compute for them. Every part is
// optional. Its JSON form is the same for commands, URLs and pages.
type Query struct {
	// Filter selects the set: see [CheckFilter]. "" means all quanta.
	Filter string `json:"filter,omitempty"`
	// Against selects a second set, for Compare. "" means all quanta that are not in the first.
	Against string `json:"against,omitempty"`
	// Units are metrics whose units are returned, at most 50. Their values are not computed.
	Units   []string `json:"units,omitempty"`
	Stats   []string `json:"stats,omitempty"` // metrics to summarize, at most 50
	Table   *Table   `json:"table,omitempty"`
	Rows    *rowPage `json:"rows,omitempty"`
	Density *density `json:"density,omitempty"`
	Lanes   *Lanes   `json:"lanes,omitempty"`
	// Correlate are metrics whose correlations are computed, at most 20.
	Correlate []string `json:"correlate,omitempty"`
	// Compare are the metrics to compare, at most 200; nil means no comparison. An empty list means
	// the duration, the gap before the quantum, every counter, and, for each counter of changes,
	// its rate: the counter divided by the duration.
	Compare []string `json:"compare,omitzero"`
}

// Answer is the answer to a [Query]. Parts that were not requested are nil.
type Answer struct {
	Filter       string       `json:"filter"`            // "all" without one
	Against      string       `json:"against,omitempty"` // "" is the complement
	Of           int          `json:"of"`                // number of quanta of the recording
	Count        int          `json:"count"`             // number of quanta of the set
	Duration     Value        `json:"duration"`          // ns, total of the set
	AgainstCount int          `json:"against_count,omitempty"`
	Units        []string     `json:"units,omitempty"`
	Stats        []Statistics `json:"stats,omitempty"`
	Table        *Table       `json:"table,omitempty"`
	Rows         *rowPage     `json:"rows,omitempty"`
	Density      *density     `json:"density,omitempty"`
	Lanes        *Lanes       `json:"lanes,omitempty"`
	Correlation  *correlation `json:"correlation,omitempty"`
	Comparison   []comparison `json:"comparison,omitempty"` // largest difference first
}

// InPart returns an error as the [*Error] of a part of a query, unless it is one of another part.
func InPart(part string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		copied := *e
		copied.Part = cmp.Or(e.Part, part)
		return &copied
	}
	return &Error{Part: part, Pos: -1, Message: err.Error()}
}

// Answer answers a query. The error is an [*Error] for an invalid query, or that of ctx.
func (e *Explorer) Answer(ctx context.Context, q Query) (*Answer, error) {
	var err error
	part := func(name string, asked bool, answer func() error) {
		if err != nil || !asked {
			return
		}
		if err = answer(); err != nil && ctx.Err() == nil {
			err = InPart(name, err)
		}
	}
	a := &Answer{Filter: cmp.Or(strings.TrimSpace(q.Filter), "all"), Against: q.Against, Of: e.rec.Len()}
	var rows, others []int
	part("filter", true, func() (err error) { rows, err = e.Select(ctx, q.Filter); return err })
	part("against", q.Against != "", func() (err error) { others, err = e.Select(ctx, q.Against); return err })
	if q.Against == "" && q.Compare != nil {
		others = e.complement(rows)
	}
	a.Count, a.AgainstCount, a.Duration = len(rows), len(others), Value(e.duration(rows))
	for i, text := range q.Units[:min(len(q.Units), 50)] {
		part(fmt.Sprintf("units[%d]", i), true, func() error {
			m, err := e.compile(text)
			a.Units = append(a.Units, m.unit.String())
			return err
		})
	}
	part("stats", len(q.Stats) > 0, func() error {
		metrics, err := e.compileAll(50, q.Stats...)
		for _, m := range metrics {
			s, err := e.statistics(ctx, m, rows, 1, first, quantilesShown, true)
			if err != nil {
				return err
			}
			a.Stats = append(a.Stats, s...)
		}
		return err
	})
	part("table", q.Table != nil, func() (err error) { a.Table, err = e.table(ctx, *q.Table, rows); return err })
	part("rows", q.Rows != nil, func() (err error) { a.Rows, err = e.rows(ctx, *q.Rows, rows); return err })
	part("density", q.Density != nil, func() (err error) { a.Density, err = e.density(ctx, *q.Density, rows); return err })
	part("lanes", q.Lanes != nil, func() (err error) { a.Lanes, err = e.lanes(ctx, *q.Lanes, rows); return err })
	part("correlate", len(q.Correlate) > 0, func() (err error) { a.Correlation, err = e.correlate(ctx, q.Correlate, rows); return err })
	part("compare", q.Compare != nil, func() (err error) { a.Comparison, err = e.compare(ctx, q.Compare, rows, others); return err })
	if err != nil {
		return nil, err
	}
	return a, nil
}

// duration returns the total duration of rows, in ns.
func (e *Explorer) duration(rows []int) float64 {
	total := int64(0)
	for _, row := range rows {
		if total += e.rec.Duration[row]; total < 0 {
			return math.NaN()
		}
	}
	return float64(total)
}

// window checks an interval. The whole recording, 0 to 0, ends after the beginning of its last
// quantum.
func (e *Explorer) window(from, to int64) (int64, int64, error) {
	if from == 0 && to == 0 {
		to = max(int64(e.rec.Wall), 1)
		if n := e.rec.Len(); n > 0 {
			to = max(to, e.rec.Begin[n-1]+1)
			from = min(from, e.rec.Begin[0])
		}
	}
	if to <= from || uint64(to-from) > math.MaxInt64 {
		return 0, 0, fmt.Errorf("empty interval from %d to %d", from, to)
	}
	return from, to, nil
}
