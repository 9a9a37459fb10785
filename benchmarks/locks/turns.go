package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// speeds is what one run of a benchmark program gave: operations a second by benchmark.
type speeds map[string]float64

// processorTime is a name in speeds: how often the same work could be done in a second of
// processor time. It hardly depends on what else the machine does.
const processorTime = "processor time"

// runProgram runs each of the benchmarks of a test program n times.
func runProgram(ctx context.Context, program, bench string, n int) (speeds, error) {
	cmd := exec.CommandContext(ctx, program, "-test.run=^$", "-test.bench="+bench, fmt.Sprintf("-test.benchtime=%dx", n))
	cmd.Dir = filepath.Dir(program)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	s := parse(string(out))
	if len(s) == 0 {
		return nil, fmt.Errorf("%s has no benchmark that matches %q", program, bench)
	}
	if used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); used > 0 {
		s[processorTime] = 1 / used.Seconds()
	}
	return s, nil
}

// parse reads the lines that begin with Benchmark.
func parse(out string) speeds {
	s := speeds{}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") || f[3] != "ns/op" {
			continue
		}
		if ns, err := strconv.ParseFloat(f[2], 64); err == nil && ns > 0 {
			s[f[0]] = 1e9 / ns
		}
	}
	return s
}

// subject is what can be run with the locks of package sync and with ours.
type subject struct {
	name string
	// run runs one of the variants once.
	run func(ctx context.Context, variant int) (speeds, error)
}

const (
	original = iota
	originalAgain
	wrapped
	variants
)

// outcome is the ratios to the original, one for each round, whose benchmarks are put together.
type outcome struct{ throughput, processor []float64 }

func (o *outcome) add(s, original speeds) {
	o.throughput = append(o.throughput, ratio(s, original))
	if a, b := s[processorTime], original[processorTime]; a > 0 && b > 0 {
		o.processor = append(o.processor, a/b)
	}
}

// turns runs all variants in each round, in an order that changes.
func (s *subject) turns(ctx context.Context, rounds int) (again, ours outcome, err error) {
	for round := range rounds {
		var got [variants]speeds
		for i := range variants {
			v := (i + round) % variants
			if got[v], err = s.run(ctx, v); err != nil {
				return again, ours, err
			}
		}
		again.add(got[originalAgain], got[original])
		ours.add(got[wrapped], got[original])
	}
	return again, ours, nil
}

// ratio is the geometric mean over the benchmarks that both have.
func ratio(a, b speeds) float64 {
	var r []float64
	for name, x := range a {
		if y := b[name]; y > 0 && name != processorTime {
			r = append(r, x/y)
		}
	}
	return geometricMean(r)
}
