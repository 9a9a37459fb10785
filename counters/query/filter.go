package query

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/internal/spelling"
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

// ParseFilters parses filters with commas between them. The error is a [*SyntaxError].
func ParseFilters(text string) (out []*Filter, err error) {
	_, err = parse(text, func(l *lexer) *node {
		for more := true; more; more = l.take(",") {
			root := l.filter()
			out = append(out, &Filter{root, text})
		}
		return nil
	})
	return out, err
}

// String returns the canonical form, which parses to the same filter, unless the text was already
// close to the limits: the canonical form may be longer and have more parentheses.
func (f *Filter) String() string { return f.root.String() }

// Select returns the set of the rows that a filter selects. The error is a [*SyntaxError] if the
// recording lacks a name in the filter or units do not match, or that of ctx. Select takes a few
// nanoseconds per row for each comparison and operation (BenchmarkSelect), and less for conditions
// that depend only on names.
func (e *Explorer) Select(ctx context.Context, f *Filter) (set *Set, err error) {
	defer recovered(&err)
	s := selector{resolver: resolver{e: e, text: f.text}, ctx: ctx}
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

// where returns the set of the rows whose value passes a test.
func (s *selector) where(c column, test func(float64) bool) *Set {
	set := NoRows(s.e.rec.Len())
	values := make([]float64, blockRows)
	for lo := 0; lo < set.n && s.err == nil; lo += blockRows {
		size := min(blockRows, set.n-lo)
		c(values[:size], lo)
		for i, v := range values[:size] {
			if test(v) {
				set.add(lo + i)
			}
		}
	}
	return set
}

// relationTests has the tests of a difference.
var relationTests = map[string]func(d float64) bool{
	"=":  func(d float64) bool { return d == 0 },
	"!=": func(d float64) bool { return d < 0 || d > 0 },
	"<":  func(d float64) bool { return d < 0 },
	"<=": func(d float64) bool { return d <= 0 },
	">":  func(d float64) bool { return d > 0 },
	">=": func(d float64) bool { return d >= 0 },
}

func (s *selector) compare(n *node) *Set {
	left, u := s.compile(n.kids[0])
	right, v := s.compile(n.kids[1])
	if _, ok := u.with(v); !ok {
		s.fail(n, "the units differ: "+unitName(u)+" and "+unitName(v), "")
	}
	return s.where(difference(left, right), relationTests[n.word])
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
	return s.where(c, func(v float64) bool {
		for _, b := range list {
			if v >= b.low && v <= b.high {
				return true
			}
		}
		return len(single) > 0 && single[v]
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

func (s *selector) text(n *node) *Set {
	keys, _ := s.e.by(n.field)
	match := matcher(n)
	return keys.where(s.e.rec.Len(), func(key int32) bool { return key != keys.unknown && match(keys.name(key)) })
}

func (s *selector) known(n *node) *Set {
	if n.field != "" {
		keys, _ := s.e.by(n.field)
		return keys.where(s.e.rec.Len(), func(key int32) bool { return key != keys.unknown })
	}
	c, _ := s.compile(n.kids[0])
	return s.where(c, func(v float64) bool { return v == v })
}

// Filters by events besides the quanta: spans, such as those of garbage collections, and markers.

// spans returns the spans with a name, in the order of their beginnings. An unknown name is an
// error, unless it is gc and the program never collected.
func (s *selector) spans(n *node) (out []quanta.Span) {
	var names []string
	for _, span := range s.e.rec.Spans {
		if span.Name == n.span {
			out = append(out, span)
		} else {
			names = append(names, span.Name)
		}
	}
	if len(out) == 0 && n.span != gcSpan {
		s.missing(n, "span", n.span, names)
	}
	slices.SortStableFunc(out, func(a, b quanta.Span) int { return cmp.Compare(a.Begin, b.Begin) })
	return out
}

// missing fails because the recording has no span or marker of a name.
func (s *selector) missing(n *node, what, text string, known []string) {
	known = slices.Compact(slices.Sorted(slices.Values(known)))
	near := spelling.Nearest(text, known[:min(len(known), 1000)])
	if near != "" {
		near = quote(near)
	}
	s.fail(n, "this recording has no "+what+" "+quote(text), near)
}

// from returns the first row that begins at t or later.
func (s *selector) from(t int64) int {
	begin := s.e.rec.Begin
	return sort.Search(len(begin), func(i int) bool { return begin[i] >= t })
}

// ranked returns the first n quanta after each span, or the last n before it.
//
// first: of the quanta that begin at the end of the span or later and before the next span begins,
// the first n. last: of the quanta that end before the span begins and begin at the end of the
// previous span or later, the last n.
func (s *selector) ranked(n *node) *Set {
	rec, each := s.e.rec, func(int) int32 { return 0 }
	if n.each != "" {
		keys, _ := s.e.by(n.each)
		each = keys.of
	}
	set := NoRows(rec.Len())
	spans := s.spans(n)
	for i, span := range spans {
		seen := map[int32]int{}
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
	var known []string
	for _, m := range markers {
		known = append(known, m.Text)
	}
	for _, text := range n.texts {
		if !slices.Contains(known, text) {
			s.missing(n, "marker", text, known)
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
