package query

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// WriteCSV writes the rows of a set (nil means all) as comma-separated values (RFC 4180, with LF
// line ends), with a header. The columns are
//
//	begin_ns, duration_ns, goroutine, group, kind, thread, proc, ended, wait, func, caller
//
// then every counter of the recording by its name, then the given metrics in their canonical form.
// Unknown values are empty. Names are safe to show in a terminal and to open in a spreadsheet:
// control characters are replaced, and a name that looks like a formula gets a leading "'". Errors
// are those of [Explorer.Values] and of w.
func (e *Explorer) WriteCSV(ctx context.Context, w io.Writer, set *Set, metrics ...*Metric) error {
	rec := e.rec
	if set == nil {
		set = AllRows(rec.Len())
	}
	header := []string{"begin_ns", "duration_ns", "goroutine", "group", "kind", "thread", "proc", "ended", "wait", "func", "caller"}
	for i := range rec.Counters {
		header = append(header, harmless(rec.Counters[i].Name))
	}
	callers := e.funcs("caller")
	var columns []column
	for _, m := range metrics {
		c, err := e.compileMetric(m)
		if err != nil {
			return err
		}
		columns = append(columns, c.column)
		header = append(header, harmless(m.String()))
	}
	out := csv.NewWriter(w)
	_ = out.Write(header) // csv.Writer keeps the first error
	record := make([]string, 0, len(header))
	err := visit(ctx, set, columns, func(row int, values []float64) {
		group := &rec.Groups[rec.Group[row]]
		name := func(i int32) string {
			if i == 0 {
				return ""
			}
			return harmless(rec.Funcs[i])
		}
		record = append(record[:0], strconv.FormatInt(rec.Begin[row], 10), strconv.FormatInt(rec.Duration[row], 10),
			strconv.FormatInt(rec.Goroutine[row], 10), harmless(group.Name), group.Kind.String(),
			idText(rec.Thread[row]), idText(int64(rec.Proc[row])), rec.Ending[row].String(), rec.Wait[row].String(), name(rec.Func[row]), name(callers[row]))
		for i := range rec.Counters {
			v := rec.Counters[i].Values[row]
			if v == quanta.Unknown {
				record = append(record, "")
			} else {
				record = append(record, strconv.FormatInt(v, 10))
			}
		}
		for _, v := range values {
			if math.IsNaN(v) {
				record = append(record, "")
			} else {
				record = append(record, strconv.FormatFloat(v, 'g', -1, 64))
			}
		}
		_ = out.Write(record)
	})
	if err != nil {
		return err
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("query: writing CSV: %w", err)
	}
	return nil
}

// idText formats the number of a thread or P; "" if unknown.
func idText(id int64) string {
	if id < 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}

// harmless makes a name safe for terminals and spreadsheets.
func harmless(name string) string {
	name = format.Clean(name)
	if strings.IndexFunc(strings.TrimLeft(name, " "), func(r rune) bool { return strings.ContainsRune("=+-@＝＋－＠", r) }) == 0 {
		return "'" + name
	}
	return name
}
