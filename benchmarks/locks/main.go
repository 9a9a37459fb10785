package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	rounds := flag.Int("rounds", 21, "rounds; each runs the original twice and the copy once")
	n := flag.Int("n", 20_000, "how often each benchmark of a library does its work in a round")
	length := flag.Duration("time", 100*time.Millisecond, "how long each workload of an example runs in a round")
	only := flag.String("only", "", "measure only what has this in its name")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 6 || *n <= 0 || *length <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := measure(ctx, *rounds, *n, *length, *only); err != nil {
		fmt.Fprintln(os.Stderr, "locks:", err)
		os.Exit(1)
	}
}

// measure prints the table. What cannot be had does not keep the rest from being measured.
func measure(ctx context.Context, rounds, n int, length time.Duration, only string) error {
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
	fmt.Printf("%-32s  %-31s   %s\n", "", "the original again", "locks of package contention, collecting")
	for _, s := range all {
		if !strings.Contains(s.name, only) {
			continue
		}
		again, ours, err := s.turns(ctx, rounds)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s.name, err))
			continue
		}
		fmt.Printf("%-32s  %-24v  %5.3f   %-24v  %5.3f\n", s.name, medianOf(again.ratios), again.best, medianOf(ours.ratios), ours.best)
	}
	return errors.Join(failed...)
}

// subject makes the two programs of a library.
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
	programs := [variants]string{original: plain, originalAgain: plain, wrapped: ours}
	return subject{
		name: fmt.Sprintf("%s %s, %d locks", l.name, l.version, replaced),
		run: func(ctx context.Context, variant int) (speeds, error) {
			return runProgram(ctx, programs[variant], l.bench, n)
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
