package query

import (
	"cmp"
	"context"
	"math"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/internal/spelling"
)

// CheckFilter returns an error if a text is not a filter, such as
//
//	group =~ "worker" && duration > 100us && !(ended = preempted) && first(20, gc)
//
// A metric is an arithmetic expression over the properties of a quantum: numbers, + - * / and
// parentheses, min(…), max(…), abs(x), and change(x), the difference to the previous quantum of the
// same goroutine. Names are duration, begin, end, gap (the time since that quantum), goroutine,
// thread, proc, and the counters of the recording, with _ for -, such as minor_faults, or in
// quotes, such as "msr/tsc". Numbers may have a unit: 100us, 2ms, 4KiB. Only values with the same
// unit can be added and compared; a plain number is compatible with every unit.
//
//	duration > 100us                    instructions / cycles < 0.5         goroutine in (7, 20..29)
//	group = main.worker                 group =~ "work|load"                func !~ "^runtime\\."
//	ended = preempted                   ended in (blocked, syscall)         wait = chan-receive
//	kind = gc                           known(minor_faults)                 all, none
//	first(20, gc)                       last(5, gc, goroutine)              between("start", "end")
//	during(gc)                          during(10ms, 20ms)
//	first(3, "stop-the-world (GC mark termination)", proc)
//
// are filters, which !, &&, || and parentheses combine. group, kind, func (the top function when
// the quantum ended), caller (of that function), ended and wait (the reason for blocking) are text.
// first(n, span) selects the first n quanta that begin after the end of each such span and before
// the next one begins. last(n, span) selects the last n that end before its beginning and begin
// after the end of the previous one. Both count in the whole program or, with a third argument, in
// each goroutine, group, proc or thread; gc is the mark phase of a collection. during selects
// quanta that overlap an interval or span. between(a, b) selects quanta that begin after a marker
// with the first text and before the next with the second; with a third argument, goroutine,
// markers affect only the goroutine that set them.
//
// Unknown values propagate: a metric of an unknown value is unknown, and so is a division by zero.
// No comparison with an unknown value holds, neither = nor !=. Statistics omit unknown values and
// return the number of known ones. But ! is the complement: !(minor_faults > 5) includes the quanta
// whose faults are unknown.
//
// "" means all quanta. The error is an [*Error]. A text longer than 16 KiB is an error. Parsing takes
// microseconds.
func CheckFilter(text string) error {
	_, err := parseFilter(text)
	return err
}

func parseFilter(text string) (*node, error) {
	return parse(text, func(l *lexer) *node {
		if l.pos() == len(text) {
			return &node{op: "all"}
		}
		return l.filter()
	})
}

// SplitFilters returns the filters of a text with commas between them. The error is an [*Error].
func SplitFilters(text string) (filters []string, err error) {
	_, err = parse(text, func(l *lexer) *node {
		for more := true; more; more = l.take(",") {
			from := l.pos()
			l.filter()
			filters = append(filters, strings.TrimSpace(text[from:l.at]))
		}
		return nil
	})
	return filters, err
}

// Select returns the rows that a filter selects, in order. The error is an [*Error] if the filter is
// invalid, the recording lacks a name in it, or units do not match, or that of ctx. Select takes a
// few nanoseconds per row for each comparison and operation (BenchmarkSelect), and less for
// conditions that depend only on names.
func (e *Explorer) Select(ctx context.Context, filter string) (rows []int, err error) {
	root, err := parseFilter(filter)
	if err != nil {
		return nil, err
	}
	defer recovered(&err)
	v := evaluator{e: e, text: filter}
	in := v.filter(root)
	rows = make([]int, 0, e.rec.Len())
	for row := range e.rec.Len() {
		if row&(1<<16-1) == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if in(row) {
			rows = append(rows, row)
		}
	}
	return rows, ctx.Err()
}

// complement returns the rows of the recording that are not among those given.
func (e *Explorer) complement(rows []int) (others []int) {
	for row := range e.rec.Len() {
		if len(rows) > 0 && rows[0] == row {
			rows = rows[1:]
		} else {
			others = append(others, row)
		}
	}
	return others
}

// predicate reports whether a filter selects a row.
type predicate func(row int) bool

// filter compiles a filter.
func (v *evaluator) filter(n *node) predicate {
	switch n.op {
	case "all", "none":
		return func(int) bool { return n.op == "all" }
	case opNot:
		in := v.filter(n.kids[0])
		return func(row int) bool { return !in(row) }
	case "&&":
		a, b := v.filter(n.kids[0]), v.filter(n.kids[1])
		return func(row int) bool { return a(row) && b(row) }
	case "||":
		a, b := v.filter(n.kids[0]), v.filter(n.kids[1])
		return func(row int) bool { return a(row) || b(row) }
	case "first", "last":
		return v.ranked(n)
	case "during":
		return v.during(n)
	case "between":
		return v.between(n)
	}
	if field := n.kids[0]; field.op == opField {
		keys, _ := v.e.by(field.text)
		match := matcher(n)
		return keys.where(func(key int32) bool { return key != keys.unknown && match(keys.name(key)) })
	}
	left, u := v.metric(n.kids[0])
	switch n.op {
	case "known":
		return where(left, func(v float64) bool { return v == v })
	case opIn:
		return where(left, v.in(n, u))
	}
	right, w := v.metric(n.kids[1])
	v.same(n, u, w)
	// By IEEE 754, the sign of a difference is that of the comparison: it never underflows to 0, and
	// if it overflows, the infinity has the correct sign.
	return where(combined(left, right, func(a, b float64) float64 { return a - b }), relations[n.op])
}

// where selects the rows whose value passes a test.
func where(c column, test func(float64) bool) predicate {
	return func(row int) bool { return test(c(row)) }
}

// relations has the tests of a difference.
var relations = map[string]func(d float64) bool{
	"=":  func(d float64) bool { return d == 0 },
	"!=": func(d float64) bool { return d < 0 || d > 0 },
	"<":  func(d float64) bool { return d < 0 },
	"<=": func(d float64) bool { return d <= 0 },
	">":  func(d float64) bool { return d > 0 },
	">=": func(d float64) bool { return d >= 0 },
}

// in returns whether a value of the given unit is one of the numbers or in one of the ranges of a
// node.
func (v *evaluator) in(n *node, u unit) func(float64) bool {
	var ranges [][2]float64
	single := map[float64]bool{} // so that a thousand goroutines cost as little as one
	for _, item := range n.kids[1:] {
		ends := []*node{item}
		if item.op == opRange {
			ends = item.kids
		}
		low, high := v.constant(ends[0], u), v.constant(ends[len(ends)-1], u)
		if low == high {
			single[low] = true
		} else {
			ranges = append(ranges, [2]float64{low, high})
		}
	}
	return func(v float64) bool {
		for _, r := range ranges {
			if v >= r[0] && v <= r[1] {
				return true
			}
		}
		return len(single) > 0 && single[v]
	}
}

// constant returns the value of an expression without names, whose unit must be u.
func (v *evaluator) constant(n *node, u unit) float64 {
	c, w := v.metric(n)
	v.same(n, u, w)
	return c(0)
}

// matcher returns a function that reports whether a text passes the test of a field.
func matcher(n *node) func(string) bool {
	switch n.op {
	case "known":
		return func(string) bool { return true }
	case "=~", "!~":
		re := regexp.MustCompile(n.kids[1].text) // cannot fail: the parser compiled it
		return func(text string) bool { return re.MatchString(text) == (n.op == "=~") }
	}
	texts := map[string]bool{}
	for _, kid := range n.kids[1:] {
		texts[kid.text] = true
	}
	return func(text string) bool { return texts[text] == (n.op != "!=") }
}

// Filters by events besides the quanta: spans, such as those of garbage collections, and markers.

// spans returns the spans with the name of a node, in the order of their beginnings. An unknown
// name is an error at the node of, unless it is gc and the program never collected.
func (v *evaluator) spans(of, n *node) (out []quanta.Span) {
	name := n.text
	if n.op == opWord {
		name = gcSpan
	}
	var names []string
	for _, span := range v.e.rec.Spans {
		if span.Name == name {
			out = append(out, span)
		} else {
			names = append(names, span.Name)
		}
	}
	if len(out) == 0 && name != gcSpan {
		v.missing(of, "span", name, names)
	}
	slices.SortStableFunc(out, func(a, b quanta.Span) int { return cmp.Compare(a.Begin, b.Begin) })
	return out
}

// missing fails because the recording has no span or marker of a name.
func (v *evaluator) missing(n *node, what, text string, known []string) {
	known = slices.Compact(slices.Sorted(slices.Values(known)))
	near := spelling.Nearest(text, known[:min(len(known), 1000)])
	if near != "" {
		near = quote(near)
	}
	v.fail(n, "this recording has no "+what+" "+quote(text), near)
}

// from returns the first row that begins at t or later.
func (v *evaluator) from(t int64) int {
	row, _ := slices.BinarySearch(v.e.rec.Begin, t)
	return row
}

// ranked selects the first n quanta after each span, or the last n before it.
//
// first: of the quanta that begin at the end of the span or later and before the next span begins,
// the first n. last: of the quanta that end before the span begins and begin at the end of the
// previous span or later, the last n.
func (v *evaluator) ranked(n *node) predicate {
	rec, count, each := v.e.rec, int(n.kids[0].value), func(int) int32 { return 0 }
	if len(n.kids) > 2 {
		keys, _ := v.e.by(n.kids[2].text)
		each = keys.of
	}
	chosen := make([]bool, rec.Len())
	spans := v.spans(n, n.kids[1])
	for i, span := range spans {
		seen := map[int32]int{}
		take := func(row int) (full bool) {
			key := each(row)
			if seen[key] < count {
				seen[key]++
				chosen[row] = true
			}
			return len(n.kids) == 2 && seen[key] == count
		}
		if n.op == "first" {
			until := int64(math.MaxInt64)
			if i+1 < len(spans) {
				until = spans[i+1].Begin
			}
			for row := v.from(span.End); row < rec.Len() && rec.Begin[row] < until && !take(row); row++ {
			}
			continue
		}
		since := int64(math.MinInt64)
		if i > 0 {
			since = spans[i-1].End
		}
		for row := v.from(span.Begin+1) - 1; row >= 0 && rec.Begin[row] >= since; row-- {
			if rec.Begin[row]+rec.Duration[row] <= span.Begin && take(row) {
				break
			}
		}
	}
	return func(row int) bool { return chosen[row] }
}

// during selects the quanta that overlap an interval or a span. A quantum without
// duration counts as its beginning.
func (v *evaluator) during(n *node) predicate {
	rec := v.e.rec
	if len(n.kids) > 1 {
		var ends [2]float64
		for i, kid := range n.kids {
			c, u := v.metric(kid)
			if u != nanoseconds && !u.free {
				v.fail(kid, "a time is needed, not "+unitName(u), "")
			}
			ends[i] = c(0)
		}
		return func(row int) bool {
			begin, end := float64(rec.Begin[row]), float64(rec.Begin[row]+rec.Duration[row])
			return begin < ends[1] && (end > ends[0] || begin >= ends[0])
		}
	}
	spans := v.spans(n, n.kids[0])
	ends := make([]int64, len(spans)) // the latest end among the spans up to each one
	for i, span := range spans {
		if ends[i] = span.End; i > 0 {
			ends[i] = max(ends[i], ends[i-1])
		}
	}
	return func(row int) bool {
		begin, end := rec.Begin[row], rec.Begin[row]+rec.Duration[row]
		// Spans that have begun when the quantum ends. A quantum without duration at the beginning
		// of a span is in it.
		n := sort.Search(len(spans), func(i int) bool { return spans[i].Begin >= max(end, begin+1) })
		return n > 0 && ends[n-1] > begin
	}
}

// between selects the quanta that begin between two markers: from each with the first
// text up to the next with the second, or the end of the recording. It sweeps rows and markers in
// the order of time.
func (v *evaluator) between(n *node) predicate {
	rec, each := v.e.rec, len(n.kids) > 2
	markers := slices.Clone(rec.Markers)
	slices.SortStableFunc(markers, func(a, b quanta.Marker) int { return cmp.Compare(a.Time, b.Time) })
	var known []string
	for _, m := range markers {
		known = append(known, m.Text)
	}
	for _, kid := range n.kids[:2] {
		if !slices.Contains(known, kid.text) {
			v.missing(n, "marker", kid.text, known)
		}
	}
	open, next := map[int64]bool{}, 0 // by goroutine, or 0
	key := func(goroutine int64) int64 {
		if each {
			return goroutine
		}
		return 0
	}
	inside := make([]bool, rec.Len())
	for row := range inside {
		for ; next < len(markers) && markers[next].Time <= rec.Begin[row]; next++ {
			switch m := &markers[next]; m.Text {
			case n.kids[0].text:
				open[key(m.Goroutine)] = true
			case n.kids[1].text:
				delete(open, key(m.Goroutine))
			}
		}
		inside[row] = open[key(rec.Goroutine[row])]
	}
	return func(row int) bool { return inside[row] }
}
