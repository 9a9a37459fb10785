package query

import (
	"context"
	"fmt"
	"math"
)

// SeriesQuery asks for a metric over time.
type SeriesQuery struct {
	Metric string `json:"metric"`
	Bins   int    `json:"bins,omitempty"` // 0 means 400, at most 10000
	// From and To bound the time, in ns; both 0 means the whole recording.
	From int64 `json:"from,omitempty"`
	To   int64 `json:"to,omitempty"`
}

// Series is the answer to a [SeriesQuery]. A quantum counts in the bin in which it begins.
type Series struct {
	Metric  string      `json:"metric"`
	Unit    string      `json:"unit"`
	From    int64       `json:"from"`
	To      int64       `json:"to"`
	Bins    []SeriesBin `json:"bins"`
	Outside int         `json:"outside"` // quanta of the set that begin at other times
}

// SeriesBin summarizes the known values of the quanta of a bin, like [Statistics].
type SeriesBin struct {
	Count int   `json:"count"`
	Known int   `json:"known"`
	Sum   Value `json:"sum"`
	Mean  Value `json:"mean"`
	Min   Value `json:"min"`
	Max   Value `json:"max"`
}

// Series answers a [SeriesQuery] for a set. It takes about 15 ns per row.
func (e *Explorer) Series(ctx context.Context, q SeriesQuery, set *Set) (*Series, error) {
	c, name, err := e.compileText("series", q.Metric)
	if err != nil {
		return nil, err
	}
	if q.Bins == 0 {
		q.Bins = 400
	}
	if q.Bins < 0 || q.Bins > 10_000 {
		return nil, &PartError{"series", fmt.Errorf("%d bins are not between 1 and 10000", q.Bins)}
	}
	if q.From, q.To, err = e.window(q.From, q.To); err != nil {
		return nil, &PartError{"series", err}
	}
	out := &Series{Metric: name, Unit: c.unit.String(), From: q.From, To: q.To}
	bins, counts := make([]tally, q.Bins), make([]int, q.Bins)
	from, width := float64(q.From), float64(q.To-q.From)
	err = visit(ctx, set, []column{c.column}, func(row int, v []float64) {
		begin := e.rec.Begin[row]
		if begin < q.From || begin >= q.To {
			out.Outside++
			return
		}
		bin := min(q.Bins-1, int((float64(begin)-from)/width*float64(q.Bins)))
		counts[bin]++
		bins[bin].add(v[0])
	})
	for i := range bins {
		cell := bins[i].cell()
		out.Bins = append(out.Bins, SeriesBin{counts[i], cell.Known, cell.Sum, cell.Mean, cell.Min, cell.Max})
	}
	return out, err
}

// window checks an interval. The whole recording ends after the beginning of its last quantum.
func (e *Explorer) window(from, to int64) (int64, int64, error) {
	if from == 0 && to == 0 {
		to = max(int64(e.rec.Wall), 1)
		if n := e.rec.Len(); n > 0 {
			to = max(to, e.rec.Begin[n-1]+1)
			from = min(from, e.rec.Begin[0])
		}
	}
	if to <= from || uint64(to-from) > math.MaxInt64 {
		return 0, 0, fmt.Errorf("no time is between %d and %d", from, to)
	}
	return from, to, nil
}

// PartSeries is a metric over time for the quanta of one part.
type PartSeries struct {
	Part string
	Series
}

// SummarySeries answers a [SummaryQuery] over time, in the given number of bins: a series for each
// metric and part.
func (e *Explorer) SummarySeries(ctx context.Context, q SummaryQuery, bins int) (out []PartSeries, err error) {
	rows, _, err := e.Summary(ctx, q)
	if err != nil {
		return nil, err
	}
	set, _, err := e.selectText(ctx, "filter", q.Filter)
	if err != nil {
		return nil, err
	}
	parts, of, err := e.parts(q, set)
	if err != nil {
		return nil, err
	}
	sets := make([]*Set, len(parts))
	for i := range sets {
		sets[i] = NoRows(set.Len())
	}
	for row := range set.Rows() {
		sets[of(row)].add(row)
	}
	for i, row := range rows { // rows of a metric are in the order of the parts
		s, err := e.Series(ctx, SeriesQuery{Metric: row.Metric, Bins: bins}, sets[i%len(sets)])
		if err != nil {
			return nil, err
		}
		out = append(out, PartSeries{row.Part, *s})
	}
	return out, nil
}
