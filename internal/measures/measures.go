// Package measures lists the numbers of each kind of result: those that conditions are about, and
// those that are compared among the sources of a merged result.
package measures

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/critical"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/condition"
	"github.com/bottleneck-go/bottleneck/internal/spread"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// Graph are the measures of a bottle graph.
var Graph = condition.Measures{
	Example: "parallelism<4",
	Whole: []condition.Table{condition.Summary(bottle.Summary(), func(any, string) string {
		return "lost capacity is not known, as GOMAXPROCS is not"
	})},
	Parts: "or share-%, lost-%, in-c-% or parallelism of one group, as group(NAME).share-%, by the name in the graph, short or in full.",
	Filtered: []condition.Table{condition.Parts("group", "the graph has no group", []result.Column[groupOf]{
		{Name: "share-%", Unit: result.Ratio, Quotient: result.Single, Value: result.Floats(func(b *groupOf) float64 { return ratio(b.Share, b.graph.Wall) })},
		{Name: "lost-%", Unit: result.Ratio, Quotient: result.Single, Value: func(b *groupOf) (result.Value, bool) {
			return result.Float(ratio(b.Lost, b.graph.Capacity)), b.graph.Capacity > 0 || b.graph.Wall <= 0
		}},
		{Name: "in-c-%", Unit: result.Ratio, Quotient: result.Single, Value: result.Floats(func(b *groupOf) float64 { return ratio(b.InC, b.graph.Wall) })},
		{Name: "parallelism", Unit: result.Number, Quotient: result.Single, Value: result.Floats(func(b *groupOf) float64 { return b.Parallelism })},
		{Name: "group", Unit: result.Func, Value: result.Lists(func(b *groupOf) []string {
			if reason, stop := strings.CutPrefix(b.Group, "stop-the-world ("); stop {
				return []string{b.Group, "STW (" + reason} // as in the table
			}
			return []string{b.Group}
		})},
	}, func(g *bottle.Graph) (rows []groupOf) {
		for i := range g.Boxes {
			rows = append(rows, groupOf{&g.Boxes[i], g})
		}
		return rows
	})},
}

// groupOf is a box of a graph.
type groupOf struct {
	*bottle.Box
	graph *bottle.Graph
}

func ratio(d, whole time.Duration) float64 { return float64(d) / float64(max(1, whole)) }

// Contention are the measures of a contention profile.
var Contention = condition.Measures{
	Example:  "waited>2s",
	Whole:    []condition.Table{condition.Summary(contention.Summary(), nil)},
	Parts:    "or waited, ready, contentions or parks of one lock, as lock(LOCK).waited, by its name or class.",
	Filtered: []condition.Table{waitsForLocks()},
}

// waitsForLocks returns the measures of locks. They are 0 for a lock for which no goroutine waited,
// unless there is a lock with nearly that name.
func waitsForLocks() condition.Table {
	in := condition.Parts("lock", "no goroutine waited for a lock", []result.Column[contention.Wait]{
		{Name: "waited", Unit: result.Duration, Value: result.Ints(func(w *contention.Wait) time.Duration { return w.Waited })},
		{Name: "ready", Unit: result.Duration, Value: result.Ints(func(w *contention.Wait) time.Duration { return w.Ready })},
		{Name: "contentions", Unit: result.Count, Value: result.Ints(func(w *contention.Wait) int64 { return w.Contentions })},
		{Name: "parks", Unit: result.Count, Value: result.Ints(func(w *contention.Wait) int64 { return w.Parks })},
		{Name: "lock", Unit: result.Func, Value: result.Lists(func(w *contention.Wait) []string { return lockNames(w.Lock) })},
	}, func(p *contention.Profile) []contention.Wait { return p.Waits })
	in.Loose = true
	in.Names = func(v any) (names []string) {
		for _, l := range v.(*contention.Profile).Locks {
			names = append(names, lockNames(l)...)
		}
		return names
	}
	return in
}

// lockNames returns the names by which a lock can be found.
func lockNames(l *contention.Lock) []string { return []string{l.Name, l.String(), l.Class} }

// Tasks are the measures of a profile of tasks.
var Tasks = condition.Measures{
	Example: "fine-tasks-%>10",
	Whole:   []condition.Table{condition.Summary(granularity.Summary(), lacksTasks)},
	UnitOf: func(v any, m *condition.Measure) string {
		switch {
		case !slices.Contains([]string{"p50", "mean", "p99"}, m.Name):
			return ""
		case v.(*granularity.Profile).ByTime():
			return "nanoseconds"
		}
		return "cycles"
	},
	Parts: "or p50, mean, p99, count or blocked-% of one class, as tasks(CLASS).p50.",
	Filtered: []condition.Table{condition.Parts("tasks", "there are no tasks of class", []result.Column[classOf]{
		{Name: "p50", Unit: result.Number, Quotient: result.Single, Value: ofGranularity(func(h *granularity.Histogram) float64 { return h.Quantile(.5) })},
		{Name: "mean", Unit: result.Number, Quotient: result.Single, Value: ofGranularity((*granularity.Histogram).Mean)},
		{Name: "p99", Unit: result.Number, Quotient: result.Single, Value: ofGranularity(func(h *granularity.Histogram) float64 { return h.Quantile(.99) })},
		{Name: "count", Unit: result.Count, Value: result.Ints(func(c *classOf) int64 { return int64(c.Tasks) })},
		{Name: "blocked-%", Unit: result.Ratio, Quotient: result.Single, Value: result.Floats(func(c *classOf) float64 { return c.BlockedNS.Sum() / max(1, c.WallNS.Sum()) })},
		{Name: "class", Unit: result.Func, Value: result.Texts(func(c *classOf) string { return c.Name })},
	}, func(p *granularity.Profile) (rows []classOf) {
		for i := range p.Classes {
			rows = append(rows, classOf{&p.Classes[i], p})
		}
		return rows
	})},
}

// classOf is a class of a profile.
type classOf struct {
	*granularity.Class
	profile *granularity.Profile
}

// ofGranularity returns values in cycles or, if cycles are unknown, in nanoseconds.
func ofGranularity(of func(*granularity.Histogram) float64) func(*classOf) (result.Value, bool) {
	return func(c *classOf) (result.Value, bool) {
		h := c.profile.Granularity(c.Class)
		return result.Float(of(h)), h.Count() > 0
	}
}

func lacksTasks(v any, name string) string {
	p := v.(*granularity.Profile)
	measured := func(c granularity.Class) bool { return c.WallNS.Count() > 0 || p.Granularity(&c).Count() > 0 }
	switch {
	case !slices.ContainsFunc(p.Classes, measured):
		return "no task was measured"
	case name == "cycles/task":
		return "a trace has no cycles: compare running/task"
	case name == "running/task":
		return "the length of a cycle is not known: compare cycles/task"
	}
	return ""
}

// Stack are the measures of speedup stacks: those of the stack with the most workers and, as
// NAME(N), of the stack with N.
var Stack = func() condition.Measures {
	columns := slices.Concat(speedup.Summary(), speedup.UsageColumns(), []result.Column[speedup.Stack]{
		{Name: "efficiency", Unit: result.Number, Help: "speedup ÷ N", Value: result.Floats(func(s *speedup.Stack) float64 { return s.Speedup / float64(max(1, s.N)) })},
		{Name: "n", Value: result.Texts(func(s *speedup.Stack) string { return strconv.Itoa(s.N) })},
	})
	for _, c := range speedup.Delimiters() {
		columns = append(columns, result.Column[speedup.Stack]{Name: c.String(), Unit: result.Number, Value: result.Floats(func(s *speedup.Stack) float64 { return s.Components[c] })})
	}
	table := func(stacks ...*speedup.Stack) *result.Table {
		rows := make([]speedup.Stack, len(stacks))
		for i, s := range stacks {
			rows[i] = *s
		}
		return result.New(columns, rows, 0)
	}
	all := condition.Table{Columns: result.Heads(columns), Missing: "no stack has the number of workers",
		Of: func(v any) *result.Table {
			seen := map[int]bool{}
			return table(slices.DeleteFunc(slices.Clone(v.([]*speedup.Stack)), func(s *speedup.Stack) bool {
				again := seen[s.N]
				seen[s.N] = true
				return again
			})...)
		},
		Check: func(filter string) error {
			if n, err := strconv.Atoi(filter); err != nil || n < 1 {
				return fmt.Errorf("want a number of workers, not %q", filter)
			}
			return nil
		}}
	whole := all
	whole.Of = func(v any) *result.Table { return table(Widest(v.([]*speedup.Stack))) }
	return condition.Measures{Example: "'speedup(2)<1.6'", Whole: []condition.Table{whole}, Filtered: []condition.Table{all}, Runs: repeated,
		Parts: "or a component, such as sync-mutex. It is that of the stack with the most workers, or that of N workers: speedup(2), efficiency(4), sync-mutex(4). Of repeated runs of scale, a condition on speedup or efficiency has to hold with 95 % confidence."}
}()

// repeated returns the speedup or the efficiency in each of the runs of a stack.
func repeated(v any, m *condition.Measure) (values []float64, disturbed bool) {
	stacks := v.([]*speedup.Stack)
	s := Widest(stacks)
	if m.Filter != "" {
		i := slices.IndexFunc(stacks, func(s *speedup.Stack) bool { return strconv.Itoa(s.N) == m.Filter })
		if i < 0 {
			return nil, false
		}
		s = stacks[i]
	}
	per := map[string]float64{"speedup": 1, "efficiency": float64(max(1, s.N))}[m.Name]
	for _, run := range s.Runs {
		if per > 0 && s.Speedup > 0 {
			values = append(values, run/per)
		}
	}
	return values, s.Disturbed
}

// Widest returns the stack with the most workers.
func Widest(stacks []*speedup.Stack) *speedup.Stack {
	return slices.MaxFunc(stacks, func(a, b *speedup.Stack) int { return cmp.Compare(a.N, b.N) })
}

// Ledger are the measures of a ledger.
var Ledger = condition.Measures{
	Example:  "lost>30%",
	Whole:    []condition.Table{ledgerRows(ledgerOf)},
	Filtered: []condition.Table{ledgerRows(ledgerOf)},
	Parts:    "of all rows, or as NAME(FILTER) of those that have FILTER in a column of text, such as lost(idle), lost(mutex) or time(main.worker). A FILTER that is in no row is an error, unless a ? follows it. Values of time and lost may be parts of the capacity: lost>30%, lost>2s, queue>1s, count(gc-stop)>100.",
}

func ledgerOf(v any) *ledger.Ledger { return v.(*ledger.Ledger) }

// ledgerRows returns the measures of the ledger of a result.
func ledgerRows(of func(v any) *ledger.Ledger) condition.Table {
	return condition.Table{Columns: result.Heads(ledger.Columns), Missing: "unknown name", Check: condition.OneOf(ledgerWords()),
		Of: func(v any) *result.Table { return of(v).Table() }, Names: func(v any) []string { return namesOf(of(v)) }}
}

// namesOf returns the plain words, and the functions, lines and goroutines in a ledger.
func namesOf(l *ledger.Ledger) []string {
	names := ledgerWords()
	for i := range l.Rows {
		r := &l.Rows[i]
		names = append(names, r.Group, r.Waker, r.Beside)
		for _, p := range append([]timeline.Place{r.Site, r.WakerSite}, r.Callers...) {
			names = append(names, p.Func, p.Source())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ledgerWords returns the plain words in a ledger.
func ledgerWords() (words []string) {
	words = ledger.Categories()
	for _, w := range timeline.Waits() {
		words = append(words, w.String())
	}
	words = append(words, ledger.None, ledger.Several)
	slices.Sort(words)
	return slices.Compact(words)
}

// Critical are the measures of a profile of critical paths.
var Critical = condition.Measures{
	Example: "scheduling>10%",
	Whole: []condition.Table{condition.Summary(result.Lift(critical.PathColumns[2:], (*critical.Profile).Whole), func(v any, _ string) string {
		return "the path of the whole program is not shown"
	})},
	Filtered: []condition.Table{condition.Parts("path", "there is no path of class", critical.PathColumns, func(p *critical.Profile) []critical.Path { return p.Paths })},
	Parts:    "of the path of the whole program, or as path(CLASS).NAME of the tasks of a class, such as path(main.handle).mean>20ms.",
}

// GraphNumbers returns a number of each of the groups of a graph.
func GraphNumbers(g *bottle.Graph) spread.Numbers {
	n := spread.Numbers{What: "share of the time", Unit: "ratio", Form: result.Ratio, Of: map[string]float64{"(idle)": ratio(g.Idle, g.Wall)}}
	for i := range g.Boxes {
		n.Of[g.Boxes[i].Group] += ratio(g.Boxes[i].Share, g.Wall)
	}
	return n
}

// LedgerNumbers returns a number of each of the categories of a ledger.
func LedgerNumbers(l *ledger.Ledger) spread.Numbers {
	n := spread.Numbers{What: "part of the capacity", Unit: "ratio", Form: result.Ratio, Of: map[string]float64{}}
	for i := range l.Rows {
		n.Of[l.Rows[i].Category] += ratio(l.Rows[i].Time, l.Capacity)
	}
	return n
}

// ContentionNumbers returns a number of each of the locks of a contention profile.
func ContentionNumbers(p *contention.Profile) spread.Numbers {
	n := spread.Numbers{What: "goroutines that wait, on average", Unit: "goroutines", Form: result.Number, Of: map[string]float64{}}
	for i := range p.Waits {
		w := &p.Waits[i]
		name := string(w.Kind)
		if w.Lock != nil {
			name += " " + w.Lock.Title()
		}
		n.Of[name] += ratio(w.Waited, p.Duration)
	}
	return n
}

// TaskNumbers returns a number of each of the classes of tasks.
func TaskNumbers(p *granularity.Profile) spread.Numbers {
	n := spread.Numbers{What: "mean cycles of a task", Unit: "cycles", Form: result.Count, Mean: true, Of: map[string]float64{}}
	if p.ByTime() {
		n.What, n.Unit, n.Form = "mean running time of a task", "nanoseconds", result.Duration
	}
	for i := range p.Classes {
		if h := p.Granularity(&p.Classes[i]); h.Count() > 0 {
			n.Of[p.Classes[i].Name] = h.Mean()
		}
	}
	return n
}

// PathNumbers returns a number of each of the classes of critical paths.
func PathNumbers(p *critical.Profile) spread.Numbers {
	n := spread.Numbers{What: "mean time of a task", Unit: "nanoseconds", Form: result.Duration, Mean: true, Of: map[string]float64{}}
	for i := range p.Paths {
		n.Of[p.Paths[i].Class] = float64(p.Paths[i].Elapsed) / float64(max(1, p.Paths[i].Count))
	}
	return n
}

// Verdict returns the measures of a result that has a verdict and its ledger: those of the ledger,
// except that lost(FILTER) is that of the findings.
func Verdict(judged func(v any) (*verdict.Verdict, *ledger.Ledger)) condition.Measures {
	books := func(v any) *ledger.Ledger { _, l := judged(v); return l }
	of := func(v any) *verdict.Verdict { about, _ := judged(v); return about }
	kinds := diagnose.Kinds()
	findings := ledgerRows(books)
	findings.Columns, findings.Check = result.Heads(verdict.Columns[:1]), condition.OneOf(kinds)
	findings.Of = func(v any) *result.Table { return of(v).Table() }
	findings.Names = func(v any) []string { return append(namesOf(books(v)), kinds...) }
	wall := []result.Column[verdict.Verdict]{{Name: "wall", Unit: result.Duration, Help: "the wall time, as a duration: wall>2s",
		Value: result.Ints(func(v *verdict.Verdict) time.Duration { return v.Wall })}}
	whole := condition.Table{Columns: result.Heads(wall), Of: func(v any) *result.Table { return result.New(wall, []verdict.Verdict{*of(v)}, 0) }}
	return condition.Measures{
		Example:  "lost>30%",
		Whole:    []condition.Table{ledgerRows(books), whole},
		Filtered: []condition.Table{findings, ledgerRows(books)},
		Parts:    "or lost(KIND) of the findings of a kind, such as lost(lock) or lost(collector), or lost(FUNCTION) of those in a function, such as lost(main.worker); 0 if there is none. A function that the trace does not have is an error, unless a ? follows it: lost(main.worker?). Other columns of the ledger take a FILTER, such as time(mutex); see \"bottleneck help ledger\".",
	}
}
