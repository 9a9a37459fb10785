package granularity

import (
	"iter"
	"math"
	"math/bits"
)

// Histogram counts non-negative integers in buckets whose width grows with the value, so that any
// quantile is known to 0.8 % of its value: an octave [2^k, 2^(k+1)) has 64 equal buckets. Values
// below 128 are exact. An octave takes 512 B once it has a value: 1 to 3 kB for similar tasks, at
// most 30 kB. In a profile of a [Recorder], each bucket in use takes 8 B.
//
// The zero Histogram is ready to use. It is not safe for concurrent use. Adding takes about 3 ns and
// allocates only for a new octave.
type Histogram struct {
	count    uint64
	sum      uint64
	min, max uint64
	first    int     // the number of the page in pages[0]
	pages    []*page // some may be nil
	// packed replaces pages in a profile: the buckets in use, in order. Copies share it.
	packed []packedBucket
}

// packedBucket is the number of a bucket, page × octave + slot, above its count.
type packedBucket uint64

const packedBits = 52 // of the count

const (
	octaveBits = 6
	octave     = 1 << octaveBits // buckets in a page
)

type page [octave]uint64

// bucket returns where v is counted: page 0 holds 0 to 63, page 1 holds 64 to 127,
// page p holds [2^(p+5), 2^(p+6)).
func bucket(v uint64) (pageNo, slot int) {
	if v < octave {
		return 0, int(v)
	}
	e := bits.Len64(v) - octaveBits - 1
	return e + 1, int(v>>e) & (octave - 1)
}

// bounds returns the least and the greatest value of a bucket.
func bounds(pageNo, slot int) (lo, hi uint64) {
	if pageNo == 0 {
		return uint64(slot), uint64(slot)
	}
	e := pageNo - 1
	lo = uint64(octave+slot) << e
	return lo, lo + 1<<e - 1
}

// Add counts a value.
func (h *Histogram) Add(v uint64) {
	pageNo, slot := bucket(v)
	i := pageNo - h.first
	if uint(i) >= uint(len(h.pages)) || h.pages[i] == nil {
		h.AddN(v, 1) // the first in its octave
		return
	}
	h.min, h.max = min(h.min, v), max(h.max, v)
	h.count++
	h.sum += v
	h.pages[i][slot]++
}

// AddN counts a value n times.
func (h *Histogram) AddN(v, n uint64) {
	if n == 0 {
		return
	}
	if h.count == 0 || v < h.min {
		h.min = v
	}
	h.max = max(h.max, v)
	h.count += n
	h.sum += v * n
	pageNo, slot := bucket(v)
	h.page(pageNo)[slot] += n
}

// drop removes n values at the median.
func (h *Histogram) drop(n uint64) {
	for n = min(n, h.count); n > 0; {
		v := uint64(h.Quantile(.5))
		pageNo, slot := bucket(v)
		at := &h.page(pageNo)[slot]
		k := min(n, *at)
		if k == 0 {
			return // cannot be: the median is a value
		}
		*at -= k
		h.count, h.sum, n = h.count-k, h.sum-min(h.sum, v*k), n-k
	}
	h.bound()
}

// bound makes min, max and sum what the buckets permit, after values were removed.
func (h *Histogram) bound() {
	if h.count == 0 {
		*h = Histogram{}
		return
	}
	least, most, first, last := uint64(0), uint64(0), uint64(math.MaxUint64), uint64(0)
	for b := range h.used {
		lo, hi := max(b.lo, h.min), min(b.hi, h.max)
		least, most, first, last = least+lo*b.n, most+hi*b.n, min(first, lo), hi
	}
	h.min, h.max, h.sum = first, last, min(max(h.sum, least), most)
}

// pack replaces the pages by what they count: 8 B for each bucket in use.
func (h *Histogram) pack() {
	if h.count == 0 || h.packed != nil || h.count >= 1<<packedBits {
		return
	}
	n := 0
	for range h.used {
		n++
	}
	packed := make([]packedBucket, 0, n)
	for b := range h.used {
		pageNo, slot := bucket(b.lo)
		packed = append(packed, packedBucket(pageNo*octave+slot)<<packedBits|packedBucket(b.n))
	}
	h.first, h.pages, h.packed = 0, nil, packed
}

func (b packedBucket) split() (pageNo, slot int, n uint64) {
	no := int(b >> packedBits)
	return no / octave, no % octave, uint64(b & (1<<packedBits - 1))
}

// page returns a page, creating it if necessary.
func (h *Histogram) page(no int) *page {
	if packed := h.packed; packed != nil {
		h.packed = nil
		for _, b := range packed {
			pageNo, slot, n := b.split()
			h.page(pageNo)[slot] = n
		}
	}
	switch {
	case len(h.pages) == 0:
		h.first, h.pages = no, make([]*page, 1, 4)
	case no < h.first:
		pages := make([]*page, h.first-no+len(h.pages))
		copy(pages[h.first-no:], h.pages)
		h.first, h.pages = no, pages
	}
	for no >= h.first+len(h.pages) {
		h.pages = append(h.pages, nil)
	}
	p := &h.pages[no-h.first]
	if *p == nil {
		*p = new(page)
	}
	return *p
}

// Merge adds all values of o.
func (h *Histogram) Merge(o *Histogram) {
	switch {
	case o.count == 0:
		return
	case h.count == 0 && o.packed != nil:
		*h = *o
		return
	}
	if h.count == 0 || o.min < h.min {
		h.min = o.min
	}
	h.max = max(h.max, o.max)
	h.count += o.count
	h.sum += o.sum
	for b := range o.used {
		pageNo, slot := bucket(b.lo)
		h.page(pageNo)[slot] += b.n
	}
}

// Count returns the number of values added.
func (h *Histogram) Count() uint64 { return h.count }

// Sum returns the sum of the values, which must be less than 2^64.
func (h *Histogram) Sum() float64 { return float64(h.sum) }

// Min returns the smallest value, or 0 if there is none.
func (h *Histogram) Min() uint64 { return h.min }

// Max returns the largest value, or 0 if there is none.
func (h *Histogram) Max() uint64 { return h.max }

// Mean returns the arithmetic mean, or 0 if there is no value.
func (h *Histogram) Mean() float64 {
	if h.count == 0 {
		return 0
	}
	return float64(h.sum) / float64(h.count)
}

// Quantile returns the value at or below which the fraction q of all values lies, within 0.8 % of
// the value; 0 if there is none. q is clamped to [0, 1].
func (h *Histogram) Quantile(q float64) float64 {
	if h.count == 0 {
		return 0
	}
	rank := uint64(math.Ceil(min(max(q, 0), 1) * float64(h.count)))
	if rank <= 1 {
		return float64(h.min)
	}
	if rank >= h.count {
		return float64(h.max)
	}
	var value float64
	for b := range h.used {
		if b.n >= rank {
			value = float64(b.lo) + float64(b.hi-b.lo)/2
			break
		}
		rank -= b.n
	}
	return min(max(value, float64(h.min)), float64(h.max))
}

// CDF returns the cumulative distribution: values, and the fraction of all values that are at most
// that, from the smallest value to the largest. The fractions increase to exactly 1.
func (h *Histogram) CDF() iter.Seq2[float64, float64] {
	return func(yield func(value, fraction float64) bool) {
		var below uint64
		for b := range h.used {
			hi := min(b.hi, h.max)
			if below == 0 && hi > h.min && !yield(float64(h.min), 1/float64(h.count)) {
				return
			}
			if below += b.n; !yield(float64(hi), float64(below)/float64(h.count)) {
				return
			}
		}
	}
}

// Buckets returns the middle of each bucket in use and the number of its values, in order. The
// smallest and the largest value bound the first and the last bucket.
func (h *Histogram) Buckets() iter.Seq2[uint64, uint64] {
	return func(yield func(middle, count uint64) bool) {
		for b := range h.used {
			if !yield(h.middle(b), b.n) {
				return
			}
		}
	}
}

// usedBucket is a bucket with n values, from lo to hi.
type usedBucket struct{ lo, hi, n uint64 }

// middle returns the middle of the values that a bucket may have.
func (h *Histogram) middle(b usedBucket) uint64 {
	lo, hi := max(b.lo, h.min), min(b.hi, h.max)
	return lo + (hi-lo)/2
}

// used iterates over the buckets in use, in order.
func (h *Histogram) used(yield func(usedBucket) bool) {
	for _, b := range h.packed {
		pageNo, slot, n := b.split()
		if lo, hi := bounds(pageNo, slot); !yield(usedBucket{lo, hi, n}) {
			return
		}
	}
	for i, p := range h.pages {
		if p == nil {
			continue
		}
		for slot, n := range p {
			if lo, hi := bounds(h.first+i, slot); n > 0 && !yield(usedBucket{lo, hi, n}) {
				return
			}
		}
	}
}
