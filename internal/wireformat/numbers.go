package wireformat

import "unsafe"

// Numbers assigns numbers to keys in order of appearance. It is a hash table with open addressing,
// because map lookups for each event would take a fifth of the decoding time.
type Numbers struct {
	slots []slot
	n     int
	shift uint
}

type slot struct {
	key    uint64
	number int32 // +1; 0 = empty
}

const golden = 0x9E3779B97F4A7C15

// Add returns the number of a key, and whether the key is new.
func (t *Numbers) Add(key uint64) (number int32, isNew bool) {
	if 4*(t.n+1) > 3*len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for h := key * golden >> t.shift; ; h++ {
		s := &t.slots[h&mask]
		if s.number == 0 {
			t.n++
			s.key, s.number = key, int32(t.n)
			return int32(t.n - 1), true
		}
		if s.key == key {
			return s.number - 1, false
		}
	}
}

func (t *Numbers) grow() {
	old := t.slots
	size := max(256, 2*len(old))
	t.slots = make([]slot, size)
	t.shift = 64
	for n := size; n > 1; n >>= 1 {
		t.shift--
	}
	mask := uint64(size - 1)
	for _, s := range old {
		if s.number == 0 {
			continue
		}
		h := s.key * golden >> t.shift
		for t.slots[h&mask].number != 0 {
			h++
		}
		t.slots[h&mask] = s
	}
}

// growth returns the number of bytes to allocate if n more keys make the table grow, else 0.
func (t *Numbers) growth(n int) int {
	if 4*(t.n+n) <= 3*len(t.slots) {
		return 0
	}
	return 2 * len(t.slots) * int(unsafe.Sizeof(slot{}))
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

// growth returns the number of bytes to allocate if n more numbers make the table grow, else 0.
func (t *ids) growth(n int) int {
	if int(t.n)+n < len(t.dense) {
		return 0
	}
	return 2 * 4 * len(t.dense)
}
