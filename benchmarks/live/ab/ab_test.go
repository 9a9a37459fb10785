package ab

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"
)

func TestChoose(t *testing.T) {
	if modes, err := choose("flight,continuous"); err != nil || len(modes) != 2 || modes[1].Name != "continuous" {
		t.Errorf("%v, %v", modes, err)
	}
	if modes, err := choose(""); err != nil || len(modes) != len(all()) {
		t.Errorf("%v, %v", modes, err)
	}
	if modes, err := choose("nothing,counters"); err != nil || len(modes) != 2 || modes[1].Name != "counters" {
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
	if err := Compare(&out, load, Options{Slice: 100 * time.Millisecond, Rounds: 2, Ways: "nothing,flight,counters"}); err != nil {
		t.Skip(err) // the test itself is traced
	}
	for _, want := range []string{"sleep: 2 clients, 2 slices of 100ms", "round 1 of 2\n", "round 2 of 2\n", "\n  nothing ", "\n  flight ", "\n  counters "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
}

// The ratio is that of all rounds together, and a machine that becomes slower does not change it.
func TestRatioOfAStorm(t *testing.T) {
	var s stormed
	for i := range 20 {
		var round [2]part
		for side := range round {
			slow := float64(1+i/10) * (1 + 0.1*float64(side)) // 10 % slower if watched
			p := part{took: time.Second, ops: int64(10_000 / slow)}
			for k := range 1000 { // the latency has an exponential distribution
				p.lasts.Add(uint64(-math.Log(1-(float64(k)+0.5)/1000) * 1e6 * slow))
			}
			round[side].add(&p)
		}
		s.rounds = append(s.rounds, round)
	}
	s.capturing = []part{{took: 12 * time.Second}} // no operation
	var out bytes.Buffer
	s.write(&out, "throughput", (*part).throughput)
	s.write(&out, "p99", (*part).p99)
	for _, want := range []string{"throughput: 20 rounds", "6817.5, unwatched 7500", "ratio 0.9090 (95 %: 0.9090 to 0.9090)", "ratio 0.9797 (", "ratio 1.1"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in\n%s", want, &out)
		}
	}
}
