package query

import (
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/internal/spelling"
)

// column returns the value of a metric for a row. NaN stands for an unknown value. Other results
// that would be NaN or infinite are unknown, too.
type column func(row int) float64

// compiled is a metric prepared for a recording.
type compiled struct {
	name   string // as written
	column column
	unit   unit
	// The sides of a quotient; nil for other metrics.
	over, under column
}

// compile parses a metric and resolves its names. The error is an *Error.
func (e *Explorer) compile(text string) (c *compiled, err error) {
	root, err := parse(text, (*lexer).metric)
	if err != nil {
		return nil, err
	}
	defer recovered(&err)
	v := evaluator{e: e, text: text}
	c = &compiled{name: strings.TrimSpace(text)}
	if root.op != "/" {
		c.column, c.unit = v.metric(root)
		return c, nil
	}
	var a, b unit
	c.over, a = v.metric(root.kids[0])
	c.under, b = v.metric(root.kids[1])
	c.column, c.unit = combined(c.over, c.under, arithmetic["/"]), a.times(b, -1)
	return c, nil
}

// compileAll compiles at most most metrics of a part of a query. The error is an *Error.
func (e *Explorer) compileAll(part string, most int, texts ...string) (out []*compiled, err error) {
	if len(texts) > most {
		return nil, partError(part, "want at most %d metrics, got %d", most, len(texts))
	}
	for _, text := range texts {
		c, err := e.compile(text)
		if err != nil {
			return nil, InPart(part, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// maxChanges bounds the changes of a metric: each nested one evaluates its argument twice.
const maxChanges = 8

// evaluator evaluates the nodes of an expression for a recording.
type evaluator struct {
	e       *Explorer
	text    string
	changes int
}

func (v *evaluator) fail(n *node, message, near string) {
	panic(syntaxError(v.text, n.pos, message, near))
}

// arithmetic has the functions of two values. The conversion keeps the compiler from fusing a
// multiplication and an addition, which would round differently on some processors.
var arithmetic = map[string]func(a, b float64) float64{
	"+":   func(a, b float64) float64 { return finite(a + b) },
	"-":   func(a, b float64) float64 { return finite(a - b) },
	"*":   func(a, b float64) float64 { return finite(float64(a * b)) },
	"/":   func(a, b float64) float64 { return finite(a / b) },
	"min": func(a, b float64) float64 { return min(a, b) },
	"max": func(a, b float64) float64 { return max(a, b) },
}

func (v *evaluator) metric(n *node) (column, unit) {
	switch n.op {
	case opNumber:
		u := unit{free: true}
		if n.text != "" {
			u = suffixes[n.text].unit
		}
		return func(int) float64 { return n.value }, u
	case opName, opString:
		return v.named(n)
	}
	out, u := v.metric(n.kids[0])
	switch n.op {
	case opNeg:
		return func(row int) float64 { return -out(row) }, u
	case "abs":
		return func(row int) float64 { return math.Abs(out(row)) }, u
	case "change":
		if v.changes++; v.changes > maxChanges {
			v.fail(n, "more than 8 changes in one metric", "")
		}
		return changeOf(v.e, out), u
	}
	for _, kid := range n.kids[1:] {
		next, w := v.metric(kid)
		switch n.op {
		case "*":
			u = u.times(w, 1)
		case "/":
			u = u.times(w, -1)
		default:
			u = v.same(n, u, w)
		}
		out = combined(out, next, arithmetic[n.op])
	}
	return out, u
}

// same returns the unit of a sum or comparison, and fails if the units differ. A free number has
// every unit.
func (v *evaluator) same(n *node, a, b unit) unit {
	switch {
	case a.free:
		return b
	case !b.free && a != b:
		v.fail(n, "the units differ: "+unitName(a)+" and "+unitName(b), "")
	}
	return a
}

func unitName(u unit) string {
	if u == plainCount {
		return "a plain count"
	}
	return u.String()
}

// combined returns the column of a function of two columns.
func combined(a, b column, f func(a, b float64) float64) column {
	return func(row int) float64 { return f(a(row), b(row)) }
}

// finite turns infinities into unknown values.
func finite(v float64) float64 {
	if v-v != 0 {
		return math.NaN()
	}
	return v
}

// named returns the column of a name: built in, or a counter.
func (v *evaluator) named(n *node) (column, unit) {
	if n.op == opName {
		for _, b := range builtins {
			if b.Name == n.text {
				return b.column(v.e), parseUnit(b.Unit)
			}
		}
	}
	i := v.e.counter(n.text, n.op == opString)
	if i < 0 {
		var known []string
		for _, name := range v.e.Names() {
			known = append(known, name.Name)
		}
		v.fail(n, "this recording has no counter "+quote(n.text), spelling.Nearest(n.text, known))
	}
	c := &v.e.rec.Counters[i]
	return integers(c.Values, quanta.Unknown+1), parseUnit(c.Unit)
}

// sincePrevious returns the column of a function of the row and the goroutine's previous one.
func sincePrevious(e *Explorer, f func(row, prev int) float64) column {
	e.index()
	return func(row int) float64 {
		if prev := e.prev[row]; prev >= 0 {
			return f(row, int(prev))
		}
		return math.NaN()
	}
}

// integers returns the column of an integer column of the table. Values below least are unknown.
func integers[T int32 | int64](values []T, least int64) column {
	return func(row int) float64 {
		if v := values[row]; int64(v) >= least {
			return float64(v)
		}
		return math.NaN()
	}
}

// changeOf returns the difference to the goroutine's previous quantum.
func changeOf(e *Explorer, of column) column {
	return sincePrevious(e, func(row, prev int) float64 { return finite(of(row) - of(prev)) })
}

// visit calls f with each of the rows and its values in each column.
func visit(ctx context.Context, rows []int, columns []column, f func(row int, values []float64)) error {
	values := make([]float64, len(columns))
	for n, row := range rows {
		if n&(1<<16-1) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for i, c := range columns {
			values[i] = c(row)
		}
		f(row, values)
	}
	return nil
}

// Values returns the value of a metric for each of the rows; NaN if unknown. The error is an
// [*Error] if the text is not a metric of this recording, or that of ctx.
func (e *Explorer) Values(ctx context.Context, metric string, rows []int) ([]float64, error) {
	c, err := e.compile(metric)
	if err != nil {
		return nil, err
	}
	return valuesIn(ctx, c.column, rows)
}

func valuesIn(ctx context.Context, c column, rows []int) ([]float64, error) {
	out := make([]float64, 0, len(rows))
	err := visit(ctx, rows, []column{c}, func(_ int, v []float64) { out = append(out, v[0]) })
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
	return map[string]unit{"ns": nanoseconds, "bytes": inBytes}[s]
}

// String returns "ns", "bytes/ns", "1/ns", "ns^2"; "" for a plain count.
func (u unit) String() string {
	over, under := "", ""
	add := func(name string, power int) {
		if power > 1 || power < -1 {
			name += "^" + strconv.Itoa(max(power, -power))
		}
		if power > 0 {
			over += "*" + name
		} else if power < 0 {
			under += "/" + name
		}
	}
	add("ns", u.ns)
	add("bytes", u.bytes)
	if over == "" && under != "" {
		over = "1"
	}
	return strings.TrimPrefix(over, "*") + under
}

// times multiplies a unit by a power of another; a free number changes nothing.
func (u unit) times(v unit, power int) unit {
	return unit{u.ns + power*v.ns, u.bytes + power*v.bytes, u.free && v.free}
}
