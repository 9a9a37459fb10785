package granularity

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// recorded is a profile as made by a recorder.
func recorded(t testing.TB) *Profile {
	t.Helper()
	rec := NewRecorder()
	rec.Start()
	p := &Pool{Name: "crunch", Workers: 2, Recorder: rec}
	for range 300 {
		p.Submit(func() { busy(5 * time.Microsecond) })
	}
	p.Close()
	rec.Stop()
	return rec.Profile()
}

// A profile that is written and read again is unchanged, except for the log.
func TestJSONRoundTrip(t *testing.T) {
	given := run{procs: 2, tasks: 1000, each: time.Millisecond, uneven: true, blocked: time.Microsecond, utilization: 1}.profile()
	given.Pauses = []GCPause{{At: 5, Length: 7}}
	given.Diagnose()
	for name, p := range map[string]*Profile{"recorded": recorded(t), "given": given, "empty": {}} {
		var first, second bytes.Buffer
		if err := WriteJSON(&first, p); err != nil {
			t.Fatal(err)
		}
		again, err := ReadJSON(bytes.NewReader(first.Bytes()))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := WriteJSON(&second, again); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: written again, it differs:\n%s\n%s", name, first.Bytes(), second.Bytes())
		}
		for i := range p.Classes {
			a, b := &p.Classes[i], &again.Classes[i]
			if !slices.Equal(pointsOf(&a.Cycles), pointsOf(&b.Cycles)) || !reflect.DeepEqual(a.Series, b.Series) ||
				!slices.Equal(a.Reasons, b.Reasons) || !slices.Equal(a.Advice, b.Advice) || len(a.Sites) != len(b.Sites) {
				t.Errorf("%s: class %s differs", name, a.Name)
			}
		}
	}
}

// Each written diagnosis can be read.
func TestJSONDiagnoses(t *testing.T) {
	for _, d := range []string{Fine, Coarse, Blocked, OK, Unknown, Straggler, TooFewWorkers, TooManyWorkers} {
		text, err := json.Marshal(&Profile{Classes: []Class{{Name: "x", Diagnosis: d}}})
		if err != nil {
			t.Fatal(err)
		}
		if p, err := ReadJSON(bytes.NewReader(text)); err != nil || p.Classes[0].Diagnosis != d {
			t.Errorf("%s: %v", d, err)
		}
	}
}

// The error names what is wrong, and the profile is unchanged.
func TestJSONErrors(t *testing.T) {
	p := run{procs: 2, tasks: 10, each: time.Millisecond, utilization: 1}.profile()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, new string) string {
		t.Helper()
		if !strings.Contains(string(text), old) {
			t.Fatalf("%s is not in %s", old, text)
		}
		return strings.Replace(string(text), old, new, 1)
	}
	for _, tt := range []struct{ text, want string }{
		{"", "the input is empty"},
		{`{"source":"x",`, "the input ends inside the object"},
		{"[]", "expected an object with source and classes, found a JSON array"},
		{"{}", "no profile of tasks"},
		{`{"boxes":[]}`, "no profile of tasks"},
		{`{"classes":[{"class":"x","tasks":-1}]}`, "classes.tasks: expected uint64"},
		{change(`"hz":2000000000`, `"hz":-1`), "hz is out of range"},
		{change(`"gomaxprocs":2`, `"gomaxprocs":-2`), "gomaxprocs"},
		{change(`"run_ns":`, `"run_ns":-`), "negative"},
		{change(`"diagnosis":"unknown"`, `"diagnosis":"fat"`), `class 1 ("work"): diagnosis is "fat"`},
		{change(`"buckets":`, `"pails":`), "quantiles alone do not make a distribution"},
		{change(`"buckets":[[1998848,10]]`, `"buckets":[[1998849,10]]`), "no bucket begins at 1998849"},
		{change(`"buckets":[[1998848,10]]`, `"buckets":[[1998848,0]]`), "is empty"},
		{change(`"buckets":[[1998848,10]]`, `"buckets":[]`), "no buckets"},
		{change(`"buckets":[[1998848,10]]`, `"buckets":[[1998848,10],[64,1]]`), "not above"},
		{change(`"buckets":[[1998848,10]]`, `"buckets":[[1998848,11]]`), "does not follow from the buckets"},
		{change(`"buckets":[[1998848,10]]`, `"buckets":[[1998848,18446744073709551615],[2031616,3]]`), "more than 2^64"},
		{change(`"min":2000000`, `"min":3`), "not in the first bucket"},
		{change(`"max":2000000`, `"max":3`), "not in the last bucket"},
		{change(`"tasks":10,`, `"tasks":9,`), "counts 10 values of 9 tasks"},
		{change(`"tasks":10,`, `"tasks":9223372036854775807,`), "more than can be added up"},
		{change(`"active":1`, `"active":2`), "bin 1 of the series"},
		{change(`"active_share":1`, `"active_share":7`), "active_share"},
		{change(`"paused_ns":0`, `"paused_ns":-1`), "negative"},
	} {
		got := Profile{Source: "before"}
		err := got.UnmarshalJSON([]byte(tt.text))
		// From Go 1.27 on, the path in an error of encoding/json has the index of the
		// element.
		if err == nil || !strings.Contains(strings.Replace(err.Error(), ": classes.0.", ": classes.", 1), tt.want) || !strings.HasPrefix(err.Error(), "granularity: reading JSON: ") {
			t.Errorf("%.200s: %v; want %q", tt.text, err, tt.want)
		}
		if got.Source != "before" {
			t.Errorf("%.200s: changed the profile", tt.text)
		}
	}
	if err := json.Unmarshal([]byte("null"), p); err != nil || len(p.Classes) != 1 {
		t.Errorf("null: %v", err)
	}
	if err := WriteJSON(&bytes.Buffer{}, &Profile{Hz: math.NaN()}); err == nil {
		t.Error("an invalid frequency was written")
	}
}

// FuzzReadJSON: every accepted profile can be diagnosed, and written and read again to the same
// text.
func FuzzReadJSON(f *testing.F) {
	testenv.BriefFuzzing(f)
	for _, p := range []*Profile{{}, run{procs: 2, tasks: 10, each: time.Millisecond, utilization: 1}.profile()} {
		text, err := json.Marshal(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ReadJSON(bytes.NewReader(text))
		if err != nil {
			return
		}
		first, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ReadJSON(bytes.NewReader(first))
		if err != nil {
			t.Fatalf("%v, written: %s", err, first)
		}
		second, err := json.Marshal(again)
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("differs, %v:\n%s\n%s", err, first, second)
		}
		p.Diagnose()
		for i := range p.Classes {
			pointsOf(&p.Classes[i].Cycles)
		}
	})
}
