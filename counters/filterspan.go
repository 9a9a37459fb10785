package counters

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/bottleneck-go/bottleneck/internal/spelling"
)

// Filters by what happened beside the quanta: spans, such as those of garbage collections, and
// markers.

// spans returns those of a name, in the order of their beginnings. An unknown name is an error,
// except for a program that never collected.
func (s *selector) spans(n *node) (out []Span) {
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
	slices.SortStableFunc(out, func(a, b Span) int { return cmp.Compare(a.Begin, b.Begin) })
	return out
}

// from is the first row that begins at t or later.
func (s *selector) from(t int64) int {
	begin := s.e.rec.Begin
	return sort.Search(len(begin), func(i int) bool { return begin[i] >= t })
}

// eachOf numbers what n quanta are counted of; all rows have number 0 if it is nothing.
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

// ranked is the first n quanta after each span, or the last n before it.
//
// first: of those that begin at the end of the span or later, and before the next span begins, the
// first n. last: of those that end before the span begins, and begin at the end of the span before
// or later, the last n.
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

// during is the set of the quanta that overlap a stretch of time or a span. A quantum without
// duration is at its beginning.
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
	// The end of the longest of the spans up to each one.
	ends := make([]int64, len(spans))
	for i, span := range spans {
		ends[i] = span.End
		if i > 0 {
			ends[i] = max(ends[i], ends[i-1])
		}
	}
	return RowsWhere(rec.Len(), func(row int) bool {
		begin, end := rec.Begin[row], rec.Begin[row]+rec.Duration[row]
		// Spans that have begun when the quantum ends; a quantum without duration at the
		// beginning of a span is in it.
		n := sort.Search(len(spans), func(i int) bool { return spans[i].Begin >= max(end, begin+1) })
		return n > 0 && ends[n-1] > begin
	})
}

// constant is the value of a number that has no names in it.
func (s *selector) constant(n *node) (float64, unit) {
	c, u := s.compile(n)
	var out [1]float64
	c(out[:], 0)
	return out[0], u
}

// between is the set of the quanta that begin between two markers: from each with the first text up
// to the next with the second, or the end of the recording. Rows and markers are swept in the order
// of time.
func (s *selector) between(n *node) *Set {
	rec := s.e.rec
	markers := slices.Clone(rec.Markers)
	slices.SortStableFunc(markers, func(a, b Marker) int { return cmp.Compare(a.Time, b.Time) })
	for _, text := range n.texts {
		if !slices.ContainsFunc(markers, func(m Marker) bool { return m.Text == text }) {
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
