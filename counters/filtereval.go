package counters

import (
	"context"
	"math"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// Select returns the set of the rows that a filter lets pass. The error is a [*SyntaxError] if the
// recording lacks what the filter names or units do not fit, or that of ctx. It takes a few
// nanoseconds a row for each comparison and operation (BenchmarkSelect), and less for what depends
// on names only.
func (e *Explorer) Select(ctx context.Context, f *Filter) (set *Set, err error) {
	defer func() { err = caught(recover(), f.text, err) }()
	s := selector{resolver: resolver{e: e}, ctx: ctx}
	set = s.eval(f.root)
	if s.err != nil {
		return nil, s.err
	}
	return set, nil
}

// selector evaluates a filter, a set for each node.
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
		b := s.eval(n.kids[1]) // also if a is empty, to find unknown names
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

// where evaluates a column, and is the set of the rows with values for which test fills the bits.
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

// bitsOf packs what test says of each value. It is called with one function from each place, so it
// is inlined there.
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

// difference is a − b. By IEEE 754 it is 0, positive or negative just as a compares with b, since
// it never underflows to 0; and infinite where it overflows, which compares rightly, too.
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

// in is the set of the rows whose value is in one of the intervals.
func (s *selector) in(n *node) *Set {
	c, u := s.compile(n.kids[0])
	type bounds struct{ low, high float64 }
	var list []bounds
	single := map[float64]bool{} // so that a thousand goroutines cost no more than one
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

// bound is the value of a number in a list, whose unit must fit.
func (s *selector) bound(item *node, u unit) float64 {
	value, v := s.constant(item)
	if _, ok := u.with(v); !ok {
		s.fail(item, "the units differ: "+unitName(u)+" and "+unitName(v), "")
	}
	return value
}

// matcher tells of a text whether it passes.
func matcher(n *node) func(string) bool {
	switch n.word {
	case "=~", "!~":
		re, err := compileRegexp(n.texts[0]) // as the parser did
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

// text tests each of the names once, not each of the rows.
func (s *selector) text(n *node) *Set {
	rec := s.e.rec
	match := matcher(n)
	switch n.field {
	case "group":
		return byIndex(rec.Group, len(rec.Groups), func(i int) bool { return match(rec.Groups[i].Name) })
	case "kind":
		return byIndex(rec.Group, len(rec.Groups), func(i int) bool { return match(rec.Groups[i].Kind.String()) })
	case "func":
		return byIndex(rec.Func, len(rec.Funcs), func(i int) bool { return i > 0 && match(rec.Funcs[i]) })
	case "ended":
		return byIndex(rec.Ending, 256, func(i int) bool { return match(Ending(i).String()) })
	default:
		return byIndex(rec.Wait, 256, func(i int) bool { return match(timeline.Wait(i).String()) })
	}
}

// byIndex is the set of the rows whose index into a table of names passes.
func byIndex[T ~int32 | ~uint8](column []T, names int, pass func(int) bool) *Set {
	table := make([]uint64, max(names, 1)) // 1 passes
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
	case "func":
		return byIndex(s.e.rec.Func, len(s.e.rec.Funcs), func(i int) bool { return i > 0 })
	}
	return AllRows(s.e.rec.Len())
}
