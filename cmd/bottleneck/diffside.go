package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// diffKind is what is compared.
type diffKind string

const (
	graphDiff      diffKind = "graph"
	stackDiff      diffKind = "stack"
	contentionDiff diffKind = "contention"
	tasksDiff      diffKind = "tasks"
	ledgerDiff     diffKind = "ledger"
	countersOnly   diffKind = "counters" // is not compared
	verdictOnly    diffKind = "verdict"  // likewise
)

var diffKinds = []diffKind{graphDiff, ledgerDiff, stackDiff, contentionDiff, tasksDiff}

// what names it in messages.
func (k diffKind) what() string {
	switch k {
	case graphDiff:
		return "bottle graph"
	case stackDiff:
		return "speedup stack"
	case contentionDiff:
		return "contention profile"
	case ledgerDiff:
		return "ledger"
	case countersOnly:
		return "recording of hardware counters"
	case verdictOnly:
		return "verdict"
	}
	return "profile of tasks"
}

// reader is the command that reads it as JSON.
func (k diffKind) reader() string {
	if k == stackDiff || k == countersOnly {
		return "report"
	}
	return string(k)
}

// drawn reports whether there are pictures of differences.
func (k diffKind) drawn() bool { return k == graphDiff || k == stackDiff }

// diffSide is one of the two runs; of its pointers, that of its kind is not nil. A graph of a trace
// has the ledger beside it.
type diffSide struct {
	kind       diffKind
	graph      *bottle.Graph
	stack      *speedup.Stack
	contention *contention.Profile
	tasks      *granularity.Profile
	ledger     *ledger.Ledger
	verdict    *verdict.Verdict // on a graph or a ledger; nil if there is none
}

type diffPair [2]diffSide

// readSide reads a trace as what is wanted, or what was saved as JSON, which must be what is wanted
// if anything is.
func readSide(ctx context.Context, std stdio, name string, want diffKind, opt bottle.Options) (diffSide, error) {
	in, err := findInput(std, name)
	if err != nil {
		return diffSide{}, err
	}
	return readInput(ctx, std, in, func(ctx context.Context, r io.Reader, head []byte) (diffSide, error) {
		return parseSide(ctx, in, r, head, want, opt)
	})
}

// parseSide is readSide of an input that is open, and begins with head.
func parseSide(ctx context.Context, in *input, r io.Reader, head []byte, want diffKind, opt bottle.Options) (diffSide, error) {
	if !holdsJSON(head) {
		return readSideTrace(ctx, in, r, want, opt)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return diffSide{}, fileError(in.label, err)
	}
	kind := kindOfJSON(data)
	switch {
	case kind == countersOnly || kind == verdictOnly:
		return diffSide{}, errKind(in.label, kind)
	case want != "" && want != kind:
		return diffSide{}, usagef("%s is a %s: that is no -kind %s", in.label, kind.what(), want)
	}
	side, err := readSideJSON(data, kind)
	if err != nil {
		return diffSide{}, fmt.Errorf("%s: %w", in.label, err)
	}
	return side, nil
}

// readSideTrace reads a trace; a graph and a ledger by default.
func readSideTrace(ctx context.Context, in *input, r io.Reader, want diffKind, opt bottle.Options) (s diffSide, err error) {
	s.kind = cmp.Or(want, graphDiff)
	results := map[diffKind]bn.Want{graphDiff: bn.WantVerdict, ledgerDiff: bn.WantVerdict, stackDiff: bn.WantSpeedup, contentionDiff: bn.WantContention, tasksDiff: bn.WantTasks}
	report, err := analyze(ctx, in, r, bn.Options{Want: results[s.kind], Bottle: opt, Speedup: speedup.Options{MultiName: in.label}})
	if report == nil {
		return s, err
	}
	switch s.kind {
	case stackDiff:
		if s.stack = report.Speedup; err == nil {
			err = report.SpeedupErr
		}
	case contentionDiff:
		s.contention = report.Contention
	case tasksDiff:
		s.tasks = report.Tasks
		s.tasks.Diagnose()
	case graphDiff:
		s.graph, s.verdict = report.Bottle, report.Verdict
		if want == "" {
			s.ledger, s.contention = report.Ledger, report.Contention // beside it
		}
	case ledgerDiff:
		s.ledger, s.verdict = report.Ledger, report.Verdict
	}
	return s, err
}

// kindOfJSON recognises saved JSON. What is of no kind is read as a graph, which tells what is
// wrong.
func kindOfJSON(data []byte) diffKind {
	return cmp.Or(knownKind(data), graphDiff)
}

// knownKind recognises saved JSON by a key that only its kind has; "" if it is none.
func knownKind(data []byte) diffKind {
	var keys struct {
		Boxes      json.RawMessage `json:"boxes"`
		Components json.RawMessage `json:"components"`
		Waits      json.RawMessage `json:"waits"`
		Classes    json.RawMessage `json:"classes"`
		Counters   json.RawMessage `json:"counters"`
		Rows       json.RawMessage `json:"rows"`
		Findings   json.RawMessage `json:"findings"`
	}
	if json.NewDecoder(bytes.NewReader(data)).Decode(&keys) != nil {
		return ""
	}
	switch {
	case keys.Counters != nil:
		return countersOnly
	case keys.Components != nil:
		return stackDiff
	case keys.Waits != nil:
		return contentionDiff
	case keys.Classes != nil:
		return tasksDiff
	case keys.Rows != nil:
		return ledgerDiff
	case keys.Boxes != nil:
		return graphDiff
	case keys.Findings != nil:
		return verdictOnly
	}
	return ""
}

// readSaved reads JSON that was saved, and should be of a certain kind.
func readSaved[P any](r io.Reader, label string, want diffKind, read func(io.Reader) (P, error)) (p P, err error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return p, fileError(label, err)
	}
	if p, err = read(bytes.NewReader(data)); err == nil {
		return p, nil
	}
	if kind := knownKind(data); kind != "" && kind != want {
		return p, errKind(label, kind)
	}
	return p, fmt.Errorf("%s: %w", label, err)
}

// errKind tells somebody who gave one kind to the command for another.
func errKind(label string, kind diffKind) error {
	return usagef("%s is a %s: \"bottleneck %s\" reads it", label, kind.what(), kind.reader())
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
	case ledgerDiff:
		if s.ledger, err = ledger.ReadJSON(r); err == nil {
			if s.verdict = s.ledger.Verdict; s.verdict == nil {
				s.verdict = diagnose.New(diagnose.Results{Ledger: s.ledger})
			}
		}
	case verdictOnly:
		if err = json.NewDecoder(r).Decode(&s.verdict); err == nil {
			err = s.verdict.CheckValid()
		}
	default:
		if s.graph, err = bottle.ReadJSON(r); err == nil {
			s.verdict = s.graph.Verdict
		}
	}
	return s, err
}
