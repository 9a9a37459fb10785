package wireformat

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// TestNumbersAreThoseOfEncodingBinary: numbers of all lengths, within other data, at its end, and
// truncated.
func TestNumbersAreThoseOfEncodingBinary(t *testing.T) {
	values := []uint64{0, 1, 127, 128, 1<<14 - 1, 1 << 14, 1 << 21, 1 << 28, 1 << 35, 1 << 42, 1 << 49, 1<<56 - 1, 1 << 56, 1 << 63, math.MaxUint64}
	for range 200 {
		values = append(values, rand.Uint64()>>rand.UintN(64))
	}
	for _, v := range values {
		b := binary.AppendUvarint(nil, v)
		for _, after := range []int{0, 1, 7, 20} {
			data := append([]byte{0xff}, b...)
			for range after {
				data = append(data, byte(rand.UintN(256)))
			}
			if got, pos := long(data, 1, 1+len(b)); got != v || pos != 1+len(b) {
				t.Errorf("%d with %d bytes after it: %d, then at %d", v, after, got, pos)
			}
			if _, pos := long(data, 1, len(b)); pos != -1 {
				t.Errorf("%d without its last byte: then at %d", v, pos)
			}
		}
	}
	tooLong := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0, 0}
	if _, pos := long(tooLong, 0, len(tooLong)); pos != -1 {
		t.Errorf("a number of more than 64 bits: then at %d", pos)
	}
}

// TestNumbers compares the hash table with a map, for dense keys, sparse keys and the extremes.
func TestNumbers(t *testing.T) {
	var n Numbers
	want := map[uint64]int32{}
	for i := range uint64(20_000) {
		for _, key := range []uint64{i, i << 40, math.MaxUint64 - i, i * i} {
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

// TestIDs: numbers of strings come in any order, sometimes with large gaps, each once.
func TestIDs(t *testing.T) {
	var x ids
	numbers := []uint64{7, 1, 100_000, 5000, 2, math.MaxUint64, 1 << 40}
	for i := range uint64(30_000) {
		numbers = append(numbers, 10_000+i)
	}
	want := map[uint64]int32{}
	for _, id := range numbers {
		_, twice := want[id]
		if x.add(id) == twice {
			t.Fatalf("%d: defined twice %v", id, twice)
		}
		if !twice {
			want[id] = int32(len(want))
		}
	}
	for id, i := range want {
		if got, ok := x.index(id); !ok || got != i {
			t.Fatalf("%d: %d, %v; want %d", id, got, ok, i)
		}
	}
	if i, ok := x.index(0); i != -1 || !ok {
		t.Error("the number 0 is always there")
	}
	if x.add(0) {
		t.Error("the number 0 was defined")
	}
	if _, ok := x.index(9_999); ok {
		t.Error("9999 was never defined")
	}
	if size := 4 * len(x.dense); size > 1<<20 {
		t.Errorf("%d bytes for %d numbers", size, len(numbers))
	}
}
