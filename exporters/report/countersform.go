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

// countersForm describes the table of quanta. In a page that includes its data, Packed contains all
// columns as consecutive little-endian arrays, compressed with gzip and encoded in base64. Each
// array has the narrowest type that holds its values exactly.
type countersForm struct {
	Name string `json:"name"`
	Rows int    `json:"rows"`
	Wall int64  `json:"wall"`
	// The page's groups, by group of the recording.
	Groups []int `json:"groups"`
	// The column goroutine has indexes of these.
	Goroutines []int64         `json:"goroutines"`
	Threads    []string        `json:"threads"` // likewise; "" is unknown
	Funcs      []string        `json:"funcs"`
	Endings    []quanta.Ending `json:"endings"`
	Waits      []timeline.Wait `json:"waits"`
	// Names for metrics: the counters last, in their order.
	Names    []query.Name          `json:"names"`
	Counters []quanta.Counter      `json:"counters"` // without values, which are columns
	Markers  []quanta.Marker       `json:"markers"`
	Spans    []quanta.Span         `json:"spans"`
	Warnings []string              `json:"warnings"`
	Columns  map[string]columnForm `json:"columns,omitempty"`
	Packed   string                `json:"packed,omitempty"`
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

// newCountersForm copies the description of a recording; pack adds the columns.
func newCountersForm(r *quanta.Recording, n *namer) (*countersForm, error) {
	f := &countersForm{
		Name: r.Name, Rows: r.Len(), Wall: int64(r.Wall), Funcs: append([]string{}, r.Funcs...), Warnings: append([]string{}, r.Warnings...),
		Groups: []int{}, Goroutines: []int64{}, Threads: []string{}, Endings: quanta.Endings(), Waits: timeline.Waits(), Counters: []quanta.Counter{}, Markers: append([]quanta.Marker{}, r.Markers...), Spans: append([]quanta.Span{}, r.Spans...),
	}
	e, err := query.NewExplorer(r)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	f.Names = e.Names()
	for _, g := range r.Groups {
		f.Groups = append(f.Groups, n.group(g.Name, g.Kind.String()))
	}
	f.Counters = append(f.Counters, r.Counters...)
	for i := range f.Counters {
		f.Counters[i].Values = nil
	}
	return f, nil
}

// packer writes columns.
type packer struct {
	buf     bytes.Buffer
	columns map[string]columnForm
}

// pack adds the columns of the recording.
func (f *countersForm) pack(r *quanta.Recording) error {
	p := &packer{columns: map[string]columnForm{}}
	goroutine, thread := f.number(r)
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
	f.Columns = p.columns
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(p.buf.Bytes()) // writing to a buffer cannot fail
	if err := z.Close(); err != nil {
		return fmt.Errorf("report: packing the columns: %w", err)
	}
	f.Packed = base64.StdEncoding.EncodeToString(packed.Bytes())
	return nil
}

// number gives goroutines and threads small numbers, in the order of their first rows.
func (f *countersForm) number(r *quanta.Recording) (goroutine, thread []int64) {
	ids, threads := map[int64]int64{}, map[int64]int64{}
	goroutine, thread = make([]int64, r.Len()), make([]int64, r.Len())
	for i := range goroutine {
		goroutine[i] = numbered(ids, r.Goroutine[i], func() { f.Goroutines = append(f.Goroutines, r.Goroutine[i]) })
		thread[i] = numbered(threads, r.Thread[i], func() { f.Threads = append(f.Threads, threadName(r.Thread[i])) })
	}
	return goroutine, thread
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

// add writes a column, aligned to 8 bytes, in the narrowest type that holds all of its values minus
// their minimum.
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
