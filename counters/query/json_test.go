package query

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/internal/fuzzing"
)

func written(t testing.TB, rec *quanta.Recording, set *Set) []byte {
	t.Helper()
	var buf bytes.Buffer
	if set != nil {
		rec = rec.Only(set.Rows())
	}
	if err := quanta.WriteJSON(&buf, rec); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestRecordingJSON(t *testing.T) {
	for _, n := range []int{0, 1, 400} {
		rec := made(uint64(n), n)
		got, err := quanta.ReadJSON(bytes.NewReader(written(t, rec, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 && !reflect.DeepEqual(got, rec) {
			t.Errorf("%d rows: got\n%+v\nwant\n%+v", n, got, rec)
		}
		if !bytes.Equal(written(t, got, nil), written(t, rec, nil)) {
			t.Errorf("%d rows: written again, the recording is another", n)
		}
	}
}

// A written set keeps the sums correct: the remainder has the rows that are not in it.
func TestSetJSON(t *testing.T) {
	rec := made(5, 500)
	e := explorer(t, rec)
	set := chosen(t, e, "duration > 50us")
	got, err := quanta.ReadJSON(bytes.NewReader(written(t, rec, set)))
	if err != nil {
		t.Fatal(err)
	}
	if got.Len() != set.Count() {
		t.Fatalf("%d rows, want %d", got.Len(), set.Count())
	}
	i := 0
	for row := range set.Rows() {
		if got.Begin[i] != rec.Begin[row] || got.Counters[2].Values[i] != rec.Counters[2].Values[row] || got.Ending[i] != rec.Ending[row] {
			t.Fatalf("row %d is another", row)
		}
		i++
	}
	for i := range got.Counters {
		c := &got.Counters[i]
		if c.Level {
			continue
		}
		sum := c.Remainder
		for _, v := range c.Values {
			if v != quanta.Unknown {
				sum += v
			}
		}
		if sum != c.Total || c.Total != rec.Counters[i].Total {
			t.Errorf("%s: values and remainder sum to %d of %d", c.Name, sum, c.Total)
		}
	}
	explorer(t, got)
}

func TestBrokenJSON(t *testing.T) {
	good := string(written(t, made(1, 3), nil))
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
	f.Add(written(f, made(1, 5), nil))
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
			var part *PartError
			if err != nil && !errors.As(err, &part) {
				t.Fatal(err)
			}
			jsonOf(t, a)
		}
		again, err := quanta.ReadJSON(bytes.NewReader(written(t, rec, nil)))
		if err != nil || !bytes.Equal(written(t, again, nil), written(t, rec, nil)) {
			t.Fatalf("not the same again: %v", err)
		}
	})
}

func TestCSV(t *testing.T) {
	rec := made(2, 120)
	e := explorer(t, rec)
	set := chosen(t, e, "ended = blocked")
	var buf bytes.Buffer
	if err := e.WriteCSV(t.Context(), &buf, set); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(&buf).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	header := strings.Join(records[0], " ")
	if want := "begin_ns duration_ns goroutine group kind thread proc ended wait func caller cycles instructions minor-faults task-clock heap msr/tsc"; header != want {
		t.Errorf("header %s", header)
	}
	if len(records) != set.Count()+1 {
		t.Fatalf("%d records, want %d", len(records), set.Count()+1)
	}
	i := 1
	for row := range set.Rows() {
		r := records[i]
		i++
		if r[0] != strconv.FormatInt(rec.Begin[row], 10) || r[7] != "blocked" || (r[5] == "") != (rec.Thread[row] < 0) {
			t.Errorf("row %d: %v", row, r)
		}
		want := ""
		if n := rec.Counters[1].Values[row]; n != quanta.Unknown {
			want = strconv.FormatInt(n, 10)
		}
		if r[12] != want {
			t.Errorf("row %d: %s instructions, want %s", row, r[12], want)
		}
		if f := r[9]; strings.HasPrefix(f, "=") {
			t.Errorf("a formula: %s", f)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWritersFail(t *testing.T) {
	rec := made(2, 3000)
	if err := quanta.WriteJSON(full{}, rec); err == nil || !strings.Contains(err.Error(), "full") {
		t.Error(err)
	}
	if err := explorer(t, rec).WriteCSV(t.Context(), full{}, nil); err == nil || !strings.Contains(err.Error(), "full") {
		t.Error(err)
	}
	rec.Proc = nil
	if err := quanta.WriteJSON(full{}, rec); err == nil || !strings.Contains(err.Error(), "Proc") {
		t.Error(err)
	}
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
	got, err := json.Marshal([]Lane{{Key: "a<b", Number: &n, Busy: 3, Quanta: 2, Cells: []LaneCell{{1, 2, 3, 4, 5, 6.5, quanta.Blocked}, {2, 1, 0, 2, -1, Value(math.NaN()), 0}}}, {Key: "b", Cells: []LaneCell{}}})
	const want = `[{"key":"a\u003cb","number":7,"busy":3,"quanta":2,"cells":[[1,2,3,4,5,6.5,"blocked"],[2,1,0,2,null,null,null]]},{"key":"b","busy":0,"quanta":0,"cells":[]}]`
	if err != nil || string(got) != want {
		t.Errorf("lanes are written\n%s, want\n%s (%v)", got, want, err)
	}
}
