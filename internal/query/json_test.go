package query

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// FuzzAnswer: no valid recording makes a query panic, or an answer that is not JSON.
func FuzzAnswer(f *testing.F) {
	testenv.BriefFuzzing(f)
	f.Add([]byte(jsonOf(f, made(1, 5))))
	f.Add([]byte(`{"Begin":[1],"Duration":[9223372036854775807]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rec := &quanta.Recording{}
		if json.Unmarshal(data, rec) != nil {
			return
		}
		for i := range rec.Counters {
			rec.Counters[i].Values = make([]int64, rec.Len())
			copy(rec.Counters[i].Values, rec.Begin)
		}
		e, err := NewExplorer(rec)
		if err != nil {
			return
		}
		for _, q := range vectorQueries() {
			a, err := e.Answer(t.Context(), q)
			var part *Error
			if err != nil && !errors.As(err, &part) {
				t.Fatal(err)
			}
			jsonOf(t, a)
		}
	})
}

func TestValueJSON(t *testing.T) {
	for _, c := range []struct {
		v    Value
		want string
	}{{1.5, "1.5"}, {Value(math.NaN()), "null"}, {Value(math.Inf(1)), "null"}, {1e21, "1e+21"}, {0, "0"}} {
		if got := string(jsonOf(t, c.v)); got != c.want {
			t.Errorf("%v: %s", c.v, got)
		}
	}
}

// Values and lanes are written as by encoding/json.
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
	got, err := json.Marshal([]lane{{Key: "a<b", Number: &n, Busy: 3, Quanta: 2, Cells: []laneCell{{1, 2, 3, 4, 5, 6.5, quanta.Blocked}, {2, 1, 0, 2, -1, Value(math.NaN()), 0}}}, {Key: "b", Cells: []laneCell{}}})
	const want = `[{"key":"a\u003cb","number":7,"busy":3,"quanta":2,"cells":[[1,2,3,4,5,6.5,"blocked"],[2,1,0,2,null,null,null]]},{"key":"b","busy":0,"quanta":0,"cells":[]}]`
	if err != nil || string(got) != want {
		t.Errorf("lanes are written\n%s, want\n%s (%v)", got, want, err)
	}
}
