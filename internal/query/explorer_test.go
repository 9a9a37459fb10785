package query

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
)

func explorer(t testing.TB, rec *quanta.Recording) *Explorer {
	t.Helper()
	e, err := NewExplorer(rec)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func chosen(t testing.TB, e *Explorer, filter string) []int {
	t.Helper()
	rows, err := e.Select(context.Background(), filter)
	if err != nil {
		t.Fatalf("%s: %v", filter, err)
	}
	return rows
}

func valuesOf(t testing.TB, e *Explorer, metric string) []float64 {
	t.Helper()
	v, err := e.Values(context.Background(), metric, chosen(t, e, "all"))
	if err != nil {
		t.Fatalf("%s: %v", metric, err)
	}
	return v
}

// syntaxOf returns the Error in an error, or nil.
func syntaxOf(t testing.TB, err error) *Error {
	t.Helper()
	var syntax *Error
	if err != nil && !errors.As(err, &syntax) {
		t.Errorf("not an Error: %v", err)
	}
	return syntax
}

func TestBrokenRecordings(t *testing.T) {
	for name, spoil := range map[string]func(*quanta.Recording){
		"a short column":       func(r *quanta.Recording) { r.Proc = r.Proc[1:] },
		"a short counter":      func(r *quanta.Recording) { r.Counters[1].Values = nil },
		"no such group":        func(r *quanta.Recording) { r.Group[3] = 99 },
		"a negative group":     func(r *quanta.Recording) { r.Group[3] = -1 },
		"no such function":     func(r *quanta.Recording) { r.Func[3] = 99 },
		"a negative duration":  func(r *quanta.Recording) { r.Duration[3] = -1 },
		"an endless duration":  func(r *quanta.Recording) { r.Duration[99] = math.MaxInt64 },
		"rows out of order":    func(r *quanta.Recording) { r.Begin[50] = 0 },
		"a negative wall time": func(r *quanta.Recording) { r.Wall = -1 },
	} {
		rec := made(1, 100)
		if _, err := NewExplorer(rec); err != nil {
			t.Fatal(err)
		}
		spoil(rec)
		if _, err := NewExplorer(rec); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := NewExplorer(nil); err == nil {
		t.Error("nil: no error")
	}
	if _, err := NewExplorer(&quanta.Recording{}); err != nil {
		t.Errorf("empty: %v", err)
	}
}

func TestNames(t *testing.T) {
	rec := made(1, 10)
	for _, name := range []string{"duration", "in", "a-b", "a_b", "2x", "=1+1", `"quoted"`, "<b>", "", "group", "first"} {
		rec.Counters = append(rec.Counters, quanta.Counter{Name: name, Values: slices.Clone(rec.Duration)})
	}
	e := explorer(t, rec)
	seen := map[string]bool{}
	for _, name := range e.Names() {
		if seen[name.Name] {
			t.Errorf("%s twice", name.Name)
		}
		seen[name.Name] = true
		v, err := e.Values(context.Background(), name.Name, chosen(t, e, "all"))
		if err != nil {
			t.Errorf("%s: %v", name.Name, err)
			continue
		}
		if c := rec.Counter(name.Title); c != nil && !name.Builtin {
			for row := range v {
				if want := float64(c.Values[row]); v[row] != want && c.Values[row] != quanta.Unknown {
					t.Errorf("%s: row %d is %v, not %v", name.Name, row, v[row], want)
				}
			}
		}
	}
	if !seen["minor_faults"] || !seen[`"msr/tsc"`] || !seen[`"duration"`] || !seen["a_b"] || !seen[`"a-b"`] {
		t.Errorf("names: %v", seen)
	}
}

// A table, for goroutines with close IDs, and a map number goroutines alike.
func TestNumbered(t *testing.T) {
	near := []int64{7, 3, 7, 9, 3, -1, 8}
	far := []int64{7e15, 3, 7e15, 9e12, 3, math.MinInt64, math.MaxInt64}
	want := []int32{0, 1, 0, 2, 1, 3, 4}
	for _, ids := range [][]int64{near, far} {
		number, of := numbered(ids, math.MinInt64)
		if !slices.Equal(number, want) {
			t.Errorf("%d: %d, want %d", ids, number, want)
		}
		for i, n := range number {
			if of[n] != ids[i] {
				t.Errorf("the number %d is that of %d, want %d", n, of[n], ids[i])
			}
		}
	}
}
