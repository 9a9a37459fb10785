package query

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
)

// RowsQuery asks for rows of a set, page by page.
type RowsQuery struct {
	Metrics    []string `json:"metrics,omitempty"` // at most 20
	Sort       string   `json:"sort,omitempty"`    // a metric; "" means the order of the recording
	Descending bool     `json:"descending,omitempty"`
	Offset     int      `json:"offset,omitempty"`
	Limit      int      `json:"limit,omitempty"` // 0 means 100, at most 10000
}

// Rows is the answer to a [RowsQuery].
type Rows struct {
	Total   int      `json:"total"` // number of rows of the set
	Metrics []string `json:"metrics"`
	Units   []string `json:"units"`
	Rows    []Row    `json:"rows"`
}

// Row is a quantum with its names.
type Row struct {
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
	Values    []Value `json:"values"`
}

// Rows answers a [RowsQuery] for a set. Rows with an unknown value come last, equal ones in the
// order of the recording.
func (e *Explorer) Rows(ctx context.Context, q RowsQuery, set *Set) (*Rows, error) {
	m, err := e.compileAll("rows", q.Metrics, 20)
	if err != nil {
		return nil, err
	}
	if q.Offset < 0 || q.Limit < 0 || q.Limit > 10_000 {
		return nil, &PartError{"rows", fmt.Errorf("cannot give %d rows from %d on: at most 10000 at a time", q.Limit, q.Offset)}
	}
	if q.Limit == 0 {
		q.Limit = 100
	}
	order, err := e.ordered(ctx, q, set)
	if err != nil {
		return nil, err
	}
	out := &Rows{Total: len(order), Metrics: m.names, Units: m.units, Rows: []Row{}}
	from := min(q.Offset, len(order))
	for _, row := range order[from:min(from+q.Limit, len(order))] {
		out.Rows = append(out.Rows, e.row(m, int(row)))
	}
	return out, nil
}

// row returns a quantum with its names.
func (e *Explorer) row(m *metricSet, i int) Row {
	r := e.rec
	group := r.Groups[r.Group[i]]
	out := Row{
		Row: i, Goroutine: r.Goroutine[i], Group: group.Name, Kind: group.Kind.String(),
		Begin: r.Begin[i], Duration: r.Duration[i], Ended: r.Ending[i].String(), Wait: r.Wait[i].String(), Values: []Value{},
	}
	if r.Func[i] > 0 {
		out.Func = r.Funcs[r.Func[i]]
	}
	if caller := e.funcs("caller")[i]; caller > 0 {
		out.Caller = r.Funcs[caller]
	}
	if r.Thread[i] >= 0 {
		out.Thread = &r.Thread[i]
	}
	if r.Proc[i] >= 0 {
		out.Proc = &r.Proc[i]
	}
	for _, c := range m.metrics {
		var v [1]float64
		c.column(v[:], i)
		out.Values = append(out.Values, Value(v[0]))
	}
	return out
}

// ordered returns the rows of a set, sorted up to the end of the requested page.
func (e *Explorer) ordered(ctx context.Context, q RowsQuery, set *Set) ([]int32, error) {
	rows := make([]int32, 0, set.Count())
	if q.Sort == "" {
		for row := range set.Rows() {
			rows = append(rows, int32(row))
		}
		if q.Descending {
			slices.Reverse(rows)
		}
		return rows, nil
	}
	c, _, err := e.compileText("rows", q.Sort)
	if err != nil {
		return nil, err
	}
	values := make([]float64, 0, cap(rows))
	err = visit(ctx, set, []column{c.column}, func(row int, v []float64) {
		rows = append(rows, int32(row))
		switch {
		case v[0] != v[0]:
			values = append(values, math.Inf(1))
		case q.Descending:
			values = append(values, -v[0])
		default:
			values = append(values, v[0])
		}
	})
	if err != nil {
		return nil, err
	}
	return sortPage(rows, values, q.Offset+q.Limit), nil
}

// sortPage sorts only the first n rows by values. Selecting the last of their values first is
// faster than sorting all rows.
func sortPage(rows []int32, values []float64, n int) []int32 {
	type keyed struct {
		row   int32
		value float64
	}
	limit := math.Inf(1)
	if n > 0 && n < len(values) {
		sorted := slices.Clone(values)
		selectRanks(sorted, 0, []int{n - 1}, 64)
		limit = sorted[n-1]
	}
	var head []keyed
	var tail []int32
	for i, v := range values {
		if v <= limit {
			head = append(head, keyed{rows[i], v})
		} else {
			tail = append(tail, rows[i])
		}
	}
	slices.SortStableFunc(head, func(a, b keyed) int { return cmp.Compare(a.value, b.value) })
	for i, k := range head {
		rows[i] = k.row
	}
	return append(rows[:len(head)], tail...)
}
