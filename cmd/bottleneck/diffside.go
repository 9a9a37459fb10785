package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// diffKind is what is compared.
type diffKind string

const (
	graphDiff      diffKind = "graph"
	stackDiff      diffKind = "stack"
	contentionDiff diffKind = "contention"
	tasksDiff      diffKind = "tasks"
)

var diffKinds = []diffKind{graphDiff, stackDiff, contentionDiff, tasksDiff}

// what names it in messages.
func (k diffKind) what() string {
	switch k {
	case graphDiff:
		return "bottle graph"
	case stackDiff:
		return "speedup stack"
	case contentionDiff:
		return "contention profile"
	}
	return "profile of tasks"
}

// drawn reports whether there are pictures of differences.
func (k diffKind) drawn() bool { return k == graphDiff || k == stackDiff }

// diffSide is one of the two runs; of its pointers, that of its kind is not nil.
type diffSide struct {
	kind       diffKind
	graph      *bottle.Graph
	stack      *speedup.Stack
	contention *contention.Profile
	tasks      *granularity.Profile
}

type diffPair [2]diffSide

// readSide reads a trace as what is wanted, or what was saved as JSON, which must be what is wanted if anything is.
func readSide(ctx context.Context, std stdio, name string, want diffKind, opt bottle.Options) (diffSide, error) {
	in, err := findInput(std, name)
	if err != nil {
		return diffSide{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := startProgress(std.err, in.progress)
	defer p.stop()
	file, err := in.open(ctx, cancel)
	if err != nil {
		return diffSide{}, err
	}
	defer file.Close()
	return parseSide(ctx, file, in.label, want, opt)
}

func parseSide(ctx context.Context, file io.Reader, name string, want diffKind, opt bottle.Options) (diffSide, error) {
	r := bufio.NewReader(file)
	head, _ := r.Peek(len(eventMagic)) // who reads on meets the error, too
	switch {
	case bytes.Equal(head, eventMagic):
		if want != "" && want != contentionDiff {
			return diffSide{}, notOf(name, contentionDiff, want)
		}
		p, err := contention.ReadEvents(r, contention.Options{})
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return diffSide{kind: contentionDiff, contention: p}, err
	case !bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")):
		if f, ok := file.(*os.File); ok { // which can be read with random access
			if _, err := f.Seek(0, io.SeekStart); err == nil {
				return readSideTrace(ctx, f, name, want, opt)
			}
		}
		return readSideTrace(ctx, r, name, want, opt)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return diffSide{}, fileError(name, err)
	}
	kind := kindOfJSON(data)
	if want != "" && want != kind {
		return diffSide{}, notOf(name, kind, want)
	}
	side, err := readSideJSON(data, kind)
	if err != nil {
		return diffSide{}, fmt.Errorf("%s: %w", name, err)
	}
	return side, nil
}

func notOf(name string, is, want diffKind) error {
	return usagef("%s is a %s: that is no -kind %s", name, is.what(), want)
}

// readSideTrace reads a trace; a graph by default.
func readSideTrace(ctx context.Context, file io.Reader, name string, want diffKind, opt bottle.Options) (s diffSide, err error) {
	switch s.kind = want; want {
	case stackDiff:
		s.stack, err = speedup.Estimate(ctx, file, speedup.Options{})
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
	case contentionDiff:
		s.contention, err = contention.ReadTrace(ctx, file, contention.TraceOptions{Name: name})
	case tasksDiff:
		s.tasks, err = granularity.ReadTrace(ctx, file, granularity.TraceOptions{Name: name})
		if err == nil {
			s.tasks.Diagnose()
		}
	default:
		s.kind, opt.Name = graphDiff, name
		s.graph, err = bottle.ReadTrace(ctx, file, opt)
	}
	return s, err
}

// kindOfJSON recognises saved JSON by a key that only its kind has. What is none of them is read as a graph, which tells
// what is wrong.
func kindOfJSON(data []byte) diffKind {
	var keys struct {
		Components json.RawMessage `json:"components"`
		Waits      json.RawMessage `json:"waits"`
		Classes    json.RawMessage `json:"classes"`
	}
	if json.NewDecoder(bytes.NewReader(data)).Decode(&keys) != nil {
		return graphDiff
	}
	switch {
	case keys.Components != nil:
		return stackDiff
	case keys.Waits != nil:
		return contentionDiff
	case keys.Classes != nil:
		return tasksDiff
	}
	return graphDiff
}

func readSideJSON(data []byte, kind diffKind) (s diffSide, err error) {
	r := bytes.NewReader(data)
	switch s.kind = kind; kind {
	case stackDiff:
		var stacks []*speedup.Stack
		if stacks, err = speedup.ReadJSON(r); err == nil {
			s.stack = stacks[len(stacks)-1] // of several widths, the last
		}
	case contentionDiff:
		s.contention, err = contention.ReadJSON(r)
	case tasksDiff:
		s.tasks, err = granularity.ReadJSON(r)
	default:
		s.graph, err = bottle.ReadJSON(r)
	}
	return s, err
}
