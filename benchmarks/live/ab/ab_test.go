package ab

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestArgs(t *testing.T) {
	want := Options{Slice: 3 * time.Second, Rounds: 7, Ways: "flight,both", Heap: 1 << 20}
	got, err := parseArgs(append(want.Args(), "module"))
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := parseArgs(want.Args()); err == nil {
		t.Error("an argument is missing")
	}
}

func TestChoose(t *testing.T) {
	if modes, err := choose("flight,continuous"); err != nil || len(modes) != 2 || modes[1].Name != "continuous" {
		t.Errorf("%v, %v", modes, err)
	}
	if modes, err := choose(""); err != nil || len(modes) != len(all()) {
		t.Errorf("%v, %v", modes, err)
	}
	if _, err := choose("flight,fast"); err == nil {
		t.Error("an unknown way is taken")
	}
}

// TestCompare: each round and the results of each way are printed.
func TestCompare(t *testing.T) {
	var out bytes.Buffer
	load := Workload{Name: "sleep", Clients: 2, Start: func() (func(int) error, func(), error) {
		return func(int) error { time.Sleep(time.Millisecond); return nil }, func() {}, nil
	}}
	if err := Compare(&out, load, Options{Slice: 100 * time.Millisecond, Rounds: 2, Ways: "nothing,flight"}); err != nil {
		t.Skip(err) // the test itself is traced
	}
	for _, want := range []string{"sleep: 2 clients, 2 slices of 100ms", "round  1 of 2: nothing ", "round  2 of 2: ", "\n  nothing ", "\n  flight "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
}
