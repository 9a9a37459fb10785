package bottle

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Columns returns the columns of [Graph.Boxes].
func Columns() []result.Column[Box] {
	return []result.Column[Box]{
		{Name: "group", Title: "group", Unit: result.Func, Help: "the name of the goroutines", Value: result.Texts(func(b *Box) string { return b.Group })},
		{Name: "kind", Title: "kind", Help: "whose goroutines they are", Value: result.Texts(kindName)},
		{Name: "goroutines", Title: "goroutines", Unit: result.Count, Help: "how many there were", Value: result.Ints(func(b *Box) int { return b.Goroutines })},
		{Name: "share_ns", Title: "share", Unit: result.Duration, Part: true, Help: "share of the wall time", Value: result.Ints(func(b *Box) time.Duration { return b.Share })},
		{Name: "running_ns", Title: "running", Unit: result.Duration, Help: "time for which they ran, summed", Value: result.Ints(func(b *Box) time.Duration { return b.Running })},
		{Name: "lost_ns", Title: "lost", Unit: result.Duration, Part: true, Help: "capacity that was not used while the group ran", Value: result.Ints(func(b *Box) time.Duration { return b.Lost })},
		{Name: "parallelism", Title: "parallelism", Unit: result.Number, Quotient: [2]string{"running_ns", "share_ns"}, Help: "goroutines that ran while the group did, on average", Value: result.Floats(func(b *Box) float64 { return b.Parallelism })},
		{Name: "self_parallelism", Title: "self", Unit: result.Number, Quotient: result.Single, Help: "goroutines of the group that ran while it did, on average", Value: result.Floats(func(b *Box) float64 { return b.SelfParallelism })},
		{Name: "runnable_ns", Title: "runnable", Unit: result.Duration, Help: "time for which they were ready without a processor, summed", Value: result.Ints(func(b *Box) time.Duration { return b.Runnable })},
		{Name: "blocked_ns", Title: "blocked", Unit: result.Duration, Help: "time for which they were blocked, summed", Value: result.Ints(func(b *Box) time.Duration { return b.Blocked() })},
		{Name: "starts", Title: "started as", Unit: result.Func, Note: true, Help: "the functions that they were started as, where these are not the group", Value: result.Lists(func(b *Box) []string { return b.Starts })},
	}
}

// idleKind is the kind of the row "[idle]".
const idleKind timeline.Kind = math.MaxUint8

func kindName(b *Box) string {
	if b.Kind == idleKind {
		return "idle"
	}
	return b.Kind.String()
}

// boxOf is a box with its graph.
type boxOf struct {
	Box
	graph  *Graph
	window string // window number; "" if the graph is not a window
}

func windowColumns() []result.Column[boxOf] {
	return []result.Column[boxOf]{
		{Name: "window", Title: "window", Help: "the number of the window", Value: result.Texts(func(b *boxOf) string { return b.window })},
		{Name: "start_ns", Title: "start", Unit: result.Duration, Quotient: result.Single, Help: "where the window or graph begins in the trace", Value: result.Ints(func(b *boxOf) time.Duration { return b.graph.Start })},
		{Name: "wall_ns", Title: "wall time", Unit: result.Duration, Quotient: result.Single, Help: "the length of the window or graph", Value: result.Ints(func(b *boxOf) time.Duration { return b.graph.Wall })},
	}
}

// Table returns the boxes from the bottom of the stack to the top, and "[idle]" if there was idle
// time. share_ns sums to the wall time, and lost_ns to the unused capacity. For a graph with
// windows, Table returns the boxes of each window in order, and none of the whole graph. In
// addition to [Columns], it has columns for the window, those of the collector in the window (gc-work
// and others of [Summary]), and, unless they are empty,
//
//	waiting_…_ns  time that members waited, by reason
//	in_c_ns       time in C code: part of running_ns, except for waiting_in-c_ns
//	site_…        the place with the most time for each reason, with file and line
func (g *Graph) Table() *result.Table {
	graphs := slices.DeleteFunc(slices.Clone(g.Windows), func(w *Graph) bool { return w == nil })
	windows := len(graphs) > 0
	if !windows {
		graphs = []*Graph{g}
	}
	var rows []boxOf
	for i, g := range graphs {
		r := boxOf{graph: g}
		if windows {
			r.window = strconv.Itoa(i)
		}
		for _, r.Box = range g.Boxes {
			rows = append(rows, r)
		}
		if g.Idle > 0 {
			r.Box = Box{Group: "[idle]", Kind: idleKind, Share: g.Idle, Lost: g.IdleLost, SelfParallelism: math.NaN()}
			rows = append(rows, r)
		}
	}
	columns := append(windowColumns(), result.Lift(Columns(), func(b *boxOf) *Box { return &b.Box })...)
	if windows {
		for _, c := range result.Lift(collectorColumns(), func(b *boxOf) *Graph { return b.graph }) {
			c.Quotient = result.Single
			columns = append(columns, c)
		}
	}
	t := result.New(append(columns, reasonColumns(rows)...), rows, g.Wall)
	t.Title, t.SortedBy = "Bottle graph of "+format.Duration(g.Wall), "share_ns"
	t.SetWhole("lost_ns", g.Capacity)
	return t
}

// Groups returns the [Columns] of [Graph.Table] for the whole graph.
func (g *Graph) Groups() *result.Table {
	var names []string
	for _, h := range result.Heads(Columns()) {
		names = append(names, h.Name)
	}
	whole := *g
	whole.Windows = nil
	t, err := whole.Table().Pick(names...)
	if err != nil {
		panic(err) // the table has these columns
	}
	return t
}

// reasonColumns returns the columns that depend on the waits of the boxes.
func reasonColumns(rows []boxOf) (columns []result.Column[boxOf]) {
	waits, sites, inC := map[string]bool{}, map[string]bool{}, false
	for i := range rows {
		for reason := range rows[i].Waiting {
			waits[reason] = true
		}
		for reason := range rows[i].Sites {
			sites[reason] = true
		}
		inC = inC || rows[i].InC > 0
	}
	for _, reason := range slices.Sorted(maps.Keys(waits)) {
		columns = append(columns, result.Column[boxOf]{Name: "waiting_" + format.Clean(reason) + "_ns", Title: reason, Unit: result.Duration, Help: "time for which they waited for " + reason,
			Value: result.Ints(func(b *boxOf) time.Duration { return b.Waiting[reason] })})
	}
	if inC {
		columns = append(columns, result.Column[boxOf]{Name: "in_c_ns", Title: "in C", Unit: result.Duration, Help: "time for which they were in C code",
			Value: result.Ints(func(b *boxOf) time.Duration { return b.InC })})
	}
	for _, reason := range slices.Sorted(maps.Keys(sites)) {
		columns = append(columns, result.Column[boxOf]{Name: "site_" + format.Clean(reason), Title: reason + " at", Note: true, Help: "where they waited longest for " + reason,
			Value: result.Texts(func(b *boxOf) string {
				if s := b.TopSite(reason); s != nil {
					return s.String()
				}
				return ""
			})})
	}
	return columns
}

// collectorColumns returns the columns of [Graph.Collector].
func collectorColumns() []result.Column[Graph] {
	return []result.Column[Graph]{
		{Name: "gc-work", Title: "collector's work", Unit: result.Duration, Help: "time for which workers, assists and pauses of the garbage collector ran, summed", Value: collectorsTime(func(c *Collector) result.Value { return result.Int(c.Work) })},
		{Name: "gc-time", Title: "collector's time", Unit: result.Duration, Help: "time in which at least one of them ran", Value: collectorsTime(func(c *Collector) result.Value { return result.Int(c.Time) })},
		{Name: "gc-width", Title: "collector's width", Unit: result.Number, Help: "gc-work ÷ gc-time: processors that the collector used while it worked", Value: collectorsTime(func(c *Collector) result.Value { return result.Float(c.Width()) })},
		{Name: "gc-assists", Title: "assists", Unit: result.Duration, Help: "part of gc-work that goroutines of the application did", Value: collectorsTime(func(c *Collector) result.Value { return result.Int(c.Assists) })},
		{Name: "gc-cycles", Title: "collections", Unit: result.Count, Help: "number of collections", Value: collectorsTime(func(c *Collector) result.Value { return result.Int(int64(c.Cycles)) })},
		{Name: "gc-pauses", Title: "collector's pauses", Unit: result.Duration, Help: "part of gc-work in which the world was stopped", Value: collectorsTime(func(c *Collector) result.Value { return result.Int(c.Paused) })},
	}
}

// Summary returns the columns of a whole graph. Their names are those of conditions and benchmarks.
func Summary() []result.Column[Graph] {
	return slices.Concat([]result.Column[Graph]{
		{Name: "parallelism", Title: "parallelism", Unit: result.Number, Help: "goroutines that ran, on average", Value: result.Floats((*Graph).MeanParallelism)},
		{Name: "lost-%", Title: "lost capacity", Unit: result.Ratio, Help: "part of the capacity that was not used", Value: func(g *Graph) (result.Value, bool) { return g.ofCapacity(g.Lost()) }},
		{Name: "neck-%", Title: "lost to groups", Unit: result.Ratio, Help: "part of the capacity that was not used while some group ran", Value: func(g *Graph) (result.Value, bool) { return g.ofCapacity(g.Lost() - g.IdleLost) }},
		{Name: "idle-%", Title: "idle", Unit: result.Ratio, Help: "part of the wall time in which no goroutine ran", Value: result.Floats(func(g *Graph) float64 { return ratio(g.Idle, g.Wall) })},
		{Name: "gc-%", Title: "garbage collector", Unit: result.Ratio, Help: "share of the wall time that the garbage collector has", Value: result.Floats(func(g *Graph) float64 { return ratio(g.shareOf(GC), g.Wall) })},
	}, collectorColumns(), []result.Column[Graph]{
		{Name: "in-c-%", Title: "in C code", Unit: result.Ratio, Help: "time in C code, in parts of the wall time", Value: result.Floats(func(g *Graph) float64 { all, _ := g.InC(); return ratio(all, g.Wall) })},
		{Name: "wall", Title: "wall time", Unit: result.Duration, Help: "the time that the graph covers", Value: result.Ints(func(g *Graph) time.Duration { return g.Wall })},
	})
}

// collectorsTime returns a column that is available only if the time of the collector is known,
// which is not the case in older files.
func collectorsTime(of func(*Collector) result.Value) func(*Graph) (result.Value, bool) {
	return func(g *Graph) (result.Value, bool) {
		return of(&g.Collector), g.Collector.Time > 0 || g.shareOf(GC) == 0
	}
}

// ofCapacity returns d as a fraction of the capacity, if the capacity is known.
func (g *Graph) ofCapacity(d time.Duration) (result.Value, bool) {
	return result.Float(ratio(d, g.Capacity)), g.Capacity > 0 || g.Wall <= 0
}

func (g *Graph) shareOf(kind timeline.Kind) (d time.Duration) {
	for i := range g.Boxes {
		if g.Boxes[i].Kind == kind {
			d += g.Boxes[i].Share
		}
	}
	return d
}

// Changes returns the changes between two graphs, group by group; see [result.Diff].
func Changes(before, after *Graph) *result.Table {
	return result.Changes(before.Groups(), after.Groups(), "share_ns", "lost_ns", "parallelism", "group", "kind")
}

// Row returns the shares of the groups in several graphs, one column for each; see [result.Beside].
func Row(names []string, graphs []*Graph) *result.Table {
	var tables []*result.Table
	for _, g := range graphs {
		tables = append(tables, g.Groups())
	}
	t, err := result.Beside(names, tables, "share_ns", "group", "kind")
	if err != nil {
		panic(err) // the tables have these columns
	}
	return t
}
