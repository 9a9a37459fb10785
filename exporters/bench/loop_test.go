package bench

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// Times are in milliseconds; a mark takes a nanosecond. Who makes a mark: r resets, b begins and s
// stops the timer, p is the program itself.
func TestMeasured(t *testing.T) {
	const ms = timeline.Time(time.Millisecond)
	for _, tt := range []struct {
		what    string
		marks   []timeline.Time
		by      string
		elapsed time.Duration
		want    string // from-to, in ms
	}{
		{"Start, stop", []timeline.Time{100, 1100}, "rs", 1000, "100-1100"},
		{"Start, setup, reset, stop", []timeline.Time{100, 600, 1600}, "rrs", 1000, "600-1600"},
		{"setup that takes longer than the loop", []timeline.Time{0, 5000, 5300}, "rrs", 300, "5000-5300"},
		{"two resets", []timeline.Time{0, 400, 1000, 3000}, "rrrs", 2000, "1000-3000"},
		{"stop and start again", []timeline.Time{0, 300, 900, 1600}, "rsbs", 1000, "0-300 900-1600"},
		{"stop, setup, reset while it is off, start", []timeline.Time{0, 300, 900, 1600}, "rsbs", 700, "900-1600"},
		{"stop and start in each iteration", []timeline.Time{0, 100, 200, 300, 400, 500, 600, 700}, "rsbsbsbs", 400, "0-100 200-300 400-500 600-700"},
		{"reset in the middle of them", []timeline.Time{0, 1000, 1100, 1200, 1300, 1400}, "rsrsbs", 200, "1100-1200 1300-1400"},
		{"memory statistics after the loop", []timeline.Time{0, 1000, 1500, 1700}, "rspp", 1000, "0-1000"},
		{"no marks", nil, "", 1000, errNoLoop.Error()},
		{"one mark", []timeline.Time{100}, "r", 1000, errNoLoop.Error()},
		{"no call chains", []timeline.Time{100, 1100}, "pp", 1000, errNoLoop.Error()},
	} {
		var all []mark
		for i, at := range tt.marks {
			all = append(all, mark{at * ms, at*ms + 1, map[byte]caller{'r': reset, 'b': start, 's': stop}[tt.by[i]]})
		}
		spans, err := measured(all, tt.elapsed*time.Millisecond)
		got := ""
		for _, s := range spans {
			got += fmt.Sprintf("%d-%d ", (s[0]-1)/ms, s[1]/ms)
		}
		if err != nil {
			got = err.Error() + " "
		}
		if got = got[:max(0, len(got)-1)]; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.what, got, tt.want)
		}
	}
}

// If the trace shows which calls started and stopped the timer, a set-up as long as the loop is
// never mistaken for it, whatever else the program reads.
func TestTraceDecidesWhatWasTimed(t *testing.T) {
	var all []mark
	at := timeline.Time(0)
	add := func(by caller, after timeline.Time) {
		at += after
		all = append(all, mark{begin: at, end: at + 1, by: by})
	}
	add(reset, 5)
	for i := range 7 {
		if i%2 == 0 {
			add("", 30)
		}
		add(stop, 60) // 60 or 91 of the loop
		add(start, 100)
	}
	add(stop, 60)
	for after := range 3 { // reads of memory statistics after the loop
		for i := range after {
			add("", timeline.Time(100+i))
		}
		spans, err := measured(all, 8*60+4*31)
		if err != nil || len(spans) != 8 {
			t.Fatalf("%d stretches, %v; want 8", len(spans), err)
		}
		for _, s := range spans {
			if length := s[1] - s[0]; length > 92 {
				t.Errorf("with %d reads after it: a stretch of %d, which is not of the loop", after, length)
			}
		}
	}
	// A reset while the timer is off leaves no mark.
	all, at = nil, 0
	add(reset, 0)
	add(stop, 300)
	add(start, 600)
	add(stop, 700)
	if spans, err := measured(all, 700); err != nil || len(spans) != 1 || spans[0] != ([2]timeline.Time{901, 1600}) {
		t.Errorf("%v, %v; want the part after the reset", spans, err)
	}
}

// The trace of a benchmark has the callers of the timer's methods.
func TestTraceHasTheCallersOfTheTimer(t *testing.T) {
	in(t, "test.benchtime", "3x")
	var kinds map[caller]int
	r := testing.Benchmark(func(b *testing.B) {
		rec, err := record()
		if err != nil {
			b.Skip(err)
		}
		b.ResetTimer()
		b.StopTimer()
		b.StartTimer()
		rec.stop()
		m := &marks{}
		if _, err := timeline.Read(context.Background(), bytes.NewReader(rec.data.Bytes()), timeline.Options{}, m); err != nil {
			b.Fatal(err)
		}
		kinds = map[caller]int{}
		for _, k := range m.all {
			kinds[k.by]++
		}
	})
	if r.N > 0 && (kinds[reset] != 1 || kinds[stop] != 1 || kinds[start] != 1) {
		t.Errorf("%v marks of program, start, stop and reset; want one of each of the last three", kinds)
	}
}
