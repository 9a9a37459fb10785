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
	rounds := flag.Int("rounds", 21, "rounds; each runs the original twice and the copy once")
	n := flag.Int("n", 20_000, "how often each benchmark of a library does its work in a round")
	length := flag.Duration("time", 500*time.Millisecond, "how long each workload of an example runs in a round")
	each := flag.Bool("v", false, "a line for each benchmark of a library, too")
	only := flag.String("only", "", "measure only what has this in its name")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 6 || *n <= 0 || *length <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := measure(ctx, *rounds, *n, *length, *only, *each); err != nil {
		fmt.Fprintln(os.Stderr, "locks:", err)
		os.Exit(1)
	}
}

// measure prints the table. What cannot be had does not keep the rest from being measured.
func measure(ctx context.Context, rounds, n int, length time.Duration, only string, each bool) error {
	scratch, err := os.MkdirTemp("", "bottleneck-locks")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	var failed []error
	all := ownSubjects(length)
	for _, l := range libraries {
		if !strings.Contains(l.name, only) {
			continue
		}
		s, err := l.subject(ctx, scratch, n)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", l.name, err))
			continue
		}
		all = append(all, s)
	}
	fmt.Println("throughput as a share of the original's: median of", rounds, "rounds [95 % confidence interval], and of the best rounds")
	fmt.Printf("%-42s  %-31s   %s\n", "", "the original again", "locks of package contention, collecting")
	for _, s := range all {
		if !strings.Contains(s.name, only) {
			continue
		}
		again, ours, err := s.turns(ctx, rounds)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s.name, err))
			continue
		}
		printLine(s.name, again.ratios, ours.ratios, again.best, ours.best)
		if each && len(ours.each) > 1 {
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
func (l *library) subject(ctx context.Context, scratch string, n int) (subject, error) {
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
	plain, _, err := l.build(ctx, root, from, filepath.Join(dir, "original"), false)
	if err != nil {
		return subject{}, err
	}
	ours, replaced, err := l.build(ctx, root, from, filepath.Join(dir, "copy"), true)
	if err != nil {
		return subject{}, err
	}
	if replaced == 0 {
		return subject{}, fmt.Errorf("there is no lock of package sync in %s", l.module)
	}
	return subject{
		name: fmt.Sprintf("%s %s, %d locks", l.name, l.version, replaced),
		run: func(ctx context.Context, round, variant int) (speeds, error) {
			program := plain[round%layouts]
			switch variant {
			case originalAgain:
				program = plain[(round+1)%layouts]
			case wrapped:
				program = ours[(round/layouts)%layouts]
			}
			return runProgram(ctx, program, l.bench, n)
		},
	}, nil
}

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("run this from within the module, as the locks come from there: %w", err)
	}
	return string(bytes.TrimSpace(out)), nil
}
