package query

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/internal/fuzzing"
)

func TestRecordingJSON(t *testing.T) {
	for _, n := range []int{0, 1, 400} {
		rec := made(uint64(n), n)
		got, err := quanta.ReadJSON(bytes.NewReader(jsonOf(t, rec)))
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 && !reflect.DeepEqual(got, rec) {
			t.Errorf("%d rows: got\n%+v\nwant\n%+v", n, got, rec)
		}
		if !bytes.Equal(jsonOf(t, got), jsonOf(t, rec)) {
			t.Errorf("%d rows: written again, the recording is another", n)
		}
	}
}

func TestBrokenJSON(t *testing.T) {
	good := string(jsonOf(t, made(1, 3)))
	for name, text := range map[string]string{
		"nothing":          "",
		"cut off":          good[:len(good)/2],
		"something behind": good + "{}",
		"a short column":   strings.Replace(good, `"proc":[`, `"proc":[1,`, 1),
		"no such ending":   strings.Replace(good, `"ended":[`, `"ended":[99,`, 1),
		"a bad date":       strings.Replace(good, "2026-01", "2026-13", 1),
		"a bad kind type":  strings.Replace(good, `"kind":"gc"`, `"kind":5`, 1),
	} {
		if _, err := quanta.ReadJSON(strings.NewReader(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	// Names from later versions are kept apart.
	rec, err := quanta.ReadJSON(strings.NewReader(strings.ReplaceAll(good, `"mutex"`, `"futex"`)))
	if err != nil || rec.Len() != 3 {
		t.Error(err)
	}
}

func FuzzReadJSON(f *testing.F) {
	fuzzing.Brief(f)
	f.Add([]byte(jsonOf(f, made(1, 5))))
	f.Add([]byte(`{"begin":[1],"duration":[9223372036854775807]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rec, err := quanta.ReadJSON(bytes.NewReader(data))
		if err != nil {
			return
		}
		e, err := NewExplorer(rec)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range vectorQueries() {
			a, err := e.Answer(t.Context(), q)
			var part *Error
			if err != nil && !errors.As(err, &part) {
				t.Fatal(err)
			}
			jsonOf(t, a)
		}
		again, err := quanta.ReadJSON(bytes.NewReader(jsonOf(t, rec)))
		if err != nil || !bytes.Equal(jsonOf(t, again), jsonOf(t, rec)) {
			t.Fatalf("not the same again: %v", err)
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
	got, err := json.Marshal([]Lane{{Key: "a<b", Number: &n, Busy: 3, Quanta: 2, Cells: []laneCell{{1, 2, 3, 4, 5, 6.5, quanta.Blocked}, {2, 1, 0, 2, -1, Value(math.NaN()), 0}}}, {Key: "b", Cells: []laneCell{}}})
	const want = `[{"key":"a\u003cb","number":7,"busy":3,"quanta":2,"cells":[[1,2,3,4,5,6.5,"blocked"],[2,1,0,2,null,null,null]]},{"key":"b","busy":0,"quanta":0,"cells":[]}]`
	if err != nil || string(got) != want {
		t.Errorf("lanes are written\n%s, want\n%s (%v)", got, want, err)
	}
}
