package wireformat

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNext compares the events of a thread with the numbers that encoding/binary reads: numbers of
// all lengths, in batches within other data, and batches that end at every byte of their last event.
func TestNext(t *testing.T) {
	edges := []uint64{0, 1, 127, 128, 1<<14 - 1, 1 << 14, 1 << 21, 1 << 28, 1 << 35, 1 << 42, 1 << 49, 1<<56 - 1, 1 << 56, 1 << 63, math.MaxUint64}
	var types []Type
	for typ, n := range timed {
		if n >= 0 {
			types = append(types, Type(typ))
		}
	}
	number := func() uint64 {
		if rand.IntN(8) == 0 {
			return edges[rand.IntN(len(edges))]
		}
		return rand.Uint64() >> rand.UintN(64)
	}
	for range 3000 {
		data, want, now := []byte{0xff}, []Event(nil), int64(0)
		last := 1
		for range 1 + rand.IntN(20) {
			ev := Event{Type: types[rand.IntN(len(types))], At: len(data)}
			last = len(data)
			dt := number() >> 8 // so that the sum has a meaning
			now += int64(dt)
			ev.Time = now
			data = binary.AppendUvarint(append(data, byte(ev.Type)), dt)
			for i := range timed[ev.Type] {
				ev.Args[i] = number()
				data = binary.AppendUvarint(data, ev.Args[i])
			}
			want = append(want, ev)
		}
		end := len(data)
		for range rand.IntN(2) * 50 {
			data = append(data, byte(rand.UintN(256)))
		}
		for cut := last + 1; cut <= end; cut++ {
			g := &Generation{data: data}
			g.perUnit, g.whole, g.exact = 1, 1, math.MaxUint64
			th := &Thread{batches: []batch{{1, cut, 0}}}
			var got []Event
			var err error
			for buf, n := make([]Event, 1+rand.IntN(5)), -1; n != 0 && err == nil; {
				clear(buf)
				n, err = g.Next(th, buf)
				got = append(got, buf[:n]...)
			}
			if cut < end {
				if err == nil || !slices.EqualFunc(got, want[:len(want)-1], sameEvent) {
					t.Fatalf("cut %d bytes before the end: %v, %v; want an error after %v", end-cut, got, err, want[:len(want)-1])
				}
			} else if err != nil || !slices.EqualFunc(got, want, sameEvent) {
				t.Fatalf("%v, %v; want %v", got, err, want)
			}
		}
	}
	tooLong := []byte{byte(GoStart), 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0}
	g := &Generation{data: tooLong}
	if n, err := g.Next(&Thread{batches: []batch{{0, len(tooLong), 0}}}, make([]Event, 1)); n != 0 || err == nil {
		t.Errorf("a number of more than 64 bits: %d events, %v", n, err)
	}
}

// sameEvent compares events; arguments that the type does not have are unspecified.
func sameEvent(a, b Event) bool {
	n := timed[a.Type]
	return a.Type == b.Type && a.Time == b.Time && a.At == b.At && slices.Equal(a.Args[:n], b.Args[:n])
}

// TestNumbers compares the hash table with a map, for dense keys, sparse keys and the extremes.
func TestNumbers(t *testing.T) {
	var n Numbers
	want := map[uint64]int32{}
	for i := range uint64(20_000) {
		if i == 7000 {
			n.Follow(1 << 40)
		}
		for _, key := range []uint64{i, i << 40, math.MaxUint64 - i, i * i, 1<<40 + i, 1<<40 - i} {
			number, isNew := n.Add(key)
			old, known := want[key]
			if isNew == known || known && number != old || !known && int(number) != len(want) {
				t.Fatalf("key %d: %d, new %v; want %d, %v", key, number, isNew, old, !known)
			}
			want[key] = number
		}
	}
	for key, number := range want {
		if got, isNew := n.Add(key); got != number || isNew {
			t.Fatalf("key %d: %d, new %v; want %d", key, got, isNew, number)
		}
	}
	if got, isNew := n.Add(1<<63 + 12345); int(got) != len(want) || !isNew {
		t.Errorf("the next key has the number %d, new %v; want %d", got, isNew, len(want))
	}
}
