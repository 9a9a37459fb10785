package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Sources are read side by side and added up in their order, so that the result does not depend on
// which one is read first. What is read but not added up yet is bounded: one part for each reader,
// and one batch.

const (
	mergeServices = 32 // asked at a time: they mostly wait
	mergeBatch    = 16 // parts added at a time, as each addition copies the sum
)

// mergeSum is the sum of the parts so far.
type mergeSum struct {
	sources int // of the command, missing ones too
	missing []string
	sum     artifact
	pending []artifact
	spread  spread
	done    atomic.Int64 // sources that were read, or could not be
}

// add takes the next part, if it is of the same kind as the ones before.
func (s *mergeSum) add(p artifact) error {
	first := &s.sum
	if first.name == "" && len(s.pending) > 0 {
		first = &s.pending[0]
	}
	if err := p.fits(first); err != nil {
		return err
	}
	p.kind.spread(s.spread.of(p.name), p.value)
	s.pending = append(s.pending, p)
	if len(s.pending) == mergeBatch {
		return s.flush()
	}
	return nil
}

// flush adds up what is pending.
func (s *mergeSum) flush() (err error) {
	all := s.pending
	if s.sum.name != "" {
		all = append([]artifact{s.sum}, all...)
	}
	s.sum, err = mergeParts(all)
	s.sum.name = all[0].name // of the first source, for messages
	clear(s.pending)
	s.pending = s.pending[:0]
	return err
}

// listed returns the sources with those of -files-from.
func (f *mergeFlags) listed(ctx context.Context, std stdio, sources []string) ([]string, error) {
	if f.filesFrom != "" {
		in, err := findInput(std, f.filesFrom)
		if err != nil {
			return nil, err
		}
		if isURL(f.filesFrom) {
			in = fileInput(f.filesFrom)
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		r, err := in.open(ctx, cancel)
		if err != nil {
			return nil, fmt.Errorf("-files-from: %w", err)
		}
		defer r.Close()
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			if name := strings.TrimSuffix(lines.Text(), "\r"); name != "" {
				sources = append(sources, name)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("-files-from: %w", fileError(in.label, err))
		}
		if len(sources) == 0 {
			return nil, fmt.Errorf("-files-from: %s names no file or URL", in.label)
		}
	}
	seen := make(map[string]bool, len(sources))
	for _, s := range sources {
		if seen[s] {
			return nil, usagef("%q is given twice", s)
		}
		seen[s] = true
	}
	if f.filesFrom == "-" && seen["-"] {
		return nil, usagef("standard input is a source and the list of -files-from: it can be only one of them")
	}
	return sources, nil
}

// readAll reads all sources, and adds them to the sum in order.
func (f *mergeFlags) readAll(ctx context.Context, std stdio, sources []string, sum *mergeSum) error {
	type read struct {
		part artifact
		err  error
	}
	readers := min(8, runtime.GOMAXPROCS(0))
	for _, s := range sources {
		if isURL(s) {
			readers = mergeServices
			break
		}
	}
	progress := startProgress(std.err, func(time.Duration) string {
		return fmt.Sprintf("merging: %d of %d", sum.done.Load(), len(sources))
	})
	defer progress.stop()
	quiet := std
	if len(sources) > 1 {
		quiet.err = io.Discard // each would show its own progress
	}
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := make(chan chan read, readers-1)
	stopped := make(chan struct{})
	defer func() { cancel(); <-stopped }()
	go func() {
		defer close(stopped)
		defer close(queue)
		for _, source := range sources {
			slot := make(chan read, 1)
			select {
			case queue <- slot:
			case <-reading.Done():
				return
			}
			go func() {
				part, err := f.read(reading, quiet, f.address(source))
				slot <- read{part, err}
			}()
		}
	}()
	i := 0
	for slot := range queue {
		r := <-slot
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r.err == nil {
			r.err = sum.add(r.part)
		}
		sum.done.Add(1)
		if r.err == nil || f.partial {
			if r.err != nil {
				sum.missing = append(sum.missing, sources[i])
				fmt.Fprintf(std.err, "bottleneck: left out: %s\n", oneLine(r.err.Error()))
			}
			i++
			continue
		}
		return r.err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(sum.missing) == len(sources) {
		return errors.New("none of the sources could be read")
	}
	return nil
}

// result is the sum of all parts, with a warning if some are missing.
func (s *mergeSum) result() (artifact, error) {
	if err := s.flush(); err != nil {
		return artifact{}, err
	}
	if g, ok := s.sum.value.(*bottle.Graph); ok && s.sum.ledger != nil { // of traces alone
		g.Verdict = diagnose.New(diagnose.Results{Ledger: s.sum.ledger, Graph: g, Contention: s.sum.contention})
	}
	if len(s.missing) > 0 {
		const named = 20
		names := strings.Join(s.missing[:min(named, len(s.missing))], ", ")
		if more := len(s.missing) - named; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		s.sum.kind.warn(s.sum.value, fmt.Sprintf("%d of %s could not be read to the end and are in no number: %s.", len(s.missing), format.Plural(s.sources, "source", "sources"), names))
	}
	return s.sum, nil
}
