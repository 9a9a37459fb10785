package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Query selects a set of quanta of a recording, and lists what to compute for them. Every part is
// optional. Its JSON form is the same for commands, URLs and pages.
type Query struct {
	// Filter selects the set: see [ParseFilter]. "" means all quanta.
	Filter string `json:"filter,omitempty"`
	// Against selects a second set, for Compare. "" means all quanta that are not in the first.
	Against string `json:"against,omitempty"`
	// Units are metrics whose units are returned, at most the first 50. Their values are not
	// computed.
	Units []string `json:"units,omitempty"`
	// Stats are metrics to summarize, at most 50.
	Stats     []string        `json:"stats,omitempty"`
	Table     *TableQuery     `json:"table,omitempty"`
	Rows      *RowsQuery      `json:"rows,omitempty"`
	Series    *SeriesQuery    `json:"series,omitempty"`
	Density   *DensityQuery   `json:"density,omitempty"`
	Lanes     *LanesQuery     `json:"lanes,omitempty"`
	Correlate *CorrelateQuery `json:"correlate,omitempty"`
	Compare   *CompareQuery   `json:"compare,omitempty"`
}

// Answer is the answer to a [Query]. Parts that were not requested are nil.
type Answer struct {
	Filter       string        `json:"filter"`            // canonical
	Against      string        `json:"against,omitempty"` // canonical; "" is the complement
	Of           int           `json:"of"`                // number of quanta of the recording
	Count        int           `json:"count"`             // number of quanta of the set
	Duration     Value         `json:"duration"`          // ns, total of the set
	AgainstCount int           `json:"against_count,omitempty"`
	Units        []string      `json:"units,omitempty"`
	Stats        []*Statistics `json:"stats,omitempty"`
	Table        *Table        `json:"table,omitempty"`
	Rows         *Rows         `json:"rows,omitempty"`
	Series       *Series       `json:"series,omitempty"`
	Density      *Density      `json:"density,omitempty"`
	Lanes        *Lanes        `json:"lanes,omitempty"`
	Correlation  *Correlation  `json:"correlation,omitempty"`
	Comparison   *Comparison   `json:"comparison,omitempty"`
}

// PartError identifies the invalid part of a [Query]. In JSON it is {"error":…, "part":…}, and
// "pos" if the error is a [SyntaxError].
type PartError struct {
	Part string // filter, against, stats, table, …
	Err  error
}

// Error returns the invalid part of the query, and the error.
func (e *PartError) Error() string { return "query: " + e.Part + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *PartError) Unwrap() error { return e.Err }

// MarshalJSON returns the error as JSON.
func (e *PartError) MarshalJSON() ([]byte, error) {
	out := struct {
		Error string `json:"error"`
		Part  string `json:"part"`
		Pos   *int   `json:"pos,omitempty"`
	}{Error: e.Err.Error(), Part: e.Part}
	var syntax *SyntaxError
	if errors.As(e.Err, &syntax) {
		out.Pos = &syntax.Pos
	}
	return json.Marshal(out)
}

// Answer answers a query. The error is a [*PartError] for an invalid query, or that of ctx.
func (e *Explorer) Answer(ctx context.Context, q Query) (*Answer, error) {
	set, canonical, err := e.selectText(ctx, "filter", q.Filter)
	if err != nil {
		return nil, err
	}
	a := &Answer{Filter: canonical, Of: e.rec.Len(), Count: set.Count(), Duration: Value(e.duration(set))}
	other := (*Set)(nil)
	switch {
	case q.Against != "":
		if other, a.Against, err = e.selectText(ctx, "against", q.Against); err != nil {
			return nil, err
		}
	case q.Compare != nil:
		other = set.Complement()
	}
	if other != nil {
		a.AgainstCount = other.Count()
	}
	for i, text := range q.Units[:min(len(q.Units), 50)] {
		c, _, err := e.compileText(fmt.Sprintf("units[%d]", i), text)
		if err != nil {
			return nil, err
		}
		a.Units = append(a.Units, c.unit.String())
	}
	if err := e.stats(ctx, q.Stats, set, a); err != nil {
		return nil, err
	}
	for _, part := range []struct {
		wanted bool
		answer func() error
	}{
		{q.Table != nil, func() (err error) { a.Table, err = e.Table(ctx, *q.Table, set); return }},
		{q.Rows != nil, func() (err error) { a.Rows, err = e.Rows(ctx, *q.Rows, set); return }},
		{q.Series != nil, func() (err error) { a.Series, err = e.Series(ctx, *q.Series, set); return }},
		{q.Density != nil, func() (err error) { a.Density, err = e.Density(ctx, *q.Density, set); return }},
		{q.Lanes != nil, func() (err error) { a.Lanes, err = e.Lanes(ctx, *q.Lanes, set); return }},
		{q.Correlate != nil, func() (err error) { a.Correlation, err = e.Correlate(ctx, *q.Correlate, set); return }},
		{q.Compare != nil, func() (err error) { a.Comparison, err = e.Compare(ctx, *q.Compare, set, other); return }},
	} {
		if !part.wanted {
			continue
		}
		if err := part.answer(); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (e *Explorer) stats(ctx context.Context, metrics []string, set *Set, a *Answer) error {
	if len(metrics) > 50 {
		return &PartError{"stats", fmt.Errorf("%d metrics are more than 50", len(metrics))}
	}
	for _, text := range metrics {
		m, err := ParseMetric(text)
		if err != nil {
			return &PartError{"stats", err}
		}
		s, err := e.Statistics(ctx, m, set)
		if err != nil {
			return blamed("stats", err)
		}
		a.Stats = append(a.Stats, s)
	}
	return nil
}

// blamed adds the name of a query's part to an error.
func blamed(part string, err error) error {
	var syntax *SyntaxError
	if errors.As(err, &syntax) {
		return &PartError{part, err}
	}
	return err
}

// selectText parses a filter and selects its quanta.
func (e *Explorer) selectText(ctx context.Context, part, text string) (*Set, string, error) {
	f, err := ParseFilter(text)
	if err != nil {
		return nil, "", &PartError{part, err}
	}
	set, err := e.Select(ctx, f)
	if err != nil {
		return nil, "", blamed(part, err)
	}
	return set, f.String(), nil
}

// duration returns the total duration of a set, in ns.
func (e *Explorer) duration(set *Set) float64 {
	total := int64(0)
	for row := range set.Rows() {
		if total += e.rec.Duration[row]; total < 0 {
			return math.NaN()
		}
	}
	return float64(total)
}
