package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// speeds is what one run of a benchmark program gave: operations a second by benchmark.
type speeds map[string]float64

// runProgram runs the benchmarks of a test program.
func runProgram(ctx context.Context, program, bench string, d time.Duration) (speeds, error) {
	cmd := exec.CommandContext(ctx, program, "-test.run=^$", "-test.bench="+bench, "-test.benchtime="+d.String())
	cmd.Dir = filepath.Dir(program)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	s := parse(string(out))
	if len(s) == 0 {
		return nil, fmt.Errorf("%s has no benchmark that matches %q", program, bench)
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

// turns runs all variants in each round, in an order that changes, and returns the
// ratios of each to the original, a round's benchmarks put together.
func (s *subject) turns(ctx context.Context, rounds int) (again, ours []float64, err error) {
	for round := range rounds {
		var got [variants]speeds
		for i := range variants {
			v := (i + round) % variants
			if got[v], err = s.run(ctx, v); err != nil {
				return nil, nil, err
			}
		}
		again = append(again, ratio(got[originalAgain], got[original]))
		ours = append(ours, ratio(got[wrapped], got[original]))
	}
	return again, ours, nil
}

// ratio is the geometric mean over the benchmarks that both have.
func ratio(a, b speeds) float64 {
	var r []float64
	for name, x := range a {
		if y := b[name]; y > 0 {
			r = append(r, x/y)
		}
	}
	return geometricMean(r)
}
