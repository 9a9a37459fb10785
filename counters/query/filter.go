package query

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/internal/spelling"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Filter is a parsed filter, which denotes a set of quanta of any recording. See [ParseFilter].
type Filter struct {
	root *node
	text string // as written
}

// ParseFilter parses a filter, such as
//
//	group =~ "worker" && duration > 100us && !(ended = preempted) && first(20, gc)
//
// The package comment describes the language. "" means all quanta. The error is a [*SyntaxError].
// Texts longer than 16 KiB, nested more than 64 deep, or with more than 500 operations are errors.
// Parsing takes microseconds.
func ParseFilter(text string) (*Filter, error) {
	root, err := parse(text, func(l *lexer) *node {
		if l.space(); l.at == len(text) {
			return &node{op: opAll}
		}
		return l.filter()
	})
	if err != nil {
		return nil, err
	}
	return &Filter{root, text}, nil
}

// String returns the canonical form, which parses to the same filter, unless the text was already
// close to the limits: the canonical form may be longer and have more parentheses.
func (f *Filter) String() string { return f.root.String() }

// Metric is a parsed metric, which denotes a number for each quantum of any recording. See
// [ParseMetric].
type Metric struct {
	root *node
	text string // as written
}

// ParseMetric parses a metric, such as
//
//	1000 * minor_faults / duration
//
// in the same language as filters. The error is a [*SyntaxError].
func ParseMetric(text string) (*Metric, error) {
	root, err := parse(text, (*lexer).metric)
	if err != nil {
		return nil, err
	}
	return &Metric{root, text}, nil
}

// String returns the canonical form, which parses to the same metric.
func (m *Metric) String() string { return m.root.String() }

// Select returns the set of the rows that a filter selects. The error is a [*SyntaxError] if the
// recording lacks a name in the filter or units do not match, or that of ctx. Select takes a few
// nanoseconds per row for each comparison and operation (BenchmarkSelect), and less for conditions
// that depend only on names.
func (e *Explorer) Select(ctx context.Context, f *Filter) (set *Set, err error) {
	defer func() { err = caught(recover(), f.text, err) }()
	s := selector{resolver: resolver{e: e}, ctx: ctx}
	set = s.eval(f.root)
	if s.err != nil {
		return nil, s.err
	}
	return set, nil
}

// selector evaluates a filter, one set per node.
type selector struct {
	resolver
	ctx context.Context
	err error
}

func (s *selector) eval(n *node) *Set {
	rows := s.e.rec.Len()
	if s.err == nil {
		s.err = s.ctx.Err()
	}
	switch n.op {
	case opAnd, opOr:
		a := s.eval(n.kids[0])
		b := s.eval(n.kids[1]) // even if a is empty, to find unknown names
		if n.op == opAnd {
			return a.Intersect(b)
		}
		return a.Union(b)
	case opNot:
		return s.eval(n.kids[0]).Complement()
	case opAll:
		return AllRows(rows)
	case opCompare:
		return s.compare(n)
	case opIn:
		return s.in(n)
	case opText, opTextIn:
		return s.text(n)
	case opKnown:
		return s.known(n)
	case opFirst, opLast:
		return s.ranked(n)
	case opDuring:
		return s.during(n)
	case opBetween:
		return s.between(n)
	}
	return NoRows(rows)
}

// where evaluates a column and returns the set of the rows for which test sets the bits.
func (s *selector) where(c column, test func(values []float64, words []uint64)) *Set {
	set := NoRows(s.e.rec.Len())
	if s.err != nil {
		return set
	}
	values := make([]float64, blockRows)
	for lo := 0; lo < set.n; lo += blockRows {
		size := min(blockRows, set.n-lo)
		c(values[:size], lo)
		for i := size; i < blockRows; i++ {
			values[i] = math.NaN()
		}
		test(values, set.words[lo>>6:min((lo+blockRows)>>6, len(set.words))])
	}
	return set
}

// bitsOf packs the results of test for each value. Each call passes a single function, so test is
// inlined there.
func bitsOf(values []float64, words []uint64, test func(float64) bool) {
	for i := range words {
		var w uint64
		for j, v := range values[i<<6 : i<<6+64] {
			var bit uint64
			if test(v) {
				bit = 1
			}
			w |= bit << j
		}
		words[i] = w
	}
}

func (s *selector) compare(n *node) *Set {
	left, u := s.compile(n.kids[0])
	right, v := s.compile(n.kids[1])
	if _, ok := u.with(v); !ok {
		s.fail(n, "the units differ: "+unitName(u)+" and "+unitName(v), "")
	}
	return s.where(difference(left, right), func(d []float64, words []uint64) {
		switch n.word {
		case "=":
			bitsOf(d, words, func(v float64) bool { return v == 0 })
		case "!=":
			bitsOf(d, words, func(v float64) bool { return v < 0 || v > 0 })
		case "<":
			bitsOf(d, words, func(v float64) bool { return v < 0 })
		case "<=":
			bitsOf(d, words, func(v float64) bool { return v <= 0 })
		case ">":
			bitsOf(d, words, func(v float64) bool { return v > 0 })
		default:
			bitsOf(d, words, func(v float64) bool { return v >= 0 })
		}
	})
}

// difference returns a − b. By IEEE 754, its sign is that of the comparison of a with b: it never
// underflows to 0, and if it overflows, the infinity has the correct sign.
func difference(a, b column) column {
	buf := make([]float64, blockRows)
	return func(dst []float64, lo int) {
		right := buf[:len(dst)]
		a(dst, lo)
		b(right, lo)
		for i, v := range right {
			dst[i] -= v
		}
	}
}

// in returns the set of the rows whose value is in one of the intervals.
func (s *selector) in(n *node) *Set {
	c, u := s.compile(n.kids[0])
	type bounds struct{ low, high float64 }
	var list []bounds
	single := map[float64]bool{} // so that a thousand goroutines cost as little as one
	for _, item := range n.list {
		low := s.bound(item.low, u)
		high := low
		if item.high != item.low {
			high = s.bound(item.high, u)
		}
		if low == high {
			single[low] = true
		} else {
			list = append(list, bounds{low, high})
		}
	}
	return s.where(c, func(values []float64, words []uint64) {
		bitsOf(values, words, func(v float64) bool {
			for _, b := range list {
				if v >= b.low && v <= b.high {
					return true
				}
			}
			return len(single) > 0 && single[v]
		})
	})
}

// bound returns the value of a number in a list, whose unit must match.
func (s *selector) bound(item *node, u unit) float64 {
	value, v := s.constant(item)
	if _, ok := u.with(v); !ok {
		s.fail(item, "the units differ: "+unitName(u)+" and "+unitName(v), "")
	}
	return value
}

// matcher returns a function that reports whether a text matches.
func matcher(n *node) func(string) bool {
	switch n.word {
	case "=~", "!~":
		re, err := compileRegexp(n.texts[0]) // cannot fail: the parser compiled it
		if err != nil {
			return func(string) bool { return false }
		}
		return func(text string) bool { return re.MatchString(text) == (n.word == "=~") }
	case "!=":
		return func(text string) bool { return text != n.texts[0] }
	}
	set := map[string]bool{}
	for _, text := range n.texts {
		set[text] = true
	}
	return func(text string) bool { return set[text] }
}

// text tests each of the names once, rather than each of the rows.
func (s *selector) text(n *node) *Set {
	rec := s.e.rec
	match := matcher(n)
	switch n.field {
	case "group":
		return byIndex(rec.Group, len(rec.Groups), func(i int) bool { return match(rec.Groups[i].Name) })
	case "kind":
		return byIndex(rec.Group, len(rec.Groups), func(i int) bool { return match(rec.Groups[i].Kind.String()) })
	case "func", "caller":
		return byIndex(s.e.funcs(n.field), len(rec.Funcs), func(i int) bool { return i > 0 && match(rec.Funcs[i]) })
	case "ended":
		return byIndex(rec.Ending, 256, func(i int) bool { return match(quanta.Ending(i).String()) })
	default:
		return byIndex(rec.Wait, 256, func(i int) bool { return match(timeline.Wait(i).String()) })
	}
}

// byIndex returns the set of the rows whose index into a table of names passes.
func byIndex[T ~int32 | ~uint8](column []T, names int, pass func(int) bool) *Set {
	table := make([]uint64, max(names, 1)) // 1 if the name passes
	for i := range names {
		if pass(i) {
			table[i] = 1
		}
	}
	set := NoRows(len(column))
	for i := range set.words {
		var w uint64
		for j, index := range column[i<<6 : min(i<<6+64, len(column))] {
			w |= table[index] << j
		}
		set.words[i] = w
	}
	return set
}

func (s *selector) known(n *node) *Set {
	switch n.field {
	case "":
		c, _ := s.compile(n.kids[0])
		return s.where(c, func(values []float64, words []uint64) {
			bitsOf(values, words, func(v float64) bool { return v == v })
		})
	case "func", "caller":
		return byIndex(s.e.funcs(n.field), len(s.e.rec.Funcs), func(i int) bool { return i > 0 })
	}
	return AllRows(s.e.rec.Len())
}

// Filters by events besides the quanta: spans, such as those of garbage collections, and markers.

// spans returns the spans with a name, in the order of their beginnings. An unknown name is an
// error, unless it is gc and the program never collected.
func (s *selector) spans(n *node) (out []quanta.Span) {
	var names []string
	for _, span := range s.e.rec.Spans {
		if span.Name == n.span {
			out = append(out, span)
		} else if !slices.Contains(names, span.Name) && len(names) < 1000 {
			names = append(names, span.Name)
		}
	}
	if len(out) == 0 && n.span != gcSpan {
		near := spelling.Nearest(n.span, names)
		if near != "" {
			near = quote(near)
		}
		s.fail(n, "this recording has no span "+quote(n.span), near)
	}
	slices.SortStableFunc(out, func(a, b quanta.Span) int { return cmp.Compare(a.Begin, b.Begin) })
	return out
}

// from returns the first row that begins at t or later.
func (s *selector) from(t int64) int {
	begin := s.e.rec.Begin
	return sort.Search(len(begin), func(i int) bool { return begin[i] >= t })
}

// eachOf returns a function that maps rows to the items for which first and last count separately;
// all rows map to 0 if each is "".
func (s *selector) eachOf(each string) func(row int) int64 {
	rec := s.e.rec
	switch each {
	case "goroutine":
		s.e.index()
		return func(row int) int64 { return int64(s.e.number[row]) }
	case "group":
		return func(row int) int64 { return int64(rec.Group[row]) }
	case "proc":
		return func(row int) int64 { return int64(rec.Proc[row]) }
	case "thread":
		return func(row int) int64 { return rec.Thread[row] }
	}
	return func(int) int64 { return 0 }
}

// ranked returns the first n quanta after each span, or the last n before it.
//
// first: of the quanta that begin at the end of the span or later and before the next span begins,
// the first n. last: of the quanta that end before the span begins and begin at the end of the
// previous span or later, the last n.
func (s *selector) ranked(n *node) *Set {
	rec, each := s.e.rec, s.eachOf(n.each)
	set := NoRows(rec.Len())
	spans := s.spans(n)
	for i, span := range spans {
		seen := map[int64]int{}
		take := func(row int) (full bool) {
			key := each(row)
			if seen[key] < n.count {
				seen[key]++
				set.add(row)
			}
			return n.each == "" && seen[key] == n.count
		}
		if n.op == opFirst {
			until := int64(math.MaxInt64)
			if i+1 < len(spans) {
				until = spans[i+1].Begin
			}
			for row := s.from(span.End); row < rec.Len() && rec.Begin[row] < until && !take(row); row++ {
			}
			continue
		}
		since := int64(math.MinInt64)
		if i > 0 {
			since = spans[i-1].End
		}
		for row := s.from(span.Begin+1) - 1; row >= 0 && rec.Begin[row] >= since; row-- {
			if rec.Begin[row]+rec.Duration[row] <= span.Begin && take(row) {
				break
			}
		}
	}
	return set
}

// during returns the set of the quanta that overlap an interval or a span. A quantum without
// duration counts as its beginning.
func (s *selector) during(n *node) *Set {
	rec := s.e.rec
	if len(n.kids) > 0 {
		low, u := s.constant(n.kids[0])
		high, v := s.constant(n.kids[1])
		for i, u := range []unit{u, v} {
			if _, ok := nanoseconds.with(u); !ok {
				s.fail(n.kids[i], "a time is needed, not "+unitName(u), "")
			}
		}
		return RowsWhere(rec.Len(), func(row int) bool {
			begin, end := float64(rec.Begin[row]), float64(rec.Begin[row]+rec.Duration[row])
			return begin < high && (end > low || begin >= low)
		})
	}
	spans := s.spans(n)
	// The latest end among the spans up to each one.
	ends := make([]int64, len(spans))
	for i, span := range spans {
		ends[i] = span.End
		if i > 0 {
			ends[i] = max(ends[i], ends[i-1])
		}
	}
	return RowsWhere(rec.Len(), func(row int) bool {
		begin, end := rec.Begin[row], rec.Begin[row]+rec.Duration[row]
		// Spans that have begun when the quantum ends. A quantum without duration at the beginning
		// of a span is in it.
		n := sort.Search(len(spans), func(i int) bool { return spans[i].Begin >= max(end, begin+1) })
		return n > 0 && ends[n-1] > begin
	})
}

// constant returns the value of an expression without names.
func (s *selector) constant(n *node) (float64, unit) {
	c, u := s.compile(n)
	var out [1]float64
	c(out[:], 0)
	return out[0], u
}

// between returns the set of the quanta that begin between two markers: from each with the first
// text up to the next with the second, or the end of the recording. It sweeps rows and markers in
// the order of time.
func (s *selector) between(n *node) *Set {
	rec := s.e.rec
	markers := slices.Clone(rec.Markers)
	slices.SortStableFunc(markers, func(a, b quanta.Marker) int { return cmp.Compare(a.Time, b.Time) })
	for _, text := range n.texts {
		if !slices.ContainsFunc(markers, func(m quanta.Marker) bool { return m.Text == text }) {
			s.fail(n, "this recording has no marker "+quote(text), s.nearMarker(text))
		}
	}
	open, next := map[int64]bool{}, 0 // by goroutine, or 0
	return RowsWhere(rec.Len(), func(row int) bool {
		for ; next < len(markers) && markers[next].Time <= rec.Begin[row]; next++ {
			m, key := &markers[next], int64(0)
			if n.each != "" {
				key = m.Goroutine
			}
			switch m.Text {
			case n.texts[0]:
				open[key] = true
			case n.texts[1]:
				delete(open, key)
			}
		}
		if n.each == "" {
			return open[0]
		}
		return open[rec.Goroutine[row]]
	})
}

func (s *selector) nearMarker(text string) string {
	var texts []string
	for _, m := range s.e.rec.Markers[:min(len(s.e.rec.Markers), 1000)] {
		texts = append(texts, m.Text)
	}
	if near := spelling.Nearest(text, texts); near != "" {
		return quote(near)
	}
	return ""
}
