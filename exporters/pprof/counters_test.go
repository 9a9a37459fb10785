package pprof_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/counters"
	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// counted is a recording of four quanta of two goroutines.
func counted() *counters.Recording {
	return &counters.Recording{
		Wall: time.Second, Groups: []counters.Group{{Name: "main.main"}, {Name: "main.worker", Kind: timeline.Application}},
		Funcs:     []string{"", "main.(*T).work", "example.com/x/<script>"},
		Goroutine: []int64{1, 7, 7, 8}, Group: []int32{0, 1, 1, 1}, Thread: []int64{3, 3, 4, -1}, Proc: []int32{0, 0, 1, -1},
		Begin: []int64{0, 10, 30, 40}, Duration: []int64{10, 20, 30, 40}, Func: []int32{0, 1, 1, 2},
		Ending: []counters.Ending{counters.Blocked, counters.Preempted, counters.Preempted, counters.Exited}, Wait: make([]timeline.Wait, 4),
		Counters: []counters.Counter{
			{Name: "minor-faults", Source: "made", Accuracy: counters.Exact, Values: []int64{5, 1, 2, counters.Unknown}, Total: 10, Remainder: 2},
			{Name: "heap", Unit: "bytes", Level: true, Values: []int64{1, 2, 3, 4}},
		},
		Warnings: []string{"a warning"},
	}
}

func explore(t testing.TB, rec *counters.Recording) *counters.Explorer {
	t.Helper()
	e, err := counters.NewExplorer(rec)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func ExampleCounters() {
	e, err := counters.NewExplorer(counted())
	if err != nil {
		panic(err)
	}
	p, err := pprof.Counters(context.Background(), e, nil, pprof.CountersOptions{})
	if err != nil {
		panic(err)
	}
	for _, s := range p.Sample {
		fmt.Print(s.Value[0], " quanta, ", s.Value[1], " ns, ", s.Value[2], " faults, ", s.Label["ended"][0], ":")
		for i := len(s.Location) - 1; i >= 0; i-- {
			fmt.Print(" > ", s.Location[i].Line[0].Function.Name)
		}
		fmt.Println()
	}
	// Output:
	// 2 quanta, 50 ns, 3 faults, preempted: > [group] main.worker > main.(*T).work
	// 1 quanta, 40 ns, 0 faults, exited: > [group] main.worker > example.com/x/<script>
	// 1 quanta, 10 ns, 5 faults, blocked: > [group] main.main > [not known]
}

func TestCountersOfASet(t *testing.T) {
	rec := counted()
	e := explore(t, rec)
	set := counters.RowsWhere(4, func(row int) bool { return rec.Goroutine[row] == 7 })
	var buf bytes.Buffer
	if err := pprof.WriteCounters(t.Context(), &buf, e, set, pprof.CountersOptions{Metrics: []string{"minor_faults", "minor_faults * 1000", "duration"}}); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&buf)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, st := range p.SampleType {
		types = append(types, st.Type+"/"+st.Unit)
	}
	if got := strings.Join(types, " "); got != "quanta/count time/nanoseconds minor_faults/count minor_faults___1000/count duration/nanoseconds" {
		t.Errorf("types %s", got)
	}
	if len(p.Sample) != 1 || fmt.Sprint(p.Sample[0].Value) != "[2 50 3 3000 50]" {
		t.Errorf("%v", p.Sample)
	}
	if c := strings.Join(p.Comments, "; "); !strings.Contains(c, "2 quanta of 4") || !strings.Contains(c, "2 of 10 belong to no quantum") || !strings.Contains(c, "a warning") {
		t.Errorf("comments %s", c)
	}
}

func TestCountersRefuse(t *testing.T) {
	e := explore(t, counted())
	for metric, says := range map[string]string{
		"heap": "not a change", "minor_faults / duration": "quotient", "proc": "not a change", "begin": "not a change", "minor_fault": "did you mean minor_faults?", "(": "expected",
	} {
		if _, err := pprof.Counters(t.Context(), e, nil, pprof.CountersOptions{Metrics: []string{metric}}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", metric, err)
		}
	}
	if _, err := pprof.Counters(t.Context(), nil, nil, pprof.CountersOptions{}); err == nil {
		t.Error("no recording: no error")
	}
	p, err := pprof.Counters(t.Context(), e, counters.NoRows(4), pprof.CountersOptions{})
	if err != nil || len(p.Sample) != 1 || p.Sample[0].Value[1] != 0 {
		t.Errorf("nothing: %v, %v", p, err)
	}
}

// However many there are, the profile stays small, and its samples sum to all.
func TestCountersFold(t *testing.T) {
	rec := &counters.Recording{Groups: []counters.Group{{Name: "g"}}, Funcs: []string{""}}
	const n = 40_000
	faults := make([]int64, n)
	for row := range n {
		rec.Funcs = append(rec.Funcs, fmt.Sprintf("main.f%d", row))
		rec.Goroutine, rec.Group, rec.Func = append(rec.Goroutine, 1), append(rec.Group, 0), append(rec.Func, int32(row+1))
		rec.Thread, rec.Proc = append(rec.Thread, 1), append(rec.Proc, 1)
		rec.Begin, rec.Duration = append(rec.Begin, int64(row)), append(rec.Duration, int64(row))
		faults[row] = 1
	}
	rec.Ending, rec.Wait = make([]counters.Ending, n), make([]timeline.Wait, n)
	rec.Counters = []counters.Counter{{Name: "faults", Values: faults}}
	p, err := pprof.Counters(t.Context(), explore(t, rec), nil, pprof.CountersOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var sums [3]int64
	for _, s := range p.Sample {
		for i := range sums {
			sums[i] += s.Value[i]
		}
	}
	if sums != [3]int64{n, n * (n - 1) / 2, n} || len(p.Sample) >= 16_000 || len(p.Sample) < 10_000 {
		t.Errorf("%d samples sum to %v", len(p.Sample), sums)
	}
	var buf bytes.Buffer
	if err := p.WriteUncompressed(&buf); err != nil || buf.Len() > 4<<20 {
		t.Errorf("%d bytes, %v", buf.Len(), err)
	}
}
