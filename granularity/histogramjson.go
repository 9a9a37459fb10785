package granularity

import (
	"errors"
	"fmt"
	"math/bits"
)

// histogramJSON is a histogram as JSON: the buckets in use as pairs of the least value that falls
// into one, and how many did.
type histogramJSON struct {
	Min     uint64      `json:"min"`
	Max     uint64      `json:"max"`
	Sum     uint64      `json:"sum"`
	Buckets [][2]uint64 `json:"buckets"`
}

// form is nil for an empty histogram.
func (h *Histogram) form() *histogramJSON {
	if h.count == 0 {
		return nil
	}
	out := &histogramJSON{Min: h.min, Max: h.max, Sum: h.sum}
	h.each(func(lo, _, n uint64) bool {
		out.Buckets = append(out.Buckets, [2]uint64{lo, n})
		return true
	})
	return out
}

// histogram rebuilds a histogram, if the form is one of a histogram of values that exist.
func (form *histogramJSON) histogram() (h Histogram, err error) {
	if form == nil {
		return Histogram{}, nil
	}
	if len(form.Buckets) == 0 {
		return Histogram{}, errors.New("it has no buckets")
	}
	var least, most wide // between which the sum must be
	for i, b := range form.Buckets {
		lo, n := b[0], b[1]
		pageNo, slot := bucket(lo)
		first, last := bounds(pageNo, slot)
		switch {
		case lo != first:
			return Histogram{}, fmt.Errorf("no bucket begins at %d", lo)
		case i > 0 && lo <= form.Buckets[i-1][0]:
			return Histogram{}, fmt.Errorf("bucket %d is not above the one before", lo)
		case n == 0:
			return Histogram{}, fmt.Errorf("bucket %d is empty", lo)
		case h.count+n < n:
			return Histogram{}, errors.New("it counts more than 2^64 values")
		case i == 0 && (form.Min < first || form.Min > last):
			return Histogram{}, fmt.Errorf("min, %d, is not in the first bucket", form.Min)
		case i == len(form.Buckets)-1 && (form.Max < first || form.Max > last || form.Max < form.Min):
			return Histogram{}, fmt.Errorf("max, %d, is not in the last bucket", form.Max)
		}
		least.add(max(first, form.Min), n)
		most.add(min(last, form.Max), n)
		h.count += n
		h.page(pageNo)[slot] = n
	}
	if sum := (wide{lo: form.Sum}); sum.less(least) || most.less(sum) {
		return Histogram{}, fmt.Errorf("sum, %d, does not follow from the buckets", form.Sum)
	}
	h.min, h.max, h.sum = form.Min, form.Max, form.Sum
	return h, nil
}

// wide is a number of 128 bits: what 2^64 values of 2^64 sum to fits.
type wide struct{ hi, lo uint64 }

func (w *wide) add(v, n uint64) {
	hi, lo := bits.Mul64(v, n)
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, lo, 0)
	w.hi, _ = bits.Add64(w.hi, hi, carry)
}

func (w wide) less(o wide) bool { return w.hi < o.hi || w.hi == o.hi && w.lo < o.lo }
