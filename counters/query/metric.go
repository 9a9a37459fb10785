package query

import (
	"context"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/internal/spelling"
)

// A metric is evaluated in blocks. The column of a node is a function that fills a slice with the
// node's values for consecutive rows. NaN stands for an unknown value. Other results that would be
// NaN or infinite are unknown, too.

// blockRows is the number of rows evaluated at once, chosen so that the slices stay in the cache.
const blockRows = 1024

// column fills dst with the values of the rows from lo on. It has its own memory, so it is not safe
// for concurrent use.
type column func(dst []float64, lo int)

// compiled is a metric prepared for a recording.
type compiled struct {
	name   string // canonical
	column column
	unit   unit
	// The sides of a quotient; nil for other metrics.
	over, under column
}

// compile parses a metric and resolves its names. The error is a *SyntaxError.
func (e *Explorer) compile(text string) (c *compiled, err error) {
	root, err := parse(text, (*lexer).metric)
	if err != nil {
		return nil, err
	}
	defer recovered(&err)
	r := resolver{e: e, text: text}
	c = &compiled{name: root.String()}
	if root.op != opDiv {
		c.column, c.unit = r.compile(root)
		return c, nil
	}
	var u, v unit
	c.over, u = r.compile(root.kids[0])
	c.under, v = r.compile(root.kids[1])
	c.column, c.unit = arithmetic(opDiv, c.over, c.under), u.over(v)
	return c, nil
}

// compilePart is compile for a part of a query. The error is a *PartError.
func (e *Explorer) compilePart(part, text string) (*compiled, error) {
	c, err := e.compile(text)
	if err != nil {
		return nil, &PartError{part, err}
	}
	return c, nil
}

// maxChanges bounds the number of columns that a metric computes in advance.
const maxChanges = 8

type resolver struct {
	e       *Explorer
	text    string
	changes int
}

func (r *resolver) fail(n *node, message, near string) {
	panic(syntaxError(r.text, n.pos, message, near))
}

// compile returns the column of a node, and its unit.
func (r *resolver) compile(n *node) (column, unit) {
	switch n.op {
	case opNumber:
		u := unit{free: true}
		if n.word != "" {
			u = suffixes[n.word].unit
		}
		return constant(n.num), u
	case opName, opQuoted:
		return r.named(n)
	case opNeg, opAbs:
		kid, u := r.compile(n.kids[0])
		if n.op == opNeg {
			return each(kid, func(v float64) float64 { return -v }), u
		}
		return each(kid, math.Abs), u
	case opChange:
		return r.change(n)
	}
	out, u := r.compile(n.kids[0])
	for _, kid := range n.kids[1:] {
		next, v := r.compile(kid)
		switch n.op {
		case opMul:
			u = u.times(v)
		case opDiv:
			u = u.over(v)
		default:
			both, ok := u.with(v)
			if !ok {
				r.fail(n, "the units differ: "+unitName(u)+" and "+unitName(v), "")
			}
			u = both
		}
		out = arithmetic(n.op, out, next)
	}
	return out, u
}

func unitName(u unit) string {
	if u == plainCount {
		return "a plain count"
	}
	return u.String()
}

func constant(v float64) column {
	return func(dst []float64, _ int) {
		for i := range dst {
			dst[i] = v
		}
	}
}

func each(kid column, f func(float64) float64) column {
	return func(dst []float64, lo int) {
		kid(dst, lo)
		for i, v := range dst {
			dst[i] = f(v)
		}
	}
}

// arithmetic combines two columns. The conversions keep the compiler from fusing a multiplication
// and an addition, which would round differently on some processors.
func arithmetic(op nodeOp, a, b column) column {
	buf := make([]float64, blockRows)
	return func(dst []float64, lo int) {
		right := buf[:len(dst)]
		a(dst, lo)
		b(right, lo)
		switch op {
		case opAdd:
			for i, v := range right {
				dst[i] = finite(dst[i] + v)
			}
		case opSub:
			for i, v := range right {
				dst[i] = finite(dst[i] - v)
			}
		case opMul:
			for i, v := range right {
				dst[i] = finite(float64(dst[i] * v))
			}
		case opDiv:
			for i, v := range right {
				dst[i] = finite(dst[i] / v)
			}
		case opMin:
			for i, v := range right {
				dst[i] = min(dst[i], v)
			}
		case opMax:
			for i, v := range right {
				dst[i] = max(dst[i], v)
			}
		}
	}
}

// finite turns infinities into unknown values.
func finite(v float64) float64 {
	if v-v != 0 {
		return math.NaN()
	}
	return v
}

// named returns the column of a name: built in, or a counter.
func (r *resolver) named(n *node) (column, unit) {
	rec := r.e.rec
	if n.op == opName {
		switch n.word {
		case "duration":
			return integers(rec.Duration, math.MinInt64), nanoseconds
		case "begin":
			return integers(rec.Begin, math.MinInt64), nanoseconds
		case "end":
			return byRow(func(row int) float64 { return float64(rec.Begin[row] + rec.Duration[row]) }), nanoseconds
		case "gap":
			return sincePrevious(r.e, func(row, prev int) float64 { return float64(rec.Begin[row] - rec.Begin[prev] - rec.Duration[prev]) }), nanoseconds
		case "goroutine":
			return integers(rec.Goroutine, math.MinInt64), plainCount
		case "thread":
			return integers(rec.Thread, 0), plainCount
		case "proc":
			return integers(rec.Proc, 0), plainCount
		}
	}
	i := -1
	if n.op == opQuoted {
		i = r.e.exactly(n.word)
	} else {
		i = r.e.counter(n.word)
	}
	if i < 0 {
		var known []string
		for _, name := range r.e.Names() {
			known = append(known, name.Name)
		}
		r.fail(n, "this recording has no counter "+quote(n.word), spelling.Nearest(n.word, known))
	}
	return integers(rec.Counters[i].Values, quanta.Unknown+1), parseUnit(rec.Counters[i].Unit)
}

// byRow returns the column of a function of the row.
func byRow(f func(row int) float64) column {
	return func(dst []float64, lo int) {
		for i := range dst {
			dst[i] = f(lo + i)
		}
	}
}

// sincePrevious returns the column of a function of the row and the goroutine's previous one.
func sincePrevious(e *Explorer, f func(row, prev int) float64) column {
	e.index()
	return byRow(func(row int) float64 {
		if prev := e.prev[row]; prev >= 0 {
			return f(row, int(prev))
		}
		return math.NaN()
	})
}

// integers returns the column of an integer column of the table. Values below least are unknown.
func integers[T int32 | int64](values []T, least int64) column {
	return func(dst []float64, lo int) {
		for i, v := range values[lo : lo+len(dst)] {
			if dst[i] = float64(v); int64(v) < least {
				dst[i] = math.NaN()
			}
		}
	}
}

// change returns the difference to the goroutine's previous quantum. That may be far back, so it
// needs the whole column.
func (r *resolver) change(n *node) (column, unit) {
	if r.changes++; r.changes > maxChanges {
		r.fail(n, "more than 8 changes in one metric", "")
	}
	kid, u := r.compile(n.kids[0])
	return changeOf(r.e, kid), u
}

func changeOf(e *Explorer, kid column) column {
	values := make([]float64, e.rec.Len())
	for lo := 0; lo < len(values); lo += blockRows {
		kid(values[lo:min(lo+blockRows, len(values))], lo)
	}
	return sincePrevious(e, func(row, prev int) float64 { return finite(values[row] - values[prev]) })
}

// visit calls f with the rows of a set, in order, and their values in each column.
func visit(ctx context.Context, set *Set, columns []column, f func(row int, values []float64)) error {
	values, buffers := make([]float64, len(columns)), make([][]float64, len(columns))
	for i := range buffers {
		buffers[i] = make([]float64, blockRows)
	}
	for lo := 0; lo < set.n; lo += blockRows {
		if lo%(blockRows*64) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		words := set.words[lo>>6 : min(lo+blockRows, len(set.words)<<6)>>6]
		if !slices.ContainsFunc(words, func(w uint64) bool { return w != 0 }) {
			continue
		}
		for i, c := range columns {
			c(buffers[i][:min(blockRows, set.n-lo)], lo)
		}
		for i, w := range words {
			for ; w != 0; w &= w - 1 {
				at := i<<6 + bits.TrailingZeros64(w)
				for j := range values {
					values[j] = buffers[j][at]
				}
				f(lo+at, values)
			}
		}
	}
	return nil
}

// Values returns the values of a metric for the rows of a set, in order; NaN if unknown. The error
// is a [*SyntaxError] if the text is not a metric of this recording, or that of ctx.
func (e *Explorer) Values(ctx context.Context, metric string, set *Set) ([]float64, error) {
	c, err := e.compile(metric)
	if err != nil {
		return nil, err
	}
	out := make([]float64, 0, set.Count())
	err = visit(ctx, set, []column{c.column}, func(_ int, v []float64) { out = append(out, v[0]) })
	return out, err
}

// unit is a product of powers of nanoseconds and bytes. A plain count has neither. A number written
// in a metric is free: it is compatible with every unit.
type unit struct {
	ns, bytes int
	free      bool
}

var (
	plainCount  = unit{}
	nanoseconds = unit{ns: 1}
	inBytes     = unit{bytes: 1}
)

func parseUnit(s string) unit {
	switch s {
	case "ns":
		return nanoseconds
	case "bytes":
		return inBytes
	}
	return plainCount
}

// String returns "ns", "bytes/ns", "1/ns", "ns^2"; "" for a plain count.
func (u unit) String() string {
	var over, under []string
	add := func(name string, power int) {
		if power > 1 || power < -1 {
			name += "^" + strconv.Itoa(max(power, -power))
		}
		if power > 0 {
			over = append(over, name)
		} else if power < 0 {
			under = append(under, name)
		}
	}
	add("ns", u.ns)
	add("bytes", u.bytes)
	if len(over) == 0 && len(under) > 0 {
		over = []string{"1"}
	}
	return strings.Join(append([]string{strings.Join(over, "*")}, under...), "/")
}

// times and over multiply and divide units; a free number changes nothing.
func (u unit) times(v unit) unit {
	return unit{u.ns + v.ns, u.bytes + v.bytes, u.free && v.free}
}

func (u unit) over(v unit) unit {
	return unit{u.ns - v.ns, u.bytes - v.bytes, u.free && v.free}
}

// with returns the unit of a sum, if the two can be added and compared.
func (u unit) with(v unit) (unit, bool) {
	switch {
	case u.free:
		return v, true
	case v.free:
		return u, true
	}
	return u, u == v
}
