package report

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
)

// unpack reads a column as data.js does.
func unpack(c columnForm, buf []byte, rows int) []int64 {
	out := make([]int64, rows)
	for i := range out {
		var v, none uint64
		switch c.Type {
		case "const":
			out[i] = c.Value
			continue
		case "u8":
			v, none = uint64(buf[c.Offset+i]), math.MaxUint8
		case "u16":
			v, none = uint64(binary.LittleEndian.Uint16(buf[c.Offset+2*i:])), math.MaxUint16
		case "u32":
			v, none = uint64(binary.LittleEndian.Uint32(buf[c.Offset+4*i:])), math.MaxUint32
		case "f64":
			f := math.Float64frombits(binary.LittleEndian.Uint64(buf[c.Offset+8*i:]))
			if out[i] = int64(f); math.IsNaN(f) {
				out[i] = quanta.Unknown
			}
			continue
		}
		if out[i] = int64(v) + c.Base; c.Unknown && v == none {
			out[i] = quanta.Unknown
		}
	}
	return out
}

// Every column is decoded as it was encoded, for all ranges, with and without unknown values.
func TestColumnsAreExact(t *testing.T) {
	const no = quanta.Unknown
	for _, want := range []struct {
		kind   string
		values []int64
	}{
		{"const", []int64{7, 7, 7}}, {"const", []int64{-1}}, {"const", nil},
		{"u8", []int64{0, 254, 3}}, {"u8", []int64{-5, 200, no}}, {"u8", []int64{no, no}}, {"u8", []int64{9, no, 9}}, {"u8", []int64{math.MaxInt64 - 3, math.MaxInt64}},
		{"u16", []int64{0, 255}}, {"u16", []int64{100, 65634, no}}, {"u16", []int64{-1, 30000}},
		{"u32", []int64{0, 65535}}, {"u32", []int64{5, 1 << 31, no, 6}}, {"u32", []int64{0, math.MaxUint32 - 1}},
		{"f64", []int64{0, math.MaxUint32}}, {"f64", []int64{-1 << 52, 1 << 52, no, 0}},
	} {
		p := &packer{columns: map[string]columnForm{}}
		p.add("before", []int64{1, 2, 3})
		p.add("c", want.values)
		c := p.columns["c"]
		if c.Type != want.kind || c.Offset%8 != 0 {
			t.Errorf("%v: type %s at %d, want %s", want.values, c.Type, c.Offset, want.kind)
		}
		if got := unpack(c, p.buf.Bytes(), len(want.values)); !slices.Equal(got, want.values) {
			t.Errorf("%v is read back as %v", want.values, got)
		}
	}
}
