package contention

import (
	"math"
	"time"
)

// variance is that of a row scaled from drawn waits: Σ w(w-1)·y² over those waits, where
// a wait of weight w lost y to the row; see sampling.go. In ns².
type variance struct {
	sum float64
	// A wait may lose time to an owner in several pieces, which make one y.
	wait int64 // the number of the last wait
	lost int64 // what it lost so far
}

// add adds another piece of a wait, which are numbered from 1.
func (v *variance) add(wait, weight, ns int64) {
	if weight == 1 {
		return
	}
	if v.wait != wait {
		v.wait, v.lost = wait, 0
	}
	before, after := float64(v.lost), float64(v.lost+ns)
	v.lost += ns
	v.sum += float64(weight) * float64(weight-1) * (after*after - before*before)
}

// addShared adds an error of the given variance that waits of this weight have in common with
// others, of weight before them, in this row or another one: the sum of the rows has the variance
// of the sum.
func (v *variance) addShared(doubt float64, sum, weight int64) {
	after, before := float64(sum), float64(sum-weight)
	v.sum += doubt * (after*after - before*before)
}

// stdErr is the standard error of the row.
func (v *variance) stdErr() time.Duration { return time.Duration(math.Sqrt(v.sum)) }

// rowError is the standard error of a row with a variance, if other waits of the lock, which took
// so long, are in no row. They may all belong to this one: with that, twice the error contains it.
func rowError(flags Flags, v variance, missing time.Duration) time.Duration {
	if flags&Estimated == 0 {
		return 0
	}
	return v.stdErr() + missing/2
}

// bothErrors is the standard error of the sum of two independent estimates.
func bothErrors(a, b time.Duration) time.Duration {
	return time.Duration(math.Hypot(float64(a), float64(b)))
}

// errorSince is the standard error of what a row has grown by.
func errorSince(now, earlier time.Duration) time.Duration {
	return time.Duration(math.Sqrt(max(0, float64(now)*float64(now)-float64(earlier)*float64(earlier))))
}
