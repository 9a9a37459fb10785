package archive

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/bottleneck-go/bottleneck/internal/perfevent"
)

// MaxValues bounds the number of values of a reading; no processor has more counters.
const MaxValues = 256

// The log packs records of package perfevent into a stream of about six bytes each. A record is its
// kind in a byte; the processor plus one; the thread and the time, both as differences to the
// previous record; and, depending on the kind:
//
//	Hit      the number of the event
//	Reading  the number of the group; Enabled; Running; how many values; the values
//	Lost     how many
//
// Numbers are varints as in encoding/binary; differences are signed.

// Encoder packs records. The zero value is ready to use.
type Encoder struct {
	thread int64
	time   int64
}

// Append appends a record to dst.
func (e *Encoder) Append(dst []byte, r *perfevent.Record) []byte {
	dst = append(dst, byte(r.Kind))
	dst = binary.AppendUvarint(dst, uint64(r.CPU+1))
	dst = binary.AppendVarint(dst, int64(r.Thread)-e.thread)
	dst = binary.AppendVarint(dst, r.Time-e.time)
	e.thread, e.time = int64(r.Thread), r.Time
	switch r.Kind {
	case perfevent.Hit:
		dst = binary.AppendUvarint(dst, uint64(r.Event))
	case perfevent.Lost:
		dst = binary.AppendUvarint(dst, r.Value)
	case perfevent.Reading:
		dst = binary.AppendUvarint(dst, uint64(r.Event))
		dst = binary.AppendUvarint(dst, r.Enabled)
		dst = binary.AppendUvarint(dst, r.Running)
		dst = binary.AppendUvarint(dst, uint64(len(r.Values)))
		for _, v := range r.Values {
			dst = binary.AppendUvarint(dst, v)
		}
	}
	return dst
}

// Decoder unpacks records.
type Decoder struct {
	r      *bufio.Reader
	thread int64
	time   int64
	n      int64
	err    error // of the current record
}

// NewDecoder returns a decoder of the output of an Encoder.
func NewDecoder(r io.Reader) *Decoder { return &Decoder{r: bufio.NewReaderSize(r, 64<<10)} }

// Next unpacks the next record, reusing r.Values. It returns io.EOF at the end, and an error with
// the position if the stream is truncated or invalid.
func (d *Decoder) Next(r *perfevent.Record) error {
	kind, err := d.r.ReadByte()
	if err != nil {
		return err
	}
	d.err = nil
	*r = perfevent.Record{Kind: perfevent.Kind(kind), Values: r.Values[:0]}
	if r.Kind == 0 || r.Kind >= perfevent.NumKinds {
		return fmt.Errorf("samples: record %d is of no kind that is known: %d", d.n, kind)
	}
	cpu := d.below(1<<20+1, "processor")
	d.thread += number(d, binary.ReadVarint)
	d.time += number(d, binary.ReadVarint)
	r.CPU, r.Thread, r.Time = cpu-1, int(d.thread), d.time
	switch r.Kind {
	case perfevent.Hit:
		r.Event = d.below(MaxValues, "event")
	case perfevent.Lost:
		r.Value = number(d, binary.ReadUvarint)
	case perfevent.Reading:
		r.Event = d.below(MaxValues, "event")
		r.Enabled, r.Running = number(d, binary.ReadUvarint), number(d, binary.ReadUvarint)
		for range d.below(MaxValues+1, "number of values") {
			r.Values = append(r.Values, number(d, binary.ReadUvarint))
		}
	}
	if d.err == io.EOF {
		d.err = io.ErrUnexpectedEOF
	}
	if d.err != nil {
		return fmt.Errorf("samples: record %d: %w", d.n, d.err)
	}
	d.n++
	return nil
}

// below returns a number below limit, or 0 after an error.
func (d *Decoder) below(limit uint64, what string) int {
	n := number(d, binary.ReadUvarint)
	if n >= limit && d.err == nil {
		d.err = fmt.Errorf("%s %d", what, n)
	}
	if d.err != nil {
		return 0
	}
	return int(n)
}

// number returns a number, or 0 after an error.
func number[T uint64 | int64](d *Decoder, read func(io.ByteReader) (T, error)) (v T) {
	if d.err == nil {
		v, d.err = read(d.r)
	}
	return v
}
