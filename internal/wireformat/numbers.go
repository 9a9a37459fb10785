package wireformat

import "math/bits"

// Numbers assigns numbers to keys in order of appearance. It is a hash table with open addressing,
// because map lookups for each event would take a fifth of the decoding time. The zero value is
// empty.
type Numbers struct {
	Keys  []uint64 // by number
	slots []int32  // number + 1; 0 = empty
	shift uint
}

const golden = 0x9E3779B97F4A7C15

// Find returns the number of a key, or −1.
func (t *Numbers) Find(key uint64) int32 {
	if len(t.slots) == 0 {
		return -1
	}
	mask := uint64(len(t.slots) - 1)
	for h := key * golden >> t.shift; ; h++ {
		n := t.slots[h&mask] - 1
		if n < 0 || t.Keys[n] == key {
			return n
		}
	}
}

// Add returns the number of a key, and whether the key is new.
func (t *Numbers) Add(key uint64) (number int32, isNew bool) {
	if n := t.Find(key); n >= 0 {
		return n, false
	}
	n := len(t.Keys)
	if 4*(n+1) > 3*len(t.slots) {
		t.Grow(2*n + 1)
	}
	t.Keys = append(t.Keys, key)
	t.insert(key, n)
	return int32(n), true
}

// Grow makes room for n keys in total.
func (t *Numbers) Grow(n int) {
	size := 1 << max(8, bits.Len(uint(4*n/3)))
	if size <= len(t.slots) {
		return
	}
	t.slots, t.shift = make([]int32, size), uint(64-bits.TrailingZeros(uint(size)))
	t.Keys = append(make([]uint64, 0, n), t.Keys...)
	for i, key := range t.Keys {
		t.insert(key, i)
	}
}

// insert enters a new key.
func (t *Numbers) insert(key uint64, number int) {
	mask := uint64(len(t.slots) - 1)
	h := key * golden >> t.shift
	for t.slots[h&mask] != 0 {
		h++
	}
	t.slots[h&mask] = int32(number) + 1
}

// ids maps the numbers that a trace assigns to strings or call chains to indexes in order of
// definition. The numbers are small unless the trace is damaged.
type ids struct {
	dense  []int32 // by number: index + 1
	sparse map[uint64]int32
	n      int32
}

// add assigns the next index to id. It returns false if id already has an index.
func (t *ids) add(id uint64) bool {
	if _, ok := t.index(id); ok {
		return false
	}
	t.n++
	if id >= uint64(len(t.dense)) && id < 4096+4*uint64(t.n) {
		t.dense = append(t.dense, make([]int32, max(int(id)+1, 2*len(t.dense))-len(t.dense))...)
	}
	if id < uint64(len(t.dense)) {
		t.dense[id] = t.n
		return true
	}
	if t.sparse == nil {
		t.sparse = map[uint64]int32{}
	}
	t.sparse[id] = t.n
	return true
}

// index returns the index of id; −1 for id 0, which always exists.
func (t *ids) index(id uint64) (i int32, ok bool) {
	if id < uint64(len(t.dense)) {
		if i := t.dense[id]; i != 0 {
			return i - 1, true
		}
	}
	if id == 0 {
		return -1, true
	}
	if t.sparse != nil {
		if i := t.sparse[id]; i != 0 {
			return i - 1, true
		}
	}
	return -1, false
}
