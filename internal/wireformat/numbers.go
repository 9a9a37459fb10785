package wireformat

import "math/bits"

// Numbers assigns numbers to keys in order of appearance. Keys in a window, which grows with the
// number of keys, index an array: the goroutines, strings and call chains of a trace are numbered
// one by one. The others are in a hash table with open addressing. Map lookups for each event would
// take a fifth of the decoding time. The zero value is empty.
type Numbers struct {
	// Expect is the number of keys that are likely, 0 if it is unknown.
	Expect int

	n     int32
	base  uint64  // begin of the window
	dense []int32 // by key − base: number + 1, 0 if it is not here
	slots []slot
	used  int // slots
	shift uint
}

// slot is an entry of the hash table. The keys of a group, which differ only in their low bits, are
// neighbors in the table, because events refer to goroutines in about the order of their IDs.
type slot struct {
	key    uint64
	number int32 // + 1; 0 = empty
}

const (
	golden    = 0x9E3779B97F4A7C15
	groupBits = 2
)

// home returns where the search for a key begins.
func (t *Numbers) home(key uint64) uint64 {
	return key>>groupBits*golden>>t.shift<<groupBits | key&(1<<groupBits-1)
}

// Find returns the number of a key, or −1.
func (t *Numbers) Find(key uint64) int32 {
	if i := key - t.base; i < uint64(len(t.dense)) && t.dense[i] != 0 {
		return t.dense[i] - 1
	}
	return t.search(key)
}

func (t *Numbers) search(key uint64) int32 {
	if len(t.slots) == 0 {
		return -1
	}
	mask := uint64(len(t.slots) - 1)
	for h := t.home(key); ; h++ {
		if s := &t.slots[h&mask]; s.number == 0 || s.key == key {
			return s.number - 1
		}
	}
}

// Add returns the number of a key, and whether the key is new.
func (t *Numbers) Add(key uint64) (number int32, isNew bool) {
	if n := t.Find(key); n >= 0 {
		return n, false
	}
	t.n++
	i := key - t.base
	if n := uint64(len(t.dense)); i >= n && i < t.window() {
		t.dense = append(t.dense, make([]int32, max(i+1, 2*n)-n)...)
	}
	if i < uint64(len(t.dense)) {
		t.dense[i] = t.n
	} else {
		t.insert(slot{key, t.n})
	}
	return t.n - 1, true
}

// window returns the largest size of the window.
func (t *Numbers) window() uint64 { return 4096 + 4*uint64(max(int(t.n), t.Expect)) }

// Follow moves the window, once, to a key outside of it that will be followed by others near it.
func (t *Numbers) Follow(key uint64) {
	if t.base != 0 || key < t.window() {
		return
	}
	for i, number := range t.dense {
		if number != 0 {
			t.insert(slot{uint64(i), number})
		}
	}
	t.dense, t.base = nil, key-1024
}

// insert enters a new key into the hash table.
func (t *Numbers) insert(s slot) {
	if t.used++; 4*t.used > 3*len(t.slots) {
		old := t.slots
		t.slots = make([]slot, max(256, 2*len(old)))
		t.shift = uint(64 + groupBits - bits.TrailingZeros(uint(len(t.slots))))
		for _, s := range old {
			if s.number != 0 {
				t.place(s)
			}
		}
	}
	t.place(s)
}

func (t *Numbers) place(s slot) {
	mask := uint64(len(t.slots) - 1)
	h := t.home(s.key)
	for t.slots[h&mask].number != 0 {
		h++
	}
	t.slots[h&mask] = s
}

// size returns the memory of the tables in bytes.
func (t *Numbers) size() int { return 4*len(t.dense) + 16*len(t.slots) }
