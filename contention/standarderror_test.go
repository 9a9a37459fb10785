package contention

import (
	"math"
	"testing"
	"time"
)

func TestVariance(t *testing.T) {
	var v variance
	v.add(1, 1, 1000) // recorded without sampling: no error
	if v.stdErr() != 0 {
		t.Errorf("an exact wait gives ±%v", v.stdErr())
	}
	v.add(2, 4, 300)
	v.add(2, 4, 700) // the same wait: 1000 together
	v.add(3, 2, 500)
	if want := time.Duration(math.Sqrt(4*3*1000*1000 + 2*1*500*500)); v.stdErr() != want {
		t.Errorf("±%v, want %v", v.stdErr(), want)
	}
	if got := bothErrors(30, 40); got != 50 {
		t.Errorf("together ±%v", got)
	}
}
