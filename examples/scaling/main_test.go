package main

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/speedup"
)

// Every switch gives a stack that sums up and shows what it was designed to show. Its values
// depend on the load of the machine: the program reports that, the test does not check it.
func TestSwitches(t *testing.T) {
	dir := t.TempDir()
	o := options{procs: 2, time: 60 * time.Millisecond, dir: dir}
	for _, m := range modes {
		r, err := m.record(context.Background(), o.procs, o.time, 0.3)
		if err != nil {
			t.Fatal(m.name, err)
		}
		sum := r.stack.Speedup + r.stack.Remainder
		for _, c := range speedup.Delimiters() {
			sum += r.stack.Components[c]
		}
		if n := 2 * max(1, m.perProcessor); r.stack.N != n || math.Abs(sum-float64(n)) > 1e-9 || r.stack.Workers.Count != n {
			t.Errorf("%s: N is %d, the parts sum to %v, %d workers", m.name, r.stack.N, sum, r.stack.Workers.Count)
		}
		if r.known < 0 && m.name != "gc" || math.IsNaN(r.value) {
			t.Errorf("%s: %v, must be %v", m.name, r.value, r.known)
		}
		var b bytes.Buffer
		if err := r.show(&b); err != nil || !strings.Contains(b.String(), "is meant to show: "+m.shows) {
			t.Errorf("%v\n%s", err, b.String())
		}
		if err := o.draw(m, r.stack); err != nil {
			t.Error(err)
		}
		if st, err := os.Stat(filepath.Join(dir, m.name+".svg")); err != nil || st.Size() < 1000 {
			t.Error(m.name, err)
		}
	}
}

// The known answers for two workers equal those computed by hand.
func TestKnown(t *testing.T) {
	known := func(name string, n float64, o *observed) float64 {
		return modes[slices.IndexFunc(modes, func(m *mode) bool { return m.name == name })].known(n, o)
	}
	for name, want := range map[string]float64{"perfect": 2, "imbalance": 2. / 3, "lock": 0.75, "sequential": 2. / 3, "io": 0.75} {
		if got := known(name, 2, nil); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := known("oversubscribed", 8, nil); got != 6 {
		t.Errorf("oversubscribed: %v", got)
	}
	if got := known("gc", 2, &observed{multi: 100, gcSingle: 10, gcMulti: 60}); got != 0.5 {
		t.Errorf("gc: %v", got)
	}
}

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		r    result
		want string
	}{
		{result{stack: &speedup.Stack{}, value: 0.7, known: 0.75}, "as it must be"},
		{result{stack: &speedup.Stack{}, value: 0.5, known: 0.75}, "off by 0.250"},
		{result{stack: &speedup.Stack{Disturbed: true}, value: 0.75, known: 0.75}, "disturbed: no result"},
	} {
		if got := tt.r.verdict(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
