package main

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/benchmarks/internal/median"
)

// speeds has the operations per second of one run of a benchmark program, by benchmark.
type speeds map[string]float64

// runProgram runs each of the benchmarks of a test program n iterations, several times.
func runProgram(ctx context.Context, program, bench string, n, repeat int) (speeds, error) {
	cmd := exec.CommandContext(ctx, program, "-test.run=^$", "-test.bench="+bench,
		fmt.Sprintf("-test.benchtime=%dx", n), fmt.Sprintf("-test.count=%d", repeat))
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

// parse reads the lines that begin with Benchmark. It takes the median of a repeated benchmark,
// because one repetition in twenty is disturbed by other work of the machine.
func parse(out string) speeds {
	all := map[string][]float64{}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") || f[3] != "ns/op" {
			continue
		}
		if ns, err := strconv.ParseFloat(f[2], 64); err == nil && ns > 0 {
			all[f[0]] = append(all[f[0]], 1e9/ns)
		}
	}
	s := speeds{}
	for name, x := range all {
		s[name] = median.Of(x).Median
	}
	return s
}

// subject is a benchmark that can run with the locks of package sync and with ours.
type subject struct {
	name string
	// begin is called before the first round, and its result after the last one. It may be nil.
	begin func(ctx context.Context) (end func(), err error)
	// run runs one of the variants once.
	run func(ctx context.Context, round, variant int) (speeds, error)
	// more is the factor for the number of rounds; 0 means 1.
	more int
}

const (
	original = iota
	originalAgain
	wrapped
	variants
)

// outcome is the result of all rounds of two variants, compared with the original.
type outcome struct {
	ratios []float64            // one for each round, of all its benchmarks
	best   float64              // of the best, least disturbed round of each benchmark
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

// orders are all orders of the variants. In six rounds with these orders, each variant is first,
// second and third twice, and comes as often directly before any other as directly after it. So
// drift and after-effects are the same for all.
var orders = [...][variants]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {0, 2, 1}, {2, 0, 1}, {1, 0, 2}}

// turns runs all variants in each round, in changing order.
func (s *subject) turns(ctx context.Context, rounds int) (again, ours outcome, err error) {
	again, ours = newOutcome(), newOutcome()
	if s.begin != nil {
		end, err := s.begin(ctx)
		if err != nil {
			return again, ours, err
		}
		defer end()
	}
	var best [variants]speeds
	for v := range best {
		best[v] = speeds{}
	}
	for round := range rounds * max(1, s.more) {
		var got [variants]speeds
		for _, v := range orders[round%len(orders)] {
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

// medianOf formats the median of some ratios with a confidence interval of at least 95 %, which is
// [NaN, NaN] for less than 6 ratios.
func medianOf(ratios []float64) string {
	i := median.Of(ratios)
	return fmt.Sprintf("%.3f  [%.3f, %.3f]", i.Median, i.Low, i.High)
}

// geometricMean combines the ratios of several benchmarks in one round.
func geometricMean(ratios []float64) float64 {
	var sum float64
	for _, r := range ratios {
		sum += math.Log(r)
	}
	return math.Exp(sum / float64(len(ratios)))
}
