package contention

import (
	"math"
	"testing"
	"time"
)

func TestVariance(t *testing.T) {
	v := variance(1, 0, 1000) // recorded without sampling: no error
	if e := rowError(Estimated, v, 0); e != 0 {
		t.Errorf("an exact wait gives ±%v", e)
	}
	v += variance(4, 0, 300) + variance(4, 300, 1000) // the same wait: 1000 together
	v += variance(2, 0, 500)
	if got, want := rowError(Estimated, v, 0), time.Duration(math.Sqrt(4*3*1000*1000+2*1*500*500)); got != want {
		t.Errorf("±%v, want %v", got, want)
	}
	if got := bothErrors(30, 40); got != 50 {
		t.Errorf("together ±%v", got)
	}
}
