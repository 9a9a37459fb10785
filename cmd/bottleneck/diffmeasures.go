package main

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// diffMeasures are what diff's -fail can compare, for each kind of run: what -fail of the command
// of that kind can.
var diffMeasures = map[diffKind]measures[diffSide]{
	graphDiff:      ofSide(graphMeasures, func(s diffSide) *bottle.Graph { return s.graph }),
	ledgerDiff:     ofSide(ledgerMeasures, func(s diffSide) *ledger.Ledger { return s.ledger }),
	stackDiff:      ofSide(stackMeasures, func(s diffSide) *speedup.Stack { return s.stack }),
	contentionDiff: ofSide(contentionMeasures, func(s diffSide) *contention.Profile { return s.contention }),
	tasksDiff:      ofSide(tasksMeasures, func(s diffSide) *granularity.Profile { return s.tasks }),
}

// ofSide makes measures of a run from those of what it holds.
func ofSide[T any](ms measures[T], held func(diffSide) T) (out measures[diffSide]) {
	lift := func(m measured[T]) measured[diffSide] {
		out := measuring(m.name, m.unit, "", func(s diffSide) (float64, error) { return m.of(held(s)) })
		if m.asPart != nil {
			out.asPart = func(s diffSide) (float64, error) { return m.asPart(held(s)) }
		}
		return out
	}
	for _, m := range ms.whole {
		out.whole = append(out.whole, lift(m))
	}
	out.part = func(name string) (measured[diffSide], bool, error) {
		m, is, err := ms.part(name)
		return lift(m), is, err
	}
	return out
}

// stackMeasures has components as parts, by their bare names.
var stackMeasures = measures[*speedup.Stack]{
	whole: []measured[*speedup.Stack]{
		measuring("speedup", result.Number, "", always(func(s *speedup.Stack) float64 { return s.Speedup })),
		measuring("remainder", result.Number, "", always(func(s *speedup.Stack) float64 { return s.Remainder })),
	},
	part: func(name string) (m measured[*speedup.Stack], is bool, err error) {
		part, err := speedup.ParseComponent(name)
		if err != nil || part == speedup.Run { // which is named speedup
			return m, false, nil
		}
		return measuring(name, result.Number, "", always(func(s *speedup.Stack) float64 { return s.Components[part] })), true, nil
	},
}

// findMeasures returns what a name means in the kinds of runs that know it, at least one.
func findMeasures(name string) (map[diffKind]measured[diffSide], error) {
	found := map[diffKind]measured[diffSide]{}
	var wrong error // in the one kind to which the name belongs
	var known []string
	for _, kind := range diffKinds {
		m, err := diffMeasures[kind].find(name)
		var unknown *result.UnknownName
		switch {
		case err == nil:
			found[kind] = m
		case !errors.As(err, &unknown) || unknown != err:
			wrong = err
		}
		known = append(known, diffMeasures[kind].names()...)
	}
	switch {
	case len(found) > 0:
		return found, nil
	case wrong != nil:
		return nil, wrong
	}
	return nil, result.Unknown(name, known)
}

// comparable reports an error if granularity is in cycles in one run and in time in the other.
func (p diffPair) comparable(m measure) error {
	if p[0].kind == tasksDiff && slices.Contains([]string{"p50", "mean", "p99"}, m.name) && p[0].tasks.ByTime() != p[1].tasks.ByTime() {
		unit := func(p *granularity.Profile) string {
			if p.ByTime() {
				return "nanoseconds"
			}
			return "cycles"
		}
		return fmt.Errorf("it is in %s, but was in %s", unit(p[1].tasks), unit(p[0].tasks))
	}
	return nil
}

// quotient is after ÷ before; what was not there and is now grew without bound.
func quotient(before, after float64) float64 {
	switch {
	case before == after:
		return 1
	case before == 0:
		return math.Inf(int(math.Copysign(1, after)))
	}
	return after / before
}
