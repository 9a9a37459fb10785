package fleet

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/critical"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// A table has the columns of a result after those of its key. Which columns a result has may
// depend on its rows, so those of an empty one are taken: they are always the same.
type table struct {
	name string
	of   func(*resultSet) *result.Table // nil if the results lack it
}

var stackColumns = []result.Column[stackShare]{
	{Name: "share_ns", Unit: result.Duration, Part: true, Value: result.Ints(func(s *stackShare) int64 { return s.Share })},
	{Name: "running_ns", Unit: result.Duration, Value: result.Ints(func(s *stackShare) int64 { return s.Running })},
	{Name: "group", Value: result.Texts(func(s *stackShare) string { return s.Group })},
	{Name: "stack", Value: result.Texts(func(s *stackShare) string { return s.Calls })},
}

// tables are made of the sums for each key.
var tables = []table{
	{"boxes", func(r *resultSet) *result.Table { return tableOf(r.Graph) }},
	{"ledger", func(r *resultSet) *result.Table { return tableOf(r.Ledger) }},
	{"pairs", func(r *resultSet) *result.Table { return tableOf(r.Contention) }},
	{"tasks", func(r *resultSet) *result.Table { return tableOf(r.Tasks) }},
	{"critical", func(r *resultSet) *result.Table { return tableOf(r.Paths) }},
	{"stacks", func(r *resultSet) *result.Table { return result.New(stackColumns, r.Stacks, 0) }},
}

// tableOf returns the table of a result, or nil without one.
func tableOf[R any, P interface {
	*R
	Table() *result.Table
}](r P) *result.Table {
	if r == nil {
		return nil
	}
	return r.Table()
}

// tracesTables are made of single traces, with their names.
var (
	findingColumns = append([]result.Column[finding]{
		{Name: "file", Value: result.Texts(func(f *finding) string { return f.file })},
	}, result.Lift(verdict.Columns, func(f *finding) *verdict.Finding { return f.Finding })...)
	errorColumns = []result.Column[fileRow]{
		{Name: "file", Value: result.Texts(func(t *fileRow) string { return t.File })},
		{Name: "error", Value: result.Texts(func(t *fileRow) string { return t.Err })},
	}
)

type finding struct {
	file string
	*verdict.Finding
}

// empty has the results without rows, whose tables have the columns of all.
var empty = &resultSet{Graph: &bottle.Graph{}, Ledger: &ledger.Ledger{}, Contention: &contention.Profile{}, Tasks: &granularity.Profile{}, Paths: &critical.Profile{}}

// writer writes the rows of one table to a Parquet file.
type writer struct {
	mu sync.Mutex // held while rows are written
	//lint:ignore SA1019 its replacement wants a type for each table; rows need none
	out     *parquet.Writer
	columns []result.Head
	keys    []parquet.LeafColumn
	leaves  []parquet.LeafColumn
}

// newWriter returns a writer to w of a table with the columns of the key and these.
func newWriter(w io.Writer, name string, columns []result.Head) *writer {
	nodes := parquet.Group{}
	for _, k := range keyColumns {
		nodes[k] = parquet.String()
	}
	// The boxes' own windows are not asked for.
	t := &writer{columns: slices.DeleteFunc(slices.Clone(columns), func(h result.Head) bool { return nodes[h.Name] != nil })}
	for i := range t.columns {
		h := &t.columns[i]
		switch {
		case h.Unit.IsText():
			nodes[h.Name] = parquet.Optional(parquet.String())
		case h.Unit.Whole():
			nodes[h.Name] = parquet.Optional(parquet.Int(64))
		default:
			nodes[h.Name] = parquet.Optional(parquet.Leaf(parquet.DoubleType))
		}
	}
	schema := parquet.NewSchema(name, nodes)
	leaf := func(name string) parquet.LeafColumn {
		c, ok := schema.Lookup(name)
		if !ok {
			panic("no column " + name)
		}
		return c
	}
	for _, k := range keyColumns {
		t.keys = append(t.keys, leaf(k))
	}
	for i := range t.columns {
		t.leaves = append(t.leaves, leaf(t.columns[i].Name))
	}
	t.out = parquet.NewWriter(w, schema, parquet.Compression(&zstd.Codec{}), parquet.MaxRowsPerRowGroup(100_000))
	return t
}

// write appends the rows of a table for a key; nil has none. It is safe for concurrent use.
func (t *writer) write(key groupKey, rows *result.Table) error {
	if rows == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	values := []string{key.Service, key.Version, key.Host, key.Window}
	at := map[string]int{}
	for i := range rows.Columns {
		at[rows.Columns[i].Name] = i
	}
	for _, cells := range rows.Rows {
		row := make(parquet.Row, len(t.keys)+len(t.leaves))
		for i, k := range t.keys {
			row[k.ColumnIndex] = parquet.ValueOf(values[i]).Level(0, 0, k.ColumnIndex)
		}
		for i, leaf := range t.leaves {
			v := parquet.NullValue().Level(0, 0, leaf.ColumnIndex)
			if j, ok := at[t.columns[i].Name]; ok && cells[j].Known {
				h, c := &t.columns[i], &cells[j]
				switch {
				case h.Unit.IsText():
					v = parquet.ValueOf(strings.Join(append([]string{c.Text}, c.More...), "; "))
				case h.Unit.Whole():
					v = parquet.ValueOf(c.Int)
				case !math.IsNaN(c.Float) && !math.IsInf(c.Float, 0):
					v = parquet.ValueOf(c.Float)
				}
				if !v.IsNull() {
					v = v.Level(0, 1, leaf.ColumnIndex)
				}
			}
			row[leaf.ColumnIndex] = v
		}
		if _, err := t.out.WriteRows([]parquet.Row{row}); err != nil {
			return fmt.Errorf("writing a row: %w", err)
		}
	}
	return nil
}

func (t *writer) close() error { return t.out.Close() }
