package archive

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/perfevent"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

var some = []perfevent.Record{
	{Kind: perfevent.SwitchIn, CPU: 0, Thread: 1000, Time: 5_000_000_000_000},
	{Kind: perfevent.Hit, Event: 2, CPU: 63, Thread: 17, Time: 4_999_999_999_000},
	{Kind: perfevent.Reading, Event: 1, CPU: -1, Thread: 1000, Time: 5_000_000_100_000, Enabled: 7, Running: 6, Values: []uint64{0, math.MaxUint64, 5}},
	{Kind: perfevent.Lost, CPU: 1, Value: 99},
	{Kind: perfevent.Preempted, CPU: 1, Thread: math.MaxInt32, Time: math.MaxInt64},
	{Kind: perfevent.ThreadEnd, CPU: 1, Thread: 5, Time: 0},
	{Kind: perfevent.Broken, CPU: 1},
}

func pack(rs []perfevent.Record) (b []byte) {
	var e Encoder
	for i := range rs {
		b = e.Append(b, &rs[i])
	}
	return b
}

func unpack(b []byte) (rs []perfevent.Record, err error) {
	d := NewDecoder(bytes.NewReader(b))
	for {
		var r perfevent.Record
		if err := d.Next(&r); err != nil {
			return rs, err
		}
		if len(r.Values) == 0 {
			r.Values = nil
		}
		rs = append(rs, r)
	}
}

func TestEncodeDecodeRoundTrip(t *testing.T) {
	got, err := unpack(pack(some))
	if err != io.EOF || !reflect.DeepEqual(got, some) {
		t.Errorf("%+v, %v; want %+v", got, err, some)
	}
}

// TestCutOff: everything before the cut is read. The cut is an error unless it is between two
// records.
func TestCutOff(t *testing.T) {
	ends := map[int]bool{0: true}
	for i := range some {
		ends[len(pack(some[:i+1]))] = true
	}
	b := pack(some)
	for n := range b {
		got, err := unpack(b[:n])
		if ends[n] != (err == io.EOF) || !ends[n] && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d of %d: %v", n, len(b), err)
		}
		for i := range got {
			if !reflect.DeepEqual(got[i], some[i]) {
				t.Errorf("cut at %d: record %d is %+v", n, i, got[i])
			}
		}
	}
}

func FuzzDecoder(f *testing.F) {
	testenv.BriefFuzzing(f)
	f.Add(pack(some))
	f.Fuzz(func(t *testing.T, b []byte) {
		rs, _ := unpack(b)
		again, err := unpack(pack(rs))
		if err != io.EOF || !reflect.DeepEqual(again, rs) {
			t.Errorf("%+v packed and unpacked is %+v, %v", rs, again, err)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	var e Encoder
	r := perfevent.Record{Kind: perfevent.Hit, CPU: 1, Thread: 1000, Time: 5_000_000_000_000}
	var buf []byte
	for b.Loop() {
		r.Time += 400
		buf = e.Append(buf[:0], &r)
	}
	b.ReportMetric(float64(len(buf)), "bytes")
}

func BenchmarkNext(b *testing.B) {
	var e Encoder
	r := perfevent.Record{Kind: perfevent.Hit, CPU: 1, Thread: 1000, Time: 5_000_000_000_000}
	var buf []byte
	for range 10000 {
		r.Time += 400
		buf = e.Append(buf, &r)
	}
	var in bytes.Reader
	d := NewDecoder(&in)
	for b.Loop() {
		if d.Next(&r) != nil {
			in.Reset(buf)
			d = NewDecoder(&in)
		}
	}
}
