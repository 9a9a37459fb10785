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
	run func(ctx context.Context, round, variant int) (speeds, error)
}

const (
	original = iota
	originalAgain
	wrapped
	variants
)

// outcome is what all rounds of two variants gave, compared with the original's.
type outcome struct {
	ratios []float64            // one for each round, whose benchmarks are put together
	best   float64              // of the best round of each benchmark, which was disturbed least
	each   map[string][]float64 // the ratios by benchmark
	bestOf speeds               // the ratios of the best rounds by benchmark
}

func (o *outcome) add(s, original speeds) {
	o.ratios = append(o.ratios, ratio(s, original))
	for name, x := range s {
		if y := original[name]; y > 0 {
			o.each[name] = append(o.each[name], x/y)
		}
	}
}

// compare takes the ratios of the best rounds.
func (o *outcome) compare(best, original speeds) {
	o.best = ratio(best, original)
	for name, x := range best {
		o.bestOf[name] = x / original[name]
	}
}

func newOutcome() outcome { return outcome{each: map[string][]float64{}, bestOf: speeds{}} }

// turns runs all variants in each round, in an order that changes.
func (s *subject) turns(ctx context.Context, rounds int) (again, ours outcome, err error) {
	again, ours = newOutcome(), newOutcome()
	var best [variants]speeds
	for v := range best {
		best[v] = speeds{}
	}
	for round := range rounds {
		var got [variants]speeds
		for i := range variants {
			v := (i + round) % variants
			if got[v], err = s.run(ctx, round, v); err != nil {
				return again, ours, err
			}
			for name, x := range got[v] {
				best[v][name] = max(best[v][name], x)
			}
		}
		again.add(got[originalAgain], got[original])
		ours.add(got[wrapped], got[original])
	}
	again.compare(best[originalAgain], best[original])
	ours.compare(best[wrapped], best[original])
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
