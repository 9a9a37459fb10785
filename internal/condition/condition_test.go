package condition

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/result"
)

// entry is a row of books.
type entry struct {
	who   []string
	what  string
	time  time.Duration
	share float64 // negative means unknown
	calls int64
}

var books = result.New([]result.Column[entry]{
	{Name: "who", Unit: result.Func, Value: result.Lists(func(e *entry) []string { return e.who })},
	{Name: "time", Unit: result.Duration, Part: true, Help: "how long", Value: result.Ints(func(e *entry) time.Duration { return e.time })},
	{Name: "what", Value: result.Texts(func(e *entry) string { return e.what })},
	{Name: "share", Unit: result.Ratio, Help: "of what", Value: func(e *entry) (result.Value, bool) { return result.Float(e.share), e.share >= 0 }},
	{Name: "calls", Unit: result.Count, Help: "how many", Value: result.Ints(func(e *entry) int64 { return e.calls })},
}, []entry{
	{[]string{"example.com/x/cache.(*LRU).Get"}, "lock", 60, .5, 3},
	{[]string{"main.main", "main.run"}, "code", 25, .25, 2},
	{[]string{"main.main"}, "lock", 10, -1, 1},
	{nil, "idle", 5, 1, 0},
}, 100)

// bookkeeping are the measures of books, of which nothing is known but its rows.
var bookkeeping = func() *Measures {
	in := Table{Columns: books.Columns, Of: func(any) *result.Table { return books }, Missing: "unknown name"}
	return &Measures{Example: "time>3s", Whole: []Table{in}, Filtered: []Table{in}}
}()

// A condition compares the sum or mean of a column over all rows or over those with a text.
func TestColumnsOfTables(t *testing.T) {
	for _, tt := range []struct {
		name  string
		want  float64
		share float64 // in percent of the whole; −1 means not a part
	}{
		{"time", 100, 100},
		{"time(lock)", 70, 70},
		{"time( main.main )", 35, 35},
		{"time(main.run)", 25, 25},
		{"time(cache.(*LRU).Get)", 60, 60},
		{"time(x/cache.(*LRU).Get)", 60, 60},
		{"time(example.com/x/cache.(*LRU).Get)", 60, 60},
		{"time(LRU?)", 0, 0},
		{"time(Get?)", 0, 0},
		{"time(ain.main?)", 0, 0},
		{"time(code )", 25, 25},
		{"calls(lock)", 4, -1},
		{"calls", 6, -1},
		{"share(code)", 25, -1},
		{"share(idle)", 100, -1},
		{"share(nothing?)", 0, -1},
	} {
		m, err := bookkeeping.Find(tt.name)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got, err := m.Value(nil); err != nil || got != tt.want {
			t.Errorf("%s is %v, %v, want %v", tt.name, got, err, tt.want)
		}
		switch err := m.against("10%"); {
		case tt.share < 0:
			if m.part {
				t.Errorf("%s is a part", tt.name)
			}
		case err != nil:
			t.Errorf("%s: %v", tt.name, err)
		default:
			if got, err := m.Value(nil); err != nil || got != tt.share {
				t.Errorf("the share of %s is %v, %v, want %v", tt.name, got, err, tt.share)
			}
		}
	}
	for name, want := range map[string]string{
		"share(lock)": "is not known of all rows", "time(ain.main)": `unknown name "ain.main"; did you mean "main.main"? (ain.main? counts as 0`,
		"time(nothing)": `unknown name "nothing" (nothing?`,
	} {
		m, err := bookkeeping.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Value(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	for name, want := range map[string]string{
		"who": "want one of time, share, calls", "tim": "did you mean time?", "tim(lock)": "did you mean time?",
		"time(": "never closed", "time()": "want time(FILTER)", "time(lock).x": "want time(FILTER)", "": "want one of",
	} {
		if _, err := bookkeeping.Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		} else if result.IsUnknown(err) != (strings.Contains(want, "one of") || strings.Contains(want, "mean")) {
			t.Errorf("%s: %T", name, err)
		}
	}
}

func TestConditionHolds(t *testing.T) {
	for cond, want := range map[string]bool{
		"x<3": false, "x<=3": true, "x>3": false, "x>=3": true, "x<4": true, "x > 2": true, " x(a,b) >= 3 ": true, "x((<))<1": false,
	} {
		list, err := parse(cond, "x<1")
		if err != nil || len(list) != 1 {
			t.Errorf("%s: %v, %v", cond, list, err)
			continue
		}
		limit, err := parseNumber(list[0].value)
		if err != nil || list[0].holds(3, limit) != want {
			t.Errorf("%s: %v, want %v", cond, err, want)
		}
	}
	list, err := parse("a<1, b(x,y)>=2 ,c>3", "")
	if err != nil || fmt.Sprint(list) != "[{a<1 a < 1 false []} {b(x,y)>=2 b(x,y) >= 2 false []} {c>3 c > 3 false []}]" {
		t.Errorf("%v, %v", list, err)
	}
}

// A value is never rounded so that it looks equal to the limit that it misses.
func TestConditionDigits(t *testing.T) {
	for v, want := range map[float64]string{
		3.9: "3.90", 3.996: "3.996", 3.99999: "3.99999", 4: "4.00", math.Nextafter(4, 0): "3.9999999999999996",
	} {
		m := Measure{Head: result.Head{Unit: result.Number}, limit: 4}
		if got := m.format(v); got != want {
			t.Errorf("%v is shown as %s, want %s", v, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		10 * time.Second: "10s", 10001 * time.Millisecond: "10.001s", 9994 * time.Millisecond: "9.99s", 248413793: "248ms",
	} {
		m := Measure{Head: result.Head{Unit: result.Duration}, limit: 10e9}
		if got := m.format(float64(d)); got != want {
			t.Errorf("%d ns is shown as %s, want %s", d, got, want)
		}
	}
}
