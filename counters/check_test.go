package counters

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// checkTable checks what is true for every recording.
func checkTable(t testing.TB, r *quanta.Recording) {
	t.Helper()
	n := r.Len()
	for name, l := range map[string]int{"Goroutine": len(r.Goroutine), "Group": len(r.Group), "Thread": len(r.Thread), "Proc": len(r.Proc),
		"Duration": len(r.Duration), "Ending": len(r.Ending), "Wait": len(r.Wait), "Func": len(r.Func)} {
		if l != n {
			t.Fatalf("%s has %d rows of %d", name, l, n)
		}
	}
	if !slices.IsSorted(r.Begin) {
		t.Error("the rows are not in the order of Begin")
	}
	free := map[int64]int64{} // by goroutine: the end of its last quantum
	for i := range n {
		end := r.Begin[i] + r.Duration[i]
		if r.Duration[i] < 0 || r.Begin[i] < 0 || end > int64(r.Wall) || r.Begin[i] < free[r.Goroutine[i]] {
			t.Fatalf("row %d of goroutine %d: %d + %d ns of %d, after one that ends at %d", i, r.Goroutine[i], r.Begin[i], r.Duration[i], r.Wall, free[r.Goroutine[i]])
		}
		free[r.Goroutine[i]] = end
		if int(r.Group[i]) >= len(r.Groups) || int(r.Func[i]) >= len(r.Funcs) {
			t.Fatalf("row %d: group %d of %d, function %d of %d", i, r.Group[i], len(r.Groups), r.Func[i], len(r.Funcs))
		}
		if blocked := r.Ending[i] == quanta.Blocked || r.Ending[i] == quanta.SyscallBlocked || r.Ending[i] == quanta.InC; blocked != (r.Wait[i] != timeline.WaitNone) {
			t.Fatalf("row %d: ending %d with wait %v", i, r.Ending[i], r.Wait[i])
		}
	}
	checkCounters(t, r)
	if !slices.IsSortedFunc(r.Spans, func(a, b quanta.Span) int { return int(a.Begin - b.Begin) }) {
		t.Error("the spans are not in order")
	}
	for _, s := range r.Spans {
		if s.Begin < 0 || s.End < s.Begin || s.End > int64(r.Wall) {
			t.Errorf("span %+v", s)
		}
	}
}

// checkCounters checks that the known values and the remainder sum to the total.
func checkCounters(t testing.TB, r *quanta.Recording) {
	t.Helper()
	for _, c := range r.Counters {
		if len(c.Values) != r.Len() {
			t.Fatalf("%s has %d values of %d", c.Name, len(c.Values), r.Len())
		}
		var sum int64
		for i, v := range c.Values {
			if v != quanta.Unknown {
				sum += v
				if v < 0 {
					t.Fatalf("%s is %d in row %d", c.Name, v, i)
				}
			}
		}
		if !c.Level && sum+c.Remainder != c.Total {
			t.Errorf("%s: values %d + remainder %d are not the total %d", c.Name, sum, c.Remainder, c.Total)
		}
		if c.Level && (c.Total != 0 || c.Remainder != 0) {
			t.Errorf("%s is a level with a total", c.Name)
		}
	}
}

// needs skips the test if the recording lacks the counter.
func needs(t testing.TB, r *quanta.Recording, name string) *quanta.Counter {
	t.Helper()
	c := r.Counter(name)
	if c == nil {
		lacking(t, name+" is not counted here: "+strings.Join(r.Warnings, " "))
	}
	return c
}

// lacking skips a test because of what this machine lacks, unless everything is required.
func lacking(t testing.TB, why string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip(why)
	}
	testenv.Missing(t, why)
}

func BenchmarkMarkWithoutTrace(b *testing.B) {
	ctx := context.Background()
	for b.Loop() {
		Mark(ctx, "no listener")
	}
}
