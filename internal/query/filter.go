package query

import (
	"cmp"
	"context"
	"math"
	"slices"
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
	_, err := compileFilter(nil, text)
	return err
}

// compileFilter compiles a filter for a recording; with none, it only checks the syntax.
func compileFilter(e *Explorer, text string) (in predicate, err error) {
	err = parse(e, text, func(p *parser) {
		if in = func(int) bool { return true }; p.pos() < len(text) {
			in = p.filter().in
		}
	})
	return in, err
}

// SplitFilters returns the filters of a text with commas between them. The error is an [*Error].
func SplitFilters(text string) (filters []string, err error) {
	err = parse(nil, text, func(p *parser) {
		p.list(func() {
			from := p.pos()
			p.filter()
			filters = append(filters, strings.TrimSpace(text[from:p.at]))
		})
	})
	return filters, err
}

// Select returns the rows that a filter selects, in order. The error is an [*Error] if the filter is
// invalid, the recording lacks a name in it, or units do not match, or that of ctx. Select takes a
// few nanoseconds per row for each comparison and operation (BenchmarkSelect), and less for
// conditions that depend only on names.
func (e *Explorer) Select(ctx context.Context, filter string) ([]int, error) {
	in, err := compileFilter(e, filter)
	if err != nil {
		return nil, err
	}
	rows := make([]int, 0, e.rec.Len())
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

// where selects the rows whose value passes a test.
func where(c column, test func(float64) bool) predicate {
	return func(row int) bool { return test(c(row)) }
}

// Filters by events besides the quanta: spans, such as those of garbage collections, and markers.

// gcSpan is the span that "gc" stands for: the phase between the two pauses of a collection.
const gcSpan = "GC concurrent mark phase"

// spans returns the spans with a name, in the order of their beginnings. An unknown name is an
// error, unless it is that of collections, and the program never collected.
func (p *parser) spans(at int, name string) (out []quanta.Span) {
	var names []string
	for _, span := range p.e.rec.Spans {
		if names = append(names, span.Name); span.Name == name {
			out = append(out, span)
		}
	}
	if name != gcSpan {
		p.find(at, "span", name, names)
	}
	slices.SortStableFunc(out, func(a, b quanta.Span) int { return cmp.Compare(a.Begin, b.Begin) })
	return out
}

// markers returns all markers in the order of time. It is an error if none has one of the texts.
func (p *parser) markers(at int, texts []string) []quanta.Marker {
	markers := slices.Clone(p.e.rec.Markers)
	slices.SortStableFunc(markers, func(a, b quanta.Marker) int { return cmp.Compare(a.Time, b.Time) })
	var known []string
	for _, m := range markers {
		known = append(known, m.Text)
	}
	for _, text := range texts {
		p.find(at, "marker", text, known)
	}
	return markers
}

// find objects if a text is not among those of the spans or markers of the recording.
func (p *parser) find(at int, what, text string, known []string) {
	if p.err != nil || slices.Contains(known, text) {
		return
	}
	known = slices.Compact(slices.Sorted(slices.Values(known)))
	near := spelling.Nearest(text, known[:min(len(known), 1000)])
	if near != "" {
		near = quote(near)
	}
	p.object(at, "this recording has no "+what+" "+quote(text), near)
}

// from returns the first row that begins at t or later.
func (e *Explorer) from(t int64) int {
	row, _ := slices.BinarySearch(e.rec.Begin, t)
	return row
}

// quota chooses up to a number of quanta for each key.
type quota struct {
	chosen []bool
	most   int
	keys   keys
	taken  map[int32]int
}

func (e *Explorer) quota(most int, each string) *quota {
	keys, _ := e.by(each)
	return &quota{make([]bool, e.rec.Len()), most, keys, map[int32]int{}}
}

// take chooses a row if there is room. It reports whether no other row can be chosen.
func (q *quota) take(row int) (full bool) {
	key := q.keys.of(row)
	if q.taken[key] < q.most {
		q.taken[key]++
		q.chosen[row] = true
	}
	return q.keys.n == 1 && q.taken[key] == q.most
}

func (q *quota) in(row int) bool { return q.chosen[row] }

// first selects, of the quanta that begin at the end of a span or later and before the next span
// begins, the first n, of each key if a property is given.
func (e *Explorer) first(n int, spans []quanta.Span, each string) predicate {
	q := e.quota(n, each)
	for i, span := range spans {
		clear(q.taken)
		until := int64(math.MaxInt64)
		if i+1 < len(spans) {
			until = spans[i+1].Begin
		}
		for row := e.from(span.End); row < e.rec.Len() && e.rec.Begin[row] < until && !q.take(row); row++ {
		}
	}
	return q.in
}

// last selects, of the quanta that end before a span begins and begin at the end of the previous
// span or later, the last n, of each key if a property is given.
func (e *Explorer) last(n int, spans []quanta.Span, each string) predicate {
	q, rec, since := e.quota(n, each), e.rec, int64(math.MinInt64)
	for _, span := range spans {
		clear(q.taken)
		for row := e.from(span.Begin+1) - 1; row >= 0 && rec.Begin[row] >= since; row-- {
			if rec.Begin[row]+rec.Duration[row] <= span.Begin && q.take(row) {
				break
			}
		}
		since = span.End
	}
	return q.in
}

// during selects the quanta that overlap an interval. A quantum without duration counts as its
// beginning.
func (e *Explorer) during(ends [2]float64) predicate {
	rec := e.rec
	return func(row int) bool {
		begin, end := float64(rec.Begin[row]), float64(rec.Begin[row]+rec.Duration[row])
		return begin < ends[1] && (end > ends[0] || begin >= ends[0])
	}
}

// duringSpans selects the quanta that overlap a span.
func (e *Explorer) duringSpans(spans []quanta.Span) predicate {
	rec := e.rec
	begins, ends := make([]int64, len(spans)), make([]int64, len(spans)) // the latest end among the spans up to each one
	latest := int64(math.MinInt64)
	for i, span := range spans {
		latest = max(latest, span.End)
		begins[i], ends[i] = span.Begin, latest
	}
	return func(row int) bool {
		begin, end := rec.Begin[row], rec.Begin[row]+rec.Duration[row]
		// Spans that have begun when the quantum ends. A quantum without duration at the beginning
		// of a span is in it.
		n, _ := slices.BinarySearch(begins, max(end, begin+1))
		return n > 0 && ends[n-1] > begin
	}
}

// between selects the quanta that begin between two markers: from each with the first text up to
// the next with the second, or the end of the recording. It sweeps rows and markers in the order of
// time. If each is set, markers affect only the goroutine that set them.
func (e *Explorer) between(markers []quanta.Marker, first, second string, each bool) predicate {
	open := map[int64]bool{} // by goroutine, or 0
	key := func(goroutine int64) int64 {
		if each {
			return goroutine
		}
		return 0
	}
	inside := make([]bool, e.rec.Len())
	for row := range inside {
		for len(markers) > 0 && markers[0].Time <= e.rec.Begin[row] {
			switch m := &markers[0]; m.Text {
			case first:
				open[key(m.Goroutine)] = true
			case second:
				delete(open, key(m.Goroutine))
			}
			markers = markers[1:]
		}
		inside[row] = open[key(e.rec.Goroutine[row])]
	}
	return func(row int) bool { return inside[row] }
}
