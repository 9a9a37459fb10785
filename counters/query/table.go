package query

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// TableQuery asks for sums and means of groups of quanta that share a property.
type TableQuery struct {
	// By is the property: group, kind, goroutine, func, caller, proc, thread, ended or wait.
	By string `json:"by"`
	// Metrics has at most 8 metrics.
	Metrics []string `json:"metrics,omitempty"`
	// Limit is the maximum number of rows, those that ran longest; the others are added up. 0 means
	// 50.
	Limit int `json:"limit,omitempty"`
}

// Table is the answer to a [TableQuery].
type Table struct {
	By      string     `json:"by"`
	Metrics []string   `json:"metrics"` // canonical
	Units   []string   `json:"units"`
	Rows    []TableRow `json:"rows"`
	Others  *TableRow  `json:"others"` // sum of the rows beyond the limit; nil if none
	Groups  int        `json:"groups"` // all
}

// TableRow summarizes the quanta with one key.
type TableRow struct {
	Key       string `json:"key"`
	Goroutine *int64 `json:"goroutine,omitempty"`
	Thread    *int64 `json:"thread,omitempty"`
	Proc      *int64 `json:"proc,omitempty"`
	Groups    int    `json:"groups,omitempty"` // of Others
	Count     int    `json:"count"`
	Duration  Value  `json:"duration"` // ns
	Cells     []Cell `json:"cells"`
}

// Cell summarizes the known values of a metric, like [Statistics].
type Cell struct {
	Known       int   `json:"known"`
	Sum         Value `json:"sum"`
	Mean        Value `json:"mean"`
	Min         Value `json:"min"`
	Max         Value `json:"max"`
	RatioOfSums Value `json:"ratio_of_sums"`
}

// tally accumulates a cell.
type tally struct {
	sum, over, under sum
	min, max         float64
	known            int
}

func (t *tally) add(v float64) {
	if v != v {
		return
	}
	if t.known == 0 {
		t.min, t.max = v, v
	}
	t.min, t.max = min(t.min, v), max(t.max, v)
	t.known++
	t.sum.add(v)
}

func (t *tally) cell() Cell {
	nan := Value(math.NaN())
	if t.known == 0 {
		return Cell{Sum: nan, Mean: nan, Min: nan, Max: nan, RatioOfSums: Value(finite(t.over.total() / t.under.total()))}
	}
	total := t.sum.total()
	return Cell{
		Known: t.known, Sum: Value(total), Mean: Value(finite(total / float64(t.known))), Min: Value(t.min), Max: Value(t.max),
		RatioOfSums: Value(finite(t.over.total() / t.under.total())),
	}
}

// tallies holds the cells of one key.
type tallies struct {
	count    int
	duration sum
	cells    []tally
}

// metricSet holds several metrics that are evaluated together.
type metricSet struct {
	names, units []string
	metrics      []*compiled
	columns      []column // the metrics, then the sides of those that are quotients
	sides        []int    // index of the sides by metric; 0 if none
}

// compileAll compiles metrics given as texts.
func (e *Explorer) compileAll(part string, texts []string, most int) (*metricSet, error) {
	if len(texts) > most {
		return nil, &PartError{part, fmt.Errorf("%d metrics are more than %d", len(texts), most)}
	}
	set := &metricSet{names: []string{}, units: []string{}}
	var sides []column
	for _, text := range texts {
		c, name, err := e.compileText(part, text)
		if err != nil {
			return nil, err
		}
		set.names, set.units = append(set.names, name), append(set.units, c.unit.String())
		set.metrics = append(set.metrics, c)
		set.columns = append(set.columns, c.column)
		if c.over == nil {
			set.sides = append(set.sides, 0)
			continue
		}
		set.sides = append(set.sides, len(texts)+len(sides))
		sides = append(sides, c.over, c.under)
	}
	set.columns = append(set.columns, sides...)
	return set, nil
}

// compileText compiles a metric, and returns its canonical form.
func (e *Explorer) compileText(part, text string) (*compiled, string, error) {
	m, err := ParseMetric(text)
	if err != nil {
		return nil, "", &PartError{part, err}
	}
	c, err := e.compileMetric(m)
	if err != nil {
		return nil, "", &PartError{part, err}
	}
	return c, m.String(), nil
}

// add adds a row's values to the cells of its key.
func (m *metricSet) add(t *tallies, duration int64, values []float64) {
	if t.cells == nil {
		t.cells = make([]tally, len(m.metrics))
	}
	t.count++
	t.duration.add(float64(duration))
	for i := range t.cells {
		t.cells[i].add(values[i])
		if at := m.sides[i]; at > 0 && values[at] == values[at] && values[at+1] == values[at+1] {
			t.cells[i].over.add(values[at])
			t.cells[i].under.add(values[at+1])
		}
	}
}

func (m *metricSet) row(t *tallies) TableRow {
	out := TableRow{Count: t.count, Duration: Value(t.duration.total()), Cells: []Cell{}}
	for i := range t.cells {
		out.Cells = append(out.Cells, t.cells[i].cell())
	}
	return out
}

// Table answers a [TableQuery] for a set. It takes about 20 ns per row and metric. The error
// describes what is wrong with the query.
func (e *Explorer) Table(ctx context.Context, q TableQuery, set *Set) (*Table, error) {
	keys, ok := e.by(q.By)
	if !ok {
		return nil, &PartError{"table", errBy(q.By)}
	}
	m, err := e.compileAll("table", q.Metrics, 8)
	if err != nil {
		return nil, err
	}
	all := make([]tallies, keys.n)
	err = visit(ctx, set, m.columns, func(row int, values []float64) {
		m.add(&all[keys.of(row)], e.rec.Duration[row], values)
	})
	if err != nil {
		return nil, err
	}
	var used []int32
	for key := range all {
		if all[key].count > 0 {
			used = append(used, int32(key))
		}
	}
	slices.SortStableFunc(used, func(a, b int32) int { return cmp.Compare(all[b].duration.total(), all[a].duration.total()) })
	out := &Table{By: q.By, Metrics: m.names, Units: m.units, Rows: []TableRow{}, Groups: len(used)}
	limit := q.Limit
	if limit <= 0 {
		limit = 50
	}
	for _, key := range used[:min(limit, len(used))] {
		row := m.row(&all[key])
		row.Key = keys.label(key)
		if number, ok := keys.number(key); ok {
			row.setNumber(q.By, number)
		}
		out.Rows = append(out.Rows, row)
	}
	if len(used) > limit {
		out.Others, err = e.others(ctx, m, set, keys, used[:limit])
		out.Others.Groups = len(used) - limit
	}
	return out, err
}

func (r *TableRow) setNumber(by string, number int64) {
	switch by {
	case "goroutine":
		r.Goroutine = &number
	case "thread":
		r.Thread = &number
	case "proc":
		r.Proc = &number
	}
}

// others adds up all rows except those with the given keys.
func (e *Explorer) others(ctx context.Context, m *metricSet, set *Set, keys keys, but []int32) (*TableRow, error) {
	left := make([]bool, keys.n)
	for _, key := range but {
		left[key] = true
	}
	var rest tallies
	err := visit(ctx, set, m.columns, func(row int, values []float64) {
		if !left[keys.of(row)] {
			m.add(&rest, e.rec.Duration[row], values)
		}
	})
	row := m.row(&rest)
	return &row, err
}

// keys are the keys by which rows can be grouped.
type keys struct {
	n      int                                // maximum number of keys
	of     func(row int) int32                // the key of a row, from 0
	label  func(key int32) string             // display name
	number func(key int32) (v int64, is bool) // number of a goroutine, a thread or a P
	group  func(key int32) int32              // group of a goroutine; −1 otherwise
}

func errBy(name string) error {
	return fmt.Errorf("cannot group by %s: there are group, kind, goroutine, func, caller, proc, thread, ended and wait", quote(name))
}

// by returns the keys with a name; it returns false if there are none.
func (e *Explorer) by(name string) (keys, bool) {
	rec := e.rec
	k := keys{
		number: func(int32) (int64, bool) { return 0, false },
		group:  func(int32) int32 { return -1 },
	}
	switch name {
	case "group":
		k.n, k.of = len(rec.Groups), func(row int) int32 { return rec.Group[row] }
		k.label = func(key int32) string { return rec.Groups[key].Name }
	case "kind":
		k.n, k.of = 256, func(row int) int32 { return int32(rec.Groups[rec.Group[row]].Kind) }
		k.label = func(key int32) string { return timeline.Kind(key).String() }
	case "func", "caller":
		column := e.funcs(name)
		k.n, k.of = max(len(rec.Funcs), 1), func(row int) int32 { return column[row] }
		k.label = func(key int32) string {
			if key == 0 {
				return "(not known)"
			}
			return rec.Funcs[key]
		}
	case "ended":
		k.n, k.of = 256, func(row int) int32 { return int32(rec.Ending[row]) }
		k.label = func(key int32) string { return quanta.Ending(key).String() }
	case "wait":
		k.n, k.of = 256, func(row int) int32 { return int32(rec.Wait[row]) }
		k.label = func(key int32) string { return timeline.Wait(key).String() }
	case "goroutine":
		e.byGoroutine(&k)
	case "proc":
		byNumber(&k, rec.Proc, 0)
	case "thread":
		byNumber(&k, rec.Thread, 0)
	default:
		return k, false
	}
	return k, true
}

func (e *Explorer) byGoroutine(k *keys) {
	e.index()
	k.n, k.of = len(e.ids), func(row int) int32 { return e.number[row] }
	k.label = func(key int32) string { return strconv.FormatInt(e.ids[key], 10) }
	k.number = func(key int32) (int64, bool) { return e.ids[key], true }
	k.group = func(key int32) int32 { return e.groups[key] }
}

// mainGroups returns for each goroutine the group in which it ran longest. Groups of the
// application come before others, such as those of moments in which it assisted the collector or
// stopped the world.
func (e *Explorer) mainGroups() []int32 {
	type pair struct{ goroutine, group int32 }
	rec, ran := e.rec, map[pair]int64{}
	for row, g := range e.number {
		ran[pair{g, rec.Group[row]}] += rec.Duration[row]
	}
	groups := make([]int32, len(e.ids))
	for i := range groups {
		groups[i] = -1
	}
	for p, d := range ran {
		best := &groups[p.goroutine]
		if *best < 0 {
			*best = p.group
			continue
		}
		own, bestOwn := rec.Groups[p.group].Kind == timeline.Application, rec.Groups[*best].Kind == timeline.Application
		old := ran[pair{p.goroutine, *best}]
		if own != bestOwn {
			if own {
				*best = p.group
			}
		} else if d > old || d == old && p.group < *best {
			*best = p.group
		}
	}
	return groups
}

// byNumber sets the keys to a column of numbers, in which values below least are unknown.
func byNumber[T int32 | int64](k *keys, column []T, least int64) {
	wide := make([]int64, len(column))
	for row, v := range column {
		wide[row] = max(int64(v), least-1)
	}
	number, ids := make([]int32, len(wide)), []int64(nil)
	numbers := numberer(wide)
	for row, v := range wide {
		number[row] = numbers(v)
		if int(number[row]) == len(ids) {
			ids = append(ids, v)
		}
	}
	k.n, k.of = len(ids), func(row int) int32 { return number[row] }
	k.number = func(key int32) (int64, bool) { return ids[key], ids[key] >= least }
	k.label = func(key int32) string {
		if ids[key] < least {
			return "(not known)"
		}
		return strconv.FormatInt(ids[key], 10)
	}
}
