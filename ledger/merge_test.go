package ledger

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// random returns a valid ledger of few distinct rows, so that some rows are in several ledgers.
func random(r *rand.Rand) *Ledger {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	l := &Ledger{
		Start: time.Duration(r.IntN(9)), Wall: time.Duration(r.IntN(1000)), Procs: r.IntN(5), Queue: time.Duration(r.IntN(99)),
		Queued: time.Duration(r.IntN(99)), Born: r.Int64N(9), Slices: r.Int64N(99),
		Offered: make([]time.Duration, r.IntN(4)),
	}
	for i := range l.Offered {
		l.Offered[i] = time.Duration(r.IntN(9))
	}
	if len(l.Offered) == 0 {
		l.Offered = nil
	}
	for range r.IntN(3) {
		l.Warnings = append(l.Warnings, pick("x", "y", "z"))
	}
	if n := r.Int64N(4); n > 0 {
		l.Heap = &Heap{Collections: n, Allocated: r.Int64N(1e6), Live: r.Int64N(1e6), Peak: r.Int64N(1e6)}
	}
	keys := map[name]bool{}
	for range r.IntN(12) {
		row := Row{Category: Categories()[r.IntN(3)], Group: pick("", "a", "b"), Site: timeline.Place{Func: pick("", "f"), Line: r.IntN(2)}, Wait: pick("", "mutex"),
			Waker: pick("", "a"), Beside: pick("", None), Sampled: r.IntN(2) == 0}
		if keys[row.name()] {
			continue
		}
		keys[row.name()] = true
		for range r.IntN(3) {
			row.Callers = append(row.Callers, timeline.Place{Func: pick("g", "h")})
		}
		row.Time, row.Count, row.Queue = time.Duration(r.IntN(3)), r.Int64N(9), time.Duration(r.IntN(9))
		row.Shared = time.Duration(r.Int64N(int64(row.Time) + 1))
		l.Capacity += row.Time
		l.Rows = append(l.Rows, row)
	}
	sortRows(l.Rows)
	return l
}

func merge(t *testing.T, ledgers ...*Ledger) *Ledger {
	t.Helper()
	l, err := Merge(ledgers...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Neither the order of ledgers nor that of merges matters, and sums are exact.
func TestMergeLaws(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		a, b, c := random(r), random(r), random(r)
		before := fmt.Sprint(a, b, c)
		ab := merge(t, a, b)
		if ba := merge(t, b, a); !reflect.DeepEqual(ab, ba) {
			t.Fatalf("a+b is\n%+v\nb+a is\n%+v", ab, ba)
		}
		all := merge(t, a, b, c)
		live, collections, allocated := 0., 0., int64(0)
		for _, l := range []*Ledger{a, b, c} {
			if l.Heap != nil {
				collections += float64(l.Heap.Collections)
				live += float64(l.Heap.Live * l.Heap.Collections)
				allocated += l.Heap.Allocated
			}
		}
		if h := all.Heap; h != nil && (math.Abs(float64(h.Live)-live/collections) > 2 || h.Allocated != allocated) || h == nil && collections > 0 {
			t.Errorf("the heap is %+v, live %v in %v collections, %d allocated", h, live, collections, allocated)
		}
		for _, other := range []*Ledger{merge(t, ab, c), merge(t, a, merge(t, b, c)), merge(t, nil, c, b, nil, a)} {
			if h, g := all.Heap, other.Heap; h != nil && g != nil && max(h.Live-g.Live, g.Live-h.Live, h.Peak-g.Peak, g.Peak-h.Peak) <= 2 {
				h.Live, h.Peak = g.Live, g.Peak // they are rounded
			}
			if !reflect.DeepEqual(all, other) {
				t.Fatalf("a+b+c is\n%+v\nin another order\n%+v", all, other)
			}
		}
		if err := all.CheckValid(); err != nil {
			t.Fatal(err)
		}
		for _, category := range Categories() {
			if got, want := all.Of(category), a.Of(category)+b.Of(category)+c.Of(category); got != want {
				t.Errorf("%s: %d, want %d", category, got, want)
			}
		}
		if all.Wall != a.Wall+b.Wall+c.Wall || all.Queue != a.Queue+b.Queue+c.Queue || all.Born != a.Born+b.Born+c.Born || all.Instances != 3 {
			t.Errorf("%+v is not the sum of\n%+v\n%+v\n%+v", all, a, b, c)
		}
		for n := range 4 {
			sum := time.Duration(0)
			for _, l := range []*Ledger{a, b, c} {
				if n < len(l.Offered) {
					sum += l.Offered[n]
				}
			}
			if n < len(all.Offered) && all.Offered[n] != sum || n >= len(all.Offered) && sum != 0 {
				t.Errorf("offered %v of %v, %v, %v", all.Offered, a.Offered, b.Offered, c.Offered)
			}
		}
		if after := fmt.Sprint(a, b, c); after != before {
			t.Fatal("Merge changed what it merged")
		}
	}
}

// The callers of a merged row are those that all rows have.
func TestMergeKeepsCommonCallers(t *testing.T) {
	of := func(callers ...string) *Ledger {
		row := Row{Category: Code, Group: "main.work", Time: 1}
		for _, f := range callers {
			row.Callers = append(row.Callers, timeline.Place{Func: f})
		}
		return &Ledger{Capacity: 1, Rows: []Row{row}}
	}
	for _, tt := range []struct {
		a, b *Ledger
		want string
	}{
		{of("f", "g", "h"), of("f", "g", "x"), "[f g]"},
		{of("f", "g"), of("f", "g", "x"), "[f g]"},
		{of("f", "g"), of("x", "g"), "[]"},
		{of("f", "g"), of(), "[]"},
	} {
		before := fmt.Sprint(tt.a, tt.b)
		if l := merge(t, tt.a, tt.b); len(l.Rows) != 1 || fmt.Sprint(l.Rows[0].Callers) != tt.want || l.Rows[0].Time != 2 {
			t.Errorf("%v and %v make %+v, want %s", tt.a.Rows, tt.b.Rows, l.Rows, tt.want)
		}
		if fmt.Sprint(tt.a, tt.b) != before {
			t.Error("Merge changed what it merged")
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	if _, err := Merge(nil, nil); err == nil {
		t.Error("no ledger is a ledger")
	}
	large := &Ledger{Wall: math.MaxInt64}
	if _, err := Merge(large, &Ledger{Wall: 1}); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("%v", err)
	}
}

// A ledger is unchanged after writing and reading, and invalid input is refused.
func TestJSONRoundTrip(t *testing.T) {
	for seed := range uint64(50) {
		l := random(rand.New(rand.NewPCG(seed, 2)))
		if l.Rows == nil {
			l.Rows = []Row{}
		}
		var b bytes.Buffer
		if err := WriteJSON(&b, l); err != nil {
			t.Fatal(err)
		}
		got, err := ReadJSON(&b)
		if err != nil || !reflect.DeepEqual(got, l) {
			t.Fatalf("%v: read\n%+v\nwritten\n%+v", err, got, l)
		}
	}
	for in, want := range map[string]string{
		"":                         "the input is empty",
		`{"capacity":`:             "ends inside the object",
		`{}`:                       "rows is missing",
		`[]`:                       "expected an object with capacity and rows, found a JSON array",
		`{"rows":[{"time":"x"}]}`:  "time: expected int64, found a JSON string", // the path before it differs between releases of Go
		`{"rows":[],"capacity":1}`: "the rows sum to 1 ns less than the capacity",
		`{"rows":[{"category":"code","time":2}],"capacity":1}`:                            "the rows sum to more than the capacity",
		`{"rows":[{"category":"sleep","time":1}],"capacity":1}`:                           `unknown category "sleep"`,
		`{"rows":[{"category":"code","time":-1},{"category":"c","time":2}],"capacity":1}`: "is negative",
		`{"rows":[],"capacity":0,"offered":[-1]}`:                                         "a time is negative",
		`{"rows":[],"capacity":0,"procs":-1}`:                                             "a number is negative",
		// The sum would overflow to the capacity.
		`{"rows":[{"category":"code","time":9223372036854775807},{"category":"c","time":9223372036854775807},{"category":"idle","time":3}],"capacity":1}`: "sum to more",
	} {
		if _, err := ReadJSON(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
}

// The stacks of a sum sum to its rows, in any order of the ledgers. If one ledger has no stacks,
// the sum has none.
func TestMergeStacks(t *testing.T) {
	played := func(seed uint64, stacks bool) *Ledger {
		l, _, _, _ := play(seed, Options{Stacks: stacks})
		return l
	}
	a, b, c := played(1, true), played(2, true), played(3, true)
	sum := merge(t, a, b, c)
	if wrong := stacksHold(sum); wrong != "" || len(sum.Stacks) == 0 || len(sum.Stacks) >= len(a.Stacks)+len(b.Stacks)+len(c.Stacks) {
		t.Errorf("%d stacks of %d, %d and %d: %s", len(sum.Stacks), len(a.Stacks), len(b.Stacks), len(c.Stacks), wrong)
	}
	times := func(l *Ledger) (times []time.Duration) {
		for i := range l.Stacks {
			times = append(times, l.Stacks[i].Time)
		}
		return times
	}
	if other := merge(t, c, merge(t, b, a)); !reflect.DeepEqual(times(other), times(sum)) {
		t.Errorf("in another order %v, want %v", times(other), times(sum))
	}
	if half := merge(t, a, played(2, false)); half.Stacks != nil {
		t.Errorf("%d stacks, though one ledger has none", len(half.Stacks))
	}
}
