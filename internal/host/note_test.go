package host

import (
	"testing"
	"time"
)

// The throttling in a note is the one that was written.
func TestNotesHaveTheThrottling(t *testing.T) {
	want := Machine{1.5, 64, Throttling{Periods: 300, Throttled: 12, For: 1500 * time.Millisecond}}
	const text = "1.5 of 64 processors, throttled in 12 of 300 periods for 1500000000 ns"
	if got, ok := ReadNote(category, text); !ok || got != want || want.String() != text {
		t.Errorf("%q is read as %+v, and %+v is written %q", text, got, want, want)
	}
}

func TestNotesAreReadStrictly(t *testing.T) {
	for _, c := range []struct {
		category, message string
		want              float64
	}{
		{category, "8 of 8 processors, throttled in 1 of 2 periods", 0},
		{category, "8 of 8 processors, throttled in -1 of 2 periods for 1000000000 ns", 0},
		{category, "8 of 8 processors, throttled in 1 of 2 periods for -1000000000 ns", 0},
		{category, "8 of 8 processors, throttled in 0 of 2 periods for 0 ns", 8},
		{category, "8 of 8 processors.", 0},
		{category, "8 of 8 processors", 8},
		{category, "1.5 of 64 processors", 1.5},
		{"bottleneck", "8 of 8 processors", 0}, // of a benchmark, or of the program
		{category, "9 of 8 processors", 0},
		{category, "0 of 8 processors", 0},
		{category, "-1 of 8 processors", 0},
		{category, "NaN of 8 processors", 0},
		{category, "8 of 99999999999 processors", 0},
		{category, "benchmark", 0},
		{category, "", 0},
	} {
		if got, ok := ReadNote(c.category, c.message); got.Processors != c.want || ok != (c.want > 0) {
			t.Errorf("%s %q: %v, %v, want %v", c.category, c.message, got, ok, c.want)
		}
	}
}

func TestOversubscribedIsSilentOnUnknowns(t *testing.T) {
	for _, c := range []struct {
		procs      int
		processors float64
		want       string
	}{
		{0, 0, ""}, {64, 0, ""}, {0, 2, ""}, {2, 2, ""}, {2, 8, ""},
		{4, 1, "GOMAXPROCS is 4, but the machine or its control group gives the process 1 processor: goroutines that count as running may have waited for one."},
		{2, 1.5, "GOMAXPROCS is 2, but the machine or its control group gives the process 1.5 processors: goroutines that count as running may have waited for one."},
	} {
		if got := Oversubscribed(c.procs, c.processors); got != c.want {
			t.Errorf("%d on %v: %q, want %q", c.procs, c.processors, got, c.want)
		}
	}
}
