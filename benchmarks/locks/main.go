// Locks measures the cost of the locks of package contention in real programs while collection is
// on. It takes public libraries whose types have a sync.Mutex or sync.RWMutex, replaces those by
// the wrappers in a copy, and runs the libraries' own benchmarks, alternately in the original and
// in the copy. It does the same with the workloads of two of the examples.
//
//	go run ./benchmarks/locks                      # all, 96 rounds: 5 minutes
//	go run ./benchmarks/locks -rounds 48 -only go-cache
//	go run ./benchmarks/locks -waits               # is the waiting in profiles right? 1 minute
//
// The libraries come from the module cache or from the module proxy; nothing of them is kept. Each
// line has the throughput of the copy relative to the original: the median over the rounds and its
// 95 % confidence interval, which makes no assumption on the distribution. The table also compares
// the original with itself, in separate programs: differences from 1 there are due to the machine,
// not the locks. Rounds are short and many, in all orders of the three.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/benchmarks/internal/median"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	rounds := flag.Int("rounds", 96, "`number` of rounds; each runs the original twice and the copy once")
	n := flag.Int("n", 20_000, "how `often` each benchmark of a library does its work in a run")
	length := flag.Duration("time", 50*time.Millisecond, "how `long` each workload of an example runs in a round")
	only := flag.String("only", "", "measure only what has this in its `name`")
	waits := flag.Bool("waits", false, "only compare the waiting in profiles with what programs log themselves, in 16 runs of half a second each")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 6 || *n <= 0 || *length <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	err := error(nil)
	if *waits {
		err = measureWaits(16, time.Second/2)
	} else {
		err = measure(ctx, append(examples(*length), libraries(*n)...), *rounds, *only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "locks:", err)
		os.Exit(1)
	}
}

// subject is a program that can run with the locks of package sync and with ours.
type subject struct {
	name string
	// begin returns a function that runs a variant once, and returns the operations per second,
	// and one to be called after the last round.
	begin func(ctx context.Context, scratch string) (run func(ctx context.Context, variant int) (float64, error), end func(), err error)
}

const (
	original = iota
	originalAgain
	wrapped
	variants
)

// orders are all orders of the variants. In six rounds with these orders, each variant is first,
// second and third twice, and comes as often directly before any other as directly after it. So
// drift and after-effects are the same for all.
var orders = [...][variants]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {0, 2, 1}, {2, 0, 1}, {1, 0, 2}}

// measure prints the table. Failures do not prevent the other measurements.
func measure(ctx context.Context, all []subject, rounds int, only string) error {
	scratch, err := os.MkdirTemp("", "bottleneck-locks")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	fmt.Println("throughput as a share of the original's: median of the rounds [95 % confidence interval]")
	fmt.Printf("%-24s  %-24s  %s\n", "", "the original again", "locks of package contention, collecting")
	var failed []error
	for _, s := range all {
		if !strings.Contains(s.name, only) {
			continue
		}
		again, ours, err := s.turns(ctx, scratch, rounds)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s.name, err))
			continue
		}
		fmt.Printf("%-24s  %-24s  %s\n", s.name, median.Of(again).Text("%.3f"), median.Of(ours).Text("%.3f"))
	}
	return errors.Join(failed...)
}

// turns runs all variants in each round, in changing order, and returns the ratios to the original.
func (s *subject) turns(ctx context.Context, scratch string, rounds int) (again, ours []float64, err error) {
	run, end, err := s.begin(ctx, scratch)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	for round := range rounds {
		var got [variants]float64
		for _, v := range orders[round%len(orders)] {
			if got[v], err = run(ctx, v); err != nil {
				return nil, nil, err
			}
		}
		again = append(again, got[originalAgain]/got[original])
		ours = append(ours, got[wrapped]/got[original])
	}
	return again, ours, nil
}
