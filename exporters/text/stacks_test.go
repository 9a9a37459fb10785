package text

import (
	"bytes"
	"encoding/csv"
	"io"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/speedup"
)

func aStack(n int, s float64, components map[speedup.Component]float64) *speedup.Stack {
	st := &speedup.Stack{N: n, Speedup: s, Remainder: float64(n) - s}
	st.Workers.Selector, st.Workers.Count = "main.work", n
	for c, v := range components {
		st.Components[c] = v
		st.Remainder -= v
	}
	return st
}

func TestStacks(t *testing.T) {
	one := aStack(2, 1.25, map[speedup.Component]float64{speedup.SyncMutex: 0.875, speedup.IONetwork: -0.25, speedup.Spawn: 0.001, speedup.SchedWakeup: 0.0015})
	one.Remainder, one.Warnings = 0.1225, []string{"a \x1b[31mhostile warning"}
	two := aStack(4, 1.5, map[speedup.Component]float64{speedup.SyncMutex: 2})
	two.Estimate, two.Label = true, "four"
	const wantOne = `1.25 times faster with 2 workers; most is lost to mutex, 0.88; without it, 2.22
  times, or up to 2.25 if the remainder is spinning for it

workers                 2  without it
remainder            0.12              ██▌
2 small components   0.00
network             -0.25              ------
mutex                0.88        2.22  ██████████████████
speed-up             1.25              █████████████████████████▋

Workers: main.work, 2 goroutines. Parts are in units of the speed-up; they sum
  to N.
Warning: a �[31mhostile warning
`
	const wantBoth = `at most 1.50 times faster with 4 workers than with one, if one does the same work at the same speed (an estimate from one run);
  most is lost to mutex, 2.00; without it, at most 3.00 times

workers                 2   four
remainder            0.12   0.50
2 small components   0.00   0.00
network             -0.25   0.00
mutex                0.88   2.00
speed-up (at most)   1.25   1.50

Workers: main.work, 4 goroutines. Parts are in units of the speed-up; they sum to N.
Warning: a �[31mhostile warning
`
	for _, tt := range []struct {
		stacks []*speedup.Stack
		want   string
	}{{[]*speedup.Stack{one}, wantOne}, {[]*speedup.Stack{one, two}, wantBoth}} {
		var b bytes.Buffer
		if err := WriteStacks(&b, tt.stacks, Options{Width: 80 + 48*(len(tt.stacks)-1)}); err != nil || b.String() != tt.want {
			t.Errorf("%v\n%s\nwant\n%s", err, b.String(), tt.want)
		}
	}
	var narrow bytes.Buffer
	many := make([]*speedup.Stack, 40)
	for i := range many {
		many[i] = two
	}
	if err := WriteStacks(&narrow, many, Options{Width: 60, Color: true}); err != nil {
		t.Fatal(err)
	}
	// 18 columns for names, 7 for each of 6 numbers.
	if n := strings.Count(narrow.String(), "remainder"); n != 7 {
		t.Errorf("%d tables, want 7", n)
	}

	var b bytes.Buffer
	if err := TableCSV(&b, speedup.Table(one, two)); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 10 || strings.Join(rows[7], ",") != "four,4,true,false,speedup,speedup,1.5," {
		t.Errorf("%v, %q", err, rows)
	}
	if got := strings.Join(rows[2], ","); got != ",2,false,false,synchronization,sync-mutex,0.875,2.2222222222222223" {
		t.Error(got)
	}
	for _, bad := range [][]*speedup.Stack{nil, {nil}} {
		if WriteStacks(io.Discard, bad, Options{}) == nil {
			t.Error("no error without a stack")
		}
	}
}

// A part of nearly 0 has no sign.
func TestStackPartOfNothing(t *testing.T) {
	s := &speedup.Stack{N: 2, Speedup: 2.001, Remainder: -0.001}
	var b strings.Builder
	if err := WriteStacks(&b, []*speedup.Stack{s, s}, Options{}); err != nil || !strings.Contains(b.String(), "remainder   0.00   0.00") || strings.Contains(b.String(), "-0.00") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
