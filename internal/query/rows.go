package query

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
)

// rowPage holds quanta of a set, page by page. A [Query] has the first five fields; the answer has
// all.
type rowPage struct {
	Metrics    []string `json:"metrics,omitzero"` // at most 20
	Sort       string   `json:"sort,omitempty"`   // a metric; "" means the order of the recording
	Descending bool     `json:"descending,omitempty"`
	Offset     int      `json:"offset,omitempty"`
	Limit      int      `json:"limit,omitempty"` // 0 means 100, at most 10000

	Total int       `json:"total"` // number of rows of the set
	Units []string  `json:"units,omitzero"`
	Rows  []quantum `json:"rows,omitzero"`
}

// quantum is one with its names.
type quantum struct {
	Row       int     `json:"row"`
	Goroutine int64   `json:"goroutine"`
	Group     string  `json:"group"`
	Kind      string  `json:"kind"`
	Thread    *int64  `json:"thread"` // nil if unknown
	Proc      *int32  `json:"proc"`
	Begin     int64   `json:"begin"`
	Duration  int64   `json:"duration"`
	Ended     string  `json:"ended"`
	Wait      string  `json:"wait"`
	Func      string  `json:"func"`             // "" if unknown
	Caller    string  `json:"caller,omitempty"` // likewise
	Values    []Value `json:"values"`           // by metric
}

// rows answers the question of a rowPage for a set. Rows with an unknown value come last, equal
// ones in the order of the recording.
func (e *Explorer) rows(ctx context.Context, q rowPage, set []int) (*rowPage, error) {
	metrics, err := e.compileAll(20, q.Metrics...)
	if err != nil {
		return nil, err
	}
	if q.Offset < 0 || q.Limit < 0 || q.Limit > 10_000 {
		return nil, fmt.Errorf("want 0 to 10000 rows, got %d from row %d", q.Limit, q.Offset)
	}
	q.Limit = cmp.Or(q.Limit, 100)
	order, err := e.ordered(ctx, q, set)
	if err != nil {
		return nil, err
	}
	q.Total, q.Metrics, q.Units, q.Rows = len(set), []string{}, []string{}, []quantum{}
	for _, m := range metrics {
		q.Metrics, q.Units = append(q.Metrics, m.name), append(q.Units, m.unit.String())
	}
	from := min(q.Offset, len(order))
	for _, i := range order[from:min(from+q.Limit, len(order))] {
		row := e.row(i)
		for _, m := range metrics {
			row.Values = append(row.Values, Value(m.of(i)))
		}
		q.Rows = append(q.Rows, row)
	}
	return &q, nil
}

// row returns a quantum with its names, without values.
func (e *Explorer) row(i int) quantum {
	r := e.rec
	group := r.Groups[r.Group[i]]
	out := quantum{
		Row: i, Goroutine: r.Goroutine[i], Group: group.Name, Kind: group.Kind.String(), Begin: r.Begin[i], Duration: r.Duration[i],
		Ended: r.Ending[i].String(), Wait: r.Wait[i].String(), Values: []Value{},
	}
	if r.Func[i] > 0 {
		out.Func = r.Funcs[r.Func[i]]
	}
	if e.callers[i] > 0 {
		out.Caller = r.Funcs[e.callers[i]]
	}
	if r.Thread[i] >= 0 {
		out.Thread = &r.Thread[i]
	}
	if r.Proc[i] >= 0 {
		out.Proc = &r.Proc[i]
	}
	return out
}

// ordered returns the rows of a set in order, at least up to the end of the requested page.
func (e *Explorer) ordered(ctx context.Context, q rowPage, set []int) ([]int, error) {
	rows := slices.Clone(set)
	if q.Sort == "" {
		if q.Descending {
			slices.Reverse(rows)
		}
		return rows, nil
	}
	values, err := e.Values(ctx, q.Sort, set)
	if err != nil {
		return nil, err
	}
	for i, v := range values {
		if v != v {
			values[i] = math.Inf(1)
		} else if q.Descending {
			values[i] = -v
		}
	}
	// Selecting the last value of the page first is faster than sorting all rows.
	limit := math.Inf(1)
	if n := q.Offset + q.Limit; n < len(values) {
		sorted := slices.Clone(values)
		selectRanks(sorted, 0, []int{n - 1}, 64)
		limit = sorted[n-1]
	}
	type keyed struct {
		row   int
		value float64
	}
	var head []keyed
	for i, v := range values {
		if v <= limit {
			head = append(head, keyed{rows[i], v})
		}
	}
	slices.SortStableFunc(head, func(a, b keyed) int { return cmp.Compare(a.value, b.value) })
	for i, k := range head {
		rows[i] = k.row
	}
	return rows[:len(head)], nil
}
