package counters

import (
	"encoding/json"
	"math"
	"testing"
)

// Values and lanes are written as encoding/json would.
func TestValuesAsJSON(t *testing.T) {
	for _, f := range []float64{0, math.Copysign(0, -1), 1, -1.5, 1e-6, 9.99e-7, 1e20, 1e21, -1e21, 123456789.125, 1.0 / 3, math.MaxFloat64, math.SmallestNonzeroFloat64} {
		got, err := json.Marshal(Value(f))
		want, _ := json.Marshal(f)
		if err != nil || string(got) != string(want) {
			t.Errorf("%v is written %s, want %s (%v)", f, got, want, err)
		}
	}
	for _, f := range []float64{math.NaN(), math.Inf(1)} {
		if got, _ := json.Marshal(Value(f)); string(got) != "null" {
			t.Errorf("%v is written %s", f, got)
		}
	}
	n := int64(7)
	got, err := json.Marshal([]Lane{{Key: "a<b", Number: &n, Busy: 3, Quanta: 2, Cells: []LaneCell{{1, 2, 3, 4, 5, 6.5}, {2, 1, 0, 2, -1, Value(math.NaN())}}}, {Key: "b"}})
	const want = `[{"key":"a\u003cb","number":7,"busy":3,"quanta":2,"cells":[[1,2,3,4,5,6.5],[2,1,0,2,null,null]]},{"key":"b","busy":0,"quanta":0,"cells":[]}]`
	if err != nil || string(got) != want {
		t.Errorf("lanes are written\n%s, want\n%s (%v)", got, want, err)
	}
}
