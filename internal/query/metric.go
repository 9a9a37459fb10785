package query

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// compile compiles a metric. The error is an *Error.
func (e *Explorer) compile(text string) (m metric, err error) {
	err = parse(e, text, func(p *parser) { m = p.number().metric })
	m.name = strings.TrimSpace(text)
	return m, err
}

// compileAll compiles at most most metrics.
func (e *Explorer) compileAll(most int, texts ...string) (out []metric, err error) {
	if len(texts) > most {
		return nil, fmt.Errorf("want at most %d metrics, got %d", most, len(texts))
	}
	for _, text := range texts {
		m, err := e.compile(text)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// unknown is the column of a metric whose value is never known.
func unknown(int) float64 { return math.NaN() }

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
	m, err := e.compile(metric)
	if err != nil {
		return nil, err
	}
	return valuesIn(ctx, m.of, rows)
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
	free        = unit{free: true}
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

// unitName returns the unit for messages.
func unitName(u unit) string {
	if u == plainCount {
		return "a plain count"
	}
	return u.String()
}

// times multiplies a unit by a power of another; a free number changes nothing.
func (u unit) times(v unit, power int) unit {
	return unit{u.ns + power*v.ns, u.bytes + power*v.bytes, u.free && v.free}
}
