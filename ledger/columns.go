package ledger

import (
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/result"
)

// Columns are the columns of [Ledger.Rows], the most important first.
var Columns = []result.Column[Row]{
	{Name: "time", Title: "time", Unit: result.Duration, Part: true, Help: "time of processors; the rows sum to GOMAXPROCS × time",
		Value: func(r *Row) (result.Value, bool) { return result.Int(r.Time), true }},
	{Name: "category", Title: "category", Help: "what the processor did",
		Value: func(r *Row) (result.Value, bool) { return text(r.Category) }},
	{Name: "wait", Title: "waited for", Help: "what the goroutine that ended the gap had waited for; of code, the lock in whose methods CPU samples were",
		Value: func(r *Row) (result.Value, bool) { return text(r.Wait) }},
	{Name: "function", Title: "function", Unit: result.Func, Help: "the function that ran, or in which the goroutine that ended the gap had waited",
		Value: func(r *Row) (result.Value, bool) { return text(r.Site.Func) }},
	{Name: "line", Title: "line", Help: "where in that function",
		Value: func(r *Row) (result.Value, bool) { return text(r.Site.Source()) }},
	{Name: "group", Title: "goroutines", Unit: result.Func, Help: "the name of the goroutines that ran, or that ended the gap",
		Value: func(r *Row) (result.Value, bool) { return text(r.Group) }},
	{Name: "waker", Title: "woken by", Unit: result.Func, Help: "the name of the goroutines that ended the wait",
		Value: func(r *Row) (result.Value, bool) { return text(r.Waker) }},
	{Name: "waker_function", Title: "in", Unit: result.Func, Help: "the function in which they did",
		Value: func(r *Row) (result.Value, bool) { return text(r.WakerSite.Func) }},
	{Name: "waker_line", Title: "line", Help: "where in that function",
		Value: func(r *Row) (result.Value, bool) { return text(r.WakerSite.Source()) }},
	{Name: "beside", Title: "beside", Unit: result.Func, Help: "the name of the goroutines that ran on other processors",
		Value: func(r *Row) (result.Value, bool) { return text(r.Beside) }},
	{Name: "count", Title: "count", Unit: result.Count, Help: "number of intervals of running, or of gaps",
		Value: func(r *Row) (result.Value, bool) { return result.Int(r.Count), true }},
	{Name: "lost", Title: "lost", Unit: result.Duration, Part: true, Help: "the time of rows other than the program's own code, C code and system calls",
		Value: func(r *Row) (result.Value, bool) { return result.Int(r.lost()), true }},
	{Name: "queue", Title: "queue", Unit: result.Duration, Help: "time for which other goroutines were ready while all processors were in use, summed",
		Value: func(r *Row) (result.Value, bool) { return result.Int(r.Queue), true }},
}

func text(s string) (result.Value, bool) { return result.Str(s), s != "" }

// Table returns the rows as a table.
func (l *Ledger) Table() *result.Table {
	t := result.New(Columns, l.Rows, l.Capacity)
	t.Title = "What " + l.Extent() + " went to"
	return t
}

// Extent returns the size of the capacity, such as "2 s × 4 processors".
func (l *Ledger) Extent() string {
	return format.Capacity(l.Wall, l.Capacity, l.Procs)
}
