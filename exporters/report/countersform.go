package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/counters/query"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// countersObject describes the table of quanta. For a page that includes its data, packed contains
// all columns as consecutive little-endian arrays, compressed with gzip and encoded in base64. Each
// array has the narrowest type that holds its values exactly.
func countersObject(r *quanta.Recording, n *namer, served bool) (object, error) {
	e, err := query.NewExplorer(r)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	groups, counters := []int{}, list(r.Counters)
	for _, g := range r.Groups {
		groups = append(groups, n.group(g.Name, g.Kind.String()))
	}
	for i := range counters {
		counters[i].Values = nil // which are columns
	}
	// Goroutines and threads have small numbers, in the order of their first rows.
	goroutines, threads := []int64{}, []string{}
	goroutine, thread := make([]int64, r.Len()), make([]int64, r.Len())
	ids, threadIDs := map[int64]int64{}, map[int64]int64{}
	for i := range goroutine {
		goroutine[i] = numbered(ids, r.Goroutine[i], func() { goroutines = append(goroutines, r.Goroutine[i]) })
		thread[i] = numbered(threadIDs, r.Thread[i], func() { threads = append(threads, threadName(r.Thread[i])) })
	}
	f := object{
		"name": r.Name, "rows": r.Len(), "wall": r.Wall, "groups": groups, "goroutines": goroutines, "threads": threads, "funcs": list(r.Funcs),
		"endings": quanta.Endings(), "waits": timeline.Waits(), "names": e.Names(), "counters": counters, "markers": list(r.Markers), "spans": list(r.Spans), "warnings": list(r.Warnings),
	}
	if served {
		return f, nil
	}
	p := &packer{columns: map[string]columnForm{}}
	p.add("goroutine", goroutine)
	p.add("thread", thread)
	p.add("group", widen(r.Group))
	p.add("proc", widen(r.Proc))
	p.add("begin", r.Begin)
	p.add("duration", r.Duration)
	p.add("ending", widen(r.Ending))
	p.add("wait", widen(r.Wait))
	p.add("func", widen(r.Func))
	for i := range r.Counters {
		p.add("counter "+strconv.Itoa(i), r.Counters[i].Values)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(p.buf.Bytes()) // writing to a buffer cannot fail
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("report: packing the columns: %w", err)
	}
	f["columns"], f["packed"] = p.columns, base64.StdEncoding.EncodeToString(packed.Bytes())
	return f, nil
}

// columnForm is the place of a column. A column of type "const" has one value. If Unknown is set,
// the largest value of the type stands for an unknown one.
type columnForm struct {
	Type    string `json:"type"`
	Offset  int    `json:"offset,omitempty"`
	Value   int64  `json:"value,omitempty"`
	Base    int64  `json:"base,omitempty"` // added to each value
	Unknown bool   `json:"unknown,omitempty"`
}

// packer writes columns.
type packer struct {
	buf     bytes.Buffer
	columns map[string]columnForm
}

func numbered(index map[int64]int64, v int64, added func()) int64 {
	n, ok := index[v]
	if !ok {
		n = int64(len(index))
		index[v] = n
		added()
	}
	return n
}

func threadName(id int64) string {
	if id < 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}

func widen[T ~uint8 | ~int32](in []T) []int64 {
	out := make([]int64, len(in))
	for i, v := range in {
		out[i] = int64(v)
	}
	return out
}

// add writes a column, aligned to 8 bytes, in the narrowest type for its values minus the minimum.
func (p *packer) add(name string, values []int64) {
	lo, hi, unknown := int64(math.MaxInt64), int64(math.MinInt64), false
	for _, v := range values {
		if v == quanta.Unknown {
			unknown = true
			continue
		}
		lo, hi = min(lo, v), max(hi, v)
	}
	c := columnForm{Offset: p.buf.Len(), Unknown: unknown}
	span := uint64(hi) - uint64(lo)
	switch {
	case len(values) == 0, !unknown && lo == hi:
		p.columns[name] = columnForm{Type: "const", Value: min(lo, hi)}
		if len(values) > 0 {
			p.columns[name] = columnForm{Type: "const", Value: lo}
		}
		return
	case lo > hi: // all unknown
		c.Type = "u8"
	case span < math.MaxUint8:
		c.Type, c.Base = "u8", lo
	case span < math.MaxUint16:
		c.Type, c.Base = "u16", lo
	case span < math.MaxUint32:
		c.Type, c.Base = "u32", lo
	default:
		c.Type, c.Unknown = "f64", false
	}
	p.write(c, values)
	for p.buf.Len()%8 != 0 {
		p.buf.WriteByte(0)
	}
	p.columns[name] = c
}

func (p *packer) write(c columnForm, values []int64) {
	var b []byte
	for _, v := range values {
		none := v == quanta.Unknown
		switch c.Type {
		case "u8":
			b = append(b, narrow[uint8](v-c.Base, none))
		case "u16":
			b = binary.LittleEndian.AppendUint16(b, narrow[uint16](v-c.Base, none))
		case "u32":
			b = binary.LittleEndian.AppendUint32(b, narrow[uint32](v-c.Base, none))
		default:
			f := float64(v)
			if none {
				f = math.NaN()
			}
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
		}
		if len(b) >= 1<<16 {
			p.buf.Write(b)
			b = b[:0]
		}
	}
	p.buf.Write(b)
}

// narrow converts the value, or returns the largest of the type for none.
func narrow[T uint8 | uint16 | uint32](v int64, none bool) T {
	if none {
		return ^T(0)
	}
	return T(v)
}
