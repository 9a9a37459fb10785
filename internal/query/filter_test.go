package query

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// slowRow has the values that filters use, computed in a slow way.
type slowRow struct {
	rec *quanta.Recording
	i   int
}

func (q slowRow) group() quanta.Group   { return q.rec.Groups[q.rec.Group[q.i]] }
func (q slowRow) begin() int64          { return q.rec.Begin[q.i] }
func (q slowRow) end() int64            { return q.rec.Begin[q.i] + q.rec.Duration[q.i] }
func (q slowRow) ending() quanta.Ending { return q.rec.Ending[q.i] }
func (q slowRow) duration() int64 {
	return q.rec.Duration[q.i]
}

// counter returns the value of a counter, and whether it is known.
func (q slowRow) counter(name string) (float64, bool) {
	v := q.rec.Counter(name).Values[q.i]
	return float64(v), v != quanta.Unknown
}

// before returns the previous quantum of the goroutine.
func (q slowRow) before() (slowRow, bool) {
	for i := q.i - 1; i >= 0; i-- {
		if q.rec.Goroutine[i] == q.rec.Goroutine[q.i] {
			return slowRow{q.rec, i}, true
		}
	}
	return slowRow{}, false
}

// rankAfter returns the number of quanta that same accepts and that begin between the end of the
// latest collection and q, in row order and before the next collection begins; −1 if q is not after
// a collection.
func (q slowRow) rankAfter(span string, same func(slowRow) bool) int {
	var spans []quanta.Span
	for _, s := range q.rec.Spans {
		if s.Name == span {
			spans = append(spans, s)
		}
	}
	for i, s := range spans {
		next := int64(math.MaxInt64)
		if i+1 < len(spans) {
			next = spans[i+1].Begin
		}
		if q.begin() < s.End || q.begin() >= next {
			continue
		}
		rank := 0
		for j := range q.i {
			other := slowRow{q.rec, j}
			if other.begin() >= s.End && other.begin() < next && same(other) {
				rank++
			}
		}
		return rank
	}
	return -1
}

func (q slowRow) rankBefore(span string, same func(slowRow) bool) int {
	last := int64(math.MinInt64)
	for _, s := range q.rec.Spans {
		if s.Name != span {
			continue
		}
		if q.begin() >= last && q.end() <= s.Begin {
			rank := 0
			for j := q.i + 1; j < q.rec.Len(); j++ {
				other := slowRow{q.rec, j}
				if other.begin() >= last && other.end() <= s.Begin && same(other) {
					rank++
				}
			}
			return rank
		}
		last = s.End
	}
	return -1
}

func any_(slowRow) bool { return true }

// during reports whether a quantum overlaps an interval.
func (q slowRow) during(from, to int64) bool {
	if q.duration() == 0 {
		return q.begin() >= from && q.begin() < to
	}
	return max(q.begin(), from) < min(q.end(), to)
}

// between reports whether the latest of the markers that apply to a quantum is the opening one.
func (q slowRow) between(each bool) bool {
	open := false
	for _, m := range q.rec.Markers {
		if m.Time <= q.begin() && (!each || m.Goroutine == q.rec.Goroutine[q.i]) {
			if m.Text == "start" {
				open = true
			}
			if m.Text == "end" {
				open = false
			}
		}
	}
	return open
}

// filterCases are filters with an independent computation of their meaning.
var filterCases = []struct {
	filter string
	in     func(q slowRow) bool
}{
	{"", func(slowRow) bool { return true }},
	{"all", func(slowRow) bool { return true }},
	{"none", func(slowRow) bool { return false }},
	{"goroutine = 5", func(q slowRow) bool { return q.rec.Goroutine[q.i] == 5 }},
	{"goroutine in (1, 3, 7..9)", func(q slowRow) bool {
		return slices.Contains([]int64{1, 3, 7, 8, 9}, q.rec.Goroutine[q.i])
	}},
	{"goroutine in 2..3", func(q slowRow) bool { g := q.rec.Goroutine[q.i]; return g == 2 || g == 3 }},
	{"proc = 1", func(q slowRow) bool { return q.rec.Proc[q.i] == 1 }},
	{"proc != 1", func(q slowRow) bool { return q.rec.Proc[q.i] != 1 && q.rec.Proc[q.i] >= 0 }},
	{"!(proc = 1)", func(q slowRow) bool { return q.rec.Proc[q.i] != 1 }},
	{"!known(proc)", func(q slowRow) bool { return q.rec.Proc[q.i] < 0 }},
	{"proc = -1", func(q slowRow) bool { return false }},
	{"thread in (1001, 1003)", func(q slowRow) bool { return q.rec.Thread[q.i] == 1001 || q.rec.Thread[q.i] == 1003 }},
	{"duration > 100us", func(q slowRow) bool { return q.duration() > 100_000 }},
	{"duration in 50us..100us", func(q slowRow) bool { return q.duration() >= 50_000 && q.duration() <= 100_000 }},
	{"duration == 0", func(q slowRow) bool { return q.duration() == 0 }},
	{"duration <= 0.1ms && duration >= 1e3", func(q slowRow) bool { return q.duration() <= 100_000 && q.duration() >= 1000 }},
	{"begin >= 1ms && end < 2ms", func(q slowRow) bool { return q.begin() >= 1_000_000 && q.end() < 2_000_000 }},
	{"during(1ms, 2ms)", func(q slowRow) bool { return q.during(1_000_000, 2_000_000) }},
	{"during(1ms, 1ms + 300 * 2us)", func(q slowRow) bool { return q.during(1_000_000, 1_600_000) }},
	{"minor_faults > 1", func(q slowRow) bool { v, ok := q.counter("minor-faults"); return ok && v > 1 }},
	{"minor_faults != 1", func(q slowRow) bool { v, ok := q.counter("minor-faults"); return ok && v != 1 }},
	{"!(minor_faults > 1)", func(q slowRow) bool { v, ok := q.counter("minor-faults"); return !ok || v <= 1 }},
	{"known(minor_faults)", func(q slowRow) bool { _, ok := q.counter("minor-faults"); return ok }},
	{`"minor-faults" < 1`, func(q slowRow) bool { v, ok := q.counter("minor-faults"); return ok && v < 1 }},
	{`"msr/tsc" >= 200000`, func(q slowRow) bool { v, ok := q.counter("msr/tsc"); return ok && v >= 200000 }},
	{"heap >= 5MiB", func(q slowRow) bool { v, ok := q.counter("heap"); return ok && v >= 5<<20 }},
	{"instructions / cycles < 1", func(q slowRow) bool {
		v, ok := q.counter("instructions")
		c, _ := q.counter("cycles")
		return ok && c != 0 && v/c < 1
	}},
	{"(instructions - cycles) * 2 > -(cycles)", func(q slowRow) bool {
		v, ok := q.counter("instructions")
		c, _ := q.counter("cycles")
		return ok && (v-c)*2 > -c
	}},
	{"known(cycles / duration)", func(q slowRow) bool { return q.duration() != 0 }},
	{"max(cycles, instructions) > min(1e5, cycles) + abs(-1e5)", func(q slowRow) bool {
		v, ok := q.counter("instructions")
		c, _ := q.counter("cycles")
		return ok && max(c, v) > min(1e5, c)+1e5
	}},
	{"gap > 100us", func(q slowRow) bool { b, ok := q.before(); return ok && q.begin()-b.end() > 100_000 }},
	{"gap <= 0", func(q slowRow) bool { b, ok := q.before(); return ok && q.begin() <= b.end() }},
	{"!known(gap)", func(q slowRow) bool { _, ok := q.before(); return !ok }},
	{"change(heap) < 300kB", func(q slowRow) bool {
		b, ok := q.before()
		if !ok {
			return false
		}
		old, ok1 := b.counter("heap")
		now, ok2 := q.counter("heap")
		return ok1 && ok2 && now-old < 300_000
	}},
	{"group = main.worker", func(q slowRow) bool { return q.group().Name == "main.worker" }},
	{`group != "main.worker"`, func(q slowRow) bool { return q.group().Name != "main.worker" }},
	{`group =~ "work"`, func(q slowRow) bool { return strings.Contains(q.group().Name, "work") }},
	{`group =~ "(?i)^gc W"`, func(q slowRow) bool { return strings.HasPrefix(q.group().Name, "GC w") }},
	{`group !~ "^main\\."`, func(q slowRow) bool { return !strings.HasPrefix(q.group().Name, "main.") }},
	{`group in (main.main, "<script>alert(1)</script>")`, func(q slowRow) bool {
		return q.group().Name == "main.main" || strings.HasPrefix(q.group().Name, "<")
	}},
	{"kind = gc", func(q slowRow) bool { return q.group().Kind == timeline.GC }},
	{"kind in (gc, runtime)", func(q slowRow) bool { return q.group().Kind != timeline.Application }},
	{`func = main.work`, func(q slowRow) bool { return q.rec.Funcs[q.rec.Func[q.i]] == "main.work" }},
	{`func =~ "\\[\\.\\.\\.\\]$"`, func(q slowRow) bool { return strings.HasSuffix(q.rec.Funcs[q.rec.Func[q.i]], "[...]") }},
	{`func != main.work`, func(q slowRow) bool { f := q.rec.Funcs[q.rec.Func[q.i]]; return f != "main.work" && f != "" }},
	{`func =~ ""`, func(q slowRow) bool { return q.rec.Func[q.i] != 0 }},
	{`!known(func)`, func(q slowRow) bool { return q.rec.Func[q.i] == 0 }},
	{`known(group)`, func(q slowRow) bool { return true }},
	{"ended = preempted", func(q slowRow) bool { return q.ending() == quanta.Preempted }},
	{"ended in (exited, cut)", func(q slowRow) bool { return q.ending() == quanta.Exited || q.ending() == quanta.Cut }},
	{"ended != blocked", func(q slowRow) bool { return q.ending() != quanta.Blocked }},
	{"wait = chan-receive", func(q slowRow) bool { return q.rec.Wait[q.i] == timeline.WaitChanReceive }},
	{`wait =~ "^chan"`, func(q slowRow) bool { return q.rec.Wait[q.i] == timeline.WaitChanReceive }},
	{"first(3, gc)", func(q slowRow) bool { r := q.rankAfter(gcSpan, any_); return r >= 0 && r < 3 }},
	{"first(1000000, gc)", func(q slowRow) bool { return q.rankAfter(gcSpan, any_) >= 0 }},
	{"first(2, gc, goroutine)", func(q slowRow) bool {
		r := q.rankAfter(gcSpan, func(o slowRow) bool { return o.rec.Goroutine[o.i] == q.rec.Goroutine[q.i] })
		return r >= 0 && r < 2
	}},
	{"first(2, gc, group)", func(q slowRow) bool {
		r := q.rankAfter(gcSpan, func(o slowRow) bool { return o.rec.Group[o.i] == q.rec.Group[q.i] })
		return r >= 0 && r < 2
	}},
	{`first(4, "stop-the-world (GC sweep termination)", proc)`, func(q slowRow) bool {
		r := q.rankAfter("stop-the-world (GC sweep termination)", func(o slowRow) bool { return o.rec.Proc[o.i] == q.rec.Proc[q.i] })
		return r >= 0 && r < 4
	}},
	{"last(3, gc)", func(q slowRow) bool { r := q.rankBefore(gcSpan, any_); return r >= 0 && r < 3 }},
	{"last(1, gc, thread)", func(q slowRow) bool {
		return q.rankBefore(gcSpan, func(o slowRow) bool { return o.rec.Thread[o.i] == q.rec.Thread[q.i] }) == 0
	}},
	{"during(gc)", func(q slowRow) bool {
		return slices.ContainsFunc(q.rec.Spans, func(s quanta.Span) bool { return s.Name == gcSpan && q.during(s.Begin, s.End) })
	}},
	{`during("within")`, func(q slowRow) bool {
		return slices.ContainsFunc(q.rec.Spans, func(s quanta.Span) bool { return s.Name == "within" && q.during(s.Begin, s.End) })
	}},
	{`between("start", "end")`, func(q slowRow) bool { return q.between(false) }},
	{`between("start", "end", goroutine)`, func(q slowRow) bool { return q.between(true) }},
	{`between("start", "start")`, func(q slowRow) bool { return q.begin() >= q.rec.Markers[0].Time }},
	{"goroutine = 1 || goroutine = 2 && duration > 50us", func(q slowRow) bool {
		g := q.rec.Goroutine[q.i]
		return g == 1 || g == 2 && q.duration() > 50_000
	}},
	{"(goroutine = 1 || goroutine = 2) && !(duration > 50us || ended = cut)", func(q slowRow) bool {
		g := q.rec.Goroutine[q.i]
		return (g == 1 || g == 2) && q.duration() <= 50_000 && q.ending() != quanta.Cut
	}},
	{"!duration > 50us", func(q slowRow) bool { return q.duration() <= 50_000 }},
	{"!!all", func(slowRow) bool { return true }},
}

func TestFilters(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 700, 2500} {
		rec := made(uint64(n), n)
		e := explorer(t, rec)
		for _, c := range filterCases {
			if n == 0 && strings.Contains(c.filter, `", `) || n == 0 && strings.Contains(c.filter, `("`) {
				continue // an empty recording has no such spans and markers, which is an error
			}
			set := chosen(t, e, c.filter)
			want := rowsWhere(n, func(row int) bool { return c.in(slowRow{rec, row}) })
			if !slices.Equal(set, want) {
				t.Errorf("%d rows: %s: rows %v, want %v", n, c.filter, set, want)
			}
			if n == 700 && c.filter != "none" && c.filter != "proc = -1" && (len(want) == 0 || len(want) == n) &&
				c.filter != "" && !strings.Contains(c.filter, "all") && c.filter != "known(group)" {
				t.Errorf("%s: the case has no teeth: %d of %d rows", c.filter, len(want), n)
			}
		}
	}
}

// rowsWhere returns those of n rows for which in returns true.
func rowsWhere(n int, in func(row int) bool) (rows []int) {
	for row := range n {
		if in(row) {
			rows = append(rows, row)
		}
	}
	return rows
}

// Laws that hold for all sets.
func TestFilterAlgebra(t *testing.T) {
	e := explorer(t, made(3, 1500))
	for i, a := range filterCases {
		b := filterCases[(i*7+3)%len(filterCases)]
		if a.filter == "" || b.filter == "" {
			continue
		}
		x, y := map[int]bool{}, map[int]bool{}
		for _, row := range chosen(t, e, a.filter) {
			x[row] = true
		}
		for _, row := range chosen(t, e, b.filter) {
			y[row] = true
		}
		for filter, in := range map[string]func(row int) bool{
			"(" + a.filter + ") && (" + b.filter + ")":      func(row int) bool { return x[row] && y[row] },
			"(" + a.filter + ") || (" + b.filter + ")":      func(row int) bool { return x[row] || y[row] },
			"(" + a.filter + ") && !(" + b.filter + ")":     func(row int) bool { return x[row] && !y[row] },
			"!(" + a.filter + ")":                           func(row int) bool { return !x[row] },
			"!(!(" + a.filter + ") || !(" + b.filter + "))": func(row int) bool { return x[row] && y[row] },
		} {
			if got, want := chosen(t, e, filter), rowsWhere(1500, in); !slices.Equal(got, want) {
				t.Errorf("%s: %d rows, want %d", filter, len(got), len(want))
			}
		}
		if got, want := e.complement(chosen(t, e, a.filter)), chosen(t, e, "!("+a.filter+")"); !slices.Equal(got, want) {
			t.Errorf("%s: %d other rows, want %d", a.filter, len(got), len(want))
		}
	}
}

func TestFilterErrors(t *testing.T) {
	e := explorer(t, made(1, 100))
	for _, c := range []struct {
		filter string
		pos    int
		want   string
	}{
		{"duratoin > 5", 0, "did you mean duration?"},
		{"goroutine = 1 && cylces > 2", 17, "did you mean cycles?"},
		{"duration > heap", 0, "units differ: ns and bytes"},
		{"duration + cycles > 1", 9, "units differ: ns and a plain count"},
		{"duration in (1ms, 2MB)", 18, "units differ"},
		{"duration", 0, "a number, not a filter"},
		{"all + 1 > 2", 0, "a filter, not a number"},
		{"duration >", 10, "not the end"},
		{"(duration > 1", 13, "expected )"},
		{"ended = premepted", 8, "did you mean preempted?"},
		{"wait = chan-recieve", 7, "did you mean chan-receive?"},
		{"ended > 3", 6, "is text"},
		{"group + 1 > 2", 6, "is text"},
		{"1 + group > 2", 4, "is text"},
		{"duration =~ \"x\"", 9, "needs text"},
		{`group =~ "("`, 9, "missing closing )"},
		{`group =~ "(?=a)"`, 9, "invalid or unsupported Perl syntax"},
		{`group =~ "\\y"`, 9, "escape"},
		{`group =~ "a{1001}"`, 9, "repeat count"},
		{`group = "abc`, 8, "not closed"},
		{`group = "\x"`, 8, "string as in JSON"},
		{"first(0, gc)", 6, "whole number"},
		{"first(1.5, gc)", 6, "whole number"},
		{"first(5, gcc)", 9, "expected gc"},
		{"first(5, gc, grop)", 13, "did you mean group?"},
		{`first(5, "GC concurent mark phase")`, 0, `did you mean "GC concurrent mark phase"?`},
		{`between("star", "end")`, 0, `did you mean "start"?`},
		{`between("start", "end", proc)`, 24, "expected goroutine"},
		{"during(begin, 2ms)", 7, "does not depend"},
		{"during(1ms, 2MB)", 12, "a time is needed"},
		{"duration > 5m", 12, "unknown unit"},
		{"duration > 1e999", 11, "too large"},
		{"µ > 5", 0, "expected a name"},
		{"goroutine = 1 && µ", 17, "expected a name"},
		{"duration > 1 duration", 13, "unexpected"},
		{"a < b < c", 6, "unexpected"},
		{strings.Repeat("(", 8000) + "al" + strings.Repeat(")", 8000), 8000, "a number, not a filter"},
		{strings.Repeat("!", 16000) + "(", 16001, "expected a name"},
		{strings.Repeat("all && ", 2300) + "al", 16100, "a number, not a filter"},
		{strings.Repeat(" ", maxText+1), 0, "longer than"},
		{"group = \"\xff\"", 0, "UTF-8"},
	} {
		_, err := e.Answer(context.Background(), Query{Filter: c.filter})
		syntax := syntaxOf(t, err)
		if syntax == nil {
			t.Errorf("%.60s: no error", c.filter)
			continue
		}
		if syntax.Pos != c.pos || !strings.Contains(syntax.Error(), c.want) {
			t.Errorf("%.60s: at %d: %v; want at %d: %s", c.filter, syntax.Pos, syntax, c.pos, c.want)
		}
	}
}

// Quanta are selected and grouped by the callers of the function on top.
func TestCallers(t *testing.T) {
	rec := made(3, 200)
	rec.Funcs = append(rec.Funcs, "main.caller")
	index := int32(len(rec.Funcs) - 1)
	rec.Caller = make([]int32, rec.Len())
	for row := 0; row < rec.Len(); row += 4 {
		rec.Caller[row] = index
	}
	e := explorer(t, rec)
	want := rowsWhere(rec.Len(), func(row int) bool { return row%4 == 0 })
	for _, filter := range []string{"caller = main.caller", `caller =~ "caller$"`, "known(caller)"} {
		if got := chosen(t, e, filter); !slices.Equal(got, want) {
			t.Errorf("%s: %d rows, want %d", filter, len(got), len(want))
		}
	}
	table := answer(t, e, Query{Table: &Table{By: "caller"}}).Table
	counts := map[string]int{}
	for _, row := range table.Rows {
		counts[row.Key] = row.Count
	}
	if len(counts) != 2 || counts["main.caller"] != 50 || counts["(not known)"] != 150 {
		t.Errorf("by caller: %v", counts)
	}
}
