package perfetto_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"unicode/utf8"
)

// A reader of Perfetto's format, written from the field numbers of its proto files, independent of
// the writer.

// field is one field of a protobuf message.
type field struct {
	number int
	value  uint64
	bytes  []byte
}

func fieldsOf(data []byte) (out []field, err error) {
	for len(data) > 0 {
		key, n := binary.Uvarint(data)
		if n <= 0 {
			return nil, fmt.Errorf("bad key")
		}
		data = data[n:]
		f := field{number: int(key >> 3)}
		switch key & 7 {
		case 0:
			if f.value, n = binary.Uvarint(data); n <= 0 {
				return nil, fmt.Errorf("bad varint of field %d", f.number)
			}
			data = data[n:]
		case 1:
			if len(data) < 8 {
				return nil, fmt.Errorf("field %d is cut off", f.number)
			}
			f.value = binary.LittleEndian.Uint64(data)
			data = data[8:]
		case 2:
			size, n := binary.Uvarint(data)
			if n <= 0 || uint64(len(data)-n) < size {
				return nil, fmt.Errorf("field %d is cut off", f.number)
			}
			f.bytes = data[n : n+int(size)]
			data = data[n+int(size):]
		default:
			return nil, fmt.Errorf("field %d has wire type %d", f.number, key&7)
		}
		out = append(out, f)
	}
	return out, nil
}

// track is a TrackDescriptor.
type track struct {
	uuid, parent  uint64
	name, process string
	thread        string
	pid, tid      uint64
	counter       bool
}

// event is a TrackEvent with its names resolved.
type event struct {
	at             uint64
	kind           uint64 // 1 begin, 2 end, 3 instant, 4 counter
	track          uint64
	name, category string
	value          int64
	flows, ends    []uint64
	notes          map[string]string
	order          int
	start, end     uint64 // of a slice, once paired
	hasName        bool
}

type decoded struct {
	tracks map[uint64]*track
	order  []uint64
	events []*event
	size   int
}

type decoder struct {
	t     *testing.T
	out   *decoded
	names map[int]map[uint64]string // by field of InternedData
}

// decode reads a trace, and fails the test if Perfetto could not read it.
func decode(t *testing.T, data []byte) *decoded {
	t.Helper()
	d := &decoder{t: t, out: &decoded{tracks: map[uint64]*track{}, size: len(data)}, names: map[int]map[uint64]string{1: {}, 2: {}, 3: {}, 29: {}}}
	packets := d.fields(data)
	for i, p := range packets {
		if p.number != 1 {
			t.Fatalf("field %d in the trace", p.number)
		}
		d.packet(i, p.bytes)
	}
	return d.out
}

func (d *decoder) fields(data []byte) []field {
	d.t.Helper()
	out, err := fieldsOf(data)
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

func (d *decoder) text(b []byte) string {
	if !utf8.Valid(b) {
		d.t.Errorf("not UTF-8: %q", b)
	}
	for _, r := range string(b) {
		if r < 0x20 || r == 0x7f || r == '\u202e' {
			d.t.Errorf("a control character in %q", b)
		}
	}
	return string(b)
}

func (d *decoder) packet(i int, data []byte) {
	var at, flags, sequence uint64
	var content []field
	for _, f := range d.fields(data) {
		switch f.number {
		case 8:
			at = f.value
		case 10:
			sequence = f.value
		case 13:
			flags = f.value
		case 12:
			d.intern(f.bytes)
		case 11, 60:
			content = append(content, f)
		default:
			d.t.Errorf("field %d in a packet", f.number)
		}
	}
	if sequence == 0 || i == 0 && flags != 1 || i > 0 && flags != 2 || len(content) != 1 {
		d.t.Fatalf("packet %d: sequence %d, flags %d, %d contents", i, sequence, flags, len(content))
	}
	if content[0].number == 60 {
		d.descriptor(content[0].bytes)
	} else {
		d.event(at, content[0].bytes)
	}
}

func (d *decoder) intern(data []byte) {
	for _, f := range d.fields(data) {
		var iid uint64
		var name string
		for _, g := range d.fields(f.bytes) {
			if g.number == 1 {
				iid = g.value
			} else {
				name = d.text(g.bytes)
			}
		}
		if _, ok := d.names[f.number][iid]; ok || iid == 0 {
			d.t.Errorf("name %d of table %d twice, or 0", iid, f.number)
		}
		d.names[f.number][iid] = name
	}
}

func (d *decoder) name(table int, iid uint64) string {
	name, ok := d.names[table][iid]
	if !ok {
		d.t.Errorf("name %d of table %d is used before it is known", iid, table)
	}
	return name
}

func (d *decoder) descriptor(data []byte) {
	x := &track{}
	for _, f := range d.fields(data) {
		switch f.number {
		case 1:
			x.uuid = f.value
		case 2:
			x.name = d.text(f.bytes)
		case 3:
			for _, g := range d.fields(f.bytes) {
				if g.number == 1 {
					x.pid = g.value
				} else {
					x.process = d.text(g.bytes)
				}
			}
		case 4:
			for _, g := range d.fields(f.bytes) {
				switch g.number {
				case 1:
					x.pid = g.value
				case 2:
					x.tid = g.value
				default:
					x.thread = d.text(g.bytes)
				}
			}
		case 5:
			x.parent = f.value
		case 8:
			x.counter = true
		default:
			d.t.Errorf("field %d in a descriptor", f.number)
		}
	}
	if d.out.tracks[x.uuid] != nil || x.uuid == 0 {
		d.t.Errorf("track %d twice, or 0", x.uuid)
	}
	if x.parent != 0 && d.out.tracks[x.parent] == nil {
		d.t.Errorf("track %d is beneath %d, which is not known", x.uuid, x.parent)
	}
	for _, other := range d.out.tracks {
		if x.thread != "" && x.tid == other.tid || x.process != "" && x.pid == other.pid && other.process != "" || x.pid != 0 && x.pid == other.tid {
			d.t.Errorf("the numbers of %+v are those of %+v", x, other)
		}
	}
	d.out.tracks[x.uuid] = x
	d.out.order = append(d.out.order, x.uuid)
}

func (d *decoder) event(at uint64, data []byte) {
	e := &event{at: at, order: len(d.out.events), notes: map[string]string{}}
	for _, f := range d.fields(data) {
		switch f.number {
		case 9:
			e.kind = f.value
		case 11:
			e.track = f.value
		case 3:
			e.category = d.name(1, f.value)
		case 22:
			e.category = d.text(f.bytes)
		case 10:
			e.name, e.hasName = d.name(2, f.value), true
		case 23:
			e.name, e.hasName = d.text(f.bytes), true
		case 30:
			e.value = int64(f.value)
		case 47:
			e.flows = append(e.flows, f.value)
		case 48:
			e.ends = append(e.ends, f.value)
		case 4:
			d.note(e, f.bytes)
		default:
			d.t.Errorf("field %d in an event", f.number)
		}
	}
	if d.out.tracks[e.track] == nil {
		d.t.Errorf("an event on the unknown track %d", e.track)
	} else if d.out.tracks[e.track].counter != (e.kind == 4) {
		d.t.Errorf("an event of type %d on track %q", e.kind, d.out.tracks[e.track].name)
	}
	d.out.events = append(d.out.events, e)
}

func (d *decoder) note(e *event, data []byte) {
	name, value := "", ""
	for _, f := range d.fields(data) {
		switch f.number {
		case 1:
			name = d.name(3, f.value)
		case 4:
			value = fmt.Sprint(int64(f.value))
		case 6:
			value = d.text(f.bytes)
		case 17:
			value = d.name(29, f.value)
		default:
			d.t.Errorf("field %d in an annotation", f.number)
		}
	}
	e.notes[name] = value
}

// slices pairs beginnings and ends on each track in time order, as Perfetto does, and returns the
// beginnings.
func (d *decoded) slices(t *testing.T) (out []*event) {
	t.Helper()
	sorted := slices.Clone(d.events)
	slices.SortStableFunc(sorted, func(a, b *event) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	open := map[uint64][]*event{}
	for _, e := range sorted {
		s := open[e.track]
		switch e.kind {
		case 1:
			if e.name == "" || e.category == "" {
				t.Errorf("a slice without name or category at %d", e.at)
			}
			e.start = e.at
			open[e.track] = append(s, e)
			out = append(out, e)
		case 2:
			if len(s) == 0 {
				t.Fatalf("track %+v: an end at %d without a beginning", d.tracks[e.track], e.at)
			}
			b := s[len(s)-1]
			b.end = e.at
			for k, v := range e.notes {
				b.notes[k] = v
			}
			open[e.track] = s[:len(s)-1]
		}
	}
	for id, s := range open {
		if len(s) > 0 {
			t.Errorf("track %+v: %d slices never end, the first is %q", d.tracks[id], len(s), s[0].name)
		}
	}
	return out
}
