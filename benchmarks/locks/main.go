// Locks measures the cost of the locks of package contention in real programs while collection is
// on. It takes public libraries whose types have a sync.Mutex or sync.RWMutex, replaces those by
// the wrappers in a copy, and runs the libraries' own benchmarks, alternately in the original and
// in the copy. It does the same with the workloads of two of the examples.
//
//	go run ./benchmarks/locks                      # all, 192 rounds, 576 for lru: 10 minutes
//	go run ./benchmarks/locks -rounds 96 -only go-cache -v
//	go run ./benchmarks/locks -waits               # is the waiting in profiles right? 1 minute
//
// The libraries come from the module cache or from the module proxy; nothing of them is kept. Each
// line has the throughput of the copy relative to the original: the median over the rounds and its
// 95 % confidence interval, which makes no assumption on the distribution. The table also compares
// the original with itself, in separate programs: differences from 1 there are due to the machine,
// not the locks. Rounds are short and many, in all orders of the three. Programs of libraries are
// linked several times, with their functions in different orders, and each round compares two other
// ones. After the interval comes the ratio of the best rounds: other programs can only make a round
// slower.
//
// The workloads of the examples keep their locks from round to round, and collection stays on. So
// the cost of a lock that has just become hot, in its first 0.1 s until it is sampled, is in the
// first rounds only.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o := options{}
	flag.IntVar(&o.rounds, "rounds", 192, "rounds, of lru three times as many; each runs the original twice and the copy once")
	flag.IntVar(&o.n, "n", 20_000, "how often each benchmark of a library does its work in a run")
	flag.DurationVar(&o.length, "time", 50*time.Millisecond, "how long each workload of an example runs in a round")
	flag.BoolVar(&o.each, "v", false, "a line for each benchmark of a library, too")
	flag.StringVar(&o.only, "only", "", "measure only what has this in its name")
	spin := flag.Bool("spin", false, "only keep all processors busy, until standard input ends")
	waits := flag.Bool("waits", false, "only compare the waiting in profiles with what programs log themselves, in 16 runs of half a second each")
	flag.Parse()
	if *waits {
		if err := measureWaits(16, time.Second/2); err != nil {
			fmt.Fprintln(os.Stderr, "locks:", err)
			os.Exit(1)
		}
		return
	}
	if *spin {
		keepBusy(os.Stdin)
		return
	}
	if flag.NArg() > 0 || o.rounds < 6 || o.n <= 0 || o.length <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := measure(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "locks:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds, n int
	length    time.Duration
	only      string
	each      bool
}

// measure prints the table. Failures do not prevent the other measurements.
func measure(ctx context.Context, o options) error {
	scratch, err := os.MkdirTemp("", "bottleneck-locks")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	var failed []error
	all := ownSubjects(o.length)
	for _, l := range libraries {
		if !strings.Contains(l.name, o.only) {
			continue
		}
		s, err := l.subject(ctx, scratch, o)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", l.name, err))
			continue
		}
		all = append(all, s)
	}
	fmt.Println("throughput as a share of the original's: median of the rounds [95 % confidence interval], and of the best rounds")
	fmt.Printf("%-42s  %-31s   %s\n", "", "the original again", "locks of package contention, collecting")
	for _, s := range all {
		if !strings.Contains(s.name, o.only) {
			continue
		}
		again, ours, err := s.turns(ctx, o.rounds)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s.name, err))
			continue
		}
		printLine(s.name, again.ratios, ours.ratios, again.best, ours.best)
		if o.each && len(ours.each) > 1 {
			for _, name := range slices.Sorted(maps.Keys(ours.each)) {
				printLine("  "+name, again.each[name], ours.each[name], again.bestOf[name], ours.bestOf[name])
			}
		}
	}
	return errors.Join(failed...)
}

func printLine(name string, again, ours []float64, bestAgain, bestOurs float64) {
	fmt.Printf("%-42s  %-24s  %5.3f   %-24s  %5.3f\n", name, medianOf(again), bestAgain, medianOf(ours), bestOurs)
}

// subject makes the programs of a library.
func (l *library) subject(ctx context.Context, scratch string, o options) (subject, error) {
	dir := filepath.Join(scratch, l.name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return subject{}, err
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return subject{}, err
	}
	from, err := l.download(ctx, dir)
	if err != nil {
		return subject{}, err
	}
	var programs [variants][]string
	if programs[original], _, err = l.build(ctx, root, from, filepath.Join(dir, "original"), false, 1); err != nil {
		return subject{}, err
	}
	if programs[originalAgain], _, err = l.build(ctx, root, from, filepath.Join(dir, "again"), false, 1+layouts); err != nil {
		return subject{}, err
	}
	var replaced int
	if programs[wrapped], replaced, err = l.build(ctx, root, from, filepath.Join(dir, "copy"), true, 1); err != nil {
		return subject{}, err
	}
	if replaced == 0 {
		return subject{}, fmt.Errorf("there is no lock of package sync in %s", l.module)
	}
	return subject{
		name:  fmt.Sprintf("%s %s, %d locks", l.name, l.version, replaced),
		begin: occupy,
		more:  l.more,
		run: func(ctx context.Context, round, variant int) (speeds, error) {
			// In 16 times six rounds, any two layouts meet once in any order.
			i := round / len(orders) % layouts
			if variant != original {
				i = round / len(orders) / layouts % layouts
			}
			return runProgram(ctx, programs[variant][i], l.bench, o.n, l.repeat)
		},
	}, nil
}

func moduleRoot(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run this from within the module, as the locks come from there: %w", err)
	}
	return string(bytes.TrimSpace(out)), nil
}
